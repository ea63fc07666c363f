"""Data: any accepted input is opened as a discrete, a numeric or a mixed table.

    input                  opened by       reader                 columns                 table
    ---------------------  --------------  ---------------------  ----------------------  -------------------------
    frame, array, rows --> inputs._open -> open_columns: Frame -> code_columns ---------> table.DiscreteTable
                                                                  make_rows ------------> numeric.NumericTable
                                                                  both (read_mixed) ----> mixed.MixedTable
    file, folder, -------> inputs._open -> open_chunks: Frames -> chunk_coder ----------> DiscreteTable, mapped
      iterator                                                    make_rows, per pass --> NumericTable, in chunks
                                           read_whole: Frame ---> as a frame in memory
    plane file ----------> inputs._open -> open_table ----------------------------------> DiscreteTable, mapped
    table of pgmx -------> inputs._open ------------------------------------------------> as it is
    dask, partitions ----> distribute ---> workers read alike --> chunk_coder ----------> DistributedTable
                                                                  make_rows ------------> DistributedNumericTable

Calls go from left to right. The public functions differ in what they return: `encode` gives a discrete table,
`open_numeric` a numeric one, `open_frame` columns (`Frame`), and `open_any` a discrete table if the input is coded or
arrives in chunks of discrete columns, else columns, which learners and scores turn into the table that they need.

- `inputs`: these functions, which all call `_open`
- `frame`: tables in memory of any library as columns (`Frame`)
- `files`: files and iterators as columns, whole or in chunks (`readers`); coded tables on disk (`plane_file`)
- `columns`: kinds of columns, and their coding as states; `declared_states`: states that the user declares
- `table`: `DiscreteTable`; `numeric`: `NumericTable`; `mixed`: `MixedTable`
- `chunk_coder`: coding of tables that arrive in chunks
- `targets`: rows of numeric columns and the column to predict from them
- `series`: time series, opened by `open_series` as complete segments
- `discretizer`: discretisation: continuous variables as ordered categories
- `few_values`: floating-point columns that look like coded discrete variables
- `weights`, `draws`: checked weights of rows; draws with replacement, each a function of a seed and its index
- `memory`: estimate of the memory that a run will need
- `errors`: errors and warnings about data
"""

from typing import TYPE_CHECKING

from pgmx.data.columns import MISSING
from pgmx.data.distributed.distribution import distribute
from pgmx.data.distributed.tables import DistributedNumericTable, DistributedTable
from pgmx.data.errors import IncompleteRowsWarning
from pgmx.data.few_values import FewValuesWarning
from pgmx.data.files.plane_file import open_table
from pgmx.data.files.readers import read_table
from pgmx.data.frame import Frame
from pgmx.data.inputs import encode, open_any, open_frame, open_numeric, write_table
from pgmx.data.memory import MemoryEstimate, estimate_memory
from pgmx.data.numeric import NumericTable
from pgmx.data.table import DiscreteTable
from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.data.discretizer import Discretizer as Discretizer
    from pgmx.data.discretizer import discretize as discretize

__all__ = [
    "MISSING",
    "DiscreteTable",
    "DistributedNumericTable",
    "DistributedTable",
    "FewValuesWarning",
    "Frame",
    "IncompleteRowsWarning",
    "MemoryEstimate",
    "NumericTable",
    "distribute",
    "encode",
    "estimate_memory",
    "open_any",
    "open_frame",
    "open_numeric",
    "open_table",
    "read_table",
    "write_table",
]

# on demand: discretisation imports scikit-learn, which takes half a second
_HOMES = {"Discretizer": "pgmx.data.discretizer", "discretize": "pgmx.data.discretizer"}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ += sorted(_HOMES)

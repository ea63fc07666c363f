"""Data: one door opens any input as a discrete, a numeric or a mixed table; the calls go from left to right.

    input                        reader                    columns               table
    -----                        ------                    -------               -----
    frame, array, rows --------> open_columns ---> Frame --> code_columns ---+-> table.DiscreteTable    discrete
                                                                             |
    file, folder, iterator --+-> read_whole -----> Frame --> as above        +-> numeric.NumericTable   numeric
                             |                                               |
                             +-> open_chunks ----> Frames -> chunk_coder ----+-> mixed.MixedTable       mixed
    plane file, own tables ------------------------------------------------------> as they are

    inputs._open                 readers                   columns               local, or mapped from a file

`inputs` is the door: `encode` asks it for a discrete table, `open_numeric` for a numeric one, `open_frame` for columns,
and `open_any` for a discrete table if the columns need no decision, else for columns (`Frame`), which scores and
`mixed` turn into one of the three. A table is local (in memory), mapped from a plane file, or distributed: `distribute`
has the workers of a dask cluster open the partitions in the same way, and gives a `DistributedTable` or a
`DistributedNumericTable`, which the door passes through.

- `readers`: tables in memory, files and iterators as columns, whole or in chunks; `csv_files`: the layout of CSV files
- `columns`: kinds of columns, and their coding as states; `table`: `Frame` and `DiscreteTable`
- `chunk_coder`: coding of tables that arrive in chunks; `plane_file`: coded tables on disk
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
from pgmx.data.inputs import encode, open_any, open_frame, open_numeric, write_table
from pgmx.data.memory import MemoryEstimate, estimate_memory
from pgmx.data.numeric import NumericTable
from pgmx.data.plane_file import open_table
from pgmx.data.readers import read_table
from pgmx.data.table import DiscreteTable, Frame
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

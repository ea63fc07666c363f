"""Data: coded tables, numeric tables, and the functions that open every accepted kind of table.

- `inputs`: the functions that open any accepted table as a coded table or as columns
- `readers`: tables in memory, files and iterators as frames, whole or in chunks; `csv_files`: the layout of CSV files
- `columns`: kinds of columns, and their coding as states
- `table`: tables in memory: columns, and their codes; `numeric`, `mixed`: numeric and mixed tables
- `chunk_coder`: coding of tables that arrive in chunks; `plane_file`: coded tables on disk
- `distributed`: tables whose rows stay with the workers of a dask cluster
- `series`: time series as complete segments
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
from pgmx.data.inputs import encode, open_any, open_frame, write_table
from pgmx.data.memory import MemoryEstimate, estimate_memory
from pgmx.data.numeric import NumericTable, open_numeric
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

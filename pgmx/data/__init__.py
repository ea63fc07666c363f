"""Data: coded tables, numeric tables, and the functions that open every accepted kind of table.

- `draws`: draws with replacement, each a function of a seed and its index
- `errors`: words shared by the error messages about data
- `table`: the coded table, the input of every discrete learner and score
- `recode`: coding of rows by given states
- `columns`: coding of single columns: values to state codes
- `files`: tables in files
- `memory`: estimate of the memory that a run will need
- `sources`: accepted inputs: every other kind of table as a frame, without a copy of the data
- `weights`: checked weights of rows, and the weights of the rows that `missing` keeps
- `mixed`: mixed data: tables with continuous and discrete columns
- `frame`: a table of any accepted kind as columns, and its coding
- `pieces`: tables that arrive in chunks, or are larger than memory
- `inputs`: the functions that open any accepted table as a coded table or as columns
- `numbers`: numeric tables
- `few_values`: floating-point columns that look like coded discrete variables
- `distributed`: tables whose rows stay with the workers of a dask cluster
- `bins`: discretisation: continuous variables as ordered categories
- `series`: time series as complete segments
"""

from typing import TYPE_CHECKING

from pgmx.data.distributed.distribution import distribute
from pgmx.data.distributed.tables import DistributedNumericTable, DistributedTable
from pgmx.data.errors import IncompleteRowsWarning
from pgmx.data.few_values import FewValuesWarning
from pgmx.data.files.plane_reader import open_table
from pgmx.data.files.readers import read_table
from pgmx.data.frame import Frame
from pgmx.data.inputs import encode, open_any, open_frame, write_table
from pgmx.data.memory import MemoryEstimate, estimate_memory
from pgmx.data.numbers.table import NumericTable, open_numeric
from pgmx.data.table import MISSING, DiscreteTable
from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.data.bins.discretizer import Discretizer as Discretizer
    from pgmx.data.bins.discretizer import discretize as discretize

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
_HOMES = {"Discretizer": "pgmx.data.bins.discretizer", "discretize": "pgmx.data.bins.discretizer"}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ += sorted(_HOMES)

"""Data: coded tables, and the one door by which every table comes in."""

from pgmx.data.door import encode, open_any, open_frame, write_table
from pgmx.data.files import read_table
from pgmx.data.frame import Frame
from pgmx.data.memory import MemoryEstimate, estimate_memory
from pgmx.data.numeric import NumericTable, open_numeric
from pgmx.data.plane_file import open_table
from pgmx.data.table import MISSING, DiscreteTable

__all__ = [
    "MISSING",
    "DiscreteTable",
    "Frame",
    "MemoryEstimate",
    "NumericTable",
    "encode",
    "estimate_memory",
    "open_any",
    "open_frame",
    "open_numeric",
    "open_table",
    "read_table",
    "write_table",
]

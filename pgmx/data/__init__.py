"""Data: coded tables, and the one door by which every table comes in."""

from pgmx.data.door import Frame, encode, open_frame
from pgmx.data.files import read_table
from pgmx.data.table import DiscreteTable

__all__ = ["DiscreteTable", "Frame", "encode", "open_frame", "read_table"]

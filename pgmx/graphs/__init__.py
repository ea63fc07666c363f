"""Graphs of integer ids: cycles, equivalence classes, consensus of many graphs."""

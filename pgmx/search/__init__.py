"""Searches over graphs; they see integer ids, arrays of gains and score functions, no data and no names."""

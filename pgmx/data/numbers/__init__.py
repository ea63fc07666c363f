"""Tables of numbers.

- `cells`: cells of numeric tables: what is no number, what is missing or infinite, and float64 rows of the rest
- `table`: the door for tables of numbers: any accepted table in, float64 rows out, whole or piece by piece
"""

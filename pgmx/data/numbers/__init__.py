"""Tables of numbers.

- `cells`: cells of numeric tables: what is no number, what is missing or infinite, and float64 rows of the rest
- `table`: tables of numbers: any accepted table as float64 rows, whole or piece by piece
- `targets`: rows of numbers and the column to predict from them, of tables in memory, files and streams of text
"""

"""Numeric tables.

- `cells`: values of numeric tables: non-numeric, missing and infinite values, and the rest as float64 rows
- `table`: numeric tables: any accepted table as float64 rows, whole or in chunks
- `targets`: numeric rows and the column to predict from them, of tables in memory, files and streams of text
"""

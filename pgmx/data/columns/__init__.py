"""Coding of single columns: values to state codes.

- `objects`: coding of columns of Python objects: strings, integers and booleans, alone or mixed
- `kinds`: the kinds of columns, and the coding of one column of each kind
- `declared`: states and discrete columns declared by the user: checking them, and coding a column by declared states
- `missing`: missing values: their positions, and the coding of columns that have some
"""

"""The dynamic Bayesian network: a network of each row given the rows before it, and one of the first rows.

- `columns`: names of lagged columns, and the two networks as families over them, checked
- `network`: the class, its conversions and files
"""

"""Discretisation: continuous variables as ordered categories.

- `edges`: edges of the bins of one column, from its values alone
- `hartemink`: bins that keep the mutual information between the columns
- `labels`: names of bins
- `discretizer`: the transformer, and the function that fits and applies it
"""

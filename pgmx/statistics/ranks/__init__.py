"""Rank correlations and marginal transforms.

- `columns`: columns in rank order: what rank correlations and marginal transforms begin with
- `transforms`: monotone maps of single columns to normal scores and back
- `correlation`: rank correlations of all pairs of columns, and the correlations of the normal variables behind them
"""

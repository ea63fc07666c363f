"""Rank correlations and marginal transforms.

- `columns`: columns in rank order, the input of rank correlations and marginal transforms
- `transforms`: monotone maps of single columns to normal scores and back
- `correlation`: rank correlations of all pairs of columns, and correlations of latent normal variables
"""

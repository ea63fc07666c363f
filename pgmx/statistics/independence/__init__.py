"""Tests of conditional independence between variables given as integer ids, a row of tests at a time.

- `source`: the interface of all tests, and the evidence that searches collect
- `false_discoveries`: control of the false discovery rate among many tests
- `partial_correlation`: continuous variables, by Fisher's z or Pearson's t
- `correlations`: the correlation matrices of such tests
"""

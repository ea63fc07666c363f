"""Learners of structural vector autoregressions.

- `terms`: the functions of an additive model, and their values at other rows
- `problem`: series, kernels and knowledge as group lassos, and the solutions in the terms of the model
- `path`: the results for a decreasing sequence of penalties
- `learner`: the base class of both learners
- `linear_svarm`: linear functions
- `kernel_svarm`: functions of reproducing kernel Hilbert spaces
- `resamples`: resampling of the blocks of rows
"""

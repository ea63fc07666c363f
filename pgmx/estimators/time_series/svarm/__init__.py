"""Learners of structural vector autoregressions.

- `terms`: the functions of an additive model, and their values at other rows
- `problem`: series, kernels and knowledge as group lassos, and the solutions in the terms of the model
- `path`: what was learned for a decreasing sequence of penalties
- `learner`: what both learners share
- `linear_svarm`: linear functions
- `kernel_svarm`: functions of reproducing kernel Hilbert spaces
- `resamples`: rows drawn anew from the blocks of all rows
"""

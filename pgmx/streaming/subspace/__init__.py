"""Rows of categories sketched in a low-dimensional subspace that is learned from them.

- `cells`: the observed cells of arrays, frames, sparse matrices and triples, coded by levels
- `online`: the state, checks of cells and levels, and calls of the compiled loops
- `predictions`: predictors, probabilities, levels and expectations of cells
- `learner`: `CategoricalSubspace`
"""

from pgmx.streaming.subspace.learner import CategoricalSubspace

__all__ = ["CategoricalSubspace"]

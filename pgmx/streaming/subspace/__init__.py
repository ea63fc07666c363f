"""Sketches of categorical rows in a learned low-dimensional subspace.

- `cells`: the observed values of arrays, frames, sparse matrices and triples, coded by levels
- `online`: the state, checks of values and levels, and calls of the compiled loops
- `predictions`: predictors, probabilities, levels and expectations of cells
- `learner`: `CategoricalSubspace`
"""

from pgmx.streaming.subspace.learner import CategoricalSubspace

__all__ = ["CategoricalSubspace"]

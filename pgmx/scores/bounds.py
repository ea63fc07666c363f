"""Upper bounds of families that are not scored yet."""

from dataclasses import dataclass

import numpy as np

#: The codes of `pgmx._ext._parent_sets`.
NO_BOUND, LIKELIHOOD, CELLS = 0, 1, 2


@dataclass(frozen=True, eq=False)
class FamilyBounds:
    """Upper bounds of the families of a child with more parents, as the exact search uses them.

    `LIKELIHOOD`: the score is a log-likelihood, which parents never decrease, minus `cost` per parameter; for a
    discrete child the log-likelihood is at most 0. `CELLS`: a Dirichlet score of unweighted rows, at most -ln r for
    each cell that occurs. `cards` are the cardinalities; None if each parent adds one parameter.
    """

    kind: int = NO_BOUND
    cost: float = 0.0
    cards: np.ndarray | None = None

"""What a score proves about families that are not scored yet."""

from dataclasses import dataclass

import numpy as np

#: The numbers of `pgmx._ext._parent_sets`.
NO_BOUND, LIKELIHOOD, CELLS = 0, 1, 2


@dataclass(frozen=True, eq=False)
class FamilyBounds:
    """Upper bounds of the families of a child with more parents, as the exact search uses them.

    `LIKELIHOOD`: the score is a log-likelihood, which parents never lower, less `cost` for each parameter; for states
    it is at most 0. `CELLS`: a Dirichlet score of whole rows, at most -ln r for each cell that occurs. `cards` are
    the numbers of states; None where a parent is one parameter.
    """

    kind: int = NO_BOUND
    cost: float = 0.0
    cards: np.ndarray | None = None

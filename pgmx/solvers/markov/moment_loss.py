"""What losses that compare a network's moments with the observed ones have in common."""

from abc import abstractmethod

import numpy as np

from pgmx.solvers.markov.penalised_loss import PenalisedLoss


class MomentLoss(PenalisedLoss):
    """Base of the losses log Z(w) - <w, p_D> with an elastic group penalty, in nats per row.

    p_D are the observed shares of the states of nodes and active edges; the gradient is the network's marginals less
    these shares. Subclasses say what Z and the marginals are. Of the rows only the numbers of states are read.
    """

    @abstractmethod
    def _gradients_at_zero(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradients in the tables of pairs without parameters, where each begins, and their norms."""

    def _gradient_cells(self, pairs):
        yield slice(None), *self._gradients_at_zero(pairs)

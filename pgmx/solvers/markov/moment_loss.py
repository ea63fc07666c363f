"""What losses that compare a network's moments with the observed ones have in common."""

from abc import abstractmethod

import numpy as np

from pgmx.solvers.markov.penalised_loss import PenalisedLoss


class MomentLoss(PenalisedLoss):
    r"""Base of the losses :math:`\log Z(w) - \langle w, p_D \rangle` with an elastic group penalty.

    .. math::

        F(w) = \log Z(w) - \langle w, p_D \rangle + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|w\|_2^2,
        \qquad d_e = \sqrt{s_i s_j}

    in nats per row, with the observed shares p_D of the states of nodes and active edges. The gradient is the network's
    marginals less these shares. Subclasses say what Z and the marginals are. Parameters are those of `PenalisedLoss`;
    of the rows only the numbers of states are read, for the statistics hold the weights.
    """

    @abstractmethod
    def _gradients_at_zero(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradients in the tables of pairs without parameters, where each begins, and their norms."""

    def _gradient_cells(self, pairs):
        yield slice(None), *self._gradients_at_zero(pairs)

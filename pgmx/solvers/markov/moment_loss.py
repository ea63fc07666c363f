"""What losses that compare a network's moments with the observed ones have in common."""

from abc import abstractmethod

import numpy as np

from pgmx._ext import _bethe
from pgmx.data import DiscreteTable
from pgmx.solvers.markov.penalised_loss import PenalisedLoss, as_pairs
from pgmx.statistics.pairs.tables import PairTables


class MomentLoss(PenalisedLoss):
    r"""Base of the losses :math:`\log Z(w) - \langle w, p_D \rangle` with an elastic group penalty.

    .. math::

        F(w) = \log Z(w) - \langle w, p_D \rangle + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|w\|_2^2,
        \qquad d_e = \sqrt{s_i s_j}

    in nats a row, with the observed shares p_D of the states of nodes and active edges. The gradient is the network's
    marginals less these shares. Subclasses say what Z and the marginals are.

    Parameters
    ----------
    table, statistics
        As in `PenalisedLoss`; of the rows only the numbers of states are read.
    weights, n_jobs : optional
        Not used: the statistics hold the weights already, and nothing here passes over rows.
    **options
        As in `PenalisedLoss`.
    """

    def __init__(
        self,
        table: DiscreteTable,
        statistics: PairTables,
        *,
        weights: np.ndarray | None = None,
        n_jobs: int | None = None,
        **options,
    ):
        super().__init__(table, statistics, **options)

    @abstractmethod
    def _gradient_cells(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradients in the tables of pairs without parameters, their borders and their norms."""

    def scores(self, pairs: np.ndarray) -> np.ndarray:
        r"""Return :math:`s_e = \|\nabla_e L\|_2 / d_e` of inactive pairs (k, 2), the first variable before the second.

        Parameters
        ----------
        pairs : ndarray of int64, shape (k, 2)
            Pairs without parameters.

        Returns
        -------
        ndarray of float64, shape (k,)
            A pair belongs in the model when its score is above λ c_e.
        """
        pairs = as_pairs(pairs)
        return self._gradient_cells(pairs)[2] / self._size(pairs)

    def gradients(self, pairs: np.ndarray) -> list[np.ndarray]:
        """Return the gradient of the loss in the table of each inactive pair, (s_i, s_j)."""
        pairs = as_pairs(pairs)
        cells, begins, _ = self._gradient_cells(pairs)
        shapes = map(tuple, self.cardinalities[pairs].tolist())
        return [cells[begins[k] : begins[k + 1]].reshape(shape) for k, shape in enumerate(shapes)]


def product_gradients(beliefs: np.ndarray, offsets: np.ndarray, statistics: PairTables, pairs: np.ndarray):
    """Return gradients at zero tables of pairs that are independent in the model, their borders and their norms."""
    tables, begins = statistics.flat(pairs)
    begins = np.ascontiguousarray(begins, dtype=np.int64)
    return tables, begins, _bethe.product_gradients(beliefs, offsets, pairs, begins, tables)

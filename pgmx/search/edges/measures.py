"""Figures of the history of a grafting run besides the objective: recall and the fit to held-out rows."""

from math import nan

import numpy as np

from pgmx.solvers.markov.penalised_loss import PenalisedLoss

#: The fit to held-out rows is measured when so many more edges are active.
_GROWTH = 1.02


class RoundMeasures:
    """Recall of the edges of a true graph, and negative log pseudolikelihood of held-out rows, per round.

    `true_pairs` are pairs of ids, `held_out` codes of shape (n, rows); None where it is not asked for.
    """

    def __init__(self, true_pairs: set[tuple[int, int]] | None, held_out: np.ndarray | None):
        self._true, self._held_out = true_pairs, held_out
        self._is_true: list[bool] = []  # of each active edge
        self._n_measured = self._n_last = -1

    def __call__(self, loss: PenalisedLoss, n_active: int) -> dict[str, float]:
        """Return the figures of a round with `n_active` activated edges."""
        figures = {}
        if self._true is not None:
            edges = loss.edges
            self._is_true += [pair in self._true for pair in map(tuple, edges[len(self._is_true) :].tolist())]
            n_hits = np.count_nonzero(np.array(self._is_true, dtype=bool) & (loss.norms() > 0))
            figures["recall"] = n_hits / len(self._true) if self._true else nan
        if self._held_out is not None:
            # where nothing was activated, only the parameters have moved
            due = n_active == self._n_last or n_active >= _GROWTH * self._n_measured
            self._n_last = n_active
            figures["held_out"] = self._measure_fit(loss, self._held_out) if due else nan
            if due:
                self._n_measured = n_active
        return figures

    def _measure_fit(self, loss: PenalisedLoss, codes: np.ndarray) -> float:
        return -float(loss.potentials().pseudo_log_likelihood(codes).mean())

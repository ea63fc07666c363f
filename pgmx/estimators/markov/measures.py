"""What the history of a grafting run tells besides the objective: recall and the fit to held-out rows."""

from collections.abc import Callable, Iterable
from math import nan

import numpy as np

from pgmx.checks import check_same_names, join_names
from pgmx.data import DiscreteTable, encode
from pgmx.data.errors import MissingCellsError, UnknownColumnsError
from pgmx.data.recode import recode_table
from pgmx.search.knowledge.pairs import read_pairs

#: The fit to held-out rows is measured when so many more edges are active.
_GROWTH = 1.02


class RoundMeasures:
    """Recall of the edges of a true graph, and negative log pseudolikelihood of held-out rows, a round.

    Parameters
    ----------
    loss : MarkovLoss
        Whose edges and parameters are measured.
    true_pairs : set of (i, j), optional
        Edges of the true graph by ids.
    held_out : ndarray, shape (n, M), optional
        Codes of rows that were not learned from.
    """

    def __init__(self, loss, true_pairs: set | None, held_out: np.ndarray | None):
        self._loss = loss
        self._true = true_pairs
        self._held_out = held_out
        self._true_at: list[bool] = []  # of each active edge, whether it is a true one
        self._measured_at = self._last = -1

    @classmethod
    def make(cls, loss, true_pairs, held_out) -> Callable[[int], dict[str, float]] | None:
        """Return the measure of a run, None where nothing is asked for."""
        return None if true_pairs is None and held_out is None else cls(loss, true_pairs, held_out)

    def __call__(self, n_active: int) -> dict[str, float]:
        """Return the figures of a round with `n_active` activated edges."""
        found = {}
        if self._true is not None:
            edges = self._loss.edges
            self._true_at += [pair in self._true for pair in map(tuple, edges[len(self._true_at) :].tolist())]
            hits = np.count_nonzero(np.array(self._true_at, dtype=bool) & (self._loss.norms() > 0))
            found["recall"] = hits / len(self._true) if self._true else nan
        if self._held_out is not None:
            settled = n_active == self._last  # nothing was activated: the parameters alone moved
            due = settled or n_active >= _GROWTH * self._measured_at
            self._last = n_active
            found["held_out"] = self._npll() if due else nan
            if due:
                self._measured_at = n_active
        return found

    def _npll(self) -> float:
        return -float(self._loss.potentials().pseudo_log_likelihood(self._held_out).mean())


def true_pairs(true_graph, names: list) -> set | None:
    """Return the edges of a graph, or of a collection of pairs of names, by ids."""
    if true_graph is None:
        return None
    edges: Iterable = true_graph.edges() if hasattr(true_graph, "edges") else true_graph
    ids = {name: i for i, name in enumerate(names)}
    found = set()
    for u, v in read_pairs(edges, "true_graph"):
        odd = next((name for name in (u, v) if name not in ids), None)
        if odd is not None:
            raise ValueError(f"true_graph has the node {odd!r}, which is no column of the data")
        found.add((min(ids[u], ids[v]), max(ids[u], ids[v])))
    return found


def held_out_codes(held_out, table: DiscreteTable, option: str = "held_out") -> np.ndarray | None:
    """Return the codes of further rows with the states of a table."""
    if held_out is None:
        return None
    states = dict(zip(table.columns, map(list, table.states), strict=True))
    try:
        coded = held_out if isinstance(held_out, DiscreteTable) else encode(held_out, state_names=states)
    except UnknownColumnsError as error:
        raise ValueError(f"{option} lacks the column(s) {join_names(error.names)}, which the data have") from None
    except MissingCellsError as error:
        raise ValueError(
            f"{option} has missing cells in column(s) {join_names(error.names)}: drop or fill them"
        ) from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError  # others are not made of a text
        raise kind(f"{option} cannot be read with the states of the data: {error}") from None
    check_same_names(coded.columns, table.columns, option, "the data", "columns")
    return recode_table(coded, table.columns, table.states)

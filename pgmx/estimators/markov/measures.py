"""Recall of the edges of a true graph, and loss on held-out rows, for the history."""

from collections.abc import Iterable, Sequence
from math import nan

import numpy as np

from pgmx.checks import check_same_names, join_names
from pgmx.data import DiscreteTable, encode
from pgmx.data.columns import MAX_BYTE_STATES
from pgmx.data.declared_states import list_unknown_states, match_states
from pgmx.data.errors import MissingValuesError, UnknownColumnsError
from pgmx.search.pair_knowledge import read_pairs
from pgmx.solvers.markov.penalised_loss import PenalisedLoss

#: Factor of growth of the number of active edges after which the loss on held-out rows is computed again.
_GROWTH = 1.02


def read_true_pairs(true_graph, names: list) -> set | None:
    """Return the edges of a graph, or of a collection of pairs of names, as ids."""
    if true_graph is None:
        return None
    edges: Iterable = true_graph.edges() if hasattr(true_graph, "edges") else true_graph
    ids = {name: i for i, name in enumerate(names)}
    pairs = set()
    for u, v in read_pairs(edges, "true_graph"):
        unknown = next((name for name in (u, v) if name not in ids), None)
        if unknown is not None:
            raise ValueError(f"true_graph has the node {unknown!r}, which is not a column of the data")
        pairs.add((min(ids[u], ids[v]), max(ids[u], ids[v])))
    return pairs


def code_held_out(held_out, table: DiscreteTable) -> np.ndarray | None:
    """Return the codes of other rows with the states of a table."""
    if held_out is None:
        return None
    states = dict(zip(table.columns, map(list, table.states), strict=True))
    try:
        coded = held_out if isinstance(held_out, DiscreteTable) else encode(held_out, state_names=states)
    except UnknownColumnsError as error:
        raise ValueError(f"held_out does not have the column(s) {join_names(error.names)} of the data") from None
    except MissingValuesError as error:
        raise ValueError(
            f"held_out has missing values in column(s) {join_names(error.names)}: drop or fill them"
        ) from None
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError  # other types have no constructor from a text
        raise kind(f"held_out cannot be read with the states of the data: {error}") from None
    check_same_names(coded.columns, table.columns, "held_out", "the data", "columns")
    return _recode_table(coded, table.columns, table.states)


class RoundMeasures:
    """Recall of the edges of a true graph, and negative log-pseudolikelihood of held-out rows, per round.

    `true_pairs` are pairs of ids, `held_out` codes of shape (n, rows); each is None if not requested.
    """

    def __init__(self, true_pairs: set[tuple[int, int]] | None, held_out: np.ndarray | None):
        self._true, self._held_out = true_pairs, held_out
        self._is_true: list[bool] = []  # of each active edge
        self._n_measured = self._n_last = -1

    def __call__(self, loss: PenalisedLoss, n_active: int) -> dict[str, float]:
        """Return the measures of a round with `n_active` activated edges."""
        figures = {}
        if self._true is not None:
            edges = loss.edges
            # edges are only added: those of earlier rounds are known
            self._is_true += [pair in self._true for pair in map(tuple, edges[len(self._is_true) :].tolist())]
            n_hits = np.count_nonzero(np.array(self._is_true, dtype=bool) & (loss.norms() > 0))
            # without true edges there is no recall
            figures["recall"] = n_hits / len(self._true) if self._true else nan
        if self._held_out is not None:
            # if no edge was activated, only the parameters have changed
            due = n_active == self._n_last or n_active >= _GROWTH * self._n_measured
            self._n_last = n_active
            figures["held_out"] = self._measure_fit(loss, self._held_out) if due else nan
            if due:
                self._n_measured = n_active
        return figures

    def _measure_fit(self, loss: PenalisedLoss, codes: np.ndarray) -> float:
        return -float(loss.potentials().pseudo_log_likelihood(codes).mean())


def _recode_table(table: DiscreteTable, columns: Sequence, states: Sequence[Sequence]) -> np.ndarray:
    """Return the codes of `columns` in given states, shape (len(columns), n_rows); raise if a state is unknown."""
    largest = max(map(len, states))
    codes = np.empty((len(columns), table.n_rows), dtype=np.uint8 if largest <= MAX_BYTE_STATES else np.uint16)
    for row, name, target in zip(codes, columns, states, strict=True):
        v = table.index(name)
        unknown = list_unknown_states(table.states[v], target, table.codes[v])
        if unknown:
            raise ValueError(
                f"column {name!r} holds the state(s) {join_names(unknown)}, which are not among those expected: "
                f"{join_names(target)}"
            )
        row[:] = match_states(table.states[v], target).astype(codes.dtype)[table.codes[v]]
    return codes

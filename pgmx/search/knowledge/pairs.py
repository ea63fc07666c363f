"""What is known of the edges of an undirected graph, from names to ids."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np


class PairKnowledge(NamedTuple):
    """Edges that are required, edges that are forbidden, and weights of penalties.

    Attributes
    ----------
    required : ndarray of int64, shape (k, 2)
        Edges without a penalty, smaller id first.
    forbidden : ndarray of int64, shape (m, 2)
        Edges that must not be.
    weight : callable or None
        From pairs (k, 2) to the factors c_e of their penalties; None where all are 1.
    given : list of ((i, j), float)
        All factors that are not 1, in the order of the pairs.
    """

    required: np.ndarray
    forbidden: np.ndarray
    weight: Callable[[np.ndarray], np.ndarray] | None
    given: list


def pair_knowledge(names: Sequence, required_edges, forbidden_edges, edge_weights) -> PairKnowledge:
    """Translate the options of a learner.

    Parameters
    ----------
    names : sequence
        Names of the variables.
    required_edges, forbidden_edges : collection of pairs of names, or None
        In any order and orientation.
    edge_weights : mapping from pairs of names to numbers, or square table of numbers, or None
        Factors of the penalties; 0 requires an edge, infinity forbids it, pairs that are not named have 1.

    Returns
    -------
    PairKnowledge
        By ids.

    Raises
    ------
    ValueError
        For unknown names, pairs of one variable, weights that are negative or contradict each other, and edges that are
        required and forbidden.
    """
    ids = {name: i for i, name in enumerate(names)}
    weights: dict[tuple[int, int], float] = {}
    weighted = _weighted(edge_weights, names)
    for pair, value in zip(checked_pairs(weighted, "edge_weights"), weighted.values(), strict=True):
        at = _pair(pair, ids, "edge_weights")
        if not _is_weight(value):
            raise ValueError(f"edge_weights of {pair!r} is {value!r}: it must be a number from 0 on, or infinity")
        if weights.setdefault(at, float(value)) != value:
            raise ValueError(f"edge_weights has {weights[at]} and {value} for the pair {pair!r}: give it once")
    for option, edges, value in (("required_edges", required_edges, 0.0), ("forbidden_edges", forbidden_edges, inf)):
        for pair in checked_pairs(edges, option):
            at = _pair(pair, ids, option)
            if {weights.get(at, value), value} == {0.0, inf}:
                raise ValueError(f"the edge {tuple(pair)!r} is required and forbidden: drop it from one of the two")
            weights[at] = value
    given = sorted((pair, value) for pair, value in weights.items() if value != 1)
    return PairKnowledge(
        _array(pair for pair, value in given if value == 0),
        _array(pair for pair, value in given if value == inf),
        _Lookup(dict(given), len(names)) if given else None,
        given,
    )


def _weighted(edge_weights, names: Sequence) -> Mapping:
    if edge_weights is None:
        return {}
    if isinstance(edge_weights, Mapping):
        return edge_weights
    try:
        table = np.asarray(edge_weights, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"edge_weights must map pairs of variables to numbers, or be a symmetric table of numbers: {error}"
        ) from None
    if table.shape != (len(names), len(names)) or not np.array_equal(table, table.T, equal_nan=True):
        raise ValueError(
            f"edge_weights must map pairs of variables to numbers, or be a symmetric table of {len(names)} rows and "
            f"columns, got shape {table.shape}"
        )
    order = list(names)
    if hasattr(edge_weights, "columns"):
        order = list(edge_weights.columns)
        if set(order) != set(names) or list(edge_weights.index) != order:
            raise ValueError(
                "edge_weights must have the variables of the data as columns and, in the same order, as index"
            )
    first, second = np.nonzero(np.triu(table != 1, 1))
    return {(order[i], order[j]): float(table[i, j]) for i, j in zip(first, second, strict=True)}


def checked_pairs(edges, option: str) -> Collection:
    """Return the given pairs as a list, or say which option holds something else."""
    if edges is None:
        return ()
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise TypeError(f"{option} must hold pairs of variables, such as [('a', 'b')], got {edges!r}")
    edges = list(edges)
    for pair in edges:
        if isinstance(pair, str) or not isinstance(pair, Collection) or len(pair) != 2:
            raise ValueError(f"{option} holds {pair!r}: an edge is a pair of variables, such as ('a', 'b')")
    return edges


def _is_weight(value: Any) -> bool:
    try:
        return float(value) >= 0 and (isfinite(value) or float(value) == inf)
    except (TypeError, ValueError):
        return False


def _pair(pair, ids: Mapping, option: str) -> tuple[int, int]:
    for name in pair:
        if name not in ids:
            raise ValueError(f"{option} names {name!r}, which is no column of the data")
    i, j = sorted(ids[name] for name in pair)
    if i == j:
        raise ValueError(f"{option} joins {next(iter(pair))!r} with itself: an edge needs two variables")
    return i, j


def _array(pairs) -> np.ndarray:
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


class _Lookup:
    """From pairs to weights, which are 1 where none is given; a class, for pickles hold no local functions."""

    def __init__(self, weights: dict[tuple[int, int], float], n: int):
        numbers = np.array([i * n + j for i, j in weights], dtype=np.int64)
        order = np.argsort(numbers)
        self._n, self._numbers, self._values = n, numbers[order], np.array(list(weights.values()))[order]

    def __call__(self, pairs: np.ndarray) -> np.ndarray:
        wanted = pairs[:, 0] * self._n + pairs[:, 1]
        at = np.minimum(np.searchsorted(self._numbers, wanted), len(self._numbers) - 1)
        return np.where(self._numbers[at] == wanted, self._values[at], 1.0)

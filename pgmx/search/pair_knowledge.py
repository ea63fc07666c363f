"""Background knowledge about undirected edges: required and forbidden pairs, and factors of their penalties, as ids."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np

from pgmx.checks import as_reals


class PairKnowledge(NamedTuple):
    """Edges of an undirected graph that are required or forbidden, int64 (m, 2) with the smaller id first.

    `weight` maps pairs (k, 2) to the factors of their penalties; None if all are 1. `factors` lists the factors other
    than 1, as ((i, j), float) in the order of the pairs.
    """

    required: np.ndarray
    forbidden: np.ndarray
    weight: Callable[[np.ndarray], np.ndarray] | None
    factors: list[tuple[tuple[int, int], float]]

    def candidate_rule(self, is_free: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """Return a function from pairs (k, 2) to whether each is unconstrained and both its ends are free."""
        n = len(is_free)
        known = np.concatenate([self.required, self.forbidden])
        numbers = np.sort(known[:, 0] * n + known[:, 1])

        def is_candidate(pairs: np.ndarray) -> np.ndarray:
            return ~np.isin(pairs[:, 0] * n + pairs[:, 1], numbers) & is_free[pairs].all(axis=1)

        return is_candidate


def read_pair_knowledge(names: Sequence, required_edges, forbidden_edges, edge_weights) -> PairKnowledge:
    """Translate the options of a learner into ids; raise a ValueError if they contradict each other.

    Edges may be in any order and orientation. `edge_weights` maps pairs of names to factors of their penalties, or is
    a square table of factors: 0 requires an edge, infinity forbids it, the default is 1.
    """
    ids = {name: i for i, name in enumerate(names)}
    weights: dict[tuple[int, int], float] = {}
    factor_of = _map_weights(edge_weights, names)
    for pair, value in zip(read_pairs(factor_of, "edge_weights"), factor_of.values(), strict=True):
        edge = _edge_of(pair, ids, "edge_weights")
        if not _is_weight(value):
            raise ValueError(f"edge_weights of {pair!r} is {value!r}: it must be a number of at least 0, or infinity")
        if weights.setdefault(edge, float(value)) != value:
            raise ValueError(f"edge_weights has {weights[edge]} and {value} for the pair {pair!r}: give it once")
    for option, edges, value in (("required_edges", required_edges, 0.0), ("forbidden_edges", forbidden_edges, inf)):
        for pair in read_pairs(edges, option):
            edge = _edge_of(pair, ids, option)
            if value == inf and edge[0] == edge[1]:
                continue
            if {weights.get(edge, value), value} == {0.0, inf}:
                raise ValueError(f"the edge {tuple(pair)!r} is required and forbidden: drop it from one of the two")
            weights[edge] = value
    factors = sorted((pair, value) for pair, value in weights.items() if value != 1)
    return PairKnowledge(
        _edge_array(pair for pair, value in factors if value == 0),
        _edge_array(pair for pair, value in factors if value == inf),
        _FactorLookup(dict(factors), len(names)) if factors else None,
        factors,
    )


def _map_weights(edge_weights, names: Sequence) -> Mapping:
    if edge_weights is None:
        return {}
    if isinstance(edge_weights, Mapping):
        return edge_weights
    try:
        table = np.asarray(as_reals(edge_weights, "edge_weights"), dtype=float)
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


def read_pairs(edges, option: str) -> Collection:
    """Return the pairs as a list; raise an error that names the option if it is not a list of pairs."""
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
        return not np.iscomplexobj(value) and float(value) >= 0 and (isfinite(value) or float(value) == inf)
    except (TypeError, ValueError):
        return False


def _edge_of(pair, ids: Mapping, option: str) -> tuple[int, int]:
    for name in pair:
        if name not in ids:
            raise ValueError(f"{option} names {name!r}, which is not a column of the data")
    i, j = sorted(ids[name] for name in pair)
    if i == j and option != "forbidden_edges":
        raise ValueError(f"{option} joins {next(iter(pair))!r} to itself: an edge needs two variables")
    return i, j


def _edge_array(pairs) -> np.ndarray:
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


class _FactorLookup:
    """A map from pairs to factors, 1 by default; a class, since local functions cannot be pickled."""

    def __init__(self, weights: dict[tuple[int, int], float], n: int):
        numbers = np.array([i * n + j for i, j in weights], dtype=np.int64)
        order = np.argsort(numbers)
        self._n, self._numbers, self._values = n, numbers[order], np.array(list(weights.values()))[order]

    def __call__(self, pairs: np.ndarray) -> np.ndarray:
        wanted = pairs[:, 0] * self._n + pairs[:, 1]
        at = np.minimum(np.searchsorted(self._numbers, wanted), len(self._numbers) - 1)
        return np.where(self._numbers[at] == wanted, self._values[at], 1.0)

"""Exact elimination of variables with few neighbours, and the connected components that remain."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pgmx.inference.networks.factors import LogFactors
from pgmx.inference.networks.log_tables import log_sum_exp

#: Largest number of neighbours of a variable that is summed out, so that new tables have at most two variables.
MOST_NEIGHBOURS = 2

Factors = Sequence[tuple[tuple[int, ...], np.ndarray]]


class Part(NamedTuple):
    """A connected component of a network: the indices of its variables in the network, and its factors."""

    variables: list[int]
    factors: LogFactors


def sum_out_low_degrees(cards: Sequence[int], factors: Factors) -> tuple[np.ndarray, list[Part]]:
    """Sum out all variables of at most two neighbours; return log-sums per variable and the remaining components.

    The log-sums, float64 (n,), plus the log-partitions of the components give the log-partition of the network. The
    scopes of a component are distinct.
    """
    tables: dict[tuple[int, ...], np.ndarray] = {}
    around: list[set[tuple[int, ...]]] = [set() for _ in cards]

    def add(scope: tuple[int, ...], table: np.ndarray) -> None:
        axes = sorted(range(len(scope)), key=scope.__getitem__)
        scope, table = tuple(scope[axis] for axis in axes), np.transpose(table, axes)
        tables[scope] = tables[scope] + table if scope in tables else table
        for v in scope:
            around[v].add(scope)

    for scope, table in factors:
        add(scope, table)
    shares = np.log(np.asarray(cards, dtype=np.float64))
    waiting = list(range(len(cards)))
    while waiting:
        v = waiting.pop()
        others = sorted({u for scope in around[v] for u in scope} - {v})
        if not around[v] or len(others) > MOST_NEIGHBOURS:
            continue
        scopes = sorted(around[v])
        joint = (*others, v)
        logs = np.zeros([cards[u] for u in joint])
        for scope in scopes:
            axes = sorted(range(len(scope)), key=lambda axis: joint.index(scope[axis]))
            shape = [cards[u] if u in scope else 1 for u in joint]
            logs += np.transpose(tables.pop(scope), axes).reshape(shape)
            for u in scope:
                around[u].discard(scope)
        sums = log_sum_exp(logs)
        shares[v] = 0.0 if others else float(sums)
        if others:
            add(tuple(others), sums)
            waiting += others
    return shares, _list_parts(cards, tables, shares)


def _list_parts(cards: Sequence[int], tables: dict[tuple[int, ...], np.ndarray], shares: np.ndarray) -> list[Part]:
    """Return the connected components of the remaining tables; the shares of their variables become 0."""
    root = list(range(len(cards)))

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    for scope in tables:
        for u in scope[1:]:
            root[find(u)] = find(scope[0])
    members: dict[int, list[int]] = {}
    for v in sorted({u for scope in tables for u in scope}):
        members.setdefault(find(v), []).append(v)
        shares[v] = 0.0
    scopes_of: dict[int, list[tuple[int, ...]]] = {part: [] for part in members}
    for scope in sorted(tables):
        scopes_of[find(scope[0])].append(scope)
    parts = []
    for part, variables in members.items():
        number = {v: k for k, v in enumerate(variables)}
        scopes = tuple(tuple(number[v] for v in scope) for scope in scopes_of[part])
        values = tuple(tables[scope] for scope in scopes_of[part])
        parts.append(Part(variables, LogFactors(np.array([cards[v] for v in variables]), scopes, values)))
    return parts

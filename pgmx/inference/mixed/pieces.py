"""Missing values of many rows under a conditional linear Gaussian network, in conditionally independent blocks.

A block (`Piece`) is a maximal set of missing variables connected by families. Its distribution given the row depends on
the observed members of these families only. Rows with the same missing variables in these families share a block,
whatever else is missing in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pgmx.inference.mixed.families import MixedFamilies
from pgmx.inference.mixed.posterior import Question, make_question


class Piece(NamedTuple):
    """A block: its missing variables, ascending; their families, by child; the rows that share the block."""

    hidden: list[int]
    families: list[int]
    rows: np.ndarray


def find_pieces(families: Sequence[Sequence[int]], missing: np.ndarray) -> list[Piece]:
    """Return the blocks of rows with values `missing`, bool (n, n_rows); families are (v, parents...)."""
    n, n_rows = missing.shape
    if n_rows > 1 and (missing == missing[:, :1]).all():
        return [piece._replace(rows=np.arange(n_rows)) for piece in find_pieces(families, missing[:, :1])]
    near: list[set[int]] = [set() for _ in range(n)]
    touching: list[list[int]] = [[] for _ in range(n)]
    for family in families:
        for u in family:
            touching[u].append(family[0])
            near[u].update(family)
    labels = np.where(missing, np.arange(n, dtype=np.int32)[:, None], n)
    changed = True
    while changed:  # the smallest label of a block spreads over it
        changed = False
        for order in (range(n), range(n - 1, -1, -1)):
            for v in order:
                if len(near[v]) > 1 and missing[v].any():
                    least = np.where(missing[v], labels[sorted(near[v])].min(axis=0), n)
                    if (least < labels[v]).any():
                        labels[v], changed = least, True
    pieces = []
    for first in range(n):
        rows = np.flatnonzero(labels[first] == first)
        if not len(rows):
            continue
        packed = np.packbits(labels[:, rows] == first, axis=0)
        _, place, group = np.unique(packed, axis=1, return_index=True, return_inverse=True)
        by_group = np.argsort(group.reshape(-1), kind="stable")
        parts = np.split(rows[by_group], np.cumsum(np.bincount(group.reshape(-1)))[:-1])
        for k, part in zip(place.tolist(), parts, strict=True):
            hidden = np.flatnonzero(labels[:, rows[k]] == first).tolist()
            pieces.append(Piece(hidden, sorted({v for u in hidden for v in touching[u]}), part))
    return pieces


def plan_piece(network: MixedFamilies, piece: Piece) -> Question:
    """Plan the computation for a block; the plan is valid for all parameters of the same graph."""
    observed = np.ones(len(network.cards), dtype=bool)
    observed[piece.hidden] = False
    return make_question(network, observed, piece.families, piece.hidden, piece.hidden)

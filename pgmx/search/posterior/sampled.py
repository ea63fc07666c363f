"""Sampled DAGs: their families, arcs and paths. Equal graphs are stored once."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from pgmx._ext._sampled_dags import count_descendants, find_ancestors
from pgmx.search.posterior.families import ParentChoices


class Families(NamedTuple):
    """The distinct families of many graphs: the child and the ascending parents of each, by child.

    ``family_of[k, v]`` is the position of the family of variable v in graph k, int64.
    """

    children: list[int]
    parents: list[np.ndarray]
    family_of: np.ndarray


class SampledDags:
    """DAGs over n variables as bits: ``parents[k, v]`` are the words of 64 parents of v in the distinct graph k.

    Sample i is the graph ``graph_of[i]``.
    """

    def __init__(self, parents: np.ndarray):
        n_samples, self.n, n_words = parents.shape
        rows = np.ascontiguousarray(parents, dtype=np.uint64).reshape(n_samples, self.n * n_words)
        distinct, first, graph_of = _number_rows(rows)
        self.parents = distinct.reshape(-1, self.n, n_words)
        #: Position of the first sample of each graph.
        self.first = first
        self.graph_of = graph_of

    @classmethod
    def from_sets(cls, sets: np.ndarray, choices: ParentChoices) -> "SampledDags":
        """Return the graphs of sets of candidates, uint32 (n_samples, n), bit b for candidate b."""
        n = choices.n
        parents = np.zeros((len(sets), n, (n + 63) // 64), dtype=np.uint64)
        for v in range(n):
            for u in choices.required[v].tolist():
                parents[:, v, u >> 6] |= np.uint64(1 << (u & 63))
            for b, u in enumerate(choices.candidates[v].tolist()):
                bits = (sets[:, v] >> np.uint32(b) & np.uint32(1)).astype(np.uint64)
                parents[:, v, u >> 6] |= bits << np.uint64(u & 63)
        return cls(parents)

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.graph_of)

    @cached_property
    def multiplicities(self) -> np.ndarray:
        """Number of samples of each distinct graph, float64."""
        return np.bincount(self.graph_of, minlength=len(self.parents)).astype(float)

    @cached_property
    def ancestors(self) -> np.ndarray:
        """Ancestors in each distinct graph, in the form of `parents`."""
        return find_ancestors(self.parents)

    def list_edges(self, graph: int) -> list[tuple[int, int]]:
        """Return the arcs (tail, head) of a distinct graph, by head and tail."""
        return [(tail, head) for head, row in enumerate(self.parents[graph]) for tail in _to_ids(row).tolist()]

    @cached_property
    def families(self) -> Families:
        """The distinct families."""
        children: list[int] = []
        parents: list[np.ndarray] = []
        family_of = np.empty((len(self.parents), self.n), dtype=np.int64)
        for v in range(self.n):
            distinct, _, family_of[:, v] = _number_rows(np.ascontiguousarray(self.parents[:, v]))
            family_of[:, v] += len(children)
            children += [v] * len(distinct)
            parents += [_to_ids(row) for row in distinct]
        return Families(children, parents, family_of)

    def arc_frequency(self) -> np.ndarray:
        """Return the share of the samples with each arc, float64 (n, n) ``[tail, head]``."""
        return self._sum_bits(self.parents) / self.n_samples

    def path_frequency(self) -> np.ndarray:
        """Return the share of the samples with a directed path, float64 (n, n) ``[first, last]``."""
        return self._sum_bits(self.ancestors) / self.n_samples

    def count_descendants(self) -> np.ndarray:
        """Return the number of samples in which y descends from x, float64 (n_families, n), by the family of x."""
        found = self.families
        return count_descendants(self.ancestors, found.family_of, len(found.children), self.multiplicities)

    def _sum_bits(self, bits: np.ndarray) -> np.ndarray:
        total = np.empty((self.n, self.n))
        for u in range(self.n):
            total[u] = self.multiplicities @ (bits[:, :, u >> 6] >> np.uint64(u & 63) & np.uint64(1)).astype(float)
        return total


def _number_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct rows of a uint64 matrix in order of appearance, their first positions, and indices."""
    keys = rows.view([("", np.uint64)] * rows.shape[1]).ravel() if rows.shape[1] > 1 else rows.ravel()
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    first = np.sort(first)
    return rows[first], first, rank[numbers.ravel()]


def _to_ids(words: np.ndarray) -> np.ndarray:
    """Return the set bits of a row of words, ascending, int32."""
    bits = np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little")
    return np.flatnonzero(bits).astype(np.int32)

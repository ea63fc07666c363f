"""Functions that workers call for a distributed pseudolikelihood: conditionals of the rows of a partition, and sums.

A request names the version of the conditionals that it starts from. A partition that was made again after the loss of
its worker has no conditionals. It answers None, and the request is repeated with the operations that lead to this
version.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._pseudolikelihood import Conditionals
from pgmx._ext._remote_conditionals import CLOSE, COMPARE, COPY, OPEN
from pgmx.solvers.markov.weighted_rows import WeightScale, arrange_rows


class Operations(NamedTuple):
    """Operations in the order of execution, see `RemoteConditionals`; row k of `heads` is (i, j, counts)."""

    heads: np.ndarray
    tables: np.ndarray

    @classmethod
    def pack(cls, operations: Sequence[tuple]) -> "Operations":
        """Convert a list of operations to arrays."""
        heads = np.array([(i, j, counts) for i, j, _, counts in operations], dtype=np.int64).reshape(-1, 3)
        tables = [np.ravel(table) for _, _, table, _ in operations if table is not None]
        return cls(heads, np.concatenate([np.zeros(0), *tables]))

    def unpack(self, cardinalities: np.ndarray) -> list[tuple]:
        """Return the list of operations, each with a table."""
        shapes = [cardinalities[[i]] if j == OPEN else cardinalities[[i, j]] for i, j, _ in self.heads.tolist()]
        ends = np.cumsum([shape.prod() for shape in shapes], dtype=np.int64)
        tables = np.split(self.tables, ends[:-1]) if shapes else []
        rows = zip(self.heads.tolist(), tables, shapes, strict=True)
        return [(i, j, table.reshape(shape), counts > 0) for (i, j, counts), table, shape in rows]


class Request(NamedTuple):
    """Operations on conditionals from `version` to `after`, and the sums requested afterwards.

    `sides` are ordered pairs (k, 2), `nodes` variables whose logarithms are summed. `basis` leads from no conditionals
    to `version`; it is sent if a partition does not have this version.
    """

    version: int
    after: int
    operations: Operations
    sides: np.ndarray
    nodes: np.ndarray
    basis: Operations | None = None


class Sums(NamedTuple):
    """Sums over rows: changes by the counting operations, tables one after another, logarithms."""

    moved: np.ndarray
    sides: np.ndarray
    logs: np.ndarray


class ConditionalPart:
    """Conditionals of the rows of a partition, stored by its worker; `scale` is the weight scale of all rows."""

    def __init__(self, part: Any, is_double: bool, scale: WeightScale | None):
        self._fields = part, is_double, scale
        self.lock = Lock()
        self.version = 0
        self.sums: Sums | None = None
        self._copies: dict[int, np.ndarray] = {}
        self._cards = part.table.cardinalities
        self._rows = self._arrange()

    def _arrange(self) -> Conditionals | None:
        part, is_double, scale = self._fields
        codes, weights = arrange_rows(part.table, part.weights, scale, is_double)
        if not len(codes[0]):
            return None
        counts = [np.bincount(x, weights, minlength=s) for x, s in zip(codes, self._cards, strict=True)]
        shares = np.concatenate([count / count.sum() for count in counts])
        penalties = np.zeros(len(codes))
        heaviest = None if scale is None else scale.heaviest
        return Conditionals(codes, self._cards, shares, weights, 0.0, penalties, is_double, heaviest)

    def __reduce__(self):
        return ConditionalPart, self._fields  # conditionals are rebuilt from requests

    def __sizeof__(self) -> int:
        rows, n_bytes = self._rows, 0
        if rows is not None:
            stored = [i for i in range(rows.n) if not rows.is_constant(i)]
            n_bytes = int(self._cards[stored].sum()) * rows.n_rows * (8 if self._fields[1] else 4)
        return object.__sizeof__(self) + n_bytes

    def begin(self) -> None:
        """Delete all conditionals."""
        self._rows, self._copies = self._arrange(), {}

    def apply(self, operations: Operations) -> np.ndarray:
        """Apply operations to the conditionals; return the changes by the counting operations."""
        rows, heads = self._rows, operations.heads
        moved = np.zeros(len(heads))
        if rows is None:
            return moved[heads[:, 2] > 0]
        at = 0
        for k, (i, j, counts) in enumerate(heads.tolist()):
            if j == CLOSE:
                rows.close_at(i)
            elif j == COPY:
                self._copies[i] = rows.conditionals(i)
            elif j == COMPARE:
                moved[k] = rows.distance(i, self._copies.pop(i))
            else:
                size = self._cards[i] * (1 if j == OPEN else self._cards[j])
                table = operations.tables[at : at + size]
                at += size
                if j == OPEN:
                    rows.open_at(i, table)
                else:
                    by = rows.move(i, j, table.reshape(self._cards[i], self._cards[j]))
                    moved[k] = by * counts
        return moved[heads[:, 2] > 0]

    def sum_rows(self, sides: np.ndarray, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the tables of ordered pairs, and the sums of the logarithms of nodes."""
        if self._rows is None:
            return np.zeros(int(self._cards[sides].prod(axis=1).sum())), np.zeros(len(nodes))
        return self._rows.sum_sides(sides), np.array([self._rows.sum_logs(i) for i in nodes.tolist()], dtype=float)


def make_conditionals(part: Any, setup: tuple) -> ConditionalPart:
    """Return the conditionals of a partition, initially empty."""
    return ConditionalPart(part, *setup)


def answer_request(part: ConditionalPart, request: Request) -> Sums | None:
    """Return the sums over the rows of a partition, None if it does not have the version of the request."""
    with part.lock:
        if part.version == request.after:  # the answer was lost, or the worker that had to add it
            return part.sums
        if part.version != request.version:
            if request.basis is None:
                return None
            part.begin()
            part.apply(request.basis)
        part.version = -1  # if this is interrupted
        moved = part.apply(request.operations)
        part.sums = Sums(moved, *part.sum_rows(request.sides, request.nodes))
        part.version = request.after
        return part.sums


def add_sums(parts: list[Sums | None]) -> Sums | None:
    """Add the sums of some partitions; None if a partition has none."""
    known = [part for part in parts if part is not None]
    return Sums(*(np.sum(arrays, axis=0) for arrays in zip(*known, strict=True))) if len(known) == len(parts) else None

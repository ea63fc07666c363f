"""Conditionals of a pseudolikelihood over a distributed table: the parts have these, the driver has the parameters.

A request carries what the steps since the last one do to the conditionals, and asks for sums over the rows: tables of
conditionals by the state of a neighbour, and logarithms. What a step needs of the rows are two such tables::

    driver                                       worker
    parameters, bounds, penalties                conditionals of the rows of a part
      |   moves of the last steps,                 |
      |   tables for the next ones  ------------>  |  moves, then sums
      v                                            v
    steps  <--------- sums over all parts ---------+

Steps of blocks without a variable in common commute, so that a message serves all blocks that no earlier one of the
visiting order shares a variable with: the steps are those of the order, one after the other.

A part whose worker was lost is made again without conditionals. It knows by the number of the request that it lacks
some, and says so; the request is then repeated with all moves since the beginning, summed.
"""

from collections.abc import Sequence
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pgmx._ext._pseudolikelihood import Conditionals
from pgmx._ext._remote_conditionals import CLOSE, COMPARE, COPY, OPEN, RemoteConditionals
from pgmx.data import DistributedTable
from pgmx.solvers.markov.weighted_rows import WeightScale, arrange_rows

#: How often a request is repeated because workers were lost in the meantime.
_MOST_REPEATS = 20


class Operations(NamedTuple):
    """Operations in the order in which they are done, see `RemoteConditionals`; row k of `heads` is (i, j, counts)."""

    heads: np.ndarray
    tables: np.ndarray

    @classmethod
    def pack(cls, operations: Sequence[tuple]) -> "Operations":
        """Put a list of operations into arrays."""
        heads = np.array([(i, j, counts) for i, j, _, counts in operations], dtype=np.int64).reshape(-1, 3)
        tables = [np.ravel(table) for _, _, table, _ in operations if table is not None]
        return cls(heads, np.concatenate([np.zeros(0), *tables]))


class Request(NamedTuple):
    """What is done to conditionals of the state `version`, which then is `after`, and what is summed afterwards.

    `sides` are ordered pairs (k, 2), `nodes` variables whose logarithms are summed; `basis` leads from no conditionals
    to those of `version`, and is sent where a part lacks these.
    """

    version: int
    after: int
    operations: Operations
    sides: np.ndarray
    nodes: np.ndarray
    basis: Operations | None = None


class Sums(NamedTuple):
    """Sums over rows: what the counting operations have moved, tables one after the other, logarithms."""

    moved: np.ndarray
    sides: np.ndarray
    logs: np.ndarray


class ConditionalPart:
    """The conditionals of the rows of a part, kept by its worker; `scale` is that of the weights of all rows."""

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
        return Conditionals(codes, self._cards, shares, weights, 0.0, penalties, is_double)

    def __reduce__(self):
        return ConditionalPart, self._fields  # the conditionals follow from the requests

    def __sizeof__(self) -> int:
        rows, n_bytes = self._rows, 0
        if rows is not None:
            stored = (rows.conditionals(i) for i in range(rows.n))
            n_bytes = sum(states.nbytes for states in stored if states is not None)
        return object.__sizeof__(self) + n_bytes

    def begin(self) -> None:
        """Forget all conditionals."""
        self._rows, self._copies = self._arrange(), {}

    def apply(self, operations: Operations) -> np.ndarray:
        """Do what is to be done to the conditionals; return what the operations that count have moved."""
        rows, heads = self._rows, operations.heads
        moved = np.zeros(len(heads))
        if rows is None:
            return moved[heads[:, 2] > 0]
        at = 0
        for k, (i, j, counts) in enumerate(heads.tolist()):
            if j == CLOSE:
                rows.close_at(i)
            elif j == COPY:
                self._copies[i] = rows.conditionals(i).copy()
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
    """Return the conditionals of a part, none of a row yet."""
    return ConditionalPart(part, *setup)


def answer_request(part: ConditionalPart, request: Request) -> Sums | None:
    """Return the sums over the rows of a part, None where it lacks the conditionals that the request begins with."""
    with part.lock:
        if part.version == request.after:  # the answer was lost, or a worker that had to add it
            return part.sums
        if part.version != request.version:
            if request.basis is None:
                return None
            part.begin()
            part.apply(request.basis)
        part.version = -1  # where this is interrupted
        moved = part.apply(request.operations)
        part.sums = Sums(moved, *part.sum_rows(request.sides, request.nodes))
        part.version = request.after
        return part.sums


def add_sums(parts: list[Sums | None]) -> Sums | None:
    """Add the sums of some parts; None where a part has none."""
    known = [part for part in parts if part is not None]
    return Sums(*(np.sum(arrays, axis=0) for arrays in zip(*known, strict=True))) if len(known) == len(parts) else None


class DistributedConditionals(RemoteConditionals):
    """What `Conditionals` does, for a table whose rows, and their weights, lie with workers."""

    operations: list[tuple]

    def __init__(self, table: DistributedTable, margins, l2: float, node_penalties, is_double: bool = False):
        scale, total = None, float(table.n_rows)
        if table.row_weights is not None:
            scale = WeightScale.of(table.row_weights)
            total = scale.total(table.row_weights, is_double)
        super().__init__(table.cardinalities, margins, total, l2, node_penalties)
        self.n_rows = table.n_rows
        self._cards = table.cardinalities
        self._parts = table.map_parts(make_conditionals, (is_double, scale))
        self._version = self._n_requests = 0
        self._shares: dict[int, np.ndarray] = {}  # of open nodes, as of the version
        self._steps: dict[int, dict[int, np.ndarray]] = {}  # tables by neighbour that were added to their logits

    # ---- requests ----

    def _ask(self, sides: np.ndarray, nodes: Sequence[int] = ()) -> Sums:
        """Send what has to be done, and return sums over all rows."""
        self._n_requests += 1
        asked = np.array(nodes, dtype=np.int64)
        operations = list(self.operations)
        request = Request(self._version, self._n_requests, Operations.pack(operations), sides, asked)
        sums, repeats = None, 0
        while sums is None:
            sums = self._parts.reduce(answer_request, request, add=add_sums)
            request = request._replace(basis=self._sum_operations()) if sums is None else request
            repeats += 1
            if repeats > _MOST_REPEATS:
                raise RuntimeError(f"workers were lost {repeats} times during one request: see the log of the workers")
        heads = request.operations.heads
        self.add_drift(np.ascontiguousarray(heads[heads[:, 2] > 0, 0]), np.ascontiguousarray(sums.moved))
        self._take_note(operations)
        self.operations = self.operations[len(operations) :]
        self._version = request.after
        return sums

    def _take_note(self, operations: Sequence[tuple]) -> None:
        """Add up what the parts have done."""
        for i, j, table, _ in operations:
            if j == OPEN:
                self._shares[i], self._steps[i] = table, {}
            elif j == CLOSE:
                self._shares.pop(i, None)
                self._steps.pop(i, None)
            elif j >= 0:
                steps = self._steps[i]
                steps[j] = steps[j] + table if j in steps else table

    def _sum_operations(self) -> Operations:
        """Return operations that lead from no conditionals to those of the version."""
        operations: list[tuple] = []
        for i, shares in self._shares.items():
            # what tables have in common in all states of a neighbour may cancel out
            means = {j: table.mean(axis=1) for j, table in self._steps[i].items()}
            odds = shares * np.exp(sum(means.values(), np.zeros(len(shares))))
            operations.append((i, OPEN, odds / odds.sum(), False))
            operations += [(i, j, table - means[j][:, None], False) for j, table in self._steps[i].items()]
        return Operations.pack(operations)

    def _take_sides(self, owners: np.ndarray, neighbours: np.ndarray, chosen: np.ndarray) -> None:
        """Ask for the tables of ordered pairs that steps or scores will read, those of `chosen` ones."""
        chosen = chosen & self.open_nodes()[owners]
        sides = np.column_stack((owners, neighbours))[chosen]
        self.take_sums(self._ask(np.ascontiguousarray(sides)).sides if len(sides) else np.empty(0))

    # ---- what a loss asks for ----

    @property
    def drift(self) -> np.ndarray:
        """Sums of the changes of the conditionals of all nodes, as of now."""
        if any(counts for *_, counts in self.operations):
            self._ask(np.empty((0, 2), dtype=np.int64))
        return super().drift

    def losses(self, nodes: Sequence[int]) -> np.ndarray:
        """Return the parts of some nodes in the loss, (1 / 2N) sum of -w log p(x_i | rest)."""
        is_open = self.open_nodes()
        asked = [i for i in nodes if is_open[i]]
        logs = self._ask(np.empty((0, 2), dtype=np.int64), asked).logs if asked else np.zeros(0)
        known = dict(zip(asked, logs.tolist(), strict=True))
        return np.array([-0.5 * known[i] / self.total if i in known else self.loss_alone(i) for i in nodes])

    def measure(self, pairs, order, where, tables, gradients, sides=None, drift_at=None) -> None:
        """Compute the gradients of the loss in the tables of pairs, as `Conditionals` does."""
        e, turned = order % len(pairs), order >= len(pairs)
        owners, neighbours = np.where(turned, pairs[e, 1], pairs[e, 0]), np.where(turned, pairs[e, 0], pairs[e, 1])
        drift = self.drift
        chosen = np.ones(len(order), bool) if drift_at is None else drift_at[owners, neighbours] != drift[owners]
        self._take_sides(owners, neighbours, chosen)
        super().measure(pairs, order, where, tables, gradients, sides, drift_at)
        self.check_sums()

    def descend(self, visit, pairs, where, values, tables, masks, penalties, tol, violations) -> None:
        """Take a step in each visited block that violates its condition by more than `tol`, as `Conditionals` does."""
        fronts = [np.asarray(visit)] if tol == np.inf else list_fronts(visit, pairs)
        for front in fronts:
            owners, neighbours = pairs[front].ravel(), pairs[front][:, ::-1].ravel()
            self._take_sides(owners, neighbours, np.ones(len(owners), bool))
            super().descend(front, pairs, where, values, tables, masks, penalties, tol, violations)
            self.check_sums()


def list_fronts(visit: np.ndarray, pairs: np.ndarray) -> list[np.ndarray]:
    """Cut a visiting order of edges into lists: an edge comes after all earlier ones that share a variable with it."""
    last: dict[int, int] = {}
    fronts: list[list[int]] = []
    for e, (i, j) in zip(np.asarray(visit).tolist(), pairs[visit].tolist(), strict=True):
        depth = max(last.get(i, 0), last.get(j, 0))
        last[i] = last[j] = depth + 1
        if depth == len(fronts):
            fronts.append([])
        fronts[depth].append(e)
    return [np.array(front, dtype=np.int64) for front in fronts]

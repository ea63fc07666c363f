"""Conditionals of a pseudolikelihood on a distributed table: workers store them, the driver has the parameters.

A request contains the operations of the steps since the last request, and asks for sums over the rows: tables of
conditionals by the state of a neighbour, and logarithms. A step needs two such tables::

    driver                                       worker
    parameters, bounds, penalties                conditionals of the rows of a partition
      |   moves of the last steps,                 |
      |   tables for the next ones  ------------>  |  moves, then sums
      v                                            v
    steps  <------- sums over all partitions ------+

Steps of blocks without a common variable commute. Therefore one message serves all blocks that share no variable with
an earlier block of the visiting order. The result is the same as for steps one after another.

The latency of a message is much longer than the time to sum a small table. A request therefore prefetches tables of
later blocks, which remain valid unless a step comes between.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from pgmx._ext._remote_conditionals import CLOSE, OPEN, RemoteConditionals
from pgmx.data import DistributedTable
from pgmx.solvers.markov.partition_conditionals import (
    Operations,
    Request,
    Sums,
    add_sums,
    answer_request,
    make_conditionals,
)
from pgmx.solvers.markov.weighted_rows import WeightScale

#: Largest number of repetitions of a request after a loss of workers.
_MOST_REPEATS = 20

#: Seconds per message that workers may spend on prefetched tables; seconds per row and cell, in single and double
#: precision.
_SPARE, _CELL, _DOUBLE_CELL = 4e-3, 3e-11, 1e-9

#: An ordered pair of variables.
Side = tuple[int, int]


class DistributedConditionals(RemoteConditionals):
    """`Conditionals` for a table whose rows and weights are on workers."""

    operations: list[tuple]

    def __init__(self, table: DistributedTable, margins, l2: float, node_penalties, is_double: bool = False):
        scale, total = None, float(table.n_rows)
        if table.row_weights is not None:
            scale = WeightScale.of(table.row_weights)
            total = scale.total(table.row_weights, is_double)
        super().__init__(table.cardinalities, margins, total, l2, node_penalties)
        self.n_rows = table.n_rows
        rows_at_once = table.n_rows / max(table.n_parts, 1)
        self._spare_cells = _SPARE / (rows_at_once * (_DOUBLE_CELL if is_double else _CELL))
        self._cards = table.cardinalities
        self._parts = table.map_partitions(make_conditionals, (is_double, scale))
        self._version = self._n_requests = 0
        self._past: dict[int, list[tuple]] = {}  # operations on each open node since it was opened, at this version
        self._known: dict[Side, np.ndarray] = {}  # sums for steps, at this version
        self._expected: list[Side] = []  # sums that the next visit probably needs

    # ---- requests ----

    def _ask(self, sides: np.ndarray, nodes: Sequence[int] = ()) -> Sums:
        """Send the pending operations, and return sums over all rows after them."""
        self._n_requests += 1
        asked = np.array(nodes, dtype=np.int64)
        operations = list(self.operations)
        request = Request(self._version, self._n_requests, Operations.pack(operations), sides, asked)
        sums, repeats = None, 0
        while sums is None:
            sums = self._parts.reduce(answer_request, request, add=add_sums)
            request = request._replace(basis=Operations.pack(self._list_past())) if sums is None else request
            repeats += 1
            if repeats > _MOST_REPEATS:
                raise RuntimeError(f"workers were lost {repeats} times during one request: see the log of the workers")
        heads = request.operations.heads
        self.add_drift(np.ascontiguousarray(heads[heads[:, 2] > 0, 0]), np.ascontiguousarray(sums.moved))
        self._take_note(operations)
        moved = {operation[0] for operation in operations}
        self._known = {side: table for side, table in self._known.items() if side[0] not in moved}
        self.operations = self.operations[len(operations) :]
        self._version = request.after
        return sums

    def _take_note(self, operations: Sequence[tuple]) -> None:
        """Store the operations of the partitions while their conditionals depend on them."""
        for i, j, table, _ in operations:
            if j == OPEN:
                self._past[i] = [(i, j, table, False)]
            elif j == CLOSE:
                self._past.pop(i, None)
            elif j >= 0:
                self._past[i].append((i, j, table, False))

    def _list_past(self) -> list[tuple]:
        """Return the operations that rebuild the conditionals of this version, to the last bit."""
        return list(chain.from_iterable(self._past.values()))

    def past(self) -> Operations:
        """Return the operations that rebuild the current conditionals, to the last bit."""
        if self.operations:
            self._ask(np.empty((0, 2), dtype=np.int64))
        return Operations.pack(self._list_past())

    def _find_unknown(self, edges: Iterable[Side]) -> list[Side]:
        """Return the ordered pairs of edges whose current tables are not known."""
        is_open, moved = self.open_nodes(), {operation[0] for operation in self.operations}
        sides = [side for i, j in edges for side in ((i, j), (j, i))]
        return [s for s in sides if is_open[s[0]] and (s[0] in moved or s not in self._known)]

    def _learn_sides(self, sides: list[Side], more: Iterable[Side] = ()) -> None:
        """Request the tables of ordered pairs, and prefetch some of `more` if this is cheap."""
        spare, chosen = self._spare_cells, dict.fromkeys(sides)
        for side in more:
            spare -= float(self._cards[list(side)].prod())
            if spare < 0:
                break
            chosen[side] = None
        asked = np.array(list(chosen), dtype=np.int64).reshape(-1, 2)
        tables = self._ask(asked).sides
        ends = np.cumsum(self._cards[asked].prod(axis=1))
        self._known.update(zip(chosen, np.split(tables, ends[:-1]), strict=True) if len(asked) else ())

    # ---- sums for a loss ----

    @property
    def drift(self) -> np.ndarray:
        """Sums of the changes of the conditionals of all nodes so far."""
        if any(counts for *_, counts in self.operations):
            is_open = self.open_nodes()
            self._learn_sides([], [side for side in self._expected if is_open[side[0]]])
        return super().drift

    def losses(self, nodes: Sequence[int]) -> np.ndarray:
        """Return the contributions of some nodes to the loss, (1 / 2N) sum of -w log p(x_i | rest)."""
        is_open = self.open_nodes()
        asked = [i for i in nodes if is_open[i]]
        logs = self._ask(np.empty((0, 2), dtype=np.int64), asked).logs if asked else np.zeros(0)
        known = dict(zip(asked, logs.tolist(), strict=True))
        return np.array([-0.5 * known[i] / self.total if i in known else self.loss_alone(i) for i in nodes])

    def measure(self, pairs, order, where, tables, gradients, sides=None, drift_at=None) -> None:
        """Compute the gradients of the loss in the tables of pairs, like `Conditionals`."""
        e, turned = order % len(pairs), order >= len(pairs)
        owners, neighbours = np.where(turned, pairs[e, 1], pairs[e, 0]), np.where(turned, pairs[e, 0], pairs[e, 1])
        drift = self.drift
        chosen = np.ones(len(order), bool) if drift_at is None else drift_at[owners, neighbours] != drift[owners]
        asked = np.column_stack((owners, neighbours))[chosen & self.open_nodes()[owners]]
        self.take_sums(self._ask(np.ascontiguousarray(asked)).sides if len(asked) else np.empty(0))
        super().measure(pairs, order, where, tables, gradients, sides, drift_at)
        self.check_sums()

    def descend(self, visit, pairs, where, values, tables, masks, penalties, tol, violations) -> None:
        """Take a step in each visited block that violates its condition by more than `tol`, like `Conditionals`."""
        rest, arrays = np.asarray(visit).tolist(), (pairs, where, values, tables, masks, penalties, tol, violations)
        while rest:
            fronts = [rest] if tol == np.inf else list_fronts(rest, pairs)
            ready = [e for e in fronts[0] if not self._find_unknown([tuple(pairs[e].tolist())])]
            if not ready:
                ready, after = fronts[0], fronts[1] if len(fronts) > 1 else []
                self._learn_sides(*(self._find_unknown(map(tuple, pairs[front].tolist())) for front in (ready, after)))
            self._visit(ready, arrays)
            done = set(ready)
            rest = [e for e in rest if e not in done]
        stepped = [e for e in np.asarray(visit).tolist() if violations[e] > tol]
        edges = pairs[list_fronts(stepped, pairs)[0]] if stepped else pairs[:0]
        self._expected = [side for i, j in edges.tolist() for side in ((i, j), (j, i))]

    def _visit(self, edges: list[int], arrays: tuple) -> None:
        """Take the steps of edges without a common variable, whose tables are known."""
        is_open, pairs = self.open_nodes(), arrays[0]
        sides = [side for i, j in pairs[edges].tolist() for side in ((i, j), (j, i)) if is_open[side[0]]]
        self.take_sums(np.concatenate([np.empty(0), *(self._known[side] for side in sides)]))
        super().descend(np.array(edges, dtype=np.int64), *arrays)
        self.check_sums()


def list_fronts(visit: Sequence[int], pairs: np.ndarray) -> list[list[int]]:
    """Divide a visiting order of edges into lists, so that edges with a common variable keep their order."""
    last: dict[int, int] = {}
    fronts: list[list[int]] = []
    for e, (i, j) in zip(visit, pairs[visit].tolist(), strict=True):
        depth = max(last.get(i, 0), last.get(j, 0))
        last[i] = last[j] = depth + 1
        if depth == len(fronts):
            fronts.append([])
        fronts[depth].append(e)
    return fronts

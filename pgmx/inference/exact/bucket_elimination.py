"""The log-partition of a network by variable elimination, which frees each table after summing over it."""

from collections.abc import Iterable, Sequence
from math import log, prod
from typing import NamedTuple

import numpy as np

from pgmx._ext import _contraction
from pgmx.inference.exact.elimination import CELL, EliminationPlan

#: Tables of one variable whose product has at most this number of cells are multiplied before larger tables.
MOST_SMALL_CELLS = 4096
#: Range of the cells in nats above which a product is computed in logarithms, well below the limit of double precision.
MOST_NATS = 600.0


class _Table(NamedTuple):
    """A table scaled to a maximum of 1: its variables (the first is eliminated last), cells, and their range in nats.

    `scale` is the logarithm of the scaling factor. Cells whose range exceeds double precision are stored as `logs`.
    """

    scope: tuple[int, ...]
    cells: np.ndarray
    nats: float
    scale: float
    logs: np.ndarray | None = None


class EliminationCost(NamedTuple):
    """The cost of elimination by an order: the peak memory of its tables, and the number of multiplications."""

    bytes: int
    operations: int


def count_elimination_cost(plan: EliminationPlan, cards: Sequence[int], *, maximise: bool = False) -> EliminationCost:
    """Return the cost of `sum_by_elimination`, from the scopes of its tables; the network's tables are not counted.

    With `maximise` return the cost of `maximise_by_elimination`, which stores the chosen states.
    """
    held = [0] * len(cards)  # cells of the tables that wait for a variable
    now = peak = operations = states = 0
    around_each = {
        clique[place]: clique[:place]
        for clique, sepset in zip(plan.cliques, plan.sepsets, strict=True)
        for place in range(len(sepset), len(clique))
    }
    for v in plan.order.tolist():
        around = around_each[v]
        cells = prod(cards[u] for u in around)
        operations += cells * cards[v]
        states += count_state_bytes(cells, cards[v]) if maximise else 0
        peak = max(peak, CELL * (now + cells) + states)
        now += cells - held[v]
        if around:
            held[around[-1]] += cells  # stored at the variable of the table that is eliminated next
        else:
            now -= cells
    return EliminationCost(peak, operations)


def count_state_bits(n_states: int) -> int:
    """Return the bits in which a state is stored: a power of two."""
    return next(bits for bits in (1, 2, 4, 8, 16, 32) if n_states <= 2**bits)


def count_state_bytes(cells: int, n_states: int) -> int:
    """Return the memory for one state per cell."""
    return -(-cells * count_state_bits(n_states) // 8)


def sum_by_elimination(
    plan: EliminationPlan, cards: Sequence[int], factors: Sequence[tuple[tuple[int, ...], np.ndarray]]
) -> np.ndarray:
    """Return the logarithm of the sum over all configurations of the product of the factors, as shares of variables.

    The shares, float64 (n,), of a connected component sum to its logarithm, which is -inf if the sum is 0.
    """
    rank = plan.rank.tolist()
    waiting: list[list[_Table]] = [[] for _ in cards]
    shares = np.log(np.asarray(cards, dtype=np.float64))  # the log-sum of a variable without tables
    for scope, logs in factors:
        scope, logs = sort_axes(scope, logs, rank)
        waiting[scope[-1]].append(_scale_logs(scope, logs))
    for v in plan.order.tolist():
        tables, waiting[v] = waiting[v], []
        if tables:
            table = _sum_out(tables, cards, rank)
            shares[v] = 0.0 if table.scope else table.scale
            if table.scope:
                waiting[table.scope[-1]].append(table)
    return shares


def sort_axes(scope: tuple[int, ...], logs: np.ndarray, rank: Sequence[int]) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the variables of a table, the first to be eliminated last, and its cells in this order, flattened."""
    axes = sorted(range(len(scope)), key=lambda axis: -rank[scope[axis]])
    return tuple(scope[axis] for axis in axes), np.transpose(logs, axes).ravel()


def _scale_logs(scope: tuple[int, ...], logs: np.ndarray, scale: float = 0.0) -> _Table:
    """Return the scaled table of logarithms."""
    top = float(logs.max())
    if top == -np.inf:
        return _Table(scope, np.zeros(len(logs)), 0.0, top)
    logs = logs - top
    nats = -float(logs.min(initial=0.0, where=logs > -np.inf))
    return _Table(scope, np.exp(logs), nats, scale + top, logs if nats > MOST_NATS else None)


def _sum_out(tables: list[_Table], cards: Sequence[int], rank: Sequence[int]) -> _Table:
    """Return the product of tables summed over their last variable."""
    joint = join_scopes((table.scope for table in tables), rank)
    scope, scale = joint[:-1], sum(table.scale for table in tables)
    if sum(table.nats for table in tables) > MOST_NATS:
        return _scale_logs(scope, np.logaddexp.reduce(_add_logs(tables, joint, cards), axis=-1).ravel(), scale)
    small = [table for table in tables if len(table.cells) <= MOST_SMALL_CELLS]
    small_scope = join_scopes((table.scope for table in small), rank)
    if 1 < len(small) < len(tables) and prod(cards[u] for u in small_scope) <= MOST_SMALL_CELLS:
        large = [table for table in tables if len(table.cells) > MOST_SMALL_CELLS]
        tables = [*large, _multiply(small, small_scope, cards)]
    shape, strides = lay_out(joint, [table.scope for table in tables], cards)
    cells = np.empty(prod(shape.tolist()))
    largest = _contraction.sum_product([table.cells for table in tables], strides, shape, cards[joint[-1]], cells)
    if largest == 0.0:
        return _Table(scope, cells, 0.0, -np.inf)
    cells /= largest
    least = float(cells.min()) or float(cells.min(initial=1.0, where=cells > 0.0))
    return _Table(scope, cells, -log(least), scale + log(largest))


def _add_logs(tables: list[_Table], scope: tuple[int, ...], cards: Sequence[int]) -> np.ndarray:
    logs = np.zeros([cards[u] for u in scope])
    with np.errstate(divide="ignore"):
        for table in tables:
            values = np.log(table.cells) if table.logs is None else table.logs
            logs += values.reshape([cards[u] if u in table.scope else 1 for u in scope])
    return logs


def _multiply(tables: list[_Table], scope: tuple[int, ...], cards: Sequence[int]) -> _Table:
    product = np.ones([cards[u] for u in scope])
    for table in tables:
        product *= table.cells.reshape([cards[u] if u in table.scope else 1 for u in scope])
    nats, scale = sum(table.nats for table in tables), sum(table.scale for table in tables)
    return _Table(scope, product.ravel(), nats, scale)


def join_scopes(scopes: Iterable[tuple[int, ...]], rank: Sequence[int]) -> tuple[int, ...]:
    """Return the variables of some tables, the first to be eliminated last."""
    return tuple(sorted({u for scope in scopes for u in scope}, key=lambda u: -rank[u]))


def lay_out(
    joint: tuple[int, ...], scopes: Iterable[tuple[int, ...]], cards: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the states of all variables of `joint` but the last, and their strides in tables over these scopes."""
    shape = np.array([cards[u] for u in joint[:-1]], dtype=np.int64)
    return shape, np.array([_list_strides(scope, joint, cards) for scope in scopes], dtype=np.int64)


def _list_strides(scope: tuple[int, ...], axes: tuple[int, ...], cards: Sequence[int]) -> list[int]:
    """Return the stride of each axis in a table whose variables are `scope`, in this order."""
    strides, step = dict.fromkeys(axes, 0), 1
    for u in reversed(scope):
        strides[u] = step
        step *= cards[u]
    return [strides[u] for u in axes]

"""Exact answers of a discrete network given as arrays, by the components of its hidden variables.

Two kernels share the arrays: ``_components`` follows the components of each question or row, ``_lanes`` sends rows that
observe little through one kept tree. Which one answers a row depends on the network and on the observed variables of
this row alone, so that a row has the same answer, to the last bit, alone and in any table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import Lock

import numpy as np

from pgmx._ext._components import LARGE_PLAN, Components
from pgmx._ext._expected_counts import Questions
from pgmx._ext._lanes import Lanes
from pgmx._ext._row_columns import RowColumns
from pgmx.inference.exact.elimination_order import (
    CELL_BYTES,
    EliminationPlan,
    TreewidthError,
    make_treewidth_error,
    search_order,
)
from pgmx.inference.exact.junction_tree import MostProbable
from pgmx.inference.named_networks import draw_uniforms
from pgmx.inference.networks import take_logs
from pgmx.inference.reduced_network import ZeroProbabilityError
from pgmx.parallel.threads import count_threads, read_free_memory, run_on_threads

#: Kinds of answers of a component, as numbered by the kernel.
SUM, MAXIMISE, QUERY, MARGINAL_MAP = range(4)

#: Bytes of plans that are kept, per thread.
PLAN_BYTES = 2**28
#: Largest memory in bytes of exact inference by default, and a size for which the free memory need not be read.
DEFAULT_MEMORY = 2**31
SMALL_MEMORY = 2**26
#: Bytes of plans of one thread that answers rows, and threads whose plans are kept.
ROW_PLAN_BYTES, MOST_WORKERS = 2**26, 16
#: Rows per task at most and, with several threads, at least.
BLOCK, LEAST_BLOCK = 4096, 64
#: Cells of the whole tree per hidden variable below which a pass through it costs less than the components of a row
#: (measured), and the same for rows that observe less than a fifth of the variables.
TREE_CELLS, SPARSE_TREE_CELLS = 128, 256


class ComponentEngine:
    """A network of variables 0, ..., n - 1 whose plans are kept from question to question.

    `tables` hold probabilities or other nonnegative weights, one per scope; `is_directed` if table v is P(v | parents),
    its first axis v. Each variable has a further table over itself, which takes part if a question gives likelihoods.
    About `plan_bytes` of plans are kept, per thread.
    """

    def __init__(
        self,
        cards: Sequence[int],
        scopes: Sequence[Sequence[int]],
        tables: Sequence[np.ndarray],
        is_directed: bool,
        plan_bytes: int = PLAN_BYTES,
    ) -> None:
        n = len(cards)
        self.cards = list(cards)
        self.is_directed = is_directed
        self.scopes = [tuple(scope) for scope in scopes]
        self.n_tables = len(scopes)
        tables = [np.ascontiguousarray(table, dtype=np.float64) for table in tables]
        holders: list[list[int]] = [[] for _ in range(n)]
        for f, scope in enumerate([*scopes, *((v,) for v in range(n))]):
            for v in scope:
                holders[v].append(f)
        self.columns = _starts(cards)[:-1]
        self.slices = [slice(end - card, end) for card, end in zip(self.cards, np.cumsum(cards).tolist(), strict=True)]
        self.first = _starts([*(table.size for table in tables), *cards])[:-1]
        self.values = np.concatenate([*(table.ravel() for table in tables), np.ones(sum(cards))])
        self.active = np.repeat(np.array([1, 0], dtype=np.uint8), [self.n_tables, n])
        self._arrays = (
            np.array(cards, dtype=np.int32),
            _starts([*map(len, scopes), *[1] * n]),
            np.array([*(v for scope in scopes for v in scope), *range(n)], dtype=np.int32),
            np.array([*(step // CELL_BYTES for table in tables for step in table.strides), *[1] * n], dtype=np.int64),
            self.first,
            self.values,
            _starts([len(held) for held in holders]),
            np.array([f for held in holders for f in held], dtype=np.int32),
            self.active,
        )
        self.plan_bytes = plan_bytes
        self._whole: float | None = None
        self._n_changes = 0  # of values
        self._lock, self._largest = Lock(), 0.0
        self._pool_lock = Lock()
        self._workers: list[RowWorker] = []
        self._kernel = self.copy_kernel()

    def __getstate__(self) -> dict:
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_kernel", "_lock", "_pool_lock", "_workers")
        }

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.values, self.active = self._arrays[5], self._arrays[8]
        self._lock, self._largest = Lock(), 0.0
        self._pool_lock, self._workers = Lock(), []
        self._kernel = self.copy_kernel()

    def copy_kernel(self) -> Components:
        """Return a kernel over the same arrays, without plans."""
        return Components(*self._arrays, self.plan_bytes)

    def table(self, f: int) -> np.ndarray:
        """Return the table of a scope, one axis per variable."""
        return self.cells_of(f, self.values)

    def cells_of(self, f: int, values: np.ndarray) -> np.ndarray:
        """Return the cells of a table among numbers of the cells of all tables, one axis per variable."""
        shape = [self.cards[v] for v in self.scopes[f]]
        return values[self.first[f] : self.first[f + 1]].reshape(shape)

    def set_tables(self, tables: Sequence[np.ndarray]) -> None:
        """Replace the values of all tables; plans are kept, because they depend on the scopes alone."""
        for f, table in enumerate(tables):
            self.table(f)[...] = table
        self._n_changes += 1

    # ---- one question ----

    @contextmanager
    def asking(
        self,
        codes: Mapping[int, int],
        likelihoods: Mapping[int, np.ndarray],
        do: Mapping[int, int],
    ) -> Iterator[np.ndarray]:
        """Set up evidence, likelihoods and interventions of one question; yields its row of codes, hidden ones -1."""
        row = np.full((1, len(self.cards)), -1, dtype=np.int32)
        for v, code in (*codes.items(), *do.items()):
            row[0, v] = code
        with self._lock:
            self._n_changes += bool(likelihoods)
            try:
                for v, likelihood in likelihoods.items():
                    start = self.first[self.n_tables + v]
                    self.values[start : start + self.cards[v]] = likelihood
                    self.active[self.n_tables + v] = 1
                for v in do:
                    self.active[v] = 0
                yield row
            finally:
                if likelihoods or do:
                    self.active[: self.n_tables] = 1
                    self.active[self.n_tables :] = 0

    def worker(self, memory: int | None) -> RowWorker:
        """Return the kernel of single questions, whose plans are kept; for use inside of `asking`."""
        return RowWorker(self, self._choose_kernel(memory), memory)

    def _choose_kernel(self, memory: int | None) -> Components:
        """Return the kernel with kept plans, or a new one if some of its plans are larger than the memory."""
        if memory is None or CELL_BYTES * self._largest <= memory:
            return self._kernel
        return self.copy_kernel()

    def ask(self, codes: dict[int, int], variables: Sequence[int]) -> np.ndarray | None:
        """Return P(variables | codes) of a small question about one component, in one call of the kernel, or None."""
        with self._lock:
            table = self._kernel.ask(codes, list(variables), self.is_directed, SMALL_MEMORY // CELL_BYTES)
        if table is None or len(variables) == 1:
            return table
        return table.reshape([self.cards[v] for v in variables])

    def joint(self, row: np.ndarray, variables: Sequence[int], memory: int | None) -> np.ndarray:
        """Return P(variables | row), the variables in this order, inside of `asking`; zeros if the row is impossible.

        Only the components of these variables are looked at, and the families without hidden variables.
        """
        kernel = self._choose_kernel(memory)
        found, constant = kernel.find_query(row[0], np.array(variables, dtype=np.int32), QUERY, self.is_directed)
        tables, axes = [], []
        for number, inside in found:
            self.plan(kernel, number, memory)
            value, table = kernel.answer_query(row[0], number)
            if value == -np.inf or constant == -np.inf:
                return np.zeros([self.cards[v] for v in variables])
            tables.append(table.reshape([self.cards[variables[k]] for k in inside]))
            axes.append(inside)
        if len(tables) == 1:
            return tables[0]
        operands = [item for pair in zip(tables, axes, strict=True) for item in pair]
        return np.einsum(*operands, list(range(len(variables))))

    def most_probable(self, row: np.ndarray, variables: Sequence[int], memory: int | None) -> tuple[float, list[int]]:
        """Return log max P(variables, row) of their components, all others summed out, and the maximising states."""
        kernel = self._choose_kernel(memory)
        found, total = kernel.find_query(row[0], np.array(variables, dtype=np.int32), MARGINAL_MAP, self.is_directed)
        states = [0] * len(variables)
        for number, inside in found:
            self.plan(kernel, number, memory)
            value, chosen = kernel.answer_query(row[0], number)
            total += value
            if value == -np.inf:
                break
            for k, state in zip(inside, chosen, strict=True):
                states[k] = state
        return total, states

    # ---- rows ----

    def answer_rows(
        self,
        codes: np.ndarray,
        memory: int | None,
        *,
        probabilities: np.ndarray | None = None,
        columns: np.ndarray | None = None,
        n_jobs: int | None = 1,
    ) -> np.ndarray:
        """Return log P(observed values) of rows, int32 (N, n) with hidden variables -1; -inf for impossible rows.

        `probabilities` (N, k), out, receives the distribution of each hidden variable from its column in `columns` on
        (-1: not wanted); those of impossible rows are undefined.
        """

        def answer(worker: RowWorker, block: slice) -> np.ndarray:
            out = None if probabilities is None else probabilities[block]
            return worker.answer(codes[block], block.start, out, columns)

        return self.run_blocks(answer, len(codes), memory, n_jobs)

    def complete_rows(
        self, codes: np.ndarray, memory: int | None, *, uniforms: np.ndarray | None = None, n_jobs: int | None = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows with all variables, int32 (N, n), and log P of the complete or of the observed values.

        Without `uniforms` the hidden variables get their most probable states together, with them (N, n, in [0, 1))
        states drawn from the posterior; impossible rows stay as they are. `uniforms` (N d, n) are d draws of each row,
        which follow each other.
        """
        kind = MAXIMISE if uniforms is None else SUM
        n_draws = 1 if uniforms is None else len(uniforms) // max(1, len(codes))
        states = np.repeat(codes, n_draws, axis=0)
        # many draws of one row are blocks of their own
        is_single = len(codes) == 1 < n_draws
        n_each = 1 if is_single else n_draws

        def answer(worker: RowWorker, block: slice) -> np.ndarray:
            rows = codes if is_single else codes[block]
            drawn = slice(n_each * block.start, n_each * block.stop)
            n_repeats = len(states[drawn]) // len(rows)
            worker.find(rows, kind, None if is_single else np.arange(block.start, block.stop), n_repeats)
            part = None if uniforms is None else uniforms[drawn]
            return worker.kernel.answer(rows, kind, states[drawn], None, None, part)[::n_each]

        logs = self.run_blocks(answer, len(states) // n_each, memory, n_jobs)
        return states, np.repeat(logs, n_each)

    def find_sparse_rows(self, codes: np.ndarray) -> np.ndarray:
        """Return whether each row hides so many variables that a pass through the whole tree costs less."""
        n, cells = len(self.cards), self._tree_cells()
        if cells > SPARSE_TREE_CELLS * n:
            return np.zeros(len(codes), dtype=bool)
        n_hidden = np.count_nonzero(codes < 0, axis=1)
        return np.where(5 * n_hidden > 4 * n, SPARSE_TREE_CELLS, TREE_CELLS) * n_hidden > cells

    def _tree_cells(self) -> float:
        """Return the number of cells of the plans without evidence, infinite if they are too many for rows."""
        if self._whole is None:
            with self._lock:
                self._whole = RowWorker(self, self._kernel, self._tree_memory).plan_whole()
        return self._whole

    @property
    def _tree_memory(self) -> int:
        return SPARSE_TREE_CELLS * len(self.cards) * CELL_BYTES

    def run_blocks(
        self,
        answer: Callable[[RowWorker, slice], np.ndarray],
        n_rows: int,
        memory: int | None,
        n_jobs: int | None,
        most: int = BLOCK,
    ) -> np.ndarray:
        """Answer blocks of at most `most` rows, each thread with its own plans, which are kept for the next call.

        `answer` returns a number per row; its results must not depend on the blocks.
        """
        n_threads = min(count_threads(n_jobs), max(1, n_rows // LEAST_BLOCK))
        if n_threads > 1:
            most = max(LEAST_BLOCK, min(most, n_rows // (4 * n_threads)))
        starts = range(0, n_rows, most)
        logs = np.empty(n_rows)
        taken: list[RowWorker] = []

        def make() -> Callable[[int], None]:
            worker = self._take_worker(memory)
            taken.append(worker)

            def task(number: int) -> None:
                block = slice(starts[number], min(starts[number] + most, n_rows))
                logs[block] = answer(worker, block)

            return task

        try:
            for _ in run_on_threads(make, len(starts), n_threads):
                pass
        finally:
            self._return_workers(taken)
        return logs

    def _take_worker(self, memory: int | None) -> RowWorker:
        """Return a worker that no thread uses, with the plans of earlier rows under the same limit of memory."""
        with self._pool_lock:
            for k, worker in enumerate(self._workers):
                if worker.memory == memory:
                    return self._workers.pop(k)
        return RowWorker(self, Components(*self._arrays, min(self.plan_bytes, ROW_PLAN_BYTES)), memory)

    def _return_workers(self, workers: list[RowWorker]) -> None:
        """Keep workers, the latest first, up to the limit of all plans."""
        with self._pool_lock:
            kept: list[RowWorker] = []
            n_bytes = 0
            for worker in [*workers, *self._workers]:
                n_bytes += worker.n_bytes
                if n_bytes <= self.plan_bytes and len(kept) < MOST_WORKERS:
                    kept.append(worker)
            self._workers = kept

    def plan(self, kernel: Components, number: int, memory: int | None) -> float:
        """Make the plan of a component and return its cells; raises a TreewidthError beyond the memory."""
        cells = self._plan(kernel, number, memory)
        self._largest = max(self._largest, cells)
        return cells

    def _plan(self, kernel: Components, number: int, memory: int | None) -> float:
        """Plan by the first elimination order, or by the best of many where that one needs large tables."""
        limit = (SMALL_MEMORY if memory is None else memory) / CELL_BYTES
        cells = kernel.plan(number, min(LARGE_PLAN, limit))
        if cells <= min(LARGE_PLAN, limit) or (cells <= limit and kernel.has_plan(number)):
            return cells
        if memory is None:
            memory = read_default_memory()
            limit = memory / CELL_BYTES
        if cells <= limit and kernel.has_plan(number):
            return cells
        hidden, scopes, query = kernel.describe(number)
        cards = [self.cards[v] for v in hidden]
        # before the plan of the first order is made: a plan that is kept is the one that all later questions follow
        search = search_order(cards, [*scopes, query] if query else scopes)
        cells = kernel.plan(number, limit)
        if search.cells < cells:
            order = order_before(search, query) if query else search.order
            cells = kernel.plan(number, limit, np.ascontiguousarray(order, dtype=np.int32))
        if cells > limit:
            raise make_treewidth_error(search.width, CELL_BYTES * search.cells, memory)
        return cells


class ExpectedCounts:
    """Expected counts of the cells of an engine's tables in weighted rows, for any values of the tables.

    `read()` yields blocks of rows as int32 codes (N, n), hidden variables -1, and weights (N,). A single block is read
    once, several are read in every pass. A TreewidthError is raised for a row that needs more than `memory` bytes.
    """

    def __init__(
        self, engine: ComponentEngine, read: Callable[[], Iterable[tuple[np.ndarray, np.ndarray]]], memory: int
    ) -> None:
        self.engine, self.memory = engine, memory
        self._read = read
        self._kernel = Questions(*engine._arrays, engine.plan_bytes)
        self._kept: tuple[list[int], np.ndarray, np.ndarray] | None = None  # what `_gather` yields for a single block

    def compute(self) -> tuple[float, list[np.ndarray]]:
        """Return the log-likelihood of the rows, and the counts of each table, in its shape, of the current values."""
        total, counts = 0.0, np.zeros(len(self.engine.values))
        n_blocks = 0
        for block in [self._kept] if self._kept is not None else self._gather():
            n_blocks += 1
            self._kept = block
            numbers, starts, observed = block
            seen = np.flatnonzero(observed)
            total += float(observed[seen] @ take_logs(self.engine.values[seen]))
            counts += observed
            total += self._pass(numbers, starts, counts)
        if n_blocks > 1:
            self._kept = None
        return total, [self.engine.cells_of(f, counts) for f in range(self.engine.n_tables)]

    def _gather(self) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
        """Yield components, positions of their questions, and counts of families without questions, for each block."""
        for codes, weights in self._read():
            self._kernel.forget_questions()
            if self._kernel.is_full:
                self._kernel.forget_plans()
            observed = np.zeros(len(self.engine.values))
            self._kernel.add(codes, weights, observed)
            yield *self._kernel.sort(), observed

    def _pass(self, numbers: list[int], starts: np.ndarray, counts: np.ndarray) -> float:
        """Add the counts of the kernel's questions; returns the sum of weights times log-probabilities."""
        kernel, total, begin = self._kernel, 0.0, 0
        for start, number in [] if kernel.has_all_plans() else zip(starts.tolist(), numbers, strict=False):
            if kernel.plan_bytes > self.engine.plan_bytes:
                # the plans up to here are used, and make room for the next ones
                total += kernel.count(begin, start, counts)
                begin = start
                kernel.drop_plans()
            self.engine.plan(kernel, number, self.memory)
        return total + kernel.count(begin, starts[-1], counts)


class ComponentInference:
    """Exact answers to one question about a directed network, with the interface of `ExactInference`.

    Each answer is computed when it is first asked for. All but `joint` and `most_probable` look at the whole network
    and find all impossible evidence. A TreewidthError is raised before any table is allocated.
    """

    method = "exact"
    converged = True
    r_hat = effective_sample_size = np.nan

    def __init__(
        self,
        engine: ComponentEngine,
        evidence: Mapping[int, int],
        likelihoods: Mapping[int, np.ndarray],
        do: Mapping[int, int],
        memory: int | None,
    ) -> None:
        self.engine = engine
        self.evidence = {v: code for v, code in evidence.items() if v not in do} if do else dict(evidence)
        self._is_plain = not likelihoods and not do
        self._question = (self.evidence, likelihoods, do)
        self._codes = {**self.evidence, **do}
        self.memory = memory
        self.errors = np.zeros(len(engine.cards))

    def _explain_zero(self) -> ZeroProbabilityError:
        """Return the error for an impossible question, with the table that excludes the evidence if one alone does."""
        for f, scope in enumerate(self.engine.scopes):
            if f in self._question[2]:  # the table of a variable of an intervention takes no part
                continue
            table = self.engine.table(f)[tuple(self._codes.get(v, slice(None)) for v in scope)]
            if not table.any():
                return ZeroProbabilityError({v: self.evidence[v] for v in scope if v in self.evidence}, scope)
        return ZeroProbabilityError(self.evidence)

    @cached_property
    def _answer(self) -> tuple[float, np.ndarray]:
        """The log-partition, and the marginals of all hidden variables side by side."""
        probabilities = np.zeros((1, self.engine.slices[-1].stop))
        with self.engine.asking(*self._question) as row:
            worker = self.engine.worker(self.memory)
            worker.find(row, SUM)
            total = worker.kernel.answer(row, SUM, None, probabilities, self.engine.columns)[0]
        if total == -np.inf:
            raise self._explain_zero()
        return float(total), probabilities[0]

    @property
    def log_partition(self) -> float:
        """The logarithm of the probability of the evidence and the likelihoods, in nats."""
        return self._answer[0]

    def marginal(self, i: int) -> np.ndarray:
        """Return the distribution of a hidden variable."""
        return self._answer[1][self.engine.slices[i]]

    def joint(self, variables: Sequence[int]) -> np.ndarray:
        """Return the joint distribution of hidden variables, one axis per variable in their order."""
        if self._is_plain and self.memory is None:
            table = self.engine.ask(self.evidence, variables)
            if table is not None:
                return table
        with self.engine.asking(*self._question) as row:
            table = self.engine.joint(row, variables, self.memory)
        if not table.any():
            raise self._explain_zero()
        return table

    def map(self) -> MostProbable:
        """Return the most probable states of all variables together; of equal ones always the same."""
        with self.engine.asking(*self._question) as row:
            worker = self.engine.worker(self.memory)
            worker.find(row, MAXIMISE)
            states = row.copy()
            value = worker.kernel.answer(row, MAXIMISE, states)[0]
        if value == -np.inf:
            raise self._explain_zero()
        return MostProbable(states[0].astype(np.int64), float(value))

    def most_probable(self, variables: Sequence[int]) -> list[int]:
        """Return the most probable states of some hidden variables together, all others summed out."""
        with self.engine.asking(*self._question) as row:
            value, states = self.engine.most_probable(row, variables, self.memory)
        if value == -np.inf:
            raise self._explain_zero()
        return states

    def sample(self, n_samples: int, seed: int | None = 0) -> np.ndarray:
        """Draw independent rows given the question: one array of codes per variable, (n, n_samples)."""
        entropy = np.random.SeedSequence(seed).entropy
        streams = [draw_uniforms(entropy, v, n_samples) for v in range(len(self.engine.cards))]
        uniforms = np.stack(streams, axis=1)
        with self.engine.asking(*self._question) as row:
            states, total = self.engine.complete_rows(row, self.memory, uniforms=uniforms)
        if total[0] == -np.inf:
            raise self._explain_zero()
        return np.ascontiguousarray(states.T)


class RowWorker:
    """The kernels of one thread: the plans of the components of its rows, and eight lanes through the whole network."""

    def __init__(self, engine: ComponentEngine, kernel: Components, memory: int | None) -> None:
        self.engine, self.kernel, self.memory = engine, kernel, memory
        self._lanes: list[Lanes] | None = None
        self._tables: tuple[int, bytes] | None = None
        self._codes = np.empty((0, len(engine.cards)), dtype=np.int32)

    @property
    def n_bytes(self) -> int:
        """The memory of plans, of lanes and of the rows of a block."""
        return self.kernel.kept_bytes + self._codes.nbytes + sum(lanes.n_bytes for lanes in self._lanes or ())

    def read(self, columns: RowColumns, block: slice) -> np.ndarray:
        """Return rows of a table, int32 (n_rows, n) with hidden variables -1, valid until the next call."""
        n_rows = block.stop - block.start
        if len(self._codes) < n_rows:
            self._codes = np.empty((n_rows, len(self.engine.cards)), dtype=np.int32)
        columns.read(block.start, self._codes[:n_rows])
        return self._codes[:n_rows]

    def answer(
        self, codes: np.ndarray, start: int, probabilities: np.ndarray | None = None, columns: np.ndarray | None = None
    ) -> np.ndarray:
        """Answer rows as `ComponentEngine.answer_rows` does; `start` is the number of the first row."""
        is_sparse = self.engine.find_sparse_rows(codes)
        if is_sparse.all() or not is_sparse.any():
            return self._answer(
                codes, np.arange(start, start + len(codes)), bool(is_sparse.any()), probabilities, columns
            )
        logs = np.empty(len(codes))
        for by_lanes in (False, True):
            places = np.flatnonzero(is_sparse == by_lanes)
            out = None if probabilities is None else np.zeros((len(places), probabilities.shape[1]))
            logs[places] = self._answer(codes[places], places + start, by_lanes, out, columns)
            if probabilities is not None:
                probabilities[places] = out
        return logs

    def _answer(
        self,
        codes: np.ndarray,
        rows: np.ndarray,
        by_lanes: bool,
        probabilities: np.ndarray | None,
        columns: np.ndarray | None,
    ) -> np.ndarray:
        if not by_lanes:
            self.find(codes, SUM, rows)
            return self.kernel.answer(codes, SUM, None, probabilities, columns)
        logs = np.zeros(len(codes))
        for lanes in self.lanes():
            lanes.answer(codes, logs, probabilities, columns)
        return logs

    def complete(self, codes: np.ndarray, start: int, uniforms: np.ndarray | None = None) -> np.ndarray:
        """Complete rows in place as `ComponentEngine.complete_rows` does; `start` is the number of the first row."""
        kind = MAXIMISE if uniforms is None else SUM
        self.find(codes, kind, np.arange(start, start + len(codes)))
        # components do not read the states of each other: they can be written into the codes
        return self.kernel.answer(codes, kind, codes, None, None, uniforms)

    def find(self, codes: np.ndarray, kind: int, rows: np.ndarray | None = None, n_repeats: int = 1) -> None:
        """Find and plan the components of rows; a TreewidthError names the first row, by its number in `rows`."""
        for number in self.kernel.find(codes, kind, n_repeats):
            try:
                self.engine.plan(self.kernel, number, self.memory)
            except TreewidthError as error:
                if rows is None:
                    raise
                raise error.of_row(int(rows[self.kernel.first_row(number)])) from None

    def plan_whole(self) -> float:
        """Plan the network without evidence; returns the number of cells, infinite beyond the memory."""
        try:
            return sum(self.engine.plan(self.kernel, number, self.memory) for number in self.kernel.find_whole())
        except TreewidthError:
            return np.inf

    def lanes(self) -> list[Lanes]:
        """Return one set of lanes per connected component of the network."""
        # lanes have multiplied the tables that take part
        tables = self.engine._n_changes, self.engine.active.tobytes()
        if self._lanes is None or self._tables != tables:
            self._tables = tables
            # in a store of its own, since the plans of rows are forgotten when they fill their memory
            store = self.engine.copy_kernel()
            numbers = store.find_whole()
            for number in numbers:
                self.engine.plan(store, number, self.engine._tree_memory)
            self._lanes = [Lanes(store, number) for number in numbers]
        return self._lanes


def read_default_memory() -> int:
    """Return the default limit of exact inference: 2 GB, or the free memory if that is less."""
    return min(DEFAULT_MEMORY, read_free_memory(DEFAULT_MEMORY))


def order_before(plan: EliminationPlan, query: Sequence[int]) -> list[int]:
    """Return an order of all variables but the query, which a clique of the plan contains, without larger cliques."""
    near: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in plan.cliques]
    for clique, (parent, shared) in enumerate(zip(plan.parents.tolist(), plan.sepsets, strict=True)):
        if parent >= 0:
            near[clique].append((parent, shared))
            near[parent].append((clique, shared))
    root = plan.home(query)
    assert root is not None
    waiting, order, seen = [(root, tuple(query))], [], {root}
    for clique, shared in waiting:  # grows meanwhile
        order.append([v for v in plan.cliques[clique] if v not in shared])
        waiting += [(other, common) for other, common in near[clique] if other not in seen]
        seen.update(other for other, _ in near[clique])
    return [v for rest in reversed(order) for v in rest]


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

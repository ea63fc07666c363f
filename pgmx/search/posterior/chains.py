"""Markov chains over structures: warm-up, restarts of chains that lag behind, rounds, records, checkpoints."""

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, inf, nan
from time import perf_counter
from typing import Any

import numpy as np

from pgmx._ext._order_chains import OrderChain
from pgmx.parallel.threads import call_on_threads
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import Run, lift_limits
from pgmx.search.dag.orders.kicks import draw_order
from pgmx.search.posterior.diagnostics import Agreement, compare_chains, estimate_least_sample_size
from pgmx.search.posterior.families import FamilyTables, ParentChoices
from pgmx.search.posterior.sampled import SampledDags

#: Steps between two looks at the clock, and records of a chain in them.
PIECE, RECORDS = 1 << 15, 256

#: Pieces of the first round; each further round doubles the number of all blocks.
FIRST_ROUND = 16

#: Number of variables above which chains are tempered, and their inverse temperatures.
PLAIN_VARIABLES, BETAS = 40, (1.0, 0.7, 0.5, 0.35)

#: Steps of all chains and temperatures together, up to `LARGE_VARIABLES` variables and above.
MOST_STEPS, MOST_STEPS_OF_LARGE, LARGE_VARIABLES = 1 << 24, 1 << 23, 64

#: Pieces of the warm-up over orders, of plain and of tempered chains.
WARM_UP, WARM_UP_TEMPERED = 4, 16

#: The first part of the blocks that is not used: one in four.
BURN_IN = 4

#: A chain is behind if its mean log-score is this many nats and standard deviations below the best chain's.
LAG, LAG_DEVIATIONS = 10.0, 5.0

#: Steps and temperature after which a restarted chain leaves the order of the best chain.
HEATED_STEPS, HEAT = 1 << 14, 3.0

#: Graphs that a chain keeps.
MOST_GRAPHS = 8192

#: Largest difference of two chains in an arc with which a run has converged.
MOST_DIFFERENCE = 0.1

#: Most candidates of a variable.
MOST_CANDIDATES = 16


def make_kernel(
    tables: FamilyTables, orders: np.ndarray, betas: Sequence[float], *, over_dags: bool, word: int
) -> OrderChain:
    """Return the compiled chain over tables, from orders of shape (temperatures, n)."""
    choices = tables.choices
    candidates = np.full((choices.n, int(choices.sizes.max(initial=0))), -1, dtype=np.int32)
    for v, free in enumerate(choices.candidates):
        candidates[v, : len(free)] = free
    return OrderChain(
        candidates,
        list_required(choices).astype(np.int32),
        tables.sums,
        tables.first,
        tables.sets,
        tables.weights,
        tables.start,
        np.array(betas, dtype=float),
        np.ascontiguousarray(orders, dtype=np.int32),
        over_dags,
        word,
    )


def choose_betas(n: int) -> Sequence[float]:
    """Return the inverse temperatures of chains of n variables."""
    return BETAS if n > PLAIN_VARIABLES else BETAS[:1]


def list_required(choices: ParentChoices) -> np.ndarray:
    """Return the required arcs (tail, head), int64 (m, 2)."""
    pairs = [(tail, head) for head, tails in enumerate(choices.required) for tail in tails.tolist()]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def count_chain_bytes(choices: ParentChoices, max_indegree: int, n_chains: int) -> int:
    """Return the bytes of tables, counts and records of chains."""
    n, n_families = choices.n, choices.count_families(max_indegree)
    most = max(MOST_STEPS // (PIECE * n_chains), FIRST_ROUND)
    records = most * (8 * n * int(choices.sizes.max(initial=0)) + 8 * RECORDS) + 4 * MOST_GRAPHS * n
    return choices.n_bytes + 12 * n_families + n_chains * (12 * n_families + choices.n_bytes // 2 + records)


def draw_word(seed: int, number: int) -> int:
    """Return the state of the random generator of a chain."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])


class Chain:
    """One chain, its records, and its last state between two blocks.

    `arcs` holds the shares of arcs per block, (n, K); `traces` the log-weights, (records,); `graphs` every
    `stride`-th recorded graph, uint16 (records, n).
    """

    def __init__(self, kernel: OrderChain, warm_up: int):
        self.kernel, self.warm_up = kernel, warm_up
        self.arcs: list[np.ndarray] = []
        self.traces: list[np.ndarray] = []
        self.graphs: list[np.ndarray] = []
        self.stride = 1
        self.warm_trace = np.zeros(RECORDS)
        #: State of the kernel, number of blocks with the warm-up, and number of recorded blocks.
        self.safe: tuple[Any, int, int] = (kernel.get_state(), 0, 0)

    @property
    def n_done(self) -> int:
        """Number of blocks, with the warm-up."""
        return self.safe[1]

    @property
    def n_pieces(self) -> int:
        """Number of recorded blocks."""
        return self.safe[2]

    def advance_to(self, target: int) -> None:
        """Make the next block, unless `target` blocks are made."""
        _, n_done, n_pieces = self.safe
        if n_done >= target:
            return
        if n_done < self.warm_up:
            self.kernel.warm_up(PIECE, self.warm_trace)
        else:
            n_pieces += 1
            self._record(n_pieces)
        # one assignment: an interrupt leaves the state before the block or after it
        self.safe = (self.kernel.get_state(), n_done + 1, n_pieces)

    def _record(self, n_pieces: int) -> None:
        kernel = self.kernel
        arcs, trace = np.empty((kernel.n, kernel.n_candidates)), np.empty(RECORDS)
        graphs = np.empty((RECORDS, kernel.n), dtype=np.uint16)
        kernel.run(PIECE, arcs, trace, graphs)
        for records, value in ((self.arcs, arcs), (self.traces, trace), (self.graphs, graphs[:: self.stride])):
            records[n_pieces - 1 :] = [value]
        if sum(map(len, self.graphs)) > MOST_GRAPHS and self.stride < RECORDS:
            self.stride *= 2
            self.graphs = [part[::2].copy() for part in self.graphs]

    def restart(self, order: np.ndarray) -> None:
        """Begin again from another chain's order, heated for some steps; records are deleted."""
        self.kernel.set_orders(np.tile(order, (self.kernel.n_replicas, 1)).astype(np.int32))
        self.kernel.warm_up(HEATED_STEPS, np.empty(RECORDS), HEAT)
        self.kernel.warm_up(PIECE, self.warm_trace)
        self.arcs, self.traces, self.graphs, self.stride = [], [], [], 1
        self.safe = (self.kernel.get_state(), self.n_done, 0)

    @property
    def order(self) -> np.ndarray:
        """The present order at temperature 1."""
        return self.safe[0][0][0]

    @property
    def first_kept(self) -> int:
        """Number of the first recorded block after the burn-in."""
        return self.n_pieces // BURN_IN

    def list_arcs(self) -> np.ndarray:
        """Return the shares of arcs after the burn-in, (blocks, n, K)."""
        return np.array(self.arcs[self.first_kept : self.n_pieces])

    def list_trace(self) -> np.ndarray:
        """Return the log-weights after the burn-in, in the warm-up those of its last block."""
        return np.concatenate(self.traces[self.first_kept : self.n_pieces]) if self.n_pieces else self.warm_trace

    def list_graphs(self) -> np.ndarray:
        """Return the kept graphs after the burn-in, uint16 (records, n)."""
        return np.concatenate(self.graphs[self.first_kept : self.n_pieces])

    # ---- checkpoints ----

    def pack(self) -> dict[str, Any]:
        """Return the state between two blocks as arrays."""
        (orders, families, word), n_done, n_pieces = self.safe
        no_records = {"arcs": self.kernel.n * self.kernel.n_candidates, "traces": RECORDS, "graphs": self.kernel.n}
        packed = {"orders": orders, "word": np.uint64(word), "n_done": n_done, "stride": self.stride}
        packed |= {"best": self.kernel.best_sets, "best_score": float(max(self.kernel.best_score, -1e300))}
        packed["warm_trace"] = self.warm_trace
        if families is not None:
            packed["families"] = families
        for name, width in no_records.items():
            parts = [part.reshape(-1, width) for part in getattr(self, name)[:n_pieces]]
            kind = np.uint16 if name == "graphs" else float
            packed[name] = np.concatenate([np.empty((0, width), dtype=kind), *parts])
        return packed

    def unpack(self, snapshot: Snapshot) -> None:
        """Continue from the state in a snapshot, checked."""
        kernel = self.kernel
        n, width, shape = kernel.n, kernel.n_candidates, (kernel.n_replicas, kernel.n)
        n_done = snapshot.integer("n_done", 0)
        self.stride = snapshot.integer("stride", 1, RECORDS)
        snapshot.check(RECORDS % self.stride == 0, f"a stride of {self.stride}")
        arcs = snapshot.array("arcs", float, (None, n * width), least=0, most=1 + 1e-9)
        traces = snapshot.array("traces", float, (None, RECORDS))
        graphs = snapshot.array("graphs", np.uint16, (None, n))
        n_pieces, per_piece = len(traces), RECORDS // self.stride
        snapshot.check(n_pieces <= n_done, "more blocks than the chain has made")
        snapshot.check(len(arcs) == n_pieces and len(graphs) == n_pieces * per_piece, "records of different lengths")
        self.arcs, self.traces = [row.reshape(n, width) for row in arcs], list(traces)
        self.graphs = [graphs[k * per_piece : (k + 1) * per_piece] for k in range(n_pieces)]
        self.warm_trace = snapshot.array("warm_trace", float, (RECORDS,)).copy()
        orders = snapshot.array("orders", np.int32, shape, least=0, most=n - 1)
        snapshot.check((np.sort(orders, axis=1) == np.arange(n)).all(), "an order with a variable twice")
        families = snapshot.array("families", np.int32, shape) if "families" in snapshot else None
        word = snapshot.array("word", np.uint64, ())
        best = snapshot.array("best", np.uint16, (n,))
        try:
            kernel.set_state(orders, families, word.item())
            kernel.set_best(best, snapshot.number("best_score"))
        except ValueError as error:
            raise snapshot.error(str(error)) from error
        self.safe = (kernel.get_state(), n_done, n_pieces)


class ChainSampler:
    """Chains over the structures of tables: a warm-up over orders, then rounds until the chains agree.

    Every second chain starts from `order`, the others from random orders. `n_steps` is the number of steps of each
    chain; None runs in rounds, until r-hat is at most `r_hat` and chains differ by at most 0.1 in each arc.
    """

    def __init__(
        self,
        tables: FamilyTables,
        order: np.ndarray,
        *,
        over_dags: bool,
        n_chains: int,
        n_steps: int | None,
        r_hat: float,
        seed: int,
        n_jobs: int | None = None,
    ):
        n, required = tables.n, list_required(tables.choices)
        betas = choose_betas(n)
        self.tables, self.r_hat, self.n_jobs = tables, r_hat, n_jobs
        self.warm_up = WARM_UP if len(betas) == 1 else WARM_UP_TEMPERED
        self.is_fixed = n_steps is not None
        most = MOST_STEPS if n <= LARGE_VARIABLES else MOST_STEPS_OF_LARGE
        #: Largest number of recorded blocks of a chain.
        self.most_pieces = max(most // (PIECE * n_chains * len(betas)), 1) if n_steps is None else ceil(n_steps / PIECE)
        self.chains = []
        for c in range(n_chains):
            numbers = range(c * len(betas), (c + 1) * len(betas))
            orders = [order if c % 2 == 0 else draw_order(n, required, seed, number) for number in numbers]
            kernel = make_kernel(tables, np.array(orders), betas, over_dags=over_dags, word=draw_word(seed, c))
            self.chains.append(Chain(kernel, self.warm_up))
        self.n_done = self.n_restarts = 0
        self.round_end = self.most_pieces if self.is_fixed else min(FIRST_ROUND, self.most_pieces)
        self.is_finished = False
        self.agreement: Agreement | None = None

    def sample(self, run: Run, save: Callable[[dict[str, Any]], None] = lambda state: None) -> None:
        """Run the chains until they agree, or a limit ends the run; each chain that began has at least one record.

        `save` writes the state of the chains to the checkpoint.
        """
        run.count_steps(self.warm_up + self.round_end, "blocks of steps", self.n_done)
        seconds = inf
        with run.catch_interrupt():
            while not self.is_finished:
                began = perf_counter()
                target = self.n_done + 1
                call_on_threads([partial(chain.advance_to, target) for chain in self.chains], self.n_jobs, seconds)
                self.n_done, seconds = target, perf_counter() - began
                self._end_piece(run)
                run.advance()
                if self._report(run):
                    break
                if not self.is_finished and run.is_snapshot_due():
                    save(self.pack())
        if not self.is_finished:
            save(self.pack())
            with lift_limits():
                self._ensure_records()
        self.agreement = self._compare()

    def _ensure_records(self) -> None:
        """Make a block with records of the first chain if no chain has one."""
        if not any(chain.n_pieces for chain in self.chains):
            chain = self.chains[0]
            chain.warm_up = 0
            chain.advance_to(chain.n_done + 1)

    def _end_piece(self, run: Run) -> None:
        """Restart chains that are behind, and decide whether the round ends the run."""
        n_pieces = self.n_done - self.warm_up
        is_end = n_pieces == self.round_end
        if n_pieces == 0 or (n_pieces == FIRST_ROUND // BURN_IN < self.round_end):
            self._restart_laggards()
        elif is_end:
            if self._is_settled(self._compare()) or n_pieces >= self.most_pieces:
                self.is_finished = True
                return
            self._restart_laggards()
            self.round_end = min(2 * self.round_end, self.most_pieces)
            run.expect_steps(self.round_end - n_pieces)

    def _restart_laggards(self) -> None:
        """Restart the chains whose log-scores are far below those of the best chain."""
        traces = [chain.list_trace() for chain in self.chains]
        means = np.array([trace.mean() for trace in traces])
        best = int(np.argmax(means))
        least = means[best] - LAG - LAG_DEVIATIONS * traces[best].std()
        order = self.chains[best].order.copy()
        for chain, mean in zip(self.chains, means, strict=True):
            if mean < least:
                chain.restart(order)
                self.n_restarts += 1

    def _report(self, run: Run) -> bool:
        """Add a row to the history; return whether the run must end."""
        agreement = self._compare() if self.n_done > self.warm_up + 1 else None
        if agreement is None:
            return run.record(r_hat=nan, max_difference=nan)
        return run.record(r_hat=agreement.r_hat, max_difference=agreement.max_difference)

    def _list_recorded(self) -> list[Chain]:
        return [chain for chain in self.chains if chain.n_pieces]

    def _compare(self) -> Agreement | None:
        chains = self._list_recorded()
        if not chains:
            return None
        return compare_chains([chain.list_arcs() for chain in chains], [chain.list_trace() for chain in chains])

    @property
    def n_steps(self) -> int:
        """Number of steps of a chain after the warm-up."""
        return PIECE * max(self.n_done - self.warm_up, 1)

    @property
    def agrees(self) -> bool:
        """Whether all diagnostics of the finished run pass."""
        return self.is_finished and self._is_settled(self.agreement)

    def _is_settled(self, agreement: Agreement | None) -> bool:
        if agreement is None:
            return False
        return agreement.r_hat <= self.r_hat and agreement.max_difference <= MOST_DIFFERENCE

    def finish(self) -> "SampledPosterior":
        """Return the posterior of the chains."""
        assert self.agreement is not None
        chains, agreement = self._list_recorded(), self.agreement
        graphs = [chain.list_graphs() for chain in chains]
        size = estimate_least_sample_size([chain.list_trace() for chain in chains], graphs, agreement.r_hats)
        best = max(chains, key=lambda chain: chain.kernel.best_score).kernel
        best_score = float(best.best_score + self.tables.offsets.sum())
        return SampledPosterior(
            self.tables.choices, agreement, np.concatenate(graphs), size, best.best_sets.astype(np.uint32), best_score
        )

    # ---- checkpoints ----

    def pack(self) -> dict[str, Any]:
        """Return the state between two blocks as arrays."""
        state = {"n_done": self.n_done, "n_restarts": self.n_restarts, "round_end": self.round_end}
        for number, chain in enumerate(self.chains):
            state |= {f"chain{number}_{name}": value for name, value in chain.pack().items()}
        return state

    def unpack(self, snapshot: Snapshot) -> None:
        """Continue from the state in a snapshot."""
        for number, chain in enumerate(self.chains):
            chain.unpack(snapshot.take_part(f"chain{number}_"))
        self.n_done, self.n_restarts = snapshot.integer("n_done", 0), snapshot.integer("n_restarts", 0)
        self.round_end = snapshot.integer("round_end", 1, self.most_pieces)
        for chain in self.chains:
            snapshot.check(self.n_done <= chain.n_done <= self.n_done + 1, "chains of different lengths")


class SampledPosterior:
    """The posterior as chains estimate it: shares of arcs, recorded graphs, and how well the chains agree."""

    def __init__(
        self,
        choices: ParentChoices,
        agreement: Agreement,
        graphs: np.ndarray,
        sample_size: float,
        best_sets: np.ndarray,
        best_score: float,
    ):
        self.choices, self.agreement, self.graphs = choices, agreement, graphs
        self.sample_size, self.best_sets, self.best_score = sample_size, best_sets, best_score

    @property
    def arc_probability(self) -> np.ndarray:
        """Shares of arcs, float64 (n, n) ``[tail, head]``, without arcs from outside the candidates."""
        arcs = self.fill_matrix(self.agreement.shares, 0.0)
        required = list_required(self.choices)
        arcs[required[:, 0], required[:, 1]] = 1.0
        return np.clip(arcs, 0.0, 1.0)

    def fill_matrix(self, values: np.ndarray, otherwise: float) -> np.ndarray:
        """Return values by child and candidate, (n, K), as a matrix ``[tail, head]``."""
        matrix = np.full((self.choices.n, self.choices.n), otherwise)
        for v, free in enumerate(self.choices.candidates):
            matrix[free, v] = values[v, : len(free)]
        return matrix

    def sample(self, n_dags: int, seed: int) -> SampledDags:
        """Return recorded DAGs in random order, evenly thinned to the effective size or to `n_dags`, if that is more.

        DAGs are repeated only if there are fewer records.
        """
        size = min(max(ceil(self.sample_size), n_dags), len(self.graphs))
        pool = np.arange(size) * len(self.graphs) // size
        rng = np.random.default_rng([seed, 5])
        rounds = [rng.permutation(pool) for _ in range(-(-n_dags // size))]
        chosen = np.concatenate([np.empty(0, dtype=np.int64), *rounds])[:n_dags]
        return SampledDags.from_sets(self.graphs[chosen].astype(np.uint32), self.choices)

    def find_best(self) -> tuple[np.ndarray, float]:
        """Return the arcs (tail, head) of the best DAG seen, int64 (m, 2) by head and tail, and its log weight."""
        edges = SampledDags.from_sets(self.best_sets[None], self.choices).list_edges(0)
        return np.array(edges, dtype=np.int64).reshape(-1, 2), self.best_score

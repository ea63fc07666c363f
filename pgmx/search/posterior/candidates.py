"""Candidate parents, tables of families and the first order of chains."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import inf
from typing import Any, NamedTuple

import numpy as np

from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.scores.binding.scoring import Scoring
from pgmx.scores.gains import CachedSources, GainSource
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.orders.kicks import sort_topologically
from pgmx.search.dag.state import ClimbLimits, DagProblem
from pgmx.search.dag.thorough import search_thoroughly
from pgmx.search.dag.tracker import SearchTracker, StopSearch
from pgmx.search.knowledge import EdgeConstraints
from pgmx.search.posterior.chains import (
    MOST_CANDIDATES,
    PIECE,
    RECORDS,
    ChainSampler,
    SampledPosterior,
    draw_word,
    make_kernel,
)
from pgmx.search.posterior.families import FamilyTables, ParentChoices, TableBuilder
from pgmx.search.posterior.outside import OutsideMass
from pgmx.search.posterior.sampled import SampledDags

#: Variables added greedily to the candidates, in addition to the neighbours in the first graph.
GREEDY_ADDITIONS = 4

#: Probability from which a variable enters the candidates, and the number of times that candidates are replaced.
ENTERS, REPLACEMENTS = 0.002, 2

#: Least gain of a move of the search for the first graph.
LEAST_GAIN = 1e-4

#: Blocks of steps of a pilot chain over orders, and then over the chosen target; and its graphs that are not used.
PILOT_WARM_UP, PILOT_PIECES, PILOT_BURN_IN = 2, 4, RECORDS // 4

#: Graphs from which the mass outside the candidates is estimated at the end.
OUTSIDE_GRAPHS = 400


class Start(NamedTuple):
    """The tables and the first order of chains, and the number of complete levels of the tables."""

    tables: FamilyTables
    order: np.ndarray
    n_levels: int


def find_first_graph(
    scoring: Scoring,
    constraints: EdgeConstraints,
    *,
    max_indegree: int,
    permutation: np.ndarray,
    seed: int,
    n_jobs: int | None,
) -> np.ndarray:
    """Return the arcs (tail, head), int64 (m, 2), of the best graph of a thorough search."""
    n = constraints.n
    limits = ClimbLimits(epsilon=LEAST_GAIN, max_iter=inf, max_indegree=max_indegree, tabu_length=0, patience=0)
    run = Run(SearchProgress)
    make_gains = partial(
        scoring.gains, allowed=constraints.allowed, max_indegree=max_indegree, deadline=run.deadline, n_jobs=n_jobs
    )
    problem = DagProblem(
        n=n,
        make_source=CachedSources(make_gains),
        limits=limits,
        permutation=permutation,
        start=constraints.required,
        required=constraints.required,
        bonus=scoring.bonus,
        bounds=scoring.bounds,
    )
    state = problem.make_state()
    tracker = SearchTracker(limits, run)
    tracker.set_best(state)

    def climb_first(n_threads: int) -> None:
        if tracker.enter_stage(0):
            climb(state, tracker, make_source=problem.make_source, n_threads=n_threads)

    with suppress(StopSearch):
        search_thoroughly(problem, state, tracker, climb_first, seed=seed, n_jobs=n_jobs)
    tracker.recall()
    return tracker.best_edges(state)


def rank_candidates(source: GainSource, allowed: ParentChoices, edges: np.ndarray, most: int) -> list[list[int]]:
    """Return the best candidates of each variable besides the required parents, at most `most` with these.

    Parents and children in a graph come first, then greedy additions, then the variables of largest gains alone.
    """
    n = allowed.n
    gains, scores = np.empty((n, n)), np.empty(n)
    source.start(gains, scores)
    alone, ranked = gains.copy(), []
    for v in range(n):
        required, free = allowed.required[v], allowed.candidates[v]
        room = max(most - len(required), 0)
        if len(free) <= room:
            ranked.append(free.tolist())
            continue
        neighbours = [*edges[edges[:, 1] == v, 0].tolist(), *edges[edges[:, 0] == v, 1].tolist()]
        chosen = dict.fromkeys(u for u in neighbours if u in set(free.tolist()))
        added: list[int] = []
        for _ in range(GREEDY_ADDITIONS):
            parents = np.sort(np.concatenate([required, np.array(added, dtype=np.int32)])).astype(np.int32)
            rest = np.setdiff1d(free, parents)
            if len(parents):
                source.rescore(v, parents, gains)
            row = gains[v] if len(parents) else alone[v]
            if not len(rest) or not row[rest].max() > -inf:
                break
            added.append(int(rest[np.argmax(row[rest])]))
        best = free[np.argsort(-alone[v, free], kind="stable")].tolist()
        ranked.append(list(dict.fromkeys([*chosen, *added, *best]))[:room])
    return ranked


def to_choices(allowed: ParentChoices, ranked: list[list[int]]) -> ParentChoices:
    """Return the choices with these candidates."""
    return ParentChoices(allowed.required, [np.array(sorted(free), dtype=np.int32) for free in ranked])


def replace_candidates(
    ranked: list[list[int]], choices: ParentChoices, shares: np.ndarray, outside: np.ndarray
) -> list[list[int]]:
    """Return candidates with the least used ones replaced by variables of more mass.

    ``shares[child, k]`` are the shares of DAGs with candidate k as a parent, ``outside[child, parent]`` the
    probabilities of other parents. Candidates of equal shares keep their order.
    """
    replaced = []
    for v, old in enumerate(ranked):
        weights = dict(zip(choices.candidates[v].tolist(), shares[v].tolist(), strict=False))
        new = [int(u) for u in np.argsort(-outside[v], kind="stable")[: len(old)] if outside[v, u] > ENTERS]
        weights |= {u: float(outside[v, u]) for u in new}
        replaced.append(sorted([*old, *new], key=lambda u: -weights[u])[: len(old)])
    return replaced


def score_tables(
    source: GainSource,
    choices: ParentChoices,
    log_prior: np.ndarray,
    *,
    max_indegree: int,
    is_over: Callable[[], bool] = lambda: False,
    n_levels: float = inf,
) -> tuple[FamilyTables, int]:
    """Return the tables of at most `n_levels` levels that are scored before `is_over`, at least one, and how many."""
    builder = TableBuilder(source, choices, max_indegree=max_indegree)
    builder.score_level()
    while builder.level + 1 < min(n_levels, builder.n_levels) and builder.score_level(is_over):
        pass
    return builder.finish(log_prior), builder.level + 1


def merge_tables(old: FamilyTables, new: FamilyTables, choices: ParentChoices, changed: np.ndarray) -> FamilyTables:
    """Return the tables of `choices`: the new ones for the variables that changed, the old ones for the others."""
    tables = [new if is_changed else old for is_changed in changed]
    lists = [table.of(v) for v, table in enumerate(tables)]
    return FamilyTables(
        choices,
        np.concatenate([[0], np.cumsum([len(sets) for sets, _ in lists])]).astype(np.int64),
        np.concatenate([sets for sets, _ in lists]),
        np.concatenate([weights for _, weights in lists]),
        np.concatenate([[0], np.cumsum(1 << choices.sizes)]).astype(np.int64),
        np.concatenate([table.sums_of(v) for v, table in enumerate(tables)]),
        np.array([table.offsets[v] for v, table in enumerate(tables)]),
        [*old.refusals, *new.refusals],
    )


def run_pilot(tables: FamilyTables, order: np.ndarray, *, over_dags: bool, word: int) -> tuple[np.ndarray, SampledDags]:
    """Return shares of arcs, (n, K), and graphs of a short chain."""
    n = tables.n
    kernel = make_kernel(tables, order[None], [1.0], over_dags=over_dags, word=word)
    kernel.warm_up(PILOT_WARM_UP * PIECE, np.empty(RECORDS))
    arcs, graphs = np.empty((n, kernel.n_candidates)), np.empty((RECORDS, n), dtype=np.uint16)
    kernel.run(PILOT_PIECES * PIECE, arcs, np.empty(RECORDS), graphs)
    return arcs, SampledDags.from_sets(graphs[PILOT_BURN_IN:].astype(np.uint32), tables.choices)


def prepare_chains(
    outside: OutsideMass, edges: np.ndarray, most: int, *, over_dags: bool, seed: int, is_over: Callable[[], bool]
) -> Start:
    """Return the tables and the first order of chains: that of a graph, whose arcs are `edges`.

    If not all allowed parents can be candidates, pilot chains show which of the others have more mass.
    """
    allowed, source, prior = outside.allowed, outside.source, outside.log_prior
    score = partial(score_tables, source, log_prior=prior, max_indegree=outside.max_indegree, is_over=is_over)
    order = sort_topologically(allowed.n, edges, np.arange(allowed.n))
    ranked = rank_candidates(source, allowed, edges, most)
    choices = to_choices(allowed, ranked)
    tables, n_levels = score(choices)
    is_all = np.array_equal(choices.sizes, allowed.sizes)
    for number in range(0 if is_all else REPLACEMENTS):
        if is_over():
            break
        shares, graphs = run_pilot(tables, order, over_dags=over_dags, word=draw_word(seed, -1 - number & 0xFFFF))
        ranked = replace_candidates(ranked, choices, shares, outside.estimate(graphs, choices))
        new = to_choices(allowed, ranked)
        changed = np.array([not np.array_equal(*pair) for pair in zip(choices.candidates, new.candidates, strict=True)])
        if not changed.any():
            break
        none = np.empty(0, dtype=np.int32)
        scored = [free if is_changed else none for free, is_changed in zip(new.candidates, changed, strict=True)]
        part, n_levels_now = score(ParentChoices(new.required, scored))
        if n_levels_now < min(n_levels, int(max(map(len, scored))) + 1):
            break
        tables, choices = merge_tables(tables, part, new, changed), new
    return Start(tables, order, n_levels)


class ChainFit:
    """One fit by chains: candidates, tables and the first order, then the chains; with the checkpoint of a run.

    `find_graph` returns the arcs of the first graph. The other options are those of `ChainSampler`.
    """

    def __init__(self, outside: OutsideMass, find_graph: Callable[[], np.ndarray], *, most: int, **options: Any):
        self.outside, self.find_graph, self.most, self.options = outside, find_graph, most, options
        #: Number of levels of the tables.
        self.n_levels = 0

    def sample(self, run: Run) -> ChainSampler:
        """Return the chains after they have run to the end, or to a limit."""
        snapshot = run.restore()
        start = self._prepare(run) if snapshot is None else self._read_start(snapshot)
        self.n_levels = start.n_levels
        sampler = ChainSampler(start.tables, start.order, **self.options)
        if snapshot is not None:
            sampler.unpack(snapshot)
        written = self._pack_start(start)
        sampler.sample(run, lambda state: run.save({**written, **state}))
        return sampler

    def _prepare(self, run: Run) -> Start:
        over_dags, seed = self.options["over_dags"], self.options["seed"]
        return prepare_chains(
            self.outside, self.find_graph(), self.most, over_dags=over_dags, seed=seed, is_over=run.is_over
        )

    def estimate_outside(self, posterior: SampledPosterior) -> np.ndarray:
        """Return the probabilities of arcs from outside the candidates, (n, n) ``[child, parent]``."""
        allowed = self.outside.allowed
        if np.array_equal(posterior.choices.sizes, allowed.sizes):
            return np.zeros((allowed.n, allowed.n))
        graphs = posterior.sample(OUTSIDE_GRAPHS, self.options["seed"])
        return self.outside.estimate(graphs, posterior.choices)

    # ---- checkpoints ----

    def _pack_start(self, start: Start) -> dict[str, Any]:
        mask = np.zeros((start.tables.n, start.tables.n), dtype=np.uint8)
        for v, free in enumerate(start.tables.choices.candidates):
            mask[v, free] = 1
        return {"start_order": start.order, "start_candidates": mask, "start_n_levels": start.n_levels}

    def _read_start(self, snapshot: Snapshot) -> Start:
        part, allowed = snapshot.take_part("start_"), self.outside.allowed
        n = allowed.n
        order = part.array("order", np.int64, (n,), least=0, most=n - 1, distinct=True)
        mask = part.array("candidates", np.uint8, (n, n), most=1)
        n_levels = part.integer("n_levels", 1, n + 1)
        free = [np.flatnonzero(row).astype(np.int32) for row in mask]
        for v in range(n):
            part.check(np.isin(free[v], allowed.candidates[v]).all(), "a candidate that is not allowed")
            part.check(len(free[v]) <= MOST_CANDIDATES, "more candidates than chains accept")
        tables, _ = score_tables(
            self.outside.source,
            ParentChoices(allowed.required, free),
            self.outside.log_prior,
            max_indegree=self.outside.max_indegree,
            n_levels=n_levels,
        )
        return Start(tables, order, n_levels)

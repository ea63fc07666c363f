"""Candidate parents, tables of families and the first order of chains."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import zip_longest
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
    choose_betas,
    draw_word,
    make_kernel,
)
from pgmx.search.posterior.families import FamilyTables, ParentChoices, TableBuilder
from pgmx.search.posterior.outside import OutsideMass
from pgmx.search.posterior.sampled import SampledDags

#: Variables added greedily to the candidates, in addition to the neighbours in the first graph.
GREEDY_ADDITIONS = 4

#: Probability from which a variable enters the candidates.
ENTERS = 0.002

#: First graphs, of searches with other orders of ties; and the numbers of times that the candidates of each of them,
#: and of all together, are replaced.
FIRST_GRAPHS, REPLACEMENTS, REPLACEMENTS_OF_ALL = 3, 2, 2

#: Least gain of a move of the search for the first graph, and the number of parents whose mean price under the prior is
#: the price of an edge.
LEAST_GAIN, PRICED = 1e-4, 4

#: Steps of a pilot chain per temperature, before its records and again with them; and its graphs that are not used.
PILOT_STEPS, PILOT_BURN_IN = PIECE, RECORDS // 4

#: Graphs from which the mass outside the candidates is estimated at the end.
OUTSIDE_GRAPHS = 400


class Start(NamedTuple):
    """The tables and the first order of chains, and the number of complete levels of the tables."""

    tables: FamilyTables
    order: np.ndarray
    n_levels: int


class Trial(NamedTuple):
    """Candidates, the best first, their tables with the number of complete levels, and what a pilot chain found.

    ``weights[child, parent]`` are probabilities of arcs, also of those from outside the candidates; `order` is the last
    order, `log_weight` the mean log-weight of orders.
    """

    ranked: list[list[int]]
    tables: FamilyTables
    n_levels: int
    weights: np.ndarray
    order: np.ndarray
    log_weight: float


def find_first_graph(
    scoring: Scoring,
    constraints: EdgeConstraints,
    log_prior: np.ndarray,
    number: int,
    *,
    max_indegree: int,
    n_jobs: int | None,
) -> np.ndarray:
    """Return the arcs (tail, head), int64 (m, 2), of the best graph of a thorough search.

    Searches of different numbers break ties in different orders. An edge has its mean price under the prior.
    """
    n = constraints.n
    limits = ClimbLimits(epsilon=LEAST_GAIN, max_iter=inf, max_indegree=max_indegree, tabu_length=0, patience=0)
    run = Run(SearchProgress)
    priced = max(min(PRICED, max_indegree, n - 1), 1)
    price = float(log_prior[priced] - log_prior[0]) / priced if n > 1 else 0.0
    make_gains = partial(
        scoring.gains, allowed=constraints.allowed, max_indegree=max_indegree, deadline=run.deadline, n_jobs=n_jobs
    )
    problem = DagProblem(
        n=n,
        make_source=CachedSources(make_gains),
        limits=limits,
        permutation=np.random.default_rng(number).permutation(n),
        start=constraints.required,
        required=constraints.required,
        bonus=(price, -price, 0.0),
        bounds=scoring.bounds,
    )
    state = problem.make_state()
    tracker = SearchTracker(limits, run)
    tracker.set_best(state)

    def climb_first(n_threads: int) -> None:
        if tracker.enter_stage(0):
            climb(state, tracker, make_source=problem.make_source, n_threads=n_threads)

    with suppress(StopSearch):
        search_thoroughly(problem, state, tracker, climb_first, seed=number, n_jobs=n_jobs)
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


def pool_candidates(rankings: list[list[list[int]]], weights: np.ndarray) -> list[list[int]]:
    """Return the candidates of largest weight, ``weights[child, parent]``, as many as in each of the rankings.

    Candidates of equal weights keep their order in the rankings; other variables enter with the least probability.
    """
    pooled = []
    for v, old in enumerate(rankings[0]):
        ranked = [u for tier in zip_longest(*(ranking[v] for ranking in rankings)) for u in tier if u is not None]
        new = np.flatnonzero(weights[v] > ENTERS).tolist()
        pooled.append(sorted(dict.fromkeys([*ranked, *new]), key=(-weights[v]).__getitem__)[: len(old)])
    return pooled


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


class CandidateSearch:
    """Candidates from the data alone: those of several first graphs, pooled, and replaced after pilot chains."""

    def __init__(self, outside: OutsideMass, most: int, is_over: Callable[[], bool]):
        self.outside, self.most, self.is_over = outside, most, is_over
        self.allowed = outside.allowed

    def search(self, find_graph: Callable[[int], np.ndarray]) -> Start:
        """Return the tables and the first order of chains; ``find_graph(number)`` returns the arcs of a first graph."""
        trials: list[Trial] = []
        for number in range(FIRST_GRAPHS):
            edges = find_graph(number)
            order = sort_topologically(self.allowed.n, edges, np.arange(self.allowed.n))
            ranked = rank_candidates(self.outside.source, self.allowed, edges, self.most)
            scored = self._rescore(ranked, trials[0]) if trials else self._score(to_choices(self.allowed, ranked))
            if scored is None:
                break
            if not trials and (np.array_equal(scored[0].choices.sizes, self.allowed.sizes) or self.is_over()):
                return Start(scored[0], order, scored[1])
            trials.append(self._run_pilot(ranked, *scored, order))
            for _ in range(REPLACEMENTS):
                trials[-1] = self._replace(trials[-1:])
        for _ in range(REPLACEMENTS_OF_ALL):
            trials = [self._replace(trials)]
        return Start(trials[0].tables, trials[0].order, trials[0].n_levels)

    def _score(self, choices: ParentChoices) -> tuple[FamilyTables, int]:
        source, prior, most = self.outside.source, self.outside.log_prior, self.outside.max_indegree
        return score_tables(source, choices, prior, max_indegree=most, is_over=self.is_over)

    def _rescore(self, ranked: list[list[int]], old: Trial) -> tuple[FamilyTables, int] | None:
        """Return tables of other candidates; those of variables that keep theirs are used again. None if time ends."""
        new, none = to_choices(self.allowed, ranked), np.empty(0, dtype=np.int32)
        pairs = zip(old.tables.choices.candidates, new.candidates, strict=True)
        changed = np.array([not np.array_equal(*pair) for pair in pairs])
        scored = [free if is_changed else none for free, is_changed in zip(new.candidates, changed, strict=True)]
        part, n_levels = self._score(ParentChoices(new.required, scored))
        if n_levels < min(old.n_levels, int(max(map(len, scored))) + 1):
            return None
        return merge_tables(old.tables, part, new, changed), old.n_levels

    def _run_pilot(self, ranked: list[list[int]], tables: FamilyTables, n_levels: int, order: np.ndarray) -> Trial:
        """Run a short chain over orders, which mixes faster than one over DAGs."""
        n, betas = tables.n, choose_betas(tables.n)
        kernel = make_kernel(tables, np.tile(order, (len(betas), 1)), betas, over_dags=False, word=draw_word(0, n))
        kernel.warm_up(len(betas) * PILOT_STEPS, np.empty(RECORDS))
        arcs, trace, graphs = np.empty((n, kernel.n_candidates)), np.empty(RECORDS), np.empty((RECORDS, n), np.uint16)
        kernel.run(len(betas) * PILOT_STEPS, arcs, trace, graphs)
        drawn = SampledDags.from_sets(graphs[PILOT_BURN_IN:].astype(np.uint32), tables.choices)
        weights = self.outside.estimate(drawn, tables.choices)
        for v, free in enumerate(tables.choices.candidates):
            weights[v, free] = arcs[v, : len(free)]
        return Trial(
            ranked,
            tables,
            n_levels,
            weights,
            kernel.get_state()[0][0].astype(np.int64),
            float(trace.mean() + tables.offsets.sum()),
        )

    def _replace(self, trials: list[Trial]) -> Trial:
        """Return the best trial with candidates of more weight in any of the trials, after another pilot chain."""
        trials = sorted(trials, key=lambda trial: -trial.log_weight)
        best = trials[0]
        ranked = pool_candidates(
            [trial.ranked for trial in trials], np.max([trial.weights for trial in trials], axis=0)
        )
        if all(set(new) == set(old) for new, old in zip(ranked, best.ranked, strict=True)) or self.is_over():
            return best
        scored = self._rescore(ranked, best)
        return best if scored is None else self._run_pilot(ranked, *scored, best.order)


class ChainFit:
    """One fit by chains: candidates, tables and the first order, then the chains; with the checkpoint of a run.

    ``find_graph(number)`` returns the arcs of a first graph. The other options are those of `ChainSampler`.
    """

    def __init__(self, outside: OutsideMass, find_graph: Callable[[int], np.ndarray], *, most: int, **options: Any):
        self.outside, self.find_graph, self.most, self.options = outside, find_graph, most, options
        #: Number of levels of the tables.
        self.n_levels = 0

    def sample(self, run: Run) -> ChainSampler:
        """Return the chains after they have run to the end, or to a limit."""
        snapshot = run.restore()
        if snapshot is None:
            start = CandidateSearch(self.outside, self.most, run.is_over).search(self.find_graph)
        else:
            start = self._read_start(snapshot)
        self.n_levels = start.n_levels
        sampler = ChainSampler(start.tables, start.order, **self.options)
        if snapshot is not None:
            sampler.unpack(snapshot)
        written = self._pack_start(start)
        sampler.sample(run, lambda state: run.save({**written, **state}))
        return sampler

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

"""What the tests of searches share: problems of small integers, and whole searches run by name, also in chunks."""

from functools import partial
from typing import NamedTuple

import numpy as np

from helpers.bare_climb import run_search
from helpers.climb_problems import arcs, graph_score, integer_score, limits
from oracles.graphs import is_acyclic
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.scores.gains import FunctionGains
from pgmx.search.dag.annealing import anneal
from pgmx.search.dag.best import search_for_best
from pgmx.search.dag.best_first import best_first
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.restarts import restart
from pgmx.search.dag.state import DagProblem
from pgmx.search.dag.thorough import search_thoroughly
from pgmx.search.dag.tracker import SearchTracker


class Asked(NamedTuple):
    """A local score with what is known of the graph."""

    n: int
    local_score: object
    allowed: object = None
    max_indegree: int | None = None
    start: tuple = ()
    required: tuple = ()
    bonus: tuple = (0.0, 0.0, 0.0)
    groups: object = None

    def score(self, edges):
        edges = [tuple(edge) for edge in np.asarray(edges).tolist()]
        return graph_score(self.local_score, self.n, edges) + self.bonus[0] * len(edges)

    def check_legal(self, edges):
        edges = {tuple(edge) for edge in edges.tolist()}
        assert is_acyclic(edges)
        assert set(self.required) <= edges
        for tail, head in edges - set(self.start):
            assert self.allowed is None or self.allowed[head, tail]
        for child in range(self.n):
            before = sum(head == child for _, head in self.start)
            most = self.n if self.max_indegree is None else self.max_indegree
            assert sum(head == child for _, head in edges) <= max(before, most)

    def problem(self, *, permutation=None, **changes):
        """Return the problem for a search; further options are limits, `all_moves` and `max_candidates`."""
        given = {name: changes.pop(name) for name in ("all_moves", "max_candidates") if name in changes}
        most = self.n if self.max_indegree is None else self.max_indegree
        return DagProblem(
            n=self.n,
            make_source=partial(
                FunctionGains, self.n, self.local_score, allowed=self.allowed, max_indegree=self.max_indegree
            ),
            limits=limits(self.n, max_indegree=most, **changes),
            permutation=np.arange(self.n) if permutation is None else permutation,
            start=arcs(self.start),
            required=arcs(self.required),
            bonus=self.bonus,
            groups=self.groups,
            **given,
        )


def random_problem(seed, n, *, spread=6, knowledge=False):
    """Return a problem of small integers, with constraints if asked for."""
    rng = np.random.default_rng([seed, 77])
    order = rng.permutation(n).tolist()
    pairs = [(order[i], order[j]) for i in range(n) for j in range(i + 1, n)]
    if not knowledge or not pairs:
        return Asked(n, integer_score(seed, spread))
    start = tuple(pairs[i] for i in rng.permutation(len(pairs))[: int(rng.integers(n + 1))])
    required = start[: int(rng.integers(len(start) + 1))]
    allowed = (rng.random((n, n)) < 0.7).astype(np.uint8)
    for tail, head in required:
        allowed[head, tail] = 1
    np.fill_diagonal(allowed, 0)
    bonus = ((0.0, 0.0, 0.0), (-0.5, 0.5, 0.0))[int(rng.integers(2))]
    return Asked(n, integer_score(seed, spread), allowed, int(rng.integers(1, n + 1)), start, required, bonus)


# ---- whole searches, as the learners put them together ----


def greedy(problem, state, tracker, seed):
    if tracker.enter_stage(0):
        climb(state, tracker, patience=problem.limits.patience)


def restarted(problem, state, tracker, seed, *, n_restarts=5, n_moves=3, n_jobs=1):
    greedy(problem, state, tracker, seed)
    if tracker.enter_stage(1):
        restart(problem, state, tracker, n_restarts=n_restarts, n_moves=n_moves, seed=seed, n_jobs=n_jobs)


def thorough(problem, state, tracker, seed):
    climb_first = partial(restarted, problem, state, tracker, seed, n_restarts=2)
    search_thoroughly(problem, state, tracker, lambda n_threads: climb_first(), seed=seed, first_stage=2)


def best(problem, state, tracker, seed):
    climb_first = partial(restarted, problem, state, tracker, seed, n_restarts=2)
    search_for_best(problem, state, tracker, lambda n_threads: climb_first(), seed=seed, first_stage=2)


def annealed(problem, state, tracker, seed, *, n_draws=400):
    if tracker.enter_stage(0):
        anneal(state, tracker, seed=seed, n_draws=n_draws, initial_temperature=6.0, final_temperature=0.5)
    if tracker.enter_stage(1):
        if not tracker.memo:
            tracker.return_to_best(state)
        climb(state, tracker)


def best_firsts(problem, state, tracker, seed, *, width=3, patience=8, max_open=5):
    best_first(state, tracker, width=width, patience=patience, max_open=max_open)


SEARCHES = {
    "greedy": greedy,
    "restarts": restarted,
    "thorough": thorough,
    "annealing": annealed,
    "best first": best_firsts,
}


def walks_of(search):
    return search in (annealed, best_firsts)


def search_with(search, problem, *, seed=0, callback=None, checkpoint=None, max_time=None, **options):
    """Return the result of a search, resumed from a snapshot where the checkpoint has one."""
    state = problem.make_state()
    tracker = SearchTracker(
        problem.limits, Run(SearchProgress, max_time=max_time, callback=callback, checkpoint=checkpoint)
    )
    if not tracker.restore(state, last_stage=9):
        tracker.set_best(state)
    return run_search(lambda: search(problem, state, tracker, seed, **options), state, tracker)

"""What the learners that search by moves have in common: the first graph, the limits, the checkpoint, the results."""

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from hashlib import blake2b
from math import inf
from numbers import Integral, Real
from pathlib import Path
from time import perf_counter
from typing import Any

import networkx as nx
import numpy as np

from pgmx.checks import check_same_names
from pgmx.data import DiscreteTable, Frame, encode, estimate_memory
from pgmx.data.memory import MemoryEstimate
from pgmx.estimators.base import BaseStructureScore, Interval, Options, StrOptions, config, random_draws
from pgmx.estimators.bayesian.dag_learner import KNOWLEDGE_OPTIONS, DagLearner, Problem
from pgmx.graphs.cycles import find_cycle
from pgmx.parallel.spread import sendable_scoring
from pgmx.runs.checkpoint import Checkpoint
from pgmx.runs.progress import ProgressBar
from pgmx.scores.gains import ROW_MEMORY, remembered
from pgmx.search.dag.course import ClimbLimits, ClimbResult, Run, Stopped
from pgmx.search.dag.problem import DagProblem
from pgmx.search.dag.starts import grow_at_random, grow_tree
from pgmx.search.dag.state import DagState
from pgmx.search.knowledge.constraints import EdgeConstraints

#: A longer tabu list is cut to this length; it bars no more, for no search makes so many moves.
LONGEST_TABU = 1_000_000

#: Options that decide what a search finds; a checkpoint is refused where one of them differs.
_DECISIVE = (
    *("start_dag", "max_indegree", "max_candidates", "epsilon", "strategy", "tabu_length", "patience", "n_restarts"),
    *("n_restart_moves", "n_draws", "initial_temperature", "final_temperature", "width", "max_open"),
)


class SearchLearner(DagLearner):
    """Base of the learners that go from graph to graph by moves of single arcs.

    A subclass implements `_search`, which makes the moves; `_walks` tells whether it wants moves that do not improve.
    """

    _parameter_constraints: dict[str, Any] = {
        "scoring_method": [str, BaseStructureScore, None],
        "structure_prior": "no_validation",  # judged by resolve_scoring
        "start_dag": [nx.DiGraph, StrOptions({"tree", "random"}), None],
        "max_indegree": [Interval(Integral, 0, None, closed="left"), Options(Real, {inf}), None],
        "max_candidates": [Interval(Integral, 0, None, closed="left"), None],
        **KNOWLEDGE_OPTIONS,
        "return_type": [str],  # any case, judged by _check_return_type
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Real, 0, None, closed="left"), Options(Real, {inf})],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, Path, None],
        "checkpoint_every": [Interval(Real, 0, None, closed="left")],
        "show_progress": ["boolean"],
        "callback": [callable, None],
        "state_names": [dict, None],
        "missing": [StrOptions({"error", "drop", "category", "pairwise"})],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    #: Not every search bars moves or walks on; those that do have options of these names.
    tabu_length = 0
    patience = 0

    @abstractmethod
    def _search(self, problem: DagProblem, state: DagState, run: Run, seed: int) -> None:
        """Make the moves; limits end it by `Stopped`."""

    def _walks(self) -> bool:
        return True

    def _goes_back(self) -> bool:
        """Tell whether the search comes back to graphs it has left, so that rows of gains are worth keeping."""
        return True

    def _spreads(self) -> bool:
        """Tell whether the search sends its problem to other workers."""
        return False

    def estimate_cost(self, X=None, *, n_rows=None, cardinalities=None) -> MemoryEstimate:
        """Tell what learning with a discrete score will take in memory.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable or path, optional
            The data; they are coded to find the states. An iterator would be used up.
        n_rows : int, optional
            Number of rows, in place of `X`.
        cardinalities : array-like of int, optional
            Number of states of each variable, in place of `X`.

        Returns
        -------
        MemoryEstimate
            Bytes by part, see :func:`pgmx.data.estimate_memory` for the formula.

        Raises
        ------
        ValueError
            If neither `X` nor both numbers are given.
        """
        if X is not None:
            table = encode(X, state_names=self.state_names, missing=self.missing, n_jobs=self.n_jobs)
            n_rows, cardinalities = table.n_rows, table.cardinalities
        if n_rows is None or cardinalities is None:
            raise ValueError("estimate_cost needs the data, or both n_rows=... and cardinalities=[...]")
        return estimate_memory(n_rows, cardinalities, row_memory=ROW_MEMORY if self._goes_back() else 0)

    def _fit(self, opened: Frame | DiscreteTable, sample_weight):
        began = perf_counter()
        found = self._problem(opened, sample_weight)
        permutation, seed = random_draws(len(found.names), self.random_state)
        with sendable_scoring(found.scoring, self.n_jobs if self._spreads() else 1) as scoring:
            result = self._find(found._replace(scoring=scoring), permutation, seed, began)
        self._set_graph(found.scoring, found.constraints, result.edges)
        self.score_ = result.score
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.history_ = result.history

    def _find(self, found: Problem, permutation: np.ndarray, seed: int, began: float) -> ClimbResult:
        """Search from the first graph, or from where the checkpoint left it."""
        problem = self._dag_problem(found, permutation, began)
        state = problem.state()
        fingerprint = self._fingerprint(problem, state, seed)
        if self.start_dag == "tree":
            grow_tree(state)
        elif self.start_dag == "random":
            grow_at_random(state, seed)
        state.prior = found.scoring.prior(state.edges())
        problem = replace(problem, start=state.edges(), offset=state.offset)
        saver = None if self.checkpoint is None else Checkpoint(self.checkpoint, self.checkpoint_every, fingerprint)
        name = type(self).__name__
        with ProgressBar(self.show_progress and config.SHOW_PROGRESS, self.callback, name) as watcher:
            run = Run(problem.limits, callback=watcher.callback, began=began, saver=saver)
            converged = self._run(problem, state, run, seed, saver)
        return run.result(state, converged)

    def _run(self, problem: DagProblem, state: DagState, run: Run, seed: int, saver: Checkpoint | None) -> bool:
        """Search, from the snapshot in the checkpoint where there is one; tell whether it came to its end."""
        snapshot = None if saver is None else saver.load()
        if snapshot is None:
            run.present(state)
        else:
            run.take_up(state, snapshot)
        try:
            self._search(problem, state, run, seed)
        except Stopped:
            if run.n_iter > 0:  # else there is nothing to go on from
                run.save(state)
            return False
        if saver is not None:
            saver.remove()
        return True

    def _dag_problem(self, found: Problem, permutation: np.ndarray, began: float) -> DagProblem:
        n = len(found.names)
        limits = ClimbLimits(
            epsilon=float(self.epsilon),
            max_iter=inf if self.max_iter == inf else int(self.max_iter),
            max_time=self.max_time,
            max_indegree=n if self.max_indegree is None else int(min(self.max_indegree, n)),
            tabu_length=int(min(self.tabu_length, LONGEST_TABU)),
            patience=int(self.patience),
        )
        make_gains = partial(
            found.scoring.gains,
            allowed=found.constraints.allowed,
            max_indegree=limits.max_indegree,
            deadline=inf if self.max_time is None else began + self.max_time,
            n_jobs=self.n_jobs,
        )
        return DagProblem(
            n=n,
            make_source=partial(remembered, make_gains) if self._goes_back() else make_gains,
            limits=limits,
            permutation=permutation,
            start=self._start_edges(found.names, found.constraints, limits.max_indegree),
            required=found.constraints.required,
            bonus=found.scoring.bonus,
            max_candidates=self.max_candidates,
            walks=self._walks(),
        )

    def _start_edges(self, names: list, constraints: EdgeConstraints, max_indegree: int) -> np.ndarray:
        """Return the start graph with required edges put in and forbidden ones taken out."""
        ids = {name: i for i, name in enumerate(names)}
        n_required = np.bincount(constraints.required[:, 1], minlength=len(names))
        crowded = int(np.argmax(n_required))
        if n_required[crowded] > max_indegree:
            raise ValueError(
                f"{names[crowded]!r} has {n_required[crowded]} required parents, but max_indegree={max_indegree}: "
                "raise max_indegree, or require fewer edges"
            )
        edges: dict[tuple[int, int], None] = {}
        if isinstance(self.start_dag, nx.DiGraph):
            if getattr(self.start_dag, "undirected_edges", None):
                raise ValueError("start_dag has undirected edges: give a DAG (of a learner dag_), not its class (PDAG)")
            remedy = "Add missing nodes with start_dag.add_nodes_from, drop superfluous ones"
            check_same_names(self.start_dag.nodes, names, "start_dag", "the data", remedy=remedy)
            edges = dict.fromkeys((ids[tail], ids[head]) for tail, head in self.start_dag.edges())
        edges.update(dict.fromkeys((tail, head) for tail, head in constraints.required.tolist()))
        cycle = find_cycle(len(names), list(edges))
        if cycle is not None:
            path = " -> ".join(repr(names[v]) for v in [*cycle, cycle[0]])
            raise ValueError(f"start_dag with the required edges has the cycle {path}: take out one of these edges")
        kept = [(tail, head) for tail, head in edges if constraints.allows(tail, head)]
        return np.array(kept, dtype=np.int64).reshape(-1, 2)

    def _fingerprint(self, problem: DagProblem, state: DagState, seed: int) -> str:
        """Stand for data, score, constraints and options in a checkpoint."""
        if self.checkpoint is None:
            return ""
        if self.random_state is None:
            raise ValueError(
                "a checkpoint needs the same draws again, but random_state=None draws anew each time: give a seed"
            )
        options = {
            name: str(getattr(self, name, None)) if not isinstance(getattr(self, name, None), nx.Graph) else "graph"
            for name in _DECISIVE
        }
        score = self.scoring_method if isinstance(self.scoring_method, str) else type(self.scoring_method).__name__
        what = (type(self).__name__, score, sorted(options.items()), seed, problem.bonus)
        digest = blake2b(repr(what).encode(), digest_size=16)
        for array in (state.gains, state.scores, problem.permutation, problem.start, problem.required):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

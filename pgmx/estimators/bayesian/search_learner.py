"""What the learners that search by moves have in common: the first graph, the limits, the checkpoint, the results."""

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from pgmx.checks import check_same_names
from pgmx.data import DiscreteTable, Frame, encode, estimate_memory
from pgmx.data.memory import MemoryEstimate
from pgmx.estimators.base import BaseStructureScore, Interval, Options, StrOptions, config, random_draws
from pgmx.estimators.bayesian.dag_learner import KNOWLEDGE_OPTIONS, DagLearner, Problem
from pgmx.graphs.cycles import find_cycle
from pgmx.runs.checkpoint import Checkpoint, open_checkpoint
from pgmx.runs.progress import ProgressBar, SearchProgress
from pgmx.runs.run import Run
from pgmx.scores.binding.sending import send_scoring
from pgmx.scores.gains import ROW_MEMORY, cache_rows
from pgmx.search.dag.course import ClimbLimits, Course, Stopped
from pgmx.search.dag.problem import DagProblem
from pgmx.search.dag.starts import grow_at_random, grow_tree
from pgmx.search.dag.state import DagState
from pgmx.search.knowledge.constraints import EdgeConstraints

#: A longer tabu list is cut to this length; it bars no more, for no search makes so many moves.
LONGEST_TABU = 1_000_000


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
    def _search(self, problem: DagProblem, state: DagState, course: Course, seed: int) -> None:
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
        with ProgressBar(self.show_progress and config.SHOW_PROGRESS, self.callback, type(self).__name__) as bar:
            run = Run(SearchProgress, max_time=self.max_time, callback=bar.callback)
            found = self._problem(opened, sample_weight)
            permutation, seed = random_draws(len(found.names), self.random_state)
            with send_scoring(found.scoring, self.n_jobs if self._spreads() else 1) as scoring:
                edges = self._find(found._replace(scoring=scoring), permutation, seed, run)
        self._set_graph(found.scoring, found.constraints, edges)
        self.stopped_by_ = run.stopped_by
        self.converged_ = run.stopped_by == "converged"
        self.history_ = run.history

    def _find(self, found: Problem, permutation: np.ndarray, seed: int, run: Run) -> np.ndarray:
        """Search from the first graph, or from where the checkpoint left it; return the arcs of the best graph."""
        problem = self._dag_problem(found, permutation, run)
        state = problem.state()
        run.checkpoint = self._open_checkpoint(problem, state, seed)
        if self.start_dag == "tree":
            grow_tree(state)
        elif self.start_dag == "random":
            grow_at_random(state, seed)
        state.prior = found.scoring.prior(state.edges())
        problem = replace(problem, start=state.edges(), offset=state.offset)
        course = Course(problem.limits, run)
        if not course.restore(state):
            course.set_best(state)
        try:
            self._search(problem, state, course, seed)
        except Stopped:
            if course.n_iter > 0:  # else there is nothing to go on from
                course.save(state)
        else:
            run.end("converged")
        course.recall()
        self.score_, self.n_iter_ = course.best_score, course.n_iter
        return course.best_edges(state)

    def _open_checkpoint(self, problem: DagProblem, state: DagState, seed: int) -> Checkpoint | None:
        """Return the checkpoint; what is known of the edges counts as ids, and what is drawn as drawn."""
        start = self.start_dag if isinstance(self.start_dag, str) else problem.start
        resolved = {"start_dag": start, "random_state": [seed, problem.permutation], **dict.fromkeys(KNOWLEDGE_OPTIONS)}
        # a forbidden arc has a gain of -inf
        return open_checkpoint(self, state.gains, state.scores, problem.required, problem.bonus, **resolved)

    def _dag_problem(self, found: Problem, permutation: np.ndarray, run: Run) -> DagProblem:
        n = len(found.names)
        limits = ClimbLimits(
            epsilon=float(self.epsilon),
            max_iter=inf if self.max_iter == inf else int(self.max_iter),
            max_indegree=n if self.max_indegree is None else int(min(self.max_indegree, n)),
            tabu_length=int(min(self.tabu_length, LONGEST_TABU)),
            patience=int(self.patience),
        )
        make_gains = partial(
            found.scoring.gains,
            allowed=found.constraints.allowed,
            max_indegree=limits.max_indegree,
            deadline=run.deadline,
            n_jobs=self.n_jobs,
        )
        return DagProblem(
            n=n,
            make_source=partial(cache_rows, make_gains) if self._goes_back() else make_gains,
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

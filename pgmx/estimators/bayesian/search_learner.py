"""Base class of the learners that search by moves: start graph, limits, checkpoint, memory, results."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from math import inf
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import caller_level, check_same_names, is_silent
from pgmx.data.errors import ChoiceError
from pgmx.estimators.base import Interval, Options, StrOptions, config, random_draws
from pgmx.estimators.bayesian.cost import (
    SearchSize,
    estimate_continuous,
    estimate_discrete,
    estimate_expectations,
    measure_size,
)
from pgmx.estimators.bayesian.dag_learner import KNOWLEDGE_OPTIONS, DagLearner, InputTable, InterventionScorer
from pgmx.estimators.bayesian.pgmpy_interface import BaseStructureScore
from pgmx.estimators.bayesian.structural_em import StructuralEM, check_graph
from pgmx.estimators.cost import LearningCost
from pgmx.graphs.cycles import describe_cycle, find_cycle
from pgmx.parallel.threads import MOST_HELPED, count_threads
from pgmx.runs.checkpoint import Checkpoint, open_checkpoint
from pgmx.runs.progress import ProgressBar, SearchProgress
from pgmx.runs.run import Run, lift_limits
from pgmx.scores.binding.discrete import list_facts
from pgmx.scores.binding.incomplete import IncompleteScoring, compute_log_likelihood, take_rows
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.binding.scoring import Scoring, send_scoring
from pgmx.scores.chance_edges import EdgePrice, expect_chance_edges
from pgmx.scores.discrete.base import DiscreteScore
from pgmx.scores.gains import PREFETCHED_ROWS, ROW_MEMORY, CachedSources
from pgmx.scores.priors import StructurePrior
from pgmx.scores.registry import find_score, list_scores
from pgmx.search.dag.starts import find_forest, grow_at_random, grow_tree
from pgmx.search.dag.state import ClimbLimits, DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker, StopSearch
from pgmx.search.knowledge import EdgeConstraints

if TYPE_CHECKING:
    from pandas import DataFrame

#: BIC is warned of if more edges than these, and more than this share of all edges, are expected by chance.
LEAST_CHANCE_EDGES, LEAST_CHANCE_SHARE = 20, 0.05

#: Longer tabu lists are cut to this length, because no search makes that many moves.
LONGEST_TABU = 1_000_000


class SearchLearner(InterventionScorer, DagLearner):
    """Base of the learners that change single edges per move. A subclass makes the moves in `_search`."""

    _parameter_constraints: dict[str, Any] = {
        "scoring_method": [str, BaseStructureScore, None],
        "penalty": "no_validation",  # checked by resolve_scoring
        "gamma": "no_validation",  # checked by resolve_scoring
        "structure_prior": "no_validation",  # checked by resolve_scoring
        "discrete_children": [StrOptions({"forbidden", "allowed"})],
        "start_dag": [nx.DiGraph, StrOptions({"tree", "random"}), None],
        "max_indegree": [Interval(Integral, 0, None, closed="left"), Options(Real, {inf}), None],
        "max_candidates": [Interval(Integral, 0, None, closed="left"), None],
        **DagLearner._parameter_constraints,
        "missing": [StrOptions({"error", "drop", "category", "pairwise", "em"})],
        "interventions": "no_validation",  # a name of a column, checked when the data are opened
        "n_em_restarts": [Interval(Integral, 0, None, closed="left")],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Real, 0, None, closed="left"), Options(Real, {inf})],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, Path, None],
        "checkpoint_every": [Interval(Real, 0, None, closed="left")],
        "show_progress": ["boolean"],
        "callback": [callable, None],
    }

    scoring_method: str | BaseStructureScore | None
    penalty: float
    gamma: float
    structure_prior: StructurePrior | None
    discrete_children: str
    start_dag: nx.DiGraph | str | None
    max_indegree: float | None
    max_candidates: int | None
    n_em_restarts: int
    epsilon: float
    max_iter: float
    max_time: float | None
    checkpoint: str | PathLike | None
    show_progress: bool
    callback: Callable[[SearchProgress], object] | None
    random_state: int | np.random.RandomState | np.random.Generator | None

    score_: float
    n_iter_: int
    n_em_iter_: int
    observed_log_likelihood_: float
    expected_chance_edges_: float
    converged_: bool
    stopped_by_: str
    history_: dict[str, np.ndarray]

    # not every search has these options
    tabu_length = 0
    patience = 0

    # ---- what a subclass defines ----

    @abstractmethod
    def _search(self, problem: DagProblem, state: DagState, tracker: SearchTracker, seed: int) -> None:
        """Make the moves. Limits end the search by `StopSearch`."""

    def _last_stage(self) -> int:
        """Return the number of the last stage of the search."""
        return 0

    def _needs_all_moves(self) -> bool:
        """Return whether the search also makes moves that lower the score."""
        return True

    def _revisits_graphs(self) -> bool:
        """Return whether the search returns to earlier graphs, so that storing rows of gains is useful."""
        return True

    def _uses_workers(self) -> bool:
        """Return whether the search sends its problem to workers."""
        return False

    def _uses_threads(self) -> bool:
        """Return whether each of `n_jobs` threads searches on its own graph."""
        return self._uses_workers()

    def _prefetches_gains(self) -> bool:
        """Return whether `n_jobs` threads compute the rows of gains of one climb."""
        return False

    def _limit_tree_memory(self) -> int:
        """Return the largest number of bytes that each thread keeps in addition to rows of gains."""
        return 0

    def _count_climbs(self) -> float:
        """Return the number of greedy climbs that visit about as many graphs as this search."""
        return 1.0

    def _expect_chance_edges(self, price: EdgePrice | None) -> float:
        """Return the expected number of edges between independent variables, NaN if it is not known."""
        return expect_chance_edges(price)

    def _set_bound(self, upper_bound: float) -> None:
        """Store the proven upper bound of the score."""

    # ---- learning ----

    def _open(self, X: Any) -> Any:
        with self._name_all_choices():
            return super()._open(X)

    @contextmanager
    def _name_all_choices(self) -> Iterator[None]:
        """Let errors about missing values name all options of this learner, also `missing="em"`."""
        try:
            yield
        except ChoiceError as error:
            # EM computes a score again from its name; a score object already holds complete rows
            by_name = not isinstance(self.scoring_method, BaseStructureScore)
            raise error.among((*error.choices, "em"), marks=by_name and bool(error.choices)) from None

    def _reads_continuous(self, opened: Any) -> bool:
        method = self.scoring_method
        is_discrete = isinstance(method, DiscreteScore)
        if isinstance(method, str):
            is_discrete = method.lower() in list_scores("discrete", aliases=True)
        return super()._reads_continuous(opened) and not is_discrete  # discrete scores refuse continuous variables

    def _fit(self, opened: InputTable, sample_weight: ArrayLike | None) -> Run:
        with ProgressBar(self.show_progress and config.SHOW_PROGRESS, self.callback, type(self).__name__) as bar:
            run = Run(SearchProgress, max_time=self.max_time, callback=bar.callback, start=self._start)
            bar.follow(run)
            with run.limit_runs():
                self._check_return_type()
                self._read_prior(opened)
                with self._name_all_choices():
                    scoring = self._bind_scoring(opened, sample_weight)
                constraints = self._restrict(self._read_constraints(scoring.names), scoring)
                if isinstance(scoring, IncompleteScoring):
                    edges = self._maximise_expectations(scoring, constraints, run)
                else:
                    edges = self._search_for(scoring, constraints, run)
                    self.n_em_iter_ = 0
                    self.observed_log_likelihood_ = self._fit_complete_rows(scoring, edges)
        self._set_graph(scoring, constraints, edges)
        price = scoring.edge_price
        self.expected_chance_edges_ = self._expect_chance_edges(price)
        if price is not None:
            _warn_of_chance_edges(scoring, self.expected_chance_edges_, len(edges), price.n_rows)
        self.stopped_by_ = run.stopped_by
        self.converged_ = run.stopped_by == "converged"
        self.history_ = run.history
        return run

    def _bind_scoring(self, opened: Any, sample_weight: ArrayLike | None) -> Scoring:
        """Return the score of the options bound to data."""
        return resolve_scoring(
            self.scoring_method,
            opened,
            state_names=self.state_names,
            missing=self.missing,
            n_jobs=self.n_jobs,
            sample_weight=sample_weight,
            structure_prior=self.structure_prior,
            discrete_children=self.discrete_children,
            penalty=self.penalty,
            gamma=self.gamma,
            interventions=self._interventions,
        )

    def _search_for(
        self,
        scoring: Scoring,
        constraints: EdgeConstraints,
        run: Run,
        start: np.ndarray | None = None,
        resumable: bool = True,
    ) -> np.ndarray:
        """Search, while workers share the score if the search uses workers."""
        with send_scoring(scoring, self.n_jobs if self._uses_workers() else 1) as sent:
            return self._find_best_graph(sent, constraints, run, start, resumable)

    def _find_best_graph(
        self,
        scoring: Scoring,
        constraints: EdgeConstraints,
        run: Run,
        start: np.ndarray | None = None,
        resumable: bool = True,
    ) -> np.ndarray:
        """Search from the start graph or from the checkpoint; return the edges of the best graph.

        `start` replaces the start graph of the options. A search that is not `resumable` has no checkpoint.
        """
        permutation, seed = random_draws(len(scoring.names), self.random_state)
        problem = self._make_problem(scoring, constraints, permutation, run)
        if start is not None:
            problem = replace(problem, start=start)
        state = problem.make_state()
        if self.checkpoint is not None and resumable:
            run.checkpoint = self._open_checkpoint(scoring, problem, state, seed)
        if self.start_dag == "tree" and start is None:
            grow_tree(state)
        elif self.start_dag == "random" and start is None:
            grow_at_random(state, seed)
        state.prior = scoring.prior(state.edges())
        # later stages start again from the grown graph
        problem = replace(problem, start=state.edges(), offset=state.offset)
        tracker = SearchTracker(problem.limits, run)
        if not tracker.restore(state, self._last_stage()):
            tracker.set_best(state)
        try:
            with run.catch_interrupt():
                self._search(problem, state, tracker, seed)
                run.end("converged")  # no limit has ended the search by an exception
        except StopSearch:
            if tracker.n_iter > 0:  # otherwise there is nothing to resume
                tracker.save(state)
            elif run.stopped_by == "max_time":
                self._fall_back_to_forest(state, tracker)
        except OSError:  # counts are lost, for example if a worker cannot read a file again
            tracker.save()
            raise
        tracker.recall()
        self.score_, self.n_iter_ = tracker.best_score, tracker.n_iter
        self._set_bound(tracker.upper_bound)
        edges = tracker.best_edges(state)
        if isinstance(run.error, KeyboardInterrupt):  # possibly during a move
            tracker.save()
            self.score_ = state.score_graph(edges)
        return edges

    def _fall_back_to_forest(self, state: DagState, tracker: SearchTracker) -> None:
        """Use the best forest by the gains that the first pass has computed, without a move."""
        self._warn_of_time("the graph is the start graph, or the best forest of the pairs scored so far")
        if not state.moves.n_edges:
            with lift_limits():  # the gains are known, so this step is short
                forest = find_forest(state)
            edges = forest.edges[forest.weights >= tracker.least_gain()]
            tracker.adopt(edges, state.score_graph(edges))

    def _make_problem(
        self, scoring: Scoring, constraints: EdgeConstraints, permutation: np.ndarray, run: Run
    ) -> DagProblem:
        n = len(scoring.names)
        limits = ClimbLimits(
            epsilon=float(self.epsilon),
            max_iter=inf if self.max_iter == inf else int(self.max_iter),
            max_indegree=n if self.max_indegree is None else int(min(self.max_indegree, n)),
            tabu_length=int(min(self.tabu_length, LONGEST_TABU)),
            patience=int(self.patience),
        )
        make_gains = partial(
            scoring.gains,
            allowed=constraints.allowed,
            max_indegree=limits.max_indegree,
            deadline=run.deadline,
            n_jobs=self.n_jobs,
        )
        row_memory = self._limit_gain_memory(n)
        interventions = getattr(scoring, "interventions", None)
        return DagProblem(
            n=n,
            make_source=CachedSources(make_gains, row_memory) if row_memory else make_gains,
            limits=limits,
            permutation=permutation,
            start=self._start_edges(scoring.names, constraints, limits.max_indegree),
            required=constraints.required,
            bonus=scoring.bonus,
            bounds=scoring.bounds,
            max_candidates=self.max_candidates,
            all_moves=self._needs_all_moves(),
            groups=None if interventions is None else interventions.groups,
        )

    def _start_edges(self, names: list, constraints: EdgeConstraints, max_indegree: int) -> np.ndarray:
        """Return the edges of the start graph: `start_dag` with required edges and without forbidden edges."""
        n_required = np.bincount(constraints.required[:, 1], minlength=len(names))
        child = int(np.argmax(n_required))
        if n_required[child] > max_indegree:
            raise ValueError(
                f"{names[child]!r} has {n_required[child]} required parents, but max_indegree={max_indegree}: "
                "raise max_indegree, or require fewer edges"
            )
        # an edge may be given twice; unlike a set, a dictionary has a fixed order
        edges = dict.fromkeys((tail, head) for tail, head in constraints.required.tolist())
        if isinstance(self.start_dag, nx.DiGraph):
            if getattr(self.start_dag, "undirected_edges", None):
                raise ValueError("start_dag has undirected edges: give a DAG, such as dag_ of a learner, not a PDAG")
            remedy = "Add missing nodes with start_dag.add_nodes_from, remove superfluous nodes"
            check_same_names(self.start_dag.nodes, names, "start_dag", "the data", remedy=remedy)
            ids = {name: i for i, name in enumerate(names)}
            edges = dict.fromkeys((ids[tail], ids[head]) for tail, head in self.start_dag.edges()) | edges
            cycle = find_cycle(len(names), list(edges))
            if cycle is not None:
                path = describe_cycle(names, cycle)
                raise ValueError(f"start_dag with the required edges has the cycle {path}: remove one of these edges")
        allowed = [(tail, head) for tail, head in edges if constraints.allows(tail, head)]
        return np.array(allowed, dtype=np.int64).reshape(-1, 2)

    def _open_checkpoint(self, scoring: Scoring, problem: DagProblem, state: DagState, seed: int) -> Checkpoint:
        """Return the checkpoint. Its fingerprint contains edges as ids and random numbers as drawn."""
        resolved = self._resolve_options(problem.start, seed, problem.permutation)
        # a forbidden edge has a gain of -inf
        facts = list_facts(scoring, state.gains, state.scores)
        return open_checkpoint(self, *facts, problem.required, problem.bonus, **resolved)

    def _resolve_options(self, start: np.ndarray, seed: int, permutation: np.ndarray) -> dict[str, Any]:
        """Return the options in the form that the fingerprint uses; prior knowledge enters as arrays."""
        start_dag = self.start_dag if isinstance(self.start_dag, str) else start
        return {"start_dag": start_dag, "random_state": [seed, permutation], **dict.fromkeys(KNOWLEDGE_OPTIONS)}

    # ---- missing values ----

    def _maximise_expectations(self, scoring: IncompleteScoring, constraints: EdgeConstraints, run: Run) -> np.ndarray:
        """Learn from rows with missing values by structural EM. Each search is a separate run."""
        n = len(scoring.names)
        permutation, seed = random_draws(n, self.random_state)
        limit = n if self.max_indegree is None else int(min(self.max_indegree, n))
        start_edges = self._start_edges(scoring.names, constraints, limit)
        # max_indegree limits moves, not the start graph
        most_parents = np.maximum(limit, np.bincount(start_edges[:, 1], minlength=n))
        if self.checkpoint is not None:
            resolved = self._resolve_options(start_edges, seed, permutation)
            facts = (constraints.allowed, constraints.required, scoring.bonus, float(self.max_iter))
            run.checkpoint = open_checkpoint(self, scoring.data, *facts, **resolved)

        def search(bound: Scoring, start: np.ndarray | None) -> tuple[np.ndarray, int]:
            inner = Run(SearchProgress)  # no callback and no history: the moves of one search are no progress of EM
            inner.deadline = run.deadline
            edges = self._search_for(bound, constraints, inner, start, resumable=False)
            inner.estimate_left = None  # it refers to the search, which refers to the run
            if inner.error is not None:
                run.interrupt(inner.error)
            return edges, self.n_iter_

        epsilon, n_restarts = float(self.epsilon), int(self.n_em_restarts)
        check = partial(check_graph, constraints=constraints, most_parents=most_parents)
        em = StructuralEM(scoring, search, run, check, seed=seed, least_gain=epsilon, n_restarts=n_restarts)
        best = em.learn()
        scoring.fit = best.fit
        self.n_em_iter_, self.observed_log_likelihood_ = em.n_iter, best.fit.log_likelihood
        self.score_, self.n_iter_ = best.score, em.n_moves
        self._set_bound(np.nan)  # a bound holds for one search on completed rows, not for the observed values
        return best.fit.edges

    def _fit_complete_rows(self, scoring: Any, edges: np.ndarray) -> float:
        """Return the log-likelihood of complete rows as structural EM would report it; NaN without EM."""
        return compute_log_likelihood(scoring, edges) if self.missing == "em" else float("nan")

    def imputed_frame(self) -> "DataFrame":
        """Return the training data with each missing value imputed from its row.

        A discrete value is replaced by its most probable state, a continuous value by its mean, given the observed
        values of the row. Each value is imputed separately and exactly, under the maximum likelihood parameters of
        `model_`.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_features)
            Categorical columns with all states declared, continuous columns as float64, and a new index. The rows are
            in the order of the data.

        Raises
        ------
        ValueError
            If `missing` is not "em".

        Notes
        -----
        For discrete variables the cost is one pass over the junction tree per row. Do not learn from the imputed table,
        because imputed values vary less than observed values. Learn from the table with missing values.
        """
        self._require_fit()
        if self.missing != "em":
            raise ValueError(f"imputed_frame needs missing='em', got missing={self.missing!r}: fit with missing='em'")
        return take_rows(self._scoring.get()).to_pandas()

    # ---- memory ----

    def _limit_gain_memory(self, n: int) -> int:
        """Return the largest number of bytes for the rows of n gains that the search keeps."""
        if self._revisits_graphs():
            return ROW_MEMORY
        return PREFETCHED_ROWS * 8 * (n + 1) if self._prefetches_gains() and count_threads(self.n_jobs) > 1 else 0

    def estimate_cost(
        self,
        X: Any = None,
        *,
        n_rows: int | None = None,
        cardinalities: ArrayLike | None = None,
        n_floats: int = 0,
        weighted: bool = False,
        missing_share: float = 0.0,
    ) -> LearningCost:
        """Estimate the memory required for learning.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable or path, optional
            The data. States are coded to count them. Iterators are not accepted, because reading would exhaust them.
        n_rows : int, optional
            Number of rows, in place of `X`.
        cardinalities : array-like of int, optional
            Number of states of each discrete variable, in place of `X`.
        n_floats : int, default=0
            Number of continuous variables, in place of `X`.
        weighted : bool, default=False
            Whether the rows will have non-integer weights.
        missing_share : float, default=0.0
            Share of missing values, from 0 to 1, in place of `X`. Only for ``missing="em"``.

        Returns
        -------
        LearningCost
            Bytes per component and their sum. See :func:`pgmx.data.estimate_memory` for the formula for discrete
            variables.

        Raises
        ------
        ValueError
            If neither `X` nor its shape is given, or `missing_share` is out of range or given without ``missing="em"``.

        Notes
        -----
        On ten tables, from alarm (37 variables x 10,000 rows) to 100 variables x 5,000,000 rows in a plane file, the
        estimate is between one and three times the measured peak. For structural EM (``missing="em"``) it assumes
        sparse graphs, because the graphs are not known in advance.
        """
        if X is None:
            size = SearchSize.from_shape(n_rows, cardinalities, n_floats, missing_share, self.missing)
        else:
            size = measure_size(self, self._open(X))
        n_threads = count_threads(self.n_jobs) if self._uses_threads() else 1
        rows = self._limit_gain_memory(len(size.cards) + size.n_floats) + n_threads * self._limit_tree_memory()
        if size.missing is not None:
            return estimate_expectations(
                size.missing, size.n_rows, size.cards, size.n_floats, climbs=self._count_climbs(), row_memory=rows
            )
        if size.n_floats:
            return estimate_continuous(size.n_rows, size.n_floats, size.cards)
        cost = estimate_discrete(size.n_rows, size.cards, row_memory=rows, weighted=weighted, n_threads=n_threads)
        if n_threads == 1 and self._prefetches_gains():  # the helping threads have no graph
            n_helpers = min(count_threads(self.n_jobs), MOST_HELPED) - 1
            cost = cost.add(scratch=n_helpers * (cost.kept_counts + cost.scratch))
        return cost


def _warn_of_chance_edges(scoring: Scoring, n_expected: float, n_edges: int, n_rows: float) -> None:
    """Warn if BIC takes many of the edges by chance, since variables are many and rows few."""
    score = getattr(scoring, "score", None)
    if score is None or not score.get_class_tag("name").startswith("bic"):
        return
    extended = "e" + find_score(score.get_class_tag("name")).name
    if not n_expected > max(LEAST_CHANCE_EDGES, LEAST_CHANCE_SHARE * n_edges) or is_silent():
        return
    warnings.warn(
        f"many of the {n_edges:,} edges may be due to chance: between {len(scoring.names):,} independent variables BIC "
        f"would add about {_round_two_digits(n_expected):,} with {n_rows:,.0f} rows. scoring_method={extended!r} or "
        f"penalty={2 * score.penalty:g} asks for more evidence",
        UserWarning,
        stacklevel=caller_level(),
    )


def _round_two_digits(value: float) -> int:
    return int(float(f"{value:.1e}"))

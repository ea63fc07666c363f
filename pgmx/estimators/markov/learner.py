"""Base classes of the learners of discrete Markov networks: options, run, graph and network."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf, nan
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from pgmx.checks import caller_level, warn_of_target
from pgmx.data import DiscreteTable, Frame, encode
from pgmx.estimators.base import (
    DISCRETE_COLUMNS,
    NA_VALUES,
    BaseStructureLearner,
    Interval,
    StrOptions,
    config,
    random_draws,
)
from pgmx.estimators.cost import LearningCost
from pgmx.estimators.markov.cost import estimate_markov
from pgmx.estimators.markov.measures import RoundMeasures, code_held_out, read_true_pairs
from pgmx.estimators.markov.path import average_potentials
from pgmx.estimators.markov.problem import (
    LOSSES,
    MEMORY,
    SIDE_MEMORY,
    MarkovProblem,
    check_columns,
    code_rows,
    drop_forbidden,
    read_start,
    refuse_distributed,
    rephrase_errors,
)
from pgmx.inference import PairwisePotentials
from pgmx.models import PairwiseMarkovNetwork
from pgmx.models.distributed_rows import average_answers
from pgmx.models.markov_queries import measure_strengths
from pgmx.runs.progress import GraftingProgress, ProgressBar
from pgmx.runs.run import Run
from pgmx.search.edges.grafting import EdgeSelector, Grafting
from pgmx.search.pair_knowledge import PairKnowledge, read_pair_knowledge
from pgmx.solvers.markov.penalised_loss import PenalisedLoss
from pgmx.solvers.markov.pseudolikelihood import LEAST_TOL

Pairs = Collection[tuple[Hashable, Hashable]]

RandomState = int | np.random.RandomState | np.random.Generator | None

#: Larger values leave all parameters at zero, and their curvatures overflow.
_LARGEST_L2 = 1e12

#: Options of the learners that test a stream of pairs: options for hubs, and options for the reservoir.
HUB_CONSTRAINTS: dict[str, Any] = {
    "structure_heuristics": ["boolean"],
    "hub_threshold": [Interval(Real, 0, 1, closed="both"), None],
}

RESERVOIR_CONSTRAINTS: dict[str, Any] = {
    "alpha": [Interval(Real, 0, 1, closed="both")],
    "reservoir_size": [Interval(Integral, 1, None, closed="left"), None],
    "max_tests": [Interval(Integral, 1, None, closed="left"), None],
}

Learner = TypeVar("Learner", bound="MarkovLearner")  # jedi completes `Self` as the base class


class MarkovResults(BaseStructureLearner):
    """Graph and network of a learner, made from its arrays on access.

    A subclass sets `edges_`, `_potentials`, `_names`, `_states` and an empty `_results`.
    """

    edges_: np.ndarray
    _potentials: PairwisePotentials
    _names: list
    _states: tuple

    @property
    def graph_(self) -> nx.Graph:
        """The learned graph."""
        return self._make_once("graph", self._make_graph)

    @property
    def model_(self) -> PairwiseMarkovNetwork:
        """The learned network."""
        return self._make_once(
            "model", lambda: PairwiseMarkovNetwork.from_potentials(self._names, self._states, self._potentials)
        )

    def _make_graph(self) -> nx.Graph:
        graph = nx.Graph()
        graph.add_nodes_from(self._names)
        sizes = measure_strengths(self._potentials).tolist()
        strength = dict(zip(map(tuple, self._potentials.edges.tolist()), sizes, strict=True))
        for i, j in self.edges_.tolist():
            graph.add_edge(self._names[i], self._names[j], weight=strength.get((i, j), 0.0))
        return graph

    def score(self, X, y=None):
        """Return the mean log-likelihood of rows under `model_`, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable or distributed table
            Rows with the columns and states of the training data. Workers of a distributed table sum their rows. The
            learner's option `missing` sets the treatment of missing values: an error, dropping the row ("drop", with a
            warning), or a state ("category").
        y : None
            Ignored; scikit-learn's convention.

        Returns
        -------
        float
            The mean (1 / N) Σ_m log p(x_m).

        Warns
        -----
        ApproximationWarning
            If the exact log-partition function needs too much memory. It is then estimated by annealed importance
            sampling, as shown by ``model_.log_partition_.method``. Its ``standard_error`` is the standard error of the
            score.

        Notes
        -----
        ``model_.pseudo_log_likelihood(X).mean()``, the objective of most Markov learners, does not need the
        log-partition function.
        """
        check_is_fitted(self, "edges_")
        self._check_n_features(X)
        read = None if self.missing == "error" else self._code_rows
        return average_answers(self.model_, "log_likelihood", X, read)

    def _code_rows(self, X: Any) -> DiscreteTable:
        """Return rows without missing values: they become a state, or their rows are dropped."""
        table = encode(X, **self._list_coding())
        if isinstance(X, np.ndarray):  # its columns are the variables in order
            return DiscreteTable._from_parts(tuple(self._names), table.states, table.codes)
        return table


class MarkovLearner(MarkovResults):
    """Base of the learners of undirected discrete networks; a subclass implements `_make_selector`.

    Notes
    -----
    Penalty: `lam_ratio` is relative to `lam_max_`, the smallest λ without edges if nodes have no penalty. With
    `penalize_nodes` the graph at `lam_max_` may have a few edges. `lam_max_` needs one count of all pairs. Learners
    that test a stream of pairs avoid this count if `lam` is given. `l2` keeps parameters finite if two states do not
    occur together. The papers use half of this value. Large values fit worse than an independent model. `refit` changes
    `model_` only; objective, residual and history describe the penalised fit.

    Loss: the pseudolikelihood is halved, so that its gradients have the same scale as the gradients of the likelihood.
    ``"bethe"`` is the Bethe free energy by loopy belief propagation, as in the papers. It is not convex, and inactive
    edges are scored by products of node beliefs. If a run does not converge, it warns and returns the parameters with
    the lowest objective under uniform initial messages. ``"exact"`` enumerates at most 2²² joint configurations.

    Limits and history: the pseudolikelihood is computed in single precision. For a `tol` below 1e-5, double precision
    follows, which certifies 1e-10 and may take 50 times as long. `l2` may be at most 1e12. An activated edge may end at
    zero and is then not in the graph. If `converged_` is true, all inactive pairs satisfy their optimality conditions.
    The loss on `held_out` is computed after each increase of the number of edges by 2 %, and this time is not counted.
    `n_tables_` may exceed the number of pairs tested by a stream, because some pairs are scored in advance.
    ``pgmpy.config.SHOW_PROGRESS`` can switch off the progress bar too.

    Checkpoints: a resumed run returns the same network to the last bit. With the Bethe loss the checkpoint also
    contains the messages and the earlier parameters of the run.

    Distributed data: the workers of a DistributedTable count pairs and store the conditionals of their rows.
    Checkpoints contain parameters only, so a resumed run reaches the same optimum, but not to the last bit.
    """

    _parameter_constraints: dict[str, Any] = {
        "lam": [Interval(Real, 0, None, closed="left"), None],
        "lam_ratio": [Interval(Real, 0, None, closed="left")],
        "l2": [Interval(Real, 0, _LARGEST_L2, closed="both")],
        "refit": ["boolean"],
        "loss": [StrOptions(set(LOSSES))],
        "penalize_nodes": ["boolean"],
        "max_edges": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "required_edges": "no_validation",  # checked by read_pair_knowledge, like the next two
        "forbidden_edges": "no_validation",
        "edge_weights": "no_validation",
        "start": "no_validation",
        "true_graph": "no_validation",
        "held_out": "no_validation",
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, Path, None],
        "checkpoint_every": [Interval(Real, 0, None, closed="left")],
        "show_progress": ["boolean"],
        "callback": [callable, None],
        "state_names": [dict, None],
        "missing": [StrOptions({"error", "drop", "category"})],
        "na_values": NA_VALUES,
        "discrete_columns": DISCRETE_COLUMNS,
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    #: Options of the loss that depend on the method.
    _loss_options: dict[str, Any] = {"side_memory": SIDE_MEMORY}

    #: Whether pairs are tested one after another and wait in a queue.
    _is_stream = False

    lam_: float
    lam_max_: float
    objective_: float
    kkt_residual_: float
    converged_: bool
    stopped_by_: str
    n_iter_: int
    n_activated_: int
    n_tests_: int
    n_tables_: int
    history_: dict[str, np.ndarray]
    rows_: MarkovProblem | None

    def __init__(
        self,
        data: Any = None,
        *,
        lam: float | None = None,
        lam_ratio: float = 0.1,
        l2: float = 0.001,
        refit: bool = False,
        loss: Literal["pseudolikelihood", "bethe", "exact"] = "pseudolikelihood",
        penalize_nodes: bool = False,
        max_edges: int | None = None,
        tol: float = 1e-4,
        required_edges: Pairs | None = None,
        forbidden_edges: Pairs | None = None,
        edge_weights: Mapping[tuple[Hashable, Hashable], float] | ArrayLike | None = None,
        start: PairwiseMarkovNetwork | None = None,
        true_graph: nx.Graph | Pairs | None = None,
        held_out: Any = None,
        max_time: float | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        show_progress: bool = True,
        callback: Callable[[GraftingProgress], object] | None = None,
        state_names: dict[Hashable, Sequence] | None = None,
        missing: Literal["error", "drop", "category"] = "error",
        na_values: Any = None,
        discrete_columns: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = 0,
    ):
        self.data = data
        self.lam = lam
        self.lam_ratio = lam_ratio
        self.l2 = l2
        self.refit = refit
        self.loss = loss
        self.penalize_nodes = penalize_nodes
        self.max_edges = max_edges
        self.tol = tol
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.edge_weights = edge_weights
        self.start = start
        self.true_graph = true_graph
        self.held_out = held_out
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.show_progress = show_progress
        self.callback = callback
        self.state_names = state_names
        self.missing = missing
        self.na_values = na_values
        self.discrete_columns = discrete_columns
        self.n_jobs = n_jobs
        self.random_state = random_state

    @abstractmethod
    def _make_selector(self, problem: MarkovProblem, loss: PenalisedLoss, seed: int) -> EdgeSelector:
        """Return the selector of the next edges. The loss has no edges yet."""

    # ---- the algorithm ----

    def estimate_cost(
        self,
        X: Any = None,
        *,
        n_rows: int | None = None,
        cardinalities: ArrayLike | None = None,
        weighted: bool = False,
    ) -> LearningCost:
        """Estimate the memory required for learning.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable or path, optional
            The data. Iterators are not accepted, because reading would exhaust them.
        n_rows : int, optional
            Number of rows, in place of `X`.
        cardinalities : array-like of int, optional
            Number of states of each variable, in place of `X`.
        weighted : bool, default=False
            Whether the rows will have non-integer weights.

        Returns
        -------
        LearningCost
            Bytes per component: ``gains`` are the pairs that are stored or wait for a test, ``pair_counts`` their
            tables, ``kept_counts`` conditionals and parameters, ``kept_rows`` mean conditionals. The estimate assumes
            two edges per variable and streams that test all pairs. With a smaller `max_edges` it assumes this number of
            edges and streams that test half of the pairs.

        Raises
        ------
        ValueError
            If neither `X` nor its shape is given.
        """
        if X is not None:
            opened = self._open(X)
            table = encode(opened, state_names=self.state_names, missing=self.missing, n_jobs=self.n_jobs)
            n_rows, cardinalities = table.n_rows, table.cardinalities
        if n_rows is None or cardinalities is None:
            raise ValueError("estimate_cost needs the data, or n_rows=... and cardinalities=[...]")
        options: dict[str, Any] = {"loss": self.loss, "is_stream": self._is_stream}
        options |= {**MEMORY, "weighted": weighted, "max_edges": self.max_edges}
        return estimate_markov(n_rows, cardinalities, **options)

    def _learn(self, problem: MarkovProblem, start: PairwisePotentials | None) -> Run:
        """Activate the edges that violate the optimality condition most and optimise, until no edge violates it."""
        # drawn first, since the seed is part of the identity of a checkpoint
        seed = random_draws(1, self.random_state)[1]
        measures = self._make_measures(problem)
        with self._open_run(problem, seed) as run:
            loss = self._make_loss(problem)
            selector = self._make_selector(problem, loss, seed)
            # the loss is made without λ, because the selector needs the loss to find the largest λ
            loss.lam = self._choose_lam(selector, loss)
            grafting = Grafting(
                loss, selector, run, tol=self.tol, max_edges=self._limit_edges(problem, start), measure=measures
            )
            grafting.begin(problem.knowledge.required, start, problem.candidate_rule())
            run.end(grafting.graft())
        self._set_results(problem, grafting)
        return run

    @contextmanager
    def _open_run(self, problem: MarkovProblem, seed: int) -> Iterator[Run]:
        """Return a run with its progress bar and checkpoint."""
        checkpoint = None if self.checkpoint is None else problem.open_checkpoint(self, seed)
        show = self.show_progress and config.SHOW_PROGRESS
        with ProgressBar(show, self.callback, type(self).__name__, unit="rounds", figure="objective") as bar:
            run = Run(
                GraftingProgress,
                max_time=self.max_time,
                callback=bar.callback,
                checkpoint=checkpoint,
                start=self._start,
            )
            bar.follow(run)
            yield run

    def _make_loss(self, problem: MarkovProblem, **options: Any) -> PenalisedLoss:
        """Return the loss without edges and without a penalty on them."""
        shared = {"l2": float(self.l2), "penalize_nodes": bool(self.penalize_nodes), "n_jobs": self.n_jobs}
        return problem.loss(self.loss, 0.0, **{**self._loss_options, **shared, **options})

    def _make_measures(self, problem: MarkovProblem) -> RoundMeasures | None:
        """Return the measures of each round against a true graph and held-out rows, if given."""
        if self.true_graph is None and self.held_out is None:
            return None
        true_pairs = read_true_pairs(self.true_graph, problem.names)
        return RoundMeasures(true_pairs, code_held_out(self.held_out, problem.table))

    def _choose_lam(self, selector: EdgeSelector, loss: PenalisedLoss) -> float:
        """Return `lam`, or `lam_ratio` times the smallest λ without edges."""
        # a stream would have to count all pairs for the largest λ: it does so only if λ depends on it
        self.lam_max_ = selector.find_largest_ratio(loss) if self.lam is None or selector.is_exhaustive else nan
        return float(self.lam_ratio * self.lam_max_ if self.lam is None else self.lam)

    def _limit_edges(self, problem: MarkovProblem, start: PairwisePotentials | None = None) -> float:
        """Return the limit on active edges. Raise ValueError if the initial edges exceed it."""
        if self.max_edges is None:
            return inf
        required = problem.knowledge.required
        first = required if start is None else np.unique(np.concatenate([required, start.edges]), axis=0)
        for edges, what, remedy in (
            (required, "edges are required (required_edges, edge_weights of 0)", "require fewer edges"),
            (first, "edges are required or in start", "give a start with fewer edges"),
        ):
            if len(edges) > self.max_edges:
                raise ValueError(
                    f"max_edges={self.max_edges}, but {len(edges)} {what}: give max_edges of at least {len(edges)}, or "
                    f"{remedy}"
                )
        return int(self.max_edges)

    # ---- fit and partial_fit ----

    def _validate(self) -> None:
        super()._validate()
        refuse_distributed(self.held_out, "held_out", "give some rows in memory")
        if self.loss == "pseudolikelihood" and self.tol < LEAST_TOL:
            raise ValueError(
                f"tol={self.tol:g} is too small for loss='pseudolikelihood' in double precision: give "
                f"{LEAST_TOL:g} or more, or loss='exact' or 'bethe'"
            )

    def _reads_continuous(self, opened: Any) -> bool:
        return False  # columns of floats are refused

    def _open(self, X):
        with rephrase_errors():
            return super()._open(X)

    def _fit(self, opened: Frame | DiscreteTable, sample_weight: ArrayLike | None) -> Run:
        problem = self._make_problem(opened, sample_weight)
        run = self._learn(problem, read_start(self.start, problem))
        self.rows_ = None
        return run

    def partial_fit(self: Learner, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Learner:
        """Learn from additional rows, together with the rows of all earlier calls of ``partial_fit``.

        The first call works like ``fit`` and also stores the rows in `rows_`. Each later call adds the counts of the
        new rows to the pair tables, and continues grafting from the current parameters and edges. ``fit`` starts again
        and does not store rows, so ``partial_fit`` after ``fit`` is an error.

        Parameters
        ----------
        X : DataFrame, array or DiscreteTable
            Rows with the columns of the first call. Declare states that occur only in later calls in `state_names`
            before the first call.
        y : None
            Ignored; scikit-learn's convention.
        sample_weight : array of shape (n_samples,), optional
            Weights of these rows.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            If the columns differ from the first call, if a state is new, and after ``fit``.
        TypeError
            If `X` is a DistributedTable.
        """
        warn_of_target(self, X, y)
        rows = getattr(self, "rows_", None)
        if rows is None and hasattr(self, "edges_"):
            raise ValueError(
                f"partial_fit adds rows to those of earlier calls, but this {type(self).__name__} was fitted by fit, "
                "which stores no rows. Start with partial_fit on a new learner, or call fit with all rows"
            )
        self._validate()
        opened = self._open(X)
        refuse_distributed(opened, "partial_fit", "distribute all rows again and call fit, with start=model_")
        if rows is None:
            self.rows_ = self._make_problem(opened, sample_weight)
            start = read_start(self.start, self.rows_)
        else:
            self.rows_ = self._add_rows(rows, opened, sample_weight)
            # the current parameters are a better start than `start`
            if hasattr(self, "edges_"):
                start = drop_forbidden(self._potentials, self.rows_.knowledge)
            else:  # the first run did not finish
                start = read_start(self.start, self.rows_)
        run = self._learn(self.rows_, start)
        self._set_names(self.rows_.names)
        run.raise_error()
        return self

    def _make_problem(self, opened: Frame | DiscreteTable, sample_weight: ArrayLike | None) -> MarkovProblem:
        """Return the problem of the first rows."""
        table, weights = code_rows(
            opened, sample_weight, state_names=self.state_names, missing=self.missing, n_jobs=self.n_jobs
        )
        knowledge = self._read_knowledge(table.columns)
        return MarkovProblem.from_rows(table, weights, knowledge, self.n_jobs, is_stream=self._is_stream)

    def _add_rows(self, rows: MarkovProblem, opened: Frame | DiscreteTable, sample_weight) -> MarkovProblem:
        """Return the problem of the earlier and the new rows, with the prior knowledge of the current options."""
        names = list(opened.columns if isinstance(opened, DiscreteTable) else opened.names)
        check_columns(names, rows.names, type(self).__name__)
        # the states of the first rows, so that codes of all rows mean the same
        states = dict(zip(names, map(list, rows.table.states), strict=True))
        table, weights = code_rows(opened, sample_weight, state_names=states, missing=self.missing, n_jobs=self.n_jobs)
        knowledge = self._read_knowledge(names)
        try:
            return rows.with_rows(table, weights, knowledge, self.n_jobs)
        except BaseException:  # counts may be incomplete
            self.rows_ = MarkovProblem.from_rows(rows.table, rows.weights, rows.knowledge, self.n_jobs)
            raise

    def _read_knowledge(self, names: Sequence) -> PairKnowledge:
        return read_pair_knowledge(list(names), self.required_edges, self.forbidden_edges, self.edge_weights)

    # ---- results ----

    def _set_results(
        self, problem: MarkovProblem, grafting: Grafting, chosen: PairwisePotentials | None = None, share: float = 1.0
    ) -> None:
        run, loss = grafting.run, grafting.loss
        self._set_network(problem, loss.potentials() if chosen is None else chosen, run, share)
        self._names, self._states, self._results = problem.names, problem.table.states, {}
        self.lam_ = loss.lam
        self.n_activated_, self.n_iter_ = grafting.n_active, grafting.n_iter
        self.n_tests_, self.n_tables_ = grafting.selector.n_tests, problem.statistics.n_counted
        self.history_ = run.history
        # the value of the last recorded round: computing it again could be interrupted
        self.objective_ = float(self.history_["objective"][-1])
        self.kkt_residual_ = nan
        with run.catch_interrupt():
            self.kkt_residual_ = loss.kkt_residual()
        self.stopped_by_, self.converged_ = run.stopped_by, run.stopped_by == "converged"
        if run.stopped_by == "max_time" and grafting.n_iter == 0:
            self._warn_of_time("no pair of variables was tested, so all edges are required edges or edges of start")
        if run.stopped_by == "unsettled":
            warnings.warn(
                f"{type(self).__name__} with loss={self.loss!r} did not converge (kkt_residual_ is "
                f"{self.kkt_residual_:.1e}, tol {self.tol:g}). Its best parameters are kept: raise lam, l2 or tol"
                + ("" if self.loss == "pseudolikelihood" else ", or use loss='pseudolikelihood'"),
                ConvergenceWarning,
                stacklevel=caller_level(),
            )

    def _set_network(self, problem: MarkovProblem, potentials: PairwisePotentials, run: Run, share: float) -> None:
        """Set edges and parameters; `share` is the weight of parameters refitted without λ."""
        pairs = np.concatenate([potentials.edges, problem.knowledge.required])
        # required edges belong to the graph even if their parameters are zero
        self.edges_ = np.unique(pairs, axis=0).astype(np.int64).reshape(-1, 2)
        self._potentials = potentials
        if self.refit and share > 0 and run.error is None:
            with run.catch_interrupt():
                self._potentials = average_potentials(potentials, self._refit(problem, potentials).potentials(), share)

    def _refit(self, problem: MarkovProblem, potentials: PairwisePotentials, deadline: float = inf) -> PenalisedLoss:
        """Return the loss at its optimum without λ, over the edges with parameters and the required edges."""
        # without λ there is no penalty on nodes either
        loss = self._make_loss(problem, penalize_nodes=False)
        loss.set_potentials(potentials)
        loss.require(problem.knowledge.required)
        loss.optimise(tol=self.tol, deadline=deadline)
        return loss

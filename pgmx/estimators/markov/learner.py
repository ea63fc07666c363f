"""What all learners of discrete Markov networks share: options, the run, the results."""

import warnings
from hashlib import blake2b
from math import inf, nan
from numbers import Integral, Real
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from pgmx.checks import caller_level
from pgmx.data import DiscreteTable, Frame
from pgmx.estimators.base import Interval, StrOptions, config, random_draws
from pgmx.estimators.markov.measures import RoundMeasures, held_out_codes, true_pairs
from pgmx.estimators.markov.problem import (
    LOSSES,
    SIDE_MEMORY,
    MarkovProblem,
    bind,
    more_rows,
    open_problem,
    permitted,
    start_potentials,
    states_alone,
)
from pgmx.estimators.markov.results import MarkovResults
from pgmx.inference import PairwisePotentials
from pgmx.runs.checkpoint import Checkpoint
from pgmx.runs.progress import ProgressBar
from pgmx.search.edges.exhaustive import ExhaustiveEdges
from pgmx.search.edges.grafting import Grafting, restore_loss

#: Optimisation around new edges ends at this share of the penalty of a table; the last one goes down to `tol`.
LOCAL_SHARE = 0.03

#: Options that do not decide what is found, so that a checkpoint may be taken up with others.
_INDIFFERENT = {"max_time", "checkpoint", "checkpoint_every", "show_progress", "callback", "n_jobs", "held_out"} | {
    "true_graph",
    "data",
    "start",
}

#: Options that the fingerprint of a checkpoint holds in another form, one that does not hang on addresses and hashes.
_HELD = {"lam", "lam_ratio", "random_state", "state_names", "required_edges", "forbidden_edges", "edge_weights"}


class MarkovLearner(MarkovResults):
    """Base of the learners of undirected discrete networks.

    A subclass implements `_source`, which says where the next edges come from.
    """

    _parameter_constraints: dict[str, Any] = {
        "lam": [Interval(Real, 0, None, closed="left"), None],
        "lam_ratio": [Interval(Real, 0, None, closed="left")],
        "l2": [Interval(Real, 0, None, closed="left")],
        "refit": ["boolean"],
        "loss": [StrOptions(set(LOSSES))],
        "penalize_nodes": ["boolean"],
        "max_edges": [Interval(Integral, 0, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "required_edges": "no_validation",  # judged by read_pair_knowledge, as the next two
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
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    #: Whether all pairs are scored, each round anew as far as bounds do not spare it.
    _looks_at_all = True

    #: Feature-wise learners penalise single parameters instead of tables.
    _feature_wise = False

    def __init__(
        self,
        data=None,
        *,
        lam=None,
        lam_ratio=0.1,
        l2=0.001,
        refit=False,
        loss="pseudolikelihood",
        penalize_nodes=False,
        max_edges=None,
        tol=1e-4,
        required_edges=None,
        forbidden_edges=None,
        edge_weights=None,
        start=None,
        true_graph=None,
        held_out=None,
        max_time=None,
        checkpoint=None,
        checkpoint_every=60.0,
        show_progress=True,
        callback=None,
        state_names=None,
        missing="error",
        n_jobs=None,
        random_state=0,
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _source(self, problem: MarkovProblem, loss, lam: float, edges: ExhaustiveEdges | None, seed: int):
        """Return where the next edges come from; `edges` were scored for λ where all pairs were."""
        raise TypeError(f"{type(self).__name__} does not implement _source")

    # ---- fit and partial_fit ----

    def _open(self, X):
        with states_alone():
            return super()._open(X)

    def _fit(self, opened: Frame | DiscreteTable, sample_weight):
        problem = open_problem(self, opened, sample_weight)
        keeps = getattr(self, "_keeps_rows", False)
        self._learned_rows = problem if keeps else None
        self._fitted_rows = None if keeps else (problem.table, problem.weights)
        self._learn(problem, lambda problem: start_potentials(self.start, problem))

    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from further rows, together with all rows seen by earlier calls.

        The first call is ``fit``, unless ``fit`` was called already. Each further one counts the new rows into the pair
        tables, starts from the present parameters and edges, and grafts on. The coded rows are kept for it.

        Parameters
        ----------
        X : DataFrame, array or DiscreteTable
            Rows with the columns and, at most, the states of the first call, which declares states that come later in
            `state_names`.
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
            For other columns or states than those of the first call, and for a learner that was pickled after ``fit``,
            whose rows are not packed.
        """
        kept = getattr(self, "_learned_rows", None)
        if kept is None and hasattr(self, "edges_"):
            kept = self._rows_of_fit()
        if kept is None:
            self._keeps_rows = True
            try:
                return self.fit(X, sample_weight=sample_weight)
            finally:
                del self._keeps_rows
        try:
            problem = more_rows(kept, self, self._open(X), sample_weight)
        except BaseException:
            self._learned_rows = bind(self, kept.table, kept.weights)  # counts may be half added: count anew
            raise
        self._learned_rows, self._fitted_rows = problem, None  # before the run, whatever becomes of it
        found = getattr(self, "_potentials", None)  # none where the first run did not come to its end
        self._learn(problem, lambda p: start_potentials(self.start, p) if found is None else permitted(found, p))
        return self

    def _rows_of_fit(self) -> MarkovProblem:
        rows = getattr(self, "_fitted_rows", None)
        if rows is None:
            raise ValueError("the rows of fit are gone with its pickling: begin with partial_fit, which keeps them")
        return bind(self, *rows)

    def __getstate__(self):
        """Pack the results, and rows only where partial_fit needs them."""
        return {name: value for name, value in super().__getstate__().items() if name != "_fitted_rows"}

    def _learn(self, problem: MarkovProblem, start) -> None:
        clock = process_time(), perf_counter()
        measured = true_pairs(self.true_graph, problem.names), held_out_codes(self.held_out, problem.table)
        _, seed = random_draws(1, self.random_state)
        loss = problem.loss(self.loss, 0.0, **self._loss_options())
        edges = self._all_edges(problem)
        lam = self._penalty(problem, loss, edges)
        loss.lam = lam
        saver = self._saver(problem, lam, seed)
        snapshot = None if saver is None else saver.load()
        if snapshot is None:
            loss.activate(problem.knowledge.required)
            initial = start(problem)
            if initial is not None:
                loss.set_potentials(initial)
        else:
            restore_loss(loss, snapshot)
        source = self._source(problem, loss, lam, edges, seed)
        with self._bar() as bar:
            run = Grafting(
                loss,
                source,
                tol=self.tol,
                max_edges=inf if self.max_edges is None else int(self.max_edges) + len(problem.knowledge.required),
                deadline=inf if self.max_time is None else clock[1] + self.max_time,
                callback=bar.callback,
                measure=RoundMeasures.make(loss, *measured),
                n_tables=lambda: problem.statistics.n_counted,
                saver=saver,
            )
            run.start_clock(*clock)
            if snapshot is not None:
                given = {key[7:]: value for key, value in snapshot.items() if key.startswith("source_")}
                source.restore(given, loss)
                run.take_up(snapshot)
            elif len(loss.edges):
                source.changed(loss.optimise(tol=self.tol, deadline=run.deadline))
            run.run()
        if saver is not None and run.stopped_by == "converged":
            saver.remove()
        self._set_results(problem, run, lam)

    def _bar(self) -> ProgressBar:
        name = type(self).__name__
        show = self.show_progress and config.SHOW_PROGRESS
        return ProgressBar(show, self.callback, name, unit="rounds", figure="objective")

    def _loss_options(self) -> dict[str, Any]:
        kept = {"side_memory": SIDE_MEMORY} if self._looks_at_all and self.loss == "pseudolikelihood" else {}
        return {
            **kept,
            "l2": float(self.l2),
            "penalize_nodes": bool(self.penalize_nodes),
            "feature_wise": self._feature_wise,
            "n_jobs": self.n_jobs,
        }

    def _all_edges(self, problem: MarkovProblem) -> ExhaustiveEdges | None:
        """Return the scores of all pairs, for the learners that look at all of them."""
        problem.statistics.prepare()
        sizes = np.ones(problem.n, dtype=np.int64) if self._feature_wise else problem.table.cardinalities
        return ExhaustiveEdges(sizes, weight=problem.knowledge.weight, allowed=problem.allowed())

    def _penalty(self, problem: MarkovProblem, loss, edges: ExhaustiveEdges | None) -> float:
        """Return λ, by the ratio to the smallest λ without edges where none is given."""
        self.lam_max_ = nan
        if self.lam is None or edges is not None:
            self.lam_max_ = self._largest_score(problem, loss, edges)
        return float(self.lam_ratio * self.lam_max_ if self.lam is None else self.lam)

    def _largest_score(self, problem: MarkovProblem, loss, edges: ExhaustiveEdges | None) -> float:
        assert edges is not None  # learners that do not look at all pairs have a way of their own
        _, ratios = edges.best(self._scored(loss), 0.0)
        return float(ratios[0]) if len(ratios) else 0.0

    def _scored(self, loss):
        """Return what scores pairs: the loss, or its largest features."""
        return loss

    def _local_tol(self, problem: MarkovProblem, lam: float) -> float:
        size = 1.0 if self._feature_wise else float(np.median(problem.table.cardinalities))
        return max(self.tol, LOCAL_SHARE * lam * size)

    def _saver(self, problem: MarkovProblem, lam: float, seed: int) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        if self.random_state is None:
            raise ValueError(
                "a checkpoint needs the same draws again, but random_state=None draws anew each time: give a seed"
            )
        options = {k: repr(v) for k, v in self.get_params(deep=False).items() if k not in _INDIFFERENT | _HELD}
        known = (problem.names, problem.table.states, problem.knowledge.factors, lam, seed)
        what = (type(self).__name__, sorted(options.items()), known)
        digest = blake2b(repr(what).encode(), digest_size=16)
        digest.update(np.ascontiguousarray(problem.table.codes).data)
        if problem.weights is not None:
            digest.update(problem.weights.data)
        return Checkpoint(self.checkpoint, self.checkpoint_every, digest.hexdigest())

    # ---- results ----

    def _set_network(self, problem: MarkovProblem, found: PairwisePotentials) -> None:
        """Take parameters for the result, fitted without λ where that is wanted."""
        self.edges_ = _union(found.edges, problem.knowledge.required)
        self._potentials = self._refitted(problem, found).potentials() if self.refit else found

    def _refitted(self, problem: MarkovProblem, found: PairwisePotentials):
        """Return the loss at its optimum without λ over the edges found and the required ones."""
        loss = problem.loss(self.loss, 0.0, **{**self._loss_options(), "penalize_nodes": False})
        loss.set_potentials(found)
        known = set(map(tuple, found.edges.tolist()))
        missing = [pair for pair in problem.knowledge.required.tolist() if tuple(pair) not in known]
        loss.activate(np.array(missing, dtype=np.int64).reshape(-1, 2))
        loss.optimise(tol=self.tol)
        return loss

    def _set_results(self, problem: MarkovProblem, run: Grafting, lam: float) -> None:
        self._set_network(problem, run.loss.potentials())
        self._names, self._states = problem.names, problem.table.states
        self._results = {}
        self.lam_ = lam
        self.n_activated_ = run.n_active
        self.objective_ = run.history["objective"][-1]
        self.kkt_residual_ = run.loss.kkt_residual()
        self.stopped_by_ = run.stopped_by
        if run.stopped_by == "unsettled":
            warnings.warn(
                f"{type(self).__name__} with loss={self.loss!r} did not come to rest (kkt_residual_ is "
                f"{self.kkt_residual_:.1e}, tol {self.tol:g}): raise lam, l2 or tol"
                + ("" if self.loss == "pseudolikelihood" else ", or take loss='pseudolikelihood'"),
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
        self.converged_ = run.stopped_by == "converged"
        self.n_iter_ = run.n_iter
        self.n_tests_ = run.source.n_tests
        self.n_tables_ = problem.statistics.n_counted
        self.history_ = {name: np.asarray(values) for name, values in run.history.items()}


def _union(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the pairs of two lists, in order, each once."""
    return np.unique(np.concatenate([first, second]), axis=0).astype(np.int64).reshape(-1, 2)

"""The exact optimum of the group-penalised pseudolikelihood, for one penalty or a penalty path."""

import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from math import inf, nan
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from pgmx.checks import caller_level
from pgmx.estimators.base import Interval, StrOptions, random_draws
from pgmx.estimators.markov.learner import MarkovLearner, Pairs, RandomState
from pgmx.estimators.markov.measures import RoundMeasures, code_held_out
from pgmx.estimators.markov.path import (
    RELAXATIONS,
    PathStore,
    RegularizationPath,
    SelectionCheckpoint,
    compute_ebic,
    measure_averages,
    measure_loss,
)
from pgmx.estimators.markov.problem import MarkovProblem, refuse_distributed
from pgmx.estimators.paths import (
    choose_stable,
    count_subsample_rows,
    find_smallest,
    measure_instability,
    space_penalties,
)
from pgmx.inference import PairwisePotentials
from pgmx.models import PairwiseMarkovNetwork
from pgmx.runs.progress import GraftingProgress
from pgmx.runs.run import Run
from pgmx.search.edges.exhaustive import WorkingSet
from pgmx.search.edges.grafting import COMPLETE, EdgeSelector, Grafting
from pgmx.solvers.markov.penalised_loss import PenalisedLoss

#: Violating edges per variable in the first batch of a working set. For a non-convex loss the first batch holds one
#: edge. If earlier parameters have to be restored, there are then some with few edges.
_FIRST_BATCH = 3


class GroupLassoMarkovNetwork(MarkovLearner):
    r"""Markov network that minimises the penalised loss, by working sets.

    .. math::

        \min_{\theta, W} \; L(\theta, W) + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|(\theta, W)\|_2^2,
        \qquad d_e = \sqrt{s_i s_j}

    Edges that violate the optimality condition are activated in batches, largest violation first. All active edges are
    optimised, until no pair violates the condition. The optimum is the same as for the grafting learners, which
    activate edge by edge.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    selection : {"held_out", "ebic", "stars"}, default=None
        Criterion that chooses λ from a path of penalties, which ends at `lam` or at `lam_ratio` times `lam_max_`: loss
        on held-out rows, extended BIC, or stability of the edges. None uses the last penalty.
    n_lams : int, default=20
        Number of penalties of the path.
    gamma : float, default=0.25
        Weight of the number of possible edges, for ``"ebic"``.
    stability : float, default=0.05
        Largest instability of the edges, for ``"stars"``.
    n_subsamples : int, default=20
        Number of subsamples of 10 √N rows, for ``"stars"``.
    lam : float, default=None
        Penalty λ of the objective, in nats per row. None means `lam_ratio` times `lam_max_`.
    lam_ratio : float, default=0.1
        λ divided by `lam_max_`, the smallest λ for which the graph has no edges. Useful values are mostly between 0.02
        and 0.3.
    l2 : float, default=0.001
        Weight of half the sum of the squared parameters. This term keeps the parameters finite.
    refit : bool, default=False
        Whether the parameters of `model_` are estimated again without λ, because λ shrinks them.
    loss : {"pseudolikelihood", "bethe", "exact"}, default="pseudolikelihood"
        The loss L: negative log-pseudolikelihood; Bethe approximation of the negative log-likelihood (not convex); or
        the negative log-likelihood by enumeration.
    penalize_nodes : bool, default=False
        Whether the parameters of each node are also a penalised group, as in the papers.
    max_edges : int, default=None
        Largest number of activated edges, including the required edges. It must be at least the number of required
        edges.
    tol : float, default=1e-4
        Tolerance of convergence: largest distance of zero from the subdifferential of a group, see `kkt_residual_`.
    required_edges, forbidden_edges : collection of pairs, default=None
        Edges that are always in the graph and not penalised, and edges that are never in the graph.
    edge_weights : mapping of pairs to float, or symmetric table, default=None
        Factors c_e of the penalties, 1 for edges without an entry. 0 requires an edge, infinity forbids it.
    start : PairwiseMarkovNetwork, default=None
        Network with the initial edges and parameters, for example the `model_` of an earlier fit.
    true_graph, held_out : graph or collection of pairs; DataFrame, array or DiscreteTable, default=None
        True edges, for ``"recall"`` in the history, and test data, for their mean loss ``"held_out"``.
    max_time : float, default=None
        Time limit in seconds, after which the current network is returned.
    checkpoint : path-like, default=None
        File with the state of an unfinished fit. If it exists, ``fit`` resumes from it. It is deleted on convergence.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one per round.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar.
    callback : callable, default=None
        Called in each round with a named tuple (n_iter, objective, n_edges, seconds, n_tests). If it returns a true
        value, the run ends.
    state_names : dict, default=None
        States of some or all variables, in order. States that do not occur in the data are allowed.
    missing : {"error", "drop", "category"}, default="error"
        Treatment of missing values: raise an error; drop the row; or add a state ``"missing"``.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    discrete_columns : list of hashable, default=None
        Numeric columns that are discrete. Their states are the distinct values, as integers if all values are whole.
    n_jobs : int, default=None
        Number of threads that code, count and score. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator for the held-out rows and the subsamples.

    Attributes
    ----------
    path_ : RegularizationPath or None
        All networks of the path and the values of the criterion. None without `selection`.
    graph_, adjacency_matrix_ : networkx.Graph, DataFrame
        The learned graph and its adjacency matrix. The ``weight`` of an edge is the norm of its parameter table after
        the means of rows and columns are subtracted.
    model_ : PairwiseMarkovNetwork
        The learned network, made on first access.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges of `graph_` as positions in `variables_`: edges with a non-zero parameter table, and required edges.
    lam_, lam_max_ : float
        The penalty λ, and the smallest λ for which the graph has no edges (NaN if it was not needed).
    relaxation_ : float
        Weight of the parameters refitted without λ in the parameters of `model_`, a weighted mean of penalised and
        refitted parameters: 0 without `refit`, 1 with it, and with ``"held_out"`` the best of 0, 0.5 and 1 on the
        held-out rows [5]_.
    objective_, kkt_residual_ : float
        Objective in nats per row, and largest distance of zero from the subdifferential over nodes and activated edges.
    converged_ : bool
        Whether all pairs and all parameters satisfy their optimality conditions.
    stopped_by_ : str
        ``"converged"``, ``"max_edges"``, ``"max_time"``, ``"callback"``, ``"interrupt"``, or (Bethe loss only)
        ``"unsettled"``.
    n_iter_, n_activated_, n_tests_, n_tables_ : int
        Number of rounds, activations, scores of inactive pairs, and pair tables counted.
    history_ : dict of ndarray
        Values per round: ``"n_edges"`` (activated), ``"n_tables"``, ``"n_tests"``, ``"objective"``, ``"cpu_seconds"``,
        ``"seconds"``, and ``"recall"`` and ``"held_out"`` if requested.
    rows_ : object or None
        The coded rows of all calls of ``partial_fit``, and their counts. None after ``fit``.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If the data cannot be used, options are unknown, or prior knowledge contradicts itself. The message names the
        cause.

    Notes
    -----
    ``selection="held_out"`` uses the rows of `held_out`, or a fifth of the data. With `refit` it compares penalised
    parameters, refitted parameters and their mean, see `relaxation_`. Along the path each optimisation starts from the
    previous optimum. Pairs with :math:`s_e > 2 \lambda_{new} - \lambda_{old}` are activated first (sequential strong
    rule). A pair is scored again only if its bound allows a violation. Cost per penalty: about one scoring of all pairs
    and a dozen sweeps over the active edges.

    References
    ----------
    .. [1] Chaabene, W. and Huang, B. (2017). Best-choice edge grafting for efficient structure learning of Markov
       random fields, equation 2.
    .. [2] Tibshirani, R. et al. (2012). Strong rules for discarding predictors in lasso-type problems. Journal of the
       Royal Statistical Society B 74, 245-266.
    .. [3] Foygel, R. and Drton, M. (2010). Extended Bayesian information criteria for Gaussian graphical models.
       Advances in Neural Information Processing Systems 23, 604-612.
    .. [4] Liu, H., Roeder, K. and Wasserman, L. (2010). Stability approach to regularization selection (StARS) for high
       dimensional graphical models. Advances in Neural Information Processing Systems 23, 1432-1440.
    .. [5] Hastie, T., Tibshirani, R. and Tibshirani, R. J. (2020). Best subset, forward stepwise or lasso? Analysis and
       recommendations based on extensive comparisons. Statistical Science 35, 579-592 (the simplified relaxed lasso).

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> rows = sample_markov_network(preferential_attachment_network(8, n_states=3, random_state=1), 1000)
    >>> learner = GroupLassoMarkovNetwork(lam_ratio=0.05, selection="ebic", n_lams=8).fit(rows)
    >>> learner.converged_, len(learner.path_)
    (True, 8)
    """

    _parameter_constraints = {
        **MarkovLearner._parameter_constraints,
        "selection": [StrOptions({"held_out", "ebic", "stars"}), None],
        "n_lams": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, None, closed="left")],
        "stability": [Interval(Real, 0, 0.5, closed="both")],
        "n_subsamples": [Interval(Integral, 2, None, closed="left")],
    }

    path_: RegularizationPath | None
    relaxation_: float

    def __init__(
        self,
        data: Any = None,
        *,
        selection: Literal["held_out", "ebic", "stars"] | None = None,
        n_lams: int = 20,
        gamma: float = 0.25,
        stability: float = 0.05,
        n_subsamples: int = 20,
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
        super().__init__(
            data,
            lam=lam,
            lam_ratio=lam_ratio,
            l2=l2,
            refit=refit,
            loss=loss,
            penalize_nodes=penalize_nodes,
            max_edges=max_edges,
            tol=tol,
            required_edges=required_edges,
            forbidden_edges=forbidden_edges,
            edge_weights=edge_weights,
            start=start,
            true_graph=true_graph,
            held_out=held_out,
            max_time=max_time,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            show_progress=show_progress,
            callback=callback,
            state_names=state_names,
            missing=missing,
            na_values=na_values,
            discrete_columns=discrete_columns,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.selection = selection
        self.n_lams = n_lams
        self.gamma = gamma
        self.stability = stability
        self.n_subsamples = n_subsamples

    def _make_selector(self, problem, loss, seed):
        return WorkingSet(problem.count_pairs(), self.tol, _FIRST_BATCH * problem.n if loss.is_convex else 1)

    def _validate(self) -> None:
        super()._validate()
        if self.selection is not None and self.start is not None:
            raise ValueError("a path starts from the network without edges: give selection=None, or omit start")

    def _make_problem(self, opened, sample_weight):
        if self.selection == "stars" or (self.selection == "held_out" and self.held_out is None):
            remedy = "use selection='ebic', give held_out in memory, or learn from rows in memory"
            refuse_distributed(opened, f"selection={self.selection!r}", remedy)
        return super()._make_problem(opened, sample_weight)

    def _learn(self, problem: MarkovProblem, start: PairwisePotentials | None) -> Run:
        self.path_ = None
        if self.selection is not None:
            return self._learn_path(problem)
        run = super()._learn(problem, start)
        self.relaxation_ = float(self.refit and run.error is None)
        return run

    # ---- the path ----

    def _learn_path(self, problem: MarkovProblem) -> Run:
        """Solve for each penalty of a path and choose one. An interrupted path chooses its last penalty."""
        seed = random_draws(1, self.random_state)[1]
        measures = self._make_measures(problem)
        with self._open_run(problem, seed) as run:
            checkpoint = SelectionCheckpoint(run)
            loss = self._make_loss(problem)
            selector = self._make_selector(problem, loss, 0)
            smallest = self._choose_lam(selector, loss)
            lams = space_penalties(self.lam_max_, smallest, self.n_lams)
            run.count_steps(self.n_lams * (1 + self._count_subsets()), "penalties")
            store = checkpoint.open(RegularizationPath(problem.names, list(problem.table.states), lams))
            grafting = self._graft_path(problem, loss, selector, run, store, measures)
            path = store.path
            run.expect_steps(self._count_subsets() * (len(path.lams) - self.n_lams))  # fewer may be needed
            # the choice of a run that is interrupted before the criterion is known
            path.selected = len(path) - 1
            if run.error is None:
                with run.catch_interrupt():
                    path.criterion, path.selected = self._select(problem, path, run, checkpoint, seed)
            run.end(run.stopped_by if run.is_over() else store.reason)  # time limit: choose among the finished ones
        self.path_ = path
        # a run that was cut has not tried its smallest penalties
        if path.at_end and run.stopped_by == "converged":
            warnings.warn(
                f"selection={self.selection!r} chose the smallest of {len(path)} penalties, "
                f"{path.lams[-1]:.3g}: a smaller lam or lam_ratio may be better",
                UserWarning,
                stacklevel=caller_level(),
            )
        k = path.selected
        share = float(self.refit if path.relaxation is None else path.relaxation[k])
        self._set_results(problem, grafting, path.potentials[k], share)
        self.relaxation_ = share if run.error is None else 0.0
        self.lam_, self.objective_, self.kkt_residual_ = float(path.lams[k]), path.objective[k], path.kkt_residual[k]
        return run

    def _count_subsets(self) -> int:
        """Return the number of subsets of the rows that get their own path."""
        if self.selection == "stars":
            return int(self.n_subsamples)
        return int(self.selection == "held_out" and self.held_out is None)

    def _graft_path(
        self,
        problem: MarkovProblem,
        loss: PenalisedLoss,
        selector: EdgeSelector,
        run: Run,
        store: PathStore,
        measures: RoundMeasures | None = None,
    ) -> Grafting:
        """Solve for each unsolved penalty, the largest first, until a run does not converge."""
        path, most = store.path, self._limit_edges(problem)
        grafting = Grafting(loss, selector, run, tol=self.tol, max_edges=most, measure=measures, store=store)
        store.check_networks(self._make_loss(problem))
        n_lams = len(path.lams)
        if store.reason:
            store.restore_counts(grafting)
            run.advance(self.n_lams)
            return grafting
        first, reason = len(path), "interrupt"
        run.advance(first)
        loss.lam = path.lams[first]
        grafting.begin(problem.knowledge.required, is_candidate=problem.candidate_rule(), optimise=False)
        with run.catch_interrupt():
            for k in range(first, len(path.lams)):
                if k > first:
                    loss.lam = path.lams[k]
                reason = grafting.graft()
                store.append(loss)
                run.advance()
                # a longer path would start from parameters that are not an optimum
                if reason != "converged":
                    break
        if not len(path):
            run.raise_error()
        if reason in COMPLETE:  # smaller penalties are not needed
            run.advance(n_lams - len(path))
        store.end(reason, grafting)
        return grafting

    def _graft_subset(
        self, problem: MarkovProblem, run: Run, checkpoint: SelectionCheckpoint, lams: np.ndarray
    ) -> RegularizationPath:
        """Return the path of a subset of the rows, within the time of the run."""
        store = checkpoint.open(RegularizationPath(problem.names, list(problem.table.states), lams))
        if store.reason:
            run.advance(len(lams))
        else:
            loss, own_run = self._make_loss(problem), Run.from_wall_deadline(GraftingProgress, run.wall_deadline)
            own_run.count_with(run)
            self._graft_path(problem, loss, self._make_selector(problem, loss, 0), own_run, store)
            own_run.raise_error()
        return store.path

    # ---- the choice ----

    def _select(
        self, problem: MarkovProblem, path: RegularizationPath, run: Run, checkpoint: SelectionCheckpoint, seed: int
    ) -> tuple[np.ndarray, int]:
        """Return the criterion of each network of the path, and the position of the chosen network."""
        rng = np.random.default_rng(seed)
        if self.selection == "stars":
            n_rows, sets = problem.table.n_rows, []
            for _ in range(self.n_subsamples):
                rows = rng.choice(n_rows, count_subsample_rows(n_rows), replace=False)
                subset_path = self._graft_subset(problem.subset(rows, self.n_jobs), run, checkpoint, path.lams)
                sets.append([potentials.edges for potentials in subset_path.potentials])
            # paths that the time limit ended are compared up to the shortest
            shortest = min(map(len, sets))
            criterion = measure_instability([edges[:shortest] for edges in sets], problem.n)
            return criterion, choose_stable(criterion, self.stability)
        is_ebic = self.selection == "ebic"
        criterion = (
            self._compute_ebic(problem, path, run)
            if is_ebic
            else self._measure_held_out(problem, path, run, checkpoint, rng)
        )
        return criterion, len(path) - 1 if np.isnan(criterion).all() else find_smallest(criterion)

    def _compute_ebic(self, problem: MarkovProblem, path: RegularizationPath, run: Run) -> np.ndarray:
        """Return the extended BIC of each network, NaN after the time limit.

        It compares maximum likelihoods, without shrinkage.
        """
        total = problem.table.n_rows if problem.weights is None else float(problem.weights.sum())
        losses = []
        for potentials in path.potentials:
            loss = nan if run.is_over() else self._refit(problem, potentials, run.deadline).loss()
            losses.append(nan if run.is_over() else loss)
        return compute_ebic(path.potentials, losses, total, self.gamma)

    def _measure_held_out(
        self,
        problem: MarkovProblem,
        path: RegularizationPath,
        run: Run,
        checkpoint: SelectionCheckpoint,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Return the loss of each network on held-out rows. The default holds out a fifth of the rows.

        With `refit`, the loss is that of the best weighted mean, whose weight becomes the `relaxation` of the path.
        """
        codes, weights, tested = code_held_out(self.held_out, problem.table), None, path
        if codes is None:
            order = rng.permutation(problem.table.n_rows)
            # at least one row to test
            cut = max(1, problem.table.n_rows // 5)
            if cut == problem.table.n_rows:
                raise ValueError("selection='held_out' needs at least 2 rows: give more rows, or rows in held_out")
            codes = np.ascontiguousarray(problem.table.codes[:, order[:cut]])
            weights = None if problem.weights is None else problem.weights[order[:cut]]
            problem = problem.subset(order[cut:], self.n_jobs)
            tested = self._graft_subset(problem, run, checkpoint, path.lams)
        losses = self._measure_path(problem, tested, run, codes, weights)
        path.relaxation = np.array(RELAXATIONS)[losses.argmin(axis=1)] if self.refit else None
        return losses.min(axis=1)

    def _measure_path(
        self, problem: MarkovProblem, path: RegularizationPath, run: Run, codes: np.ndarray, weights: np.ndarray | None
    ) -> np.ndarray:
        """Return the loss of each network on other rows; with `refit`, for each weight in `RELAXATIONS` (in rows)."""
        if not self.refit:
            return np.array([[measure_loss(one, codes, weights)] for one in path.potentials])
        # infinite where time is over, so that the penalised parameters are chosen
        losses = np.full((len(path), len(RELAXATIONS)), inf)
        for k, one in enumerate(path.potentials):
            losses[k, 0] = measure_loss(one, codes, weights)
            if not run.is_over():
                losses[k] = measure_averages(one, self._refit(problem, one, run.deadline).potentials(), codes, weights)
        return losses

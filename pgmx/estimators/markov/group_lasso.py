"""The exact optimum of the group-penalised pseudolikelihood, alone or along a path of penalties."""

import warnings
from math import inf
from numbers import Integral, Real
from time import perf_counter, process_time

import numpy as np

from pgmx.checks import caller_level
from pgmx.data import DiscreteTable
from pgmx.estimators._documented import documented
from pgmx.estimators._options import with_options
from pgmx.estimators.base import Interval, StrOptions, random_draws
from pgmx.estimators.markov.learner import MarkovLearner
from pgmx.estimators.markov.measures import RoundMeasures, held_out_codes, true_pairs
from pgmx.estimators.markov.path import RegularizationPath, extended_bic
from pgmx.estimators.markov.problem import MarkovProblem, bind
from pgmx.estimators.paths import best_position, choose_stable, instability, path_of_penalties, subsample_size
from pgmx.search.edges.grafting import Grafting
from pgmx.search.edges.sources import WorkingSet

#: The first batch of a working set holds so many violators a variable.
_FIRST = 3


@documented
class GroupLassoMarkovNetwork(MarkovLearner):
    r"""Markov network at the optimum of the penalised loss, by working sets.

    {markov_objective}

    Violators of the condition of optimality become active by the batch, best first; everything active is optimised; and
    so on until no pair violates it. The optimum is that of the grafting learners, who come to it edge by edge.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    selection : {"held_out", "ebic", "stars"}, default=None
        Choose the penalty from a path of `n_lams` values, which ends at `lam`, or at `lam_ratio` times `lam_max_`: by
        the pseudolikelihood of held-out rows (those of `held_out`, or a fifth of the data), by the extended Bayesian
        information criterion, or by the stability of the edges over subsamples. None takes the end itself.
    n_lams : int, default=20
        Penalties of the path.
    gamma : float, default=0.25
        Of ``"ebic"``: weight of the number of possible edges.
    stability : float, default=0.05
        Of ``"stars"``: largest instability of the edges.
    n_subsamples : int, default=20
        Of ``"stars"``: subsamples of 10 √N rows.
    {penalty}
    {markov_run}
    random_state : int, RandomState, Generator or None, default=0
        Draws the rows held out and the subsamples.

    Attributes
    ----------
    path_ : RegularizationPath or None
        All networks of the path and what the selection compared; None without `selection`.
    {markov_attributes}

    Raises
    ------
    ValueError, TypeError
        For unusable data, unknown options and contradictory knowledge. The message names the culprit.

    Notes
    -----
    Along the path each optimum starts from the one before; pairs with :math:`s_e > 2 \lambda_{new} - \lambda_{old}` are
    activated first (sequential strong rule), and a pair is scored again only where its bound allows a violation. Cost:
    about one scoring of all pairs and a dozen sweeps over the active edges for each penalty.

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

    __init__ = with_options(
        MarkovLearner.__init__, selection=None, n_lams=20, gamma=0.25, stability=0.05, n_subsamples=20
    )

    def _source(self, problem, loss, lam, edges, seed):
        edges.remove(loss.edges)
        return WorkingSet(edges, lam, self.tol, max(1, _FIRST * problem.n))

    def _learn(self, problem: MarkovProblem, start) -> None:
        self.path_ = None
        if self.selection is None:
            super()._learn(problem, start)
            return
        if self.checkpoint is not None:
            raise ValueError("a path keeps no checkpoints: give selection=None, or no checkpoint")
        if self.start is not None:
            raise ValueError("a path starts from the network without edges: give selection=None, or no start")
        clock = process_time(), perf_counter()
        _, seed = random_draws(1, self.random_state)
        rng = np.random.default_rng(seed)
        with self._bar() as bar:
            path, run = self._path(problem, clock, None, callback=bar.callback)
        path.criterion, path.selected = self._select(problem, path, rng, clock)
        if perf_counter() >= run.deadline:
            run.stopped_by = "max_time"  # the selection is over what was finished
        self.path_ = path
        if path.at_end and run.stopped_by == "converged":
            warnings.warn(
                f"selection={self.selection!r} chose the smallest of {len(path)} penalties, "
                f"{path.lams[-1]:.3g}: a smaller lam or lam_ratio may do better",
                UserWarning,
                stacklevel=caller_level(),
            )
        self._set_results(problem, run, float(path.lams[path.selected]))
        k = path.selected
        self._set_network(problem, path.potentials[k])
        self.objective_, self.kkt_residual_ = path.objective[k], path.kkt_residual[k]

    def _path(
        self, problem: MarkovProblem, clock, lams: np.ndarray | None, callback=None
    ) -> tuple[RegularizationPath, Grafting]:
        """Solve for each penalty, from the largest on; `lams` are worked out where none are given, and watched then."""
        loss = problem.loss(self.loss, 0.0, **self._loss_options())
        edges = self._all_edges(problem)
        measure = None
        if lams is None:
            measured = true_pairs(self.true_graph, problem.names), held_out_codes(self.held_out, problem.table)
            measure = RoundMeasures.make(loss, *measured)
            smallest = self._penalty(problem, loss, edges)
            lams = path_of_penalties(self.lam_max_, smallest, self.n_lams)
        loss.lam = lams[0]
        loss.activate(problem.knowledge.required)
        source = self._source(problem, loss, lams[0], edges, 0)
        path = RegularizationPath(problem.names, list(problem.table.states), lams)
        deadline = inf if self.max_time is None else clock[1] + self.max_time
        run = Grafting(
            loss,
            source,
            tol=self.tol,
            deadline=deadline,
            callback=callback,
            measure=measure,
            n_tables=lambda: problem.statistics.n_counted,
        )
        run.start_clock(*clock)
        most = inf if self.max_edges is None else self.max_edges + len(problem.knowledge.required)
        for k, lam in enumerate(lams):
            if k:
                loss.lam = lam
                source.set_lam(lam)
            run.stopped_by, run.max_edges = "", most
            run.run()
            path.potentials.append(loss.potentials())
            path.objective.append(loss.objective())
            path.kkt_residual.append(loss.kkt_residual())
            if run.stopped_by != "converged":
                path.lams = lams[: k + 1]
                break
        return path, run

    def _select(self, problem: MarkovProblem, path: RegularizationPath, rng, clock) -> tuple[np.ndarray, int]:
        if self.selection == "ebic":
            total = problem.table.n_rows if problem.weights is None else float(problem.weights.sum())
            # the criterion is one of likelihoods at their maximum: without the shrinking
            losses = [self._refitted(problem, found).loss() for found in path.potentials]
            criterion = extended_bic(path.potentials, losses, total, self.gamma)
            return criterion, best_position(criterion)
        if self.selection == "held_out":
            criterion = self._held_out_criterion(problem, path, rng, clock)
            return criterion, best_position(criterion)
        sets = []
        for _ in range(self.n_subsamples):
            rows = rng.choice(problem.table.n_rows, subsample_size(problem.table.n_rows), replace=False)
            found, _run = self._path(self._part(problem, rows), clock, path.lams)
            sets.append([potentials.edges for potentials in found.potentials])
        shortest = min(map(len, sets))
        criterion = instability([part[:shortest] for part in sets], problem.n)
        return criterion, choose_stable(criterion, self.stability)

    def _held_out_criterion(self, problem: MarkovProblem, path: RegularizationPath, rng, clock) -> np.ndarray:
        codes, weights = held_out_codes(self.held_out, problem.table), None
        found = path
        if codes is None:
            order = rng.permutation(problem.table.n_rows)
            cut = max(1, problem.table.n_rows // 5)
            if cut == problem.table.n_rows:
                raise ValueError("selection='held_out' needs 2 rows at least: give more, or rows in held_out")
            codes = np.ascontiguousarray(problem.table.codes[:, order[:cut]])
            weights = None if problem.weights is None else problem.weights[order[:cut]]
            found, _ = self._path(self._part(problem, order[cut:]), clock, path.lams)
        return np.array([-np.average(one.pseudo_log_likelihood(codes), weights=weights) for one in found.potentials])

    def _part(self, problem: MarkovProblem, rows: np.ndarray) -> MarkovProblem:
        """Return the problem of some of the rows."""
        table = problem.table
        rows = np.sort(rows)
        weights = None if problem.weights is None else problem.weights[rows]
        return bind(self, DiscreteTable(table.columns, table.states, table.codes[:, rows]), weights)

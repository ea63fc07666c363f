"""Simulated annealing for Bayesian networks."""

from collections.abc import Callable, Collection, Hashable, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np
from pgmpy.causal_discovery import ExpertKnowledge

from pgmx.estimators.base import Interval
from pgmx.estimators.bayesian.pgmpy_interface import BaseStructureScore
from pgmx.estimators.bayesian.search_learner import SearchLearner
from pgmx.runs.progress import SearchProgress
from pgmx.scores.priors import StructurePrior
from pgmx.search.dag.annealing import anneal, choose_temperature
from pgmx.search.dag.hill_climb import climb
from pgmx.search.dag.state import DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker

#: Default number of draws per variable.
DRAWS_PER_VARIABLE = 10_000


class SimulatedAnnealing(SearchLearner):
    r"""Search for the directed acyclic graph with the highest score by simulated annealing.

    Additions, deletions and reversals of edges are drawn at random. A move that changes the score by d is made with
    probability

    .. math:: \min(1, e^{d / T}), \qquad T_i = T_0 \left(\frac{T_L}{T_0}\right)^{i / (L - 1)}

    The temperature falls geometrically over L = 100 levels with equal numbers of draws. At the end, hill climbing
    starts from the best graph found.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    scoring_method : str or BaseStructureScore, default=None
        Name of a score (see the Notes of :class:`HillClimbSearch`), or a score object of pgmx or pgmpy made from the
        same data. The default is BIC, in the form for discrete, continuous or mixed data.
    penalty : float, default=1.0
        Multiplier of what a parameter costs under BIC and AIC, above 0. It is Tetrad's penalty discount and FLOP's
        lambda; bnlearn's ``k`` is `penalty` · ln N / 2 for BIC.
    gamma : float, default=1.0
        Multiplier of ln C(p - 1, k), which an EBIC score subtracts for a variable with k of p - 1 possible parents, 0
        or more. Only for EBIC scores, see :class:`pgmx.scores.EBIC`.
    structure_prior : UniformPrior, EdgePrior or ParameterPrior, default=None
        Prior of the graph, from :mod:`pgmx.scores`. The default is uniform.
    discrete_children : {"forbidden", "allowed"}, default="forbidden"
        Whether conditional linear Gaussian scores allow edges from continuous to discrete variables, see
        :class:`pgmx.scores.BICCondLinearGauss`. If such an edge is learned, `model_` raises an error.
    n_draws : int, default=None
        Total number of moves drawn. The default is 10,000 per variable.
    initial_temperature : float, default=None
        Initial temperature T_0 > 0 in nats. The default is a tenth of the gain of the best single parent of a variable,
        median over the variables.
    final_temperature : float, default=0.1
        Final temperature T_L > 0 in nats.
    start_dag : DAG or {"tree", "random"}, default=None
        Start graph: a DAG, a Chow-Liu forest of the score, or a random graph. The default has no edges.
    max_indegree : int, default=None
        Largest number of parents that a move may give a node. The default is unlimited.
    max_candidates : int, default=None
        Number of candidate parents of each variable, chosen by the score of the pair. Variables that chose it are
        candidates too. By default all variables are candidates.
    expert_knowledge : ExpertKnowledge, default=None
        Prior knowledge as an object of pgmpy, combined with the next five options; contradictions are an error.
        ``root_nodes`` and ``orientations`` of later versions of pgmpy are read too.
    required_edges, forbidden_edges : collection of (tail, head), default=None
        Edges that the graph must have, and edges that it must not have.
    tiers : list of collections, default=None
        Groups of variables from the earliest to the latest. No edge leads to an earlier group.
    root_nodes : collection, default=None
        Variables without parents.
    candidate_edges : collection of (tail, head), default=None
        The only edges that the graph may have.
    equivalent_sample_size : float, default=None
        Number of rows that the Dirichlet prior of `model_` represents, divided equally among the cells of a CPT. The
        default is maximum likelihood. `score` then uses 1, unless `pseudo_counts` is given.
    pseudo_counts : float, default=None
        Number of rows that the prior of `model_` adds to each cell of a CPT, in place of `equivalent_sample_size`. 1 is
        the prior of K2.
    return_type : {"pdag", "dag"}, default="pdag"
        Whether `graph_` is the equivalence class of the DAG, which keeps the directions known in advance, or the DAG
        itself.
    epsilon : float, default=1e-4
        Smallest increase of the score, in nats, that counts as an improvement.
    max_iter : int, default=1_000_000
        Largest number of moves, including moves that are later undone. May be infinite.
    max_time : float, default=None
        Time limit in seconds, after which the best graph found is returned. Coding the data and counting are not
        interrupted.
    checkpoint : path-like, default=None
        File of snapshots. If it exists, ``fit`` resumes from it and returns the same graph. It is deleted when the
        search has converged.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one per move.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with the named tuple (n_iter, score, n_edges, seconds) after each move, and after each trial that led to
        a better graph. If it returns a true value, the search ends.
    state_names : dict, default=None
        States of some or all variables, in order. States that do not occur in the data are allowed.
    interventions : hashable, default=None
        Name of a column that says which variables were set from outside in a row: a name, several (a list, or a string
        separated by commas), or missing if none was. The column is no variable. See the Notes of
        :class:`HillClimbSearch`.
    missing : {"error", "drop", "category", "pairwise", "em"}, default="error"
        Treatment of missing values: raise an error; drop the row; add a state ``"missing"``; score each family on the
        rows complete in it (BIC, AIC, log-likelihood); or structural EM. See the Notes of :class:`HillClimbSearch`.
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    discrete_columns : list of hashable, default=None
        Numeric columns that are discrete. Their states are the distinct values, as integers if all values are whole.
    n_em_restarts : int, default=0
        Additional starts with ``missing="em"``. Each start draws the missing values from the observed values of their
        columns. The graph of highest score is kept.
    n_jobs : int, default=None
        Number of threads that code the data and count pairs of variables. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator for the moves, and for the permutation of the variables that decides ties in the last climb.

    Attributes
    ----------
    graph_, causal_graph_ : pgmpy.base.PDAG or pgmpy.base.DAG
        The learned graph, of the type given by `return_type`.
    dag_ : pgmpy.base.DAG
        The learned DAG, independent of `return_type`.
    model_ : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork
        The network of `dag_`, made on first access. By default its parameters are maximum likelihood estimates, so new
        rows may have probability 0. `equivalent_sample_size` or `pseudo_counts` prevent this.
    score_ : float
        Score of `dag_`, in nats, including the log prior of the graph.
    expected_chance_edges_ : float
        Expected number of edges that BIC or AIC adds between independent variables: the sum over pairs of
        P(χ²_d > 2 d c), with d parameters of the edge at a cost c of each. EBIC adds 2 `gamma` ln(p - 1) to the
        threshold. NaN for other scores.
    n_iter_ : int
        Number of moves, including moves that were later undone.
    converged_, stopped_by_ : bool, str
        Whether the search converged, and why it ended: "converged", "max_iter", "max_time", "callback" or "interrupt"
        (Ctrl-C or an error in a callback; the results describe the best graph found).
    n_em_iter_ : int
        Number of iterations of structural EM, including the last one, which found no better graph. 0 if no values are
        missing.
    observed_log_likelihood_ : float
        Maximum log-likelihood of the observed values under `dag_`, in nats, with ``missing="em"``. Otherwise NaN.
    history_ : dict of ndarray
        ``"score"``, ``"n_edges"`` and ``"seconds"`` at each point at which `callback` is called.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges (tail, head) of `dag_` as positions in `variables_`.
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        For the same reasons as :class:`HillClimbSearch`.

    Notes
    -----
    Cost: a rejected draw costs a look-up. An accepted draw computes a row of gains (two rows for a reversal). Simulated
    annealing reaches the highest score with probability one only if the temperature falls much more slowly than is
    practical. On the benchmark networks, the defaults reach at most the score of
    ``HillClimbSearch(strategy="thorough")`` and take at least ten times as long. Sometimes the score is lower than with
    greedy hill climbing.

    References
    ----------
    .. [1] Kirkpatrick, S., Gelatt, C. D. and Vecchi, M. P. (1983). Optimization by simulated annealing. Science 220.
    .. [2] Heckerman, D., Geiger, D. and Chickering, D. M. (1995). Learning Bayesian networks: the combination of
       knowledge and statistical data. Machine Learning 20, 197-243, section 7.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> search = SimulatedAnnealing(scoring_method="bic", return_type="dag").fit(data)
    >>> sorted(sorted(edge) for edge in search.graph_.edges())
    [['rain', 'wet']]
    """

    _tags = {"name": "simulated_annealing"}

    _parameter_constraints: dict[str, Any] = {
        **SearchLearner._parameter_constraints,
        "n_draws": [Interval(Integral, 0, None, closed="left"), None],
        "initial_temperature": [Interval(Real, 0, None, closed="neither"), None],
        "final_temperature": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        data: Any = None,
        *,
        scoring_method: str | BaseStructureScore | None = None,
        penalty: float = 1.0,
        gamma: float = 1.0,
        structure_prior: StructurePrior | None = None,
        discrete_children: Literal["forbidden", "allowed"] = "forbidden",
        n_draws: int | None = None,
        initial_temperature: float | None = None,
        final_temperature: float = 0.1,
        start_dag: nx.DiGraph | Literal["tree", "random"] | None = None,
        max_indegree: float | None = None,
        max_candidates: int | None = None,
        expert_knowledge: ExpertKnowledge | None = None,
        required_edges: Collection[Sequence[Hashable]] | None = None,
        forbidden_edges: Collection[Sequence[Hashable]] | None = None,
        tiers: Sequence[Collection[Hashable]] | None = None,
        root_nodes: Collection[Hashable] | None = None,
        candidate_edges: Collection[Sequence[Hashable]] | None = None,
        equivalent_sample_size: float | None = None,
        pseudo_counts: float | None = None,
        return_type: str = "pdag",
        epsilon: float = 1e-4,
        max_iter: float = 1_000_000,
        max_time: float | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        show_progress: bool = True,
        callback: Callable[[SearchProgress], object] | None = None,
        state_names: dict | None = None,
        interventions: Hashable | None = None,
        missing: Literal["error", "drop", "category", "pairwise", "em"] = "error",
        na_values: Any = None,
        discrete_columns: Sequence[Hashable] | None = None,
        n_em_restarts: int = 0,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.data = data
        self.scoring_method = scoring_method
        self.penalty = penalty
        self.gamma = gamma
        self.structure_prior = structure_prior
        self.discrete_children = discrete_children
        self.n_draws = n_draws
        self.initial_temperature = initial_temperature
        self.final_temperature = final_temperature
        self.start_dag = start_dag
        self.max_indegree = max_indegree
        self.max_candidates = max_candidates
        self.expert_knowledge = expert_knowledge
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.root_nodes = root_nodes
        self.candidate_edges = candidate_edges
        self.equivalent_sample_size = equivalent_sample_size
        self.pseudo_counts = pseudo_counts
        self.return_type = return_type
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.show_progress = show_progress
        self.callback = callback
        self.state_names = state_names
        self.interventions = interventions
        self.missing = missing
        self.na_values = na_values
        self.discrete_columns = discrete_columns
        self.n_em_restarts = n_em_restarts
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _last_stage(self) -> int:
        return 1

    def _search(self, problem: DagProblem, state: DagState, tracker: SearchTracker, seed: int) -> None:
        if tracker.enter_stage(0):
            anneal(
                state,
                tracker,
                seed=seed,
                n_draws=DRAWS_PER_VARIABLE * problem.n if self.n_draws is None else int(self.n_draws),
                initial_temperature=self._first_temperature(state),
                final_temperature=float(self.final_temperature),
            )
        if tracker.enter_stage(1):
            if not tracker.memo:
                tracker.return_to_best(state)
            climb(state, tracker)

    def _first_temperature(self, state: DagState) -> float:
        return choose_temperature(state) if self.initial_temperature is None else float(self.initial_temperature)

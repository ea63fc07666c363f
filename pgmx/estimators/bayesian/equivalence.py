"""Greedy equivalence search for Bayesian networks."""

import warnings
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy.causal_discovery import ExpertKnowledge

from pgmx.checks import caller_level, is_silent
from pgmx.estimators.base import Interval
from pgmx.estimators.bayesian.dag_learner import InputTable
from pgmx.estimators.bayesian.pgmpy_interface import BaseStructureScore
from pgmx.estimators.bayesian.search_learner import SearchLearner
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.scores.priors import StructurePrior
from pgmx.search.dag import equivalence
from pgmx.search.dag.equivalence import (
    KINDS,
    MOST_EDGES_PER_VARIABLE,
    N_STAGES,
    search_classes,
    search_classes_from_two_graphs,
)
from pgmx.search.dag.state import DagProblem, DagState
from pgmx.search.dag.tracker import SearchTracker
from pgmx.search.knowledge import EdgeConstraints


class GreedyEquivalenceSearch(SearchLearner):
    r"""Greedy search for the equivalence class of directed acyclic graphs with the highest score.

    DAGs are equivalent if they imply the same conditional independences. Scores such as BIC and BDeu are equal for all
    DAGs of a class. The search starts from the class without edges. In the forward phase, it inserts the edge that
    raises

    .. math:: \mathrm{score}(G) = \sum_x s(x \mid \Pi_x^G) + \ln P(G)

    most, until no insertion gains `epsilon`. The backward phase makes the best deletions, and the turning phase
    reverses the best edges. The phases are repeated until none of them gains. The search compares classes, so ties
    between the two directions of an edge do not affect it.

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
    phases : sequence of {"forward", "backward", "turning"}, default=("forward", "backward", "turning")
        Phases in their order: insertions, deletions, reversals. The first two are Chickering's search.
    repeat : bool, default=True
        Whether the phases are repeated until none of them gains. Otherwise each phase runs once.
    start_dag : DAG or {"tree", "random"}, default=None
        DAG of the first class, a Chow-Liu forest of the score, or a random graph. The default has no edges.
    max_indegree : int, default=None
        Largest number of parents that an operator may give a node. The default is unlimited.
    max_degree : int, default=None
        Largest number of edges that an insertion may give a variable, at least 1 (Tetrad's ``maxDegree``). The default
        is unlimited.
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
        Largest number of operators. May be infinite.
    max_time : float, default=None
        Time limit in seconds, after which the best graph found is returned. Coding the data and counting are not
        interrupted.
    checkpoint : path-like, default=None
        File of snapshots. If it exists, ``fit`` resumes from it and returns the same graph. It is deleted when the
        search has converged.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one per operator.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with the named tuple (n_iter, score, n_edges, seconds) after each operator. If it returns a true value,
        the search ends.
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
        Seed or generator for the permutation of the variables that decides ties between different edges.

    Attributes
    ----------
    graph_, causal_graph_ : pgmpy.base.PDAG or pgmpy.base.DAG
        The learned graph, of the type given by `return_type`.
    dag_ : pgmpy.base.DAG
        A DAG of the learned class, independent of `return_type`.
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
        Number of operators made.
    truncated_ : bool
        Whether some variable had more than 2,048 cliques of neighbours, of which only the smallest were tried.
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
    Suppose that the rows are drawn from a network whose independences are exactly the independences of its graph. With
    many rows, the first two phases under BIC or BDeu then end in the class of this graph [1]_. Greedy search over
    single edges does not have this guarantee. On finite data, the turning phase [2]_ and the repetition find better
    classes.

    With prior knowledge of directions, the class contains only graphs that satisfy it. Operators that need other graphs
    are excluded. Some scores differ within a class (K2, BDs, ``missing="pairwise"``). An operator is then made if its
    DAG has a higher score than the current DAG.

    With `interventions`, or ``fit(X, interventions=frame)``, the search is GIES [2]_. The family of a variable does not
    count the rows in which it was set. A class holds the graphs that the experiments do not tell apart, and `graph_` is
    its interventional essential graph: an edge of which some experiment set exactly one end is directed, see
    :func:`pgmx.models.cpdag`. Operators and phases are the same.

    Cost: a row of gains (n families of one child) for each variable and each clique of its neighbours (joined by
    undirected edges), at its first use. After an operator only variables near the edge are evaluated again, as in [3]_.
    The number of cliques grows exponentially if many neighbours are adjacent to each other; at most 2,048 per variable
    are tried, the smallest first.

    Dense data: insertions may lead to graphs with far too many edges. If the result has more than 1.5 edges per
    variable, a greedy search over single edges starts from the same graph, and the search over classes continues from
    the better graph. This step needs all three phases, `repeat` and no `max_degree`.
    For dense graphs ``HillClimbSearch(strategy="best")`` is the better search. Memory in
    addition to the memory of :class:`HillClimbSearch`: 8 n² bytes, and at most 128 MB of rows.

    References
    ----------
    .. [1] Chickering, D. M. (2002). Optimal structure identification with greedy search. Journal of Machine Learning
       Research 3, 507-554.
    .. [2] Hauser, A. and Bühlmann, P. (2012). Characterization and greedy learning of interventional Markov equivalence
       classes of directed acyclic graphs. Journal of Machine Learning Research 13, 2409-2464.
    .. [3] Ramsey, J., Glymour, M., Sanchez-Romero, R. and Glymour, C. (2017). A million variables and more: the Fast
       Greedy Equivalence Search algorithm. International Journal of Data Science and Analytics 3, 121-129.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> search = GreedyEquivalenceSearch(scoring_method="bic").fit(data)
    >>> sorted(sorted(edge) for edge in search.graph_.undirected_edges)
    [['rain', 'wet']]
    """

    _tags = {"name": "greedy_equivalence_search", "assumption:faithfulness": True}

    tabu_length = 100  # of the climb by single edges, as in HillClimbSearch

    truncated_: bool

    _parameter_constraints: dict[str, Any] = {
        **SearchLearner._parameter_constraints,
        "phases": "no_validation",  # checked by _check_phases
        "repeat": ["boolean"],
        "max_degree": [Interval(Integral, 1, None, closed="left"), None],
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
        phases: Sequence[Literal["forward", "backward", "turning"]] = ("forward", "backward", "turning"),
        repeat: bool = True,
        start_dag: nx.DiGraph | Literal["tree", "random"] | None = None,
        max_indegree: float | None = None,
        max_degree: int | None = None,
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
        self.phases = phases
        self.repeat = repeat
        self.start_dag = start_dag
        self.max_indegree = max_indegree
        self.max_degree = max_degree
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

    def _needs_all_moves(self) -> bool:
        return False

    def _fit(self, opened: InputTable, sample_weight: ArrayLike | None) -> Run:
        self._check_phases()
        self.truncated_ = False
        run = super()._fit(opened, sample_weight)
        if self.truncated_ and not is_silent():
            remedy = ". max_degree limits the number of edges of a variable"
            if len(self.edges_) > MOST_EDGES_PER_VARIABLE * len(self._names):
                remedy = (
                    f": the graph is dense ({len(self.edges_):,} edges). HillClimbSearch(strategy='best') finds better "
                    "graphs of dense data, and penalty=2 sparser ones"
                )
            warnings.warn(
                f"some variable had more than {equivalence.MOST_CLIQUES:,} cliques of neighbours, of which only the "
                f"smallest were tried{remedy}",
                UserWarning,
                stacklevel=caller_level(),
            )
        return run

    def _start_edges(self, names: list, constraints: EdgeConstraints, max_indegree: int) -> np.ndarray:
        n_required = np.bincount(constraints.required.ravel(), minlength=len(names))
        most = int(np.argmax(n_required))
        if self.max_degree is not None and n_required[most] > self.max_degree:
            raise ValueError(
                f"{names[most]!r} has {n_required[most]} required edges, but max_degree={self.max_degree}: raise "
                "max_degree, or require fewer edges"
            )
        return super()._start_edges(names, constraints, max_indegree)

    def _check_phases(self) -> None:
        """Raise ValueError unless `phases` lists phases without repetition."""
        is_list = isinstance(self.phases, Iterable) and not isinstance(self.phases, str)
        phases = list(map(str, self.phases)) if is_list else []
        if not phases or len(set(phases)) < len(phases) or not set(phases) <= KINDS.keys():
            raise ValueError(
                f"the option 'phases' must list some of {', '.join(map(repr, KINDS))}, each once, got {self.phases!r}"
            )

    def _search(self, problem: DagProblem, state: DagState, tracker: SearchTracker, seed: int) -> None:
        is_whole = self.repeat and set(self.phases) == KINDS.keys() and self.max_degree is None
        search = partial(search_classes_from_two_graphs, problem) if is_whole else search_classes
        try:
            search(state, tracker, phases=list(self.phases), repeat=bool(self.repeat), max_degree=self.max_degree)
        finally:  # a limit ends the search by an exception
            self.truncated_ = self.truncated_ or tracker.is_truncated

    def _last_stage(self) -> int:
        return N_STAGES - 1

"""Chow-Liu trees, penalised forests, and tree-augmented naive Bayes."""

from collections.abc import Callable, Collection, Hashable, Sequence
from math import fsum
from numbers import Real
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy.causal_discovery import ExpertKnowledge
from pgmpy.models import DiscreteBayesianNetwork

from pgmx.checks import join_names
from pgmx.data import DiscreteTable, encode
from pgmx.estimators.base import Interval, StrOptions, config, random_draws
from pgmx.estimators.bayesian.cost import estimate_continuous, estimate_forest
from pgmx.estimators.bayesian.dag_learner import KNOWLEDGE_OPTIONS, DagLearner, InputTable
from pgmx.estimators.cost import LearningCost
from pgmx.parallel.threads import count_threads
from pgmx.runs.progress import ProgressBar, SearchProgress
from pgmx.runs.run import Run
from pgmx.search.forest_weights import bind_forest_score, score_pairs
from pgmx.search.knowledge import EdgeConstraints
from pgmx.search.spanning_forest import check_forest_constraints, find_spanning_forest


class ChowLiuForest(DagLearner):
    r"""Forest of largest weight: the best network in which each variable has at most one parent.

    .. math:: \max_F \sum_{(i \to j) \in F} w(i, j), \qquad w(i, j) = s(j \mid i) - s(j)

    over rooted forests F, for a decomposable score s. The forest maximises :math:`\sum_j s(j \mid \Pi_j)`. With
    `class_node` C the result is tree-augmented naive Bayes: C is a parent of every other variable, and
    :math:`w(i, j) = s(j \mid i, C) - s(j \mid C)`.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    weight : {"mutual_info", "bic", "aic", "bdeu", "bde", "bge", "bic-dg"}, default="mutual_info"
        The score s, in the form for discrete, continuous or mixed data; see the Notes. ``"bdeu"`` and ``"bde"`` need
        discrete variables, ``"bge"`` continuous variables.
    root : hashable, default=None
        Variable without a parent other than the class. By default the root of each tree is its variable with the most
        neighbours, see the Notes.
    class_node : hashable, default=None
        Class variable of a tree-augmented naive Bayes.
    equivalent_sample_size : float, default=None
        Number of rows that the Dirichlet prior represents, divided equally among the cells of a CPT: for ``"bdeu"`` and
        ``"bde"`` (default 10) and, if given, for `model_`. See the Notes for the default.
    pseudo_counts : float, default=None
        Number of rows that the prior of `model_` adds to each cell of a CPT, in place of `equivalent_sample_size`. 1 is
        the prior of K2.
    prior_network : DiscreteBayesianNetwork, default=None
        Prior network B0 of ``"bde"``.
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
    return_type : {"dag", "pdag"}, default="dag"
        Whether `graph_` is the rooted forest or its equivalence class.
    max_time : float, default=None
        Time limit in seconds, after which the current forest is returned. Variables that are not in it yet have no
        parents.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with the named tuple (n_iter, score, n_edges, seconds) after each variable that joins the forest, see the
        Notes. If it returns a true value, the search ends.
    state_names : dict, default=None
        States of some or all variables, in order. States that do not occur in the data are allowed.
    missing : {"error", "drop", "category", "pairwise"}, default="error"
        Treatment of missing values: raise an error; drop the row; add a state ``"missing"``; or score each family on
        the rows that are complete in it (BIC, AIC and log-likelihood).
    na_values : scalar, str, list-like or dict, default=None
        Additional markers of missing values in a CSV file, such as "?", per column if a dict, as in
        ``pandas.read_csv``. Any value, even an empty list, switches off the warning about possible markers.
    discrete_columns : list of hashable, default=None
        Numeric columns that are discrete. Their states are the distinct values, as integers if all values are whole.
    n_jobs : int, default=None
        Number of threads that code the data and count pairs. The result does not depend on it.
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator for the permutation of the variables that decides ties.

    Attributes
    ----------
    graph_ : pgmpy.base.DAG or pgmpy.base.PDAG
        The learned graph. `causal_graph_` is the same object.
    dag_ : pgmpy.base.DAG
        The rooted forest, with the edges from the class.
    forest_ : networkx.Graph
        The undirected forest without the class. Each edge has an attribute ``weight``.
    model_ : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork
        The network of `dag_`, made on first access. By default its parameters are maximum likelihood estimates, so new
        rows may have probability 0. `equivalent_sample_size` or `pseudo_counts` prevent this. With `class_node` the
        default is a prior of one pseudo row, so that every row of known states has class probabilities.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges (tail, head) of `dag_` as positions in `variables_`, sorted by head and tail.
    edge_weights_ : ndarray of shape (n_edges,)
        Weights of the edges in nats. The weight of an edge from the class is its gain as the only parent.
    score_ : float
        Score of `dag_`, in nats.
    converged_, stopped_by_ : bool, str
        Whether all pairs were considered, and why the search ended: "converged", "max_time", "callback" or "interrupt".
    history_ : dict of ndarray
        ``"score"``, ``"n_edges"`` and ``"seconds"`` at each point at which `callback` is called.
    adjacency_matrix_ : DataFrame
        Adjacency matrix of `graph_`, made on access.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns, and their number and names as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If the data cannot be used, options are unknown, or prior knowledge contradicts itself or does not allow a
        forest: two required parents of a variable, or a required parent of `root` or of the class. The message names
        the cause.

    Notes
    -----
    ``"mutual_info"`` is the log-likelihood: w is N times the empirical mutual information, conditional on the class if
    there is one. ``"bic"`` and ``"aic"`` subtract :math:`\tfrac12 \ln N` and 1 for each of the
    :math:`(r_i - 1)(r_j - 1)` parameters. ``"bdeu"`` and ``"bde"`` are Bayes factors. For continuous variables the
    scores are Gaussian, :math:`w = -\tfrac{N}{2} \ln(1 - \rho_{ij}^2)` minus the penalty, and ``"bge"`` is their Bayes
    factor, :class:`~pgmx.scores.BGe`. For mixed data the scores are conditional linear Gaussian and exclude edges from
    continuous to discrete variables. ``"bic-dg"`` accepts all columns and all edges, see
    :class:`~pgmx.scores.BICDegenerateGauss`. With an edge from a continuous to a discrete variable, `model_` raises an
    error.

    Only edges of positive weight are included. Penalised weights therefore give a forest. Mutual information gives a
    tree, unless pairs are exactly independent. Weights below the rounding error 2⁻⁴⁶ N ln N count as zero, and weights
    are compared in multiples of it. Ties between edges are decided by a permutation of the variables drawn from
    `random_state`: the edge whose smaller, then larger end comes first in the permutation is chosen. The root of a tree
    is the variable with the most neighbours; ties are decided by the permutation.

    If prior knowledge requires an edge or forbids one direction only, the forest is a maximum branching. It is the best
    forest under the directions, not a tree that is directed afterwards. The same holds for mixed data.

    If neither `equivalent_sample_size` nor `pseudo_counts` is given, `score` uses an equivalent sample size of 1, as
    does `model_` with `class_node`. With directed knowledge, `callback` is called after each block of variables whose
    weights are computed, with a score of NaN. Without `callback` and `max_time`, all pairs are counted before the first
    variable joins. The forest and the history are the same, but the run is faster and uses less memory. For structural
    EM use ``HillClimbSearch(max_indegree=1, missing="em")``, which learns a forest.

    Cost: n² / 2 pair tables, each with :math:`(r_i - 1)(r_j - 1)` N / 512 vector operations with AVX-512, and memory
    for a block of rows in addition to the bit planes. Directed knowledge, and scores that are not computed from bit
    planes (Gaussian, BDe, conditional Gaussian, pairwise), need a matrix of n² weights.

    References
    ----------
    .. [1] Chow, C. K. and Liu, C. N. (1968). Approximating discrete probability distributions with dependence trees.
       IEEE Transactions on Information Theory 14, 462-467, equation 17.
    .. [2] Friedman, N., Geiger, D. and Goldszmidt, M. (1997). Bayesian network classifiers. Machine Learning 29,
       131-163, section 4.1.
    .. [3] Edmonds, J. (1967). Optimum branchings. Journal of Research of the National Bureau of Standards 71B, 233-240.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> learner = ChowLiuForest(weight="bic", root="rain").fit(data)
    >>> list(learner.graph_.edges())
    [('rain', 'wet')]
    >>> learner.edge_weights_.round(1)
    array([197.8])
    """

    edge_weights_: np.ndarray
    score_: float
    converged_: bool
    stopped_by_: str
    history_: dict[str, np.ndarray]

    _tags = {"name": "chow_liu_forest"}

    _parameter_constraints: dict[str, Any] = {
        "weight": [StrOptions({"mutual_info", "bic", "aic", "bdeu", "bde", "bge", "bic-dg"})],
        "root": "no_validation",  # any column name, checked with the data
        "class_node": "no_validation",
        "prior_network": "no_validation",  # checked by BDe
        **DagLearner._parameter_constraints,
        "missing": [StrOptions({"error", "drop", "category", "pairwise", "em"})],  # "em" is refused with advice
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "show_progress": ["boolean"],
        "callback": [callable, None],
    }

    def __init__(
        self,
        data: Any = None,
        *,
        weight: Literal["mutual_info", "bic", "aic", "bdeu", "bde", "bge", "bic-dg"] = "mutual_info",
        root: Hashable | None = None,
        class_node: Hashable | None = None,
        equivalent_sample_size: float | None = None,
        pseudo_counts: float | None = None,
        prior_network: DiscreteBayesianNetwork | None = None,
        expert_knowledge: ExpertKnowledge | None = None,
        required_edges: Collection[Sequence[Hashable]] | None = None,
        forbidden_edges: Collection[Sequence[Hashable]] | None = None,
        tiers: Sequence[Collection[Hashable]] | None = None,
        root_nodes: Collection[Hashable] | None = None,
        candidate_edges: Collection[Sequence[Hashable]] | None = None,
        return_type: str = "dag",
        max_time: float | None = None,
        show_progress: bool = True,
        callback: Callable[[SearchProgress], object] | None = None,
        state_names: dict | None = None,
        missing: Literal["error", "drop", "category", "pairwise"] = "error",
        na_values: Any = None,
        discrete_columns: Sequence[Hashable] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.data = data
        self.weight = weight
        self.root = root
        self.class_node = class_node
        self.equivalent_sample_size = equivalent_sample_size
        self.pseudo_counts = pseudo_counts
        self.prior_network = prior_network
        self.expert_knowledge = expert_knowledge
        self.required_edges = required_edges
        self.forbidden_edges = forbidden_edges
        self.tiers = tiers
        self.root_nodes = root_nodes
        self.candidate_edges = candidate_edges
        self.return_type = return_type
        self.max_time = max_time
        self.show_progress = show_progress
        self.callback = callback
        self.state_names = state_names
        self.missing = missing
        self.na_values = na_values
        self.discrete_columns = discrete_columns
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- learning ----

    def estimate_cost(self, X: Any) -> LearningCost:
        """Estimate the memory required for learning.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable or path
            The data. Iterators are not accepted, because reading would exhaust them.

        Returns
        -------
        LearningCost
            Bytes per component and their sum. The sum is at most three times the measured peak, if the peak is some
            megabytes.
        """
        opened = self._open(X)
        if not isinstance(opened, DiscreteTable) and opened.list_known_floats():
            return estimate_continuous(opened.n_rows, opened.n_columns)
        missing = "category" if self.missing == "pairwise" else self.missing
        table = encode(opened, state_names=self.state_names, missing=missing, n_jobs=self.n_jobs)
        has_knowledge = any(getattr(self, option) is not None for option in KNOWLEDGE_OPTIONS)
        at_once = self._counts_at_once() and self.weight not in ("bde", "bge", "bic-dg") and not has_knowledge
        n_threads = count_threads(self.n_jobs)
        return estimate_forest(table.n_rows, table.cardinalities, n_threads=n_threads, at_once=at_once)

    def _counts_at_once(self) -> bool:
        """Return whether all pairs may be counted before the first variable joins the forest."""
        return self.callback is None and self.max_time is None

    def _fit(self, opened: InputTable, sample_weight: ArrayLike | None) -> Run:
        with ProgressBar(self.show_progress and config.SHOW_PROGRESS, self.callback, type(self).__name__) as bar:
            run = Run(SearchProgress, max_time=self.max_time, callback=bar.callback, start=self._start)
            self._find_forest(opened, sample_weight, run)
        if not run.is_over():
            run.end("converged")
        self.stopped_by_, self.converged_ = run.stopped_by, run.stopped_by == "converged"
        self.history_ = run.history
        if run.stopped_by == "max_time" and not len(self._forest[1]):
            self._warn_of_time("the forest has no edges")
        return run

    def _find_forest(self, opened: InputTable, sample_weight: ArrayLike | None, run: Run) -> None:
        if self.missing == "em":
            raise ValueError(
                "ChowLiuForest does not support missing='em', because it does not search. Use "
                "HillClimbSearch(max_indegree=1, missing='em'), or missing='pairwise', 'category' or 'drop'"
            )
        self._check_return_type()
        self._read_prior(opened)
        self._check_prior_network()
        names = list(opened.columns if isinstance(opened, DiscreteTable) else opened.names)
        root, class_id = _find_column("root", self.root, names), _find_column("class_node", self.class_node, names)
        if root is not None and root == class_id:
            raise ValueError(
                f"root={self.root!r} is also the class_node, which is the parent of every variable: choose another root"
            )
        constraints = self._read_constraints(names)
        variables, inner = np.arange(len(names)), constraints
        if class_id is not None:
            variables, inner = np.delete(variables, class_id), _without_class(constraints, class_id, names)
        inner_root = None if root is None else int(np.searchsorted(variables, root))
        check_forest_constraints(inner, [names[v] for v in variables], root=inner_root)
        scoring = bind_forest_score(
            self.weight,
            opened,
            equivalent_sample_size=10.0 if self.equivalent_sample_size is None else self.equivalent_sample_size,
            prior_network=self.prior_network,
            sample_weight=sample_weight,
            state_names=self.state_names,
            missing=self.missing,
            n_jobs=self.n_jobs,
        )
        edges, weights = np.empty((0, 2), dtype=np.int64), np.empty(0)
        pair_weights, scores, alone = score_pairs(scoring, variables, class_id, self.n_jobs, run.deadline)
        if len(variables) > 1:
            permutation, _ = random_draws(len(names), self.random_state)
            forest = find_spanning_forest(
                pair_weights,
                # the ranks of the variables in the permutation, which decide ties
                priority=np.argsort(np.argsort(permutation[variables])),
                constraints=inner,
                root=inner_root,
                symmetric=scoring.equivalent and scoring.arc_mask is None,
                run=run,
                score=fsum(scores),
                at_once=self._counts_at_once(),
            )
            edges, weights = variables[forest.edges], forest.weights
        self._forest = variables, edges, weights
        if class_id is not None:
            edges = np.concatenate([edges, np.column_stack([np.full_like(variables, class_id), variables])])
            weights = np.concatenate([weights, (scores - alone)[variables]])
        order = np.lexsort(edges.T)
        self._set_graph(scoring, constraints, edges[order])
        self.edge_weights_ = weights[order]
        self.score_ = fsum([*scores, *self._forest[2]])  # the exact sum does not depend on the order of the edges

    def _check_prior_network(self) -> None:
        if (self.weight == "bde") == (self.prior_network is None):
            network = "no prior_network" if self.prior_network is None else f"prior_network={self.prior_network!r}"
            raise ValueError(
                f"weight={self.weight!r} with {network}: 'bde' needs a prior_network, the other weights do not use it"
            )

    @property
    def forest_(self) -> nx.Graph:
        """The forest as an undirected networkx graph with weights on its edges."""
        return self._make_once("forest", self._make_forest)

    def _make_forest(self) -> nx.Graph:
        forest = nx.Graph()
        variables, edges, weights = self._forest
        forest.add_nodes_from(self._names[v] for v in variables)
        for (tail, head), weight in zip(edges.tolist(), weights.tolist(), strict=True):
            forest.add_edge(self._names[tail], self._names[head], weight=weight)
        return forest


def _find_column(option: str, name: Hashable | None, names: list) -> int | None:
    """Return the position of the column that an option names, None if the option is None."""
    if name is None:
        return None
    if name not in names:
        raise ValueError(f"{option}={name!r} is not a column of the data; the columns are {join_names(names)}")
    return names.index(name)


def _without_class(constraints: EdgeConstraints, class_id: int, names: list) -> EdgeConstraints:
    """Return the constraints between the other variables. Refuse constraints that the class cannot satisfy."""
    features = np.delete(np.arange(len(names)), class_id)
    position = {int(v): i for i, v in enumerate(features)}
    inner = []
    for tail, head in constraints.required.tolist():
        if head == class_id:
            raise ValueError(
                f"class_node={names[class_id]!r} has the required parent {names[tail]!r}, but it is the parent of "
                "every variable: remove that edge, or choose another class_node"
            )
        if tail != class_id:
            inner.append((position[tail], position[head]))
    allowed = constraints.allowed
    if allowed is not None:
        forbidden = features[allowed[features, class_id] == 0]
        if len(forbidden):
            raise ValueError(
                f"class_node={names[class_id]!r} is the parent of every variable, but prior knowledge forbids "
                f"{names[class_id]!r} -> {names[forbidden[0]]!r}: allow that edge, or choose another class_node"
            )
        allowed = allowed[np.ix_(features, features)]
    return EdgeConstraints(len(features), np.array(inner, dtype=np.int64), allowed)

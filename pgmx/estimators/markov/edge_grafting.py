"""Grafting that scores all pairs in each round and activates the best edge or a batch of edges."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import networkx as nx
from numpy.typing import ArrayLike

from pgmx.estimators.base import Interval
from pgmx.estimators.markov.learner import MarkovLearner, Pairs, RandomState
from pgmx.models import PairwiseMarkovNetwork
from pgmx.runs.progress import GraftingProgress
from pgmx.search.edges.exhaustive import BestEdge


class EdgeGrafting(MarkovLearner):
    r"""Markov network by exhaustive edge grafting.

    .. math::

        \min_{\theta, W} \; L(\theta, W) + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|(\theta, W)\|_2^2,
        \qquad d_e = \sqrt{s_i s_j}

    Each round activates the edge whose gradient violates the optimality condition most, :math:`s_e / c_e > \lambda`
    with :math:`s_e = \|\nabla_e L\|_2 / d_e`, and optimises the parameters around it, until no pair violates the
    condition.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    batch : bool, default=False
        Whether a round activates all edges above the threshold of `alpha`, in decreasing order of their scores, if they
        share no variable with an edge activated in the same round. The optimum is the same, in many fewer rounds.
    alpha : float, default=0.0
        With `batch`, the threshold is (1 - α) mean + α max of the scores of all violating edges.
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
        Not used, because the algorithm is deterministic.

    Attributes
    ----------
    graph_, adjacency_matrix_ : networkx.Graph, DataFrame
        The learned graph and its adjacency matrix. The ``weight`` of an edge is the norm of its parameter table after
        the means of rows and columns are subtracted.
    model_ : PairwiseMarkovNetwork
        The learned network, made on first access.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges of `graph_` as positions in `variables_`: edges with a non-zero parameter table, and required edges.
    lam_, lam_max_ : float
        The penalty λ, and the smallest λ for which the graph has no edges (NaN if it was not needed).
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
    Scores are stored with bounds on their changes, so that a round scores only a few hundred pairs again. The best edge
    is the same. With `batch`, the rule is that of best-choice grafting with an unlimited reservoir. Cost: all n² / 2
    pair tables, once; for the pseudolikelihood, about N (s_i - 1)(s_j - 1) / 8 additions in vectors of 16 per score,
    and 4 N bytes per state of a variable with an edge. :class:`~pgmx.estimators.markov.learner.MarkovLearner` explains
    penalties, losses and limits.

    References
    ----------
    .. [1] Chaabene, W. and Huang, B. (2017). Best-choice edge grafting for efficient structure learning of Markov
       random fields, algorithm 1, equations 2 to 5; the optimality condition (3) is corrected to
       :math:`\nabla_g L + \lambda d_g w_g / \|w_g\| + l_2 w_g = 0` for :math:`w_g \ne 0`.
    .. [2] Lee, S.-I., Ganapathi, V. and Koller, D. (2006). Efficient structure learning of Markov networks using
       L1-regularization. Advances in Neural Information Processing Systems 19, 817-824.

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> network = preferential_attachment_network(6, n_states=3, random_state=1)
    >>> rows = sample_markov_network(network, 2000, random_state=1)
    >>> learner = EdgeGrafting(lam_ratio=0.2).fit(rows)
    >>> learner.converged_, learner.kkt_residual_ <= 1e-4
    (True, True)
    >>> recovered = [tuple(edge) for edge in learner.graph_.edges()]
    >>> sum(network.has_edge(*edge) for edge in recovered) >= 6
    True
    """

    _parameter_constraints = {
        **MarkovLearner._parameter_constraints,
        "batch": ["boolean"],
        "alpha": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        data: Any = None,
        *,
        batch: bool = False,
        alpha: float = 0.0,
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
        self.batch = batch
        self.alpha = alpha

    def _make_selector(self, problem, loss, seed):
        return BestEdge(problem.count_pairs(), self.tol, float(self.alpha) if self.batch else None)

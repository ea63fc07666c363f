"""Grafting that activates the best edges of a reservoir, without a list of all pairs."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import networkx as nx
from numpy.typing import ArrayLike

from pgmx.estimators.markov.learner import (
    HUB_CONSTRAINTS,
    RESERVOIR_CONSTRAINTS,
    MarkovLearner,
    Pairs,
    RandomState,
)
from pgmx.models import PairwiseMarkovNetwork
from pgmx.runs.progress import GraftingProgress


class BestChoiceEdgeGrafting(MarkovLearner):
    r"""Markov network by best-choice edge grafting, which tests pairs one by one and does not store their tables.

    .. math::

        \min_{\theta, W} \; L(\theta, W) + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|(\theta, W)\|_2^2,
        \qquad d_e = \sqrt{s_i s_j}

    An edge passes its test if :math:`s_e = \|\nabla_e L\|_2 / d_e > \lambda c_e`. It then enters a reservoir, which
    keeps the edges with the highest scores. Each round tests some pairs. It then activates edges of the reservoir with
    a score of at least :math:`\tau_\alpha = (1 - \alpha)\,\text{mean} + \alpha\,\text{max}` of its scores, no two of
    them with a common variable. Edges that fail their test or leave the reservoir wait for the next pass, with the
    priority :math:`v_e = 1 - s_e / (\lambda c_e)`. The run ends after a pass in which no edge passes its test at the
    optimum of the active edges. This pass certifies optimality.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        Data for ``estimate()``. ``fit(X)`` does not use it.
    alpha : float, default=0.5
        Trade-off between speed and the choice of edges. 0 activates many edges per round and is fast. 1 activates only
        the best edge and needs the most rounds.
    reservoir_size : int, default=None
        Largest number of edges in the reservoir. The default is the number of variables.
    max_tests : int, default=None
        Tests between two activations (t_max). The default is √n, rounded down. The first activation waits until the
        reservoir is full.
    structure_heuristics : bool, default=True
        Whether the pairs of a variable are tested earlier after it has become a hub.
    hub_threshold : float, default=None
        Degree centrality (number of neighbours divided by n - 1) above which a variable is a hub. The default is the
        mean over all variables, from 16 edges on.
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
        Seed or generator for the order in which pairs are tested.

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
        If the data cannot be used, options are unknown, prior knowledge contradicts itself, or `lam` is needed because
        there are more than 20 million pairs. The message names the cause.

    Notes
    -----
    If all pair tables fit into memory and the run continues to the optimum, use :class:`EdgeGrafting` or
    :class:`GroupLassoMarkovNetwork`. They are faster and activate fewer wrong edges, because counts from bit planes
    make scoring all pairs cheap. Testing pairs one after another is useful if there are too many pairs to score, or if
    the run stops early by `max_edges`, `max_time` or a callback.

    A pair that waits for another test takes up to 72 bytes. If more than 2²² = 4,194,304 pairs failed their test, each
    pair of variables takes one byte, 200 MB for 20,000 variables. Its priority :math:`v_e` is then rounded down, by at
    most 1/32 down to -2, and pairs of equal priority are tested in random order. The order of edges after the first
    pass may depend on this, the certificate of optimality does not. The conditionals of the pseudolikelihood take 4 N
    bytes per state of each variable with an edge.

    References
    ----------
    .. [1] Chaabene, W. and Huang, B. (2017). Best-choice edge grafting for efficient structure learning of Markov
       random fields, algorithms 2 to 4.

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> network = preferential_attachment_network(8, n_states=3, random_state=1)
    >>> learner = BestChoiceEdgeGrafting(lam_ratio=0.2).fit(sample_markov_network(network, 1000))
    >>> learner.converged_
    True
    >>> learner.model_.marginals(evidence={"x0": 1})["x1"].keys()
    dict_keys([0, 1, 2])
    """

    _parameter_constraints = {**MarkovLearner._parameter_constraints, **HUB_CONSTRAINTS, **RESERVOIR_CONSTRAINTS}
    # without `side_memory`: mean conditionals of all pairs are worth their memory only if all pairs are scored
    _loss_options = {}

    _is_stream = True

    def __init__(
        self,
        data: Any = None,
        *,
        alpha: float = 0.5,
        reservoir_size: int | None = None,
        max_tests: int | None = None,
        structure_heuristics: bool = True,
        hub_threshold: float | None = None,
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
        self.alpha = alpha
        self.reservoir_size = reservoir_size
        self.max_tests = max_tests
        self.structure_heuristics = structure_heuristics
        self.hub_threshold = hub_threshold

    def _make_selector(self, problem, loss, seed):
        return problem.stream_pairs(
            mode="sampled",
            seed=seed,
            alpha=float(self.alpha),
            reservoir_size=self.reservoir_size,
            max_tests=self.max_tests,
            structure_heuristics=bool(self.structure_heuristics),
            hub_threshold=self.hub_threshold,
            tol=self.tol,
        )

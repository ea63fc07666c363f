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
    r"""Markov network by best-choice edge grafting: pairs are tested one after another, and their tables not stored.

    .. math::

        \min_{\theta, W} \; L(\theta, W) + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|(\theta, W)\|_2^2,
        \qquad d_e = \sqrt{s_i s_j}

    An edge that passes its test, :math:`s_e = \|\nabla_e L\|_2 / d_e > \lambda c_e`, enters a reservoir that keeps the
    best. A round tests some pairs, then activates edges of the reservoir, no two with a common variable, from
    :math:`\tau_\alpha = (1 - \alpha)\,\text{mean} + \alpha\,\text{max}` of its scores on.
    Edges that fail, or that leave the reservoir, wait with the offset :math:`v_e = 1 - s_e / (\lambda c_e)` for the
    next pass; a pass that finds no edge in the optimal model of the active ones is the certificate that ends the run.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    alpha : float, default=0.5
        From 0, which activates many edges per round and is fast, to 1, which activates only the best and takes the most
        rounds, for better edges.
    reservoir_size : int, default=None
        Most edges in the reservoir; the number of variables by default.
    max_tests : int, default=None
        Tests between two activations (t_max); the integer part of √n by default. The first activation waits for a full
        reservoir instead.
    structure_heuristics : bool, default=True
        Whether the pairs of a variable are tested sooner once it has become a hub.
    hub_threshold : float, default=None
        Degree centrality, the number of neighbours divided by n - 1, above which a variable is a hub; by default the
        mean over all variables, from 16 edges on.
    lam : float, default=None
        Penalty λ of the objective, in nats per row; None takes `lam_ratio` times `lam_max_`.
    lam_ratio : float, default=0.1
        Share of the smallest λ that leaves all edges out; useful values are mostly between 0.02 and 0.3.
    l2 : float, default=0.001
        Weight of half the squared parameters, which keeps them finite.
    refit : bool, default=False
        Whether `model_` gets parameters estimated once more without λ, which shrinks them.
    loss : {"pseudolikelihood", "bethe", "exact"}, default="pseudolikelihood"
        L: negative pseudolikelihood; Bethe's free energy, which is not convex; or the likelihood by enumeration.
    penalize_nodes : bool, default=False
        Whether the parameters of each node are a penalised group too, as in the papers.
    max_edges : int, default=None
        Most edges that are activated, required ones included, which must not be more.
    tol : float, default=1e-4
        Largest distance of zero from the subdifferential of a group at the end, see `kkt_residual_`.
    required_edges, forbidden_edges : collection of pairs, default=None
        Edges without penalty, which are in the graph always; edges that must not be.
    edge_weights : mapping of pairs to floats, or symmetric table, default=None
        Factors c_e of the penalties, 1 where there is none; 0 requires an edge, infinity forbids it.
    start : PairwiseMarkovNetwork, default=None
        Network whose edges and parameters the run starts from, such as the `model_` of an earlier fit.
    true_graph, held_out : graph or collection of pairs; DataFrame, array or DiscreteTable, default=None
        True edges, for the ``"recall"`` in the history; rows, for their mean loss, ``"held_out"``.
    max_time : float, default=None
        Seconds after which the network so far is returned.
    checkpoint : path-like, default=None
        File with the state of a running fit. Where it exists, ``fit`` resumes it; it is deleted on convergence.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots; 0 writes one per round.
    show_progress : bool, default=True
        Whether a run of more than a second shows a progress bar.
    callback : callable, default=None
        Called each round with a named tuple (n_iter, objective, n_edges, seconds, n_tests); a true answer ends the run.
    state_names : dict, default=None
        States of some or all variables, in order; may hold states that never occur.
    missing : {"error", "drop", "category"}, default="error"
        What a missing cell means: an error; its row is dropped; it is a state of its own, ``"missing"``.
    na_values : scalar, str, list-like or dict, default=None
        Further values of a CSV file that are missing, such as "?", as in ``pandas.read_csv``: a dict has those of some
        columns. Given at all, an empty list too, it ends the warning about values that look like markers. Data in
        memory are used as they are.
    discrete_columns : list of hashable, default=None
        Columns whose numbers are states, floats too: their states are the distinct values, as integers if all of them
        are whole.
    n_jobs : int, default=None
        Threads that code, count and score; the result is the same for any number.
    random_state : int, RandomState, Generator or None, default=0
        Draws the order in which pairs are tested.

    Attributes
    ----------
    graph_, adjacency_matrix_ : networkx.Graph, DataFrame
        The learned graph; ``weight`` of an edge is the norm of its table less the means of rows and columns.
    model_ : PairwiseMarkovNetwork
        The learned network, made on first access.
    edges_ : ndarray of shape (n_edges, 2), int64
        Its edges as positions in `variables_`: tables that are not zero, and required ones.
    lam_, lam_max_ : float
        The penalty, and the smallest one without edges (NaN where it was not needed).
    objective_, kkt_residual_ : float
        In nats per row; largest distance of zero from the subdifferential over nodes and activated edges.
    converged_ : bool
        Whether no pair and no parameter violates its condition of optimality.
    stopped_by_ : str
        ``"converged"``, ``"max_edges"``, ``"max_time"``, ``"callback"``, ``"interrupt"``, or (Bethe's loss only)
        ``"unsettled"``.
    n_iter_, n_activated_, n_tests_, n_tables_ : int
        Rounds; activations; scores of inactive pairs; pair tables counted.
    history_ : dict of ndarray
        Per round: ``"n_edges"`` activated, ``"n_tables"``, ``"n_tests"``, ``"objective"``, ``"cpu_seconds"``,
        ``"seconds"``, and ``"recall"`` and ``"held_out"`` where asked for.
    rows_ : object or None
        The coded rows of all calls of ``partial_fit``, and what is counted on them; None after ``fit``.
    variables_, n_features_in_, feature_names_in_ : list, int, ndarray
        Names of the columns; their number and names, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        For unusable data, unknown options and contradictory knowledge, and where `lam` is needed because there are more
        than 20 million pairs. The message names the culprit.

    Notes
    -----
    Where all pair tables can be stored and the run goes on to the optimum, :class:`EdgeGrafting` and
    :class:`GroupLassoMarkovNetwork` are faster and activate fewer wrong edges, for counts from bit planes make a full
    scoring of all pairs cheap. Testing a stream pays where pairs are too many to be scored, or where one stops early:
    by `max_edges`, `max_time` or a callback.

    A pair that waits to be tested again takes up to 72 bytes; where more than 2²² = 4,194,304 failed their test, a byte
    for each pair of variables, 200 MB for 20,000. Its priority :math:`v_e` is then rounded down, by at most 1/32 down
    to -2, and pairs of equal priority are tested in random order: which edges come first after the first pass may
    depend on it, the certificate does not. The conditionals of the pseudolikelihood take 4 N bytes per state of each
    variable with an edge.

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

    def _source(self, problem, loss, seed):
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

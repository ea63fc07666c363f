"""Hill climbing for Bayesian networks."""

from math import inf
from numbers import Integral, Real
from time import perf_counter

import networkx as nx
import numpy as np

from pgmx.data import DiscreteTable, Frame
from pgmx.estimators._base import BaseStructureScore, Interval, Options, StrOptions, config, random_permutation
from pgmx.estimators._dag_learner import DagLearner
from pgmx.estimators._progress import ProgressBar
from pgmx.estimators._scoring import resolve_scoring
from pgmx.search.constraints import EdgeConstraints, constraints_from_knowledge, find_cycle
from pgmx.search.hill_climb import ClimbLimits, hill_climb, partners_first

#: A longer tabu list is cut to this length; it bars no more, for no search makes so many moves.
LONGEST_TABU = 1_000_000


class HillClimbSearch(DagLearner):
    r"""Greedy search for the directed acyclic graph of best score.

    From a start graph, the single-arc addition, deletion or reversal that raises

    .. math:: \mathrm{score}(G) = \sum_x s(x \mid \Pi_x^G)

    most is made, until none gains `epsilon`. It takes the place of ``pgmpy.causal_discovery.HillClimbSearch``: the same
    parameters, fitted attributes and ``score`` method; the Notes list the differences.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable, optional
        What ``estimate()`` learns from; ``fit(X)`` needs none.
    scoring_method : str or BaseStructureScore, default=None
        Discrete: ``"bic"``, ``"aic"``, ``"ll"``, ``"k2"``, ``"bdeu"`` (pgmpy's ``"bic-d"``, ``"aic-d"`` and ``"ll-d"``
        are the same), compiled; ``"bds"`` by pgmpy. Continuous, by pgmpy: ``"ll-g"``, ``"aic-g"``, ``"bic-g"``. Mixed,
        by pgmpy: ``"ll-cg"``, ``"aic-cg"``, ``"bic-cg"``. Or an instance of any pgmpy score made from the same data.
        None takes BIC for columns of states (integers are states), Gaussian BIC where all columns are floats,
        conditional Gaussian BIC for floats beside states.
    start_dag : DAG, default=None
        Start graph over the same variables; without edges by default.
    tabu_length : int, default=100
        The last `tabu_length` moves may not be undone. The list is emptied where no other move improves the best graph,
        so that the result is a local optimum of all moves.
    max_indegree : int, default=None
        Most parents that a move may give a node; unlimited by default.
    expert_knowledge : ExpertKnowledge, default=None
        pgmpy's object: required edges, forbidden edges, temporal order, search space. It is not changed.
    return_type : {"pdag", "dag"}, default="pdag"
        Whether `graph_` is the equivalence class of the DAG found (with what the knowledge directs kept directed and
        closed under Meek's rules), or the DAG.
    epsilon : float, default=1e-4
        A move that gains less, in nats, is no improvement.
    max_iter : int, default=1_000_000
        Most moves.
    show_progress : bool, default=True
        Whether a run of more than a second shows a progress bar; ``pgmpy.config.SHOW_PROGRESS`` can turn it off too.
    patience : int, default=0
        Moves without a new best score before the search ends; 0 ends it at the first local optimum. The best graph
        seen is the result.
    max_time : float, default=None
        Seconds after which the best graph so far is returned. Coding the data and, for a discrete score, counting the
        pairs are not interrupted.
    state_names : dict, default=None
        States of some or all variables, in order; may hold states that never occur.
    missing : {"error", "drop"}, default="error"
        Whether a missing cell is an error or drops its row.
    callback : callable, default=None
        Called after each move with (n_iter, score, n_edges, seconds), a named tuple; a true answer ends the search.
    n_jobs : int, default=None
        Threads that code the data and count the pairs of variables; the result is the same for any number.
    random_state : int, RandomState, Generator or None, default=0
        Draws the permutation of the variables that decides equal gains, see the Notes.

    Attributes
    ----------
    graph_ : pgmpy.base.PDAG or pgmpy.base.DAG
        The learned graph; `causal_graph_` is the same object.
    dag_ : pgmpy.base.DAG
        The DAG found, whatever `return_type`.
    model_ : DiscreteBayesianNetwork or LinearGaussianBayesianNetwork
        The network of `dag_` with parameters by maximum likelihood, made on first access.
    score_ : float
        Score of `dag_`, in nats.
    n_iter_ : int
        Moves made.
    converged_ : bool
        Whether no move was left that improves; False where `max_iter`, `max_time` or the callback ended the search.
    history_ : dict of ndarray
        ``"score"``, ``"n_edges"``, ``"seconds"`` after each move.
    edges_ : ndarray of shape (n_edges, 2), int64
        Arcs (tail, head) of `dag_` as positions in `variables_`.
    variables_ : list
        Names of the columns.
    adjacency_matrix_ : DataFrame
        Of `graph_`, made on access.
    n_features_in_, feature_names_in_ : int, ndarray
        As in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        For data that are empty, have missing or unhashable cells or duplicate columns; for unknown scores and options;
        for contradictory or cyclic knowledge; for a start graph over other variables. The message names the culprit.

    Notes
    -----
    With n variables and N rows the first step counts n²/2 pair tables, each move re-scores one child (two for a
    reversal) against n candidates; a table takes about cells · N / 512 vector operations with AVX-512.

    Under a score-equivalent score the two directions of the first arc between two variables tie exactly. Such ties go
    to the head, then the tail, that stands first in one permutation of the variables: those with more partners
    (variables that gain as their only parent) first, `random_state` drawing the order among equals.

    Memory beside the data, with S states in all: N n bytes of codes, N S / 8 of bit planes, 8 n² of gains, 4 (S - n)²
    of pair counts (left out above 256 MB), at most 64 MB of counts kept between moves, and scratch for one child that
    grows with its cells, mostly far below 64 MB.

    Differences from pgmpy 1.1.2:

    - Integer and boolean columns are states; pgmpy scores them as Gaussian. Discrete scores refuse floats.
    - K2 and BDeu follow their formulas where pgmpy departs from them (states and configurations that never occur).
    - Ties are decided by `random_state`, pgmpy's by the hash seed.
    - The tabu list is emptied at a local optimum, see `tabu_length`.
    - Required edges, the temporal order and forbidden directions stay directed in the PDAG, and the knowledge object is
      not changed; contradictory knowledge is an error.
    - A variable with one state gets no edges.
    - A score made from other data is refused.
    - ``score`` takes scikit-learn's `y` second: give `true_graph` by keyword.

    References
    ----------
    .. [1] Koller, D. and Friedman, N. (2009). Probabilistic Graphical Models, section 18.4.3.
    .. [2] Meek, C. (1995). Causal inference and causal explanation with background knowledge. UAI, 403-410.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> search = HillClimbSearch(scoring_method="bic", return_type="dag").fit(data)
    >>> sorted(sorted(edge) for edge in search.graph_.edges())
    [['rain', 'wet']]
    >>> search.model_.check_model()
    True
    """

    _parameter_constraints = {
        "scoring_method": [str, BaseStructureScore, None],
        "start_dag": [nx.DiGraph, None],
        "tabu_length": [Interval(Integral, 0, None, closed="left")],
        "max_indegree": [Interval(Integral, 0, None, closed="left"), Options(Real, {inf}), None],
        "expert_knowledge": "no_validation",  # judged by constraints_from_knowledge
        "return_type": [str],  # any case, judged by _check_return_type
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Real, 0, None, closed="left")],
        "show_progress": ["boolean"],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "state_names": [dict, None],
        "missing": [StrOptions({"error", "drop"})],
        "callback": [callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        data=None,
        *,
        scoring_method=None,
        start_dag=None,
        tabu_length=100,
        max_indegree=None,
        expert_knowledge=None,
        return_type="pdag",
        epsilon=1e-4,
        max_iter=1_000_000,
        show_progress=True,
        patience=0,
        max_time=None,
        state_names=None,
        missing="error",
        callback=None,
        n_jobs=None,
        random_state=0,
    ):
        self.data = data
        self.scoring_method = scoring_method
        self.start_dag = start_dag
        self.tabu_length = tabu_length
        self.max_indegree = max_indegree
        self.expert_knowledge = expert_knowledge
        self.return_type = return_type
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.show_progress = show_progress
        self.patience = patience
        self.max_time = max_time
        self.state_names = state_names
        self.missing = missing
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- learning ----

    def _fit(self, opened: Frame | DiscreteTable):
        began = perf_counter()
        self._check_return_type()
        scoring = resolve_scoring(
            self.scoring_method, opened, state_names=self.state_names, missing=self.missing, n_jobs=self.n_jobs
        )
        names = scoring.names
        n = len(names)
        limits = self._limits(n)
        constraints = constraints_from_knowledge(self.expert_knowledge, names)
        start = self._start_edges(names, constraints, limits.max_indegree)
        with ProgressBar(self.show_progress and config.SHOW_PROGRESS, self.callback) as watcher:
            result = hill_climb(
                scoring.gains(
                    allowed=constraints.allowed,
                    max_indegree=limits.max_indegree,
                    deadline=inf if self.max_time is None else began + self.max_time,
                    n_jobs=self.n_jobs,
                ),
                n,
                limits,
                priority=lambda gains: partners_first(gains, random_permutation(n, self.random_state)),
                start=start,
                required=constraints.required,
                bonus=scoring.bonus,
                offset=scoring.prior(start),
                callback=watcher.callback,
                began=began,
            )
        self._set_graph(scoring, constraints, result.edges)
        self.score_ = result.score
        self.n_iter_ = result.n_iter
        self.converged_ = result.converged
        self.history_ = result.history

    def _limits(self, n: int) -> ClimbLimits:
        return ClimbLimits(
            epsilon=float(self.epsilon),
            max_iter=inf if self.max_iter == inf else int(self.max_iter),
            max_time=self.max_time,
            max_indegree=n if self.max_indegree is None else int(min(self.max_indegree, n)),
            tabu_length=int(min(self.tabu_length, LONGEST_TABU)),
            patience=int(self.patience),
        )

    def _start_edges(self, names: list, constraints: EdgeConstraints, max_indegree: int) -> np.ndarray:
        """Return the start graph with required edges put in and forbidden ones taken out."""
        ids = {name: i for i, name in enumerate(names)}
        n_required = np.bincount(constraints.required[:, 1], minlength=len(names))
        crowded = int(np.argmax(n_required))
        if n_required[crowded] > max_indegree:
            raise ValueError(
                f"{names[crowded]!r} has {n_required[crowded]} required parents, but max_indegree={max_indegree}: "
                "raise max_indegree, or require fewer edges"
            )
        edges: dict[tuple[int, int], None] = {}
        if self.start_dag is not None:
            odd = set(self.start_dag.nodes) ^ set(names)
            if odd:
                shown = ", ".join(sorted(map(repr, odd))[:5])
                raise ValueError(
                    f"start_dag and the data must have the same variables, but {shown} stand in one of them only: add "
                    "the missing nodes with start_dag.add_nodes_from, or drop the extra ones"
                )
            edges = dict.fromkeys((ids[tail], ids[head]) for tail, head in self.start_dag.edges)
        edges.update(dict.fromkeys((tail, head) for tail, head in constraints.required.tolist()))
        cycle = find_cycle(len(names), list(edges))
        if cycle is not None:
            path = " -> ".join(repr(names[v]) for v in [*cycle, cycle[0]])
            raise ValueError(f"start_dag with the required edges has the cycle {path}: take out one of these edges")
        kept = [(tail, head) for tail, head in edges if constraints.allows(tail, head)]
        return np.array(kept, dtype=np.int64).reshape(-1, 2)

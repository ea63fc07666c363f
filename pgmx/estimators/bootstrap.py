"""Edge confidence (bootstrap): one learner on many resamples of the rows."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import closing
from functools import partial
from math import inf
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy.base import DAG, PDAG

from pgmx.checks import count_workers
from pgmx.data import DiscreteTable, Frame, NumericTable
from pgmx.data.weights import Interventions
from pgmx.estimators.base import BaseStructureLearner, Interval, config, random_draws
from pgmx.estimators.bayesian.dag_learner import (
    InputTable,
    InterventionLearner,
    InterventionScorer,
    NetworkResults,
    read_parameter_prior,
)
from pgmx.estimators.bayesian.hill_climb import HillClimbSearch
from pgmx.estimators.cost import LearningCost
from pgmx.estimators.resampler import Resampler, bind_score, make_shared_table
from pgmx.graphs.consensus import Marks, average_edges, count_pairs, estimate_threshold
from pgmx.graphs.cycles import find_cycle
from pgmx.graphs.extension import extend_to_dag
from pgmx.models import ConditionalGaussianNetwork, to_dag, to_pdag
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.models.bayesian.strengths import make_direction_matrix, make_strength_matrix, make_strength_table
from pgmx.parallel.tasks import run_tasks
from pgmx.runs.checkpoint import RUN_OPTIONS, Checkpoint, Snapshot, open_checkpoint
from pgmx.runs.progress import ProgressBar, ResamplingProgress
from pgmx.runs.run import Run, is_past
from pgmx.scores.binding.discrete import DiscreteScoring
from pgmx.scores.binding.scoring import StoredScoring
from pgmx.statistics.moments import sum_moments

if TYPE_CHECKING:
    import pandas as pd


#: Number of values of a resample above which a learner with a compiled score spends nearly all time in kernels.
LONG_RESAMPLE = 1 << 20

#: Types of graphs, and whether their edges may be directed or undirected.
_KINDS = {"dag": (True, False), "pdag": (True, True), "graph": (False, True)}

Graph = tuple[str, Marks]


class BootstrapStructure(InterventionScorer):
    r"""Edge confidence by bootstrap: a learner is run on resamples of the rows, and the graphs are compared.

    Resample b draws N of the N rows with replacement and gives a graph :math:`G_b`. The strength of a pair and the
    probability of a direction are

    .. math::

        p(u - v) = \frac1B \sum_b [u, v \text{ joined in } G_b], \qquad
        p(u \to v) = \frac{\sum_b [u \to v \text{ in } G_b] + \frac12 [u - v \text{ undirected in } G_b]}
                          {\sum_b [u, v \text{ joined in } G_b]}.

    Parameters
    ----------
    estimator : BaseStructureLearner, default=None
        The learner with its options. It is cloned and never changed. The default is ``HillClimbSearch()``. An
        undirected edge of a PDAG counts half for each direction. The learner's progress bar is switched off, and a
        `random_state` of None is replaced by a seed for each resample.
    n_resamples : int, default=100
        Number of resamples B.
    max_time : float, default=None
        Time limit in seconds, after which no new resample starts. The results use the finished resamples, at least one.
    checkpoint : path-like, default=None
        File with the graphs of the finished resamples. If it exists, ``fit`` resumes from it, also with a larger
        `n_resamples`. It is deleted at the end. The checkpoint of the learner is not used.
    checkpoint_every : float, default=60.0
        Seconds between two snapshots. 0 writes one per resample.
    show_progress : bool, default=True
        Whether runs of more than one second show a progress bar. ``pgmpy.config.SHOW_PROGRESS`` can switch it off too.
    callback : callable, default=None
        Called with (n_iter, seconds) after each resample. True ends the run. Its own time is not counted.
    n_jobs : int, default=None
        Number of simultaneous resamples, through joblib. The result does not depend on it or on the backend.
    random_state : int, RandomState, Generator or None, default=0
        Seed or generator. Draw k of resample b is a function of (random_state, b, k), see the Notes. From a generator,
        a seed is drawn first.

    Attributes
    ----------
    graph_ : pgmpy.base.PDAG, pgmpy.base.DAG or networkx.Graph
        ``consensus_graph()``, of the same type as the learner's graphs. `causal_graph_` is the same object.
    dag_ : pgmpy.base.DAG
        `graph_` with its undirected edges directed, without new v-structures if possible [3]_.
    model_ : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork
        The network of `dag_`, made on first access. Its parameters are estimated from all rows, by maximum likelihood
        or with the prior of the learner.
    threshold_ : float
        Smallest strength of a significant edge, estimated after Scutari and Nagarajan [2]_.
    strengths_ : DataFrame
        ``from``, ``to``, ``strength``, ``direction`` of each pair joined in at least one resample, strongest first, in
        its more frequent direction.
    edge_probability_ : DataFrame
        Strengths of all pairs as a symmetric matrix, made on access, for at most 4,000 variables.
    direction_probability_ : DataFrame
        Share of u → v among the graphs that join u and v, in row u and column v; NaN if no graph joins them. Made on
        access, for at most 4,000 variables.
    pairs_ : ndarray of shape (n_pairs, 2), int64
        The pairs (u, v), u < v, joined in at least one resample, as positions in `variables_`.
    pair_counts_ : ndarray of shape (n_pairs, 3), int64
        Numbers of resamples in which the edge is u → v, v → u, and undirected.
    n_resamples_ : int
        Number of finished resamples.
    converged_, stopped_by_ : bool, str
        Whether all resamples were finished, and why the run ended: ``"converged"``, ``"max_time"``, ``"callback"`` or
        ``"interrupt"``.
    edges_ : ndarray of shape (n_edges, 2), int64
        Edges (tail, head) of `dag_`, or edges of an undirected graph, as positions in `variables_`.
    variables_, adjacency_matrix_ : list, DataFrame
        Names of the columns, and the adjacency matrix of `graph_`, made on access.
    n_features_in_, feature_names_in_ : int, ndarray
        Number and names of the columns, as in scikit-learn.

    Raises
    ------
    ValueError, TypeError
        If an option is out of range, or the learner does not accept the data. The message names the cause.

    Notes
    -----
    The table is coded once. A resample costs about one run of the learner. With `sample_weight` the rows are drawn in
    proportion to the weights, and the number of draws is the sum of the weights. Integer weights give the same result
    as repeated rows.

    Draws are counter-based. Let u_k be the k-th value of ``numpy.random.Philox(key=[random_state, b])``, cut to 53 bits
    and divided by 2⁵³. Draw k of resample b is the row ⌊u_k N⌋. With weights, it is the row whose interval of the
    cumulative weights contains u_k times their sum. Therefore the workers of a :class:`~pgmx.data.DistributedTable`
    draw their own rows, and the resamples do not depend on the partitions. If the sum of the weights is more than four
    times the number of rows, all counts are drawn at once from the multinomial distribution. For a distributed table
    the driver then sends the counts of all rows; it also does so for a score object that holds its rows.

    If no backend is set (``joblib.parallel_config``), large problems run in threads, and many short problems in
    processes. On a cluster (``parallel_config(backend="dask")``, the extra ``[cluster]``) a worker that dies is
    replaced and its resamples run again. Four deaths are an error. A table above 1 MB is sent as the path of a plane
    file. Use a file that all machines can read (:func:`pgmx.data.write_table`), or set the environment variable
    ``JOBLIB_TEMP_FOLDER`` to such a folder.

    References
    ----------
    .. [1] Friedman, N., Goldszmidt, M. and Wyner, A. (1999). Data analysis with Bayesian networks: a bootstrap
       approach. UAI, 196-205, section 3.
    .. [2] Scutari, M. and Nagarajan, R. (2013). Identifying significant edges in graphical models of molecular
       networks. Artificial Intelligence in Medicine 57, 207-217, equations 8-11.
    .. [3] Dor, D. and Tarsi, M. (1992). A simple algorithm to construct a consistent extension of a partially oriented
       graph. Technical report R-185, University of California, Los Angeles.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.integers(0, 2, 500)
    >>> wet = np.where(rng.random(500) < 0.9, rain, 1 - rain)
    >>> data = pd.DataFrame({"rain": rain, "wet": wet, "coin": rng.integers(0, 2, 500)})
    >>> boot = BootstrapStructure(HillClimbSearch(scoring_method="bic"), n_resamples=20).fit(data)
    >>> float(boot.edge_probability_.loc["rain", "wet"])
    1.0
    >>> sorted(sorted(edge) for edge in boot.dag_.edges())
    [['rain', 'wet']]
    """

    pairs_: np.ndarray
    pair_counts_: np.ndarray
    n_resamples_: int
    converged_: bool
    stopped_by_: str
    threshold_: float

    _tags = {"name": "bootstrap_structure"}

    _parameter_constraints: dict[str, Any] = {
        "estimator": [BaseStructureLearner, None],
        "n_resamples": [Interval(Integral, 1, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="left"), None],
        "checkpoint": [str, Path, None],
        "checkpoint_every": [Interval(Real, 0, None, closed="left")],
        "show_progress": ["boolean"],
        "callback": [callable, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        estimator: BaseStructureLearner | None = None,
        *,
        n_resamples: int = 100,
        max_time: float | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 60.0,
        show_progress: bool = True,
        callback: Callable[[ResamplingProgress], object] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | np.random.Generator | None = 0,
    ) -> None:
        self.estimator = estimator
        self.n_resamples = n_resamples
        self.max_time = max_time
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every
        self.show_progress = show_progress
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---- options of the estimator ----

    @property
    def data(self) -> Any:
        """The data of the estimator, used by ``estimate()``."""
        return getattr(self.estimator, "data", None)

    @property
    def state_names(self) -> dict | None:  # type: ignore[override]  # the estimator holds it
        """States declared in the estimator."""
        return getattr(self.estimator, "state_names", None)

    @property
    def interventions(self) -> Hashable | None:  # type: ignore[override]  # the estimator holds it
        """The estimator's column of interventions."""
        return getattr(self.estimator, "interventions", None)

    @property
    def missing(self) -> str:  # type: ignore[override]  # the estimator holds it
        """The estimator's treatment of missing values."""
        return getattr(self.estimator, "missing", "error")

    @property
    def na_values(self) -> Any:
        """The estimator's additional markers of missing values in files."""
        return getattr(self.estimator, "na_values", None)

    @property
    def discrete_columns(self) -> Sequence[Hashable] | None:  # type: ignore[override]  # the estimator holds it
        """Columns declared discrete in the estimator."""
        return getattr(self.estimator, "discrete_columns", None)

    # ---- learning ----

    def estimate_cost(self, X: Any) -> LearningCost:
        """Estimate the memory required for all resamples.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable or path
            The data. Iterators are not accepted, because reading would exhaust them.

        Returns
        -------
        LearningCost
            Bytes of the table, which workers share, and of all simultaneous workers.
        """
        learner: Any = HillClimbSearch() if self.estimator is None else self.estimator
        return learner.estimate_cost(X).multiply(min(count_workers(self.n_jobs), self.n_resamples))

    def _reads_continuous(self, opened: Any) -> bool:
        return (HillClimbSearch() if self.estimator is None else self.estimator)._reads_continuous(opened)

    def _fit(self, opened: InputTable, sample_weight: ArrayLike | None) -> Run:
        show, name = self.show_progress and config.SHOW_PROGRESS, type(self).__name__
        bar = ProgressBar(show, self.callback, name, unit="resamples", figure=None, total=self.n_resamples)
        run = Run(ResamplingProgress, max_time=self.max_time, callback=bar.callback, start=self._start)
        learner = HillClimbSearch() if self.estimator is None else self.estimator
        data, weights = make_shared_table(learner, opened, sample_weight, self.n_jobs)
        names = list(data.columns if isinstance(data, DiscreteTable) else data.names)
        # check the data here, on all rows, not on the rows of one resample
        interventions = self._read_rows_set(learner, opened, data)
        scoring = None
        if isinstance(learner, NetworkResults):
            scoring = bind_score(learner, data, weights, self.n_jobs, interventions)
        seed = self.random_state if isinstance(self.random_state, Integral) else random_draws(1, self.random_state)[1]
        resampler = Resampler.from_learner(learner, data.n_rows, weights, int(seed), interventions)
        if self.checkpoint is not None:
            run.checkpoint = self._open_checkpoint(resampler, data)
        with bar:
            results = self._resample(resampler, data, run, isinstance(scoring, DiscreteScoring))
        if not results:
            run.raise_error()
        self._counts = count_pairs(len(names), [marks for _, marks in results])
        self._scoring, self._has_model = StoredScoring(scoring), scoring is not None
        self._names, self._kind, self._results = names, results[0][0], {}
        self._prior = read_parameter_prior(learner)
        self.pairs_, self.pair_counts_ = self._counts.pairs, self._counts.counts
        self.n_resamples_ = len(results)
        self.converged_ = len(results) == self.n_resamples and not run.is_over()
        self.stopped_by_ = run.conclude(self.converged_, "max_time")
        self.threshold_ = estimate_threshold(self._counts)
        marks = average_edges(self._counts, self.threshold_)
        # edges that are frequent in different graphs may form a cycle together
        self.edges_ = marks.undirected if self._kind == "graph" else extend_to_dag(len(names), marks)
        return run

    def _read_rows_set(self, learner: Any, opened: InputTable, data: InputTable) -> Interventions | None:
        """Return the interventions of the rows that resamples share; raise ValueError if they cannot be resampled."""
        interventions = self._interventions
        if interventions is None:
            return None
        if not isinstance(learner, InterventionLearner):
            raise ValueError(f"{type(learner).__name__} does not support interventions: leave them out")
        if data.is_remote:
            raise ValueError("rows with interventions cannot be drawn by workers: give the rows in memory")
        if interventions.n_rows == data.n_rows or not isinstance(opened, Frame):
            return interventions
        return interventions.take(opened.complete_mask())  # the other rows were dropped

    def _open_checkpoint(self, resampler: Resampler, data: InputTable) -> Checkpoint:
        """Return the checkpoint. A resample depends on its index, not on `n_resamples`."""
        options = resampler.learner.get_params(deep=False).items()
        decisive = {name: value for name, value in options if name not in RUN_OPTIONS}
        rows = _summarise_rows(data)
        names = list(data.columns if isinstance(data, DiscreteTable) else data.names)
        estimator = [type(resampler.learner).__name__, decisive]
        # resuming may ask for more resamples
        resolved = {"random_state": resampler.seed, "n_resamples": None, "estimator": estimator}
        found = resampler.interventions
        own = [] if found is None else [found.targets, found.set_of_row]
        return open_checkpoint(self, names, rows, resampler.weights, *own, **resolved)

    def _resample(self, resampler: Resampler, data: InputTable, run: Run, is_compiled: bool) -> list[Graph]:
        """Return the type of graph and the edges of each resample, in order."""
        snapshot = run.restore()
        n = len(data.columns if isinstance(data, DiscreteTable) else data.names)
        done = {} if snapshot is None else read_graphs(snapshot, n)
        cut: dict[int, Graph] = {}
        due = [number for number in range(self.n_resamples) if number not in done]
        task = partial(_run_numbered, resampler, due)
        # rows on the workers of a cluster cannot be sent; all workers count for each resample
        n_jobs = 1 if isinstance(data, NumericTable) else self.n_jobs
        is_long = is_compiled and isinstance(data, DiscreteTable) and data.n_rows * n > LONG_RESAMPLE
        results = run_tasks(task, data, len(due), n_jobs=n_jobs, deadline=run.wall_deadline, at_once=is_long)
        with closing(results):
            try:
                for k, (graph, is_whole) in results:
                    # a search that the time limit ended is neither counted nor stored
                    (done if is_whole else cut)[due[k]] = graph
                    run.record(n_iter=len(done))
                    if run.is_stopped_by_user():
                        break
                    if run.is_snapshot_due():
                        run.save(pack_graphs(done))
            except (Exception, KeyboardInterrupt) as error:  # error in one resample: the results of the others are kept
                run.interrupt(error)
        if done and len(done) < self.n_resamples:
            run.save(pack_graphs(done))
        if not done and cut:
            self._warn_of_time("the edges are those of one resample, whose search was interrupted")
            return [cut[min(cut)]]
        # a checkpoint may hold more resamples than this call asks for
        return [done[number] for number in sorted(done)[: self.n_resamples]]

    # ---- results ----

    def consensus_graph(self, threshold: float | None = None) -> DAG | PDAG | nx.Graph:
        """Return the averaged graph: the edges with enough strength, in their more frequent direction.

        Parameters
        ----------
        threshold : float, default=None
            Smallest strength of an edge in the graph, between 0 and 1. The default is `threshold_`.

        Returns
        -------
        pgmpy.base.PDAG, pgmpy.base.DAG or networkx.Graph
            A graph of the same type as the learner's graphs. An edge has the direction with a probability above 1/2. If
            both probabilities are 1/2, the edge is undirected in a PDAG, and directed as in `dag_` in a DAG. On a
            cycle, the edges in the fewest resamples are removed.

        Raises
        ------
        ValueError
            If `threshold` is not between 0 and 1.
        """
        self._require_fit()
        if threshold is None:
            threshold = self.threshold_
        if not isinstance(threshold, Real) or not 0 <= float(threshold) <= 1:
            raise ValueError(f"threshold must be a share of resamples, between 0 and 1, got {threshold!r}")
        marks = average_edges(self._counts, float(threshold))
        if self._kind == "graph":
            graph = nx.Graph()
            graph.add_nodes_from(self._names)
            graph.add_edges_from((self._names[u], self._names[v]) for u, v in marks.undirected.tolist())
            return graph
        if self._kind == "pdag":
            return to_pdag(self._names, marks.directed.tolist(), marks.undirected.tolist())
        return to_dag(self._names, extend_to_dag(len(self._names), marks).tolist())

    @property
    def graph_(self) -> DAG | PDAG | nx.Graph:
        """The consensus graph at `threshold_`."""
        return self._make_once("graph", self.consensus_graph)

    @property
    def dag_(self) -> DAG:
        """The consensus graph with all edges directed."""
        self._require_directed("dag_")
        return super().dag_

    def _make_model(
        self, prior: dict[str, float]
    ) -> DiscreteBayesianNetwork | LinearGaussianBayesianNetwork | ConditionalGaussianNetwork:
        self._require_directed("model_")
        return super()._make_model(prior)

    def _require_directed(self, attribute: str) -> None:
        self._require_fit()
        if self._kind == "graph" or (attribute == "model_" and not self._has_model):
            raise AttributeError(f"there is no {attribute}: {type(self.estimator).__name__} does not return a network")

    @property
    def strengths_(self) -> "pd.DataFrame":
        """One row for each pair joined in at least one resample, strongest first."""
        return self._make_once("strengths", lambda: make_strength_table(self._names, self._counts))

    @property
    def edge_probability_(self) -> "pd.DataFrame":
        """Share of the resamples that join each pair, as a symmetric matrix, made on each access."""
        self._require_fit()
        return make_strength_matrix(self._names, self._counts)

    @property
    def direction_probability_(self) -> "pd.DataFrame":
        """Share of u → v among the resamples that join u and v, in row u and column v, made on each access."""
        self._require_fit()
        return make_direction_matrix(self._names, self._counts)


def _summarise_rows(data: InputTable) -> Any:
    """Return a value that identifies the rows of a table."""
    if isinstance(data, NumericTable):  # distributed: its moments identify the rows
        sums = sum_moments(data)
        return [sums.n, sums.mean, sums.cross]
    return [data.states, data.identify_rows()] if isinstance(data, DiscreteTable) else data.to_pandas()


def _run_numbered(resampler: Resampler, numbers: list[int], data: InputTable, k: int) -> tuple[Graph, bool]:
    """Run the k-th of some resamples, the task of a worker, and return whether it ended in time."""
    graph = resampler(data, numbers[k])
    return graph, not is_past(inf)


# ---- graphs of finished resamples in a checkpoint ----


def pack_graphs(graphs: dict[int, Graph]) -> dict[str, Any]:
    """Return the graphs of some resamples, by index, as integers, strings and arrays."""
    marks = [of_one for _, of_one in graphs.values()]
    return {
        "numbers": np.array(list(graphs), dtype=np.int64),
        "kind": next((kind for kind, _ in graphs.values()), ""),
        "sizes": np.array([[len(part) for part in of_one] for of_one in marks], dtype=np.int64).reshape(-1, 2),
        "edges": np.concatenate([np.empty((0, 2), dtype=np.int32), *(part for of_one in marks for part in of_one)]),
    }


def read_graphs(snapshot: Snapshot, n: int) -> dict[int, Graph]:
    """Return the graphs over `n` variables that `pack_graphs` stored in a snapshot."""
    snapshot.check_names(("numbers", "kind", "sizes", "edges"))
    numbers = snapshot.array("numbers", np.int64, (None,), least=0, distinct=True).tolist()
    kind = str(snapshot.value("kind"))
    snapshot.check(kind in _KINDS, f"graphs of an unknown kind ({kind[:20]!r})")
    edges = snapshot.array("edges", np.int32, (None, 2), least=0, most=n - 1)
    sizes = snapshot.array("sizes", np.int64, (len(numbers), 2), least=0, most=len(edges))
    snapshot.check(sizes.sum() == len(edges), "numbers of edges that do not match its edges")
    has_edges = sizes.sum(axis=0) > 0
    snapshot.check((np.array(_KINDS[kind]) | ~has_edges).all(), f"edges that a {kind} cannot have")
    parts = np.split(edges, np.cumsum(sizes.ravel())[:-1])
    graphs = {number: (kind, Marks(*parts[2 * k : 2 * k + 2])) for k, number in enumerate(numbers)}
    for _, marks in graphs.values():
        pairs = np.sort(np.concatenate(marks), axis=1)
        snapshot.check((pairs[:, 0] != pairs[:, 1]).all(), "an edge from a variable to itself")
        snapshot.check(len(np.unique(pairs, axis=0)) == len(pairs), "a pair that is joined twice")
        snapshot.check(find_cycle(n, marks.directed.tolist()) is None, "a cycle")
    return graphs

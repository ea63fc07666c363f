"""Questions to a Markov network, answered from its potentials by :mod:`pgmx.inference`; nothing here imports pgmpy."""

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgmx.checks import DEFAULT_SEED, choose_seed
from pgmx.inference import (
    InferenceCost,
    LogPartition,
    MapAssignment,
    Marginals,
    PairwisePotentials,
    estimate_cost,
    log_partition,
    map_assignment,
    marginals,
    sample,
)
from pgmx.inference.approximate.markov_rows import MarkovRows
from pgmx.inference.networks import log_sum_exp
from pgmx.inference.partition import compute_shares
from pgmx.inference.problem import Problem, check_memory, check_method
from pgmx.models.discrete_rows import compute_logs, fill_rows, list_shares
from pgmx.models.distributed_rows import average_answers, let_workers_answer
from pgmx.models.rows import CodedRows, DiscreteRows, read_discrete_rows

# ---- scaling: Z = 1 ----


class Scaling(NamedTuple):
    """The shifts that are subtracted from the log-potentials so that Z = 1.

    The shifts, one per variable and then one per edge, shape (n + m,), sum to `log_partition`, in nats.
    """

    shifts: np.ndarray
    log_partition: LogPartition


def measure_strengths(potentials: PairwisePotentials) -> np.ndarray:
    """Return the Frobenius norm of each edge's table with the means of its rows and columns removed, shape (m,).

    It is zero if the table is a sum of two functions of one variable each, and infinite if a pair of states is
    impossible.
    """
    strengths = np.empty(potentials.n_edges)
    for edges, tables in _stack_tables(potentials):
        possible = np.all(np.isfinite(tables), axis=(1, 2))
        centred = np.where(possible[:, None, None], tables, 0.0)
        # squares of numbers above 1e154 overflow; division by a power of two is exact
        unit = np.where(np.abs(centred).max(axis=(1, 2), keepdims=True) > 1e150, 2.0**600, 1.0)
        centred /= unit
        centred -= centred.mean(axis=1, keepdims=True)
        centred -= centred.mean(axis=2, keepdims=True)
        with np.errstate(over="ignore"):  # infinite only if the strength exceeds the largest float
            strengths[edges] = np.where(possible, np.sqrt((centred**2).sum(axis=(1, 2))) * unit[:, 0, 0], np.inf)
    return strengths


def _stack_tables(potentials: PairwisePotentials) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the positions of the edges whose tables have the same shape, and these tables as one array."""
    shapes = potentials.cardinalities[potentials.edges]
    for shape in np.unique(shapes, axis=0).tolist():
        edges = np.flatnonzero((shapes == shape).all(axis=1))
        cells = potentials.edge_offsets[edges, None] + np.arange(shape[0] * shape[1])
        yield edges, potentials.edge_values[cells].reshape(-1, *shape)


def compute_scaling(problem: Problem) -> Scaling:
    """Compute the log-partition of a pairwise network and distribute it over variables and edges.

    First the table of each variable is scaled to the sum 1, and the table of each edge to the mean 1. The rest is
    divided equally among the variables of each connected component. Products of factors then do not overflow.
    """
    potentials = problem.pairwise
    n = potentials.n_variables
    shifts = np.empty(n + potentials.n_edges)
    shifts[:n] = [log_sum_exp(potentials.node(v)) for v in range(n)]
    for edges, tables in _stack_tables(potentials):
        flat = tables.reshape(len(edges), -1)
        shifts[n + edges] = log_sum_exp(flat) - np.log(flat.shape[1])
    # Tables without a possible cell are left as they are.
    shifts[shifts == -np.inf] = 0.0
    labels, n_components = _label_components(potentials)
    with problem.name_evidence():
        log_partition, shares = compute_shares(problem, {}, "auto", check_memory(None), {})
    totals = np.bincount(labels, shares[:-1] + _read_settled(potentials), n_components)
    edge_labels = labels[potentials.edges[:, 0]]
    known = np.bincount(labels, shifts[:n], n_components) + np.bincount(edge_labels, shifts[n:], n_components)
    shifts[:n] += ((totals - known) / np.bincount(labels, minlength=n_components))[labels]
    return Scaling(shifts, log_partition)


def _label_components(potentials: PairwisePotentials) -> tuple[np.ndarray, int]:
    """Return the connected component of each variable, and the number of components."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, (first, second) = potentials.n_variables, potentials.edges.T
    n_components, labels = connected_components(coo_array((np.ones(len(first)), (first, second)), shape=(n, n)), False)
    return labels, n_components


def _read_settled(potentials: PairwisePotentials) -> np.ndarray:
    """Return the log-partition terms of tables whose variables have one state, at their first variable, (n,)."""
    settled = potentials.cardinalities == 1
    shares = np.zeros(potentials.n_variables)
    shares[settled] = potentials.node_values[potentials.node_offsets[:-1][settled]]
    edges = settled[potentials.edges].all(axis=1)
    np.add.at(shares, potentials.edges[edges, 0], potentials.edge_values[potentials.edge_offsets[:-1][edges]])
    return shares


def scale_potentials(potentials: PairwisePotentials, shifts: np.ndarray) -> PairwisePotentials:
    """Return the log-potentials minus the shifts of a `Scaling`."""
    n, node_cells = potentials.n_variables, np.diff(potentials.node_offsets)
    nodes = potentials.node_values - np.repeat(shifts[:n], node_cells)
    edges = potentials.edge_values - np.repeat(shifts[n:], np.diff(potentials.edge_offsets))
    return PairwisePotentials(potentials.cardinalities, nodes, potentials.edges, edges)


# ---- answers per row, which workers of a cluster compute ----


class MarkovRowQueries:
    """Mixin of a network with `inference_problem()`, a log-partition and a dictionary of results."""

    _cache: dict[str, Any]

    @abstractmethod
    def inference_problem(self) -> Problem:
        """Return the network in the form for :mod:`pgmx.inference`."""

    @property
    @abstractmethod
    def log_partition_(self) -> float:
        """Log-partition of the potentials in nats."""

    @abstractmethod
    def without_graph(self, question: str) -> Any:
        """Return an object that has only arrays and the row-wise methods of the network."""

    def read_rows(self, rows: Any) -> CodedRows:
        """Return rows in the codes of the network; columns may be absent, values may be missing."""
        return read_discrete_rows(rows, self.inference_problem(), allow_missing=True)

    def _require_parameters(self) -> None:
        """Do nothing: a network has its potentials."""

    def list_states(self) -> Mapping[Hashable, Sequence]:
        """Return the states of all variables, by name."""
        problem = self.inference_problem()
        return dict(zip(problem.names, problem.states, strict=True))

    @let_workers_answer
    def log_likelihood(self, X) -> np.ndarray:
        """Return the log-probability of each row, in nats.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows without missing values; the columns are the variables, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Minus infinity for an impossible row. If `partition_is_exact` is false, all values share the error of
            ``log_partition_``, which is estimated by annealed importance sampling. Its ``standard_error``, ``lower``
            and ``upper`` then apply to the mean of the rows too. For a distributed table, a dask Series.

        Warns
        -----
        ApproximationWarning
            If the exact log-partition needs too much memory; the warning reports the standard error.
        """
        rows = read_discrete_rows(X, self.inference_problem())
        return self.inference_problem().pairwise.log_score(rows.codes) - self.log_partition_

    @let_workers_answer
    def pseudo_log_likelihood(self, X) -> np.ndarray:
        """Return the log-pseudolikelihood of each row: the sum of log p(one variable | all others), in nats.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows without missing values, as for `log_likelihood`.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            The log-partition is not needed. The negative mean is the NPLL of the literature. For a distributed table, a
            dask Series.
        """
        rows = read_discrete_rows(X, self.inference_problem())
        return self.inference_problem().pairwise.pseudo_log_likelihood(rows.codes)

    @let_workers_answer
    def log_evidence(self, X) -> np.ndarray:
        r"""Return the log-probability of the observed values of each row, in nats, with missing values summed out.

        .. math:: \ln p(x_o) = \ln \sum_{x_m} \exp(\mathrm{score}(x_o, x_m)) - \ln Z

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows, in which columns and values may be missing.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            `log_likelihood` for complete rows, 0 for rows without observed values, minus infinity for impossible rows.
            The sums are exact; log Z is ``log_partition_`` and may be an estimate, as in `log_likelihood`. For a
            distributed table, a dask Series.

        Raises
        ------
        ValueError
            If a column is not a variable, or a value is not among its states.
        TreewidthError
            If the sum of a row needs more than 2 GB, or the free memory if that is less; the error names the row.

        Warns
        -----
        ApproximationWarning
            If the exact log-partition needs too much memory; the warning reports the standard error.
        """
        engine = self._row_engine("exact", float(self.log_partition_))
        return compute_logs(engine, DiscreteRows(X, self.inference_problem()))

    def score(self, X, y: object = None) -> float:
        """Return the mean log-probability of the observed values of rows, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows, as for `log_evidence`.
        y : None
            Ignored; a convention of scikit-learn.

        Returns
        -------
        float
            The mean of `log_evidence`, for complete rows of `log_likelihood`; the workers of a distributed table
            compute the sums.
        """
        return average_answers(self, "log_evidence", X)

    @let_workers_answer
    def predict(self, X, *, method: str = "map", inference: str = "auto") -> pd.DataFrame:
        """Predict missing values and absent columns given the rest of the row.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows. Variables without a column and missing values are predicted.
        method : {"map", "marginal"}, default="map"
            The most probable joint configuration of the missing values of a row, or the most probable state of each
            variable.
        inference : {"auto", "exact", "loopy"}, default="auto"
            Engine for rows with many connected missing values: "exact" sums and maximises by an elimination plan,
            "loopy" uses loopy belief propagation for more than 4,096 connected configurations (much faster on wide
            networks). "auto" is "exact" if a plan needs at most 16 MB.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            The columns of `X` in their order, then absent variables in the order of the nodes, as categorical columns
            with all states declared, and with the index of `X` if it has one. Observed values are unchanged. For a
            distributed table, a dask.dataframe whose partitions the workers compute.

        Raises
        ------
        ValueError
            If a column is not a variable, a value is not among its states, or the observed values of a row are
            impossible.
        TreewidthError
            If "exact" needs more than 2 GB, or the free memory if that is less; the error names the row.

        Notes
        -----
        The missing values of a row fall into connected components given its observed values, each answered by itself.
        Rows with the same missing variables share their plans. A row has the same answer in any table.
        """
        check_method(method, ("map", "marginal"))
        problem = self.inference_problem()
        return fill_rows(problem, self._row_engine(inference), DiscreteRows(X, problem), method)

    @let_workers_answer
    def predict_proba(self, X, variables: Sequence[Hashable] | None = None, *, inference: str = "auto") -> pd.DataFrame:
        """Return the distributions of missing values given the rest of the row, for each variable separately.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path, iterator of frames, or distributed table
            Rows, in which columns and values may be missing.
        variables : sequence of hashable, optional
            Names of variables to predict from the others in every row; their values in `X` are ignored. The default is
            all variables without a column or with a missing value.
        inference : {"auto", "exact", "loopy"}, default="auto"
            The engine, as for `predict`.

        Returns
        -------
        pandas.DataFrame of float64, shape (n_samples, n_states)
            A frame with the index of `X` and two levels of columns, (variable, state). An observed state has the
            probability 1. For a distributed table, a dask.dataframe.

        Raises
        ------
        ValueError, TreewidthError
            As `predict`, and if a name is not a variable.
        """
        problem = self.inference_problem()
        return list_shares(problem, self._row_engine(inference), DiscreteRows(X, problem), variables)

    def _row_engine(self, inference: str, log_partition: float | None = None) -> MarkovRows:
        """Return the engine of rows, whose plans are kept; with the log-partition its sums are log-probabilities."""
        problem = self.inference_problem()
        of_problem, engine = self._cache.get("rows", (None, None))
        if of_problem is not problem:
            engine = MarkovRows(problem.pairwise)
            self._cache["rows"] = problem, engine
        return engine.choose(inference, log_partition)


class MarkovRowAnswers(MarkovRowQueries):
    """Potentials with the row-wise methods of a network; likelihoods need the `log_partition`."""

    def __init__(self, problem: Problem, log_partition: float | None):
        self._problem = problem
        self._log_partition = log_partition
        self._cache = {}

    def inference_problem(self) -> Problem:
        """Return the network in the form for :mod:`pgmx.inference`."""
        return self._problem

    @property
    def log_partition_(self) -> float:
        """Log-partition of the potentials in nats."""
        assert self._log_partition is not None
        return self._log_partition

    def without_graph(self, question: str) -> "MarkovRowAnswers":
        """Return the object itself."""
        return self


# ---- questions to the whole network ----


class MarkovQueries(MarkovRowQueries):
    """Mixin of a network with row-wise methods and questions about the whole distribution."""

    # ---- cost ----

    @property
    def width(self) -> int:
        """Width of the best elimination order found (variables of its largest table minus 1), without tables."""
        return self.estimate_cost().width

    def estimate_cost(self, evidence: Mapping | None = None) -> InferenceCost:
        """Estimate the cost of exact inference, before anything is allocated.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables; they are excluded.

        Returns
        -------
        InferenceCost
            Width, cells of the largest table and of all tables, and bytes.
        """
        if evidence:
            return estimate_cost(self.inference_problem(), evidence)
        if "cost" not in self._cache:
            self._cache["cost"] = estimate_cost(self.inference_problem())
        return self._cache["cost"]

    # ---- the distribution ----

    @property
    def log_partition_(self) -> LogPartition:
        """Log-partition of the potentials in nats, by which the factors are scaled; computed once."""
        return self._scaling().log_partition

    @property
    def partition_is_exact(self) -> bool:
        """Whether `log_partition_` is exact rather than an estimate by annealed importance sampling."""
        return self.log_partition_.exact

    def _scaling(self) -> Scaling:
        if "scaling" not in self._cache:
            self._cache["scaling"] = compute_scaling(self.inference_problem())
        return self._cache["scaling"]

    def log_partition(self, evidence: Mapping | None = None, *, method: str = "auto", **options) -> LogPartition:
        """Return the logarithm of the unnormalised sum over all configurations that agree with the evidence.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables.
        method : {"auto", "exact", "ais", "loopy"}, default="auto"
            See :func:`pgmx.inference.log_partition`.
        **options : dict
            Further options of that function.

        Returns
        -------
        LogPartition
            A float in nats with the attributes ``exact``, ``lower``, ``upper`` and ``standard_error``.
        """
        # The value that scales the factors, so that both agree.
        if not evidence and method == "auto" and not options:
            return self.log_partition_
        return log_partition(self.inference_problem(), evidence, method=method, **options)

    def marginals(self, evidence: Mapping | None = None, *, method: str = "auto", **options) -> Marginals:
        """Return the distribution of every unobserved variable.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables.
        method : {"auto", "exact", "corrected", "loopy", "gibbs"}, default="auto"
            "auto" is exact if a junction tree fits into 2 GB. Otherwise it warns and uses loopy belief propagation,
            corrected by Gibbs sampling.
        **options : dict
            Further options of :func:`pgmx.inference.marginals`.

        Returns
        -------
        Marginals
            A mapping from name to ``{state: probability}``. Its attributes hold the method, whether it converged, and
            an estimated error per variable.
        """
        return marginals(self.inference_problem(), evidence, method=method, **options)

    def map(self, evidence: Mapping | None = None, *, method: str = "auto", **options) -> MapAssignment:
        """Return the most probable joint configuration.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables.
        method : {"auto", "exact", "search", "loopy"}, default="auto"
            See :func:`pgmx.inference.map_assignment`.
        **options : dict
            Further options of that function.

        Returns
        -------
        MapAssignment
            A dictionary of the states of the unobserved variables, with the attributes ``log_value``, ``bound``,
            ``gap`` and ``exact``.
        """
        return map_assignment(self.inference_problem(), evidence, method=method, **options)

    # ---- rows ----

    def without_graph(self, question: str) -> MarkovRowAnswers:
        """Return the potentials with the row-wise methods of the network, without a pgmpy graph."""
        problem = self.inference_problem()
        # Only likelihoods need the log-partition, which may be slow to compute.
        partition = float(self.log_partition_) if question in ("log_likelihood", "log_evidence") else None
        return MarkovRowAnswers(Problem(problem.names, problem.states, problem.model), partition)

    def simulate(
        self,
        n_samples: int,
        evidence: Mapping | None = None,
        *,
        method: str = "auto",
        random_state: int | None = DEFAULT_SEED,
        seed: int | None = DEFAULT_SEED,
        **options,
    ) -> pd.DataFrame:
        """Draw rows from the network, given the evidence if any.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        evidence : dict of {name: state}, optional
            Observed variables; they keep their states.
        method : {"auto", "exact", "gibbs"}, default="auto"
            "exact" draws independent rows from a junction tree, "gibbs" uses Gibbs sampling. "auto" is "exact" if the
            memory suffices, else "gibbs".
        random_state : int or None, default=0
            A non-negative seed; None draws fresh entropy.
        seed : int or None, default=0
            Alias of `random_state` under pgmpy's name; do not give both.
        **options : dict
            Options of Gibbs sampling: burn_in, thinning, n_chains, n_jobs.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            Categorical columns with all states declared.

        Raises
        ------
        TypeError, ValueError
            As :func:`pgmx.inference.sample`, and if both seeds are given.
        """
        chosen = choose_seed(random_state, seed)
        problem = self.inference_problem()
        return sample(problem, n_samples, evidence=evidence, method=method, seed=chosen, **options).to_pandas()

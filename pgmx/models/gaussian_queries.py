"""Questions to a Gaussian Markov network, answered from arrays; nothing here imports pgmpy."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from pgmx.checks import DEFAULT_SEED, check_natural, choose_seed, join_names
from pgmx.data.distributed.tables import is_remote
from pgmx.models.distributed_rows import average_answers, let_workers_answer
from pgmx.models.rows import NumericRows, make_label_columns, read_numeric_evidence, read_numeric_rows
from pgmx.statistics import MarginalTransforms
from pgmx.statistics.precision import Blocks, RowPrecision, marginalize_precision

#: Partial correlations up to this size are rounding errors of zero and give no edges.
ROUNDING = 1e-12

Network = TypeVar("Network", bound="GaussianQueries")  # of Self jedi returns the base class


# ---- answers per row, which workers of a cluster compute ----


class GaussianRowQueries:
    """Mixin of a network with a precision scaled to unit diagonal, and with units and means of its variables."""

    _names: tuple
    _precision: csr_array | None
    _scaled: csr_array  # K, the precision of z = (x - mean) / units
    _units: np.ndarray  # standard deviations given all other variables
    _mean: np.ndarray
    _scale: np.ndarray
    _transforms: MarginalTransforms | None
    _cache: dict[str, Any]

    def _require_precision(self) -> csr_array:
        if self._precision is None:
            raise ValueError(
                "this network has no precision: make it with GaussianMarkovNetwork.from_precision or from_covariance"
            )
        return self._precision

    def without_graph(self, question: str) -> "GaussianRowAnswers":
        """Return an object with the arrays and the row-wise methods of the network, without a pgmpy graph."""
        return GaussianRowAnswers(self)

    def read_rows(self, rows: Any) -> NumericRows:
        """Return rows in the order of the network; columns may be absent, values may be missing."""
        return read_numeric_rows(rows, self._names, allow_missing=True)

    def _require_parameters(self) -> None:
        self._require_precision()

    def list_states(self) -> Mapping[Hashable, Sequence]:
        """Return an empty mapping: all variables are continuous."""
        return {}

    def _blocks(self) -> Blocks:
        self._require_precision()
        if "blocks" not in self._cache:
            self._cache["blocks"] = Blocks(self._scaled)
        return self._cache["blocks"]

    def _index(self, positions: Iterable[int] | None = None) -> pd.Index:
        names = list(self._names) if positions is None else [self._names[v] for v in positions]
        return pd.Index(names, tupleize_cols=False)

    def _frame(self, matrix: np.ndarray, positions: Iterable[int] | None = None) -> pd.DataFrame:
        labels = self._index(positions)
        return pd.DataFrame(matrix, index=labels, columns=labels)

    # ---- data and scores ----

    def _scores(self, values: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return z for values of some variables in the units of the data; NaN for missing values."""
        if self._transforms is not None:
            values = self._transforms.forward(positions, values)
        return (values - self._mean[positions]) / self._units[positions]

    def _values(self, scores: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return values in the units of the data for z of some variables."""
        values = self._mean[positions] + scores * self._units[positions]
        return values if self._transforms is None else self._transforms.backward(positions, values)

    # ---- predictions ----

    def predict(self, X, return_covariance: bool = False) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
        r"""Return the conditional means of missing values given the rest of the row.

        .. math:: E(x_m | x_o) = \mu_m - \Theta_{mm}^{-1} \Theta_{mo} (x_o - \mu_o)

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Any number of rows. Variables without a column and missing values are predicted. A dictionary of single
            values is one row. An array has a column for each variable, with NaN for missing values.
        return_covariance : bool, default=False
            Whether to also return the conditional covariance. All rows must then have the same missing variables, so
            that it is the same for all rows.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_missing)
            The variables with no column or with missing values, in the order of `names`, with the index of `X`.
            Observed values are unchanged. With `transforms`, medians in the units of the data. For a distributed table,
            a dask.dataframe whose partitions the workers compute.
        pandas.DataFrame of shape (n_missing, n_missing)
            Only with `return_covariance`; the covariance of the scores if there are `transforms`.

        Raises
        ------
        ValueError
            If a column is not a variable or is not numeric, or, with `return_covariance`, if rows have different
            missing variables.
        """
        self._require_precision()
        if is_remote(X) and return_covariance:  # it is the same for all rows: no value is missing
            return self.predict(X), self.predict(X.without_rows(), True)[1]
        return self._predict(X, return_covariance=return_covariance)

    @let_workers_answer
    def _predict(self, X: Any, return_covariance: bool) -> pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame]:
        rows = read_numeric_rows(X, self._names, allow_missing=True)
        missing = np.isnan(rows.values)
        wanted = np.flatnonzero(missing.any(axis=0) | ~rows.known)
        scores = self._scores(rows.values, np.arange(len(self._names)))
        scores[missing] = 0.0
        values = self._values(RowPrecision(self._scaled).fill(scores, missing)[0][:, wanted], wanted)
        values = np.where(missing[:, wanted], values, rows.values[:, wanted])
        frame = pd.DataFrame(values, index=rows.index, columns=self._index(wanted))
        if not return_covariance:
            return frame
        if not missing[:, wanted].all():
            raise ValueError(
                f"the rows have different missing values in {join_names(frame.columns)}, so that their covariances "
                "differ: predict the rows of each pattern separately"
            )
        spread = Blocks(self._scaled[wanted][:, wanted]).invert() * np.outer(self._units[wanted], self._units[wanted])
        return frame, self._frame(spread, wanted)

    def predict_proba(self, X: Any, variables: Sequence[Hashable] | None = None) -> pd.DataFrame:
        r"""Return the means and standard deviations of missing values given the rest of the row.

        .. math:: \mathrm{sd}(x_v | x_o) = \sqrt{(\Theta_{mm}^{-1})_{vv}}

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows, as for `predict`.
        variables : sequence of hashable, optional
            Names of variables to predict from the others in every row; their values in `X` are ignored. The default is
            all variables without a column or with missing values.

        Returns
        -------
        pandas.DataFrame
            Columns (variable, "mean") and (variable, "std") in the order of `names`, with the index of `X`. Observed
            values have their value and standard deviation 0. For a distributed table, a dask.dataframe.

        Raises
        ------
        ValueError
            As `predict`, if a name is not a variable, or if the network has `transforms`: in the units of the data the
            distributions are then not normal.
        """
        self._require_precision()
        if self._transforms is not None:
            raise ValueError(
                "predict_proba is not supported for a network with transforms, whose distributions are not normal in "
                "the units of the data: predict() gives medians"
            )
        chosen = None
        if variables is not None:
            place = {name: v for v, name in enumerate(self._names)}
            names = [variables] if isinstance(variables, str) else list(variables)
            unknown = [name for name in names if name not in place]
            if unknown or not names:
                raise ValueError(
                    f"variables must be one or more names of the network, got {join_names(unknown) or names}: it has "
                    f"{join_names(self._names)}"
                )
            chosen = sorted({place[name] for name in names})
        return self._predict_proba(X, chosen=chosen)

    @let_workers_answer
    def _predict_proba(self, X: Any, chosen: list[int] | None) -> pd.DataFrame:
        rows = read_numeric_rows(X, self._names, allow_missing=True)
        values = rows.values.copy()
        if chosen is not None:
            values[:, chosen] = np.nan
        missing = np.isnan(values)
        wanted = np.flatnonzero(missing.any(axis=0) | ~rows.known) if chosen is None else np.array(chosen)
        positions = np.arange(len(self._names))
        scores = self._scores(values, positions)
        scores[missing] = 0.0
        filled, _, variances = RowPrecision(self._scaled).fill(scores, missing, variances=True)
        means = np.where(missing, self._values(filled, positions), values)[:, wanted]
        deviations = (np.sqrt(variances) * self._units)[:, wanted]
        figures = np.stack([means, deviations], axis=2).reshape(len(means), 2 * len(wanted))
        columns = make_label_columns([self._names[v] for v in wanted.tolist()], [("mean", "std")] * len(wanted))
        return pd.DataFrame(figures, index=rows.index, columns=columns)

    # ---- likelihoods ----

    @let_workers_answer
    def log_likelihood(self, X) -> np.ndarray:
        """Return the log-density of each row, in nats.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows without missing values; the columns are the variables, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            With `transforms`, the log-density of the normal scores of the row, without the derivatives of the maps. For
            a distributed table, a dask Series.

        Raises
        ------
        ValueError
            If columns are absent or unknown, or values are missing or not numeric.
        """
        self._require_precision()
        rows = read_numeric_rows(X, self._names)
        return self._log_densities(self._scores(rows.values, np.arange(len(self._names))))

    @let_workers_answer
    def log_evidence(self, X) -> np.ndarray:
        r"""Return the log-density of the observed values of each row, in nats, with missing values integrated out.

        .. math:: \ln p(x_o) = \ln p(x_o, \hat x_m) + \tfrac{k}{2} \ln 2\pi - \tfrac12 \ln |\Theta_{mm}|

        with the conditional means :math:`\hat x_m` of the k missing values (see `predict`).

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
            Rows, in which columns and values may be missing; the columns are variables, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            `log_likelihood` for complete rows, 0 for rows without observed values. With `transforms`, the log-density
            of the observed normal scores. For a distributed table, a dask Series.

        Raises
        ------
        ValueError
            If a column is not a variable or is not numeric.

        Notes
        -----
        The cost is O(c^3) for c missing values that are connected by edges, once for all rows with the same missing
        values.
        """
        self._require_precision()
        rows = read_numeric_rows(X, self._names, allow_missing=True)
        missing = np.isnan(rows.values)
        scores = self._scores(rows.values, np.arange(len(self._names)))
        scores[missing] = 0.0
        filled, log_dets, _ = RowPrecision(self._scaled).fill(scores, missing)
        log_dets -= 2.0 * missing @ np.log(self._units)
        return self._log_densities(filled) + 0.5 * (missing.sum(axis=1) * np.log(2.0 * np.pi) - log_dets)

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-density of the observed values of rows, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or DistributedNumericTable
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

    def _log_densities(self, scores: np.ndarray) -> np.ndarray:
        """Return the log-densities of rows of z."""
        squares = np.einsum("ij,ij->i", scores, np.asarray((self._scaled @ scores.T).T))
        return 0.5 * (self._log_det() - len(self._names) * np.log(2.0 * np.pi) - squares)

    def _log_det(self) -> float:
        """Return log |Θ|."""
        return self._blocks().log_det - 2.0 * float(np.log(self._units).sum())


class GaussianRowAnswers(GaussianRowQueries):
    """The arrays of a network with its row-wise methods."""

    def __init__(self, network: GaussianRowQueries):
        self._names = network._names
        self._precision, self._scaled = network._precision, network._scaled
        self._units, self._mean, self._scale = network._units, network._mean, network._scale
        self._transforms = network._transforms
        self._cache: dict[str, Any] = {}


# ---- the whole distribution ----


class GaussianQueries(GaussianRowQueries):
    """Mixin of a graph with a precision scaled to unit diagonal, and with units and means of its variables."""

    _check_node: Callable[[Hashable], None]  # of `FixedGraph`

    def _inverse(self) -> np.ndarray:
        """Return the inverse of K; it is computed once and must not be changed."""
        blocks = self._blocks()
        if "inverse" not in self._cache:
            self._cache["inverse"] = blocks.invert()
        return self._cache["inverse"]

    def conditional(self: Network, evidence: Mapping[Hashable, float]) -> Network:
        """Return the distribution of the other variables given observed values.

        Parameters
        ----------
        evidence : dict of {name: number}
            Observed values of some but not all variables; in the units of the data if there are `transforms`.

        Returns
        -------
        GaussianMarkovNetwork
            Its precision is a submatrix of this precision, its mean the conditional mean.

        Raises
        ------
        TypeError, ValueError
            If the evidence is not a dictionary, a name is not a variable, a value is not a finite number, or all
            variables are observed.
        """
        matrix = self._require_precision()
        observed, values = read_numeric_evidence(evidence, self._names)
        others = np.setdiff1d(np.arange(len(self._names)), observed)
        if not len(others):
            raise ValueError("the evidence holds all variables: leave out the query variables")
        scores = np.zeros((1, len(self._names)))
        scores[0, observed] = self._scores(values[None], observed)[0]
        missing = np.ones((1, len(self._names)), dtype=bool)
        missing[0, observed] = False
        means = RowPrecision(self._scaled).fill(scores, missing)[0][0, others]
        mean = self._mean[others] + means * self._units[others]
        return self._make_subnetwork(others, matrix[others][:, others], mean, self._scale[others])

    def marginal(self: Network, variables: Sequence[Hashable]) -> Network:
        """Return the distribution of some of the variables.

        Parameters
        ----------
        variables : sequence of hashable
            Names, in the order of the result.

        Returns
        -------
        GaussianMarkovNetwork
            Two variables are joined if they are adjacent or a path through omitted variables joins them. Partial
            correlations up to 1e-12 are rounding errors and give no edges.

        Raises
        ------
        ValueError
            If there are no names, a name is not a variable, or a name occurs twice.
        """
        self._require_precision()
        if isinstance(variables, str):
            variables = [variables]
        for name in variables:
            self._check_node(name)
        place = {name: v for v, name in enumerate(self._names)}
        positions = np.array([place[name] for name in variables], dtype=np.int64)
        if not len(positions) or len(np.unique(positions)) < len(positions):
            raise ValueError(f"variables must be one or more distinct names, got {join_names(variables)}")
        matrix = marginalize_precision(self._scaled, positions)
        roots = np.sqrt(matrix.diagonal())
        rows = np.repeat(np.arange(len(positions)), np.diff(matrix.indptr))
        matrix.data[np.abs(matrix.data) <= ROUNDING * roots[rows] * roots[matrix.indices]] = 0.0
        return self._make_subnetwork(positions, matrix, self._mean[positions], self._units[positions])

    @abstractmethod
    def _make_subnetwork(self, positions: np.ndarray, matrix: csr_array, mean: np.ndarray, scale: np.ndarray) -> Self:
        """Return a network of some of the variables, with their transforms."""

    # ---- rows ----

    def simulate(
        self,
        n_samples: int,
        evidence: Mapping[Hashable, float] | None = None,
        random_state: int | None = DEFAULT_SEED,
        *,
        seed: int | None = DEFAULT_SEED,
    ) -> pd.DataFrame:
        """Draw independent rows, given the evidence if any.

        Parameters
        ----------
        n_samples : int
            Number of rows, at least 0.
        evidence : dict of {name: number}, optional
            Observed values; they fill their columns.
        random_state : int or None, default=0
            A non-negative seed; None draws fresh entropy.
        seed : int or None, default=0
            Alias of `random_state` under pgmpy's name; do not give both.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            Float columns in the order of `names`; in the units of the data if there are `transforms`.

        Raises
        ------
        TypeError, ValueError
            If `n_samples` or the seed is negative or not an integer, both seeds are given, or the evidence is invalid
            (see `conditional`).
        """
        self._require_precision()
        n = check_natural(n_samples, "n_samples", 0)
        rng = np.random.default_rng(choose_seed(random_state, seed))
        evidence = evidence or {}
        source = self.conditional(evidence) if evidence else self
        scores = source._blocks().correlate(rng.standard_normal((n, len(source._names))))
        values = np.empty((n, len(self._names)))
        unobserved = [v for v, name in enumerate(self._names) if name not in evidence]
        values[:, unobserved] = source._values(scores, np.arange(len(source._names)))
        for v, name in enumerate(self._names):
            if name in evidence:
                values[:, v] = evidence[name]
        return pd.DataFrame(values, columns=self._index())

    def entropy(self) -> float:
        r"""Return the differential entropy :math:`\tfrac12 (p \log(2 \pi e) - \log |\Theta|)`, in nats.

        It depends on the units of the variables. With `transforms` it is the entropy of the scores.
        """
        return 0.5 * (len(self._names) * (1.0 + np.log(2.0 * np.pi)) - self._log_det())

    def to_joint_gaussian(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance as arrays in the order of `names`, as pgmpy's linear Gaussian networks do."""
        self._require_precision()
        return self._mean.copy(), self._inverse() * np.outer(self._units, self._units)

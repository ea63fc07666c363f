"""Methods of a Gaussian Markov network: conditional and marginal distributions, samples, conversions."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Self, TypeVar

import numpy as np
import pandas as pd
from pgmpy.base import UndirectedGraph
from pgmpy.models import LinearGaussianBayesianNetwork
from scipy.sparse import csr_array

from pgmx.checks import DEFAULT_SEED, check_natural, choose_seed, join_names
from pgmx.models.fixed_graph import FixedGraph
from pgmx.models.gaussian.linear_gaussian import make_linear_gaussian_network
from pgmx.models.gaussian.row_queries import GaussianRowQueries
from pgmx.models.gaussian.rows import read_evidence
from pgmx.statistics.precision import fill_scores, marginalize_precision

#: Partial correlations of a marginal distribution up to this size are rounding errors of zero.
_ROUNDING = 1e-12

Network = TypeVar("Network", bound="GaussianQueries")  # of Self jedi returns the base class


class GaussianQueries(GaussianRowQueries, FixedGraph, UndirectedGraph):
    """Mixin of a graph with a precision scaled to unit diagonal, and with units and means of its variables."""

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
        observed, values = read_evidence(evidence, self._names)
        others = np.setdiff1d(np.arange(len(self._names)), observed)
        if not len(others):
            raise ValueError("the evidence holds all variables: leave out the query variables")
        scores = np.zeros((1, len(self._names)))
        scores[0, observed] = self._scores(values[None], observed)[0]
        missing = np.ones((1, len(self._names)), dtype=bool)
        missing[0, observed] = False
        means = fill_scores(self._scaled, scores, missing)[0][0, others]
        mean = self._mean[others] + means * self._units[others]
        return self._part(others, matrix[others][:, others], mean, self._scale[others])

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
        matrix.data[np.abs(matrix.data) <= _ROUNDING * roots[rows] * roots[matrix.indices]] = 0.0
        return self._part(positions, matrix, self._mean[positions], self._units[positions])

    @abstractmethod
    def _part(self, positions: np.ndarray, matrix: csr_array, mean: np.ndarray, scale: np.ndarray) -> Self:
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

    # ---- for pgmpy ----

    def check_model(self) -> bool:
        """Return True: a network with a precision is always consistent."""
        self._require_precision()
        return True

    def to_joint_gaussian(self) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance as arrays in the order of `names`, as pgmpy's linear Gaussian networks do."""
        self._require_precision()
        return self._mean.copy(), self._inverse() * np.outer(self._units, self._units)

    def to_linear_gaussian_bn(self, order: Sequence[Hashable] | None = None) -> LinearGaussianBayesianNetwork:
        """Return a linear Gaussian Bayesian network with the same distribution, its CPDs included.

        Parameters
        ----------
        order : sequence of hashable, optional
            All names; parents come before their children. The default gives few parents: the reverse of a
            minimum-degree elimination order.

        Returns
        -------
        pgmpy.models.LinearGaussianBayesianNetwork
            Nodes in the order of `names`; over the scores if there are `transforms`.

        Raises
        ------
        ValueError
            If the order does not hold each name once.

        Notes
        -----
        Partial correlations up to 1e-12 are treated as zero. The time is O(p³). The CPDs are exact, but pgmpy 1.1
        rounds to 8 decimals when it combines them (``to_joint_gaussian``, ``simulate``, ``predict``,
        ``log_likelihood``). So variables with very small values lose digits there.
        """
        self._require_precision()
        if order is not None:
            order = list(order)
            if len(order) != len(self._names) or set(order) != set(self._names):
                raise ValueError(
                    f"the order must hold each of the {len(self._names)} names once, got {join_names(order)}: the "
                    f"names are {join_names(self._names)}"
                )
        place = {name: v for v, name in enumerate(self._names)}
        positions = None if order is None else [place[name] for name in order]
        return make_linear_gaussian_network(self._names, self._scaled, self._mean, self._units, positions)

"""The Gaussian Markov network that learners return: a sparse precision matrix in a pgmpy graph, also as a DAG."""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any, Self, cast

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pgmpy.base import UndirectedGraph
from pgmpy.factors.continuous import LinearGaussianCPD
from scipy.linalg import LinAlgError, cholesky
from scipy.sparse import csr_array, issparse, sparray, spmatrix

from pgmx.checks import as_reals, join_names, read_only
from pgmx.models.base import FixedGraph, check_names
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.models.files.gaussian import GAUSSIAN_READERS, GAUSSIAN_WRITERS, GaussianParts
from pgmx.models.gaussian_queries import ROUNDING, GaussianQueries
from pgmx.statistics import MarginalTransforms
from pgmx.statistics.cholesky import invert_lower
from pgmx.statistics.precision import Blocks, compute_smallest_eigenvalue, scale_to_unit_diagonal

#: Largest difference between a matrix and its transpose, relative to the roots of its diagonal.
_ASYMMETRY = 1e-8


class GaussianMarkovNetwork(GaussianQueries, FixedGraph, UndirectedGraph):
    r"""A multivariate normal distribution, given by its precision matrix, and its conditional independence graph.

    .. math:: p(x) = (2\pi)^{-p/2} |\Theta|^{1/2} \exp\big(-\tfrac12 (x - \mu)^T \Theta\, (x - \mu)\big)

    Variables i and j are joined if Θ_ij is not zero. If it is zero, they are independent given all other variables.
    Networks are made by `from_precision`, `from_covariance`, `load` and the learners. Their parameters do not change.

    Parameters
    ----------
    ebunch : iterable of edges, optional
        Only for networkx, which makes empty graphs of the same class. A network made this way has no precision: it
        behaves like pgmpy's ``UndirectedGraph``, and its queries raise an error.

    Attributes
    ----------
    names : tuple of hashable
        Names of the variables, in order.
    estimated_by : str
        Origin of the precision: "given", or a text that the learner sets.
    n_samples : float or None
        Number of rows (sum of their weights) of the estimate, if known.
    transforms : pgmx.statistics.MarginalTransforms or None
        Monotone maps between the data and normal scores, in the nonparanormal family.
    graph : dict
        Attributes of the graph: ``name`` and attributes that learners add.

    Notes
    -----
    Nodes are in the order of the variables, edges in lexicographic order of their positions. Edges have the attributes
    ``weight``, the partial correlation -Θ_ij / √(Θ_ii Θ_jj) of their ends, and ``strength``, its absolute value.

    All computations first scale the precision to unit diagonal, so that units may differ by many orders of magnitude.
    Connected components of c variables are factorised once, in O(Σ c³) time.

    With `transforms` the network is over normal scores. Mean, covariance, precision, entropy and likelihood then refer
    to the scores. `predict`, `simulate` and `conditional` accept and return values in the units of the data.

    pgmpy 1.1 has no inference for undirected Gaussian models: query the network itself, or `to_linear_gaussian_bn`.

    References
    ----------
    S. L. Lauritzen (1996), Graphical Models, section 5.1. D. Koller, N. Friedman (2009), Probabilistic Graphical
    Models, chapter 7.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.models import GaussianMarkovNetwork
    >>> precision = [[1.0, -0.5, 0.0], [-0.5, 1.25, -0.5], [0.0, -0.5, 1.0]]
    >>> network = GaussianMarkovNetwork.from_precision(["rain", "river", "level"], precision)
    >>> network
    GaussianMarkovNetwork(3 variables, 2 edges)
    >>> list(network.edges())
    [('rain', 'river'), ('river', 'level')]
    >>> network.predict({"rain": 1.0}).round(4)
       river  level
    0    0.5   0.25
    """

    estimated_by: str
    n_samples: float | None
    _writers = GAUSSIAN_WRITERS
    _readers = GAUSSIAN_READERS
    _description = "a Gaussian Markov network"
    _follows_from = ("precision", "from_precision")

    def __init__(self, ebunch: Iterable | None = None) -> None:
        self._precision: csr_array | None = None
        self._names: tuple = ()
        self._cache: dict[str, Any] = {}
        self.estimated_by = "given"
        self.n_samples = None
        self._transforms: MarginalTransforms | None = None
        super().__init__(ebunch)

    @classmethod
    def from_precision(
        cls,
        names: Sequence[Hashable],
        precision: ArrayLike | sparray | spmatrix,
        *,
        mean: ArrayLike | None = None,
        scale: ArrayLike | None = None,
        transforms: MarginalTransforms | None = None,
        estimated_by: str = "given",
        n_samples: float | None = None,
    ) -> Self:
        r"""Make a network from names and a precision matrix.

        Parameters
        ----------
        names : sequence of hashable, length p
            Distinct names of the variables; None is not allowed.
        precision : array_like or scipy.sparse matrix, shape (p, p)
            Positive definite and symmetric up to 1e-8 of its scale (it is then averaged with its transpose). Entries
            that are exactly zero give no edges. The labels of a frame must be `names`.
        mean : array_like of shape (p,), optional
            Means in the user's units; 0 by default.
        scale : array_like of shape (p,), optional
            Units of the variables in the precision P, :math:`\Theta_{ij} = P_{ij} / (s_i s_j)`. With the standard
            deviations as scale, P is the precision of standardised variables. 1 by default.
        transforms : pgmx.statistics.MarginalTransforms, optional
            Maps of p columns to normal scores. The network is then over the scores; `mean` is 0 and `scale` is 1 by
            default.
        estimated_by : str, default="given"
            Origin of the precision.
        n_samples : float, optional
            Number of rows of the estimate.

        Returns
        -------
        GaussianMarkovNetwork
            A network with its own copy of the parameters.

        Raises
        ------
        ValueError
            If names occur twice, shapes disagree, a value is not finite, a scale is not positive, or the precision is
            not symmetric or not positive definite. In the last case the message reports the smallest eigenvalue.
        """
        network = cls._from_definite(
            names,
            precision,
            mean=mean,
            scale=scale,
            transforms=transforms,
            estimated_by=estimated_by,
            n_samples=n_samples,
        )
        try:
            network._cache["blocks"] = Blocks(network._scaled)
        except LinAlgError:
            raise ValueError(_explain_not_positive(network._scaled, "precision")) from None
        return network

    @classmethod
    def _from_definite(
        cls,
        names: Sequence[Hashable],
        precision: ArrayLike | sparray | spmatrix,
        *,
        mean: ArrayLike | None,
        scale: ArrayLike | None,
        transforms: MarginalTransforms | None,
        estimated_by: str,
        n_samples: float | None,
    ) -> Self:
        """Make a network from a precision that is known to be positive definite; it is factorised on demand."""
        names = check_names(names)
        matrix = _check_precision(precision, names)
        network = cls()
        network._names, network._precision = names, matrix
        network._mean = _check_column(mean, names, "mean", 0.0)
        network._scale = _check_column(scale, names, "scale", 1.0, positive=True)
        network._scaled, roots = scale_to_unit_diagonal(matrix)
        network._units = network._scale / roots
        if transforms is not None and transforms.n_columns != len(names):
            raise ValueError(f"there must be one transform for each of {len(names)} names, got {transforms.n_columns}")
        network._transforms = transforms
        network.estimated_by, network.n_samples = str(estimated_by), None if n_samples is None else float(n_samples)
        network._add_graph()
        return network

    @classmethod
    def from_covariance(
        cls,
        names: Sequence[Hashable],
        covariance: ArrayLike | sparray | spmatrix,
        *,
        mean: ArrayLike | None = None,
        threshold: float = 1e-10,
        estimated_by: str = "given",
        n_samples: float | None = None,
    ) -> Self:
        """Make a network from names and a covariance matrix.

        Parameters
        ----------
        names : sequence of hashable, length p
            Distinct names of the variables; None is not allowed.
        covariance : array_like of shape (p, p)
            Positive definite and symmetric, in the user's units.
        mean : array_like of shape (p,), optional
            Means; 0 by default.
        threshold : float, default=1e-10
            Partial correlations up to this absolute value are treated as rounding errors of zero and give no edges.
        estimated_by, n_samples : str and float, optional
            As for `from_precision`.

        Returns
        -------
        GaussianMarkovNetwork
            A network whose `scale` holds the standard deviations.

        Raises
        ------
        ValueError
            As `from_precision`. A singular covariance, for example from fewer rows than variables, has no precision.
        """
        names = check_names(names)
        correlation, scale = _split_covariance(covariance, names)
        try:
            factor = cholesky(correlation, lower=True, check_finite=False)
            # With a smaller eigenvalue the inverse would consist of rounding errors.
            if np.square(factor.diagonal()).min() < 1e-14:
                raise LinAlgError
        except LinAlgError:
            raise ValueError(_explain_not_positive(csr_array(correlation), "covariance")) from None
        precision = invert_lower(factor)
        roots = np.sqrt(precision.diagonal())
        precision[np.abs(precision) <= threshold * np.outer(roots, roots)] = 0.0
        return cls.from_precision(
            names, precision, mean=mean, scale=scale, estimated_by=estimated_by, n_samples=n_samples
        )

    def _add_graph(self) -> None:
        """Make nodes and edges from the parameters."""
        rows = np.repeat(np.arange(len(self._names)), np.diff(self._scaled.indptr))
        # Each edge once.
        upper = rows < self._scaled.indices
        names, weights = self._names, np.negative(self._scaled.data[upper]).tolist()
        ends = zip(rows[upper].tolist(), self._scaled.indices[upper].tolist(), weights, strict=True)
        nx.Graph.add_nodes_from(self, names)
        # The method of networkx: pgmpy's method accepts only weights.
        nx.Graph.add_edges_from(self, ((names[i], names[j], {"weight": w, "strength": abs(w)}) for i, j, w in ends))

    def _is_fixed(self) -> bool:
        return self._precision is not None

    # ---- parameters ----

    @property
    def names(self) -> tuple:
        """Names of the variables, in order."""
        return self._names

    @property
    def transforms(self) -> MarginalTransforms | None:
        """Maps between the data and normal scores, in the order of `names`, or None."""
        return self._transforms

    @property
    def precision(self) -> pd.DataFrame:
        """Precision matrix Θ in the user's units, dense."""
        return self._frame(self.sparse_precision.toarray())

    @property
    def sparse_precision(self) -> csr_array:
        """Precision matrix Θ in the user's units, as ``scipy.sparse.csr_array`` of float64."""
        matrix = self._require_precision()
        rows = np.repeat(np.arange(len(self._names)), np.diff(matrix.indptr))
        data = matrix.data / (self._scale[rows] * self._scale[matrix.indices])
        return csr_array((data, matrix.indices.copy(), matrix.indptr.copy()), shape=matrix.shape)

    @property
    def standardized_precision(self) -> csr_array:
        """Precision matrix P of the variables divided by `scale`, as given."""
        return self._require_precision().copy()

    @property
    def scale(self) -> pd.Series:
        """Units of `standardized_precision`: the standard deviations of the data if a learner fitted the network."""
        self._require_precision()
        return pd.Series(self._scale.copy(), index=self._index())

    @property
    def mean(self) -> pd.Series:
        """Means in the user's units."""
        self._require_precision()
        return pd.Series(self._mean.copy(), index=self._index())

    @property
    def covariance(self) -> pd.DataFrame:
        """Covariance matrix in the user's units: the inverse of `precision`, computed once."""
        return self._frame(self._inverse() * np.outer(self._units, self._units))

    @property
    def correlation(self) -> pd.DataFrame:
        """Correlation matrix."""
        inverse = self._inverse()
        roots = np.sqrt(inverse.diagonal())
        correlation = inverse / np.outer(roots, roots)
        np.fill_diagonal(correlation, 1.0)
        return self._frame(correlation)

    @property
    def partial_correlations(self) -> pd.DataFrame:
        """Partial correlations of all pairs given all other variables; 1 on the diagonal."""
        self._require_precision()
        partial = -self._scaled.toarray()
        partial[partial == 0.0] = 0.0  # no negative zeros
        np.fill_diagonal(partial, 1.0)
        return self._frame(partial)

    # ---- copies and other forms ----

    def copy(self) -> Self:
        """Return an independent network with the same parameters and the same attributes of graph, nodes and edges."""
        if self._precision is None:
            return cast("Self", nx.Graph.copy(self))
        clone = type(self)()
        numbers = ("_names", "_precision", "_mean", "_scale", "_scaled", "_units", "_transforms")
        for key in (*numbers, "estimated_by", "n_samples"):
            setattr(clone, key, getattr(self, key))
        clone._cache = dict(self._cache)
        self._copy_graph(clone)
        return clone

    def __repr__(self) -> str:
        if self._precision is None:
            return f"GaussianMarkovNetwork({len(self)} nodes, without a precision)"
        edges = self.number_of_edges()
        variables = f"{len(self._names)} variable{'' if len(self._names) == 1 else 's'}"
        return f"GaussianMarkovNetwork({variables}, {edges} edge{'' if edges == 1 else 's'})"

    __str__ = __repr__

    def __getstate__(self) -> dict:
        # Factors can be recomputed.
        return {key: value for key, value in self.__dict__.items() if key not in ("adj", "nodes", "edges", "_cache")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._cache = {}

    def to_networkx(self, *, variance: bool = False) -> nx.Graph:
        """Return a plain graph. ``networkx.write_graphml`` accepts it if the names are text or numbers.

        Nodes have the attribute ``mean``, edges ``weight`` (the partial correlation) and ``strength``, all floats.

        Parameters
        ----------
        variance : bool, default=False
            Whether nodes also have the attribute ``variance``. It needs the inverse of the precision: O(Σ c³) time for
            components of c variables, and a dense matrix of shape (p, p).

        Returns
        -------
        networkx.Graph
            An independent graph with the attributes of this one.
        """
        numbers: dict[str, np.ndarray] = {}
        if self._is_fixed():
            numbers["mean"] = self._mean
            if variance:
                numbers["variance"] = self._inverse().diagonal() * self._units**2
        graph = nx.Graph(**self.graph)
        graph.add_nodes_from((name, dict(marks)) for name, marks in self.nodes(data=True))
        for key, values in numbers.items():
            nx.set_node_attributes(graph, dict(zip(self._names, values.tolist(), strict=True)), key)
        graph.add_edges_from((u, v, dict(marks)) for u, v, marks in self.edges(data=True))
        return graph

    def check_model(self) -> bool:
        """Return True: a network with a precision is always consistent."""
        self._require_precision()
        return True

    def to_linear_gaussian_bn(self, order: Sequence[Hashable] | None = None) -> LinearGaussianBayesianNetwork:
        """Return a linear Gaussian Bayesian network with the same distribution, its CPDs included.

        Parameters
        ----------
        order : sequence of hashable, optional
            All names; parents come before their children. The default gives few parents: the reverse of a
            minimum-degree elimination order.

        Returns
        -------
        pgmx.models.LinearGaussianBayesianNetwork
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

    # ---- files ----

    @classmethod
    def from_parts(cls, parts: GaussianParts) -> Self:
        """Make a network from the fields that files hold; they are checked and copied as by `from_precision`."""
        options = {key: value for key, value in parts._asdict().items() if key != "name"}
        network = cls.from_precision(**options)
        if parts.name:
            network.graph["name"] = parts.name
        return network

    def parts(self) -> GaussianParts:
        """Return the fields that files hold: names, precision, means, units, transforms, origin and name."""
        matrix, name = self._require_precision(), str(self.name or "")
        numbers = (matrix, self._mean, self._scale, self._transforms)
        return GaussianParts(self._names, *numbers, self.estimated_by, self.n_samples, name)

    def _make_subnetwork(self, positions: np.ndarray, matrix: csr_array, mean: np.ndarray, scale: np.ndarray) -> Self:
        return self.from_precision(
            [self._names[v] for v in positions],
            matrix,
            mean=mean,
            scale=scale,
            transforms=None if self._transforms is None else self._transforms.take(positions),
            estimated_by=self.estimated_by,
            n_samples=self.n_samples,
        )


def make_definite_network(names: Sequence[Hashable], precision: csr_array, **options: Any) -> GaussianMarkovNetwork:
    """Return `GaussianMarkovNetwork.from_precision` of a solver's precision, which is known to be positive definite."""
    return GaussianMarkovNetwork._from_definite(names, precision, **options)


# ---- checks of matrices and vectors ----


def _check_precision(matrix, names: tuple) -> csr_array:
    """Return a copy of a matrix as symmetric csr_array with sorted indices and a positive diagonal, or raise."""
    sparse = csr_array(
        matrix if issparse(matrix) else _to_dense(matrix, names, "precision"), dtype=np.float64, copy=True
    )
    _check_shape(sparse.shape, names, "precision")
    sparse.sum_duplicates()
    _check_finite(sparse.data, np.repeat(np.arange(len(names)), np.diff(sparse.indptr)), names, "precision")
    sparse.eliminate_zeros()
    diagonal = sparse.diagonal()
    _check_positive(diagonal, names, "the precision is not positive definite: its diagonal")
    transposed = csr_array(sparse.T)
    difference = abs(sparse - transposed).tocoo()
    roots = np.sqrt(diagonal)
    rows, columns = difference.coords
    excess = difference.data / (roots[rows] * roots[columns])
    if len(excess) and excess.max() > _ASYMMETRY:
        _refuse_asymmetry(names, rows[excess.argmax()], columns[excess.argmax()], "precision")
    # A symmetric matrix keeps every bit.
    if difference.nnz:
        sparse = csr_array((sparse + transposed) / 2.0)
        sparse.eliminate_zeros()
    sparse.sort_indices()
    for array in (sparse.data, sparse.indices, sparse.indptr):
        read_only(array)
    return sparse


def _split_covariance(matrix, names: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Return the correlations of a covariance matrix and its standard deviations, or raise."""
    covariance = _to_dense(matrix.toarray() if issparse(matrix) else matrix, names, "covariance")
    _check_shape(covariance.shape, names, "covariance")
    rows = np.repeat(np.arange(len(names)), len(names))
    _check_finite(covariance.ravel(), rows, names, "covariance")
    _check_positive(covariance.diagonal(), names, "the covariance is not positive definite: its diagonal")
    scale = np.sqrt(covariance.diagonal())
    correlation = covariance / np.outer(scale, scale)
    difference = np.abs(correlation - correlation.T)
    if difference.max() > _ASYMMETRY:
        _refuse_asymmetry(names, *divmod(int(difference.argmax()), len(names)), "covariance")
    correlation = (correlation + correlation.T) / 2.0
    np.fill_diagonal(correlation, 1.0)
    return correlation, scale


def _check_column(values, names: tuple, what: str, default: float, *, positive: bool = False) -> np.ndarray:
    """Return one value per variable as a read-only float64 array, or raise an error that names the variables."""
    if values is None:
        column = np.full(len(names), default)
    else:
        column = as_reals(values, what).astype(np.float64)
        if column.shape != (len(names),):
            raise ValueError(f"{what} must hold one value for each of {len(names)} variables, got shape {column.shape}")
    wrong = ~np.isfinite(column) | (column <= 0.0 if positive else False)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        kind = "finite and positive" if positive else "finite"
        raise ValueError(f"the {what} of {names[at]!r} must be {kind}, got {float(column[at])!r}")
    return read_only(column)


def _explain_not_positive(scaled: csr_array, what: str) -> str:
    """Return an error message with the smallest eigenvalue of a matrix with unit diagonal."""
    smallest = compute_smallest_eigenvalue(scaled)
    return (
        f"the {what} is not positive definite: with unit diagonal its smallest eigenvalue is {smallest:.3g}, and must "
        "be above 0 by more than rounding errors; add to the diagonal, or estimate it with a larger penalty"
    )


def _to_dense(matrix, names: tuple, what: str) -> np.ndarray:
    if hasattr(matrix, "iloc"):
        for labels in (tuple(matrix.index), tuple(matrix.columns)):
            if len(labels) == len(names) and labels != names:
                raise ValueError(
                    f"the {what} has labels {join_names(labels)}, but the names are {join_names(names)}: give both "
                    f"in the same order"
                )
    return np.array(matrix, dtype=np.float64)


def _check_shape(shape: tuple[int, ...] | None, names: tuple, what: str) -> None:
    if shape != (len(names), len(names)):
        raise ValueError(f"the {what} must be square with one row for each of {len(names)} names, got shape {shape}")


def _check_finite(data: np.ndarray, rows: np.ndarray, names: tuple, what: str) -> None:
    wrong = ~np.isfinite(data)
    if wrong.any():
        culprits = [names[v] for v in np.unique(rows[wrong]).tolist()]
        raise ValueError(f"the {what} is not finite in the row(s) of {join_names(culprits)}")


def _check_positive(diagonal: np.ndarray, names: tuple, begin: str) -> None:
    if (diagonal <= 0.0).any():
        at = int(np.flatnonzero(diagonal <= 0.0)[0])
        raise ValueError(f"{begin} holds {float(diagonal[at])!r} for {names[at]!r}, and must be positive")


def _refuse_asymmetry(names: tuple, i: int, j: int, what: str) -> None:
    raise ValueError(
        f"the {what} is not symmetric: the entries of {names[i]!r} and {names[j]!r} differ; average it with its "
        "transpose"
    )


# ---- the same distribution as a linear Gaussian Bayesian network, by a Cholesky factor ----


def make_linear_gaussian_network(
    names: tuple, scaled: csr_array, mean: np.ndarray, units: np.ndarray, order: Sequence[int] | None
) -> LinearGaussianBayesianNetwork:
    """Make a fitted Bayesian network from the precision, with unit diagonal, of deviations divided by `units`.

    `order` holds all positions, parents first. None means the reverse of a minimum-degree elimination order.
    """
    model = LinearGaussianBayesianNetwork()
    model.add_nodes_from(names)
    cpds: list = [None] * len(names)
    for v, parents, slopes, deviation in _regress(scaled, order):
        # From units of the scaled variables back to the user's.
        slopes = slopes / units[parents] * units[v]
        intercept = mean[v] - slopes @ mean[parents]
        evidence = [names[u] for u in parents.tolist()]
        cpds[v] = LinearGaussianCPD(names[v], [intercept, *slopes.tolist()], float(deviation * units[v]), evidence)
    # The method of networkx: pgmpy's method adds edges one by one.
    nx.DiGraph.add_edges_from(model, ((u, cpd.variable, {"weight": None}) for cpd in cpds for u in cpd.evidence))
    model.add_cpds(*cpds)
    return model


def _regress(scaled: csr_array, order: Sequence[int] | None) -> Iterator[tuple[int, np.ndarray, np.ndarray, float]]:
    """Eliminate variables one by one; yield (variable, parents, slopes, standard deviation) for each."""
    precision = scaled.toarray()
    joined = precision != 0.0
    np.fill_diagonal(joined, False)
    degrees = joined.sum(axis=1)
    eliminated = np.zeros(len(precision), dtype=bool)
    for step in range(len(precision)):
        if order is not None:
            v = int(order[len(precision) - 1 - step])
        else:  # the last of equal degrees, so that a chain keeps its direction
            v = len(precision) - 1 - int(np.where(eliminated, len(precision), degrees)[::-1].argmin())
        eliminated[v] = True
        adjacent = np.flatnonzero(joined[v])
        joined[adjacent, v] = False
        partial = precision[v, adjacent] / np.sqrt(precision[v, v] * precision[adjacent, adjacent])
        parents = adjacent[np.abs(partial) > ROUNDING]
        row = precision[v, parents]
        yield v, parents, -row / precision[v, v], 1.0 / np.sqrt(precision[v, v])
        precision[np.ix_(parents, parents)] -= np.outer(row, row) / precision[v, v]
        joined[np.ix_(parents, parents)] = True
        joined[parents, parents] = False
        degrees[adjacent] = joined[adjacent].sum(axis=1)

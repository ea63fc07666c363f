"""The Gaussian Markov network that learners return: a sparse precision matrix in a pgmpy graph."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Self, cast

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cholesky
from scipy.sparse import csr_array, sparray, spmatrix

from pgmx.models.files.gaussian import GAUSSIAN_READERS, GAUSSIAN_WRITERS, GaussianParts
from pgmx.models.gaussian.checks import (
    check_column,
    check_precision,
    explain_not_positive,
    split_covariance,
)
from pgmx.models.gaussian.queries import GaussianQueries
from pgmx.models.names import check_names
from pgmx.statistics import MarginalTransforms
from pgmx.statistics.cholesky import invert_lower
from pgmx.statistics.precision import Blocks, scale_to_unit_diagonal


class GaussianMarkovNetwork(GaussianQueries):
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
            raise ValueError(explain_not_positive(network._scaled, "precision")) from None
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
        matrix = check_precision(precision, names)
        network = cls()
        network._names, network._precision = names, matrix
        network._mean = check_column(mean, names, "mean", 0.0)
        network._scale = check_column(scale, names, "scale", 1.0, positive=True)
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
        correlation, scale = split_covariance(covariance, names)
        try:
            factor = cholesky(correlation, lower=True, check_finite=False)
            # With a smaller eigenvalue the inverse would consist of rounding errors.
            if np.square(factor.diagonal()).min() < 1e-14:
                raise LinAlgError
        except LinAlgError:
            raise ValueError(explain_not_positive(csr_array(correlation), "covariance")) from None
        precision = invert_lower(factor)
        roots = np.sqrt(precision.diagonal())
        precision[np.abs(precision) <= threshold * np.outer(roots, roots)] = 0.0
        return cls.from_precision(
            names, precision, mean=mean, scale=scale, estimated_by=estimated_by, n_samples=n_samples
        )

    def _add_graph(self) -> None:
        """Make nodes and edges from the parameters."""
        rows = np.repeat(np.arange(len(self._names)), np.diff(self._scaled.indptr))
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

    def _part(self, positions: np.ndarray, matrix: csr_array, mean: np.ndarray, scale: np.ndarray) -> Self:
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

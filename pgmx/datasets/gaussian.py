"""Gaussian Markov networks to learn from, all with variances 1; ``simulate`` draws rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pgmx.checks import check_natural, is_number
from pgmx.datasets.random_graphs import (
    draw_attachment_edges,
    draw_random_edges,
    list_chain_edges,
    make_generator,
)

if TYPE_CHECKING:
    from pgmx.models import GaussianMarkovNetwork

#: Smallest eigenvalue of a random precision matrix, before variances are scaled to 1.
MARGIN = 0.1


def gaussian_chain_network(n_variables: int, correlation: float = 0.5) -> GaussianMarkovNetwork:
    r"""Create a stationary Gaussian Markov chain.

    .. math:: \Sigma_{ij} = \rho^{|i - j|}, \qquad \Theta \text{ tridiagonal}

    Parameters
    ----------
    n_variables : int
        Number of variables, at least 1; consecutive variables are joined.
    correlation : float, default=0.5
        Correlation ρ of neighbours, between -1 and 1.

    Returns
    -------
    GaussianMarkovNetwork
        Variables "x0", "x1", ... with mean 0 and variance 1.

    Raises
    ------
    TypeError, ValueError
        If the number of variables is not an integer or too small, or the correlation is not between -1 and 1.

    Examples
    --------
    >>> from pgmx.datasets import gaussian_chain_network
    >>> gaussian_chain_network(4).covariance["x0"].round(6).tolist()
    [1.0, 0.5, 0.25, 0.125]
    """
    n = check_natural(n_variables, "n_variables", 1)
    if not is_number(correlation) or not -1.0 < correlation < 1.0:
        raise ValueError(f"correlation must be between -1 and 1, got {correlation!r}")
    edges = list_chain_edges(n) if correlation else []
    ends = np.zeros(n)
    ends[0] += 1.0
    ends[-1] += 1.0
    rest = (1.0 - correlation) * (1.0 + correlation)  # 1 - ρ² without cancellation near 1
    square = correlation * correlation
    # An isolated variable has the precision 1; each neighbour adds ρ²/(1 - ρ²).
    diagonal = 1.0 + (2.0 - ends) * square / rest
    return _make_network(n, edges, np.full(len(edges), -correlation / rest), diagonal)


def gaussian_random_network(
    n_variables: int,
    mean_degree: float = 3.0,
    *,
    weights: tuple[float, float] = (0.3, 0.6),
    random_state: int | None = 0,
) -> GaussianMarkovNetwork:
    r"""Create a network with an Erdős-Rényi graph: each pair is joined with the same probability.

    .. math:: \Theta \propto D (A + (0.1 - \lambda_{\min}(A)) I) D

    with entries of A of random sign and size for edges, zero for other pairs, and a diagonal D that makes variances 1.

    Parameters
    ----------
    n_variables : int
        Number of variables n, at least 1.
    mean_degree : float, default=3.0
        Expected number of neighbours of a variable, from 0 to n - 1; a larger value joins all pairs.
    weights : tuple of (float, float), default=(0.3, 0.6)
        Smallest and largest absolute value of an entry of A, drawn uniformly between them.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.

    Returns
    -------
    GaussianMarkovNetwork
        Variables "x0", "x1", ... with mean 0 and variance 1.

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer or too small, or the weights are not 0 < smallest <= largest.

    Notes
    -----
    O(n³) time: 1 s for n = 2,000.

    References
    ----------
    .. [1] Erdős, P. and Rényi, A. (1959). On random graphs I. Publicationes Mathematicae 6, 290-297.

    Examples
    --------
    >>> from pgmx.datasets import gaussian_random_network
    >>> network = gaussian_random_network(100)
    >>> network.number_of_edges()
    154
    >>> network.simulate(500).shape
    (500, 100)
    """
    n = check_natural(n_variables, "n_variables", 1)
    if not is_number(mean_degree) or mean_degree < 0:
        raise ValueError(f"mean_degree must be a number of at least 0, got {mean_degree!r}")
    rng = make_generator(random_state)
    edges = draw_random_edges(n, min(1.0, mean_degree / max(1, n - 1)), rng)
    return _draw_network(n, edges, weights, rng)


def gaussian_preferential_attachment_network(
    n_variables: int,
    *,
    edges_per_node: int = 1,
    weights: tuple[float, float] = (0.3, 0.6),
    random_state: int | None = 0,
) -> GaussianMarkovNetwork:
    """Create a scale-free network; with one edge per new variable it is a tree.

    The graph is drawn as in :func:`preferential_attachment_network`, the entries as in :func:`gaussian_random_network`.

    Parameters
    ----------
    n_variables : int
        Number of variables, more than `edges_per_node`.
    edges_per_node : int, default=1
        Number of edges per new variable, at least 1.
    weights, random_state : tuple of (float, float) and int or None
        As for :func:`gaussian_random_network`.

    Returns
    -------
    GaussianMarkovNetwork
        Variables "x0", "x1", ... with mean 0 and variance 1.

    References
    ----------
    .. [1] Barabási, A.-L. and Albert, R. (1999). Emergence of scaling in random networks. Science 286, 509-512.

    Examples
    --------
    >>> from pgmx.datasets import gaussian_preferential_attachment_network
    >>> gaussian_preferential_attachment_network(100)
    GaussianMarkovNetwork(100 variables, 99 edges)
    """
    per_node = check_natural(edges_per_node, "edges_per_node", 1)
    n = check_natural(n_variables, "n_variables", per_node + 1)
    rng = make_generator(random_state)
    return _draw_network(n, draw_attachment_edges(n, per_node, rng), weights, rng)


def gaussian_hub_network(
    n_variables: int,
    hub_size: int = 20,
    *,
    weights: tuple[float, float] = (0.3, 0.6),
    random_state: int | None = 0,
) -> GaussianMarkovNetwork:
    """Create a network of stars: in each group of `hub_size` consecutive variables, the first is joined to the others.

    Parameters
    ----------
    n_variables : int
        Number of variables, at least 1.
    hub_size : int, default=20
        Number of variables per star, including its hub, at least 1; the last star may have fewer.
    weights, random_state : tuple of (float, float) and int or None
        As for :func:`gaussian_random_network`.

    Returns
    -------
    GaussianMarkovNetwork
        Variables "x0", "x1", ... with mean 0 and variance 1.

    Examples
    --------
    >>> from pgmx.datasets import gaussian_hub_network
    >>> network = gaussian_hub_network(100)
    >>> network
    GaussianMarkovNetwork(100 variables, 95 edges)
    >>> network.degree("x20")
    19
    """
    n, size = check_natural(n_variables, "n_variables", 1), check_natural(hub_size, "hub_size", 1)
    edges = [(v - v % size, v) for v in range(n) if v % size]
    return _draw_network(n, edges, weights, make_generator(random_state))


def _draw_network(
    n: int, edges: list[tuple[int, int]], weights: tuple[float, float], rng: np.random.Generator
) -> GaussianMarkovNetwork:
    """Draw entries for the edges, make the matrix positive definite, and scale the variances to 1."""
    ends = np.asarray(weights)
    if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not 0.0 < ends[0] <= ends[1] < np.inf:
        raise ValueError(f"weights must be two numbers, 0 < smallest <= largest, got {weights!r}")
    low, high = weights
    edges = sorted(edges)
    entries = rng.uniform(low, high, len(edges)) * rng.choice([-1.0, 1.0], len(edges))
    diagonal = np.full(n, MARGIN - _compute_smallest_eigenvalue(n, edges, entries))
    # the variances are known only after the inversion of the first matrix
    network = _make_network(n, edges, entries, diagonal)
    return _make_network(n, edges, entries, diagonal, np.diag(network.covariance.to_numpy()))


def _make_network(n, edges, entries, diagonal, variances=None) -> GaussianMarkovNetwork:
    from pgmx.models import GaussianMarkovNetwork

    names = [f"x{v}" for v in range(n)]
    if variances is None:
        variances = np.ones(n)
    rows, columns = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    entries = entries * np.sqrt(variances[rows] * variances[columns])
    return GaussianMarkovNetwork.from_precision(names, _make_matrix(n, rows, columns, entries, diagonal * variances))


def _make_matrix(n, rows, columns, entries, diagonal):
    from scipy.sparse import coo_array

    ids = np.arange(n)
    places = (np.concatenate([ids, rows, columns]), np.concatenate([ids, columns, rows]))
    return coo_array((np.concatenate([diagonal, entries, entries]), places), shape=(n, n)).tocsr()


def _compute_smallest_eigenvalue(n: int, edges: list[tuple[int, int]], entries: np.ndarray) -> float:
    """Return the smallest eigenvalue of a symmetric matrix with a zero diagonal, the minimum over its components."""
    from scipy.linalg import eigvalsh
    from scipy.sparse.csgraph import connected_components

    rows, columns = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    matrix = _make_matrix(n, rows, columns, entries, np.zeros(n))
    count, labels = connected_components(matrix, directed=False)
    # One component at a time: dense blocks stay small if the graph is sparse.
    smallest = 0.0
    for ids in np.split(np.argsort(labels, kind="stable"), np.cumsum(np.bincount(labels, minlength=count))[:-1]):
        if len(ids) > 1:
            block = matrix[ids][:, ids].toarray()
            smallest = min(smallest, float(eigvalsh(block, subset_by_index=[0, 0], check_finite=False)[0]))
    return smallest

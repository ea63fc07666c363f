"""Random Markov networks to learn from, and rows sampled from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pgmx.checks import check_natural, check_seed, is_number
from pgmx.data import DiscreteTable
from pgmx.datasets.random_graphs import draw_attachment_edges, list_chain_edges, make_generator
from pgmx.fitted import FittedLearner
from pgmx.inference import PairwisePotentials, sample

if TYPE_CHECKING:
    from pgmx.models import PairwiseMarkovNetwork


def preferential_attachment_network(
    n_variables: int,
    n_states: int = 5,
    *,
    edges_per_node: int = 2,
    node_scale: float = 0.5,
    edge_scale: float = 1.0,
    random_state: int | None = 0,
) -> PairwiseMarkovNetwork:
    r"""Create a scale-free Markov network with random log-potentials.

    The graph begins with a star of ``edges_per_node + 1`` variables. Each new variable is joined to `edges_per_node`
    distinct variables, drawn with probabilities proportional to their degrees. With two edges per node there are
    2n - 4 edges. Then

    .. math:: \theta_i(a) \sim N(0, \sigma_v^2), \qquad W_{ij}(a, b) \sim N(0, \sigma_e^2)

    independently for all states.

    Parameters
    ----------
    n_variables : int
        Number of variables n, more than `edges_per_node`.
    n_states : int, default=5
        Number of states of each variable, at least 1.
    edges_per_node : int, default=2
        Number of edges per new variable, at least 1.
    node_scale, edge_scale : float, default=0.5 and 1.0
        Standard deviations of the log-potentials of variables and of edges.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.

    Returns
    -------
    PairwiseMarkovNetwork
        Variables "x0", "x1", ... with the states 0, 1, ...

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer or too small, or a scale is negative.

    References
    ----------
    .. [1] Barabási, A.-L. and Albert, R. (1999). Emergence of scaling in random networks. Science 286, 509-512.
    .. [2] Best-choice edge grafting for efficient structure learning of Markov random fields (2017), appendix C: 5
       states, n = 200, 400, 600, deviations 0.5 and 1, 20,000 rows by Gibbs sampling.

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network
    >>> network = preferential_attachment_network(50)
    >>> network
    PairwiseMarkovNetwork(50 variables, 96 edges)
    >>> max(dict(network.degree()).values()) > 8
    True
    """
    per_node = check_natural(edges_per_node, "edges_per_node", 1)
    n = check_natural(n_variables, "n_variables", per_node + 1)
    rng = make_generator(random_state)
    edges = draw_attachment_edges(n, per_node, rng)
    return _draw_network(n, edges, n_states, node_scale, edge_scale, rng)


def chain_network(
    n_variables: int,
    n_states: int = 2,
    *,
    node_scale: float = 0.5,
    edge_scale: float = 1.0,
    random_state: int | None = 0,
) -> PairwiseMarkovNetwork:
    """Create a Markov chain of variables with random log-potentials.

    Parameters
    ----------
    n_variables : int
        Number of variables, at least 1; consecutive variables are joined.
    n_states, node_scale, edge_scale, random_state : int, float, float, int or None
        As for :func:`preferential_attachment_network`, with two states by default.

    Returns
    -------
    PairwiseMarkovNetwork
        Variables "x0", "x1", ... with the states 0, 1, ...

    Examples
    --------
    >>> from pgmx.datasets import chain_network
    >>> list(chain_network(3).edges())
    [('x0', 'x1'), ('x1', 'x2')]
    """
    n = check_natural(n_variables, "n_variables", 1)
    return _draw_network(n, list_chain_edges(n), n_states, node_scale, edge_scale, make_generator(random_state))


def tree_network(
    n_variables: int,
    n_states: int = 2,
    *,
    node_scale: float = 0.5,
    edge_scale: float = 1.0,
    random_state: int | None = 0,
) -> PairwiseMarkovNetwork:
    """Create a random recursive tree with random log-potentials: each variable is joined to a previous variable.

    Parameters
    ----------
    n_variables : int
        Number of variables, at least 1.
    n_states, node_scale, edge_scale, random_state : int, float, float, int or None
        As for :func:`preferential_attachment_network`, with two states by default.

    Returns
    -------
    PairwiseMarkovNetwork
        Variables "x0", "x1", ... with the states 0, 1, ...

    Examples
    --------
    >>> from pgmx.datasets import tree_network
    >>> tree_network(400)
    PairwiseMarkovNetwork(400 variables, 399 edges)
    """
    n = check_natural(n_variables, "n_variables", 1)
    rng = make_generator(random_state)
    edges = [(int(rng.integers(v)), v) for v in range(1, n)]
    return _draw_network(n, edges, n_states, node_scale, edge_scale, rng)


def grid_network(
    n_rows: int,
    n_columns: int,
    n_states: int = 2,
    *,
    node_scale: float = 0.5,
    edge_scale: float = 1.0,
    random_state: int | None = 0,
) -> PairwiseMarkovNetwork:
    """Create a grid of variables with random log-potentials; edges join horizontal and vertical neighbours.

    Parameters
    ----------
    n_rows, n_columns : int
        Size of the grid, each at least 1. The variable in row r and column c has the number ``r * n_columns + c``.
    n_states, node_scale, edge_scale, random_state : int, float, float, int or None
        As for :func:`preferential_attachment_network`, with two states by default.

    Returns
    -------
    PairwiseMarkovNetwork
        Variables "x0", "x1", ... with the states 0, 1, ...

    Examples
    --------
    >>> from pgmx.datasets import grid_network
    >>> grid_network(10, 10)
    PairwiseMarkovNetwork(100 variables, 180 edges)
    """
    rows, columns = check_natural(n_rows, "n_rows", 1), check_natural(n_columns, "n_columns", 1)
    ids = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack([ids[:, :-1].ravel(), ids[:, 1:].ravel()], axis=1)
    down = np.stack([ids[:-1].ravel(), ids[1:].ravel()], axis=1)
    edges = [tuple(edge) for edge in np.concatenate([across, down]).tolist()]
    return _draw_network(rows * columns, edges, n_states, node_scale, edge_scale, make_generator(random_state))


def sample_markov_network(
    network: PairwiseMarkovNetwork | FittedLearner,
    n_rows: int,
    *,
    burn_in: int = 1000,
    thinning: int = 10,
    n_chains: int = 1,
    random_state: int | None = 0,
    n_jobs: int | None = None,
) -> DiscreteTable:
    """Draw rows from a discrete Markov network by Gibbs sampling.

    Parameters
    ----------
    network : PairwiseMarkovNetwork or fitted learner
        The network; it is not changed.
    n_rows : int
        Number of rows, at least 1.
    burn_in : int, default=1000
        Number of sweeps over all variables before the first row of a chain.
    thinning : int, default=10
        Number of sweeps between consecutive rows.
    n_chains : int, default=1
        Number of independent chains, each with its own burn-in; the rows of a chain are adjacent.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.
    n_jobs : int, optional
        Number of threads over the chains; None means 1. The rows do not depend on it.

    Returns
    -------
    DiscreteTable
        A table for learners; `DiscreteTable.to_pandas` converts it to a frame. It has all states, drawn or not.

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer, or too small.

    Notes
    -----
    A sweep needs about 25 ns per variable: 20,000 rows of 600 variables need about 3 s with the default options. Rows
    of a chain are dependent; a larger `thinning` reduces the dependence. For networks of small treewidth,
    ``network.simulate(n, method="exact")`` draws independent rows.

    References
    ----------
    .. [1] Geman, S. and Geman, D. (1984). Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of
       images. IEEE Transactions on Pattern Analysis and Machine Intelligence 6, 721-741.

    Examples
    --------
    >>> from pgmx.datasets import preferential_attachment_network, sample_markov_network
    >>> sample_markov_network(preferential_attachment_network(20), 500, burn_in=100)
    DiscreteTable(20 variables, 500 rows, 100 states, uint8)
    """
    return sample(
        network,
        check_natural(n_rows, "n_rows", 1),
        method="gibbs",
        burn_in=check_natural(burn_in, "burn_in", 0),
        thinning=check_natural(thinning, "thinning", 1),
        n_chains=check_natural(n_chains, "n_chains", 1),
        seed=check_seed(random_state, "random_state"),
        n_jobs=n_jobs,
    )


def _draw_network(
    n: int,
    edges: Sequence[tuple[int, int]],
    n_states: int,
    node_scale: float,
    edge_scale: float,
    rng: np.random.Generator,
) -> PairwiseMarkovNetwork:
    from pgmx.models import PairwiseMarkovNetwork

    s = check_natural(n_states, "n_states", 1)
    for name, scale in (("node_scale", node_scale), ("edge_scale", edge_scale)):
        if not is_number(scale) or scale < 0:
            raise ValueError(f"{name} must be a number of at least 0, got {scale!r}")
    # sorted, so that the drawn potentials do not depend on the order in which edges were made
    ordered = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
    potentials = PairwisePotentials(
        np.full(n, s),
        rng.normal(0.0, node_scale, n * s),
        ordered,
        rng.normal(0.0, edge_scale, len(ordered) * s * s),
    )
    return PairwiseMarkovNetwork.from_potentials([f"x{v}" for v in range(n)], [range(s)] * n, potentials)

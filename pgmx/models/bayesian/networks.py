"""From edges between ids to pgmpy's graphs and fitted networks.

Every graph has its variables in column order and its edges ordered by (tail, head). It depends neither on the hash seed
nor on the order in which edges were found. Parameters are counted on the coded table, not on a frame.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import inf, prod
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from pgmpy.base import DAG, PDAG
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import TabularCPD

from pgmx.data import DiscreteTable, DistributedTable
from pgmx.graphs.cycles import find_cycle
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.statistics import Moments, marginal_counts
from pgmx.statistics.collinearity import LEAST_RESIDUAL, NOISE, find_small_pivots
from pgmx.statistics.counts import marginal_weights
from pgmx.statistics.families import DistributedFamilies, WeightedFamilies

#: Most cells of one conditional probability table that `fit_discrete` makes (1 GiB of float64).
MAX_CPT_CELLS = 2**27

_Graph = TypeVar("_Graph", bound=DAG)


def to_dag(names: Sequence, edges: Iterable[tuple[int, int]]) -> DAG:
    """Make a pgmpy ``DAG``.

    Parameters
    ----------
    names : sequence of hashable, length n
        Names of the variables. They become the nodes in this order, including isolated ones.
    edges : iterable of (int, int)
        Edges (tail, head) as positions in ``names``, in any order.

    Returns
    -------
    pgmpy.base.DAG
        Edges without weights, as pgmpy adds them.

    Raises
    ------
    ValueError
        For positions outside ``names`` and for cycles.

    Examples
    --------
    >>> dag = to_dag(["rain", "sprinkler", "wet"], [(1, 2), (0, 2)])
    >>> list(dag.nodes()), list(dag.edges())
    (['rain', 'sprinkler', 'wet'], [('rain', 'wet'), ('sprinkler', 'wet')])
    """
    return _add_graph(DAG(), names, _check_acyclic(names, edges))


def to_pdag(names: Sequence, directed: Iterable[tuple[int, int]], undirected: Iterable[tuple[int, int]]) -> PDAG:
    """Make a pgmpy ``PDAG``, such as the graph of an equivalence class.

    Parameters
    ----------
    names : sequence of hashable, length n
        Names of the variables. They become the nodes in this order, including isolated ones.
    directed, undirected : iterable of (int, int)
        Edges as positions in ``names``; directed edges are (tail, head).

    Returns
    -------
    pgmpy.base.PDAG
        An undirected edge is represented by two opposite edges, as in pgmpy.

    Raises
    ------
    ValueError
        For positions outside ``names``, and for two edges between the same two variables.

    Examples
    --------
    >>> pdag = to_pdag(["a", "b", "c"], [(0, 1)], [(1, 2)])
    >>> pdag.directed_edges, pdag.undirected_edges
    ({('a', 'b')}, {('b', 'c')})
    """
    arrows, lines = _check_range(names, directed), _check_range(names, undirected)
    pairs = {frozenset(edge) for edge in arrows + lines}
    if len(pairs) < len(arrows) + len(lines) or any(len(pair) == 1 for pair in pairs):
        raise ValueError(
            "two edges join the same two variables, or one joins a variable with itself; give each pair once"
        )
    # pgmpy's constructor makes a set of the edges: the order of nodes and edges would depend on the hash seed.
    pdag = PDAG()
    pdag.add_nodes_from(names)
    pdag.add_edges_from((names[u], names[v]) for u, v in sorted(arrows + lines + [(v, u) for u, v in lines]))
    pdag.directed_edges = {(names[u], names[v]) for u, v in arrows}
    pdag.undirected_edges = {(names[u], names[v]) for u, v in lines}
    return pdag


def fit_discrete(
    table: DiscreteTable,
    edges: Iterable[tuple[int, int]],
    weights: np.ndarray | None = None,
    *,
    equivalent_sample_size: float | None = None,
    pseudo_counts: float | None = None,
) -> DiscreteBayesianNetwork:
    """Fit a discrete Bayesian network, by maximum likelihood or to the mean of a Dirichlet posterior.

    With N(x, u) the number of rows (or the sum of their weights) in which a variable has state x and its parents the
    configuration u,

        P(x | u) = (N(x, u) + a) / Σ_x (N(x, u) + a),

    where a is 0 by default, `pseudo_counts`, or `equivalent_sample_size` / (r q) with r states and q configurations of
    the parents. If u never occurs and a is 0, each state has probability 1/r. If the table has missing values, a family
    is fitted to the rows that are complete in it. The missing marker is not a state of the network.

    Parameters
    ----------
    table : DiscreteTable
        The coded data; each declared state has a row in the tables, observed or not.
    edges : iterable of (int, int)
        Edges (tail, head) of a DAG, as positions in ``table.columns``.
    weights : float ndarray of shape (n_rows,), optional
        Row weights, not negative; 1 each by default.
    equivalent_sample_size : float, optional
        Equivalent sample size of the uniform Dirichlet prior of BDeu, above 0; no prior by default.
    pseudo_counts : float, optional
        Number of rows that the prior adds to each cell, not negative. 1 is the prior of K2; no prior by default.

    Returns
    -------
    pgmx.models.DiscreteBayesianNetwork
        Nodes, and the parents in each table, are in column order; the state names are from ``table``.

    Raises
    ------
    ValueError
        For positions outside the columns, for cycles, for a table of more than `MAX_CPT_CELLS` cells, if both priors
        are given, and for a prior out of its range.

    Notes
    -----
    Cost: one pass over the rows per edge, and memory for the largest table. The probabilities equal the results of
    pgmpy's ``DiscreteMLE``, and with a prior of its ``DiscreteBayesianEstimator``.

    Maximum likelihood gives probability 0 to configurations that do not occur in the data. New rows may then have
    probability 0, more often with more parents. A prior keeps every probability above 0.

    References
    ----------
    D. Heckerman, D. Geiger, D. M. Chickering (1995), Learning Bayesian networks: the combination of knowledge and
    statistical data, Machine Learning 20, section 5 (the Dirichlet prior of an equivalent sample size).

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.data.table import DiscreteTable
    >>> codes = np.array([[0, 0, 1, 1], [0, 0, 0, 1]], dtype=np.uint8)
    >>> table = DiscreteTable(["rain", "wet"], [("no", "yes"), ("no", "yes")], codes)
    >>> model = fit_discrete(table, [(0, 1)])
    >>> model.get_cpds("wet").get_values()
    array([[1. , 0.5],
           [0. , 0.5]])
    """
    check_parameter_prior(equivalent_sample_size, pseudo_counts)
    names = list(table.columns)
    edges = _check_acyclic(names, edges)
    parents: list[list[int]] = [[] for _ in names]
    for tail, head in edges:
        parents[head].append(tail)
    cards = (table.cardinalities - (table.missing_codes >= 0)).tolist()
    for child, family in enumerate(parents):  # before the first pass over the rows
        _check_size(names, cards, child, family)
    states = [states[:card] for states, card in zip(table.states, cards, strict=True)]
    counts = (
        _sum_families(table, cards, parents, weights)
        if isinstance(table, DistributedTable)  # all families in few messages
        else (_count_family(table, cards, child, family, weights) for child, family in enumerate(parents))
    )
    return make_network(
        names, states, parents, counts, equivalent_sample_size=equivalent_sample_size, pseudo_counts=pseudo_counts
    )


def make_network(
    names: Sequence,
    states: Sequence[Sequence],
    parents: Sequence[Sequence[int]],
    family_counts: Iterable[np.ndarray],
    *,
    equivalent_sample_size: float | None = None,
    pseudo_counts: float | None = None,
) -> DiscreteBayesianNetwork:
    """Return the network of counted families, as `fit_discrete` does; the first axis is for the states of the child."""
    edges = [(tail, child) for child, family in enumerate(parents) for tail in family]
    model = _add_graph(DiscreteBayesianNetwork(), names, sorted(edges))
    for child, (family, counts) in enumerate(zip(parents, family_counts, strict=True)):
        prior = (equivalent_sample_size or 0.0) / counts.size + (pseudo_counts or 0.0)
        model.add_cpds(_make_cpd(names, states, child, family, counts.reshape(len(states[child]), -1) + prior))
    return model


def join_families(networks: Sequence[Any], names: Sequence, edges: Iterable[tuple[int, int]]) -> Any:
    """Return the network of `edges` whose distribution of variable v given its parents is that of ``networks[v]``."""
    model = _add_graph(type(networks[0])(), names, sorted((int(tail), int(head)) for tail, head in edges))
    for name, network in zip(names, networks, strict=True):
        model.add_cpds(network.get_cpds(name))
    return model


def check_parameter_prior(equivalent_sample_size: float | None, pseudo_counts: float | None) -> None:
    """Raise if both priors of the parameters are given, or a prior is out of its range."""
    if equivalent_sample_size is not None and pseudo_counts is not None:
        raise ValueError(
            f"equivalent_sample_size={equivalent_sample_size!r} and pseudo_counts={pseudo_counts!r} are two priors of "
            "the same parameters: give one of them"
        )
    if equivalent_sample_size is not None and not 0 < equivalent_sample_size < inf:
        raise ValueError(f"equivalent_sample_size must be finite and above 0, got {equivalent_sample_size!r}")
    if pseudo_counts is not None and not 0 <= pseudo_counts < inf:
        raise ValueError(f"pseudo_counts must be finite and not negative, got {pseudo_counts!r}")


def to_linear_gaussian(
    frame: pd.DataFrame, names: Sequence, edges: Iterable[tuple[int, int]]
) -> LinearGaussianBayesianNetwork:
    """Fit a linear Gaussian Bayesian network with pgmpy.

    Each variable is normal with a mean that is a linear function of its parents. Coefficients are least squares
    estimates. The standard deviation is estimated from the residuals, with one degree of freedom fewer per coefficient
    (pgmpy's ``LinearGaussianMLE``). The residual variance is at least 1e-12 times the variance of the column, since the
    parents may determine it.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns of finite floating-point values, including ``names``; the frame is not changed.
    names : sequence of hashable
        Names of the variables, in the order of the nodes.
    edges : iterable of (int, int)
        Edges (tail, head) of a DAG, as positions in ``names``.

    Returns
    -------
    pgmx.models.LinearGaussianBayesianNetwork
        With a fitted CPD for every node.

    Raises
    ------
    ValueError
        For names that are not columns, columns that are not float or not finite, positions outside ``names``, cycles.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0], "y": [1.0, 3.0, 5.0, 7.5]})
    >>> model = to_linear_gaussian(frame, ["x", "y"], [(0, 1)])
    >>> model.get_cpds("y").beta.round(3)
    array([0.9 , 2.15])
    """
    edges = _check_acyclic(names, edges)
    columns = {name: position for position, name in enumerate(frame.columns)}
    unknown = [name for name in names if name not in columns]
    if unknown:
        raise ValueError(f"the frame has no columns {unknown}; its columns are {list(columns)}")
    # pgmpy selects columns by name, which fails for tuples and mixed types: it gets placeholder names instead.
    stand_ins = [str(position) for position in range(len(names))]
    data = frame.iloc[:, [columns[name] for name in names]].set_axis(stand_ins, axis=1)
    for name, stand_in in zip(names, stand_ins, strict=True):
        if data[stand_in].dtype.kind != "f" or not np.isfinite(data[stand_in]).all():
            raise ValueError(f"column {name!r} must be float and finite for a linear Gaussian network")
    stand_in_model = _add_graph(LinearGaussianBayesianNetwork(), stand_ins, edges).fit(data)
    model = _add_graph(LinearGaussianBayesianNetwork(), names, edges)
    for cpd in stand_in_model.cpds:
        freedom = max(len(data) - len(cpd.evidence) - 1, 1)  # at least 1: few rows have no degree of freedom
        least = np.sqrt(NOISE * len(data) / freedom) * data[cpd.variable].to_numpy().std()
        evidence = [names[int(parent)] for parent in cpd.evidence]
        model.add_cpds(LinearGaussianCPD(names[int(cpd.variable)], cpd.beta, float(max(cpd.std, least)), evidence))
    return model


def fit_linear_gaussian(
    moments: Moments, names: Sequence, edges: Iterable[tuple[int, int]]
) -> LinearGaussianBayesianNetwork:
    r"""Fit a linear Gaussian Bayesian network to moments, for example the moments of weighted rows.

    The coefficients of a variable with the parents P solve C_PP b = C_Px for the cross-products C. The intercept
    follows from the means. The standard deviation is the root of (C_xx - b C_Px) / (n - p - 1) for p parents, where
    C_xx - b C_Px is at least 1e-12 C_xx. :func:`to_linear_gaussian` gives the same values from the rows.

    Parameters
    ----------
    moments : Moments
        Means and cross-products; no column is constant.
    names : sequence of hashable
        Names of the columns.
    edges : iterable of (int, int)
        Edges (tail, head) of a DAG, as positions in ``names``.

    Returns
    -------
    pgmx.models.LinearGaussianBayesianNetwork
        With a fitted CPD for every node.

    Raises
    ------
    ValueError
        For positions outside ``names``, for cycles, and if the sum of weights is at most the number of coefficients of
        a family.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.statistics import moments
    >>> rows = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0], [3.0, 7.5]])
    >>> fit_linear_gaussian(moments(rows), ["x", "y"], [(0, 1)]).get_cpds("y").beta.round(3)
    array([0.9 , 2.15])
    """
    edges = _check_acyclic(names, edges)
    model = _add_graph(LinearGaussianBayesianNetwork(), names, edges)
    for child, name in enumerate(names):
        parents = [tail for tail, head in edges if head == child]
        freedom = moments.n - len(parents) - 1
        if freedom <= 0:
            raise ValueError(f"{name!r} has {len(parents)} parents, too many for rows of weight {moments.n:g} in all")
        slopes = _regress(moments.cross[np.ix_(parents, parents)], moments.cross[parents, child])
        residual = moments.cross[child, child] - slopes @ moments.cross[parents, child]
        residual = max(residual, NOISE * moments.cross[child, child])
        beta = np.array([moments.mean[child] - slopes @ moments.mean[parents], *slopes])
        model.add_cpds(LinearGaussianCPD(name, beta, float(np.sqrt(residual / freedom)), [names[p] for p in parents]))
    return model


def _regress(gram: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Return the coefficients from cross-products; for collinear predictors, the smallest norm in standard units."""
    scale = np.sqrt(np.where(gram.diagonal() > 0, gram.diagonal(), 1.0))
    standard = gram / np.outer(scale, scale)
    if len(gram) < 2 or not find_small_pivots(standard, np.arange(len(gram))[None]).any():
        return np.linalg.solve(gram, products)
    return np.linalg.lstsq(standard, products / scale, rcond=LEAST_RESIDUAL)[0] / scale


def _check_range(names: Sequence, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the edges sorted, as Python integers, or raise for an id without a name."""
    edges = sorted({(int(tail), int(head)) for tail, head in edges})
    for edge in edges:
        if not 0 <= min(edge) <= max(edge) < len(names):
            raise ValueError(f"edge {edge} has a position outside the {len(names)} variables")
    return edges


def _check_acyclic(names: Sequence, edges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    edges = _check_range(names, edges)
    cycle = find_cycle(len(names), edges)
    if cycle is not None:
        raise ValueError(f"the edges form the cycle {' -> '.join(repr(names[v]) for v in [*cycle, cycle[0]])}")
    return edges


def _add_graph(graph: _Graph, names: Sequence, edges: list[tuple[int, int]]) -> _Graph:
    """Add nodes, and edges that are sorted and acyclic, to an empty graph."""
    graph.add_nodes_from(names)
    graph.add_edges_from((names[tail], names[head]) for tail, head in edges)
    return graph


def _check_size(names: list, cards: list[int], child: int, parents: list[int]) -> None:
    cells = cards[child] * prod(cards[p] for p in parents)
    if cells > MAX_CPT_CELLS:
        raise ValueError(
            f"the probability table of {names[child]!r} given its {len(parents)} parents {[names[p] for p in parents]} "
            f"would have {cells:,} cells ({8 * cells / 2**30:,.0f} GiB); learn again with a smaller max_indegree"
        )


def _count_family(
    table: DiscreteTable, cards: list[int], child: int, parents: list[int], weights: np.ndarray | None
) -> np.ndarray:
    """Count one family, float64 (states, configurations); the last parent varies fastest along the columns."""
    n_states, n_configurations = cards[child], prod(cards[p] for p in parents)
    # the code of a missing value gives a wrong cell; such rows are removed below
    cell = table.codes[child].astype(np.int64)
    for parent in parents:
        cell *= cards[parent]
        cell += table.codes[parent]
    incomplete = [v for v in (child, *parents) if table.missing_codes[v] >= 0]
    if incomplete:
        complete = np.logical_and.reduce([table.codes[v] != table.missing_codes[v] for v in incomplete])
        cell, weights = cell[complete], None if weights is None else weights[complete]
    counts = np.bincount(cell, weights, n_states * n_configurations).reshape(n_states, n_configurations)
    return counts.astype(np.float64)


def _sum_families(
    table: DistributedTable, cards: list[int], parents: list[list[int]], weights: np.ndarray | None
) -> Iterator[np.ndarray]:
    """Yield the counts of each family as `_count_family` does, from the workers of a distributed table."""
    if weights is None:
        ask, sums = DistributedFamilies(table), marginal_counts(table)
    else:
        ask = WeightedFamilies(table.weigh_rows(weights))
        sums = marginal_weights(ask.table, weights)
    marginals = np.split(sums, np.cumsum(table.cardinalities)[:-1])
    families = [(child, family) for child, family in enumerate(parents) if family]
    counted = ask.count_cells(families)
    for child, family in enumerate(parents):
        counts = marginals[child]
        if family:
            cells = next(counted)
            counts = np.zeros(cards[child] * prod(cards[p] for p in family))
            counts[cells.keys.astype(np.int64)] = cells.counts
        yield counts.reshape(-1, cards[child]).T.astype(np.float64)


def _make_cpd(
    names: Sequence, states: Sequence[Sequence], child: int, parents: Sequence[int], counts: np.ndarray
) -> TabularCPD:
    """Return the table of a family from its counts; uniform for configurations with no rows."""
    totals = counts.sum(axis=0)
    unseen = totals == 0
    counts[:, unseen] = 1
    totals[unseen] = len(counts)
    return TabularCPD(
        names[child],
        len(counts),
        counts / totals,
        evidence=[names[p] for p in parents],
        evidence_card=[len(states[p]) for p in parents],
        state_names={names[v]: list(states[v]) for v in [child, *parents]},
    )

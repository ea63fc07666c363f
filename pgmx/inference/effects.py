"""Total causal effects in linear Gaussian networks, and the possible effects in a class of equivalent graphs (IDA)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from pgmx.checks import as_reals, join_names
from pgmx.data.inputs import open_numeric
from pgmx.fitted import FittedLearner, get_graph, get_model
from pgmx.graphs.cycles import describe_cycle, find_cycle
from pgmx.graphs.partial_dag import PartialDag
from pgmx.inference.linear_gaussian import read_regressions
from pgmx.lookup import suggest
from pgmx.statistics.moments import sum_moments

if TYPE_CHECKING:
    import networkx as nx
    from numpy.typing import ArrayLike
    from pgmpy.models import LinearGaussianBayesianNetwork

#: Share of the variance of a cause that its parents leave, up to which they determine it.
_COLLINEAR = 1e-10
#: Difference of two effects, in standard deviations, that is a rounding error.
_ROUNDING = 1e-9


def total_effects(model: LinearGaussianBayesianNetwork | FittedLearner) -> pd.DataFrame:
    r"""Return the total causal effect of each variable on each other one in a linear Gaussian network.

    .. math:: T = (I - B)^{-1} - I

    :math:`B_{yx}` is the coefficient of the parent x in the regression of y. :math:`T_{yx}` is the expected change of y
    if x is set to a value that is larger by 1: the sum over the directed paths from x to y of the products of their
    coefficients.

    Parameters
    ----------
    model : LinearGaussianBayesianNetwork or fitted learner
        The network with its parameters, of pgmpy or of :mod:`pgmx.models`, or a learner of one.

    Returns
    -------
    pandas.DataFrame of float64, shape (p, p)
        Rows are causes and columns effects, as in ``StructurePosterior.causal_effects``: ``frame.loc[x, y]`` is the
        effect of x on y, in units of y per unit of x. Exactly 0 without a directed path, and on the diagonal.

    Raises
    ------
    TypeError
        If the model is of another kind.
    ValueError
        If a variable has no parameters, or parameters that do not fit to its parents.

    Notes
    -----
    Cost: p additions per edge, and 8 p² bytes. Effects are causal if no common cause is unobserved and the directions
    are right. :func:`possible_effects` shows how much depends on directions that data cannot decide. In discrete and
    mixed networks, compare ``marginals(model, do={x: state})`` between states.

    References
    ----------
    K. A. Bollen (1989), Structural Equations with Latent Variables, equation 8.85.

    Examples
    --------
    >>> from pgmpy.factors.continuous import LinearGaussianCPD
    >>> from pgmx.inference import total_effects
    >>> from pgmx.models import LinearGaussianBayesianNetwork
    >>> network = LinearGaussianBayesianNetwork([("rain", "river"), ("river", "level"), ("rain", "level")])
    >>> network.add_cpds(LinearGaussianCPD("rain", [1.0], 1.0))
    >>> network.add_cpds(LinearGaussianCPD("river", [0.0, 0.5], 1.0, ["rain"]))
    >>> network.add_cpds(LinearGaussianCPD("level", [2.0, 2.0, 1.0], 0.5, ["river", "rain"]))
    >>> total_effects(network)
           rain  river  level
    rain    0.0    0.5    2.0
    river   0.0    0.0    2.0
    level   0.0    0.0    0.0
    """
    network: Any = get_model(model)
    if not _is_linear_gaussian(network):
        raise TypeError(
            f"total_effects needs a LinearGaussianBayesianNetwork or a learner of one, got {type(network).__name__}. "
            "For other networks use marginals(model, do={...})"
        )
    names = list(network.nodes())
    regressions = read_regressions(network, names, least=0.0)
    effects = np.zeros((len(names), len(names)))  # by effect and cause
    for v in TopologicalSorter({one.variable: one.parents for one in regressions}).static_order():
        for parent, slope in zip(regressions[v].parents, regressions[v].beta[1:], strict=True):
            effects[v] += slope * effects[parent]
            effects[v, parent] += slope
    index = _make_index(names)
    return pd.DataFrame(effects.T, index=index, columns=index)


class PossibleEffects(NamedTuple):
    """The total effects of a variable that the graphs of an equivalence class allow.

    Attributes
    ----------
    cause : hashable
        The variable that is set.
    parents : list of frozenset
        The possible sets of parents of the cause, small ones first.
    effects : pandas.DataFrame of float64, shape (len(parents), n_effects)
        The effect on each variable, by position in `parents`: in units of the variable per unit of the cause.
    is_unique : pandas.Series of bool
        Whether all sets of parents give the same effect on a variable.
    """

    cause: Hashable
    parents: list[frozenset]
    effects: pd.DataFrame
    is_unique: pd.Series

    @property
    def smallest(self) -> pd.Series:
        """The smallest effect on each variable."""
        return self.effects.min().rename("smallest")

    @property
    def largest(self) -> pd.Series:
        """The largest effect on each variable."""
        return self.effects.max().rename("largest")

    @property
    def unique_effect(self) -> pd.Series:
        """The effects on which all sets of parents agree; NaN for the other variables."""
        return self.effects.iloc[0].where(self.is_unique).rename("unique_effect")


def possible_effects(
    graph: nx.DiGraph | FittedLearner,
    cause: Hashable,
    effects: Hashable | Sequence[Hashable] | None = None,
    *,
    data: Any = None,
    covariance: pd.DataFrame | ArrayLike | LinearGaussianBayesianNetwork | FittedLearner | None = None,
) -> PossibleEffects:
    r"""Return the total effects of a variable x that the graphs of an equivalence class allow (IDA).

    In a DAG with the parents P of x, the effect of x on y is the coefficient of x in the regression of y on x and P:

    .. math:: \beta_{yx \cdot P} =
        \frac{\Sigma_{yx} - \Sigma_{yP} \Sigma_{PP}^{-1} \Sigma_{Px}}
        {\Sigma_{xx} - \Sigma_{xP} \Sigma_{PP}^{-1} \Sigma_{Px}}

    Data without interventions do not decide between equivalent DAGs. So there is one effect for each possible P.

    Parameters
    ----------
    graph : pgmpy PDAG or DAG, networkx DiGraph, or fitted learner
        The class of graphs: a CPDAG, with or without prior knowledge of directions, or an interventional essential
        graph. Two opposite edges are one undirected edge. A DAG represents itself only: learn with
        ``return_type="pdag"``.
    cause : hashable
        Name of the variable x.
    effects : hashable or sequence of hashable, optional
        Name of the variable y, or names of several. None: all other variables.
    data : table, array, path, NumericTable or iterator of frames, optional
        Continuous data with a column for each variable of the graph, without missing values, see
        :func:`pgmx.data.open_numeric`. Rows in which variables were set belong to another distribution: leave them out.
    covariance : DataFrame or array_like of shape (p, p), LinearGaussianBayesianNetwork or fitted learner, optional
        Instead of `data` a covariance or correlation matrix: a frame with the names of the variables, or an array in
        the order of the nodes of the graph. A network, or a learner of one, has the covariance of its distribution; its
        parameters come from rows without interventions if it learned with `interventions`. If both are omitted and
        `graph` is a learner of a linear Gaussian network, it is that of its `model_`.

    Returns
    -------
    PossibleEffects
        The named tuple (cause, parents, effects, is_unique). `smallest` and `largest` are the range of the effects.
        `unique_effect` has a number only if all sets of parents give the same.

    Raises
    ------
    TypeError
        If the graph is undirected or of another kind, such as a PAG.
    ValueError
        If a name is unknown, the graph has a directed cycle or allows no parents of the cause, both or none of `data`
        and `covariance` are given, a matrix is not a covariance, a column is constant or missing, or possible parents
        determine the cause.

    Notes
    -----
    The parents of x are those of the graph and some of its neighbours (by undirected edges), the others being children.
    A set is possible if it makes no new v-structure at x and no directed triangle with x. The graph is closed under
    Meek's rules before, so that the first condition means that the chosen neighbours are pairwise adjacent. In a CPDAG
    it is enough [1]_. With known directions both are needed [2]_.

    The set of effects is that of all DAGs of the class; each occurs once per set of parents, as with
    ``method="local"`` of R's pcalg, not once per DAG. The effect on a variable is exactly 0 if no path that directed
    edges could form leads to it from x; pcalg estimates it then, unless the variable is a parent.

    Estimates from different sets of parents differ by sampling errors, even if the effect is the same. With the
    covariance of a network that was fitted to a DAG of the class they agree.

    Cost: 2^k sets if the k neighbours of x are adjacent to each other, and k³ + k² m multiplications per set of k
    parents for m variables y.

    References
    ----------
    .. [1] M. H. Maathuis, M. Kalisch, P. Bühlmann (2009). Estimating high-dimensional intervention effects from
       observational data. Annals of Statistics 37, 3133-3164, algorithm 3.
    .. [2] Z. Fang, Y. He (2020). IDA with background knowledge. UAI, PMLR 124, 270-279, theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pgmx.estimators import GreedyEquivalenceSearch
    >>> from pgmx.inference import possible_effects
    >>> rng = np.random.default_rng(0)
    >>> dose = rng.normal(size=5_000)
    >>> level = dose + rng.normal(size=5_000)
    >>> data = pd.DataFrame({"dose": dose, "level": level, "response": level + rng.normal(size=5_000)})
    >>> search = GreedyEquivalenceSearch(scoring_method="bic-g").fit(data)
    >>> found = possible_effects(search, "level", "response", data=data)
    >>> [sorted(parents) for parents in found.parents]
    [[], ['dose'], ['response']]
    >>> found.effects["response"].round(1).tolist()
    [1.0, 1.0, 0.0]
    >>> float(found.smallest["response"]), float(found.unique_effect["response"])
    (0.0, nan)
    """
    names, partial = _read_graph(graph)
    place = {name: v for v, name in enumerate(names)}
    x = _find(cause, place)
    if effects is None:
        targets = [v for v in range(len(names)) if v != x]
    else:
        targets = [_find(name, place) for name in _list_names(effects, place)]
        if len(set(targets)) < len(targets) or x in targets:
            raise ValueError(f"effects must be distinct variables other than the cause {cause!r}, got {effects!r}")
    used = [*{x: None} | dict.fromkeys(sorted(partial.parents[x] | partial.neighbours[x])) | dict.fromkeys(targets)]
    if data is None and covariance is None and hasattr(type(graph), "model_") and _is_linear_gaussian(get_model(graph)):
        correlation, deviations = _read_covariance(names, used, None, graph)
    else:
        correlation, deviations = _read_covariance(names, used, data, covariance)
    sets = list(_list_parents(partial, x))
    if not sets:
        raise ValueError(f"the graph allows no parents of {cause!r} without a new v-structure: it represents no DAG")
    found = np.zeros((len(sets), len(targets)))
    position = {v: i for i, v in enumerate(used)}
    for row, parents in zip(found, sets, strict=True):
        descendants = _find_reachable(partial, x, parents)
        reached = [i for i, y in enumerate(targets) if y in descendants]
        slopes = _regress(correlation, [position[p] for p in parents], [position[targets[i]] for i in reached])
        if slopes is None:
            raise ValueError(
                f"the possible parents {join_names(names[p] for p in parents)} determine {cause!r}: their effects "
                "cannot be separated. Leave out some of these variables"
            )
        row[reached] = slopes
    is_unique = np.ptp(found, axis=0) <= _ROUNDING
    found *= deviations[[position[v] for v in targets]] / deviations[0]
    index = _make_index([names[v] for v in targets])
    return PossibleEffects(
        names[x],
        [frozenset(names[p] for p in parents) for parents in sets],
        pd.DataFrame(found, columns=index),
        pd.Series(is_unique, index=index, name="is_unique"),
    )


def _make_index(names: Sequence[Hashable]) -> pd.Index:
    return pd.Index(names, tupleize_cols=False, dtype=object)


def _list_names(given: Any, place: dict[Hashable, int]) -> list:
    """Return names of variables from one name or several."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        return [given]
    if isinstance(given, tuple | frozenset) and given in place:
        return [given]
    return list(given)


def _find(name: Hashable, place: dict[Hashable, int]) -> int:
    try:
        return place[name]
    except (KeyError, TypeError):
        raise ValueError(f"{name!r} is not a node of the graph{suggest(name, place)}") from None


# ---- the graph ----


def _read_graph(graph: Any) -> tuple[list[Hashable], PartialDag]:
    """Return the names of the nodes, and the graph closed under Meek's rules."""
    given = get_graph(graph)
    is_directed = getattr(given, "is_directed", None)
    if not callable(is_directed) or not is_directed() or given.is_multigraph():
        raise TypeError(
            f"expected a pgmpy PDAG or DAG, a networkx DiGraph or a fitted learner, got {type(given).__name__}"
        )
    names = list(given.nodes())
    place = {name: v for v, name in enumerate(names)}
    pairs = {(place[u], place[v]) for u, v in given.edges()}
    arcs = sorted((u, v) for u, v in pairs if (v, u) not in pairs or u == v)
    partial = PartialDag(len(names))
    for u, v in pairs:
        partial.adjacent[u].add(v)
        partial.adjacent[v].add(u)
    partial.neighbours = [set(others) for others in partial.adjacent]
    for arc in arcs:
        partial.orient(*arc)
    partial.close()
    # the edges as they are given may have a cycle, or get one by the rules
    for edges in (arcs, [(u, v) for v in range(len(names)) for u in sorted(partial.parents[v])]):
        cycle = find_cycle(len(names), edges)
        if cycle is not None:
            path = describe_cycle(names, cycle)
            raise ValueError(f"the graph has the directed cycle {path}: it represents no DAG")
    return names, partial


def _list_parents(graph: PartialDag, x: int) -> Iterator[list[int]]:
    """Yield the possible sets of parents of x, sorted, small ones first."""
    for chosen in graph.list_cliques(graph.neighbours[x]):
        children = graph.neighbours[x] - chosen
        # an edge from a child to a parent would close a cycle; at other such triangles the rules have directed x's edge
        if not any(graph.parents[v] & children for v in chosen):
            yield sorted(graph.parents[x] | chosen)


def _find_reachable(graph: PartialDag, x: int, parents: Sequence[int]) -> set[int]:
    """Return the variables to which directed paths from x may lead, if its parents are these."""
    seen = {x, *parents}
    waiting = [x]
    for v in waiting:  # grows meanwhile
        onward = (graph.children[v] | graph.neighbours[v]) - seen
        seen |= onward
        waiting.extend(onward)
    return seen - {x, *parents}


# ---- covariances ----


def _read_covariance(
    names: Sequence[Hashable], used: Sequence[int], data: Any, covariance: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the correlations and the standard deviations of some variables."""
    if (data is None) == (covariance is None):
        raise ValueError(
            "give either data or covariance; both may be omitted only for a learner of a linear Gaussian network"
        )
    if hasattr(type(covariance), "model_") or hasattr(covariance, "cpds"):
        covariance = _find_covariance(covariance)
    if covariance is None:
        table = open_numeric(data)
        order, matrix = table.names, sum_moments(table).covariance
    elif isinstance(covariance, pd.DataFrame):
        order, matrix = tuple(covariance.columns), as_reals(covariance, "covariance")
        if tuple(covariance.index) != order:
            raise ValueError("the index and the columns of covariance must be the same names in the same order")
    else:
        order, matrix = tuple(names), as_reals(covariance, "covariance")
        if matrix.shape != (len(names), len(names)):
            raise ValueError(f"covariance must have the shape {(len(names),) * 2}, got {matrix.shape}")
    place = {name: v for v, name in enumerate(order)}
    absent = [names[v] for v in used if names[v] not in place]
    if absent:
        raise ValueError(f"{'data' if covariance is None else 'covariance'} must have columns for {join_names(absent)}")
    rows = [place[names[v]] for v in used]
    matrix = matrix[np.ix_(rows, rows)].astype(float)
    deviations = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    constant = [names[v] for v, deviation in zip(used, deviations, strict=True) if not deviation > 0.0]
    if constant:
        raise ValueError(f"{join_names(constant)} must have a positive variance")
    correlation = matrix / np.outer(deviations, deviations)
    if not (np.abs(correlation) <= 1.0 + 1e-8).all() or not np.allclose(correlation, correlation.T, rtol=0, atol=1e-8):
        raise ValueError("covariance must be symmetric, finite and positive semidefinite")
    return correlation, deviations


def _is_linear_gaussian(network: Any) -> bool:
    cpds = getattr(network, "cpds", None)
    return cpds is not None and all(hasattr(cpd, "beta") for cpd in cpds)


def _find_covariance(model: Any) -> pd.DataFrame:
    """Return the covariance of a linear Gaussian network, or of that of a learner."""
    network: Any = get_model(model)
    if not _is_linear_gaussian(network):
        raise TypeError(f"covariance must be of a linear Gaussian network, got {type(network).__name__}")
    names = list(network.nodes())
    slopes, variances = np.zeros((len(names), len(names))), np.zeros(len(names))
    for one in read_regressions(network, names, least=0.0):
        slopes[list(one.parents), one.variable] = one.beta[1:]
        variances[one.variable] = one.std**2
    spread = np.linalg.inv(np.eye(len(names)) - slopes)
    matrix = spread.T @ (variances[:, None] * spread)
    index = _make_index(names)
    return pd.DataFrame((matrix + matrix.T) / 2, index=index, columns=index)


def _regress(correlation: np.ndarray, parents: Sequence[int], targets: Sequence[int]) -> np.ndarray | None:
    """Return the coefficients of the first variable in regressions of targets on it and its parents.

    None if the parents determine the first variable.
    """
    columns = [0, *targets]
    residual = correlation[0, columns]
    if parents:
        within = correlation[np.ix_(parents, parents)]
        slopes = np.linalg.lstsq(within, correlation[np.ix_(parents, columns)], rcond=_COLLINEAR)[0]
        residual = residual - correlation[0, parents] @ slopes
    return residual[1:] / residual[0] if residual[0] > _COLLINEAR else None

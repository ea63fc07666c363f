"""The learning curve of a known network: divergence from the truth against the number of rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from pgmx.checks import check_natural, check_same_names, is_number
from pgmx.fitted import FittedLearner, get_model
from pgmx.graphs.cycles import describe_cycle, find_cycle
from pgmx.inference.exact.family_marginals import FamilyMarginals
from pgmx.inference.named_networks import BayesianArrays, draw_codes
from pgmx.metrics.divergence import compute_divergence
from pgmx.metrics.graphs import cpdag_shd

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    from pgmpy.models import DiscreteBayesianNetwork

    from pgmx.data import DiscreteTable

_MAX_CELLS = 2**27  # of one conditional table (1 GiB)


def learning_curve(
    network: DiscreteBayesianNetwork | FittedLearner,
    sizes: Iterable[int],
    learners: Mapping[str, Any],
    *,
    n_repeats: int = 5,
    pseudo_count: float = 1.0,
    max_cells: int = 2**18,
    n_samples: int = 100_000,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> pd.DataFrame:
    r"""Learn a known network from samples of increasing size, and measure the divergence from it.

    The parameters of each learned structure are

    .. math:: Q(x \mid u) = \frac{N(x, u) + a}{N(u) + a\,r}

    with :math:`a` the `pseudo_count` and :math:`r` the number of states. The measure is the Kullback-Leibler divergence
    :math:`D(P \| Q)` of `kl_divergence`. For a fixed graph instead of a learner, only the parameters are learned. The
    difference of the two curves is the cost of an unknown structure.

    Parameters
    ----------
    network : DiscreteBayesianNetwork or fitted learner
        The true network :math:`P`; it is not changed.
    sizes : iterable of int
        Numbers of rows, at least 2 each.
    learners : mapping of str to learner or DAG
        Learners or graphs by label: a learner of DAGs, which is cloned before each run, or a fixed DAG over the
        variables of `network`, such as `network` itself.
    n_repeats : int, default=5
        Number of independent samples. Within one sample, the rows of a smaller size are the first rows of a larger one.
    pseudo_count : float, default=1.0
        Added to every count. With 0, parameters are maximum likelihood estimates, and the divergence is infinite if a
        possible combination does not occur in the rows.
    max_cells, n_samples : int
        As in `kl_divergence`; defaults 2**18 and 100,000.
    random_state : int, default=0
        Seed of the samples. The learners have their own seeds.
    n_jobs : int or None, default=None
        Number of processes over the repeats, as in joblib; the result does not depend on it.

    Returns
    -------
    pandas.DataFrame
        One row per learner, size and repeat, in this order, with the columns ``learner``, ``n_rows``, ``repeat``,
        ``divergence`` (nats), ``standard_error`` (of the divergence; 0 if it is exact), ``shd`` (`cpdag_shd` to
        `network`) and ``n_edges``.

    Raises
    ------
    TypeError, ValueError
        If `network` is not a discrete Bayesian network, `learners` is not a mapping of learners and graphs, a number is
        out of range, a graph has other variables, or a result is not a DAG.

    References
    ----------
    D. Koller, N. Friedman (2009), Probabilistic Graphical Models, chapter 18 (ICU-Alarm learned from samples).

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.estimators import HillClimbSearch
    >>> from pgmx.metrics import learning_curve
    >>> network = load_network("cancer")
    >>> learners = {"structure known": network, "BIC": HillClimbSearch(scoring_method="bic")}
    >>> curve = learning_curve(network, [100, 10_000], learners, n_repeats=3)
    >>> curve.shape
    (12, 7)
    >>> means = curve[curve["learner"] == "structure known"].groupby("n_rows")["divergence"].mean()
    >>> means.round(4).to_dict()
    {100: 0.0547, 10000: 0.0003}
    """
    import pandas as pd
    from joblib import Parallel, delayed

    model: Any = get_model(network)
    arrays = BayesianArrays.from_model(model, "network")
    _check_learners(learners, model)
    if not isinstance(sizes, Iterable):
        raise TypeError(f"sizes must be a list of row counts, got {sizes!r}")
    rows = sorted({check_natural(size, "each of the sizes", 2) for size in sizes})
    if not rows:
        raise ValueError("sizes is empty: give at least one number of rows")
    if not is_number(pseudo_count) or pseudo_count < 0:
        raise ValueError(f"pseudo_count must be a number of at least 0, got {pseudo_count!r}")
    marginals = FamilyMarginals(arrays.normalise(), check_natural(max_cells, "max_cells", 0))
    options = (float(pseudo_count), check_natural(n_samples, "n_samples", 2))
    seeds = np.random.SeedSequence(check_natural(random_state, "random_state", 0)).generate_state(
        check_natural(n_repeats, "n_repeats", 1), np.uint64
    )
    for v, parents in enumerate(arrays.parents):
        marginals.joint((v, *parents))  # cached here once, not in each process
    repeats: Any = Parallel(n_jobs=n_jobs)(
        delayed(_run_repeat)(model, arrays, marginals, rows, dict(learners), options, int(seed)) for seed in seeds
    )
    records = [
        (label, n, repeat, *results[label, n])
        for label in learners
        for n in rows
        for repeat, results in enumerate(repeats)
    ]
    names = ["learner", "n_rows", "repeat", "divergence", "standard_error", "shd", "n_edges"]
    return pd.DataFrame.from_records(records, columns=names)


def _check_learners(learners: Mapping[str, Any], network: DiscreteBayesianNetwork) -> None:
    import networkx as nx

    if not isinstance(learners, Mapping) or not learners:
        raise TypeError(f"learners must be a mapping of labels to learners or DAGs, got {learners!r}")
    for label, learner in learners.items():
        if isinstance(learner, nx.DiGraph):
            check_same_names(learner.nodes(), network.nodes(), f"the graph {label!r}", "the network")
        elif isinstance(learner, type) or not hasattr(learner, "fit"):
            raise TypeError(f"the learner {label!r} must be a learner with a method fit, or a DAG, got {learner!r}")


def _run_repeat(
    network: DiscreteBayesianNetwork,
    arrays: BayesianArrays,
    marginals: FamilyMarginals,
    rows: list[int],
    learners: dict[str, Any],
    options: tuple[float, int],
    seed: int,
) -> dict[tuple[str, int], tuple[float, float, int, int]]:
    """Return (divergence, standard error, shd, number of edges) by label and number of rows for one sample."""
    from pgmx.data import DiscreteTable

    pseudo_count, n_samples = options
    # The samples of a repeat are nested: the first n rows of the largest one.
    codes = draw_codes(arrays, rows[-1], seed)
    results = {}
    for n in rows:
        table = DiscreteTable(arrays.names, arrays.states, [column[:n] for column in codes])
        for label, learner in learners.items():
            graph = _learn_graph(learner, table, label)
            network_fit = _fit_arrays(table, _read_parents(graph, arrays.names, label), pseudo_count)
            divergence = compute_divergence(marginals, network_fit, n_samples, seed % 2**32)
            distance = cpdag_shd(network, graph)
            results[label, n] = (divergence.nats, divergence.standard_error, distance, graph.number_of_edges())
    return results


def _learn_graph(learner: Any, table: DiscreteTable, label: str) -> nx.DiGraph:
    import networkx as nx
    from sklearn.base import clone

    if isinstance(learner, nx.DiGraph):
        return learner
    fitted: Any = clone(learner)
    fitted.fit(table)
    graph = fitted.dag_ if hasattr(fitted, "dag_") else fitted.graph_
    if not isinstance(graph, nx.DiGraph):
        raise ValueError(f"the result of {label!r} is a {type(graph).__name__}: a learner of DAGs is needed")
    return graph


def _read_parents(graph: nx.DiGraph, names: Sequence[Hashable], label: str) -> list[tuple[int, ...]]:
    """Return the parents of each variable by position; raise an error if the graph has a cycle."""
    at = {name: v for v, name in enumerate(names)}
    edges = sorted((at[u], at[v]) for u, v in graph.edges())
    cycle = find_cycle(len(names), edges)
    if cycle is not None:
        path = describe_cycle(names, cycle)
        raise ValueError(f"the graph of {label!r} has the cycle {path}: a DAG is needed")
    return [tuple(u for u, head in edges if head == v) for v in range(len(names))]


def _fit_arrays(table: DiscreteTable, parents: Sequence[tuple[int, ...]], pseudo_count: float) -> BayesianArrays:
    """Return the network of a structure with smoothed parameters; 1/r without any counts."""
    cards = [len(states) for states in table.states]
    tables = []
    for v, parent_ids in enumerate(parents):
        shape = (cards[v], *(cards[u] for u in parent_ids))
        if prod(shape) > _MAX_CELLS:
            raise ValueError(
                f"the table of {table.columns[v]!r} given {len(parent_ids)} parents would have {prod(shape):,} cells: "
                "set max_indegree of the learner"
            )
        cell = np.ravel_multi_index([table.codes[v], *(table.codes[u] for u in parent_ids)], shape)
        counts = np.bincount(cell, minlength=prod(shape)).reshape(shape) + pseudo_count
        totals = counts.sum(axis=0)
        tables.append(np.where(totals > 0.0, counts / np.where(totals > 0.0, totals, 1.0), 1.0 / cards[v]))
    return BayesianArrays(list(table.columns), list(table.states), list(parents), tables)

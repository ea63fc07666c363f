"""The conditional linear Gaussian network that learners return: a pgmpy graph whose parameters are arrays."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, cast

import networkx as nx
import numpy as np
import pgmpy.models
from numpy.typing import ArrayLike
from pgmpy.base import DAG
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import TabularCPD

from pgmx.checks import check_same_names, join_names
from pgmx.data import DiscreteTable, open_any, open_frame
from pgmx.data.mixed import MixedTable, read_mixed
from pgmx.data.weights import check_row_weights
from pgmx.inference.mixed.families import DiscreteFamily, MixedFamilies
from pgmx.models.base import FixedGraph
from pgmx.models.bayesian.linear_gaussian_network import LinearGaussianBayesianNetwork
from pgmx.models.files.mixed import MIXED_READERS, MIXED_WRITERS, MixedParts
from pgmx.models.mixed.cpds import (
    ConditionalGaussianCPD,
    freeze_families,
    make_cpd,
    make_linear_gaussian,
    make_parts,
    read_cpds,
)
from pgmx.models.mixed.fitting import Smoothing, fit_families
from pgmx.models.mixed.queries import MixedQueries


class ConditionalGaussianNetwork(MixedQueries, FixedGraph, DAG):
    r"""A Bayesian network of discrete and continuous variables: the conditional linear Gaussian model of Lauritzen.

    .. math::
        p(i, x) = \prod_{v\ \mathrm{discrete}} P(i_v \mid i_{\mathrm{pa}(v)})
        \prod_{v\ \mathrm{continuous}} \mathcal{N}\Big(x_v;\ \beta_{v0}(i) + \sum_k \beta_{vk}(i)\, x_k,\
        \sigma_v^2(i)\Big)

    Discrete variables have only discrete parents. A continuous variable has a regression on its continuous parents for
    each configuration of its discrete parents. Networks are made by `fit`, `from_cpds`, `from_network`, `load`, and by
    the learners for mixed tables.

    Parameters
    ----------
    ebunch : iterable of edges, optional
        Edges (parent, child); ``add_node`` adds variables without edges. The network has no parameters until `fit`. Its
        graph can be changed until then.

    Attributes
    ----------
    names : tuple of hashable
        Names of the variables (nodes), in order.
    states : dict of {name: tuple}
        The states of the discrete variables.
    continuous : list of hashable
        Names of the continuous variables.
    graph : dict
        Attributes of the graph, such as ``name``.

    Notes
    -----
    Two networks are equal if they have the same variables, states and parameters in the same order.

    References
    ----------
    S. L. Lauritzen, N. Wermuth (1989), Graphical models for associations between variables, some of which are
    qualitative and some quantitative, Annals of Statistics 17. D. Koller, N. Friedman (2009), Probabilistic Graphical
    Models, section 5.5.1 (definition 5.15) and chapter 14.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.models import ConditionalGaussianNetwork
    >>> rows = pd.DataFrame({"dam": ["open"] * 3 + ["shut"] * 3, "level": [1.0, 1.5, 2.0, 4.0, 4.5, 5.0]})
    >>> network = ConditionalGaussianNetwork([("dam", "level")]).fit(rows)
    >>> network
    ConditionalGaussianNetwork(1 discrete and 1 continuous variable, 1 edge)
    >>> network.get_cpds("level").to_frame().loc["open"].round(3).to_dict()
    {'(Intercept)': 1.5, 'std': 0.408}
    >>> network.predict_proba({"level": 2.9}).loc[0].round(3).to_dict()
    {('dam', 'open'): 0.858, ('dam', 'shut'): 0.142}
    """

    _writers = MIXED_WRITERS
    _readers = MIXED_READERS
    _description = "a conditional Gaussian network"
    _follows_from = ("parameters", "from_cpds")
    _plain = nx.DiGraph

    def __init__(self, ebunch: Iterable | None = None) -> None:
        self._families: MixedFamilies | None = None
        self._names: tuple = ()
        self._states: tuple = ()
        super().__init__(ebunch)

    # ---- construction ----

    @classmethod
    def from_cpds(cls, cpds: Iterable[TabularCPD | ConditionalGaussianCPD | LinearGaussianCPD]) -> Self:
        """Make a network from the distributions of its variables given their parents.

        Parameters
        ----------
        cpds : iterable of TabularCPD, ConditionalGaussianCPD or LinearGaussianCPD
            One per variable, in the order of the variables.

        Returns
        -------
        ConditionalGaussianNetwork
            A network with its own copy of the parameters.

        Raises
        ------
        TypeError, ValueError
            If an object has another type, a parent has no distribution or other states, a discrete variable has a
            continuous parent, probabilities do not add up to 1, a standard deviation is not above 0, or the parents
            form a cycle.
        """
        return cls.from_parts(read_cpds(cpds))

    @classmethod
    def from_network(
        cls, network: pgmpy.models.DiscreteBayesianNetwork | pgmpy.models.LinearGaussianBayesianNetwork
    ) -> Self:
        """Make a network from a fitted pgmpy network, whose variables are all discrete or all continuous.

        Parameters
        ----------
        network : DiscreteBayesianNetwork or LinearGaussianBayesianNetwork
            A network with a CPD for each node.

        Returns
        -------
        ConditionalGaussianNetwork
            A network with the nodes in the same order.

        Raises
        ------
        TypeError, ValueError
            If the network has another type, a node has no CPD, or as by `from_cpds`.
        """
        kinds = pgmpy.models.DiscreteBayesianNetwork | pgmpy.models.LinearGaussianBayesianNetwork
        if not isinstance(network, kinds):
            raise TypeError(
                "network must be a DiscreteBayesianNetwork or a LinearGaussianBayesianNetwork, got "
                f"{type(network).__name__}"
            )
        cpds = {name: network.get_cpds(name) for name in network.nodes()}
        bare = [name for name, cpd in cpds.items() if cpd is None]
        if bare:
            raise ValueError(f"the nodes {join_names(bare)} have no parameters: fit the network or add their CPDs")
        return cls.from_cpds(cast("Iterable", cpds.values()))

    def fit(
        self,
        data: Any,
        *,
        state_names: Mapping[Hashable, Sequence] | None = None,
        sample_weight: ArrayLike | None = None,
        missing: Literal["error", "drop"] = "error",
        equivalent_sample_size: float | None = None,
        pseudo_counts: float | None = None,
        variance: Literal["likelihood", "unbiased"] = "likelihood",
    ) -> Self:
        r"""Fit the parameters of the graph to a table, by maximum likelihood or with a prior.

        Discrete variables are fitted as by :func:`pgmx.models.fit_discrete`. A continuous variable is regressed on its
        continuous parents by least squares, in each of the q configurations of its discrete parents. The variance is

        .. math:: \sigma_d^2 = \mathrm{SSE}_d / (N_d + a)

        with :math:`N_d` the number of rows (or the sum of their weights). The prior adds :math:`a` average rows of the
        whole table to each configuration, with :math:`a` = `pseudo_counts`, `equivalent_sample_size` / q, or 0.

        A regression has no maximum of the likelihood if a configuration has at most k + 1 rows (the number of
        coefficients with k continuous parents), or if the residual variance is below 1e-10 of the variance in the
        table. Then :math:`a` is larger by k + 2, and a ridge penalty of 1e-8 per row acts on the standardised columns.
        The variance is at least 1e-10 of the variance in the table. A configuration without rows has the regression of
        the whole table.

        Parameters
        ----------
        data : DataFrame, array, DiscreteTable, path or iterator of frames
            Continuous columns (finite floats, not constant) and discrete columns (others, including integers). The
            columns are the nodes, in any order.
        state_names : dict of {name: sequence}, optional
            States of some or all discrete columns, in order.
        sample_weight : array_like of shape (n_rows,), optional
            Weights of the rows, not negative; 1 each by default. With ``missing="drop"`` give weights of all rows.
        missing : {"error", "drop"}, default="error"
            "error" raises for missing values, "drop" drops their rows.
        equivalent_sample_size : float, optional
            Equivalent sample size of the prior in each family, above 0; no prior by default.
        pseudo_counts : float, optional
            Number of rows that the prior adds to each cell, not negative; no prior by default.
        variance : {"likelihood", "unbiased"}, default="likelihood"
            "unbiased" subtracts k + 1 from the divisor.

        Returns
        -------
        ConditionalGaussianNetwork
            The network itself, with nodes in the order of the columns.

        Raises
        ------
        ValueError
            If the columns are not the nodes, values are missing or infinite, a continuous column is constant, the edges
            form a cycle or lead from a continuous to a discrete variable, or an option is out of its range.
        """
        if variance not in ("likelihood", "unbiased"):
            raise ValueError(f"variance must be 'likelihood' or 'unbiased', got {variance!r}")
        weights, mask = None, None
        if sample_weight is not None and missing == "drop" and not isinstance(data, DiscreteTable):
            opened: Any = open_frame(data)  # with all rows, to which the weights belong
            mask = opened.complete_mask()
        else:
            opened = open_any(data, state_names=state_names, missing=missing)
        if sample_weight is not None:
            weights = check_row_weights(sample_weight, opened.n_rows)
            weights = weights if weights is None or mask is None else weights[mask]
        mixed = read_mixed(opened, state_names=state_names, missing=missing)
        check_same_names(self.nodes(), mixed.columns, "the network", "the data")
        place = {name: v for v, name in enumerate(mixed.columns)}
        edges = [(place[u], place[v]) for u, v in self.edges()]
        smoothing = Smoothing(equivalent_sample_size, pseudo_counts, variance == "unbiased")
        self._set_parts(make_parts(mixed, fit_families(mixed, edges, weights, smoothing), str(self.name or "")))
        return self

    @classmethod
    def from_parts(cls, parts: MixedParts) -> Self:
        """Make a network from the fields that files hold."""
        network = cls()
        network._set_parts(parts)
        return network

    def _set_parts(self, parts: MixedParts) -> None:
        """Set names, states and parameters, and make nodes and edges from them."""
        self._families = None  # the graph can be changed until the families are set
        names = tuple(parts.names)
        self._plain.clear(self)
        self._plain.add_nodes_from(self, names)
        # Sorted: the order of the edges does not depend on the order of the parents.
        ends = sorted((p, v) for v, parents in enumerate(parts.families.parents) for p in parents)
        self._plain.add_edges_from(self, ((names[p], names[v], {"weight": None}) for p, v in ends))
        if parts.name:
            self.graph["name"] = parts.name
        self._names, self._states = names, tuple(parts.states)
        # Copies: later changes of the caller's arrays have no effect.
        self._families = freeze_families(parts.families)

    def parts(self) -> MixedParts:
        """Return the fields that files hold: names, states, families and the name."""
        return MixedParts(self._names, self._states, self._require_families(), str(self.name or ""))

    def _is_fixed(self) -> bool:
        return self._families is not None

    def _require_families(self) -> MixedFamilies:
        if self._families is None:
            raise ValueError(
                "this network has no parameters: fit it to a table, or make it with "
                "ConditionalGaussianNetwork.from_cpds"
            )
        return self._families

    # ---- variables and parameters ----

    @property
    def names(self) -> tuple:
        """Names of the variables, in order."""
        return self._names if self._families is not None else tuple(self.nodes())

    @property
    def states(self) -> dict:
        """States of the discrete variables, by name; empty without parameters."""
        return {name: own for name, own in zip(self._names, self._states, strict=True) if own is not None}

    @property
    def continuous(self) -> list:
        """Names of the continuous variables, in order; empty without parameters."""
        return [name for name, own in zip(self._names, self._states, strict=True) if own is None]

    @property
    def cpds(self) -> list:
        """The distributions of all variables given their parents, in order (see `get_cpds`)."""
        return [] if self._families is None else [self.get_cpds(name) for name in self._names]

    def get_cpds(self, node: Hashable | None = None) -> Any:
        """Return the distribution of a variable given its parents.

        Parameters
        ----------
        node : hashable, optional
            A variable; None for the list of all distributions.

        Returns
        -------
        TabularCPD, ConditionalGaussianCPD or list
            A TabularCPD for a discrete variable, else a ConditionalGaussianCPD; copies that do not change the network.

        Raises
        ------
        ValueError
            If there is no such variable, or the network has no parameters.
        """
        if node is None:
            return self.cpds
        self._require_families()
        self._check_node(node)
        return make_cpd(self.parts(), self._names.index(node))

    def check_model(self) -> bool:
        """Return True: a network with parameters is always consistent."""
        self._require_families()
        return True

    @property
    def n_parameters(self) -> int:
        """Number of free parameters: q (r - 1) for r states, q (k + 2) for a regression on k continuous parents."""
        families = self._require_families().families
        return sum(
            family.table[1:].size if isinstance(family, DiscreteFamily) else family.coefficients.size + family.std.size
            for family in families
        )

    # ---- copies and other forms ----

    def copy(self) -> Self:
        """Return an independent network with the same parameters and the same attributes of graph, nodes and edges."""
        clone = type(self)()
        self._copy_graph(clone)
        clone._names, clone._states, clone._families = self._names, self._states, self._families
        return clone

    def to_networkx(self) -> nx.DiGraph:
        """Return a plain graph, whose nodes have the attribute ``kind``: "discrete" or "continuous"."""
        graph = nx.DiGraph(**self.graph)
        kinds = [{} if self._families is None else {"kind": self._kind(v)} for v in range(len(self))]
        graph.add_nodes_from(
            (name, {**marks, **kind}) for (name, marks), kind in zip(self.nodes(data=True), kinds, strict=True)
        )
        graph.add_edges_from((u, v, dict(marks)) for u, v, marks in self.edges(data=True))
        return graph

    def _kind(self, v: int) -> str:
        return "continuous" if self._states[v] is None else "discrete"

    def to_pgmpy(self) -> pgmpy.models.DiscreteBayesianNetwork | pgmpy.models.LinearGaussianBayesianNetwork:
        """Return a network of discrete, or of continuous, variables as an object of pgmpy's own class.

        Returns
        -------
        pgmpy.models.DiscreteBayesianNetwork or pgmpy.models.LinearGaussianBayesianNetwork
            A network with its CPDs, whose pickles can be read without pgmx.

        Raises
        ------
        ValueError
            If the network has variables of both kinds, for which pgmpy has no class.
        """
        parts = self.parts()
        if not self.continuous:
            model = pgmpy.models.DiscreteBayesianNetwork()
            nx.DiGraph.add_nodes_from(model, parts.names)
            nx.DiGraph.add_edges_from(model, ((u, v, {"weight": None}) for u, v in self.edges()))
            model.add_cpds(*self.cpds)
            return model
        if self.states:
            raise ValueError(
                "pgmpy has no network of discrete and continuous variables: to_linear_gaussian_bn(configuration) gives "
                "the one of the continuous variables in one configuration"
            )
        return make_linear_gaussian(parts, {}).to_pgmpy()

    def to_linear_gaussian_bn(self, configuration: Mapping[Hashable, Hashable]) -> LinearGaussianBayesianNetwork:
        """Return the linear Gaussian network of the continuous variables in a configuration of the discrete ones.

        Parameters
        ----------
        configuration : dict of {name: state}
            A state of each discrete variable with continuous children; other variables may be left out.

        Returns
        -------
        pgmx.models.LinearGaussianBayesianNetwork
            A network of the continuous variables, with its CPDs.

        Raises
        ------
        ValueError
            If a state is unknown or missing, a name is not a discrete variable, or there are no continuous variables.
        """
        return make_linear_gaussian(self.parts(), configuration)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalGaussianNetwork):
            return False  # a graph without parameters differs from a network
        if self._families is None or other._families is None:
            return self._families is other._families and bool(DAG.__eq__(self, other))
        if self._names != other._names or self._states != other._states:
            return False
        pairs: Any = zip(self._families.families, other._families.families, strict=True)
        return all(
            type(a) is type(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True)) for a, b in pairs
        )

    def __hash__(self) -> int:
        return DAG.__hash__(self)

    def __repr__(self) -> str:
        edges = self.number_of_edges()
        arcs = f"{edges} edge{'' if edges == 1 else 's'}"
        if self._families is None:
            return f"ConditionalGaussianNetwork({len(self)} nodes, {arcs}, without parameters)"
        n_floats = len(self.continuous)
        kinds = f"{len(self._names) - n_floats} discrete and {n_floats} continuous variable"
        return f"ConditionalGaussianNetwork({kinds}{'' if n_floats == 1 else 's'}, {arcs})"

    __str__ = __repr__


def fit_conditional_gaussian(
    mixed: MixedTable, edges: Iterable[tuple[int, int]], weights: np.ndarray | None, smoothing: Smoothing
) -> ConditionalGaussianNetwork:
    """Return the network with edges between column positions, fitted as by ``ConditionalGaussianNetwork.fit``."""
    return ConditionalGaussianNetwork.from_parts(make_parts(mixed, fit_families(mixed, edges, weights, smoothing)))

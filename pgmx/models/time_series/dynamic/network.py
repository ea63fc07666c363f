"""The dynamic Bayesian network that the learner of time series returns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import pgmpy.models

from pgmx.checks import join_names
from pgmx.fitted import get_model
from pgmx.inference.mixed.families import DiscreteFamily
from pgmx.models.base import FileMixin
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.files.discrete import read_bif, write_bif
from pgmx.models.files.dynamic import DYNAMIC_READERS, DYNAMIC_WRITERS, DynamicParts
from pgmx.models.files.mixed import MixedParts
from pgmx.models.mixed.network import ConditionalGaussianNetwork
from pgmx.models.time_series.dynamic.columns import (
    Columns,
    make_network,
    make_slices,
    name_column,
    read_columns,
    read_network,
)
from pgmx.models.time_series.dynamic.forecasts import DynamicForecasts
from pgmx.models.time_series.dynamic.two_slices import make_pgmpy, read_first_rows, read_pgmpy
from pgmx.models.time_series.graph import TimeSeriesGraph


class DynamicBayesianNetwork(DynamicForecasts, FileMixin):
    r"""A dynamic Bayesian network of any order: a network of each row of a series given the rows before it.

    .. math:: p(x_0, \ldots, x_T \mid s) = p(x_0, \ldots, x_{L-1} \mid s)
        \prod_{t=L}^{T} \prod_v p\bigl(x_{t,v} \mid \mathrm{pa}(x_{t,v})\bigr)

    The parents are variables of the same row and of the L rows before it, and static columns s, which are constant in
    each series. The first factor is the prior network of the first L rows. Without it these rows are given, and all
    likelihoods are conditional on them.

    Parameters
    ----------
    transition : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork, ConditionalGaussianNetwork or fitted learner
        The network of one row given the L rows before it, as learned from a lagged frame. The columns are named
        ``name@t-lag``: ``x@t-0`` is the present of ``x``, ``x@t-1`` its value one row before; static columns have their
        names. The present of all variables must be there, other columns if something depends on them.
    lags : int, default=1
        Order L, at least 1.
    static_columns : sequence of hashable, default=()
        Columns that are constant in each series. They have no other parents than static columns.
    prior : network as `transition`, or None, default=None
        The network of the first L rows and of the static columns: ``x@t-L`` is the first row of ``x``, ``x@t-1`` row L.
        Static columns and columns before the present that `transition` has too are read from `prior`. None: the first
        rows are given. Then `transition` must hold all static columns and all columns before the present, without
        parents, with their marginal distributions.
    names : sequence of hashable, optional
        Names of the variables, if they are not text, or in another order than in `transition`.
    groups, time_column : hashable, optional
        Columns of tables with the key of the series and with the time of a row, as in the learner. They are the
        defaults of the methods that read tables.

    Attributes
    ----------
    names : tuple of hashable
        Names of the n variables.
    lags : int
        The order L.
    static_columns : tuple of hashable
        Names of the static columns.
    states : dict of {name: tuple}
        The states of the discrete variables and static columns.
    continuous : list of hashable
        Names of the continuous variables and static columns.
    transition, prior : network, or None
        Copies of the networks: of the class ``DiscreteBayesianNetwork`` or ``LinearGaussianBayesianNetwork`` of
        :mod:`pgmx.models` if all columns are of one kind, else ``ConditionalGaussianNetwork``.

    Raises
    ------
    TypeError, ValueError
        If a network is of another kind or lacks parameters, a column has another name or is missing, a variable has
        other states at another lag, or an edge leads back in time.

    References
    ----------
    T. Dean, K. Kanazawa (1989), A model for reasoning about persistence and causation, Computational Intelligence 5.
    K. P. Murphy (2002), Dynamic Bayesian networks: representation, inference and learning, definition 2 (two-slice
    networks) and section 3.2 (interface algorithm).

    Examples
    --------
    >>> from pgmpy.factors.discrete import TabularCPD
    >>> from pgmx.models import DiscreteBayesianNetwork, DynamicBayesianNetwork
    >>> weather = DiscreteBayesianNetwork([("rain@t-1", "rain@t-0")])
    >>> states = {"rain@t-1": ["no", "yes"], "rain@t-0": ["no", "yes"]}
    >>> weather.add_cpds(
    ...     TabularCPD("rain@t-1", 2, [[0.75], [0.25]], state_names=states),
    ...     TabularCPD("rain@t-0", 2, [[0.9, 0.3], [0.1, 0.7]], ["rain@t-1"], [2], state_names=states),
    ... )
    >>> DynamicBayesianNetwork(weather)
    DynamicBayesianNetwork(1 variable, 1 lag, 1 edge, first row given)
    """

    _writers = DYNAMIC_WRITERS | {"bif": lambda network: write_bif(network, "bif")}
    _readers = DYNAMIC_READERS | {"bif": lambda raw: read_first_rows(read_bif(raw, "bif"))}
    _description = "a dynamic Bayesian network"

    def __init__(
        self,
        transition: Any,
        lags: int = 1,
        *,
        static_columns: Sequence[Hashable] = (),
        prior: Any = None,
        names: Sequence[Hashable] | None = None,
        groups: Hashable | None = None,
        time_column: Hashable | None = None,
    ) -> None:
        parts = read_network(transition, "transition")
        columns = read_columns(parts, lags, static_columns, names)
        first = None if prior is None else read_network(prior, "prior")
        self._set_parts(
            DynamicParts(columns.names, columns.lags, columns.static, parts, first, groups, time_column, parts.name)
        )

    def _set_parts(self, parts: DynamicParts) -> None:
        """Check the fields and keep them."""
        self._parts = parts
        self._columns = Columns(parts.names, parts.lags, parts.static_columns)
        self._slices = make_slices(self._columns, parts.transition, parts.prior)

    @classmethod
    def from_network(cls, network: Any) -> Self:
        """Make a network from another one.

        Parameters
        ----------
        network : pgmpy.models.DynamicBayesianNetwork, DynamicBayesianNetwork or fitted learner
            A discrete network of pgmpy with its CPDs; nodes (name, 0) are the first row. If one of the two nodes of a
            variable has no CPD, and the other one no parent in another slice, they have the same CPD, as in pgmpy.

        Returns
        -------
        DynamicBayesianNetwork
            A network with the same probabilities.

        Raises
        ------
        TypeError, ValueError
            If the network is of another kind, or a node has no CPD.
        """
        network = get_model(network)
        if isinstance(network, DynamicBayesianNetwork):
            return cls.from_parts(network.parts())
        if not isinstance(network, pgmpy.models.DynamicBayesianNetwork):
            raise TypeError(
                f"network must be a DynamicBayesianNetwork or a fitted learner of one, got {type(network).__name__}"
            )
        return cls.from_parts(read_pgmpy(network))

    # ---- variables and parameters ----

    @property
    def names(self) -> tuple:
        """Names of the variables."""
        return self._parts.names

    @property
    def lags(self) -> int:
        """The order L."""
        return self._parts.lags

    @property
    def static_columns(self) -> tuple:
        """Names of the static columns."""
        return self._parts.static_columns

    @property
    def groups(self) -> Hashable | None:
        """Name of the column with the keys of the series."""
        return self._parts.groups

    @property
    def time_column(self) -> Hashable | None:
        """Name of the column with the times of the rows."""
        return self._parts.time_column

    @property
    def states(self) -> dict:
        """States of the discrete variables and static columns, by name."""
        return {name: own for name, own in self._kinds().items() if own is not None}

    @property
    def continuous(self) -> list:
        """Names of the continuous variables and static columns."""
        return [name for name, own in self._kinds().items() if own is None]

    def _kinds(self) -> dict:
        """States of the variables and then of the static columns, None for continuous ones."""
        states, columns = self._slices.states, self._columns
        own = {name: states[p] for name, p in zip(columns.names, columns.present, strict=True)}
        return own | dict(zip(columns.static, states, strict=False))

    @cached_property
    def transition(self) -> Any:
        """The network of a row given the rows before it."""
        return make_network(self._parts.transition)

    @cached_property
    def prior(self) -> Any:
        """The network of the first rows, or None."""
        return None if self._parts.prior is None else make_network(self._parts.prior)

    @property
    def cpds(self) -> list:
        """The distributions of the variables given their parents, in order (see `get_cpds`)."""
        return [self.get_cpds(name) for name in self.names]

    def get_cpds(self, node: Hashable | None = None) -> Any:
        """Return the distribution of the present of a variable given its parents, or of a static column.

        Parameters
        ----------
        node : hashable, optional
            A variable or a static column; None for the list of the variables' distributions.

        Returns
        -------
        TabularCPD, LinearGaussianCPD, ConditionalGaussianCPD or list
            A distribution of `transition`, or of `prior` for a static column; columns have the names of its columns.

        Raises
        ------
        ValueError
            If there is no such variable.
        """
        if node is None:
            return self.cpds
        if node in self.static_columns:
            return (self.transition if self._parts.prior is None else self.prior).get_cpds(node)
        if node not in self.names:
            raise ValueError(
                f"no variable {node!r}: the variables are {join_names((*self.names, *self.static_columns))}"
            )
        return self.transition.get_cpds(name_column(node, 0))

    def to_networkx(self) -> TimeSeriesGraph:
        """Return the graph over (variable, lag): edges from earlier rows and of the same row, without the prior.

        Returns
        -------
        TimeSeriesGraph
            All variables at the lags 0 to L; a static column is a node at lag 0. Edges between continuous variables
            have the coefficient as ``weight``, if the child has no discrete parent. Edges to discrete variables have a
            ``strength`` from 0 to 1: the largest total variation distance between distributions of the child for two
            states of the parent, averaged over the states of its other parents.
        """
        columns = self._columns
        graph = TimeSeriesGraph(name=self._parts.name) if self._parts.name else TimeSeriesGraph()
        graph.add_nodes_from((name, lag) for lag in range(columns.lags + 1) for name in columns.names)
        graph.add_nodes_from((name, 0) for name in columns.static)
        for v in columns.present:
            family: Any = self._slices.families.families[v]
            slopes = {}
            if not family.discrete_parents and hasattr(family, "continuous_parents"):
                slopes = dict(zip(family.continuous_parents, family.coefficients[1:].tolist(), strict=True))
            influence = _measure_influence(family) if isinstance(family, DiscreteFamily) else {}
            for p in sorted(self._slices.families.parents[v]):
                numbers = {"weight": slopes[p], "strength": abs(slopes[p])} if p in slopes else {}
                numbers |= {"strength": influence[p]} if p in influence else {}
                graph.add_edge(columns.describe(p), columns.describe(v), **numbers)
        return graph

    def to_pgmpy(self) -> pgmpy.models.DynamicBayesianNetwork:
        """Return a discrete network of one lag as an object of pgmpy's class.

        Returns
        -------
        pgmpy.models.DynamicBayesianNetwork
            A network with the CPDs of both slices: nodes (name, 0) are the first row, (name, 1) the second one. pgmpy's
            slices have the same inner edges, so CPDs have the parents of both; a static column is a variable that keeps
            its value. Without a prior network the first slice has the marginal distributions in the transition network.

        Raises
        ------
        ValueError
            If there are several lags or continuous variables, or the edges of the prior and of the transition network
            form a cycle together.
        """
        return make_pgmpy(self._slices)

    def to_bayesian_network(self) -> Any:
        """Return the network of the first L + 1 rows of a series and of the static columns.

        Returns
        -------
        DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork
            A network of :mod:`pgmx.models` over the columns ``name@t-lag`` and the static columns. Row 0 has lag L, and
            row L lag 0. Without a prior network the first L rows have their marginal distributions in the transition
            network.
        """
        return make_network(self._slices.parts(range(len(self._columns.labels))))

    # ---- files and comparison ----

    @classmethod
    def from_parts(cls, parts: DynamicParts) -> Self:
        """Make a network from the fields that files hold; they are checked."""
        network = cls.__new__(cls)
        network._set_checked(parts)
        return network

    def _set_checked(self, parts: DynamicParts) -> None:
        """Check the names of the columns in a file, and keep the fields."""
        columns = read_columns(parts.transition, parts.lags, parts.static_columns, parts.names)
        self._set_parts(parts._replace(names=columns.names, static_columns=columns.static))

    def parts(self) -> DynamicParts:
        """Return the fields that files hold."""
        return self._parts

    def _parts_for(self, format: str) -> Any:
        """Return the network of the first rows for bif, else the fields."""
        if format != "bif":
            return self._parts
        network = self.to_bayesian_network()
        if not isinstance(network, DiscreteBayesianNetwork):
            raise TypeError("bif holds discrete networks, and this one has continuous variables; use json")
        return network

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DynamicBayesianNetwork):
            return False
        if self._columns != other._columns or (self.groups, self.time_column) != (other.groups, other.time_column):
            return False
        pairs = ((own.parts().transition, own.parts().prior) for own in (self, other))
        return all(_are_equal(one, another) for one, another in zip(*pairs, strict=True))

    def __hash__(self) -> int:
        return hash((self.names, self.lags, self.static_columns))

    def __getstate__(self) -> dict[str, Any]:
        # cached values can be recomputed
        return {name: self.__dict__[name] for name in ("_parts", "_columns", "_slices")}

    def __repr__(self) -> str:
        n_edges = sum(len(self._slices.families.parents[v]) for v in self._columns.present)
        counts = (("variable", len(self.names)), ("lag", self.lags), ("edge", n_edges))
        words = [f"{n} {word}" if n == 1 else f"{n} {word}s" for word, n in counts]
        first = "first row" if self.lags == 1 else f"first {self.lags} rows"
        words.append(f"{first} {'given' if self._parts.prior is None else 'modelled'}")
        return f"{type(self).__name__}({', '.join(words)})"


def _measure_influence(family: DiscreteFamily) -> dict[int, float]:
    """Return the strength of each parent: how far the distribution of the child moves with it, see `to_networkx`."""
    strengths = {}
    for axis, parent in enumerate(family.discrete_parents, start=1):
        by_state = np.moveaxis(family.table, axis, 0)
        farthest = np.max([np.abs(by_state - one).sum(axis=1).max(axis=0) for one in by_state], axis=0) / 2
        strengths[parent] = float(farthest.mean())
    return strengths


def _are_equal(one: MixedParts | None, other: MixedParts | None) -> bool:
    if one is None or other is None:
        return one is other
    return ConditionalGaussianNetwork.from_parts(one) == ConditionalGaussianNetwork.from_parts(other)

"""The dynamic Bayesian network of one lag and discrete variables, as a graph of pgmpy's class."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import Any, Self

import networkx as nx
import pgmpy.models
from pgmpy.base import DAG
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models.DynamicBayesianNetwork import DynamicNode

from pgmx.models.base import FixedGraph
from pgmx.models.files.dynamic import DynamicParts
from pgmx.models.time_series.dynamic.network import DynamicBayesianNetwork
from pgmx.models.time_series.dynamic.two_slices import Node, fill_graph, is_two_slice, lay_out, make_tables


class StatesByNode(dict):
    """States by the name of a variable, and by node (name, slice) as in pgmpy."""

    def __missing__(self, node: Any) -> list:
        if not isinstance(node, DynamicNode | tuple) or node[1] not in (0, 1):
            raise KeyError(node)
        return list(self[node[0]])


class TwoSliceBayesianNetwork(DynamicBayesianNetwork, FixedGraph, pgmpy.models.DynamicBayesianNetwork):
    """A discrete dynamic Bayesian network of lag 1 (two-slice network) with pgmpy's interface.

    It is pgmpy's ``DynamicBayesianNetwork``, for ``pgmpy.inference.DBNInference`` and others, and has all methods of
    :class:`DynamicBayesianNetwork`, of which it is a subclass too. Learners and files of discrete networks of lag 1
    return it.

    Parameters
    ----------
    transition : DiscreteBayesianNetwork, ConditionalGaussianNetwork or fitted learner, default=None
        The network of one row given the row before it, over the columns ``name@t-0`` and ``name@t-1``, see
        :class:`DynamicBayesianNetwork`. None makes an empty graph, which networkx needs for subgraphs.
    static_columns : sequence of hashable, default=()
        Columns that are constant in each series.
    prior : network as `transition`, or None, default=None
        The network of the first row. None: the first row is given.
    names : sequence of hashable, optional
        Names of the variables, if they are not text, or in another order than in `transition`.
    groups, time_column : hashable, optional
        Columns of tables with the key of the series and with the time of a row.

    Attributes
    ----------
    cpds : list of TabularCPD
        Copies of the tables of all nodes (name, slice).
    states : dict of {name: tuple}
        The states of the variables; ``states[name, slice]`` is a list, as in pgmpy.
    names, lags, static_columns, continuous, transition, prior
        As of :class:`DynamicBayesianNetwork`.

    Raises
    ------
    TypeError, ValueError
        As by :class:`DynamicBayesianNetwork`; also if a variable is continuous, or the edges inside a row of `prior`
        and of `transition` form a cycle together.

    Notes
    -----
    Nodes are (name, 0), the first row, and (name, 1), the second one. pgmpy's slices have the same inner edges, so that
    tables have the parents of both networks; a static column is a variable that keeps its value. Without a prior
    network the tables of the first slice are the marginal distributions in the transition network.

    pgmpy's ``DBNInference`` raises an error if a node of the second slice has no edge.

    ``simulate(n_steps, n_series)`` is the method of :class:`DynamicBayesianNetwork`. Graph and tables are fixed.
    ``to_pgmpy()`` returns a copy of pgmpy's own class, which can be changed and has pgmpy's ``simulate`` and ``fit``.

    References
    ----------
    K. P. Murphy (2002), Dynamic Bayesian networks: representation, inference and learning, definition 2.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.estimators import DynamicBayesianNetworkSearch
    >>> visits = pd.DataFrame({"patient": [k // 2 for k in range(80)], "ill": ["no", "yes", "yes", "no"] * 20})
    >>> model = DynamicBayesianNetworkSearch(groups="patient").fit(visits).model_
    >>> isinstance(model, TwoSliceBayesianNetwork), model.get_cpds(("ill", 1)).values.tolist()
    (True, [[0.0, 1.0], [1.0, 0.0]])
    """

    _plain = nx.DiGraph

    def __init__(
        self,
        transition: Any = None,
        *,
        static_columns: Sequence[Hashable] = (),
        prior: Any = None,
        names: Sequence[Hashable] | None = None,
        groups: Hashable | None = None,
        time_column: Hashable | None = None,
    ) -> None:
        self._make_empty()
        if transition is not None:
            DynamicBayesianNetwork.__init__(
                self,
                transition,
                static_columns=static_columns,
                prior=prior,
                names=names,
                groups=groups,
                time_column=time_column,
            )

    def _make_empty(self) -> None:
        DAG.__init__(self)
        self.cardinalities: dict = defaultdict(int)

    @classmethod
    def from_parts(cls, parts: DynamicParts) -> Self:
        """Make a network from the fields that files hold; they are checked."""
        network = cls()
        network._set_checked(parts)
        return network

    def _set_parts(self, parts: DynamicParts) -> None:
        """Check the fields, make nodes and edges from them, and keep them."""
        super()._set_parts(parts)
        layout = lay_out(self._slices)
        fill_graph(self, layout)
        if parts.name:
            self.graph["name"] = parts.name
        self.cardinalities.update((name, len(layout.states[name, 0])) for name in layout.names)

    def _is_fixed(self) -> bool:
        return "_parts" in vars(self)

    # ---- pgmpy's interface ----

    @cached_property
    def _tables(self) -> dict[Node, TabularCPD]:
        return make_tables(lay_out(self._slices))

    @property
    def states(self) -> dict:
        """States of the variables and static columns, by name, or by node (name, slice)."""
        return StatesByNode(super().states)

    @property
    def cpds(self) -> list:
        """Copies of the tables of all nodes (name, slice)."""
        return [cpd.copy() for cpd in self._tables.values()] if self._is_fixed() else []

    def get_cpds(self, node: Hashable | None = None, time_slice: int | Iterable[int] | None = None) -> Any:
        """Return the table of a node, of a variable, or of all nodes.

        Parameters
        ----------
        node : (name, slice) or name, optional
            A node, for its table given its parents in both slices; or a variable or static column, for its distribution
            in `transition` as by :meth:`DynamicBayesianNetwork.get_cpds`. None for all nodes.
        time_slice : int or iterable of int, optional
            Only nodes of these slices, if no node is given.

        Returns
        -------
        TabularCPD or list of TabularCPD
            Copies, which do not change the network.

        Raises
        ------
        ValueError
            If there is no such node.
        """
        if node is None:
            wanted = {0, 1} if time_slice is None else {time_slice} if isinstance(time_slice, int) else {*time_slice}
            return [cpd.copy() for (_, slice_), cpd in self._tables.items() if slice_ in wanted]
        if node in self:
            return self._tables[node[0], node[1]].copy()  # type: ignore[index]
        return super().get_cpds(node)

    def add_cpds(self, *cpds: Any) -> None:
        """Raise: the tables follow from the parameters."""
        self._refuse_if_fixed("CPDs")

    def remove_cpds(self, *cpds: Any) -> None:
        """Raise: the tables follow from the parameters."""
        self._refuse_if_fixed("CPDs")

    def fit(self, *args: Any, **kwargs: Any) -> None:
        """Raise: the parameters are learned by :class:`pgmx.estimators.DynamicBayesianNetworkSearch`."""
        self._refuse_if_fixed("CPDs")

    def initialize_initial_state(self) -> None:
        """Check the network, as pgmpy does after it has added missing tables: here all nodes have tables."""
        self.check_model()

    def get_interface_nodes(self, time_slice: int = 0) -> list:
        """Return the nodes of a slice on which the next slice depends.

        Parameters
        ----------
        time_slice : int, default=0
            Number of the slice.

        Returns
        -------
        list of DynamicNode
            The sources of edges between slices, shifted to `time_slice`. pgmpy 1.1 returns the targets of these edges
            for slice 1, with which the probabilities of its ``DBNInference`` are wrong, or an error is raised.
        """
        sources = dict.fromkeys(source[0] for source, _ in self.get_inter_edges())
        return [DynamicNode(name, time_slice) for name in sources]

    # ---- copies and comparison ----

    def copy(self) -> Any:
        """Return a network with the same parameters; of a subgraph a graph of pgmpy's class without parameters."""
        clone: Any = type(self)() if self._is_fixed() else pgmpy.models.DynamicBayesianNetwork()
        self._copy_graph(clone)
        if self._is_fixed():
            clone.cardinalities.update(self.cardinalities)
            clone._parts, clone._columns, clone._slices = self._parts, self._columns, self._slices
        return clone

    def __eq__(self, other: object) -> bool:
        if not self._is_fixed():
            return bool(DAG.__eq__(self, other))
        return isinstance(other, DynamicBayesianNetwork) and "_parts" in vars(other) and super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__() if self._is_fixed() else DAG.__hash__(self)

    def __getstate__(self) -> dict[str, Any]:
        # cached values can be recomputed
        return {name: value for name, value in vars(self).items() if name not in _CACHED}

    def __repr__(self) -> str:
        return super().__repr__() if self._is_fixed() else f"TwoSliceBayesianNetwork({len(self)} nodes, no parameters)"

    __str__ = __repr__


_CACHED = ("transition", "prior", "_filter", "_tables")


def choose_class(parts: DynamicParts) -> DynamicBayesianNetwork:
    """Return a `TwoSliceBayesianNetwork` for discrete variables and one lag, unless its edges would form a cycle."""
    network = DynamicBayesianNetwork.from_parts(parts)
    if is_two_slice(network._slices):
        try:
            return TwoSliceBayesianNetwork.from_parts(parts)
        except ValueError:  # a cycle of the edges of both networks
            pass
    return network

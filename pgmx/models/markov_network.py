"""The discrete pairwise Markov network that learners return: a pgmpy network whose parameters are arrays.

`PgmpyInterface` has the methods that pgmpy and networkx call, `PairwiseMarkovNetwork` the construction and the files.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self, cast

import networkx as nx
import numpy as np
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.independencies import Independencies
from pgmpy.models import DiscreteMarkovNetwork, JunctionTree

import pgmx.models.pgmpy_estimators  # noqa: F401  (before pgmpy.inference imports it)
from pgmx.checks import join_names
from pgmx.data.columns import python_scalar
from pgmx.inference import PairwisePotentials
from pgmx.inference import joint as joint_distribution
from pgmx.inference.named_networks import read_network
from pgmx.inference.problem import Problem
from pgmx.models.base import FixedGraph, check_names
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.files.markov import MARKOV_READERS, MARKOV_WRITERS, MarkovParts
from pgmx.models.markov_conversions import (
    NamedFactorGraph,
    junction_tree,
    list_independencies,
    make_bayesian_network,
    make_chordal_graph,
    make_factor_graph,
    make_factors,
)
from pgmx.models.markov_queries import MarkovQueries, measure_strengths, scale_potentials


class PgmpyInterface(MarkovQueries, FixedGraph, DiscreteMarkovNetwork):
    """A pgmpy network whose factors are made from log-potentials on demand.

    With potentials, its graph and factors cannot be changed and so cannot contradict them. Without potentials it can be
    changed: networkx fills empty graphs of the same class as a given graph.
    """

    _follows_from = ("potentials", "from_potentials")
    _potentials: PairwisePotentials | None = None
    _names: tuple
    _states: tuple[tuple, ...]
    factors: list[DiscreteFactor]

    def _require_potentials(self) -> PairwisePotentials:
        if self._potentials is None:
            raise ValueError(
                "this network has no potentials: make it with PairwiseMarkovNetwork.from_potentials, or from a pgmpy "
                "network with from_network"
            )
        return self._potentials

    @property
    def states(self) -> dict:
        """States of each variable, as in pgmpy: a dictionary from name to list."""
        if self._potentials is None:
            return super().states
        return {name: list(labels) for name, labels in zip(self._names, self._states, strict=True)}

    def get_factors(self, node: Hashable | None = None) -> list[DiscreteFactor]:
        """Return pgmpy's factors.

        Parameters
        ----------
        node : hashable, optional
            A variable; only the factors that contain it are returned then. None means all.

        Returns
        -------
        list of pgmpy.factors.discrete.DiscreteFactor
            The factors of the network, not copies.
        """
        if node is None:
            return self.factors
        self._check_node(node)
        return [factor for factor in self.factors if node in factor.variables]

    def get_cardinality(self, node: Hashable | None = None) -> Any:
        """Return the number of states of a variable, or a dictionary for all variables.

        Parameters
        ----------
        node : hashable, optional
            A variable; None means all.

        Returns
        -------
        int or dict
            A number, or a dictionary from name to number.
        """
        if self._potentials is None:
            return super().get_cardinality(node)
        cards = dict(zip(self._names, self._potentials.cardinalities.tolist(), strict=True))
        if node is None:
            return cards
        self._check_node(node)
        return cards[node]

    def check_model(self) -> bool:
        """Return True for a network with potentials, which is always consistent; else the result of pgmpy."""
        return True if self._potentials is not None else super().check_model()

    def get_partition_function(self) -> float:
        """Return the partition function of the scaled factors: 1.

        Returns
        -------
        float
            1.0, an estimate unless `partition_is_exact`. The exponential of `log_partition` is the value for the
            potentials.
        """
        if self._potentials is None:
            return super().get_partition_function()
        return 1.0

    def to_junction_tree(self, *, memory: int = 2**31) -> JunctionTree:
        """Return a junction tree for pgmpy's ``BeliefPropagation`` that is connected and calibrated in one pass.

        Parameters
        ----------
        memory : int, default=2**31
            Most bytes of all clique tables together.

        Returns
        -------
        pgmpy.models.JunctionTree
            The product of its factors is the distribution of the network, with Z = 1. Connected components are joined
            by cliques of one variable of each.

        Raises
        ------
        pgmx.inference.TreewidthError
            If the tables would take more memory; nothing is allocated then.
        """
        return junction_tree(self, memory=memory)

    def to_factor_graph(self) -> NamedFactorGraph:
        """Return a factor graph for pgmpy's ``BeliefPropagationWithMessagePassing``, with evidence by state names."""
        return make_factor_graph(tuple(self.nodes()), self.factors)

    def to_bayesian_model(self, *, memory: int = 2**31) -> DiscreteBayesianNetwork:
        """Return a Bayesian network with the same distribution, including its tables.

        Parameters
        ----------
        memory : int, default=2**31
            Most bytes of all clique tables together.

        Returns
        -------
        pgmx.models.DiscreteBayesianNetwork
            The parents of a variable are the variables before it in its clique.

        Raises
        ------
        pgmx.inference.TreewidthError
            If the tables would take more memory.
        """
        return make_bayesian_network(self.inference_problem(), memory)

    def triangulate(
        self, heuristic: str = "H6", order: list | None = None, inplace: bool = False
    ) -> DiscreteMarkovNetwork | None:
        """Return the chordal graph of elimination in the cheapest order found, without factors.

        Parameters
        ----------
        heuristic : str, default="H6"
            Not used: the order is always the cheapest order found.
        order : list, optional
            Order of elimination; pgmpy then does the triangulation.
        inplace : bool, default=False
            Must be False for a network with potentials.

        Returns
        -------
        pgmpy.models.DiscreteMarkovNetwork
            A network with all nodes, including isolated ones.
        """
        if self._potentials is None or order is not None:
            return super().triangulate(heuristic, order, inplace)
        if inplace:
            self._refuse_if_fixed("edges")
        return make_chordal_graph(self.inference_problem())

    def get_local_independencies(self, latex: bool = False) -> Independencies | list[str]:
        """Return one statement per node: it is independent of all other nodes given its neighbours.

        Parameters
        ----------
        latex : bool, default=False
            Whether to return the statements as LaTeX text.

        Returns
        -------
        pgmpy.independencies.Independencies or list of str
            In the order of the nodes.
        """
        statements = list_independencies(self)
        return statements.latex_string() if latex else statements

    def query(
        self,
        variables: Sequence[Hashable],
        evidence: Mapping | None = None,
        *,
        joint: bool = True,
        method: str = "auto",
        **options,
    ) -> DiscreteFactor | dict[Hashable, DiscreteFactor]:
        """Return a normalised distribution, like pgmpy's inference classes.

        Parameters
        ----------
        variables : sequence of hashable
            Names of unobserved variables.
        evidence : dict of {name: state}, optional
            Observed variables.
        joint : bool, default=True
            Whether to return the joint distribution, or a dictionary of the distributions of the single variables.
        method : {"auto", "exact", "corrected", "loopy", "gibbs"}, default="auto"
            See :func:`pgmx.inference.joint`.
        **options : dict
            Further options of that function.

        Returns
        -------
        pgmpy.factors.discrete.DiscreteFactor or dict
            The distribution or distributions, with state names.
        """
        names = [variables] if not joint and isinstance(variables, str) else variables
        if joint:
            return self._factor(names, evidence, method=method, **options)
        return {name: self._factor([name], evidence, method=method, **options) for name in names}

    def _factor(self, names: Sequence[Hashable], evidence: Mapping | None, **options) -> DiscreteFactor:
        problem = self.inference_problem()
        values = joint_distribution(problem, names, evidence, **options)
        states = {name: list(problem.states[problem.position(name)]) for name in names}
        return DiscreteFactor(list(names), values.shape, values, states)

    # ---- the graph of a network with potentials cannot change ----

    def add_factors(self, *factors: DiscreteFactor) -> None:
        """Add factors to a network without potentials."""
        self._refuse_if_fixed("factors")
        super().add_factors(*factors)

    def remove_factors(self, *factors: DiscreteFactor) -> None:
        """Remove factors from a network without potentials."""
        self._refuse_if_fixed("factors")
        super().remove_factors(*factors)


class PairwiseMarkovNetwork(PgmpyInterface):
    r"""A discrete pairwise Markov network, given by log-potentials.

    .. math:: p(x) = \frac{1}{Z} \exp\Big(\sum_i \theta_i(x_i) + \sum_{(i, j)} W_{ij}(x_i, x_j)\Big)

    Networks are made by `from_potentials`, `from_network`, `load` and the learners. The potentials are arrays and do
    not change. pgmpy's factors are made at their first use and scaled so that Z = 1. So the results of pgmpy's
    ``VariableElimination`` are normalised, and ``BeliefPropagation`` works on any graph of small width. The methods of
    the network (`marginals`, `query`, `map`, `simulate`, ...) use compiled code and also work on graphs of large width.

    Parameters
    ----------
    ebunch : iterable of edges, optional
        Only for networkx, which makes empty graphs of the same class. A network made this way has no potentials: it
        behaves like pgmpy's network, and its queries raise an error.
    latents : sequence of hashable, optional
        As in pgmpy.

    Attributes
    ----------
    factors : list of pgmpy.factors.discrete.DiscreteFactor
        One factor per variable, in order, then one per edge; made at first use.
    graph : dict
        Attributes of the graph: ``name`` and attributes that learners add.

    Notes
    -----
    The nodes are in the order of the variables and have the user's names. The edges are in lexicographic order of the
    positions. The edge attribute ``strength`` is the Frobenius norm of the table of the edge after the means of rows
    and columns are removed. This is the component that node potentials cannot represent. ``weight`` has the same value,
    for networkx.

    With evidence pgmpy's ``VariableElimination`` returns the unnormalised p(query, evidence) for Markov networks. Call
    ``normalize()`` on the result, or use the method `query`.

    pgmpy 1.1 does not give these results. Use the method in the second column:

    ==================================================  ==================================
    pgmpy                                               here
    ==================================================  ==================================
    ``VariableElimination(m).map_query()``              ``m.map(evidence)``
    ``Mplp(m).map_query()``                             ``m.map(evidence)``
    ``GibbsSampling(m).sample(...)``                    ``m.simulate(n, evidence=...)``
    ``BeliefPropagationWithMessagePassing`` on cycles   ``m.marginals(method="loopy")``
    ``get_partition_function()`` before scaling         ``m.log_partition()``
    ==================================================  ==================================

    References
    ----------
    D. Koller, N. Friedman (2009), Probabilistic Graphical Models, section 4.4.1.2 (log-linear form) and chapter 10.

    Examples
    --------
    >>> from pgmx.inference import PairwisePotentials
    >>> from pgmx.models import PairwiseMarkovNetwork
    >>> potentials = PairwisePotentials.build([2, 2], tables={(0, 1): [[1.0, 0.0], [0.0, 1.0]]})
    >>> network = PairwiseMarkovNetwork.from_potentials(["rain", "wet"], [["no", "yes"], [0, 1]], potentials)
    >>> network
    PairwiseMarkovNetwork(2 variables, 1 edge)
    >>> round(network.marginals(evidence={"wet": 1})["rain"]["yes"], 4)
    0.7311
    >>> network.map(evidence={"rain": "no"})
    {'wet': 0}
    """

    _writers = MARKOV_WRITERS
    _readers = MARKOV_READERS
    _description = "a pairwise Markov network"

    def __init__(self, ebunch: Iterable | None = None, latents: Sequence = ()) -> None:
        self._potentials: PairwisePotentials | None = None
        self._names: tuple = ()
        self._states: tuple[tuple, ...] = ()
        self._factors: list | None = []
        self._cache: dict[str, Any] = {}
        super().__init__(ebunch, list(latents))

    @classmethod
    def from_potentials(
        cls, names: Sequence[Hashable], states: Sequence[Sequence], potentials: PairwisePotentials
    ) -> Self:
        """Make a network from names, states and log-potentials.

        Parameters
        ----------
        names : sequence of hashable, length n
            Distinct names of the variables; None is not allowed.
        states : sequence of sequences, length n
            Names of the states of each variable, distinct per variable; numpy scalars become Python scalars.
        potentials : PairwisePotentials
            Log-potentials of n variables with the same numbers of states.

        Returns
        -------
        PairwiseMarkovNetwork
            A network that shares the potentials, which are read-only.

        Raises
        ------
        TypeError
            If `potentials` has another type.
        ValueError
            If names or states occur twice, a name is None, or the numbers of variables or states disagree.
        """
        if not isinstance(potentials, PairwisePotentials):
            raise TypeError(
                f"potentials must be PairwisePotentials, got {type(potentials).__name__}: PairwisePotentials.build "
                "makes them from tables"
            )
        named_states = tuple(tuple(python_scalar(state) for state in labels) for labels in states)
        names = check_names(names)
        _check_states(names, named_states, potentials.cardinalities)
        network = cls()
        network._potentials, network._names, network._states = potentials, names, named_states
        # Made on demand, since they need the log-partition.
        network._factors = None
        strengths = measure_strengths(potentials).tolist()
        nx.Graph.add_nodes_from(network, names)
        # The method of networkx: pgmpy's method accepts only weights.
        ends = zip(potentials.edges.tolist(), strengths, strict=True)
        nx.Graph.add_edges_from(network, ((names[i], names[j], {"weight": s, "strength": s}) for (i, j), s in ends))
        return network

    @classmethod
    def from_network(cls, model: DiscreteMarkovNetwork) -> Self:
        """Make a network from any pgmpy ``DiscreteMarkovNetwork`` whose factors have one or two variables.

        Parameters
        ----------
        model : pgmpy.models.DiscreteMarkovNetwork
            A network with factors; it is not changed. Factors of the same variables are multiplied.

        Returns
        -------
        PairwiseMarkovNetwork
            The nodes have the same order; edges without a factor are left out.

        Raises
        ------
        ValueError
            If a factor has more than two variables, or a node has no factor.
        """
        # Its factors are scaled and rounded; its potentials are not.
        if isinstance(model, cls) and model._potentials is not None:
            return model.copy()
        names, states, factors = read_network(model)
        large = [tuple(names[v] for v in scope) for scope in factors.scopes if len(scope) > 2]
        if large:
            raise ValueError(
                f"the network has factors of more than two variables, {join_names(large)}: a pairwise network "
                "cannot hold them; call the functions of pgmx.inference with the original network"
            )
        return cls.from_potentials(names, states, factors.pairwise())

    # ---- parameters ----

    def _is_fixed(self) -> bool:
        return self._potentials is not None

    @property
    def potentials(self) -> PairwisePotentials:
        """The log-potentials, in the order of `names`."""
        return self._require_potentials()

    @property
    def names(self) -> tuple:
        """Names of the variables, in order."""
        return self._names

    @property
    def factors(self) -> list[DiscreteFactor]:
        """Factors of pgmpy, scaled so that their product sums to 1; see `partition_is_exact`."""
        if self._factors is None:
            self._factors = make_factors(self._names, self._states, self._require_potentials(), self._scaling().shifts)
        return self._factors

    @factors.setter
    def factors(self, factors: list[DiscreteFactor]) -> None:
        self._refuse_if_fixed("factors")
        self._factors = factors  # pgmpy's constructor sets the list

    def to_pgmpy(self) -> DiscreteMarkovNetwork:
        """Return a copy as an object of pgmpy's own class, whose pickles can be read without pgmx.

        Returns
        -------
        pgmpy.models.DiscreteMarkovNetwork
            A network with the nodes and edges in the same order, and copies of `factors`.
        """
        model = DiscreteMarkovNetwork()
        nx.Graph.add_nodes_from(model, self.nodes())
        nx.Graph.add_edges_from(
            model, ((u, v, {"weight": marks.get("weight")}) for u, v, marks in self.edges(data=True))
        )
        model.add_factors(*(factor.copy() for factor in self.factors))
        return model

    def copy(self) -> Self:
        """Return an independent network with the same potentials, attributes and cached results."""
        if self._potentials is None:
            clone = cast("Self", nx.Graph.copy(self))
            clone.factors = [factor.copy() for factor in self.factors]
            return clone
        clone = type(self)()
        clone._potentials, clone._names, clone._states = self._potentials, self._names, self._states
        clone._factors = None
        clone._cache = dict(self._cache)
        clone.latents = list(self.latents)
        self._copy_graph(clone)
        return clone

    def __repr__(self) -> str:
        if self._potentials is None:
            return f"PairwiseMarkovNetwork({len(self)} nodes, without potentials)"
        edges = self._potentials.n_edges
        return f"PairwiseMarkovNetwork({len(self._names)} variables, {edges} edge{'' if edges == 1 else 's'})"

    __str__ = __repr__

    def __getstate__(self) -> dict:
        # Factors and cached results can be recomputed.
        state = {key: value for key, value in self.__dict__.items() if key not in ("_cache", "adj", "nodes", "edges")}
        state["_factors"] = None if self._potentials is not None else self._factors
        return state

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._cache = {}

    def inference_problem(self) -> Problem:
        """Return the network in the form for :mod:`pgmx.inference`; it caches a junction tree without evidence."""
        if self._potentials is None:
            return Problem(*read_network(self))
        if "problem" not in self._cache:
            self._cache["problem"] = Problem(self._names, self._states, self._potentials)
        return self._cache["problem"]

    def to_networkx(self) -> nx.Graph:
        """Return a plain graph: nodes with the attribute ``states``, edges with ``strength`` and ``weight``."""
        graph = nx.Graph(**self.graph)
        states = self.states
        graph.add_nodes_from((name, {**marks, "states": states.get(name, [])}) for name, marks in self.nodes(data=True))
        graph.add_edges_from((u, v, dict(marks)) for u, v, marks in self.edges(data=True))
        return graph

    # ---- files ----

    @classmethod
    def from_parts(cls, parts: MarkovParts) -> Self:
        """Make a network from the fields that files hold; they are checked as by `from_potentials`."""
        network = cls.from_potentials(parts.names, parts.states, parts.potentials)
        if parts.name:
            network.graph["name"] = parts.name
        return network

    def parts(self) -> MarkovParts:
        """Return the fields that files hold: names, states, log-potentials, name, strengths of edges."""
        potentials = self._require_potentials()
        return MarkovParts(self._names, self._states, potentials, str(self.name or ""), measure_strengths(potentials))

    def _parts_for(self, format: str) -> MarkovParts:
        parts = self.parts()
        if format != "uai":
            return parts
        return parts._replace(potentials=scale_potentials(parts.potentials, self._scaling().shifts))


def _check_states(names: tuple, states: tuple[tuple, ...], cardinalities: np.ndarray) -> None:
    if not len(names) == len(states) == len(cardinalities):
        raise ValueError(
            f"one name and one sequence of states for each of {len(cardinalities)} variables are needed, got "
            f"{len(names)} and {len(states)}"
        )
    for name, labels, card in zip(names, states, cardinalities.tolist(), strict=True):
        if len(labels) != card:
            raise ValueError(
                f"variable {name!r} has {card} states in the potentials, but {len(labels)} names: {labels!r}"
            )
        if len(set(labels)) < card:
            raise ValueError(f"the states of variable {name!r} are not distinct: {list(labels)!r}")

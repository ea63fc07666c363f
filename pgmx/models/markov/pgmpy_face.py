"""The methods of a Markov network that pgmpy and networkx call, including conversions."""

from collections.abc import Hashable
from typing import Any

from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.independencies import Independencies
from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork, JunctionTree

import pgmx.models.pgmpy_estimators  # noqa: F401  (before pgmpy.inference imports it)
from pgmx.inference import PairwisePotentials
from pgmx.models.fixed_graph import FixedGraph
from pgmx.models.markov.factors import NamedFactorGraph, junction_tree, make_factor_graph
from pgmx.models.markov.queries import MarkovQueries
from pgmx.models.markov.views import list_independencies, make_bayesian_network, make_chordal_graph


class PgmpyFace(MarkovQueries, FixedGraph, DiscreteMarkovNetwork):
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
        pgmpy.models.DiscreteBayesianNetwork
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

    # ---- the graph of a network with potentials cannot change ----

    def add_factors(self, *factors: DiscreteFactor) -> None:
        """Add factors to a network without potentials."""
        self._refuse_if_fixed("factors")
        super().add_factors(*factors)

    def remove_factors(self, *factors: DiscreteFactor) -> None:
        """Remove factors from a network without potentials."""
        self._refuse_if_fixed("factors")
        super().remove_factors(*factors)

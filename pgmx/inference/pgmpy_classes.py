"""pgmpy's classes of exact inference, answered by the engine of components.

:mod:`pgmx.inference` imports this module, and with it pgmpy, when one of the two classes is asked for. The classes
derive from pgmpy's, have its signatures and return its factors. Models other than discrete Bayesian and Markov networks
are answered by pgmpy.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import exp
from typing import Any

import numpy as np
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork

from pgmx.checks import join_names
from pgmx.inference.exact.components import ComponentEngine, ComponentInference, read_default_memory
from pgmx.inference.exact.junction_tree import ExactInference
from pgmx.inference.named_networks import BayesianArrays, NamedTables, TableSnapshot, read_tables
from pgmx.inference.networks import LogFactors
from pgmx.inference.problem import UnknownStateError
from pgmx.inference.reduced_network import ZeroProbabilityError
from pgmx.lookup import suggest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # pgmpy.inference imports pgmpy.estimators, which is deprecated
    import pgmpy.inference
    import pgmpy.models

#: Models that are not left to pgmpy.
_COMPILED = (DiscreteBayesianNetwork, DiscreteMarkovNetwork)
#: Names of pgmpy's heuristics for elimination orders; any of them leads to the same answer.
_ORDERS = ("greedy", "weightedminfill", "minneighbors", "minweight", "minfill")


class _Compiled:
    """A network read once: the engine, and what pgmpy's factors of each variable hold."""

    def __init__(self, model: DiscreteBayesianNetwork | DiscreteMarkovNetwork) -> None:
        self.snapshot = TableSnapshot(model)
        if isinstance(model, DiscreteBayesianNetwork):
            arrays = BayesianArrays.from_model(model).normalise()
            families = [(v, *parents) for v, parents in enumerate(arrays.parents)]
            self._tables = NamedTables(arrays.names, arrays.states, families, arrays.tables)
        else:
            self._tables = read_tables(model)
        names, states, scopes, tables = self._tables
        self.names, self.states = list(names), [list(own) for own in states]
        self.is_directed = isinstance(model, DiscreteBayesianNetwork)
        self.engine = ComponentEngine([len(own) for own in states], scopes, tables, is_directed=self.is_directed)
        self.places = {name: v for v, name in enumerate(names)}
        self.numbers = [{state: k for k, state in enumerate(own)} for own in states]
        self.names_of = [dict(enumerate(own)) for own in states]

    @property
    def factors(self) -> LogFactors:
        """The tables in logarithms."""
        return self._tables.to_factors()

    def find(self, name: Hashable) -> int:
        """Return the position of a variable."""
        try:
            return self.places[name]
        except (KeyError, TypeError):
            close = suggest(name, self.names)
            raise ValueError(f"no variable {name!r}{close}: the variables are {join_names(self.names)}") from None

    def encode(self, evidence: Mapping[Hashable, Hashable]) -> dict[int, int]:
        """Return evidence as {position: code}."""
        codes = {}
        for name, state in evidence.items():
            v = self.find(name)
            if state not in self.numbers[v]:
                raise UnknownStateError(name, state, self.states[v])
            codes[v] = self.numbers[v][state]
        return codes

    def make_factor(self, variables: Sequence[Hashable], values: np.ndarray) -> DiscreteFactor:
        """Return pgmpy's factor; its constructor, which copies and checks all names, takes longer than an answer."""
        factor = DiscreteFactor.__new__(DiscreteFactor)
        places = [self.places[name] for name in variables]
        factor.variables = list(variables)
        factor.cardinality = np.array(values.shape)
        factor.values = values
        factor.state_names, factor.name_to_no, factor.no_to_name = {}, {}, {}
        for name, v in zip(variables, places, strict=True):
            factor.state_names[name] = self.states[v].copy()
            factor.name_to_no[name] = self.numbers[v].copy()
            factor.no_to_name[name] = self.names_of[v].copy()
        return factor


def _list_names(variables: Iterable[Hashable]) -> list:
    """Return the names of a question, which may be one name."""
    return [variables] if isinstance(variables, str) else list(variables)


def _check_disjoint(variables: Iterable[Hashable], evidence: Any) -> None:
    """Refuse variables that are observed as well, and evidence that is no dictionary."""
    if evidence is not None and not isinstance(evidence, Mapping):
        raise TypeError(f"evidence must be a dict of {{name: state}}, got {type(evidence).__name__}")
    if both := set(variables).intersection(evidence or ()):
        raise ValueError(f"{join_names(both)} cannot be both in variables and in evidence")


class _CompiledQueries:
    """The questions that both classes answer in the same way."""

    model: Any
    _compiled: _Compiled | None = None

    def refresh(self) -> None:
        """Read the network again at the next question; needed if the values of a table were edited in place."""
        self._compiled = None

    def _pgmpy(self) -> Any:
        """Return the methods of pgmpy's class; untyped, since pgmpy annotates only a part of what it accepts."""
        return super()

    def _is_compiled(self) -> bool:
        return isinstance(self.model, _COMPILED)

    def _read(self) -> _Compiled:
        if self._compiled is None or not self._compiled.snapshot.is_current(self.model):
            self._compiled = _Compiled(self.model)
        return self._compiled

    def _ask(
        self, variables: Iterable[Hashable], evidence: Any, virtual_evidence: Sequence | None
    ) -> tuple[_Compiled, ComponentInference]:
        """Check a question as pgmpy does, and set it up."""
        _check_disjoint(variables, evidence)
        compiled = self._read()
        likelihoods: dict[int, np.ndarray] = {}
        if virtual_evidence:
            self._check_virtual_evidence(virtual_evidence)  # type: ignore[attr-defined]
        for factor in virtual_evidence or ():
            (name,) = factor.variables
            v = compiled.find(name)
            values = np.asarray(factor.values, dtype=np.float64).ravel()
            order = [factor.name_to_no[name][state] for state in compiled.states[v]]
            likelihoods[v] = likelihoods.get(v, 1.0) * values[order]
        codes = compiled.encode(evidence or {})
        return compiled, ComponentInference(compiled.engine, codes, likelihoods, {}, None)

    def _query(
        self,
        variables: Iterable[Hashable],
        evidence: Any,
        virtual_evidence: Sequence | None,
        joint: bool,
        normalize: bool,
    ) -> DiscreteFactor | dict[Hashable, DiscreteFactor]:
        names = _list_names(variables)
        if not names:
            raise ValueError("The `variables` argument to query() must contain at least one variable.")
        if normalize and joint and not virtual_evidence:  # most questions, in as few steps as there are
            _check_disjoint(names, evidence)
            compiled = self._read()
            codes = compiled.encode(evidence or {})
            table = compiled.engine.ask(codes, [compiled.find(name) for name in names])
            if table is not None:
                return compiled.make_factor(names, table)
        compiled, question = self._ask(names, evidence, virtual_evidence)
        places = [compiled.find(name) for name in names]
        try:
            scale = 1.0 if normalize else exp(question.log_partition)
            if joint or len(names) == 1:
                factor = compiled.make_factor(names, question.joint(places) * scale)
                return factor if joint else {names[0]: factor}
            return {
                name: compiled.make_factor([name], question.joint([v]) * scale)
                for name, v in zip(names, places, strict=True)
            }
        except ZeroProbabilityError as error:
            raise error.with_names(compiled.names, compiled.states) from None

    def _map(
        self, variables: Iterable[Hashable] | None, evidence: Any, virtual_evidence: Sequence | None
    ) -> dict[Hashable, Hashable]:
        variables = _list_names(variables or ())
        compiled, question = self._ask(variables, evidence, virtual_evidence)
        hidden = [name for v, name in enumerate(compiled.names) if v not in question.evidence]
        names = list(variables or ()) or hidden
        places = [compiled.find(name) for name in names]
        try:
            if len(names) == len(hidden):
                best = question.map().codes[places].tolist()
            else:
                best = question.most_probable(places)
        except ZeroProbabilityError as error:
            raise error.with_names(compiled.names, compiled.states) from None
        return {name: compiled.states[v][k] for name, v, k in zip(names, places, best, strict=True)}


class VariableElimination(_CompiledQueries, pgmpy.inference.VariableElimination):
    """Exact inference with the interface of pgmpy's ``VariableElimination``, answered by compiled code.

    Parameters
    ----------
    model : pgmpy model
        A discrete Bayesian or Markov network; any other model is answered by pgmpy. It is never changed.

    Raises
    ------
    ValueError
        If the model is inconsistent.

    Notes
    -----
    A table that is added, removed or replaced is seen by the next question, one whose values were edited in place after
    `refresh`. Impossible evidence is an error, where pgmpy returns NaN. Probabilities of Bayesian networks use tables
    scaled to the sum 1.

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.inference import VariableElimination
    >>> elimination = VariableElimination(load_network("asia"))
    >>> elimination.query(["lung"], {"dysp": "yes"}).values.round(4).tolist()
    [0.1028, 0.8972]
    >>> elimination.map_query(["lung", "bronc"], {"dysp": "yes"})
    {'lung': 'no', 'bronc': 'yes'}
    """

    def query(
        self,
        variables: Sequence[Hashable],
        evidence: Mapping[Hashable, Hashable] | None = None,
        virtual_evidence: Sequence | None = None,
        elimination_order: str | Sequence[Hashable] | None = "greedy",
        joint: bool = True,
        show_progress: bool = True,
        *,
        normalize: bool | None = None,
    ) -> DiscreteFactor | dict[Hashable, DiscreteFactor]:
        """Return the distribution of some variables given evidence.

        Parameters
        ----------
        variables : list of hashable
            At least one variable, or one name; the factor has its axes in this order.
        evidence : dict of {name: state}, optional
            Observed variables.
        virtual_evidence : list of TabularCPD or DiscreteFactor, optional
            Likelihoods of the states of one variable each.
        elimination_order : str or list, default="greedy"
            Checked as by pgmpy, and otherwise without effect.
        joint : bool, default=True
            False returns a dictionary of one factor per variable.
        show_progress : bool, default=True
            Without effect: answers take microseconds.
        normalize : bool or None, default=None
            True scales the answer to the sum 1, False multiplies it by the probability of the evidence (of a Markov
            network: by the partition function given the evidence). None is pgmpy's choice: True for Bayesian networks,
            False for Markov networks.

        Returns
        -------
        DiscreteFactor or dict of {name: DiscreteFactor}
            The distribution.

        Raises
        ------
        ValueError
            If a name is unknown or in both `variables` and `evidence`, the evidence is impossible, or the elimination
            order lacks variables.
        KeyError
            If a state is unknown; the error is a ValueError too.
        TreewidthError
            If the answer needs more than 2 GB, or the free memory if that is less.
        """
        if not self._is_compiled():
            return self._pgmpy().query(variables, evidence, virtual_evidence, elimination_order, joint, show_progress)
        variables = _list_names(variables)
        self._check_order(variables, evidence, elimination_order)
        if normalize is None:
            normalize = isinstance(self.model, DiscreteBayesianNetwork)
        return self._query(variables, evidence, virtual_evidence, joint, normalize)

    def map_query(
        self,
        variables: Sequence[Hashable] | None = None,
        evidence: Mapping[Hashable, Hashable] | None = None,
        virtual_evidence: Sequence | None = None,
        elimination_order: str | Sequence[Hashable] | None = "MinFill",
        show_progress: bool = True,
    ) -> dict[Hashable, Hashable]:
        """Return the most probable states of some variables together, all others summed out.

        Parameters
        ----------
        variables : list of hashable, optional
            None or an empty list: all variables that are not observed.
        evidence : dict of {name: state}, optional
            Observed variables.
        virtual_evidence : list of TabularCPD or DiscreteFactor, optional
            Likelihoods of the states of one variable each.
        elimination_order : str or list, default="MinFill"
            Checked as by pgmpy, and otherwise without effect.
        show_progress : bool, default=True
            Without effect.

        Returns
        -------
        dict of {name: state}
            Of equally probable states always the same.

        Raises
        ------
        ValueError, KeyError, TreewidthError
            As :meth:`query`.
        """
        if not self._is_compiled():
            return self._pgmpy().map_query(variables, evidence, virtual_evidence, elimination_order, show_progress)
        variables = _list_names(variables or ())
        self._check_order(variables, evidence, elimination_order)
        return self._map(variables, evidence, virtual_evidence)

    def _check_order(self, variables: Iterable[Hashable], evidence: Any, order: Any) -> None:
        _check_disjoint(variables, evidence)
        if order is None or isinstance(order, str):
            if order is not None and order.lower() not in _ORDERS:
                raise KeyError(f"elimination_order must be a list or one of {join_names(_ORDERS)}, got {order!r}")
            return
        kept = {*variables, *(evidence or ())}
        if kept.intersection(order):
            raise ValueError(f"elimination_order holds {join_names(kept.intersection(order))}, which is not eliminated")
        lacking = set(self.model.nodes()).difference(order, kept)
        if lacking and set(order) <= set(self.model.nodes()):
            raise ValueError(f"elimination_order lacks {join_names(lacking)}: name all variables to be eliminated")


class BeliefPropagation(_CompiledQueries, pgmpy.inference.BeliefPropagation):
    """Exact inference with the interface of pgmpy's ``BeliefPropagation``, answered by compiled code.

    The junction tree is built when `calibrate`, `max_calibrate` or `get_cliques` asks for it, not by the constructor.

    Parameters
    ----------
    model : pgmpy model
        A discrete Bayesian or Markov network; any other model is answered by pgmpy. It is never changed.

    Raises
    ------
    ValueError
        If the model is inconsistent.

    Notes
    -----
    Cliques are those of the elimination order with the fewest cells that a search finds; pgmpy's may differ. Answers to
    questions are those of :class:`VariableElimination`, scaled to the sum 1 for Markov networks too.

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.inference import BeliefPropagation
    >>> propagation = BeliefPropagation(load_network("asia"))
    >>> propagation.calibrate()
    >>> sorted(len(clique) for clique in propagation.get_cliques())
    [2, 2, 3, 3, 3, 3]
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, _COMPILED):
            super().__init__(model)
            return
        pgmpy.inference.Inference.__init__(self, model)
        self.clique_beliefs: dict[tuple, DiscreteFactor] = {}
        self.sepset_beliefs: dict[frozenset, DiscreteFactor] = {}

    def __getattr__(self, name: str) -> Any:
        if name != "junction_tree" or "model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._build_tree()
        return self.__dict__["junction_tree"]

    def _build_tree(self) -> ExactInference | None:
        """Set the junction tree, of our cliques; returns None for several components, whose tree is pgmpy's."""
        compiled = self._read()
        exact = ExactInference(compiled.factors, memory=read_default_memory())
        if (exact.plan.parents < 0).sum() != 1:
            self.junction_tree = self.model.to_junction_tree()
            return None
        cliques = [tuple(compiled.names[v] for v in clique) for clique in exact.plan.cliques]
        tree = pgmpy.models.JunctionTree()
        tree.add_nodes_from(cliques)
        for clique, parent in zip(cliques, exact.plan.parents.tolist(), strict=True):
            if parent >= 0:
                tree.add_edge(clique, cliques[parent])
        tree.add_factors(*(compiled.make_factor(clique, exact.clique_potential(k)) for k, clique in enumerate(cliques)))
        self.junction_tree = tree
        return exact

    def calibrate(self) -> None:
        """Compute the beliefs of cliques and sepsets: the product of the tables, all other variables summed out."""
        exact = self._build_tree() if self._is_compiled() else None
        if exact is None:
            super().calibrate()
            return
        compiled, scale = self._read(), exp(exact.log_partition)
        cliques = [tuple(compiled.names[v] for v in clique) for clique in exact.plan.cliques]
        self.clique_beliefs, self.sepset_beliefs = {}, {}
        for clique, places, parent, shared in zip(
            cliques, exact.plan.cliques, exact.plan.parents.tolist(), exact.plan.sepsets, strict=True
        ):
            self.clique_beliefs[clique] = compiled.make_factor(clique, exact.joint(places) * scale)
            if parent >= 0:
                names = [compiled.names[v] for v in shared]
                self.sepset_beliefs[frozenset((clique, cliques[parent]))] = compiled.make_factor(
                    names, exact.joint(shared) * scale
                )

    def query(
        self,
        variables: Sequence[Hashable],
        evidence: Mapping[Hashable, Hashable] | None = None,
        virtual_evidence: Sequence | None = None,
        joint: bool = True,
        show_progress: bool = True,
        *,
        normalize: bool | None = None,
    ) -> DiscreteFactor | dict[Hashable, DiscreteFactor]:
        """Return the distribution of some variables given evidence.

        Parameters
        ----------
        variables : list of hashable
            At least one variable, or one name; the factor has its axes in this order.
        evidence : dict of {name: state}, optional
            Observed variables.
        virtual_evidence : list of TabularCPD or DiscreteFactor, optional
            Likelihoods of the states of one variable each.
        joint : bool, default=True
            False returns a dictionary of one factor per variable.
        show_progress : bool, default=True
            Without effect.
        normalize : bool or None, default=None
            True or None scales the answer to the sum 1, False multiplies it by the probability of the evidence.

        Returns
        -------
        DiscreteFactor or dict of {name: DiscreteFactor}
            The distribution.

        Raises
        ------
        ValueError, KeyError, TreewidthError
            As :meth:`VariableElimination.query`.
        """
        if not self._is_compiled():
            return self._pgmpy().query(variables, evidence, virtual_evidence, joint, show_progress)
        return self._query(variables, evidence, virtual_evidence, joint, normalize is not False)

    def map_query(
        self,
        variables: Sequence[Hashable] | None = None,
        evidence: Mapping[Hashable, Hashable] | None = None,
        virtual_evidence: Sequence | None = None,
        show_progress: bool = True,
    ) -> dict[Hashable, Hashable]:
        """Return the most probable states of some variables together, as :meth:`VariableElimination.map_query`.

        Parameters
        ----------
        variables : list of hashable, optional
            None or an empty list: all variables that are not observed.
        evidence : dict of {name: state}, optional
            Observed variables.
        virtual_evidence : list of TabularCPD or DiscreteFactor, optional
            Likelihoods of the states of one variable each.
        show_progress : bool, default=True
            Without effect.

        Returns
        -------
        dict of {name: state}
            The states.

        Raises
        ------
        ValueError, KeyError, TreewidthError
            As :meth:`VariableElimination.query`.
        """
        if not self._is_compiled():
            return self._pgmpy().map_query(variables, evidence, virtual_evidence, show_progress)
        return self._map(variables, evidence, virtual_evidence)

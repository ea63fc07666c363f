"""Arguments of the functions that use names: a network of any accepted type with its names, evidence, and options."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, Union, cast

import numpy as np

from pgmx.checks import check_natural, join_names
from pgmx.fitted import FittedLearner, get_model
from pgmx.inference.answers import InferenceCost
from pgmx.inference.exact.components import ComponentEngine, ComponentInference, read_default_memory
from pgmx.inference.exact.elimination_order import bound_width, make_treewidth_error, search_order
from pgmx.inference.exact.junction_tree import ExactInference
from pgmx.inference.exact.variable_elimination import count_elimination_cost
from pgmx.inference.named_networks import BayesianArrays, read_network
from pgmx.inference.networks import LogFactors, PairwisePotentials, take_logs
from pgmx.inference.reduced_network import ReducedNetwork, ZeroProbabilityError
from pgmx.lookup import suggest

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork, DiscreteMarkovNetwork


class InferenceModel(Protocol):
    """A network that converts itself into a problem for inference, such as the classes of :mod:`pgmx.models`."""

    def inference_problem(self) -> Problem:
        """Return names, states and potentials."""
        ...


#: Observed variables by name, and their states.
Evidence: TypeAlias = Mapping[Hashable, Hashable]

#: Likelihoods of the states of variables by name: one per state, in their order or by state.
VirtualEvidence: TypeAlias = Mapping[Hashable, Sequence[float] | np.ndarray | Mapping[Hashable, float]]

#: Networks that the functions accept.
NetworkLike: TypeAlias = Union[
    str,
    os.PathLike,
    "DiscreteBayesianNetwork",
    "DiscreteMarkovNetwork",
    PairwisePotentials,
    LogFactors,
    InferenceModel,
    FittedLearner,
    "Problem",
]


class Problem:
    """Names, states and potentials of a network; the junction tree without evidence is cached after calibration.

    A Bayesian network is given by its tables. Its answers are exact by components, whose plans are kept; its
    factors, for approximations, are made when they are needed.
    """

    def __init__(
        self,
        names: Sequence[Hashable],
        states: Sequence[tuple],
        model: PairwisePotentials | LogFactors | BayesianArrays,
    ):
        self.names = tuple(names)
        self.states = tuple(states)
        self._tree: ExactInference | None = None
        self._network = model
        self._likelihoods: Mapping[int, np.ndarray] = {}
        self._do: Mapping[int, int] = {}

    @classmethod
    def from_model(cls, model: NetworkLike) -> Problem:
        """Read a network of any accepted kind, a file of one, or the network of a fitted learner."""
        network: Any = model
        if isinstance(model, str | os.PathLike):
            from pgmx.models import any_model

            if not Path(model).suffix:
                raise ValueError(
                    f"{str(model)!r} is not a file of a network: give a path with a suffix, such as .bif, or for a "
                    f"network that pgmx has pgmx.datasets.load_network({str(model)!r})"
                )
            network = any_model.read_model(model)
        network = get_model(network)
        if isinstance(network, Problem):
            return network
        if isinstance(network, PairwisePotentials | LogFactors):
            cards = network.cardinalities.tolist()
            return cls(range(len(cards)), [tuple(range(card)) for card in cards], network)
        # Our networks are pgmpy's too, but have arrays and keep a junction tree.
        make_problem = getattr(network, "inference_problem", None)
        if make_problem is not None:
            return make_problem()
        if callable(getattr(network, "get_cpds", None)):  # pgmpy's Bayesian networks
            return cls.from_tables(network)
        if not callable(getattr(network, "get_factors", None)):
            raise TypeError(
                "model must be a discrete network of pgmpy or pgmx.models, a file of one, or a fitted learner, got "
                f"{type(network).__name__}"
            )
        return cls(*read_network(network))

    @classmethod
    def from_tables(cls, network: DiscreteBayesianNetwork) -> Problem:
        """Read the tables of a Bayesian network, scaled to the sum 1."""
        arrays = BayesianArrays.from_model(network).normalise()
        return cls(arrays.names, arrays.states, arrays)

    def change(
        self,
        virtual_evidence: VirtualEvidence | None,
        do: Evidence | None,
        codes: dict[int, int],
    ) -> Problem:
        """Return the network with likelihoods and interventions; the states of the latter are added to `codes`."""
        if not virtual_evidence and not do:
            return self
        if do and not isinstance(self._network, BayesianArrays):
            raise TypeError("do needs a Bayesian network: the edges of a Markov network have no direction")
        if self.is_directed:
            _ = self.engine  # shared by the copy
        changed = copy(self)
        changed._tree = None
        changed._do = self.encode_evidence(do, "do")
        changed._likelihoods = self._read_likelihoods(virtual_evidence)
        for kind, others in (("evidence", codes), ("virtual_evidence", changed._likelihoods)):
            if both := [self.names[v] for v in changed._do if v in others]:
                raise ValueError(f"{join_names(both)} cannot be both in do and in {kind}: leave out one")
        codes.update(changed._do)
        changed.__dict__.pop("model", None)
        changed.__dict__.pop("pairwise", None)
        return changed

    def _read_likelihoods(self, virtual_evidence: VirtualEvidence | None) -> dict[int, np.ndarray]:
        """Return likelihoods as arrays by index, or raise for unknown names, wrong lengths and negative values."""
        if virtual_evidence is not None and not isinstance(virtual_evidence, Mapping):
            raise TypeError(
                f"virtual_evidence must be a dict of {{name: likelihoods}}, got {type(virtual_evidence).__name__}"
            )
        found = {}
        for name, likelihoods in (virtual_evidence or {}).items():
            v = self.position(name)
            if isinstance(likelihoods, Mapping):
                if unknown := [state for state in likelihoods if state not in self.states[v]]:
                    raise UnknownStateError(name, unknown[0], self.states[v])
                likelihoods = [likelihoods.get(state, 0.0) for state in self.states[v]]
            values = np.asarray(likelihoods, dtype=np.float64)
            if values.shape != (len(self.states[v]),):
                raise ValueError(
                    f"virtual_evidence of {name!r} must have one likelihood per state, {len(self.states[v])}, got an "
                    f"array of shape {values.shape}"
                )
            if not (values >= 0.0).all() or not np.isfinite(values).all() or not values.any():
                raise ValueError(
                    f"virtual_evidence of {name!r} must be finite and nonnegative, not all 0, got {values.tolist()}"
                )
            found[v] = values
        return found

    @cached_property
    def model(self) -> PairwisePotentials | LogFactors:
        """The network as potentials or factors in logarithms, with its likelihoods and interventions."""
        network = self._network
        if isinstance(network, BayesianArrays):
            network = network.cut(self._do).to_factors()
        if not self._likelihoods:
            return network
        factors = LogFactors.from_potentials(network) if isinstance(network, PairwisePotentials) else network
        scopes = (*factors.scopes, *((v,) for v in self._likelihoods))
        tables = (*factors.tables, *(take_logs(values) for values in self._likelihoods.values()))
        return LogFactors(factors.cardinalities, scopes, tables)

    @property
    def is_directed(self) -> bool:
        """Whether the network is a Bayesian network."""
        return isinstance(self._network, BayesianArrays)

    @property
    def arrays(self) -> BayesianArrays:
        """The tables of a Bayesian network, without likelihoods and interventions."""
        return cast(BayesianArrays, self._network)

    @cached_property
    def engine(self) -> ComponentEngine:
        """The engine of a Bayesian network, which keeps the plans of its questions."""
        arrays = self.arrays
        scopes = [(v, *family) for v, family in enumerate(arrays.parents)]
        return ComponentEngine(arrays.cards, scopes, arrays.tables, is_directed=True)

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {name: v for v, name in enumerate(self.names)}

    def position(self, name: Hashable) -> int:
        """Return the index of a variable, or raise if there is no variable of that name."""
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            close = suggest(name, self.names)
            raise ValueError(f"no variable {name!r}{close}: the variables are {join_names(self.names)}") from None

    def encode_evidence(self, evidence: Evidence | None, argument: str = "evidence") -> dict[int, int]:
        """Return evidence as {index of the variable: code of the state}, or raise for unknown names."""
        if evidence is not None and not isinstance(evidence, Mapping):
            raise TypeError(f"{argument} must be a dict of {{name: state}}, got {type(evidence).__name__}")
        codes = {}
        for name, state in (evidence or {}).items():
            v = self.position(name)
            if state not in self.states[v]:
                raise UnknownStateError(name, state, self.states[v])
            codes[v] = self.states[v].index(state)
        return codes

    @contextmanager
    def name_evidence(self) -> Iterator[None]:
        """Report evidence of probability zero by names and states, not by indices and codes."""
        try:
            yield
        except ZeroProbabilityError as error:
            raise error.with_names(self.names, self.states) from None

    def find_variables(self, variables: Sequence[Hashable], codes: Mapping[int, int]) -> list[int]:
        """Return the indices of the queried variables, which must be distinct and not observed."""
        if isinstance(variables, str | bytes):
            raise TypeError(f"variables must be a list of names, got {variables!r}: use [{variables!r}]")
        ids = [self.position(name) for name in variables]
        if not ids:
            raise ValueError("variables is empty: name at least one")
        if len(set(ids)) < len(ids):
            raise ValueError(f"variables must be distinct, got {list(variables)!r}")
        observed = [self.names[v] for v in ids if v in codes]
        if observed:
            raise ValueError(f"{join_names(observed)} cannot be both in variables and in evidence")
        return ids

    def estimate_cost(self, codes: Mapping[int, int]) -> InferenceCost:
        """Return the cost of exact inference for the variables that are not observed."""
        reduced = ReducedNetwork(self.model, codes)
        scopes = [scope for scope, _ in reduced.factors]
        # Two orders: a junction tree holds all tables at once, elimination holds the largest ones.
        tree = search_order(reduced.cards, scopes)
        order = search_order(reduced.cards, scopes, by_largest=True)
        bound = bound_width(reduced.cards, scopes)
        cost = count_elimination_cost(order, reduced.cards)
        map_bytes = count_elimination_cost(order, reduced.cards, maximise=True).bytes
        return InferenceCost(
            order.width, tree.largest, tree.cells, tree.bytes, bound, cost.bytes, cost.operations, map_bytes
        )

    def exact(self, codes: Mapping[int, int], memory: int | None) -> ExactInference | ComponentInference:
        """Return exact answers, by components for a Bayesian network, else from a calibrated junction tree."""
        if self.is_directed:
            if memory is not None:
                check_natural(memory, "memory", 0)
            return ComponentInference(self.engine, codes, self._likelihoods, self._do, memory)
        return self.calibrate_tree(codes, memory)

    def calibrate_tree(self, codes: Mapping[int, int], memory: int | None) -> ExactInference:
        """Return a calibrated junction tree, cached if there is no evidence."""
        memory = check_memory(memory)
        # Evidence differs from question to question, so only the tree without evidence is kept.
        if codes:
            return ExactInference(self.model, evidence=dict(codes), memory=memory)
        if self._tree is None:
            self._tree = ExactInference(self.model, memory=memory)
        elif self._tree.plan.bytes > memory:  # the tree was built under a larger limit
            raise make_treewidth_error(self._tree.plan.width, self._tree.plan.bytes, memory)
        # Joint distributions of variables of several cliques need further tables.
        self._tree.memory = memory
        return self._tree

    @cached_property
    def pairwise(self) -> PairwisePotentials:
        """The network with pairwise potentials; auxiliary variables come after the network's variables."""
        return self.model.pairwise() if isinstance(self.model, LogFactors) else self.model


class CompiledNetwork:
    """A discrete network that is read once and keeps the plans of its questions.

    Every function of :mod:`pgmx.inference` that takes a network takes it. Later changes of the model do not change it.

    Parameters
    ----------
    model : network, path or fitted learner
        A pgmpy ``DiscreteBayesianNetwork`` or ``DiscreteMarkovNetwork``, a network of :mod:`pgmx.models`, a file of
        one, a fitted learner, or potentials or factors as arrays.

    Attributes
    ----------
    names : tuple of hashable
        The variables.
    states : tuple of tuple
        The states of each variable.

    Raises
    ------
    TypeError, ValueError
        If the model is of another kind, or a table is missing or does not fit to the graph.

    Notes
    -----
    A question to a Bayesian network looks at the hidden variables that are connected with its variables given the
    evidence; their elimination order, the best of several, is found once per set of hidden variables. All plans
    together take at most 256 MB. Pickles leave them out.

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> from pgmx.inference import CompiledNetwork, marginals
    >>> network = CompiledNetwork(load_network("asia"))
    >>> network
    CompiledNetwork(8 variables, directed)
    >>> round(marginals(network, {"dysp": "yes"})["lung"]["yes"], 4)
    0.1028
    """

    def __init__(self, model: NetworkLike) -> None:
        self._problem = Problem.from_model(model)

    @property
    def names(self) -> tuple[Hashable, ...]:
        """The variables."""
        return self._problem.names

    @property
    def states(self) -> tuple[tuple, ...]:
        """The states of each variable."""
        return self._problem.states

    def __repr__(self) -> str:
        kind = "directed" if self._problem.is_directed else "undirected"
        return f"CompiledNetwork({len(self.names)} variables, {kind})"

    def inference_problem(self) -> Problem:
        """Return names, states and tables, with the plans of past questions."""
        return self._problem


class UnknownStateError(ValueError, KeyError):
    """A variable does not have a state; a ValueError as elsewhere in pgmx, and a KeyError as in pgmpy."""

    def __init__(self, name: Hashable, state: Hashable, states: Sequence, text: str = "") -> None:
        super().__init__(name, state, states, text)

    def __str__(self) -> str:
        name, state, states, text = self.args
        return text or f"{name!r} has no state {state!r}: its states are {join_names(states)}"


def check_memory(memory: int | None) -> int:
    """Return the memory limit of exact inference in bytes: by default 2 GB, or the free memory if that is less."""
    return read_default_memory() if memory is None else check_natural(memory, "memory", 0)


def check_method(method: str, known: Sequence[str], option: str = "method") -> None:
    """Refuse an unknown method."""
    if method not in known:
        raise ValueError(f"{option} must be one of {join_names(known)}, got {method!r}")


def check_options(options: Mapping[str, Any], known: Sequence[str], method: str) -> None:
    """Raise if the method does not have an option."""
    unknown = [name for name in options if name not in known]
    if unknown:
        expected = f"accepts {join_names(known)}" if known else "accepts no options"
        hint = "; the seed of the draws is seed=" if "random_state" in unknown and "random_state" not in known else ""
        raise TypeError(f"unknown option(s) {join_names(unknown)}: method={method!r} {expected}{hint}")

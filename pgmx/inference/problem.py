"""A network as arrays together with its names: what the functions by name work on."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias, Union, cast

from pgmx.checks import join_names
from pgmx.inference.exact.elimination import EliminationPlan
from pgmx.inference.exact.exact import ExactInference, elimination_plan
from pgmx.inference.networks.factors import LogFactors, read_network
from pgmx.inference.networks.potentials import PairwisePotentials

if TYPE_CHECKING:
    from pgmpy.models import DiscreteMarkovNetwork

__all__ = ["NetworkLike", "Problem", "check_method"]


class InferenceModel(Protocol):
    """A network that says itself how inference sees it, as :mod:`pgmx.models` has them."""

    def inference_problem(self) -> Problem:
        """Return names, states and potentials."""
        ...


#: What the functions by name take.
NetworkLike: TypeAlias = Union["DiscreteMarkovNetwork", PairwisePotentials, LogFactors, InferenceModel, "Problem"]


class Problem:
    """Names, states and potentials of a network, and the junction tree without evidence once it is calibrated."""

    def __init__(self, names: Sequence[Hashable], states: Sequence[tuple], model: PairwisePotentials | LogFactors):
        self.names = tuple(names)
        self.states = tuple(states)
        self.model = model
        self._tree: ExactInference | None = None

    @classmethod
    def from_model(cls, model: NetworkLike) -> Problem:
        """Read a network of any accepted kind."""
        if isinstance(model, Problem):
            return model
        if isinstance(model, PairwisePotentials | LogFactors):
            cards = model.cardinalities.tolist()
            return cls(range(len(cards)), [tuple(range(card)) for card in cards], model)
        make_problem = getattr(model, "inference_problem", None)
        if make_problem is not None:
            return make_problem()
        return cls(*read_network(cast("DiscreteMarkovNetwork", model)))

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {name: v for v, name in enumerate(self.names)}

    def position(self, name: Hashable) -> int:
        """Return the number of a variable, or raise when there is none of that name."""
        try:
            return self._positions[name]
        except (KeyError, TypeError):
            raise ValueError(f"no variable {name!r}: the variables are {join_names(self.names)}") from None

    def codes_of(self, evidence: Mapping[Hashable, Hashable] | None) -> dict[int, int]:
        """Return evidence by number of variable and of state, or raise for names that do not exist."""
        if evidence is not None and not isinstance(evidence, Mapping):
            raise TypeError(f"evidence must be a dict of {{name: state}}, got {type(evidence).__name__}")
        codes = {}
        for name, state in (evidence or {}).items():
            v = self.position(name)
            if state not in self.states[v]:
                raise ValueError(f"{name!r} has no state {state!r}: its states are {join_names(self.states[v])}")
            codes[v] = self.states[v].index(state)
        return codes

    def ids_of(self, variables: Sequence[Hashable], codes: Mapping[int, int]) -> list[int]:
        """Return the numbers of variables that are asked for: distinct, and none of them observed."""
        if isinstance(variables, str | bytes):
            raise TypeError(f"variables must be a list of names, got {variables!r}: use [{variables!r}]")
        ids = [self.position(name) for name in variables]
        if not ids:
            raise ValueError("variables is empty: name at least one")
        if len(set(ids)) < len(ids):
            raise ValueError(f"variables names one more than once: {list(variables)!r}")
        observed = [self.names[v] for v in ids if v in codes]
        if observed:
            raise ValueError(f"{join_names(observed)} cannot be both in variables and in evidence")
        return ids

    def plan(self, codes: Mapping[int, int]) -> EliminationPlan:
        """Return the order of elimination of the variables that are not observed."""
        return elimination_plan(self.model, codes)

    def exact(self, codes: Mapping[int, int], memory: int) -> ExactInference:
        """Return a calibrated junction tree; that without evidence is kept."""
        if codes:
            return ExactInference(self.model, evidence=dict(codes), memory=memory)
        if self._tree is None:
            self._tree = ExactInference(self.model, memory=memory)
        return self._tree

    def pairwise(self) -> PairwisePotentials:
        """Return the network as pairs; auxiliary variables come after its own."""
        return self._pairwise

    @cached_property
    def _pairwise(self) -> PairwisePotentials:
        return self.model.pairwise() if isinstance(self.model, LogFactors) else self.model


def check_method(method: str, known: Sequence[str], option: str = "method") -> None:
    """Refuse an unknown method."""
    if method not in known:
        raise ValueError(f"{option} must be one of {join_names(known)}, got {method!r}")

"""What the functions by name work on and return: a network as arrays with its names, marginals by name, the cost."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, Union, cast

import numpy as np

from pgmx.checks import FittedLearner, check_natural, join_names, take_model
from pgmx.inference.exact.bucket_elimination import count_elimination_cost
from pgmx.inference.exact.elimination import bound_width, search_order, too_wide
from pgmx.inference.exact.exact import ExactInference
from pgmx.inference.networks.evidence import ReducedNetwork, ZeroProbabilityError
from pgmx.inference.networks.factors import LogFactors, read_network
from pgmx.inference.networks.potentials import PairwisePotentials
from pgmx.parallel.memory import read_free_memory

if TYPE_CHECKING:
    from pgmpy.models import DiscreteMarkovNetwork

#: Most bytes that exact inference takes by default.
EXACT_MEMORY = 2**31


class InferenceModel(Protocol):
    """A network that says itself how inference sees it, as :mod:`pgmx.models` has them."""

    def inference_problem(self) -> Problem:
        """Return names, states and potentials."""
        ...


#: Observed variables by name, and their states.
Evidence: TypeAlias = Mapping[Hashable, Hashable]

#: What the functions by name take.
NetworkLike: TypeAlias = Union[
    "DiscreteMarkovNetwork", PairwisePotentials, LogFactors, InferenceModel, FittedLearner, "Problem"
]


class Problem:
    """Names, states and potentials of a network, and the junction tree without evidence once it is calibrated."""

    def __init__(self, names: Sequence[Hashable], states: Sequence[tuple], model: PairwisePotentials | LogFactors):
        self.names = tuple(names)
        self.states = tuple(states)
        self.model = model
        self._tree: ExactInference | None = None

    @classmethod
    def from_model(cls, model: NetworkLike) -> Problem:
        """Read a network of any accepted kind, or that of a fitted learner."""
        model = take_model(model)
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

    @contextmanager
    def naming_evidence(self) -> Iterator[None]:
        """Report evidence of probability zero by names and states, not by their numbers."""
        try:
            yield
        except ZeroProbabilityError as error:
            raise error.with_names(self.names, self.states) from None

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

    def estimate_cost(self, codes: Mapping[int, int]) -> InferenceCost:
        """Return what exact inference costs for the variables that are not observed."""
        reduced = ReducedNetwork(self.model, codes)
        scopes = [scope for scope, _ in reduced.factors]
        tree = search_order(reduced.cards, scopes)
        order = search_order(reduced.cards, scopes, by_largest=True)
        bound = bound_width(reduced.cards, scopes)
        cost = count_elimination_cost(order, reduced.cards)
        map_bytes = count_elimination_cost(order, reduced.cards, maximise=True).bytes
        return InferenceCost(
            order.width, tree.largest, tree.cells, tree.bytes, bound, cost.bytes, cost.operations, map_bytes
        )

    def exact(self, codes: Mapping[int, int], memory: int) -> ExactInference:
        """Return a calibrated junction tree; that without evidence is kept."""
        if codes:
            return ExactInference(self.model, evidence=dict(codes), memory=memory)
        if self._tree is None:
            self._tree = ExactInference(self.model, memory=memory)
        elif self._tree.plan.bytes > memory:  # what was granted before is not granted now
            raise too_wide(self._tree.plan.width, self._tree.plan.bytes, memory)
        self._tree.memory = memory
        return self._tree

    @cached_property
    def pairwise(self) -> PairwisePotentials:
        """The network as pairs; auxiliary variables come after its own."""
        return self.model.pairwise() if isinstance(self.model, LogFactors) else self.model


class InferenceCost(NamedTuple):
    """What exact inference would cost.

    Parameters
    ----------
    width : int
        Variables of the largest table that the best order of elimination makes, less one: the treewidth if the order
        is optimal.
    largest : int
        Cells of the largest table of the junction tree, whose order may be another: it is chosen by all cells.
    cells : int
        Cells of all its tables, which is the number of operations of a pass.
    bytes : int
        Its memory at the peak.
    width_bound : int
        A width that every order reaches at least.
    elimination_bytes : int
        Memory at the peak of elimination, which the log-partition takes.
    elimination_operations : int
        Its multiplications.
    map_bytes : int
        Memory at its peak for the most probable states, which keeps the states that it chooses for each table.

    Examples
    --------
    >>> from pgmx.inference import PairwisePotentials, estimate_cost
    >>> estimate_cost(PairwisePotentials.build([2, 3], tables={(0, 1): [[0.0] * 3] * 2})).width
    1
    """

    width: int
    largest: int
    cells: int
    bytes: int
    width_bound: int
    elimination_bytes: int
    elimination_operations: int
    map_bytes: int


class Marginals(Mapping[Hashable, dict[Hashable, float]]):
    """Distributions of single variables: a read-only mapping from name to ``{state: probability}``.

    Parameters
    ----------
    names : sequence of hashable
        Names of the variables, in order.
    states : sequence of tuple
        States of each.
    arrays : sequence of ndarray of float64
        Probabilities of each, in the order of its states.
    method : {"exact", "corrected", "loopy", "gibbs"}
        The engine that computed them.
    converged : bool
        False where belief propagation stopped before its messages settled, or chains of samples disagree.
    errors : sequence of float, optional
        By how much the probabilities of each may be off; of "corrected" and "gibbs" an estimate that some 95 % of the
        errors are below. 0 if exact by default, else NaN: unknown.
    r_hat, effective_sample_size : float, default=nan
        Of "corrected": Gelman and Rubin's figure, the largest of all variables, and the number of independent samples
        that would be as precise, the smallest.

    Attributes
    ----------
    method, converged, r_hat, effective_sample_size
        As above.
    error : dict of {name: float}
        The errors by name.

    Examples
    --------
    >>> from pgmx.inference import Marginals
    >>> answer = Marginals(["a"], [("no", "yes")], [[0.25, 0.75]], "exact", True)
    >>> answer["a"]["yes"], answer.array("a").tolist(), answer.method
    (0.75, [0.25, 0.75], 'exact')
    """

    def __init__(
        self,
        names: Sequence[Hashable],
        states: Sequence[tuple],
        arrays: Sequence[np.ndarray],
        method: str,
        converged: bool,
        errors: Sequence[float] | np.ndarray | None = None,
        r_hat: float = np.nan,
        effective_sample_size: float = np.nan,
    ) -> None:
        self.method = method
        self.converged = converged
        if errors is None:
            errors = [0.0 if method == "exact" else np.nan] * len(names)
        self.error = dict(zip(names, map(float, errors), strict=True))
        self.r_hat = r_hat
        self.effective_sample_size = effective_sample_size
        self._states = dict(zip(names, states, strict=True))
        self._arrays = dict(zip(names, map(np.asarray, arrays), strict=True))

    @property
    def exact(self) -> bool:
        """Whether the probabilities are exact up to rounding."""
        return self.method == "exact"

    def __getitem__(self, name: Hashable) -> dict[Hashable, float]:
        return dict(zip(self._states[name], self._arrays[name].tolist(), strict=True))

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def __repr__(self) -> str:
        warning = "" if self.converged else ", not converged"
        return f"Marginals({len(self)} variables, {self.method}{warning})"

    def array(self, name: Hashable) -> np.ndarray:
        """Return the probabilities of one variable as an array in the order of its states."""
        return self._arrays[name]


class MapAssignment(dict[Hashable, Hashable]):
    """Most probable states of variables: a dictionary from name to state that says how far from the best it can be.

    Parameters
    ----------
    states : dict of {name: state}
        States of the variables that are not observed, in their order.
    log_value : float
        Unnormalised log-probability of these states together with the evidence, in nats.
    bound : float
        No configuration has a larger one.
    method : {"exact", "search", "loopy"}
        The engine that chose them.

    Attributes
    ----------
    log_value, bound, method
        As above.

    Examples
    --------
    >>> from pgmx.inference import PairwisePotentials, map_assignment
    >>> answer = map_assignment(PairwisePotentials.build([2, 2], tables={(0, 1): [[0.0, 1.5], [0.0, 0.0]]}))
    >>> answer, answer.log_value, answer.gap, answer.exact
    ({0: 0, 1: 1}, 1.5, 0.0, True)
    """

    def __init__(self, states: Mapping[Hashable, Hashable], log_value: float, bound: float, method: str) -> None:
        super().__init__(states)
        self.log_value = log_value
        self.bound = bound
        self.method = method

    @property
    def gap(self) -> float:
        """Nats by which the best configuration may be more probable."""
        return self.bound - self.log_value

    @property
    def exact(self) -> bool:
        """Whether no configuration is more probable, up to rounding: a bound that is met proves it too."""
        return self.gap <= 1e-9 * max(1.0, abs(self.bound))

    def __reduce__(self) -> tuple[type, tuple]:
        return type(self), (dict(self), self.log_value, self.bound, self.method)


def check_memory(memory: int | None) -> int:
    """Return the bytes that exact inference may take: 2 GB by default, less where less is free."""
    if memory is not None:
        return check_natural(memory, "memory", 0)
    return min(EXACT_MEMORY, read_free_memory(EXACT_MEMORY))


def check_method(method: str, known: Sequence[str], option: str = "method") -> None:
    """Refuse an unknown method."""
    if method not in known:
        raise ValueError(f"{option} must be one of {join_names(known)}, got {method!r}")


def check_options(options: Mapping[str, Any], known: Sequence[str], method: str) -> None:
    """Refuse an option that no engine would read."""
    unknown = [name for name in options if name not in known]
    if unknown:
        expected = f"takes {join_names(known)}" if known else "takes none"
        raise TypeError(f"unknown option(s) {join_names(unknown)}: method={method!r} {expected}")

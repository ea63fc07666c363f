"""A discrete Markov network given evidence: its free variables and the remaining tables, and impossible evidence."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from pgmx.inference.networks import LogFactors, PairwisePotentials

Network = LogFactors | PairwisePotentials

#: Messages for impossible evidence, and for a network without a possible configuration.
_EVIDENCE = "the evidence {evidence} has probability zero{factor}: nothing can be inferred from it"
_NETWORK = "every configuration has probability zero{factor}: some log-potentials must be above minus infinity"

#: Number of observed variables that a message shows.
_SHOWN = 8


class ZeroProbabilityError(ValueError):
    """The evidence or every configuration has probability zero, or no possible configuration was found.

    `scope` contains the variables of the factor that rules it out, if it is a single factor. In the message `template`,
    ``{evidence}``, ``{given}`` ("with evidence ..."), ``{factor}`` and ``{scope}`` (its variables) are replaced.
    """

    def __init__(self, evidence: Mapping, scope: Iterable[Any] = (), template: str = "") -> None:
        self.evidence = dict(evidence)
        self.scope = tuple(scope)
        self.template = template or (_EVIDENCE if self.evidence else _NETWORK)
        shown = show_evidence(self.evidence)
        names = ", ".join(map(repr, self.scope))
        super().__init__(
            self.template.format(
                evidence=shown,
                given=f" with evidence {shown}" if self.evidence else "",
                factor=f" by the factor of variables ({names})" if self.scope else "",
                scope=names,
            )
        )

    def __reduce__(self) -> tuple[type, tuple]:
        return type(self), (self.evidence, self.scope, self.template)

    def with_names(self, names: Sequence[Hashable], states: Sequence[Sequence]) -> ZeroProbabilityError:
        """Return the error with names and states instead of indices and codes; auxiliary variables are left out."""
        evidence = {names[v]: states[v][code] for v, code in self.evidence.items()}
        return type(self)(evidence, [names[v] for v in self.scope if v < len(names)], self.template)


def show_evidence(evidence: Mapping) -> str:
    """Return observed variables and their states as text; a long list is shortened."""
    pairs = ", ".join(f"{name!r}: {state!r}" for name, state in islice(evidence.items(), _SHOWN))
    more = "" if len(evidence) <= _SHOWN else f", ... ({len(evidence)} in all)"
    return f"{{{pairs}{more}}}"


class ReducedNetwork:
    """A network given evidence: its scopes hold free variables of two states or more.

    ``cards`` are the numbers of remaining states per variable, ``factors`` non-empty scopes with views of the tables.
    ``constant`` is the sum of all other tables at the evidence. A factor that gives the evidence probability zero
    raises a ZeroProbabilityError.
    """

    def __init__(self, network: Network, evidence: Mapping[int, int] | None) -> None:
        if not isinstance(network, LogFactors | PairwisePotentials):
            raise TypeError(
                f"a network must be PairwisePotentials or LogFactors, got {type(network).__name__}: "
                "convert pgmpy's networks with read_network"
            )
        self.network = network
        self.evidence = check_evidence(evidence, network.cardinalities)
        self.cards = network.cardinalities.tolist()
        for v in self.evidence:
            self.cards[v] = 1
        self.factors: list[tuple[tuple[int, ...], np.ndarray]] = []
        self.constant = 0.0
        # Most networks have no such variables, and their tables are used without a copy.
        settled = {v for v, size in enumerate(self.cards) if size == 1}
        for scope, table in _scopes_and_tables(network):
            free = scope
            if not settled.isdisjoint(scope):
                free = tuple(v for v in scope if v not in settled)
                table = table[tuple(self.evidence.get(v, 0) if v in settled else slice(None) for v in scope)]
            if not table.size or table.max() == -np.inf:
                observed = {v: self.evidence[v] for v in scope if v in self.evidence}
                raise ZeroProbabilityError(observed, scope)
            if free:
                self.factors.append((free, table))
            else:
                self.constant += float(table)


def check_evidence(evidence: Mapping[int, int] | None, cardinalities: np.ndarray) -> dict[int, int]:
    """Return evidence as plain integers, sorted by variable; raise for unknown variables and codes."""
    if evidence is not None and not isinstance(evidence, Mapping):
        raise TypeError(f"evidence must be a dict of {{variable: code}}, got {type(evidence).__name__}")
    codes = {}
    for v, code in (evidence or {}).items():
        try:
            v, code = operator.index(v), operator.index(code)
        except TypeError:
            raise TypeError(
                f"evidence must give codes of variable numbers, both integers, got {v!r}: {code!r}"
            ) from None
        if not 0 <= v < len(cardinalities):
            raise ValueError(f"evidence names variable {v}: variables are numbered 0..{len(cardinalities) - 1}")
        if not 0 <= code < cardinalities[v]:
            raise ValueError(f"evidence gives variable {v} the code {code}: it must be in 0..{cardinalities[v] - 1}")
        codes[v] = code
    return dict(sorted(codes.items()))


def _scopes_and_tables(network: Network) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    if isinstance(network, LogFactors):
        yield from zip(network.scopes, network.tables, strict=True)
        return
    for i in range(network.n_variables):
        yield (i,), network.node(i)
    for (i, j), table in zip(network.edges.tolist(), network.tables(), strict=True):
        yield (i, j), table

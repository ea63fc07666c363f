"""A network given evidence: the observed variables taken out of its factors."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from pgmx.inference.networks.factors import LogFactors
from pgmx.inference.networks.potentials import PairwisePotentials

Network = LogFactors | PairwisePotentials


class ZeroProbabilityError(ValueError):
    """A factor gives the evidence, or every configuration, probability zero."""


class ReducedNetwork:
    """A network given evidence: its scopes hold free variables of two states or more.

    ``cards`` counts the states that remain per variable, ``factors`` are non-empty scopes with views of the tables, and
    ``constant`` is the sum of what all other tables hold at the evidence. A factor that gives it probability zero
    raises a ValueError.
    """

    def __init__(self, network: Network, evidence: Mapping[int, int] | None) -> None:
        if not isinstance(network, LogFactors | PairwisePotentials):
            raise TypeError(
                f"a network must be PairwisePotentials or LogFactors, got {type(network).__name__}: "
                "read_network turns pgmpy's into LogFactors"
            )
        self.network = network
        self.evidence = check_evidence(evidence, network.cardinalities)
        self.cards = network.cardinalities.tolist()
        for v in self.evidence:
            self.cards[v] = 1
        self.factors: list[tuple[tuple[int, ...], np.ndarray]] = []
        self.constant = 0.0
        # Most networks have no such variables, and their tables are taken as they are.
        settled = {v for v, size in enumerate(self.cards) if size == 1}
        for scope, table in _scopes_and_tables(network):
            free = scope
            if not settled.isdisjoint(scope):
                free = tuple(v for v in scope if v not in settled)
                table = table[tuple(self.evidence.get(v, 0) if v in settled else slice(None) for v in scope)]
            if not table.size or table.max() == -np.inf:
                observed = {v: self.evidence[v] for v in scope if v in self.evidence}
                raise ZeroProbabilityError(describe_impossible(observed, scope))
            if free:
                self.factors.append((free, table))
            else:
                self.constant += float(table)


def check_evidence(evidence: Mapping[int, int] | None, cardinalities: np.ndarray) -> dict[int, int]:
    """Return evidence as plain integers, sorted by variable, refusing unknown variables and codes."""
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
            raise ValueError(f"evidence names variable {v}: they are numbered 0..{len(cardinalities) - 1}")
        if not 0 <= code < cardinalities[v]:
            raise ValueError(f"evidence gives variable {v} the code {code}: it must be in 0..{cardinalities[v] - 1}")
        codes[v] = code
    return dict(sorted(codes.items()))


def describe_impossible(evidence: Mapping[int, int], scope: Iterable[int] | None = None) -> str:
    """Return a sentence about evidence, or a whole network, of probability zero, by the factor of `scope` if given."""
    culprit = "" if scope is None else f" by the factor of variables {tuple(scope)}"
    if not evidence:
        return f"every configuration has probability zero{culprit}: some log-potentials must be above minus infinity"
    shown = ", ".join(f"{v}: {code}" for v, code in list(evidence.items())[:8])
    more = "" if len(evidence) <= 8 else f", ... ({len(evidence)} in all)"
    return f"the evidence {{{shown}{more}}} has probability zero{culprit}: nothing can be inferred from it"


def _scopes_and_tables(network: Network) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    if isinstance(network, LogFactors):
        yield from zip(network.scopes, network.tables, strict=True)
        return
    for i in range(network.n_variables):
        yield (i,), network.node(i)
    for (i, j), table in zip(network.edges.tolist(), network.tables(), strict=True):
        yield (i, j), table

"""What is left of a network once some of its variables are observed."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations

import numpy as np

from pgmx.inference.networks.factors import LogFactors
from pgmx.inference.networks.potentials import PairwisePotentials

__all__ = ["Network", "Reduced", "check_evidence", "impossible", "joined_pairs"]

Network = LogFactors | PairwisePotentials


class Reduced:
    """A network given evidence: its scopes hold free variables of two states or more.

    Parameters
    ----------
    network : PairwisePotentials or LogFactors
        The network.
    evidence : dict of {int: int} or None
        Codes of observed variables.

    Attributes
    ----------
    evidence : dict of {int: int}
        The same in plain integers.
    cards : list of int
        Number of states that each variable has left.
    factors : list of (tuple of int, ndarray)
        Scopes, none empty, and views of the tables.
    constant : float
        Sum of what all other tables hold at the evidence.

    Raises
    ------
    TypeError
        If `network` is neither.
    ValueError
        If the evidence names an unknown variable or state, or a factor gives it probability zero.
    """

    def __init__(self, network: Network, evidence: Mapping[int, int] | None) -> None:
        if not isinstance(network, LogFactors | PairwisePotentials):
            raise TypeError(
                f"a network must be PairwisePotentials or LogFactors, got {type(network).__name__}: "
                "read_network turns pgmpy's into LogFactors"
            )
        self.network = network
        self.evidence = check_evidence(network.cardinalities, evidence)
        self.cards = network.cardinalities.tolist()
        for v in self.evidence:
            self.cards[v] = 1
        self.factors: list[tuple[tuple[int, ...], np.ndarray]] = []
        self.constant = 0.0
        # Most networks have no such variables, and their tables are taken as they are.
        settled = {v for v, size in enumerate(self.cards) if size == 1}
        for scope, table in _scopes_and_tables(network):
            if settled.isdisjoint(scope):
                left = scope
            else:
                left = tuple(v for v in scope if v not in settled)
                table = table[tuple(self.evidence.get(v, 0) if v in settled else slice(None) for v in scope)]
            if not table.size or table.max() == -np.inf:
                raise ValueError(impossible({v: self.evidence[v] for v in scope if v in self.evidence}, scope))
            if left:
                self.factors.append((left, table))
            else:
                self.constant += float(table)


def check_evidence(cardinalities: np.ndarray, evidence: Mapping[int, int] | None) -> dict[int, int]:
    """Return evidence in plain integers.

    Parameters
    ----------
    cardinalities : ndarray of int64, shape (n,)
        Number of states of each variable.
    evidence : dict of {int: int} or None
        Codes of observed variables.

    Returns
    -------
    dict of {int: int}
        Sorted by variable.

    Raises
    ------
    ValueError
        If a variable or code is unknown.
    TypeError
        If one is no integer.
    """
    found = {}
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
        found[v] = code
    return dict(sorted(found.items()))


def impossible(evidence: Mapping[int, int], scope: Iterable[int] | None = None) -> str:
    """Return what to say of evidence, or of a whole network, of probability zero.

    Parameters
    ----------
    evidence : dict of {int: int}
        Codes of observed variables.
    scope : iterable of int, optional
        The variables of the factor that excludes it, where one does.

    Returns
    -------
    str
        A sentence.
    """
    culprit = "" if scope is None else f" by the factor of variables {tuple(scope)}"
    if not evidence:
        return f"every configuration has probability zero{culprit}: some log-potentials must be above minus infinity"
    shown = ", ".join(f"{v}: {code}" for v, code in list(evidence.items())[:8])
    more = "" if len(evidence) <= 8 else f", ... ({len(evidence)} in all)"
    return f"the evidence {{{shown}{more}}} has probability zero{culprit}: nothing can be inferred from it"


def joined_pairs(network: Network) -> np.ndarray:
    """Return the pairs of variables that share a factor.

    Parameters
    ----------
    network : PairwisePotentials or LogFactors
        The network.

    Returns
    -------
    ndarray of int64, shape (m, 2)
        Pairs (i, j), i < j, in lexicographic order.
    """
    if isinstance(network, PairwisePotentials):
        return network.edges
    pairs = {pair for scope in network.scopes for pair in combinations(sorted(scope), 2)}
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def _scopes_and_tables(network: Network) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    if isinstance(network, LogFactors):
        yield from zip(network.scopes, network.tables, strict=True)
        return
    for i in range(network.n_variables):
        yield (i,), network.node(i)
    for (i, j), table in zip(network.edges.tolist(), network.tables(), strict=True):
        yield (i, j), table

"""The text formats of the UAI competitions: networks of factors of any order, and evidence.

A network consists of a word for its kind, the number of states per variable, the variables of each factor, and the
values of each factor (the last variable varies fastest). Names and states are in a comment at the end that only pgmx
reads.
"""

import json
import math
import re
from itertools import combinations
from typing import NamedTuple

import networkx as nx
import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteMarkovNetwork

from pgmx.inference.named_networks import NamedTables
from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork
from pgmx.models.files.documents import make_factor, to_json_labels
from pgmx.models.files.formats import (
    check_distinct,
    check_labels,
    check_name,
    check_probabilities,
    decode_text,
    load_json,
)

_COMMENT = "# pgmx "

#: Kinds of networks: arbitrary factors, or conditional probabilities with the child last.
_KINDS = ("MARKOV", "BAYES")

#: Most states in a file beyond its number of values: variables without a factor have no values.
_FREE_STATES = 1 << 16

#: Most digits of a count.
_MOST_DIGITS = 18


class UaiNetwork(NamedTuple):
    """The content of a file: MARKOV or BAYES, the factors, and the name of the network, which may be empty."""

    kind: str
    tables: NamedTables
    name: str = ""


def write_uai(tables: NamedTables, name: str, kind: str = "MARKOV") -> bytes:
    """Return the file of a network of factors; BAYES for conditional probabilities, whose child is last."""
    names, states = to_json_labels(tables.names, tables.states)
    cards = [len(labels) for labels in states]
    lines = [kind, str(len(names)), " ".join(map(str, cards)), str(len(tables.scopes))]
    lines += [" ".join(map(str, [len(scope), *scope])) for scope in tables.scopes]
    for values in tables.tables:
        cells = values.ravel()
        # The shortest plain decimals that are read as the same number: pgmpy's reader does not accept exponents.
        lines += [str(len(cells)), " ".join(np.format_float_positional(cell, trim="-") for cell in cells)]
    labels = {"name": name, "names": names, "states": states}
    return ("\n".join(lines) + "\n" + _COMMENT + json.dumps(labels, allow_nan=False) + "\n").encode("ascii")


def read_uai(raw: bytes) -> UaiNetwork:
    """Return the network of a file; raise if it is damaged."""
    text = decode_text(raw)
    words = _Words(re.sub("#.*", "", text).split())
    kind = words.take("MARKOV") if words.words else "nothing"
    if kind.upper() not in _KINDS:
        raise ValueError(f"it begins with {kind!r:.60}, not with {' or '.join(map(repr, _KINDS))}")
    cards = [words.read_count("a number of states") for _ in range(words.read_count("the number of variables"))]
    # A few digits could otherwise declare states beyond all memory.
    if sum(cards) > len(raw) + _FREE_STATES:
        raise ValueError(f"it declares {sum(cards):,} states, but has fewer values")
    n_factors = words.read_count("the number of factors")
    scopes = [[words.read_count("a variable") for _ in range(words.read_count("a size"))] for _ in range(n_factors)]
    tables = []
    for scope in scopes:
        if not scope or len(set(scope)) != len(scope) or max(scope) >= len(cards):
            raise ValueError(f"it has a factor of {scope}: expected distinct variables out of {len(cards)}")
        shape = [cards[v] for v in scope]
        tables.append(words.read_values(math.prod(shape), f"the factor of {scope}").reshape(shape))
    words.check_end(f"the last of {n_factors} factors")
    comment = next((line for line in text.splitlines() if line.startswith(_COMMENT)), None)
    if comment is None:
        names, states, name = [f"var_{v}" for v in range(len(cards))], [list(range(card)) for card in cards], ""
    else:
        labels = load_json(comment[len(_COMMENT) :])
        (names, states), name = check_labels(labels["names"], labels["states"]), check_name(labels["name"])
        n_labels = [len(of_name) for of_name in states]
        if n_labels != cards:
            raise ValueError(f"its comment names {n_labels!r:.60} states of the variables, which have {cards!r:.60}")
    return UaiNetwork(kind.upper(), NamedTables(names, states, scopes, tables), name)


def build_network(network: UaiNetwork) -> DiscreteBayesianNetwork | DiscreteMarkovNetwork:
    """Return the network of a file."""
    names, states, scopes, tables = network.tables
    labels = dict(zip(names, states, strict=True))
    families = [[names[v] for v in scope] for scope in scopes]
    if network.kind == "MARKOV":
        model = DiscreteMarkovNetwork()
        model.add_nodes_from(names)
        model.add_edges_from(pair for family in families for pair in combinations(family, 2))
        model.add_factors(*(make_factor(*factor, labels) for factor in zip(families, tables, strict=True)))
        free = set(names).difference(*families)  # they are uniform: this format allows variables without a factor
        model.add_factors(*(make_factor([name], np.ones(len(labels[name])), labels) for name in names if name in free))
        return model
    check_distinct((family[-1] for family in families), "the children of its tables")
    if len(families) < len(names):
        raise ValueError(f"it has {len(families)} tables for {len(names)} variables")
    bayesian = DiscreteBayesianNetwork()
    bayesian.add_nodes_from(names)
    nx.DiGraph.add_edges_from(bayesian, ((parent, child) for *parents, child in families for parent in parents))
    if not nx.is_directed_acyclic_graph(bayesian):
        raise ValueError("the parents in its tables form a cycle")
    for (*parents, child), table in zip(families, tables, strict=True):
        # In this format the child varies fastest; pgmpy's tables have it first.
        values = table.reshape(-1, table.shape[-1]).T
        check_probabilities(values, child)
        bayesian.add_cpds(TabularCPD(child, len(values), values, parents, table.shape[:-1], state_names=labels))
    return bayesian


def read_codes(raw: bytes, cards: list[int]) -> dict[int, int]:
    """Return the state code of each observed variable, by position; raise if the file is damaged.

    Files until 2010 begin with the number of samples, which must be 1.
    """
    words = _Words(re.sub("#.*", "", decode_text(raw)).split())
    # A count and pairs are an odd number of words: one more is the number of samples.
    if len(words.words) % 2 == 0 and words.words:
        n_samples = words.read_count("the number of samples")
        if n_samples != 1:
            raise ValueError(f"it holds {n_samples} samples of evidence: give a file with one")
    evidence: dict[int, int] = {}
    for _ in range(words.read_count("the number of observed variables")):
        variable, code = words.read_count("a variable"), words.read_count("a state")
        if variable >= len(cards) or code >= cards[variable]:
            raise ValueError(
                f"variable {variable} with state {code} is out of range: variables are numbered 0..{len(cards) - 1}"
                + (f", states of this one 0..{cards[variable] - 1}" if variable < len(cards) else "")
            )
        if variable in evidence:
            raise ValueError(f"variable {variable} occurs twice")
        evidence[variable] = code
    words.check_end("the last observed variable")
    return evidence


class _Words:
    """Words of a text, read in order; declared sizes are checked against the number of words."""

    def __init__(self, words: list[str]):
        self.words = words
        self.at = 0

    def take(self, what: str) -> str:
        """Return the next word; `what` describes the expected word."""
        if self.at == len(self.words):
            raise ValueError(f"it ends too early, {what} is expected")
        self.at += 1
        return self.words[self.at - 1]

    def read_count(self, what: str) -> int:
        """Return the next word as a non-negative integer."""
        word = self.take(what)
        if not word.isdecimal() or len(word) > _MOST_DIGITS:
            raise ValueError(f"word {self.at} must be {what}, of {_MOST_DIGITS} digits at most, got {word!r:.60}")
        return int(word)

    def read_values(self, n: int, what: str) -> np.ndarray:
        """Return n values that follow their count."""
        count = self.read_count(f"the number of values of {what}")
        if count != n:
            raise ValueError(f"{what} declares {count} values, its variables require {n}")
        # Before anything of this size is allocated.
        if n > len(self.words) - self.at:
            raise ValueError(f"it ends too early, in {what}")
        try:
            cells = np.array([float(word) for word in self.words[self.at : self.at + n]])
        except ValueError as error:
            raise ValueError(f"{what} holds a non-numeric word: {error}") from None
        self.at += n
        if not ((cells >= 0) & (cells < np.inf)).all():
            raise ValueError(f"{what} holds {cells.min()}: values must be finite and must not be negative")
        return cells

    def check_end(self, last: str) -> None:
        """Raise if words remain; `last` describes the last word that was read."""
        if self.at < len(self.words):
            raise ValueError(f"it continues after {last}, with {self.words[self.at]!r:.60}")

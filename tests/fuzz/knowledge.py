"""Knowledge of edges drawn at random, free of contradictions or with one that is planted."""

import warnings
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np

from tests.fuzz.cases import Fault, chance, fault, pick


@dataclass
class Knowledge:
    """What is known of directed edges, by position, and the options that say it."""

    names: list
    order: list[int]
    required: set = field(default_factory=set)
    allowed: set = field(default_factory=set)
    options: dict[str, Any] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    def check(self, edges: list[tuple[int, int]]) -> None:
        """Raise an AssertionError unless a graph obeys."""
        assert self.required <= set(edges), f"required {self.required - set(edges)} are not there"
        assert set(edges) <= self.allowed, f"{set(edges) - self.allowed} are not allowed"

    def most_required(self) -> int:
        """Return the largest number of required parents."""
        return max((sum(head == v for _, head in self.required) for v in range(len(self.names))), default=0)


def all_edges(n: int) -> set:
    """Return all ordered pairs."""
    return set(permutations(range(n), 2))


def no_knowledge(names: list) -> Knowledge:
    """Return knowledge that allows all graphs."""
    return Knowledge(names, list(range(len(names))), set(), all_edges(len(names)))


def draw_knowledge(rng: np.random.Generator, names: list) -> Knowledge:
    """Return statements that some graph obeys: one over `order`."""
    n = len(names)
    known = Knowledge(names, [int(v) for v in rng.permutation(n)], set(), all_edges(n))
    forward = [(known.order[i], known.order[j]) for i in range(n) for j in range(i + 1, n)]
    edges = sorted(known.allowed)

    def named(pairs: Any) -> list:
        return [(names[i], names[j]) for i, j in pairs]

    if forward and chance(rng, 0.5):
        known.required = {edge for edge in forward if chance(rng, 0.25)}
        known.options["required_edges"] = named(known.required)
    if chance(rng, 0.5):
        forbidden = {edge for edge in edges if chance(rng, 0.3)} - known.required
        loops = [(0, 0)] if chance(rng, 0.2) else []
        known.options["forbidden_edges"] = (
            set(named(forbidden)) if chance(rng, 0.5) else named(sorted(forbidden) + loops)
        )
        known.allowed -= forbidden
    if chance(rng, 0.3):
        tier_of = {v: (2 * place) // n if chance(rng, 0.8) else -1 for place, v in enumerate(known.order)}
        known.options["tiers"] = [[names[v] for v in known.order if tier_of[v] == tier] for tier in (0, 1)]
        known.allowed = {(i, j) for i, j in known.allowed if tier_of[j] < 0 or tier_of[i] <= tier_of[j]}
    if chance(rng, 0.2):
        roots = {v for v in range(n) if chance(rng, 0.3) and all(head != v for _, head in known.required)}
        known.options["root_nodes"] = [names[v] for v in roots]
        known.allowed = {(i, j) for i, j in known.allowed if j not in roots}
    if chance(rng, 0.2):
        space = {edge for edge in edges if chance(rng, 0.6)} | known.required
        known.options["candidate_edges"] = named(sorted(space))
        known.allowed &= space
    if chance(rng, 0.3):
        _wrap(rng, known)
    return known


def _wrap(rng: np.random.Generator, known: Knowledge) -> None:
    """Move some statements into an ExpertKnowledge, where pgmpy itself takes them."""
    from pgmpy.causal_discovery import ExpertKnowledge

    moved = {name: known.options[name] for name in ("required_edges", "forbidden_edges") if name in known.options}
    if "candidate_edges" in known.options and known.options["candidate_edges"] and chance(rng, 0.5):
        moved["search_space"] = known.options["candidate_edges"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expert = ExpertKnowledge(**{name: set(value) for name, value in moved.items()})
    except Exception:
        return
    for name in moved:
        known.options.pop("candidate_edges" if name == "search_space" else name)
    known.options["expert_knowledge"] = expert


CONTRADICTIONS = (
    "cycle",
    "both",
    "tiers",
    "roots",
    "space",
    "unknown",
    "loop",
    "triple",
    "text",
    "two tiers",
    "object",
)


def draw_contradiction(rng: np.random.Generator, names: list) -> Knowledge:
    """Return statements that no graph obeys, or that are none; the error must name the option."""
    n = len(names)
    known = no_knowledge(names)
    a, b = (names[int(v)] for v in rng.permutation(n)[:2]) if n > 1 else (names[0], names[0])
    kinds = CONTRADICTIONS if n > 1 else ("unknown", "loop", "triple", "text", "object", "two tiers")
    kind = pick(rng, kinds)
    option = "required_edges"
    value: Any = [(a, b)]
    others: dict[str, Any] = {}
    if kind == "cycle":
        value = [(a, b), (b, a)]
    elif kind == "both":
        others = {"forbidden_edges": {(a, b)}}
    elif kind == "tiers":
        others = {"tiers": [[b], [a]]}
    elif kind == "roots":
        others = {"root_nodes": [b]}
    elif kind == "space":
        others = {"candidate_edges": [(b, a)]}
    elif kind == "unknown":
        option = pick(rng, ["required_edges", "forbidden_edges", "tiers", "root_nodes", "candidate_edges"])
        value = (
            [["no such column"]]
            if option == "tiers"
            else ["no such column"]
            if option == "root_nodes"
            else [("no such column", a)]
        )
    elif kind == "loop":
        value = [(a, a)]
    elif kind == "triple":
        option = pick(rng, ["required_edges", "forbidden_edges", "candidate_edges"])
        value = pick(rng, [[(a, b, a)], [(a,)], [3], [{a: 1, b: 2, "c": 3}]])
    elif kind == "text":
        option = pick(rng, ["required_edges", "forbidden_edges", "tiers", "root_nodes", "candidate_edges"])
        value = pick(rng, ["ab", 3, 2.5])
    elif kind == "two tiers":
        option, value = "tiers", [[a], [a]]
    else:
        option, value = "expert_knowledge", pick(rng, [3, "x", [(a, b)], {"required_edges": []}])
    known.options = {option: value, **others}
    known.faults = [fault(option, *others)]
    return known


# ---- undirected ----


def draw_pairs(rng: np.random.Generator, names: list) -> tuple[dict[str, Any], set, set]:
    """Return options of a learner of undirected graphs, and the pairs (i < j) that are required and forbidden."""
    n = len(names)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    required = {pair for pair in pairs if chance(rng, 0.2)} if chance(rng, 0.5) else set()
    forbidden = {pair for pair in pairs if chance(rng, 0.3)} - required if chance(rng, 0.5) else set()
    options: dict[str, Any] = {}

    def named(edges: set) -> list:
        return [(names[i], names[j]) if chance(rng, 0.5) else (names[j], names[i]) for i, j in sorted(edges)]

    if required:
        options["required_edges"] = named(required)
    if forbidden:
        options["forbidden_edges"] = named(forbidden)
    return options, required, forbidden


def draw_contradictory_pairs(rng: np.random.Generator, names: list) -> tuple[dict[str, Any], list[Fault]]:
    """Return options of a learner of undirected graphs that must be refused."""
    a, b = names[0], names[-1]
    kind = int(rng.integers(6 if len(names) > 1 else 4))
    if kind == 0:
        return {pick(rng, ["required_edges", "forbidden_edges"]): [(a, "no such column")]}, [fault("no such column")]
    if kind == 1:
        return {"required_edges": [(a, a)]}, [fault("required_edges")]
    if kind == 2:
        return {"edge_weights": {(a, "no such column"): 2.0}}, [fault("edge_weights")]
    if kind == 3:
        return {"edge_weights": pick(rng, [[[1.0, 2.0]], {(a,): 1.0}, {(a, a): 2.0}])}, [fault("edge_weights")]
    if kind == 4:
        return {"required_edges": [(a, b)], "forbidden_edges": [(b, a)]}, [fault(repr(a), repr(b), "required")]
    return {"edge_weights": {(a, b): pick(rng, [-1.0, np.nan, "x", None])}}, [fault("edge_weights")]

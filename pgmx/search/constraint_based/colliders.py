"""Directions of a skeleton: colliders by five rules, conflicts by strength of evidence, then Meek's rules.

An unshielded triple x - z - y (x and y not adjacent) is a collider x → z ← y if z is not in the sets that separate x
and y. The rules differ in the sets:

- None: the set with the largest p-value of the search for the skeleton [1]_
- "pvalue": the set with the largest p-value among the subsets of the neighbours of x and of y (max-p [2]_)
- "effect": the same with the smallest effect size
- "majority": all of these subsets that separate; more than half of them without z [3]_
- "conservative": all of these subsets that separate; none with z [4]_

With "majority" and "conservative", triples without a decision are ambiguous.

References: [1] Spirtes, Glymour & Scheines (2000), Causation, Prediction, and Search, section 5.4.2. [2] Ramsey (2016),
Improving accuracy and scalability of the PC algorithm by maximizing p-value, arXiv:1610.00378. [3] Colombo & Maathuis
(2014), JMLR 15, section 4.2. [4] Ramsey, Zhang & Spirtes (2006), UAI.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from pgmx.graphs.pattern import Pattern, Triple
from pgmx.search.constraint_based.skeleton import Skeleton
from pgmx.search.knowledge import EdgeConstraints
from pgmx.statistics.independence.source import IdArray, IndependenceSource

Rule = Literal["pvalue", "effect", "majority", "conservative"]

#: Size of the largest subsets that the rules test, besides the set of the skeleton.
MOST_TESTED = 3


@dataclass
class Directions:
    """The result: a pattern, the ambiguous triples, and the colliders that others contradicted, strongest first."""

    pattern: Pattern
    ambiguous: list[Triple] = field(default_factory=list)
    conflicts: list[Triple] = field(default_factory=list)


class _Pair:
    """What the tests of a pair (x, y) say about its common neighbours `middle`."""

    def __init__(self, middle: list[int]):
        self.middle = middle
        self.best_without = [-np.inf] * len(middle)
        self.best_with = [-np.inf] * len(middle)
        self.n_without = [0] * len(middle)
        self.n_with = [0] * len(middle)

    def add(self, z: tuple[int, ...], value: float, separates: bool) -> None:
        """Add a test: the larger the value, the more independent."""
        for k, v in enumerate(self.middle):
            if v in z:
                self.best_with[k] = max(self.best_with[k], value)
                self.n_with[k] += separates
            else:
                self.best_without[k] = max(self.best_without[k], value)
                self.n_without[k] += separates


def orient_skeleton(
    skeleton: Skeleton,
    source: IndependenceSource,
    constraints: EdgeConstraints,
    *,
    rule: Rule | None,
    significance_level: float,
    max_size: int,
    tiers: IdArray | None = None,
) -> Directions:
    """Direct the edges of a skeleton: prior knowledge first, then colliders, then the rules R1 to R4 of Meek.

    A collider that contradicts a direction, or closes a cycle, is left out. The tests of pairs that knowledge removed
    untested are made here, and added to the evidence.
    """
    known = _list_known(skeleton, constraints)
    found, ambiguous = find_colliders(
        skeleton, source, rule=rule, significance_level=significance_level, max_size=max_size, tiers=tiers
    )
    directions = Directions(Pattern(source.n_variables, _list_edges(skeleton), ambiguous), sorted(ambiguous))
    for tail, head in known:
        directions.pattern.orient(tail, head)
    # the strongest first; of equal ones the pair with the larger p-value, then by id
    p_values = skeleton.evidence.get_p_value
    for _, _, *triple in sorted((-strength, -p_values(x, y), x, v, y) for strength, x, v, y in found):
        x, middle, y = triple
        if not directions.pattern.orient_collider(x, middle, y):
            directions.conflicts.append((x, middle, y))
    directions.pattern.close()
    return directions


def find_colliders(
    skeleton: Skeleton,
    source: IndependenceSource,
    *,
    rule: Rule | None,
    significance_level: float,
    max_size: int,
    tiers: IdArray | None = None,
) -> tuple[list[tuple[float, int, int, int]], list[Triple]]:
    """Return the colliders (strength, x, z, y) among the unshielded triples, and the ambiguous triples.

    The tests of pairs that knowledge removed untested are made here, and added to the evidence.
    """
    pairs = _list_unshielded(skeleton)
    _separate_untested(skeleton, source, pairs, significance_level, max_size, tiers)
    if rule is None:
        return _judge_by_sets(skeleton, pairs, significance_level)
    tested = {pair: _Pair(middle) for pair, middle in pairs.items()}
    size = min(max_size, MOST_TESTED)
    for x, y, z, p_value, effect in _test_subsets(skeleton, source, pairs, size, tiers):
        value = -effect if rule == "effect" else p_value
        tested[x, y].add(z, value, p_value >= significance_level)
    return _judge_by_tests(tested, rule)


def _list_edges(skeleton: Skeleton) -> list[tuple[int, int]]:
    return [(x, y) for x, y in np.argwhere(np.triu(skeleton.adjacent, 1)).tolist()]


def _list_unshielded(skeleton: Skeleton) -> dict[tuple[int, int], list[int]]:
    """Return the common neighbours of each pair (x < y) that is not adjacent and has some."""
    pairs: dict[tuple[int, int], list[int]] = {}
    lists: list[list[int]] = [[] for _ in range(len(skeleton.adjacent))]
    for x, y in np.argwhere(skeleton.adjacent).tolist():
        lists[x].append(y)
    sets = [set(neighbours) for neighbours in lists]
    for z, neighbours in enumerate(lists):
        for x, y in combinations(neighbours, 2):
            if y not in sets[x]:
                pairs.setdefault((x, y), []).append(z)
    return pairs


# ---- tests of subsets of the neighbours ----


def _test_subsets(
    skeleton: Skeleton,
    source: IndependenceSource,
    pairs: Iterable[tuple[int, int]],
    max_size: int,
    tiers: IdArray | None,
) -> Iterable[tuple[int, int, tuple[int, ...], float, float]]:
    """Yield (x, y, set, p-value, effect size) of all subsets of the neighbours of x and of y, each once.

    A row of tests serves all partners of a variable. The set that the skeleton found is among the subsets, whatever its
    size.
    """
    partners: dict[int, list[int]] = {}
    for x, y in sorted(pairs):
        partners.setdefault(x, []).append(y)
        partners.setdefault(y, []).append(x)
    adjacent = [frozenset(np.flatnonzero(row).tolist()) for row in skeleton.adjacent]
    for x, all_ys in sorted(partners.items()):
        ys = np.array(sorted(all_ys), dtype=np.intp)
        neighbours = sorted(adjacent[x])
        for size in range(min(max_size, len(neighbours)) + 1):
            for z in combinations(neighbours, size):
                # a set among the neighbours of both ends is tested from the smaller one
                wanted = np.array([y > x or not adjacent[y].issuperset(z) for y in ys.tolist()])
                if tiers is not None and z:
                    wanted &= np.maximum(tiers[x], tiers[ys]) >= max(tiers[v] for v in z)
                yield from _test(source, x, ys[wanted], z)
        for y in ys[ys > x].tolist():
            z = skeleton.evidence.get_set(x, y)
            if len(z) > max_size or not (adjacent[x].issuperset(z) or adjacent[y].issuperset(z)):
                yield from _test(source, x, np.array([y]), z)


def _test(
    source: IndependenceSource, x: int, ys: IdArray, z: tuple[int, ...]
) -> Iterable[tuple[int, int, tuple[int, ...], float, float]]:
    if not len(ys):
        return
    row = source.test_row(x, ys, z)
    for y, p_value, effect in zip(ys.tolist(), row.p_value.tolist(), row.effect_size.tolist(), strict=True):
        if not np.isnan(p_value):
            yield min(x, y), max(x, y), z, p_value, effect


def _separate_untested(
    skeleton: Skeleton,
    source: IndependenceSource,
    pairs: Iterable[tuple[int, int]],
    significance_level: float,
    max_size: int,
    tiers: IdArray | None,
) -> None:
    """Look for separating sets of the pairs that are not adjacent by knowledge."""
    evidence = skeleton.evidence
    unknown = [pair for pair in pairs if evidence.get_p_value(*pair) < significance_level]
    for x, y, z, p_value, _ in _test_subsets(skeleton, source, unknown, max_size, tiers) if unknown else ():
        evidence.add(x, np.array([y]), z, np.array([p_value]))


# ---- decisions ----


def _judge_by_sets(
    skeleton: Skeleton, pairs: dict[tuple[int, int], list[int]], significance_level: float
) -> tuple[list[tuple[float, int, int, int]], list[Triple]]:
    """Return the colliders with their strength, and the ambiguous triples: pairs that no set separates."""
    found, ambiguous = [], []
    for (x, y), middle in pairs.items():
        p_value, z = skeleton.evidence.get_p_value(x, y), skeleton.evidence.get_set(x, y)
        if p_value < significance_level:
            ambiguous += [(x, v, y) for v in middle]
        else:
            found += [(p_value, x, v, y) for v in middle if v not in z]
    return found, ambiguous


def _judge_by_tests(
    tested: dict[tuple[int, int], _Pair], rule: Rule
) -> tuple[list[tuple[float, int, int, int]], list[Triple]]:
    """Return the colliders with their strength, and the ambiguous triples."""
    found, ambiguous = [], []
    for (x, y), pair in tested.items():
        for k, v in enumerate(pair.middle):
            if rule in ("pvalue", "effect"):
                if pair.best_without[k] > pair.best_with[k]:
                    found.append((pair.best_without[k] - pair.best_with[k], x, v, y))
                continue
            n_sets = pair.n_with[k] + pair.n_without[k]
            share = pair.n_without[k] / n_sets if n_sets else 0.5
            bound = 0.5 if rule == "majority" else 1.0
            if share > bound or share == 1.0:
                found.append((share, x, v, y))
            elif share == 0.5 or (rule == "conservative" and share > 0.0):
                ambiguous.append((x, v, y))
    return found, ambiguous


def _list_known(skeleton: Skeleton, constraints: EdgeConstraints) -> list[tuple[int, int]]:
    """Return the edges with a known direction: required ones, then edges of one allowed direction by their p-values.

    An edge whose only direction closes a cycle with those before it is removed from the skeleton.
    """
    pattern = Pattern(constraints.n, _list_edges(skeleton))
    known = [(tail, head) for tail, head in constraints.required.tolist()]
    for tail, head in known:
        pattern.orient(tail, head)
    if constraints.allowed is None:
        return known
    p_value = skeleton.evidence.get_p_value
    for u, v in sorted(pattern.list_undirected(), key=lambda edge: (p_value(*edge), edge)):
        one_way = [edge for edge in ((u, v), (v, u)) if constraints.allows(*edge)]
        if len(one_way) == 1:
            tail, head = one_way[0]
            if pattern.leads_to(head, tail):
                skeleton.adjacent[u, v] = skeleton.adjacent[v, u] = False
            else:
                pattern.orient(tail, head)
                known.append((tail, head))
    return known

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

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Literal

import numpy as np

from pgmx.graphs.pattern import Pattern, Triple
from pgmx.search.constraint_based.skeleton import BoolMatrix, Skeleton
from pgmx.search.knowledge import EdgeConstraints
from pgmx.statistics.independence.source import FloatArray, IdArray, IndependenceSource

Rule = Literal["pvalue", "effect", "majority", "conservative"]

#: Size of the largest subsets that the rules test, besides the set of the skeleton.
MOST_TESTED = 3

#: Values of a block of tests.
_BLOCK = 1 << 20


@dataclass
class Directions:
    """The result: a pattern, the ambiguous triples, and the colliders that others contradicted, strongest first."""

    pattern: Pattern
    ambiguous: list[Triple] = field(default_factory=list)
    conflicts: list[Triple] = field(default_factory=list)


class _Pair:
    """What the tests of a pair say about its common neighbours `middle`, an entry for each.

    The larger a value, the more independent; counts are of separating sets.
    """

    def __init__(self, middle: list[int]):
        self.middle = middle
        self.best_with, self.best_without = [-np.inf] * len(middle), [-np.inf] * len(middle)
        self.n_with, self.n_without = [0] * len(middle), [0] * len(middle)

    def add(self, k: int, best_with: float, best_without: float, n_with: int, n_without: int) -> None:
        """Add tests given sets with and without one of the common neighbours."""
        self.best_with[k] = max(self.best_with[k], best_with)
        self.best_without[k] = max(self.best_without[k], best_without)
        self.n_with[k] += n_with
        self.n_without[k] += n_without


class _Subsets:
    """Tests of one variable x given m subsets of some variables: `members`, bool (m, len(variables)).

    `p_values` and `effects`, (m, len(ys)), are NaN for tests that are not made.
    """

    def __init__(self, x: int, ys: IdArray, variables: IdArray, members: BoolMatrix):
        self.x, self.ys, self.variables, self.members = x, ys, variables, members
        self.p_values: FloatArray
        self.effects: FloatArray

    def add_to(self, tested: dict[tuple[int, int], _Pair], rule: Rule, significance_level: float) -> None:
        """Add the tests to the pairs."""
        values = -self.effects if rule == "effect" else self.p_values
        is_made = ~np.isnan(values)
        values = np.where(is_made, values, -np.inf)[:, None, :]
        separates = (is_made & (self.p_values >= significance_level)).astype(float)
        members = self.members[:, :, None]
        best_with = np.where(members, values, -np.inf).max(axis=0).tolist()
        best_without = np.where(members, -np.inf, values).max(axis=0).tolist()
        n_with = (self.members.T.astype(float) @ separates).astype(int).tolist()
        n_all = separates.sum(axis=0).astype(int).tolist()
        places = {v: k for k, v in enumerate(self.variables.tolist())}
        for j, y in enumerate(self.ys.tolist()):
            pair = tested[min(self.x, y), max(self.x, y)]
            for k, v in enumerate(pair.middle):
                i = places.get(v)
                if i is None:  # in no set
                    pair.add(k, -np.inf, float(values[:, 0, j].max()), 0, n_all[j])
                else:
                    pair.add(k, best_with[i][j], best_without[i][j], n_with[i][j], n_all[j] - n_with[i][j])


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
    edges = [(x, y) for x, y in skeleton.list_edges().tolist()]
    directions = Directions(Pattern(source.n_variables, edges, ambiguous), sorted(ambiguous))
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
    for subsets in _test_subsets(skeleton, source, pairs, min(max_size, MOST_TESTED), tiers):
        subsets.add_to(tested, rule, significance_level)
    return _judge_by_tests(tested, rule)


def _list_unshielded(skeleton: Skeleton) -> dict[tuple[int, int], list[int]]:
    """Return the common neighbours of each pair (x < y) that is not adjacent and has some."""
    pairs: dict[tuple[int, int], list[int]] = {}
    lists: list[list[int]] = [[] for _ in range(len(skeleton.adjacent))]
    for x, y in skeleton.list_edges().tolist():
        lists[x].append(y)
        lists[y].append(x)
    lists = [sorted(neighbours) for neighbours in lists]
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
) -> Iterator[_Subsets]:
    """Test each pair given all subsets of the neighbours of x and of y, each once, at most `max_size` variables.

    The set that the skeleton found is among them, whatever its size.
    """
    partners: dict[int, list[int]] = {}
    for x, y in sorted(pairs):
        partners.setdefault(x, []).append(y)
        partners.setdefault(y, []).append(x)
    adjacent = skeleton.adjacent
    for x, all_ys in sorted(partners.items()):
        ys, neighbours = np.array(sorted(all_ys), dtype=np.intp), np.flatnonzero(adjacent[x])
        n_rows = max(1, _BLOCK // (len(ys) * max(len(neighbours), 1)))
        for size in range(min(max_size, len(neighbours)) + 1):
            choices = combinations(range(len(neighbours)), size)
            while chosen := list(islice(choices, n_rows)):
                places = np.array(chosen, dtype=np.intp).reshape(len(chosen), size)
                yield _test_block(source, x, ys, neighbours, places, adjacent, tiers)
        for y in ys[ys > x].tolist():
            z = np.array(skeleton.evidence.get_set(x, y), dtype=np.intp)
            if len(z) > max_size or not (adjacent[x, z].all() or adjacent[y, z].all()):
                yield _test_block(source, x, np.array([y]), z, np.arange(len(z))[None], None, None)


def _test_block(
    source: IndependenceSource,
    x: int,
    ys: IdArray,
    variables: IdArray,
    places: IdArray,
    adjacent: BoolMatrix | None,
    tiers: IdArray | None,
) -> _Subsets:
    """Test x and ys given m sets, positions (m, size) in `variables`; sets that belong to y are left out."""
    sets = variables[places]
    members = np.zeros((len(places), len(variables)), dtype=bool)
    np.put_along_axis(members, places, True, axis=1)
    subsets = _Subsets(x, ys, variables, members)
    wanted = np.ones((len(places), len(ys)), dtype=bool)
    if adjacent is not None:  # a set among the neighbours of both ends is tested from the smaller one
        wanted = (ys > x) | ~adjacent[ys[None, :, None], sets[:, None, :]].all(axis=2)
    if tiers is not None and sets.shape[1]:
        wanted &= np.maximum(tiers[x], tiers[ys]) >= tiers[sets].max(axis=1, keepdims=True)
    subsets.p_values, subsets.effects = source.test_sets(x, ys, sets, wanted)
    return subsets


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
    ends = np.array(list(pairs), dtype=np.intp).reshape(-1, 2)
    is_known = evidence.p_values[ends[:, 0], ends[:, 1]] >= significance_level
    unknown = [(x, y) for x, y in ends[~is_known].tolist()]
    for subsets in _test_subsets(skeleton, source, unknown, max_size, tiers) if unknown else ():
        for row, is_member in zip(subsets.p_values, subsets.members, strict=True):
            evidence.add(subsets.x, subsets.ys, tuple(subsets.variables[is_member].tolist()), row)


# ---- decisions ----


def _judge_by_sets(
    skeleton: Skeleton, pairs: dict[tuple[int, int], list[int]], significance_level: float
) -> tuple[list[tuple[float, int, int, int]], list[Triple]]:
    """Return the colliders with their strength, and the ambiguous triples: pairs that no set separates."""
    found, ambiguous = [], []
    ends = np.array(list(pairs), dtype=np.intp).reshape(-1, 2)
    sets = skeleton.evidence.list_sets(ends)
    p_values = skeleton.evidence.p_values[ends[:, 0], ends[:, 1]].tolist()
    for ((x, y), middle), p_value, z in zip(pairs.items(), p_values, sets, strict=True):
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
    known = [(tail, head) for tail, head in constraints.required.tolist()]
    if constraints.allowed is None:
        return known
    pattern = Pattern(constraints.n, [(x, y) for x, y in skeleton.list_edges().tolist()])
    for tail, head in known:
        pattern.orient(tail, head)
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

"""FCI and RFCI with d-separation as the test: the true PAG, found by enumeration of all ancestral graphs."""

from itertools import combinations

import numpy as np
import pytest

from oracles.ancestral_graphs import enumerate_pag, list_adjacent_pairs, list_separations
from oracles.separation import SeparationSource, list_ancestors
from pgmx.graphs.partial_ancestral import ARROW, CIRCLE, TAIL, PartialAncestralGraph
from pgmx.search.constraint_based.pag_rules import PagRules, find_colliders_by_sets, orient_colliders
from pgmx.search.constraint_based.possible_d_sep import find_pools, find_possible_d_sep
from pgmx.search.constraint_based.tested_orientations import TestedOrientations
from pgmx.statistics.independence.source import Evidence

LEVEL = 0.5
TEXT = {CIRCLE: "o", ARROW: ">", TAIL: "-"}

# A and E are separated by B, C and D, but C is adjacent to neither: only a possible-d-sep set holds all three.
DISTANT = ["T1>A", "T1>B", "T2>D", "T2>E", "C>B", "C>D", "B>E", "D>A"]


def read_source(edges, observed, selected=""):
    """Return the tests of a DAG with edges such as "T1>A"."""
    pairs = [edge.split(">") for edge in edges]
    names = list(observed) + sorted({name for pair in pairs for name in pair} - set(observed))
    parents = [{names.index(tail) for tail, head in pairs if head == name} for name in names]
    return SeparationSource(parents, list(range(len(observed))), [names.index(name) for name in selected])


def draw_source(rng, n):
    """Return the tests of a random DAG with n observed, at most 3 latent and 5 selection variables."""
    n_latent, n_selected = int(rng.integers(0, 4)), int(rng.integers(0, 6))
    n_all = n + n_latent + n_selected
    order, ids = rng.permutation(n_all).tolist(), rng.permutation(n_all).tolist()
    selected = ids[n + n_latent :]
    density = rng.uniform(0.2, 0.6)
    parents = [set() for _ in range(n_all)]
    for tail, head in combinations(order, 2):
        if tail not in selected and rng.random() < (0.5 if head in selected else density):
            parents[head].add(tail)
    return SeparationSource(parents, ids[:n], selected)


def find_skeleton(source):
    adjacent, evidence = ~np.eye(source.n_variables, dtype=bool), Evidence(source.n_variables)
    for size in range(source.n_variables - 1):
        source.run_level(adjacent, size, significance_level=LEVEL, evidence=evidence)
        remove(adjacent, evidence)
    return adjacent, evidence


def remove(adjacent, evidence):
    adjacent &= np.maximum(evidence.p_values, evidence.p_values.T) < LEVEL


def run_fci(source, **options):
    adjacent, evidence = find_skeleton(source)
    graph = PartialAncestralGraph.from_adjacency(adjacent)
    orient_colliders(graph, find_colliders_by_sets(graph, evidence.get_set))
    pools = find_pools(graph)
    for size in range(1, source.n_variables - 1):
        source.run_level(adjacent, size, significance_level=LEVEL, evidence=evidence, pools=pools)
        remove(adjacent, evidence)
    graph = PartialAncestralGraph.from_adjacency(adjacent)
    orient_colliders(graph, find_colliders_by_sets(graph, evidence.get_set))
    PagRules(graph, evidence.get_set, **options).close()
    return read_marks(graph)


def run_rfci(source):
    adjacent, evidence = find_skeleton(source)
    graph = PartialAncestralGraph.from_adjacency(adjacent)
    tests = TestedOrientations(graph, source, evidence, significance_level=LEVEL)
    tests.orient_colliders(find_colliders_by_sets(graph, evidence.get_set))
    PagRules(graph, evidence.get_set, break_path=tests.break_path).close()
    return read_marks(graph)


def read_marks(graph):
    return {(u, v): TEXT[mark] for u in range(graph.n) for v, mark in graph.marks[u].items()}


def list_false_marks(source, marks):
    """Return the arrowheads at ancestors of the other end or of the selection, and the tails at other variables."""
    names, false = source.observed, []
    for (u, v), mark in marks.items():
        is_ancestor = names[v] in list_ancestors(source.parents, {names[u], *source.selected})
        if mark == ("-" if not is_ancestor else ">"):
            false.append((u, v))
    return false


def check(source):
    """Compare both searches with the truth; return whether their results are the same."""
    n = source.n_variables
    table = list_separations(n, lambda x, y, z: source.test_row(x, [y], z).p_value[0] == 1)
    if len(list_adjacent_pairs(n, table)) > 7:
        return True  # 4^8 ancestral graphs
    pag = enumerate_pag(n, table)
    assert run_fci(source) == pag
    found = run_rfci(source)
    assert pag.keys() <= found.keys()
    assert not list_false_marks(source, found)
    return found == pag


@pytest.mark.parametrize("n", [4, 5])
def test_random_graphs_with_hidden_and_selected_variables(rng, n):
    for _ in range(12):
        check(draw_source(rng, n))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_graphs"), [(4, 1500), (5, 400)])
def test_many_random_graphs(rng, n, n_graphs):
    for _ in range(n_graphs):
        check(draw_source(rng, n))


# One graph for each rule: without the rule the result differs.
RULES = {
    "colliders": (["a>b", "c>b"], "abc", ""),
    "1": (["a>c", "b>c", "c>d"], "abcd", ""),
    "4": (["x>a", "L>a", "L>b", "a>c", "M>b", "M>c"], "xabc", ""),
    "5": (["a>p", "b>p", "b>q", "c>q", "c>r", "d>r", "d>s", "a>s"], "abcd", "pqrs"),
    "6": (["a>p", "b>p", "b>q", "c>q", "c>r", "d>r", "d>s", "a>s", "a>e"], "abcde", "pqrs"),
    "distant": (DISTANT, "ABCDE", ""),
}


@pytest.mark.parametrize("name", RULES)
def test_graphs_that_need_a_rule(name):
    check(read_source(*RULES[name]))


def test_known_pags():
    of_four = run_fci(read_source(*RULES["4"]))
    assert {of_four[1, 2], of_four[2, 1], of_four[2, 3], of_four[3, 2]} == {">"}  # a <-> b <-> c
    cycle = run_fci(read_source(*RULES["5"]))
    assert len(cycle) == 8
    assert set(cycle.values()) == {"-"}
    assert set(run_fci(read_source(*RULES["5"]), selection_bias=False).values()) == {"o"}


def test_possible_d_sep_sets_remove_what_neighbours_do_not():
    source = read_source(DISTANT, "ABCDE")
    adjacent, evidence = find_skeleton(source)
    assert adjacent[0, 4]
    graph = PartialAncestralGraph.from_adjacency(adjacent)
    orient_colliders(graph, find_colliders_by_sets(graph, evidence.get_set))
    assert find_possible_d_sep(graph, 0) == {1, 2, 3, 4}
    assert (0, 4) not in run_fci(source)
    found = run_rfci(source)
    assert found[0, 4] == found[4, 0] == ">"  # RFCI keeps the edge, with true marks
    assert not list_false_marks(source, found)


def test_sets_are_tested_once():
    source = read_source([*DISTANT, "F>B", "H>D", "C>G", "G>A"], "ABCDEFGH")
    adjacent, evidence = find_skeleton(source)
    graph = PartialAncestralGraph.from_adjacency(adjacent)
    orient_colliders(graph, find_colliders_by_sets(graph, evidence.get_set))
    source.asked, options = [], {"significance_level": LEVEL, "evidence": evidence, "pools": find_pools(graph)}
    counts = [source.run_level(adjacent, size, **options) for size in range(7)]
    assert len(set(source.asked)) == len(source.asked) == sum(counts) > 0
    neighbours = [set(marks) for marks in graph.marks]
    assert not any(neighbours[x].issuperset(z) or neighbours[y].issuperset(z) for x, y, z in source.asked)


def test_tiers_restrict_possible_d_sep_sets():
    source = read_source(DISTANT, "ABCDE")
    adjacent, evidence = find_skeleton(source)
    graph = PartialAncestralGraph.from_adjacency(adjacent)
    orient_colliders(graph, find_colliders_by_sets(graph, evidence.get_set))
    options = {"significance_level": LEVEL, "evidence": evidence, "pools": find_pools(graph)}
    for size in range(1, 4):
        source.run_level(adjacent, size, tiers=np.array([0, 0, 1, 0, 0]), **options)
    assert evidence.get_p_value(0, 4) < LEVEL  # C is later than both


# RFCI removes an edge while it tests an unshielded triple, or a discriminating path.
REMOVED_BY_TRIPLE = ["B>E", "C>B", "C>D", "C>F", "C>T3", "D>A", "D>F", "T1>A", "T1>B", "T1>F", "T2>D", "T2>E", "T2>G"]
REMOVED_BY_PATH = [
    "A>G",
    "B>E",
    "B>G",
    "C>B",
    "C>D",
    "C>F",
    "D>A",
    "D>G",
    "T1>A",
    "T1>B",
    "T1>F",
    "T2>D",
    "T2>E",
    "T2>G",
]


@pytest.mark.parametrize("edges", [REMOVED_BY_TRIPLE, REMOVED_BY_PATH])
def test_rfci_removes_edges_that_fail_its_tests(edges):
    source = read_source(edges, "ABCDEFG")
    n_before = int(find_skeleton(source)[0].sum())
    found = run_rfci(source)
    assert len(found) < n_before
    assert not list_false_marks(source, found)
    assert run_fci(source).keys() <= found.keys()


def test_required_pairs_stay():
    source = read_source(REMOVED_BY_TRIPLE, "ABCDEFG")
    adjacent, evidence = find_skeleton(source)
    graph = PartialAncestralGraph.from_adjacency(adjacent)
    required = {frozenset(pair) for pair in np.argwhere(adjacent).tolist()}
    tests = TestedOrientations(graph, source, evidence, significance_level=LEVEL, required=required)
    tests.orient_colliders(find_colliders_by_sets(graph, evidence.get_set))
    PagRules(graph, evidence.get_set, break_path=tests.break_path).close()
    assert len(read_marks(graph)) == adjacent.sum()


# ---- single rules ----


def rules_of(edges, n, separating=(), **options):
    """Return the closed graph of edges such as (0, ">", "o", 1), in which all pairs are separated by one set."""
    marks = {text: mark for mark, text in TEXT.items()}
    graph = PartialAncestralGraph(n)
    for u, at_u, at_v, v in edges:
        graph.join(u, v)
        graph.orient(u, v, marks[at_v])
        graph.orient(v, u, marks[at_u])
    PagRules(graph, lambda x, y: separating, **options).close()
    return read_marks(graph)


def test_rule_2():
    edges = [(0, "-", ">", 1), (1, "o", ">", 2), (0, "o", "o", 2)]
    assert rules_of(edges, 3)[0, 2] == ">"
    edges = [(0, "o", ">", 1), (1, "-", ">", 2), (0, "o", "o", 2)]
    assert rules_of(edges, 3)[0, 2] == ">"
    edges = [(0, "o", ">", 1), (1, "o", ">", 2), (0, "o", "o", 2)]
    assert rules_of(edges, 3)[0, 2] == "o"


def test_rule_3():
    edges = [(0, "o", ">", 1), (2, "o", ">", 1), (0, "o", "o", 3), (2, "o", "o", 3), (3, "o", "o", 1)]
    assert rules_of(edges, 4)[3, 1] == ">"
    assert rules_of([*edges, (0, "o", "o", 2)], 4)[3, 1] == "o"
    assert rules_of(edges, 4, ambiguous={(0, 3, 2)})[3, 1] == "o"


def test_rule_7():
    edges = [(0, "-", "o", 1), (1, "o", "o", 2)]
    assert rules_of(edges, 3)[2, 1] == "-"
    assert rules_of(edges, 3, selection_bias=False)[2, 1] == "o"
    assert rules_of(edges, 3, ambiguous={(0, 1, 2)})[2, 1] == "o"


@pytest.mark.parametrize(("at_0", "expected"), [("-", "-"), ("o", "o")])
def test_rule_8(at_0, expected):
    # the mark at 0 of 0 - 2 becomes a tail with 0 -> 1 -> 2
    assert rules_of([(0, at_0, ">", 1), (1, "-", ">", 2), (0, "o", ">", 2)], 3)[2, 0] == expected


def test_rule_9():
    edges = [(0, "o", ">", 3), (0, "o", "o", 1), (1, "o", "o", 2), (2, "o", ">", 3)]
    assert rules_of(edges, 4, selection_bias=False)[3, 0] == "-"
    assert rules_of([*edges, (1, "o", "o", 3)], 4, selection_bias=False)[3, 0] != "-"


def test_rule_10():
    edges = [(0, "o", ">", 3), (0, "o", "o", 1), (0, "o", "o", 2), (1, "-", ">", 3), (2, "-", ">", 3)]
    assert rules_of(edges, 4, selection_bias=False)[3, 0] == "-"
    assert rules_of([*edges, (1, "o", "o", 2)], 4, selection_bias=False)[3, 0] == "o"


def test_marks_that_are_drawn_stay():
    graph = PartialAncestralGraph(2)
    graph.join(0, 1)
    graph.orient(0, 1, TAIL)
    graph.orient(0, 1, ARROW)
    assert graph.list_edges() == [(0, 1, CIRCLE, TAIL)]
    assert graph.new_marks == [(0, 1)]


def test_a_walk_that_repeats_a_vertex_is_no_path():
    # the only way from 0 to 6 over 1 that is uncovered as a walk passes 2 twice
    graph = PartialAncestralGraph(7)
    for u, v in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 2), (2, 6), (1, 6), (0, 6)]:
        graph.join(u, v)
    always = lambda u, v: True  # noqa: E731
    assert graph.find_uncovered_path(0, 1, 6, always) is None  # 0 and 6 are adjacent, as 1 and 6
    graph.remove(0, 6)
    assert graph.find_uncovered_path(0, 1, 6, always) == [0, 1, 6]
    graph.remove(1, 6)
    graph.join(1, 6)
    graph.join(0, 6)
    assert graph.find_uncovered_path(0, 1, 5, lambda u, v: (u, v) != (2, 5)) == [0, 1, 2, 3, 4, 5]
    assert graph.find_uncovered_path(0, 1, 6, always) is None

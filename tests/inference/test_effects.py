"""Total effects against sums over paths, and possible effects against all graphs of the class."""

from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG, PDAG
from pgmpy.factors.continuous import LinearGaussianCPD

from oracles import equivalence as oracle
from pgmx.estimators import GreedyEquivalenceSearch, HillClimbSearch
from pgmx.graphs.equivalence import cpdag
from pgmx.inference import possible_effects, total_effects
from pgmx.models import LinearGaussianBayesianNetwork, to_dag, to_pdag

NAMES = ["d", ("a", 1), 3, "b", "c"]


def draw_edges(rng, n, share):
    order = rng.permutation(n).tolist()
    return [(order[a], order[b]) for a, b in combinations(range(n), 2) if rng.random() < share]


def draw_network(rng, names, edges):
    network = LinearGaussianBayesianNetwork()
    network.add_nodes_from(names)
    network.add_edges_from((names[u], names[v]) for u, v in edges)
    for v, name in enumerate(names):
        parents = [names[u] for u, head in edges if head == v]
        beta = [rng.normal(), *rng.normal(size=len(parents))]
        network.add_cpds(LinearGaussianCPD(name, beta, rng.uniform(0.5, 2.0), parents))
    return network


def compute_covariance(rng, n, edges):
    """Return the covariance of a linear network with random parameters."""
    slopes = np.zeros((n, n))
    for tail, head in edges:
        slopes[head, tail] = rng.normal() + 0.2
    root = np.linalg.solve(np.eye(n) - slopes, np.diag(rng.uniform(0.5, 2.0, n)))
    return root @ root.T


def effects_in(edges, covariance):
    """Return the effects in a DAG, by effect and cause, from the regression of each variable on its parents."""
    n = len(covariance)
    slopes = np.zeros((n, n))
    for v in range(n):
        parents = sorted(tail for tail, head in edges if head == v)
        slopes[v, parents] = np.linalg.solve(covariance[np.ix_(parents, parents)], covariance[parents, v])
    return np.linalg.inv(np.eye(n) - slopes) - np.eye(n)


def test_total_effects_are_sums_over_paths(rng):
    for _ in range(5):
        network = draw_network(rng, NAMES, draw_edges(rng, 5, 0.6))
        slopes = {
            (parent, cpd.variable): slope
            for cpd in network.cpds
            for parent, slope in zip(cpd.evidence, cpd.beta[1:], strict=True)
        }
        found = total_effects(network.to_pgmpy() if rng.random() < 0.5 else network)
        assert list(found.index) == list(found.columns) == NAMES
        for i, x in enumerate(NAMES):
            for j, y in enumerate(NAMES):
                paths = nx.all_simple_edge_paths(network, x, y) if x != y else ()
                value = sum(np.prod([slopes[edge] for edge in path]) for path in paths)
                assert found.iloc[i, j] == pytest.approx(value, abs=1e-12)
                assert x == y or nx.has_path(network, x, y) or found.iloc[i, j] == 0.0


@pytest.mark.parametrize("knowledge", ["none", "edges", "targets"])
def test_possible_effects_are_those_of_all_graphs_of_the_class(rng, knowledge):
    n_sets = 0
    for _ in range(3):
        edges = draw_edges(rng, 5, 0.8 if knowledge == "edges" else 0.55)
        targets = [rng.choice(5, 2, replace=False).tolist()] if knowledge == "targets" else []
        compelled = [edge for edge in edges if knowledge == "edges" and rng.random() < 0.2]
        compelled += [edge for edge in edges if any((edge[0] in one) != (edge[1] in one) for one in targets)]
        graph = to_pdag(NAMES, *cpdag(5, edges, compelled=compelled))
        covariance = compute_covariance(rng, 5, edges)
        frame = pd.DataFrame(covariance, NAMES, NAMES).sample(frac=1, random_state=1)
        frame = frame[frame.index]
        members = oracle.members(5, edges, compelled)
        for x in range(5):
            expected = {
                frozenset(NAMES[u] for u, head in member if head == x): effects_in(member, covariance)[:, x]
                for member in members
            }
            found = possible_effects(graph, NAMES[x], covariance=frame)
            assert set(found.parents) == expected.keys() and len(found.parents) == len(expected)
            others = [y for y in range(5) if y != x]
            assert list(found.effects.columns) == [NAMES[y] for y in others]
            values = np.array([expected[parents][others] for parents in found.parents])
            np.testing.assert_allclose(found.effects, values, atol=1e-9)
            assert found.is_unique.tolist() == (np.ptp(values, axis=0) < 1e-7).tolist()
            np.testing.assert_allclose(found.smallest, values.min(axis=0), atol=1e-9)
            np.testing.assert_allclose(found.largest, values.max(axis=0), atol=1e-9)
            known = np.where(found.is_unique, values[0], np.nan)
            np.testing.assert_allclose(found.unique_effect, known, atol=1e-9)
            n_sets += len(expected)
    assert n_sets > 15


def test_effects_from_rows_are_regressions(rng):
    edges = [(0, 1), (1, 2), (0, 2), (2, 3)]
    rows = rng.normal(size=(200, 4)) @ np.linalg.cholesky(compute_covariance(rng, 4, edges)).T + 7.0
    data = pd.DataFrame(rows, columns=list("abcd"))
    found = possible_effects(to_dag("abcd", edges), "b", ("c", "d"), data=data)
    regressors = np.column_stack([np.ones(200), rows[:, [1, 0]]])
    expected = np.linalg.lstsq(regressors, rows[:, 2:], rcond=None)[0][1]
    np.testing.assert_allclose(found.unique_effect, expected, rtol=1e-9)
    assert found.parents == [{"a"}] and found.cause == "b"
    assert possible_effects(to_dag("abcd", edges), "b", "a", data=data).effects["a"].tolist() == [0.0]
    learner = GreedyEquivalenceSearch(scoring_method="bic-g").fit(data)
    whole = possible_effects(learner, "b", data=data.assign(e=1.0))
    assert list(whole.effects.columns) == ["a", "c", "d"]


def test_the_covariance_of_a_network(rng):
    """Effects in the network of a learner are the same for all sets of parents that agree."""
    network = draw_network(rng, list("abcd"), [(1, 0), (0, 2), (1, 2), (2, 3)])
    order, matrix = list(nx.topological_sort(network)), network.to_joint_gaussian()[1]
    expected = possible_effects(network, "a", covariance=pd.DataFrame(matrix, order, order))
    found = possible_effects(network, "a", covariance=network)
    np.testing.assert_allclose(found.effects, expected.effects, atol=1e-6)  # pgmpy rounds the covariance
    np.testing.assert_allclose(found.unique_effect, total_effects(network).loc["a", list("bcd")], atol=1e-12)
    rows = pd.DataFrame(rng.normal(size=(100, 4)) @ np.linalg.cholesky(matrix).T, columns=order)
    learner = GreedyEquivalenceSearch(scoring_method="bic-g").fit(rows)
    pd.testing.assert_frame_equal(
        possible_effects(learner, "a").effects, possible_effects(learner, "a", covariance=learner.model_).effects
    )
    with pytest.raises(TypeError, match="of a linear Gaussian network, got"):
        possible_effects(learner, "a", covariance=HillClimbSearch().fit((rows > 0).astype("category")))


def test_a_path_that_cannot_be_directed_has_no_effect(rng):
    """Sampling errors do not make an effect on a variable of another component, or against known directions."""
    graph = PDAG([("a", "b")], [("b", "c")])
    graph.add_node("e")
    data = pd.DataFrame(rng.normal(size=(50, 4)), columns=list("abce"))
    found = possible_effects(graph, "c", data=data)
    assert found.effects["e"].tolist() == found.effects["a"].tolist() == [0.0]
    assert found.is_unique["e"]
    chain = possible_effects(PDAG([], [("a", "b"), ("b", "c")]), "a", "c", data=data[["a", "b", "c"]])
    assert chain.parents == [set(), {"b"}] and (chain.effects["c"] == 0.0).tolist() == [False, True]


def test_parents_of_a_triangle_with_a_known_direction():
    graph = PDAG([("b", "c")], [("a", "b"), ("a", "c")])
    assert possible_effects(graph, "a", covariance=np.eye(3) + 0.5).parents == [set(), {"b"}, {"b", "c"}]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda g, c: possible_effects(g, "x", covariance=c), "'x' is not a node"),
        (lambda g, c: possible_effects(g, "a", ["b", "a"], covariance=c), "other than the cause 'a'"),
        (lambda g, c: possible_effects(g, "a", ["b", "b"], covariance=c), "distinct"),
        (lambda g, c: possible_effects(g, "a"), "either data or covariance"),
        (lambda g, c: possible_effects(g, "a", data=c, covariance=c), "either data or covariance"),
        (lambda g, c: possible_effects(g, "a", covariance=c[:2, :2]), r"shape \(3, 3\), got \(2, 2\)"),
        (lambda g, c: possible_effects(g, "a", covariance=pd.DataFrame(c)), "columns for 'a'"),
        (lambda g, c: possible_effects(g, "a", covariance=pd.DataFrame(c, list("abc"), list("acb"))), "same names"),
        (lambda g, c: possible_effects(g, "a", covariance=c * np.nan), "'a', 'b', 'c' must have a positive variance"),
        (lambda g, c: possible_effects(g, "a", covariance=c + 9 * np.tri(3, k=-1)), "symmetric"),
        (lambda g, c: possible_effects(g, "b", covariance=np.ones((3, 3))), "'a' determine 'b'"),
        (lambda g, c: possible_effects(DAG([("a", "b")]), "b", data=np.ones((5, 2))), "columns for 'b', 'a'"),
        (lambda g, c: possible_effects(nx.DiGraph(["ab", "bc", "ca"]), "a", covariance=c), "'a' -> 'b' -> 'c' -> 'a'"),
    ],
)
def test_faults_are_named(call, words):
    with pytest.raises(ValueError, match=words):
        call(DAG([("a", "b"), ("b", "c")]), np.eye(3) + 0.5)


def test_other_graphs_and_models_are_refused(rng):
    with pytest.raises(TypeError, match="got Graph"):
        possible_effects(nx.Graph(["ab"]), "a", covariance=np.eye(2))
    with pytest.raises(TypeError, match="got DAG"):
        total_effects(DAG([("a", "b")]))
    with pytest.raises(ValueError, match="'a' has no parameters"):
        total_effects(LinearGaussianBayesianNetwork([("a", "b")]))

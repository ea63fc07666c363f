"""Most probable states: searches against enumeration, transfer matrices and linear programs."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from helpers.examples import examples
from helpers.random_networks import as_list, evidence_for, factor_networks
from helpers.spin_glasses import grid_arguments, make_spin_glass
from oracles import enumeration
from oracles.transfer_matrix import eliminate_grid
from pgmx.datasets import grid_network, tree_network
from pgmx.inference import ApproximationWarning, LogFactors, MapAssignment, PairwisePotentials, map_assignment
from pgmx.inference.approximate.search import DualBound
from pgmx.inference.approximate.tempering import Replicas


@given(factor_networks(largest=6, arity=4), st.data())
@examples(60)
def test_a_search_of_few_variables_finds_the_best(network, data):
    evidence = data.draw(evidence_for(network))
    cards, factors = as_list(network)
    best, _ = enumeration.most_probable(cards, factors, evidence)
    if best == -np.inf:
        with pytest.raises(ValueError, match="probability"):
            map_assignment(network, evidence, method="search", n_sweeps=500)
        return
    answer = map_assignment(network, evidence, method="search", n_sweeps=2000)
    states = {**answer, **evidence}
    assert answer.log_value == pytest.approx(best, abs=1e-9)
    assert enumeration.log_score(factors, [states[v] for v in range(len(cards))]) == pytest.approx(best, abs=1e-9)
    assert answer.bound >= best - 1e-9
    assert answer.method == "search"


@pytest.mark.parametrize("field", [0.0, 0.4])
def test_spin_glasses_against_transfer_matrices(field):
    glass = make_spin_glass(12, 12, field=field)
    best = eliminate_grid(*grid_arguments(glass, 12, 12), np.maximum)
    answer = map_assignment(glass, method="search")
    assert answer.log_value == pytest.approx(best, abs=1e-9)
    assert answer.bound >= best - 1e-9
    assert map_assignment(glass).log_value == pytest.approx(best, abs=1e-9)


@pytest.mark.slow
def test_a_spin_glass_of_400_spins():
    glass = make_spin_glass(20, 20)
    best = eliminate_grid(*grid_arguments(glass, 20, 20), np.maximum)
    answer = map_assignment(glass, method="search")
    assert best * (1 - 1e-3) <= answer.log_value <= best + 1e-9  # best is near 500
    assert answer.bound >= best


def test_a_bound_that_is_met_proves_the_answer():
    tree = tree_network(300, 3)
    answer = map_assignment(tree, method="search", n_sweeps=0)
    assert answer.exact
    assert answer.log_value == pytest.approx(map_assignment(tree).log_value, abs=1e-9)
    grid = grid_network(30, 30, edge_scale=0.2)
    assert map_assignment(grid, {"x0": 1}, memory=64).exact  # and there is no warning
    glass = make_spin_glass(8, 8)
    with pytest.warns(ApproximationWarning, match=r"a search.*no score is above.*more than the 64 bytes") as caught:
        answer = map_assignment(glass, memory=64)
    assert caught[0].filename == __file__
    assert not answer.exact
    assert answer.gap == answer.bound - answer.log_value > 1


def test_bound_against_a_linear_program():
    glass = make_spin_glass(4, 4, field=0.7, random_state=2)
    cells, n = len(glass.node_values), 16
    rows, right = [], []
    for v in range(n):
        rows.append({2 * v: 1.0, 2 * v + 1: 1.0})
        right.append(1.0)
    for e, ends in enumerate(glass.edges.tolist()):
        table = cells + 4 * e + np.arange(4).reshape(2, 2)
        for v, lines in zip(ends, (table, table.T), strict=True):
            for state in range(2):
                rows.append({2 * v + state: -1.0, **dict.fromkeys(lines[state].tolist(), 1.0)})
                right.append(0.0)
    values = np.concatenate([glass.node_values, glass.edge_values])
    matrix = np.array([[row.get(cell, 0.0) for cell in range(len(values))] for row in rows])
    relaxed = -linprog(-values, A_eq=matrix, b_eq=right, bounds=(0, 1)).fun
    dual = DualBound(glass, {})
    bounds = []
    for _ in range(6):
        dual.tighten(30, 0.0)
        bounds.append(dual.bound)
    assert (np.diff(bounds) <= 0).all()
    assert relaxed - 1e-7 <= bounds[-1] <= relaxed + 0.005 * abs(relaxed)  # a fixed point may be above the minimum


@given(factor_networks(largest=6, arity=4), st.integers(0, 2**32))
@examples(40)
def test_replicas_know_their_scores(network, seed):
    replicas = Replicas(network, {}, np.random.SeedSequence(seed), lambda _: np.array([2.0, 1.0, 0.2]))
    constant = sum(float(table) for scope, table in zip(network.scopes, network.tables, strict=True) if not scope)
    for _ in range(5):
        replicas.advance()
        scores = network.log_score(replicas.states.T) - constant
        possible = scores > -np.inf
        np.testing.assert_allclose(replicas.chains.values[possible], scores[possible], atol=1e-9)
    best = replicas.states[0].copy()
    scores = [network.log_score(best[:, None])[0]]
    for r in range(len(replicas.states)):
        gain = replicas.chains.improve(best, r)
        scores.append(network.log_score(best[:, None])[0])
        if scores[-2] > -np.inf:
            assert scores[-1] == pytest.approx(scores[-2] + gain, abs=1e-9)
            assert gain >= 0


def test_seeds_and_options():
    glass = make_spin_glass(10, 10, random_state=3)
    answers = [map_assignment(glass, method="search", n_sweeps=200, random_state=seed) for seed in (0, 0, 1)]
    assert answers[0] == answers[1] != answers[2]
    with pytest.raises(ValueError, match="n_sweeps must be at least 0, got -1"):
        map_assignment(glass, method="search", n_sweeps=-1)
    with pytest.raises(TypeError, match="random_state must be an integer"):
        map_assignment(glass, method="search", random_state=0.5)
    with pytest.raises(TypeError, match="unknown option.* 'damping': method='search' accepts 'n_passes'"):
        map_assignment(glass, method="search", damping=0.5)


def test_constants_and_variables_without_tables():
    factors = LogFactors([2, 3, 1], [(), (0,)], [2.5, [0.0, 1.0]])
    for method in ("exact", "search"):
        answer = map_assignment(factors, method=method)
        assert (answer[0], answer.log_value, answer.exact) == (1, 3.5, True)
    assert map_assignment(PairwisePotentials.independent([2, 2]), {0: 1, 1: 0}, method="search") == {}


def test_a_copy_says_the_same():
    answer = MapAssignment({"a": 1}, 1.5, 2.0, "search")
    for other in (pickle.loads(pickle.dumps(answer)), copy.deepcopy(answer)):
        assert other == {"a": 1}
        assert (other.log_value, other.gap, other.exact, other.method) == (1.5, 0.5, False, "search")

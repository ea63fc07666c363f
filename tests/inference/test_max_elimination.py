"""Most probable states by elimination: against enumeration, transfer matrices of grids, and the junction tree."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.random_networks import as_list, evidence_for, factor_networks
from helpers.spin_glasses import grid_arguments, make_spin_glass
from oracles import enumeration
from oracles.transfer_matrix import eliminate_grid
from pgmx.datasets import chain_network
from pgmx.inference import LogFactors, TreewidthError, estimate_cost, map_assignment
from pgmx.inference.exact.variable_elimination import find_most_probable

WORK = 2**36


@given(factor_networks(largest=6, arity=4, impossible=(0.0, 0.2, 0.6)), st.data(), st.sampled_from([24, 64, 2**20]))
@examples(80)
def test_few_variables_against_enumeration(network, data, memory):
    evidence = data.draw(evidence_for(network))
    cards, factors = as_list(network)
    best, _ = enumeration.most_probable(cards, factors, evidence)
    if best == -np.inf:
        with pytest.raises(ValueError, match="probability"):
            find_most_probable(network, evidence, memory, WORK)
        return
    answer = find_most_probable(network, evidence, memory, WORK)  # the less memory, the more variables are fixed
    assert answer.log_value == pytest.approx(best, abs=1e-9)
    assert enumeration.log_score(factors, answer.codes.tolist()) == pytest.approx(best, abs=1e-9)
    assert evidence.items() <= dict(enumerate(answer.codes.tolist())).items()


@pytest.mark.parametrize(("field", "memory"), [(0.0, 2**18), (0.4, 2**16)])
def test_grids_against_transfer_matrices(field, memory):
    glass = make_spin_glass(22, 12, field=field)  # a junction tree of it takes 16 MB, elimination 143 KB
    best = eliminate_grid(*grid_arguments(glass, 22, 12), np.maximum)
    answer = map_assignment(glass, method="exact", memory=memory)
    assert answer.log_value == pytest.approx(best, abs=1e-9)
    assert glass.log_score(np.array(list(answer.values()))[:, None])[0] == pytest.approx(best, abs=1e-9)
    assert (answer.method, answer.exact, answer.bound) == ("exact", True, answer.log_value)


@pytest.mark.slow
def test_a_grid_whose_junction_tree_is_too_large():
    glass = make_spin_glass(22, 16, field=0.1, random_state=1)
    cost = estimate_cost(glass)
    assert cost.map_bytes < 2**22 < 2**27 < cost.bytes
    answer = map_assignment(glass, memory=2**22)  # and there is no warning
    assert answer.method == "exact"
    best = eliminate_grid(*grid_arguments(glass, 22, 16), np.maximum)
    assert answer.log_value == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("n_states", [2, 3, 7, 40, 300])
def test_states_of_any_number(n_states):
    rng = np.random.default_rng(n_states)
    scopes = list(itertools.pairwise(range(6))) + [(0, 5)] * (n_states < 40)
    network = LogFactors([n_states] * 6, scopes, [rng.normal(size=(n_states, n_states)) for _ in scopes])
    answer = find_most_probable(network, {2: 1}, 2**30, WORK)
    tree = map_assignment(network, {2: 1})
    assert answer.log_value == pytest.approx(tree.log_value, abs=1e-9)
    assert answer.codes[[v for v in range(6) if v != 2]].tolist() == list(tree.values())


def test_memory_is_what_the_estimate_says():
    glass = make_spin_glass(14, 14)
    cost = estimate_cost(glass)
    tracemalloc.start()
    answer = find_most_probable(glass, {}, cost.map_bytes, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < cost.map_bytes + 2**20  # the plan, and tables of two variables
    assert cost.elimination_bytes < cost.map_bytes < cost.bytes
    with pytest.raises(TreewidthError, match=f"memory={cost.map_bytes - 1} "):
        find_most_probable(glass, {}, cost.map_bytes - 1, 0)
    assert answer.log_value == pytest.approx(map_assignment(glass).log_value, abs=1e-9)


def test_long_chains_stay_exact_to_the_last_digits():
    chain = chain_network(300, 3, edge_scale=40.0, random_state=0).potentials
    answer = find_most_probable(chain, {}, 2**20, 0)
    assert answer.log_value == pytest.approx(chain.log_score(answer.codes[:, None])[0], rel=1e-14)
    assert answer.log_value == pytest.approx(map_assignment(chain).log_value, rel=1e-14)


def test_too_little_memory_names_the_search():
    glass = make_spin_glass(12, 12)
    with pytest.raises(TreewidthError, match=r"more than the 64 bytes.*method='search'"):
        map_assignment(glass, method="exact", memory=64)

"""Potentials of pairwise networks: layout, building, scores against enumeration, bad input."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.random_networks import as_list, pairwise_networks
from oracles import enumeration
from pgmx.inference import PairwisePotentials
from pgmx.inference import networks as module


def all_codes(cards):
    return np.array(list(enumeration.configurations(cards)), dtype=np.uint8).T


@given(pairwise_networks(largest=4))
def test_log_scores(network):
    cards, factors = as_list(network)
    codes = all_codes(cards)
    wanted = [enumeration.log_score(factors, states) for states in codes.T.tolist()]
    np.testing.assert_allclose(network.log_score(codes), wanted, rtol=1e-12, atol=1e-12)


@given(pairwise_networks(largest=4))
def test_pseudo_log_likelihoods(network):
    cards, factors = as_list(network)
    codes = all_codes(cards)
    wanted = [enumeration.pseudo_log_likelihood(cards, factors, states) for states in codes.T.tolist()]
    np.testing.assert_allclose(network.pseudo_log_likelihood(codes), wanted, rtol=1e-11, atol=1e-11)


@given(pairwise_networks(largest=4))
def test_fields_are_the_conditionals_up_to_a_constant(network):
    cards, factors = as_list(network)
    codes = all_codes(cards)
    for i, field in enumerate(network.fields(codes)):
        assert field.shape == (cards[i], codes.shape[1])
        for states, column in zip(codes.T.tolist(), field.T, strict=True):
            wanted = enumeration.log_conditionals(cards, factors, states, i)
            if wanted is None:
                # The others may exclude each other, which these fields do not look at.
                continue
            top = column.max()
            logs = column - top - math.log(np.exp(column - top).sum())
            np.testing.assert_allclose(logs, wanted, rtol=1e-11, atol=1e-11)


@given(pairwise_networks())
def test_neighbours(network):
    pointer, neighbour, edge = network.neighbours()
    found = set()
    for i in range(network.n_variables):
        around = neighbour[pointer[i] : pointer[i + 1]].tolist()
        assert around == sorted(around)
        for j, e in zip(around, edge[pointer[i] : pointer[i + 1]].tolist(), strict=True):
            assert network.edges[e].tolist() == sorted((i, j))
            found.add((min(i, j), max(i, j)))
    assert sorted(found) == [tuple(pair) for pair in network.edges.tolist()]
    assert len(neighbour) == 2 * network.n_edges


@given(pairwise_networks(), st.randoms(use_true_random=False))
def test_tables_may_come_in_any_order_and_either_way_round(network, random):
    tables = []
    for (i, j), table in zip(network.edges.tolist(), network.tables(), strict=True):
        half = np.where(np.isinf(table), table, table / 2)
        tables += [((i, j), half), ((j, i), half.T)]
    random.shuffle(tables)
    nodes = [network.node(i) for i in range(network.n_variables)]
    again = PairwisePotentials.build(network.cardinalities, nodes, tables)
    for name in ("node_values", "edges", "edge_values"):
        np.testing.assert_array_equal(getattr(again, name), getattr(network, name))


def test_chunks_of_rows_make_no_difference(rng, monkeypatch):
    tables = {(0, 1): rng.normal(size=(2, 3)), (1, 2): rng.normal(size=(3, 4))}
    network = PairwisePotentials.build([2, 3, 4], None, tables)
    codes = np.array([rng.integers(0, size, 37) for size in (2, 3, 4)])
    whole = network.pseudo_log_likelihood(codes)
    monkeypatch.setattr(module, "CHUNK_CELLS", 20)
    np.testing.assert_array_equal(network.pseudo_log_likelihood(codes), whole)


def test_row_weights():
    network = PairwisePotentials.build([2, 2], None, {(0, 1): [[0.0, -np.inf], [-np.inf, 0.0]]})
    codes = np.array([[0, 0, 1], [0, 1, 1]])
    np.testing.assert_array_equal(network.pseudo_log_likelihood(codes), [0, -np.inf, 0])
    np.testing.assert_array_equal(network.pseudo_log_likelihood(codes, [2.0, 0.0, 1.0]), [0, 0, 0])
    np.testing.assert_array_equal(network.pseudo_log_likelihood(codes, [2.0, 0.5, 1.0]), [0, -np.inf, 0])
    with pytest.raises(ValueError, match=r"weights must have shape \(3,\)"):
        network.pseudo_log_likelihood(codes, [1.0])


def test_arrays_belong_to_the_potentials_alone():
    nodes, values = np.zeros(4), np.arange(4.0)
    network = PairwisePotentials(np.array([2, 2]), nodes, np.array([[0, 1]]), values)
    values[0] = 9.0
    assert network.edge_values[0] == 0.0
    assert values.flags.writeable
    view = np.arange(4.0)
    disguised = view[:]
    disguised.setflags(write=False)
    network = PairwisePotentials(np.array([2, 2]), nodes, np.array([[0, 1]]), disguised)
    view[0] = 9.0
    assert network.edge_values[0] == 0.0
    for array in (network.node(0), network.table(0), network.edges, network.node_offsets, network.neighbours()[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_read_only_arrays_are_not_copied():
    network = PairwisePotentials.build([2, 2], None, {(0, 1): np.eye(2)})
    again = PairwisePotentials(network.cardinalities, network.node_values, network.edges, network.edge_values)
    assert again.edge_values is network.edge_values


def test_pickle():
    network = PairwisePotentials.build([2, 2], None, {(0, 1): np.eye(2)})
    network.neighbours()
    again = pickle.loads(pickle.dumps(network))
    np.testing.assert_array_equal(again.table(0), np.eye(2))
    assert not again.edge_values.flags.writeable


def test_independent_and_uniform():
    network = PairwisePotentials.independent([2, 4])
    assert network.edges.shape == (0, 2)
    assert network.tables() == []
    np.testing.assert_allclose(network.pseudo_log_likelihood(np.array([[0], [3]])), [-math.log(8)])
    assert network.log_score(np.empty((2, 0), dtype=int)).shape == (0,)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], [], [], []), "cardinalities"),
        (([2, 0], [0, 0], [], []), "positive integers"),
        (([2.0, 2.0], np.zeros(4), [], []), "cardinalities must be integers"),
        (([2, 2], np.zeros(3), [], []), r"node_values must have shape \(4,\)"),
        (([2, 2], np.zeros(4), [[0, 1]], np.zeros(3)), r"edge_values must have shape \(4,\)"),
        (([2, 2], np.zeros(4), [[1, 0]], np.zeros(4)), r"\(1, 0\) is not an edge"),
        (([2, 2], np.zeros(4), [[0, 2]], np.zeros(4)), r"\(0, 2\) is not an edge"),
        (([2, 2], np.zeros(4), [[0, 1], [0, 1]], np.zeros(8)), "distinct and in lexicographic order"),
        (([2, 2], np.zeros(4), [0, 1], np.zeros(4)), r"shape \(m, 2\)"),
        (([2], [0.0, np.nan], [], []), r"node_values\[1\] is nan"),
        (([2], [np.inf, 0.0], [], []), r"node_values\[0\] is inf"),
    ],
)
def test_wrong_arrays(arguments, words):
    with pytest.raises(ValueError, match=words):
        PairwisePotentials(*arguments)


@pytest.mark.parametrize(
    ("nodes", "tables", "words"),
    [
        ([None], {}, "2 variables: 1"),
        ([None, [0.0]], {}, r"variable 1 has shape \(1,\), it must have \(3,\)"),
        (None, {(0, 1): np.zeros((3, 2))}, r"table of \(0, 1\) has shape \(3, 2\), it must have \(2, 3\)"),
        (None, {(1, 1): np.zeros((3, 3))}, r"\(1, 1\) is not a pair"),
        (None, {(0, 2): np.zeros((2, 2))}, r"\(0, 2\) is not a pair"),
    ],
)
def test_wrong_tables(nodes, tables, words):
    with pytest.raises(ValueError, match=words):
        PairwisePotentials.build([2, 3], nodes, tables)


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        (np.zeros((3, 1), dtype=int), "2 variables"),
        (np.zeros((2, 1)), "integer array"),
        (np.array([[0], [3]]), r"codes of variable 1 must lie in 0\.\.2, got 3\.\.3"),
        (np.array([[-1], [0]]), "codes of variable 0"),
    ],
)
def test_wrong_codes(codes, words):
    network = PairwisePotentials.independent([2, 3])
    for question in (network.log_score, network.fields, network.pseudo_log_likelihood):
        with pytest.raises(ValueError, match=words):
            question(codes)

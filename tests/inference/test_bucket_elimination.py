"""The log-partition by elimination: against enumeration, transfer matrices of grids, and the junction tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from pgmx.datasets import chain_network, grid_network
from pgmx.inference import ExactInference, LogFactors, PairwisePotentials, log_partition
from pgmx.inference.exact.elimination_order import search_order
from pgmx.inference.exact.variable_elimination import count_elimination_cost, sum_by_elimination


def eliminate(network):
    scopes = list(network.scopes)
    plan = search_order(network.cardinalities.tolist(), scopes, by_largest=True)
    tables = list(zip(scopes, network.tables, strict=True))
    return sum_by_elimination(plan, network.cardinalities.tolist(), tables)


def add_up(network):
    """Logarithm of the sum over all configurations, by the whole joint table."""
    n = len(network.cardinalities)
    total = np.zeros(network.cardinalities)
    for scope, table in zip(network.scopes, network.tables, strict=True):
        ordered = np.transpose(table, np.argsort(scope))
        total = total + ordered.reshape([network.cardinalities[v] if v in scope else 1 for v in range(n)])
    return np.logaddexp.reduce(total, axis=None)


@st.composite
def networks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cards = rng.integers(1, 4, draw(st.integers(1, 7)))
    scopes, tables = [], []
    for _ in range(draw(st.integers(0, 8))):
        scope = rng.permutation(len(cards))[: rng.integers(1, min(4, len(cards)) + 1)].tolist()
        table = rng.normal(size=cards[scope]) * draw(st.sampled_from([0.0, 1.0, 60.0, 900.0]))
        if draw(st.booleans()):
            table[rng.random(table.shape) < 0.2] = -np.inf
        scopes.append(tuple(scope))
        tables.append(table)
    return LogFactors(cards, scopes, tables)


@given(networks())
@examples(60)
def test_sum_over_all_configurations(network):
    shares, expected = eliminate(network), add_up(network)
    if expected == -np.inf:
        assert shares.min() == -np.inf
    else:
        assert shares.sum() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_connected_parts_have_their_own_share():
    tables = [np.log([[1.0, 2.0], [3.0, 4.0]]), np.log([5.0, 6.0])]
    shares = eliminate(LogFactors([2, 2, 2, 3], [(0, 2), (1,)], tables))
    assert np.exp([shares[0] + shares[2], shares[1], shares[3]]) == pytest.approx([10, 11, 3])


def transfer(network, height, width):
    """Log-partition of a grid, numbered by rows, by 2^width configurations of a row."""
    states = np.arange(2**width)[:, None] >> np.arange(width) & 1
    tables = {tuple(edge): table for edge, table in zip(network.edges.tolist(), network.tables(), strict=True)}
    logs = np.zeros(len(states))
    for row in range(height):
        first = row * width
        if row:
            for column in range(width):  # one column of the next row at a time
                table = tables[first - width + column, first + column]
                bit = states[:, column]
                other = logs[np.arange(len(states)) ^ (1 << column)]
                logs = np.logaddexp(logs + table[bit, bit], other + table[1 - bit, bit])
        for column in range(width):
            logs = logs + network.node(first + column)[states[:, column]]
            if column:
                logs = logs + tables[first + column - 1, first + column][states[:, column - 1], states[:, column]]
    return np.logaddexp.reduce(logs)


@pytest.mark.parametrize("scale", [0.25, 3.0])
def test_grids_against_transfer_matrices(scale):
    grid = grid_network(14, 11, 2, edge_scale=scale, random_state=1)
    potentials = grid.inference_problem().pairwise
    answer = log_partition(grid)
    assert answer == pytest.approx(transfer(potentials, 14, 11), rel=1e-12)
    assert (answer.exact, answer.standard_error, answer.lower, answer.upper) == (True, 0.0, answer, answer)


@pytest.mark.slow
def test_a_grid_beyond_the_memory_of_a_tree():
    grid = grid_network(17, 17, 2, edge_scale=0.5, random_state=0)
    expected = transfer(grid.inference_problem().pairwise, 17, 17)
    assert log_partition(grid, memory=2**26) == pytest.approx(expected, rel=1e-12)


def test_products_of_many_cells_do_not_overflow():
    chain = chain_network(3000, 3, edge_scale=40.0, random_state=0)
    assert log_partition(chain) == pytest.approx(ExactInference(chain.inference_problem().pairwise).log_partition)


def test_cost_is_that_of_the_tables():
    ring = PairwisePotentials.build([2] * 6, tables={(i, (i + 1) % 6): np.zeros((2, 2)) for i in range(6)})
    plan = search_order([2] * 6, ring.edges.tolist(), by_largest=True)
    # four tables over the ends of a gap, one at a time, with the one before it; then one variable, then none
    assert count_elimination_cost(plan, [2] * 6) == (8 * 8, 4 * 8 + 4 + 2)

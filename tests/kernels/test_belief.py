"""Kernels of belief propagation, of learning under Bethe's approximation, and of Gibbs sampling."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from oracles import belief_propagation, enumeration
from pgmx._ext._belief import MessagePassing
from pgmx._ext._bethe import BetheFit, product_gradients
from pgmx.inference.approximate.gibbs import gibbs_sample
from pgmx.inference.networks import PairwisePotentials

TREE = [(0, 1), (1, 2), (1, 3), (4, 5)]
CYCLES = [(0, 1), (0, 3), (1, 2), (2, 3), (1, 3), (3, 4)]


def network(rng, cards, edges, scale=0.5):
    tables = {(i, j): rng.normal(scale=scale, size=(cards[i], cards[j])) for i, j in edges}
    return PairwisePotentials.build(cards, [rng.normal(size=r) for r in cards], tables)


def factors(potentials):
    nodes = [((i,), potentials.node(i)) for i in range(potentials.n_variables)]
    return nodes + [
        (tuple(edge), table) for edge, table in zip(potentials.edges.tolist(), potentials.tables(), strict=True)
    ]


def passing(potentials, *, logs=False, maximise=False, messages=None):
    arrays = (potentials.cardinalities, potentials.node_values, potentials.edges, potentials.edge_values)
    return MessagePassing(*arrays, *potentials.neighbours(), messages, logs, maximise)


@pytest.mark.parametrize("logs", [False, True])
@pytest.mark.parametrize(
    "cards", [[2] * 6, [3] * 6, [4] * 6, pytest.param([5] * 6, marks=pytest.mark.slow), [1, 2, 7, 3, 6, 4]]
)
def test_messages_on_a_forest(cards, logs, rng):
    potentials = network(rng, cards, TREE, scale=2.0)
    kernel = passing(potentials, logs=logs)
    sweeps, moved, status = kernel.run(5, 1e-12, 0.0)
    assert (sweeps, status) == (2, 0)
    assert moved <= 1e-12
    edge_beliefs = np.empty(len(potentials.edge_values))
    node_beliefs, log_partition, status = kernel.collect(edge_beliefs)
    assert status == 0
    assert log_partition == pytest.approx(enumeration.log_partition(cards, factors(potentials)), rel=1e-12)
    exact = np.concatenate(enumeration.marginals(cards, factors(potentials)))
    np.testing.assert_allclose(node_beliefs, exact, atol=1e-12)


def test_messages_with_cycles(rng):
    cards = [2, 3, 5, 4, 2]
    potentials = network(rng, cards, CYCLES)
    kernel = passing(potentials)
    kernel.run(500, 1e-13, 0.0)
    node_beliefs, log_partition, _ = kernel.collect(np.empty(len(potentials.edge_values)))
    alone, joined = belief_propagation.beliefs(cards, factors(potentials))
    np.testing.assert_allclose(node_beliefs, np.concatenate(alone), atol=1e-10)
    wanted = belief_propagation.bethe_log_partition(cards, factors(potentials), alone, joined)
    assert log_partition == pytest.approx(wanted, rel=1e-10)


def test_the_partition_function_forgives_errors_of_messages(rng):
    """An error of messages of size e changes it by about e squared."""
    potentials = network(rng, [3] * 5, CYCLES)
    kernel = passing(potentials)
    kernel.run(500, 1e-14, 0.0)
    messages = kernel.messages_out()
    beliefs = np.empty(len(potentials.edge_values))
    best = kernel.collect(beliefs)[1]
    noise = rng.normal(size=len(messages))
    errors = [
        passing(potentials, messages=messages * np.exp(e * noise)).collect(beliefs)[1] - best for e in (1e-2, 1e-4)
    ]
    assert abs(errors[1]) < 1e-3 * abs(errors[0])


def test_underflow_is_reported():
    near = [[0.0, -300.0], [-300.0, 0.0]]
    fields = [[0.0, -300.0], [0.0, -300.0], None]
    potentials = PairwisePotentials.build([2, 2, 2], fields, {(0, 1): near, (1, 2): near})
    assert passing(potentials).run(1, 0.0, 0.0)[2] == 1
    assert passing(potentials, logs=True).run(1, 0.0, 0.0)[2] == 0


@pytest.mark.parametrize("logs", [False, True])
def test_impossibility_is_reported(logs):
    differ = np.array([[-np.inf, 0.0], [0.0, -np.inf]])
    potentials = PairwisePotentials.build([2, 2], [[0.0, -np.inf], [0.0, -np.inf]], {(0, 1): differ})
    assert passing(potentials, logs=logs).run(3, 0.0, 0.0)[2] == 2


def moments_of(rng, cards, edges):
    """Moments of some distribution: shares of random rows."""
    hidden = rng.integers(0, 12, 500)
    codes = [np.where(rng.random(500) < 0.5, hidden % r, rng.integers(0, r, 500)) for r in cards]
    nodes = np.concatenate([np.bincount(column, minlength=r) / 500 for column, r in zip(codes, cards, strict=True)])
    tables = [np.bincount(codes[i] * cards[j] + codes[j], minlength=cards[i] * cards[j]) / 500 for i, j in edges]
    return nodes, np.concatenate(tables)


def fitted(rng, cards, edges, *, lam, l2, **options):
    nodes, tables = moments_of(rng, cards, edges)
    fit = BetheFit(np.array(cards), nodes)
    fit.lam, fit.l2 = lam, l2
    for name, value in options.items():
        setattr(fit, name, value)
    scales = np.sqrt([float(cards[i] * cards[j]) for i, j in edges])
    size = len(tables)
    fit.add_edges(np.array(edges), tables, scales, np.zeros(size), np.ones(size, dtype=np.uint8))
    fit.enqueue_all()
    fit.settle(1e-9, 10**6)
    return fit, nodes, tables


@pytest.mark.parametrize(
    "options",
    [
        {"lam": 0.01, "l2": 0.02},
        {"lam": 0.0, "l2": 0.1},
        {"lam": 0.01, "l2": 0.02, "penalize_nodes": True},
        {"lam": 0.01, "l2": 0.02, "cellwise": True},
        {"lam": 0.01, "l2": 0.02, "damping": 0.5, "caution": 2.0},
    ],
)
def test_a_fit_is_stationary(options, rng):
    cards = [2, 3, 5, 4, 1]
    fit, nodes, _ = fitted(rng, cards, CYCLES, **options)
    assert fit.n_queued == 0
    assert all(part.max() <= 1e-8 for part in fit.optimality())
    order = sorted(range(len(CYCLES)), key=CYCLES.__getitem__)
    sizes = np.array([cards[i] * cards[j] for i, j in CYCLES])
    cells = np.split(fit.edge_values, np.cumsum(sizes)[:-1])
    shapes = {CYCLES[e]: cells[e].reshape([cards[v] for v in CYCLES[e]]) for e in order}
    potentials = PairwisePotentials.build(cards, np.split(fit.node_values, np.cumsum(cards)[:-1]), shapes)
    alone, joined = belief_propagation.beliefs(cards, factors(potentials))
    wanted = belief_propagation.bethe_log_partition(cards, factors(potentials), alone, joined)
    assert fit.log_partition() == pytest.approx(wanted, rel=1e-10)
    if not options.get("penalize_nodes"):
        gradient = np.concatenate(alone) - nodes + options["l2"] * fit.node_values
        np.testing.assert_allclose(gradient, 0.0, atol=1e-7)


def test_settling_messages_leaves_parameters_and_the_queue(rng):
    fit, _, _ = fitted(rng, [3] * 5, CYCLES, lam=0.01, l2=0.1)
    before = fit.edge_values
    fit.set_values(fit.node_values, before * 1.5)
    fit.settle(1e-9, 0)
    waiting = fit.n_queued
    fit.settle_messages(1e-9, 10**6)
    assert fit.n_queued == waiting == 5
    np.testing.assert_array_equal(fit.edge_values, before * 1.5)
    fit.settle(1e-9, 10**6)
    np.testing.assert_allclose(fit.edge_values, before, atol=1e-6)


def test_edges_come_in_any_number_of_steps(rng):
    cards = [2, 3, 4, 3, 2]
    together, nodes, tables = fitted(rng, cards, CYCLES, lam=0.005, l2=0.05)
    alone = BetheFit(np.array(cards), nodes)
    alone.lam, alone.l2 = 0.005, 0.05
    first = 0
    for i, j in CYCLES:
        size = cards[i] * cards[j]
        own = tables[first : first + size]
        ones = np.ones(size, dtype=np.uint8)
        alone.add_edges(np.array([(i, j)]), own, np.sqrt([float(size)]), np.zeros(size), ones)
        alone.settle(1e-9, 10**6)
        first += size
    np.testing.assert_allclose(alone.edge_values, together.edge_values, atol=1e-6)


def test_products_of_beliefs(rng):
    cards = np.array([2, 3, 4])
    beliefs = rng.dirichlet(np.ones(9))
    at = np.concatenate([[0], np.cumsum(cards)])
    pairs = np.array([[0, 2], [1, 2]])
    begins = np.array([0, 8, 20])
    moments = rng.random(20)
    tables = moments.copy()
    norms = product_gradients(beliefs, at, pairs, begins, tables)
    for k, (i, j) in enumerate(pairs):
        wanted = np.outer(beliefs[at[i] : at[i + 1]], beliefs[at[j] : at[j + 1]]).ravel()
        wanted -= moments[begins[k] : begins[k + 1]]
        np.testing.assert_allclose(tables[begins[k] : begins[k + 1]], wanted, atol=1e-15)
        assert norms[k] == pytest.approx(np.linalg.norm(wanted))


def test_threads(rng):
    potentials = [network(rng, [3] * 5, CYCLES) for _ in range(8)]

    def run(number):
        kernel = passing(potentials[number])
        kernel.run(20, 0.0, 0.0)
        return kernel.messages_out(), gibbs_sample(potentials[number], 50, burn_in=10)

    alone = [run(number) for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(run, range(8)))
    for first, second in zip(alone, together, strict=True):
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other)

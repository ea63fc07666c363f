"""The kernel of answers by components against sums over all configurations, called directly."""

import numpy as np
import pytest

from helpers.component_kernels import MARGINAL_MAP, MAXIMISE, QUERY, SUM, Network, condition, marginal
from pgmx._ext._components import Components

CELLS = 1e6


def find(kernel, rows, kind, n_repeats=1):
    """Find and plan the components of rows."""
    for number in kernel.find(rows, kind, n_repeats):
        assert kernel.plan(number, CELLS) > 0


def ask(kernel, row, query, kind, is_directed=True):
    """Plan and answer a query: the constant, and the value, answer and positions of each component."""
    found, constant = kernel.find_query(row, np.array(query, dtype=np.int32), kind, is_directed)
    for number, _ in found:
        kernel.plan(number, CELLS)
    return constant, [(*kernel.answer_query(row, number), inside) for number, inside in found]


NETWORKS = [
    Network([3], [[]]),  # one variable
    Network([1], [[]]),
    Network([1, 2, 1, 3], [[], [0], [1], [1, 2]]),  # variables of one state
    Network([2, 3, 2, 2, 3], [[], [0], [0], [1, 2], [3]], zeros=0.4),
    Network([300, 2, 3], [[], [0], [0, 1]]),
    Network([2, 300, 2], [[], [0], [1]], zeros=0.3),
    Network([2, 2, 3, 2, 2, 3], [[], [], [0, 1], [2], [], [4]]),
    Network([3, 4, 3, 4, 3], [[], [0], [0, 1], [0, 1, 2], [0, 1, 2, 3]], zeros=0.3),  # messages of several blocks
    Network([2, 5, 3, 4, 5, 2], [[], [0], [0], [1, 2], [0, 1], [3, 4]]),
]


@pytest.fixture(params=range(len(NETWORKS)))
def network(request):
    return NETWORKS[request.param]


@pytest.fixture(params=[2**28, 0], ids=["kept", "forgotten"])
def max_bytes(request):
    """Limits with which plans are kept, or forgotten before every call."""
    return request.param


def test_sums_and_marginals(network, max_bytes, rng):
    kernel = network.components(max_bytes)
    n, n_columns = len(network.cards), sum(network.cards)
    for hidden in (0.0, 0.3, 0.7, 1.0):
        rows = network.draw_rows(rng, 12, hidden)
        rows[6:9] = rows[5]  # repeated rows
        probabilities = np.full((12, n_columns), np.nan)
        find(kernel, rows, SUM)
        logs = kernel.answer(rows, SUM, None, probabilities, network.columns)
        for row, log, line in zip(rows, logs, probabilities, strict=True):
            kept = condition(network.joint, row)
            if kept.sum() == 0.0:
                assert log == -np.inf
                continue
            assert log == pytest.approx(np.log(kept.sum()), abs=1e-12)
            for v in np.flatnonzero(row < 0):
                found = line[network.columns[v] : network.columns[v] + network.cards[v]]
                np.testing.assert_allclose(found, marginal(kept / kept.sum(), [v]), atol=1e-13)
        # columns that are not wanted are not written
        probabilities[:] = np.nan
        kernel.answer(rows, SUM, None, probabilities, np.full(n, -1, dtype=np.int64))
        assert np.isnan(probabilities).all()


def test_most_probable_states(network, max_bytes, rng):
    kernel = network.components(max_bytes)
    for hidden in (0.3, 0.7, 1.0):
        rows = network.draw_rows(rng, 10, hidden)
        states = rows.copy()
        find(kernel, rows, MAXIMISE)
        logs = kernel.answer(rows, MAXIMISE, states)
        for row, found, log in zip(rows, states, logs, strict=True):
            best = condition(network.joint, row).max()
            if best == 0.0:
                assert log == -np.inf
                continue
            assert log == pytest.approx(np.log(best), abs=1e-12)
            assert network.joint[tuple(found)] == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("uniform", [0.0, 1.0 - 2.0**-53])
def test_draws_at_both_ends_of_the_interval_are_possible(network, uniform, rng):
    """The smallest and the largest uniform number give states of positive probability."""
    kernel = network.components()
    n = len(network.cards)
    rows = network.draw_rows(rng, 8, 0.6)
    rows = rows[[condition(network.joint, row).sum() > 0.0 for row in rows]]
    find(kernel, rows, SUM, 5)
    states = np.repeat(rows, 5, axis=0)
    logs = kernel.answer(rows, SUM, states, None, None, np.full((len(states), n), uniform))
    assert ((states >= 0) & (states < network.cards)).all()
    for place, row in enumerate(rows):
        drawn = slice(5 * place, 5 * place + 5)
        assert (states[drawn] == states[drawn][0]).all() and (logs[drawn] == logs[drawn][0]).all()
        assert network.joint[tuple(states[drawn][0])] > 0.0
        assert (states[drawn][0] == row)[row >= 0].all()


def test_repeated_rows_are_answered_as_rows_alone(network, rng):
    kernel = network.components()
    rows, uniforms = network.draw_rows(rng, 6, 0.5), rng.random((24, len(network.cards)))
    find(kernel, rows, SUM, 4)
    states = np.repeat(rows, 4, axis=0)
    logs = kernel.answer(rows, SUM, states, None, None, uniforms)
    for place in range(24):
        row = rows[place // 4][None]
        alone = row.copy()
        find(kernel, row, SUM)
        assert kernel.answer(row, SUM, alone, None, None, uniforms[place][None])[0] == logs[place]
        np.testing.assert_array_equal(alone[0], states[place])


def test_queries_in_any_order(network, max_bytes, rng):
    kernel = network.components(max_bytes)
    for row in network.draw_rows(rng, 10, 0.7):
        hidden, kept = np.flatnonzero(row < 0), condition(network.joint, row)
        if not len(hidden) or kept.sum() == 0.0:
            continue
        query = rng.permutation(hidden)[: rng.integers(1, len(hidden) + 1)].tolist()  # unsorted
        wanted = marginal(kept / kept.sum(), query)
        for is_directed in (True, False):
            _, answers = ask(kernel, row, query, QUERY, is_directed)
            for _, table, inside in answers:
                table = (table / table.sum()).reshape([network.cards[query[k]] for k in inside])
                np.testing.assert_allclose(table, marginal(wanted, inside), atol=1e-13)
        constant, answers = ask(kernel, row, query, MARGINAL_MAP)
        states = [0] * len(query)
        for _, chosen, inside in answers:
            for k, state in zip(inside, chosen, strict=True):
                states[k] = state
        assert wanted[tuple(states)] == pytest.approx(wanted.max(), rel=1e-12)
        if len(query) < len(hidden):
            continue  # components without a variable of the query are left out of the value
        value = constant + sum(answer[0] for answer in answers)
        assert value == pytest.approx(np.log(marginal(kept, query).max()), abs=1e-12)


def test_likelihoods_and_interventions(network, rng):
    kernel, n = network.components(), len(network.cards)
    hidden = np.full(n, -1, dtype=np.int32)
    weighted, cut = 0, n - 1
    likelihood = rng.random(network.cards[weighted])
    joint = network.joint * likelihood.reshape([-1] + [1] * (n - 1))
    network.set_likelihood(weighted, likelihood)
    try:
        find(kernel, hidden[None], SUM)
        assert kernel.answer(hidden[None], SUM)[0] == pytest.approx(np.log(joint.sum()), abs=1e-12)
        if n > 1:
            network.active[cut] = 0
            row = hidden.copy()
            row[cut] = 0
            # without the table of the variable that is set, all others have their joint without it
            rest = marginal(joint, range(n - 1))
            find(kernel, row[None], SUM)
            assert kernel.answer(row[None], SUM)[0] == pytest.approx(np.log(rest.sum()), abs=1e-12)
            for v in range(n - 1):
                ((_, table, _),) = ask(kernel, row, [v], QUERY)[1]
                np.testing.assert_allclose(table / table.sum(), marginal(rest / rest.sum(), [v]), atol=1e-13)
    finally:
        network.clear_question()


def test_one_call_leaves_unusual_questions_to_its_steps():
    network = Network([2, 3, 2], [[], [0], [1]], zeros=0.5)
    kernel = network.components()
    for query, codes in (([], {}), ([0, 0], {}), ([0], {0: 1}), ([0, 1, 2, 0], {}), ([2], {0: 0, 1: 0, 2: 0})):
        assert kernel.ask(codes, query, True, 1000) is None
    assert kernel.ask({}, [0], True, 1) is None  # more cells
    impossible = np.argwhere(network.table_of(network.values, 1) == 0.0)
    state, parent = impossible[0].tolist()
    assert kernel.ask({0: parent, 1: state}, [2], True, 1000) is None
    assert kernel.ask({}, [0], True, 1000) == pytest.approx(network.joint.sum(axis=(1, 2)))


def test_tables_that_were_replaced_are_noticed():
    class Table:
        def __init__(self):
            self.values = np.ones(2)

    tables = [Table(), Table()]
    arrays = [table.values for table in tables]
    assert Components.have_arrays(list(tables), tables, arrays)
    assert not Components.have_arrays(tables[:1], tables, arrays)
    assert not Components.have_arrays([tables[0], Table()], tables, arrays)
    tables[1].values = np.ones(2)
    assert not Components.have_arrays(list(tables), tables, arrays)


def test_plans_beyond_the_limit_are_not_made():
    network = Network([4, 4, 4, 4], [[], [0], [0, 1], [0, 1, 2]])
    kernel = network.components()
    row = np.full((1, 4), -1, dtype=np.int32)
    for limit in (0, 10, 84):
        (number,) = kernel.find(row, SUM)
        assert kernel.plan(number, limit) > limit
        with pytest.raises(ValueError, match="has no plan"):
            kernel.answer(row, SUM)
        with pytest.raises(ValueError, match="has no plan"):
            kernel.answer_query(row[0], number)
    order = np.array([3, 1, 0, 2], dtype=np.int32)
    assert kernel.plan(number, CELLS, order) == 256 + 64 + 16 + 4
    assert kernel.find(row, SUM) == []
    assert kernel.answer(row, SUM)[0] == pytest.approx(0.0, abs=1e-12)


def test_a_table_with_more_cells_than_can_be_numbered_has_no_plan():
    """A star of 31 binary variables: eliminating the common child first gives a table of 2^32 cells."""
    n = 32
    network = Network.__new__(Network)
    edges = [(v, n - 1) for v in range(n - 1)] + [(u, v) for v in range(n - 1) for u in range(v)]
    network.fill([2] * n, edges, [np.ones((2, 2))] * len(edges))
    kernel = network.components()
    row = np.full(n, -1, dtype=np.int32)
    (number,) = kernel.find(row[None], SUM)
    assert kernel.plan(number, 1e300) == np.inf
    ((number, _),) = kernel.find_query(row, np.arange(n, dtype=np.int32), QUERY, False)[0]
    assert kernel.plan(number, 1e300) == np.inf


def test_products_of_many_small_factors_do_not_underflow():
    """A variable with 900 observed children, alone and with a hidden child; the plain product is below all doubles."""
    n = 901
    tables = [np.array([0.5, 0.5])] + [np.array([[0.3, 0.2], [0.7, 0.8]])] * (n - 1)
    network = Network.__new__(Network)
    network.fill([2] * n, [(0,), *((v, 0) for v in range(1, n))], tables)
    kernel = network.components()
    rows = np.zeros((2, n), dtype=np.int32)
    rows[:, 0] = -1
    rows[1, 1] = -1
    with np.errstate(under="ignore"):
        for kind in (SUM, MAXIMISE):
            logs = np.log(0.5) + np.log(0.3) * (900 - np.arange(2))
            logs[1] += np.log(0.7) if kind == MAXIMISE else 0.0
            find(kernel, rows, kind)
            states, probabilities = rows.copy(), np.zeros((2, 2 * n))
            columns = np.arange(0, 2 * n, 2)
            found = kernel.answer(rows, kind, states if kind == MAXIMISE else None)
            np.testing.assert_allclose(found, logs, rtol=1e-13)
        assert (states[:, 0] == 0).all() and states[1, 1] == 1
        find(kernel, rows, SUM)
        kernel.answer(rows, SUM, None, probabilities, columns)
    np.testing.assert_allclose(probabilities[:, 0], 1.0)
    np.testing.assert_allclose(probabilities[1, 2:4], [0.3, 0.7])


def test_wrong_calls_are_refused():
    network = NETWORKS[3]
    kernel = network.components()
    rows = np.full((2, 5), -1, dtype=np.int32)
    for number in (-1, 0, 7):
        with pytest.raises(IndexError, match=f"no component {number}"):
            kernel.plan(number, CELLS)
        with pytest.raises(IndexError, match=f"no component {number}"):
            kernel.describe(number)
        with pytest.raises(IndexError, match=f"no component {number}"):
            kernel.answer_query(rows[0], number)
    with pytest.raises(ValueError, match="n_repeats=0 must be at least 1"):
        kernel.find(rows, SUM, 0)
    find(kernel, rows, SUM)
    with pytest.raises(ValueError, match="3 rows of codes for 2 rows"):
        kernel.answer(np.repeat(rows[:1], 3, axis=0), SUM)
    with pytest.raises(ValueError, match="no row has the component 9"):
        kernel.first_row(9)
    arrays = list(network.arrays)
    arrays[5] = network.values[:-1].copy()
    with pytest.raises(ValueError, match="ends at cell"):
        Components(*arrays, 0)

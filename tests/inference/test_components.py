"""Answers by the components of hidden variables equal sums over all configurations of small networks."""

import pickle

import numpy as np
import pytest

from pgmx.inference.exact import components
from pgmx.inference.exact.components import ComponentEngine, ExpectedCounts
from pgmx.inference.exact.elimination_order import TreewidthError

MEMORY = 2**31


def draw_network(rng, most=6):
    """Return cards, parents and tables of a network with zeros in some tables, and variables of one state."""
    n = int(rng.integers(1, most + 1))
    cards = rng.integers(1, 4, n).tolist()
    parents = [sorted(rng.permutation(v)[: rng.integers(0, min(v, 3) + 1)].tolist()) for v in range(n)]
    tables = []
    for v in range(n):
        table = rng.dirichlet(np.ones(cards[v]), [cards[u] for u in parents[v]])
        if rng.random() < 0.3:
            table = table * (rng.random(table.shape) < 0.7) + 1e-300
            table = np.where(table > 1e-200, table, 0.0)
            table[table.sum(axis=-1) == 0.0] = 1.0
        table = table / table.sum(axis=-1, keepdims=True)
        tables.append(np.moveaxis(table, -1, 0))
    return cards, parents, tables


def multiply(cards, parents, tables):
    """Return the joint distribution, one axis per variable."""
    joint = np.ones(cards)
    for v, table in enumerate(tables):
        scope = [v, *parents[v]]
        shape = [card if u in scope else 1 for u, card in enumerate(cards)]
        joint = joint * np.einsum(table, scope, sorted(scope)).reshape(shape)
    return joint


def build(cards, parents, tables):
    return ComponentEngine(cards, [(v, *parents[v]) for v in range(len(cards))], tables, is_directed=True)


def condition(joint, row):
    """Return the joint restricted to the observed values of a row, zeros elsewhere."""
    kept = np.zeros_like(joint)
    at = tuple(slice(None) if code < 0 else slice(code, code + 1) for code in row)
    kept[at] = joint[at]
    return kept


def marginal(joint, variables):
    return np.einsum(joint, list(range(joint.ndim)), list(variables))


def draw_rows(rng, cards, n_rows, hidden):
    codes = np.stack([rng.integers(card, size=n_rows) for card in cards], axis=1).astype(np.int32)
    codes[rng.random(codes.shape) < hidden] = -1
    return codes


@pytest.fixture(params=["components", "lanes"])
def way(request, monkeypatch):
    """Answer rows by components alone, or by the whole tree alone."""
    sparse = request.param == "lanes"
    monkeypatch.setattr(ComponentEngine, "find_sparse_rows", lambda self, codes: np.full(len(codes), sparse))


@pytest.mark.parametrize("case", range(25))
def test_rows_equal_enumeration(case, way):
    rng = np.random.default_rng(case)
    network = draw_network(rng)
    joint, engine = multiply(*network), build(*network)
    cards = network[0]
    codes = draw_rows(rng, cards, 30, rng.random())
    probabilities = np.full((30, sum(cards)), np.nan)
    logs = engine.answer_rows(codes, MEMORY, probabilities=probabilities, columns=engine.columns)
    for row, log, line in zip(codes, logs, probabilities, strict=True):
        kept = condition(joint, row)
        if kept.sum() == 0.0:
            assert log == -np.inf
            continue
        assert log == pytest.approx(np.log(kept.sum()), abs=1e-12)
        for v in np.flatnonzero(row < 0):
            start = engine.columns[v]
            np.testing.assert_allclose(line[start : start + cards[v]], marginal(kept / kept.sum(), [v]), atol=1e-13)


def test_rows_follow_tables_that_change(way):
    rng = np.random.default_rng(4)
    cards, parents, tables = draw_network(rng)
    engine, codes = build(cards, parents, tables), draw_rows(rng, cards, 20, 0.7)
    engine.answer_rows(codes, MEMORY)
    changed = [table * rng.random(table.shape) for table in tables]
    engine.set_tables(changed)
    expected = build(cards, parents, changed).answer_rows(codes, MEMORY)
    assert (engine.answer_rows(codes, MEMORY) == expected).all()
    engine.active[0] = 0
    without = [np.ones_like(changed[0]), *changed[1:]]
    expected = build(cards, parents, without).answer_rows(codes, MEMORY)
    assert engine.answer_rows(codes, MEMORY) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("case", range(25))
def test_most_probable_states_equal_enumeration(case):
    rng = np.random.default_rng(case)
    network = draw_network(rng)
    joint, engine = multiply(*network), build(*network)
    codes = draw_rows(rng, network[0], 30, rng.random())
    states, logs = engine.complete_rows(codes, MEMORY)
    for row, found, log in zip(codes, states, logs, strict=True):
        best = condition(joint, row).max()
        if best == 0.0:
            assert log == -np.inf
            continue
        assert log == pytest.approx(np.log(best), abs=1e-12)
        assert joint[tuple(found)] == pytest.approx(best, rel=1e-12)
        assert (found[row >= 0] == row[row >= 0]).all()


@pytest.mark.parametrize("case", range(15))
def test_questions_equal_enumeration(case):
    rng = np.random.default_rng(case)
    network = draw_network(rng)
    cards = network[0]
    joint, engine = multiply(*network), build(*network)
    for row in draw_rows(rng, cards, 20, 0.7):
        hidden = np.flatnonzero(row < 0)
        kept = condition(joint, row)
        if not len(hidden) or kept.sum() == 0.0:
            continue
        query = rng.permutation(hidden)[: rng.integers(1, len(hidden) + 1)].tolist()
        codes = {v: int(row[v]) for v in np.flatnonzero(row >= 0)}
        answer = marginal(kept / kept.sum(), query)
        with engine.asking(codes, {}, {}) as asked:
            np.testing.assert_allclose(engine.joint(asked, query, MEMORY), answer, atol=1e-13)
            _, states = engine.most_probable(asked, query, MEMORY)
        assert answer[tuple(states)] == pytest.approx(answer.max(), rel=1e-12)


@pytest.mark.parametrize("case", range(15))
def test_likelihoods_and_interventions_equal_changed_tables(case):
    rng = np.random.default_rng(case)
    cards, parents, tables = draw_network(rng)
    engine = build(cards, parents, tables)
    weighted, cut = (int(v) for v in rng.integers(len(cards), size=2))
    likelihood = rng.random(cards[weighted])
    do = {} if cut == weighted else {cut: int(rng.integers(cards[cut]))}
    changed = list(tables)
    for v, state in do.items():
        changed[v] = np.zeros_like(tables[v])
        changed[v][state] = 1.0
    shape = [-1 if v == weighted else 1 for v in range(len(cards))]
    joint = multiply(cards, parents, changed) * likelihood.reshape(shape)
    free = [v for v in range(len(cards)) if v not in do]
    with engine.asking({}, {weighted: likelihood}, do) as row:
        np.testing.assert_allclose(engine.joint(row, free, MEMORY), marginal(joint / joint.sum(), free), atol=1e-13)
    before = marginal(multiply(cards, parents, tables), [weighted])
    with engine.asking({}, {}, {}) as row:  # nothing of the question before is left
        np.testing.assert_allclose(engine.joint(row, [weighted], MEMORY), before, atol=1e-13)


@pytest.mark.parametrize("plan_bytes", [0, 2**28])
@pytest.mark.parametrize("n_blocks", [1, 2])
@pytest.mark.parametrize("case", range(10))
def test_expected_counts_equal_enumeration(case, n_blocks, plan_bytes):
    rng = np.random.default_rng(case)
    cards, parents, tables = draw_network(rng)
    tables = [table + 0.1 for table in tables]  # no impossible rows
    joint, engine = multiply(cards, parents, tables), build(cards, parents, tables)
    engine.plan_bytes = plan_bytes
    codes, weights = draw_rows(rng, cards, 40, 0.4), rng.random(40)
    weights[:3] = 0.0
    engine.set_tables([np.ones_like(table) for table in tables])
    blocks = [(codes, weights)] if n_blocks == 1 else [(codes[:25], weights[:25]), (codes[25:], weights[25:])]
    expected_counts = ExpectedCounts(engine, lambda: blocks, MEMORY)
    expected_counts.compute()
    engine.set_tables(tables)  # with the plans of the first pass
    total, counts = expected_counts.compute()
    assert total == pytest.approx(weights @ engine.answer_rows(codes, MEMORY), rel=1e-12)
    kept = [condition(joint, row) for row in codes]
    expected = sum(weight * table / table.sum() for weight, table in zip(weights, kept, strict=True))
    for v in range(len(cards)):
        np.testing.assert_allclose(counts[v], marginal(expected, [v, *parents[v]]), atol=1e-11)


def test_draws_follow_the_posterior(rng):
    network = draw_network(np.random.default_rng(3))
    cards = network[0]
    joint, engine = multiply(*network), build(*network)
    row = np.full((1, len(cards)), -1, dtype=np.int32)
    row[0, -1] = int(marginal(joint, [len(cards) - 1]).argmax())
    n_rows = 20_000
    states, _ = engine.complete_rows(row, MEMORY, uniforms=rng.random((n_rows, len(cards))))
    kept = condition(joint, row[0])
    found = np.zeros(cards)
    np.add.at(found, tuple(states.T), 1.0 / n_rows)
    # six standard deviations of a share
    assert np.abs(found - kept / kept.sum()).max() < 6 * 0.5 / np.sqrt(n_rows)
    assert (found[kept == 0.0] == 0.0).all()


def test_draws_of_a_row_do_not_depend_on_other_rows(rng, monkeypatch):
    network = draw_network(np.random.default_rng(3))
    engine, codes = build(*network), draw_rows(rng, network[0], 9, 0.5)
    codes, uniforms = codes[engine.answer_rows(codes, MEMORY) > -np.inf], rng.random((9 * 5, len(network[0])))
    uniforms = uniforms[: 5 * len(codes)]
    monkeypatch.setattr(components, "BLOCK", 2)
    states, logs = engine.complete_rows(codes, MEMORY, uniforms=uniforms, n_jobs=2)
    for r in range(len(codes)):
        drawn = slice(5 * r, 5 * r + 5)
        alone, log = engine.complete_rows(codes[[r]], MEMORY, uniforms=uniforms[drawn])
        np.testing.assert_array_equal(states[drawn], alone)
        assert (logs[drawn] == log).all()


@pytest.mark.parametrize("hidden", [0.2, 0.8])
def test_a_row_has_the_same_answer_in_every_table(hidden, monkeypatch):
    rng = np.random.default_rng(1)
    network = draw_network(rng, 9)
    engine = build(*network)
    codes = draw_rows(rng, network[0], 50, hidden)

    def answer(rows, n_jobs=1):
        probabilities = np.zeros((len(rows), sum(network[0])))
        logs = engine.answer_rows(rows, MEMORY, probabilities=probabilities, columns=engine.columns, n_jobs=n_jobs)
        possible = logs > -np.inf
        return np.where(possible, logs, -1.0), probabilities * possible[:, None]

    together = answer(codes)
    monkeypatch.setattr(components, "BLOCK", 7)
    order = rng.permutation(50)
    for found, place in [(answer(codes[order]), np.argsort(order)), (answer(codes, 2), np.arange(50))]:
        for whole, part in zip(together, found, strict=True):
            assert (part[place] == whole).all()
    for r in range(50):
        for whole, part in zip(together, answer(codes[r : r + 1]), strict=True):
            assert (part[0] == whole[r]).all()


def test_evidence_that_is_separated_changes_no_bit():
    # 0 -> 1 -> 2, and 3 -> 4: given 1, neither 2 nor 3 nor 4 tells about 0
    rng = np.random.default_rng(0)
    cards, parents = [3, 3, 3, 3, 3], [[], [0], [1], [], [3]]
    tables = [np.moveaxis(rng.dirichlet(np.ones(3), [3] * len(family)), -1, 0) for family in parents]
    engine = build(cards, parents, tables)
    answers = []
    for codes in ({1: 0}, {1: 0, 2: 2}, {1: 0, 3: 1}, {1: 0, 2: 1, 4: 2}):
        with engine.asking(codes, {}, {}) as row:
            answers.append(engine.joint(row, [0], MEMORY).tolist())
    assert answers[1:] == answers[:1] * 3


def test_a_row_beyond_the_memory_is_named():
    rng = np.random.default_rng(0)
    cards, parents = [4] * 9, [[]] * 8 + [list(range(8))]
    tables = [np.moveaxis(rng.dirichlet(np.ones(4), [4] * len(family)), -1, 0) for family in parents]
    engine = build(cards, parents, tables)
    codes = np.zeros((3, 9), dtype=np.int32)
    codes[2] = -1
    codes[2, 8] = 0
    with pytest.raises(TreewidthError, match=r"^row 2: exact inference needs"):
        engine.complete_rows(codes, 1000)
    assert np.isfinite(engine.answer_rows(codes[:2], 1000)).all()


def test_large_plans_use_the_best_order(monkeypatch):
    rng = np.random.default_rng(2)
    network = draw_network(rng, 9)
    plain = build(*network)
    monkeypatch.setattr(components, "LARGE_PLAN", 0)
    searched = build(*network)
    for query in ([0], [len(network[0]) - 1, 0]):
        query = list(dict.fromkeys(query))
        with plain.asking({}, {}, {}) as row:
            expected = plain.joint(row, query, MEMORY)
        with searched.asking({}, {}, {}) as row:
            np.testing.assert_allclose(searched.joint(row, query, MEMORY), expected, atol=1e-13)


def test_an_engine_can_be_pickled():
    network = draw_network(np.random.default_rng(5))
    engine = build(*network)
    copy = pickle.loads(pickle.dumps(engine))
    for one in (engine, copy):
        with one.asking({}, {0: np.arange(1.0, 1 + network[0][0])}, {}) as row:
            answer = one.joint(row, [0], MEMORY)
    with engine.asking({}, {0: np.arange(1.0, 1 + network[0][0])}, {}) as row:
        assert (engine.joint(row, [0], MEMORY) == answer).all()


@pytest.mark.parametrize("case", range(25))
def test_one_call_of_the_kernel_answers_as_its_steps(case):
    rng = np.random.default_rng(case)
    network = draw_network(rng)
    cards, joint, engine = network[0], multiply(*network), build(*network)
    for row in draw_rows(rng, cards, 20, hidden=0.7):
        hidden = np.flatnonzero(row < 0)
        if not len(hidden):
            continue
        query = rng.permutation(hidden)[: rng.integers(1, 3)].tolist()
        codes = {v: int(code) for v, code in enumerate(row) if code >= 0}
        found = engine.ask(codes, query)
        with engine.asking(codes, {}, {}) as kept:
            steps = engine.joint(kept, query, None)
        if found is not None:
            expected = marginal(condition(joint, row), query)
            np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-12)
            assert found.tobytes() == steps.tobytes() == engine.ask(codes, query).tobytes()
            assert build(*network).ask(codes, query).tobytes() == found.tobytes()
        elif len(query) == 1:
            assert not steps.any()  # impossible, as far as the component and the observed families show


def test_large_plans_are_searched_once_and_give_the_same_bits(monkeypatch):
    rng = np.random.default_rng(0)
    n = 12
    parents = [sorted(rng.permutation(v)[:3].tolist()) for v in range(n)]
    tables = [np.moveaxis(rng.dirichlet(np.ones(3), [3] * len(own)), -1, 0) for own in parents]
    engine, searches = build([3] * n, parents, tables), []
    monkeypatch.setattr(components, "LARGE_PLAN", 100)
    monkeypatch.setattr(
        components, "search_order", lambda *given, search=components.search_order: searches.append(1) or search(*given)
    )

    def answer(engine):
        with engine.asking({n - 1: 0}, {}, {}) as row:
            return engine.joint(row, [0], None)

    first = answer(engine)
    assert first.tobytes() == answer(engine).tobytes() == engine.ask({n - 1: 0}, [0]).tobytes()
    assert len(searches) == 1
    assert first.tobytes() == answer(build([3] * n, parents, tables)).tobytes()


def test_questions_forget_plans_beyond_their_memory(monkeypatch):
    monkeypatch.setattr(components, "PLAN_BYTES", 1)
    engine = build(*draw_network(np.random.default_rng(3)))
    free = build(*draw_network(np.random.default_rng(3)))
    for _ in range(2):
        for v in range(len(engine.cards)):
            with engine.asking({}, {}, {}) as row, free.asking({}, {}, {}) as other:
                assert engine.joint(row, [v], None).tobytes() == free.joint(other, [v], None).tobytes()
            assert engine.ask({}, [v]).tobytes() == free.ask({}, [v]).tobytes()


@pytest.mark.slow
def test_networks_whose_tables_cannot_be_numbered_have_no_plan():
    """A grid whose tables have more than 2^31 cells in every order: the search for an order ends without one."""
    side = 40
    place = np.arange(side * side).reshape(side, side)
    pairs = [
        *zip(place[:, :-1].flat, place[:, 1:].flat, strict=True),
        *zip(place[:-1].flat, place[1:].flat, strict=True),
    ]
    scopes = [(int(i), int(j)) for i, j in pairs]
    engine = ComponentEngine([4] * side**2, scopes, [np.ones((4, 4))] * len(scopes), is_directed=False)
    assert engine._kernel.plan(engine._kernel.find_whole()[0], 2.0**40) == np.inf
    codes = np.full((2, side**2), -1, dtype=np.int32)
    with pytest.raises(TreewidthError, match="row 0"):
        engine.complete_rows(codes, 2**20)
    codes[:, 1:] = 0
    assert engine.answer_rows(codes, None).tolist() == pytest.approx([np.log(4.0)] * 2)

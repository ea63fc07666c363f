from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.cli.learn.query import MAX_CELLS, ask, choose_question
from pgmx.datasets import load_network
from pgmx.inference.exact.family_marginals import plan_query


def parents_of(n, edges):
    return [[u for u, head in edges if head == v] for v in range(n)]


def test_the_target_is_the_last_column_and_the_evidence_a_parent_or_else_a_child():
    assert choose_question([(1, 2), (0, 2)], [2, 2, 2]) == (2, 0)
    assert choose_question([(2, 1)], [2, 2, 2]) == (2, 1)
    assert choose_question([(0, 1)], [2, 2, 2]) == (2, None)
    assert choose_question([(0, 1)], [2, 2, 2], joined=True) == (1, 0)
    assert choose_question([], [2, 2, 2], joined=True) == "no two variables are joined"


def test_a_query_depends_on_the_ancestors_only():
    parents = parents_of(5, [(0, 1), (1, 2), (3, 2), (2, 4)])
    assert sorted(plan_query(parents, [2] * 5, [2]).order) == [0, 1, 3]
    assert plan_query(parents, [2] * 5, [0, 3]) == ([], 4)


def test_eliminating_a_chain_needs_pairs_and_a_common_child_its_family():
    chain = parents_of(10, [(v, v + 1) for v in range(9)])
    assert plan_query(chain, [3] * 10, [9]) == (list(range(9)), 9)
    star = parents_of(6, [(v, 5) for v in range(5)])
    assert plan_query(star, [2] * 6, [5]).cells == 64


@given(st.data())
def test_the_promised_table_size_is_what_elimination_builds(data):
    n = data.draw(st.integers(2, 8))
    pairs = [(u, v) for u, v in product(range(n), repeat=2) if u < v]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    cards = data.draw(st.lists(st.integers(2, 4), min_size=n, max_size=n))
    parents = parents_of(n, edges)
    order, cells = plan_query(parents, cards, [n - 1])
    inside = sorted([*order, n - 1])
    assert all(set(parents[v]) <= set(inside) for v in inside)
    scopes = [{v, *parents[v]} for v in inside]
    seen = [np.prod([cards[v] for v in scope]) for scope in scopes]
    for v in order:
        joined = set().union(*(scope for scope in scopes if v in scope))
        seen.append(np.prod([cards[u] for u in joined]))
        scopes = [scope for scope in scopes if v not in scope] + [joined - {v}]
    assert cells == max(seen)


def test_queries_agree_with_the_sum_over_all_configurations():
    model = load_network("asia")
    names = list(model.nodes())
    number = {name: v for v, name in enumerate(names)}
    cards = [int(model.get_cardinality(name)) for name in names]
    answer = ask(model, number["tub"], number["xray"])
    joint = np.ones(cards)
    for cpd in model.cpds:
        axes = [number[name] for name in cpd.variables]
        values = np.moveaxis(cpd.values, range(len(axes)), np.argsort(np.argsort(axes)))
        joint = joint * values.reshape([card if v in axes else 1 for v, card in enumerate(cards)])
    pair = joint.sum(axis=tuple(v for v, name in enumerate(names) if name not in ("tub", "xray")))
    assert names.index("tub") < names.index("xray")
    assert (answer.target, answer.evidence, answer.state, answer.states) == ("tub", "xray", "no", ["yes", "no"])
    np.testing.assert_allclose(answer.prior, pair.sum(axis=1), rtol=1e-10)
    np.testing.assert_allclose(answer.posterior, pair[:, 1] / pair[:, 1].sum(), rtol=1e-10)


def test_without_evidence_the_posterior_is_the_prior():
    model = load_network("cancer")
    answer = ask(model, list(model.nodes()).index("Cancer"), None)
    assert answer.prior == answer.posterior
    assert sum(answer.prior) == pytest.approx(1)


def test_costly_questions_are_left_out_without_building_a_table():
    star = [(u, 30) for u in range(30)]
    assert choose_question(star, [2] * 31) == (
        "the conditional tables have 2.1e+09 cells; --max-indegree makes them smaller"
    )


@pytest.mark.slow
def test_questions_of_wide_networks_are_left_out_without_building_a_table():
    grid = [(r * 40 + c, r * 40 + c + 1) for r in range(40) for c in range(39)]
    grid += [(r * 40 + c, r * 40 + c + 40) for r in range(39) for c in range(40)]
    assert "exact inference would build tables of" in choose_question(grid, [2] * 1600)


def test_a_cheaper_column_is_asked_for_when_the_last_one_costs_too_much():
    # The last column is a leaf below a chain of pairs with too many states; the column before it is alone.
    assert choose_question([(0, 1), (1, 3)], [3000, 3000, 2, 2]) == (2, None)
    assert choose_question([], [MAX_CELLS + 1]).startswith("exact inference would build tables of 4.2e+06 cells")

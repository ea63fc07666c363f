"""The order search of Gaussian scores: its scores by linear solves, optima, memory, resumed runs, knowledge."""

import numpy as np
import pandas as pd
import pytest

from pgmx._ext._gaussian_orders import GaussianOrders
from pgmx.estimators import HillClimbSearch


def draw_table(n, degree, n_rows, seed):
    """Return standardised rows of a random linear Gaussian network, as an array."""
    rng = np.random.default_rng([seed, n, 5])
    order, rows = rng.permutation(n), np.zeros((n_rows, n))
    for i, v in enumerate(order):
        parents = order[:i][rng.random(i) < degree / (n - 1)]
        weights = rng.uniform(0.3, 1, len(parents)) * rng.choice([-1, 1], len(parents))
        rows[:, v] = rows[:, parents] @ weights + rng.normal(size=n_rows) * rng.uniform(0.7, 1.2)
        rows[:, v] = (rows[:, v] - rows[:, v].mean()) / rows[:, v].std()
    return rows


def make_orders(rows, *, penalty=1.0, required=(), **options):
    n = rows.shape[1]
    correlation = rows.T @ rows / len(rows)
    costs = np.full(n - 1, penalty * np.log(len(rows)) / 2)
    required = np.array(required, dtype=np.int64).reshape(-1, 2)
    return GaussianOrders(
        correlation, len(rows), costs, options.pop("most", n - 1), priority=np.arange(n), required=required, **options
    )


def score_graph(rows, edges, penalty=1.0):
    """Return the log-likelihood without constants minus the cost of the arcs, by a linear solve for each family."""
    correlation, total = rows.T @ rows / len(rows), 0.0
    for v in range(rows.shape[1]):
        p = edges[edges[:, 1] == v, 0]
        explained = correlation[v, p] @ np.linalg.solve(correlation[np.ix_(p, p)], correlation[p, v]) if len(p) else 0.0
        total -= len(rows) / 2 * np.log(1 - explained)
    return total - penalty * np.log(len(rows)) / 2 * len(edges)


def search(orders, seed, n_kicks=100):
    orders.set_order(np.random.default_rng(seed).permutation(orders.n))
    assert orders.climb(1 << 40, lambda: None)
    first = orders.score
    orders.kick(n_kicks, seed, 0, 1 << 40, 1 << 40, lambda: None)
    assert orders.score >= first - 1e-9
    return orders.order().tolist(), orders.edges().tolist(), orders.n_moves, orders.n_walks


def test_scores_are_those_of_linear_solves_and_arcs_lead_forward():
    rows = draw_table(30, 6, 200, 0)
    orders = make_orders(rows, penalty=1.5)
    order, edges, *_ = search(orders, 0)
    edges = np.array(edges)
    assert orders.score == pytest.approx(score_graph(rows, edges, 1.5), rel=1e-11)
    rank = np.argsort(order)
    assert (rank[edges[:, 0]] < rank[edges[:, 1]]).all()
    # no parent can be deleted, and no predecessor added, with a gain
    for tail in range(30):
        for head in range(30):
            present = ((edges == (tail, head)).all(axis=1)).any()
            if present or rank[tail] < rank[head]:
                kept = edges[~(edges == (tail, head)).all(axis=1)] if present else np.vstack([edges, (tail, head)])
                assert score_graph(rows, kept, 1.5) < orders.score + 1e-3


def test_results_do_not_depend_on_memory():
    rows = draw_table(40, 8, 300, 1)
    small, large = make_orders(rows, memory=1 << 18), make_orders(rows, memory=1 << 28)
    assert search(small, 1) == search(large, 1)
    assert small.n_families > 1.5 * large.n_families


def test_kicks_in_one_call_or_in_many():
    rows = draw_table(20, 5, 200, 2)
    together, alone = make_orders(rows), make_orders(rows)
    assert search(together, 2, 60)[:2] == search(alone, 2, 30)[:2] or together.score >= alone.score - 1e-9
    alone.kick(30, 2 + 30, 0, 1 << 40, 1 << 40, lambda: None)
    assert alone.order().tolist() == together.order().tolist()
    again = make_orders(rows)
    again.set_graph(alone.order(), alone.edges(), improves=False)
    for orders in (alone, again):
        orders.kick(30, 77, 0, 1 << 40, 1 << 40, lambda: None)
    assert again.edges().tolist() == alone.edges().tolist()


def test_masks_required_arcs_and_numbers_of_parents():
    rows, n = draw_table(20, 6, 200, 3), 20
    rng = np.random.default_rng(3)
    allowed = rng.random((n, n)) < 0.6
    required = [(3, 1), (3, 7), (7, 12)]
    for tail, head in required:
        allowed[head, tail] = True
    bits = np.zeros((n, 8), dtype=np.uint8)
    packed = np.packbits(allowed, axis=1, bitorder="little")
    bits[:, : packed.shape[1]] = packed
    orders = make_orders(rows, required=required, allowed=bits.view("<u8").astype(np.uint64), most=3)
    first = [3, 1, 7, 12, *(v for v in range(n) if v not in (3, 1, 7, 12))]
    orders.set_order(np.array(first))
    orders.climb(1 << 40, lambda: None)
    orders.kick(100, 3, 0, 1 << 40, 1 << 40, lambda: None)
    edges = orders.edges()
    assert {tuple(edge) for edge in edges.tolist()} >= set(required)
    assert allowed[edges[:, 1], edges[:, 0]].all()
    assert np.bincount(edges[:, 1]).max() == 3


def test_limit_of_moves_and_errors_of_the_check():
    orders = make_orders(draw_table(20, 6, 200, 4))
    orders.set_order(np.arange(20))
    assert not orders.climb(3, lambda: None)
    assert orders.n_moves == 3

    def stop():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        orders.climb(1 << 40, stop)
    assert orders.score == pytest.approx(score_graph(draw_table(20, 6, 200, 4), orders.edges()), rel=1e-11)


# ---- the learner ----


def learn(rows, strategy="best", **options):
    return HillClimbSearch(strategy=strategy, return_type="dag", show_progress=False, **options).fit(
        pd.DataFrame(rows, columns=[f"x{v:02}" for v in range(rows.shape[1])])
    )


@pytest.mark.parametrize("score", ["bic-g", "ebic-g", "aic-g"])
def test_never_below_the_other_strategies(score):
    rows = draw_table(30, 5, 200, 5)
    learner = learn(rows, scoring_method=score)
    assert "order search" in learner.history_["member"]
    assert learner.score_ == pytest.approx(learner.history_["score"].max(), rel=1e-12)
    for strategy in ("greedy", "thorough"):
        assert learner.score_ >= learn(rows, strategy, scoring_method=score).score_ - 1e-6


def test_few_rows_and_copies_of_columns():
    rows = draw_table(12, 4, 9, 6)  # fewer rows than variables
    edges = learn(rows, scoring_method="bic-g").edges_
    assert np.bincount(edges[:, 1]).max() <= 7
    rows = draw_table(12, 4, 100, 6)
    copies = np.column_stack([rows, rows[:, 3], -2 * rows[:, 5]])
    with pytest.warns(UserWarning):
        learner = learn(copies, scoring_method="bic-g")
    assert np.isfinite(learner.score_)


def test_knowledge():
    rows = draw_table(30, 5, 200, 7)
    names = [f"x{v:02}" for v in range(30)]
    options = {
        "required_edges": [("x00", "x01")],
        "forbidden_edges": [("x02", "x03")],
        "tiers": [names[:20], names[20:]],
    }
    graph = learn(rows, scoring_method="bic-g", max_indegree=4, **options).graph_
    assert ("x00", "x01") in graph.edges
    assert ("x02", "x03") not in graph.edges
    assert not any(tail in names[20:] and head in names[:20] for tail, head in graph.edges)
    few = learn(rows, scoring_method="bic-g", max_indegree=2)
    assert np.bincount(few.edges_[:, 1]).max() == 2
    assert "order search" not in few.history_["member"]  # it exchanges no parents


def test_resumed_and_on_threads(tmp_path):
    rows = draw_table(26, 5, 150, 8)
    whole = learn(rows, scoring_method="bic-g")
    assert learn(rows, scoring_method="bic-g", n_jobs=2).edges_.tolist() == whole.edges_.tolist()
    for part in (0.15, 0.6, 0.9):
        options = {"scoring_method": "bic-g", "checkpoint": tmp_path / f"{part}.ckpt", "checkpoint_every": 1e9}
        assert learn(rows, max_iter=int(part * whole.n_iter_), **options).stopped_by_ == "max_iter"
        learner = learn(rows, **options)
        assert (learner.score_, learner.n_iter_) == (whole.score_, whole.n_iter_)
        assert learner.history_["score"].tolist() == whole.history_["score"].tolist()


@pytest.mark.slow
def test_optima_of_few_variables():
    n_found = 0
    for seed in range(30):
        n = 12 + seed % 4
        options = {"scoring_method": "bic-g", "penalty": (1, 2)[seed % 2]}
        rows = draw_table(n, 3 + seed % 4, 200, 100 + seed)
        n_found += learn(rows, **options).score_ >= learn(rows, "exact", **options).score_ - 1e-6
    assert n_found >= 29


@pytest.mark.slow
def test_permuted_rows_and_longer_searches():
    rows = draw_table(60, 8, 500, 9)
    learner = learn(rows, scoring_method="bic-g")
    shuffled = learn(rows[np.random.default_rng(0).permutation(500)], scoring_method="bic-g")
    assert shuffled.score_ == pytest.approx(learner.score_, abs=2.0)
    short = learn(rows, scoring_method="bic-g", max_iter=learner.n_iter_ // 2)
    assert short.score_ <= learner.score_

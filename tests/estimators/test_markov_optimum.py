"""All learners of Markov networks come to the optimum of their objective, which is one for the edge-wise ones."""

import itertools
from functools import cache

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from helpers.examples import examples
from helpers.markov_tables import (
    ALL,
    EDGE_WISE,
    FEATURE_WISE,
    codes_of,
    objective_by_formula,
    pairs_of,
    planted_network,
    planted_rows,
    violations,
)
from oracles import group_lasso, pseudolikelihood, variational
from pgmx.estimators import (
    BestChoiceEdgeGrafting,
    EdgeGrafting,
    FeatureGrafting,
    FirstHitEdgeGrafting,
    GroupLassoMarkovNetwork,
)

pytestmark = pytest.mark.slow

ROWS = planted_rows()
every_edge_wise = pytest.mark.parametrize("make", EDGE_WISE.values(), ids=EDGE_WISE)
every_learner = pytest.mark.parametrize("make", ALL.values(), ids=ALL)


# ---- pseudolikelihood ----


@pytest.mark.parametrize("options", [{"lam_ratio": 0.05}, {"lam": 0.01}, {"lam": 0.002, "l2": 0.05}], ids=str)
def test_edge_wise_learners_agree(options):
    found = {name: make(**options).fit(ROWS) for name, make in EDGE_WISE.items()}
    assert all(learner.converged_ and learner.kkt_residual_ <= 1e-4 for learner in found.values())
    objectives = np.array([learner.objective_ for learner in found.values()])
    assert np.ptp(objectives) <= 1e-5 * objectives.min()
    assert len({learner.lam_ for learner in found.values()}) == 1
    shares = [learner.model_.marginals().array("x3") for learner in found.values()]
    assert np.ptp(shares, axis=0).max() < 2e-3


@cache
def by_formula(feature_wise):
    """Return the least objective on a small table, by an independent method."""
    data = codes_of(planted_rows(300, 4))
    cards, pairs = [3] * 4, [(i, j) for i in range(4) for j in range(i + 1, 4)]
    groups, penalties = pseudolikelihood.groups(cards, pairs), [0.0] * 4 + [0.03 if not feature_wise else 0.02] * 6

    def smooth(w):
        value, gradient = pseudolikelihood.loss(cards, pairs, w, data)
        return value + 0.0005 * (w @ w), gradient + 0.001 * w

    if feature_wise:
        found = variational.with_absolute_values(smooth, 12 + 54, [0.0] * 12 + [0.02] * 54)
    else:
        found = variational.with_norms(smooth, 12 + 54, groups[4:], penalties[4:])
    w = found[1] if isinstance(found, tuple) else found
    return pseudolikelihood.objective(cards, pairs, w, data, penalties, 0.001, cells=feature_wise)


@every_learner
def test_optimum_by_an_independent_method(make):
    feature_wise = make in FEATURE_WISE.values()
    learner = make(lam=0.02 if feature_wise else 0.01, tol=2e-5).fit(planted_rows(300, 4))
    assert learner.objective_ == pytest.approx(by_formula(feature_wise), abs=2e-6)


@every_edge_wise
def test_certificate_of_optimality(make):
    """The objective is that of the formula, and no group violates its condition, whether active or not."""
    learner = make(lam=0.008).fit(ROWS)
    assert learner.objective_ == pytest.approx(objective_by_formula(learner, codes_of(ROWS)), abs=1e-6)
    assert violations(learner, codes_of(ROWS)).max() <= 1.01e-4


def test_edge_wise_learners_agree_with_penalised_nodes():
    objectives = [make(lam=0.008, penalize_nodes=True).fit(ROWS).objective_ for make in EDGE_WISE.values()]
    assert np.ptp(objectives) <= 1e-5 * min(objectives)
    assert min(objectives) > EdgeGrafting(lam=0.008).fit(ROWS).objective_


@st.composite
def small_tables(draw):
    cards = draw(st.lists(st.integers(1, 4), min_size=2, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(2, 60))
    hidden = rng.integers(0, 4, n_rows)
    cells = [np.where(rng.random(n_rows) < 0.5, hidden, rng.integers(0, 4, n_rows)) % card for card in cards]
    return pd.DataFrame(np.array(cells).T)


@given(small_tables(), st.sampled_from([0.0, 0.003, 0.02, 0.1]), st.sampled_from([0.001, 0.03]))
@examples(40)
def test_law_of_the_optimum(data, lam, l2):
    """Whatever the table: every way leads to the optimum, and the formula certifies it, constant columns apart."""
    varies = data.nunique().to_numpy() > 1
    pairs = [i and j for i, j in itertools.combinations(varies.tolist(), 2)]
    judged = np.array([True] * len(varies) + pairs)
    found = [make(lam=lam, l2=l2).fit(data) for make in EDGE_WISE.values()]
    for learner in found:
        assert learner.converged_
        assert violations(learner, codes_of(data), l2)[judged].max() <= 1.05e-4
        assert not set(np.flatnonzero(~varies)) & set(learner.edges_.ravel())
        assert learner.objective_ == pytest.approx(objective_by_formula(learner, codes_of(data), l2), abs=2e-6)
    objectives = [learner.objective_ for learner in found]
    assert np.ptp(objectives) <= 1e-4 * min(objectives) + 1e-5


def test_smaller_tolerance():
    learner = GroupLassoMarkovNetwork(lam=0.01, tol=2e-6).fit(ROWS)
    assert learner.kkt_residual_ <= 2e-6
    assert violations(learner, codes_of(ROWS)).max() <= 3e-6


@pytest.mark.parametrize("options", [{"lam_ratio": 0.1}, {"lam": 0.03}], ids=str)
def test_feature_wise_learners_agree(options):
    found = [make(**options).fit(ROWS) for make in FEATURE_WISE.values()]
    assert all(learner.converged_ and learner.kkt_residual_ <= 1e-4 for learner in found)
    assert found[0].objective_ == pytest.approx(found[1].objective_, rel=1e-5)


# ---- the other losses ----


@every_learner
@pytest.mark.slow
def test_exact_loss(make):
    data = planted_rows(400, 4)
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    learner = make(loss="exact", lam=0.02).fit(data)
    optimum = group_lasso.cell_optimum if make in FEATURE_WISE.values() else group_lasso.group_optimum
    assert learner.converged_
    assert learner.objective_ == pytest.approx(optimum([3] * 4, pairs, codes_of(data), 0.02, 0.001), abs=5e-6)


def test_exact_loss_is_refused_where_it_cannot_be_enumerated():
    wide = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (50, 15)))
    with pytest.raises(ValueError, match="15 variables.*configurations.*pseudolikelihood"):
        EdgeGrafting(loss="exact").fit(wide)


@pytest.mark.parametrize("family", [EDGE_WISE, FEATURE_WISE], ids=["edge-wise", "feature-wise"])
def test_bethe_loss(family):
    """With a strong l2 it is convex around the optimum: all come to one."""
    data = planted_rows(600, 6)
    found = [make(loss="bethe", lam=0.01, l2=0.1).fit(data) for make in family.values()]
    assert all(learner.converged_ for learner in found)
    objectives = [learner.objective_ for learner in found]
    assert np.ptp(objectives) <= 1e-4 * min(objectives)


def test_bethe_loss_is_exact_on_a_tree():
    data = planted_rows(600, 4)
    known = {"required_edges": [("x0", "x1"), ("x0", "x2"), ("x2", "x3")]}
    rest = [("x0", "x3"), ("x1", "x2"), ("x1", "x3")]
    exact, bethe = (
        EdgeGrafting(loss=loss, lam=0.01, l2=0.005, forbidden_edges=rest, tol=1e-5, **known).fit(data)
        for loss in ("exact", "bethe")
    )
    assert bethe.objective_ == pytest.approx(exact.objective_, abs=1e-6)


# ---- what is found ----


@pytest.mark.parametrize("make", [EdgeGrafting, BestChoiceEdgeGrafting, GroupLassoMarkovNetwork, FeatureGrafting])
def test_recovery_of_a_planted_network(make):
    network = planted_network(20, 3)
    learner = make(lam_ratio=0.08, true_graph=network).fit(planted_rows(5000, 20))
    found, true = pairs_of(learner.graph_), pairs_of(network)
    assert len(found & true) >= 0.9 * len(true)
    assert learner.history_["recall"][-1] >= len(found & true) / len(true)
    assert len(found & true) >= (0.65 if make is FeatureGrafting else 0.8) * len(found)


def test_order_of_quality_at_equal_edges():
    """At a limit of edges the most violated edge is the best choice and the first hit the worst, on average."""
    data = planted_rows(2000, 20)
    limit = {"lam": 0.005, "max_edges": 20}
    exhaustive = EdgeGrafting(**limit).fit(data).objective_
    best_choice = np.mean(
        [BestChoiceEdgeGrafting(alpha=1, random_state=r, **limit).fit(data).objective_ for r in range(5)]
    )
    first_hit = np.mean([FirstHitEdgeGrafting(random_state=r, **limit).fit(data).objective_ for r in range(5)])
    assert exhaustive <= best_choice + 1e-3
    assert best_choice < first_hit


def test_star_against_logistic_regressions():
    """Signs of the log odds on a star of binary variables are those of the regression of the hub on the leaves."""
    rng = np.random.default_rng(4)
    strengths = np.array([1.5, -1.5, 1.0, -1.0, 0.0, 0.0])
    hub = rng.integers(0, 2, 4000)
    leaves = (rng.random((4000, 6)) < 1 / (1 + np.exp(-(2 * hub - 1)[:, None] * strengths))).astype(int)
    data = pd.DataFrame(leaves, columns=[f"leaf{k}" for k in range(6)]).assign(hub=hub)
    learner = EdgeGrafting(lam_ratio=0.3).fit(data)
    assert pairs_of(learner.graph_) == {frozenset(("hub", f"leaf{k}")) for k in range(4)}
    by_regression = LogisticRegression(C=np.inf).fit(leaves, hub).coef_[0]
    found = learner.model_.potentials
    for (i, j), table in zip(found.edges.tolist(), found.tables(), strict=True):
        log_odds = table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0]
        assert j == 6
        assert np.sign(log_odds) == np.sign(by_regression[i])
        assert 0.3 * abs(by_regression[i]) < abs(log_odds) <= abs(by_regression[i])  # shrunk


def test_independent_columns_have_no_edges():
    data = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (2000, 10)))
    learner = EdgeGrafting(lam=0.02).fit(data)
    assert nx.number_of_edges(learner.graph_) == 0
    assert learner.model_.marginals()[0][1] == pytest.approx((data[0] == 1).mean(), abs=0.01)

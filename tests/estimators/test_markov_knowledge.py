"""Edges that are required, forbidden or weighted, in the learners of Markov networks."""

import numpy as np
import pandas as pd
import pytest

from helpers.markov_tables import (
    ALL,
    EDGE_WISE,
    FEATURE_WISE,
    codes_of,
    objective_by_formula,
    planted_rows,
    violations,
)
from pgmx.estimators import BestChoiceEdgeGrafting, EdgeGrafting, FeatureGrafting, GroupLassoMarkovNetwork

ROWS = planted_rows()
CODES = codes_of(ROWS)
PLAIN = EdgeGrafting(lam=0.01).fit(ROWS)
PRESENT = max(PLAIN.graph_.edges(data="weight"), key=lambda edge: edge[2])[:2]
ABSENT = next((a, b) for a in ROWS for b in ROWS if a < b and not PLAIN.graph_.has_edge(a, b))
every_learner = pytest.mark.parametrize("make", ALL.values(), ids=ALL)
every_edge_wise = pytest.mark.parametrize("make", EDGE_WISE.values(), ids=EDGE_WISE)


@every_learner
def test_required_and_forbidden_edges(make):
    learner = make(lam=0.02, required_edges=[ABSENT], forbidden_edges=[PRESENT]).fit(ROWS)
    assert learner.converged_
    assert learner.graph_.has_edge(*ABSENT)
    assert not learner.graph_.has_edge(*PRESENT)
    assert [ROWS.columns.get_loc(name) for name in sorted(ABSENT)] in learner.edges_.tolist()


@every_edge_wise
def test_optimum_under_knowledge(make):
    """A required edge has no penalty; every other pair that is allowed meets its condition under its own."""
    pairs = {("x1", "x0"): 0.5, ("x0", "x3"): 3.0, ABSENT: 0.0, PRESENT: np.inf}
    learner = make(lam=0.01, edge_weights=pairs).fit(ROWS)
    at = {tuple(sorted(ROWS.columns.get_loc(name) for name in pair)): value for pair, value in pairs.items()}
    gone = next(pair for pair, value in at.items() if value == np.inf)
    factors = at | {gone: 1e9}
    assert violations(learner, CODES, factors=factors).max() <= 1.01e-4
    assert learner.objective_ == pytest.approx(objective_by_formula(learner, CODES, factors=factors), abs=1e-6)
    weights = {("x0", "x1"): 0.5, ("x3", "x0"): 3}
    spelled = EdgeGrafting(
        lam=0.01, required_edges=[ABSENT], forbidden_edges=[PRESENT[::-1]], edge_weights=weights
    ).fit(ROWS)
    assert learner.objective_ == pytest.approx(spelled.objective_, abs=2e-6)


@pytest.mark.parametrize("make", FEATURE_WISE.values(), ids=FEATURE_WISE)
def test_feature_wise_weights(make):
    objectives = [make(lam=0.02, edge_weights={PRESENT: c}).fit(ROWS).objective_ for c in (0, 0.5, 1, 2, np.inf)]
    assert (np.diff(objectives) > 0).all()
    assert objectives[2] == pytest.approx(make(lam=0.02).fit(ROWS).objective_, abs=1e-7)
    assert objectives[4] == pytest.approx(make(lam=0.02, forbidden_edges=[PRESENT]).fit(ROWS).objective_, abs=1e-7)


def test_weights_as_a_table():
    names = list(ROWS)
    rng = np.random.default_rng(0)
    table = np.triu(rng.uniform(0.5, 2, (8, 8)), 1)
    table += table.T
    frame = pd.DataFrame(table, names, names)
    as_mapping = {(a, b): frame.loc[a, b] for a in names for b in names if a < b}
    shuffled = frame.loc[names[::-1], names[::-1]]
    found = [
        BestChoiceEdgeGrafting(lam=0.01, edge_weights=given).fit(ROWS).objective_
        for given in (table, frame, shuffled, as_mapping)
    ]
    assert np.ptp(found) < 1e-6
    assert found[0] == pytest.approx(EdgeGrafting(lam=0.01, edge_weights=table).fit(ROWS).objective_, abs=2e-6)


def test_weights_of_one_change_nothing():
    given = EdgeGrafting(lam=0.01, edge_weights=np.ones((8, 8))).fit(ROWS)
    assert given.objective_ == PLAIN.objective_
    assert given.n_tests_ == PLAIN.n_tests_


@every_learner
def test_all_pairs_known(make):
    """Nothing is left to test: all are forbidden, or all are required."""
    pairs = [(a, b) for a in ROWS for b in ROWS if a < b]
    nothing = make(lam=0.01, forbidden_edges=pairs).fit(ROWS)
    assert (nothing.converged_, len(nothing.edges_), nothing.n_activated_) == (True, 0, 0)
    everything = make(lam=0.01, required_edges=pairs, max_edges=len(pairs)).fit(ROWS)
    assert len(everything.edges_) == len(pairs)
    assert everything.objective_ == pytest.approx(EdgeGrafting(lam=0.0).fit(ROWS).objective_, abs=2e-6)


@every_edge_wise
def test_required_edges_count(make):
    learner = make(lam=0.005, required_edges=[ABSENT], max_edges=4).fit(ROWS)
    assert learner.n_activated_ == 4
    assert learner.stopped_by_ == "max_edges"


@every_learner
def test_more_required_edges_than_there_may_be(make):
    message = r"max_edges=1, but 2 edges are required \(required_edges.*give max_edges of at least 2"
    with pytest.raises(ValueError, match=message):
        make(lam=0.005, required_edges=[("x0", "x1"), ("x1", "x2")], max_edges=1).fit(ROWS)


def test_a_required_edge_without_effect_is_in_the_graph():
    data = ROWS.assign(one="only")
    learner = EdgeGrafting(lam=0.05, required_edges=[("one", "x0")]).fit(data)
    assert learner.graph_.has_edge("one", "x0")


def test_lambda_of_knowledge():
    """The smallest λ without edges is over the pairs that may be tested, by their own penalties."""
    free = EdgeGrafting(lam_ratio=0.99).fit(ROWS)
    assert len(free.edges_) == 1
    strongest = list(free.graph_.edges())
    without = EdgeGrafting(lam_ratio=0.99, forbidden_edges=strongest).fit(ROWS)
    assert without.lam_max_ < free.lam_max_
    assert len(EdgeGrafting(lam_ratio=1.0, forbidden_edges=strongest).fit(ROWS).edges_) == 0
    heavy = EdgeGrafting(lam_ratio=0.99, edge_weights={strongest[0]: 4.0}).fit(ROWS)
    assert heavy.lam_max_ == pytest.approx(max(free.lam_max_ / 4, without.lam_max_))
    streamed = BestChoiceEdgeGrafting(lam_ratio=0.99, forbidden_edges=strongest).fit(ROWS)
    assert streamed.lam_max_ == pytest.approx(without.lam_max_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"required_edges": [("x0", "x1")], "forbidden_edges": [("x1", "x0")]},
            r"'x1', 'x0'.*required and forbidden.*drop",
        ),
        ({"edge_weights": {("x0", "x1"): 0}, "forbidden_edges": [("x1", "x0")]}, "required and forbidden"),
        ({"required_edges": [("x0", "x1")], "edge_weights": {("x0", "x1"): np.inf}}, "required and forbidden"),
        ({"required_edges": [("x0", "z")]}, r"required_edges names 'z'.*not a column"),
        ({"required_edges": [("x0", "x0")]}, r"required_edges joins 'x0' to itself"),
        ({"required_edges": ["x0"]}, r"required_edges holds 'x0'.*pair"),
        ({"required_edges": "x0"}, r"required_edges.*pairs.*'x0'"),
        ({"required_edges": [("x0", "x1", "x2")]}, r"required_edges holds \('x0', 'x1', 'x2'\).*pair"),
        ({"forbidden_edges": [3]}, r"forbidden_edges holds 3.*pair"),
        ({"forbidden_edges": 3}, r"forbidden_edges.*pairs.*3"),
        ({"edge_weights": {("x0", "x1"): -1.0}}, r"edge_weights of \('x0', 'x1'\) is -1\.0.*at least 0"),
        ({"edge_weights": {("x0", "x1"): np.nan}}, r"edge_weights of \('x0', 'x1'\) is nan"),
        ({"edge_weights": {("x0", "x1"): "heavy"}}, r"edge_weights of \('x0', 'x1'\) is 'heavy'"),
        ({"edge_weights": {("x0", "x1"): 2.0, ("x1", "x0"): 3.0}}, r"edge_weights has 2\.0 and 3\.0.*once"),
        ({"edge_weights": {"x0": 2.0}}, r"edge_weights holds 'x0'.*pair"),
        ({"edge_weights": {("x0", "z"): 2.0}}, r"edge_weights names 'z'"),
        ({"edge_weights": np.ones((3, 3))}, r"edge_weights.*8 rows.*\(3, 3\)"),
        ({"edge_weights": np.triu(np.full((8, 8), 2.0))}, r"edge_weights.*symmetric"),
        ({"edge_weights": pd.DataFrame(np.ones((8, 8)))}, r"edge_weights must have the variables"),
        ({"edge_weights": pd.DataFrame([["a"] * 8] * 8)}, r"edge_weights must map pairs"),
        ({"edge_weights": 3}, r"edge_weights.*shape \(\)"),
        ({"edge_weights": np.full((8, 8), 1 + 1j)}, r"edge_weights must be real numbers, got complex ones"),
        ({"edge_weights": {("x0", "x1"): np.complex128(2 + 1j)}}, r"edge_weights of \('x0', 'x1'\) is .*2\+1j"),
    ],
    ids=str,
)
def test_contradictions_and_unknown_names(options, words):
    for make in (EdgeGrafting, BestChoiceEdgeGrafting, GroupLassoMarkovNetwork, FeatureGrafting):
        with pytest.raises((TypeError, ValueError), match=words):
            make(**options).fit(ROWS)


def test_what_is_known_is_not_changed():
    required, forbidden, weights = [ABSENT], {PRESENT}, {("x0", "x1"): 2.0}
    EdgeGrafting(required_edges=required, forbidden_edges=forbidden, edge_weights=weights).fit(ROWS)
    assert (required, forbidden, weights) == ([ABSENT], {PRESENT}, {("x0", "x1"): 2.0})


def test_integer_names():
    data = ROWS.set_axis(range(10, 18), axis=1)
    learner = EdgeGrafting(lam=0.02, required_edges=[(17, 10)], forbidden_edges=[(11, 12)]).fit(data)
    assert learner.graph_.has_edge(10, 17)
    assert {type(name) for name in learner.graph_} == {int}

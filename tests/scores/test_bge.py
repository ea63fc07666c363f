"""The Bayesian Gaussian equivalent score: its formula, bnlearn's figures, its laws, its searches, what it refuses."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import gaussian_frame
from helpers.mixed_tables import iris
from oracles.other_scores import bge_score
from pgmx.estimators import (
    BestFirstSearch,
    BootstrapStructure,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    SimulatedAnnealing,
)
from pgmx.scores import BGe, EdgePrior, ParameterPrior

QUIET = {"show_progress": False, "return_type": "dag"}
ARCS = [("A", "B"), ("A", "C"), ("B", "D"), ("C", "D"), ("D", "E"), ("B", "F"), ("E", "F")]
NODES = {
    (): {
        "A": -722.825907006259,
        "B": -708.804245339993,
        "C": -562.654603915512,
        "D": -956.844779616516,
        "E": -731.639999391858,
        "F": -349.710210687642,
    },
    (2.0, 20.0): {
        "A": -721.188796929008,
        "B": -708.840712396484,
        "C": -560.681859459978,
        "D": -957.046241445926,
        "E": -728.345795214535,
        "F": -372.210020126912,
    },
}


def six_floats():
    """Return the table of 500 rows and six continuous columns of bnlearn's figures."""
    rng = np.random.default_rng(11)
    e = rng.normal(size=(500, 6))
    a = e[:, 0]
    b, c = 1 + 0.8 * a + e[:, 1], -0.5 * a + 0.7 * e[:, 2]
    d = b - c + 1.5 * e[:, 3]
    f = 0.3 * d + e[:, 4]
    return pd.DataFrame({"A": a, "B": b, "C": c, "D": d, "E": f, "F": 2 + 0.6 * b + 0.2 * f + 0.5 * e[:, 5]})


def make_score(frame, options):
    return BGe(frame, *options, prior_mean=np.zeros(frame.shape[1])) if options else BGe(frame)


def score_graph(score, arcs):
    return sum(score.local_score(v, tuple(tail for tail, head in arcs if head == v)) for v in score.variables)


@pytest.mark.parametrize("options", NODES)
def test_figures_of_bnlearn_by_node(options):
    """bnlearn 5.2.1, score(dag, data, type="bge", by.node=TRUE), iss.mu, iss.w and nu as given."""
    score = make_score(six_floats(), options)
    for child, expected in NODES[options].items():
        parents = tuple(tail for tail, head in ARCS if head == child)
        assert score.local_score(child, parents) == pytest.approx(expected, abs=1e-9)


def test_totals_of_bnlearn():
    frame = six_floats()
    score, other = BGe(frame), make_score(frame, (2.0, 20.0))
    assert score_graph(score, ARCS) == pytest.approx(-4032.479745957781, abs=1e-9)
    assert score_graph(score, [("B", "A"), *ARCS[1:]]) == pytest.approx(-4032.479745957781, abs=1e-9)
    assert score_graph(score, []) == pytest.approx(-4886.173490122574, abs=1e-9)
    assert score_graph(score, list(itertools.combinations(frame, 2))) == pytest.approx(-4059.519525805628, abs=1e-9)
    assert score_graph(other, ARCS) == pytest.approx(-4048.313425572843, abs=1e-9)
    assert score_graph(other, []) == pytest.approx(-4893.190095645456, abs=1e-9)
    assert score_graph(BGe(frame.assign(A=1.0)), []) == pytest.approx(-3142.423319998805, abs=1e-9)
    flowers = BGe(iris().drop(columns="K"))
    arcs = [("SL", "SW"), ("SL", "PL"), ("PL", "PW"), ("SW", "PW")]
    assert score_graph(flowers, arcs) == pytest.approx(-468.592878619528, abs=1e-9)
    assert score_graph(flowers, []) == pytest.approx(-763.850520791550, abs=1e-9)


@pytest.mark.parametrize(
    "options", [{}, {"mean_sample_size": 0.3, "wishart_sample_size": 7.5, "prior_mean": [1, 0, 2, 3]}]
)
def test_every_family_follows_the_formula(rng, options):
    rows = rng.normal(size=(40, 4)) @ rng.normal(size=(4, 4)) * [1, 10, 0.1, 3] + [0, 5, 0, -2]
    score = BGe(rows, **options)
    for child in range(4):
        others = [v for v in range(4) if v != child]
        for size in range(4):
            for parents in itertools.combinations(others, size):
                expected = bge_score(rows, child, parents, **options)
                names = tuple(score.variables[p] for p in parents)
                assert score.local_score(score.variables[child], names) == pytest.approx(expected, rel=1e-11)


def test_gains_are_differences_of_scores(rng):
    rows = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5))
    score = BGe(rows)
    source = score.make_scorer(score.moments, 0.7, max_indegree=3)
    gains, scores = np.empty((5, 5)), np.empty(5)
    source.start(gains, scores)
    np.testing.assert_array_equal(gains, gains.T)
    for size in range(4):
        for parents in itertools.combinations((0, 1, 2, 4), size):
            now = source.rescore(3, np.array(parents, dtype=np.int32), gains)
            assert now == source.family_score(3, np.array(parents, dtype=np.int32))
            assert now == pytest.approx(bge_score(rows, 3, parents) - 0.7 * (size + 2), rel=1e-11)
            for u in (0, 1, 2, 4):
                if u not in parents and size == 3:
                    assert gains[3, u] == -np.inf
                    continue
                family = np.array(sorted({*parents} ^ {u}), dtype=np.int32)
                assert gains[3, u] == pytest.approx(source.family_score(3, family) - now, abs=1e-7)


SEARCHES = {
    "greedy": lambda: HillClimbSearch(scoring_method="bge", **QUIET),
    "thorough": lambda: HillClimbSearch(scoring_method="bge", strategy="thorough", **QUIET),
    "best": lambda: HillClimbSearch(scoring_method="bge", strategy="best", **QUIET),
    "exact": lambda: HillClimbSearch(scoring_method="bge", strategy="exact", **QUIET),
    "restarts": lambda: HillClimbSearch(scoring_method="bge", n_restarts=2, **QUIET),
    "equivalence": lambda: GreedyEquivalenceSearch(scoring_method="bge", **QUIET),
    "annealing": lambda: SimulatedAnnealing(scoring_method="bge", n_draws=200, **QUIET),
    "best first": lambda: BestFirstSearch(scoring_method="bge", patience=5, **QUIET),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_ends_at_the_score_of_its_graph(name):
    frame = six_floats()
    learner = SEARCHES[name]().fit(frame)
    assert learner.score_ == pytest.approx(score_graph(BGe(frame), list(learner.dag_.edges())), abs=1e-7)
    assert learner.score_ >= -4036.497  # bnlearn's climb: -4036.496862265
    if name in ("exact", "best", "equivalence"):
        assert learner.score_ >= -4032.4798  # the graph that the table was drawn from
    assert learner.model_.check_model()


def test_weights_are_rows_and_instances_are_names(rng):
    frame = six_floats()
    weights = rng.integers(0, 3, len(frame))
    repeated = frame.loc[np.repeat(frame.index, weights)]
    weighted = HillClimbSearch(scoring_method="bge", **QUIET).fit(frame, sample_weight=weights)
    assert weighted.score_ == pytest.approx(
        HillClimbSearch(scoring_method="bge", **QUIET).fit(repeated).score_, abs=1e-6
    )
    score = BGe(frame, 2.0, 20.0)
    learner = HillClimbSearch(scoring_method=score, **QUIET).fit(frame)
    assert learner.score_ == pytest.approx(score_graph(score, list(learner.dag_.edges())), abs=1e-7)
    assert pickle.loads(pickle.dumps(score)).local_score("A", ("B",)) == score.local_score("A", ("B",))
    sparse = HillClimbSearch(scoring_method="bge", structure_prior=ParameterPrior(50.0), **QUIET).fit(frame)
    assert len(sparse.edges_) < len(learner.edges_)
    assert len(HillClimbSearch(scoring_method="bge", structure_prior=EdgePrior(1e-9), **QUIET).fit(frame).edges_) < 9
    boot = BootstrapStructure(HillClimbSearch(scoring_method="bge", show_progress=False), n_resamples=3).fit(frame)
    assert len(boot.edges_) >= 5


def test_columns_that_the_other_scores_refuse(recwarn):
    """A constant column has a finite score and no arcs; a copy is joined, without a warning."""
    frame = gaussian_frame(0)
    constant = HillClimbSearch(scoring_method="bge", **QUIET).fit(frame.assign(constant=2.0))
    assert constant.score_ < 0
    assert not [arc for arc in constant.dag_.edges() if "constant" in arc]
    first = frame.columns[0]
    copied = HillClimbSearch(scoring_method="bge", **QUIET).fit(frame.assign(copy=3 * frame[first]))
    assert {(first, "copy"), ("copy", first)} & set(copied.dag_.edges())
    assert not recwarn.list


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mean_sample_size": 0}, "mean_sample_size must be a positive number, got 0"),
        ({"mean_sample_size": np.nan}, "mean_sample_size must be a positive number"),
        ({"wishart_sample_size": 7}, r"wishart_sample_size must be a number above p \+ 1 = 7 for 6 columns, got 7"),
        ({"wishart_sample_size": np.inf}, "wishart_sample_size must be a number above"),
        ({"wishart_sample_size": "20"}, "wishart_sample_size must be a number above .* got '20'"),
        ({"prior_mean": [0.0]}, "prior_mean must hold 6 finite numbers"),
        ({"prior_mean": [np.nan] * 6}, "prior_mean must hold 6 finite numbers"),
    ],
)
def test_bad_hyperparameters(options, message):
    with pytest.raises(ValueError, match=message):
        BGe(six_floats(), **options)


def test_bad_tables():
    frame = six_floats()
    with pytest.raises(ValueError, match="'A' hold numbers whose squares are too large"):
        BGe(frame.assign(A=frame["A"] * 1e200))
    with pytest.raises(ValueError, match="needs continuous variables, .* discrete: 'A'"):
        HillClimbSearch(scoring_method="bge").fit(frame.assign(A="x"))

"""The multiplier of what a parameter costs, and the number of edges that are expected by chance."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pgmx import scores
from pgmx.datasets import sample_network
from pgmx.estimators import BestFirstSearch, BootstrapStructure, GreedyEquivalenceSearch, HillClimbSearch
from pgmx.scores.chance_edges import EdgePrice, expect_chance_edges
from pgmx.scores.registry import SCORES

rng = np.random.default_rng(0)
NUMBERS = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
NUMBERS["d"] += NUMBERS["a"]
STATES = pd.DataFrame(rng.integers(0, 3, size=(300, 3)), columns=list("uvw")).astype(str)
MIXED = pd.concat([NUMBERS, STATES], axis=1)
DATA = {"discrete": STATES, "continuous": NUMBERS, "mixed": MIXED}
FAMILIES = {"discrete": [("u", ()), ("u", ("v", "w"))], "continuous": [("d", ("a", "b"))], "mixed": [("d", ("a", "u"))]}
LIKELIHOODS = {"discrete": "LogLikelihood", "continuous": "LogLikelihoodGauss", "mixed": "LogLikelihoodCondLinearGauss"}
PENALISED = [entry for entry in SCORES if entry.has_penalty and entry.family != "dg"]


@pytest.mark.parametrize("entry", [entry for entry in PENALISED if not entry.has_gamma], ids=lambda entry: entry.name)
def test_the_penalty_multiplies_the_cost_of_a_parameter(entry):
    data = DATA[entry.kind]
    plain, twice = entry.load()(data), entry.load()(data, penalty=2.5)
    likelihood = getattr(scores, LIKELIHOODS[entry.kind])(data)
    for family in FAMILIES[entry.kind]:
        cost = likelihood.local_score(*family) - plain.local_score(*family)
        assert likelihood.local_score(*family) - twice.local_score(*family) == pytest.approx(2.5 * cost, rel=1e-9)
    assert entry.load()(data, penalty=1).local_score(*family) == plain.local_score(*family)


def test_the_penalty_of_the_degenerate_score():
    plain, twice = scores.BICDegenerateGauss(MIXED), scores.BICDegenerateGauss(MIXED, penalty=2)
    gains = [score.local_score("d", ("u",)) - score.local_score("d", ()) for score in (plain, twice)]
    assert gains[0] - gains[1] == pytest.approx(0.5 * math.log(300) * 2)  # two indicators


@pytest.mark.parametrize("name", [entry.name for entry in PENALISED])
def test_learners_use_the_penalty(name):
    data = DATA[next(entry.kind for entry in SCORES if entry.name == name)]
    learner = HillClimbSearch(scoring_method=name, penalty=1.7, show_progress=False).fit(data)
    entry = next(entry for entry in SCORES if entry.name == name)
    assert learner.score_ == pytest.approx(entry.load()(data, penalty=1.7).score(learner.dag_), rel=1e-10)


@pytest.mark.parametrize("learner", [HillClimbSearch, GreedyEquivalenceSearch, BestFirstSearch])
def test_one_changes_nothing_and_more_gives_fewer_edges(learner):
    frame = sample_network("asia", 300, random_state=1).iloc[:, :6]
    plain, one, four = (
        learner(show_progress=False, **options).fit(frame) for options in ({}, {"penalty": 1}, {"penalty": 4.0})
    )
    assert plain.score_ == one.score_ and plain.edges_.tolist() == one.edges_.tolist()
    assert len(four.edges_) <= len(plain.edges_) and four.score_ < plain.score_


@pytest.mark.parametrize("missing", ["drop", "pairwise", "em"])
def test_missing_values(missing):
    holes = STATES.assign(w=np.where(STATES["u"] == "0", "0", STATES["w"])).mask(rng.random(STATES.shape) < 0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = [
            HillClimbSearch(missing=missing, penalty=penalty, show_progress=False).fit(holes) for penalty in (1, 60.0)
        ]
    assert len(fitted[0].edges_) >= 1 and len(fitted[1].edges_) == 0


@pytest.mark.parametrize(
    ("penalty", "error"),
    [
        (0, ValueError),
        (-1.0, ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        (True, TypeError),
        ("2", TypeError),
    ],
)
def test_bad_penalties(penalty, error):
    with pytest.raises(error, match=f"penalty must be a .*number above 0, got {penalty!r}"):
        HillClimbSearch(penalty=penalty, show_progress=False).fit(STATES)
    with pytest.raises(error, match="penalty must be"):
        scores.BIC(STATES, penalty=penalty)


@pytest.mark.parametrize("name", ["k2", "bdeu", "ll", "bge", "bic-cg"])
def test_scores_without_a_price(name):
    data = DATA[next(entry.kind for entry in SCORES if entry.name == name)]
    with pytest.raises(ValueError, match=f"no price in scoring_method='{name}'.*choose one of bic, aic"):
        HillClimbSearch(scoring_method=name, penalty=2, show_progress=False).fit(data)
    assert np.isnan(HillClimbSearch(scoring_method=name, show_progress=False).fit(data).expected_chance_edges_)


def test_an_instance_has_its_own_penalty():
    with pytest.raises(ValueError, match="not to an instance of BIC"):
        HillClimbSearch(scoring_method=scores.BIC(STATES), penalty=2, show_progress=False).fit(STATES)
    score = scores.BIC(STATES, penalty=3)
    assert score.get_params(deep=False)["penalty"] == 3
    by_name = HillClimbSearch(penalty=3, show_progress=False).fit(STATES)
    assert HillClimbSearch(scoring_method=score, show_progress=False).fit(STATES).score_ == by_name.score_


# ---- edges by chance ----


def test_expected_edges_sum_over_pairs():
    cards, cost = [2, 3, 4, 1, 3], 1.9
    expected = sum(
        stats.chi2.sf(2 * cost * (r - 1) * (s - 1), (r - 1) * (s - 1))
        for i, r in enumerate(cards)
        for s in cards[:i]
        if r > 1 and s > 1
    )
    price = EdgePrice(cost, np.array(cards) - 1, 100)
    assert expect_chance_edges(price) == pytest.approx(expected, rel=1e-12)
    mixed = EdgePrice(cost, np.array([1, 1, 2]), 100, np.array([True, True, False]))
    assert expect_chance_edges(mixed) == pytest.approx(
        stats.chi2.sf(2 * cost, 1) + 2 * stats.chi2.sf(2 * cost * 4, 4), rel=1e-12
    )
    assert np.isnan(expect_chance_edges(None))


@pytest.mark.parametrize(("name", "penalty"), [("bic-g", 1.0), ("aic-g", 1.0), ("bic-g", 0.4)])
def test_independent_columns_get_about_as_many_edges(name, penalty):
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(400, 40))).add_prefix("x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = HillClimbSearch(scoring_method=name, penalty=penalty, max_indegree=1, show_progress=False).fit(frame)
    # of 780 pairs; a forest takes at most 39, so only the sparse case is near the expectation
    expected = learner.expected_chance_edges_
    cost = 1.0 if name == "aic-g" else penalty * math.log(400) / 2
    assert expected == pytest.approx(780 * stats.chi2.sf(2 * cost, 1))
    if expected < 20:
        assert abs(len(learner.edges_) - expected) < 4 * math.sqrt(expected)


def test_the_warning():
    frame = pd.DataFrame(np.random.default_rng(5).normal(size=(100, 60))).add_prefix("x")
    options = {"show_progress": False}
    with pytest.warns(
        UserWarning,
        match=r"many of the \d+ edges may be due to chance: between 60 independent variables BIC would add about \d+ "
        r"with 100 rows\. scoring_method='ebic-g' or penalty=2 asks for more evidence",
    ):
        HillClimbSearch(**options).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HillClimbSearch(scoring_method="aic-g", max_indegree=1, **options).fit(frame)
        HillClimbSearch(penalty=3, **options).fit(frame)
        HillClimbSearch(**options).fit(sample_network("alarm", 1_000))
        BootstrapStructure(HillClimbSearch(**options), n_resamples=2, show_progress=False).fit(frame)

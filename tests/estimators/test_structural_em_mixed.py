"""missing="em" for mixed data: likelihood, expectations and imputed cells against enumeration; refusals."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import edge_set
from oracles import missing_mixed as oracle
from pgmx.data import open_frame
from pgmx.data.mixed import read_incomplete_mixed
from pgmx.estimators import BestFirstSearch, BootstrapStructure, GreedyEquivalenceSearch, HillClimbSearch
from pgmx.inference.mixed.families import DiscreteFamily
from pgmx.models import ConditionalGaussianNetwork
from pgmx.models.bayesian import incomplete_mixed
from pgmx.models.bayesian.incomplete_mixed import IncompleteMixedRows
from pgmx.scores import BICCondLinearGauss
from pgmx.scores.binding.incomplete import MOST_INDICATORS, IncompleteMixedScoring, list_indicators

QUIET = {"show_progress": False, "return_type": "dag"}
NAMES = ["r", "x", "s", "y", "z"]


def learn(data, **options):
    return HillClimbSearch(**{"missing": "em", **QUIET, **options}).fit(data)


def frame_of_both(seed, n=150):
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 3))
    r = rng.integers(0, 2, n)
    s = np.where(rng.random(n) < 0.7, r, rng.integers(0, 3, n))
    x = 5 + 2 * r + e[:, 0]
    y = np.array([0.0, 1.0, -1.0])[s] + np.array([0.5, -0.5, 1.0])[s] * (x - 5) + e[:, 1]
    z = 100 * (0.8 * y + e[:, 2])
    return pd.DataFrame(
        {"r": pd.Categorical(r), "x": x, "s": pd.Categorical(list(np.array(list("abc"))[s])), "y": y, "z": z}
    )


def with_holes(frame, seed, share=0.2, columns=NAMES):
    holes = np.random.default_rng([seed, 7]).random(frame.shape) < share
    holes[:, [name not in columns for name in frame]] = False
    return frame.mask(holes)


def read(frame, weights=None, **options):
    return IncompleteMixedRows(read_incomplete_mixed(open_frame(frame)), weights, **options)


def as_oracle(network):
    return [
        ("states", family.discrete_parents, family.table)
        if isinstance(family, DiscreteFamily)
        else ("floats", family.discrete_parents, family.continuous_parents, family.coefficients, family.std)
        for family in network.families
    ]


def as_rows(frame):
    """Return the rows as dictionaries of known codes and numbers."""
    cells = [frame[name].cat.codes if frame[name].dtype == "category" else frame[name] for name in frame]
    rows = []
    for i in range(len(frame)):
        rows.append({v: c.iloc[i] for v, c in enumerate(cells) if not frame.iloc[:, v].isna().iloc[i]})
    return rows


def draw_arcs(rng):
    arcs = [arc for arc in itertools.combinations([0, 2, 1, 3, 4], 2) if rng.random() < 0.5]
    return np.array(arcs).reshape(-1, 2)


# ---- parameters ----


@pytest.mark.parametrize("share", [0.15, 0.5])
def test_each_step_is_that_of_enumeration(seed, share):
    rng = np.random.default_rng(seed)
    data = with_holes(frame_of_both(seed, 40), seed, share)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], 40)
    rows = read(data, weights)
    fit = rows.fit(draw_arcs(rng), max_steps=0)
    for _ in range(3):
        families = as_oracle(rows.to_units(fit.parameters))
        likelihood, _ = oracle.expect(families, as_rows(data), weights)
        assert fit.log_likelihood == pytest.approx(likelihood, rel=1e-8)
        standard = [
            {v: row[v] if rows.cards[v] else (row[v] - rows.location[v]) / rows.scale[v] for v in row}
            for row in as_rows(data)
        ]
        _, totals = oracle.expect(as_oracle(fit.parameters), standard, weights)
        for mine, theirs in zip(fit.expected, totals, strict=True):
            np.testing.assert_allclose(mine, theirs.reshape(mine.shape), atol=1e-8)
        following = rows.resume(fit, max_steps=1)
        assert following.log_likelihood >= fit.log_likelihood
        fit = following


def test_draws_have_the_expected_moments_of_floats():
    data = with_holes(frame_of_both(0, 60), 0, 0.4, ["x", "y", "z"])
    rows = read(data)
    fit = rows.fit(np.array([(0, 1), (2, 3), (1, 3), (3, 4)]))
    completed = rows.complete(fit, 0)
    assert completed.weights.sum() == pytest.approx(60)
    for mine, exact in zip(rows.count(fit.edges, completed), fit.expected, strict=True):
        np.testing.assert_allclose(mine, exact, atol=1e-9)
    again = rows.complete(fit, 0).mixed
    np.testing.assert_array_equal(again.numbers, completed.mixed.numbers)


def test_draws_of_states_come_near_what_is_expected():
    data = with_holes(frame_of_both(0, 60), 0, 0.3)
    rows = read(data, n_draws=400)
    fit = rows.fit(np.array([(0, 1), (0, 2), (2, 3), (1, 3), (3, 4)]))
    for mine, exact in zip(rows.count(fit.edges, rows.complete(fit, 0)), fit.expected, strict=True):
        np.testing.assert_allclose(mine, exact, atol=0.05 * np.abs(exact).max())


# ---- graphs ----


@pytest.mark.parametrize("score", ["bic-clg", "aic-clg", "ll-clg", None])
def test_the_observed_score_never_falls(score, seed):
    learner = learn(with_holes(frame_of_both(seed), seed, 0.25), scoring_method=score, max_indegree=2)
    history = learner.history_["score"]
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
    assert len(history) >= 2
    assert learner.n_em_iter_ >= 1
    assert learner.converged_
    assert learner.score_ == history[-1]
    assert isinstance(learner.model_, ConditionalGaussianNetwork)


def test_score_likelihood_and_cells_are_those_of_enumeration(seed):
    data = with_holes(frame_of_both(seed), seed, 0.25)
    learner = learn(data)
    parts = learner.model_.parts()
    families = as_oracle(parts.families)
    rows = as_rows(data)
    likelihood, _ = oracle.expect(families, rows, np.ones(150))
    assert learner.observed_log_likelihood_ == pytest.approx(likelihood, rel=1e-9)
    free = 0
    for family in families:
        free += (
            np.size(family[2]) - np.size(family[2][0])
            if family[0] == "states"
            else np.size(family[3]) + np.size(family[4])
        )
    assert learner.score_ == pytest.approx(likelihood - 0.5 * math.log(150) * free, rel=1e-9)
    frame = learner.imputed_frame()
    assert list(frame.columns) == list(data.columns)
    assert frame.where(data.notna()).equals(data.astype(frame.dtypes))
    for i in range(40):
        for v, value in oracle.impute(families, rows[i]).items():
            name = data.columns[v]
            mine = frame[name].cat.codes[i] if frame[name].dtype == "category" else frame[name][i]
            assert mine == pytest.approx(value, rel=1e-6)


def test_a_complete_table_is_learned_as_ever():
    data = frame_of_both(0)
    mine, plain = learn(data), learn(data, missing="error")
    assert edge_set(mine.dag_) == edge_set(plain.dag_)
    assert mine.score_ == plain.score_
    assert mine.n_em_iter_ == 0
    assert mine.observed_log_likelihood_ == pytest.approx(plain.model_.log_likelihood(data).sum(), rel=1e-9)
    assert mine.imputed_frame()["x"].equals(data["x"])
    assert mine.imputed_frame()["s"].astype(str).equals(data["s"].astype(str))


def test_tables_of_one_kind_take_the_score_of_that_kind():
    data = with_holes(frame_of_both(0), 0)
    floats, states = data[["x", "y", "z"]], data[["r", "s"]]
    assert learn(floats, scoring_method="bic-clg").score_ == learn(floats).score_
    assert learn(states, scoring_method="bic-clg").score_ == learn(states).score_


def test_holes_that_depend_on_known_cells_do_no_harm():
    rng = np.random.default_rng(1)
    k = rng.integers(0, 2, 3000)
    data = pd.DataFrame({"k": pd.Categorical(k), "x": 2.0 * k + rng.normal(size=3000)})
    share = (k == 1).mean()
    data.loc[(data["x"] > 1) & (rng.random(3000) < 0.8), "k"] = np.nan
    table = learn(data).model_.get_cpds("k").get_values()
    assert table[1, 0] == pytest.approx(share, abs=0.04)
    assert (data["k"].dropna() == 1).mean() < share - 0.1


def test_weights_are_repeated_rows(rng):
    data = with_holes(frame_of_both(0), 0)
    weights = rng.integers(1, 4, 150)
    arcs = np.array([(0, 1), (0, 2), (2, 3), (1, 3)])
    mine = read(data, weights).fit(arcs)
    repeated = read(data.loc[data.index.repeat(weights)].reset_index(drop=True)).fit(arcs)
    assert mine.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-9)
    learner = HillClimbSearch(missing="em", **QUIET).fit(data, sample_weight=weights)
    assert len(learner.imputed_frame()) == 150
    assert not learner.imputed_frame().isna().any(axis=None)


def test_knowledge_and_priors_hold():
    data = with_holes(frame_of_both(0), 0)
    learner = learn(data, required_edges=[("x", "z")], forbidden_edges=[("x", "y")], max_indegree=2, pseudo_counts=1.0)
    edges = set(learner.dag_.edges())
    assert ("x", "z") in edges
    assert ("x", "y") not in edges
    assert not {(tail, head) for tail, head in edges if tail in "xyz" and head in "rs"}
    counts = learner._scoring.get().fit.statistics[0]
    np.testing.assert_allclose(learner.model_.get_cpds("r").values, (counts + 1) / (counts + 1).sum(axis=0))


@pytest.mark.parametrize("make", [BestFirstSearch, GreedyEquivalenceSearch])
def test_other_searches(make):
    learner = make(missing="em", **QUIET).fit(with_holes(frame_of_both(0), 0))
    assert learner.n_em_iter_ >= 1
    assert learner.score_ < learner.observed_log_likelihood_


def test_resamples_and_restarts():
    data = with_holes(frame_of_both(0), 0, 0.3)
    boot = BootstrapStructure(HillClimbSearch(missing="em", **QUIET), n_resamples=2, show_progress=False).fit(data)
    assert isinstance(boot.model_, ConditionalGaussianNetwork)
    plain, restarted = learn(data), learn(data, n_em_restarts=2)
    assert restarted.score_ >= plain.score_ - 1e-3
    assert restarted.n_em_iter_ > plain.n_em_iter_


@pytest.mark.filterwarnings("ignore:max_time")
def test_no_time_gives_a_graph_all_the_same():
    learner = learn(with_holes(frame_of_both(0), 0), max_time=0.0)
    assert learner.stopped_by_ == "max_time"
    assert learner.model_.states


# ---- refusals ----


@pytest.mark.parametrize("score", ["bic-cg", "bic-dg"])
def test_scores_of_no_distribution_are_refused(score):
    with pytest.raises(ValueError, match=f"needs a score with a joint likelihood, which scoring_method='{score}' does"):
        learn(with_holes(frame_of_both(0), 0), scoring_method=score)


def test_what_cannot_be_expected_is_refused(monkeypatch):
    data = with_holes(frame_of_both(0), 0)
    with pytest.raises(ValueError, match="which discrete_children='allowed' does not have: choose one of bic-clg"):
        learn(data, discrete_children="allowed")
    with pytest.raises(ValueError, match="not an instance of BICCondLinearGauss"):
        learn(data, scoring_method=BICCondLinearGauss(data.dropna()))
    with pytest.raises(ValueError, match="'blank' have no observed value: drop them. Latent variables are not learned"):
        learn(data.assign(blank=np.nan))
    with pytest.raises(ValueError, match="the observed values of columns 'same' are constant"):
        learn(data.assign(same=data["x"] * 0 + 2.0))
    with pytest.raises(ValueError, match="needs continuous variables, .* discrete: 'r', 's'. Choose 'bic-clg'"):
        learn(data, scoring_method="bic-g")
    monkeypatch.setattr(incomplete_mixed, "MOST_ROW_CELLS", 2)
    with pytest.raises(ValueError, match="values for a row without .* more than 2: give a smaller max_indegree"):
        learn(data)
    monkeypatch.setattr(incomplete_mixed, "MOST_ROW_CELLS", 10**6)
    monkeypatch.setattr(incomplete_mixed, "MOST_CELLS", 10**4)
    with pytest.raises(ValueError, match="more than 1e\\+04 values per pass over 150 rows"):
        learn(data)


# ---- variables with many states ----


def test_the_start_has_indicators_of_the_most_frequent_states():
    counts = np.array([3.0, 0.0, 9.0, 5.0, 9.0])
    assert list_indicators(counts) == [0, 3, 4]  # 2 is the most frequent one, 1 does not occur
    many = np.arange(100.0)
    assert list_indicators(many) == list(range(99 - MOST_INDICATORS, 99))


@pytest.mark.filterwarnings("ignore:implausibly many states")
def test_a_variable_with_many_states_and_a_float():
    """Rows like those of a list of passengers: names, numbers of tickets and cabins, an age, some small columns."""
    rng = np.random.default_rng(0)
    n = 300
    sex, kind = rng.integers(0, 2, n), rng.integers(0, 3, n)
    survived = np.where(rng.random(n) < 0.8, sex, rng.integers(0, 2, n))
    frame = pd.DataFrame(
        {
            "cabin": rng.integers(0, 60, n).astype(str),
            "name": np.arange(n).astype(str),
            "sex": sex.astype(str),
            "kind": kind.astype(str),
            "survived": survived.astype(str),
            "age": 40.0 - 8 * kind + 3 * rng.normal(size=n),
        }
    )
    frame.loc[rng.random(n) < 0.77, "cabin"] = None
    frame.loc[rng.random(n) < 0.2, "age"] = np.nan
    scoring = IncompleteMixedScoring(BICCondLinearGauss, read_incomplete_mixed(open_frame(frame)))
    assert np.diff(scoring.available._summary.embedding[1]).tolist() == [20, 20, 1, 2, 1, 1]
    edges = {tuple(sorted(edge)) for edge in learn(frame).graph_.edges()}
    assert edges == {("age", "kind"), ("sex", "survived")}

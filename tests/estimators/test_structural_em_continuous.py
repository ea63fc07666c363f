"""missing="em" for continuous columns: likelihood, moments and imputed values, compared with single rows; refusals."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import edge_set
from oracles import missing_numbers as oracle
from pgmx.estimators import BestFirstSearch, BootstrapStructure, GreedyEquivalenceSearch, HillClimbSearch
from pgmx.models.bayesian import incomplete_continuous
from pgmx.models.bayesian.incomplete_continuous import IncompleteContinuousRows
from pgmx.scores import BICGauss

QUIET = {"show_progress": False, "return_type": "dag"}


def learn(data, **options):
    return HillClimbSearch(**{"missing": "em", **QUIET, **options}).fit(data)


def float_frame(seed, n=200):
    rng = np.random.default_rng(seed)
    e = rng.normal(size=(n, 5))
    a = 3 + 2 * e[:, 0]
    b = a + e[:, 1]
    c = -0.5 * a + 0.7 * e[:, 2]
    d = 1e3 * (0.8 * b - c + e[:, 3])
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": 0.01 * e[:, 4]})


def with_holes(frame, seed, share=0.2):
    return frame.mask(np.random.default_rng([seed, 7]).random(frame.shape) < share)


def moments_of(model, names, n):
    """Return mean and covariance of the network at the maximum; pgmpy's deviations divide by n minus coefficients."""
    cpds = {}
    for name in names:
        cpd = model.get_cpds(name)
        beta = np.asarray(cpd.beta)
        std = float(cpd.std) * math.sqrt((n - len(beta)) / n)
        cpds[name] = beta[0], dict(zip(cpd.evidence, beta[1:], strict=True)), std
    return oracle.network_moments(names, cpds)


# ---- parameters ----


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_each_step_is_that_of_rows_one_by_one(seed, share):
    rng = np.random.default_rng(seed)
    rows = with_holes(float_frame(seed, 40), seed, share).to_numpy()
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], 40)
    numbers = IncompleteContinuousRows(rows, weights)
    arcs = np.array([arc for arc in itertools.combinations(range(5), 2) if rng.random() < 0.5]).reshape(-1, 2)
    fit = numbers.fit(arcs, max_steps=0)
    for _ in range(4):
        parents = [family[1:] for family in fit.families]
        mean, covariance = oracle.regress(fit.statistics.mean, fit.statistics.covariance, parents)
        likelihood, expected, spread = oracle.expect(mean, covariance, rows, weights)
        assert fit.log_likelihood == pytest.approx(likelihood, rel=1e-9)
        scale = np.sqrt(np.diag(spread))
        np.testing.assert_allclose(fit.expected.mean / scale, expected / scale, atol=1e-9)
        np.testing.assert_allclose(fit.expected.covariance / np.outer(scale, scale), spread / np.outer(scale, scale))
        following = numbers.resume(fit, max_steps=1)
        assert following.log_likelihood >= fit.log_likelihood
        fit = following


@pytest.mark.slow
def test_the_complete_graph_is_em_of_one_normal_distribution():
    rows = with_holes(float_frame(0, 60), 0, 0.25).to_numpy()
    numbers = IncompleteContinuousRows(rows)
    fit = numbers.fit(np.array(list(itertools.combinations(range(5), 2))), max_steps=1000)
    likelihood, mean, _ = oracle.maximise(rows, 300)
    assert fit.log_likelihood == pytest.approx(likelihood, abs=2e-3)
    np.testing.assert_allclose(fit.statistics.mean / numbers.scale, mean / numbers.scale, atol=1e-2)


def test_patterns_in_several_blocks_are_those_of_one(monkeypatch):
    rows = with_holes(float_frame(0, 60), 0, 0.4).to_numpy()
    arcs = np.array([(0, 1), (1, 3), (2, 3)])
    whole = IncompleteContinuousRows(rows).fit(arcs, max_steps=2)
    monkeypatch.setattr(incomplete_continuous, "_BLOCK", 5)
    parts = IncompleteContinuousRows(rows).fit(arcs, max_steps=2)
    assert parts.log_likelihood == pytest.approx(whole.log_likelihood, rel=1e-12)
    np.testing.assert_allclose(parts.expected.cross, whole.expected.cross, rtol=1e-9)


# ---- graphs ----


@pytest.mark.parametrize("score", ["bic-g", "aic-g", "ll-g", "bge"])
def test_the_observed_score_never_falls(score, seed):
    learner = learn(with_holes(float_frame(seed), seed, 0.3), scoring_method=score, max_indegree=2)
    history = learner.history_["score"]
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
    assert len(history) >= 2
    assert learner.n_em_iter_ >= 1
    assert learner.converged_
    assert learner.score_ == history[-1]


def test_score_likelihood_and_cells_are_those_of_rows_one_by_one(seed):
    data = with_holes(float_frame(seed), seed, 0.3)
    learner = learn(data)
    names = list(data.columns)
    mean, covariance = moments_of(learner.model_, names, 200)
    likelihood = oracle.expect(mean, covariance, data.to_numpy())[0]
    assert learner.observed_log_likelihood_ == pytest.approx(likelihood, rel=1e-9)
    penalty = 0.5 * math.log(200) * (2 * 5 + len(learner.edges_))
    assert learner.score_ == pytest.approx(likelihood - penalty, rel=1e-9)
    frame = learner.imputed_frame()
    assert list(frame.columns) == names
    for row, filled in zip(data.to_numpy()[:50], frame.to_numpy()[:50], strict=True):
        np.testing.assert_allclose(filled, oracle.condition(mean, covariance, row)[1], rtol=1e-6, atol=1e-9)
    assert frame.where(data.notna()).equals(data)


def test_a_complete_table_is_learned_as_ever():
    data = float_frame(0)
    mine, plain = learn(data), learn(data, missing="error")
    assert edge_set(mine.dag_) == edge_set(plain.dag_)
    assert mine.score_ == plain.score_
    assert mine.n_em_iter_ == 0
    penalty = 0.5 * math.log(200) * (2 * 5 + len(plain.edges_))
    assert mine.observed_log_likelihood_ == pytest.approx(plain.score_ + penalty, rel=1e-9)
    assert mine.imputed_frame().equals(data)


def test_one_missing_cell_changes_little():
    data = float_frame(0)
    holes = data.copy()
    holes.loc[3, "b"] = np.nan
    mine, plain = learn(holes), learn(data)
    assert edge_set(mine.dag_) == edge_set(plain.dag_)
    assert mine.observed_log_likelihood_ == pytest.approx(plain.observed_log_likelihood_, rel=3e-3)


def test_holes_that_depend_on_known_cells_do_no_harm():
    rng = np.random.default_rng(1)
    z = rng.normal(size=4000)
    data = pd.DataFrame({"z": z, "x": z + 0.5 * rng.normal(size=4000)})
    whole_mean = data["x"].mean()
    data.loc[(z > 0) & (rng.random(4000) < 0.9), "x"] = np.nan
    mean, _ = moments_of(learn(data).model_, ["z", "x"], 4000)
    assert mean[1] == pytest.approx(whole_mean, abs=0.05)
    assert data["x"].mean() < whole_mean - 0.4


def test_weights_are_repeated_rows(rng):
    data = with_holes(float_frame(0), 0)
    weights = rng.integers(0, 4, 200)
    mine = HillClimbSearch(missing="em", **QUIET).fit(data, sample_weight=weights)
    repeated = learn(data.loc[data.index.repeat(weights)].reset_index(drop=True))
    assert edge_set(mine.dag_) == edge_set(repeated.dag_)
    assert mine.observed_log_likelihood_ == pytest.approx(repeated.observed_log_likelihood_, rel=1e-6)
    assert len(mine.imputed_frame()) == 200
    assert not mine.imputed_frame().isna().any(axis=None)


def test_units_and_the_order_of_the_rows_do_not_matter():
    data = with_holes(float_frame(0), 0)
    mine, other = learn(data), learn((1e6 * data + 1e7).iloc[::-1].reset_index(drop=True))
    assert edge_set(mine.dag_) == edge_set(other.dag_)
    shift = math.log(1e6) * data.notna().to_numpy().sum()
    assert other.observed_log_likelihood_ + shift == pytest.approx(mine.observed_log_likelihood_, rel=1e-6)


def test_whole_numbers_are_floats_for_a_score_of_floats():
    data = with_holes((1000 * float_frame(0)).round(), 0)
    whole = data.astype("Int64")
    assert learn(whole, scoring_method="bic-g").score_ == learn(data, scoring_method="bic-g").score_


def test_knowledge_holds():
    learner = learn(
        with_holes(float_frame(0), 0), required_edges=[("e", "a")], forbidden_edges=[("b", "d"), ("d", "b")]
    )
    edges = set(learner.dag_.edges())
    assert ("e", "a") in edges
    assert not edges & {("b", "d"), ("d", "b")}


@pytest.mark.parametrize("make", [BestFirstSearch, GreedyEquivalenceSearch])
def test_other_searches(make):
    learner = make(missing="em", **QUIET).fit(with_holes(float_frame(0), 0))
    assert learner.n_em_iter_ >= 1
    assert learner.score_ < learner.observed_log_likelihood_


def test_resamples_and_restarts():
    data = with_holes(float_frame(0), 0, 0.4)
    boot = BootstrapStructure(HillClimbSearch(missing="em", **QUIET), n_resamples=3, show_progress=False).fit(data)
    assert len(boot.model_.cpds) == 5
    plain, restarted = learn(data), learn(data, n_em_restarts=3)
    assert restarted.score_ >= plain.score_ - 1e-3
    assert restarted.n_em_iter_ > plain.n_em_iter_


@pytest.mark.filterwarnings("ignore:max_time")
def test_no_time_gives_a_graph_all_the_same():
    learner = learn(with_holes(float_frame(0), 0), max_time=0.0)
    assert learner.stopped_by_ == "max_time"
    assert len(learner.model_.cpds) == 5


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    learner = learn(with_holes(pd.DataFrame(rng.normal(size=(20, 30))).add_prefix("v"), 0), max_indegree=2)
    history = learner.history_["score"]
    assert np.isfinite(history).all()
    assert (np.diff(history) >= 0).all()


# ---- refusals ----


def test_bad_columns_are_named(monkeypatch):
    data = with_holes(float_frame(0), 0)
    with pytest.raises(ValueError, match="'blank' have no observed value: drop them. Latent variables are not learned"):
        learn(data.assign(blank=np.nan))
    with pytest.raises(ValueError, match="the observed values of columns 'same' are constant"):
        learn(data.assign(same=data["a"] * 0 + 2.0))
    with pytest.raises(ValueError, match="infinite values \\(inf\\) in column\\(s\\) 'a'"):
        learn(data.assign(a=np.inf))
    with pytest.raises(ValueError, match="'bic-g' needs continuous variables, .* discrete: 'k'. Choose 'bic-clg'"):
        learn(data.assign(k=list("uv") * 100), scoring_method="bic-g")
    with pytest.raises(ValueError, match="are continuous|float column"):
        learn(data, scoring_method="bic")
    monkeypatch.setattr("pgmx.scores.binding.incomplete.MOST_PRODUCTS", 1000)
    with pytest.raises(ValueError, match="multiplications per pass over 200 rows x 5 columns with .* choose"):
        learn(data)


def test_scores_made_from_the_data_are_refused():
    data = with_holes(float_frame(0), 0)
    with pytest.raises(ValueError, match="missing='em' needs a score by name .* not an instance of BICGauss"):
        learn(data, scoring_method=BICGauss(data.dropna()))

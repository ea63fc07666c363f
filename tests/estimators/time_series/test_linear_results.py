"""Forecasts, scores and conditions of learners of linear dynamical systems; files and chunks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone

from helpers.series_learners import frame_of_system, simulate_system
from pgmx.estimators import DenseLDS, KernelSVARM, ScalableLDS, SparsityEnforcingLDS, SparsityInducingLDS


def test_nearly_dependent_predictors_are_predicted_alike():
    rows, _ = simulate_system(4, 300)
    nearly = np.column_stack([rows, rows[:, 0] + 1e-7 * np.random.default_rng(0).standard_normal(300)])
    predictors = nearly[:-1] / nearly.std(axis=0)
    assert 1e6 < np.linalg.cond(predictors) < 1e8
    by_gram, by_svd = (DenseLDS(solver=solver).fit(nearly) for solver in ("gram", "svd"))
    expected = predictors @ np.linalg.lstsq(predictors, nearly[1:], rcond=None)[0]
    for learner in (by_gram, by_svd):
        np.testing.assert_allclose(nearly[:-1] @ learner.coef_.T, expected, atol=1e-6)


@pytest.mark.parametrize("in_chunks", [False, True])
@pytest.mark.filterwarnings("ignore:the predictors are nearly dependent")
def test_noise_of_ill_conditioned_series_is_positive_semidefinite(in_chunks):
    rows, _ = simulate_system(12, 400)
    directions = np.linalg.qr(np.random.default_rng(1).standard_normal((12, 12)))[0]
    rows = rows @ (directions * np.logspace(0, -7, 12)) @ directions.T
    learner = DenseLDS(standardize=False).fit(iter([rows[:200], rows[200:]]) if in_chunks else rows)
    units = np.sqrt(learner.noise_covariance_.diagonal())
    assert np.linalg.eigvalsh(learner.noise_covariance_ / np.outer(units, units)).min() > -1e-12
    residuals = rows[1:] - rows[:-1] @ learner.coef_.T
    np.testing.assert_allclose(learner.model_.noise_covariance, residuals.T @ residuals / 399, rtol=1e-2, atol=1e-6)


def test_well_conditioned_solvers_agree():
    rows, _ = simulate_system(30, 400)
    by_gram, by_svd = (DenseLDS(solver=solver, lags=2).fit(rows) for solver in ("gram", "svd"))
    np.testing.assert_allclose(by_gram.coef_, by_svd.coef_, atol=1e-8)


def test_dependent_predictors_have_the_coefficients_of_smallest_norm():
    rows, _ = simulate_system(3, 100)
    twice = np.column_stack([rows, rows[:, 0]])
    coef = DenseLDS(standardize=False).fit(twice).coef_
    expected = np.linalg.lstsq(twice[:-1], twice[1:], rcond=None)[0].T
    np.testing.assert_allclose(coef, expected, atol=1e-10)
    with pytest.warns(UserWarning, match="nearly dependent"):
        pieces = DenseLDS(standardize=False).fit(iter([twice[:50], twice[50:]]))
    np.testing.assert_allclose(twice[:-1] @ pieces.coef_.T, twice[:-1] @ expected.T, atol=1e-6)


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
def test_files_equal_the_frame(kind, tmp_path):
    frame = frame_of_system(freq="ME").rename_axis("when")
    options = {"lags": 2, "fit_intercept": True}
    path = tmp_path / f"series.{kind}"
    if kind == "csv":
        frame.to_csv(path)
        options["time_column"] = "when"
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        path = tmp_path
        for part in range(4):
            frame.iloc[50 * part : 50 * (part + 1)].to_parquet(tmp_path / f"{part}.parquet")
    expected = DenseLDS(lags=2, fit_intercept=True).fit(frame)
    for solver in ("gram", "svd"):
        learner = DenseLDS(solver=solver, **options)
        np.testing.assert_allclose(learner.fit(path).coef_, expected.coef_, rtol=1e-10, atol=1e-12)
    forecast = learner.predict(frame.reset_index() if kind == "csv" else frame, 2)
    pd.testing.assert_frame_equal(forecast, expected.predict(frame, 2), check_names=False)


def test_groups_in_chunks_carry_their_own_rows():
    first, second = (frame_of_system(seed=seed).assign(unit=name) for seed, name in ((0, "u"), (1, "v")))
    mixed = pd.concat([first, second]).sort_index(kind="stable")
    pieces = DenseLDS(groups="unit", lags=3).fit(iter([mixed[:33], mixed[33:200], mixed[200:]]))
    whole = DenseLDS(lags=3).fit([first.drop(columns="unit"), second.drop(columns="unit")])
    np.testing.assert_allclose(pieces.coef_, whole.coef_, atol=1e-12)


def test_exogenous_and_seasonal_columns_are_least_squares_too():
    rng = np.random.default_rng(0)
    frame = frame_of_system(3, 120)
    frame["load"] = rng.standard_normal(120)
    seasons = np.arange(120) % 4
    frame["a"] += 2 * frame["load"] + np.array([3.0, 0, -1, -2])[seasons]
    learner = DenseLDS(exogenous_columns=["load"], seasonal_period=4).fit(frame)
    dummies = np.eye(4)[seasons][:, 1:] - 0.25
    rows = frame[list("abc")].to_numpy()
    predictors = np.column_stack([rows[:-1], frame["load"][1:], dummies[1:]])
    expected = np.linalg.lstsq(predictors, rows[1:], rcond=None)[0]
    np.testing.assert_allclose(learner.coef_, expected[:3].T, atol=1e-12)
    np.testing.assert_allclose(learner.exogenous_coef_, expected[3:].T, atol=1e-12)
    load = np.array([[1.0], [2.0]])
    step = rows[-1] @ expected[:3] + 1.0 * expected[3] + (np.eye(4)[0][1:] - 0.25) @ expected[4:]
    after = step @ expected[:3] + 2.0 * expected[3] + (np.eye(4)[1][1:] - 0.25) @ expected[4:]
    forecast = learner.predict(frame, 2, exogenous=load)
    np.testing.assert_allclose(forecast, [step, after], atol=1e-12)
    np.testing.assert_allclose(learner.predict(rows, 2, exogenous=load), forecast, atol=1e-12)
    earlier = learner.predict(frame[:118], 2, exogenous=load)
    dates = pd.DatetimeIndex(frame.index[118:])
    pd.testing.assert_index_equal(earlier.index, dates, check_names=False, exact="equiv")
    shifted = rows[117] @ expected[:3] + 1.0 * expected[3] + (np.eye(4)[2][1:] - 0.25) @ expected[4:]
    np.testing.assert_allclose(earlier.to_numpy()[0], shifted, atol=1e-12)
    with pytest.raises(ValueError, match="exogenous column"):
        learner.predict(frame, 2)


def test_the_score_is_the_mean_log_density():
    frame = frame_of_system(3, 150)
    learner = DenseLDS(lags=2, fit_intercept=True).fit(frame)
    later = frame_of_system(3, 60, seed=5)[["c", "a", "b"]]
    rows = later[list("abc")].to_numpy()
    means = learner.intercept_ + rows[1:-1] @ learner.coef_[1].T + rows[:-2] @ learner.coef_[2].T
    density = multivariate_normal(cov=learner.noise_covariance_)
    assert learner.score(later) == pytest.approx(density.logpdf(rows[2:] - means).mean(), rel=1e-12)
    pieces = [later[:30], later[30:]]
    expected = np.concatenate([(rows[2:] - means)[:28], (rows[2:] - means)[30:]])
    assert learner.score(pieces) == pytest.approx(density.logpdf(expected).mean(), rel=1e-12)
    few = DenseLDS().fit(frame[:4])
    with pytest.raises(ValueError, match="noise_covariance is singular"):
        few.score(frame)
    structure = np.eye(3)
    sparse = SparsityEnforcingLDS(structure=structure).fit(frame)
    assert sparse.score(frame) < DenseLDS().fit(frame).score(frame)


def test_histories_of_every_kind():
    frame = frame_of_system(3, 100)
    learner = DenseLDS(lags=2).fit(frame)
    expected = learner.predict(frame, 3)
    assert list(expected.index) == list(pd.date_range(frame.index[-1], periods=4)[1:])
    np.testing.assert_allclose(learner.predict(frame.to_numpy(), 3), expected)
    np.testing.assert_allclose(learner.predict(frame.to_numpy()[-2:].tolist(), 3), expected)
    pd.testing.assert_frame_equal(learner.predict(frame[["b", "c", "a"]][-3:], 3), expected)
    timed = DenseLDS(lags=2, time_column="when").fit(frame.rename_axis("when").reset_index())
    history = pl.from_pandas(frame.rename_axis("when").reset_index())
    np.testing.assert_allclose(timed.predict(history, 3), expected)
    with pytest.raises(ValueError, match="last 2 rows"):
        learner.predict(frame[:1])
    with pytest.raises(ValueError, match="4 features"):
        learner.predict(np.ones((3, 4)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forbidden_edges": [(("a", 2), ("b", 0))]}, "unknown variables"),
        ({"forbidden_edges": [(("a", 0), ("b", 0))]}, r"one of the lags 1$"),
        ({"required_edges": [(("a", 1), ("b", 1))]}, r"\(\(source, lag\), \(target, 0\)\)"),
        ({"required_edges": ["ab"]}, "expected a"),
        (
            {"required_edges": [(("a", 1), ("b", 0))], "forbidden_edges": {(("a", 1), ("b", 0))}},
            "which forbidden_edges holds too",
        ),
    ],
)
def test_faults_of_edges(options, message):
    with pytest.raises(ValueError, match=message):
        DenseLDS(**options).fit(frame_of_system())


def draw_pairs(n, seed=0):
    """Return pairs of rows, one step apart, and the coefficients between them."""
    rng, coef = np.random.default_rng(seed), np.array([[0.5, 0.4, 0.0], [0.0, 0.5, 0.0], [0.0, 0.3, 0.4]])
    first = rng.standard_normal((n, 3))
    return first, first @ coef.T + 0.3 * rng.standard_normal((n, 3)), coef


def test_a_panel_of_pairs_is_a_regression():
    first, second, _ = draw_pairs(200)
    pairs = [np.stack(pair) for pair in zip(first, second, strict=True)]
    learner = DenseLDS(standardize=False).fit(pairs)
    np.testing.assert_allclose(learner.coef_, np.linalg.lstsq(first, second, rcond=None)[0].T, rtol=1e-8)
    assert learner.n_targets_ == 200
    assert learner.n_left_out_ == 0
    frame = pd.DataFrame(np.concatenate(pairs), columns=list("abc")).assign(group=np.repeat(np.arange(200), 2))
    grouped = DenseLDS(standardize=False, groups="group")
    pieces = clone(grouped).fit(iter([frame[:7], frame[7:100], frame[100:]]))
    np.testing.assert_allclose(grouped.fit(frame).coef_, learner.coef_, rtol=1e-10)
    np.testing.assert_allclose(pieces.coef_, learner.coef_, rtol=1e-8)
    dated = frame.assign(time=np.tile(pd.date_range("2020-01-01", periods=2), 200))
    np.testing.assert_allclose(grouped.set_params(time_column="time").fit(dated).coef_, learner.coef_, rtol=1e-10)


def test_other_learners_of_pairs():
    first, second, coef = draw_pairs(400)
    pairs = [np.stack(pair) for pair in zip(first, second, strict=True)]
    for learner in (SparsityInducingLDS(lam_ratio=0.2), KernelSVARM(instantaneous=False, lam_ratio=0.3)):
        edges = {(source, target) for (source, lag), (target, _) in learner.fit(pairs).graph_.edges}
        assert edges == {(f"x{source}", f"x{target}") for target, source in np.argwhere(coef).tolist()}
    with pytest.raises(ValueError, match="3 consecutive complete rows"):
        ScalableLDS().fit(pairs)

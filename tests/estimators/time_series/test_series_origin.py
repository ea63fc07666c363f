"""Seasons, steps and labels are those of the learned series, whatever part of it is asked about."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from pgmx.estimators import BlockBootstrap, DenseLDS, LinearSVARM, ScalableLDS

MONTHS = pd.date_range("2000-01-01", periods=240, freq="MS")
SEASONS = np.array([0.0, 5, 1, -3, 8, 2, -6, 4, 0, 7, -5, 3])


def seasonal_frame(index=MONTHS, noise=0.1):
    rng = np.random.default_rng(0)
    rows = SEASONS[np.arange(len(index)) % 12][:, None] * [1.0, -0.5] + noise * rng.standard_normal((len(index), 2))
    return pd.DataFrame(rows, columns=["a", "b"], index=index)


def learn(X, **options):
    return DenseLDS(seasonal_period=12, fit_intercept=True, **options).fit(X)


@pytest.mark.parametrize("start", [200, 203])
def test_scores_of_later_rows_count_seasons_from_the_learned_ones(start):
    frame = seasonal_frame()
    learner = learn(frame[:200])
    assert learner.score(frame[start:]) == pytest.approx(learner.score(frame[:200]), abs=0.5)
    structural = LinearSVARM(seasonal_period=12, instantaneous=False).fit(frame[:200])
    assert structural.score(frame[start:]) == pytest.approx(structural.score(frame[:200]), abs=0.5)


@pytest.mark.parametrize("index", [MONTHS, pd.RangeIndex(240)], ids=["months", "numbers"])
def test_panels_have_the_seasons_of_their_first_part(index):
    frame = seasonal_frame(index)
    learner = learn([frame[:103], frame[103:206]])
    assert np.diag(learner.noise_covariance_).max() < 0.02
    forecast = learner.predict(frame[100:206], 12)
    np.testing.assert_allclose(forecast, frame[206:218].to_numpy(), atol=1.0)


def test_grouped_series_are_forecast_from_rows_of_one():
    frame = seasonal_frame()
    both = pd.concat([frame[:100].assign(unit="u"), frame[:100].assign(unit="v")]).sort_index(kind="stable")
    learner = DenseLDS(lags=2, groups="unit").fit(both)
    with pytest.raises(ValueError, match="several series"):
        learner.predict(both.tail(2))


def test_rows_on_both_sides_of_a_gap_are_no_history():
    days = pd.date_range("2020-01-01", periods=60)
    frame = seasonal_frame(days, noise=1.0)
    learner = DenseLDS(lags=2, missing="drop").fit(frame)
    with pytest.raises(ValueError, match="do not follow each other"):
        learner.predict(frame.drop(days[58]))


HISTORIES = {
    "months": (MONTHS, 2, ["2020-01-01", "2020-02-01"]),
    "business days": (pd.bdate_range("2020-01-01", "2020-05-15"), 3, ["2020-05-18", "2020-05-19"]),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_few_rows_are_continued_by_the_learned_step(name):
    index, n_rows, expected = HISTORIES[name]
    frame = seasonal_frame(index)
    frame.index = pd.DatetimeIndex(index.to_numpy())  # without its frequency, as from a file
    forecast = DenseLDS(lags=2).fit(frame).predict(frame.tail(n_rows), 2)
    assert [str(label.date()) for label in forecast.index] == expected


def test_intervals_count_seasons_and_take_exogenous_rows():
    frame = seasonal_frame().assign(push=np.sin(np.arange(240.0)), month=MONTHS).reset_index(drop=True)
    frame["a"] += 3 * frame["push"]
    learner = learn(frame[:200], time_column="month", exogenous_columns=["push"])
    exogenous = frame[["push"]][200:224]
    lower, upper = learner.predict_interval(frame[:200], 24, 0.8, exogenous=exogenous)
    means = learner.predict(frame[:200], 24, exogenous=exogenous)
    pd.testing.assert_frame_equal((lower + upper) / 2, means)
    assert list(lower.index) == list(upper.index) == list(MONTHS[200:224])
    width = norm.ppf(0.9) * np.sqrt(learner.noise_covariance_.diagonal())
    np.testing.assert_allclose((upper - lower).iloc[0] / 2, width)
    actual = frame[["a", "b"]][200:224].to_numpy()
    assert 0.65 < ((lower.to_numpy() < actual) & (actual < upper.to_numpy())).mean() < 0.95
    with pytest.raises(ValueError, match="coverage must be"):
        learner.predict_interval(frame[:200], 24, coverage=1, exogenous=exogenous)


def test_periods_are_continued_by_their_distance():
    index = pd.PeriodIndex([pd.Period("2000-01", "M") + 3 * t for t in range(60)])
    forecast = DenseLDS().fit(seasonal_frame(index)).predict(seasonal_frame(index), 2)
    assert [str(label) for label in forecast.index] == ["2015-01", "2015-04"]


@pytest.mark.parametrize("size", [2, 5, 40])
def test_chunks_of_few_rows_have_the_step_of_the_whole(size):
    days = pd.bdate_range("2020-01-01", periods=100)
    frame = seasonal_frame(days, noise=1.0)
    frame.index = pd.DatetimeIndex(days.to_numpy())
    for table in (frame, frame.drop(days[1])):
        whole = DenseLDS(lags=2, missing="drop").fit(table)
        pieces = DenseLDS(lags=2, missing="drop").fit(table.iloc[t : t + size] for t in range(0, len(table), size))
        assert (pieces.n_targets_, pieces.n_left_out_) == (whole.n_targets_, whole.n_left_out_)
        np.testing.assert_allclose(pieces.coef_, whole.coef_, atol=1e-10)


def test_rows_of_several_series_are_no_times_of_one():
    frame = pd.concat([seasonal_frame(noise=1.0).assign(unit=unit) for unit in "uv"]).sort_index(kind="stable")
    frame = frame.reset_index(drop=True)
    whole = DenseLDS(groups="unit").fit(frame)
    pieces = DenseLDS(groups="unit").fit(frame[t : t + 160] for t in range(0, 480, 160))
    np.testing.assert_allclose(pieces.coef_, whole.coef_, atol=1e-10)


@pytest.mark.parametrize("labelled", [0, 1])
def test_chunks_with_times_and_chunks_without_are_refused(labelled):
    pieces = [seasonal_frame()[:100], seasonal_frame().reset_index(drop=True)[100:]]
    with pytest.raises(ValueError, match="neither times nor numbers"):
        DenseLDS().fit(iter([pieces[labelled], pieces[1 - labelled]]))


OTHER_UNITS = {
    "quarters": (pd.period_range("2000-01", periods=240, freq="M"), pd.period_range("2018Q1", periods=8, freq="Q")),
    "no time zone": (MONTHS.tz_localize("Europe/Paris"), MONTHS[-8:]),
    "a time zone": (MONTHS, MONTHS[-8:].tz_localize("Europe/Paris")),
    "days": (pd.date_range("2000-01-01", periods=240), pd.date_range("2000-01-01", periods=8, tz="UTC")),
}


@pytest.mark.parametrize("period", [None, 12])
@pytest.mark.parametrize("name", OTHER_UNITS)
def test_histories_in_another_unit_of_time_are_refused(name, period):
    learned, later = OTHER_UNITS[name]
    learner = DenseLDS(seasonal_period=period).fit(seasonal_frame(learned))
    with pytest.raises(ValueError, match="convert the index with (asfreq|tz_localize)") as error:
        learner.predict(seasonal_frame(later), 2)
    assert str(later[-1]) in str(error.value)
    assert len(learner.predict(seasonal_frame(learned[-8:]), 2)) == 2


def test_an_empty_panel_is_named():
    for nothing in ([], {}):
        with pytest.raises(ValueError, match="the panel holds no series"):
            DenseLDS().fit(nothing)


def test_a_perfect_fit_has_no_negative_variance():
    for seed in range(5):
        angles = np.arange(200.0) + seed
        rows = np.column_stack([np.sin(angles), np.cos(angles)])
        pieces = DenseLDS().fit(iter([rows[:90], rows[90:]]))
        assert (np.diag(pieces.noise_covariance_) >= 0).all()


def test_cells_of_arrays_are_named():
    rows = seasonal_frame().to_numpy(copy=True)
    for cell, word in ((np.nan, "NaN|missing"), (np.inf, "inf")):
        rows[5, 1] = cell
        with pytest.raises(ValueError, match=word) as error:
            DenseLDS().fit(rows)
        assert "x1" in str(error.value)


@pytest.mark.parametrize("learner", [DenseLDS(solver="svd"), ScalableLDS(n_seeds=1)])
def test_learners_that_need_rows_are_no_learners_of_blocks(learner):
    with pytest.raises(ValueError, match="needs the rows"):
        BlockBootstrap(learner).fit(seasonal_frame())

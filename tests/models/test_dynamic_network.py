"""Forecasts, likelihoods and draws of dynamic Bayesian networks against enumeration and dense matrices."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import TabularCPD

from pgmx.models import DiscreteBayesianNetwork, DynamicBayesianNetwork
from pgmx.models.time_series.dynamic import exact_rows
from tests.helpers.dynamic_networks import draw_dynamic_network
from tests.oracles.dynamic_networks import condition_joint, condition_normal, enumerate_series, solve_series

#: Variables and static columns, lags, and rows of the history.
DISCRETE = [
    ({"a": 3, "b": 2}, {"s": 2}, 1, 2),
    ({"a": 2, "b": 2}, {"s": 2}, 2, 3),
    ({"a": 2, "b": 2}, {}, 1, 2),
    ({"a": 2}, {"s": 2, "u": 2}, 3, 4),
]
GAUSSIAN = [({"a": 0, "b": 0}, {"s": 0, "u": 0}, 2, 5), ({"a": 0, "b": 0, "c": 0}, {}, 1, 4), ({"a": 0}, {}, 3, 6)]


def list_cases(*networks):
    """Return networks with and without prior and missing values: two cases by default, the others are slow."""
    options = [(True, 0.4), (False, 0.4), (False, 0.0), (True, 0.0)]
    return [
        pytest.param(*network, prior, share, marks=[pytest.mark.slow] if k or j > 1 else [])
        for own in networks
        for k, network in enumerate(own)
        for j, (prior, share) in enumerate(options)
    ]


def hide(rng, frame, columns, share):
    """Return a frame with missing values; static columns are missing in all rows of some series, or in none."""
    frame = frame.copy()
    for name in columns:
        frame[name] = frame[name].mask(rng.random(len(frame)) < share)
    return frame


def read_known(model, rows, codes):
    """Return the observed values of one series by their numbers in the oracle; `codes` maps states to numbers."""
    known = {}
    for v, name in enumerate(model.static_columns):
        values = rows[name].dropna()
        if len(values):
            known[v] = codes(values.iloc[0])
    for t in range(len(rows)):
        for v, name in enumerate(model.names):
            if not pd.isna(value := rows[name].iloc[t]):
                known[len(model.static_columns) + t * len(model.names) + v] = codes(value)
    return known


@pytest.mark.parametrize(("cards", "static", "lags", "n_rows", "prior", "share"), list_cases(DISCRETE))
def test_forecasts_of_states_equal_enumeration(cards, static, lags, n_rows, prior, share):
    rng = np.random.default_rng([n_rows, prior])
    model = draw_dynamic_network(rng, cards, lags, static, prior=prior)
    series = draw_dynamic_network(rng, cards, lags, static).simulate(n_rows, 3)
    history = hide(rng, series, cards if rng.random() < 0.5 else [*cards, *static], share)
    histories = {key: rows.drop(columns=["series", "time"]) for key, rows in history.groupby("series")}
    forecast = model.forecast(histories, steps=2)
    assert forecast.exact
    joint = enumerate_series(model, n_rows + 2)
    for key, rows in histories.items():
        shares, _ = condition_joint(joint, read_known(model, rows, int))
        for step in range(2):
            for v, name in enumerate(cards):
                axis = len(static) + (n_rows + step) * len(cards) + v
                expected = shares.sum(axis=tuple(set(range(shares.ndim)) - {axis}))
                found = forecast.values.loc[(key, step + 1), name]
                np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize(("cards", "static", "lags", "n_rows", "prior", "share"), list_cases(GAUSSIAN))
def test_forecasts_of_numbers_equal_dense_matrices(cards, static, lags, n_rows, prior, share):
    rng = np.random.default_rng([n_rows, prior])
    model = draw_dynamic_network(rng, cards, lags, static, prior=prior)
    series = draw_dynamic_network(rng, cards, lags, static).simulate(n_rows, 3)
    history = hide(rng, series, cards if rng.random() < 0.5 else [*cards, *static], share)
    histories = {key: rows.drop(columns=["series", "time"]) for key, rows in history.groupby("series")}
    values = model.forecast(histories, steps=2, coverage=0.95).values
    mean, covariance = solve_series(model, n_rows + 2)
    for key, rows in histories.items():
        means, variances, _ = condition_normal(mean, covariance, read_known(model, rows, float))
        for step in range(2):
            for v, name in enumerate(cards):
                number = len(static) + (n_rows + step) * len(cards) + v
                found = values.loc[(key, step + 1), name]
                assert found["mean"] == pytest.approx(means[number], rel=1e-9, abs=1e-9)
                assert found["std"] == pytest.approx(np.sqrt(variances[number]), rel=1e-9)
                assert found["upper"] == pytest.approx(means[number] + 1.959964 * found["std"], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("cards", "static", "lags", "n_rows", "prior", "share"), list_cases(DISCRETE, GAUSSIAN))
def test_log_likelihoods_equal_the_joint_distribution(cards, static, lags, n_rows, prior, share):
    rng = np.random.default_rng([n_rows, prior])
    model = draw_dynamic_network(rng, cards, lags, static, prior=prior)
    series = draw_dynamic_network(rng, cards, lags, static).simulate(n_rows, 3)
    series = hide(rng, series, cards, share)
    series.index = np.arange(len(series)) + 7
    is_discrete = all(cards.values())
    tables = {key: rows.drop(columns=["series", "time"]) for key, rows in series.groupby("series")}
    values = model.log_likelihood(tables)
    assert len(values) == 3 * (n_rows if prior else n_rows - lags)
    found = values.groupby(values.index // n_rows).sum()

    def log_density(rows):
        known = read_known(model, rows, int if is_discrete else float)
        if not known:
            return 0.0
        if is_discrete:
            return np.log(condition_joint(enumerate_series(model, n_rows), known)[1])
        return condition_normal(*solve_series(model, n_rows), known)[2]

    for key, rows in tables.items():
        given = rows.copy()
        given.iloc[0 if prior else lags :, given.columns.isin(list(cards))] = np.nan
        assert found[key] == pytest.approx(log_density(rows) - log_density(given), rel=1e-9)


@pytest.mark.parametrize("cards", [{"a": 3, "b": 2}, {"a": 0, "b": 0}, {"a": 2, "b": 0}])
def test_one_step_predictions_are_forecasts_of_the_rows_before(cards):
    rng = np.random.default_rng(5)
    model = draw_dynamic_network(rng, cards, 2, groups="id", time_column="time")
    series = model.simulate(7, 2)
    found = model.predict_proba(series)
    assert found.index.tolist() == [2, 3, 4, 5, 6, 9, 10, 11, 12, 13]
    for row in (2, 6, 12):
        start = row - row % 7
        forecast = model.forecast(series.iloc[start:row], n_samples=5000)
        expected = forecast.values.loc[:, found.columns].iloc[0]
        tolerance = {"rtol": 1e-10}
        if not forecast.exact:
            tolerance = {"rtol": 0.0, "atol": 5 * forecast.standard_error.max(axis=None)}
        np.testing.assert_allclose(found.loc[row], expected, **tolerance)
    if "a" in model.states:
        chosen = model.predict(series.iloc[:5])["a"].iloc[0]
        assert chosen == found.loc[5, "a"].idxmax()
    # a row of missing values changes only what depends on it
    if not (model.states and model.continuous):
        broken = series.copy()
        broken.loc[4, list(cards)] = np.nan
        other = model.predict_proba(broken)
        pd.testing.assert_frame_equal(other.loc[:4], found.loc[:4])
        pd.testing.assert_frame_equal(model.predict_proba(series.drop(index=4)).loc[5:], other.loc[5:])


@pytest.mark.parametrize("cards", [{"a": 3, "b": 2}, {"a": 0, "b": 0}])
def test_simulated_forecasts_are_within_their_standard_errors(cards, monkeypatch):
    rng = np.random.default_rng(3)
    model = draw_dynamic_network(rng, cards, 2, {"s": 2} if all(cards.values()) else {})
    history = model.simulate(4, 2).drop(columns="time")
    tables = [rows.drop(columns="series") for _, rows in history.groupby("series")]
    exact = model.forecast(tables, 3)
    monkeypatch.setattr("pgmx.models.time_series.dynamic.forecasts.choose_filter", lambda slices: None)
    del model._filter
    values, errors = model.forecast(tables, 3, n_samples=5000)
    assert errors is not None and (errors.to_numpy() > 0).all()
    distance = np.abs((values - exact.values) / errors).to_numpy()
    assert distance.max() < 4.5 and 0.3 < np.sqrt((distance**2).mean()) < 1.7


@pytest.mark.slow
def test_large_networks_are_simulated(monkeypatch):
    rng = np.random.default_rng(0)
    model = draw_dynamic_network(rng, {f"x{k}": 3 for k in range(40)}, 1, most=3)
    history = model.simulate(2).drop(columns=["series", "time"])
    assert not model.forecast(history, 1, n_samples=100).exact
    one_step = model.predict_proba(history.assign(x3=np.nan).iloc[:0])
    assert one_step.empty
    with pytest.raises(ValueError, match=r"missing value in column 'x3', row 1 .* fill it"):
        model.forecast(history.assign(x3=[history["x3"].iloc[0], None]))
    monkeypatch.setattr(exact_rows, "MOST_STATES", 3**40)
    monkeypatch.setattr(exact_rows, "MOST_CELLS", 10)
    assert exact_rows.choose_filter(model._slices) is None


@pytest.mark.parametrize("cards", [{"a": 3, "b": 2}, {"a": 0, "b": 0}, {"a": 2, "b": 0}])
def test_draws_follow_the_likelihood(cards):
    rng = np.random.default_rng(11)
    model = draw_dynamic_network(rng, cards, 2, {"s": 2}, groups="series", time_column="time")
    series = model.simulate(5, 200)
    assert series.columns.tolist() == ["series", "time", "s", "a", "b"]
    assert series["time"].tolist()[:6] == [0, 1, 2, 3, 4, 0]
    # rows of another network are less likely, by the divergence
    other = draw_dynamic_network(rng, cards, 2, {"s": 2}, groups="series", time_column="time")
    assert model.score(series) > other.score(series)
    start = series[series["series"] < 3]
    continued = model.simulate(2, 1500, history=start)
    forecast = model.forecast(start, 2, n_samples=1500)
    for name, states in model.states.items():
        if name == "s":
            continue
        for key in range(3):
            rows = continued[(continued["series"] % 3 == key) & (continued["time"] == 1)]
            share = (rows[name] == states[0]).mean()
            assert share == pytest.approx(forecast.values.iloc[2 * key + 1][name, states[0]], abs=0.08)
    assert model.simulate(0, 3).shape == (0, 5)
    pd.testing.assert_frame_equal(model.simulate(3, 2, 4), model.simulate(3, 2, seed=4))


def test_a_series_may_begin_with_the_forecast():
    model = draw_dynamic_network(np.random.default_rng(2), {"a": 2, "b": 3}, 2, {"s": 2})
    joint = enumerate_series(model, 3)
    nothing = model.simulate(0).drop(columns=["series", "time"])
    values = model.forecast(nothing, 3).values
    for t in range(3):
        expected = joint.sum(axis=tuple(set(range(joint.ndim)) - {1 + 2 * t + 1}))
        np.testing.assert_allclose(values["b"].iloc[t], expected)


def test_times_continue_and_gaps_are_summed_out():
    model = draw_dynamic_network(np.random.default_rng(4), {"a": 2, "b": 2}, 1, time_column="day", groups="id")
    series = model.simulate(6, 2)
    series["day"] = pd.Timestamp("2025-03-01") + pd.to_timedelta(series["day"], unit="D")
    forecast = model.forecast(series, 2).values
    assert forecast.index.names == ["id", "day"]
    assert forecast.index[0] == (0, pd.Timestamp("2025-03-07"))
    broken = series.assign(a=series["a"].mask(series.index == 5), b=series["b"].mask(series.index == 5))
    gap = pd.concat([series.iloc[:5], series.iloc[6:]])
    pd.testing.assert_frame_equal(model.log_likelihood(gap).to_frame(), model.log_likelihood(broken).drop(5).to_frame())
    with pytest.raises(ValueError, match=r"times of the series 0 do not increase"):
        model.forecast(series.iloc[::-1].assign(id=0))
    # groups may be mixed, and a table per group gives the same
    mixed = series.sort_values("day", kind="stable")
    pd.testing.assert_frame_equal(model.forecast(mixed, 2).values, forecast)


def tabular(name, table, parents=(), states=("no", "yes")):
    names = {label: list(states) for label in (name, *parents)}
    return TabularCPD(name, len(states), table, list(parents), [len(states)] * len(parents), state_names=names)


def make_rain(*cpds):
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(cpd.variable for cpd in cpds)
    network.add_edges_from((p, cpd.variable) for cpd in cpds for p in cpd.variables[1:])
    network.add_cpds(*cpds)
    return network


PAST = tabular("rain@t-1", [[0.75], [0.25]])
PRESENT = tabular("rain@t-0", [[0.9, 0.3], [0.1, 0.7]], ["rain@t-1"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DynamicBayesianNetwork(make_rain(PAST)), "no column of the present"),
        (lambda: DynamicBayesianNetwork(make_rain(PAST, PRESENT), 2), r"lacks the column\(s\) 'rain@t-2'"),
        (lambda: DynamicBayesianNetwork(make_rain(PAST, PRESENT, tabular("x", [[1.0], [0.0]]))), "column.*'x'"),
        (lambda: DynamicBayesianNetwork(make_rain(PAST, PRESENT), static_columns=["s"]), "lacks the column.*'s'"),
        (
            lambda: DynamicBayesianNetwork(
                make_rain(
                    tabular("rain@t-1", [[0.5, 0.5], [0.5, 0.5]], ["rain@t-0"]), tabular("rain@t-0", [[0.5], [0.5]])
                )
            ),
            "'rain@t-0' -> 'rain@t-1' leads back in time",
        ),
        (
            lambda: DynamicBayesianNetwork(
                make_rain(PAST, PRESENT), prior=make_rain(tabular("rain@t-1", [[0.5], [0.5]], states=["yes", "no"]))
            ),
            "same states, in the same order",
        ),
        (lambda: DynamicBayesianNetwork(make_rain(PAST, PRESENT), prior=make_rain(PRESENT, PAST)), "prior network has"),
        (lambda: DynamicBayesianNetwork("rain"), "transition must be"),
    ],
)
def test_networks_that_contradict_each_other_are_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_bad_tables_are_named():
    model = DynamicBayesianNetwork(make_rain(PAST, PRESENT))
    for rows, message in (
        (pd.DataFrame({"rain": ["no", "dry"]}), "'dry'"),
        (pd.DataFrame({"sun": ["no"]}), "'sun'"),
        (pd.DataFrame({"rain": []}), "at least the last 1 row"),
        (np.full((2, 2), "no"), "one column for each"),
    ):
        with pytest.raises(ValueError, match=message):
            model.forecast(rows)
    with pytest.raises(TypeError, match="must be rows"):
        model.forecast(None)
    with pytest.raises(ValueError, match="no prior"):
        model.simulate(3)
    certain = DynamicBayesianNetwork(make_rain(PAST, tabular("rain@t-0", [[1.0, 0.3], [0.0, 0.7]], ["rain@t-1"])))
    assert certain.log_likelihood(np.array([["no"], ["yes"], ["yes"]])).tolist() == [-np.inf, np.log(0.7)]
    static = draw_dynamic_network(np.random.default_rng(0), {"a": 2}, 1, {"s": 2}, groups="id")
    with pytest.raises(ValueError, match=r"'s' of history changes in the series 4"):
        static.forecast(pd.DataFrame({"id": [4, 4], "a": ["0", "1"], "s": ["0", "1"]}))

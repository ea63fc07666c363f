"""Structural equations from windows: results, options, input and laws."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgmx.datasets import kronecker_coefficients, switching_series
from pgmx.estimators import IdentifiabilityWarning, TensorSEM
from pgmx.metrics import edge_error_rate
from pgmx.plotting import plot_history

MODES = ["known", "partial", "blind"]
NAMES = list("abcdef")


def make_series(seed=0, n=4, n_windows=8, window=300):
    """Return coefficients, rows and powers; an edge for each pair of neighbours, in a cycle."""
    rng = np.random.default_rng(seed)
    coef = np.roll(np.diag(rng.uniform(0.3, 0.6, n)), 1, axis=1)
    return coef, switching_series(coef, n_windows, window, noise=0.05, random_state=seed)


def fit(mode, drawn, seed=0, **options):
    powers = drawn.exogenous_power
    if mode == "partial":
        powers = np.where(np.random.default_rng(seed).random(powers.shape) < 0.5, np.nan, powers)
    learner = TensorSEM(exogenous=mode, **{"window": 300, **options})
    return learner.fit(drawn.series, exogenous_power=None if mode == "blind" else powers)


@pytest.mark.parametrize("mode", MODES)
def test_results(mode):
    coef, drawn = make_series()
    learner = fit(mode, drawn)
    assert np.abs(learner.coef_ - coef).max() < 0.08
    assert set(learner.graph_.instantaneous_edges) == {((f"x{(i + 1) % 4}", 0), (f"x{i}", 0)) for i in range(4)}
    weights = learner.graph_.to_arrays()[0]
    np.testing.assert_array_equal(weights[weights != 0], learner.coef_[weights != 0])
    assert learner.converged_
    assert learner.window_lengths_.tolist() == [300] * 8
    errors = learner.standard_errors_
    assert not np.diag(errors).any()
    assert (errors[~np.eye(4, dtype=bool)] > 0).all()
    strength = drawn.exogenous_power * drawn.gain**2  # what is identified without the powers
    np.testing.assert_allclose(learner.exogenous_power_ * learner.gain_**2, strength, rtol=0.25)
    assert (learner.gain_ == 1.0).all() == (mode == "blind")
    assert "objective_" in vars(learner)


@pytest.mark.parametrize("mode", MODES)
def test_edges_of_the_source_s_graph(mode):
    """64 nodes, 20 windows of 1,000 rows: no edge is wrong (the least squares of the source have 5 to 80 % wrong)."""
    coef = kronecker_coefficients(random_state=1)
    learner = fit(mode, switching_series(coef, 20, 1000, random_state=1), window=1000)
    assert edge_error_rate(np.abs(learner.coef_) > 0.1, coef) <= 0.0005


def test_log_likelihood_is_that_of_the_rows():
    _, drawn = make_series(n=3, n_windows=4)
    learner = fit("known", drawn, standardize=False)
    mixing = np.linalg.inv(np.eye(3) - learner.coef_) * learner.gain_
    total = 0.0
    for rows, power in zip(np.split(drawn.series, 4), drawn.exogenous_power, strict=True):
        covariance = (mixing * power) @ mixing.T
        forms = np.einsum("ti,ij,tj->t", rows, np.linalg.inv(covariance), rows)
        total += -0.5 * (forms + np.linalg.slogdet(2.0 * np.pi * covariance)[1]).sum()
    assert learner.objective_ == pytest.approx(total / len(drawn.series), rel=1e-10)


@pytest.mark.parametrize("method", ["khatri-rao", "als"])
def test_methods_of_the_source(method):
    coef, drawn = make_series(window=4000)
    learner = fit("known", drawn, method=method, window=4000, max_iter=3000, tol=1e-9)
    assert np.abs(learner.coef_ - coef).max() < 0.12
    assert learner.standard_errors_ is None
    assert 0.0 <= learner.objective_ < 0.05


def test_proportional_powers_are_warned_of():
    coef, _ = make_series()
    drawn = switching_series(coef, 8, 300, same_power=True)
    with pytest.warns(IdentifiabilityWarning, match=r"not identifiable: columns \('x0', 'x1'\)"):
        learner = fit("blind", drawn)
    assert learner.identifiability_.min() < 0.05


def test_a_threshold_on_standard_errors():
    coef, drawn = make_series(window=1000)
    learner = fit("blind", drawn, edge_statistic="z", threshold=4.0, window=1000)
    np.testing.assert_array_equal(learner.graph_.to_arrays(None)[0], coef != 0)
    z = np.abs(learner.coef_) / np.where(learner.standard_errors_ > 0, learner.standard_errors_, np.inf)
    np.testing.assert_allclose(learner.graph_.to_arrays("strength")[0], np.where(z > 4.0, z, 0.0))


def test_a_relative_threshold_is_a_tenth_of_the_largest():
    _, drawn = make_series()
    learner = fit("blind", drawn, threshold="relative")
    scales = drawn.series.std(axis=0)
    strengths = np.abs(learner.coef_) * scales / scales[:, None]
    np.testing.assert_array_equal(learner.graph_.to_arrays(None)[0], strengths > 0.1 * strengths.max())
    assert learner.history_["n_edges"][-1] == len(learner.graph_.edges)


def test_the_gradient_vanishes():
    """The last gradient norm is that of numerical differences of the likelihood; it is drawn on a logarithmic axis."""
    _, drawn = make_series()
    learner = fit("blind", drawn)
    norms = learner.history_["gradient_norm"]
    assert norms[-1] < 1e-3 * norms[0] and len(norms) == len(learner.history_["objective"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stopped = fit("blind", drawn, callback=lambda progress: True)
    covariances = [part.T @ part / 300 for part in np.split(drawn.series, 8)]
    rows = np.eye(4) - stopped.coef_
    rows /= np.sqrt(np.mean([np.diag(rows @ moments @ rows.T) for moments in covariances], axis=0))[:, None]

    def compute_likelihood(w):
        powers = [np.log(np.diag(w @ moments @ w.T)).sum() for moments in covariances]
        return np.linalg.slogdet(w)[1] - np.mean(powers) / 2

    gradient = np.zeros_like(rows)
    for i, j in np.argwhere(~np.eye(len(rows), dtype=bool)):
        change = np.zeros_like(rows)
        change[i, j] = 1e-5
        ends = [compute_likelihood(rows + sign * change @ rows) for sign in (1, -1)]
        gradient[i, j] = (ends[0] - ends[1]) / 2e-5
    assert np.linalg.norm(gradient) == pytest.approx(stopped.history_["gradient_norm"][-1], rel=1e-3)
    assert plot_history(learner, measures="gradient_norm").get_yscale() == "log"


@pytest.mark.parametrize("options", [{"exogenous": "known"}, {"exogenous": "blind"}, {"method": "als", "tol": 1e-5}])
def test_the_most_frequent_edges_of_random_starts_are_chosen(options):
    _, drawn = make_series()
    powers = None if options.get("exogenous") == "blind" else drawn.exogenous_power

    def learn(**others):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IdentifiabilityWarning)
            return TensorSEM(window=300, **options, **others).fit(drawn.series, exogenous_power=powers)

    learner = learn(n_starts=5)
    counts = [count for count, _ in learner.votes_]
    assert sum(counts) == 5
    assert counts == sorted(counts, reverse=True)
    np.testing.assert_array_equal(learner.votes_[0][1], learner.graph_.to_arrays(None)[0])
    if "method" not in options:
        single = learn()
        assert single.votes_[0][0] == 1
        np.testing.assert_allclose(learner.coef_, single.coef_, atol=1e-5)
    fewer = learn(n_starts=2)
    assert fewer.n_iter_ < learner.n_iter_
    assert not (learn(n_starts=2, random_state=7).coef_ == fewer.coef_).all()


def test_a_vote_prefers_the_majority_to_the_best_objective():
    """Starts that end after one sweep differ: the chosen one has the most frequent edges, and of these the best."""
    _, drawn = make_series(n=3, window=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"exogenous": "blind", "window": 100, "max_iter": 1, "threshold": 0.3}
        learner = TensorSEM(n_starts=8, **options).fit(drawn.series)
        ones = [_fit_start(learner, drawn, number) for number in range(8)]
    keys = [one.graph_.to_arrays(None)[0].tobytes() for one in ones]
    assert len(set(keys)) > 1
    most = max(keys.count(key) for key in keys)
    assert learner.votes_[0][0] == most
    best = max(one.objective_ for one, key in zip(ones, keys, strict=True) if keys.count(key) == most)
    assert learner.objective_ == best


def _fit_start(learner, drawn, number):
    """Return the estimate from one of the random starts alone."""
    starts = list(learner._draw_starts(3))
    one = TensorSEM(**learner.get_params())
    one._draw_starts = lambda n: iter([starts[number]])
    return one.fit(drawn.series)


def test_windows_boundaries_and_panels_are_the_same():
    _, drawn = make_series(n_windows=6, window=200)
    rows, powers = drawn.series, drawn.exogenous_power
    expected = TensorSEM(window=200).fit(rows, exogenous_power=powers).coef_
    parts = np.split(rows, 6)
    for data, options in (
        (rows, {"boundaries": [200, 400, 600, 800, 1000]}),
        (parts, {}),
        ({str(k): part for k, part in enumerate(parts)}, {"window": 200}),
        ([rows[:400], rows[400:]], {"boundaries": [200, 400, 600, 800, 1000]}),
    ):
        coef = TensorSEM(**options).fit(data, exogenous_power=powers).coef_
        np.testing.assert_allclose(coef, expected, atol=1e-12)  # sums over all rows differ in their last bits


@pytest.mark.filterwarnings("ignore::pgmx.estimators.IdentifiabilityWarning")
def test_the_rows_beyond_whole_windows_belong_to_the_last():
    _, drawn = make_series()
    assert fit("blind", drawn, window=700).window_lengths_.tolist() == [700, 700, 1000]


def test_missing_rows_split_a_window():
    _, drawn = make_series()
    frame = pd.DataFrame(drawn.series, columns=NAMES[:4])
    frame.iloc[350, 1] = np.nan
    learner = TensorSEM(exogenous="blind", window=300, missing="drop").fit(frame)
    assert learner.n_left_out_ == 1
    assert learner.window_lengths_.sum() == 2399
    with pytest.raises(ValueError, match="missing"):
        TensorSEM(exogenous="blind", window=300).fit(frame)
    with pytest.raises(ValueError, match="1 rows are left out"):
        TensorSEM(exogenous="blind", boundaries=[300], missing="drop").fit(frame)
    with pytest.raises(ValueError, match="1 rows are left out"):
        TensorSEM(window=300, missing="drop").fit(frame, exogenous_power=drawn.exogenous_power)


def test_a_gap_near_an_end_is_named_with_its_remedy():
    _, drawn = make_series()
    rows = drawn.series.copy()
    rows[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"window 0 has 3 rows for 4 series.* 1 rows .*fill these values, or remove"):
        TensorSEM(exogenous="blind", window=300, missing="drop").fit(rows)
    learner = TensorSEM(exogenous="blind", window=300).fit([rows[4:]])
    assert learner.window_lengths_.tolist() == [300] * 6 + [596]


def test_an_intercept_is_that_of_the_means():
    coef, drawn = make_series(window=1000)
    level = np.array([5.0, -3.0, 100.0, 0.5])
    learner = fit("blind", drawn._replace(series=drawn.series + level), fit_intercept=True, window=1000)
    assert np.abs(learner.coef_ - coef).max() < 0.05
    means = (drawn.series + level).mean(axis=0)
    np.testing.assert_allclose(learner.intercept_ + learner.coef_ @ means, means, rtol=1e-10)


def test_powers_as_a_frame_go_by_name():
    _, drawn = make_series()
    frame = pd.DataFrame(drawn.series, columns=NAMES[:4])
    powers = pd.DataFrame(drawn.exogenous_power, columns=NAMES[:4])
    first = TensorSEM(window=300).fit(frame, exogenous_power=powers)
    second = TensorSEM(window=300).fit(frame, exogenous_power=powers[list("dbca")])
    np.testing.assert_array_equal(first.coef_, second.coef_)


@settings(max_examples=8)
@given(st.permutations(range(4)), st.lists(st.floats(0.001, 1000.0), min_size=4, max_size=4), st.sampled_from(MODES))
def test_laws_of_order_and_units(order, scales, mode):
    """Series in another order give the same answer in that order; a series times a number scales coefficients."""
    _, drawn = make_series(n_windows=5, window=100)
    powers = drawn.exogenous_power.copy()
    powers[1::2, 0] = np.nan if mode == "partial" else powers[1::2, 0]
    scales = np.array(scales)
    options = {"exogenous": mode, "window": 100}
    one, other = TensorSEM(**options), TensorSEM(**options)
    one.fit(drawn.series, exogenous_power=None if mode == "blind" else powers)
    moved = (drawn.series * scales)[:, order]
    other.fit(moved, exogenous_power=None if mode == "blind" else powers[:, order])
    expected = (one.coef_ * scales[:, None] / scales)[np.ix_(order, order)]
    sizes = (scales[:, None] / scales)[np.ix_(order, order)]
    np.testing.assert_allclose(other.coef_ / sizes, expected / sizes, atol=1e-5)
    edges = {(order[int(s[1:])], order[int(t[1:])]) for (s, _), (t, _) in other.graph_.edges}
    assert edges == {(int(s[1:]), int(t[1:])) for (s, _), (t, _) in one.graph_.edges}


@pytest.mark.parametrize(
    ("options", "powers", "text"),
    [
        ({}, None, "exogenous='known' needs exogenous_power"),
        ({"exogenous": "blind"}, np.ones((8, 4)), "does not use exogenous_power"),
        ({}, np.ones((7, 4)), r"must have the shape \(8, 4\)"),
        ({}, np.full((8, 4), np.nan), "NaN for 'x0' in window 0"),
        ({}, np.zeros((8, 4)), "must be positive"),
        ({"window": None}, np.ones((8, 4)), "neither window nor boundaries"),
        ({"boundaries": [3]}, np.ones((8, 4)), "both window=300 and boundaries"),
        ({"window": None, "boundaries": [9, 3]}, np.ones((3, 4)), "must increase"),
        ({"window": None, "boundaries": [2400]}, np.ones((2, 4)), "below the 2400 rows"),
        ({"exogenous": "blind", "window": 4}, None, "window 0 has 4 rows for 4 series"),
        ({"exogenous": "blind", "method": "khatri-rao"}, None, "needs exogenous='known'"),
        ({"method": "khatri-rao", "n_starts": 2}, np.ones((8, 4)), "has no start"),
        ({"n_starts": 0}, np.ones((8, 4)), "n_starts"),
        ({"threshold": "largest"}, np.ones((8, 4)), "threshold"),
        ({"exogenous": "blind", "method": "als", "edge_statistic": "z"}, None, "needs standard errors"),
    ],
)
def test_bad_input(options, powers, text):
    _, drawn = make_series()
    with pytest.raises(ValueError, match=text):
        TensorSEM(**{"window": 300, **options}).fit(drawn.series, exogenous_power=powers)


def test_a_silent_series_is_named():
    _, drawn = make_series()
    rows = drawn.series.copy()
    rows[300:600, 2] = 0.0
    with pytest.raises(ValueError, match="'x2' is zero in all rows of window 1"):
        TensorSEM(exogenous="blind", window=300).fit(rows)


def test_too_few_sweeps_are_warned_of():
    from sklearn.exceptions import ConvergenceWarning

    _, drawn = make_series()
    with pytest.warns(ConvergenceWarning, match="did not reach tol"):
        assert not fit("blind", drawn, max_iter=1).converged_

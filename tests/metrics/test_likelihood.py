"""Log-likelihood of rows under a network."""

import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.models import LinearGaussianBayesianNetwork
from scipy.stats import multivariate_normal, norm

from helpers.bayesian_networks import random_network
from pgmx.data import encode
from pgmx.datasets import load_network, sample
from pgmx.metrics import held_out_log_likelihood


def row_log_likelihoods(model, frame):
    """Each row by itself, from the tables' entries."""
    logs = []
    for row in frame.astype(object).to_dict("records"):
        terms = [
            cpd.values[tuple(cpd.state_names[name].index(row[name]) for name in cpd.variables)] for cpd in model.cpds
        ]
        logs.append(sum(math.log(p) if p > 0 else -math.inf for p in terms))
    return np.array(logs)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from([0.0, 0.3]))
def test_total_is_the_sum_over_rows(seed, n, zeros):
    rng = np.random.default_rng(seed)
    model = random_network(rng, n, zeros=zeros)
    cards = [int(model.get_cardinality(f"v{v}")) for v in range(n)]
    frame = pd.DataFrame({f"v{v}": rng.integers(0, cards[v], 40) for v in rng.permutation(n)})
    expected = row_log_likelihoods(model, frame)
    found = held_out_log_likelihood(model, frame)
    possible = expected[expected > -np.inf]
    assert found.n_rows == 40
    assert found.n_impossible == 40 - possible.size == np.count_nonzero(expected == -np.inf)
    assert found.total == pytest.approx(expected.sum(), rel=1e-10)
    assert found.mean == pytest.approx(expected.mean(), rel=1e-10)
    assert bool(found.impossible) == bool(found.n_impossible)
    if possible.size:
        assert found.possible_mean == pytest.approx(possible.mean(), rel=1e-10)
    else:
        assert math.isnan(found.possible_mean)


def test_a_coded_table_and_a_frame_give_the_same_and_rows_may_be_many():
    model = load_network("asia")
    frame = sample(model, 40_000, random_state=3)
    found = held_out_log_likelihood(model, frame)
    assert held_out_log_likelihood(model, encode(frame)) == found
    parts = [held_out_log_likelihood(model, frame.iloc[begin : begin + 10_000]) for begin in range(0, 40_000, 10_000)]
    assert sum(part.total for part in parts) == pytest.approx(found.total, rel=1e-12)
    assert found.total == pytest.approx(row_log_likelihoods(model, frame.iloc[:500]).sum() * 80, rel=0.1)


def test_unknown_states_are_counted_where_they_stand():
    model = load_network("cancer")
    frame = sample(model, 50, random_state=2).astype(str)
    frame.loc[[3, 7], "Smoker"] = "sometimes"
    frame.loc[7, "Xray"] = "lost"
    found = held_out_log_likelihood(model, frame)
    assert (found.mean, found.total, found.n_impossible) == (-np.inf, -np.inf, 2)
    assert found.impossible == {"Smoker": 2, "Xray": 1}
    rest = frame.drop(index=[3, 7])
    assert found.possible_mean == pytest.approx(held_out_log_likelihood(model, rest).mean, rel=1e-12)


def test_numbers_that_a_file_turned_into_text_are_explained():
    model = random_network(np.random.default_rng(0), 2, cards=[2, 2])
    as_text = model.copy()
    for cpd in as_text.get_cpds():
        cpd.state_names = {name: [str(state) for state in states] for name, states in cpd.state_names.items()}
        cpd.store_state_names(cpd.variables, cpd.cardinality, cpd.state_names)
    frame = pd.DataFrame({"v0": [0, 1, 1], "v1": [1, 0, 1]})
    with pytest.raises(
        ValueError, match=r"column 'v0' holds 0, 1, but the network has these states as text: .*astype\(str\)"
    ):
        held_out_log_likelihood(as_text, frame)
    assert held_out_log_likelihood(as_text, frame.astype(str)) == held_out_log_likelihood(model, frame)


def test_missing_values_are_refused_or_dropped():
    model = load_network("cancer")
    frame = sample(model, 20, random_state=1).astype(object)
    frame.loc[4, "Smoker"] = None
    with pytest.raises(ValueError, match="missing values"):
        held_out_log_likelihood(model, frame)
    assert held_out_log_likelihood(model, frame, missing="drop").n_rows == 19


def sum_over_completions(model, row):
    """The probability of a row with missing values (None): the sum over all rows that it may be."""
    states = {name: model.get_cpds(name).state_names[name] if row[name] is None else [row[name]] for name in row}
    rows = pd.DataFrame(list(product(*states.values())), columns=list(states))
    return np.exp(row_log_likelihoods(model, rows)).sum()


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.sampled_from([0.0, 0.3]), st.sampled_from([0.2, 0.6]))
def test_observed_cells_have_the_sum_over_the_hidden_ones(seed, n, zeros, share):
    rng = np.random.default_rng(seed)
    model = random_network(rng, n, zeros=zeros)
    cards = [int(model.get_cardinality(f"v{v}")) for v in range(n)]
    frame = pd.DataFrame({f"v{v}": rng.integers(0, cards[v], 20) for v in rng.permutation(n)}, dtype=object)
    frame = frame.mask(rng.random(frame.shape) < share, None)
    sums = np.array([sum_over_completions(model, row) for row in frame.to_dict("records")])
    found = held_out_log_likelihood(model, frame, missing="observed")
    assert (found.n_rows, found.n_impossible) == (20, np.count_nonzero(sums == 0.0))
    assert found.possible_mean * np.count_nonzero(sums) == pytest.approx(np.log(sums[sums > 0]).sum(), rel=1e-10)
    assert (found.total == -np.inf) == bool(found.n_impossible)
    coded = encode(frame, missing="pairwise")
    assert held_out_log_likelihood(model, coded, missing="observed") == found


def test_rows_that_know_everything_or_nothing():
    model = load_network("asia")
    frame = sample(model, 3000, random_state=1)
    whole = held_out_log_likelihood(model, frame)
    assert held_out_log_likelihood(model, frame, missing="observed").total == pytest.approx(whole.total, rel=1e-12)
    part = frame.astype(object)
    part.iloc[:1000] = None
    rest = held_out_log_likelihood(model, frame.iloc[1000:])
    found = held_out_log_likelihood(model, part, missing="observed")
    assert (found.total, found.n_rows) == (pytest.approx(rest.total, rel=1e-12), 3000)


def test_unknown_states_beside_missing_values_are_named():
    model = load_network("cancer")
    frame = sample(model, 50, random_state=2).astype(str)
    frame.loc[[3, 7], "Smoker"] = "sometimes"
    frame.loc[7:9, "Xray"] = None
    found = held_out_log_likelihood(model, frame, missing="observed")
    assert (found.mean, found.n_impossible, found.impossible) == (-np.inf, 2, {"Smoker": 2})


def test_observed_numbers_have_their_marginal_density(gaussian, rng):
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["c", "a", "b"]).mask(rng.random((60, 3)) < 0.4)
    place = {"a": 0, "b": 1, "c": 2}
    mean = np.array([1.0, -1.0, 0.25 + 3.0 + 2.0])
    covariance = np.array([[4.0, 0.0, 12.0], [0.0, 0.25, -0.5], [12.0, -0.5, 36.0 + 1.0 + 2.25]])
    expected = 0.0
    for _, row in frame.iterrows():
        known = [place[name] for name in frame if not np.isnan(row[name])]
        if known:
            values = [row[name] for name in frame if not np.isnan(row[name])]
            expected += multivariate_normal.logpdf(values, mean[known], covariance[np.ix_(known, known)])
    found = held_out_log_likelihood(gaussian, frame, missing="observed")
    assert found.total == pytest.approx(expected, rel=1e-10)
    with pytest.raises(ValueError, match="missing must be one of 'error', 'drop', 'observed', got 'pairwise'"):
        held_out_log_likelihood(gaussian, frame, missing="pairwise")


@pytest.fixture
def gaussian():
    model = LinearGaussianBayesianNetwork([("a", "c"), ("b", "c")])
    model.add_cpds(
        LinearGaussianCPD("a", [1.0], 2.0),
        LinearGaussianCPD("b", [-1.0], 0.5),
        LinearGaussianCPD("c", [0.25, 3.0, -2.0], 1.5, ["a", "b"]),
    )
    return model


def test_gaussian_networks(gaussian, rng):
    frame = pd.DataFrame(rng.normal(size=(30, 3)), columns=["c", "a", "b"])
    expected = (
        norm.logpdf(frame["a"], 1.0, 2.0)
        + norm.logpdf(frame["b"], -1.0, 0.5)
        + norm.logpdf(frame["c"], 0.25 + 3.0 * frame["a"] - 2.0 * frame["b"], 1.5)
    )
    found = held_out_log_likelihood(gaussian, frame)
    assert found.total == pytest.approx(expected.sum(), rel=1e-10)
    assert (found.n_rows, found.n_impossible, found.impossible) == (30, 0, {})


def test_a_gaussian_without_spread_or_parameters_is_refused(gaussian):
    frame = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 2.0], "c": [0.5, 0.25]})
    gaussian.get_cpds("b").std = 0.0
    with pytest.raises(ValueError, match="the standard deviation of 'b' is 0.0"):
        held_out_log_likelihood(gaussian, frame)
    gaussian.remove_cpds("b")
    with pytest.raises(ValueError, match="node 'b' has no parameters"):
        held_out_log_likelihood(gaussian, frame)


def test_columns_must_be_the_variables(gaussian):
    model = load_network("cancer")
    frame = sample(model, 5)
    with pytest.raises(ValueError, match="only in the network: 'Smoker'; only in X: 'Smoke'"):
        held_out_log_likelihood(model, frame.rename(columns={"Smoker": "Smoke"}))
    with pytest.raises(ValueError, match="only in X: 'd'"):
        held_out_log_likelihood(gaussian, pd.DataFrame(np.eye(4), columns=list("abcd")))
    with pytest.raises(TypeError, match="model must be a fitted pgmpy DiscreteBayesianNetwork, got dict"):
        held_out_log_likelihood({}, frame)


def test_neither_model_nor_frame_is_changed():
    model = load_network("cancer")
    frame = sample(model, 20)
    before, cells = [cpd.copy() for cpd in model.get_cpds()], frame.copy()
    held_out_log_likelihood(model, frame)
    assert before == model.get_cpds()
    pd.testing.assert_frame_equal(frame, cells)


def test_marked_missing_values_are_refused():
    model = load_network("cancer")
    frame = sample(model, 20).astype(object)
    frame.iloc[3, 0] = None
    with pytest.raises(ValueError, match=f"marked .* in column.* {frame.columns[0]!r}: the likelihood of a row needs"):
        held_out_log_likelihood(model, encode(frame, missing="pairwise"))

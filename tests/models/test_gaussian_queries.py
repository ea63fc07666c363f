"""What a Gaussian network says: predictions, parts, rows and likelihoods, against dense formulas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from helpers.examples import examples
from helpers.gaussian_networks import conditional, named, networks
from pgmx.datasets import gaussian_chain_network, gaussian_random_network
from pgmx.models import GaussianMarkovNetwork

# Networks of at most eight variables with condition numbers up to some hundreds.
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


@given(networks(), st.data())
@examples(40)
def test_absent_columns(network, data):
    n = len(network.names)
    known = sorted(data.draw(st.sets(st.integers(0, n - 1), max_size=n)))
    rows = np.random.default_rng(n).normal(size=(4, n))
    rows.setflags(write=False)
    frame = pd.DataFrame(rows, columns=pd.Index(network.names, tupleize_cols=False), index=list("wxyz"))
    slopes, offset, left = conditional(network, known)
    found, spread = network.predict(frame.iloc[:, known[::-1]], return_covariance=True)
    assert list(found.index) == list("wxyz")
    assert list(found.columns) == [network.names[v] for v in range(n) if v not in known]
    np.testing.assert_allclose(found, rows[:, known] @ slopes.T + offset, **CLOSE)
    np.testing.assert_allclose(spread, left, **CLOSE)


@given(networks(), st.integers(0, 1000))
@examples(40)
def test_missing_values(network, seed):
    rng = np.random.default_rng(seed)
    n = len(network.names)
    rows = rng.normal(size=(12, n))
    rows[rng.random(rows.shape) < 0.4] = np.nan
    found = network.predict(rows)
    assert list(found.columns) == [name for v, name in enumerate(network.names) if np.isnan(rows[:, v]).any()]
    wanted = rows.copy()
    for row in wanted:
        known = np.flatnonzero(~np.isnan(row)).tolist()
        slopes, offset, _ = conditional(network, known)
        row[np.isnan(row)] = slopes @ row[known] + offset
    wanted = wanted[:, np.isnan(rows).any(axis=0)]
    np.testing.assert_allclose(found, wanted, **CLOSE)
    # Each row by itself, without the columns that it lacks.
    for k in (0, 1):
        part = {name: x for name, x in zip(network.names, rows[k], strict=True) if not np.isnan(x)}
        alone = network.predict(part)
        np.testing.assert_allclose(alone.iloc[0], found.loc[k, list(alone.columns)], **CLOSE)


def test_many_missing_values_of_a_large_network():
    """More cells than are solved densely, in a network that falls apart."""
    network = gaussian_random_network(150, 1.5, random_state=3)
    frame = network.simulate(3)
    known = list(network.names[:40])
    slopes, offset, left = conditional(network, list(range(40)))
    found, spread = network.predict(frame[known], return_covariance=True)
    np.testing.assert_allclose(found, frame[known].to_numpy() @ slopes.T + offset, **CLOSE)
    np.testing.assert_allclose(spread, left, **CLOSE)


def test_kinds_of_rows(tmp_path):
    import polars as pl
    import pyarrow as pa

    network = gaussian_chain_network(3)
    wanted = network.predict(pd.DataFrame({"x2": [2.0, -1.0], "x0": [1, 3]}))
    table = {"x2": [2.0, -1.0], "x0": [1, 3]}
    path = tmp_path / "rows.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    objects = pd.DataFrame({"x0": [1, 3], "x2": [2.0, -1.0], "x1": [None, None]}, dtype=object)
    array = np.array([[1, np.nan, 2.0], [3, np.nan, -1.0]])
    for rows in (table, pl.DataFrame(table), pa.table(table), path, objects, array, array.tolist()):
        assert network.predict(rows).equals(wanted)
    assert network.predict({}).to_numpy().tolist() == [[0.0, 0.0, 0.0]]
    assert network.predict(pd.DataFrame(index=["r", "s"])).shape == (2, 3)
    complete = network.predict(np.zeros((2, 3)))
    assert complete.shape == (2, 0)
    assert network.predict(network.simulate(0)[["x0"]]).shape == (0, 2)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ({"y": 1.0}, "column.s. 'y' are not variables"),
        ({"x0": "high"}, "'x0' hold states or text"),
        ({"x0": True}, "'x0' hold states or text"),
        ({"x0": np.inf}, "inf.* in column.s. 'x0'"),
        ({"x0": [1.0, 2.0], "x1": [1.0]}, "sequences of one length"),
        (np.zeros((2, 2)), r"one column for each of 3 variables.* got shape \(2, 2\)"),
        (pd.DataFrame([[1.0, 2.0]], columns=["x0", "x0"]), "duplicate column name"),
    ],
)
def test_wrong_rows(rows, what):
    with pytest.raises(ValueError, match=what):
        gaussian_chain_network(3).predict(rows)


def test_no_one_covariance():
    with pytest.raises(ValueError, match="rows have different missing values in 'x0', 'x1'"):
        gaussian_chain_network(2).predict([[np.nan, 1.0], [1.0, np.nan]], return_covariance=True)


@given(networks(), st.data())
@examples(30)
def test_parts(network, data):
    n = len(network.names)
    chosen = data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1))
    mean, covariance = network.to_joint_gaussian()
    part = network.marginal([network.names[v] for v in chosen])
    assert part.names == tuple(network.names[v] for v in chosen)
    np.testing.assert_allclose(part.covariance, covariance[np.ix_(chosen, chosen)], **CLOSE)
    np.testing.assert_allclose(part.mean, mean[chosen])
    known = sorted(chosen)[:-1]
    given_values = {network.names[v]: 0.5 * v - 1.0 for v in known}
    rest = network.conditional(given_values)
    slopes, offset, left = conditional(network, known)
    assert rest.names == tuple(network.names[v] for v in range(n) if v not in known)
    np.testing.assert_allclose(rest.mean, slopes @ np.array(list(given_values.values())) + offset, **CLOSE)
    np.testing.assert_allclose(rest.covariance, left, **CLOSE)
    assert set(rest.edges()) == set(network.subgraph(rest.names).edges())


def test_marginal_of_a_chain_is_a_chain():
    network = gaussian_chain_network(9)
    part = network.marginal(["x0", "x4", "x8", "x6"])
    assert set(part.edges()) == {("x0", "x4"), ("x4", "x6"), ("x8", "x6")}
    assert network.marginal("x3").covariance.loc["x3", "x3"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("ask", "error", "what"),
    [
        (lambda m: m.marginal([]), ValueError, "one or more distinct names"),
        (lambda m: m.marginal(["x0", "x0"]), ValueError, "distinct names.* got 'x0', 'x0'"),
        (lambda m: m.marginal(["y"]), ValueError, "no variable 'y'"),
        (lambda m: m.conditional({"x0": 1, "x1": 1, "x2": 1}), ValueError, "holds all variables"),
        (lambda m: m.conditional({"x0": np.nan}), ValueError, "evidence of 'x0' is missing"),
        (lambda m: m.conditional({"y": 1.0}), ValueError, "'y' are not variables"),
        (lambda m: m.conditional([1.0]), TypeError, "must be a dictionary .* got list"),
        (lambda m: m.simulate(-1), ValueError, "n_samples must be at least 0, got -1"),
        (lambda m: m.simulate(2.0), TypeError, "n_samples must be an integer"),
        (lambda m: m.simulate(2, random_state=-1), ValueError, "random_state must not be negative"),
        (lambda m: m.simulate(2, random_state=0, seed=0), ValueError, "random_state=0 and seed=0 are two spellings"),
        (lambda m: m.log_likelihood({"x0": 1.0}), ValueError, "'x1', 'x2' have no column"),
        (lambda m: m.log_likelihood([[1.0, np.nan, 2.0]]), ValueError, "missing values in column.s. 'x1'"),
    ],
)
def test_wrong_questions(ask, error, what):
    with pytest.raises(error, match=what):
        ask(gaussian_chain_network(3))


def test_rows_follow_the_network():
    network = named(6, 0.6, seed=5)
    rows = network.simulate(200_000)
    # Four standard errors of a mean, and of a covariance.
    spread = np.sqrt(np.diag(network.covariance) / len(rows))
    assert (np.abs(rows.to_numpy().mean(axis=0) - network.mean) < 4 * spread).all()
    error = np.abs(np.cov(rows.to_numpy().T) - network.covariance) / np.outer(spread, spread) / len(rows)
    assert error.to_numpy().max() < 4 * np.sqrt(2 / len(rows))
    assert network.simulate(10).equals(network.simulate(10, random_state=0))
    assert not network.simulate(10).equals(network.simulate(10, random_state=1))
    assert network.simulate(10, random_state=None).shape == (10, 6)
    assert network.simulate(0).shape == (0, 6)


def test_rows_given_evidence():
    network = named(6, 1.0, seed=6)
    evidence = {0: 1.5, (1, 2): -1.0}
    rows = network.simulate(100_000, evidence, random_state=2)
    assert list(rows.columns) == list(network.names)
    assert (rows[0] == 1.5).all()
    assert (rows.iloc[:, 3] == -1.0).all()
    wanted = network.predict(evidence)
    for name in wanted.columns:
        assert rows[name].mean() == pytest.approx(wanted[name][0], abs=4 * rows[name].std() / 300)


@given(networks())
@examples(30)
def test_likelihood_and_entropy(network):
    mean, covariance = network.to_joint_gaussian()
    rows = np.random.default_rng(0).normal(size=(5, len(mean)))
    normal = multivariate_normal(mean, covariance)
    found = network.log_likelihood(rows)
    assert found.shape == (5,)
    np.testing.assert_allclose(found, np.atleast_1d(normal.logpdf(rows)), rtol=1e-9, atol=1e-9)
    assert network.entropy() == pytest.approx(float(normal.entropy()), rel=1e-9, abs=1e-9)


@given(st.integers(0, 1000), st.permutations(range(6)))
@examples(20)
def test_order_of_variables_does_not_matter(seed, order):
    network = named(6, 0.5, seed)
    matrix = network.precision.to_numpy()[np.ix_(order, order)]
    names = [network.names[v] for v in order]
    other = GaussianMarkovNetwork.from_precision(names, matrix, mean=network.mean.to_numpy()[order])
    rows = {"wet": [0.3, 1.0], "b a": [-1.0, 2.0]}
    np.testing.assert_allclose(other.predict(rows)[0], network.predict(rows)[0], **CLOSE)
    assert other.entropy() == pytest.approx(network.entropy(), rel=1e-10)


def test_large_offsets_and_small_units():
    """Means a million standard deviations from zero, units of twelve decades."""
    scale = 10.0 ** np.array([-12, 0, 12, 3])
    network = named(4, 1.0, seed=8, scale=scale, mean=1e6 * scale)
    plain = named(4, 1.0, seed=8, mean=np.zeros(4))
    names = list(network.names)
    found, spread = network.predict({names[0]: (1e6 + 2.0) * scale[0]}, return_covariance=True)
    wanted, left = plain.predict({names[0]: 2.0}, return_covariance=True)
    np.testing.assert_allclose(found / scale[1:] - 1e6, wanted, atol=1e-8)  # 1e6 leaves ten digits
    np.testing.assert_allclose(spread / np.outer(scale[1:], scale[1:]), left, rtol=1e-12)


@pytest.mark.parametrize("n_missing", [0, 3, 80, 100])
def test_evidence_is_the_density_of_what_is_known(n_missing):
    rng = np.random.default_rng(0)
    factor = np.eye(100) + 0.3 * rng.normal(size=(100, 100)) * (rng.random((100, 100)) < 0.03)
    precision, mean = factor @ factor.T * 4.0, rng.normal(size=100)
    names = [f"v{k}" for k in range(100)]
    network = GaussianMarkovNetwork.from_precision(names, precision, mean=mean)
    rows = pd.DataFrame(rng.normal(size=(3, 100)), columns=names)
    for row in range(3):
        rows.iloc[row, rng.permutation(100)[:n_missing]] = np.nan
    covariance = np.linalg.inv(precision)
    for row, found in zip(rows.to_numpy(), network.log_evidence(rows), strict=True):
        known = np.flatnonzero(~np.isnan(row))
        expected = 0.0
        if len(known):
            expected = multivariate_normal.logpdf(row[known], mean[known], covariance[np.ix_(known, known)])
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
    absent = rows.drop(columns=names[:10])
    expected = network.log_evidence(rows.assign(**dict.fromkeys(names[:10], np.nan)))
    np.testing.assert_allclose(network.log_evidence(absent), expected, rtol=1e-12)


def test_distributions_and_scores_of_rows():
    network = gaussian_chain_network(5, 0.6)
    rows = network.simulate(20, random_state=1)
    gone = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.4)
    shares = network.predict_proba(gone)
    for k in range(20):
        evidence = gone.iloc[k].dropna().to_dict()
        found = shares.iloc[k]
        for name, value in evidence.items():
            if name in shares:
                assert found[name].tolist() == [value, 0.0]
        if len(evidence) == 5:
            continue
        mean, covariance = (network.conditional(evidence) if evidence else network).to_joint_gaussian()
        others = [name for name in rows if name not in evidence]
        for name, expected, variance in zip(others, mean, np.diag(covariance), strict=True):
            assert found[name, "mean"] == pytest.approx(expected, abs=1e-10)
            assert found[name, "std"] == pytest.approx(np.sqrt(variance), rel=1e-10)
    asked = network.predict_proba(rows, ["x3", "x1"])
    pd.testing.assert_frame_equal(asked, network.predict_proba(rows[["x0", "x2", "x4"]]))
    assert network.score(gone) == pytest.approx(network.log_evidence(gone).mean())
    with pytest.raises(ValueError, match="'nobody'"):
        network.predict_proba(rows, ["nobody"])

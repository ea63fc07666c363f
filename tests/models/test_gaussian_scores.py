"""Gaussian networks over normal scores: values go in and come out in the units of the data."""

import numpy as np
import pandas as pd
import pytest

from pgmx.models import GaussianMarkovNetwork
from pgmx.statistics import MarginalTransforms


@pytest.fixture(scope="module")
def skewed():
    """A network over the scores of exponentials of normal variables, and the rows."""
    rng = np.random.default_rng(0)
    correlation = np.array([[1.0, 0.8, 0.6], [0.8, 1.0, 0.5], [0.6, 0.5, 1.0]])
    rows = np.exp(3.0 * rng.multivariate_normal(np.zeros(3), correlation, 2000))
    precision = np.linalg.inv(correlation)
    network = GaussianMarkovNetwork.from_precision("abc", precision, transforms=MarginalTransforms.from_rows(rows))
    return network, pd.DataFrame(rows, columns=list("abc"))


def scores_of(network, frame):
    positions = [network.names.index(name) for name in frame]
    return pd.DataFrame(network.transforms.forward(positions, frame.to_numpy()), columns=frame.columns)


def test_predictions_are_in_the_units_of_the_data(skewed):
    network, rows = skewed
    plain = GaussianMarkovNetwork.from_precision("abc", network.precision)
    known = rows[["c", "a"]].iloc[:20]
    found = network.predict(known)
    wanted = plain.predict(scores_of(network, known))
    np.testing.assert_allclose(found, network.transforms.backward([1], wanted.to_numpy()), rtol=1e-12)
    assert (found > 0).all(axis=None)
    gaps = rows.iloc[:5].copy()
    gaps.loc[2, "a"] = np.nan
    filled = network.predict(gaps)
    assert list(filled.columns) == ["a"]
    assert filled["a"].drop(2).equals(rows["a"].iloc[:5].drop(2))  # what is known stays as it was, to the bit


def test_likelihood_is_that_of_the_scores(skewed):
    network, rows = skewed
    plain = GaussianMarkovNetwork.from_precision("abc", network.precision)
    wanted = plain.log_likelihood(scores_of(network, rows))
    np.testing.assert_allclose(network.log_likelihood(rows), wanted)
    assert network.entropy() == plain.entropy()


def test_rows_have_the_marginals_of_the_data(skewed):
    network, rows = skewed
    drawn = network.simulate(20_000)
    shares = np.linspace(0.1, 0.9, 9)
    for name in "abc":
        # Shares of the data below quantiles of the rows drawn, 2,000 of which were seen.
        found = np.searchsorted(np.sort(rows[name]), drawn[name].quantile(shares)) / len(rows)
        np.testing.assert_allclose(found, shares, atol=0.03)
    given_a = network.simulate(20_000, {"a": rows["a"].quantile(0.9)})
    assert (given_a["a"] == rows["a"].quantile(0.9)).all()
    assert given_a["b"].median() == pytest.approx(network.predict({"a": rows["a"].quantile(0.9)})["b"][0], rel=0.1)


def test_parts_keep_their_transforms(skewed):
    network, rows = skewed
    part = network.marginal(["c", "a"])
    assert part.transforms == network.transforms.take([2, 0])
    known = rows[["a"]].iloc[:5]
    np.testing.assert_allclose(part.predict(known)["c"], network.predict(known)["c"], rtol=1e-9)
    rest = network.conditional({"b": rows["b"][0]})
    wanted = network.predict(rows[["b", "a"]].iloc[:1])
    np.testing.assert_allclose(rest.predict(rows[["a"]].iloc[:1])["c"], wanted["c"], rtol=1e-9)


@pytest.mark.parametrize("format", ["npz", "json", "graphml"])
def test_files_keep_transforms(skewed, tmp_path, format):
    network, rows = skewed
    part = network.marginal(["c", "b"])
    back = GaussianMarkovNetwork.load(part.save(tmp_path / f"network.{format}"))
    assert back.transforms == part.transforms
    assert back.predict(rows[["b"]]).equals(part.predict(rows[["b"]]))
    assert network.copy().transforms is network.transforms


def test_one_map_a_variable(skewed):
    with pytest.raises(ValueError, match="one transform for each of 2 names, got 3"):
        GaussianMarkovNetwork.from_precision("ab", np.eye(2), transforms=skewed[0].transforms)

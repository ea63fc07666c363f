"""Marginal transforms: scores of the data, the way back, storage, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from helpers.examples import examples
from pgmx.statistics import MarginalTransforms
from pgmx.statistics.marginal_transforms import MOST_KNOTS, normal_scores

METHODS = ("shrinkage", "truncation", "kendall", "spearman")


@st.composite
def tables(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    n, p = draw(st.integers(2, 60)), draw(st.integers(1, 4))
    X = np.exp(rng.normal(size=(n, p))) * 10.0 ** rng.integers(-12, 13, p)
    X[:, ::2] = np.round(X[:, ::2] / np.abs(X[:, ::2]).max(axis=0) * 8)
    return X


def standardised(scores):
    return (scores - scores.mean(axis=0)) / scores.std(axis=0)


@pytest.mark.parametrize("method", METHODS)
def test_scores_are_those_of_the_formula(method, rng):
    X = np.exp(rng.normal(size=(400, 3)))
    X[:, 1] = np.round(X[:, 1] * 4)
    ranks, n = stats.rankdata(X, axis=0), len(X)
    delta = 1 / (4 * n**0.25 * np.sqrt(np.pi * np.log(n)))
    share = np.clip(ranks / n, delta, 1 - delta) if method == "truncation" else ranks / (n + 1)
    found = MarginalTransforms.from_rows(X, method).forward([0, 1, 2], X)
    np.testing.assert_allclose(found, standardised(stats.norm.ppf(share)), atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@examples(40)
@given(X=tables())
def test_scores_of_the_data_are_standard_and_in_order(method, X):
    transforms = MarginalTransforms.from_rows(X, method)
    columns = np.arange(X.shape[1])
    scores = transforms.forward(columns, X)
    spread = np.array([len(np.unique(scores[:, j])) > 1 for j in columns])
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-13)
    np.testing.assert_allclose(scores.var(axis=0)[spread], 1, atol=1e-13)
    for j in columns:
        order = np.argsort(X[:, j], kind="stable")
        same = np.diff(X[order, j]) == 0
        steps = np.diff(scores[order, j])
        assert (steps >= 0).all() and (steps[same] == 0).all()
        if method != "truncation":
            assert (steps[~same] > 0).all()


@pytest.mark.parametrize("method", METHODS)
@examples(40)
@given(X=tables())
def test_the_way_back(method, X):
    transforms = MarginalTransforms.from_rows(X, method)
    columns = np.arange(X.shape[1])
    back = transforms.backward(columns, transforms.forward(columns, X))
    if method == "truncation":  # the ends lead to the innermost values
        np.testing.assert_array_equal(transforms.forward(columns, back), transforms.forward(columns, X))
        assert (back.min(axis=0) >= X.min(axis=0)).all() and (back.max(axis=0) <= X.max(axis=0)).all()
    else:
        np.testing.assert_array_equal(back, X)


@pytest.mark.parametrize("method", METHODS)
def test_many_rows_have_few_knots(method, rng):
    X = np.column_stack((rng.normal(size=50_000), rng.standard_cauchy(50_000), rng.poisson(3.0, 50_000)))
    transforms = MarginalTransforms.from_rows(X, method)
    counts = np.diff(transforms.starts)
    assert counts.max() <= MOST_KNOTS and counts[:2].min() > MOST_KNOTS // 2 and counts[2] < 20
    scores = transforms.forward([0, 1, 2], X)
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scores.var(axis=0), 1, atol=1e-12)
    ranks, n = stats.rankdata(X, axis=0), len(X)
    delta = 1 / (4 * n**0.25 * np.sqrt(np.pi * np.log(n)))
    share = np.clip(ranks / n, delta, 1 - delta) if method == "truncation" else ranks / (n + 1)
    exact = standardised(stats.norm.ppf(share))
    # Linear between knots: the error is largest in the last gaps of the tails of a Cauchy distribution.
    assert np.quantile(np.abs(scores - exact), 0.999, axis=0).max() < 0.01
    assert np.abs(scores - exact)[:, [0, 2]].max() < 0.05


def test_a_normal_column_is_nearly_left_alone(rng):
    x = rng.normal(size=(100_000, 1))
    scores = MarginalTransforms.from_rows(x).forward([0], x)
    middle = np.abs(x) < 2.5
    np.testing.assert_allclose(scores[middle], standardised(x)[middle], atol=0.05)


def test_held_ends_and_gaps():
    transforms = MarginalTransforms.from_rows(np.array([[1.0, 5.0], [2.0, 6.0], [4.0, 7.0]]))
    low, high = transforms.forward([0], [[1.0], [4.0]]).ravel()
    values = np.array([-np.inf, -50.0, 1.0, 4.0, 9.0, np.inf, np.nan])[:, None]
    np.testing.assert_array_equal(transforms.forward([0], values).ravel(), [low, low, low, high, high, high, np.nan])
    np.testing.assert_array_equal(transforms.backward([1], [[-9.0], [9.0], [np.nan]]).ravel(), [5.0, 7.0, np.nan])


def test_shapes_and_positions():
    transforms = MarginalTransforms.from_rows(np.arange(12.0).reshape(4, 3) ** 2)
    row = transforms.forward([2, 0], [4.0, 9.0])
    assert row.shape == (2,)
    np.testing.assert_array_equal(transforms.forward([2, 0], [[4.0, 9.0]] * 5), np.tile(row, (5, 1)))
    assert transforms.forward([2, 0], np.empty((0, 2))).shape == (0, 2)
    assert transforms.forward([], np.empty((3, 0))).shape == (3, 0)
    assert transforms.n_columns == 3


def test_missing_values_are_left_out_of_their_column(rng):
    X = rng.normal(size=(50, 2))
    X[:10, 0] = np.nan
    transforms = MarginalTransforms.from_rows(X)
    assert transforms.take([0]) == MarginalTransforms.from_rows(X[10:, :1])
    scores = transforms.forward([0, 1], X)
    assert np.isnan(scores[:10, 0]).all() and not np.isnan(scores[10:]).any()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 7])
def test_constant_columns(method, n):
    transforms = MarginalTransforms.from_rows(np.full((n, 1), 3.5), method)
    assert transforms.forward([0], [[1.0], [3.5], [9.0]]).tolist() == [[0.0], [0.0], [0.0]]
    assert transforms.backward([0], [[-4.0], [0.0]]).tolist() == [[3.5], [3.5]]


def test_storage(rng):
    X = rng.normal(size=(30, 3))
    transforms = MarginalTransforms.from_rows(X, "truncation")
    again = MarginalTransforms.from_arrays({**transforms.arrays(), "other": 1})
    assert again == transforms and transforms != MarginalTransforms.from_rows(X) and transforms != "a string"
    for array in transforms.arrays().values():
        assert not array.flags.writeable
    taken = transforms.take([2, 0])
    np.testing.assert_array_equal(taken.forward([1, 0], X[:, [0, 2]]), transforms.forward([0, 2], X[:, [0, 2]]))
    assert transforms.take([]).n_columns == 0


def test_rows_are_left_alone_in_any_order(rng):
    X = rng.normal(size=(2_000, 2))
    before = X.copy()
    X.setflags(write=False)
    transforms = MarginalTransforms.from_rows(X)
    np.testing.assert_array_equal(X, before)
    assert MarginalTransforms.from_rows(X[::-1]) == transforms


def test_what_is_refused():
    with pytest.raises(ValueError, match="method must be one of 'shrinkage', .* got 'pearson'"):
        MarginalTransforms.from_rows(np.eye(3), "pearson")
    with pytest.raises(ValueError, match="method must be 'shrinkage' or 'truncation'"):
        normal_scores([1.0], 1, "kendall")
    for bad in (np.empty((0, 2)), np.zeros(3)):
        with pytest.raises(ValueError, match="rows must be a table with at least one row, got the shape"):
            MarginalTransforms.from_rows(bad)
    with pytest.raises(ValueError, match="column at position 1 has no observed value"):
        MarginalTransforms.from_rows(np.array([[1.0, np.nan], [2.0, np.nan]]))
    with pytest.raises(ValueError, match="column at position 0 has an infinite value"):
        MarginalTransforms.from_rows(np.array([[1.0], [np.inf]]))
    transforms = MarginalTransforms.from_rows(np.eye(3))
    for positions in ([3], [-1]):
        with pytest.raises(ValueError, match="positions must be between 0 and 2"):
            transforms.forward(positions, [[1.0]])
    with pytest.raises(ValueError, match="positions must be a one-dimensional array of integers"):
        transforms.take([0.5])
    with pytest.raises(ValueError, match=r"must be 2 values per row, one per position, got shape \(1, 3\)"):
        transforms.backward([0, 1], [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"starts": [1, 4]}, "starts must increase from 0"),
        ({"starts": [0, 2, 2]}, "starts must increase from 0"),
        ({"scores": [0.0]}, "one score per knot, got 1 for 2 knots"),
        ({"knots": [2.0, 1.0]}, "knots must be finite and increase"),
        ({"scores": [0.0, np.nan]}, "scores must be finite and increase"),
        ({"knots": [[1.0, 2.0]]}, "knots must be a one-dimensional array of numbers"),
    ],
)
def test_arrays_that_are_no_maps(change, words):
    arrays = {"starts": [0, 2], "knots": [1.0, 2.0], "scores": [-1.0, 1.0]}
    assert MarginalTransforms.from_arrays(arrays).n_columns == 1
    with pytest.raises(ValueError, match=words):
        MarginalTransforms.from_arrays({**arrays, **change})
    with pytest.raises(ValueError, match="missing: knots"):
        MarginalTransforms.from_arrays({name: array for name, array in arrays.items() if name != "knots"})

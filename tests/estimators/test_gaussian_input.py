"""Input of Gaussian learners: every kind of table, weights, covariances, missing values; and refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from helpers.gaussian_tables import check_result, every_leaf, random_rows
from pgmx.data import open_numeric
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso, Nonparanormal, SelectedGraph

ROWS = random_rows(6, 80, seed=6, units=True)
ROWS.columns = list("fedcba")
WIDE = random_rows(25, 12, seed=6)


def same(one, other, rtol=1e-8):
    """Assert that two learners learned the same; sums in another order differ by rounding."""
    np.testing.assert_array_equal(one.edges_, other.edges_)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-11)
    largest = np.abs(other.precision_).max(axis=0)
    np.testing.assert_allclose(one.precision_ / largest, other.precision_ / largest, rtol=0, atol=rtol)
    np.testing.assert_allclose(one.location_, other.location_, rtol=1e-10, atol=1e-12)
    return True


def kinds(rows, folder):
    """Return the same rows in every form that is taken."""
    rows.to_csv(folder / "rows.csv", index=False)
    rows.to_parquet(folder / "rows.parquet")
    parts = folder / "parts"
    parts.mkdir()
    for k, first in enumerate(range(0, len(rows), 7)):
        rows.iloc[first : first + 7].to_parquet(parts / f"{k:03d}.parquet")
    return {
        "array": rows.to_numpy(),
        "Fortran order": np.asfortranarray(rows.to_numpy()),
        "every second of twice as many": np.repeat(rows.to_numpy(), 2, axis=0)[::2],
        "list of rows": rows.to_numpy().tolist(),
        "polars": pl.from_pandas(rows),
        "arrow": pa.Table.from_pandas(rows, preserve_index=False),
        "objects": rows.astype(object),
        "index": rows.set_axis(range(5, 5 + len(rows))),
        "table": open_numeric(rows),
        "csv": folder / "rows.csv",
        "name of a csv": str(folder / "rows.csv"),
        "parquet": folder / "rows.parquet",
        "folder": parts,
        "pieces": (rows.iloc[first : first + 11] for first in range(0, len(rows), 11)),
    }


@every_leaf
@pytest.mark.parametrize("rows", [ROWS, WIDE], ids=["80 x 6", "12 x 25"])
def test_all_kinds_of_tables_give_the_same(make, rows, tmp_path):
    expected = make().fit(rows)
    check_result(expected)
    assert expected.variables_ == list(rows)
    for kind, X in kinds(rows, tmp_path).items():
        learner = make().fit(X)
        names = [f"x{v}" for v in range(rows.shape[1])] if kind in list(kinds_without_names) else list(rows)
        assert learner.variables_ == list(learner.feature_names_in_) == names, kind
        assert same(learner, expected), kind
        assert learner.model_.n_samples == len(rows), kind


kinds_without_names = ("array", "Fortran order", "every second of twice as many", "list of rows")


@every_leaf
def test_rows_and_their_covariance_give_the_same(make):
    S = ROWS.cov(ddof=0)
    expected = make().fit(ROWS)
    for X in (S, S.to_numpy(), S.to_numpy() * (1 + 1e-9 * np.triu(np.ones((6, 6)), 1))):
        learner = make(covariance="precomputed", n_samples=len(ROWS)).fit(X)
        np.testing.assert_array_equal(learner.edges_, expected.edges_)
        largest = np.abs(expected.precision_).max(axis=0)
        np.testing.assert_allclose(learner.precision_ / largest, expected.precision_ / largest, rtol=0, atol=1e-6)
        np.testing.assert_array_equal(learner.location_, 0.0)
        assert learner.model_.n_samples == len(ROWS)
    assert make(covariance="precomputed", n_samples=80).fit(S).variables_ == list(ROWS)
    assert make(covariance="precomputed").fit(S).model_.n_samples is None


@every_leaf
def test_wide_covariances(make):
    expected = make().fit(WIDE)
    learner = make(covariance="precomputed", n_samples=len(WIDE)).fit(WIDE.cov(ddof=0))
    np.testing.assert_array_equal(learner.edges_, expected.edges_)
    assert learner.objective_ == pytest.approx(expected.objective_, rel=1e-8)


@every_leaf
def test_nothing_of_the_callers_is_changed(make):
    cells = ROWS.to_numpy(copy=True)
    weights = np.arange(1.0, 81.0)
    S = np.cov(cells, rowvar=False)
    for array in (cells, weights, S):
        array.flags.writeable = False
    learner = make().fit(cells, sample_weight=weights)
    make(covariance="precomputed").fit(S)
    for name in ("precision_", "covariance_", "location_", "correlation_"):
        getattr(learner, name)[:] = 0  # theirs to change
    np.testing.assert_array_equal(cells, ROWS)


@every_leaf
def test_weights(make):
    weights = np.arange(80) % 3
    expected = make().fit(ROWS.loc[ROWS.index.repeat(weights)])
    assert same(make().fit(ROWS, sample_weight=weights), expected, 1e-6)
    assert same(make().fit(ROWS, sample_weight=list(weights)), expected, 1e-6)
    for wrong, words in (
        ([1.0, 2.0], r"sample_weight must have the shape \(80,\)"),
        (-np.ones(80), "not negative"),
        (np.full(80, np.nan), "finite"),
        (np.zeros(80), "positive|zero"),
    ):
        with pytest.raises(ValueError, match=words):
            make().fit(ROWS, sample_weight=wrong)
    with pytest.raises(ValueError, match="sample_weight cannot be used with covariance='precomputed'"):
        make(covariance="precomputed").fit(ROWS.cov(), sample_weight=np.ones(6))


# ---- missing values ----


@every_leaf
def test_missing_values(make, tmp_path):
    rows = ROWS.mask(np.random.default_rng(1).random(ROWS.shape) < 0.05)
    with pytest.raises(ValueError, match=r"missing.*'f'.*missing='drop'|missing.*'f'.*missing=\"drop\""):
        make().fit(rows)
    assert same(make(missing="drop").fit(rows), make().fit(rows.dropna()))
    pairwise = make(missing="pairwise").fit(rows)
    check_result(pairwise)
    both = rows[["f", "c"]].dropna()
    assert abs(pairwise.correlation_[0, 3] - both.corr().iloc[0, 1]) < 0.05 + pairwise.repaired_
    np.testing.assert_allclose(pairwise.location_, rows.mean(), rtol=1e-10)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    assert same(make(missing="pairwise").fit(tmp_path / "rows.csv"), pairwise)
    whole = make().fit(ROWS)
    assert same(make(missing="pairwise").fit(ROWS), whole)
    assert same(make(missing="drop").fit(ROWS), whole)


# ---- what is refused, and who is named ----


def spoiled(column, value):
    rows = ROWS.copy()
    rows[column] = rows[column].astype(object) if isinstance(value, str) else rows[column]
    rows.loc[3, column] = value
    return rows


@every_leaf
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (ROWS.assign(d=1.0, b=2.0), r"'d', 'b'\W* are constant.*drop them"),
        (spoiled("c", np.inf), r"infinit.*'c'"),
        (spoiled("c", -np.inf), r"infinit.*'c'"),
        (spoiled("e", np.nan), r"missing.*'e'"),
        (spoiled("a", "tall"), r"'a'"),
        (ROWS.assign(e=ROWS["e"] > 0), r"'e'"),
        (ROWS.iloc[:1], r"row"),
        (ROWS.iloc[:0], r"row|empty"),
        (ROWS.set_axis(list("aabcde"), axis=1), r"'a'"),
        (ROWS.assign(f=ROWS["f"] * 1e200), r"'f'"),
    ],
    ids=["constant", "inf", "-inf", "nan", "text", "bool", "one row", "no rows", "names", "too large"],
)
def test_culprits_are_named(make, rows, words):
    with pytest.raises(ValueError, match=words):
        make().fit(rows)


@pytest.mark.parametrize("wrap", [Nonparanormal, SelectedGraph])
def test_culprits_are_named_through_wrappers(wrap):
    with pytest.raises(ValueError, match=r"'d'\W* (is|are) constant.*drop"):
        wrap(GraphicalLasso()).fit(ROWS.assign(d=1.0))
    with pytest.raises(ValueError, match=r"infinit.*'c'"):
        wrap(GraphicalLasso()).fit(spoiled("c", np.inf))


@every_leaf
@pytest.mark.parametrize(
    ("S", "words"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 0.5], [0.2, 1.0]]), "symmetric"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "finite|missing"),
        (pd.DataFrame([[1.0, 0.0], [0.0, 0.0]], index=list("uv"), columns=list("uv")), "'v'"),
        (pd.DataFrame([[1.0, 0.0], [0.0, -1.0]], index=list("uv"), columns=list("uv")), "'v'"),
        (np.array([[1.0, 3.0], [3.0, 1.0]]), "correlation"),
    ],
    ids=["not square", "not symmetric", "nan", "zero variance", "negative variance", "correlation above 1"],
)
def test_wrong_covariances(make, S, words):
    with pytest.raises(ValueError, match=words):
        make(covariance="precomputed").fit(S)


@every_leaf
def test_options_that_contradict_each_other(make):
    with pytest.raises(ValueError, match="n_samples=80 is only for covariance='precomputed'"):
        make(n_samples=80).fit(ROWS)


@pytest.mark.parametrize(
    "learner",
    [
        GraphicalLasso(lam=-0.1),
        GraphicalLasso(lam_ratio=-0.1),
        GraphicalLasso(penalize_diagonal="yes"),
        GraphicalLasso(max_iter=0),
        GraphicalLasso(tol=0),
        GraphicalLasso(covariance="sample"),
        GraphicalLasso(missing="category"),
        GraphicalLasso(n_jobs="two"),
        CLIME(solver="simplex"),
        CLIME(ridge=-1.0),
        CLIME(ridge="small"),
        NeighborhoodLasso(rule="xor"),
        SelectedGraph(selection="dic"),
        SelectedGraph(lam_min_ratio=1.0),
        SelectedGraph(n_lams=1),
        SelectedGraph(GraphicalLasso(lam=-1)),
        SelectedGraph("glasso"),
    ],
    ids=repr,
)
def test_wrong_options_name_themselves(learner):
    with pytest.raises(ValueError, match=r"The '\w+' parameter of \w+ must be"):
        learner.fit(ROWS)

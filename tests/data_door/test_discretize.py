"""Numbers as ordered categories: against KBinsDiscretizer, Hartemink's definition, and scikit-learn's own checks."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles.hartemink import discretize_by_hartemink
from pgmx.data import Discretizer, discretize, encode
from pgmx.data.discretizer import label_bins, merge_bins
from pgmx.estimators import EdgeGrafting, HillClimbSearch
from pgmx.scores import BIC, BDeu, LogLikelihood

SCORES = {"ll": LogLikelihood, "bic": BIC, "bdeu": BDeu}
METHODS = ["quantile", "interval", "kmeans", "hartemink"]


class Codes(Discretizer):
    """The same with codes for categories, which scikit-learn's checks can subtract from each other."""

    def transform(self, X):
        """Return the codes of the categories."""
        return super().transform(X).apply(lambda c: c.cat.codes if hasattr(c, "cat") else c).to_numpy(float)


@pytest.mark.filterwarnings("ignore:method='interval' leaves bins without rows")
@parametrize_with_checks([Codes("interval"), Codes("hartemink")])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    return pd.DataFrame(
        {"a": x, "b": x + rng.normal(size=400), "whole": rng.integers(0, 20, 400), "text": rng.choice(["p", "q"], 400)},
        index=range(7, 407),
    )


@pytest.mark.parametrize(("method", "strategy"), [("quantile", "quantile"), ("interval", "uniform"), ("kmeans",) * 2])
@pytest.mark.parametrize("scale", [1.0, 1e-12, 1e300])
def test_edges_are_those_of_scikit_learn(rows, method, strategy, scale):
    oracle = KBinsDiscretizer(4, encode="ordinal", strategy=strategy, subsample=None)
    if "quantile_method" in oracle.get_params():
        oracle.set_params(quantile_method="linear")
    expected = oracle.fit_transform(rows[["a", "b"]])
    categories, fitted = discretize(rows.assign(a=rows.a * scale), method, n_bins=4)
    assert np.array_equal(categories["b"].cat.codes, expected[:, 1])
    assert (categories["a"].cat.codes == expected[:, 0]).mean() > 0.99  # a product may round across an edge
    np.testing.assert_allclose(fitted.bin_edges_["a"], oracle.bin_edges_[0] * scale, rtol=1e-12)


@given(seed=st.integers(0, 2**32 - 1))
def test_hartemink_is_its_definition(seed):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 30)), int(rng.integers(2, 5))
    n_states = rng.integers(2, 7, p).tolist()
    latent = rng.random(n)
    codes = [np.clip((latent + rng.normal(0, 0.3, n)) * r, 0, r - 1).astype(int) for r in n_states]
    codes = [np.where(rng.random(n) < 0.1, -1, c) for c in codes]
    n_bins = {v: int(rng.integers(2, n_states[v] + 1)) for v in range(p) if rng.random() < 0.8}
    lists = [[None if c < 0 else int(c) for c in column] for column in codes]
    expected = discretize_by_hartemink(lists, n_states, n_bins)
    assert {v: kept.tolist() for v, kept in merge_bins(codes, n_states, n_bins).items()} == expected


def test_hartemink_keeps_the_edge_that_matters():
    rng = np.random.default_rng(1)
    x = rng.random(2000)
    states = np.where(x < 0.1, "low", np.where(x < 0.15, "middle", "high"))
    frame = pd.DataFrame({"x": x, "state": states})
    _, fitted = discretize(frame, "hartemink", n_bins=3)
    np.testing.assert_allclose(fitted.bin_edges_["x"][1:-1], [0.1, 0.15], atol=0.01)
    _, quantiles = discretize(frame, "quantile", n_bins=3)
    assert abs(quantiles.bin_edges_["x"][1] - 0.33) < 0.03


@pytest.mark.parametrize("method", METHODS)
def test_categories_are_ordered_and_fit_new_rows(rows, method):
    before = rows.copy()
    categories, fitted = discretize(rows, method, n_bins=3)
    pd.testing.assert_frame_equal(rows, before)
    assert categories.index.equals(rows.index)
    assert categories["a"].cat.ordered
    assert list(categories["a"].cat.categories) == fitted.categories_["a"]
    assert len(fitted.categories_["a"]) == 3
    pd.testing.assert_frame_equal(categories[["whole", "text"]], rows[["whole", "text"]])
    edges = fitted.bin_edges_["a"]
    new = pd.DataFrame({"a": [-99.0, *edges[1:-1], np.nan, 99.0], "b": 0.0, "whole": 1, "text": "p"})
    codes = fitted.transform(new)["a"].cat.codes
    assert codes.tolist() == [0, 1, 2, -1, 2]  # an edge belongs to the bin above it
    again = pickle.loads(pickle.dumps(fitted)).transform(rows)
    pd.testing.assert_frame_equal(again, categories)
    assert encode(categories).states[0] == tuple(fitted.categories_["a"])


def test_named_columns_and_bins_per_column(rows):
    categories, fitted = discretize(rows, n_bins={"whole": 5, "a": 2}, columns=["whole", "a"])
    assert {name: len(labels) for name, labels in fitted.categories_.items()} == {"a": 2, "whole": 5}
    assert categories["b"].dtype == float


def test_other_containers(rows):
    polars = pytest.importorskip("polars")
    expected, _ = discretize(rows)
    for container in (polars.from_pandas(rows), rows.to_numpy(dtype=object)):
        categories, _ = discretize(container)
        assert [c.cat.codes.tolist() for _, c in categories.iloc[:, :2].items()] == [
            expected["a"].cat.codes.tolist(),
            expected["b"].cat.codes.tolist(),
        ]


def test_a_pipeline_keeps_categories_discrete(rows):
    pipeline = make_pipeline(Discretizer(n_bins=3), HillClimbSearch()).fit(rows[["a", "b"]])
    assert len(pipeline[-1].dag_.edges()) == 1
    assert pipeline[-1].model_.get_cardinality("a") == 3


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        ([0, 1.5, 3, 9], ["below 1.5", "1.5 to 3", "3 and above"]),
        ([0, 1000.1, 1000.2, 2e3], ["below 1000.1", "1000.1 to 1000.2", "1000.2 and above"]),
        ([-1, -0.0, 1], ["below 0", "0 and above"]),
        ([0, 7], ["all"]),
        ([7, 7], ["7"]),
    ],
)
def test_labels(edges, labels):
    assert label_bins(np.array(edges, dtype=float)) == labels


@pytest.mark.parametrize("n_bins", [2, 3, 5])
def test_quantiles_of_few_values_part_them(n_bins):
    two = np.r_[np.zeros(212), np.ones(357), np.nan]
    three = np.r_[np.zeros(400), np.ones(100), np.full(69, 2.0), np.nan]
    categories, _ = discretize(pd.DataFrame({"two": two, "three": three}), n_bins=n_bins)
    np.testing.assert_array_equal(categories["two"].cat.codes, np.where(np.isnan(two), -1, two))
    three = three if n_bins > 2 else np.minimum(three, 1.0)  # 400 of 569 below the cut, 500 below the other
    np.testing.assert_array_equal(categories["three"].cat.codes, np.where(np.isnan(three), -1, three))


def test_bins_of_equal_width_stay_where_no_row_is_in_them():
    frame = pd.DataFrame(
        {"a": [0.0, 0.1, 0.2, 5.9, 6.0, np.nan], "b": np.arange(6.0), "c": [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]}
    )
    with pytest.warns(UserWarning, match="without rows: 4 of 6 of 'a', 4 of 6 of 'c'. They stay states") as heard:
        categories, fitted = discretize(frame, "interval", n_bins=6)
    assert len(heard) == 1
    assert [len(categories[name].cat.categories) for name in "abc"] == [6, 6, 6]
    np.testing.assert_allclose(fitted.bin_edges_["a"], np.arange(7.0), rtol=1e-12)
    assert categories["a"].cat.codes.tolist() == [0, 0, 0, 5, 5, -1]
    new = fitted.transform(frame.assign(a=[3.5, -9.0, 9.0, 0.0, 1.5, np.nan]))  # no warning
    assert new["a"].cat.codes.tolist() == [3, 0, 5, 0, 1, -1]
    tables = [
        encode(t, missing="drop") for t in (categories, categories.apply(lambda c: c.cat.remove_unused_categories()))
    ]
    score = {name: [make(t).local_score("b", ["c"]) for t in tables] for name, make in SCORES.items()}
    assert score["ll"][0] == pytest.approx(score["ll"][1], abs=1e-12)
    # of six and of two configurations of c, five parameters each
    assert score["bic"][0] - score["bic"][1] == pytest.approx(-(6 - 2) * 5 * np.log(5) / 2)
    assert score["bdeu"][0] != pytest.approx(score["bdeu"][1], abs=1e-3)


@given(
    st.lists(st.integers(0, 12).map(lambda k: k / 4), min_size=2, max_size=60),
    st.sampled_from(["quantile", "kmeans", "hartemink"]),
    st.integers(2, 9),
)
def test_no_other_method_leaves_a_bin_without_rows(values, method, n_bins):
    if len(set(values)) > 1:
        frame = pd.DataFrame({"x": values, "y": values[::-1]})
        categories, fitted = discretize(frame, method, n_bins=n_bins)
        for name in frame:
            assert len(set(categories[name])) == len(fitted.categories_[name]) == len(fitted.bin_edges_[name]) - 1 > 1


def test_ties_leave_fewer_bins():
    x = np.r_[np.zeros(90), np.arange(1.0, 11.0)]
    categories, fitted = discretize(pd.DataFrame({"x": x, "y": x[::-1]}), n_bins=5)
    assert fitted.bin_edges_["x"].tolist() == [0, 0.5, 10]
    assert categories["x"].cat.categories.tolist() == ["below 0.5", "0.5 and above"]
    _, fitted = discretize(pd.DataFrame({"x": [0.0, 1.0, 1.0, 2.0]}), "kmeans", n_bins=9)
    assert fitted.bin_edges_["x"].tolist() == [0, 0.5, 1.5, 2]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"method": "mdl"}, "method must be one of 'quantile'.*got 'mdl'"),
        ({}, {"n_bins": 1}, "n_bins must be .*at least 2, got 1"),
        ({}, {"n_bins": 300}, "n_bins must be at most 255, got 300"),
        ({}, {"n_bins": {"a": 3}}, "n_bins lacks 'b'"),
        ({}, {"columns": ["a", "z"]}, "columns name 'z'"),
        ({}, {"columns": "a"}, "columns must be a list"),
        ({}, {"columns": ["text"]}, r"column\(s\) 'text' hold states or text"),
        ({}, {"method": "hartemink", "n_bins": 5, "n_initial_bins": 4}, "n_initial_bins=4 is less than n_bins=5"),
        ({"a": np.inf}, {}, r"infinite values \(inf\) in column\(s\) 'a'"),
        ({"a": np.nan}, {}, "column 'a' has no observed value"),
    ],
)
def test_errors(rows, change, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        discretize(rows.assign(**change), **options)


@pytest.mark.slow
def test_hartemink_refuses_a_huge_number_of_pairs(rows):
    wide = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 900)))
    with pytest.raises(ValueError, match="lower n_initial_bins"):
        discretize(wide, "hartemink")


def test_new_rows_need_the_same_columns(rows):
    _, fitted = discretize(rows)
    with pytest.raises(ValueError, match="3 features"):
        fitted.transform(rows[["a", "b", "whole"]])
    with pytest.raises(ValueError, match="their order is another"):
        fitted.transform(rows[["b", "a", "whole", "text"]])


def test_a_constant_column_is_told(rows):
    with pytest.warns(UserWarning, match=r"column\(s\) 'b' hold a single value"):
        categories, _ = discretize(rows.assign(b=2.5))
    assert categories["b"].cat.categories.tolist() == ["2.5"]


def test_learners_of_states_name_it(rows):
    with pytest.raises(ValueError, match=r"discretise them with pgmx\.data\.discretize"):
        EdgeGrafting().fit(rows)

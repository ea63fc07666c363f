"""Test objects: pgmpy's interface and numbers, messages, and tests of a table by ids for searches."""

import pickle

import numpy as np
import pandas as pd
import pytest
from pgmpy import ci_tests as theirs
from pgmpy.independencies import Independencies

from pgmx.ci_tests import (
    ChiSquare,
    CITest,
    FisherZ,
    GSq,
    GSquare,
    IndependenceMatch,
    MixedRegression,
    Pearsonr,
    get_ci_test,
)
from pgmx.ci_tests.registry import TESTS
from pgmx.ci_tests.sources import open_tests
from pgmx.data import encode
from pgmx.data.inputs import open_for_scores
from pgmx.estimators import FCI


def make_frame(n_rows=400, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, n_rows), rng.integers(0, 2, n_rows)
    c = np.where(rng.random(n_rows) < 0.6, (a + b) % 3, rng.integers(0, 3, n_rows))
    return pd.DataFrame({"c": c, "a": a, "b": b, "e": rng.integers(0, 2, n_rows)})


@pytest.mark.parametrize(("X", "Y", "Z"), [("b", "e", []), ("b", "e", ["c", "a"]), ("a", "e", ["c"]), ("a", "c", [])])
def test_numbers_of_pgmpy(X, Y, Z):
    frame = make_frame()
    pairs = [(ChiSquare(frame, yates=True), theirs.ChiSquare(frame))]
    if "a" in (X, Y):  # pgmpy corrects G-square, too, in strata with one degree of freedom
        pairs.append((GSquare(frame), theirs.GSq(frame)))
    names = ("statistic_", "p_value_", "dof_", "effect_size_")
    for test, other in pairs:
        test.run_test(X, Y, Z)
        other.run_test(X, Y, Z)
        assert [getattr(test, name) for name in names] == pytest.approx([getattr(other, n) for n in names], rel=1e-9)


def test_an_object_answers_like_pgmpys():
    test = ChiSquare(make_frame())
    assert test("a", "b") is True
    assert test("a", "b", ["c"], significance_level=0.01) is False
    assert test.p_value_ < 0.01
    assert test.run_test("a", "b", ["c", "e"]) == test.run_test("b", "a", ("e", "c"))
    assert test.run_test("a", "b", ["c"]) == test.run_test("b", "a", ("c",))
    assert pickle.loads(pickle.dumps(test)).run_test("a", "b", ["c"]) == (test.statistic_, test.p_value_)


def test_many_tests_at_once():
    test = ChiSquare(make_frame(), calibration="moments")
    rows = test.test_many("c", ["a", "b"], ["e"])
    assert list(rows.columns) == ["statistic", "p_value", "dof", "effect_size"]
    for name, row in rows.iterrows():
        assert test.run_test("c", name, ["e"]) == pytest.approx((row["statistic"], row["p_value"]), rel=1e-12)
        assert test.effect_size_ == pytest.approx(row["effect_size"])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda test: test("a", "a"), ValueError, "'a' twice"),
        (lambda test: test("a", "b", ["a"]), ValueError, "'a' is: remove it from Z"),
        (lambda test: test("a", "b", ["c", "c"]), ValueError, "twice"),
        (lambda test: test("a", "q"), ValueError, "'q' is not a variable of the data; the columns are 'c', 'a'"),
        (lambda test: test("a", "b", "c"), TypeError, "Z must be a list"),
        (lambda test: test("a", "b", significance_level=1), ValueError, "above 0 and below 1, got 1"),
        (lambda test: test("a", "b", significance_level="x"), TypeError, "'x'"),
        (lambda _: ChiSquare(make_frame(), calibration="exact"), ValueError, "'exact'"),
        (lambda _: ChiSquare(make_frame(), calibration="moments", yates=True), ValueError, "yates=True"),
        (lambda _: ChiSquare(make_frame(), yates=1), TypeError, "got 1"),
        (lambda _: ChiSquare(make_frame().astype({"a": float})), ValueError, "'a'.*'fisher_z'"),
        (lambda _: get_ci_test("chi"), ValueError, "unknown ci_test 'chi': choose one of chi_square, "),
        (lambda _: get_ci_test(7), ValueError, "7"),
        (lambda _: get_ci_test("g_sq"), ValueError, "needs data"),
        (lambda _: IndependenceMatch()("a", "b"), ValueError, "independencies"),
    ],
)
def test_what_is_wrong_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call(ChiSquare(make_frame()))


def test_objects_are_shown_as_calls():
    frame = make_frame()
    assert repr(ChiSquare(frame)) == "ChiSquare(data of 4 variables)"
    assert repr(ChiSquare(frame, calibration="moments")) == "ChiSquare(data of 4 variables, calibration='moments')"
    assert repr(ChiSquare(frame, yates=True)) == "ChiSquare(data of 4 variables, yates=True)"
    assert repr(FisherZ(frame.astype(float))) == "FisherZ(data of 4 variables)"
    assert repr(IndependenceMatch(Independencies(["a", "b"]))) == "IndependenceMatch(independencies: 1)"
    assert repr(IndependenceMatch()) == "IndependenceMatch()"


def test_choice_of_an_object():
    frame = make_frame()
    assert GSq is GSquare
    assert type(get_ci_test("G_SQ", frame)) is GSquare
    assert get_ci_test("chi_square_moments", frame).calibration == "moments"
    assert type(get_ci_test(None, frame)) is ChiSquare
    assert get_ci_test(max) is max
    known = IndependenceMatch(Independencies(["a", "b", ["c"]]))
    assert known("b", "a", ["c"])
    assert not known("a", "b")


# ---- tests by ids ----


def test_variables_are_numbered_by_name():
    frame = make_frame()
    tests = open_tests(open_for_scores(frame), "chi_square")
    assert tests.names == ("a", "b", "c", "e")
    row = tests.source.test_row(0, [2], [1])
    assert row.p_value[0] == ChiSquare(frame).run_test("a", "c", ["b"])[1]
    other = open_tests(open_for_scores(frame[["e", "b", "a", "c"]]))
    assert np.array_equal(other.source.test_row(0, [2], [1]).p_value, row.p_value)


def test_an_object_and_a_function_are_sources_too():
    frame = make_frame()
    data = open_for_scores(frame)
    expected = ChiSquare(frame, yates=True).run_test("a", "c", ["b"])[1]
    for test in (ChiSquare(frame, yates=True), theirs.ChiSquare(frame)):
        tests = open_tests(data, test)
        assert tests.has_p_values
        assert tests.source.test_row(0, [2], [1]).p_value[0] == pytest.approx(expected, abs=1e-12)

    def match(X, Y, Z, significance_level):
        assert significance_level == 0.01
        return {X, Y, *Z} == {"a", "b"}

    tests = open_tests(data, match, significance_level=0.01)
    assert not tests.has_p_values
    assert tests.source.test_row(1, [0, 2], []).p_value.tolist() == [1.0, 0.0]


def test_weights_are_repeated_rows():
    frame = make_frame(60)
    weights = np.random.default_rng(1).integers(0, 3, 60)
    row = open_tests(open_for_scores(frame), sample_weight=weights).source.test_row(0, [1, 2], [3])
    repeated = open_tests(open_for_scores(frame.loc[frame.index.repeat(weights)])).source.test_row(0, [1, 2], [3])
    assert np.array_equal(row.p_value, repeated.p_value)
    incomplete = frame.astype(object)
    incomplete.loc[::4, "c"] = None
    rows = [
        open_tests(open_for_scores(incomplete), missing="drop", sample_weight=weights),
        open_tests(open_for_scores(incomplete.loc[frame.index.repeat(weights)].dropna())),
    ]
    assert rows[0].n_rows == rows[1].n_rows
    assert np.array_equal(*(one.source.test_row(0, [1], [3]).p_value for one in rows))
    with pytest.raises(ValueError, match="must be integers"):
        open_tests(open_for_scores(frame), sample_weight=weights + 0.5)


def test_wrong_tests_of_a_table():
    frame = make_frame()
    data = open_for_scores(frame)
    with pytest.raises(TypeError, match="must return True or False, got 1"):
        open_tests(data, lambda X, Y, Z, significance_level: 1).source.test_row(0, [1], [])
    with pytest.raises(TypeError, match="got 3"):
        open_tests(data, 3)
    with pytest.raises(ValueError, match="only in the data: 'e'"):
        open_tests(data, ChiSquare(frame[["a", "b", "c"]]))
    with pytest.raises(ValueError, match="bound to its rows"):
        open_tests(data, ChiSquare(frame), sample_weight=np.arange(400))
    with pytest.warns(UserWarning, match=r"'k'\) are constant|'k' are constant|column\(s\) 'k'"):
        open_tests(open_for_scores(frame.assign(k=1)))


def test_missing_values():
    frame = make_frame().astype(object)
    frame.loc[::7, "a"] = None
    with pytest.raises(ValueError, match=r"pass .*encode\(data, missing='pairwise'\)"):
        ChiSquare(frame)
    complete = ChiSquare(frame.dropna()).run_test("a", "c", ["b"])
    assert ChiSquare(encode(frame, missing="pairwise")).run_test("a", "c", ["b"]) == complete
    data = open_for_scores(frame)
    for missing in ("drop", "pairwise"):
        assert open_tests(data, missing=missing).source.test_row(0, [2], [1]).p_value[0] == complete[1]
    assert open_tests(data, missing="category").source.test_row(0, [2], [1]).p_value[0] != complete[1]


def test_every_name_has_a_class():
    columns = {"discrete": ["a", "b"], "continuous": ["u", "x"], "mixed": ["a", "x"]}
    for entry in TESTS:
        frame = make_mixed()[columns[entry.kind]]
        assert isinstance(get_ci_test(entry.name, frame), CITest)
        assert open_tests(open_for_scores(frame), entry.name).label == entry.name


# ---- continuous and mixed data ----


def make_mixed(n_rows=200, seed=1):
    rng = np.random.default_rng(seed)
    x, u = rng.normal(size=(2, n_rows))
    return pd.DataFrame(
        {"u": u, "x": x, "y": x + u + rng.normal(size=n_rows), "a": rng.integers(0, 3, n_rows), "b": (x > 0) * 1}
    )


@pytest.mark.parametrize("Z", [[], ["u"]])
@pytest.mark.parametrize(("ours", "pgmpys"), [(FisherZ, "FisherZ"), (Pearsonr, "Pearsonr")])
def test_numbers_of_pgmpy_for_continuous_data(ours, pgmpys, Z):
    frame = make_mixed()[["u", "x", "y"]]
    test, other = ours(frame), getattr(theirs, pgmpys)(frame)
    assert test.run_test("x", "y", Z) == pytest.approx(other.run_test("x", "y", Z), rel=1e-9)
    assert test.effect_size_ == pytest.approx(other.effect_size_)
    if hasattr(other, "dof_"):
        assert test.dof_ == other.dof_


def test_correlations_are_those_of_the_inverse_of_a_block():
    frame = make_mixed()[["u", "x", "y"]].assign(v=np.arange(200.0) ** 2)
    inverse = np.linalg.inv(np.corrcoef(frame[["x", "y", "u", "v"]].T))
    r = -inverse[0, 1] / np.sqrt(inverse[0, 0] * inverse[1, 1])
    for test, expected in ((Pearsonr(frame), r), (FisherZ(frame), np.sqrt(200 - 2 - 3) * np.arctanh(r))):
        assert test.run_test("y", "x", ["v", "u"])[0] == pytest.approx(expected, rel=1e-9)


def test_too_few_rows_for_a_correlation():
    frame = make_mixed(5)[["u", "x", "y"]].assign(v=[1.0, 3, 2, 5, 4])
    assert np.isnan(FisherZ(frame).run_test("x", "y", ["u", "v"])[1])
    assert not np.isnan(Pearsonr(frame).run_test("x", "y", ["u", "v"])[1])
    assert not FisherZ(frame)("x", "y", ["u", "v"])


def test_default_tests():
    frame = make_mixed()
    assert type(get_ci_test(None, frame)) is MixedRegression
    assert isinstance(get_ci_test(None, frame[["u", "x"]]), Pearsonr)  # as in pgmpy; FisherZ is one
    for columns, label in ((["u", "x"], "fisher_z"), (["a", "b"], "chi_square"), (["a", "x"], "mixed")):
        assert open_tests(open_for_scores(frame[columns])).label == label


def test_sources_of_continuous_and_mixed_data():
    frame = make_mixed()
    numbers = open_tests(open_for_scores(frame[["y", "x", "u"]]), "pearsonr")
    assert numbers.names == ("u", "x", "y")
    assert (
        numbers.source.test_row(1, [2], [0]).p_value[0] == Pearsonr(frame[["u", "x", "y"]]).run_test("x", "y", ["u"])[1]
    )
    mixed = open_tests(open_for_scores(frame), "mixed")
    assert mixed.names == ("a", "b", "u", "x", "y")
    assert mixed.source.test_row(0, [4], [2]).p_value[0] == MixedRegression(frame).run_test("a", "y", ["u"])[1]
    weights = np.arange(200) % 3
    repeated = frame.loc[frame.index.repeat(weights)]
    for columns in (["u", "x", "y"], list(frame)):
        tests = open_tests(open_for_scores(frame[columns]), sample_weight=weights)
        others = open_tests(open_for_scores(repeated[columns]))
        assert tests.n_rows == others.n_rows == weights.sum()
        row, other = (one.source.test_row(0, [1, 2], []).p_value for one in (tests, others))
        assert row == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("columns", [["u", "x", "y"], ["u", "x", "y", "a", "b"]])
def test_missing_values_of_continuous_data(columns):
    frame = make_mixed()[columns]
    frame.loc[::5, "y"] = np.nan
    x, y, u = sorted(columns).index("x"), sorted(columns).index("y"), sorted(columns).index("u")
    data = open_for_scores(frame)
    with pytest.raises(ValueError, match="'y'"):
        open_tests(data)
    test, remedy = (
        (MixedRegression, "data.dropna") if "a" in columns else (FisherZ, "open_numeric.data, missing='drop'")
    )
    with pytest.raises(ValueError, match=f"pass .*{remedy}"):
        test(frame)
    rows = [open_tests(data, missing=missing).source for missing in ("drop", "pairwise")]
    assert rows[0].test_row(y, [x], [u]).p_value == pytest.approx(rows[1].test_row(y, [x], [u]).p_value, rel=1e-9)
    assert rows[0].test_row(u, [x], []).p_value[0] != rows[1].test_row(u, [x], []).p_value[0]
    with pytest.raises(ValueError, match="category"):
        open_tests(data, missing="category")


def test_warnings_of_continuous_data():
    frame = make_mixed()
    with pytest.warns(UserWarning, match=r"'k' are constant"):
        tests = open_tests(open_for_scores(frame[["x", "u"]].assign(k=2.5)))
    assert tests.source.test_row(tests.names.index("k"), [2], []).p_value[0] == 1.0
    with pytest.warns(UserWarning, match=r"correlation 1 or -1: \('v', 'x'\)"):
        open_tests(open_for_scores(frame[["x", "u"]].assign(v=-2 * frame["x"])))
    with pytest.warns(UserWarning, match=r"'k', 'm' are constant"):
        open_tests(open_for_scores(frame.assign(k=2.5, m="one")))


def test_text_is_tested_by_tests_of_states():
    states = pd.DataFrame({name: list("yn" * 10) for name in "ab"})
    with pytest.raises(TypeError, match=r"'fisher_z' is of continuous variables; 'chi_square' and 'g_square' are"):
        FCI(ci_test="fisher_z", show_progress=False).fit(states)

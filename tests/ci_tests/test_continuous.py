"""Objects that test continuous variables, against the inverse of the correlations and pgmpy."""

import numpy as np
import pandas as pd
import pytest
from pgmpy import ci_tests as pgmpy_tests

from pgmx.ci_tests import FisherZ, Pearsonr, get_ci_test


@pytest.fixture
def frame(rng):
    rows = rng.normal(size=(80, 4)) @ (np.eye(4) + 0.5 * rng.normal(size=(4, 4)))
    return pd.DataFrame(rows, columns=["d", "a", "c", "b"])


@pytest.mark.parametrize("name", ["FisherZ", "Pearsonr"])
def test_statistics_and_p_values_are_those_of_pgmpy(name, frame):
    ours, theirs = {"FisherZ": FisherZ, "Pearsonr": Pearsonr}[name](frame), getattr(pgmpy_tests, name)(data=frame)
    for X, Y, Z in (("a", "b", []), ("d", "a", ["c"]), ("c", "d", ["b", "a"])):
        assert ours.run_test(X, Y, Z) == pytest.approx(theirs.run_test(X, Y, Z), rel=1e-9)
        assert ours.effect_size_ == pytest.approx(theirs.effect_size_, rel=1e-9)
        assert ours(X, Y, Z, significance_level=0.01) == theirs(X, Y, Z, significance_level=0.01)
    assert ours.dof_ == 80 - 2 - (3 if name == "FisherZ" else 2)


def test_the_order_of_columns_changes_no_bit(frame):
    tests = FisherZ(frame), FisherZ(frame[["a", "b", "c", "d"]])
    for X, Y, Z in (("a", "b", []), ("d", "a", ["c", "b"])):
        assert tests[0].run_test(X, Y, Z) == tests[1].run_test(X, Y, Z) == tests[0].run_test(Y, X, Z[::-1])


def test_a_constant_column_is_independent(frame):
    test = FisherZ(frame.assign(e=1.0))
    assert test.run_test("a", "e", ["b"]) == (0.0, 1.0)


def test_names(frame):
    assert type(get_ci_test("fisher_z", frame)) is FisherZ
    assert type(get_ci_test("PearsonR", frame)) is Pearsonr


def test_discrete_variables_are_refused(frame):
    with pytest.raises((TypeError, ValueError), match="e"):
        FisherZ(frame.assign(e="text"))

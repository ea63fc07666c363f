"""The Gaussian scores compared with pgmpy's, as pgmpy objects, and their refusals."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from pgmpy import structure_score as theirs
from pgmpy.base import DAG
from pgmpy.structure_score import BaseStructureScore
from sklearn.base import clone

from helpers.signatures import untyped_parameters
from oracles.other_scores import GAUSSIAN_FORMULAS
from pgmx import scores as ours
from pgmx.scores.registry import SCORES, find_score, list_scores
from pgmx.statistics import moments

NAMES = [e.class_name for e in SCORES if e.kind == "continuous" and hasattr(theirs, e.class_name)]


def frame_of(rng, n_rows=200):
    """Return four dependent columns of unlike size, far from zero."""
    mixed = rng.normal(size=(n_rows, 4)) @ rng.normal(size=(4, 4))
    return pd.DataFrame(mixed * [1, 100, 1e-3, 5] + [0, 1e4, 2, -7], columns=list("abcd"))


def families(columns):
    for child in columns:
        others = [name for name in columns if name != child]
        for k in range(len(others) + 1):
            for parents in itertools.combinations(others, k):
                yield child, parents


@pytest.mark.parametrize("name", NAMES)
def test_same_numbers(name, rng):
    frame = frame_of(rng)
    mine, pgmpy = getattr(ours, name)(frame), getattr(theirs, name)(frame)
    for family in families(list(frame)):
        assert mine.local_score(*family) == pytest.approx(pgmpy.local_score(*family), rel=1e-8)
    graph = DAG([("a", "b"), ("c", "b"), ("b", "d")])
    assert mine.score(graph) == pytest.approx(pgmpy.score(graph), rel=1e-8)


@pytest.mark.parametrize("name", list_scores("continuous"))
def test_formula(name, rng):
    frame = frame_of(rng, 1000)
    score = find_score(name).load()(frame)
    for child, parents in families(list(frame)):
        ids = [list(frame).index(p) for p in parents]
        expected = GAUSSIAN_FORMULAS[name](frame.to_numpy(), list(frame).index(child), ids)
        assert score.local_score(child, parents[::-1]) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", list_scores("continuous"))
def test_equivalent_graphs_have_equal_scores(name, rng):
    score = find_score(name).load()(frame_of(rng))
    there = score.local_score("a", ["c"]) + score.local_score("b", ["a", "c"])
    back = score.local_score("b", ["c"]) + score.local_score("a", ["b", "c"])
    assert there == pytest.approx(back, rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_is_a_pgmpy_score(name, rng):
    frame = frame_of(rng)
    score, pgmpy = getattr(ours, name)(frame), getattr(theirs, name)
    assert isinstance(score, BaseStructureScore)
    own = [parameter for parameter in untyped_parameters(type(score)) if parameter.name != "penalty"]
    assert own == untyped_parameters(pgmpy)
    assert score.get_tags() == {**pgmpy.get_class_tags(), **score.get_tags()}
    assert score.data is frame
    assert score.variables == list("abcd")
    assert [score.structure_prior_ratio(move) for move in ("+", "-", "flip")] == [0, 0, 0]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda s: clone(s, safe=False), lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_score_alike(name, way, rng):
    score = getattr(ours, name)(frame_of(rng))
    expected = score.local_score("b", ("a", "c"))
    assert way(score).local_score("b", ("a", "c")) == expected


def test_moments_alone_make_a_score(rng):
    frame = frame_of(rng)
    score = ours.BICGauss.from_moments(moments(frame), list(frame))
    assert score.local_score("b", ("a",)) == ours.BICGauss(frame).local_score("b", ("a",))


def test_the_frame_is_not_touched(rng):
    frame = frame_of(rng)
    before = frame.copy(deep=True)
    ours.AICGauss(frame).local_score("a", ("b", "c"))
    pd.testing.assert_frame_equal(frame, before)


def test_integers_and_arrays_are_numbers(rng):
    whole = rng.integers(0, 50, (100, 3))
    frame = pd.DataFrame(whole, columns=["x0", "x1", "x2"])
    expected = theirs.BICGauss(frame.astype(float)).local_score("x0", ("x1", "x2"))
    for data in (frame, whole, whole.astype(float), frame.astype({"x1": float})):
        assert ours.BICGauss(data).local_score("x0", ("x1", "x2")) == pytest.approx(expected, rel=1e-9)


def test_names_that_no_formula_could_hold(rng):
    frame = frame_of(rng).set_axis([1, ("b", 2), "c d", "~"], axis=1)
    assert np.isfinite(ours.BICGauss(frame).local_score(("b", 2), (1, "~")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(k=3.5, other=1), "columns 'k', 'other' are constant"),
        (lambda f: f.assign(s="x"), "BICGauss needs continuous variables, .* discrete: 's'. Choose 'bic-clg'"),
        (lambda f: f.assign(t=f["a"] > 0), "discrete: 't'"),
        (lambda f: f.assign(a=f["a"].mask(f.index == 3)), r"missing values \(NaN\) in column\(s\) 'a'"),
        (lambda f: f.replace({"a": {f["a"][0]: np.inf}}), r"infinite values \(inf\) in column\(s\) 'a'"),
    ],
)
def test_columns_that_are_no_data(change, message, rng):
    with pytest.raises(ValueError, match=message):
        ours.BICGauss(change(frame_of(rng)))


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (("z", ()), "'z' is not a variable"),
        (("a", ("b", "b")), "must be distinct"),
        (("a", ("a",)), "must be distinct and other variables"),
        (("a", ("b", "copy")), r"'copy' is a combination of others among 'a' and its parents \['b', 'copy'\]"),
        (("copy", ("b",)), r"'copy' is a combination of others among 'copy' and its parents \['b'\]"),
    ],
)
def test_families_that_are_none(family, message, rng):
    frame = frame_of(rng)
    score = ours.LogLikelihoodGauss(frame.assign(copy=2 * frame["b"] - 1))
    with pytest.raises(ValueError, match=message):
        score.local_score(*family)
    assert np.isfinite(score.local_score("a", ("b",)))


def test_the_base_class_says_what_it_lacks(rng):
    with pytest.raises(TypeError, match="abstract class GaussianScore with abstract method.? parameter_cost"):
        ours.GaussianScore(frame_of(rng))

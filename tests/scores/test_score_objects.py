"""Score instances as pgmpy objects: parameters, copies, state names, and refusals."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from pgmpy import structure_score as theirs
from pgmpy.structure_score import BaseStructureScore
from sklearn.base import clone

from helpers.signatures import untyped_parameters
from pgmx import scores as ours
from pgmx.data import DiscreteTable, encode, open_frame
from pgmx.scores.binding.continuous import GaussianScoring, MixedScoring
from pgmx.scores.binding.discrete import DiscreteScoring
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.gains import FunctionGains
from pgmx.scores.registry import SCORES, check_score_name, describe_scores, find_score, list_scores

NAMES = [entry.class_name for entry in SCORES if entry.kind == "discrete"]
FAMILY = "B", ("A", "C")


@pytest.fixture
def frame():
    return pd.DataFrame({"A": [0, 1, 1, 0, 1], "B": [1, 0, 1, 0, 2], "C": list("xyyxx")})


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture
def score(name, frame):
    return getattr(ours, name)(frame)


def test_is_a_pgmpy_score(name, score):
    assert isinstance(score, BaseStructureScore)
    assert score.get_tag("supported_datatype") == "discrete"
    if hasattr(theirs, name):
        pgmpy = getattr(theirs, name)
        own = [parameter for parameter in untyped_parameters(type(score)) if parameter.name != "penalty"]
        assert own == untyped_parameters(pgmpy)
        assert score.get_tags() == {**pgmpy.get_class_tags(), **score.get_tags()}
        assert score.get_tag("name") == pgmpy.get_class_tag("name")


def test_every_name_of_pgmpy_is_bound_to_a_compiled_score():
    """Any name that pgmpy's own look-up knows: none falls back to pgmpy's score of the same formula."""
    scores = [score for score in vars(theirs).values() if isinstance(score, type) and score.get_class_tag("name")]
    names = [score.get_class_tag("name") for score in scores]
    assert len(names) == 12
    assert set(names) <= set(list_scores(aliases=True))
    k, x = np.arange(40) % 3 % 2, np.random.default_rng(0).normal(size=(2, 40))
    frames = {
        "discrete": pd.DataFrame({"a": k, "b": 1 - k}),
        "continuous": pd.DataFrame({"a": x[0], "b": x[1]}),
        "mixed": pd.DataFrame({"a": pd.Categorical(k), "b": x[0]}),
    }
    for score in scores:
        name, kind = score.get_class_tag("name"), score.get_class_tag("supported_datatype")
        scoring = resolve_scoring(name, open_frame(frames[kind]), state_names=None, missing="error", n_jobs=None)
        assert isinstance(scoring, DiscreteScoring | GaussianScoring | MixedScoring), name
        assert type(scoring.score) is find_score(name).load()
        assert scoring.score.is_compiled()
        source = scoring.gains(allowed=None, max_indegree=None, deadline=math.inf, n_jobs=None)
        assert not isinstance(source, FunctionGains), name


def test_attributes(score, frame):
    assert score.variables == ["A", "B", "C"]
    assert score.state_names == {"A": [0, 1], "B": [0, 1, 2], "C": ["x", "y"]}
    assert all(type(state) is int for state in score.state_names["B"])
    assert score.data is frame
    assert score.table.n_rows == 5


def test_the_frame_is_not_touched(name, frame):
    before = frame.copy(deep=True)
    score = getattr(ours, name)(frame, state_names={"A": [1, 0, 2]})
    score.local_score(*FAMILY)
    pd.testing.assert_frame_equal(frame, before)


def test_state_names_are_kept_in_their_order(name, frame):
    given = {"A": [2, 1, 0], "C": ["y", "x", "never"]}
    kept = copy.deepcopy(given)
    score = getattr(ours, name)(frame, state_names=given)
    assert score.state_names == {"A": [2, 1, 0], "B": [0, 1, 2], "C": ["y", "x", "never"]}
    assert given == kept


def test_declared_categories_are_states(name):
    column = pd.Categorical(["a", "b", "a"], categories=["c", "b", "a"])
    score = getattr(ours, name)(pd.DataFrame({"A": column, "B": [1, 1, 0]}))
    assert score.state_names["A"] == ["c", "b", "a"]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda score: pickle.loads(pickle.dumps(score))])
@pytest.mark.parametrize("used", [False, True])
def test_copies_score_alike(score, way, used):
    if used:
        score.local_score(*FAMILY)
    other = way(score)
    assert other.local_score(*FAMILY) == score.local_score(*FAMILY)
    assert other.local_score("A", ()) == score.local_score("A", ())
    assert other.variables == score.variables
    assert other.get_params().keys() == score.get_params().keys()


@pytest.mark.parametrize("way", [lambda score: score.clone(), lambda score: clone(score, safe=False)])
def test_clones_score_alike(frame, score, way):
    """pgmpy's own scores cannot be cloned, which breaks the clone of a learner that holds one."""
    other = way(score)
    assert type(other) is type(score)
    assert other.local_score(*FAMILY) == score.local_score(*FAMILY)
    other = way(ours.BDeu(frame, equivalent_sample_size=3, state_names={"A": [2, 1, 0]}))
    assert other.equivalent_sample_size == 3
    assert other.state_names["A"] == [2, 1, 0]


def test_arrays_and_tables_are_data(name, frame):
    cls = getattr(ours, name)
    codes = np.array([[0, 1, 1, 0, 1], [1, 0, 1, 0, 2]])
    expected = cls(frame[["A", "B"]]).local_score("B", ("A",))
    assert cls(codes.T).local_score("x1", ("x0",)) == expected
    table = DiscreteTable(["A", "B"], [[0, 1], [0, 1, 2]], codes)
    assert cls(table).local_score("B", ("A",)) == expected
    assert cls(table).table is table


def test_integer_and_tuple_names(name):
    frame = pd.DataFrame({7: [0, 1, 0], ("a", 1): [1, 1, 0]})
    score = getattr(ours, name)(frame)
    assert score.variables == [7, ("a", 1)]
    assert math.isfinite(score.local_score(7, [("a", 1)]))


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (("Z", ()), "'Z' is not a variable of the data; the columns are"),
        (("A", ("Z",)), "'Z' is not a variable of the data"),
        (("A", (["B"],)), "is not a variable of the data"),
        (("A", ("B", "B")), "parents .* of 'A' must be distinct"),
        (("A", ("B", "A")), "parents .* of 'A' must be distinct and other variables"),
    ],
)
def test_families_that_are_none(score, family, message):
    with pytest.raises(ValueError, match=message):
        score.local_score(*family)
    assert math.isfinite(score.local_score(*FAMILY))


@pytest.mark.parametrize("size", [0, -1, 0.0, math.nan, math.inf, -math.inf, "10", None, True, 1j, [10]])
def test_equivalent_sample_sizes_that_are_none(frame, size):
    with pytest.raises((ValueError, TypeError), match="equivalent_sample_size must be a positive number, got"):
        ours.BDeu(frame, equivalent_sample_size=size)


@pytest.mark.parametrize("size", [1e-3, 1, np.int64(4), np.float64(2.5), 1e6])
def test_equivalent_sample_sizes(frame, size):
    score = ours.BDeu(frame, equivalent_sample_size=size)
    assert score.local_score(*FAMILY) == ours.BDeu(frame, float(size)).local_score(*FAMILY)
    assert score.equivalent_sample_size is size


@pytest.mark.parametrize(
    ("column", "message"), [([0.5, 1.5, 2.5], "float"), ([1.0, np.nan, 2.0], ""), (["a", None, "b"], "missing")]
)
def test_data_that_are_not_discrete(name, column, message):
    with pytest.raises((ValueError, TypeError), match=f"(?s).*{message}"):
        getattr(ours, name)(pd.DataFrame({"A": [0, 1, 0], "bad": column}))


def test_the_base_class_says_what_it_lacks(frame):
    with pytest.raises(TypeError, match="abstract class DiscreteScore with abstract method.? terms"):
        ours.DiscreteScore(frame)


def test_names_of_scores():
    for short in ("bic", "BIC", "bic-d", "aic", "aic-d", "ll", "LL-D", "k2", "bdeu"):
        assert find_score(check_score_name(short)).kind == "discrete"
    for entry in SCORES:
        assert check_score_name(entry.name.upper()) == entry.name
        assert entry.load().get_class_tag("name") == (entry.alias or entry.name)
        assert entry.load().get_class_tag("supported_datatype") == entry.kind
    with pytest.raises(ValueError, match="'bde' needs a prior network: pass the instance pgmx.scores.BDe"):
        check_score_name("BDe")
    with pytest.raises(ValueError, match="scoring_method='bice' is not known; choose one of bic, bic-d, .*bdeu"):
        check_score_name("bice")
    missing = [entry.name for entry in SCORES if f"{entry.name} (`{entry.class_name}`)" not in ours.__doc__]
    assert not missing, f"add {missing} to the names in the docstring of pgmx/scores/__init__.py"
    assert describe_scores().startswith("bic, aic, ll, ")
    assert "; continuous variables: bic-g, aic-g, ll-g, " in describe_scores()


def test_marked_missing_values_are_refused(name, frame):
    frame.loc[2, "B"] = np.nan
    score = getattr(ours, name)(encode(frame.astype({"B": "Int64"}), missing="pairwise"))
    marked = r"marked \(missing='pairwise'\) in column\(s\) 'B': code the table with 'drop'"
    with pytest.raises(ValueError, match=marked):
        score.local_score(*FAMILY)

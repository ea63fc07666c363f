"""What columns mean: discrete and continuous columns, declared states, missing values, constants."""

import gc
import pickle

import numpy as np
import pandas as pd
import pytest
from pgmpy import structure_score as pgmpy_scores

from helpers.learning_tables import codes_of, dependent_frame, edge_set, gaussian_frame, mixed_frame
from oracles.family_scores import dag_score
from pgmx.estimators import BootstrapStructure, HillClimbSearch
from pgmx.scores import BDs, BICCondLinearGauss


def learn(data, **options):
    return HillClimbSearch(return_type="dag", **options).fit(data)


# ---- the default score ----


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "Int64", "bool", "boolean", "category", "str", "object"])
def test_integers_and_all_other_states_are_states(dtype):
    """pgmpy scores integers as Gaussian and fails on bool."""
    data = dependent_frame(0)[["a", "c", "d"]]
    learner = learn(data.astype(dtype))
    assert learner.score_ == pytest.approx(dag_score(*codes_of(data), learner.edges_, "bic"), rel=1e-12)
    assert type(learner.model_).__name__ == "DiscreteBayesianNetwork"


def test_default_of_floats_is_gaussian():
    data = gaussian_frame(0)
    learner = learn(data)
    assert learner.score_ == pytest.approx(pgmpy_scores.BICGauss(data).score(learner.dag_), rel=1e-10)


@pytest.mark.parametrize(
    "states", ["str", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("int", "bool", "category"))]
)
def test_default_of_floats_beside_states_is_conditional_gaussian(states):
    data = mixed_frame(0)
    codes = data.assign(kind=(data["kind"] == "yes").astype(int), size=data["size"].map({"S": 0, "M": 1, "L": 2}))
    if states == "bool":
        given = data.assign(kind=data["kind"] == "yes")
    else:
        given = {"str": data, "int": codes, "category": data.astype({"kind": "category", "size": "category"})}[states]
    learner = learn(given)
    score = BICCondLinearGauss(data)
    families = {name: tuple(learner.dag_.predecessors(name)) for name in data}
    expected = sum(score.local_score(name, parents) for name, parents in families.items())
    assert learner.score_ == pytest.approx(expected, rel=1e-10)
    assert learner.edges_.tolist() == learn(data).edges_.tolist()


def test_float_array_is_gaussian_and_integer_array_is_not():
    data = gaussian_frame(0)
    assert learn(data.to_numpy()).edges_.tolist() == learn(data).edges_.tolist()
    counts = dependent_frame(0)
    assert learn(counts.to_numpy()).score_ == learn(counts).score_


@pytest.mark.parametrize("scoring_method", ["bic-g", "ll-cg"])
def test_integers_may_be_called_numbers(scoring_method):
    """Asked for by name, a Gaussian score takes integers, as in pgmpy."""
    data = dependent_frame(0)
    assert learn(data, scoring_method=scoring_method, max_indegree=1).n_features_in_ == 5


def test_bool_columns_under_a_gaussian_score():
    """pgmpy 1.1.2 raises a ValueError about broadcasting."""
    with pytest.raises(ValueError, match=r"'a'.*'d'"):
        learn(dependent_frame(0)[["a", "d"]].astype(bool), scoring_method="bic-g")


# ---- declared states ----


def test_state_names_keep_states_that_never_occur():
    data = dependent_frame(0)
    states = {"a": [0, 1, 7], "c": [1, 0]}
    learner = learn(data, state_names=states)
    assert learner.model_.states["a"] == [0, 1, 7]
    assert learner.model_.states["c"] == [1, 0]
    assert learner.model_.states["b"] == [0, 1, 2]
    codes, cards = codes_of(data)
    assert learner.score_ == pytest.approx(dag_score(codes, [3, *cards[1:]], learner.edges_, "bic"), rel=1e-12)


def test_categories_that_never_occur_are_kept_in_their_order():
    data = dependent_frame(0).astype({"a": pd.CategoricalDtype([1, 5, 0])})
    assert learn(data).model_.states["a"] == [1, 5, 0]


def test_state_names_apply_to_every_discrete_score():
    data = dependent_frame(0)
    states = {name: [0, 1, 2, 3] for name in data}
    learner = learn(data, scoring_method="bds", state_names=states)
    expected = BDs(data, state_names=states).score(learner.dag_)
    assert learner.score_ == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("scoring_method", ["bic", "bds"])
def test_wrong_state_names_are_named(scoring_method):
    data = dependent_frame(0)
    with pytest.raises(ValueError, match="'zeta'"):
        learn(data, scoring_method=scoring_method, state_names={"zeta": [0, 1]})
    with pytest.raises(ValueError, match=r"'b'.*2"):
        learn(data, scoring_method=scoring_method, state_names={"b": [0, 1]})


# ---- missing values ----


def with_missing(data, column, rows):
    return data.astype({column: "Int64"}).assign(**{column: lambda frame: frame[column].mask(frame.index.isin(rows))})


def test_missing_values_are_refused_with_the_names_and_the_remedy():
    data = with_missing(with_missing(dependent_frame(0), "b", [3]), "d", [5, 6])
    with pytest.raises(ValueError, match=r"'b', 'd'.*missing='drop'"):
        learn(data)


def test_drop_learns_from_the_complete_rows():
    data = with_missing(with_missing(dependent_frame(0), "b", [3]), "d", [5, 6])
    dropped, complete = learn(data, missing="drop"), learn(dependent_frame(0).drop(index=[3, 5, 6]))
    assert dropped.edges_.tolist() == complete.edges_.tolist()
    assert dropped.score_ == complete.score_
    assert dropped.model_.get_cpds("b") == complete.model_.get_cpds("b")


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_drop_with_floats(kind):
    data = gaussian_frame(0)
    holes = data.copy()
    holes.loc[[1, 4], "c"] = np.nan
    complete = data.drop(index=[1, 4])
    if kind == "array":
        holes, complete = holes.to_numpy(), complete.to_numpy()
    assert learn(holes, missing="drop").score_ == pytest.approx(learn(complete).score_, rel=1e-12)
    with pytest.raises(ValueError, match="NaN"):
        learn(holes)


# ---- degenerate tables ----


@pytest.mark.parametrize("score", ["bic", "aic", "k2", "bdeu"])
def test_constant_columns_are_isolated(score):
    data = dependent_frame(0).assign(constant="x", other=3)
    learner = learn(data, scoring_method=score)
    assert not {"constant", "other"} & {name for edge in learner.dag_.edges() for name in edge}
    assert {"constant", "other"} <= set(learner.dag_.nodes())
    assert learner.model_.states["constant"] == ["x"]
    assert learner.model_.check_model()


def test_only_constants():
    learner = learn(pd.DataFrame({"u": [1, 1, 1], "v": ["x", "x", "x"]}))
    assert not edge_set(learner.dag_)
    assert learner.score_ == pytest.approx(0.0, abs=1e-12)
    assert learner.converged_


@pytest.mark.parametrize("data", [gaussian_frame(0), mixed_frame(0)], ids=["floats", "floats beside states"])
def test_constant_floats_are_refused_by_name(data):
    with pytest.raises(ValueError, match="'flat'.*constant|constant.*'flat'"):
        learn(data.assign(flat=2.5))


@pytest.mark.parametrize("data", [dependent_frame(0)[["b"]], gaussian_frame(0)[["b"]]], ids=["states", "floats"])
def test_single_column(data):
    learner = HillClimbSearch().fit(data)
    assert list(learner.graph_.nodes()) == ["b"]
    assert not edge_set(learner.graph_)
    assert learner.edges_.shape == (0, 2)
    assert learner.model_.check_model()
    assert learner.adjacency_matrix_.shape == (1, 1)


def test_more_states_than_rows_warns_and_goes_on():
    data = pd.DataFrame({"id": [f"row {i}" for i in range(30)], "coin": [0, 1] * 15, "other": [0, 1, 1] * 10})
    with pytest.warns(UserWarning, match="'id'"):
        learner = learn(data)
    assert "id" not in {name for edge in learner.dag_.edges() for name in edge}
    with pytest.warns(UserWarning, match="'id'"):
        declared = learn(data, state_names={"id": [f"row {i}" for i in range(500)]})
    assert declared.model_.get_cpds("id").variable_card == 500


def test_two_rows():
    learner = learn(pd.DataFrame({"u": [0, 1], "v": ["x", "y"], "w": [True, False]}))
    assert learner.model_.check_model()


# ---- tables that are coded to a temporary file ----


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: HillClimbSearch(), lambda: BootstrapStructure(n_resamples=2)])
def test_a_pickle_outlives_the_coded_file(make, tmp_path):
    path = tmp_path / "rows.csv"
    dependent_frame(0).to_csv(path, index=False)
    learner = make().fit(path)
    bare = pickle.dumps(learner)
    edges, nodes = learner.edges_.tolist(), learner.model_.nodes()
    assert pickle.loads(bare).model_.nodes() == nodes
    whole = pickle.dumps(learner)
    del learner
    gc.collect()
    restored = pickle.loads(bare)
    assert restored.edges_.tolist() == edges
    assert set(restored.graph_.nodes()) == set(nodes)
    with pytest.raises(FileNotFoundError, match="Access model_ before the learner is pickled"):
        restored.model_  # noqa: B018
    assert pickle.loads(whole).model_.nodes() == nodes


def test_columns_that_are_copies_are_named():
    data = gaussian_frame(0)
    data["copy"] = 2.0 * data["a"] + 1.0
    with pytest.warns(UserWarning, match=r"determine each other linearly: 'a' and 'copy'"):
        learner = HillClimbSearch(show_progress=False).fit(data)
    assert not learner.dag_.has_edge("a", "copy")
    assert not learner.dag_.has_edge("copy", "a")

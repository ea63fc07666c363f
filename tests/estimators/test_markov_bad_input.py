"""Data and options that learners of Markov networks refuse with the remedy, and odd data that they take."""

import numpy as np
import pandas as pd
import pytest

from helpers.markov_tables import ALL, EDGE_WISE, planted_network, planted_rows
from pgmx.estimators import BestChoiceEdgeGrafting, EdgeGrafting, GroupLassoMarkovNetwork

ROWS = planted_rows(300)
every_learner = pytest.mark.parametrize("make", ALL.values(), ids=ALL)
every_edge_wise = pytest.mark.parametrize("make", EDGE_WISE.values(), ids=EDGE_WISE)


def refused(data, words, make=EdgeGrafting, **options):
    with pytest.raises((TypeError, ValueError), match=words):
        make(**options).fit(data)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pd.DataFrame(), r"0 feature\(s\)"),
        (ROWS[[]], r"0 feature\(s\)"),
        (ROWS[:0], r"0 sample\(s\).*minimum of 2"),
        (ROWS[:1], r"1 sample\(s\).*minimum of 2.*two rows"),
        (ROWS["x0"], r"Expected 2D array.*to_frame"),
        (None, "NoneType"),
        (ROWS.set_axis(list("abcdefga"), axis=1), r"duplicate column name.*'a'.*rename"),
        (ROWS.astype({"x1": "Int64"}).assign(x1=pd.NA), r"missing.*'x1'.*drop"),
        (ROWS.assign(x1=["a", None] * 150), r"missing.*'x1'.*drop.*category"),
        (ROWS.assign(x1=0.5), r"'x1'.*discretise"),
        (ROWS.assign(x1=np.nan), r"'x1'"),
        (ROWS.assign(x1=np.inf), r"'x1'.*inf"),
        (ROWS.astype({"x1": float}), r"'x1'.*whole numbers.*discrete_columns=\['x1'\]"),
        (ROWS.assign(x1=1j), r"'x1'.*complex"),
        (ROWS.assign(x1=pd.Timestamp("2026-01-01")), r"'x1'.*datetime"),
        (ROWS.assign(x1=[[0], [1]] * 150), r"'x1'.*unhashable"),
        (np.where(np.eye(4) > 0, np.nan, 1.0), "NaN"),
        (np.where(np.eye(4) > 0, np.inf, 1.0), "infinity|inf"),
    ],
)
def test_bad_tables(data, words):
    for make in (EdgeGrafting, BestChoiceEdgeGrafting, GroupLassoMarkovNetwork):
        refused(data, words, make)


def test_floats_are_not_sent_to_scores_that_these_learners_lack():
    with pytest.raises(ValueError, match="discretise") as caught:
        EdgeGrafting().fit(ROWS.assign(x1=0.5))
    assert "bic-g" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lam": -0.1}, r"'lam'.*-0\.1"),
        ({"lam": np.inf}, r"'lam'.*inf"),
        ({"lam": np.nan}, r"'lam'.*nan"),
        ({"lam": "auto"}, r"'lam'.*'auto'"),
        ({"lam_ratio": -1}, r"'lam_ratio'.*-1"),
        ({"lam_ratio": None}, r"'lam_ratio'.*None"),
        ({"l2": -1e-9}, r"'l2'.*-1e-09"),
        ({"loss": "likelihood"}, r"'loss'.*'likelihood'"),
        ({"penalize_nodes": "yes"}, r"'penalize_nodes'.*'yes'"),
        ({"max_edges": -1}, r"'max_edges'.*-1"),
        ({"max_edges": 2.5}, r"'max_edges'.*2\.5"),
        ({"tol": 0}, r"'tol'.*0"),
        ({"max_time": -1}, r"'max_time'.*-1"),
        ({"callback": "print"}, r"'callback'.*'print'"),
        ({"missing": "impute"}, r"'missing'.*'impute'"),
        ({"missing": "pairwise"}, r"'missing'.*'pairwise'"),
        ({"state_names": [["x"]]}, r"'state_names'"),
        ({"state_names": {"z": [0, 1]}}, r"'z'"),
        ({"state_names": {"x0": [0, 1]}}, r"'x0'.*2"),
        ({"n_jobs": 0}, r"n_jobs"),
        ({"random_state": "seed"}, r"'random_state'.*'seed'"),
        ({"start": "model"}, r"start must be a PairwiseMarkovNetwork.*str"),
        ({"start": planted_network(5)}, r"start and the data have different variables; .*'x[567]'"),
        ({"true_graph": [("x0", "z")]}, r"true_graph.*'z'"),
        ({"true_graph": ["x0"]}, r"true_graph.*'x0'.*pair"),
        ({"true_graph": 5}, r"true_graph.*pairs"),
        ({"held_out": ROWS[["x0"]]}, r"held_out.*'x\d'"),
        ({"held_out": ROWS.assign(x0=7)}, r"held_out.*'x0'.*7"),
        ({"held_out": 5}, r"held_out"),
        ({"checkpoint": "no/such/folder/file"}, r"checkpoint.*no folder"),
        ({"checkpoint": "here.ckpt", "random_state": None}, r"checkpoint.*random_state=None.*seed"),
    ],
    ids=str,
)
def test_options_out_of_range(options, words):
    for make in (EdgeGrafting, BestChoiceEdgeGrafting, GroupLassoMarkovNetwork):
        refused(ROWS, words, make, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 1.5}, r"'alpha'.*1\.5"),
        ({"alpha": "best"}, r"'alpha'.*'best'"),
        ({"reservoir_size": 0}, r"'reservoir_size'.*0"),
        ({"max_tests": 0}, r"'max_tests'.*0"),
        ({"hub_threshold": -0.5}, r"'hub_threshold'.*-0\.5"),
        ({"structure_heuristics": "on"}, r"'structure_heuristics'.*'on'"),
    ],
    ids=str,
)
def test_options_of_streams(options, words):
    refused(ROWS, words, BestChoiceEdgeGrafting, **options)


@pytest.mark.filterwarnings("ignore:max_time=")
def test_a_ratio_for_too_many_pairs_asks_for_the_penalty():
    wide = np.zeros((2, 6400), dtype=np.int8)
    refused(wide, r"6400 variables.*20,476,800 pairs.*lam=", BestChoiceEdgeGrafting)
    assert BestChoiceEdgeGrafting(lam=0.1, max_time=0).fit(wide).lam_ == 0.1


@pytest.mark.parametrize("weights", [[1.0, 2.0], np.full(300, -1.0), np.zeros(300), np.full(300, np.nan), ["a"] * 300])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="sample_weight"):
        EdgeGrafting().fit(ROWS, sample_weight=weights)


def test_a_refused_fit_leaves_no_half_fitted_learner():
    learner = EdgeGrafting(required_edges=[("x0", "z")])
    with pytest.raises(ValueError, match="'z'"):
        learner.fit(ROWS)
    assert not [name for name in vars(learner) if name.endswith("_")]
    with pytest.raises(AttributeError, match="not fitted"):
        _ = learner.graph_


# ---- odd data that are taken ----


@every_learner
def test_a_state_that_never_occurs(make):
    names = {"x0": [0, 1, 2, "never"], "x3": ["unseen", 0, 1, 2]}
    learner = make(lam_ratio=0.1, state_names=names).fit(ROWS)
    assert learner.converged_
    assert learner.model_.states["x0"] == [0, 1, 2, "never"]
    shares = learner.model_.marginals()
    assert 0 < shares["x0"]["never"] < 0.05
    assert shares["x3"]["unseen"] < 0.05
    assert learner.model_.marginals({"x0": "never"})["x1"][0] > 0


@every_learner
def test_two_identical_columns_and_a_column_that_another_decides(make):
    data = ROWS.assign(copy=ROWS["x0"], decided=(ROWS["x1"] == 1).astype(int))
    learner = make(lam_ratio=0.05).fit(data)
    assert learner.converged_
    assert learner.graph_.has_edge("x0", "copy")
    assert learner.graph_.has_edge("x1", "decided")
    assert learner.model_.marginals({"x0": 0})["copy"][0] > 0.85
    assert learner.model_.map({"decided": 1})["x1"] == 1


@every_learner
@pytest.mark.parametrize("option", ["lam", "lam_ratio"])
def test_no_penalty(make, option):
    """Without a penalty every pair is an edge."""
    data = ROWS[list(ROWS)[:4]]
    learner = make(**{option: 0.0}).fit(data)
    assert learner.converged_
    assert learner.lam_ == 0
    assert len(learner.edges_) == 6
    assert learner.objective_ == pytest.approx(EdgeGrafting(lam=0.0).fit(data).objective_, abs=5e-6)


@every_learner
def test_perfectly_dependent_without_any_penalty(make):
    """The optimum lies at infinity: the run ends all the same, with finite parameters."""
    data = pd.DataFrame({"a": [0, 1] * 40, "b": [0, 1] * 40, "c": [0, 0, 1, 1] * 20})
    learner = make(lam=0.0, l2=0.0, max_time=20).fit(data)
    assert learner.converged_
    assert np.isfinite(learner.model_.potentials.edge_values).all()
    assert learner.model_.marginals({"a": 1})["b"][1] > 0.99


@every_learner
def test_more_states_than_rows(make):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({name: rng.permutation(12) for name in "abcd"})
    learner = make().fit(data)
    assert learner.converged_
    assert learner.model_.marginals()["a"][3] == pytest.approx(1 / 12, abs=0.05)


@every_learner
def test_no_edges_allowed(make):
    learner = make(lam=0.001, max_edges=0).fit(ROWS)
    assert (learner.stopped_by_, learner.converged_, len(learner.edges_)) == ("max_edges", False, 0)
    assert list(learner.graph_) == list(ROWS)
    shares = learner.model_.marginals()["x0"]
    assert shares[0] == pytest.approx((ROWS["x0"] == 0).mean(), abs=0.02)


@every_learner
@pytest.mark.parametrize("loss", ["pseudolikelihood", "exact", "bethe"])
def test_one_column_constant_columns_two_rows(make, loss):
    one = make(loss=loss).fit(ROWS[["x0"]])
    assert (one.converged_, len(one.edges_), list(one.graph_)) == (True, 0, ["x0"])
    still = make(loss=loss).fit(ROWS[["x0", "x1"]].assign(same="always"))
    assert still.converged_
    assert still.model_.marginals()["same"]["always"] == pytest.approx(1)
    constant = make(loss=loss).fit(pd.DataFrame({"a": ["x"] * 5, "b": ["y"] * 5}))
    assert (constant.converged_, constant.objective_, len(constant.edges_)) == (True, 0.0, 0)
    assert make(loss=loss).fit(ROWS[["x0", "x1", "x2"]][:2]).converged_


@every_edge_wise
def test_many_states(make):
    """Above 255 states codes take two bytes."""
    rng = np.random.default_rng(0)
    wide = rng.permutation(np.repeat(np.arange(300), 3))
    data = pd.DataFrame({"wide": wide, "group": wide % 2, "other": rng.integers(0, 2, 900)})
    with pytest.warns(UserWarning, match="many states"):
        learner = make(lam=0.0001).fit(data)
    assert learner.converged_
    assert learner.graph_.has_edge("wide", "group")
    assert learner.model_.map({"wide": 7})["group"] == 1

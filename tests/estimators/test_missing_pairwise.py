"""missing="pairwise": the node-average score, what it finds and does not find, and the network that follows."""

import math

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import dependent_frame, edge_set, gaussian_frame, mixed_frame
from oracles.other_scores import node_average
from pgmx.data import IncompleteRowsWarning, encode, open_frame
from pgmx.estimators import ChowLiuForest, HillClimbSearch
from pgmx.scores import BIC, ParameterPrior
from pgmx.scores.binding.resolve import resolve_scoring

PENALTY = {"ll": lambda n: 0.0, "aic": lambda n: 1.0, "bic": lambda n: 0.5 * math.log(n)}


def learn(data, scoring_method="bic", **options):
    options = {"missing": "pairwise", "return_type": "dag", **options}
    return HillClimbSearch(scoring_method=scoring_method, **options).fit(data)


def resolved(name, data, **options):
    opened = data if not isinstance(data, pd.DataFrame) else open_frame(data)
    options = {"state_names": None, "missing": "pairwise", "n_jobs": None, **options}
    return resolve_scoring(name, opened, **options)


def with_holes(frame, rng, share=0.2, columns=None):
    """Return the frame with cells missing at random; integers stay integers."""
    frame = frame.astype("Int64")
    for name in frame if columns is None else columns:
        frame[name] = frame[name].mask(rng.random(len(frame)) < share)
    return frame


@pytest.mark.parametrize("name", PENALTY)
def test_against_the_formula(name, seed, rng):
    data = with_holes(dependent_frame(seed), rng, columns=["a", "b", "d"])
    scoring = resolved(name, data)
    table = scoring.table
    cards, missing = table.cardinalities.tolist(), table.missing_codes.tolist()
    assert not scoring.equivalent
    for child in range(5):
        for parents in [(), (0,), (1, 2), (0, 3, 4)]:
            family = tuple(p for p in parents if p != child)
            expected = node_average(table.codes, cards, child, family, missing, PENALTY[name])
            assert scoring.local_score(child, family) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", PENALTY)
def test_complete_data_have_the_plain_score(name):
    data = dependent_frame(0)
    mine, plain = resolved(name, with_holes(data, np.random.default_rng(0), columns=["a"])), resolved(name, data)
    source = plain.gains(allowed=None, max_indegree=None, deadline=math.inf, n_jobs=None)
    expected = source.family_score(3, np.array([1, 2], dtype=np.int32))
    assert mine.local_score(3, (1, 2)) == pytest.approx(expected, rel=1e-10)


def test_a_complete_table_is_scored_as_ever():
    data = dependent_frame(0)
    assert learn(data).score_ == learn(data, missing="error").score_


@pytest.mark.parametrize("where", range(8))
def test_an_independent_parent_with_half_its_cells_missing_is_not_added(where):
    """A likelihood over fewer rows is a larger one: it would earn the edge in most of these tables."""
    rng = np.random.default_rng(where)
    x = rng.integers(0, 2, 500)
    frame = with_holes(pd.DataFrame({"x": x, "u": rng.integers(0, 3, 500)}), rng, 0.5, ["u"])
    assert len(learn(frame).edges_) == 0
    table = encode(frame, missing="pairwise")
    both = table.codes[1] != table.missing_codes[1]
    shares, all_shares = np.bincount(x[both]) / both.sum(), np.bincount(x) / 500
    of_fewer_rows = both.sum() * float(shares @ np.log(shares))
    assert of_fewer_rows - 500 * float(all_shares @ np.log(all_shares)) > 100


@pytest.mark.parametrize("where", range(8))
def test_an_independent_parent_beside_a_strong_one_is_not_added(where):
    """The likelihoods of {x, strong} differ by tens of nats from one half of the rows to the other."""
    rng = np.random.default_rng(where)
    strong = rng.integers(0, 2, 500)
    x = np.where(rng.random(500) < 0.9, strong, 1 - strong)
    frame = pd.DataFrame({"u": rng.integers(0, 3, 500), "x": x, "strong": strong})
    scoring = resolved("bic", with_holes(frame, rng, 0.5, ["u"]))
    assert scoring.local_score(1, (0, 2)) < scoring.local_score(1, (2,))


def test_one_hole_changes_next_to_nothing():
    data = dependent_frame(0, 2000)
    complete, holes = learn(data, missing="error"), data.astype("Int64")
    holes.iloc[7, 2] = pd.NA
    mine = learn(holes)
    assert edge_set(mine.dag_) == edge_set(complete.dag_)
    assert mine.score_ == pytest.approx(complete.score_, rel=1e-3)


@pytest.mark.parametrize("where", range(4))
def test_a_real_parent_is_found(where):
    rng = np.random.default_rng(where)
    u = rng.integers(0, 2, 2000)
    x = np.where(rng.random(2000) < 0.95, u, 1 - u)
    frame = with_holes(pd.DataFrame({"x": x, "u": u, "coin": rng.integers(0, 2, 2000)}), rng, 0.4)
    assert {frozenset(edge) for edge in learn(frame).dag_.edges()} == {frozenset("xu")}


def test_a_column_of_one_known_state_tells_nothing(rng):
    frame = with_holes(dependent_frame(0)[["a", "b"]].assign(one=7), rng, 0.5)
    for name in PENALTY:
        learner = learn(frame, name)
        assert not any("one" in edge for edge in learner.dag_.edges())
        scoring = resolved(name, frame)
        assert scoring.local_score(0, (1, 2)) == pytest.approx(scoring.local_score(0, (1,)), rel=1e-12)


def test_the_network_knows_no_marker(seed, rng):
    data = with_holes(dependent_frame(seed), rng, 0.3)
    model = resolved("bic", data).model([(0, 1), (1, 3), (2, 3)])
    assert model.check_model()
    assert model.states["b"] == [0, 1, 2]
    complete = data[["b", "c", "d"]].dropna().astype(int)
    for (b, c), part in complete.groupby(["b", "c"]):
        for d in (0, 1):
            found = model.get_cpds("d").get_value(b=b, c=c, d=d)
            assert found == pytest.approx((part["d"] == d).mean(), rel=1e-12)


def test_weights_are_repeated_rows(rng):
    data = with_holes(dependent_frame(0), rng)
    weights = rng.integers(0, 20, 300)
    states = {name: [0, 1, 2] if name in "be" else [0, 1] for name in data}
    mine = resolved("bic", data, sample_weight=weights, state_names=states)
    repeated = resolved("bic", data.loc[data.index.repeat(weights)].reset_index(drop=True), state_names=states)
    fewer = resolved("bic", data, state_names=states).reweight(weights)
    for family in [(0, ()), (1, (0,)), (3, (1, 2))]:
        assert mine.local_score(*family) == pytest.approx(repeated.local_score(*family), rel=1e-10)
        assert fewer.local_score(*family) == mine.local_score(*family)


def test_a_price_for_parameters(rng):
    data = with_holes(dependent_frame(0), rng)
    plain, dear = resolved("bic", data), resolved("bic", data, structure_prior=ParameterPrior(2.0))
    assert dear.local_score(3, (1, 2)) == pytest.approx(plain.local_score(3, (1, 2)) - 2 * 6 * 1, rel=1e-12)


def test_a_table_coded_for_it_needs_no_option(rng):
    data = with_holes(dependent_frame(0), rng)
    of_frame = resolved("bic", data)
    of_table = resolved("bic", encode(data, missing="pairwise"), missing="error")
    assert of_table.local_score(1, (0, 2)) == of_frame.local_score(1, (0, 2))


# ---- refusals ----


@pytest.mark.parametrize("name", ["k2", "bdeu", "bds"])
def test_scores_that_have_no_such_form(name, rng):
    with pytest.raises(
        ValueError, match=f"missing='pairwise' is not supported by scoring_method='{name}': choose 'bic'"
    ):
        learn(with_holes(dependent_frame(0), rng), name)


@pytest.mark.parametrize(("frame", "name"), [(gaussian_frame, "bic-g"), (mixed_frame, "bic-clg")])
def test_scores_of_numbers_are_refused(frame, name):
    alternatives = (
        r"missing='{}' is for discrete columns, and column\(s\) .* are continuous. For missing values pass "
        r"missing='drop' to leave out the rows that have them, or missing='em' to use their expected counts; or "
        r"discretise the columns with pgmx.data.discretize .*declare discrete ones with discrete_columns="
    )
    for missing in ("pairwise", "category"):
        for scoring_method in (None, name):
            with pytest.raises(ValueError, match=alternatives.format(missing)):
                HillClimbSearch(scoring_method=scoring_method, missing=missing).fit(frame(0))
        with pytest.raises(ValueError, match="in a table of discrete variables.* with missing='drop' or missing='em'"):
            HillClimbSearch(scoring_method="bic", missing=missing).fit(frame(0))
        with pytest.raises(ValueError, match="pass missing='drop' to leave out the rows that have them; or discretise"):
            ChowLiuForest(missing=missing).fit(frame(0))


def test_scores_of_numbers_take_no_state_for_missing_integers(rng):
    for name in ("bic-g", "bic-clg"):
        with pytest.raises(ValueError, match=f"missing='category' is not supported by scoring_method='{name}'"):
            HillClimbSearch(scoring_method=name, missing="category").fit(dependent_frame(0))


def test_instances_are_refused(rng):
    data = with_holes(dependent_frame(0), rng)
    with pytest.raises(ValueError, match="needs a score by name .* not an instance of BIC"):
        learn(data, BIC(data.dropna().astype(int)))


def test_columns_without_a_known_cell_are_named(rng):
    declared = pd.Categorical([None] * 300, categories=["x", "y"])
    for blank in (pd.array([pd.NA] * 300, dtype="Int64"), declared):
        data = with_holes(dependent_frame(0), rng).assign(blank=blank)
        with pytest.raises(ValueError, match="columns 'blank' have no observed value: drop them$"):
            learn(data)


def test_few_complete_rows_are_told():
    rng = np.random.default_rng(0)
    u, w = rng.integers(0, 2, (2, 4000))
    x = np.where(rng.random(4000) < 0.95, u ^ w, 1 - (u ^ w))
    frame = pd.DataFrame({"x": np.where(rng.random(4000) < 0.3, u, x), "u": u, "w": w})
    states = {name: [0, 1] for name in "xuw"}
    known = {"state_names": states, "required_edges": [("u", "x"), ("w", "x")]}
    learn(with_holes(frame, rng, 0.4), **known)  # 22 % of the rows: not a word
    words = r"fewer than 10% of the rows are complete in the families of 'x' \(\d+ of 4,000 rows in that of 'x'\)"
    with pytest.warns(IncompleteRowsWarning, match=words):
        learn(with_holes(frame, rng, 0.6), **known)


def test_category_makes_a_state_of_missing_values(rng):
    data = with_holes(dependent_frame(0), rng, columns=["b"])
    learner = learn(data, missing="category")
    assert learner.model_.states["b"] == [0, 1, 2, "missing"]
    assert edge_set(learner.dag_) == edge_set(learn(encode(data, missing="category"), missing="error").dag_)

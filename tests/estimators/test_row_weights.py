"""Row weights of every score: whole weights are repeated rows, refusals, networks, copies for other processes."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from pgmpy import structure_score as pgmpy_scores
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from helpers.learning_tables import dependent_frame, gaussian_frame, mixed_frame
from oracles.other_scores import gaussian_score, weighted_score
from pgmx.data import encode, open_frame
from pgmx.scores import BDeu, BICGauss, ParameterPrior
from pgmx.scores.binding.continuous import GaussianScoring
from pgmx.scores.binding.discrete import DiscreteScoring, WeightedScoring
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.discrete.bde import BDe
from pgmx.scores.registry import list_scores

DISCRETE = list_scores("discrete")
GAUSSIAN = ["ll-g", "aic-g", "bic-g"]
FAMILIES = [(0, []), (1, [0]), (3, [0, 1]), (0, [1, 2, 3])]


def resolved(scoring_method, data, *, state_names=None, missing="error", **options):
    opened = data if not isinstance(data, pd.DataFrame) else open_frame(data)
    return resolve_scoring(scoring_method, opened, state_names=state_names, missing=missing, n_jobs=None, **options)


def source_of(scoring):
    return scoring.gains(allowed=None, max_indegree=None, deadline=math.inf, n_jobs=None)


def numbers(scoring):
    """Return all gains and scores of a few families."""
    n, source = len(scoring.names), source_of(scoring)
    gains, scores = np.empty((n, n)), np.empty(n)
    source.start(gains, scores)
    found = [gains.copy(), scores]
    for child, parents in FAMILIES:
        scores[child] = source.rescore(child, np.array(parents, dtype=np.int32), gains)
        found += [scores.copy(), gains[child].copy()]
    return found


def assert_same(mine, theirs, **close):
    for a, b in zip(numbers(mine), numbers(theirs), strict=True):
        np.testing.assert_allclose(a, b, **close)


def repeat(frame, weights):
    return frame.loc[frame.index.repeat(weights)].reset_index(drop=True)


def with_all_states(frame, weights):
    """Return weights under which all states occur, so that repeated rows have the same states."""
    for name in frame:
        weights[[int(frame.index[frame[name] == state][0]) for state in frame[name].unique()]] += 1
    return weights


# ---- weights are repeated rows ----


@pytest.mark.parametrize("name", DISCRETE)
@pytest.mark.parametrize("kind", [int, float])
def test_moderate_whole_weights_are_repeated_rows_exactly(name, kind, rng):
    data = dependent_frame(0)
    weights = with_all_states(data, rng.integers(0, 3, len(data)))
    mine = resolved(name, data, sample_weight=weights.astype(kind))
    assert type(mine) is DiscreteScoring
    assert_same(mine, resolved(name, repeat(data, weights)), rtol=0)


@pytest.mark.parametrize("name", DISCRETE)
def test_large_whole_weights_are_repeated_rows(name, rng):
    data = dependent_frame(0, n_rows=120)
    weights = with_all_states(data, rng.integers(0, 12, len(data)))
    mine = resolved(name, data, sample_weight=weights)
    assert type(mine) is WeightedScoring
    assert_same(mine, resolved(name, repeat(data, weights)), rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("name", GAUSSIAN)
def test_gaussian_weights_are_repeated_rows(name, rng):
    data = gaussian_frame(0)
    weights = rng.integers(0, 9, len(data))
    assert_same(
        resolved(name, data, sample_weight=weights), resolved(name, repeat(data, weights)), rtol=1e-10, atol=1e-5
    )


@pytest.mark.parametrize("name", DISCRETE)
def test_fractional_weights(name, rng):
    data = dependent_frame(0, n_rows=80)
    weights = rng.exponential(size=80)
    scoring = resolved(name, data, sample_weight=weights)
    source, codes, cards = source_of(scoring), scoring.table.codes, scoring.table.cardinalities.tolist()
    for child, parents in FAMILIES:
        expected = weighted_score(codes, cards, child, parents, weights, name)
        found = source.family_score(child, np.array(parents, dtype=np.int32))
        assert found == pytest.approx(expected, rel=1e-10)


def test_fractional_weights_of_numbers(rng):
    data, weights = gaussian_frame(0), rng.exponential(size=200)
    source = source_of(resolved("bic-g", data, sample_weight=weights))
    for child, parents in FAMILIES:
        expected = gaussian_score(data.to_numpy(), child, parents, 0.5 * math.log(weights.sum()), weights)
        assert source.family_score(child, np.array(parents, dtype=np.int32)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["bic", "bic-g"])
def test_weights_of_one_are_none(name):
    data = dependent_frame(0) if name == "bic" else gaussian_frame(0)
    assert_same(resolved(name, data, sample_weight=np.ones(len(data))), resolved(name, data), rtol=0)


def test_weights_follow_the_rows_that_are_kept(rng):
    data = dependent_frame(0).astype("Int64")
    data.loc[::7, "b"] = pd.NA
    weights = rng.integers(1, 3, len(data))
    kept = data["b"].notna().to_numpy()
    mine = resolved("bic", data, missing="drop", sample_weight=weights)
    assert_same(mine, resolved("bic", repeat(data[kept].reset_index(drop=True), weights[kept])), rtol=0)


def uniform_network(data):
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(data)
    for name in data:
        r = data[name].nunique()
        network.add_cpds(TabularCPD(name, r, np.full((r, 1), 1 / r), state_names={name: sorted(data[name].unique())}))
    return network


@pytest.mark.parametrize("kind", ["whole", "real"])
def test_instances_take_weights_too(kind, rng):
    data = dependent_frame(0)
    weights = with_all_states(data, rng.integers(0, 3, len(data))) * (1 if kind == "whole" else 1.1)
    network = uniform_network(data)
    mine = resolved(BDe(data, network), data, sample_weight=weights)
    assert mine.equivalent
    assert_same(mine, resolved(BDeu(data), data, sample_weight=weights), rtol=1e-9, atol=1e-5)
    rotated = data[["c", "a", "e", "b", "d"]]
    assert_same(resolved(BDe(data, network), rotated), resolved("bdeu", rotated), rtol=1e-9, atol=1e-5)


# ---- the same score on other rows ----


@pytest.mark.parametrize("name", [*DISCRETE, *GAUSSIAN])
def test_resampled(name, rng):
    data = dependent_frame(0) if name in DISCRETE else gaussian_frame(0)
    weights = rng.multinomial(len(data), np.full(len(data), 1 / len(data)))
    fractional = rng.exponential(size=len(data))
    scoring = resolved(name, data, structure_prior=ParameterPrior(0.5))
    for drawn in (weights, fractional):
        expected = resolved(name, data, sample_weight=drawn, structure_prior=ParameterPrior(0.5))
        assert_same(scoring.reweight(drawn), expected, rtol=0)
    twice = scoring.reweight(fractional).reweight(weights)
    once = resolved(name, data, sample_weight=fractional * weights, structure_prior=ParameterPrior(0.5))
    assert_same(twice, once, rtol=1e-12)


def test_pgmpys_scores_are_resampled_by_whole_weights(rng):
    data = mixed_frame(0).astype({"kind": "category", "size": "category"})
    weights = rng.multinomial(len(data), np.full(len(data), 1 / len(data)))
    scoring = resolved(pgmpy_scores.BICCondGauss(data), data)
    mine = scoring.reweight(weights)
    theirs = pgmpy_scores.BICCondGauss(mine.score.data)
    assert len(mine.score.data) == len(data)
    assert mine.local_score(1, (0,)) == theirs.local_score("x", ("kind",))
    with pytest.raises(ValueError, match="BICCondGauss does not support row weights"):
        scoring.reweight(weights + 0.5)


@pytest.mark.parametrize("name", ["bic", "bds", "bic-g", "bic-cg", "bic instance", "bde instance"])
def test_scores_travel(name, rng):
    """To another process: with the same numbers there, and without the caller's frame twice."""
    discrete = dependent_frame(0)
    data = gaussian_frame(0) if name == "bic-g" else mixed_frame(0) if name == "bic-cg" else discrete
    method = name.split()[0] if "instance" not in name else None
    method = method or (BDe(discrete, uniform_network(discrete)) if "bde" in name else BDeu(discrete))
    scoring = resolved(method, data)
    copy = pickle.loads(pickle.dumps(scoring))
    assert copy.names == scoring.names
    assert copy.bonus == scoring.bonus
    assert_same(copy, scoring, rtol=0)
    edges = np.array([[0, 1]])
    assert copy.prior(edges) == scoring.prior(edges)


# ---- networks ----


@pytest.mark.parametrize("size", [2, 40])
def test_discrete_network_of_weighted_rows(size, rng):
    data = dependent_frame(0)
    weights = with_all_states(data, rng.integers(0, size, len(data)))
    edges = [(0, 1), (0, 2), (1, 2)]
    mine = resolved("bic", data, sample_weight=weights).model(edges)
    theirs = resolved("bic", repeat(data, weights)).model(edges)
    for name in data:
        np.testing.assert_allclose(mine.get_cpds(name).values, theirs.get_cpds(name).values, rtol=1e-12)


def test_gaussian_network_of_weighted_rows(rng):
    data = gaussian_frame(0)
    weights = rng.integers(0, 4, len(data))
    edges = [(0, 1), (0, 2), (1, 3), (2, 3)]
    mine = resolved("bic-g", data, sample_weight=weights).model(edges)
    theirs = resolved("bic-g", repeat(data, weights)).model(edges)
    for name in data:
        np.testing.assert_allclose(mine.get_cpds(name).beta, theirs.get_cpds(name).beta, rtol=1e-8, atol=1e-10)
        assert mine.get_cpds(name).std == pytest.approx(theirs.get_cpds(name).std, rel=1e-8)
    assert mine.check_model()


# ---- refusals ----


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 299, r"shape \(300,\), one weight per row, got \(299,\)"),
        (np.ones((300, 1)), r"shape \(300,\), one weight per row, got \(300, 1\)"),
        (2.0, r"got \(\)"),
        ([1.0] * 299 + [-1.0], r"sample_weight\[299\] is -1.0: weights must be finite and not negative"),
        ([math.nan] + [1.0] * 299, r"sample_weight\[0\] is nan"),
        ([1.0, math.inf] + [1.0] * 298, r"sample_weight\[1\] is inf"),
        ([0] * 300, "all sample_weight are zero"),
        ([1e-4] * 300, "add up to 0.03, less than one row"),
        (["much"] * 300, "sample_weight must be numbers, got text"),
        (["1"] * 300, "sample_weight must be numbers, got text"),
        (np.array(["1"] * 300, dtype=object), "sample_weight must be numbers, got text"),
        ([1e307] * 300, r"the sum of sample_weight is inf, more than 2\*\*62"),
        ([1e17] * 300, r"the sum of sample_weight is 3e\+19, more than 2\*\*62"),
        (np.full(300, 1 << 60), r"the sum of sample_weight is 3\.45876e\+20, more than 2\*\*62"),
    ],
)
def test_weights_that_are_none(weights, message):
    with pytest.raises(ValueError, match=message):
        resolved("bic", dependent_frame(0), sample_weight=weights)


def test_all_weight_on_rows_that_are_dropped():
    data = dependent_frame(0).astype("Int64")
    data.loc[5, "b"] = pd.NA
    with pytest.raises(ValueError, match="all rows without missing values have the sample_weight zero"):
        resolved("bic", data, missing="drop", sample_weight=(np.arange(300) == 5).astype(float))


def test_pgmpys_instances_take_no_weights():
    data = dependent_frame(0)
    with pytest.raises(ValueError, match="sample_weight is not supported by 'K2'"):
        resolved(pgmpy_scores.K2(data), data, sample_weight=np.full(300, 2.0))


def test_the_table_and_the_weights_are_not_touched(rng):
    table, weights = encode(dependent_frame(0)), rng.exponential(size=300)
    before = table.codes.copy(), weights.copy()
    numbers(resolved("bic", table, sample_weight=weights).reweight(np.arange(300)))
    np.testing.assert_array_equal(table.codes, before[0])
    np.testing.assert_array_equal(weights, before[1])
    assert isinstance(resolved("bic-g", gaussian_frame(0)), GaussianScoring)
    assert BICGauss(gaussian_frame(0)).moments.n == 200

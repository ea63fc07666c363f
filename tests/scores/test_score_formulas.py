"""The discrete scores against their formulas, also where declared states and parent configurations never occur."""

import inspect
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, xlogy

from helpers.examples import examples
from oracles import family_scores as oracle
from pgmx.data import DiscreteTable
from pgmx.scores import AIC, BIC, K2, BDeu, LogLikelihood
from pgmx.scores.registry import find_score, list_scores

CLASSES = {name: find_score(name).load() for name in list_scores("discrete")}
WITH_SIZE = [name for name, cls in CLASSES.items() if "equivalent_sample_size" in inspect.signature(cls).parameters]


def coded(codes, cards):
    return DiscreteTable([f"v{i}" for i in range(len(cards))], [range(r) for r in cards], codes)


@st.composite
def families(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    observed = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    cards = [r + int(rng.integers(0, 3)) for r in observed]
    n_rows = draw(st.integers(1, 300))
    codes = np.stack([rng.integers(0, r, n_rows) for r in observed])
    return codes, cards, rng.permutation(len(cards)).tolist()[: draw(st.integers(1, len(cards)))]


@pytest.mark.parametrize("name", CLASSES)
@given(family=families())
@examples(60)
def test_local_score(name, family):
    codes, cards, (child, *parents) = family
    score = CLASSES[name](coded(codes, cards))
    found = score.local_score(f"v{child}", [f"v{p}" for p in parents])
    assert type(found) is float
    assert found == pytest.approx(oracle.family_score(codes, cards, child, parents, name), rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("name", WITH_SIZE)
@given(family=families(), size=st.sampled_from([1e-3, 0.5, 1, 3, 25.0, 1e4, 1e6]))
@examples(60)
def test_equivalent_sample_size(name, family, size):
    codes, cards, (child, *parents) = family
    score = CLASSES[name](coded(codes, cards), equivalent_sample_size=size)
    expected = oracle.family_score(codes, cards, child, parents, name, ess=size)
    found = score.local_score(f"v{child}", tuple(f"v{p}" for p in parents))
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("name", CLASSES)
def test_equivalent_graphs_have_equal_scores(name, rng):
    """The scores that claim it, where everything occurs: states that never occur change the prior of some."""
    codes = np.stack([rng.integers(0, r, 400) for r in (2, 3, 4)])
    score = CLASSES[name](coded(codes, [2, 3, 4]))
    there = score.local_score("v0", ["v2"]) + score.local_score("v1", ["v0", "v2"])
    back = score.local_score("v1", ["v2"]) + score.local_score("v0", ["v1", "v2"])
    if score.terms(400).equivalent:
        assert there == pytest.approx(back, rel=1e-12)


@pytest.mark.parametrize("size", [1e-3, 1.0, 10.0, 1e3, 1e6])
def test_many_rows(size, rng):
    """200,000 rows of a small table, by whole-array formulas of scipy."""
    n_rows, r, q = 200_000, 3, 8
    columns = [rng.integers(0, 4, n_rows), rng.integers(0, 2, n_rows)]
    child = (columns[0] + columns[1] + (rng.random(n_rows) < 0.2)) % r
    table = np.zeros((r, q))
    np.add.at(table, (child, columns[0] * 2 + columns[1]), 1)
    data = coded(np.stack([child, *columns]), [r, 4, 2])
    family = "v0", ("v2", "v1")
    configs = table.sum(axis=0)
    likelihood = math.fsum(xlogy(table, table / configs).ravel())
    a = size / q
    dirichlet = (gammaln(table + a / r) - gammaln(a / r)).ravel(), gammaln(configs + a) - gammaln(a)
    expected = [
        (LogLikelihood(data), likelihood),
        (AIC(data), likelihood - q * (r - 1)),
        (BIC(data), likelihood - 0.5 * math.log(n_rows) * q * (r - 1)),
        (K2(data), math.fsum(gammaln(table + 1).ravel()) - math.fsum(gammaln(configs + r)) + q * gammaln(r)),
        (BDeu(data, size), math.fsum(dirichlet[0]) - math.fsum(dirichlet[1])),
    ]
    for score, value in expected:
        assert score.local_score(*family) == pytest.approx(value, rel=1e-10), type(score)


def test_penalties_count_all_declared_states():
    frame = pd.DataFrame({"x": [0, 1, 1, 0, 1], "y": [0, 0, 1, 1, 1]})
    names = {"x": [0, 1, 2], "y": [0, 1, 2, 3]}
    plain, declared = LogLikelihood(frame), LogLikelihood(frame, state_names=names)
    assert declared.local_score("x", ["y"]) == plain.local_score("x", ["y"])
    assert AIC(frame, names).local_score("x", ["y"]) == pytest.approx(plain.local_score("x", ["y"]) - 4 * 2)
    expected = plain.local_score("x", ["y"]) - 4 * 2 * 0.5 * math.log(5)
    assert BIC(frame, names).local_score("x", ["y"]) == pytest.approx(expected)


def test_one_row():
    data = coded(np.array([[0], [1]]), [1, 2])
    for cls in CLASSES.values():
        assert cls(data).local_score("v0", ["v1"]) == 0.0


def test_order_of_parents_does_not_matter(rng):
    data = coded(rng.integers(0, 3, (4, 100)), [3] * 4)
    for cls in CLASSES.values():
        score = cls(data)
        expected = score.local_score("v0", ["v1", "v2", "v3"])
        assert score.local_score("v0", ("v3", "v1", "v2")) == expected
        assert score.local_score("v0", (name for name in ["v2", "v3", "v1"])) == expected

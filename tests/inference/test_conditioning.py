"""Elimination by conditioning in less memory than an order needs, against elimination with enough."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from pgmx.datasets import grid_network
from pgmx.inference import LogFactors, TreewidthError, log_partition
from pgmx.inference.exact.variable_elimination import choose_conditioning, sum_by_conditioning


def enumerate_sum(factors):
    cells = list(itertools.product(*(range(card) for card in factors.cardinalities)))
    return np.logaddexp.reduce(factors.log_score(np.array(cells).T))


@st.composite
def factor_networks(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cards = draw(st.lists(st.integers(1, 3), min_size=2, max_size=7))
    scopes = draw(
        st.lists(st.lists(st.sampled_from(range(len(cards))), min_size=1, max_size=4, unique=True), max_size=8)
    )
    tables = [rng.normal(size=[cards[v] for v in scope], scale=3.0) for scope in scopes]
    if draw(st.booleans()):
        tables = [np.where(rng.random(table.shape) < 0.2, -np.inf, table) for table in tables]
    return LogFactors(np.array(cards), tuple(map(tuple, scopes)), tuple(tables))


@given(factors=factor_networks(), cells=st.integers(1, 16))
@examples(60)
def test_the_sum_of_all_configurations(factors, cells):
    conditioning = choose_conditioning(factors.cardinalities.tolist(), factors.scopes, 8 * cells, 2**40)
    assert conditioning.bytes <= 8 * cells
    answer = sum_by_conditioning(factors, conditioning)
    np.testing.assert_allclose(answer, enumerate_sum(factors), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_less_memory_gives_the_same_answer(n_jobs):
    grid = grid_network(9, 9, edge_scale=1.5, random_state=3)
    answer = log_partition(grid, method="exact", memory=2**11, n_jobs=n_jobs)
    assert answer.exact
    assert answer == pytest.approx(log_partition(grid), rel=1e-13)


def test_too_much_work_is_refused():
    grid = grid_network(12, 12)
    assert choose_conditioning([2] * 144, grid.potentials.edges.tolist(), 64, 2**30) is None
    with pytest.raises(TreewidthError, match="method='ais'"):
        log_partition(grid, method="exact", memory=64)

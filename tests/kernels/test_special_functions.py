"""The kernels' own logarithms, seen through the scores of single families."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln, xlogy

from helpers.coded_tables import make_scorer, rounding
from oracles.family_scores import log_rising
from pgmx._ext._families import natural_log

NO_PARENTS = np.empty(0, dtype=np.int32)
SIZES = [1e-3, 0.05, 1.0, 7.3, 10.0, 19.99, 20.0, 100.0, 1e4, 1e6]


def column(*counts):
    """Return the codes of one variable, each state a given number of times."""
    return np.repeat(np.arange(len(counts)), counts).astype(np.uint8)[None, :]


def alone(counts, score, **options):
    return make_scorer(column(*counts), [len(counts)], score, **options).family_score(0, NO_PARENTS)


def check_likelihood(counts):
    n = sum(counts)
    expected = math.fsum(xlogy(counts, np.array(counts) / n))
    np.testing.assert_allclose(alone(counts, "ll"), expected, rtol=1e-10, atol=rounding(n))


def check_dirichlet(counts, score, prior, ess=10.0):
    """Against a sum of logarithms: a difference of scipy's gammaln loses more digits than is tolerated here."""
    rising = [log_rising(prior, count) for count in counts]
    expected = math.fsum([*rising, -log_rising(len(counts) * prior, sum(counts))])
    found = alone(counts, score, ess=ess)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=rounding(sum(counts)))
    return found


@given(st.lists(st.integers(0, 3000), min_size=2, max_size=9).filter(any))
def test_log_likelihood(counts):
    check_likelihood(counts)


@given(st.lists(st.integers(0, 3000), min_size=2, max_size=9).filter(any))
def test_k2(counts):
    found = check_dirichlet(counts, "k2", prior=1.0)
    n, r = sum(counts), len(counts)
    expected = math.fsum(gammaln(np.array(counts) + 1.0)) - gammaln(n + r) + gammaln(r)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=rounding(n))


@given(
    st.lists(st.integers(0, 40) | st.integers(0, 3000), min_size=2, max_size=9).filter(any),
    st.floats(1e-3, 1e6) | st.sampled_from(SIZES),
)
def test_bdeu(counts, ess):
    check_dirichlet(counts, "bdeu", prior=ess / len(counts), ess=ess)


@pytest.mark.parametrize("ess", SIZES)
@pytest.mark.parametrize("counts", [(200_000, 0), (199_999, 1), (123_456, 76_544), (1, 40_000, 10, 11, 9, 159_969)])
def test_large_counts(counts, ess):
    check_likelihood(counts)
    check_dirichlet(counts, "k2", prior=1.0)
    check_dirichlet(counts, "bdeu", prior=ess / len(counts), ess=ess)


@pytest.mark.parametrize("ess", SIZES)
def test_both_sides_of_the_short_product(ess):
    """Up to 10 factors are multiplied out, more go through Stirling's series."""
    for n in (1, 2, 9, 10, 11, 12, 13, 30):
        for counts in [(n, 0), (n, n), (n, 3, 0, 1)]:
            check_dirichlet(counts, "bdeu", prior=ess / len(counts), ess=ess)


@pytest.mark.parametrize("ess", [1e6, 1e8, 1e10, 1e12, 1e15])
def test_priors_that_outweigh_the_data(ess):
    """ln Gamma(a + n) and ln Gamma(a) agree in nearly all digits here, so their difference cannot be taken of them."""
    for counts in [(11, 0), (11, 1), (12, 6), (50, 20, 0), (1000, 1)]:
        check_dirichlet(counts, "bdeu", prior=ess / len(counts), ess=ess)


@pytest.mark.parametrize("ess", [1e-3, 1.0, 10.0, 1e6])
def test_scipy_gammaln_over_families_of_many_cells(ess, rng):
    # priors of ess / (q r) down to 1e-7; here gammaln loses no digits that count
    cards = [9, 30, 40]
    codes = np.stack([rng.integers(0, r, 200_000) for r in cards]).astype(np.uint8)
    scorer = make_scorer(codes, cards, "bdeu", pairs=False, ess=ess)
    table = np.zeros(cards)
    np.add.at(table, tuple(codes), 1)
    a = ess / (30 * 40)
    cells = gammaln(table + a / 9) - gammaln(a / 9)
    configs = gammaln(table.sum(axis=0) + a) - gammaln(a)
    expected = math.fsum(cells.ravel()) - math.fsum(configs.ravel())
    found = scorer.family_score(0, np.array([1, 2], dtype=np.int32))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_empty_states_and_certain_ones_add_nothing():
    assert alone((500, 0), "ll") == 0.0
    assert alone((500, 0, 0), "ll") == 0.0
    assert alone((700, 44), "ll") == alone((700, 0, 44, 0), "ll")


def test_same_bits_on_every_platform():
    """Only IEEE additions, multiplications and divisions go into these; a compiler that fuses them would show here."""
    assert alone((3, 5, 9, 17), "ll").hex() == "-0x1.44e89e6506e2ap+5"
    assert alone((1000, 3, 77), "bic").hex() == "-0x1.30f44705c0f0dp+8"


@pytest.mark.parametrize("x", [1.0, 2.0, 3.0, 10.0, 277862.0, 1e6, 123456789.0, 1e15, 0.1, 1e-300])
def test_natural_log(x):
    assert natural_log(x) == pytest.approx(math.log(x), rel=4e-16, abs=4e-16)

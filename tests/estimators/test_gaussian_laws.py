"""Laws of the Gaussian learners: order and units of variables, order of rows, the largest penalty."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.gaussian_tables import (
    chain_rows,
    deviations,
    edge_set,
    every_leaf,
    random_rows,
    standardised,
)
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso

P = 7
EXACT = {
    "glasso": lambda **options: GraphicalLasso(tol=1e-12, **options),
    "clime": lambda **options: CLIME(solver="homotopy", **options),
    "neighborhood": lambda **options: NeighborhoodLasso(tol=1e-14, **options),
}
every_exact = pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
few = settings(max_examples=15)
seeds, ratios = st.integers(0, 50), st.sampled_from([0.7, 0.4, 0.2])


def as_learned(learner, rows):
    """Return the precision of standardised variables that was learned."""
    return standardised(learner.precision_, deviations(rows))


@every_exact
@few
@given(seed=seeds, lam_ratio=ratios, order=st.permutations(range(P)))
@pytest.mark.slow
def test_permuted_variables_permute_the_answer(make, seed, lam_ratio, order):
    rows = random_rows(P, 60, seed)
    permuted = rows[[f"x{v}" for v in order]]
    one, other = make(lam_ratio=lam_ratio).fit(rows), make(lam_ratio=lam_ratio).fit(permuted)
    assert other.variables_ == list(permuted)
    assert other.lam_ == pytest.approx(one.lam_, rel=1e-12)
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-10)
    # a gap of 1e-12 leaves the matrices right to about 1e-6
    expected = as_learned(one, rows)[np.ix_(order, order)]
    np.testing.assert_allclose(as_learned(other, permuted), expected, rtol=0, atol=1e-5)
    clear = np.abs(expected) > 1e-4
    assert (as_learned(other, permuted)[clear] != 0).all()


@every_exact
@few
@given(
    seed=seeds,
    lam_ratio=ratios,
    powers=st.lists(st.integers(-12, 12), min_size=P, max_size=P),
    shifts=st.lists(st.sampled_from([0.0, 1.0, -1e3]), min_size=P, max_size=P),
    signs=st.lists(st.sampled_from([1.0, -1.0]), min_size=P, max_size=P),
)
@pytest.mark.slow
def test_units_change_nothing_but_units(make, seed, lam_ratio, powers, shifts, signs):
    rows = random_rows(P, 60, seed)
    units = 10.0 ** np.array(powers) * signs
    changed = (rows + shifts) * units
    one, other = make(lam_ratio=lam_ratio).fit(rows), make(lam_ratio=lam_ratio).fit(changed)
    assert other.lam_ == pytest.approx(one.lam_, rel=1e-9)
    # the shift takes three digits of sixteen; exact zeros may come or go within the tolerance alone
    expected = as_learned(one, rows) * np.outer(signs, signs)
    np.testing.assert_allclose(as_learned(other, changed), expected, rtol=0, atol=1e-5)
    np.testing.assert_allclose(other.location_ / units, one.location_ + shifts, rtol=1e-9, atol=1e-9)
    scale = deviations(changed)
    np.testing.assert_allclose(
        other.covariance_ / np.outer(scale, scale),
        one.covariance_ / np.outer(deviations(rows), deviations(rows)) * np.outer(signs, signs),
        rtol=0,
        atol=1e-4,
    )
    score = one.score(rows) - np.log(np.abs(units)).sum()
    assert other.score(changed) == pytest.approx(score, rel=1e-6, abs=1e-4)


@pytest.mark.parametrize("power", [-12, 12])
@every_leaf
def test_the_graph_has_no_unit(make, power):
    rows = random_rows(12, 100, seed=4)
    units = 2.0 ** np.where(np.arange(12) % 2, power / 0.30103, 0).round()  # powers of two: no rounding at all
    one, other = make().fit(rows), make().fit(rows * units)
    np.testing.assert_array_equal(other.edges_, one.edges_)
    np.testing.assert_allclose(other.precision_ * np.outer(units, units), one.precision_, rtol=1e-6)
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-12)


@every_exact
@few
@given(seed=seeds, order_seed=seeds)
@pytest.mark.slow
def test_order_of_rows_changes_rounding_alone(make, seed, order_seed):
    rows = random_rows(P, 60, seed)
    shuffled = rows.sample(frac=1, random_state=order_seed)
    one, other = make().fit(rows), make().fit(shuffled)
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-11)
    np.testing.assert_allclose(other.precision_, one.precision_, rtol=0, atol=1e-5)


@every_exact
@few
@given(
    seed=seeds, weights=st.lists(st.integers(0, 3), min_size=30, max_size=30).filter(lambda w: sum(map(bool, w)) > 12)
)
@pytest.mark.slow
def test_weights_are_repetitions(make, seed, weights):
    rows = random_rows(P, 30, seed)
    weighted = make().fit(rows, sample_weight=weights)
    repeated = make().fit(rows.loc[rows.index.repeat(weights)])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-10)
    np.testing.assert_allclose(weighted.precision_, repeated.precision_, rtol=0, atol=1e-4)
    assert weighted.model_.n_samples == repeated.model_.n_samples == sum(weights)


@every_leaf
@few
@given(seed=seeds)
@pytest.mark.slow
def test_the_largest_penalty_is_where_edges_begin(make, seed):
    rows = random_rows(P, 60, seed)
    largest = make().fit(rows).lam_max_
    assert 0 < largest < 1
    for lam in (largest * (1 + 1e-9), 1.5 * largest, 1.0):
        empty = make(lam=lam).fit(rows)
        assert not len(empty.edges_), lam
        assert empty.converged_
        shrunk = 1 - lam if make is CLIME and lam < 1 else 1.0  # of a precision that CLIME makes as small as it may
        np.testing.assert_allclose(empty.covariance_, np.diag(rows.var(ddof=0) / shrunk), rtol=1e-9, atol=0)
    assert make(lam_ratio=1.0).fit(rows).lam_ == largest
    below = make(lam=0.99 * largest).fit(rows)
    if make is CLIME:  # two columns need not choose each other
        below_edges = np.argwhere(below.precision_raw_ - np.diag(below.precision_raw_.diagonal()))
    else:
        below_edges = below.edges_
    assert len(below_edges) >= 1


@every_leaf
def test_independent_groups_stay_apart(make):
    """No edge joins groups whose rows are exactly uncorrelated."""
    left, right = chain_rows(4, 64, seed=1).to_numpy(), chain_rows(3, 64, seed=2).to_numpy()
    left = np.vstack([left, left])
    right = np.vstack([right, -right])
    right -= right.mean(axis=0)
    left -= left.mean(axis=0)
    rows = pd.DataFrame(np.hstack([left, right]))
    assert np.abs(rows.corr().to_numpy()[:4, 4:]).max() < 1e-12
    learner = make(lam_ratio=0.2).fit(rows)
    assert len(learner.edges_)
    assert not [(i, j) for i, j in learner.edges_ if i < 4 <= j]
    # each group is as if it were alone
    alone = make(lam=learner.lam_).fit(rows.iloc[:, :4])
    assert edge_set(alone) == {edge for edge in edge_set(learner) if max(edge) < 4}
    np.testing.assert_allclose(learner.precision_[:4, :4], alone.precision_, rtol=1e-3, atol=1e-4)

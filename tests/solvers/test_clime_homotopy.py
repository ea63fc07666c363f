"""Exact CLIME columns against linear programs, and the matrices on which ties abound."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.clime import dual_value, excess, shifted, smallest_radius, solve_column
from pgmx.solvers.gaussian.clime import solve_by_homotopy


def corr(rows):
    R = np.corrcoef(rows, rowvar=False)
    R = np.ascontiguousarray((R + R.T) / 2)
    np.fill_diagonal(R, 1.0)
    return R


def tied_matrices():
    rng = np.random.default_rng(3)
    sign = rng.choice([-1.0, 1.0], 10)
    rows = rng.standard_normal((30, 5))
    few = rng.integers(0, 3, (40, 9)).astype(float)
    return {
        "one variable": np.eye(1),
        "identity": np.eye(8),
        "two rows of data": np.outer(sign, sign),
        "equal correlations": np.full((12, 12), 0.5) + 0.5 * np.eye(12),
        "nearly equal variables": np.full((10, 10), 0.99) + 0.01 * np.eye(10),
        "singular, equal": np.full((8, 8), -1 / 7) + 8 / 7 * np.eye(8),
        "each variable twice": corr(np.hstack([rows, rows])),
        "sums and negatives": corr(np.hstack([rows, -rows, rows[:, :1] + rows[:, 1:2]])),
        "three rows of data": corr(rng.standard_normal((3, 10))),
        "few values": corr(few),
        "chain": 0.5 ** abs(np.subtract.outer(np.arange(12), np.arange(12))),
        "ring": np.eye(10) + 0.5 * (np.roll(np.eye(10), 1, 0) + np.roll(np.eye(10), -1, 0)),
        "blocks": np.kron(np.eye(3), np.full((4, 4), 0.7) + 0.3 * np.eye(4)),
    }


LAMS = np.array([0.8, 0.5, 0.3, 0.1, 0.02])
TIED = tied_matrices()


@pytest.mark.parametrize("ridge", [0.0, 0.2])
@pytest.mark.parametrize("name", TIED)
def test_ties_end_and_end_right(name, ridge):
    R = TIED[name]
    S, columns = shifted(R, ridge), np.arange(len(R))
    R.flags.writeable = False
    estimates, unfinished = solve_by_homotopy(R, columns, LAMS, ridge=ridge)
    assert unfinished is None
    for j in columns[::3]:
        least = smallest_radius(S, j)
        for t, lam in enumerate(LAMS):
            q = estimates.coefficients[t][:, [j]].toarray().ravel()
            assert estimates.violations[t, j] == pytest.approx(excess(S, q, j, lam), abs=1e-10)
            if lam < least - 1e-9:
                # HiGHS works to 1e-7
                assert estimates.violations[t, j] == pytest.approx(least - lam, abs=1e-6)
                assert not estimates.converged[t, j]
            else:
                assert estimates.converged[t, j]
                assert excess(S, q, j, lam) <= 1e-9
                assert abs(q).sum() == pytest.approx(solve_column(S, j, lam)[2], rel=1e-6, abs=1e-6)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 12),
    st.integers(3, 30),
    st.floats(0.01, 0.9),
    st.sampled_from([0.05, 0.5]),
)
def test_optimal_by_its_own_certificate_and_by_highs(seed, p, n, lam, ridge):
    R = corr(np.random.default_rng(seed).standard_normal((n, p)))
    j = seed % p
    estimates, _ = solve_by_homotopy(R, np.array([j]), np.array([lam]), ridge=ridge)
    S, q = shifted(R, ridge), estimates.coefficients[0].toarray().ravel()
    assert estimates.converged.all()
    assert excess(S, q, j, lam) <= 1e-9
    _, y, value = solve_column(S, j, lam)
    assert dual_value(S, y, j, lam) == pytest.approx(value, abs=1e-6)  # HiGHS works to 1e-7
    assert abs(q).sum() == pytest.approx(value, rel=1e-6, abs=1e-6)


def test_entries_agree_with_highs_where_the_solution_is_unique(rng):
    R = corr(rng.standard_normal((80, 40)))
    lams = np.array([0.3, 0.15, 0.08])
    estimates, _ = solve_by_homotopy(R, np.array([0, 13, 39]), lams)
    for c, j in enumerate([0, 13, 39]):
        for t, lam in enumerate(lams):
            q = estimates.coefficients[t][:, [c]].toarray().ravel()
            np.testing.assert_allclose(q, solve_column(R, j, lam)[0], atol=1e-7)  # HiGHS works to 1e-7


def test_the_norm_grows_along_the_path_and_is_convex(rng):
    R = corr(rng.standard_normal((60, 30)))
    lams = np.linspace(0.9, 0.05, 18)
    estimates, _ = solve_by_homotopy(R, np.arange(30), lams, ridge=0.1)
    norms = np.array([abs(q).sum(axis=0) for q in estimates.coefficients])
    assert (np.diff(norms, axis=0) >= -1e-9).all()
    assert (np.diff(norms, 2, axis=0) >= -1e-9).all()


def test_blocks_of_the_matrix_do_not_decouple():
    # all |R_ij| that join {0, 1} and {2} are below lam, and yet the block alone violates the constraint of row 2
    R = np.array([[1.0, 0.9, 0.2], [0.9, 1.0, -0.2], [0.2, -0.2, 1.0]])
    whole, _ = solve_by_homotopy(R, np.array([0]), np.array([0.25]))
    block, _ = solve_by_homotopy(np.ascontiguousarray(R[:2, :2]), np.array([0]), np.array([0.25]))
    alone = np.append(block.coefficients[0].toarray().ravel(), 0.0)
    assert excess(R, alone, 0, 0.25) > 0.1
    assert whole.violations.max() <= 1e-9
    assert abs(whole.coefficients[0]).sum() == pytest.approx(solve_column(R, 0, 0.25)[2], rel=1e-7)


def test_a_deadline_leaves_feasible_points(rng):
    R = corr(rng.standard_normal((30, 20)))
    estimates, unfinished = solve_by_homotopy(
        R, np.arange(20), np.array([0.2]), ridge=0.1, deadline=0.0, allowance=1e99
    )
    assert unfinished is None
    assert estimates.violations.max() <= 0.8 + 1e-12  # zero is feasible at radius 1

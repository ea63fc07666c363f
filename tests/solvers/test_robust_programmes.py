"""Linear programmes of robust regressions against HiGHS, with ties, duplicate rows and fixed coefficients."""

import numpy as np
import pytest

from pgmx.solvers.time_series import group_robust, robust_programmes
from pgmx.solvers.time_series.group_lasso import GroupLassoProblem
from pgmx.solvers.time_series.group_robust import solve_programme, solve_robust
from pgmx.solvers.time_series.robust_programmes import RobustProgrammes

EPSILONS = pytest.mark.parametrize("epsilon", [0.0, 0.3])
SHAPES = {"rows": (40, 6), "columns": (15, 25), "duplicates": (40, 6), "integers": (40, 6), "exact": (40, 6)}


def pose(kind, *, is_masked=False):
    """Return a problem of three targets and its unpenalised columns."""
    rng = np.random.default_rng(3)
    n_rows, width = SHAPES[kind]
    columns, targets = rng.standard_normal((n_rows, width)), rng.standard_t(2, (n_rows, 3))
    if kind == "integers":
        columns, targets = (rng.integers(0, 3, part.shape).astype(float) for part in (columns, targets))
    elif kind == "duplicates":
        places = rng.integers(0, n_rows, n_rows)
        columns, targets = columns[places], targets[places]
    elif kind == "exact":
        targets = columns[:, :3] * 2.0
    basis = np.linalg.qr(np.column_stack([np.ones(n_rows), np.arange(n_rows)]))[0]
    columns, targets = (part - basis @ (basis.T @ part) for part in (columns, targets))
    allowed = np.ones((3, width), dtype=bool)
    if is_masked:
        allowed = rng.random((3, width)) < 0.6
    return GroupLassoProblem(columns, np.arange(width + 1), np.ascontiguousarray(targets.T), allowed), basis


@EPSILONS
@pytest.mark.parametrize("kind", SHAPES)
def test_solutions_are_exact(kind, epsilon, monkeypatch):
    problem, basis = pose(kind, is_masked=kind == "rows")
    resolved = []
    monkeypatch.setattr(group_robust, "solve_programme", lambda *a: resolved.append(a) or solve_programme(*a))
    for lam in (0.05, 2.0):
        found = solve_robust(problem, lam, basis, epsilon=epsilon, is_ridge=False, tol=1e-6, max_iter=1)
        for k, y in enumerate(problem.targets):
            used = np.flatnonzero(problem.allowed[k])
            coefficients = np.zeros(len(problem.allowed[k]))
            solved = solve_programme(y, problem.columns[:, used], basis, lam, epsilon)
            coefficients[used] = solved.coefficients
            np.testing.assert_allclose(found.coefficients[k], coefficients, atol=1e-9)
            np.testing.assert_array_equal(found.coefficients[k] != 0, coefficients != 0)
        assert (found.gaps <= 1e-10 * found.objectives).all()
    if kind != "integers":  # ties may leave several solutions
        assert not resolved


def test_products_of_columns_are_not_needed(monkeypatch):
    problem, basis = pose("rows", is_masked=True)
    columns, free = np.hstack([problem.columns, basis]), np.hstack([problem.allowed, np.ones((3, 2), dtype=bool)])
    first = RobustProgrammes(columns, 6, problem.targets, free, 2.0, 0.1).solve()
    monkeypatch.setattr(robust_programmes, "MOST_PRODUCTS", 0)
    second = RobustProgrammes(columns, 6, problem.targets, free, 2.0, 0.1)
    assert second.products is None
    np.testing.assert_allclose(second.solve().coefficients, first.coefficients, atol=1e-12)
    assert first.exact.all()


def test_a_deadline_leaves_coefficients_with_their_gaps():
    problem, basis = pose("rows")
    options = {"epsilon": 0.0, "is_ridge": False, "tol": 1e-6, "max_iter": 1}
    exact = solve_robust(problem, 2.0, basis, **options)
    early = solve_robust(problem, 2.0, basis, deadline=0.0, **options)
    assert (early.gaps >= early.objectives - exact.objectives - 1e-9).all()
    assert (early.gaps > 1e-6 * early.objectives).all()

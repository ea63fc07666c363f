"""Accelerated proximal gradient descent on problems whose optimum is known."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgmx.solvers.markov.exact_loss import minimise


def soft(point, threshold):
    return np.sign(point) * np.maximum(np.abs(point) - threshold, 0.0)


def lasso(matrix, target, lam):
    """Return the arguments of `minimise` for 1/2 ||matrix x - target||^2 + lam ||x||_1, without start."""

    def value_and_gradient(x):
        left = matrix @ x - target
        return 0.5 * float(left @ left), matrix.T @ left

    def residual(x, gradient):
        bent = np.where(x != 0, gradient + lam * np.sign(x), soft(gradient, lam))
        return float(np.linalg.norm(bent))

    return (
        (value_and_gradient, lambda point, step: soft(point, step * lam)),
        {"penalty": lambda x: lam * float(np.abs(x).sum()), "residual": residual},
    )


def solve(problem, start, **options):
    functions, named = problem
    return minimise(*functions, start, **named, **options)


@given(
    rows=st.integers(1, 8),
    columns=st.integers(1, 8),
    lam=st.floats(0.0, 3.0),
    step=st.sampled_from([1e-3, 1.0, 1e3]),
    number=st.integers(0, 2**32),
)
def test_optimality_and_descent(rows, columns, lam, step, number):
    """The certificate holds at the end, and the objective never rose."""
    rng = np.random.default_rng(number)
    objectives = []
    functions, named = lasso(rng.normal(size=(rows, columns)), rng.normal(size=rows), lam)

    def residual(x, gradient):
        objectives.append(functions[0](x)[0] + named["penalty"](x))
        return named["residual"](x, gradient)

    found = solve((functions, {**named, "residual": residual}), rng.normal(size=columns), step=step, tol=1e-7)
    assert found.residual <= 1e-7
    assert found.converged
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(objectives))
    assert found.n_iter == len(objectives) - 1
    assert found.objective == pytest.approx(min(objectives))


def test_a_separable_problem_is_thresholding(rng):
    target = rng.normal(size=20)
    found = solve(lasso(np.eye(20), target, 0.5), np.zeros(20), tol=1e-10)
    np.testing.assert_allclose(found.point, soft(target, 0.5), atol=1e-9)
    assert ((found.point == 0) == (np.abs(target) <= 0.5)).all()


def test_momentum_pays_on_an_ill_conditioned_problem(rng):
    matrix = np.diag(np.sqrt(np.geomspace(1e-4, 1.0, 50)))
    found = solve(lasso(matrix, rng.normal(size=50), 0.0), np.zeros(50), tol=1e-8)
    assert found.converged
    assert found.n_iter < 4000  # plain steps need some 10^5


def test_zeros_are_exact(rng):
    found = solve(lasso(rng.normal(size=(30, 10)), rng.normal(size=30), 10.0), rng.normal(size=10))
    assert (found.point == 0).sum() >= 3


def test_it_stops_when_told(rng):
    problem = lasso(rng.normal(size=(5, 5)), rng.normal(size=5), 0.1)
    start = rng.normal(size=5)
    assert solve(problem, start, max_iter=3, tol=0.0).n_iter == 3
    cut = solve(problem, start, deadline=0.0, tol=0.0)
    assert cut.n_iter == 0
    assert not cut.converged
    np.testing.assert_array_equal(cut.point, start)


def test_a_start_that_is_optimal_stays(rng):
    problem = lasso(np.eye(3), np.array([3.0, 0.0, 0.0]), 1.0)
    found = solve(problem, np.array([2.0, 0.0, 0.0]))
    assert found.n_iter == 0
    assert found.n_evaluations == 1


def test_a_start_without_value_is_an_error():
    def value_and_gradient(x):
        return float("nan"), x

    with pytest.raises(ValueError, match="the function is nan at the start"):
        minimise(
            value_and_gradient, lambda x, t: x, np.zeros(1), penalty=lambda x: 0.0, residual=lambda x, g: abs(g).max()
        )

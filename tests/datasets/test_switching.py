"""Generators of structural equations with inputs of changing power."""

import numpy as np
import pytest

from pgmx.datasets import kronecker_coefficients, switching_series


def test_kronecker_graph():
    coef = kronecker_coefficients(random_state=3)
    assert coef.shape == (64, 64)
    assert (coef != 0).mean() == 0.125
    assert not np.diag(coef).any()
    assert 0.2 <= coef[coef != 0].min() <= coef.max() <= 0.5
    seed = kronecker_coefficients(1) != 0
    np.testing.assert_array_equal(coef != 0, np.kron(np.kron(seed, seed), seed))


def test_rows_obey_the_equations():
    coef = kronecker_coefficients(2)
    drawn = switching_series(coef, 3, 50, noise=0.0, random_state=1)
    inputs = (drawn.series @ (np.eye(16) - coef).T / drawn.gain).reshape(3, 50, 16)
    np.testing.assert_allclose((inputs**2).mean(axis=1), drawn.exogenous_power, rtol=1e-10)
    assert np.linalg.matrix_rank(drawn.exogenous_power) == 3
    assert ((drawn.gain >= 2) & (drawn.gain <= 3)).all()


def test_one_matrix_per_window():
    coefs = np.zeros((2, 3, 3))
    coefs[1, 0, 1] = 0.9
    drawn = switching_series(coefs, 2, 4000, random_state=1)
    first, second = (np.corrcoef(rows.T)[0, 1] for rows in np.split(drawn.series, 2))
    assert abs(first) < 0.06
    assert second > 0.1


def test_the_source_draws_one_power_for_all_inputs():
    drawn = switching_series(np.zeros((3, 3)), 4, 20_000, same_power=True)
    ratios = drawn.exogenous_power / drawn.exogenous_power[:, :1]
    np.testing.assert_allclose(ratios, 1.0, atol=0.06)  # six standard errors of a ratio of mean squares


def test_seeds():
    first, second, other = (switching_series(np.zeros((2, 2)), 2, 5, random_state=seed).series for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"coef": np.ones((2, 2))}, "zeros on the diagonal"),
        ({"coef": np.zeros((3, 2, 2))}, r"or \(2, N, N\)"),
        ({"coef": [[0.0, 1.0], [1.0, 0.0]]}, "no inverse in window 0"),
        ({"gains": (0.0, 1.0)}, "gains must be two numbers"),
        ({"noise": -1.0}, "noise must be"),
    ],
)
def test_bad_options(options, text):
    with pytest.raises(ValueError, match=text):
        switching_series(**{"coef": np.zeros((2, 2)), "n_windows": 2, "window": 5, **options})


def test_too_many_factors():
    with pytest.raises(ValueError, match="n_factors must be at most 5"):
        kronecker_coefficients(6)

"""The Forgetron of the benchmarks, a baseline of tables 3.10 to 3.13, against the update of its paper."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def exact():
    """The benchmark of learners with exact kernels."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("streaming_kernels", BENCHMARKS / "streaming_kernels.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


def learn_slowly(kernel, X, y, budget):
    """Self-tuned Forgetron, figure 3 of Dekel, Shalev-Shwartz & Singer (2008): outputs, damages and mistakes by row.

    Psi(l, m) = l^2 + 2 l - 2 l m is the damage of removing a support of weight l and margin m. The factor phi is
    the largest in (0, 1] with Q + Psi(s phi, phi m) <= 15/32 M, here found on a grid and by bisection.
    """
    supports, outputs, damage, mistakes, history = [], [], 0.0, 0, []
    for x, label in zip(X, y, strict=True):
        f = sum(weight * sign * kernel(x, z) for z, sign, weight in supports)
        outputs.append(f)
        if label * f > 0:
            continue
        mistakes += 1
        supports.append((x, label, 1.0))
        if len(supports) > budget:
            oldest, sign, weight = supports[0]
            margin = sign * sum(w * s * kernel(oldest, z) for z, s, w in supports)

            def fits(phi, weight=weight, margin=margin, damage=damage, mistakes=mistakes):
                removed = weight * phi
                return removed**2 + 2 * removed - 2 * removed * phi * margin + damage <= 15 / 32 * mistakes

            low = max(phi for phi in np.linspace(1e-4, 1, 100) if fits(phi))
            high = min(1.0, low + 1 / 99)
            for _ in range(50):
                middle = (low + high) / 2
                low, high = (middle, high) if fits(middle) else (low, middle)
            phi = 1.0 if fits(1.0) else low
            removed = weight * phi
            damage += removed**2 + 2 * removed - 2 * removed * phi * margin
            supports = [(z, s, w * phi) for z, s, w in supports[1:]]
        history.append(damage / mistakes)
    return np.array(outputs), np.array(history)


@pytest.mark.parametrize("budget", [3, 8])
def test_the_forgetron_is_that_of_its_paper(exact, budget):
    rng = np.random.default_rng(budget)
    X = rng.random((80, 3))
    y = np.where(np.sin(6 * X[:, 0]) + 0.3 * rng.normal(size=80) > X[:, 1], 1.0, -1.0)
    ours = exact.learn_forgetron(exact.compute_one, X, y, budget)
    for p, variance in enumerate((0.1, 1.0, 10.0)):
        outputs, shares = learn_slowly(lambda x, z, v=variance: np.exp(-((x - z) ** 2).sum() / (2 * v)), X, y, budget)
        assert len(shares) > 2 * budget
        np.testing.assert_allclose(ours[:, p], outputs, rtol=1e-6, atol=1e-9)
        assert (shares <= 15 / 32 + 1e-9).all()

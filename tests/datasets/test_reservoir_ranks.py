"""Ranks of the best of a reservoir, against drawing the reservoirs."""

import numpy as np
import pytest

from pgmx.datasets import reservoir_ranks


def test_mean_rank_is_one_over_size_plus_one():
    ranks = reservoir_ranks(79_800, [1, 2, 5, 20, 100, 500], 4000)
    deviation = np.sqrt(ranks.sizes / ((ranks.sizes + 1.0) ** 2 * (ranks.sizes + 2.0)) / 4000)  # of a beta variable
    assert (np.abs(ranks.mean - ranks.expected) < 4 * deviation + 1 / 79_800).all()
    assert (np.diff(ranks.mean) < 0).all()
    assert (ranks.lowest <= ranks.mean).all()
    assert (ranks.mean <= ranks.highest).all()


@pytest.mark.slow
def test_distribution_is_that_of_samples_without_replacement(rng):
    drawn = [rng.choice(40, 7, replace=False).min() + 1 for _ in range(20_000)]
    ranks = [reservoir_ranks(40, [7], 1, random_state=seed).mean[0] * 40 for seed in range(2000)]
    edges = np.arange(1, 12)
    drawn = [np.mean(np.array(drawn) <= edge) for edge in edges]
    found = [np.mean(np.array(ranks) <= edge + 1e-9) for edge in edges]
    np.testing.assert_allclose(found, drawn, atol=0.04)


def test_extreme_sizes():
    ranks = reservoir_ranks(30, [1, 29, 30], 500)
    assert (ranks.lowest[0] * 30, ranks.highest[0] * 30) == (1, 30)
    assert ranks.highest[1] * 30 <= 2
    assert ranks.mean[2] * 30 == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "error", "what"),
    [
        ((0, [1]), ValueError, "n_items must be at least 1"),
        ((10, []), ValueError, "sizes is empty"),
        ((10, [11]), ValueError, "sizes must not exceed n_items=10, got 11"),
        ((10, [0]), ValueError, "sizes must be at least 1"),
        ((10, [1.5]), TypeError, "sizes must be an integer"),
        ((10, [1], 0), ValueError, "n_trials must be at least 1"),
        ((10, [1], 5, -1), ValueError, "random_state"),
    ],
)
def test_wrong_arguments(arguments, error, what):
    with pytest.raises(error, match=what):
        reservoir_ranks(*arguments)

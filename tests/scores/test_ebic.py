"""Scores with the price ln C(p - 1, k) of choosing k parents."""

import math

import numpy as np
import pytest

from pgmx.scores.set_sizes import log_choices


def test_log_choices_counts_sets():
    for n in (0, 1, 7, 40):
        expected = [math.log(math.comb(n, k)) for k in range(n + 1)]
        assert log_choices(n, np.arange(n + 1)) == pytest.approx(expected, abs=1e-12)
    assert log_choices(4_999, 3) == pytest.approx(math.log(math.comb(4_999, 3)), rel=1e-12)
    assert log_choices(9, 0) == log_choices(9, 9) == 0.0 and log_choices(3, 4) == log_choices(3, 5) == -math.inf

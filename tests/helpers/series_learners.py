"""The public learners of time series, and series to learn from. A new learner is entered here."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from pgmx.estimators import (
    DenseLDS,
    KernelSVARM,
    LinearSVARM,
    ScalableLDS,
    SparseTensorSEM,
    SparsityEnforcingLDS,
    SparsityInducingLDS,
    SVARMTracker,
    TensorSEM,
    TensorSEMTracker,
)

_WEIGHTS = "rows of a series depend on those before them, so they have no weights"
#: scikit-learn's checks that cannot hold, each with its reason.
_NO_WEIGHTS = dict.fromkeys(
    (
        "check_sample_weights_pandas_series",
        "check_sample_weights_not_an_array",
        "check_sample_weights_list",
        "check_all_zero_sample_weights_error",
        "check_sample_weights_shape",
        "check_sample_weights_not_overwritten",
        "check_sample_weight_equivalence_on_dense_data",
    ),
    _WEIGHTS,
)
FORECASTS = {
    "check_methods_sample_order_invariance": "a forecast depends on the order of the rows",
    "check_methods_subset_invariance": "a forecast continues the last row",
    "check_fit2d_predict1d": "a single row is a history of one lag",
}


class SeriesLearner(NamedTuple):
    """What the tests of all learners of series need to know of one."""

    make_options: Callable[[int], dict[str, Any]] = lambda n: {}  # options that it needs for n series
    expected_failures: dict[str, str] = {}  # scikit-learn's checks, in addition to those of weights
    is_linear: bool = True  # learns a linear dynamical system
    takes_any_width: bool = True  # False: its options fit one number of series, so scikit-learn's checks cannot run

    @property
    def failures(self):
        return {**_NO_WEIGHTS, **self.expected_failures}


SERIES_LEARNERS = {
    DenseLDS: SeriesLearner(expected_failures=FORECASTS),
    KernelSVARM: SeriesLearner(
        lambda n: {"instantaneous": False, "kernels": ("linear", "poly2")}, FORECASTS, is_linear=False
    ),
    LinearSVARM: SeriesLearner(lambda n: {"instantaneous": False}, FORECASTS, is_linear=False),
    SparseTensorSEM: SeriesLearner(
        lambda n: {"exogenous": "blind", "window": 20, "lam_ratio": 0.01}, is_linear=False, takes_any_width=False
    ),
    SparsityEnforcingLDS: SeriesLearner(lambda n: {"structure": np.tri(n)}, FORECASTS, takes_any_width=False),
    SVARMTracker: SeriesLearner(lambda n: {"instantaneous": False}, is_linear=False),
    TensorSEM: SeriesLearner(lambda n: {"exogenous": "blind", "window": 20}, is_linear=False, takes_any_width=False),
    TensorSEMTracker: SeriesLearner(lambda n: {"exogenous": "blind"}, is_linear=False, takes_any_width=False),
    SparsityInducingLDS: SeriesLearner(expected_failures=FORECASTS),
    ScalableLDS: SeriesLearner(lambda n: {"seed_fraction": 1.0}, FORECASTS),
}

every_series_learner = pytest.mark.parametrize("cls", SERIES_LEARNERS, ids=lambda cls: cls.__name__)


def make_series_learner(cls, n=4, data=None, **options):
    """Return a learner of n series."""
    return cls(data, **{**SERIES_LEARNERS[cls].make_options(n), **options})


def simulate_system(n=4, n_times=200, seed=0, level=0.0, radius=0.9):
    """Return rows (n_times, n) of a stable system of one lag, and its coefficients."""
    rng = np.random.default_rng(seed)
    coef = rng.normal(size=(n, n))
    coef *= radius / np.abs(np.linalg.eigvals(coef)).max()
    rows = np.zeros((n_times, n))
    for t in range(1, n_times):
        rows[t] = coef @ rows[t - 1] + rng.normal(size=n)
    return rows + level, coef


def frame_of_system(n=4, n_times=200, seed=0, freq="D"):
    """Return the same as a frame with a regular index of dates."""
    rows, _ = simulate_system(n, n_times, seed)
    return pd.DataFrame(
        rows, columns=list("abcdefgh"[:n]), index=pd.date_range("2020-01-31", periods=n_times, freq=freq)
    )


def list_coefficients(learner):
    """Return the coefficients, or the strengths of a learner that has none, as one dense array by lag."""
    coef = getattr(learner, "coef_", getattr(learner, "strengths_", None))
    if isinstance(coef, np.ndarray) and coef.ndim == 3:
        return coef
    parts = coef if isinstance(coef, tuple) else [coef]
    return np.stack([part.toarray() if hasattr(part, "toarray") else part for part in parts])

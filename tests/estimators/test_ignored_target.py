"""``fit(X, y)`` warns of a target that a user means and no graph learner takes."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pgmx.estimators import (
    DenseLDS,
    GraphicalLasso,
    HillClimbSearch,
    OnlineEdgeGrafting,
    SVARMTracker,
    TensorSEM,
    TensorSEMTracker,
)
from pgmx.streaming import CategoricalSubspace

RNG = np.random.default_rng(0)
STATES = pd.DataFrame(RNG.integers(0, 2, (60, 3)), columns=list("abc"))
NUMBERS = pd.DataFrame(RNG.normal(size=(60, 3)), columns=list("abc"))
LABELS = pd.Series(RNG.integers(0, 2, 60), name="species")
WARNING = r"ignores y, the Series 'species': .*BayesianNetworkClassifier\(\)\.fit\(X, y\)"


@pytest.mark.parametrize("convert", [lambda table: table, pl.from_pandas, pa.Table.from_pandas])
def test_frames_with_a_named_series(convert):
    labels = LABELS if isinstance(convert(STATES), pd.DataFrame) else pl.from_pandas(LABELS)
    with pytest.warns(UserWarning, match=f"^HillClimbSearch {WARNING}") as caught:
        HillClimbSearch(scoring_method="bic").fit(convert(STATES), labels)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    ("learn", "rows"),
    [
        (GraphicalLasso(lam=0.5).fit, NUMBERS),
        (DenseLDS().fit, NUMBERS),
        (TensorSEM(window=15, exogenous="blind", max_iter=1).fit, NUMBERS),
        (TensorSEMTracker(exogenous="blind").fit, NUMBERS),
        (SVARMTracker().fit, NUMBERS),
        (SVARMTracker().partial_fit, NUMBERS),
        (OnlineEdgeGrafting(lam=0.5).partial_fit, STATES),
        (CategoricalSubspace(n_components=1).fit, STATES),
        (CategoricalSubspace(n_components=1).partial_fit, STATES),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::pgmx.estimators.IdentifiabilityWarning")
def test_every_way_of_learning(learn, rows):
    with pytest.warns(UserWarning, match=WARNING):
        learn(rows, LABELS)


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (STATES, None),
        (STATES, LABELS.to_numpy()),
        (STATES, LABELS.rename(None)),
        (STATES, STATES["a"]),
        (STATES.to_numpy(), LABELS),
        (pl.from_pandas(STATES), pl.Series(LABELS.to_numpy())),
    ],
)
def test_other_targets_are_ignored_in_silence(rows, labels):
    HillClimbSearch(scoring_method="bic").fit(rows, labels)  # warnings are errors

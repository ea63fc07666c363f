"""Tables that are not fit to learn from: each is refused, or warned of, in words that name the column."""

import warnings

import numpy as np
import pandas as pd
import pytest

from pgmx.data import FewValuesWarning
from pgmx.estimators import ChowLiuForest, EdgeGrafting, GraphicalLasso, HillClimbSearch

RNG = np.random.default_rng(0)
STATES = pd.DataFrame({"a": RNG.integers(0, 2, 1200), "b": RNG.integers(0, 3, 1200)})
FLOATS = pd.DataFrame({"x": RNG.normal(size=1200), "y": RNG.normal(size=1200)})
MIXED = STATES.join(FLOATS)


@pytest.mark.parametrize("learner", [HillClimbSearch(), ChowLiuForest()])
@pytest.mark.parametrize("table", [STATES, MIXED])
def test_five_hundred_states(learner, table):
    table = table.assign(c=RNG.permutation(np.arange(1200) % 500))
    with pytest.warns(UserWarning, match=r"implausibly many states for 1200 rows in column\(s\) 'c' \(500 states\)"):
        learner.fit(table)


@pytest.mark.parametrize("learner", [HillClimbSearch(), ChowLiuForest(), GraphicalLasso()])
def test_a_float_column_with_three_values(learner):
    with pytest.warns(FewValuesWarning, match="'z' have at most"):
        learner.fit(FLOATS.assign(z=RNG.choice([0.5, 1.5, 2.5], 1200)))


@pytest.mark.parametrize("learner", [HillClimbSearch(), ChowLiuForest(), GraphicalLasso(), EdgeGrafting()])
@pytest.mark.parametrize("cell", [np.inf, -np.inf])
def test_infinite_cells(learner, cell):
    table = FLOATS.assign(z=np.where(np.arange(1200) == 3, cell, RNG.normal(size=1200)))
    with pytest.raises(ValueError, match="inf") as caught:
        learner.fit(table)
    assert "'z'" in str(caught.value)


@pytest.mark.parametrize("learner", [HillClimbSearch(), ChowLiuForest(), GraphicalLasso(), EdgeGrafting()])
@pytest.mark.parametrize("table", [STATES, FLOATS])
def test_a_column_without_a_known_cell(learner, table):
    if table is not FLOATS and isinstance(learner, GraphicalLasso):
        return  # which takes floats and integers for numbers alike
    if table is FLOATS and isinstance(learner, EdgeGrafting):
        table = STATES
    for empty in (np.nan, None):
        with pytest.raises(ValueError, match="'c'") as caught:
            learner.fit(table.assign(c=empty))
        assert "missing" in str(caught.value)
        if not isinstance(learner, GraphicalLasso | EdgeGrafting):
            assert str(caught.value).endswith("Column(s) 'c' have no observed value: leave them out")
    with pytest.raises(ValueError, match=r"0 of 1200 rows have no missing value|'c'"):
        type(learner)(missing="drop").fit(table.assign(c=None))


@pytest.mark.parametrize("learner", [HillClimbSearch, ChowLiuForest])
def test_rows_without_a_known_cell_are_dropped(learner):
    holes = MIXED.astype({"a": "Int64", "b": "Int64"})
    holes.loc[[5, 7]] = pd.NA
    with pytest.raises(ValueError, match="'a', 'b', 'x', 'y'"):
        learner().fit(holes)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "missing='drop' leaves out", UserWarning)
        fitted = learner(missing="drop").fit(holes)
    assert list(fitted.dag_.edges()) == list(learner().fit(MIXED.drop(index=[5, 7])).dag_.edges())

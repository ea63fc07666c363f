"""Small real tables: what is said of them is so, and a learner takes each."""

import pandas as pd
import pytest

from pgmx.datasets import list_examples, load_example
from pgmx.estimators import GraphicalLasso, HillClimbSearch


def test_there_are_enough_of_each_kind():
    examples = list_examples()
    assert len(examples) >= 8 and list(examples) == sorted(examples)
    assert {example.kind for example in examples.values()} == {"states", "floats", "mixed", "series"}
    examples.clear()
    assert list_examples()


@pytest.mark.parametrize("name", list_examples())
def test_a_table_is_as_it_is_described(name):
    frame, example = load_example(name), list_examples()[name]
    assert frame.shape == (example.n_rows, example.n_columns)
    assert not frame.isna().any(axis=None)
    states = {column for column in frame if isinstance(frame[column].dtype, pd.CategoricalDtype)}
    floats = {column for column in frame if frame[column].dtype == "float64"}
    assert states | floats == set(frame)
    found = {(True, False): "states", (False, True): "floats", (True, True): "mixed"}[bool(states), bool(floats)]
    assert example.kind == ("series" if isinstance(frame.index, pd.PeriodIndex) else found)
    assert all(1 < frame[column].nunique() == len(frame[column].cat.categories) for column in states)
    assert frame.attrs == {"story": example.story, "source": example.source, "licence": example.licence}
    assert all(text.strip() for text in frame.attrs.values())
    if isinstance(frame.index, pd.PeriodIndex):
        assert frame.index.is_monotonic_increasing and frame.index.is_unique
        assert len(frame) == len(pd.period_range(frame.index[0], frame.index[-1]))
    frame.iloc[0, 0] = frame.iloc[1, 0]  # the next caller gets a table of its own
    assert load_example(name) is not frame


@pytest.mark.parametrize("name", ["affairs", "election", "iris"])
def test_a_network_is_learned_of_it(name):
    assert HillClimbSearch(show_progress=False).fit(load_example(name)).graph_.number_of_edges() > 3


@pytest.mark.parametrize("name", ["crime", "economy"])
def test_a_gaussian_graph_is_learned_of_it(name):
    assert GraphicalLasso(show_progress=False).fit(load_example(name)).graph_.number_of_edges() > 0


def test_the_indicators_of_health_become_one_column():
    from statsmodels.datasets import randhie

    theirs, ours = randhie.load_pandas().data, load_example("visits")["health"]
    for column, state in {"hlthg": "good", "hlthf": "fair", "hlthp": "poor"}.items():
        assert ((theirs[column] == 1) == (ours == state)).all()


def test_the_seasons_of_the_sea():
    months = load_example("sea_temperature")["temperature"]
    mean = months.groupby(months.index.month).mean()
    assert mean.idxmax() == 3 and mean.idxmin() in (8, 9)  # warmest at the end of the southern summer


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match=r"no example is called 'irish', did you mean 'iris'\?; there are: affairs, "):
        load_example("irish")
    with pytest.raises(TypeError, match="name must be a string such as 'iris', got int"):
        load_example(3)

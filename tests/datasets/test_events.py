"""Events counted on a grid."""

import numpy as np
import pandas as pd
import pytest

from pgmx.datasets import grid_events, gridded_counts
from pgmx.estimators import DenseLDS


def draw_events(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(-1, 2, n), rng.uniform(3, 5, n), rng.uniform(0, 40, n)])


@pytest.mark.parametrize("bounds", [None, (-0.5, 1.5, 3.25, 4.75)])
def test_counts_are_a_histogram(bounds):
    events = draw_events()
    gridded = grid_events(events, (3, 4), bounds=bounds, step=2, start=4, end=32, min_count=1)
    left, right, bottom, top = bounds or (*np.quantile(events[:, 0], [0, 1]), *np.quantile(events[:, 1], [0, 1]))
    edges = (np.arange(4, 33, 2), np.linspace(bottom, top, 4), np.linspace(left, right, 5))
    expected = np.histogramdd(events[:, [2, 1, 0]], edges)[0]
    np.testing.assert_array_equal(gridded.counts, expected.reshape(14, 12))
    assert list(gridded.counts.columns) == [f"r{row}c{column}" for row in range(3) for column in range(4)]
    assert gridded.counts.index.tolist() == list(range(4, 32, 2))
    np.testing.assert_allclose(gridded.cells["x"].iloc[:4], left + (np.arange(4) + 0.5) * (right - left) / 4)
    np.testing.assert_allclose(gridded.cells["y"].iloc[::4], bottom + (np.arange(3) + 0.5) * (top - bottom) / 3)
    np.testing.assert_array_equal(gridded.cells["n_events"], gridded.counts.sum())
    # each event is counted once
    assert gridded.counts.to_numpy().sum() + sum(gridded[2:]) == len(events)
    assert (gridded.n_outside == 0) == (bounds is None) and gridded.n_other_times > 0 == gridded.n_left_out


def test_borders():
    """The upper bounds are inside, `end` is not; events are in the cell and step that begin with them."""
    events = [[0, 0, 0], [1, 2, 1.9], [0.5, 1, 2], [1.0001, 0, 0], [0, -0.0001, 0], [0.2, 0.2, 4]]
    gridded = grid_events(events, (2, 2), bounds=(0, 1, 0, 2), step=2, end=4)
    assert gridded.counts.to_dict("list") == {"r0c0": [1, 0], "r1c1": [1, 1]}
    assert gridded[2:] == (2, 1, 0)
    assert grid_events(events, (2, 2), bounds=(0, 1, 0, 2), step=2, min_count=2)[2:] == (2, 0, 0)
    assert grid_events(events[:3], (2, 2), bounds=(0, 1, 0, 2), step=2, min_count=2).n_left_out == 1


@pytest.mark.parametrize("zone", [None, "America/New_York"])
def test_hours(zone):
    """Hours without an event have zeros, also where the clock is changed."""
    begin = pd.Timestamp("2015-03-08 00:20", tz=zone)
    times = begin + pd.to_timedelta([0.0, 0.5, 4.0], unit="h")
    trips = pd.DataFrame({"when": times, "lon": [1.0, 1.0, 2.0], "lat": [1.0, 1.0, 3.0], "fare": 3.0})
    counts = grid_events(trips, (1, 2), columns=("lon", "lat", "when")).counts
    assert counts["r0c0"].tolist() == [2, 0, 0, 0, 0] and counts["r0c1"].tolist() == [0, 0, 0, 0, 1]
    assert counts.index.freqstr == "h" and counts.index[0] == pd.Timestamp("2015-03-08", tz=zone)
    assert counts.index[4] == times[2].floor("h")
    whole = grid_events(trips, (1, 2), columns=["lon", "lat", "when"], step="D", start="2015-03-07", end="2015-03-10")
    assert whole.counts.sum(axis=1).tolist() == [0, 3, 0]


def test_a_learner_reads_the_counts():
    """Events that were made from counts give the same counts."""
    counts = gridded_counts(3, 3, 60, min_count=0)
    numbers = (counts * 6).round().astype(int)
    times, cells = np.nonzero(numbers.to_numpy())
    repeats = numbers.to_numpy()[times, cells]
    rows, columns = np.divmod(cells, 3)
    trips = {"x": columns + 0.5, "y": rows + 0.5, "time": numbers.index[times]}
    trips = pd.DataFrame(trips).loc[np.repeat(np.arange(len(times)), repeats)].sample(frac=1, random_state=0)
    window = {"start": counts.index[0], "end": counts.index[-1] + pd.Timedelta("1h")}
    found = grid_events(trips, (3, 3), bounds=(0, 3, 0, 3), **window).counts
    pd.testing.assert_frame_equal(found, numbers, check_names=False, check_index_type=False)
    assert DenseLDS(fit_intercept=True).fit(found / found.max()).predict(found).index[0] == window["end"]


EVENTS = draw_events(50)
FRAME = pd.DataFrame(EVENTS, columns=["x", "y", "time"]).assign(time=pd.Timestamp("2015-01-05"))


@pytest.mark.parametrize(
    ("events", "options", "error", "what"),
    [
        (EVENTS[:, :2], {}, TypeError, "the columns x, y and time, got ndarray"),
        (None, {}, TypeError, "events must be a frame, or a numeric array"),
        (FRAME.iloc[:0], {}, ValueError, "events is empty"),
        (FRAME, {"columns": ("x", "y", "when")}, ValueError, "no column 'when'.*there are 'x', 'y', 'time'"),
        (FRAME, {"columns": ("x", "x", "time")}, ValueError, "three different columns"),
        (FRAME.assign(x=FRAME["x"].where(FRAME.index != 3)), {}, ValueError, "'x' has 1 missing values.*row 3"),
        (FRAME.assign(y=np.inf), {}, ValueError, "'y' has an infinite value in row 0"),
        (FRAME.assign(x="1"), {}, TypeError, "'x' must hold real values"),
        (FRAME.assign(time="2015"), {}, TypeError, r"'time' must hold dates.*pandas\.to_datetime"),
        (FRAME.assign(x=1.0), {}, ValueError, "'x' is 1 for all events: give bounds="),
        (FRAME, {"bounds": (0, 1, 2)}, ValueError, "bounds must be four finite values"),
        (FRAME, {"bounds": (1, 0, 2, 3)}, ValueError, "x_min < x_max"),
        (FRAME, {"bounds": (50, 60, 2, 3)}, ValueError, "all 50 events are outside bounds"),
        (FRAME, {"shape": 3}, ValueError, "shape must be two integers"),
        (FRAME, {"shape": (0, 3)}, ValueError, "rows of shape must be at least 1"),
        (FRAME, {"step": "ME"}, ValueError, "fixed frequency such as 'h'"),
        (FRAME, {"step": "-1h"}, ValueError, "step must be above 0"),
        (EVENTS, {"step": "h"}, ValueError, "step must be a number above 0"),
        (EVENTS, {"step": 1e-12}, ValueError, "give a longer step"),
        (EVENTS, {"step": 1e-7}, ValueError, "steps of time: give a longer step"),
        (EVENTS, {"step": 3e-7}, ValueError, "need more than 2 GiB"),
        (EVENTS, {"step": 1, "start": "2015"}, ValueError, "start must be a number"),
        (EVENTS, {"step": 1, "start": 30, "end": 30}, ValueError, "give start < end"),
        (EVENTS, {"step": 1, "start": 50, "end": 60}, ValueError, "no event within the grid"),
        (FRAME, {"end": 3}, ValueError, "end must be a date"),
        (FRAME, {"end": pd.Timestamp("2015-02-01", tz="UTC")}, ValueError, "end has a time zone"),
        (FRAME, {"min_count": 51}, ValueError, "no cell has 51 events, the maximum is"),
        (FRAME, {"min_count": 0}, ValueError, "min_count must be at least 1"),
    ],
)
def test_errors(events, options, error, what):
    with pytest.raises(error, match=what):
        grid_events(events, **{"shape": (2, 2), **options})

"""Series of every accepted kind become the same segments, and faults are named."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pgmx.data.series import SeriesChunks, open_series
from pgmx.data.series.time_index import TimeIndex

ROWS = np.arange(24.0).reshape(12, 2) ** 1.5
DATES = pd.date_range("2020-01-31", periods=12, freq="ME")


def open_frame(index=None, rows=ROWS, lags=1, **options):
    return open_series(pd.DataFrame(rows, columns=["a", "b"], index=index), lags=lags, **options)


INDICES = {
    "default": None,
    "range": pd.RangeIndex(5, 29, 2),
    "days": pd.date_range("2020-01-01", periods=12),
    "local days across the change of the clock": pd.date_range("2020-03-25", periods=12, tz="Europe/Paris"),
    "seconds": pd.date_range("2020-01-01", periods=12, freq="17s"),
    "month ends": DATES,
    "quarters": pd.date_range("2020-01-01", periods=12, freq="QS"),
    "business days": pd.date_range("2020-01-01", periods=12, freq="B"),
    "periods": pd.period_range("2020-01", periods=12, freq="M"),
    "timedeltas": pd.timedelta_range("0s", periods=12, freq="5min"),
    "floats": pd.Index(0.1 * np.arange(12)),
}


@pytest.mark.parametrize("name", INDICES)
def test_regular_indices(name):
    panel = open_frame(INDICES[name])
    assert [segment.shape for segment in panel.segments] == [(12, 2)]
    np.testing.assert_array_equal(panel.segments[0], ROWS)
    assert panel.index is not None
    assert panel.index.count_steps(panel.index.last) == 11


@pytest.mark.parametrize("name", [name for name in INDICES if name != "default"])
def test_a_gap_is_named_or_counts_as_unobserved_rows(name):
    index = INDICES[name].delete([4, 7, 8])
    rows = np.delete(ROWS, [4, 7, 8], axis=0)
    with pytest.raises(ValueError, match=r"are irregular: .* \(row 4\) does not follow .*missing='drop'") as error:
        open_frame(index, rows)
    assert str(index[4]) in str(error.value)
    panel = open_frame(index, rows, missing="drop", lags=2)
    assert [len(segment) for segment in panel.segments] == [4, 2, 3]
    assert (panel.n_rows, panel.n_left_out, panel.count_targets(2)) == (9, 7, 3)
    assert [len(segment) for segment in open_frame(index, rows, irregular="ignore").segments] == [9]


def test_tables_of_every_kind():
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    timed = frame.assign(when=DATES)
    for X, options in (
        (frame, {}),
        (ROWS, {}),
        (ROWS.tolist(), {}),
        (pl.DataFrame(ROWS, schema=["a", "b"]), {}),
        (pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}), {}),
        (timed, {"time_column": "when"}),
        (timed.assign(when=DATES.astype(str)), {"time_column": "when"}),
        (pl.from_pandas(timed), {"time_column": "when"}),
        (pa.Table.from_pandas(timed), {"time_column": "when"}),
        (timed.set_index("when"), {"time_column": "when"}),
        (iter([frame[:5], frame[5:]]), {}),
        (iter([timed[:5], timed[5:]]), {"time_column": "when"}),
    ):
        panel = open_series(X, lags=1, **options)
        assert panel.names in {("a", "b"), ("x0", "x1")}
        np.testing.assert_array_equal(np.concatenate(panel.segments), ROWS)
        assert len(panel.segments) == 1


def test_panels_of_every_kind(tmp_path):
    first, second = (pd.DataFrame(part, columns=["a", "b"]) for part in (ROWS[:5], ROWS[5:]))
    whole = pd.concat([first.assign(unit="u"), second.assign(unit="v")])
    mixed = whole.iloc[np.argsort(np.arange(12) * 5 % 12, kind="stable")].sort_index(kind="stable")
    second.to_parquet(tmp_path / "second.parquet")
    for X, options in (
        ([first, second], {}),
        ((first, second[["b", "a"]]), {}),
        ({"u": first, "v": second}, {}),
        ([first, tmp_path / "second.parquet"], {}),
        (whole.reset_index(drop=True), {"groups": "unit"}),
        (mixed, {"groups": "unit"}),
        (pl.from_pandas(whole.reset_index(drop=True)), {"groups": "unit"}),
    ):
        panel = open_series(X, lags=1, **options)
        segments = sorted(panel.segments, key=len)
        np.testing.assert_array_equal(segments[0], ROWS[:5])
        np.testing.assert_array_equal(segments[1], ROWS[5:])
        assert panel.index == TimeIndex(0, 4, 1)  # of the first series


def test_unobserved_cells_split_a_series():
    rows = ROWS.copy()
    rows[5, 1] = np.nan
    with pytest.raises(ValueError, match="missing values .* 'b'.*missing='drop'"):
        open_frame(rows=rows)
    panel = open_frame(rows=rows, missing="drop")
    assert [len(segment) for segment in panel.segments] == [5, 6]
    assert panel.n_left_out == 2


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (DATES[::-1], r"do not increase: 2020-11-30.*\(row 1\) comes after 2020-12-31.*groups= \(--groups\)"),
        (DATES.insert(3, DATES[2])[:12], r"2020-03-31.* occurs twice \(rows 2 and 3\)"),
        (DATES.insert(3, pd.NaT)[:12], "time of row 3 is missing"),
        (pd.Index(list("abcdefghijkl")), "neither times nor numbers"),
        (pd.MultiIndex.from_product([["u", "v"], range(6)]), "2 levels.*groups="),
        (pd.Index([*range(11), np.inf]), "infinite"),
        (pd.Index([*range(4), 4.7, *range(6, 13)]), r"irregular: 4.7 \(row 4\) does not follow 3.0"),
    ],
)  # fmt: skip
def test_faults_of_an_index(index, message):
    with pytest.raises(ValueError, match=message):
        open_frame(index)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (ROWS[:2], {}, "only 1 of 2 rows end 2 observed rows in sequence, at least 2 are needed"),
        (ROWS[:3], {"lags": 3}, "3 rows, and lags=3 needs at least 4"),
        ([ROWS, ROWS[:2]], {"lags": 2}, "the series 1 has 2 rows"),
        (
            [pd.DataFrame(ROWS[:2], index=DATES[:2])] * 9,
            {"seasonal_period": 4},
            "the seasons of 2 rows .*series 0.* are unknown",
        ),
        (np.column_stack([ROWS, np.ones(12)]), {}, "constant series 'x2'"),
        (np.where(ROWS > 50, np.inf, ROWS), {}, "infinite values .* 'x0', 'x1'"),
        (pd.DataFrame({"a": ROWS[:, 0], "b": list("abcdefghijkl")}), {}, "'b' hold states or text"),
        (pd.DataFrame({"a": ROWS[:, 0], "t": DATES}), {}, "'t' hold times: give time_column='t'"),
        (ROWS, {"time_column": "t"}, "time_column names 't', which is not a column"),
        (ROWS, {"exogenous_columns": ["x0", "x1"]}, "no series is left"),
        (ROWS, {"exogenous_columns": ["x0"], "groups": "x0"}, "exogenous_columns names 'x0', which groups names too"),
        (ROWS, {"exogenous_columns": "x0"}, "exogenous_columns must be a list"),
        (ROWS, {"missing": "pairwise"}, "missing must be one of 'error', 'drop' for series"),
        (ROWS, {"irregular": "x"}, "irregular must be one of"),
        ({}, {}, "holds no series"),
        ([ROWS, pd.DataFrame(ROWS, columns=["x0", "y"])], {}, "different series; .*'x1'.*'y'"),
        (pd.DataFrame({"a": ROWS[:, 0], "g": [1, None] * 6}), {"groups": "g"}, "group of row 1 is missing"),
        (np.where(np.arange(24).reshape(12, 2) % 3, ROWS, np.nan), {"missing": "drop"}, "only 0 of 12 rows end 2"),
    ],
)
def test_faults_of_tables_and_options(X, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        open_series(X, **{"lags": 1, **options})


def test_seasons_are_those_of_the_first_series():
    frame = pd.DataFrame(ROWS, index=DATES)
    panel = open_series({"u": frame[3:8], "v": frame[4:]}, lags=1, seasonal_period=4, exogenous_columns=[0])
    assert panel.exogenous_names == (0, "season 1", "season 2", "season 3")
    for segment, start in zip(panel.exogenous, (0, 1), strict=True):
        seasons = np.where(segment[:, 1:] > 0, [1, 2, 3], 0).sum(axis=1)
        np.testing.assert_array_equal(seasons, (start + np.arange(len(segment))) % 4)
        np.testing.assert_allclose(segment[:, 1:] + 0.25, np.eye(4)[seasons][:, 1:])


@pytest.mark.parametrize("lags", [1, 3])
def test_chunks_have_the_segments_of_the_whole(lags):
    index = DATES.delete([4]).insert(11, pd.Timestamp("2021-01-31"))
    frame = pd.DataFrame(ROWS, columns=["a", "b"], index=index)
    whole = open_series(frame, lags=lags, missing="drop")
    for bounds in ([5], [2, 4, 9], list(range(4, 12))):
        pieces = np.split(np.arange(12), bounds)
        chunks = SeriesChunks(iter([frame.iloc[piece] for piece in pieces]), lags=lags, missing="drop")
        windows = [segment[t - lags : t + 1] for segment, _ in chunks.read() for t in range(lags, len(segment))]
        expected = [segment[t - lags : t + 1] for segment in whole.segments for t in range(lags, len(segment))]
        np.testing.assert_array_equal(windows, expected)
        assert (chunks.n_rows, chunks.n_left_out) == (whole.n_rows, whole.n_left_out)
        np.testing.assert_allclose(chunks.columns.scales(), whole.scales(), rtol=1e-13)
    with pytest.raises(ValueError, match="were already read"):
        next(chunks.read())


def test_chunks_of_a_frame_without_labels_are_one_series():
    frame = pd.DataFrame(ROWS, columns=["a", "b"])
    for bounds in ([5], [1, 4, 9]):
        pieces = [frame.iloc[piece] for piece in np.split(np.arange(12), bounds)]
        chunks = SeriesChunks(iter(pieces), lags=2)
        windows = [segment[t - 2 : t + 1] for segment, _ in chunks.read() for t in range(2, len(segment))]
        np.testing.assert_array_equal(windows, [ROWS[t - 2 : t + 1] for t in range(2, 12)])
        assert (chunks.n_rows, chunks.n_left_out) == (12, 0)

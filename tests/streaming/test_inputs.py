"""Files, frames with a target among their columns, and iterators of frames, against arrays."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest

from helpers.stream_learners import list_state
from pgmx.data.targets import iterate_targets
from pgmx.streaming import inputs
from pgmx.streaming.least_squares import RecursiveLeastSquares, RecursiveLeastSquaresClassifier


def draw_frame():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.random((40, 3)), columns=["a", "y", "b"])
    frame["n"] = np.arange(40)
    return frame


def test_files_and_frames_are_the_arrays(tmp_path, monkeypatch):
    frame = draw_frame()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    expected = RecursiveLeastSquares().fit(frame[["a", "b", "n"]], frame["y"])
    monkeypatch.setattr(inputs, "CHUNK_ROWS", 7)
    sources = {
        "csv": str(tmp_path / "rows.csv"),
        "parquet": tmp_path / "rows.parquet",
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "frames": iter([frame[:11], frame[["n", "y", "a", "b"]][11:]]),
    }
    for how, source in sources.items():
        learner = RecursiveLeastSquares().fit(source, "y")
        assert list_state(learner) == list_state(expected), how
        assert learner.feature_names_in_.tolist() == ["a", "b", "n"]


def test_labels_of_files_are_text(tmp_path):
    frame = draw_frame().assign(y=np.arange(40) % 3)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    text = io.StringIO((tmp_path / "rows.csv").read_text())
    pieces = list(iterate_targets(text, "y", 9, labels=True))
    assert [len(rows) for rows, _ in pieces] == [9, 9, 9, 9, 4]
    assert set(np.concatenate([labels for _, labels in pieces])) == {"0", "1", "2"}
    numbers = RecursiveLeastSquaresClassifier().fit(tmp_path / "rows.csv", "y", classes=[0, 1, 2])
    assert numbers.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "target", "message"),
    [
        ({}, "z", "'z' is not a column of the table: its columns are 'a', 'y', 'b', 'n'"),
        ({"b": "word"}, "y", "'b' hold states or text"),
        ({"y": np.nan}, "y", "target 'y' has missing or infinite values"),
        ({"b": np.nan}, "y", "NaN in column 'b', row 0"),
    ],
)
def test_what_cannot_be_learned(change, target, message, tmp_path):
    frame = draw_frame().assign(**change)
    frame.to_parquet(tmp_path / "rows.parquet")
    for source in (frame, tmp_path / "rows.parquet"):
        with pytest.raises(ValueError, match=message):
            RecursiveLeastSquares().fit(source, target)


def test_a_path_needs_the_name_of_its_target():
    with pytest.raises(ValueError, match="y must be the name of its target column"):
        RecursiveLeastSquares().fit("rows.csv", [1.0])
    with pytest.raises(ValueError, match="no column besides 'y'"):
        RecursiveLeastSquares().fit(pd.DataFrame({"y": [1.0, 2.0]}), "y")


def test_a_file_may_have_one_row_but_not_none(tmp_path):
    frame = draw_frame()
    for n_rows in (1, 0):
        frame[:n_rows].to_csv(tmp_path / "rows.csv", index=False)
        frame[:n_rows].to_parquet(tmp_path / "rows.parquet")
        for source in (tmp_path / "rows.csv", tmp_path / "rows.parquet", [frame[:n_rows]]):
            for method in ("fit", "partial_fit", "predict_partial_fit"):
                learner = RecursiveLeastSquares()
                rows = iter(source) if isinstance(source, list) else source
                if n_rows:
                    getattr(learner, method)(rows, "y")
                    assert learner.n_seen_ == 1
                    continue
                with pytest.raises(ValueError, match="no row"):
                    getattr(learner, method)(rows, "y")
                assert not hasattr(learner, "n_seen_")

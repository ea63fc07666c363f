"""``pgmx stream``: the learner and the errors are those of the library, from files and standard input."""

import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from helpers.command_line import done, refused
from helpers.stream_learners import list_state
from pgmx.cli import main, stream
from pgmx.metrics import prequential
from pgmx.metrics.prequential import PrequentialErrors
from pgmx.streaming import AdaRakerRegressor, RakerClassifier, StreamLearner


@pytest.fixture
def frame():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(rng.random((300, 3)), columns=["a", "b", "c"])
    frame.insert(1, "y", np.sin(4 * frame["a"]) + frame["b"])
    frame.to_csv("rows.csv", index=False)
    frame.to_parquet("rows.parquet")
    return frame


def test_a_stream_is_learned_and_continued(frame):
    text = done("stream", "rows.parquet", "--target", "y", "--n-components", 8, "--out", "m.npz", "--report", "e.svg")
    X, y = frame[["a", "b", "c"]], frame["y"]
    curve = prequential(AdaRakerRegressor(n_components=8), X, y)
    assert "AdaRakerRegressor: 300 rows" in text
    for name, mean in curve.means.items():
        assert f"  {name:<{max(map(len, curve.means))}}  {mean:.6g}\n" in text
    assert text.endswith("wrote m.npz\nwrote e.svg\n")
    learner = StreamLearner.load("m.npz")
    assert list_state(learner) == list_state(AdaRakerRegressor(n_components=8).fit(X, y))
    frame[["c", "y", "b", "a"]].to_parquet("later.parquet")
    again = done("stream", "later.parquet", "--target", "y", "--resume", "m.npz", "--out", "m.npz")
    assert "300 rows after 300 before" in again
    assert list_state(StreamLearner.load("m.npz")) == list_state(learner.partial_fit(X, y))


def test_labels_from_a_file_and_from_standard_input(frame):
    labels = frame.assign(y=np.where(frame["y"] > 1.2, 7, 3))
    labels.to_csv("labels.csv", index=False)
    arguments = ["--target", "y", "--method", "raker", "--loss", "hinge", "--n-components", "8", "--out"]
    done("stream", "labels.csv", *arguments, "file.npz")
    with open("labels.csv") as file:
        result = CliRunner().invoke(
            main, ["stream", "-", *arguments, "input.npz", "--classes", "3,7"], input=file.read()
        )
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    expected = RakerClassifier(loss="hinge", n_components=8).fit(frame[["a", "b", "c"]], labels["y"].astype(str))
    assert list_state(StreamLearner.load("file.npz")) == list_state(StreamLearner.load("input.npz"))
    np.testing.assert_array_equal(
        StreamLearner.load("file.npz").predict(frame[["a", "b", "c"]]), expected.predict(frame[["a", "b", "c"]])
    )


def test_faults(frame):
    frame.assign(y="word").to_csv("words.csv", index=False)
    done("stream", "rows.csv", "--target", "y", "--out", "m.npz", "--n-components", 4)
    assert "no such file or folder: none.csv" in refused("stream", "none.csv", "--target", "y")
    assert "rows.csv: 'z' is not a column of the table" in refused("stream", "rows.csv", "--target", "z")
    assert "use --loss logistic or hinge" in refused("stream", "words.csv", "--target", "y")
    assert "column(s) 'y' hold states or text" in refused("stream", "words.csv", "--target", "a")
    assert "the suffix must be .npz" in refused("stream", "rows.csv", "--target", "y", "--out", "m.pkl")
    assert "--report e.txt" in refused("stream", "rows.csv", "--target", "y", "--report", "e.txt")
    assert "--method is already set in m.npz" in refused(
        "stream", "rows.csv", "--target", "y", "--resume", "m.npz", "--method", "raker"
    )
    assert "rows.csv is not a saved learner" in refused("stream", "rows.csv", "--target", "y", "--resume", "rows.csv")
    assert "--resume none.npz: no such file" in refused("stream", "rows.csv", "--target", "y", "--resume", "none.npz")
    assert "--classes 1,2: AdaRakerRegressor predicts numbers; use --loss" in refused(
        "stream", "rows.csv", "--target", "y", "--classes", "1,2"
    )
    assert "predicts numbers; leave it out" in refused(
        "stream", "rows.csv", "--target", "y", "--resume", "m.npz", "--classes", "1,2"
    )
    frame.assign(b=np.where(frame.index == 77, np.nan, frame["b"])).to_csv("gaps.csv", index=False)
    assert "gaps.csv: Input X contains NaN in column 'b', row 77" in refused(
        "stream", "gaps.csv", "--target", "y", "--out", "gaps.npz"
    )
    assert not Path("gaps.npz").exists()
    frame.rename(columns={"b": "z"}).to_csv("names.csv", index=False)
    assert "names.csv: The feature names" in refused("stream", "names.csv", "--target", "y", "--resume", "m.npz")
    assert "need --classes" in refused("stream", "-", "--target", "y", "--loss", "hinge")


def test_an_interrupt_ends_the_stream_between_chunks(frame, monkeypatch):
    def interrupt(*arguments):
        yield frame[["a", "b", "c"]][:120], frame["y"][:120].to_numpy()
        raise KeyboardInterrupt

    monkeypatch.setattr("pgmx.data.targets.iterate_targets", interrupt)
    result = CliRunner().invoke(main, ["stream", "rows.csv", "--target", "y", "--out", "m.npz"])
    assert result.exit_code == 130
    assert "Interrupted" in result.stderr
    assert "120 rows" in result.stdout
    assert StreamLearner.load("m.npz").n_seen_ == 120


def test_the_bar_of_a_terminal_shows_the_error_so_far(frame, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("pgmx.cli.stream._CHUNK_ROWS", 100)
    monkeypatch.setattr("pgmx.cli.stream._DELAY", 0.0)
    for quiet in (False, True):
        errors = PrequentialErrors(AdaRakerRegressor(n_components=4), 500)
        monkeypatch.setattr("sys.stderr", Terminal())
        stream._learn(errors, stream._iterate("rows.csv", "y", False, {}), quiet)
        shown = sys.stderr.getvalue()
        assert ("AdaRakerRegressor: 300 rows" in shown, f"error={errors.mean:.4g}" in shown) == (not quiet, not quiet)

"""Too many open files are no fault of the file that could not be opened."""

import builtins
import errno

import numpy as np
import pandas as pd
import pytest

from pgmx.checks import explain_unreadable
from pgmx.data import read_table
from pgmx.estimators import HillClimbSearch
from pgmx.runs.checkpoint import Checkpoint


def refuse(*arguments, **options):
    raise OSError(errno.EMFILE, "Too many open files")


def test_a_table(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    pd.DataFrame({"a": ["x", "y"] * 20, "b": ["u", "v"] * 20}).to_csv(path, index=False)
    monkeypatch.setattr(pd, "read_csv", refuse)
    for read in (read_table, HillClimbSearch(show_progress=False).fit):
        with pytest.raises(
            OSError, match=r"Too many open files: close some, or raise the limit .*table\.csv"
        ) as caught:
            read(path)
        assert caught.value.errno == errno.EMFILE


def test_a_checkpoint_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "run"
    checkpoint = Checkpoint(path, 0.0, "a")
    checkpoint.save({"edges": np.arange(4)})
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", refuse)
        with pytest.raises(OSError, match="raise the limit of open files"):
            checkpoint.load()
    assert checkpoint.load().names == ["edges"]


def test_other_errors(tmp_path):
    path = tmp_path / "model.json"
    with pytest.raises(PermissionError, match="denied"), explain_unreadable(path, "cannot be read", "mend it"):
        raise PermissionError(errno.EACCES, "denied", str(path))
    words = "cannot be read: not a gzip file; mend it"
    with pytest.raises(ValueError, match=words), explain_unreadable(path, "cannot be read", "mend it"):
        raise OSError("not a gzip file")

"""The file of a checkpoint: whole at any moment, and refused where it is not what it should be."""

import os

import numpy as np
import pytest

from pgmx.runs.checkpoint import Checkpoint, digest_arrays

SNAPSHOT = {
    "n_iter": 3,
    "score": -1.5,
    "present": True,
    "word": np.uint64(2**64 - 1),
    "edges": np.array([[0, 1], [1, 2]]),
    "none": np.empty((0, 2), dtype=np.int64),
    "name": "alarm",
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.ckpt"


def test_what_is_saved_is_loaded(path):
    Checkpoint(path, 0.0, "a").save(SNAPSHOT)
    loaded = Checkpoint(str(path), 60.0, "a").load()
    assert set(loaded.names) == set(SNAPSHOT)
    for name, value in SNAPSHOT.items():
        np.testing.assert_array_equal(loaded.value(name), value)
    assert loaded.integer("n_iter", 0) == 3
    assert loaded.flag("present") is True
    assert loaded.integer("word", 0, 2**64 - 1) == 2**64 - 1
    assert loaded.pairs("none", 3).shape == (0, 2)
    assert os.listdir(path.parent) == [path.name]


def test_the_latest_snapshot_counts(path):
    checkpoint = Checkpoint(path, 0.0, "a")
    for n_iter in range(3):
        checkpoint.save({"n_iter": n_iter})
    assert checkpoint.load().integer("n_iter", 0) == 2


def test_no_file_is_no_snapshot_and_nothing_is_written_yet(path):
    assert Checkpoint(path, 0.0, "a").load() is None
    assert not path.exists()


def test_remove(path):
    checkpoint = Checkpoint(path, 0.0, "a")
    checkpoint.remove()
    checkpoint.save(SNAPSHOT)
    checkpoint.remove()
    assert os.listdir(path.parent) == []


def test_when_the_next_one_is_due(path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("pgmx.runs.checkpoint.monotonic", lambda: now[0])
    checkpoint = Checkpoint(path, 5.0, "a")
    for seconds, due in [(4.9, False), (5.0, True)]:
        now[0] = 100.0 + seconds
        assert checkpoint.is_due() is due
    checkpoint.save(SNAPSHOT)
    assert not checkpoint.is_due()
    now[0] += 5.0
    assert checkpoint.is_due()
    assert Checkpoint(path, 0.0, "a").is_due()


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_snapshot(path, monkeypatch, moment):
    checkpoint = Checkpoint(path, 0.0, "a")
    checkpoint.save({"n_iter": 1})

    def fail(*args):
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(f"pgmx.runs.checkpoint.os.{moment}", fail)
        with pytest.warns(RuntimeWarning, match=r"search\.ckpt.*cannot be written \(no space left\)"):
            checkpoint.save({"n_iter": 2})
    assert checkpoint.load().integer("n_iter", 0) == 1
    assert os.listdir(path.parent) == [path.name]


# ---- refusals ----


def archive(**arrays):
    def write(path):
        with open(path, "wb") as file:
            np.savez(file, **arrays)

    return write


def signed(**arrays):
    return archive(**arrays, digest=digest_arrays(arrays))


def single_array(path):
    with open(path, "wb") as file:
        np.save(file, np.arange(3))


def bomb(path):
    with open(path, "wb") as file:
        np.savez_compressed(file, format=3, fingerprint="a", x=np.zeros(5_000_000))


def cut(path):
    Checkpoint(path, 0.0, "a").save(SNAPSHOT)
    path.write_bytes(path.read_bytes()[:-40])


def flipped(path):
    Checkpoint(path, 0.0, "a").save({"edges": np.arange(1000)})
    content = bytearray(path.read_bytes())
    content[content.index(np.arange(400, 410).tobytes())] ^= 0xFF
    path.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda path: path.write_bytes(b""), "cannot be read"),
        (lambda path: path.write_bytes(b"a,b\n0,1\n"), "cannot be read"),
        (lambda path: path.write_bytes(b"PK\x03\x04 and no more"), "cannot be read"),
        (lambda path: path.write_bytes(np.random.default_rng(0).bytes(500)), "cannot be read"),
        (single_array, "cannot be read"),
        (cut, "cannot be read"),
        (flipped, "cannot be read"),
        (archive(x=np.arange(3)), "not a checkpoint of this version"),
        (archive(format=99, fingerprint="a"), "not a checkpoint of this version"),
        (archive(format=1, fingerprint="a"), "was written by an older version of pgmx"),
        (archive(format=np.arange(3), fingerprint="a"), "not a checkpoint of this version"),
        (archive(format=2, fingerprint="a"), "was written by an older version of pgmx"),
        (archive(format=3, fingerprint="a"), "damaged"),
        (archive(format=3, fingerprint="a", digest="0" * 32), "damaged"),
        (signed(format=3, fingerprint="b"), "another search"),
        (signed(format=3), "another search"),
        (archive(format=3, fingerprint="a", x=np.array([None])), "cannot be read"),  # objects are never unpickled
        (bomb, "cannot be read"),
    ],
)
def test_other_files_are_refused_with_the_remedy(path, write, words):
    write(path)
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=rf"search\.ckpt.*{words}.*delete the file to begin again, or name another one"
    ) as caught:
        Checkpoint(path, 0.0, "a").load()
    assert "pickle" not in str(caught.value)
    assert path.read_bytes() == before


def test_places_where_no_file_can_be(tmp_path):
    with pytest.raises(ValueError, match=r"no_such_folder.*make it first"):
        Checkpoint(tmp_path / "no_such_folder" / "x.ckpt", 0.0, "a")
    with pytest.raises(ValueError, match="is a folder: name a file in it"):
        Checkpoint(tmp_path, 0.0, "a")

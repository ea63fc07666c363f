"""Files are written whole or not at all."""

import os
import resource
import stat

import pytest

from pgmx.atomic import replace_file
from tests.helpers.processes import run_in_child, start_child, wait_for_child

LIMIT = 4096


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_the_file_appears_whole_when_the_block_ends(tmp_path):
    path = tmp_path / "model.bin"
    with replace_file(path) as part:
        part.write_bytes(b"new")
        assert not path.exists()
        assert part.parent == path.parent
        assert part.suffix == ".bin"
    assert path.read_bytes() == b"new"
    assert names_in(tmp_path) == ["model.bin"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    path = tmp_path / "model.bin"
    path.write_bytes(b"old")
    with pytest.raises(error, match="planned"), replace_file(path) as part:
        part.write_bytes(b"half")
        raise error("planned")
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["model.bin"]


def test_a_full_disk_is_reported_for_the_file_that_was_wanted(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(b"old")

    def write():
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
        with pytest.raises(OSError, match="unchanged") as caught, replace_file(path) as part, open(part, "wb") as file:
            file.write(b"x" * (LIMIT + 1))
        assert caught.value.filename == str(path)

    run_in_child(write)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["model.bin"]


def test_planted_links_are_not_followed(tmp_path):
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    path = tmp_path / "model.bin"
    for planted in (path, tmp_path / "model.bin.tmp", tmp_path / ".model.bin.tmp"):
        planted.symlink_to(victim)
    with replace_file(path) as part:
        part.write_bytes(b"new")
    assert victim.read_bytes() == b"precious"
    assert not path.is_symlink()
    assert path.read_bytes() == b"new"


@pytest.mark.slow
def test_many_processes_write_one_file(tmp_path):
    path = tmp_path / "model.bin"

    def write(k):
        for _ in range(5):
            with replace_file(path) as part:
                part.write_bytes(bytes([k]) * 50_000)

    children = [start_child(write, k) for k in range(16)]
    for child in children:
        wait_for_child(child)
    content = path.read_bytes()
    assert content == content[:1] * 50_000
    assert names_in(tmp_path) == ["model.bin"]


def test_the_mode_of_the_old_file_is_kept_and_a_new_one_obeys_the_mask(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"")
    old.chmod(0o640)
    mask = os.umask(0o027)
    try:
        for path in (old, new):
            with replace_file(path) as part:
                part.write_bytes(b"x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert stat.S_IMODE(new.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("name", "error", "words"),
    [
        ("missing/model.bin", FileNotFoundError, "there is no folder .*make it first"),
        (".", IsADirectoryError, "folder"),
        ("a\0b", ValueError, "NUL"),
    ],
)
def test_places_where_no_file_can_be_written(tmp_path, name, error, words):
    with pytest.raises(error, match=words), replace_file(tmp_path / name) as part:
        part.write_bytes(b"x")
    assert names_in(tmp_path) == []


def test_what_is_no_regular_file_is_written_as_it_is():
    with replace_file(os.devnull) as part:
        part.write_bytes(b"x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)

"""Plane files: what they hold, how they travel, and what is wrong with them."""

import pickle
import struct
import zlib

import numpy as np
import pandas as pd
import pytest

from pgmx.data import DiscreteTable, encode, open_any, open_frame, open_table, write_table
from pgmx.data.files import plane_file
from pgmx.models import fit_discrete
from tests.fuzz.plane_fields import PlaneFields

FRAME = pd.DataFrame({"sky": ["grey", "blue", "grey"], "wet": [True, False, True], "days": [3, 1, 3]})


@pytest.fixture
def path(tmp_path):
    write_table(FRAME, tmp_path / "weather.pgmx")
    return tmp_path / "weather.pgmx"


def test_a_table_is_mapped_read_only_and_aligned(path):
    table = open_table(str(path))
    assert table == encode(FRAME)
    assert table.path == path and encode(FRAME).path is None
    assert np.array_equal(table.planes, encode(FRAME).planes)
    for array in (table.codes, table.planes):
        assert array.ctypes.data % 64 == 0 and array.flags.c_contiguous
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_names_and_states_keep_their_types(tmp_path):
    columns = ["text", 7, True, ("a", 1), -2.5, "é\ud800", 0.5]
    states = [["x", ""], [2**70, -3], [False, True], [1.5, float("inf")], [None, "None"], [("u", 2), ("u", "2")], "ab"]
    table = DiscreteTable(columns, states, [[0, 1, 1]] * 7, [1] + [-1] * 6)
    back = write_table(table, tmp_path / "t.pgmx")
    assert back == table
    assert [type(name) for name in back.columns] == [type(name) for name in columns]
    assert back.missing_codes.tolist() == [1] + [-1] * 6


def test_names_that_no_file_can_hold(tmp_path):
    wrong = DiscreteTable(["a"], [[pd.Timestamp(0), "x"]], [[0, 1]])
    with pytest.raises(TypeError, match="the state Timestamp.* of column 'a' is of type Timestamp, which a plane file"):
        write_table(wrong, tmp_path / "t.pgmx")
    with pytest.raises(TypeError, match="the column name"):
        write_table(DiscreteTable([pd.Timestamp(0)], ["xy"], [[0, 1]]), tmp_path / "t.pgmx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("n_rows", [2, 63, 64, 511, 512, 513, 1024, 1500])
@pytest.mark.parametrize("n_states", [3, 300])
def test_every_length(tmp_path, monkeypatch, n_rows, n_states):
    monkeypatch.setattr(plane_file, "BLOCK_ROWS", 512)
    codes = np.random.default_rng(n_rows).integers(0, 3, (3, n_rows))
    table = DiscreteTable("abc", [range(n_states), range(3), range(4)], codes)
    back = write_table(table, tmp_path / "t.pgmx")
    assert back == table and back.codes.dtype == table.codes.dtype
    assert np.array_equal(back.planes, table.planes)
    assert np.array_equal(back.plane_offsets, table.plane_offsets)
    assert open_table(back.path, verify=True) == table


def test_no_variable_has_planes(tmp_path):
    table = DiscreteTable("a", [range(300)], [[0, 299]])
    back = write_table(table, tmp_path / "t.pgmx")
    assert back == table
    assert back.planes.shape == table.planes.shape == (0, 8)


def test_a_mapped_table_is_pickled_as_its_path(path):
    table = open_table(path)
    data = pickle.dumps(table)
    assert len(data) < 300
    back = pickle.loads(data)
    assert back == table and back.path == path
    with pytest.raises(ValueError, match="already coded, with the states 'blue', 'grey' for 'sky'"):
        encode(path, state_names={"sky": ["grey", "blue"]})
    write_table(FRAME.iloc[[1, 0, 2]], path)
    assert back == table  # what is mapped stays as it was
    with pytest.raises(ValueError, match="was written again since the table was opened"):
        pickle.loads(data)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"no such file: .*sent to other processes as a path"):
        pickle.loads(data)


def test_a_mapped_table_serves_as_any_other(path):
    table = open_table(path)
    assert table.repeat_rows([0, 2, 1]) == encode(FRAME).repeat_rows([0, 2, 1])
    assert table.repeat_rows([1, 1, 1]).path is None
    pd.testing.assert_frame_equal(table.to_pandas(), encode(FRAME).to_pandas())
    assert list(table.to_pandas(["days", "sky"])) == ["days", "sky"]
    fitted, expected = (fit_discrete(t, [(0, 1)]).get_cpds("wet") for t in (table, encode(FRAME)))
    assert fitted == expected
    assert encode(path) == open_any(path) == table
    with pytest.raises(TypeError, match="is already coded: open it with pgmx.data.open_table"):
        open_frame(path)


def changed(path, at, new):
    content = bytearray(path.read_bytes())
    content[at : at + len(new)] = new
    path.write_bytes(bytes(content))


def test_truncated(path):
    whole = path.read_bytes()
    for n_bytes in (len(whole) - 1, 5000, 64):
        path.write_bytes(whole[:n_bytes])
        with pytest.raises(ValueError, match=r"weather\.pgmx is truncated or was changed"):
            open_table(path)
    for n_bytes in (0, 20):
        path.write_bytes(whole[:n_bytes])
        with pytest.raises(ValueError, match=r"weather\.pgmx is not a plane file"):
            open_table(path)


def test_of_another_version(path):
    for version in (1, 99):
        changed(path, 8, struct.pack("<I", version))
        with pytest.raises(ValueError, match=rf"version {version}, this pgmx reads version 2: write it again"):
            encode(path)


@pytest.mark.parametrize("place", ["header", "names"])
def test_corrupted_names_are_found_at_once(path, place):
    at = 24 if place == "header" else path.stat().st_size - 20
    changed(path, at, bytes([path.read_bytes()[at] ^ 1]))
    with pytest.raises(ValueError, match="is damaged"):
        open_table(path)


@pytest.mark.parametrize(("field", "other"), [("columns.1", "columns.0"), ("states.0.1", "states.0.0")])
def test_names_and_states_are_distinct(path, field, other):
    """Also in a file whose checksums fit: it may come from another program."""
    fields = PlaneFields(path.read_bytes())
    fields.set_value(field, fields.value(other))
    path.write_bytes(fields.to_bytes(sign=True, changed=field))
    with pytest.raises(ValueError, match="names or states are not distinct"):
        open_table(path)


@pytest.mark.parametrize("at", [4096 + 1, 8192 + 64 * 2])
def test_corrupted_rows_are_found_by_verification_and_at_first_use(path, at):
    changed(path, at, bytes([path.read_bytes()[at] ^ 1]))
    table = open_table(path)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"weather\.pgmx is damaged: its (codes|planes) do not fit .*write_table"):
            use_rows(table)
    with pytest.raises(ValueError, match="is damaged"):
        open_table(path, verify=True)


def use_rows(table):
    return table.codes, table.planes


def test_another_process_trusts_what_was_verified(path):
    table = open_table(path)
    assert pickle.loads(pickle.dumps(table))._mapping.verified == set()
    use_rows(table)
    assert pickle.loads(pickle.dumps(table))._mapping.verified == {"codes", "planes"}


def test_checksum_of_the_header_is_of_the_header(path):
    raw = path.read_bytes()[:64]
    assert zlib.crc32(raw[:60] + bytes(4)) == struct.unpack("<I", raw[60:])[0]


def test_wrong_arguments(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such file: .*gone\.pgmx"):
        open_table(tmp_path / "gone.pgmx")
    with pytest.raises(FileNotFoundError, match="no such folder: .*nowhere"):
        write_table(FRAME, tmp_path / "nowhere" / "t.pgmx")
    with pytest.raises(ValueError, match=r"must have the suffix \.pgmx"):
        write_table(FRAME, tmp_path / "t.parquet")
    for chunk_rows in (0, 1.5, True):
        with pytest.raises((TypeError, ValueError), match="chunk_rows must be"):
            write_table(FRAME, tmp_path / "t.pgmx", chunk_rows=chunk_rows)


def test_a_failed_run_leaves_the_old_file(path):
    before = path.read_bytes()

    def broken():
        yield FRAME
        raise OSError("the source broke off")

    with pytest.raises(OSError, match="broke off"):
        write_table(broken(), path)
    with pytest.raises(ValueError, match="missing values"):
        write_table(FRAME.astype(object).where(FRAME != 3), path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_file_may_be_written_from_itself(path):
    table = open_table(path)
    assert write_table(table, path) == write_table(path, path) == encode(FRAME)

"""Files of tables with damage at random: refused by name, or a table; and each known fault by itself."""

import gzip
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from pgmx.data import DiscreteTable, encode, open_any, open_frame, open_numeric, read_table, write_table
from tests.fuzz.mutations import attack

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
STATES = pd.DataFrame({"sky": RNG.choice(["blue", "grey"], 40), "days": RNG.integers(0, 3, 40)})
NUMBERS = pd.DataFrame(RNG.normal(size=(40, 2)).round(3), columns=["sky", "days"])


def save(frame, path):
    if ".csv" in path.name:
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return path


def name_columns(read):
    """Return a reader whose errors about columns are clear, as those about the file are."""

    def read_named(path):
        try:
            return read(path)
        except (ValueError, TypeError) as error:
            if re.search(r"column(\(s\))? '|column\(s\) ", str(error)):
                raise type(ValueError())(f"{path.name}: {error}") from error
            raise

    return read_named


READERS = {
    "read_table": (read_table, STATES),
    "encode": (name_columns(encode), STATES),
    "open_any": (name_columns(open_any), NUMBERS),
    "open_numeric": (name_columns(lambda path: open_numeric(path).rows()), NUMBERS),
}
NAMES = ("t.csv", "t.csv.gz", "t.csv.bz2", "t.csv.xz", "t.csv.zip", "t.parquet")


def check_table(table):
    if isinstance(table, DiscreteTable):
        assert table.n_rows >= 2
        assert all(row.max() < len(states) for row, states in zip(table.codes, table.states, strict=True))
    elif isinstance(table, np.ndarray):
        assert np.isfinite(table).all()


def attack_file(folder, name, reader, n_cases, seed):
    read, frame = READERS[reader]
    outcomes = attack(save(frame, folder / name), read, check_table, n_cases, seed)
    assert outcomes.total() == n_cases
    assert set(outcomes) <= {"read", "ValueError"}
    return outcomes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reader", READERS)
def test_a_few(tmp_path, name, reader):
    attack_file(tmp_path, name, reader, 12, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reader", READERS)
def test_many(tmp_path, name, reader):
    print(name, reader, attack_file(tmp_path, name, reader, 300, 1))


# ---- known faults ----

TAKE = (read_table, encode, open_any, open_frame, lambda path: open_numeric(path).rows())


def test_a_damaged_stream(tmp_path):
    """It ended in zlib.error."""
    raw = bytearray(gzip.compress(b"a,b\n" + b"0,1\n1,0\n" * 500 + RNG.integers(0, 9, 9000).tobytes()))
    raw[60:90] = b"\xff" * 30
    path = tmp_path / "t.csv.gz"
    path.write_bytes(raw)
    for take in TAKE:
        with pytest.raises(ValueError, match=r"t\.csv\.gz cannot be read: .*; mend the file, or write it again"):
            take(path)


@pytest.mark.parametrize("cut", [slice(0, -9), slice(4, None), slice(0, 60)])
def test_a_damaged_parquet_file(tmp_path, cut):
    path = save(STATES, tmp_path / "t.parquet")
    path.write_bytes(path.read_bytes()[cut])
    for take in TAKE:
        with pytest.raises(ValueError, match=r"(?s)t\.parquet cannot be read: .*; mend the file, or write it again"):
            take(path)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_table_without_rows_names_its_file(tmp_path, name):
    path = save(STATES[:0], tmp_path / name)
    for take in TAKE[1:]:
        with pytest.raises(ValueError, match=rf"{name} holds no table: 0 sample\(s\) \(shape=\(0, 2\)\).*two rows"):
            take(path)


def test_an_empty_file_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"")
    for take in TAKE:
        with pytest.raises(ValueError, match=r"t\.csv cannot be read: No columns to parse"):
            take(path)


def test_a_table_without_columns_is_named(tmp_path):
    path = save(pd.DataFrame(index=pd.RangeIndex(3)), tmp_path / "t.parquet")
    for take in TAKE[1:]:
        with pytest.raises(ValueError, match=r"t\.parquet .*0 (feature|sample)"):
            take(path)


def test_a_missing_folder_is_missing(tmp_path):
    for name in ("tables", "tables.d"):
        with pytest.raises(FileNotFoundError, match=f"no such file or folder: .*{name}; "):
            write_table(tmp_path / name, tmp_path / "t.pgmx")
        for take in TAKE:
            with pytest.raises(FileNotFoundError, match=f"no such file or folder: .*{name}; "):
                take(tmp_path / name)


def test_a_path_with_a_nul(tmp_path):
    for take in TAKE:
        with pytest.raises(ValueError, match=r"t\\x00\.csv' holds a NUL character: give another name"):
            take(f"{tmp_path}/t\0.csv")
    with pytest.raises(ValueError, match="holds a NUL character"):
        write_table(STATES, f"{tmp_path}/t\0.pgmx")
    with pytest.raises(ValueError, match="holds a NUL character"):
        encode(f"{tmp_path}/t\0.pgmx")


def test_integers_of_128_bits():
    frame = pl.DataFrame({"a": pl.Series([1, 2, 1], dtype=pl.Int128), "b": [1, 2, 1]})
    for take in (encode, open_frame, open_numeric, lambda X: encode(iter([X]))):
        with pytest.raises(ValueError, match=r"column\(s\) 'a' hold integers of 128 bits: cast them to Int64"):
            take(frame)


def test_lack_of_memory_is_no_fault_of_the_file(tmp_path, monkeypatch):
    path = save(STATES, tmp_path / "t.csv")
    for error in (MemoryError, KeyboardInterrupt):

        def fail(*arguments, error=error, **options):
            raise error

        monkeypatch.setattr(pd, "read_csv", fail)
        with pytest.raises(error):
            read_table(path)

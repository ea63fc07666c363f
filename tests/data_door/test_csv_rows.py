"""CSV files whose rows have more fields than the header: trailing separators, row names, and what is refused."""

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pytest

from pgmx.data import encode, open_any, open_frame, open_numeric, read_table
from pgmx.data.distributed.reading import code_partition
from pgmx.data.files import readers
from pgmx.data.files.csv_rows import open_row_stream
from pgmx.data.series.reading import open_series
from pgmx.data.targets import read_rows
from pgmx.estimators import HillClimbSearch

HEADER = ["a", "b", "c", "d"]
ROWS = [["1", "1", "0", "0"], ["0", "0", "1", "1"], ["1", "0", "1", "0"]]


def join(rows, sep=","):
    return "".join(sep.join(row) + "\n" for row in rows)


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="rows.csv"):
        path = tmp_path / name
        raw = text.encode()
        packers = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
        if path.suffix == ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("rows.csv", raw)
        else:
            path.write_bytes(packers.get(path.suffix, bytes)(raw))
        return path

    return write_file


def check_cells(table, rows=ROWS, names=HEADER):
    assert list(table) == list(names)
    assert table.to_numpy().tolist() == [[int(cell) for cell in row] for row in rows]


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz", "rows.csv.bz2", "rows.csv.xz", "rows.csv.zip", "rows.txt"])
def test_trailing_separators_are_no_column(write, sep, name):
    longer = [[*row, ""] for row in ROWS]
    for header, rows in (
        (HEADER, longer),
        ([*HEADER, ""], longer),
        ([*HEADER, ""], ROWS),
        ([*HEADER, "", ""], longer),
        (HEADER, [ROWS[0], *longer[1:]]),
        (HEADER, [*longer[:2], ROWS[2]]),
        (HEADER, [[*row, "", ""] for row in ROWS]),
        (HEADER, [[*row, ""] for row in longer]),
        (HEADER, [[*row, '""'] for row in ROWS]),
    ):
        path = write(join([header, *rows], sep), name)
        check_cells(read_table(path))
        assert open_numeric(path).names == tuple(HEADER)


@pytest.mark.parametrize("sep", [",", ";", "\t", "|", r"\s+", " ", r";\s*"])
def test_row_names_are_left_out_with_a_warning(write, sep):
    mark = {r"\s+": "  ", r";\s*": "; "}.get(sep, sep)
    path = write(join([HEADER, *(["x" + row[0], *row] for row in ROWS)], mark))
    with pytest.warns(UserWarning, match=r"^the first column of rows\.csv has no name and holds row names: it is left"):
        check_cells(read_table(path, sep=sep))


def test_the_table_of_r(write):
    """The default output of R's write.table."""
    path = write('"size" "kind"\n"1" 1.5 "big one"\n"2" 2.5 "small"\n', "rows.txt")
    with pytest.raises(ValueError, match=r"^spaces seem to separate .*--sep ' '\)$"):
        read_table(path)
    for sep in (" ", r"\s+"):
        with pytest.warns(UserWarning, match="has no name and counts the rows: it is left out"):
            table = read_table(path, sep=sep)
        assert table.to_dict("list") == {"size": [1.5, 2.5], "kind": ["big one", "small"]}


def test_counted_rows_with_trailing_separators(write):
    path = write(join([["", *HEADER], *([str(k), *row, ""] for k, row in enumerate(ROWS))]))
    with pytest.warns(UserWarning, match="has no name and counts the rows: it is left out"):
        check_cells(read_table(path))
    with pytest.warns(UserWarning, match="counts the rows"):
        assert open_numeric(path).names == tuple(HEADER)


def test_row_names_before_a_first_column_without_a_name(write):
    with pytest.warns(UserWarning, match="counts the rows"):
        table = read_table(write(",a\n1,x,5\n2,y,6\n"))
    assert table.to_dict("list") == {"Unnamed: 0": ["x", "y"], "a": [5, 6]}


def test_a_last_column_without_a_name_that_is_filled_stays(write):
    table = read_table(write("a,b,\n1,2,\n3,4,5\n"))
    assert table.columns.tolist() == ["a", "b", "Unnamed: 2"]
    assert table.iloc[1].tolist() == [3, 4, 5]
    later = write("a,b,\n" + "1,2,\n" * 1500 + "1,2,3\n")
    with pytest.raises(ValueError, match="line 1502 has 3 fields, the header has 2"):
        read_table(later)


def test_rows_without_a_value_are_kept(write):
    table = read_table(write("a\tb\n1\t2\t\n\t\t\n \n3\t4\t\n"))
    assert table.isna().to_numpy().tolist() == [[False, False], [True, True], [False, False]]
    assert read_table(write("a\n1,\n,\n2,\n"))["a"].isna().tolist() == [False, True, False]
    with pytest.warns(UserWarning, match="holds row names"):
        assert read_table(write("a\nx,1\ny,\nz,2\n"))["a"].isna().tolist() == [False, True, False]


def test_rows_without_any_value_keep_one_column(write):
    table = read_table(write(",\n,\n,\n"))
    assert (table.shape, list(table)) == ((2, 1), ["Unnamed: 0"])


def test_quotes_hold_separators_and_lines(write):
    text = 'a,b\n"Mazda, ""RX4""","x, y",1\n"Fiat\n128","z\nz",2\n'
    with pytest.warns(UserWarning, match="holds row names"):
        assert read_table(write(text)).to_dict("list") == {"a": ["x, y", "z\nz"], "b": [1, 2]}
    with pytest.warns(UserWarning, match="holds row names"):
        table = read_table(write('a,b\n"Mazda ""RX4"", new",1,2\nFiat,3,4\n'))
    assert table.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    with pytest.warns(UserWarning, match="holds row names"):
        table = read_table(write('a b\n"Mazda RX4"\t1\t2\n"Fiat"   3\t4\n'), sep=r"\s+")
    assert table.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert read_table(write('a,b\n"x, y",1,\n"z\nz",2,\n')).to_dict("list") == {"a": ["x, y", "z\nz"], "b": [1, 2]}
    table = read_table(write('"a, x","b\ny",\n1,2,\n3,4,""\n'))
    assert table.to_dict("list") == {"a, x": [1, 3], "b\ny": [2, 4]}
    assert read_table(write("\ufeffa,b\r\n1,2,\r\n\r\n3,4,\r\n")).to_dict("list") == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize(
    ("rows", "line", "n_fields"),
    [
        ([["1", "2", "3"], ["4", "5"]], 2, 3),  # a row name in some rows
        ([["1", "2"], ["3", "4", "5"]], 3, 3),
        ([["1", "2", "3", "4"]], 2, 4),  # two fields more
        ([["x", "1", "2"], ["", "3", "4"]], 2, 3),  # a row without its name
        ([["1", "2", ""], ["3", "4", ""], ["5", "6", "", "7"]], 4, 4),
        ([["1", '"2\n2"'], ["3", "4", "5"]], 4, 3),  # lines are counted, not rows
    ],
)
@pytest.mark.parametrize("sep", [",", ";"])
def test_other_rows_are_errors_with_line_and_counts(write, rows, line, n_fields, sep):
    path = write(join([["a", "b"], *rows], sep))
    for read in (lambda path: read_table(path, sep=sep), *([encode, open_any, open_frame] if sep == "," else [])):
        with pytest.raises(
            ValueError, match=rf"rows\.csv cannot be read: line {line} has {n_fields} fields, .* has 2\."
        ):
            read(path)


@pytest.mark.parametrize(
    ("first", "later", "line"),
    [
        (["1", "2"], ["1", "2", ""], 1502),
        (["1", "2"], ["1", "2", "3"], 1502),
        (["1", "2", ""], ["1", "2", "3"], 1502),
        (["x", "1", "2"], ["1", "2"], 1502),
        (["x", "1", "2"], ["", "1", "2"], 1502),
        (["x", "1", "2"], ["x", "1", "2", "3"], 1502),
    ],
)
@pytest.mark.filterwarnings("ignore:the first column of")
def test_later_rows_that_contradict_the_first_are_errors(write, first, later, line):
    """They are found by readers of whole files, and by those that read chunks."""
    path = write(join([["a", "b"], *[first] * 1500, later, *[first] * 3]))
    message = rf"rows\.csv cannot be read: line {line} has {len(later)} fields, the header has 2"
    for read in (
        read_table,
        encode,
        lambda path: list(open_numeric(path).chunks()),
        lambda path: read_rows(path, 100),
        lambda path: open_series(path, lags=1),
    ):
        with pytest.raises(ValueError, match=message):
            read(path)


def test_the_first_thousand_rows_decide(write):
    rows = [["1", "2"]] * 1500
    assert read_table(write(join([["a", "b"], *rows[:999], ["1", "2", ""], *rows[1000:]]))).shape == (1500, 2)
    with pytest.raises(ValueError, match="line 1002 has 3 fields, the header has 2"):
        read_table(write(join([["a", "b"], *rows[:1000], ["1", "2", ""], *rows[1001:]])))


def test_all_readers_give_the_same_columns(write, tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (3000, 4)).astype(str).tolist()
    numbers = rng.normal(size=(3000, 4)).round(3).astype(str).tolist()
    path = write(join([HEADER, *([*row, ""] for row in codes)]), "codes.csv")
    plain = write(join([HEADER, *codes]), "plain.csv")
    assert encode(path) == encode(plain)
    assert HillClimbSearch().fit(path).graph_.edges == HillClimbSearch().fit(plain).graph_.edges
    path = write(join([HEADER, *([*row, ""] for row in numbers)]), "numbers.csv")
    expected = np.array(numbers, dtype=float)
    np.testing.assert_array_equal(open_numeric(path).rows(), expected)
    np.testing.assert_array_equal(read_rows(path, 700).to_numpy(), expected)
    np.testing.assert_array_equal(open_series(path, lags=1).segments[0], expected)
    assert code_partition(path, "error").continuous == HEADER
    coder = code_partition(plain, "error")
    assert (coder.n_rows, [column.name for column in coder.columns]) == (3000, HEADER)
    with open(path, newline="") as file:
        np.testing.assert_array_equal(read_rows(file, 700).to_numpy(), expected)


def test_streams_are_read_alike():
    read = lambda text, sep=",": pd.read_csv(_rows(text, sep))  # noqa: E731
    assert read("a,b\n1,2,\n3,4,\n").to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert read("a,b\n1,2\n3,4\n").to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert read('\ufeff"a,x",b\n1,2,\n3,4,\n').to_dict("list") == {"a,x": [1, 3], "b": [2, 4]}
    with pytest.warns(UserWarning, match="the first column of the stream has no name and holds row names"):
        assert read("a,b\nx,1,2\ny,3,4\n").to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    with pytest.raises(ValueError, match="^line 3 has 3 fields, the header has 2"):
        read("a,b\n1,2\n3,4,5\n")
    with pytest.raises(ValueError, match="^line 1502 has 3 fields, the header has 2"):
        read("a,b\n" + "1,2\n" * 1500 + "1,2,\n")
    with pytest.raises(ValueError, match="^line 2003 has 3 fields, the header has 2"):
        read("a,b\n" + "1,2,\n" * 2001 + "3,4,5\n")


def _rows(text, sep):
    with open_row_stream(io.StringIO(text), sep, None) as rows:
        return rows


def test_a_header_of_many_columns_is_checked_in_one_pass(write, monkeypatch):
    """Names are compared by hashing: a list of names that counts its comparisons is compared a few times each."""

    class Name(str):
        __slots__ = ()
        comparisons = 0

        def __eq__(self, other):
            Name.comparisons += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = [Name(f"g{k}") for k in range(2000)]
    record = type("Record", (), {"split": lambda self, sep: list(names)})()
    monkeypatch.setattr(readers, "read_records", lambda file, sep: iter([record]))
    path = write("a,b\n1,2\n")
    assert len(readers.read_csv_header(path)) == 2000
    assert Name.comparisons < 10_000
    names[1500] = Name("g7")
    with pytest.raises(ValueError, match=r"duplicate column name\(s\) 'g7'"):
        readers.read_csv_header(path)


@pytest.mark.parametrize(
    "name", ["rows.txt", "rows.dat", "rows.tab", "rows.DAT", "rows.data", "rows", "rows.txt.gz", "rows.asc"]
)
@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_text_of_any_suffix(write, name, sep):
    path = write(join([HEADER, *ROWS], sep), name)
    check_cells(read_table(path))
    check_cells(read_table(path, sep=sep))
    assert encode(path).columns == tuple(HEADER)
    assert open_numeric(path).names == tuple(HEADER)


@pytest.mark.parametrize("name", ["rows.tsv", "rows.tab", "rows.TAB.gz"])
def test_tabs_come_first_where_the_suffix_says_so(write, name):
    assert read_table(write("a, x\tb\n1, y\t2\n", name)).to_dict("list") == {"a, x": ["1, y"], "b": [2]}


def test_a_separator_that_is_given_opens_any_suffix(write):
    one_column = write("one\n1\n2\n", "rows.data")
    with pytest.raises(ValueError, match=r"rows\.data has an unknown suffix: .*pgmx\.data\.read_table\(path, sep="):
        read_table(one_column)
    assert read_table(one_column, sep=",")["one"].tolist() == [1, 2]
    assert read_table(write("one\n1\n2\n", "rows.txt"))["one"].tolist() == [1, 2]
    path = write("a#b\n1#2\n3#4\n", "rows.log")
    assert read_table(path, sep="#").to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    spaces = write("a b\n1 2\n3 4\n", "rows.data")
    with pytest.raises(ValueError, match=r"^spaces seem to separate the columns of rows\.data"):
        read_table(spaces)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.json", b'{"a": 1, "b": 2}\n{"a": 2, "b": 1}\n'),
        ("rows.xml", b"<a,b>\n<c,d>\n"),
        ("rows.npy", b"\x93NUMPY\x01\x00,\n\x00,\n"),
        ("rows.bin", b"a,b\n\x00,1\n"),
        ("rows.latin", "a,b\n\u00e9,1\n".encode("latin-1")),
        ("rows.bif", b"network x {\n}\nvariable a, b {\n}\n"),
        ("rows.log.gz", b"not compressed"),
        ("rows.log.xz", b"not compressed"),
        ("rows.log.zip", b"not compressed"),
        ("rows.pgmx", b"a,b\n1,2\n3,4\n"),
        ("header.data", b"a,b\n"),
    ],
)
def test_other_files_have_an_unknown_suffix(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match="has an unknown suffix: expected one of '.csv'"):
        read_table(path)


def test_separators_of_several_characters(write):
    assert read_table(write("a::b\n1::2\n3::4\n"), sep="::").to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert read_table(write("a; b\n1;2\n3;  4\n"), sep=r";\s*").to_dict("list") == {"a": [1, 3], "b": [2, 4]}

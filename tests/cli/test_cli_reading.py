"""Tables as people have them: separators, columns to read, numbers made into bins; the same in all commands."""

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import done, pgmx, refused, warned
from pgmx.data import discretize, encode, write_table
from pgmx.models import read_model


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 300)
    b = np.where(rng.random(300) < 0.9, a, 1 - a)
    return pd.DataFrame({"id": [f"k{k}" for k in range(300)], "a": a, "b": b, "c": rng.integers(0, 3, 300)})


@pytest.fixture
def numbers():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    return pd.DataFrame({"x": x, "y": x + rng.normal(size=300) / 2, "z": rng.normal(size=300)})


def section(text):
    """Return what was printed without the seconds."""
    return [line for line in text.splitlines() if not line.startswith("seconds")]


@pytest.mark.parametrize("options", [("--drop", "id"), ("--columns", "c,b,a"), ("--index-column", "id")])
def test_columns_are_chosen(rows, options, tmp_path):
    plain, other, coded = tmp_path / "t.csv", tmp_path / "u" / "t.csv", tmp_path / "u" / "t.pgmx"
    (tmp_path / "u").mkdir()
    rows.drop(columns="id").to_csv(plain, index=False)
    rows.to_csv(other, index=False)
    expected = section(done("learn", plain))
    assert section(done("learn", other, *options)) == expected
    other.with_suffix(".parquet").write_bytes(rows.to_parquet())
    assert section(done("learn", other.with_suffix(".parquet"), *options)) == expected
    with pytest.warns(UserWarning, match="implausibly many"):
        write_table(rows, coded)
    assert section(done("learn", coded, *options)) == expected
    for method in ("group-lasso", "chow-liu"):
        assert section(done("learn", other, "--method", method, *options)) == section(
            done("learn", plain, "--method", method)
        )
    strengths = section(done("bootstrap", plain, "--resamples", 3))
    assert section(done("bootstrap", other, "--resamples", 3, *options)) == strengths


def cut(text):
    """Return what was printed without the name of the data and the seconds."""
    return section(text)[1:]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.dat", "t.data"])
def test_trailing_separators_are_no_column(rows, tmp_path, name):
    table = rows.drop(columns="id")
    plain, other, network = tmp_path / "plain.csv", tmp_path / name, tmp_path / "t.bif"
    table.to_csv(plain, index=False)
    table.assign(empty="").rename(columns={"empty": ""}).to_csv(other, index=False)
    done("learn", plain, "--out", network)
    for more in ((), ("--drop", "c")):
        assert cut(done("learn", other, *more)) == cut(done("learn", plain, *more))
    assert cut(done("score", network, other)) == cut(done("score", network, plain))


def test_row_names_and_rows_that_do_not_fit_the_header(rows, tmp_path):
    plain, other, network = tmp_path / "plain.csv", tmp_path / "names.csv", tmp_path / "t.bif"
    rows.drop(columns="id").to_csv(plain, index=False)
    done("learn", plain, "--out", network)
    commands = (["learn"], ["learn", "--drop", "c"], ["score", network], ["bootstrap", "--resamples", 2])
    header, *lines = plain.read_text().splitlines()
    other.write_text("\n".join([header, *(f"k{k},{line}" for k, line in enumerate(lines))]))
    for command in commands:
        text = warned("the first column of names.csv has no name and holds row names: it is left out", *command, other)
        assert cut(text) == cut(done(*command, plain))
    other.write_text("\n".join([header, *lines, "0,1,1,9"]))
    for command in commands:
        assert "names.csv cannot be read: line 302 has 4 fields, the header has 3" in refused(*command, other)


def test_text_of_any_suffix_is_read_with_its_separator(numbers, tmp_path):
    plain, other = tmp_path / "plain.csv", tmp_path / "t.log"
    numbers.to_csv(plain, index=False)
    numbers.to_csv(other, index=False, sep="#")
    for command in (["learn"], ["learn", "--method", "glasso", "--lam-ratio", 0.1], ["stream", "--target", "y"]):
        message = refused(*command, other)
        assert "t.log has an unknown suffix: expected one of '.csv'" in message and "--sep" in message
        result = done(*command, other, "--sep", "#")
        if command[0] == "learn":
            assert cut(result) == cut(done(*command, plain))
    numbers.to_csv(other, index=False, sep=";")
    assert cut(done("learn", other)) == cut(done("learn", plain))


@pytest.mark.slow
def test_layout_is_recognised_and_stated(numbers, tmp_path):
    plain, other = tmp_path / "t.csv", tmp_path / "u" / "t.csv"
    other.parent.mkdir()
    numbers.to_csv(plain, index=False)
    expected = {method: section(done("learn", plain, "--method", method)) for method in ("hill-climb", "glasso", "lds")}
    for sep, decimal, options in [
        (";", ",", ()),
        ("\t", ".", ()),
        (";", ",", ("--sep", ";", "--decimal", ",")),
        ("\t", ",", ("--sep", "tab")),
        (" ", ".", ("--sep", "space")),
    ]:
        numbers.to_csv(other, index=False, sep=sep, decimal=decimal)
        for method, text in expected.items():
            assert section(done("learn", other, "--method", method, *options)) == text
    numbers.to_csv(other, index=False, sep=" ")
    assert "--sep ' '" in refused("learn", other)


def test_a_column_that_counts_rows_is_left_out_with_a_word(rows, tmp_path):
    path = tmp_path / "t.csv"
    rows[["a", "b", "c"]].to_csv(path)
    result = pgmx("learn", path)
    assert result.exit_code == 0
    assert result.stderr.startswith("Warning: the first column of t.csv has no name and counts the rows")
    assert result.stderr.count("counts the rows") == 1
    assert "3 variables" in result.stdout


def test_other_commands_read_alike(rows, numbers, tmp_path):
    plain, other = tmp_path / "t.csv", tmp_path / "u" / "t.csv"
    other.parent.mkdir()
    rows.drop(columns="id").to_csv(plain, index=False)
    rows.to_csv(other, index=False, sep="|")
    reading = ("--drop", "id", "--sep", "|")
    done("learn", plain, "--out", tmp_path / "m.bif")
    assert done("score", tmp_path / "m.bif", other, *reading) == done("score", tmp_path / "m.bif", plain)
    numbers.to_csv(plain, index=False)
    numbers.assign(name="p").to_csv(other, index=False, sep=";", decimal=",")
    done("learn", plain, "--method", "lds", "--out", tmp_path / "s.npz")
    forecast = done("forecast", tmp_path / "s.npz", plain, "--steps", 3)
    assert done("forecast", tmp_path / "s.npz", other, "--steps", 3, "--drop", "name") == forecast
    streamed = done("stream", plain, "--target", "z", "-q").split("mean")[1]
    assert done("stream", other, "--target", "z", "-q", "--columns", "x,y").split("mean")[1] == streamed


def test_numbers_become_bins(numbers, tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "m.json"
    numbers.to_csv(path, index=False)
    text = done("learn", path, "--discretize", "quantile:3", "--out", out)
    assert "x -- y" in text
    categories, discretizer = discretize(numbers, n_bins=3)
    assert list(read_model(out).states["x"]) == discretizer.categories_["x"]
    states = tmp_path / "u" / "t.csv"
    states.parent.mkdir()
    categories.to_csv(states, index=False)
    table = encode(categories)
    assert f"bins     {table.n_variables} numeric columns in 3 bins, by quantile" in text
    learned = done("learn", path, "--discretize", "hartemink", "--method", "group-lasso", "--held-out", path)
    assert "x -- y" in learned
    assert "held-out" in learned


def test_floats_with_few_values_are_told_once(numbers, tmp_path):
    path = tmp_path / "t.csv"
    numbers.round().clip(-1, 1).to_csv(path, index=False)
    for options in ((), ("--method", "glasso")):
        result = pgmx("learn", path, *options)
        assert (result.exit_code, result.stderr.count("Warning: column(s) 'x', 'y', 'z' have at most")) == (0, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--columns", "x,w"), "--columns: 'w' is not a column of the table"),
        (("--drop", "xx"), "--drop: 'xx' is not a column of the table, did you mean 'x'?"),
        (("--index-column", "w"), "--index-column: 'w' is not a column"),
        (("--drop", "x,y,z"), "leave no column"),
        (("--sep", "ab"), "--sep 'ab' must be one character"),
        (("--discretize", "quantil:5"), "--discretize quantil:5: give one of quantile, interval, kmeans, hartemink"),
        (("--discretize", "quantile:1"), "2 to 255 bins"),
        (("--discretize", "quantile:5", "--method", "glasso"), "--discretize is for --method hill-climb"),
        (("--method", "group-lasso"), "--discretize quantile:5"),
    ],
)
def test_what_is_refused(numbers, options, message, tmp_path):
    path = tmp_path / "t.csv"
    numbers.to_csv(path, index=False)
    assert message in refused("learn", path, *options)


def test_options_of_files_are_refused_elsewhere(numbers, tmp_path):
    assert "--sep is for files, but alarm is a network" in refused("learn", "alarm", "--sep", ";")
    path = tmp_path / "t.parquet"
    numbers.to_parquet(path)
    assert "--decimal ',' is for CSV files" in refused("learn", path, "--decimal", ",")


@pytest.fixture
def marked(numbers, tmp_path):
    """Return a CSV file of continuous and discrete columns with markers, and one of what they mean."""
    rng = np.random.default_rng(2)
    code = rng.integers(1, 4, 300)
    words = numbers.round(4).assign(code=code.astype(float), word=np.where(code == 1, "u", "v")).astype(str)
    words.loc[3, "x"], words.loc[4, "code"], words.loc[5, "z"] = "?", "", " "
    path, plain = tmp_path / "t.csv", tmp_path / "u" / "t.csv"
    plain.parent.mkdir()
    words.to_csv(path, index=False)
    words.replace({"?": "", " ": ""}).to_csv(plain, index=False)
    return path, plain


def learned(*arguments):
    """Return what is printed where rows with missing values are left out, and nothing else is reported."""
    return section(warned("missing='drop' leaves out", *arguments, "--missing", "drop"))


def figures(lines):
    return [line.split()[1] for line in lines if line.startswith(("score", "objective"))]


def test_further_values_are_missing(marked):
    path, plain = marked
    na, discrete = ("--na", "?", "--na", " "), ("--discrete", "code")
    assert learned("learn", path, *na, *discrete) == learned("learn", plain, *discrete)
    numbers = ("--columns", "x,y,z", "--method", "glasso")
    assert learned("learn", path, *na, *numbers) == learned("learn", plain, *numbers)
    series = ("learn", "--columns", "x,y,z", "--method", "lds", "--missing", "drop")
    assert section(done(*series, path, *na)) == section(done(*series, plain))
    resamples = ("--resamples", 2, *discrete)
    assert learned("bootstrap", path, *na, *resamples) == learned("bootstrap", plain, *resamples)


def test_values_that_look_missing_are_told_with_the_option(marked, tmp_path):
    path, _ = marked
    run = pgmx("learn", path, "--missing", "drop")
    (line,) = [line for line in run.stderr.splitlines() if "look like markers" in line]
    assert "'x' ('?': 1), 'z' (' ': 1)" in line
    assert "--na '?' --na ' '" in line
    assert "look like markers" not in pgmx("learn", path, "--missing", "drop", "--na", "").stderr
    pd.read_csv(path).to_parquet(tmp_path / "t.parquet")
    assert "--na '?' is for CSV files" in refused("learn", tmp_path / "t.parquet", "--na", "?")


def test_discrete_columns_are_named(marked, tmp_path):
    _, plain = marked
    assert (
        "declare them with discrete_columns=['code'] (command line: --discrete code)"
        in pgmx("learn", plain, "--missing", "drop").stderr
    )
    coded, out = tmp_path / "v" / "t.csv", tmp_path / "t.json"
    coded.parent.mkdir()
    frame = pd.read_csv(plain)
    frame["code"] = frame["code"].map({1.0: "k1", 2.0: "k2", 3.0: "k3"})
    frame.to_csv(coded, index=False)
    expected = figures(learned("learn", coded))
    assert figures(learned("learn", plain, "--discrete", "code", "--out", out)) == expected
    assert read_model(out).states == {"code": (1, 2, 3), "word": ("u", "v")}
    # a network knows the kinds of its variables
    assert figures(learned("score", out, plain)) == expected
    for method in ("group-lasso", "chow-liu"):
        options = ("--method", method, "--columns", "code,word")
        assert figures(learned("learn", plain, "--discrete", "code", *options)) == figures(
            learned("learn", coded, *options)
        )


def test_discrete_columns_stay_out_of_bins(marked):
    _, plain = marked
    options = ("--discretize", "quantile:3")
    assert "bins     4 numeric columns in 3 bins, by quantile" in learned("learn", plain, *options)
    assert "bins     3 numeric columns in 3 bins, by quantile" in learned(
        "learn", plain, "--discrete", "code", *options
    )


def test_discrete_columns_that_cannot_be(marked):
    _, plain = marked
    assert "--discrete: 'cod' is not a column of the table, did you mean 'code'" in refused(
        "learn", plain, "--discrete", "cod"
    )
    assert "--drop" in refused("learn", plain, "--method", "glasso", "--discrete", "code")
    assert "--discrete is for files" in refused("learn", "asia", "--discrete", "smoke")

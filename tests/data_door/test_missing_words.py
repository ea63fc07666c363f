"""Words of CSV files that are missing values: usual ones, those of the user, and a warning of others like them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pgmx.data import encode, open_any, open_frame, open_numeric, read_table, write_table
from pgmx.estimators import (
    CLIME,
    BlockBootstrap,
    BootstrapStructure,
    DenseLDS,
    EdgeGrafting,
    GraphicalLasso,
    HillClimbSearch,
    LinearSVARM,
    NeighborhoodLasso,
    Nonparanormal,
    SelectedGraph,
    SparsityInducingLDS,
)
from pgmx.streaming import CategoricalSubspace

#: Columns of words, and the values of each that look like markers, with their counts.
COLUMNS = {
    "question": (["a", "b", "c", "d", "?", "?"], {"?": 2}),
    "blank": (["a", "b", "c", "d", " ", "e"], {" ": 1}),
    "spaced": (["a", "b", "c", "d", " ?", "e"], {" ?": 1}),
    "dash": (["1", "2.5", "3", "-", "-", "1"], {"-": 2}),
    "words": (["1", "2", "3", "x", "y", "z"], {"x": 1, "y": 1, "z": 1}),
    "missing cells too": (["1", "2", "3", "*", "", "NA"], {"*": 1}),
    "four words": (["1", "2", "3", "w", "x", "y", "z"], {}),
    "four, one a question mark": (["1", "2", "3", "?", "x", "y", "z"], {"?": 1}),
    "two numbers": (["1", "1.0", "01", "2", "x", "x"], {}),
    "numbers": (["1", "2.5", "3", "", "4", "5"], {}),
    "none": (["None", "Mild", "None", "Severe", "None", "Mild"], {}),
}


def markers_of(read):
    """Return what warnings say of markers in the course of a call."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        read()
    return [str(warning.message) for warning in seen if "look like markers" in str(warning.message)]


def write_column(words, path):
    path.write_text("a,b\n" + "".join(f"{word},{k % 2}\n" for k, word in enumerate(words)))
    return path


@pytest.mark.parametrize("name", COLUMNS)
def test_which_values_are_told(name, tmp_path):
    words, expected = COLUMNS[name]
    path = write_column(words, tmp_path / "t.csv")
    coded = tmp_path / "t.pgmx"
    readers = {
        "whole": lambda: read_table(path),
        "frame": lambda: open_frame(path),
        "coded": lambda: encode(path, missing="category", discrete_columns=["a"]),
        "dropped": lambda: encode(path, missing="drop", discrete_columns=["a"]),
        "chunks": lambda: write_table(path, coded, missing="category", discrete_columns=["a"], chunk_rows=2),
    }
    for read in readers.values():
        messages = markers_of(read)
        assert len(messages) == bool(expected)
        for message in messages:
            cells = ", ".join(f"{value!r}: {count}" for value, count in expected.items())
            assert message.startswith(f"column(s) 'a' ({cells}) hold")
            assert f"na_values={list(expected)!r}" in message


def test_the_remedy_ends_the_warning(tmp_path):
    path = write_column(["1.5", "2", "?", "-", "4.25", "1.5"], tmp_path / "t.csv")
    (message,) = markers_of(lambda: read_table(path))
    assert "--na '?' --na '-'" in message
    frame = read_table(path, na_values=["?", "-"])
    assert frame["a"].dtype == "Float64"
    assert frame["a"].isna().tolist() == [False, False, True, True, False, False]
    assert not markers_of(lambda: read_table(path, na_values=[]))
    assert encode(path, na_values=[]).states[0] == ("-", "1.5", "2", "4.25", "?")


def test_numbers_with_a_decimal_comma(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;u\n2,5;v\n3,25;u\n-;v\n")
    for read in (read_table, encode):
        (message,) = markers_of(lambda read=read: read(tmp_path / "t.csv"))
        assert message.startswith("column(s) 'a' ('-': 1) hold")


@pytest.mark.parametrize(
    "na_values", ["?", ["?", -999], {"a": "?"}, {"a": ["?"], "b": [-999]}, {"b": -999}, None], ids=repr
)
def test_na_values_are_those_of_pandas(na_values, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,-999,NA\n?,3,?\n3,4,None\n,5,z\n")
    frame = pd.read_csv(path, na_values=na_values, dtype_backend="numpy_nullable")
    frame.loc[2, "c"] = "None"  # which is a state here
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pd.testing.assert_frame_equal(read_table(path, na_values=na_values), frame)
        assert encode(path, missing="category", na_values=na_values) == encode(frame, missing="category")


def test_unknown_columns_and_other_files_are_refused(tmp_path):
    path = write_column(["1", "2"], tmp_path / "t.csv")
    for read in (read_table, encode, open_any):
        with pytest.raises(ValueError, match=r"^na_values has unknown column\(s\) 'c': the columns are 'a', 'b'$"):
            read(path, na_values={"c": "?"})
    pd.DataFrame({"a": [1, 2]}).to_parquet(tmp_path / "t.parquet")
    for read in (read_table, encode, open_any, open_frame):
        with pytest.raises(ValueError, match="na_values is for CSV files"):
            read(tmp_path / "t.parquet", na_values="?")


# ---- learners ----

NA = ["?", "-"]


@pytest.fixture
def series(tmp_path):
    """Return a CSV file of three series with markers in it, and the frame that it means."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(150, 3)).round(3)
    rows[1:, 1] += rows[:-1, 0]
    rows[:, 2] += rows[:, 1]
    words = pd.DataFrame(rows.round(3), columns=list("abc")).astype(str)
    words.loc[40, "a"], words.loc[90, "c"] = "?", "-"
    path = tmp_path / "t.csv"
    words.to_csv(path, index=False)
    return path, words.replace({"?": None, "-": None}).astype(float)


LEARNERS = [
    HillClimbSearch(missing="em", na_values=NA),
    BootstrapStructure(HillClimbSearch(missing="drop", na_values=NA), n_resamples=2),
    GraphicalLasso(lam=0.1, missing="pairwise", na_values=NA),
    NeighborhoodLasso(lam=0.1, missing="drop", na_values=NA),
    CLIME(lam=0.2, missing="drop", na_values=NA),
    Nonparanormal(GraphicalLasso(lam=0.1), missing="drop", na_values=NA),
    SelectedGraph(GraphicalLasso(missing="drop", na_values=NA)),
    DenseLDS(missing="drop", na_values=NA),
    SparsityInducingLDS(missing="drop", na_values=NA),
    LinearSVARM(missing="drop", na_values=NA),
    BlockBootstrap(DenseLDS(solver="gram", missing="drop", na_values=NA), n_resamples=2),
]


@pytest.mark.filterwarnings("ignore:missing='drop' leaves out", "ignore:.*smallest of")
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_learners_read_files_with_it(learner, series):
    path, frame = series
    learned, other = clone(learner).fit(path), clone(learner).fit(frame)
    assert set(learned.graph_.edges) == set(other.graph_.edges)
    if hasattr(learned, "score"):
        assert learned.score(path) == pytest.approx(other.score(frame), rel=1e-12)  # sums of chunks and of the whole


def test_the_history_of_a_forecast_is_read_with_it(series):
    learned = DenseLDS(missing="drop", na_values=NA).fit(series[0])
    with pytest.raises(ValueError, match="history has missing values in 'a', 'c'"):
        learned.predict(series[0])


def test_few_values_of_a_file_are_told_without_its_markers(tmp_path):
    codes = pd.DataFrame({"a": np.arange(40) % 2 / 4, "b": np.arange(40.0) ** 2}).astype(str)
    codes.loc[7, "a"] = "?"
    codes.to_csv(tmp_path / "t.csv", index=False)
    with pytest.warns(UserWarning) as caught:
        GraphicalLasso(lam=0.1, missing="drop", na_values="?").fit(tmp_path / "t.csv")
    assert sum("column(s) 'a' have at most" in str(w.message) for w in caught) == 1


def test_a_wrapped_learner_leaves_reading_to_the_wrapper(series):
    with pytest.raises(ValueError, match="na_values of GraphicalLasso has no effect within Nonparanormal"):
        Nonparanormal(GraphicalLasso(na_values="?")).fit(series[0])


def test_a_warning_that_is_an_error_is_no_damage(tmp_path):
    path = write_column(["1", "2", "3", "?"], tmp_path / "t.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for read in (read_table, encode):
            with pytest.raises(UserWarning, match="look like markers"):
                read(path)


def test_learners_without_it_say_so(series):
    with pytest.raises(ValueError, match="hold states or text.*named by na_values"):
        GraphicalLasso(lam=0.1).fit(series[0])
    with pytest.warns(UserWarning) as caught:
        HillClimbSearch().fit(series[0])
    assert sum("'a' ('?': 1), 'c' ('-': 1) hold values that look like" in str(w.message) for w in caught) == 1


@pytest.mark.filterwarnings("ignore:missing='drop' leaves out")
def test_a_markov_network_of_a_file(tmp_path):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 200)
    words = pd.DataFrame({"a": a, "b": np.where(rng.random(200) < 0.8, a, 0)}).astype(str)
    words.loc[::20, "a"] = "?"
    path = tmp_path / "t.csv"
    words.to_csv(path, index=False)
    learned = EdgeGrafting(missing="drop", na_values="?").fit(path)
    frame = words.replace({"?": None}).astype(float)
    other = EdgeGrafting(missing="drop", discrete_columns=["a", "b"]).fit(frame)
    assert learned.model_.states == other.model_.states == {"a": [0, 1, 2], "b": [0, 1, 2]}
    assert learned.score(path) == other.score(frame)


def test_a_stream_of_categories_reads_files_with_it(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.integers(1, 4, (60, 4)).astype(float)
    words = pd.DataFrame(rows.astype(int), columns=list("abcd")).astype(str)
    words.iloc[5, 0], rows[5, 0] = "?", np.nan
    words.to_csv(tmp_path / "t.csv", index=False)
    options = {"n_components": 1, "max_iter": 2}
    learned = CategoricalSubspace(na_values="?", **options).fit(tmp_path / "t.csv")
    assert np.array_equal(learned.components_, CategoricalSubspace(**options).fit(rows).components_)
    stream = CategoricalSubspace(na_values="?", levels=[1, 2, 3], **options).partial_fit(tmp_path / "t.csv")
    other = CategoricalSubspace(levels=[1, 2, 3], **options).partial_fit(rows)
    assert np.array_equal(stream.components_, other.components_)
    learned.save(tmp_path / "t.npz")
    assert CategoricalSubspace.load(tmp_path / "t.npz").na_values == "?"


def test_numeric_tables_read_files_with_it(series):
    path, frame = series
    rows = open_numeric(path, missing="pairwise", na_values=NA).rows()
    np.testing.assert_array_equal(rows, frame.to_numpy())

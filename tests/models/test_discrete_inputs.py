"""The rows that a discrete Bayesian network answers about: every kind of input gives the answers of a pandas frame."""

import weakref

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pgmpy.factors.discrete import TabularCPD

from pgmx.data import DiscreteTable, encode, write_table
from pgmx.datasets import gaussian_chain_network, load_network, sample_network
from pgmx.estimators import HillClimbSearch
from pgmx.models import (
    ConditionalGaussianNetwork,
    DiscreteBayesianNetwork,
    LinearGaussianBayesianNetwork,
    read_model,
    save_model,
)


@pytest.fixture(scope="module")
def asia():
    return load_network("asia")


@pytest.fixture(scope="module")
def rows():
    """Rows of asia with a fifth of the values missing, and without one column."""
    frame = sample_network("asia", 300, random_state=0).astype(object)
    return frame.mask(np.random.default_rng(1).random(frame.shape) < 0.2).drop(columns="lung")


def _write_folder(rows, path):
    path.mkdir()
    rows[:100].to_parquet(path / "a.parquet")
    rows[100:].to_parquet(path / "b.parquet")
    return path


def _write(rows, path):
    if path.suffix == ".pgmx":
        write_table(rows, path, missing="pairwise")
    elif path.suffix == ".parquet":
        rows.to_parquet(path)
    else:
        rows.to_csv(path, index=False)
    return path


INPUTS = {
    "categories": lambda rows, folder: rows.astype("category"),
    "polars": lambda rows, folder: pl.from_pandas(rows),
    "Arrow": lambda rows, folder: pa.table(rows),
    "dict": lambda rows, folder: {name: column.tolist() for name, column in rows.items()},
    "DiscreteTable": lambda rows, folder: encode(rows, missing="pairwise"),
    "CSV": lambda rows, folder: _write(rows, folder / "rows.csv"),
    "text path": lambda rows, folder: str(_write(rows, folder / "rows.csv.gz")),
    "Parquet": lambda rows, folder: _write(rows, folder / "rows.parquet"),
    "plane file": lambda rows, folder: _write(rows, folder / "rows.pgmx"),
    "folder": lambda rows, folder: _write_folder(rows, folder / "folder"),
    "frames": lambda rows, folder: iter([rows[:120], rows[120:121], rows[121:]]),
    "batches": lambda rows, folder: iter(pa.table(rows).to_batches(max_chunksize=70)),
    "generator": lambda rows, folder: (rows[k : k + 7] for k in range(0, len(rows), 7)),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_inputs_give_the_answers_of_a_frame(asia, rows, tmp_path, kind):
    made = INPUTS[kind](rows, tmp_path)

    def make():
        return INPUTS[kind](rows, None) if hasattr(made, "__next__") else made

    for options in ({}, {"method": "marginal"}, {"stochastic": True, "seed": 3}):
        pd.testing.assert_frame_equal(asia.predict(make(), **options), asia.predict(rows, **options))
    for method in ("predict_proba", "predict_probability"):
        found = getattr(asia, method)(make())
        pd.testing.assert_frame_equal(found, getattr(asia, method)(rows), check_exact=True)
    named = asia.predict_proba(make(), variables=["xray", "lung"])
    pd.testing.assert_frame_equal(named, asia.predict_proba(rows, ["xray", "lung"]), check_exact=True)
    assert (asia.log_evidence(make()) == asia.log_evidence(rows)).all()
    assert asia.score(make()) == asia.score(rows)


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet", "rows.pgmx"])
@pytest.mark.parametrize("n_rows", [0, 1])
def test_short_files(asia, rows, tmp_path, name, n_rows):
    if name == "rows.pgmx" and n_rows < 2:
        pytest.skip("a coded table has at least two rows")
    path = _write(rows[:n_rows], tmp_path / name)
    assert asia.predict(path).shape == (n_rows, 8)
    assert asia.predict_proba(path).shape[0] == len(asia.log_evidence(path)) == n_rows


def test_rows_without_columns(asia):
    empty = pd.DataFrame(index=["a", "b"])
    assert list(asia.predict(empty).index) == ["a", "b"]
    assert asia.predict_proba(empty).shape == (2, 16)
    assert asia.predict({"smoke": "yes"}).shape == (1, 8)


def test_one_chunk_at_a_time_is_in_memory(asia, rows):
    alive = []

    def chunks():
        for begin in range(0, len(rows), 20):
            chunk = rows[begin : begin + 20].copy()
            alive.append(weakref.ref(chunk))
            assert sum(own() is not None for own in alive) <= 2
            yield chunk

    for method in ("log_evidence", "predict", "predict_proba"):
        getattr(asia, method)(chunks())
    assert len(alive) == 45


def test_files_hold_states_as_text(tmp_path):
    states = {"a": ["0", "1"], "b": ["true", "false"], "c": ["01", "02"]}
    network = DiscreteBayesianNetwork([("a", "b"), ("b", "c")])
    network.add_cpds(
        TabularCPD("a", 2, [[0.25], [0.75]], state_names={"a": states["a"]}),
        TabularCPD("b", 2, [[0.1, 0.8], [0.9, 0.2]], ["a"], [2], {"b": states["b"], "a": states["a"]}),
        TabularCPD("c", 2, [[0.3, 0.6], [0.7, 0.4]], ["b"], [2], {"c": states["c"], "b": states["b"]}),
    )
    known = pd.DataFrame({"a": ["0", "1", None], "b": ["true", "false", "false"], "c": ["02", None, "01"]})
    expected = network.log_evidence(known)
    path = _write(known, tmp_path / "rows.csv")
    for model in (network, read_model(save_model(network, tmp_path / "model.bif"))):
        assert model.log_evidence(path) == pytest.approx(expected, abs=1e-12)
        assert model.predict(path).isna().sum().sum() == 0
    # the text of types that Parquet and plane files keep
    typed = pd.DataFrame({"a": pd.array([0, 1, None], "Int64"), "b": [True, False, False]})
    for name in ("rows.parquet", "rows.pgmx"):
        found = network.log_evidence(_write(typed, tmp_path / name))
        assert found == pytest.approx(network.log_evidence(known[["a", "b"]]), abs=1e-12)
    typed["a"] = typed["a"].astype(float)
    found = network.log_evidence(_write(typed, tmp_path / "numbers.parquet"))
    assert found == pytest.approx(network.log_evidence(known[["a", "b"]]), abs=1e-12)


def test_a_file_of_other_types_than_the_states(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 2, 1], "b": [True, False, True, True], "c": [10, 20, 10, 20]})
    network = HillClimbSearch(show_progress=False).fit(frame).model_
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c\n1.0,TRUE,10\n2,false,20\n")
    assert (network.log_likelihood(path) == network.log_likelihood(frame[:2])).all()


def test_columns_of_arrays_are_named_as_by_learners(tmp_path):
    codes = np.stack([column.cat.codes for _, column in sample_network("asia", 500, random_state=2).items()], axis=1)
    network = HillClimbSearch(show_progress=False).fit(codes).model_
    # this format lists parents first
    again = read_model(save_model(network, tmp_path / "model.xdsl"))
    assert list(again.nodes) != list(network.nodes)
    found = again.log_likelihood(codes.astype(str).astype(object))
    assert found == pytest.approx(network.log_likelihood(codes), abs=1e-9)
    assert (network.log_likelihood(codes.tolist()) == network.log_likelihood(codes)).all()
    with pytest.raises(ValueError, match="must have one column for each of 8 variables"):
        network.predict(codes[:, :3])


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_files_of_networks_with_numbers(tmp_path, name, n_rows):
    """Files of any number of rows, also with text states that look like numbers, for Gaussian and mixed networks."""
    gaussian = gaussian_chain_network(3, 0.6)
    numbers = gaussian.simulate(200, random_state=0)
    frame = numbers.assign(kind=np.where(numbers["x0"] > 0, "01", "02"))
    mixed = ConditionalGaussianNetwork([("kind", "x0"), ("x0", "x1"), ("x1", "x2")]).fit(frame)
    linear = LinearGaussianBayesianNetwork.from_network(gaussian)
    for network, table in ((gaussian, numbers), (linear, numbers), (mixed, frame)):
        some = table.drop(columns="x1")[:n_rows]
        path = _write(some, tmp_path / name)
        expected = network.log_evidence(some)
        np.testing.assert_array_equal(network.log_evidence(path), expected)
        np.testing.assert_array_equal(network.log_evidence(iter([some])), expected)
    with pytest.raises(ValueError, match="'x1' is continuous in the network, but holds 'tall'"):
        mixed.log_evidence(_write(frame.assign(x1="tall"), tmp_path / "rows.csv"))
    with pytest.raises(ValueError, match="column 'kind' holds '03'"):
        mixed.log_evidence(_write(frame.assign(kind="03"), tmp_path / "rows.csv"))


# ---- bad input ----


def _one_variable(states):
    network = DiscreteBayesianNetwork()
    network.add_node("a")
    shares = [[1 / len(states)]] * len(states)
    network.add_cpds(TabularCPD("a", len(states), shares, state_names={"a": states}))
    return network


@pytest.mark.parametrize(
    ("states", "values", "remedy"),
    [
        (["0", "1"], [0, 1], r'as text, convert the column with astype\("string"\)'),
        (["0", "1"], [0.0, np.nan], r'as text, convert the column with astype\("Int64"\).astype\("string"\)'),
        (["True", "False"], [True, False], r'as text, convert the column with astype\("string"\)'),
        ([0, 1], ["0", "1"], "as numbers or booleans, convert the column"),
        ([0, 1], [2, 1], "set these values to missing"),
    ],
)
def test_states_of_another_type(states, values, remedy):
    frame = pd.DataFrame({"a": values})
    before = frame.copy()
    with pytest.raises(ValueError, match=remedy) as raised:
        _one_variable(states).log_evidence(frame)
    assert isinstance(raised.value, KeyError) and "column 'a'" in str(raised.value)
    pd.testing.assert_frame_equal(frame, before)


def test_numbers_that_equal_states():
    network = _one_variable([0, 1])
    for values in ([1, 0], [1.0, 0.0], [True, False], np.array([1, 0], dtype=np.int8), [np.nan, 0.0]):
        assert (network.log_evidence(pd.DataFrame({"a": values}))[1:] == np.log(0.5)).all()


def test_unknown_columns_and_states_of_files(asia, rows, tmp_path):
    with pytest.raises(ValueError, match=r"'xrays' are not variables of the network, did you mean 'xray'\?"):
        asia.predict(rows.rename(columns={"xray": "xrays"}))
    path = _write(rows.replace({"dysp": {"no": "never"}}), tmp_path / "rows.csv")
    with pytest.raises(KeyError, match=r"column 'dysp' holds 'never'"):
        asia.predict(path)
    with pytest.raises(ValueError, match="missing values in column"):
        asia.log_likelihood(_write(sample_network("asia", 5).astype(object).mask(np.eye(5, 8) > 0), path))
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv"):
        asia.predict(tmp_path / "nothing.csv")
    with pytest.raises(ValueError, match="gave no frame"):
        asia.predict(iter([]))
    with pytest.raises(ValueError, match="columns"):
        asia.predict(iter([rows, rows.drop(columns="xray")]))


@pytest.mark.parametrize(
    "values",
    [[[-0.5, 0.2], [1.5, 0.8]], [[np.nan, 0.2], [0.5, 0.8]], [[0.0, 0.2], [0.0, 0.8]], [[0.3, 0.2], [0.6, 0.8]]],
)
def test_tables_that_are_no_distributions(values):
    network = DiscreteBayesianNetwork([("a", "b")])
    table = TabularCPD("b", 2, [[0.3, 0.2], [0.7, 0.8]], ["a"], [2])
    network.add_cpds(TabularCPD("a", 2, [[0.3], [0.7]]), table)
    table.values[:] = values
    with pytest.raises(ValueError, match="the table of node 'b' is not a conditional distribution"):
        network.log_evidence(pd.DataFrame({"a": [1]}))


def test_names_of_variables_are_a_list(asia, rows):
    with pytest.raises(TypeError, match="variables must be a list of names, got 5"):
        asia.predict_proba(rows, 5)
    with pytest.raises(ValueError, match="the network has no variables"):
        DiscreteBayesianNetwork().log_evidence(rows)


def test_impossible_rows_are_counted_from_the_first_chunk(asia):
    good, bad = pd.DataFrame({"tub": ["no"], "either": ["yes"]}), pd.DataFrame({"tub": ["yes"], "either": ["no"]})
    for method in ("predict", "predict_proba"):
        with pytest.raises(ValueError, match=r"2 row\(s\), the first at position 2, are impossible.*'tub': 'yes'"):
            getattr(asia, method)(iter([good, good, bad, good, bad]))
    assert list(np.isinf(asia.log_evidence(iter([good, bad])))) == [False, True]


def test_what_is_passed_in_is_unchanged(asia, rows):
    table = encode(rows, missing="pairwise")
    codes = table.codes.copy()
    asia.predict(table)
    asia.predict_proba(table, ["smoke"])
    assert isinstance(table, DiscreteTable) and (table.codes == codes).all()

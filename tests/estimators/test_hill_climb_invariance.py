"""The answer depends on the table alone: not on hash seed, threads, row order, names or the kind of table."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from helpers.learning_tables import NAMES, dependent_frame, gaussian_frame, mixed_frame
from pgmx.data import encode
from pgmx.estimators import HillClimbSearch


@pytest.mark.slow
def test_hash_seed_threads_and_processor_do_not_show(hash_seed_digests):
    one, other = hash_seed_digests
    assert one["climbs"] == other["climbs"]
    assert one["network"] == other["network"]


def learn(data, **options):
    return HillClimbSearch(return_type="dag", **options).fit(data)


@pytest.mark.parametrize("score", ["bic", "k2", "bdeu"])
def test_row_order(rng, score):
    data = dependent_frame(0)
    shuffled = data.iloc[rng.permutation(len(data))]
    one, other = learn(data, scoring_method=score), learn(shuffled, scoring_method=score)
    assert one.edges_.tolist() == other.edges_.tolist()
    assert one.history_["score"].tolist() == other.history_["score"].tolist()


def test_row_order_of_floats(rng):
    data = gaussian_frame(0)
    one, other = learn(data), learn(data.iloc[rng.permutation(len(data))])
    assert one.edges_.tolist() == other.edges_.tolist()
    assert one.score_ == pytest.approx(other.score_, rel=1e-10)


@pytest.mark.parametrize("score", ["bic", "k2", "bdeu"])
def test_names_of_columns_and_states(score):
    data = dependent_frame(0)
    renamed = data.replace({0: "u", 1: "v", 2: "w"}).set_axis(["z", "y", "x", "w", "v"], axis=1)
    one, other = learn(data, scoring_method=score), learn(renamed, scoring_method=score)
    assert one.edges_.tolist() == other.edges_.tolist()
    assert one.history_["score"].tolist() == other.history_["score"].tolist()


def test_index_of_the_frame_does_not_matter():
    data = dependent_frame(0)
    for index in (data.index[::-1], [7] * len(data), pd.date_range("2026-01-01", periods=len(data))):
        assert learn(data.set_axis(index, axis=0)).edges_.tolist() == learn(data).edges_.tolist()


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 3, -1])
def test_n_jobs(n_jobs):
    rng = np.random.default_rng(0)
    data = rng.integers(0, 3, (200, 40))  # more pairs of states than one task counts
    data[:, 1::2] = np.where(rng.random((200, 20)) < 0.7, data[:, ::2], data[:, 1::2])
    one, other = learn(data), learn(data, n_jobs=n_jobs)
    assert one.edges_.tolist() == other.edges_.tolist()
    assert one.score_ == other.score_


def tables_of(data):
    """Return the same table in every dress that fit takes."""
    pl = pytest.importorskip("polars")
    return {
        "array": data.to_numpy(),
        "Fortran array": np.asfortranarray(data.to_numpy()),
        "rows": data.to_numpy().tolist(),
        "int8": data.astype("int8"),
        "Int64": data.astype("Int64"),
        "category": data.astype("category"),
        "str": data.astype(str),
        "object": data.astype(object),
        "polars": pl.from_pandas(data),
        "polars Enum": pl.from_pandas(data.astype(str)).cast(pl.Enum(["0", "1", "2"]))[:, ["b", "e"]],
        "Arrow": pa.Table.from_pandas(data),
        "Arrow dictionary": pa.table({name: pa.array(data[name]).dictionary_encode() for name in data}),
        "coded": encode(data),
    }


@pytest.mark.parametrize("kind", tables_of(dependent_frame(0, 20)))
def test_every_kind_of_table(kind):
    data = dependent_frame(0)
    table = tables_of(data)[kind]
    expected = learn(data[["b", "e"]] if kind == "polars Enum" else data)
    learner = learn(table)
    assert learner.edges_.tolist() == expected.edges_.tolist()
    assert learner.score_ == pytest.approx(expected.score_, rel=1e-12)
    names = [f"x{v}" for v in range(5)] if kind in ("array", "Fortran array", "rows") else expected.variables_
    assert learner.variables_ == names
    assert learner.n_features_in_ == len(names)


@pytest.mark.parametrize("kind", ["array", "polars", "Arrow"])
@pytest.mark.parametrize("data", [gaussian_frame(0), mixed_frame(0)], ids=["floats", "mixed"])
def test_floats_in_every_kind_of_table(data, kind):
    if kind == "array":
        data = data.select_dtypes("float64")
    table = {
        "array": lambda: data.to_numpy(),
        "polars": lambda: pytest.importorskip("polars").from_pandas(data),
        "Arrow": lambda: pa.Table.from_pandas(data),
    }[kind]()
    one, other = learn(table), learn(data)
    assert one.edges_.tolist() == other.edges_.tolist()
    assert one.score_ == pytest.approx(other.score_, rel=1e-12)


def test_names_are_the_same_in_all_dresses():
    assert learn(pa.Table.from_pandas(dependent_frame(0))).variables_ == list(NAMES)

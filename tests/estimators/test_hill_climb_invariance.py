"""The answer depends on the table alone: not on hash seed, threads, row order, names or the kind of table."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from helpers.learning_tables import NAMES, dependent_frame, gaussian_frame, mixed_frame
from pgmx.data import encode
from pgmx.estimators import HillClimbSearch

SCRIPT = """
import json, sys
from helpers.learning_tables import dependent_frame, gaussian_frame, mixed_frame
from pgmpy.causal_discovery import ExpertKnowledge
from pgmx.estimators import HillClimbSearch

words = dependent_frame(0).replace({0: "nought", 1: "one", 2: "two"}).rename(columns=lambda name: "column " + name)
knowledge = ExpertKnowledge(
    required_edges=[("column e", "column a"), ("column d", "column b")],
    forbidden_edges=[("column a", "column c"), ("column c", "column b"), ("column b", "column c")],
    temporal_order=[["column d", "column e"], ["column a"]],
)
answers = []
for n_jobs in json.loads(sys.argv[1]):
    for data, options in [
        (words, {}),
        (words, {"scoring_method": "bdeu", "patience": 20}),
        (words, {"scoring_method": "k2", "expert_knowledge": knowledge}),
        (words, {"scoring_method": "bds", "max_indegree": 2}),
        (words, {"scoring_method": "bdeu", "strategy": "thorough", "n_restarts": 5}),
        (words, {"start_dag": "random", "max_candidates": 2, "n_restarts": 5, "expert_knowledge": knowledge}),
        (gaussian_frame(0), {}),
        (mixed_frame(0), {"max_indegree": 1}),
    ]:
        learner = HillClimbSearch(n_jobs=n_jobs, **options).fit(data)
        answers.append([
            learner.edges_.tolist(),
            learner.score_.hex(),
            [score.hex() for score in learner.history_["score"].tolist()],
            list(map(str, learner.graph_.edges())),
        ])
    model = HillClimbSearch(n_jobs=n_jobs).fit(words).model_
    answers.append([[cpd.variable, cpd.variables, cpd.get_values().tolist()] for cpd in model.get_cpds()])
print(json.dumps(answers))
"""


def answers(hash_seed, *n_jobs, **environment):
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONPATH": os.pathsep.join(sys.path),
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", SCRIPT, json.dumps(n_jobs)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    both = json.loads(done.stdout)
    size = len(both) // len(n_jobs)
    assert both[:size] * len(n_jobs) == both
    return both[:size]


def test_hash_seed_threads_and_processor_do_not_show():
    first = answers(0, 1, 2)
    assert answers(1, 1) == first
    assert answers(2, 2, PGMX_SIMD="plain") == first


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
    assert learn(table).edges_.tolist() == learn(data).edges_.tolist()
    assert learn(table).score_ == pytest.approx(learn(data).score_, rel=1e-12)


def test_names_are_the_same_in_all_dresses():
    assert learn(pa.Table.from_pandas(dependent_frame(0))).variables_ == list(NAMES)

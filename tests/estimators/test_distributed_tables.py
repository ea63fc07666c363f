"""Learning from a table whose partitions are at the workers of a real cluster: the same result, to the bit."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

from helpers.distributed_tables import (
    CLIMB,
    FOREST,
    SEARCHES,
    WorkerKiller,
    assert_same,
    cut,
    draw_frame,
    same_table,
    with_empty_part,
)
from pgmx.data import DiscreteTable, DistributedTable, distribute, encode, write_table
from pgmx.data.distributed import reading as part_functions
from pgmx.datasets import load_network, sample
from pgmx.estimators import (
    MMHC,
    ChowLiuForest,
    GraphicalLasso,
    HillClimbSearch,
    HybridSearch,
)
from pgmx.metrics import held_out_log_likelihood


@pytest.fixture(scope="module")
def frame():
    return draw_frame(700)


@pytest.fixture(scope="module")
def alarm():
    return sample(load_network("alarm"), 2000, random_state=0)


def test_forest_and_climb_from_parts_of_two_processes(client, frame):
    whole = encode(frame)
    table = distribute(with_empty_part(cut(frame, 6)), client)
    assert (table.n_parts, table.n_rows, table.states) == (2, 700, whole.states)
    assert_same(FOREST, table, whole)
    assert_same(CLIMB, table, whole)
    assert sum(table.bytes_by_worker().values()) >= whole.codes.nbytes
    table.release()
    assert repr(table).endswith("released)")
    with pytest.raises(ValueError, match="distribute the source again"):
        CLIMB.fit(table)


def test_bad_input(client, frame, monkeypatch):
    with pytest.raises(ValueError, match="'other'"):
        distribute([frame, frame.rename(columns={"few": "other"})], client)
    with pytest.raises(ValueError, match="float column.*'few'"):
        distribute([frame, frame.assign(few=frame["few"] + 0.5)], client)
    with pytest.raises(ValueError, match="partition 1: column 'few'"):
        distribute([frame, frame.assign(few=frame["few"].astype("category"))], client)
    with pytest.raises(FileNotFoundError, match=r"no\.parquet"):
        distribute(["no.parquet"], client)
    with pytest.raises(TypeError, match="dict"):
        distribute({"a": [1]}, client)
    with pytest.raises(ValueError, match="missing must be one of"):
        distribute(frame, client, missing="pairwise")
    with pytest.raises(TypeError, match=r"must be a distributed\.Client"):
        distribute(frame, "tcp://127.0.0.1:8786")
    monkeypatch.setattr(part_functions, "__version__", "0.1")
    with pytest.raises(RuntimeError, match=r"the driver has 0\.1"):
        distribute(frame, client)


def test_without_dask(frame, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pgmx\[cluster\]"):
        distribute(frame)


def test_without_client(frame, monkeypatch):
    import distributed

    def no_client():
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", no_client)
    with pytest.raises(ValueError, match="there is no dask client"):
        distribute(frame)


# ---- all partitions of all kinds ----


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 2, 7, 32])
def test_any_number_of_unequal_parts(client, alarm, n_parts):
    whole = encode(alarm)
    table = distribute(with_empty_part(cut(alarm, n_parts)), client)
    assert same_table(table, whole)
    assert_same(ChowLiuForest(show_progress=False), table, whole)
    assert_same(HillClimbSearch(scoring_method="bdeu", max_indegree=3, show_progress=False), table, whole)


@pytest.mark.slow
def test_four_workers(alarm):
    from distributed import Client, LocalCluster

    options = {"n_workers": 4, "threads_per_worker": 2, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        table = distribute(alarm, client, n_parts=11)
        assert table.n_parts == 8
        assert_same(CLIMB, table, encode(alarm))
        assert_same(FOREST, table, encode(alarm))


@pytest.mark.slow
def test_states_seen_in_one_part_only(client, frame):
    late = frame.assign(number=np.where(np.arange(700) < 690, 0, frame["number"] + 5), word=sorted(frame["word"]))
    parts = cut(late, 5)
    whole = encode(late)
    table = distribute(parts, client)
    assert same_table(table, whole)
    assert_same(HillClimbSearch(scoring_method="k2", show_progress=False), table, whole)
    declared = {"few": [1, 0, 2]}
    assert same_table(distribute(parts, client, declared), encode(late, state_names=declared))
    with pytest.raises(ValueError, match="does not declare"):
        distribute(parts, client, {"few": [0, 2]})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pgmx.data.IncompleteRowsWarning")
def test_missing_values(client, frame):
    holes = frame.astype({"number": "Int64", "few": "Int64"})
    holes.loc[::9, "number"] = pd.NA
    holes.loc[350:400, "few"] = pd.NA
    holes.loc[5:300:7, "word"] = None
    parts = cut(holes, 4)
    for missing in ("drop", "category"):
        table, whole = distribute(parts, client, missing=missing), encode(holes, missing=missing)
        assert same_table(table, whole)
        assert_same(CLIMB, table, whole)
    with pytest.raises(ValueError, match="missing values"):
        distribute(parts, client)


@pytest.mark.slow
def test_sources(client, frame, tmp_path):
    import dask.dataframe as dd
    import pyarrow as pa

    whole = encode(frame)
    (tmp_path / "folder").mkdir()
    paths = [tmp_path / "folder" / f"{k}.parquet" for k in range(5)]
    for path, part in zip(paths, cut(frame, 5), strict=True):
        part.to_parquet(path)
    assert same_table(distribute(paths, client), whole)
    assert same_table(distribute(tmp_path / "folder", client), whole)
    assert same_table(distribute(dd.from_pandas(frame, npartitions=3), client), whole)
    assert same_table(distribute(pa.Table.from_pandas(frame), client, n_parts=3), whole)
    numbers = frame[["number", "few", "pair"]].to_numpy()
    assert same_table(distribute(numbers, client), encode(numbers))
    assert same_table(distribute(whole, client, n_parts=4), whole)
    written = [tmp_path / f"{k}.pgmx" for k in range(3)]
    for path, part in zip(written, cut(frame, 3), strict=True):
        write_table(part, path, state_names=dict(zip(whole.columns, whole.states, strict=True)))
    assert same_table(distribute(written, client), whole)
    words = [tmp_path / f"{k}.csv" for k in range(2)]
    for path, part in zip(words, cut(frame, 2), strict=True):
        part.to_csv(path, index=False)
    assert same_table(distribute(words, client), encode(pd.concat(map(pd.read_csv, words))))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:implausibly many states")
def test_many_states(client):
    rows = np.arange(1500)
    states = [range(300), "xy", "xyz", range(2)]
    whole = DiscreteTable("abcd", states, np.array([rows % 300, rows % 2, rows // 7 % 3, rows // 7 % 3 == rows % 2]))
    table = distribute(whole, client, n_parts=3)
    assert same_table(table, whole)
    for learner in (CLIMB, FOREST, HillClimbSearch(scoring_method="bdeu", show_progress=False)):
        assert_same(learner, table, whole)


# ---- learners ----


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        *SEARCHES,
        MMHC(show_progress=False),
        HybridSearch(HillClimbSearch(show_progress=False), restrict="iamb"),
        HillClimbSearch(strategy="best", max_time=None, max_indegree=2, n_jobs=2, show_progress=False),
        HillClimbSearch(n_restarts=4, n_jobs=2, show_progress=False),
        HillClimbSearch(start_dag="tree", max_candidates=3, show_progress=False),
        ChowLiuForest(weight="bdeu", root="few", required_edges=[("few", "more")], show_progress=False),
    ],
    ids=str,
)
def test_every_search(client, frame, learner):
    columns = ["number", "word", "order", "few", "more", "pair"]
    assert_same(learner, distribute(frame[columns], client, n_parts=3), encode(frame[columns]))


@pytest.mark.slow
def test_whole_weights(client, frame):
    table, whole = distribute(cut(frame, 5), client), encode(frame)
    weights = np.random.default_rng(0).integers(0, 4, len(frame))
    weights[:200] = 0  # a partition without rows
    assert_same(CLIMB, table, whole, weights)
    assert_same(FOREST, table, whole, weights)
    assert same_table(table.repeat_rows(weights), whole.repeat_rows(weights))


@pytest.mark.slow
def test_what_needs_the_rows_is_refused(client, frame):
    table = distribute(frame, client)
    for learner in (
        GraphicalLasso(),
        HillClimbSearch(scoring_method="bic-g", show_progress=False),
        HillClimbSearch(missing="em", show_progress=False),
    ):
        with pytest.raises(TypeError, match="DistributedTable"):
            learner.fit(table)
    learner = HillClimbSearch(show_progress=False).fit(table)
    again = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(again.edges_, learner.edges_)
    assert isinstance(again._scoring.get().table, DistributedTable)
    with pytest.raises(ValueError, match="comes from a pickle"):
        _ = again.model_


@pytest.mark.slow
def test_likelihood_of_rows_in_parts(client, frame):
    learner = HillClimbSearch(show_progress=False).fit(frame[:400])
    table, whole = distribute(cut(frame[400:], 5), client), encode(frame[400:])
    assert learner.score(table) == pytest.approx(learner.score(whole), rel=1e-13)
    far, near = (held_out_log_likelihood(learner.model_, data) for data in (table, whole))
    assert (far.n_rows, far.n_impossible, far.impossible) == (near.n_rows, near.n_impossible, near.impossible)
    assert far.possible_mean == pytest.approx(near.possible_mean, rel=1e-13)
    sparse = HillClimbSearch(start_dag="tree", max_iter=0, show_progress=False).fit(frame[:20])
    far, near = (held_out_log_likelihood(sparse.model_, data) for data in (table, whole))
    assert near.n_impossible and far.mean == near.mean == -np.inf
    assert (far.n_impossible, far.impossible) == (near.n_impossible, near.impossible)
    assert far.possible_mean == pytest.approx(near.possible_mean, rel=1e-13)


# ---- faults ----


@pytest.mark.slow
def test_worker_killed_between_two_moves(client, alarm, tmp_path):
    paths = [tmp_path / f"{k}.parquet" for k in range(6)]
    for path, part in zip(paths, cut(alarm, 6), strict=True):
        part.to_parquet(path)
    table = distribute(paths, client)
    killer = WorkerKiller(client, after=5)
    learner = HillClimbSearch(callback=killer, show_progress=False)
    assert_same(learner, table, encode(alarm))
    assert killer.killed
    client.wait_for_workers(2)


@pytest.mark.slow
def test_worker_killed_in_the_middle_of_a_count(client, alarm):
    table = distribute(alarm, client, n_parts=4)
    pids = client.run(os.getpid)
    killed = threading.Event()

    def kill():
        while not killed.is_set():
            for address, tasks in client.processing().items():
                if tasks and address in pids:
                    os.kill(pids[address], signal.SIGKILL)
                    killed.set()
                    return
            time.sleep(0.001)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        assert_same(CLIMB, table, encode(alarm))
        assert killed.is_set()
    finally:
        killed.set()
        thread.join()
        client.wait_for_workers(2)


@pytest.mark.slow
def test_part_that_cannot_be_read_again(client, alarm, tmp_path):
    paths = [tmp_path / f"{k}.parquet" for k in range(4)]
    for path, part in zip(paths, cut(alarm, 4), strict=True):
        part.to_parquet(path)
    table = distribute(paths, client)
    for path in paths:
        path.unlink()
    learner = HillClimbSearch(
        callback=WorkerKiller(client, after=3), show_progress=False, checkpoint=tmp_path / "climb.ckpt"
    )
    with pytest.raises(FileNotFoundError, match=r"\d\.parquet"):
        learner.fit(table)
    client.wait_for_workers(2)
    assert (tmp_path / "climb.ckpt").exists()
    learner = HillClimbSearch(checkpoint=tmp_path / "climb.ckpt", show_progress=False).fit(distribute(alarm, client))
    assert learner.score_ == HillClimbSearch(show_progress=False).fit(encode(alarm)).score_


@pytest.mark.slow
def test_checkpoint_goes_on_with_other_parts(client, alarm, tmp_path):
    path = tmp_path / "climb.ckpt"
    begun = HillClimbSearch(max_iter=8, checkpoint=path, show_progress=False).fit(distribute(alarm, client, n_parts=3))
    assert path.exists() and begun.stopped_by_ == "max_iter"
    learner = HillClimbSearch(checkpoint=path, show_progress=False).fit(distribute(cut(alarm, 5), client))
    whole = HillClimbSearch(show_progress=False).fit(encode(alarm))
    assert np.array_equal(learner.edges_, whole.edges_) and learner.score_ == whole.score_


def test_declared_columns_and_further_missing_values(client, tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"code": rng.integers(1, 4, 90) / 2})
    frame["word"] = np.where((frame["code"] > 1) ^ (rng.random(90) < 0.1), "u", "v")
    frame.loc[::20, "code"] = np.nan
    options = {"missing": "category", "discrete_columns": ["code"]}
    whole = encode(frame, **options)
    assert whole.states == ((0.5, 1.0, 1.5, "missing"), ("u", "v"))
    table = distribute(cut(frame, 3), client, **options)
    assert table.states == whole.states
    assert_same(HillClimbSearch(discrete_columns=["code"], show_progress=False), table, whole)
    paths = [tmp_path / f"{k}.csv" for k in range(2)]
    for path, part in zip(paths, (frame[:1], frame[1:]), strict=True):  # only the first partition has no number
        part.to_csv(path, index=False, na_rep="?")
    assert distribute(paths, client, na_values="?", **options).states == whole.states
    with pytest.warns(UserWarning, match=r"'code' \('\?': 5\) hold values that look like"):
        assert distribute(paths, client, missing="category").states[0][-1] == "?"
    with pytest.raises(ValueError, match="unknown column"):
        distribute(cut(frame, 3), client, discrete_columns=["cod"])
    with pytest.raises(ValueError, match="'code' are declared discrete: a distributed table is numeric or discrete"):
        distribute(cut(frame.assign(x=0.25), 3), client, **options)
    numbers = [tmp_path / f"n{k}.csv" for k in range(2)]
    for path, part in zip(numbers, (frame[:40], frame[40:]), strict=True):
        part[["code"]].assign(x=np.arange(len(part)) / 8).to_csv(path, index=False, na_rep="-")
    with pytest.warns(UserWarning, match="leaves out 5 of 90 rows"):
        table = distribute(numbers, client, missing="drop", na_values="-")
    assert table.n_rows == 85
    with pytest.raises(ValueError, match="discrete_columns names 'code', but DistributedNumericTable"):
        HillClimbSearch(discrete_columns=["code"]).fit(table)

"""Resamples and restarts on a real cluster of processes, one of which is killed."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from joblib import parallel_config

from helpers.bootstraps import boot, same
from helpers.cluster_tasks import describe, sleep
from helpers.learning_tables import gaussian_frame
from pgmx.data import DiscreteTable, encode, write_table
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.parallel.tasks import MOST_SENT_BYTES, run_tasks

RESTARTS = HillClimbSearch(scoring_method="bic", n_restarts=300, n_restart_moves=20, show_progress=False)


@pytest.fixture(scope="module")
def alarm():
    return encode(sample(load_network("alarm"), 1000, random_state=0))


def only_as_a_path(table, reduce=DiscreteTable.__reduce__):
    assert table.path is not None
    return reduce(table)


@contextmanager
def a_worker_killed(client):
    """Kill a worker as soon as it has something to do; tell its process in the list that is given."""
    killed, over = [], threading.Event()
    processes = client.run(os.getpid)

    def kill():
        while not over.is_set():
            for address, tasks in client.processing().items():
                if tasks and address in processes:
                    os.kill(processes[address], signal.SIGKILL)
                    killed.append(processes[address])
                    return
            time.sleep(0.001)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join()
        client.wait_for_workers(2)


@pytest.mark.slow
def test_resamples_while_a_worker_is_killed(client, alarm):
    expected = boot(n_resamples=200).fit(alarm)
    with a_worker_killed(client) as killed, parallel_config("dask"):
        found = boot(n_resamples=200).fit(alarm)
        assert killed
    assert found.n_resamples_ == 200
    assert same(found, expected)


@pytest.mark.slow
def test_restarts_while_a_worker_is_killed(client, alarm):
    expected = RESTARTS.fit(alarm).edges_
    with a_worker_killed(client) as killed, parallel_config("dask"):
        found = RESTARTS.fit(alarm)
        assert killed
    assert found.converged_
    assert np.array_equal(found.edges_, expected)


@pytest.mark.slow
def test_tasks_come_back_once_each_though_a_worker_is_killed(client, alarm):
    with a_worker_killed(client) as killed, parallel_config("dask"):
        done = dict(run_tasks(sleep, alarm, 40))
    assert sorted(done) == list(range(40))
    assert os.getpid() not in done.values()
    assert killed


@pytest.mark.slow
def test_plane_file_travels_as_its_path(client, alarm, tmp_path):
    path = tmp_path / "alarm.pgmx"
    table = write_table(alarm, path)
    with parallel_config("dask"):
        done = dict(run_tasks(describe, table, 6))
        found = boot(n_resamples=6).fit(path)
        climbed = HillClimbSearch(n_restarts=6, show_progress=False).fit(path)
    cells = int(alarm.codes.astype(int).sum())
    assert {found[1:] for found in done.values()} == {(True, False, cells)}
    assert same(found, boot(n_resamples=6).fit(alarm))
    assert np.array_equal(climbed.edges_, HillClimbSearch(n_restarts=6, show_progress=False).fit(alarm).edges_)


@pytest.mark.slow
def test_large_table_in_memory_travels_as_a_path(client, alarm):
    large = alarm.repeat_rows(np.full(alarm.n_rows, 1 + MOST_SENT_BYTES // alarm.codes.nbytes))
    with parallel_config("dask"):
        done = dict(run_tasks(describe, large, 6))
        small = dict(run_tasks(describe, alarm, 6))
    assert all(mapped and not writeable for _, mapped, writeable, _ in done.values())
    assert not any(mapped or writeable for _, mapped, writeable, _ in small.values())
    assert {cells for *_, cells in done.values()} == {int(large.codes.astype(int).sum())}


@pytest.mark.slow
def test_restarts_send_a_large_table_as_a_path(client, alarm, monkeypatch):
    large = alarm.repeat_rows(np.full(alarm.n_rows, 1 + MOST_SENT_BYTES // alarm.codes.nbytes))
    search = HillClimbSearch(scoring_method="bic", n_restarts=4, max_iter=400, show_progress=False)
    expected = search.fit(large).edges_
    monkeypatch.setattr(DiscreteTable, "__reduce__", only_as_a_path)
    with parallel_config("dask"):
        found = search.fit(large)
    assert np.array_equal(found.edges_, expected)


@pytest.mark.parametrize(
    "backend",
    ["threading", *(pytest.param(name, marks=pytest.mark.slow) for name in ("dask", "loky"))],
)
def test_same_result_on_any_backend(request, backend):
    if backend == "dask":
        request.getfixturevalue("client")
    rows = np.arange(600)
    wide = DiscreteTable("abc", [range(300), "xy", "xyz"], [rows % 300, rows % 2, rows // 7 % 3])
    assert wide.codes.dtype == np.uint16
    for data in (gaussian_frame(0), wide):
        with parallel_config(backend, n_jobs=2):
            found = boot(n_resamples=5).fit(data)
            climbed = HillClimbSearch(n_restarts=3, show_progress=False).fit(data)
        assert same(found, boot(n_resamples=5).fit(data))
        assert np.array_equal(climbed.edges_, HillClimbSearch(n_restarts=3, show_progress=False).fit(data).edges_)


@pytest.mark.parametrize("writeable", [True, False])
def test_memory_at_any_address(writeable):
    """Arrays that come over a network begin anywhere."""

    def moved(array):
        memory = np.empty(array.nbytes + 1, dtype=np.uint8)[1:]
        memory[:] = np.frombuffer(array.tobytes(), dtype=np.uint8)
        memory.setflags(write=writeable)
        return memory.view(array.dtype).reshape(array.shape)

    numbers = gaussian_frame(0).to_numpy()
    assert not moved(numbers).flags.aligned
    for learner in (boot(n_resamples=4), HillClimbSearch(n_restarts=2, show_progress=False)):
        expected = learner.fit(numbers).edges_
        assert np.array_equal(learner.fit(moved(numbers)).edges_, expected)
        assert np.array_equal(
            learner.fit(moved(np.arange(900) // 7 % 3).reshape(-1, 3)).edges_,
            learner.fit((np.arange(900) // 7 % 3).reshape(-1, 3)).edges_,
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pgmx.data.few_values.FewValuesWarning")
def test_error_of_a_worker_is_raised(client):
    data = gaussian_frame(0).assign(e=1.0)
    data.loc[0, "e"] = 2.0  # constant in the resamples without this row
    with parallel_config("dask"), pytest.raises(ValueError, match="'e'"):
        boot(n_resamples=20).fit(data)

"""A driver that dies, is interrupted, or lets a distributed table go; workers that leave."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from helpers.distributed_tables import count_late, cut, draw_frame, same_table
from helpers.interrupts import interrupt_at_call
from pgmx.data import distribute, encode
from pgmx.data.distributed import reading, remote_partitions
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch

DRIVER = """
import os, signal, sys
from distributed import Client, LocalCluster
from pgmx.data import distribute
from pgmx.estimators import HillClimbSearch

def die(progress):
    if progress.n_iter >= 6:
        os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        table = distribute(sys.argv[2:], client)
        HillClimbSearch(checkpoint=sys.argv[1], checkpoint_every=0, callback=die, show_progress=False).fit(table)
"""


def keys_at_workers(client):
    return [key for keys in client.has_what().values() for key in keys]


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def wait_for_idle_workers(client, kept):
    """Wait until no task is left and the workers have no keys but those of `kept`, some of which may go meanwhile."""
    end = time.monotonic() + 30
    while (new := set(keys_at_workers(client)) - kept) or any(client.processing().values()):
        assert time.monotonic() < end, (new, client.processing())
        time.sleep(0.05)


@pytest.mark.slow
def test_too_many_rows_for_a_part(client, monkeypatch):
    before = set(keys_at_workers(client))  # of tables of other tests, until Python collects their cycles
    frame = draw_frame(100)
    monkeypatch.setattr(reading, "MOST_PARTITION_ROWS", 30)
    with pytest.raises(ValueError, match=r"partition 0 has 50 rows, and a worker counts a partition of at most 30"):
        distribute(frame, client)
    far = distribute(cut(frame, 12), client)
    assert far.n_parts > 2 and max(far._partitions.row_counts) <= 30
    assert same_table(far, encode(frame))
    with pytest.raises(ValueError, match=r"partition \d has \d+ rows"):
        far.repeat_rows(np.full(100, 9))
    del far
    gc.collect()
    wait_for_idle_workers(client, before)


@pytest.mark.slow
def test_workers_are_free_after_release_and_after_the_table_is_gone(client):
    before = set(keys_at_workers(client))
    far = distribute(draw_frame(300), client).persist()
    wait_until(lambda: len(set(keys_at_workers(client)) - before) == 2)
    kept = far.repeat_rows(np.ones(300, dtype=int))
    far.release()
    kept.persist()
    del far, kept
    gc.collect()
    wait_for_idle_workers(client, before)


@pytest.mark.slow
def test_interrupted_count_leaves_no_tasks(client, monkeypatch):
    monkeypatch.setattr(remote_partitions, "LOOK", 60.0)  # as many calls on a slow machine
    before = set(keys_at_workers(client))
    far = distribute(draw_frame(300), client, n_parts=2).persist()
    wait_until(lambda: len(set(keys_at_workers(client)) - before) == 2)
    kept = set(keys_at_workers(client))
    where = {"packages": "pgmx.data.distributed.remote_partitions"}
    with interrupt_at_call(**where) as calls:
        assert far.reduce(count_late, add=sum) == 300
    n_interrupted = 0
    for at in range(1, calls.n + 1):  # until the driver waits for the answers
        with pytest.raises(KeyboardInterrupt), interrupt_at_call(at, **where):
            far.reduce(count_late, add=sum)
        n_interrupted += 1
        wait_for_idle_workers(client, kept)
    assert n_interrupted >= 4
    assert far.reduce(count_late, add=sum) == 300


def is_interrupted(call, seconds):
    """Return whether ten calls are ended by Ctrl-C after some seconds."""
    ctrl_c = threading.Timer(seconds, os.kill, [os.getpid(), signal.SIGINT])
    try:
        ctrl_c.start()
        for _ in range(10):
            call()
    except KeyboardInterrupt:
        return True
    finally:
        ctrl_c.join()
    return False


@pytest.mark.slow
def test_ctrl_c_ends_a_count(client):
    far = distribute(draw_frame(300), client, n_parts=2)
    gc.collect()
    for seconds in np.linspace(0.05, 0.7, 6):
        # Python drops an interrupt that arrives while it deletes the futures of other tests or of the request before
        assert any(is_interrupted(lambda: far.reduce(count_late, add=sum), seconds) for _ in range(4))
        wait_until(lambda: not any(client.processing().values()))
    assert far.reduce(count_late, add=sum) == 300


@pytest.mark.slow
def test_parts_go_where_their_worker_sends_them(client, monkeypatch, caplog):
    """A worker that retires hands its partitions over: nothing is read again, and the next request follows them."""
    from distributed import Client, LocalCluster

    frame = draw_frame(500)
    options = {"n_workers": 3, "threads_per_worker": 2, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as other:
        far = distribute(frame, other)
        learner = HillClimbSearch(show_progress=False)
        before = learner.fit(far).score_
        gone = far._partitions.addresses[0]
        other.retire_workers([gone])
        assert learner.fit(far).score_ == before
        assert gone not in far._partitions.addresses and gone not in far.bytes_by_worker()
        assert caplog.text.count("a worker is lost") == 1


@pytest.mark.slow
def test_killed_driver_goes_on_with_other_parts(client, tmp_path):
    alarm = sample(load_network("alarm"), 2000, random_state=0)
    paths = [tmp_path / f"{k}.parquet" for k in range(3)]
    for path, part in zip(paths, cut(alarm, 3), strict=True):
        part.to_parquet(path)
    script, checkpoint = tmp_path / "driver.py", tmp_path / "climb.ckpt"
    script.write_text(DRIVER)
    ended = subprocess.run([sys.executable, script, checkpoint, *paths], check=False, timeout=300)
    assert ended.returncode == -signal.SIGKILL and checkpoint.exists()
    seen = []
    options = {"callback": lambda progress: seen.append(progress.n_iter), "show_progress": False}
    learner = HillClimbSearch(checkpoint=checkpoint, **options).fit(distribute(cut(alarm, 5, seed=2), client))
    whole = HillClimbSearch(show_progress=False).fit(encode(alarm))
    assert np.array_equal(learner.edges_, whole.edges_) and learner.score_ == whole.score_
    assert min(seen) > 1  # not from the beginning


@pytest.mark.slow
def test_stragglers_are_named(client, monkeypatch, caplog):
    far = distribute(draw_frame(200), client)
    monkeypatch.setattr(remote_partitions, "SLOW", 0.05)
    with caplog.at_level("WARNING", logger="pgmx.data.distributed"):
        assert far.reduce(count_late, add=sum) == 200
    assert all(home in caplog.text for home in far.bytes_by_worker())

"""Partitions that dask computes: a worker codes one and lets it go, and computes it again when another one is lost."""

from collections import Counter

import numpy as np
import pytest

from helpers.distributed_tables import CLIMB, WorkerKiller, assert_same, cut, draw_frame, same_table
from pgmx.data import distribute, encode
from pgmx.data.distributed.placement import Placement
from pgmx.estimators import HillClimbSearch


def copy_frame(frame):
    """Return a frame that nobody else holds."""
    return frame.copy()


def make_partitions(frame, n_parts):
    """Return a dask.dataframe of unequal partitions."""
    import dask
    from dask.dataframe import from_delayed

    task = dask.delayed(copy_frame)
    return from_delayed([task(part) for part in cut(frame, n_parts)], meta=frame.iloc[:0], verify_meta=False)


def is_of_joblib(key):
    """Tell whether a key is of joblib's calls: those that another test has cancelled may end during the next test."""
    return str(key).startswith("batch_of_")


@pytest.mark.slow
def test_workers_keep_no_partition_that_is_coded(client, monkeypatch):
    from dask.utils import key_split

    frame, names = draw_frame(600), {}
    ask_partitions = Placement.ask_partitions
    before = {home: set(keys) for home, keys in client.has_what().items()}

    def ask_and_look(self, function, futures):
        answers = ask_partitions(self, function, futures)
        for home, keys in client.has_what().items():
            names[home] = Counter(key_split(key) for key in set(keys) - before[home] if not is_of_joblib(key))
            names[home].pop("survey_partition", None)
        return answers

    monkeypatch.setattr(Placement, "ask_partitions", ask_and_look)
    table = distribute(make_partitions(frame, 6), client)
    assert list(names.values()) == [{"code_partition": 3}] * 2  # each worker has its share, in the order of the rows
    assert same_table(table, encode(frame))


@pytest.mark.slow
def test_partitions_are_computed_again_when_a_worker_is_lost(client):
    frame = draw_frame(900)
    table = distribute(make_partitions(frame, 5), client)
    killer = WorkerKiller(client, after=2)
    assert_same(HillClimbSearch(callback=killer, show_progress=False), table, encode(frame))
    assert killer.killed
    client.wait_for_workers(2)


@pytest.mark.slow
def test_partitions_of_one_shuffle(client):
    """Partitions that depend on each other, which dask computes for all of them."""
    frame = draw_frame(400).assign(key=np.arange(400) % 7)
    import dask.dataframe as dd

    shuffled = dd.from_pandas(frame, npartitions=4).shuffle("key", npartitions=3)
    assert_same(CLIMB, distribute(shuffled, client), encode(shuffled.compute()))

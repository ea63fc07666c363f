"""Partitions of a distributed table as a worker makes them, without a cluster."""

import pickle

import numpy as np
import pandas as pd
import pytest

from pgmx.data import encode
from pgmx.data.distributed import partitions, reading
from pgmx.data.distributed.distribution import MergedColumns

pytestmark = pytest.mark.filterwarnings("ignore:implausibly many states")


def finish(coders):
    """Return the partition that a worker makes of some coders, as `distribute` has it made."""
    merged = MergedColumns(None, "error", False)
    for number, coder in enumerate(coders):
        merged.merge(reading.survey_partition(coder), f"part {number}")
    finals = merged.finish_columns()
    labels = [merged.label_partition(k, finals) for k in range(len(coders))]
    return reading.finish_partition(coders, labels, merged.names, tuple(final.states for final in finals))


@pytest.fixture
def frame(rng):
    many = rng.integers(0, 400, 2000)  # two bytes per value, in chunks of an odd number of rows
    return pd.DataFrame({"a": rng.choice(["u", "v", "w"], 2000), "many": many, "b": rng.integers(0, 2, 2000)})


def test_codes_are_those_of_the_whole(frame):
    whole = encode(frame)
    coders = [reading.code_partition(piece, "error") for piece in (frame.iloc[:333], frame.iloc[333:])]
    part = finish([pickle.loads(pickle.dumps(coder)) for coder in coders])
    assert part.table == whole


def test_a_coded_table_is_cut_into_chunks(frame, monkeypatch):
    monkeypatch.setattr(partitions, "CHUNK_ROWS", 333)
    whole = encode(frame)
    coder = reading.code_partition(whole, "error")
    assert [len(piece[0]) for piece in coder.chunks] == [333] * 6 + [2]
    assert finish([coder]).table == whole


def test_codes_are_taken_one_piece_after_the_other(frame, monkeypatch):
    monkeypatch.setattr(partitions, "CHUNK_ROWS", 500)
    coder = reading.code_partition(encode(frame), "error")
    taken = coder.take_chunks()
    for n_left in (3, 2, 1, 0):
        assert np.array_equal(next(taken)[0], encode(frame).codes[0, 1500 - 500 * n_left : 2000 - 500 * n_left])
        assert len(coder.chunks) == n_left
    with pytest.raises(RuntimeError, match="taken before"):
        next(coder.take_chunks())

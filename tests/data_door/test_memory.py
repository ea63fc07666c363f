"""Memory: the estimate before a run, and what coding in chunks takes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pgmx.data import DiscreteTable, estimate_memory
from pgmx.statistics import pair_counts


@pytest.mark.parametrize("cards", [[2, 3, 4], [2, 300, 255], [300, 400]])
@pytest.mark.parametrize("n_rows", [2, 512, 513, 4000])
def test_parts_are_those_of_the_table(n_rows, cards):
    rng = np.random.default_rng(0)
    codes = [rng.integers(0, min(r, 200), n_rows) for r in cards]
    table = DiscreteTable(range(len(cards)), [range(r) for r in cards], codes)
    need = estimate_memory(n_rows, cards)
    assert need.codes == table.codes.nbytes
    assert need.planes == table.planes.nbytes
    assert need.pair_counts == pair_counts(table).nbytes
    assert need.gains == 32 * len(cards) ** 2
    assert need.total == sum(need[:-1])


def test_bounds_hold():
    assert estimate_memory(10_000, [2] * 20_000).pair_counts == 0
    assert estimate_memory(10_000, [2] * 20_000, pair_memory=1 << 40).pair_counts == 4 * 20_000**2
    assert estimate_memory(10**9, [5] * 1000).kept_counts == 1 << 26
    assert estimate_memory(10, [2, 2]).kept_counts < 1000
    assert estimate_memory(10, [2, 2], kept_memory=7).kept_counts == 7


@pytest.mark.parametrize(("n_rows", "cards"), [(0, [2]), (5, []), (5, [0]), (5, [65536]), (5, [[2, 2]])])
def test_wrong_sizes(n_rows, cards):
    with pytest.raises(ValueError, match="must be"):
        estimate_memory(n_rows, cards)


SCRIPT = """
import sys, threading, time
import numpy as np
from pgmx.data import encode

def anonymous():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

peak = 0
def chunks(n):
    global peak
    for k in range(n):
        yield np.random.default_rng(k).integers(0, 4, (20_000, 50))
        peak = max(peak, anonymous())

table = encode(chunks(int(sys.argv[1])))
print(max(peak, anonymous()))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="RssAnon is read from Linux's /proc")
def test_memory_does_not_grow_with_the_rows():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    few, many = (
        int(
            subprocess.run(
                [sys.executable, "-c", SCRIPT, n], env=environment, capture_output=True, text=True, check=True
            ).stdout
        )
        for n in ("3", "60")
    )
    assert many - few < 20_000  # kilobytes; the codes of the difference are 57,000, their planes 28,500

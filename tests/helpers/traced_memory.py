"""Growth of the memory of Python objects while a function is called again and again."""

import gc
import tracemalloc
from pathlib import Path

import pgmx

_OF_PGMX = tracemalloc.Filter(True, f"{Path(pgmx.__file__).parent}/*", all_frames=True)
_N_FRAMES = 25  # numpy may allocate some calls below pgmx


def least_growth(update, n_calls, n_windows=3):
    """Return the bytes by which the memory that pgmx allocated grows over `n_calls` calls: the least of some windows.

    Caches of the interpreter allocate now and then; a leak grows in every window. What other threads of the process
    allocate, such as those of a cluster of another test, does not count.
    """
    tracemalloc.start(_N_FRAMES)
    try:
        growths = []
        for _ in range(n_windows):
            first = _measure_held()
            for _ in range(n_calls):
                update()
            growths.append(_measure_held() - first)
        return min(growths)
    finally:
        tracemalloc.stop()


def _measure_held():
    gc.collect()
    snapshot = tracemalloc.take_snapshot().filter_traces([_OF_PGMX])
    return sum(trace.size for trace in snapshot.traces)

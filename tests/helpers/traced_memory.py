"""Growth of the memory of Python objects while a function is called again and again."""

import gc
import tracemalloc


def least_growth(update, n_calls, n_windows=3):
    """Return the bytes by which traced memory grows over `n_calls` calls: the least of some windows.

    Other threads of the process, and caches of the interpreter, allocate now and then; a leak grows in every window.
    """
    tracemalloc.start()
    try:
        growths = []
        for _ in range(n_windows):
            gc.collect()
            first = tracemalloc.get_traced_memory()[0]
            for _ in range(n_calls):
                update()
            gc.collect()
            growths.append(tracemalloc.get_traced_memory()[0] - first)
        return min(growths)
    finally:
        tracemalloc.stop()

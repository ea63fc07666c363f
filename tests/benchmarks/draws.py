"""What the draws of a bootstrap cost: CPU nanoseconds a draw, their share of a bootstrap, bytes sent to workers.

python tests/benchmarks/draws.py

Prints one JSON object. `generator` is the cost of a draw with numpy's ``default_rng().integers``, whose draws have no
numbers, `whole` all rows, `part` one of eight partitions of the rows, which passes over all draws.
"""

import json
import pickle
import time

import numpy as np

from pgmx.data import distribute, encode
from pgmx.data.draws import count_draws, count_many_draws, count_weighted_draws
from pgmx.datasets import load_network, sample
from pgmx.estimators import BootstrapStructure, HillClimbSearch


def measure(call, n_runs: int = 7) -> float:
    """Return the median of the CPU seconds of a call."""
    seconds = []
    for _ in range(n_runs):
        begin = time.process_time()
        call()
        seconds.append(time.process_time() - begin)
    return float(np.median(seconds))


def measure_draws(n_rows: int) -> dict:
    """Return nanoseconds a draw."""
    weights = np.random.default_rng(0).exponential(20, n_rows)
    ends = np.cumsum(np.random.default_rng(0).exponential(size=n_rows))
    calls = {
        "generator": lambda: np.bincount(np.random.default_rng([0, 1]).integers(n_rows, size=n_rows), minlength=n_rows),
        "whole": lambda: count_draws(0, 1, n_rows),
        "part": lambda: count_draws(0, 1, n_rows, n_rows // 2, n_rows // 2 + n_rows // 8),
        "weighted": lambda: count_weighted_draws(0, 1, ends),
        "many, a row": lambda: count_many_draws(0, 1, weights),
    }
    repeats = max(1, 1_000_000 // n_rows)
    return {
        name: round(measure(lambda call=call: [call() for _ in range(repeats)]) / repeats / n_rows * 1e9, 1)
        for name, call in calls.items()
    }


def measure_bootstrap(network: str, n_rows: int, n_resamples: int) -> dict:
    """Return CPU seconds of a bootstrap, and those of its draws."""
    table = encode(sample(load_network(network), n_rows, random_state=0))
    learner = BootstrapStructure(HillClimbSearch(show_progress=False), n_resamples=n_resamples, show_progress=False)
    whole = measure(lambda: learner.fit(table), 1)
    draws = measure(lambda: [count_draws(0, b, n_rows) for b in range(n_resamples)], 3)
    return {"cpu": round(whole, 2), "draws": round(draws, 4), "share": round(draws / whole, 5)}


def measure_messages(n_rows: int) -> dict:
    """Return the bytes that the driver sends for a resample of two partitions (draws and weights), and the requests."""
    from distributed import Client

    rows = np.random.default_rng(0).integers(0, 3, (n_rows, 5))
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0") as client:
        table = distribute(rows, client)
        sent: list[int] = []
        submit = client.submit

        def count(function, *arguments, **options):
            sent.append(len(pickle.dumps([part for part in arguments if not hasattr(part, "key")])))
            return submit(function, *arguments, **options)

        client.submit = count
        result = {}
        for name, call in {
            "draws": lambda: table.draw_rows(0, 1),
            "weights": lambda: table.repeat_rows(count_draws(0, 1, n_rows)),
        }.items():
            sent.clear()
            call()
            result[name] = {"bytes": sum(sent), "requests": len(sent)}
        return result


if __name__ == "__main__":
    report = {f"ns a draw, {n} rows": measure_draws(n) for n in (10_000, 100_000, 1_000_000)}
    report["bootstrap of 20, andes, 10,000 rows"] = measure_bootstrap("andes", 10_000, 20)
    report["bootstrap of 10, alarm, 100,000 rows"] = measure_bootstrap("alarm", 100_000, 10)
    report["a resample of 1,000,000 rows in two parts"] = measure_messages(1_000_000)
    print(json.dumps(report, indent=1))

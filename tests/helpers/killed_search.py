"""A long search in processes of its own, which may be killed at any moment.

One process makes the data and forks: each child takes the search up from the checkpoint, or begins it. Run as
``python killed_search.py CHECKPOINT STRATEGY SEED N_KILLS`` it prints, as JSON, what the uninterrupted search found,
what the killed one found in the end, and how many of its parts began from a snapshot.
"""

import json
import os
import random
import signal
import sys
import time

import numpy as np
import pandas as pd

from pgmx.estimators import BestFirstSearch, HillClimbSearch, SimulatedAnnealing

LEARNERS = {
    "thorough": lambda **options: HillClimbSearch(strategy="thorough", n_restarts=20, **options),
    "annealing": lambda **options: SimulatedAnnealing(n_draws=300_000, initial_temperature=20.0, **options),
    "best first": lambda **options: BestFirstSearch(patience=100, **options),
}


def table(n=100, n_rows=3000):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 3, n_rows)]
    for v in range(1, n):
        causes = [columns[u] for u in rng.choice(v, size=min(v, 2), replace=False)]
        columns.append(np.where(rng.random(n_rows) < 0.6, sum(causes) % 3, rng.integers(0, 3, n_rows)))
    return pd.DataFrame({f"v{i}": columns[i] for i in rng.permutation(n)})


def found(learner):
    return {
        "edges": learner.edges_.tolist(),
        "score": learner.score_.hex(),
        "n_iter": learner.n_iter_,
        "history": [score.hex() for score in learner.history_["score"].tolist()],
        "converged": learner.converged_,
    }


def part(make, data, path, seconds):
    """Search in a child that is killed after so many seconds; return what it found, None where it was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        learner = make(checkpoint=path, checkpoint_every=0.01, show_progress=False).fit(data)
        os.write(writer, json.dumps(found(learner)).encode())
        os._exit(0)
    os.close(writer)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(reader) as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    return json.loads(told) if os.WIFEXITED(status) else None


def main(path, strategy, seed, n_kills):
    make, data, moments = LEARNERS[strategy], table(), random.Random(int(seed))
    began = time.perf_counter()
    whole = found(make(show_progress=False).fit(data))
    seconds = time.perf_counter() - began
    result, taken_up = None, 0
    for _ in range(int(n_kills)):
        taken_up += os.path.exists(path)
        result = part(make, data, path, moments.uniform(0.1, 0.6) * seconds)
        if result is not None:
            break
    taken_up += os.path.exists(path)
    if result is None:
        result = part(make, data, path, None)
    print(json.dumps({"whole": whole, "result": result, "taken_up": taken_up, "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])

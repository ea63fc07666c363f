"""How good is the progress bar's estimate of what is left of a climb?

    python tests/benchmarks/progress.py                  # 52 climbs: some minutes
    python tests/benchmarks/progress.py alarm link

Each climb is made move by move. At 200 moments from 5 % of its CPU seconds on, the estimates of the remaining moves and
seconds (at the mean of the moves so far, as in the bar) are compared with the true ones. Moments
before the first move, while pairs are scored, are left out.
"""

import sys
import warnings
from pathlib import Path
from time import process_time

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from gaussian_networks import gaussian_table

from pgmx.data import open_any
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.runs.progress import SearchProgress
from pgmx.runs.run import Run
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.search.dag.hill_climb import estimate_moves_left
from pgmx.search.dag.tracker import SearchTracker

NETWORKS = (
    "alarm",
    "child",
    "insurance",
    "hailfinder",
    "hepar2",
    "win95pts",
    "andes",
    "continuous 50",
    "continuous 200",
)
WITHIN = np.log(2.0)


def list_tables(name):
    """Yield the rows of a network and the names of scores."""
    if name.startswith("continuous"):
        n_columns = int(name.split()[1])
        for n_rows in (1_000, 10_000):
            yield n_rows, gaussian_table(n_rows, n_columns, 7 + n_columns)[0], ("bic-g", "bge")
        return
    scores = ("bic",) if name == "link" else ("bic", "bdeu")
    for n_rows in (1_000, 10_000, 30_000 if name in ("andes", "link") else 100_000):
        yield n_rows, sample(load_network(name), n_rows, random_state=3), scores


def climb(frame, score):
    """Return the seconds before the first move and those of each move, and the estimates before each."""
    learner = HillClimbSearch(scoring_method=score, show_progress=False)
    opened = open_any(frame, state_names=None, missing="error", n_jobs=1)
    scoring = resolve_scoring(score, opened, state_names=None, missing="error", n_jobs=1)
    constraints, run = learner._read_constraints(scoring.names), Run(SearchProgress)
    began = process_time()
    problem = learner._make_problem(scoring, constraints, np.arange(len(scoring.names)), run)
    state, tracker = problem.make_state(), SearchTracker(problem.limits, run)
    tracker.set_best(state)
    first, seconds, estimates = process_time() - began, [], []
    while True:
        estimates.append(estimate_moves_left(state, tracker))
        began = process_time()
        move = state.moves.best()
        if move is None or move[3] < tracker.least_gain():
            return first, np.array(seconds), np.array(estimates[:-1])
        state.make(*move[:3])
        seconds.append(process_time() - began)


def judge(first, seconds, estimates):
    """Return the share of moments at which the moves, and the seconds, that are left are within a factor of 2."""
    done = np.concatenate([[0.0], np.cumsum(seconds)])
    moments = np.linspace(0.05, 0.999, 200) * (first + done[-1])
    moments = moments[moments >= first + done[1]] - first  # a rate needs a move
    k = np.clip(np.searchsorted(done, moments, side="right") - 1, 1, len(seconds) - 1)
    left = np.log(estimates[k] / (len(seconds) - k))
    time_left = np.log(estimates[k] * done[k] / k / (done[-1] - moments))
    return (np.abs(left) <= WITHIN).mean(), (np.abs(time_left) <= WITHIN).mean()


def main():
    """Print a row per network, and the mean over all climbs."""
    warnings.simplefilter("ignore", UserWarning)
    print("| network | climbs | moves | moves within a factor of 2 | seconds within a factor of 2 |")
    print("|---|---|---|---|---|")
    all_shares = []
    for name in sys.argv[1:] or NETWORKS:
        shares, counts = [], []
        for _, frame, scores in list_tables(name):
            for score in scores:
                first, seconds, estimates = climb(frame, score)
                shares.append(judge(first, seconds, estimates))
                counts.append(len(seconds))
        moves, times = np.mean(shares, axis=0)
        print(f"| {name} | {len(shares)} | {min(counts)} to {max(counts)} | {moves:.0%} | {times:.0%} |", flush=True)
        all_shares += shares
    moves, times = np.mean(all_shares, axis=0)
    print(f"| all | {len(all_shares)} | | {moves:.0%} | {times:.0%} |")


if __name__ == "__main__":
    main()

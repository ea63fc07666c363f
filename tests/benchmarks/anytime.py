"""The score over time on dense Gaussian networks: `best` and `thorough` of pgmx, and FLOP with more and more restarts.

    python tests/benchmarks/anytime.py                       # the table of 100/8 and 100/16, FLOP from results/
    python tests/benchmarks/anytime.py --peer PYTHON         # measures FLOP, too
    python tests/benchmarks/anytime.py --picture FILE.svg    # draws the table
    python tests/benchmarks/anytime.py --limits 1 3          # max_time in wall seconds, and by how much it is exceeded

PYTHON imports flopsearch; its records are kept in ``results/anytime.json``. A run of pgmx gives all its points, at most
one per per cent of time; each number of restarts of FLOP is a run. Seconds are user-CPU seconds of one thread, scores
are BIC minus the BIC of the true graph.
"""

import argparse
import time

import pandas as pd
from dense_data import Cell, Judge, draw
from dense_runs import RESULTS, find_record, load_records, print_row, run, save_records

STORE = RESULTS / "anytime.json"
CELLS = (Cell(100, 8), Cell(100, 16))
RESTARTS = (0, 1, 3, 6, 10, 20)
TIMES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
COLOURS = {"best": "#2a6fb5", "thorough": "#888888", "FLOP": "#b5482a"}


def find_points(cell, seed, peer, records, limit):
    """Return the points (seconds, score minus the score of the true graph) of each search."""
    points = {}
    for strategy in ("best", "thorough"):
        record = run(cell, seed, "pgmx", {"strategy": strategy, "trace": True}, limit=limit)
        if record["seconds"] is None:
            points[strategy] = []
            continue
        # the learner's own scores have another constant
        shift = record["gain"] - max(score for _, score in record["trace"])
        points[strategy] = [(seconds, score + shift) for seconds, score in record["trace"]]
        points[strategy].append((record["seconds"], record["gain"]))
    points["FLOP"] = []
    for restarts in RESTARTS:
        options = {"penalty": 1.0, "restarts": restarts}
        record = find_record(records, cell, seed, "flop", options)
        if record is None and peer:
            record = run(cell, seed, "flop", options, python=peer, limit=limit)
            records.append(record)
            save_records(STORE, records)
        if record and record["seconds"] is not None:
            points["FLOP"].append((record["seconds"], record["gain"]))
    return points


def report(found):
    """Print the best score after each time."""
    print_row("variables/degree", "data", "search", *[f"{seconds:g} s" for seconds in TIMES], "end")
    print_row("---", "---:", "---", *["---:"] * (len(TIMES) + 1))
    for (cell, seed), searches in found.items():
        for name, points in searches.items():
            reached = [max((gain for at, gain in points if at <= seconds), default=None) for seconds in TIMES]
            texts = ["" if gain is None else f"{gain:+,.1f}" for gain in reached]
            end = f"{max(gain for _, gain in points):+,.1f} ({points[-1][0]:.3g} s)" if points else f"> {0:g} s"
            print_row(cell.name.removesuffix(", 1,000 rows"), seed, name, *texts, end)


def draw_picture(found, path):
    """Draw the score over time, a panel per data set."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.rcParams["svg.hashsalt"] = "anytime"
    figure, axes = plt.subplots(1, len(found), figsize=(4.4 * len(found), 3.4), layout="constrained", squeeze=False)
    for axis, ((cell, seed), searches) in zip(axes[0], found.items(), strict=True):
        top = max(gain for points in searches.values() for _, gain in points)
        for name, points in searches.items():
            seconds, gains = zip(*sorted(points), strict=True)
            best = [max(gains[: i + 1]) for i in range(len(gains))]
            below = [max(top - gain, 0.3) for gain in best]
            axis.step(seconds, below, where="post", color=COLOURS[name], label=name)
            axis.plot(seconds[-1], below[-1], "o", color=COLOURS[name], markersize=4)
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.invert_yaxis()
        axis.set_title(f"{cell.n} variables, degree {cell.degree}, data {seed}", fontsize=10)
        axis.set_xlabel("user-CPU seconds")
    axes[0, 0].set_ylabel("nats below the best score found")
    axes[0, 0].legend(frameon=False)
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)


def report_limits(cell, seeds, limits):
    """Print the scores that `max_time` gives, and by how much wall time exceeds it."""
    from pgmx.estimators import HillClimbSearch

    print_row("variables/degree", "data", "max_time", "wall s", "user-CPU s", "best", "thorough, no limit")
    print_row("---", *["---:"] * 6)
    for seed in seeds:
        rows, truth = draw(cell, seed)
        frame, judge = pd.DataFrame(rows).add_prefix("v"), Judge(rows)
        for limit in limits:
            wall, cpu = time.perf_counter(), time.process_time()
            search = HillClimbSearch(strategy="best", max_time=limit, show_progress=False).fit(frame)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            thorough = HillClimbSearch(strategy="thorough", show_progress=False).fit(frame)
            gains = []
            for learner in (search, thorough):
                graph = truth & False
                graph[tuple(learner.edges_.T)] = True
                gains.append(judge.score(graph) - judge.score(truth))
            print_row(
                f"{cell.n}/{cell.degree}",
                seed,
                f"{limit:g}",
                f"{wall:.2f}",
                f"{cpu:.2f}",
                *map("{:+,.1f}".format, gains),
            )


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="interpreter that imports flopsearch")
    parser.add_argument("--cells", nargs="+", default=["100/8", "100/16"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--picture", help="file of a picture")
    parser.add_argument("--limits", type=float, nargs="+", help="compare max_time instead")
    parser.add_argument("--limit", type=float, default=100.0, help="CPU seconds of a run")
    options = parser.parse_args()
    cells = [cell for cell in CELLS if f"{cell.n}/{cell.degree}" in options.cells]
    if options.limits:
        for cell in cells:
            report_limits(cell, options.seeds, options.limits)
        return
    records = load_records(STORE)
    found = {
        (cell, seed): find_points(cell, seed, options.peer, records, options.limit)
        for cell in cells
        for seed in options.seeds
    }
    report(found)
    if options.picture:
        draw_picture(found, options.picture)


if __name__ == "__main__":
    main()

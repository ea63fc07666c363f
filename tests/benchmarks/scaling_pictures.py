"""Draw seconds against rows and variables: the pictures of docs/benchmarks/scaling.md.

All figures are read from the records in `results`, or from the tables of `ANSWERS.md` and `CONSTRAINT_BASED.md` if only
these hold them. Nothing is measured.

    python tests/benchmarks/scaling_pictures.py --out docs/images
"""

import argparse
import json
import re
from pathlib import Path
from statistics import median

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from pgmx.datasets import load_network

HERE = Path(__file__).parent
#: Colour, line and marker of each series in turn, the first for pgmx; they differ in a print without colours, too.
STYLES = (
    ("black", "-", "o"),
    ("#b5482a", "--", "s"),
    ("#2a6fb5", "-.", "^"),
    ("#777777", ":", "D"),
    ("#3b8a4a", (0, (6, 1, 1, 1, 1, 1)), "v"),
)
#: Names written above their last point, since a line goes on at its right.
ABOVE = {"pgmx, networks", "scikit-learn"}
NAMES = {"pyagrum": "pyAgrum", "pgmx auto": "pgmx", "pgmx admm": "pgmx, ADMM"}


def read(name):
    """Return a file of results."""
    return json.loads((HERE / "results" / f"{name}.json").read_text())


def read_table(page, *wanted):
    """Return the rows, as mappings from heading to text, of the first table of a page with the wanted headings."""
    rows = [
        [cell.strip().strip('`"') for cell in line.strip().strip("|").split("|")] if line.startswith("|") else None
        for line in (HERE / page).read_text(encoding="utf-8").splitlines()
    ]
    start = next(i for i, row in enumerate(rows) if row and row[: len(wanted)] == list(wanted))
    end = next(i for i in range(start, len(rows) + 1) if i == len(rows) or rows[i] is None)
    headings = rows[start]
    return [dict(zip(headings, row, strict=True)) for row in rows[start + 2 : end]]


def collect(points):
    """Return the points (series, size, seconds) as sorted points of each series."""
    found = {}
    for name, size, seconds in points:
        found.setdefault(NAMES.get(name, name), []).append((size, seconds))
    return {name: sorted(of_name) for name, of_name in found.items()}


def hill_climbing(against):
    """Return the learning calls on alarm by rows, or at 10,000 rows by variables."""
    results = read("hill_climb")
    kept = [r for r in results["records"] if r["status"] == "done"]
    if against == "rows":
        return collect((r["solver"], r["rows"], r["learn"]) for r in kept if r["network"] == "alarm")
    sizes = {name.partition("-")[0]: facts["n_variables"] for name, facts in results["problems"].items()}
    return collect((r["solver"], sizes[r["network"]], r["learn"]) for r in kept if r["rows"] == 10_000)


def forests():
    """Return the Chow-Liu forests of binary tables and of networks."""
    kept = [r for r in read("forest")["records"] if r["method"] == "forest" and r["status"] == "done"]
    kinds = {True: "binary", False: "networks"}
    return collect(
        (f"{r['solver']}, {kinds[r['problem'][:6] == 'binary']}", r["n_variables"], r["learn"]) for r in kept
    )


def gaussian(suites, methods, by_column=False):
    """Return one penalty on random graphs, with twice as many rows as variables."""
    points = []
    for r in read("gaussian")["records"]:
        kind, p, n = r["problem"].split("-")
        if r["suite"] not in suites or r["method"] not in methods or r["status"] != "done":
            continue
        if kind != "er" or int(n) != 2 * int(p) or (r["columns"] and r["method"] != "HiGHS"):
            continue
        points.append((r["method"], int(p), r["seconds"] / (r["columns"] or int(p)) if by_column else r["seconds"]))
    return collect(points)


def markov():
    """Return the learners of Markov networks to the optimum, medians over the runs."""
    labels = {
        "group-lasso": "group lasso",
        "exhaustive-batch": "exhaustive, batches",
        "exhaustive": "exhaustive, by edge",
        "first-hit": "first hit",
    }
    results, runs = read("markov"), {}
    for r in results["records"]:
        if r["suite"] == "optimum" and r["method"] in labels and r["stopped_by"] == "converged":
            size = results["problems"][r["problem"]]["variables"]
            runs.setdefault((labels[r["method"]], size), []).append(r["seconds"]["total"])
    found = collect((name, size, median(seconds)) for (name, size), seconds in runs.items())
    return {name: found[name] for name in labels.values()}


def constraint_based():
    """Return PC at 10,000 rows of the discrete networks, from the table of its page."""
    points = []
    for row in read_table("CONSTRAINT_BASED.md", "cell", "rows"):
        if row["rows"] == "10,000" and row["cell"].isalnum():
            size = len(load_network(row["cell"]).nodes)
            for heading, name in (("PC", "pgmx"), *((peer,) * 2 for peer in ("pybnesian", "causal-learn", "pgmpy"))):
                seconds = re.search(r"\(([\d.]+) s\)", row[heading])
                points += [(name, size, float(seconds[1]))] if seconds else []
    return collect(points)


def answers():
    """Return the first questions to networks, from the table of their page, in seconds."""
    points = []
    for row in read_table("ANSWERS.md", "network", "pgmx", "target", "asked again"):
        size = len(load_network(row["network"]).nodes)
        for name in ("pgmx", "pyAgrum", "pgmpy"):
            points.append((name, size, float(row[name].split()[0].replace(",", "")) * 1e-6))
    return collect(points)


def spread(heights, gap):
    """Return the heights moved apart to at least the gap, in their order, around their places."""
    order = np.argsort(heights)
    placed = np.array(heights, dtype=float)[order]
    for _ in range(200):
        short = np.maximum(gap - np.diff(placed), 0) / 2
        placed[:-1] -= short
        placed[1:] += short
    found = np.empty_like(placed)
    found[order] = placed
    return found


def place_labels(axis, series, low, high):
    """Write each name at its last point; names at the same size are moved apart."""
    bottom, top = np.log10(axis.get_ylim())
    for end in sorted({points[-1][0] for points in series.values()}):
        names = [name for name, points in series.items() if points[-1][0] == end and name not in ABOVE]
        heights = spread([np.log10(series[name][-1][1]) for name in names], 0.065 * (top - bottom))
        for name, height in zip(names, heights, strict=True):
            color = STYLES[list(series).index(name)][0]
            place = {"xy": (end, 10**height), "xytext": (7, 0), "textcoords": "offset points"}
            axis.annotate(name, **place, va="center", color=color)
    for name in sorted(ABOVE & series.keys()):
        place = {"xy": series[name][-1], "xytext": (2, 6), "textcoords": "offset points"}
        axis.annotate(name, **place, ha="right", va="bottom", color=STYLES[list(series).index(name)][0])
    right = 1.0
    for name, points in series.items():
        width = 0.04 + 0.024 * len(name) if name not in ABOVE else 0
        end = (np.log10(points[-1][0]) - low) / (high - low)
        right = max(right, (end + 0.06 * width) / (1 - width))
    axis.set_xlim(10 ** (low - 0.06 * (high - low)), 10 ** (low + right * (high - low)))


def set_ticks(axis, smallest, largest):
    """Label decades, and also twice and five times a decade if there are few."""
    steps = (1,) if largest > 50 * smallest else (1, 2, 5) if largest > 5 * smallest else (1, 2, 3, 4, 6, 8)
    ticks = [step * 10**power for power in range(1, 7) for step in steps]
    ticks = [tick for tick in ticks if smallest <= tick <= 1.05 * largest]
    if largest < 1e5:
        axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    else:
        axis.set_xticks(ticks)
    axis.minorticks_off()


def draw(series, path, *, title, xlabel, ylabel="user-CPU seconds", joined=True):
    """Draw the series with their names at their last points."""
    figure, axis = plt.subplots(figsize=(4.1, 3.5), layout="constrained")
    sizes = [size for points in series.values() for size, _ in points]
    seconds = [value for points in series.values() for _, value in points]
    axis.set_xscale("log")
    axis.set_yscale("log")
    bottom, top = np.log10([min(seconds), max(seconds)])
    axis.set_ylim(10 ** (bottom - 0.08 * (top - bottom)), 10 ** (top + 0.12 * (top - bottom)))
    for points, (color, line, marker) in zip(series.values(), STYLES, strict=False):
        x, y = zip(*points, strict=True)
        axis.plot(x, y, marker, linestyle=line if joined else "none", color=color, markersize=5, lw=1.6)
    place_labels(axis, series, *np.log10([min(sizes), max(sizes)]))
    set_ticks(axis, min(sizes), max(sizes))
    axis.set_xlabel(xlabel)
    axis.set_ylabel(ylabel)
    axis.set_title(title, fontsize=10.5)
    axis.grid(color="#dddddd", lw=0.6)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_axisbelow(True)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    for name, points in series.items():
        print(path.name, name, ", ".join(f"{size:,}: {value:.3g} s" for size, value in points))


def main():
    """Draw all pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the pictures")
    folder = parser.parse_args().out
    mpl.rcParams.update({"svg.hashsalt": "scaling", "font.size": 10.5})
    lasso = ("pgmx", "scikit-learn", "scikit-learn tuned", "gglasso", "skglm")
    variables = "variables"
    pictures = {
        "climbing_rows": (hill_climbing("rows"), "Hill climbing, alarm (37 variables)", "rows"),
        "climbing_variables": (hill_climbing("variables"), "Hill climbing, 10,000 rows", variables),
        "forests": (forests(), "Chow-Liu forest, 10,000 rows", variables),
        "glasso": (gaussian({"glasso"}, lasso), "Graphical lasso, one penalty", variables),
        "markov": (markov(), "Markov networks, 19,000 rows", variables),
        "pc": (constraint_based(), "PC, 10,000 rows", variables),
        "answers": (answers(), "One conditional distribution", variables),
    }
    units = {"markov": "CPU seconds", "answers": "user-CPU seconds per question"}
    for name, (series, title, xlabel) in pictures.items():
        ylabel = units.get(name, "user-CPU seconds")
        joined = name not in ("pc", "answers")
        draw(series, folder / f"scaling_{name}.svg", title=title, xlabel=xlabel, ylabel=ylabel, joined=joined)
    clime = gaussian({"clime", "clime, 10 columns"}, ("pgmx auto", "pgmx admm", "HiGHS"), by_column=True)
    ylabel = "user-CPU seconds per column"
    draw(clime, folder / "scaling_clime.svg", title="CLIME, one penalty", xlabel=variables, ylabel=ylabel)


if __name__ == "__main__":
    main()

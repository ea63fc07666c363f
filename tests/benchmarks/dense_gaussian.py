"""Dense Gaussian networks: searches of pgmx and of other programs under BIC, as tables of markdown.

    python tests/benchmarks/dense_gaussian.py                                # pgmx now, the peers from results/
    python tests/benchmarks/dense_gaussian.py --peer PYTHON --cells 60/8     # measures the peers, too
    python tests/benchmarks/dense_gaussian.py --orders 10                    # ten orders of the columns

PYTHON is an interpreter that imports flopsearch, pybnesian, causal-learn and ges, all from PyPI. Their records are kept
in ``results/dense_gaussian.json``. Seconds are user-CPU seconds of one thread, scores are those of `dense_data.Judge`.
"""

import argparse
from statistics import median

from dense_data import Cell
from dense_runs import RESULTS, find_record, load_records, print_row, run, save_records

STORE = RESULTS / "dense_gaussian.json"
CELLS = (
    Cell(50, 8),
    Cell(60, 8),
    Cell(100, 4),
    Cell(100, 8),
    Cell(100, 16),
    Cell(100, 8, "sf"),
    Cell(200, 8),
)
OURS = {
    "greedy": {"strategy": "greedy"},
    "thorough": {"strategy": "thorough"},
    "best": {"strategy": "best"},
    "GES": {"strategy": "ges"},
}
PEERS = {
    "FLOP-0": ("flop", {"penalty": 1.0, "restarts": 0}),
    "FLOP-20": ("flop", {"penalty": 1.0, "restarts": 20}),
    "pybnesian": ("pybnesian", {}),
    "BOSS": ("causal-learn", {"search": "boss", "penalty": 1.0}),
    "GRaSP": ("causal-learn", {"search": "grasp", "penalty": 1.0}),
    "PyPI ges": ("ges", {"penalty": 1.0}),
}
#: These take minutes: they run on the first data set only.
SLOW = ("BOSS", "GRaSP", "PyPI ges")


def measure_peers(python, cells, seeds, limit, names):
    """Measure the peers without a record, and store them; a slow peer that a limit ended gets no larger cells."""
    records, over = load_records(STORE), set()
    for cell in sorted(cells, key=lambda cell: cell.n * cell.degree):
        for name in names:
            solver, options = PEERS[name]
            for seed in seeds[:1] if name in SLOW else seeds:
                known = find_record(records, cell, seed, solver, options)
                if known is None and name not in over:
                    known = run(cell, seed, solver, options, python=python, limit=limit)
                    records.append(known)
                    save_records(STORE, records)
                    print(name, cell.name, seed, known.get("seconds"), known.get("gain"), flush=True)
                if known is not None and known["seconds"] is None and name in SLOW:
                    over.add(name)


def describe(record, limit):
    """Return the text of a run: its score minus the score of the true graph, and its seconds."""
    if record is None:
        return ""
    if record["seconds"] is None:
        return f"> {record['limit']:.0f} s"
    return f"{record['gain']:+,.1f} ({record['seconds']:.3g} s)"


def report(cells, seeds, limit, ours):
    """Print the scores of all searches, and the graphs of the better ones."""
    stored, found = load_records(STORE), {}
    print_row("variables/degree", "data", *ours, *PEERS)
    print_row("---", "---:", *["---:"] * (len(ours) + len(PEERS)))
    for cell in cells:
        for seed in seeds:
            for name in ours:
                found[cell, seed, name] = run(cell, seed, "pgmx", OURS[name], limit=limit)
            for name, (solver, options) in PEERS.items():
                found[cell, seed, name] = find_record(stored, cell, seed, solver, options)
            texts = [describe(found[cell, seed, name], limit) for name in (*ours, *PEERS)]
            print_row(cell.name.removesuffix(", 1,000 rows"), seed, *texts)
    print()
    print_medians(found, cells, seeds, (*ours, *PEERS))
    print()
    print_losses(found, cells, seeds)


def print_medians(found, cells, seeds, names):
    """Print the medians of each search over the data sets."""
    columns = {"gain": "+,.1f", "seconds": ".3g", "edges": ",.0f", "precision": ".3f", "recall": ".3f"}
    columns |= {"shd": ",.0f", "megabytes": ",.0f"}
    titles = "score - truth", "user-CPU s", "edges", "precision", "recall", "SHD of classes", "MB in all"
    print_row("variables/degree", "search", "data sets", *titles)
    print_row("---", "---", *["---:"] * (len(titles) + 1))
    for cell in cells:
        for name in names:
            runs = [found[cell, seed, name] for seed in seeds]
            runs = [record for record in runs if record is not None and record["seconds"] is not None]
            if runs:
                texts = [format(median(record[key] for record in runs), form) for key, form in columns.items()]
                print_row(cell.name.removesuffix(", 1,000 rows"), name, len(runs), *texts)


def print_losses(found, cells, seeds):
    """Print where `best` is more than 2 nats below another search."""
    losses = [
        f"- {cell.name}, data {seed}: best {found[cell, seed, 'best']['gain'] - record['gain']:.1f} nats below {name}"
        for cell in cells
        for seed in seeds
        for name, record in ((name, found.get((cell, seed, name))) for name in (*OURS, *PEERS))
        if "best" in OURS and record and record["seconds"] and (cell, seed, "best") in found
        if found[cell, seed, "best"]["seconds"] and found[cell, seed, "best"]["gain"] < record["gain"] - 2.0
    ]
    print("\n".join(losses) if losses else "`best` is nowhere more than 2 nats below another search.")


def report_orders(cells, n_orders, limit):
    """Print the range of scores of `best` over orders of the columns."""
    print_row("variables/degree", "orders", "lowest", "median", "highest", "seconds, median")
    print_row("---", *["---:"] * 5)
    for cell in cells:
        runs = [run(cell, 1, "pgmx", OURS["best"], limit=limit, order=order) for order in range(n_orders)]
        gains = sorted(record["gain"] for record in runs)
        seconds = median(record["seconds"] for record in runs)
        texts = [f"{value:+.1f}" for value in (gains[0], median(gains), gains[-1])]
        print_row(cell.name.removesuffix(", 1,000 rows"), n_orders, *texts, f"{seconds:.3g}")


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", help="interpreter that imports the peers; without it stored records are used")
    parser.add_argument("--cells", nargs="+", help="names as 100/8 or 100/8 scale-free; all by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--limit", type=float, default=200.0, help="CPU seconds of a run")
    parser.add_argument("--ours", nargs="+", default=list(OURS), choices=OURS)
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=PEERS)
    parser.add_argument("--orders", type=int, help="compare orders of the columns instead")
    options = parser.parse_args()
    names = options.cells or [cell.name.removesuffix(", 1,000 rows") for cell in CELLS]
    cells = [cell for cell in CELLS if cell.name.removesuffix(", 1,000 rows") in names]
    if options.peer:
        measure_peers(options.peer, cells, options.seeds, options.limit, options.peers)
    if options.orders:
        report_orders(cells, options.orders, options.limit)
    elif options.ours:
        report(cells, options.seeds, options.limit, options.ours)


if __name__ == "__main__":
    main()

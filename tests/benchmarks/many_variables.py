"""Many variables and few rows: the graphs under BIC, twice its penalty, and EBIC, as tables of markdown.

    python tests/benchmarks/many_variables.py                                    # penalties
    python tests/benchmarks/many_variables.py --cells 2,000/4 5,000/4            # scale
    python tests/benchmarks/many_variables.py --peer PYTHON                      # FLOP with penalty 2, stored

Data as in `dense_data`; a weak network has weights of +-[.1, .6]. PYTHON imports flopsearch; its records are kept in
``results/many_variables.json``. Seconds are user-CPU seconds of one thread; `max_time` of ``best`` is in wall seconds.
MB are those of the process, in brackets those that the search adds to imports and rows.
"""

import argparse

from dense_data import Cell
from dense_runs import RESULTS, find_record, load_records, print_row, run, save_records

STORE = RESULTS / "many_variables.json"
WEAK = (0.1, 0.6)
CELLS = (
    Cell(100, 4),
    Cell(100, 8),
    Cell(500, 4, n_rows=500),
    Cell(1_000, 4),
    Cell(1_000, 4, "sf"),
    Cell(1_000, 2, n_rows=300),
    Cell(1_000, 8),
    Cell(200, 4, weights=WEAK),
    Cell(500, 4, weights=WEAK),
)
LARGE = (Cell(2_000, 4), Cell(5_000, 4))
SCORES = {
    "BIC": {"scoring_method": "bic-g"},
    "penalty 2": {"scoring_method": "bic-g", "penalty": 2.0},
    "EBIC, gamma .5": {"scoring_method": "ebic-g", "gamma": 0.5},
    "EBIC": {"scoring_method": "ebic-g"},
}
FLOP = {"penalty": 2.0, "restarts": 0}


def judge_of(options):
    """Return the penalty and the gamma of a score."""
    return options.get("penalty", 1.0), options.get("gamma", float(options["scoring_method"] == "ebic-g"))


def describe(record):
    """Return precision, recall, distance and seconds as text."""
    if record["seconds"] is None:
        return record.get("error", f"> {record['limit']:.0f} s")
    figures = f"{record['precision']:.3f} / {record['recall']:.3f} / {record['shd']:,}"
    return f"{figures} ({record['seconds']:.2g} s)"


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", help="names as 1000/4; all but the largest by default")
    parser.add_argument("--scores", nargs="+", default=list(SCORES), choices=SCORES)
    parser.add_argument("--strategy", default="best", choices=["greedy", "thorough", "best"])
    parser.add_argument("--max-time", type=float, default=4.0)
    parser.add_argument("--limit", type=float, default=200.0, help="CPU seconds of a run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peer", help="interpreter that imports flopsearch: measure it with penalty 2")
    options = parser.parse_args()
    chosen = None if options.cells is None else [name.replace(",", "") for name in options.cells]
    every = [*CELLS, *LARGE]
    cells = list(CELLS) if chosen is None else [cell for cell in every if f"{cell.n}/{cell.degree}" in chosen]
    records = load_records(STORE)
    strategy = {"strategy": options.strategy} | ({"max_time": options.max_time} if options.strategy != "greedy" else {})
    titles = "variables/degree, rows", "expected by chance", "BIC's edges"
    print_row(*titles, *options.scores, "FLOP, penalty 2", "MB (more)")
    print_row("---", "---:", "---:", *["---:"] * (len(options.scores) + 2))
    for cell in cells:
        flop = find_record(records, cell, options.seed, "flop", FLOP)
        if flop is None and options.peer:
            flop = run(cell, options.seed, "flop", FLOP, python=options.peer, limit=options.limit, judge=(2.0, 0.0))
            records.append(flop)
            save_records(STORE, records)
        found = {
            name: run(
                cell, options.seed, "pgmx", SCORES[name] | strategy, limit=options.limit, judge=judge_of(SCORES[name])
            )
            for name in options.scores
        }
        bic = found.get("BIC", {})
        ended = [record for record in found.values() if record["seconds"] is not None]
        largest = max(ended, key=lambda record: record["megabytes"])
        print_row(
            cell.name,
            f"{bic['expected']:,.0f}" if "expected" in bic else "",
            f"{bic['edges']:,}" if "edges" in bic else "",
            *map(describe, found.values()),
            "" if flop is None else describe(flop),
            f"{largest['megabytes']:,.0f} ({largest['more_megabytes']:,.0f})",
        )


if __name__ == "__main__":
    main()

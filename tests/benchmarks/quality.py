"""How good are the graphs? BIC and BDeu of the searches of pgmx and of its peers, over ten column orders.

Run it from the checkout, with pgmx and the extra [bench] installed:

    python tests/benchmarks/quality.py --out quality.json              # hours, nearly all of it the peers
    python tests/benchmarks/quality.py --out quality.json --variants   # the other searches of pgmx: minutes
    python tests/benchmarks/quality.py --out quality.json --again pgmx pgmx_thorough   # again, the other records kept
    python tests/benchmarks/quality.py --report quality.json           # only the tables
    python tests/benchmarks/quality.py --best --tables FOLDER --out best.json   # the best strategy: an hour
    python tests/benchmarks/quality.py --best --tetrad JAR --out best.json   # Tetrad's searches too, by Java
    python tests/benchmarks/quality.py --best --bnlearn --out best.json      # bnlearn's, by R
    python tests/benchmarks/quality.py --best --report best.json       # only its table

The file is written after every run, and a new call continues after the last record: what it holds is not measured
again.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import zlib
from functools import partial
from pathlib import Path

import quality_best_report
import quality_cells
import quality_report
from hill_climb import HERE, ONE_THREAD, installed_version, machine
from quality_report import BNLEARN, TETRAD

import data
import objective

NETWORKS = ("alarm", "insurance", "hailfinder", "win95pts", "hepar2", "andes", "munin1", "pigs", "link")
ROWS = quality_cells.ROWS
#: What `--best` measures; child has few enough variables for the proof of the optimum.
BEST_CELLS = (
    *("child", "insurance", "mildew", "alarm-1k", "alarm", "barley", "hailfinder", "hepar2", "win95pts", "munin1-1k"),
    *("plants", "jester", "mushrooms"),
)
BEST_SOLVERS = ("pgmx_thorough", "pgmx_best", "pgmx_exact", "pgmx_ges", "pybnesian", "pyagrum", "pyagrum_tabu")
SOLVERS = ("pgmx", "pgmx_thorough", "pybnesian", "pyagrum", "pyagrum_tabu")
#: Other searches of pgmx: what they cost and gain next to the plain climb.
VARIANTS = {
    "pgmx_tabu": ("alarm", "win95pts", "andes", "pigs"),
    "pgmx_restarts": ("alarm", "win95pts", "andes", "pigs"),
    "pgmx_annealing": ("alarm", "win95pts", "andes"),
    "pgmx_best_first": ("alarm", "win95pts", "andes"),
}
#: How many of the orders a slow solver is given, unless --every-order is set: (solver, network, score).
FEW_ORDERS = {
    **{(s, n, c): 3 for s in ("pyagrum", "pyagrum_tabu") for n in ("andes", "munin1") for c in objective.SCORES},
    **{(s, "pigs", c): 1 for s in ("pyagrum", "pyagrum_tabu") for c in objective.SCORES},
    **{(s, "link", c): 0 for s in ("pyagrum", "pyagrum_tabu") for c in objective.SCORES},
    **{("pgmx_annealing", n, c): 3 for n in NETWORKS for c in objective.SCORES},
    ("pybnesian", "link", "bdeu"): 3,
    **{("pgmx_exact", n, c): 0 for n in BEST_CELLS if n != "child" for c in objective.SCORES},
}


class Results:
    """The file of results: one record for each (solver, network, score, order)."""

    def __init__(self, path, args):
        self.path = path
        here = {"machine": machine(), "simd": args.simd or "best", "timeout": args.timeout, "rows": ROWS}
        self.content = {**here, "commands": [], "versions": {}, "problems": {}, "records": []}
        if path.exists():
            self.content = json.loads(path.read_text())
            same = self.content["machine"]["processor"] == here["machine"]["processor"]
            if not same or any(self.content[name] != here[name] for name in ("simd", "timeout", "rows")):
                raise SystemExit(f"{path} was made on another processor or with other options; name another --out")
        command = shlex.join(["python", "tests/benchmarks/quality.py", *args.argv])
        if command not in self.content["commands"]:
            self.content["commands"].append(command)
        self.forget(lambda r: r["status"] == "failed" or is_to_be_made_anew(r, args))

    def forget(self, unwanted):
        self.content["records"] = [r for r in self.content["records"] if not unwanted(r)]

    def check_version(self, solver):
        """Records of a peer must come from one version; pgmx is measured again on demand."""
        package = solver.split("_")[0]
        outside = {"tetrad": tetrad_version, "bnlearn": bnlearn_version}
        version = outside.get(package, partial(installed_version, package))()
        held = package != "pgmx" and any(r["solver"] == solver for r in self.content["records"])
        if held and self.content["versions"][package] != version:
            raise SystemExit(f"{self.path} holds {solver} of another version: measure it --again")
        self.content["versions"][package] = version

    def facts(self, network, path):
        """Keep what the table scores under its true graph; refuse a table other than the one of the records."""
        problem = data.load(path, 0)
        facts = {
            "n_variables": len(problem.names),
            "crc32": zlib.crc32(problem.codes),
            "true": {
                name: round(s(problem.codes, problem.cards, problem.true_edges), 3)
                for name, s in objective.SCORES.items()
                if quality_cells.has_truth(network)
            },
            "n_rows": problem.codes.shape[1],
            "true_edges": len(problem.true_edges),
        }
        if self.content["problems"].setdefault(network, facts)["crc32"] != facts["crc32"]:
            raise SystemExit(f"{self.path} was made from other rows of {network}; name another --out")

    def records(self, **key):
        return [r for r in self.content["records"] if all(r[name] == value for name, value in key.items())]

    def over_the_limit(self, key, orders):
        """Mark orders that need not be tried, for one has run into the limit; show whether they are."""
        ended = [r["order"] for r in self.records(**key) if r["status"] == "timeout"]
        for order in orders if ended else ():
            self.add(
                {**key, "order": order, "status": "timeout", "error": f"not run: over the limit at order {ended[0]}"}
            )
        return bool(ended)

    def add(self, record):
        self.content["records"].append(record)
        print(quality_report.progress(record), file=sys.stderr, flush=True)
        self.write()

    def write(self):
        """Write the file at once, a line for each record."""
        head = {name: value for name, value in self.content.items() if name != "records"}
        lines = ",\n".join(json.dumps(r) for r in self.content["records"])
        text = json.dumps(head, indent=1)[:-2] + ',\n "records": [\n' + lines + "\n]}\n"
        fresh = self.path.with_suffix(".new")
        fresh.write_text(text)
        os.replace(fresh, self.path)


def run_solver(results, key, path, orders, args):
    """Run one solver on the orders, one after the other in one process, and add a record for each."""
    left = list(orders)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        reader, writer = os.pipe()
        command = [sys.executable, HERE / "quality_worker.py", key["solver"], path, key["score_name"], str(writer)]
        command += [*map(str, orders), "--repeat", str(args.repeat), "--timeout", str(args.timeout)]
        # TMPDIR, for pyAgrum leaves its CSV files.
        environment = {**os.environ, **ONE_THREAD, "PYTHONHASHSEED": "0", "TMPDIR": folder}
        if args.simd:
            environment["PGMX_SIMD"] = args.simd
        process = subprocess.Popen(
            command, env=environment, pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=errors, text=True
        )
        os.close(writer)
        with os.fdopen(reader) as lines:
            for line in lines:
                results.add(judged({**key, **json.loads(line)}, path))
                left.pop(0)
        code = process.wait()
        errors.seek(0)
        tail = errors.read()[-1000:]
    if code == -signal.SIGXCPU and left:
        results.add({**key, "order": left[0], "status": "timeout"})
        results.over_the_limit(key, left[1:])
    elif code != 0:
        for order in left:
            results.add({**key, "order": order, "status": "failed", "error": tail or f"ended with {code}"})


def judged(record, path):
    """Put the outside score in the place of the graph."""
    problem, edges = data.load(path, record["order"]), record.pop("edges")
    record["status"] = "done" if objective.is_dag(len(problem.names), edges) else "failed"
    if record["status"] == "failed":
        return {**record, "error": "the graph has a cycle"}
    score = objective.SCORES[record["score_name"]](problem.codes, problem.cards, edges)
    record["gap"] = record.pop("own_score") / score - 1
    rounded = {name: float(f"{record[name]:.4g}") for name in ("learn", "wall", "gap")}
    far = quality_cells.distances(len(problem.names), problem.true_edges, edges) if problem.true_edges else {}
    return {**record, **rounded, "score": round(score, 4), "n_edges": len(edges), **far}


def orders_of(solver, network, score, args):
    """Return the column orders that this solver is given."""
    if solver in VARIANTS and network not in VARIANTS[solver]:
        return []
    most = None if args.every_order else FEW_ORDERS.get((solver, network, score))
    return args.orders if most is None else [order for order in args.orders if order < most]


def is_to_be_made_anew(record, args):
    asked = record["network"] in args.networks and record["score_name"] in args.scores
    return record["solver"] in args.again and asked and record["order"] in args.orders


def tetrad_version():
    return Path(os.environ["TETRAD_JAR"]).stem


def bnlearn_version():
    words = ["Rscript", "-e", "cat(format(packageVersion('bnlearn')))"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", nargs="+", default=NETWORKS, metavar="NAME", help=", ".join(NETWORKS))
    parser.add_argument(
        "--solvers",
        nargs="+",
        default=SOLVERS,
        choices=sorted({*SOLVERS, *BEST_SOLVERS, *VARIANTS, *TETRAD, *BNLEARN}),
        metavar="NAME",
    )
    parser.add_argument("--tetrad", type=Path, metavar="JAR", help="run BOSS and fGES of Tetrad from this file too")
    parser.add_argument("--bnlearn", action="store_true", help="run hc and tabu of bnlearn too, by R")
    parser.add_argument("--variants", action="store_true", help="run the other searches of pgmx instead")
    parser.add_argument("--best", action="store_true", help="other defaults: the cells of the best strategy, BIC")
    parser.add_argument("--tables", type=Path, help="folder of the real tables; left out without it")
    parser.add_argument("--scores", nargs="+", default=list(objective.SCORES), choices=list(objective.SCORES))
    parser.add_argument("--orders", nargs="+", type=int, default=list(range(10)), help="seeds of the column order")
    parser.add_argument("--every-order", action="store_true", help="slow solvers too get all orders: days")
    parser.add_argument(
        "--again", nargs="+", default=[], metavar="SOLVER", help="measure these anew, as far as they are asked for"
    )
    parser.add_argument("--timeout", type=float, default=300, help="CPU seconds one call may use; default 300")
    parser.add_argument("--repeat", type=int, default=1, help="measurements of calls under 0.1 s; default 1")
    parser.add_argument("--simd", choices=["avx512", "avx2", "popcnt", "plain"], help="PGMX_SIMD; default: the best")
    parser.add_argument("--out", type=Path, default=Path("quality.json"))
    parser.add_argument("--report", type=Path, help="only print the tables of this file")
    parser.add_argument("--details", action="store_true", help="also print each score of each order")
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "build" / "benchmarks", help="sampled tables")
    if "--best" in (sys.argv[1:] if argv is None else argv):
        parser.set_defaults(networks=BEST_CELLS, solvers=BEST_SOLVERS, scores=["bic"], orders=list(range(5)))
    args = parser.parse_args(argv)
    if args.tetrad:
        os.environ["TETRAD_JAR"] = str(args.tetrad.resolve())
        args.solvers = [*args.solvers, *(solver for solver in TETRAD if solver not in args.solvers)]
    elif set(TETRAD) & set(args.solvers) and not os.environ.get("TETRAD_JAR"):
        parser.error("the searches of Tetrad need --tetrad JAR, and Java with its compiler")
    if args.bnlearn:
        args.solvers = [*args.solvers, *(solver for solver in BNLEARN if solver not in args.solvers)]
    args.argv = sys.argv[1:] if argv is None else argv
    return args


def main(argv=None):
    args = parse(argv)
    report = quality_best_report if args.best else quality_report
    if args.report:
        print(report.markdown(json.loads(args.report.read_text()), details=args.details))
        return
    results = Results(args.out, args)
    for network in args.networks:
        path = quality_cells.make(args.data, network, args.tables)
        if path is None:
            print(f"{network}: its table is not in --tables", file=sys.stderr)
            continue
        results.facts(network, path)
        for score in args.scores:
            for solver in VARIANTS if args.variants else args.solvers:
                results.check_version(solver)
                key = {"solver": solver, "network": network, "score_name": score}
                held = {r["order"] for r in results.records(**key)}
                orders = [order for order in orders_of(solver, network, score, args) if order not in held]
                if orders and not results.over_the_limit(key, orders):
                    run_solver(results, key, path, orders, args)
    results.write()
    print(report.markdown(results.content, details=args.details))


if __name__ == "__main__":
    main()

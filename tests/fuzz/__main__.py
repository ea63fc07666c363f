"""Random calls of every public entry point of pgmx, each with a stated outcome.

python -m tests.fuzz --cases 50000 --seed 1 --jobs 2 --out failures
python -m tests.fuzz --seed 1 --case 123                     # one case in this process, with its traceback
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ.setdefault(_name, "1")  # before numpy is imported: children are forked, and many run at a time
os.environ.setdefault("MPLBACKEND", "agg")

import argparse  # noqa: E402
import json  # noqa: E402
import shutil  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from collections import Counter  # noqa: E402
from collections.abc import Iterable  # noqa: E402
from pathlib import Path  # noqa: E402

from tests.fuzz.cases import MAKERS, draw_case  # noqa: E402
from tests.fuzz.entries import load_entries  # noqa: E402
from tests.fuzz.outcomes import MEGABYTES, OUTCOMES, SECONDS, Outcome, judge, run_cases  # noqa: E402
from tests.fuzz.planted import find_planted  # noqa: E402


def make_table(counts: Counter) -> str:
    """Return the numbers of cases by entry point and outcome."""
    width = max(map(len, ["entry point", *MAKERS]))
    lines = [f"{'entry point':{width}} " + " ".join(f"{kind:>13}" for kind in OUTCOMES)]
    names = sorted({name for name, _ in counts})
    for name in names:
        lines.append(f"{name:{width}} " + " ".join(f"{counts[name, kind]:13}" for kind in OUTCOMES))
    sums = [sum(counts[name, kind] for name in names) for kind in OUTCOMES]
    return "\n".join([*lines, f"{'all':{width}} " + " ".join(f"{total:13}" for total in sums)])


def write_reproduction(outcome: Outcome, seed: int, pattern: str, scratch: Path, out: Path) -> Path:
    """Write a script that runs a case again, with what it ended in, and copy the files of the case to its folder."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"case_{seed}_{outcome.number}.py"
    text = f"{outcome.entry}: {outcome.kind}\n{outcome.text}".replace("\\", "\\\\").replace('"""', "'''")
    arguments = ["--seed", str(seed), "--case", str(outcome.number), "--entry", pattern]
    path.write_text(f'"""{text}"""\n\nfrom tests.fuzz.__main__ import main\n\nmain({arguments})\n')
    files = scratch / str(outcome.number)
    if files.is_dir() and any(files.iterdir()):
        shutil.copytree(files, path.with_suffix(""), dirs_exist_ok=True)
    return path


def report(outcomes: Iterable[Outcome], seed: int, pattern: str, scratch: Path, out: Path) -> Counter:
    """Count outcomes; print and keep the failures as they come."""
    counts: Counter = Counter()
    for outcome in outcomes:
        counts[outcome.entry, outcome.kind] += 1
        if outcome.is_failure:
            path = write_reproduction(outcome, seed, pattern, scratch, out)
            last = outcome.text.strip().splitlines()[-1:]
            print(f"{outcome.kind}: {outcome.entry}, case {outcome.number}: {path}: {''.join(last):.200}", flush=True)
    return counts


def run_one(seed: int, number: int, pattern: str) -> int:
    """Run one case in this process; return how a shell is to take it."""
    case = draw_case(seed, number, pattern)
    print(f"{case.entry}\n{case.plan}\nexpected: {case.expectation}")
    with tempfile.TemporaryDirectory() as folder:
        kind, text = judge(case, Path(folder))
    print(f"{kind}\n{text}")
    return int(kind not in ("right", "clear error"))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the result is 1 where a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=300, help="how many (300)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first (0)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", type=int, help="run this case alone, in this process")
    parser.add_argument("--entry", default="*", metavar="PATTERN", help="entry points, such as 'estimators.*'")
    parser.add_argument("--jobs", type=int, default=1, help="children at a time (1)")
    parser.add_argument("--batch", type=int, default=50, help="cases per child (50); 1 isolates each")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"limit per case ({SECONDS:g})")
    parser.add_argument("--megabytes", type=int, default=MEGABYTES, help=f"limit per child ({MEGABYTES})")
    parser.add_argument("--out", type=Path, default=Path("fuzz-failures"), help="folder of reproductions")
    parser.add_argument("--planted", action="store_true", help="look for faults planted on purpose besides")
    parser.add_argument("--json", type=Path, help="write a report there")
    options = parser.parse_args(arguments)
    load_entries()
    if options.case is not None:
        return run_one(options.seed, options.case, options.entry)
    start = time.perf_counter()
    limits = {name: getattr(options, name) for name in ("jobs", "batch", "seconds", "megabytes")}
    numbers = range(options.first, options.first + options.cases)
    with tempfile.TemporaryDirectory(prefix="pgmx-fuzz-") as folder:
        outcomes = run_cases(options.seed, numbers, Path(folder), pattern=options.entry, **limits)
        counts = report(outcomes, options.seed, options.entry, Path(folder), options.out)
    print(make_table(counts))
    print(f"{counts.total()} cases of seed {options.seed} in {time.perf_counter() - start:.0f} s")
    n_failures = sum(count for (_, kind), count in counts.items() if kind not in ("right", "clear error"))
    content = {"counts": [[*key, count] for key, count in counts.items()], "n_failures": n_failures}
    if options.planted:
        with tempfile.TemporaryDirectory(prefix="pgmx-fuzz-") as folder:
            content["planted"] = find_planted(Path(folder))
    if options.json is not None:
        options.json.write_text(json.dumps(content))
    return int(n_failures > 0)


if __name__ == "__main__":
    sys.exit(main())

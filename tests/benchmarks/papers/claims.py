"""Rows of the tables of docs/papers.md: what a document claims, what was measured here, and the verdict.

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # the benchmarks are imported from there

from claims import Claim, report

def check_ranks():
    yield Claim("figure 1", "a small reservoir is enough", "mean rank ...", "confirmed")

if __name__ == "__main__":
    report(__file__, {"figure 1": check_ranks})
"""

import argparse
import fnmatch
import inspect
import re
import sys
from pathlib import Path
from time import process_time
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1]))

from data_folder import DATA, STREAMS

__all__ = ["DATA", "ROOT", "STREAMS", "Claim", "join", "judge", "need_data", "report"]
ROOT = Path(__file__).parents[3]
VERDICTS = (
    "confirmed",
    "better",
    "partly",
    "not reproduced",
    "not comparable",
    "data not public",
    "data not at hand",
    "no experiment",
)
HEADER = "| table or figure | claim | program | measured here | verdict |\n| --- | --- | --- | --- | --- |"


class Claim(NamedTuple):
    """A table or figure, its claim, the figure measured here and the verdict."""

    item: str
    claim: str
    figure: str
    verdict: str


def need_data(path, item, claim):
    """Return the row of a table whose data are absent, in a list that is empty if they are at hand."""
    return [] if path.exists() else [Claim(item, claim, "", "data not at hand")]


def judge(holds, reason="", otherwise="not reproduced"):
    """Return the verdict "confirmed" with a reason if the figures fulfil a condition, or else another one."""
    return f"confirmed{reason}" if holds else otherwise


def join(numbers, form=".2f"):
    """Return numbers as one cell, without zeros before the point."""
    return " / ".join(re.sub(r"^(-?)0\.", r"\1.", format(number, form)) for number in numbers)


def is_verdict(text):
    """Whether a verdict begins with one of the words that the page explains."""
    return text.startswith(VERDICTS)


def format_row(program, claim):
    """Return a row of the table of a page."""
    if not is_verdict(claim.verdict):
        raise ValueError(f"the verdict begins with one of {', '.join(VERDICTS)}, not {claim.verdict!r}")
    return f"| {claim.item} | {claim.claim} | `papers/{program}` | {claim.figure} | {claim.verdict} |"


def report(path, functions, description=None):
    """Print the rows that the functions yield, by the items that the command line asks for.

    A function that has a parameter `full` gets the value of ``--full``.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--items", nargs="*", default=["*"], help=f"patterns of {', '.join(functions)}")
    parser.add_argument("--full", action="store_true", help="the sizes of the document, if these take long")
    options = parser.parse_args()
    chosen = [name for name in functions if any(fnmatch.fnmatch(name, pattern) for pattern in options.items)]
    print(HEADER)
    start = process_time()
    for name in chosen:
        function = functions[name]
        settings = {"full": options.full} if "full" in inspect.signature(function).parameters else {}
        for claim in function(**settings):
            print(format_row(Path(path).name, claim), flush=True)
    print(f"{process_time() - start:.0f} CPU s", file=sys.stderr)

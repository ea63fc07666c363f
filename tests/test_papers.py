"""The page of published experiments: each table and figure has a row, each row a verdict and a program that exists."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BENCHMARKS = ROOT / "tests/benchmarks"
#: Words in the heading of a section: the tables and figures of the document.
ITEMS = {
    "sparse linear dynamical systems": {"table": ["2.1"], "figure": [f"2.{i}" for i in range(1, 9)]},
    "online edge grafting": {"table": ["3.1"], "figure": [f"3.{i}" for i in range(1, 11)]},
    "best-choice edge grafting": {"table": ["1"], "figure": [str(i) for i in range(1, 9)]},
    "categorical subspaces": {"table": [f"2.{i}" for i in range(1, 5)], "figure": [f"2.{i}" for i in range(1, 8)]},
    "raker and adaraker": {"table": [f"3.{i}" for i in range(1, 14)], "figure": [f"3.{i}" for i in range(1, 5)]},
    "structural equations": {"table": ["4.1", "4.2"], "figure": [f"4.{i}" for i in range(1, 13)]},
    "kernel svarm": {"table": ["5.1"], "figure": [f"5.{i}" for i in range(1, 9)]},
    "gradraker": {"table": [], "figure": [f"6.{i}" for i in range(1, 6)]},
}
#: What implements the systems of the documents.
SYSTEMS = """
    LogLikelihood BIC AIC K2 BDe BDeu BDs HillClimbSearch GreedyEquivalenceSearch SimulatedAnnealing BestFirstSearch
    ChowLiuForest BootstrapStructure StructurePosterior
    NeighborhoodLasso GraphicalLasso CLIME Nonparanormal
    FeatureGrafting GraftingLight EdgeGrafting FirstHitEdgeGrafting OnlineEdgeGrafting BestChoiceEdgeGrafting
    DenseLDS SparsityEnforcingLDS SparsityInducingLDS ScalableLDS
    LinearSVARM KernelSVARM TensorSEM TensorSEMTracker
    CategoricalSubspace RakerRegressor AdaRakerRegressor OnlineKernelRegressor GradrakerClassifier
"""


@pytest.fixture(scope="module")
def claims():
    """The module that programs print their rows with."""
    path = BENCHMARKS / "papers/claims.py"
    spec = importlib.util.spec_from_file_location("paper_claims", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sections():
    """The rows of each section of the page, by its heading in small letters."""
    found, rows = {}, []
    for line in (ROOT / "docs/papers.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            rows = found.setdefault(line.lstrip("# ").lower(), [])
        elif line.startswith("| ") and not line.startswith(("| ---", "| table or figure")):
            rows.append([cell.strip() for cell in line.split("|")[1:-1]])
    return found


def list_numbers(text):
    """Return the numbers of a cell such as `tables 3.4, 3.5, figures 2.3 to 2.5`, as pairs of kind and number."""
    found, kind = [], None
    for word, first, last in re.findall(r"(table|figure)s?|(\d+(?:\.\d+)?)[a-c]?(?: to (\d+(?:\.\d+)?))?", text):
        kind = word or kind
        if first and last:
            chapter = first.rpartition(".")[0]
            numbers = range(int(first.rpartition(".")[2]), int(last.rpartition(".")[2]) + 1)
            found += [(kind, f"{chapter}.{number}" if chapter else str(number)) for number in numbers]
        elif first:
            found.append((kind, first))
    return found


def test_numbers_of_a_cell():
    assert list_numbers("figures 2.3 to 2.5, table 3") == [
        ("figure", "2.3"),
        ("figure", "2.4"),
        ("figure", "2.5"),
        ("table", "3"),
    ]
    assert list_numbers("figure 5.5c") == [("figure", "5.5")]


@pytest.mark.parametrize("words", ITEMS)
def test_each_table_and_figure_has_a_row(sections, words):
    (rows,) = [rows for heading, rows in sections.items() if words in heading]
    listed = {number for cells in rows for number in list_numbers(cells[0])}
    expected = {(kind, number) for kind, numbers in ITEMS[words].items() for number in numbers}
    assert expected <= listed, f"no row for {sorted(expected - listed)}"


def test_each_row_has_a_verdict_and_a_program_that_exists(sections, claims):
    for heading, rows in sections.items():
        for cells in rows:
            where = f"{heading}, {cells[0]}"
            assert len(cells) == 5, f"{where}: {len(cells)} columns"
            assert claims.is_verdict(cells[4]), f"{where}: {cells[4]!r} begins with none of {claims.VERDICTS}"
            for program in re.findall(r"`([\w/.]+\.py)[^`]*`", cells[2]):
                assert (BENCHMARKS / program).is_file() or (ROOT / program).is_file(), f"{where}: no {program}"


def test_each_program_is_on_the_page():
    page = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    for path in sorted((BENCHMARKS / "papers").glob("*.py")):
        assert path.stem == "claims" or f"papers/{path.name}" in page, f"docs/papers.md does not name {path.name}"


def test_rows_that_programs_print(claims, capsys, monkeypatch):
    def check(full):
        yield claims.Claim("figure 1", "small", f"{full}", "confirmed, with a limit")

    monkeypatch.setattr(sys, "argv", ["ranks.py", "--items", "figure*", "--full"])
    claims.report("a/ranks.py", {"figure 1": check, "table 1": None})
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "| figure 1 | small | `papers/ranks.py` | True | confirmed, with a limit |"
    with pytest.raises(ValueError, match="begins with one of"):
        claims.format_row("ranks.py", claims.Claim("figure 1", "small", "1", "fine"))


def read_code(path):
    """Return the code of a notebook or a program."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code")


def test_each_system_of_the_sources_is_shown():
    paths = [*ROOT.glob("tutorials/*.ipynb"), *ROOT.glob("docs/examples/*.py")]
    shown = set(re.findall(r"\w+", "\n".join(map(read_code, paths))))
    assert set(SYSTEMS.split()) <= shown, f"no tutorial or example shows {sorted(set(SYSTEMS.split()) - shown)}"

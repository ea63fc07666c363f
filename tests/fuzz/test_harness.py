"""The harness: a few hundred cases, faults planted on purpose, and what it covers."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pgmx.scores.registry import SCORES
from tests.fuzz.cases import draw_case
from tests.fuzz.entries import load_entries
from tests.fuzz.planted import PLANTED

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "ci_tests",
    "data",
    "datasets",
    "estimators",
    "inference",
    "metrics",
    "models",
    "plotting",
    "scores",
    "solvers",
    "statistics",
    "streaming",
)
SOURCES = ("options", "model_files")
#: What is made by other entry points alone, bases of classes, and errors.
RESULTS = {
    *(
        "ApproximationWarning",
        "IncompleteRowsWarning",
        "BaseStructureLearner",
        "BeliefResult",
        "ColumnEstimates",
        "DirectionScores",
        "DiscreteScore",
        "Divergence",
    ),
    *(
        "EdgeCurve",
        "GriddedEvents",
        "KernelResponses",
        "OneStepPredictions",
        "SystemTransitions",
        "StructuralSeries",
        "EdgeDifferences",
        "EliminationPlan",
        "FewValuesWarning",
        "Frame",
        "GaussianSample",
        "GaussianScore",
        "HeldOutLikelihood",
    ),
    *(
        "InferenceCost",
        "LearningCost",
        "MapAssignment",
        "LogPartition",
        "Marginals",
        "MemoryEstimate",
        "Moments",
        "MostProbable",
        "NamedFactors",
        "NumericTable",
    ),
    *("ReservoirRanks", "SkeletonScores", "StructurePrior", "TreewidthError", "gaussian_scorer", "list_networks"),
    *("Example", "NetworkSize", "list_examples"),
    *("StreamClassifier", "StreamLearner", "to_river"),
    "read_json",
}


def run_harness(folder, *arguments, timeout=1200):
    """Run the harness in a process of its own; return its report, what it found in PLANTED, and what it printed.

    Children are forked: a process that has used the threads of other libraries is not suitable for that.
    """
    command = [
        sys.executable,
        "-m",
        "tests.fuzz",
        "--out",
        str(folder / "failures"),
        "--json",
        str(folder / "report.json"),
    ]
    done = subprocess.run([*command, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=timeout)
    assert (folder / "report.json").exists(), done.stderr
    return json.loads((folder / "report.json").read_text()), done.stdout


@pytest.fixture(scope="module")
def short_run(tmp_path_factory):
    return run_harness(tmp_path_factory.mktemp("fuzz"), "--cases", "300", "--batch", "150", "--planted")


@pytest.mark.slow
def test_cases_end_as_expected(short_run):
    report, text = short_run
    assert sum(count for *_, count in report["counts"]) == 300
    assert report["n_failures"] == 0, text


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found(short_run, name):
    assert PLANTED[name].kind in short_run[0]["planted"][name]


@pytest.mark.slow
def test_many_cases_end_as_expected(tmp_path):
    report, text = run_harness(tmp_path, "--cases", "2000", "--seed", "1")
    assert report["n_failures"] == 0, text


def test_every_public_name_is_drawn():
    modules = [*Path(__file__).parent.glob("*_cases.py"), *(Path(__file__).with_name(f"{name}.py") for name in SOURCES)]
    words = set(re.findall(r"\w+", "".join(module.read_text() for module in modules)))
    words |= {entry.class_name for entry in SCORES}  # graph_cases draws from the registry
    for package in PACKAGES:
        names = set(importlib.import_module(f"pgmx.{package}").__all__)
        assert names - words - RESULTS == set(), package


@pytest.mark.slow
def test_a_case_depends_on_seed_and_number_alone():
    load_entries()
    plans = [[re.sub("0x[0-9a-f]+", "", draw_case(5, number).plan) for number in range(6)] for _ in range(2)]
    assert plans[0] == plans[1]
    assert len(set(plans[0])) == 6

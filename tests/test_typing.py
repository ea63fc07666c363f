"""What editors and type checkers see: mistakes in options are found, correct calls accepted, signatures plain."""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pgmx.estimators
from pgmx.estimators import BaseStructureLearner

ROOT = Path(__file__).parents[1]
TYPING = Path(__file__).parent / "type_checks"
MOST_ERRORS = 20  # of pyright on the package, mode basic

LEARNERS = [
    thing
    for thing in (getattr(pgmx.estimators, name) for name in pgmx.estimators.__all__)
    if issubclass(thing, BaseStructureLearner) and thing is not BaseStructureLearner
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: learner.__name__)
def test_constructor_is_written_out(learner):
    """The signature in the source is the one that Python sees, and every option has a type and a default."""
    source = Path(importlib.import_module(learner.__module__).__file__).read_text(encoding="utf-8")
    body = next(n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.ClassDef) and n.name == learner.__name__)
    written = [n for n in body.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    assert written, "the class has no __init__ of its own"
    arguments = written[0].args
    assert arguments.vararg is None
    assert arguments.kwarg is None
    names = [a.arg for a in [*arguments.args, *arguments.kwonlyargs]][1:]
    assert names == list(inspect.signature(learner).parameters)
    assert [a.arg for a in arguments.kwonlyargs if a.annotation is None] == []
    assert None not in arguments.kw_defaults


def marked_lines(path, checker):
    """Return the numbers of the lines that say that they hold a mistake which the checker finds."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {n for n, line in enumerate(lines, 1) if line.endswith(("# error", f"# error for {checker}"))}


def mypy_errors(path):
    """Return the numbers of the lines of a file in which mypy finds an error."""
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return {int(line) for line in re.findall(rf"{path.name}:(\d+): error", done.stdout)}


def pyright_report(*arguments):
    """Return the diagnostics of pyright that are errors."""
    command = [sys.executable, "-m", "pyright", "--outputjson", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    diagnostics = json.loads(done.stdout)["generalDiagnostics"]
    return [one for one in diagnostics if one["severity"] == "error"]


def pyright_errors(path):
    """Return the numbers of the lines of a file in which pyright finds an error."""
    return {one["range"]["start"]["line"] + 1 for one in pyright_report(path)}


CHECKERS = {"mypy": mypy_errors, "pyright": pyright_errors}


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_mistakes_are_found_and_nothing_else(checker):
    pytest.importorskip(checker, reason=f"{checker} comes with the extra [lint]")
    assert CHECKERS[checker](TYPING / "typos.py") == marked_lines(TYPING / "typos.py", checker)


@pytest.mark.slow
@pytest.mark.parametrize("checker", CHECKERS)
def test_what_a_user_writes_is_accepted(checker):
    pytest.importorskip(checker, reason=f"{checker} comes with the extra [lint]")
    assert CHECKERS[checker](TYPING / "user.py") == set()


@pytest.mark.slow
def test_package_in_mode_basic():
    pytest.importorskip("pyright", reason="pyright comes with the extra [lint]")
    errors = pyright_report()
    assert len(errors) < MOST_ERRORS, "\n".join(f"{one['file']}: {one['message']}" for one in errors)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("estimators.HillClimbSearch().fit(frame)", "HillClimbSearch"),
        ("estimators.HillClimbSearch().set_params(max_indegree=2)", "HillClimbSearch"),
        ("estimators.GraphicalLasso().fit(frame)", "GraphicalLasso"),
        ("estimators.OnlineEdgeGrafting().partial_fit(frame)", "OnlineEdgeGrafting"),
        ("estimators.DenseLDS().fit(frame)", "DenseLDS"),
        ("estimators.LinearSVARM().select(frame)", "LinearSVARM"),
        ("streaming.RakerClassifier().partial_fit(rows, labels)", "RakerClassifier"),
        ("streaming.RakerRegressor.load('raker.npz')", "RakerRegressor"),
        ("models.PairwiseMarkovNetwork.load('grid.npz')", "PairwiseMarkovNetwork"),
        ("scores.BICGauss.from_moments(moments, names)", "BICGauss"),
    ],
)
def test_completion_keeps_the_class(call, name):
    """Notebooks complete what follows a call by jedi, which takes ``Self`` for the class that the method is in."""
    jedi = pytest.importorskip("jedi", reason="jedi comes with IPython")
    package = call.partition(".")[0]
    script = jedi.Script(
        f"from pgmx import {package}\nresult = {call}\n", project=jedi.Project(ROOT, smart_sys_path=True)
    )
    assert [found.name for found in script.infer(2, 0)] == [name]

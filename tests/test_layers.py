"""Imports point one way, and the heavy ones stay where they belong.

``_ext`` <- ``data`` <- ``statistics`` <- ``scores`` <- ``inference`` <- ``search``, ``solvers`` <- ``models`` <-
``estimators`` <- leaves: a module imports its own layer and those before it, and nothing imports a leaf but a leaf.
Imports inside functions count as
well; only what a leaf imports from outside (pgmpy, pandas) may hide there.
"""

import ast
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import pgmx

PACKAGE = Path(pgmx.__file__).parent
LAYERS = (
    {"_ext"},
    {"data"},
    {"statistics"},
    {"scores"},
    {"inference"},
    {"search", "solvers"},
    {"models"},
    {"estimators", "streaming"},
    {"datasets", "plotting", "metrics", "cli", "__main__"},
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
LEAVES = LAYERS[-1]

# Where a foreign package may be imported at the top of a module; leaves may import it inside functions.
AT_HOME = {
    "pgmpy": {"models", "scores", "estimators"},
    "pandas": {"data", "models", "datasets"},
    "matplotlib": set(),
}
# Importing pgmpy.estimators warns every user of a move that only pgmx can make, so one module does it, with a filter.
ONE_DOOR = {"pgmpy.estimators": "pgmx.estimators._base"}


class Import(NamedTuple):
    target: str  # dotted name of what is imported
    line: int
    lazy: bool  # inside a function


def imports_of(source, module):
    """Return what the source of `module` imports, relative names resolved, ``from a import b`` as a.b.

    Imports under ``if TYPE_CHECKING:`` never run and are passed over.
    """
    found = []
    package = module.split(".")[:-1]

    def visit(node, lazy):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            children = node.orelse
        else:
            children = ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            found.extend(Import(alias.name, node.lineno, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            found.extend(Import(f"{stem}.{alias.name}", node.lineno, lazy) for alias in node.names)
        inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in children:
            visit(child, inside)

    visit(ast.parse(source), False)
    return found


def layer_of(name):
    """Return the layer that a dotted name inside pgmx belongs to, None for the package itself."""
    parts = name.split(".")
    inside = len(parts) > 1 and parts[0] == "pgmx" and (parts[1] == "__main__" or not parts[1].startswith("__"))
    return parts[1] if inside else None


def faults_of(source, module):
    """Return what is wrong with the imports of one module, as sentences."""
    own = layer_of(module)
    faults = []
    for target, line, lazy in imports_of(source, module):
        where = f"{module}, line {line}"
        theirs = layer_of(target)
        if theirs is not None and theirs not in RANK:
            faults.append(f"{where}: {target} belongs to no layer that this test knows")
        elif theirs is not None and own is None:
            faults.append(f"{where}: the package itself imports {target}; importing pgmx must stay light")
        elif theirs is not None and theirs != own and RANK[theirs] >= RANK[own] and not {own, theirs} <= LEAVES:
            faults.append(f"{where}: {own} imports {target}, an arrow the wrong way")
        foreign = target.split(".")[0]
        if foreign in AT_HOME and own not in AT_HOME[foreign] and not (lazy and own in LEAVES):
            faults.append(f"{where}: {foreign} does not belong in {own}")
        for door, keeper in ONE_DOOR.items():
            if f"{target}.".startswith(f"{door}.") and module != keeper:
                faults.append(f"{where}: {door} is imported in {keeper} only")
    return faults


# A package's __init__ goes by that name, so that its relative imports resolve as those of any other module.
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path for path in sorted(PACKAGE.rglob("*.py"))
}


@pytest.mark.parametrize("module", MODULES)
def test_imports_of(module):
    assert not faults_of(MODULES[module].read_text(encoding="utf-8"), module)


def test_every_folder_has_a_layer():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    single = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    assert folders | single <= set(RANK)


# ---- the checker itself ----


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pgmx.data.door", "from pgmx.scores import BIC"),
        ("pgmx.data.door", "import pgmx.statistics.counts"),
        ("pgmx.search.gains", "from pgmx import models"),
        ("pgmx.search.gains", "def f():\n    from pgmx.estimators import HillClimbSearch"),
        ("pgmx.search.gains", "from ..models import cpdag"),
        ("pgmx.search.__init__", "from ..models.equivalence import cpdag"),
        ("pgmx.search.gains", "from pgmx.solvers import cd"),
        ("pgmx.estimators.hill_climb", "import pgmx.plotting"),
        ("pgmx.models.export", "def f():\n    import pgmx.cli"),
        ("pgmx.scores.bic", "from pgmx.nowhere import x"),
        ("pgmx.search.gains", "import pgmpy"),
        ("pgmx.search.gains", "def f():\n    from pgmpy.base import DAG"),
        ("pgmx.metrics", "from pgmpy.base import DAG"),
        ("pgmx.plotting.draw", "import matplotlib.pyplot as plt"),
        ("pgmx.scores.bic", "import pandas as pd"),
        ("pgmx.estimators.hill_climb", "class A:\n    def f(self):\n        import pandas"),
        ("pgmx.estimators.hill_climb", "from pgmpy.estimators import StructureEstimator"),
        ("pgmx.models.export", "from pgmpy import estimators"),
        ("pgmx.__init__", "from pgmx.data import encode"),
        ("pgmx.__init__", "import pandas"),
        ("pgmx.estimators.hill_climb", "import pgmx.__main__"),
    ],
)
def test_checker_sees_a_wrong_import(module, source):
    assert len(faults_of(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pgmx.scores.bic", "from pgmx.scores._base import DiscreteScore\nfrom pgmx.data import encode"),
        ("pgmx.estimators.hill_climb", "from pgmpy import config\nfrom pgmx.models import cpdag\nimport numpy"),
        ("pgmx.estimators._base", "from pgmpy.estimators import StructureEstimator"),
        ("pgmx.cli.job", "from pgmx import __version__\nfrom pgmx.plotting import draw\nimport pgmx"),
        ("pgmx.metrics", "def f():\n    from pgmpy.base import DAG\n    import pandas"),
        ("pgmx.search.gains", "from . import moves\nfrom .tabu import Tabu\nfrom pgmx._ext import _counts"),
        ("pgmx.search.gains", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas as pd"),
    ],
)
def test_checker_lets_right_imports_pass(module, source):
    assert not faults_of(source, module)


def test_checker_is_not_blind():
    """The real tree holds arrows: a checker that found none would pass everything."""
    arrows = {
        (layer_of(module), layer_of(found.target))
        for module, path in MODULES.items()
        for found in imports_of(path.read_text(encoding="utf-8"), module)
    }
    assert {("data", "_ext"), ("scores", "statistics"), ("models", "search"), ("estimators", "models")} <= arrows


# ---- what an import brings in ----


def loaded_by(statement):
    """Return the top-level packages in memory of a fresh interpreter after `statement`."""
    code = f"import sys; {statement}; print(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, cwd=PACKAGE.parent
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize("statement", ["import pgmx", "import pgmx.cli, pgmx.metrics, pgmx.plotting, pgmx.search"])
def test_light_imports(statement):
    assert not loaded_by(statement) & {"pgmpy", "pandas", "matplotlib", "sklearn", "scipy", "torch"}


def test_data_needs_no_pgmpy():
    assert not loaded_by("import pgmx.data, pgmx.statistics, pgmx.datasets") & {"pgmpy", "sklearn", "matplotlib"}


def test_estimators_warn_of_nothing():
    assert "pgmpy" in loaded_by("import pgmx.estimators")  # under -W error

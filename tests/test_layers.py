"""Imports point one way, between packages and inside each, and the heavy ones stay where they belong.

`tests/helpers/import_order.py` is the table. Imports inside functions and under ``if TYPE_CHECKING:`` count like any
other.
"""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

import pgmx
from helpers.import_order import ORDER

PACKAGE = Path(pgmx.__file__).parent
MOST_MODULES = 12

# Where a foreign package may be imported at the top of a module; leaves may import it inside functions.
HOMES = {
    "pgmpy": {"models", "scores", "estimators"},
    "pandas": {"data", "models", "datasets"},
    "matplotlib": set(),
}
LEAVES = {"datasets", "metrics", "plotting", "cli"}
# The one arrow against the order: users look for a report on the learner that it is about.
AGAINST_THE_ORDER = {("pgmx.estimators.base", "pgmx.plotting.reports.page")}
# Importing pgmpy.estimators warns every user of a move that only pgmx can make, so one module does it, with a filter.
KEEPERS = {"pgmpy.estimators": "pgmx.models.pgmpy_estimators"}


class Import(NamedTuple):
    target: str  # dotted name of what is imported
    line: int
    lazy: bool  # inside a function
    typing: bool  # under TYPE_CHECKING, which never runs


def list_imports(source, module):
    """Return what the source of `module` imports, relative names resolved, ``from a import b`` as a.b."""
    imports = []
    package = module.split(".")[:-1]

    def visit(node, lazy, typing):
        if isinstance(node, ast.Import):
            imports.extend(Import(alias.name, node.lineno, lazy, typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            imports.extend(Import(f"{stem}.{alias.name}", node.lineno, lazy, typing) for alias in node.names)
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for field, value in ast.iter_fields(node):
            guarded = typing or (
                field == "body" and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
            )
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, lazy, guarded)

    visit(ast.parse(source), False, False)
    return imports


def list_modules(package):
    """Return the path of each module by its dotted name, a package's __init__ as ``package.__init__``."""
    paths = sorted(package.rglob("*.py"))
    return {".".join(path.relative_to(package.parent).with_suffix("").parts): path for path in paths}


MODULES = list_modules(PACKAGE)


def resolve(name, modules=MODULES):
    """Return the module that an import of `name` runs, None for a name outside pgmx."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        stem = ".".join(parts[:length])
        for candidate in (stem, f"{stem}.__init__"):
            if candidate in modules:
                return candidate
    return None


def part_ways(module, target):
    """Return the folder that holds both modules, and the entry of each in it."""
    ours, theirs = module.split("."), target.split(".")
    depth = next(d for d in range(len(ours)) if ours[d] != theirs[d])
    return "/".join(ours[:depth]), ours[depth], theirs[depth]


def rank_entries(folder):
    """Return the tier of each entry of a folder, its __init__ after all others."""
    tiers = [tier.split() for tier in ORDER[folder]] + [["__init__"]]
    return {entry: tier for tier, entries in enumerate(tiers) for entry in entries}


def find_faults(source, module):
    """Return what is wrong with the imports of one module, as sentences."""
    faults = []
    home = module.split(".")[1]
    for target, line, lazy, typing in list_imports(source, module):
        where = f"{module}, line {line}"
        inside = resolve(target)
        if lazy and (module, target) in AGAINST_THE_ORDER:
            continue
        if inside is not None and inside not in {module, "pgmx.__init__"}:
            folder, ours, theirs = part_ways(module, inside)
            ranks = rank_entries(folder)
            if ours not in ranks or theirs not in ranks or ranks[theirs] >= ranks[ours]:
                faults.append(f"{where}: in {folder}, {ours} imports {theirs} ({target}), an arrow the wrong way")
            elif module == "pgmx.__init__" and not typing:
                faults.append(f"{where}: the package itself imports {target}; importing pgmx must stay light")
        elif target.startswith("pgmx.") and inside == "pgmx.__init__" and target.split(".")[1:] != ["__version__"]:
            faults.append(f"{where}: there is no {target}")
        foreign = target.split(".")[0]
        if foreign in HOMES and home not in HOMES[foreign] and not typing and not (lazy and home in LEAVES):
            faults.append(f"{where}: {foreign} does not belong in {home}")
        for door, keeper in KEEPERS.items():
            if f"{target}.".startswith(f"{door}.") and module != keeper:
                faults.append(f"{where}: {door} is imported in {keeper} only")
    return faults


@pytest.mark.parametrize("module", MODULES)
def test_imports(module):
    assert not find_faults(MODULES[module].read_text(encoding="utf-8"), module)


def folders():
    """Return the folders of modules, the package itself among them, as the table names them."""
    return sorted({"/".join(path.parent.relative_to(PACKAGE.parent).parts) for path in MODULES.values()})


@pytest.mark.parametrize("folder", folders())
def test_folder_is_in_the_table(folder):
    path = PACKAGE.parent / folder
    modules = {module.stem for module in path.glob("*.py")} - {"__init__"}
    inner = {inside.name for inside in path.iterdir() if inside.is_dir() and any(inside.glob("*.py"))}
    assert sorted(" ".join(ORDER.get(folder, [])).split()) == sorted(modules | inner)
    assert len(modules) <= MOST_MODULES


@pytest.mark.parametrize("folder", folders())
def test_init_is_a_map_of_its_folder(folder):
    text = ast.get_docstring(ast.parse((PACKAGE.parent / folder / "__init__.py").read_text(encoding="utf-8")))
    entries = " ".join(ORDER[folder]).split()
    assert text, folder
    if folder != "pgmx/_ext" and len(entries) > 1:
        assert [entry for entry in entries if f"`{entry}`" not in text] == []


def test_table_names_no_folder_that_is_gone():
    assert set(ORDER) <= set(folders())


# ---- the checker itself ----


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pgmx.data.inputs", "from pgmx.scores import BIC"),
        ("pgmx.data.inputs", "import pgmx.statistics.counts"),
        ("pgmx.data.inputs", "from pgmx.data import DiscreteTable"),
        ("pgmx.data.table", "from pgmx.data.frame import Frame"),
        ("pgmx.data.table", "from pgmx.data.pieces.chunks import CHUNK_ROWS"),
        ("pgmx.scores.gains", "from pgmx import search"),
        ("pgmx.scores.gains", "def f():\n    from pgmx.estimators import HillClimbSearch"),
        ("pgmx.search.dag.state", "from ...estimators import HillClimbSearch"),
        ("pgmx.search.dag.hill_climb", "from .restarts import restart"),
        ("pgmx.search.__init__", "from ..estimators.bayesian.hill_climb import HillClimbSearch"),
        ("pgmx.solvers.markov.proximal", "from pgmx.search.edges import grafting"),
        ("pgmx.estimators.bayesian.hill_climb", "import pgmx.plotting"),
        ("pgmx.estimators.base", "from pgmx.plotting.reports import page"),
        ("pgmx.estimators.base", "def f():\n    from pgmx.plotting import save_picture"),
        ("pgmx.models.strengths", "def f():\n    import pgmx.cli"),
        ("pgmx.metrics.curve", "from pgmx.datasets import sample"),
        ("pgmx.scores.discrete.bic", "from pgmx.nowhere import x"),
        ("pgmx.scores.gains", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pgmx.search import dag"),
        ("pgmx.search.dag.state", "import pgmpy"),
        ("pgmx.search.dag.state", "def f():\n    from pgmpy.base import DAG"),
        ("pgmx.metrics.graphs", "from pgmpy.base import DAG"),
        ("pgmx.plotting.draw", "import matplotlib.pyplot as plt"),
        ("pgmx.scores.discrete.bic", "import pandas as pd"),
        ("pgmx.estimators.bayesian.hill_climb", "class A:\n    def f(self):\n        import pandas"),
        ("pgmx.estimators.bayesian.hill_climb", "from pgmpy.estimators import StructureEstimator"),
        ("pgmx.models.strengths", "from pgmpy import estimators"),
        ("pgmx.__init__", "from pgmx.data import encode"),
        ("pgmx.estimators.bayesian.hill_climb", "import pgmx.__main__"),
    ],
)
def test_checker_sees_a_wrong_import(module, source):
    assert len(find_faults(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "pgmx.scores.discrete.bic",
            "from pgmx.scores.discrete.base import DiscreteScore\nfrom pgmx.data import encode",
        ),
        (
            "pgmx.estimators.bayesian.hill_climb",
            "from pgmpy import config\nfrom pgmx.models import to_dag\nimport numpy",
        ),
        ("pgmx.models.pgmpy_estimators", "from pgmpy.estimators import StructureEstimator"),
        ("pgmx.cli.learn.command", "from pgmx import __version__\nfrom pgmx.plotting import draw\nimport pgmx"),
        ("pgmx.metrics.graphs", "def f():\n    from pgmpy.base import DAG\n    import pandas"),
        ("pgmx.search.dag.hill_climb", "from .state import DagState\nfrom pgmx._ext import _counts"),
        ("pgmx.scores.gains", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas as pd"),
    ],
)
def test_checker_lets_right_imports_pass(module, source):
    assert not find_faults(source, module)


def test_checker_is_not_blind():
    """The real tree holds arrows: a checker that found none would pass everything."""
    arrows = set()
    for module, path in MODULES.items():
        for one in list_imports(path.read_text(encoding="utf-8"), module):
            target = resolve(one.target)
            if target not in {None, module, "pgmx.__init__"}:
                folder, ours, theirs = part_ways(module, target)
                arrows.add((folder, ours, theirs))
    assert {("pgmx", "data", "_ext"), ("pgmx", "search", "scores"), ("pgmx", "estimators", "models")} <= arrows
    assert {("pgmx/data", "pieces", "frame"), ("pgmx/search/dag", "hill_climb", "state")} <= arrows


# ---- what an import brings in ----


def loaded_by(statement, whole=False):
    """Return the top-level packages in memory of a fresh interpreter after `statement`, or all modules."""
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, cwd=PACKAGE.parent
    )
    assert done.returncode == 0, done.stderr
    return {name if whole else name.split(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("statement", ["import pgmx", "import pgmx.cli, pgmx.metrics, pgmx.plotting, pgmx.search"])
def test_light_imports(statement):
    assert not loaded_by(statement) & {"pgmpy", "pandas", "matplotlib", "sklearn", "scipy", "torch"}


def test_data_needs_no_pgmpy():
    assert not loaded_by("import pgmx.data, pgmx.statistics, pgmx.datasets") & {"pgmpy", "sklearn", "matplotlib"}


def test_answers_about_rows_need_no_pgmpy_at_the_workers():
    networks = "pgmx.models.markov.row_queries, pgmx.models.gaussian.row_queries, pgmx.models.mixed.queries"
    assert not loaded_by(f"import {networks}, pgmx.inference.likelihood") & {"pgmpy", "networkx", "sklearn"}


def test_gaussian_learners_need_no_pgmpy_classes():
    rows = [[1.0, 2.0], [2.0, 1.0], [3.0, 5.0]]
    code = f"from pgmx.estimators import GraphicalLasso; GraphicalLasso(lam=0.5).fit({rows})"
    loaded = loaded_by(code, whole=True)
    assert "sklearn.base" in loaded
    assert {name for name in loaded if name.startswith("pgmpy.")} == {"pgmpy.global_vars"}  # the switch of the bars


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["HillClimbSearch", "OnlineEdgeGrafting"])
def test_pgmpys_inference_warns_of_nothing_beside_a_learner(learner):
    loaded = loaded_by(f"from pgmx.estimators import {learner}; import pgmpy.inference", whole=True)  # under -W error
    assert "pgmpy.inference" in loaded


@pytest.mark.slow
def test_estimators_warn_of_nothing():
    assert "pgmpy" in loaded_by("from pgmx.estimators import *")  # under -W error


# ---- names that are imported when they are asked for ----

ON_DEMAND = sorted(
    module.removesuffix(".__init__")
    for module, path in MODULES.items()
    if module.endswith("__init__") and "import_on_demand(" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("package", ON_DEMAND)
def test_names_on_demand_are_those_that_type_checkers_read(package):
    module = import_module(package)
    imports = list_imports(Path(module.__file__).read_text(encoding="utf-8"), f"{package}.__init__")
    stated = {one.target for one in imports if one.typing}
    homes = getattr(module, "_HOMES", {})  # a package may import all its names itself
    assert {f"{package}.{home}.{name}" for name, home in homes.items()} == stated
    assert set(homes) <= set(module.__all__) <= set(dir(module))
    for name, home in homes.items():
        assert getattr(module, name) is getattr(import_module(f"{package}.{home}"), name)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_packages_with_names_on_demand():
    assert {"pgmx.data", "pgmx.estimators", "pgmx.models"} <= set(ON_DEMAND)

"""Packages import in one order, modules of a package without circles, and heavy packages only where they belong.

Imports inside functions and under ``if TYPE_CHECKING:`` count like any other.
"""

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

import pgmx

PACKAGE = Path(pgmx.__file__).parent
MOST_MODULES = 15

#: The packages and top modules of pgmx. Each may import what an earlier line names.
ORDER = [
    "_ext archives atomic checks lookup",
    "fitted",
    "data graphs runs",
    "parallel",
    "statistics",
    "inference",
    "models",
    "solvers scores ci_tests",
    "search",
    "estimators streaming",
    "datasets metrics plotting",
    "cli",
    "__main__",
]
RANKS = {entry: rank for rank, entries in enumerate(ORDER) for entry in entries.split()}

# Packages and modules that may import a foreign package at their top; leaves may import it inside functions.
HOMES = {
    "pgmpy": {"models", "scores", "ci_tests.choice", "estimators", "inference.pgmpy_classes"},
    "pandas": {"data", "models", "ci_tests.base", "datasets", "inference.effects", "inference.information"},
    "matplotlib": set(),
}
LEAVES = {"datasets", "metrics", "plotting", "cli"}
# The arrows against the order: users look for a report on the learner that it is about, ask questions of files, and
# save and load a network by its methods, as in pgmpy.
AGAINST_THE_ORDER = {
    ("pgmx.models.bayesian.discrete_network", "pgmx.models.any_model.read_model"),
    ("pgmx.models.bayesian.discrete_network", "pgmx.models.any_model.save_model"),
    ("pgmx.estimators.base", "pgmx.plotting.reports.page"),
    ("pgmx.inference.problem", "pgmx.models.any_model"),
}
# Importing pgmpy.estimators warns every user of a move that only pgmx can make, so one module does it, with a filter.
KEEPERS = {"pgmpy.estimators": "pgmx.models.pgmpy_estimators"}


class Import(NamedTuple):
    """An import of a module."""

    target: str  # dotted name of what is imported
    line: int
    lazy: bool  # inside a function
    typing: bool  # under TYPE_CHECKING, which never runs


@cache
def list_imports(source, module):
    """Return the imports in the source of `module`; relative names are resolved, ``from a import b`` is a.b."""
    if "import" not in source:
        return []
    imports = []
    package = module.split(".")[:-1]

    def visit(node, lazy, typing):
        if isinstance(node, ast.Import):
            imports.extend(Import(alias.name, node.lineno, lazy, typing) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            imports.extend(Import(f"{stem}.{alias.name}", node.lineno, lazy, typing) for alias in node.names)
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        guards = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for field in ("body", "orelse", "handlers", "cases", "finalbody"):
            for child in getattr(node, field, ()):
                visit(child, lazy, typing or (guards and field == "body"))

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
            package = inside.split(".")[1]
            if home not in {package, "__init__"} and RANKS.get(package, len(ORDER)) >= RANKS.get(home, -1):
                faults.append(
                    f"{where}: {home} imports {package} ({target}). Move the function that both need into a package "
                    "which ORDER in tests/test_layers.py lists before both, or list a new package there."
                )
            elif module == "pgmx.__init__" and not typing:
                faults.append(
                    f"{where}: pgmx/__init__.py imports {target}, but `import pgmx` must stay light. Import it inside "
                    "the function that needs it."
                )
        elif target.startswith("pgmx.") and inside == "pgmx.__init__" and target.split(".")[1:] != ["__version__"]:
            faults.append(f"{where}: there is no {target}. Correct the name, or remove the import.")
        foreign = target.split(".")[0]
        homes = HOMES.get(foreign, {home})
        if not {home, module.removeprefix("pgmx.")} & homes and not typing and not (lazy and home in LEAVES):
            faults.append(
                f"{where}: pgmx/{home}/ may not import {foreign}. HOMES in tests/test_layers.py lists the packages "
                "that may: move the function there, or pass arrays instead."
            )
        for door, keeper in KEEPERS.items():
            if f"{target}.".startswith(f"{door}.") and module != keeper:
                faults.append(f"{where}: import {door} from {keeper}, the only module that may import it.")
    return faults


def test_imports():
    faults = [
        fault for module, path in MODULES.items() for fault in find_faults(path.read_text(encoding="utf-8"), module)
    ]
    assert not faults, "\n".join(faults)


def test_every_package_has_a_rank():
    entries = {module.split(".")[1] for module in MODULES} - {"__init__"}
    assert entries == set(RANKS), "ORDER in tests/test_layers.py lists each package and top module of pgmx once"


def find_circles(sources):
    """Return the circles of imports among modules of one package, given the source of each module."""
    arrows = nx.DiGraph()
    for module, source in sources.items():
        bound = [one for one in list_imports(source, module) if (module, one.target) not in AGAINST_THE_ORDER]
        targets = {resolve(one.target, sources) for one in bound} - {None, module}
        arrows.add_edges_from((module, target) for target in targets if target.split(".")[1] == module.split(".")[1])
    return [sorted(found) for found in nx.strongly_connected_components(arrows) if len(found) > 1]


def test_modules_import_without_circles():
    circles = find_circles({module: path.read_text(encoding="utf-8") for module, path in MODULES.items()})
    advice = "these modules import each other: move the functions that both need into a third module, or merge them"
    assert not circles, f"{advice}: {circles}"


def test_folders_are_small():
    counts = Counter(path.parent.relative_to(PACKAGE.parent) for path in MODULES.values() if path.stem != "__init__")
    large = [f"{folder} has {count} modules" for folder, count in sorted(counts.items()) if count > MOST_MODULES]
    advice = f"at most {MOST_MODULES}: merge modules of one idea, or move some to a folder of at least 5"
    assert not large, f"{'; '.join(large)} ({advice})"


# ---- the checker itself ----


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pgmx.data.inputs", "from pgmx.scores import BIC"),
        ("pgmx.data.inputs", "import pgmx.statistics.counts"),
        ("pgmx.scores.gains", "from pgmx import search"),
        ("pgmx.scores.gains", "def f():\n    from pgmx.estimators import HillClimbSearch"),
        ("pgmx.search.dag.state", "from ...estimators import HillClimbSearch"),
        ("pgmx.search.__init__", "from ..estimators.bayesian.hill_climb import HillClimbSearch"),
        ("pgmx.solvers.markov.exact_loss", "from pgmx.search.edges import grafting"),
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
        ("pgmx.plotting.graphs.draw", "import matplotlib.pyplot as plt"),
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


@pytest.mark.parametrize(
    ("sources", "circles"),
    [
        ({"a": "from pgmx.data.b import f", "b": "def g():\n    from . import a"}, [["a", "b"]]),
        ({"a": "from pgmx.data import f", "__init__": "from .a import f", "b": ""}, [["__init__", "a"]]),
        ({"a": "from .b import f", "b": "from .c import f", "c": "from pgmx.data.a import f"}, [["a", "b", "c"]]),
        ({"a": "from .b import f\nfrom .c import f", "b": "from .c import f", "c": "import numpy"}, []),
    ],
)
def test_checker_sees_circles(sources, circles):
    found = find_circles({f"pgmx.data.{name}": source for name, source in sources.items()})
    assert found == [[f"pgmx.data.{name}" for name in circle] for circle in circles]


def test_checker_is_not_blind():
    """The real tree holds arrows: a checker that found none would pass everything."""
    arrows = set()
    for module, path in MODULES.items():
        for one in list_imports(path.read_text(encoding="utf-8"), module):
            target = resolve(one.target)
            if target not in {None, module, "pgmx.__init__"}:
                arrows.add((module.split(".")[1], target.split(".")[1]))
    assert {("data", "_ext"), ("search", "scores"), ("estimators", "models"), ("data", "data")} <= arrows


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
    networks = "pgmx.models.markov_queries, pgmx.models.gaussian_queries, pgmx.models.mixed.queries"
    assert not loaded_by(f"import {networks}, pgmx.inference.likelihood") & {"pgmpy", "networkx", "sklearn"}


@pytest.mark.slow
def test_learners_load_what_pgmpys_estimators_load():
    theirs = loaded_by("import warnings; warnings.simplefilter('ignore'); import pgmpy.estimators")
    assert loaded_by("from pgmx.estimators import GraphicalLasso") - theirs == {"pgmx", "_shared"}  # _shared: kernels


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
    assert {f"{home}.{name}" for name, home in homes.items()} == stated
    assert set(homes) <= set(module.__all__) <= set(dir(module))
    for name, home in homes.items():
        assert getattr(module, name) is getattr(import_module(home), name)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_packages_with_names_on_demand():
    assert {"pgmx.data", "pgmx.estimators", "pgmx.models"} <= set(ON_DEMAND)

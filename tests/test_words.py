"""Names and lengths in the sources: actions are named by verbs, internal docstrings are short, and so are files."""

import ast
import importlib
import importlib.util
import inspect
import json
import sys
from pathlib import Path

import pytest

import pgmx

pytestmark = pytest.mark.slow  # .ci/run reads the sources with its lint

PACKAGE = Path(pgmx.__file__).parent
ROOT = Path(__file__).parents[1]
PUBLIC_PACKAGES = (
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
#: Classes that no package exports; fitted attributes of public learners are of them.
ATTRIBUTES = {
    ("pgmx.estimators.markov.path", "RegularizationPath"),
    ("pgmx.estimators.paths", "PenaltyPath"),
    ("pgmx.estimators.time_series.svarm.edge_tests", "EdgeTests"),
    ("pgmx.estimators.time_series.svarm.learner", "SVARMPath"),
}
MOST_PARTICIPLES = 10
MOST_DOCSTRING_LINES = 6
MOST_LINES = {"pgmx/**/*.py": 700, "cython_ext/**/*.pyx": 600, "tests/**/*.py": 700}

#: Participles that do not end in -ed.
IRREGULAR = """
    begun born bound broken built chosen done drawn driven found given gone grown held kept known laid led left lost
    made met paid said seen sent shown spent spoken taken thought thrown told understood undone won written
"""
#: Words that end in -ed and are none, or are adjectives of the field.
NO_PARTICIPLES = """
    bed embed exceed feed hundred indeed need proceed red seed shed speed
    directed fixed gridded lagged mixed nested undirected unobserved weighted
"""


def is_participle(name):
    """Whether the first word of a name is a past participle."""
    word = name.strip("_").split("_")[0]
    return word in IRREGULAR.split() or (word.endswith("ed") and word not in NO_PARTICIPLES.split())


def list_definitions(tree, owners=()):
    """Yield the functions and classes of a module, each with the names of the classes and functions around it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield owners, node
            yield from list_definitions(node, (*owners, node.name))
        elif not isinstance(node, ast.expr):  # no definition is in an expression
            yield from list_definitions(node, owners)


def count_docstring_lines(node):
    """Return how many lines the docstring of a function or class takes, 0 where there is none."""
    if ast.get_docstring(node, clean=False) is None:
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


def find_public_objects():
    """Return what users see, as (module, name): what public packages export, and the classes these inherit from."""
    packages = [importlib.import_module(f"pgmx.{name}") for name in PUBLIC_PACKAGES]
    exported = [getattr(package, name) for package in packages for name in package.__all__]
    classes = [base for thing in exported if inspect.isclass(thing) for base in thing.__mro__]
    functions = [thing for thing in exported if inspect.isfunction(thing)]
    return {(thing.__module__, thing.__qualname__) for thing in (*classes, *functions)} | ATTRIBUTES


def is_public(module, owners, node, public):
    """Whether users see a function or class; the docstring of a command is its help."""
    if any("command" in ast.unparse(decorator) for decorator in node.decorator_list):
        return True
    is_private = node.name.startswith("_") and node.name != "__init__"
    return not is_private and (module, (*owners, node.name)[0]) in public


@pytest.fixture(scope="module")
def definitions():
    """Every function and class of the package as (module, owners, node)."""
    rows = []
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        rows += [(module, owners, node) for owners, node in list_definitions(tree)]
    return rows


def test_functions_are_not_named_by_participles(definitions):
    names = [
        ".".join((module, *owners, node.name))
        for module, owners, node in definitions
        if not isinstance(node, ast.ClassDef) and is_participle(node.name)
    ]
    advice = "name functions by verbs (`draw_samples`, not `drawn_samples`), and values by nouns; these are participles"
    assert len(names) <= MOST_PARTICIPLES, "\n".join([f"{advice}, at most {MOST_PARTICIPLES} may stay:", *names])


def test_internal_docstrings_are_short(definitions):
    public = find_public_objects()
    long = [
        f"{'.'.join((module, *owners, node.name))}: {count_docstring_lines(node)} lines"
        for module, owners, node in definitions
        if count_docstring_lines(node) > MOST_DOCSTRING_LINES and not is_public(module, owners, node, public)
    ]
    advice = (
        f"at most {MOST_DOCSTRING_LINES} lines for names that users do not see: one sentence, then shapes or units. "
        "Move longer reasons into comments at the code that they explain, or into the docstring of the module"
    )
    assert not long, "\n".join([f"{advice}:", *long])


@pytest.mark.parametrize("pattern", MOST_LINES)
def test_files_are_short(pattern):
    lengths = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.glob(pattern)
    }
    long = [f"{path}: {length} lines" for path, length in sorted(lengths.items()) if length > MOST_LINES[pattern]]
    advice = f"at most {MOST_LINES[pattern]} lines: move the second idea of the file into a new one, or shorten it"
    assert not long, f"{', '.join(long)} ({advice})"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("drawn", True), ("_checked_rows", True), ("draw_samples", False), ("seed", False), ("weighted_sum", False)],
)
def test_what_a_participle_is(name, expected):
    assert is_participle(name) is expected


def test_what_is_public():
    tree = ast.parse('class Model:\n    def fit(self):\n        """One\n\n        more."""\n    def _run(self): ...')
    facts = {
        node.name: (is_public("pgmx.a", owners, node, {("pgmx.a", "Model")}), count_docstring_lines(node))
        for owners, node in list_definitions(tree)
    }
    assert facts == {"Model": (True, 0), "fit": (True, 3), "_run": (False, 0)}


def test_benchmark_records_can_be_read():
    records = sorted((ROOT / "tests/benchmarks/results").glob("*.json"))
    assert records
    for path in records:
        json.loads(path.read_text(encoding="utf-8"))


def load_tool(name):
    """Return a script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_phrases_with_a_better_word_are_rare():
    """The fixed phrases are at most a tenth of what they were, none above a fifth; common words at most a third."""
    tool = load_tool("count_phrases")
    counts = {name: parts["package"] for name, parts in tool.count_phrases(parts=["package"]).items()}
    advice = (
        "write the words that `python tools/count_phrases.py` shows on the right; --show PHRASE lists the sentences"
    )
    for name, phrase in tool.PHRASES.items():
        most = phrase.before // (3 if phrase.is_common else 5)
        assert counts[name] <= most, f"{name!r} occurs {counts[name]} times, at most {most}: {advice}"
    fixed = [name for name, phrase in tool.PHRASES.items() if not phrase.is_common]
    assert sum(counts[name] for name in fixed) <= sum(tool.PHRASES[name].before for name in fixed) // 10, advice


def test_phrases_are_counted_in_docstrings_messages_and_comments():
    tool = load_tool("count_phrases")
    source = '''"""What beside is."""\n# beside a comment\nraise ValueError(f"beside {x} beside")\nname = "beside"\n'''
    texts = list(tool.list_python_prose(source))
    assert tool.count_phrase(tool.PHRASES["beside"], " ".join(texts)) == 4
    assert tool.count_phrase(tool.PHRASES["of states"], "the number of states, columns of states") == 1

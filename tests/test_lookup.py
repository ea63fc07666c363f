"""Unknown names and options are refused with a suggestion; public names are listed, and packages load on demand."""

import ast
import inspect
import pickle
import pkgutil
import subprocess
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

import pgmx
from pgmx.estimators import BaseStructureLearner, HillClimbSearch, TensorSEM
from pgmx.lookup import PACKAGES, explain_options, suggest
from pgmx.streaming import RakerClassifier, StreamLearner


def test_a_clone_without_kernels_says_what_to_do(tmp_path):
    folder = tmp_path / "pgmx" / "_ext"
    folder.mkdir(parents=True)
    source = Path(pgmx.__file__).parent / "_ext" / "__init__.py"
    spec = spec_from_file_location("clone", source, submodule_search_locations=[str(folder)])
    module = module_from_spec(spec)
    with pytest.raises(ImportError, match="start Python in another folder if pgmx is installed"):
        spec.loader.exec_module(module)
    (folder / "_counts.so").touch()
    spec.loader.exec_module(module)


@pytest.mark.parametrize(
    ("package", "name", "suggestion"),
    [
        ("pgmx", "HillClimbSearch", "pgmx.estimators.HillClimbSearch"),
        ("pgmx", "shd", "pgmx.metrics.shd"),
        ("pgmx", "HilClimbSearch", "pgmx.estimators.HillClimbSearch"),
        ("pgmx", "estimator", "'estimators'"),
        ("pgmx", "repotr", "'report'"),
        ("pgmx.estimators", "HilClimbSearch", "'HillClimbSearch'"),
        ("pgmx.estimators", "hillclimbsearch", "'HillClimbSearch'"),
        ("pgmx.estimators", "BIC", "pgmx.scores.BIC"),
        ("pgmx.models", "save_modle", "'save_model'"),
        ("pgmx.data", "red_table", "'read_table'"),
        ("pgmx.inference", "marginal", "'marginals'"),
        ("pgmx.metrics", "sdh", "'shd'"),
        ("pgmx.plotting", "plot_grap", "'plot_graph'"),
        ("pgmx.datasets", "load_exampel", "'load_example'"),
        ("pgmx.scores", "BDEU", "'BDeu'"),
        ("pgmx.streaming", "RakerClasifier", "'RakerClassifier'"),
    ],
)
def test_unknown_name_gets_a_suggestion(package, name, suggestion):
    module = import_module(package)
    with pytest.raises(AttributeError) as error:
        getattr(module, name)
    assert str(error.value) == f"module {package!r} has no attribute {name!r}, did you mean {suggestion}?"
    assert not hasattr(module, name)
    with pytest.raises(ImportError) as error:
        exec(f"from {package} import {name}")
    assert str(error.value) == f"cannot import name {name!r} from {package!r}, did you mean {suggestion}?"


@pytest.mark.parametrize("name", ["__wrapped__", "_ipython_display_", "qqqqqq"])
def test_names_without_likeness_and_private_names_get_none(name):
    with pytest.raises(AttributeError) as error:
        getattr(pgmx, name)
    assert str(error.value) == f"module 'pgmx' has no attribute {name!r}"


def test_python_adds_no_second_suggestion():
    call = "import pgmx.estimators; pgmx.estimators.HilClimbSearch"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    assert done.stderr.lower().count("did you mean") == 1


@pytest.mark.slow
def test_modules_are_imported_from_packages_as_ever():
    # Python asks the package for the name first, and `base` has a similar public name
    call = "from pgmx.estimators import base, cost; from pgmx import checks; print(base.__name__)"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True)
    assert done.stdout == "pgmx.estimators.base\n"


def test_public_packages_are_those_with_public_names():
    packages = [info.name for info in pkgutil.iter_modules(pgmx.__path__) if info.ispkg and info.name != "cli"]
    assert [name for name in packages if hasattr(import_module(f"pgmx.{name}"), "__all__")] == list(PACKAGES)
    tree = ast.parse(Path(pgmx.__file__).read_text(encoding="utf-8"))
    for_checkers = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "pgmx"]
    assert [alias.name for node in for_checkers for alias in node.names] == list(PACKAGES)


def test_public_names_of_the_package():
    assert dir(pgmx) == sorted(["__version__", "report", *PACKAGES])
    assert all(hasattr(pgmx, name) for name in dir(pgmx))


def test_a_suggestion_and_a_package_import_nothing_heavy():
    call = (
        "import sys, pgmx\n"
        "assert not hasattr(pgmx, 'HillClimSearch')\n"
        "pgmx.estimators\n"
        "print([name for name in ('pgmpy', 'numpy', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_misspelt_option_gets_a_suggestion():
    with pytest.raises(TypeError, match=r"^HillClimbSearch has no option 'scoring', did you mean 'scoring_method'\?$"):
        HillClimbSearch(scoring="bic")
    with pytest.raises(TypeError, match=r"^TensorSEM has no option 'treshold', did you mean 'threshold'\?$"):
        TensorSEM(treshold=1)
    with pytest.raises(TypeError, match=r"^RakerClassifier has no option 'qqq'; its options are: loss, n_components, "):
        RakerClassifier(qqq=1)


LEARNERS = [
    (name, learner)
    for package in (pgmx.estimators, pgmx.streaming)
    for name, learner in ((name, getattr(package, name)) for name in package.__all__)
    if inspect.isclass(learner) and issubclass(learner, BaseStructureLearner | StreamLearner)
]


@pytest.mark.parametrize(("name", "learner"), [case for case in LEARNERS if not inspect.isabstract(case[1])])
def test_every_learner_explains_its_options(name, learner):
    with pytest.raises(TypeError, match=rf"^{name} has no option 'scorring_metod'"):
        learner(scorring_metod=1)


class Free(BaseStructureLearner):
    """A learner whose constructor takes any option."""

    def __init__(self, data=None, **options):
        super().__init__(data)
        self.options = options

    def _fit(self, opened, sample_weight):
        """Learn nothing."""


def test_constructors_keep_signature_and_pickles():
    parameters = inspect.signature(HillClimbSearch).parameters
    assert next(iter(parameters)) == "data"
    assert pickle.loads(pickle.dumps(HillClimbSearch(max_indegree=2))).max_indegree == 2
    assert Free(anything=1).options == {"anything": 1}


class Narrow(HillClimbSearch):
    """A learner with the constructor of another one."""


def test_subclasses_are_called_by_their_name():
    with pytest.raises(TypeError, match="^Narrow has no option 'scoring', did you mean 'scoring_method'"):
        Narrow(scoring="bic")


def test_class_without_a_constructor_is_left_alone():
    class Plain:
        pass

    explain_options(Plain)
    assert "__init__" not in vars(Plain)


def test_suggestion_of_names_that_are_no_text():
    assert suggest("x10", [1, "x1"]) == ", did you mean 'x1'?"
    assert suggest("a", []) == ""

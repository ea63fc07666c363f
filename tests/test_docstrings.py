"""Docstrings of public names: numpydoc's own checks, and the sections that the project asks for on top.

No code of ``numpydoc.validate`` may occur except the ones below, each with its reason. Messages name the docstring and
the code.
"""

import ast
import dataclasses
import importlib
import inspect
import re

import pytest
from numpydoc.docscrape import ClassDoc, get_doc_object
from numpydoc.validate import ERROR_MSGS, validate

from pgmx.estimators import BaseStructureLearner, BayesianNetworkClassifier
from pgmx.scores.discrete.base import DiscreteScore
from pgmx.streaming import StreamClassifier, StreamLearner

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
    "statistics",
    "streaming",
)

LEFT_OUT = {
    "ES01": "a second paragraph is written where one sentence is not enough",
    "EX01": "asked for below, of learners, scores and functions; a method's example is that of its class",
    "SA01": "the packages are small; a reader finds the neighbours in the package's own docstring",
    "SA04": "goes with SA01",
    "PR08": "descriptions may begin with a symbol of the formula or with a name as pgmpy spells it",
    "GL09": "nothing is deprecated yet",
}
# Methods explain themselves in their first sentence; these must hold for them too.
OF_METHODS = {"GL08", "SS02", "SS03", "SS05", "PR02", "PR04", "PR07", "RT03"}

EXEMPT = {
    ("pgmx.estimators.base.BaseStructureLearner", "PR01"): "numpydoc reads pgmpy's constructor, which is never called",
    ("pgmx.cli.main", "PR01"): "click turns the function into a command; its options have help texts",
}


def public_names():
    """Return the public classes and functions, by the full name of the place where they are defined."""
    found = {}
    for package in PACKAGES:
        module = importlib.import_module(f"pgmx.{package}")
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"{thing.__module__}.{thing.__qualname__}"] = thing
    return found


PUBLIC = public_names()
CLASSES = {name: thing for name, thing in PUBLIC.items() if inspect.isclass(thing)}
FUNCTIONS = {name: thing for name, thing in PUBLIC.items() if inspect.isfunction(thing)}
LEARNERS = {
    name: thing
    for name, thing in CLASSES.items()
    if issubclass(thing, BaseStructureLearner | StreamLearner | BayesianNetworkClassifier)
    and thing not in (BaseStructureLearner, StreamLearner, StreamClassifier)
}
SCORES = {n: cls for n, cls in CLASSES.items() if issubclass(cls, DiscreteScore) and cls is not DiscreteScore}
METHODS = {
    f"{name}.{method}": vars(thing)[method]
    for name, thing in CLASSES.items()
    for method, member in vars(thing).items()
    if not method.startswith("_") and (inspect.isfunction(member) or isinstance(member, property | classmethod))
}
OWNERS = (
    *LEARNERS,
    "pgmx.estimators.base.BaseStructureLearner",
    "pgmx.streaming.base.StreamLearner",
    "pgmx.streaming.classifier.StreamClassifier",
)
LEARNER_METHODS = [
    name for name, method in METHODS.items() if inspect.isfunction(method) and name.startswith(tuple(OWNERS))
]


def complaints(name, codes):
    """Return the errors of numpydoc for a name, of the given codes."""
    found = [f"{code} {words}" for code, words in validate(name)["errors"] if code in codes]
    return [words for words in found if (name, words[:4]) not in EXEMPT]


def sections_of(thing):
    return {name for name, content in get_doc_object(thing)._parsed_data.items() if content}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name(name):
    codes = set(ERROR_MSGS) - set(LEFT_OUT)
    if dataclasses.is_dataclass(PUBLIC[name]) or hasattr(PUBLIC[name], "_fields"):
        codes -= {"PR01"}  # checked below: the fields are documented, as parameters or as attributes
    assert not complaints(name, codes)


@pytest.mark.parametrize("owner", CLASSES)
def test_public_methods(owner):
    found = {name: complaints(name, OF_METHODS) for name in METHODS if name.rpartition(".")[0] == owner}
    assert not any(found.values()), found


def test_methods_of_learners():
    """The methods that users of pgmpy and scikit-learn call are documented in full."""
    found = {name: complaints(name, set(ERROR_MSGS) - set(LEFT_OUT)) for name in LEARNER_METHODS}
    assert not any(found.values()), found


@pytest.mark.parametrize("name", [name for name, thing in CLASSES.items() if dataclasses.is_dataclass(thing)])
def test_fields_of_a_dataclass(name):
    documentation = ClassDoc(PUBLIC[name])
    told = {entry.name for section in ("Parameters", "Attributes") for entry in documentation[section] if entry.desc}
    assert {field.name for field in dataclasses.fields(PUBLIC[name])} <= told


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_tells_all(name):
    """Formula, attributes, what is raised, cost in n and N, source, and an example."""
    wanted = {"Parameters", "Attributes", "Raises", "Notes", "References", "Examples"}
    assert wanted <= sections_of(PUBLIC[name])
    assert ".. math::" in PUBLIC[name].__doc__


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_documents_its_parameters_with_their_defaults(name):
    signature = inspect.signature(PUBLIC[name]).parameters
    for entry in ClassDoc(PUBLIC[name])["Parameters"]:
        defaults = [signature[part.strip()].default for part in entry.name.split(",")]
        told = re.search(r"default=(.+)$", entry.type)
        if entry.name == "data":
            assert entry.type.endswith("optional")
        else:
            assert told, f"{entry.name} : {entry.type}"
            assert [ast.literal_eval(told[1])] * len(defaults) == defaults


@pytest.mark.filterwarnings("ignore::pgmx.estimators.IdentifiabilityWarning")
@pytest.mark.filterwarnings("ignore:fewer than 30 series")  # of the model of one series
@pytest.mark.parametrize("name", LEARNERS)
def test_learner_documents_what_fit_sets(name):
    from pandas import DataFrame

    from helpers.learning_tables import dependent_frame
    from helpers.series_learners import SERIES_LEARNERS
    from helpers.stream_learners import find_stream
    from pgmx.estimators import GraphicalLasso, MarkovBlanket, Nonparanormal

    data, targets = dependent_frame(0), None
    if issubclass(PUBLIC[name], StreamLearner):
        data, targets = find_stream(PUBLIC[name]).draw(50)
        data = DataFrame(data, columns=list("abcd"))
    if PUBLIC[name] is BayesianNetworkClassifier:
        targets = data["a"]
    # Nonparanormal alone learns no graph
    given = {Nonparanormal: {"estimator": GraphicalLasso()}, MarkovBlanket: {"target": data.columns[0]}}
    options = given.get(PUBLIC[name], {})
    if PUBLIC[name] in SERIES_LEARNERS:
        options = SERIES_LEARNERS[PUBLIC[name]].make_options(data.shape[1])
    fitted = PUBLIC[name](**options).fit(data, targets)
    told = {part.strip() for entry in ClassDoc(PUBLIC[name])["Attributes"] for part in entry.name.split(",")}
    set_by_fit = {key for key in vars(fitted) if key.endswith("_") and not key.startswith("_")}
    assert set_by_fit <= told
    assert all(hasattr(fitted, attribute) for attribute in told)


@pytest.mark.parametrize("name", SCORES)
def test_score_tells_all(name):
    assert {"Parameters", "References", "Examples"} <= sections_of(PUBLIC[name])
    assert ".. math::" in PUBLIC[name].__doc__
    assert "in nats" in PUBLIC[name].__doc__


def test_functions_have_examples():
    """Examples run as doctests."""
    bare = [n for n, thing in FUNCTIONS.items() if "Examples" not in sections_of(thing) or ">>>" not in thing.__doc__]
    assert not bare, f"add a section Examples with code that runs to the docstrings of {', '.join(bare)}"


def test_reasons_are_for_codes_that_exist():
    assert set(LEFT_OUT) <= set(ERROR_MSGS)
    assert {code for _, code in EXEMPT} <= set(ERROR_MSGS)
    assert set(ERROR_MSGS) >= OF_METHODS

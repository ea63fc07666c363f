"""Defaults: what help says, and what a learner gets when an option is not given, is what its signature says."""

import inspect

import pytest

from helpers.command_line import pgmx
from pgmx import estimators
from pgmx.cli.commands import bootstrap, learn
from pgmx.cli.methods import LAM_MIN_RATIO, LEARNER_OPTIONS, METHODS, N_RESAMPLES, default_text, make_learner
from pgmx.cli.tables import READING

PARAMETERS = [
    (option, method, parameter)
    for option, parameters in LEARNER_OPTIONS.items()
    for parameter in parameters
    for method in parameter.methods
    if parameter.name
]

#: Options of ``pgmx learn`` that all methods share, or that no learner takes.
COMMON = {*READING, "discrete", "method", "missing", "rows", "random_state", "n_jobs", "out", "plot", "report"}
COMMON |= {"reference", "quiet"}

#: What the command sets by itself: progress is for terminals, a forest without a root has no directions, and
#: exogenous inputs without a file are unknown.
OWN = {"show_progress", "return_type", "exogenous"}


def signature_default(learner, parameter):
    return inspect.signature(getattr(estimators, learner)).parameters[parameter].default


def default_options(command):
    options = command.make_context("pgmx", ["table.csv"]).params
    return {name: value for name, value in options.items() if name != "source"}


@pytest.mark.parametrize("method", METHODS)
def test_defaults_are_those_of_the_learner(method):
    parameters = [(option, parameter) for option, name, parameter in PARAMETERS if name == method]
    told = {option: parameter.default for option, parameter in parameters}
    assert told == {option: signature_default(METHODS[method], parameter.name) for option, parameter in parameters}


def test_defaults_of_the_meta_learners():
    assert signature_default("SelectedGraph", "lam_min_ratio") == LAM_MIN_RATIO
    assert signature_default("BootstrapStructure", "n_resamples") == N_RESAMPLES


def test_every_option_is_in_the_table_or_common():
    assert set(default_options(learn)) == set(LEARNER_OPTIONS) | COMMON
    assert set(default_options(bootstrap)) <= set(LEARNER_OPTIONS) | COMMON | {"resamples", "threshold"}


@pytest.mark.parametrize("method", METHODS)
def test_a_learner_without_options_is_the_default_one(method):
    options = default_options(learn) | {"method": method}
    learner = make_learner(options, {})
    expected = type(learner)().get_params()
    assert {k: v for k, v in learner.get_params().items() if k not in OWN} == {
        k: v for k, v in expected.items() if k not in OWN
    }


def test_help_shows_the_defaults():
    text = " ".join(pgmx("learn", "--help").stdout.split())
    shown = [default_text(option).strip() for option in LEARNER_OPTIONS if option != "score"]
    assert "[default: 0.1; Gaussian graphs: 0.3]" in shown
    assert [default for default in shown if default not in text] == []
    assert f"[default: {signature_default('OnlineEdgeGrafting', 'l2')}]" in text

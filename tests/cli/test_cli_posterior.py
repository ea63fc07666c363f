"""``pgmx posterior``."""

import re
from inspect import signature

import pandas as pd
import pytest

from helpers.command_line import done, refused
from pgmx.cli.commands import posterior
from pgmx.estimators import StructurePosterior


def test_edges_are_listed_with_their_probabilities(weather, workdir):
    text = done("posterior", weather, "--out", "p.csv", "--report", "p.html", "--threshold", 0.9)
    assert "method   exact over dags (bdeu, fair prior)\n" in text
    edges = re.findall(r"^(\w+) (?:->|--) (\w+) +(\d\.\d{3}) +(\d\.\d{3})$", text, re.M)
    assert {frozenset(edge[:2]) for edge in edges} == {frozenset(("rain", "wet")), frozenset(("rain", "season"))}
    table = pd.read_csv(workdir / "p.csv")
    assert list(table.columns) == ["from", "to", "strength", "direction"] and len(table) == 6
    assert (workdir / "p.html").stat().st_size > 1000


def test_options_reach_the_learner(floats):
    text = done("posterior", floats, "--score", "bic-g", "--over", "orders", "--prior", "uniform", "--quiet")
    assert "method   exact over orders (bic-g, uniform prior)\n" in text and "strength" not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--score", "aic"), "is not a log marginal likelihood"),
        (("--missing", "em"), "--missing em is not for posteriors"),
        (("--out", "model.bif"), "the suffix must be one of .csv, .graphml, .json"),
        (("--score", "nonsense"), "nonsense"),
    ],
)
def test_refusals(weather, arguments, message):
    assert message in refused("posterior", weather, *arguments)


def test_defaults_are_those_of_the_learner():
    names = {"prior": "structure_prior", "candidates": "n_candidates", "score": "scoring_method"}
    defaults = {name: parameter.default for name, parameter in signature(StructurePosterior).parameters.items()}
    given = posterior.make_context("posterior", ["table.csv"]).params
    for option, value in given.items():
        name = names.get(option, option)
        if name in defaults:
            assert value == defaults[name], option

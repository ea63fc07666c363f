"""The learners of Markov networks say the same of the options and attributes that they share."""

import inspect

import pytest
from numpydoc.docscrape import ClassDoc

from helpers.markov_tables import ALL
from pgmx.estimators import EdgeGrafting
from pgmx.estimators.markov.learner import MarkovLearner

CLASSES = sorted({getattr(make, "func", make) for make in ALL.values()}, key=lambda cls: cls.__name__)
every_class = pytest.mark.parametrize("cls", CLASSES)


def entries_of(cls, section):
    return {entry.name: (entry.type, " ".join(entry.desc)) for entry in ClassDoc(cls)[section]}


@every_class
def test_shared_options_are_described_alike(cls):
    ours, first = (entries_of(one, "Parameters") for one in (cls, EdgeGrafting))
    for name in first.keys() - {"batch", "alpha", "random_state"}:
        assert ours[name] == first[name], name


@every_class
def test_attributes_are_described_alike(cls):
    ours, first = (entries_of(one, "Attributes") for one in (cls, EdgeGrafting))
    assert {name: ours[name] for name in first} == first


@every_class
def test_shared_options_have_the_types_and_defaults_of_the_base(cls):
    ours, base = (inspect.signature(one).parameters for one in (cls, MarkovLearner))
    assert {name: ours[name] for name in base} == dict(base)

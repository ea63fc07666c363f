"""The learners of Gaussian graphical models say the same of the options and attributes that they share."""

import inspect

import pytest
from numpydoc.docscrape import ClassDoc

from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso, Nonparanormal, SelectedGraph

OWN = {"tol", "max_iter"}  # what they mean depends on the method


def entries_of(cls, section):
    return {entry.name: (entry.type, " ".join(entry.desc)) for entry in ClassDoc(cls)[section]}


@pytest.mark.parametrize("cls", [CLIME, NeighborhoodLasso])
def test_shared_options_are_described_alike(cls):
    ours, first = (entries_of(one, "Parameters") for one in (cls, GraphicalLasso))
    shared = first.keys() - OWN - {"penalize_diagonal", "max_block"}
    assert {name: ours[name] for name in shared} == {name: first[name] for name in shared}


@pytest.mark.parametrize("cls", [CLIME, NeighborhoodLasso])
def test_shared_options_have_the_same_types_and_defaults(cls):
    ours, first = (inspect.signature(one).parameters for one in (cls, GraphicalLasso))
    shared = first.keys() - OWN - {"penalize_diagonal", "max_block"}
    assert {name: ours[name] for name in shared} == {name: first[name] for name in shared}


@pytest.mark.parametrize("cls", [CLIME, NeighborhoodLasso, Nonparanormal, SelectedGraph])
def test_attributes_are_described_alike(cls):
    ours, first = (entries_of(one, "Attributes") for one in (cls, GraphicalLasso))
    assert {name: ours[name] for name in first} == first

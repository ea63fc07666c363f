"""Exact inference takes what is free, and says so where that is less than 2 GB."""

import warnings

import pytest

from pgmx.datasets import grid_network
from pgmx.inference import ApproximationWarning, marginals
from pgmx.inference.exact.components import DEFAULT_MEMORY
from pgmx.inference.problem import check_memory
from pgmx.parallel.threads import read_free_memory


def test_free_memory_is_read():
    assert 0 < read_free_memory(0) < 2**60


@pytest.mark.parametrize(("free", "granted"), [(1000, 1000), (2**40, DEFAULT_MEMORY)])
def test_no_more_than_is_free_is_taken(monkeypatch, free, granted):
    monkeypatch.setattr("pgmx.inference.exact.components.read_free_memory", lambda unknown: free)
    assert check_memory(None) == granted
    assert check_memory(5) == 5


def test_an_answer_for_want_of_free_memory_says_so(monkeypatch):
    network = grid_network(5, 5)
    monkeypatch.setattr("pgmx.inference.exact.components.read_free_memory", lambda unknown: 1000)
    with pytest.warns(ApproximationWarning, match=r"memory=1000 \(by default 2 GB, or what is free\)"):
        assert marginals(network).method != "exact"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert marginals(network, memory=2**20).method == "exact"

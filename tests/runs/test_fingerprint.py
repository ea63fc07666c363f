"""The fingerprint of a run: every option decides but those of running, and no address or hash seed does."""

import datetime
import os
import subprocess
import sys
from functools import partial

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from pgmx.estimators import BootstrapStructure, EdgeGrafting, HillClimbSearch, OnlineEdgeGrafting
from pgmx.runs.checkpoint import FREE_OPTIONS, RUN_OPTIONS, describe, fingerprint
from pgmx.scores import BDeu, EdgePrior, UniformPrior


def doubled(x):
    return 2 * x


@pytest.mark.parametrize("cls", [HillClimbSearch, EdgeGrafting, OnlineEdgeGrafting, BootstrapStructure])
def test_every_option_decides_unless_it_is_listed(cls):
    plain = fingerprint(cls())
    for name in cls().get_params(deep=False):
        changed = fingerprint(cls(**{name: "another value"}))
        assert (changed == plain) is (name in {*RUN_OPTIONS, *FREE_OPTIONS}), name


def test_each_free_option_has_its_reason():
    assert all(len(reason) > 20 for reason in FREE_OPTIONS.values())
    assert not set(FREE_OPTIONS) & set(RUN_OPTIONS)


def test_class_and_data_decide():
    prints = {
        fingerprint(HillClimbSearch()),
        fingerprint(EdgeGrafting()),
        fingerprint(HillClimbSearch(), np.arange(3)),
        fingerprint(HillClimbSearch(), np.arange(3.0)),
        fingerprint(HillClimbSearch(), np.arange(3)[::-1]),
        fingerprint(HillClimbSearch(), np.arange(3), None),
        fingerprint(HillClimbSearch(), np.arange(3), ["a"]),
    }
    assert len(prints) == 7
    assert fingerprint(HillClimbSearch(), np.arange(6)[::2]) == fingerprint(HillClimbSearch(), np.array([0, 2, 4]))


def test_an_option_in_the_form_that_the_run_reads():
    ids = {"required_edges": np.array([[0, 1]])}
    listed = EdgeGrafting(required_edges=[("a", "b")])
    as_set = EdgeGrafting(required_edges={("b", "a")})
    assert fingerprint(listed) != fingerprint(as_set)
    assert fingerprint(listed, **ids) == fingerprint(as_set, **ids) != fingerprint(as_set)


PAIRS = [
    (None, 0),
    (True, 1),
    ("1", 1),
    (1, 2),
    (0.1, 0.2),
    ([1, 2], [2, 1]),
    ([[1], 2], [1, [2]]),
    ({"a": 1}, {"a": 2}),
    (np.zeros(2), np.zeros((1, 2))),
    (EdgePrior(0.1), EdgePrior(0.2)),
    (UniformPrior(), EdgePrior(0.1)),
    (nx.DiGraph([("a", "b")]), nx.DiGraph([("b", "a")])),
    (nx.Graph([("a", "b")]), nx.DiGraph([("a", "b")])),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]})),
    (pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [2]})),
    (doubled, describe),
    (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    (np.random.default_rng(1), np.random.default_rng(2)),
    (np.random.RandomState(1), np.random.RandomState(2)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_different_values(one, other):
    assert describe(one) != describe(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, np.int8(1)),
        ((1, 2), [1, 2]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"x", "y", "z"}, frozenset("zyx")),
        (EdgePrior(0.1), EdgePrior(0.1)),
        (nx.Graph([("a", "b"), ("b", "c")]), nx.Graph([("c", "b"), ("b", "a")])),
        (pd.DataFrame({"a": ["u"]}), pd.DataFrame({"a": ["u"]})),
        (np.random.default_rng(3), np.random.default_rng(3)),
        (partial(doubled, 1).func, doubled),
        (np.array(["a", None], dtype=object), ["a", None]),
    ],
)
def test_equal_values(one, other):
    assert describe(one) == describe(other)


def test_scores_by_their_options_and_not_by_their_rows():
    rows, more = pd.DataFrame({"a": [0, 1], "b": [0, 1]}), pd.DataFrame({"a": [0, 1, 1], "b": [0, 1, 0]})
    score = BDeu(rows, equivalent_sample_size=3)
    before = describe(score)
    score.local_score("a", ("b",))  # fills whatever it remembers
    assert describe(score) == before == describe(BDeu(more, equivalent_sample_size=3))
    assert before != describe(BDeu(rows, equivalent_sample_size=4))


def test_estimators_by_their_options():
    class Plain(BaseEstimator):
        def __init__(self, size=1):
            self.size = size

    assert describe(Plain(1)) == describe(Plain(1)) != describe(Plain(2))


SCRIPT = """
from pgmx.estimators import HillClimbSearch
from pgmx.runs.checkpoint import fingerprint
from pgmx.scores import EdgePrior
options = {"forbidden_edges": {("a", "b"), ("b", "c"), ("c", "d")}, "structure_prior": EdgePrior(0.5)}
print(fingerprint(HillClimbSearch(root_nodes={"x", "y", "z"}, state_names={"b": {1, 2}, "a": "u"}, **options)))
"""


@pytest.mark.slow
def test_the_same_in_every_process():
    prints = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert prints[0] == prints[1]
    assert len(prints[0].strip()) == 32

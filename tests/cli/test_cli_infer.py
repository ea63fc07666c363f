"""``pgmx infer``: the three tasks against enumeration, and what is refused."""

import itertools
import re

import numpy as np
import pytest
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

from helpers.command_line import done, refused
from pgmx.datasets import load_network
from pgmx.models import save_model

CARDS = [2, 3, 2, 2]
SCOPES = [(0, 1, 2), (2, 3), (1,)]


@pytest.fixture
def files(tmp_path):
    """A network with a factor of three variables, and evidence of variable 3; its joint distribution given that."""
    rng = np.random.default_rng(1)
    model = DiscreteMarkovNetwork()
    model.add_nodes_from("abcd")
    model.add_edges_from([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")])
    tables = [rng.random([CARDS[v] for v in scope]) for scope in SCOPES]
    for scope, table in zip(SCOPES, tables, strict=True):
        model.add_factors(DiscreteFactor(["abcd"[v] for v in scope], table.shape, table))
    save_model(model, tmp_path / "model.uai")
    (tmp_path / "model.evid").write_text("1 3 1")
    joint = np.zeros(CARDS)
    for cell in itertools.product(*map(range, CARDS)):
        if cell[3] == 1:
            values = [table[tuple(cell[v] for v in scope)] for scope, table in zip(SCOPES, tables, strict=True)]
            joint[cell] = np.prod(values)
    return tmp_path / "model.uai", tmp_path / "model.evid", joint


def ask(model, evidence, task, *more):
    first, second = done("infer", str(model), "--evidence", str(evidence), "--task", task, *more).splitlines()
    assert first == task
    return [float(word) for word in second.split()]


def test_the_tasks(files):
    model, evidence, joint = files
    assert ask(model, evidence, "PR") == [pytest.approx(np.log10(joint.sum()), rel=1e-10)]
    assert ask(model, evidence, "MAP") == [4, *np.unravel_index(joint.argmax(), joint.shape)]
    expected = [4.0]
    for v, card in enumerate(CARDS):
        shares = joint.sum(axis=tuple(u for u in range(4) if u != v)) / joint.sum()
        expected += [card, *shares]
    np.testing.assert_allclose(ask(model, evidence, "MAR"), expected, rtol=1e-8)


def test_a_file_in_place_of_the_terminal(files, tmp_path):
    model, evidence, joint = files
    out = tmp_path / "answer.PR"
    assert done("infer", str(model), "--evidence", str(evidence), "--task", "PR", "--out", str(out)) == ""
    assert float(out.read_text().split()[1]) == pytest.approx(np.log10(joint.sum()), rel=1e-10)


def test_a_bundled_bayesian_network():
    words = done("infer", "asia", "--task", "MAR").split()
    assert words[:3] == ["MAR", "8", "2"]
    asia = load_network("asia")
    assert float(words[3]) == pytest.approx(asia.get_cpds(next(iter(asia.nodes()))).values[0])
    assert float(done("infer", "asia", "--task", "PR").split()[1]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["asia"], "Missing option '--task'"),
        (["asia", "--task", "MMAP"], "'MMAP' is not one of"),
        (["nosuch.uai", "--task", "PR"], "no such file: nosuch.uai"),
        (["asia", "--task", "PR", "--method", "magic"], "method must be one of.*'magic'"),
        (["asia", "--task", "PR", "--out", "no/folder/a.PR"], "--out no/folder/a.PR: there is no folder"),
    ],
)
def test_what_is_refused(arguments, what):
    assert re.search(what, refused("infer", *arguments))

"""``pgmx infer``: the three tasks against enumeration, and what is refused."""

import itertools
import re

import numpy as np
import pytest
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

from helpers.command_line import done, refused
from helpers.mixed_networks import name_network
from pgmx.datasets import load_network
from pgmx.inference import log_partition, map_assignment, marginals
from pgmx.models import read_model, save_model

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
    text = done("infer", str(model), "--evidence", str(evidence), "--task", task, "--format", "uai", *more)
    first, second = text.splitlines()
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
    question = ("infer", str(model), "--evidence", str(evidence), "--task", "PR")
    assert done(*question, "--out", str(out)) == ""
    assert out.read_text() == done(*question)
    assert done(*question, "--out", str(out), "--format", "uai") == ""
    assert float(out.read_text().split()[1]) == pytest.approx(np.log10(joint.sum()), rel=1e-10)


def test_a_bundled_bayesian_network():
    words = done("infer", "asia", "--task", "MAR", "--format", "uai").split()
    assert words[:3] == ["MAR", "8", "2"]
    asia = load_network("asia")
    assert float(words[3]) == pytest.approx(asia.get_cpds(next(iter(asia.nodes()))).values[0])
    assert float(done("infer", "asia", "--task", "PR").split(": ")[1]) == pytest.approx(0.0, abs=1e-12)


def test_answers_are_by_name_and_state(files):
    """The tables against enumeration; evidence from a file and by name is one."""
    model, evidence, joint = files
    question = ("infer", str(model), "--evidence", str(evidence), "--task")
    network = read_model(model)
    names = [str(name) for name in network.nodes()]
    assert len(names) == 4
    header, *lines = done(*question, "MAR").splitlines()
    assert header.split() == ["variable", "state", "probability"]
    rows = [line.split() for line in lines]
    assert [row[:2] for row in rows] == [
        [name, str(k)] for name, card in zip(names, CARDS, strict=True) for k in range(card)
    ]
    expected = [share for v in range(4) for share in joint.sum(axis=tuple({0, 1, 2, 3} - {v})) / joint.sum()]
    np.testing.assert_allclose([float(row[2]) for row in rows], expected, rtol=1e-5)
    header, *lines = done(*question, "MAP").splitlines()
    assert header.split() == ["variable", "state"]
    best = map(str, np.unravel_index(joint.argmax(), joint.shape))
    assert [line.split() for line in lines] == [list(pair) for pair in zip(names, best, strict=True)]
    start, value = done(*question, "PR").split(": ")
    assert start == "log10 of the partition function given the evidence"
    assert float(value) == pytest.approx(np.log10(joint.sum()), rel=1e-10)
    for task in ("PR", "MAR", "MAP"):
        assert done("infer", str(model), "--given", f"{names[3]}=1", "--task", task) == done(*question, task)


def test_continuous_variables_have_a_table_of_their_own(tmp_path):
    network = name_network(
        [("states", [], np.array([0.25, 0.75])), ("floats", [0], [], np.array([[1.0], [5.0]]), np.array([2.0, 3.0]))],
        labels=[["lo w", "high"]],
    )
    save_model(network, tmp_path / "mixed.json")
    text = done("infer", str(tmp_path / "mixed.json"), "--task", "MAR", "--given", "0=high")
    assert text.splitlines() == [
        "variable  state  probability",
        "0         lo w   0",
        "0         high   1",
        "",
        "variable  mean  standard deviation",
        "v1        5     3",
    ]
    assert (
        done("infer", str(tmp_path / "mixed.json"), "--task", "PR", "--given", "0=high")
        == "log10 of the density of the evidence: -0.124938736608\n"
    )


@pytest.mark.parametrize("task", ["PR", "MAR", "MAP"])
def test_impossible_evidence_is_reported_by_name_and_state(task):
    """Whoever has lung cancer has tuberculosis or cancer, by the definition of asia."""
    for method in ("auto", "exact"):
        text = refused(
            "infer", "asia", "--task", task, "--method", method, "--given", "either=no", "--given", "lung=yes"
        )
        assert "the evidence {'either': 'no', 'lung': 'yes'} has probability zero by the factor of variables (" in text
        assert sorted(re.findall("'[a-z]+'", text.split("variables")[1])) == ["'either'", "'lung'", "'tub'"]


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


# ---- interventions and uncertain observations ----


def read_answer(*arguments):
    """Return the table of a task as {variable: [the last column of its rows]}."""
    answer = {}
    for line in done("infer", *arguments).splitlines()[1:]:
        name, *_, last = line.split()
        answer.setdefault(name, []).append(last)
    return answer


def test_interventions_and_likelihoods_are_those_of_the_functions():
    asia = load_network("asia")
    question = {"virtual_evidence": {"xray": [0.7, 0.2]}, "do": {"smoke": "no"}}
    options = ("asia", "--given", "dysp=yes", "--do", "smoke=no", "--virtual", "xray=0.7,0.2", "--task")
    expected = marginals(asia, {"dysp": "yes"}, **question)
    found = read_answer(*options, "MAR")
    assert set(found) == set(asia.nodes())
    assert found["smoke"] == ["0", "1"] and found["dysp"] == ["1", "0"]
    for name in expected:
        assert [float(share) for share in found[name]] == pytest.approx(list(expected[name].values()), rel=1e-5)
    best = map_assignment(asia, {"dysp": "yes"}, **question)
    assert read_answer(*options, "MAP") == {name: [state] for name, state in {**best, **FIXED}.items()}
    value = log_partition(asia, {"dysp": "yes"}, **question) / np.log(10)
    start, number = done("infer", *options, "PR").split(": ")
    assert start == "log10 of the probability of the evidence"
    assert float(number) == pytest.approx(value, rel=1e-10)


FIXED = {"smoke": "no", "dysp": "yes"}


def test_an_intervention_tells_nothing_about_causes():
    plain, done_to = (read_answer("asia", "--task", "MAR", *more) for more in ((), ("--do", "dysp=yes")))
    assert done_to.pop("dysp") == ["1", "0"]
    assert done_to == {name: shares for name, shares in plain.items() if name != "dysp"}


def test_options_are_repeatable():
    twice = ("asia", "--task", "MAR", "--do", "smoke=no", "--do", "asia=yes", "--virtual", "xray=1,0")
    once = ("asia", "--task", "MAR", "--do", "smoke=no", "--do", "asia=yes", "--given", "xray=yes")
    assert read_answer(*twice) == read_answer(*once)


def test_likelihoods_of_a_markov_network(files):
    """A likelihood of 1 for one state is an observation of that state."""
    model, evidence, _ = files
    for task in ("PR", "MAR", "MAP"):
        sure = done("infer", str(model), "--virtual", "d=0,1", "--task", task)
        assert sure == done("infer", str(model), "--evidence", str(evidence), "--task", task)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--do", "smok=no"], "--do smok=no: write NAME=VALUE with a variable among"),
        (["--do", "smoke=maybe"], "'smoke' has the states .*'maybe'"),
        (["--do", "smoke=no", "--do", "smoke=yes"], "--do smoke=yes: the value of 'smoke' is given twice"),
        (["--do", "smoke=no", "--given", "smoke=no"], "--do smoke=no: 'smoke' is also observed: leave out one"),
        (["--virtual", "xray"], "--virtual xray: write NAME=LIKELIHOOD,LIKELIHOOD,... with a variable among"),
        (
            ["--virtual", "xray=a,b"],
            "--virtual xray=a,b: likelihoods must be finite .* in the order 'yes', 'no', sep",
        ),
        (["--virtual", "xray=-1,2"], "--virtual xray=-1,2: likelihoods must be finite and nonnegative"),
        (["--virtual", "xray=nan,2"], "--virtual xray=nan,2: likelihoods must be finite and nonnegative"),
        (["--virtual", "xray=1,2,3"], "'xray' has 2 states, got 3 likelihoods: write one nonnegative number per state"),
        (["--virtual", "xray=0,0"], "--virtual xray=0,0: all likelihoods are 0: give at least one"),
        (["--virtual", "xray=1,2", "--given", "xray=no"], "--virtual xray=1,2: 'xray' is also observed"),
        (["--virtual", "xray=1,2", "--do", "xray=no"], "--virtual xray=1,2: 'xray' is also set by --do"),
    ],
)
@pytest.mark.parametrize("task", ["PR", "MAR", "MAP"])
def test_wrong_interventions_and_likelihoods_are_refused(options, what, task):
    assert re.search(what, refused("infer", "asia", "--task", task, *options))


def test_where_interventions_and_likelihoods_are_refused(files, tmp_path):
    model, _, _ = files
    text = refused("infer", str(model), "--task", "MAR", "--do", "d=1")
    assert "--do d=1: an intervention needs a Bayesian network" in text and "use --given" in text
    network = name_network(
        [("states", [], np.array([0.25, 0.75])), ("floats", [0], [], np.array([[1.0], [5.0]]), np.array([2.0, 3.0]))],
        labels=[["low", "high"]],
    )
    save_model(network, tmp_path / "mixed.json")
    for option, word in (("--do", "0=low"), ("--virtual", "0=1,2")):
        text = refused("infer", str(tmp_path / "mixed.json"), "--task", "MAR", option, word)
        assert f"{option} {word}: " in text and "has continuous variables" in text and "leave it out" in text

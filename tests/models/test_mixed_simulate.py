"""Rows of a conditional Gaussian network given evidence and interventions, against enumeration."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import TabularCPD

from pgmx.inference import TreewidthError
from pgmx.models import ConditionalGaussianCPD, ConditionalGaussianNetwork
from tests.helpers.mixed_networks import name_network
from tests.models.test_mixed_predict import six_network, wide_network
from tests.oracles import mixed_networks as oracle

N_ROWS = 20_000

#: Two chains of states and of numbers, whose numbers depend on the states; v5 is a common effect.
FAMILIES = [
    ("states", [], np.array([0.3, 0.7])),
    ("states", [0], np.array([[0.5, 0.1], [0.2, 0.3], [0.3, 0.6]])),
    ("floats", [0], [], np.array([[-1.0], [1.0]]), np.array([1.0, 0.5])),
    ("floats", [1], [2], np.array([[0.0, 1.0], [1.0, -0.5], [2.0, 0.3]]), np.array([0.7, 1.5, 0.2])),
    ("states", [1], np.array([[0.9, 0.5, 0.0], [0.1, 0.5, 1.0]])),
    ("floats", [4], [2, 3], np.array([[0.5, 1.0, 1.0], [-1.0, 0.2, 2.0]]), np.array([0.4, 0.6])),
]


def mutilate(families, do):
    """Return the families after interventions ``{v: value}``: a normal distribution that is narrow for numbers."""
    changed = list(families)
    for v, value in do.items():
        if families[v][0] == "states":
            changed[v] = ("states", [], np.eye(len(families[v][2]))[value])
        else:
            changed[v] = ("floats", [], [], np.array([value]), np.array(1e-9))
    return changed


@pytest.mark.parametrize(
    ("evidence", "do"),
    [
        ({3: 0.5}, {}),
        ({5: 2.0}, {}),
        ({4: 1, 5: -1.0}, {}),
        ({2: 0.3, 4: 0}, {}),
        ({}, {1: 2}),
        ({}, {3: 1.5}),
        ({5: 0.7}, {1: 0}),
        ({4: 0}, {2: -1.0}),
    ],
)
def test_draws_have_the_frequencies_and_means_of_the_posterior(evidence, do):
    network = name_network(FAMILIES, labels=[[0, 1, 2]])
    named = [{network.names[v]: value for v, value in values.items()} for values in (evidence, do)]
    rows = network.simulate(N_ROWS, evidence=named[0], do=named[1])
    assert list(rows) == list(network.names)
    for values in named:
        for name, value in values.items():
            assert (rows[name] == value).all()
    logs, parts = oracle.list_parts(mutilate(FAMILIES, do), {**evidence, **do})
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    discrete = rows[[network.names[v] for v in (0, 1, 4)]].astype(int).to_numpy()
    for weight, (configuration, normals) in zip(weights, parts, strict=True):
        held = (discrete == [configuration[v] for v in (0, 1, 4)]).all(axis=1)
        error = 5.0 * np.sqrt(weight * (1.0 - weight) / N_ROWS)
        assert held.mean() == pytest.approx(weight, abs=error + 1e-12)
        if held.sum() < 100:
            continue
        for v, (mean, variance) in normals.items():
            numbers = rows[network.names[v]][held]
            std = np.sqrt(variance)
            assert numbers.mean() == pytest.approx(mean, abs=5.0 * std / np.sqrt(held.sum()) + 1e-8)
            assert numbers.std() == pytest.approx(std, rel=5.0 / np.sqrt(2 * held.sum()), abs=1e-8)


def test_numbers_are_drawn_together():
    """Given their sum, two numbers are negatively correlated: -1 but for the noise of the sum."""
    cpds = [ConditionalGaussianCPD(name, [0.0], 1.0) for name in "ab"]
    cpds.append(ConditionalGaussianCPD("c", [0.0, 1.0, 1.0], 0.1, (), ["a", "b"]))
    network = ConditionalGaussianNetwork.from_cpds(cpds)
    rows = network.simulate(N_ROWS, evidence={"c": 3.0})
    assert rows["a"].corr(rows["b"]) == pytest.approx(-(1.0 / 2.01) / (1.01 / 2.01), abs=0.01)
    assert (rows["a"] + rows["b"]).std() == pytest.approx(np.sqrt(2.0 * 0.01 / 2.01), rel=0.05)
    # what is cut off from its effect is unchanged by it
    freed = network.simulate(N_ROWS, do={"c": 3.0})
    pd.testing.assert_frame_equal(freed[["a", "b"]], network.simulate(N_ROWS)[["a", "b"]])


def test_draws_without_evidence_and_seeds():
    network = six_network()
    pd.testing.assert_frame_equal(network.simulate(50, evidence={}, do=None), network.simulate(50))
    given = {"evidence": {"X": 0.5, "T": "1"}, "do": {"R": "0"}}
    same = network.simulate(50, **given, seed=3)
    pd.testing.assert_frame_equal(network.simulate(50, 3, **given), same)
    assert not network.simulate(50, 4, **given).equals(same)
    assert network.simulate(0, **given).shape == (0, 6)
    known = {"R": "1", "S": "2", "T": "0", "X": 1.0, "Y": 2.0, "Z": 3.0}
    assert network.simulate(1, evidence=known).iloc[0].to_dict() == known
    assert network.simulate(1, do=known).iloc[0].to_dict() == known


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"evidence": {"Q": 1.0}}, ValueError, "evidence: no variable 'Q'.*'R', 'S', 'T'"),
        ({"do": {"SS": 1.0}}, ValueError, "do: no variable 'SS', did you mean 'S'"),
        ({"evidence": {"R": "9"}}, KeyError, "'9'"),
        ({"do": {"X": "high"}}, ValueError, "do of 'X', a continuous variable, must be a finite number, got 'high'"),
        ({"evidence": {"X": np.inf}}, ValueError, "must be a finite number, got inf"),
        ({"evidence": {"X": None}}, ValueError, "must be a finite number, got None"),
        ({"do": ["X"]}, TypeError, "do must be a dictionary"),
        ({"do": {"R": "0"}, "evidence": {"R": "0"}}, ValueError, "'R' cannot be both in do and in evidence"),
    ],
)
def test_wrong_evidence_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        six_network().simulate(5, **options)


def test_impossible_evidence_and_what_an_intervention_makes_possible():
    cpds = [TabularCPD("a", 2, [[1.0], [0.0]]), TabularCPD("b", 2, [[1.0, 0.5], [0.0, 0.5]], ["a"], [2])]
    cpds.append(TabularCPD("c", 2, [[1.0, 0.5], [0.0, 0.5]], ["b"], [2]))
    network = ConditionalGaussianNetwork.from_cpds(cpds)
    for evidence in ({"b": 1}, {"c": 1}, {"a": 1}):
        with pytest.raises(ValueError, match="the evidence {.*: 1} is impossible"):
            network.simulate(5, evidence=evidence)
    assert network.simulate(5, do={"b": 1}, evidence={"c": 1})["a"].tolist() == [0] * 5
    assert set(network.simulate(50, do={"a": 1}, evidence={"c": 1})["b"]) == {1}


def test_what_is_too_large_is_refused_and_the_rest_is_drawn():
    network = wide_network(24)
    with pytest.raises(TreewidthError, match="drawing 'd0', 'd1'.* would need .* values, more than .*observe more"):
        network.simulate(5, evidence={"x23": 12.0})
    known = {f"x{k}": float(k) for k in range(24)}
    assert network.simulate(5, evidence=known).shape == (5, 48)
    assert network.simulate(5, evidence={"d3": 1}).shape == (5, 48)

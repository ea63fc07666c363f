"""Evidence of probability zero is reported by names and states, by every function and method."""

import pickle

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

from helpers.mixed_networks import name_network
from pgmx.inference import PairwisePotentials, estimate_cost, joint, log_partition, map_assignment, marginals, sample
from pgmx.inference.approximate.markov_rows import MarkovRows
from pgmx.inference.reduced_network import ZeroProbabilityError
from pgmx.models import PairwiseMarkovNetwork


def make_network():
    """Return a chain whose neighbours agree, and a variable alone."""
    model = DiscreteMarkovNetwork()
    states = {"wet": ["no", "yes"], "sky": ["clear", "grey"], "rain": [0, 1]}
    model.add_nodes_from([*states, "sun"])
    model.add_factors(DiscreteFactor(["sun"], [2], [0.5, 0.5]))
    for u, v in (("rain", "sky"), ("sky", "wet")):
        model.add_edge(u, v)
        model.add_factors(DiscreteFactor([u, v], [2, 2], np.eye(2), {name: states[name] for name in (u, v)}))
    return model


QUESTIONS = [
    (marginals, ("auto", "exact", "corrected", "loopy", "gibbs")),
    (log_partition, ("auto", "exact", "ais", "loopy")),
    (map_assignment, ("auto", "exact", "search", "loopy")),
    (lambda model, evidence, method: sample(model, 5, evidence=evidence, method=method), ("auto", "exact", "gibbs")),
    (lambda model, evidence, method: joint(model, ["sun"], evidence, method=method), ("auto", "exact", "loopy")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("ask", "method"), [(ask, method) for ask, methods in QUESTIONS for method in methods])
def test_names_and_states_are_reported(ask, method):
    model = make_network()
    with pytest.raises(ValueError, match="evidence") as caught:
        ask(model, {"wet": "yes", "sky": "clear"}, method=method)
    assert "'wet': 'yes'" in str(caught.value) and "'sky': 'clear'" in str(caught.value)
    _, by, factor = str(caught.value).partition("by the factor of variables")
    assert not by or sorted(factor[2:].split(")")[0].split(", ")) == ["'sky'", "'wet'"]
    with pytest.raises(ValueError, match=r"evidence \{'wet': 'yes', 'rain': 0\}"):  # which no factor alone rules out
        ask(model, {"wet": "yes", "rain": 0}, method=method)


def test_costs_and_whole_networks():
    model = make_network()
    with pytest.raises(ValueError, match=r"^the evidence \{'sky': 'clear', 'wet': 'yes'\} has probability zero by"):
        estimate_cost(model, {"wet": "yes", "sky": "clear"})
    nowhere = DiscreteFactor(["wet"], [2], [0.0, 0.0], {"wet": ["no", "yes"]})
    model.add_factors(nowhere)
    with pytest.raises(
        ValueError, match=r"^every configuration has probability zero by the factor of variables \('wet'"
    ):
        marginals(model)


@pytest.mark.slow
def test_evidence_of_larger_factors():
    """The search works on pairs, in which a factor of three variables has an auxiliary variable without a name."""
    model = DiscreteMarkovNetwork()
    model.add_edges_from([("a", "b"), ("b", "c"), ("a", "c")])
    values = np.zeros((2, 2, 2))
    values[0, 0, 0] = values[1, 1, 1] = 1.0
    model.add_factors(DiscreteFactor(["a", "b", "c"], [2, 2, 2], values))
    for ask, methods in QUESTIONS[:3]:
        for method in methods:
            with pytest.raises(ValueError, match=r"evidence \{'a': 0, 'b': 1\}"):
                ask(model, {"a": 0, "b": 1}, method=method)


def test_long_evidence_is_cut_and_errors_reach_other_processes():
    error = ZeroProbabilityError({v: v for v in range(10)}, (3, 12))
    named = error.with_names("abcdefghij", [range(10, 20)] * 10)
    assert str(named).startswith(
        "the evidence {'a': 10, 'b': 11, 'c': 12, 'd': 13, 'e': 14, 'f': 15, 'g': 16, 'h': 17, "
    )
    assert "'h': 17, ... (10 in all)} has probability zero by the factor of variables ('d'): " in str(named)
    again = pickle.loads(pickle.dumps(named))
    assert (str(again), again.evidence, again.scope) == (str(named), named.evidence, named.scope)


@pytest.mark.parametrize("inference", ["exact", "loopy"])
def test_impossible_rows_name_their_values(inference):
    forbidden = [[0.0, -np.inf], [-np.inf, 0.0]]
    potentials = PairwisePotentials.build([2, 2, 2], tables={(0, 1): forbidden, (1, 2): forbidden})
    model = PairwiseMarkovNetwork.from_potentials(["wet", "sky", "rain"], [("no", "yes")] * 3, potentials)
    rows = pd.DataFrame({"wet": ["no", "no"], "rain": ["no", "yes"]})
    with pytest.raises(ValueError, match="position 1, .* The first has {'wet': 'no', 'rain': 'yes'}: leave out some"):
        model.predict(rows, inference=inference)


@pytest.mark.parametrize("inference", ["exact", "loopy", "auto"])
def test_impossible_rows_of_many_missing_values(inference):
    """More configurations than are listed one by one: a chain of 16 variables that agree, with ends that differ."""
    agree = [[0.0, -np.inf], [-np.inf, 0.0]]
    potentials = PairwisePotentials.build([2] * 16, tables={(v, v + 1): agree for v in range(15)})
    codes = np.full((2, 16), -1, dtype=np.int32)
    codes[:, [0, 15]] = [[0, 0], [0, 1]]
    engine = MarkovRows(potentials).choose(inference)
    states, logs = engine.complete_rows(codes, None)
    assert np.isfinite(logs).tolist() == [True, False]
    assert states[0].tolist() == [0] * 16
    assert np.isfinite(engine.answer_rows(codes, None)).tolist() == [True, False]


def test_impossible_rows_of_mixed_networks_show_their_values():
    families = [
        ("states", [], np.array([1.0, 0.0])),
        ("floats", [0], [], np.array([[1.0], [5.0]]), np.array([2.0, 3.0])),
        ("states", [0], np.array([[0.5, 0.5], [0.5, 0.5]])),
    ]
    network = name_network(families, labels=[["dry", "wet"]])
    with pytest.raises(ValueError, match=r"under the network. The first has \{0: 'wet', 'v1': 2.5\}: leave out some"):
        network.predict({0: "wet", "v1": 2.5})
    with pytest.raises(
        ValueError, match=r"under all 50 samples. The first has \{0: 'wet', 'v1': 2.5\}: raise n_samples, or"
    ):
        network.predict({0: "wet", "v1": 2.5}, inference="weighting", n_samples=50)

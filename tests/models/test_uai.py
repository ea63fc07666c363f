"""Networks of factors of any order, and evidence, in the formats of the UAI competitions and in json."""

import networkx as nx
import numpy as np
import pytest
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

from pgmx.datasets import chain_network, load_network
from pgmx.inference import log_partition, marginals
from pgmx.models import (
    DiscreteBayesianNetwork,
    PairwiseMarkovNetwork,
    load_markov_network,
    read_evidence,
    read_model,
    save_model,
)

#: The example of the competitions' page on the format, with a third factor of all variables.
TEXT = """MARKOV
3
2 2 3
3
1 0
3 0 1 2
2 1 2

2
 0.436 0.564

12
 0.1 0.9 0.3
 0.7 0.5 0.5
 1 2 3
 4 5 6

6
 0.210 0.333 0.457
 0.811 0.000 0.189
"""


def of_three():
    """A network with a factor of three variables, states in different orders in two factors, text and numbers."""
    model = DiscreteMarkovNetwork([("a", 1), (1, "c"), ("a", "c")])
    values = np.random.default_rng(0).random(12)
    model.add_factors(
        DiscreteFactor(["a", 1, "c"], [2, 3, 2], values, {"a": ["no", "yes"], 1: [0, 1, 2], "c": [False, True]}),
        DiscreteFactor(["c"], [2], [1 / 3, 0.0], {"c": [True, False]}),
    )
    model.graph["name"] = "three"
    return model


@pytest.mark.parametrize("suffix", ["uai", "json"])
def test_factors_of_any_order(suffix, tmp_path):
    model = of_three()
    read = read_model(save_model(model, tmp_path / f"model.{suffix}"))
    assert type(read) is DiscreteMarkovNetwork
    assert list(read.nodes()) == list(model.nodes())
    assert {frozenset(edge) for edge in read.edges()} == {frozenset(edge) for edge in model.edges()}
    first, second = read.get_factors()
    assert first.variables == ["a", 1, "c"]
    assert first.state_names == {"a": ["no", "yes"], 1: [0, 1, 2], "c": [False, True]}
    assert first.values.tobytes() == model.get_factors()[0].values.tobytes()
    assert second.values.tolist() == [0.0, 1 / 3]  # in the order of the first factor
    assert log_partition(read) == log_partition(model)


def test_a_file_of_others(tmp_path):
    path = tmp_path / "example.uai"
    path.write_text(TEXT)
    model = read_model(path)
    assert list(model.nodes()) == ["var_0", "var_1", "var_2"]
    u, w = np.array([0.436, 0.564]), np.array([[0.210, 0.333, 0.457], [0.811, 0.0, 0.189]])
    t = np.array([0.1, 0.9, 0.3, 0.7, 0.5, 0.5, 1, 2, 3, 4, 5, 6]).reshape(2, 2, 3)
    joint = np.einsum("i,ijk,jk->ijk", u, t, w)
    assert log_partition(model) == pytest.approx(np.log(joint.sum()), rel=1e-13)
    np.testing.assert_allclose(marginals(model).array("var_2"), joint.sum(axis=(0, 1)) / joint.sum(), rtol=1e-12)
    with pytest.raises(ValueError, match=r"example\.uai.*factor of \[0, 1, 2\].*read_model"):
        load_markov_network(path)


def test_pairs_stay_a_pairwise_network(tmp_path):
    assert type(read_model(save_model(chain_network(4), tmp_path / "chain.uai"))) is PairwiseMarkovNetwork


def test_a_bayesian_network(tmp_path):
    path = tmp_path / "rain.uai"
    path.write_text("BAYES 2 2 3 2 1 0 2 0 1  2 .25 .75  6 .1 .2 .7 .5 .5 0")
    model = read_model(path)
    assert type(model) is DiscreteBayesianNetwork
    assert list(model.edges()) == [("var_0", "var_1")]
    np.testing.assert_array_equal(model.get_cpds("var_1").get_values(), [[0.1, 0.5], [0.2, 0.5], [0.7, 0.0]])
    assert model.check_model()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("BAYES 2 2 2 2 2 0 1 2 1 0 4 .5 .5 .5 .5 4 .5 .5 .5 .5", "form a cycle"),
        ("BAYES 2 2 2 2 1 0 1 0 2 .5 .5 2 .5 .5", "children of its tables"),
        ("BAYES 2 2 2 1 1 0 2 .5 .5", "1 tables for 2 variables"),
        ("BAYES 1 2 1 1 0 2 .5 .7", "add up to 1.2"),
        ("MARKOV 2 2 2 1 0 1 1", "a factor of \\[\\]"),
        ("MARKOV 3 2 2 2 1 3 0 1 1 8 1 1 1 1 1 1 1 1", "a factor of \\[0, 1, 1\\]"),
        ("MARKOV 3 2 2 2 1 3 0 1 2 8 1 1 1 1 1 1 1 nan", "must be finite"),
        ("MARKOV 40" + " 9" * 40 + " 1 40 " + " ".join(map(str, range(40))) + " 2 1 1", "declares 2 values"),
    ],
)
def test_damaged_networks(text, what, tmp_path):
    path = tmp_path / "damaged.uai"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"damaged\.uai.*{what}"):
        read_model(path)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"values": [[0.5, 0.5]]}, "has the shape"),
        ({"values": [-0.5, 0.5]}, "must be finite"),
        ({"variables": ["c", "c"]}, "occur more than once"),
        ({"variables": ["z"]}, "'z'"),
    ],
)
def test_damaged_factors_in_json(change, what, tmp_path):
    from pgmx.models.files.documents import describe_graph, write_document

    document = describe_graph(of_three())
    document["factors"][1].update(change)
    path = tmp_path / "damaged.json"
    path.write_bytes(write_document(document))
    with pytest.raises(ValueError, match=rf"damaged\.json.*{what}"):
        read_model(path)


@pytest.mark.parametrize("text", ["2 0 1 2 0", "1\n2 0 1 2 0\n", "2\n2 0 0 1  # the older form has samples in front"])
def test_evidence(text, tmp_path):
    path = tmp_path / "model.evid"
    path.write_text(text)
    assert read_evidence(path, of_three()) == {"a": "yes", "c": False}


def test_evidence_of_a_bayesian_network_and_none_at_all(tmp_path):
    asia = load_network("asia")
    path = tmp_path / "model.evid"
    path.write_text("1 0 1")
    first = next(iter(asia.nodes()))
    assert read_evidence(path, asia) == {first: asia.get_cpds(first).state_names[first][1]}
    path.write_text("0")
    assert read_evidence(path, asia) == {}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "ends too early"),
        ("1 3 0", "variables are numbered 0..2"),
        ("1 1 3", "states of this one 0..2"),
        ("2 0 1 0 1", "variable 0 occurs twice"),
        ("2 1 0 1 3 0 1 1 0 2 0 0", "2 samples of evidence"),
        ("1 0 -1", "must be a state"),
        ("1 0 1 2 1", "continues after the last observed variable"),
    ],
)
def test_damaged_evidence(text, what, tmp_path):
    path = tmp_path / "damaged.evid"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"damaged\.evid.*{what}"):
        read_evidence(path, of_three())


def test_a_graph_without_factors_has_no_uai_form(tmp_path):
    with pytest.raises(TypeError, match="uai holds a DiscreteMarkovNetwork or a DiscreteBayesianNetwork, not a Graph"):
        save_model(nx.path_graph(3), tmp_path / "graph.uai")

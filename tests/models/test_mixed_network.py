"""The conditional Gaussian network: parameters against the oracle and bnlearn's figures, forms, files."""

import copy
import json
import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from pgmpy.base import DAG
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import LinearGaussianBayesianNetwork

from pgmx.datasets import load_network, sample
from pgmx.metrics import kl_divergence
from pgmx.models import ConditionalGaussianCPD, ConditionalGaussianNetwork, read_model, save_model
from tests.helpers.mixed_networks import mixed_networks, name_network
from tests.helpers.mixed_tables import IRIS_ARCS, MIXED_ARCS, iris, keep_few, parents_of, six_columns
from tests.oracles import conditional_gaussian as oracle


def fitted(frame=None, arcs=MIXED_ARCS, **options):
    frame = six_columns() if frame is None else frame
    network = ConditionalGaussianNetwork()
    network.add_nodes_from(frame.columns)
    network.add_edges_from(arcs)
    return network.fit(frame, **options)


# ---- parameters ----


@pytest.mark.parametrize("variance", ["likelihood", "unbiased"])
def test_likelihood_is_that_of_regressions(variance):
    frame = six_columns()
    terms = fitted(variance=variance).log_likelihood_terms(frame).sum(axis=1)
    expected = [
        oracle.clg_log_likelihood(frame, child, parents, variance=variance)
        for child, parents in parents_of(frame, MIXED_ARCS).items()
    ]
    np.testing.assert_allclose(terms, expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("frame", "arcs", "total"),
    [(six_columns(), MIXED_ARCS, -4478.098432087156), (iris(), IRIS_ARCS, -192.907093847253)],
)
def test_likelihood_is_that_of_bnlearn(frame, arcs, total):
    """bnlearn 5.2.1, loglik-cg, which divides by the rows minus the coefficients."""
    network = fitted(frame, arcs, variance="unbiased")
    assert network.log_likelihood(frame).sum() == pytest.approx(total, abs=1e-8)


def test_weights_are_repeated_rows():
    frame = six_columns().iloc[:300]
    weights = np.arange(300) % 4
    weighted = fitted(frame, sample_weight=weights)
    repeated = fitted(frame.iloc[np.repeat(np.arange(300), weights)])
    for a, b in zip(weighted.parts().families.families, repeated.parts().families.families, strict=True):
        np.testing.assert_allclose(a[-1], b[-1], rtol=1e-10)
        np.testing.assert_allclose(a[-2], b[-2], rtol=1e-9, atol=1e-12)


def test_units_change_nothing_but_units():
    frame = six_columns()
    scaled = frame.assign(X=frame["X"] * 1e-6, Y=frame["Y"] * 1e5 + 3e5)
    difference = fitted(frame).log_likelihood(frame) - fitted(scaled).log_likelihood(scaled)
    np.testing.assert_allclose(difference, np.log(1e-6) + np.log(1e5), rtol=1e-8)


def expect_shrunk(rows, frame, child, floats, extra):
    """Return coefficients and deviation of a regression on rows and `extra` rows' weight of the whole table."""
    both = np.vstack([rows[[*floats, child]], frame[[*floats, child]]])
    weights = np.concatenate([np.ones(len(rows)), np.full(len(frame), extra / len(frame))])
    design = np.column_stack([np.ones(len(both)), both[:, :-1]]) * np.sqrt(weights)[:, None]
    target = both[:, -1] * np.sqrt(weights)
    coefficients, *_ = np.linalg.lstsq(design, target, rcond=None)
    squares = np.square(target - design @ coefficients).sum()
    return coefficients, np.sqrt(squares / (len(rows) + extra))


@pytest.mark.parametrize("k", [0, 1, 3])
def test_configurations_with_few_rows_lean_on_the_table(k):
    """Z given S = 2 and T = 0 has k rows for three coefficients: four rows' weight of the whole table is added."""
    frame = keep_few(six_columns(), k)
    cpd = fitted(frame).get_cpds("Z").to_frame().loc[("2", "0")]
    rows = frame[(frame["S"] == "2") & (frame["T"] == "0")]
    coefficients, std = expect_shrunk(rows, frame, "Z", ["X", "Y"], 4)
    np.testing.assert_allclose(cpd, [*coefficients, std], rtol=1e-5)  # the ridge of 1e-8 per row


def test_priors_are_rows_of_the_table():
    frame = six_columns()
    cpd = fitted(frame, equivalent_sample_size=30.0).get_cpds("Z").to_frame().loc[("0", "1")]
    rows = frame[(frame["S"] == "0") & (frame["T"] == "1")]
    np.testing.assert_allclose(cpd, np.hstack(expect_shrunk(rows, frame, "Z", ["X", "Y"], 30.0 / 6)), rtol=1e-9)
    cpd = fitted(frame, pseudo_counts=2.0).get_cpds("X").to_frame().loc["0"]
    np.testing.assert_allclose(cpd, np.hstack(expect_shrunk(frame[frame["R"] == "0"], frame, "X", [], 2.0)), rtol=1e-9)
    counts = pd.crosstab(frame["S"], frame["R"]) + 2.0
    np.testing.assert_allclose(fitted(frame, pseudo_counts=2.0).get_cpds("S").get_values(), counts / counts.sum())


def test_determined_columns_give_finite_regressions():
    frame = six_columns()
    frame["W"] = 2.0 * frame["X"]
    network = fitted(frame, [("X", "W"), ("X", "Y"), ("W", "Y")])
    numbers = network.get_cpds("Y").to_frame().to_numpy()
    assert np.isfinite(numbers).all()
    assert network.get_cpds("W").std == pytest.approx(1e-4 * frame["W"].std(ddof=0), rel=1e-3)  # the ridge's
    slope = np.polyfit(frame["X"], frame["Y"], 1)[0]
    assert numbers[0, 1] + 2.0 * numbers[0, 2] == pytest.approx(slope, rel=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.inf}, "infinite values.*'X'"),
        ({"X": 1.5}, "'X' are constant"),
        ({"X": np.nan}, "missing values.*'X'"),
    ],
)
def test_wrong_columns_are_named(change, message):
    frame = six_columns().assign(**change)
    with pytest.raises(ValueError, match=message):
        fitted(frame)


def test_wrong_graphs_and_options_are_refused():
    frame = six_columns()
    with pytest.raises(ValueError, match="X -> T"):
        fitted(frame, [("X", "T")])
    with pytest.raises(ValueError, match="different variables"):
        ConditionalGaussianNetwork([("R", "X")]).fit(frame)
    with pytest.raises(ValueError, match="variance must be"):
        fitted(frame, variance="sample")
    with pytest.raises(ValueError, match="two priors"):
        fitted(frame, pseudo_counts=1, equivalent_sample_size=1)
    cyclic = ConditionalGaussianNetwork([("X", "Y")])
    cyclic.add_edge("Y", "X")
    with pytest.raises(ValueError, match="cycle"):
        cyclic.fit(frame[["X", "Y"]])


def test_missing_values_can_be_dropped():
    frame = six_columns()
    holes = frame.copy()
    holes.loc[:99, "X"] = np.nan
    weights = np.arange(1.0, 801.0)
    assert fitted(holes, missing="drop") == fitted(frame.iloc[100:])
    assert fitted(holes, missing="drop", sample_weight=weights) == fitted(frame.iloc[100:], sample_weight=weights[100:])
    states = holes[["R", "S"]].astype(object).mask(holes["X"].isna())
    twin = fitted(states, [("R", "S")], missing="drop", sample_weight=weights)
    assert twin == fitted(frame.iloc[100:][["R", "S"]].astype(object), [("R", "S")], sample_weight=weights[100:])


# ---- forms ----


def test_cpds_make_the_same_network():
    network = fitted()
    assert ConditionalGaussianNetwork.from_cpds(network.cpds) == network
    assert network.n_parameters == 45
    assert network.continuous == ["X", "Y", "Z"] and list(network.states) == ["R", "S", "T"]
    assert sorted(network.edges()) == sorted(MIXED_ARCS)
    assert network.check_model()


def test_copies_are_equal_and_fixed():
    network = fitted()
    network.graph["name"] = "six"
    for twin in (network.copy(), copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert twin == network and hash(twin) == hash(network) and twin.name == "six"
        assert twin is not network
    with pytest.raises(TypeError, match="follow from its parameters"):
        network.add_edge("T", "X")
    with pytest.raises(ValueError, match="read-only"):
        network.parts().families.families[3].std[0] = 1.0
    other = fitted(equivalent_sample_size=1)
    assert other != network and network != "six"
    plain = DAG(network.edges())
    assert network != plain and plain != network
    for function in (sample, kl_divergence):
        with pytest.raises(TypeError, match="must be a fitted pgmpy DiscreteBayesianNetwork, got ConditionalGaussian"):
            function(network, 3)
    assert "X" in network.copy() and type(nx.DiGraph(network)) is nx.DiGraph
    assert fitted(six_columns()[["S", "R", "T", "X", "Y", "Z"]]) != network  # another order
    assert network.to_networkx().nodes["X"]["kind"] == "continuous"


def test_networks_without_parameters_say_so():
    network = ConditionalGaussianNetwork([("a", "b")])
    assert repr(network) == "ConditionalGaussianNetwork(2 nodes, 1 edge, without parameters)"
    with pytest.raises(ValueError, match="no parameters"):
        network.simulate(3)
    assert network == ConditionalGaussianNetwork([("a", "b")]) != ConditionalGaussianNetwork([("b", "a")])


def test_networks_of_one_kind():
    cancer = load_network("cancer")
    network = ConditionalGaussianNetwork.from_network(cancer)
    assert repr(network) == "ConditionalGaussianNetwork(5 discrete and 0 continuous variables, 4 edges)"
    np.testing.assert_allclose(network.get_cpds("Xray").get_values(), cancer.get_cpds("Xray").get_values())
    gaussian = LinearGaussianBayesianNetwork([("a", "b")])
    gaussian.add_cpds(LinearGaussianCPD("a", [1.0], 2.0), LinearGaussianCPD("b", [0.5, -1.0], 0.1, ["a"]))
    network = ConditionalGaussianNetwork.from_network(gaussian)
    assert network.predict({"a": 3.0}).loc[0, "b"] == pytest.approx(-2.5)
    assert network.to_linear_gaussian_bn({}).get_cpds("b").beta.tolist() == [0.5, -1.0]


def test_the_network_of_a_configuration():
    network = fitted()
    model = network.to_linear_gaussian_bn({"R": "1", "S": "2", "T": "0"})
    assert list(model.nodes()) == ["X", "Y", "Z"] and model.check_model()
    row = network.get_cpds("Z").to_frame().loc[("2", "0")].tolist()
    assert [*model.get_cpds("Z").beta, model.get_cpds("Z").std] == row
    with pytest.raises(ValueError, match="lacks a state of 'S', 'T'"):
        network.to_linear_gaussian_bn({"R": "1"})
    with pytest.raises(ValueError, match="'5' is not a state of 'S'"):
        network.to_linear_gaussian_bn({"S": "5"})
    with pytest.raises(ValueError, match="'X' is not a discrete variable"):
        network.to_linear_gaussian_bn({"X": 1.0})


@pytest.mark.parametrize(
    ("cpds", "message"),
    [
        ([ConditionalGaussianCPD("x", [0.0, 1.0], 1.0, [], ["y"])], "no distribution"),
        ([TabularCPD("a", 2, [[0.7], [0.7]])], "add up to"),
        ([TabularCPD("a", 2, [[0.5], [0.5]]), ConditionalGaussianCPD("x", [[0.0]] * 3, [1.0] * 3, ["a"])], "states"),
        (
            [TabularCPD("a", 2, [[0.5], [0.5]]), ConditionalGaussianCPD("x", [0.0, 1.0], 1.0, [], ["a"])],
            "confuses discrete and continuous parents: 'a'",
        ),
        (
            [ConditionalGaussianCPD(a, [0.0, 1.0], 1.0, [], [b]) for a, b in ("xy", "yx")],
            "cycle",
        ),
    ],
)
def test_wrong_cpds_are_refused(cpds, message):
    with pytest.raises(ValueError, match=message):
        ConditionalGaussianNetwork.from_cpds(cpds)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("x", [0.0], 0.0), "above 0"),
        (("x", [np.nan], 1.0), "finite"),
        (("x", [0.0, 1.0], 1.0), "one axis"),
        (("x", [[0.0]] * 2, [1.0] * 2, ["a"], [], {"a": ["no"]}), "state_names"),
        (("x", [[0.0]] * 2, [1.0] * 2, ["x"]), "more than once"),
    ],
)
def test_wrong_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ConditionalGaussianCPD(*arguments)


# ---- rows ----


@pytest.mark.slow
def test_simulated_rows_have_the_distribution():
    network = fitted()
    rows = network.simulate(20_000, random_state=3)
    again = fitted(rows)
    for a, b in zip(network.cpds, again.cpds, strict=True):
        ours, theirs = (c.to_frame() if hasattr(c, "to_frame") else c.get_values() for c in (a, b))
        np.testing.assert_allclose(ours, theirs, atol=0.1)  # five standard errors of the smallest configuration
    pd.testing.assert_frame_equal(rows, network.simulate(20_000, seed=3))
    assert list(rows) == list(network.names) and list(rows["S"].cat.categories) == ["0", "1", "2"]
    assert network.simulate(0).shape == (0, 6)


# ---- files ----


@settings(max_examples=30, deadline=None)
@given(mixed_networks())
def test_files_keep_every_bit(tmp_path_factory, families):
    network = name_network(families)
    path = save_model(network, tmp_path_factory.mktemp("mixed") / "model.json")
    assert read_model(path) == network
    assert ConditionalGaussianNetwork.load(path) == network


def test_the_document_is_in_the_terms_of_bnlearn(tmp_path):
    """The columns of coef, and the entries of sd, are those of R's expand.grid: the first parent fastest."""
    network = fitted()
    network.graph["name"] = "six"
    document = json.loads(network.save(tmp_path / "six.json").read_bytes())
    entries = {entry["variable"]: entry for entry in document["distributions"]}
    z, table = entries["Z"], network.get_cpds("Z").to_frame()
    assert z["type"] == "cgaussian" and z["dparents"] == ["S", "T"] and z["gparents"] == ["X", "Y"]
    order = [(s, t) for t in "01" for s in "012"]
    assert z["sd"] == table["std"].loc[order].tolist()
    assert z["coef"] == [table[row].loc[order].tolist() for row in ("(Intercept)", "X", "Y")]
    t = entries["T"]
    assert t["levels"] == ["0", "1"] and t["parents"] == ["S"]
    np.testing.assert_array_equal(t["prob"], network.get_cpds("T").get_values())
    assert read_model(tmp_path / "six.json").name == "six"
    assert {node["id"]: node.get("states") for node in document["nodes"]}["X"] is None


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("sd", [0.0] * 6, "standard deviations of 'Z'"),
        ("sd", [1.0] * 5, "sd of 'Z'.*shape"),
        ("coef", [[1.0] * 6] * 2, "coef of 'Z'.*shape"),
        ("dparents", ["S", "X"], "must all be discrete"),
        ("gparents", ["X", "X"], "more than once"),
        ("gparents", ["Y", "Z"], "more than once"),
        ("type", "discrete", "type of 'Z'"),
    ],
)
def test_damaged_files_are_refused(tmp_path, key, value, message):
    path = fitted().save(tmp_path / "six.json")
    document = json.loads(path.read_bytes())
    document["distributions"][5][key] = value
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=message):
        read_model(path)


def test_other_formats_hold_the_graph_or_nothing(tmp_path):
    network = fitted()
    graph = nx.read_graphml(save_model(network, tmp_path / "six.graphml"))
    assert set(graph.edges()) == set(MIXED_ARCS)
    with pytest.raises(TypeError, match="bif holds a fitted DiscreteBayesianNetwork"):
        save_model(network, tmp_path / "six.bif")
    assert sorted(read_model(save_model(ConditionalGaussianNetwork([("a", "b")]), tmp_path / "g.json")).edges())

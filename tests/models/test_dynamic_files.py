"""Dynamic Bayesian networks as objects of pgmpy, and in files."""

import json
import pickle

import numpy as np
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DynamicBayesianNetwork as PgmpyNetwork

import pgmx.models.pgmpy_estimators  # noqa: F401 (pgmpy.inference imports pgmpy.estimators, with a warning)
from pgmx.fitted import get_series_graph
from pgmx.models import DiscreteBayesianNetwork, DynamicBayesianNetwork, TwoSliceBayesianNetwork, read_model, save_model
from pgmx.plotting import plot_graph, plot_summary_graph, save_report
from tests.helpers.dynamic_networks import draw_dynamic_network
from tests.oracles.dynamic_networks import enumerate_series


@pytest.mark.filterwarnings("ignore:invalid value encountered in divide:RuntimeWarning")  # pgmpy divides by zeros
@pytest.mark.parametrize(("prior", "number"), [(True, 7), (False, 7), (True, 4)])
def test_answers_equal_those_of_pgmpy(prior, number):
    rng = np.random.default_rng(number)
    model = TwoSliceBayesianNetwork.from_network(draw_dynamic_network(rng, {"a": 2, "b": 3}, 1, {"s": 2}, prior=prior))
    from pgmpy.inference import DBNInference

    assert isinstance(model, PgmpyNetwork) and model.check_model()
    model.initialize_initial_state()
    history = model.simulate(2, history=None if prior else make_history()).drop(columns=["series", "time"])
    inference = DBNInference(model)
    known = {(name, t): history[name].iloc[t] for t in range(2) for name in ("a", "b", "s")}
    values = model.forecast(history, 2).values
    for step in range(2):
        for name in ("a", "b"):
            answer = inference.forward_inference([(name, 2 + step)], known)[name, 2 + step]
            # pgmpy numbers the states in its answers
            assert values[name].iloc[step].tolist() == pytest.approx(answer.values.tolist(), rel=1e-8)


@pytest.mark.parametrize("prior", [True, False])
def test_networks_of_two_slices_are_pgmpys(prior, tmp_path):
    model = draw_dynamic_network(np.random.default_rng(7), {"a": 2, "b": 3}, 1, {"s": 2}, prior=prior)
    ours, theirs = TwoSliceBayesianNetwork.from_network(model), model.to_pgmpy()
    assert set(ours.nodes()) == set(theirs.nodes()) and set(ours.edges()) == set(theirs.edges())
    assert all(ours.get_cpds(cpd.variable) == cpd for cpd in theirs.cpds) and len(ours.cpds) == len(theirs.cpds) == 6
    assert [cpd.variable[1] for cpd in ours.get_cpds(time_slice=1)] == [1, 1, 1]
    assert ours.get_cpds("b") == model.get_cpds("b")
    assert ours.states == model.states and ours.states["b", 1] == ["0", "1", "2"]
    assert (ours == model) and (model == ours) and hash(ours) == hash(model) and ours != theirs
    again = [ours.copy(), pickle.loads(pickle.dumps(ours)), read_model(save_model(ours, tmp_path / "two.json"))]
    assert all(type(other) is TwoSliceBayesianNetwork and other == ours for other in again)
    assert type(DynamicBayesianNetwork.from_network(ours)) is DynamicBayesianNetwork
    part = ours.subgraph([("a", 0), ("a", 1)])
    assert len(part) == 2 and part == part.copy() and part != ours and hash(part) is not None
    assert get_series_graph(ours).edges == model.to_networkx().edges


def test_tables_and_edges_of_two_slices_are_fixed():
    model = TwoSliceBayesianNetwork.from_network(draw_dynamic_network(np.random.default_rng(7), {"a": 2, "b": 3}, 1))
    for change in (
        lambda: model.add_edge(("a", 0), ("b", 0)),
        lambda: model.add_cpds(*model.cpds),
        lambda: model.remove_cpds(("a", 0)),
        lambda: model.fit(None),
    ):
        with pytest.raises(TypeError, match="TwoSliceBayesianNetwork follow from its parameters"):
            change()
    model.get_cpds(("a", 0)).values[:] = 0.5
    assert not (model.get_cpds(("a", 0)).values == 0.5).any()
    with pytest.raises(ValueError, match="no variable 'z'"):
        model.get_cpds("z")


def test_networks_with_a_common_cycle_are_of_our_class(tmp_path):
    rng = np.random.default_rng(0)
    model = draw_dynamic_network(rng, {"a": 2, "b": 2})
    while set(model.prior.edges()) != {("a@t-1", "b@t-1")} or ("b@t-0", "a@t-0") not in model.transition.edges():
        model = draw_dynamic_network(rng, {"a": 2, "b": 2})
    with pytest.raises(ValueError, match="form the cycle 'a' -> 'b'"):
        TwoSliceBayesianNetwork.from_network(model)
    assert type(read_model(save_model(model, tmp_path / "model.json"))) is DynamicBayesianNetwork


def make_history():
    model = draw_dynamic_network(np.random.default_rng(1), {"a": 2, "b": 3}, 1, {"s": 2})
    return model.simulate(1).drop(columns=["series", "time"])


def test_networks_of_pgmpy_become_ours():
    model = draw_dynamic_network(np.random.default_rng(3), {"a": 2, "b": 3}, 1)
    back = DynamicBayesianNetwork.from_network(model.to_pgmpy())
    joint, other = enumerate_series(model, 2), enumerate_series(back, 2)
    np.testing.assert_allclose(other, joint, rtol=1e-12)
    assert DynamicBayesianNetwork.from_network(model) == model
    # a node without a CPD has the one of the other slice
    network = PgmpyNetwork([(("a", 0), ("a", 1)), (("a", 0), ("b", 0))])
    network.add_cpds(
        TabularCPD(("a", 0), 2, [[0.25], [0.75]]),
        TabularCPD(("a", 1), 2, [[0.5, 0.125], [0.5, 0.875]], [("a", 0)], [2]),
        TabularCPD(("b", 0), 2, [[0.5, 0.0], [0.5, 1.0]], [("a", 0)], [2]),
    )
    ours = DynamicBayesianNetwork.from_network(network)
    assert ours.to_networkx().number_of_edges() == 2
    assert ours.transition.get_cpds("b@t-0").values.tolist() == [[0.5, 0.0], [0.5, 1.0]]
    with pytest.raises(ValueError, match="'a', 0"):
        DynamicBayesianNetwork.from_network(PgmpyNetwork([(("a", 0), ("a", 1))]))
    with pytest.raises(TypeError, match="network must be"):
        DynamicBayesianNetwork.from_network(3)


def test_what_pgmpy_does_not_have_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="lag 1 only"):
        draw_dynamic_network(rng, {"a": 2}, 2).to_pgmpy()
    with pytest.raises(ValueError, match="'a@t-1', 'a@t-0' are continuous"):
        draw_dynamic_network(rng, {"a": 0, "b": 2}, 1).to_pgmpy()


def test_strengths_of_discrete_edges_are_distances_of_distributions():
    states = {name: [0, 1] for name in ("a@t-1", "b@t-1", "a@t-0")}
    network = DiscreteBayesianNetwork([("a@t-1", "a@t-0"), ("b@t-1", "a@t-0")])
    table = [[0.9, 0.5, 0.4, 0.4], [0.1, 0.5, 0.6, 0.6]]  # by the states of a and, faster, of b
    network.add_node("b@t-0")
    network.add_cpds(
        TabularCPD("a@t-0", 2, table, ["a@t-1", "b@t-1"], [2, 2], state_names=states),
        *(TabularCPD(name, 2, [[0.5], [0.5]]) for name in ("a@t-1", "b@t-1", "b@t-0")),
    )
    graph = DynamicBayesianNetwork(network).to_networkx()
    # a: |.9 - .4| and |.5 - .4|; b: |.9 - .5| and 0
    assert graph.edges[("a", 1), ("a", 0)]["strength"] == pytest.approx(0.3)
    assert graph.edges[("b", 1), ("a", 0)]["strength"] == pytest.approx(0.2)


@pytest.mark.parametrize("prior", [True, False])
@pytest.mark.parametrize("cards", [{"a": 2, "b": 3}, {"a": 0, "b": 0}, {"a": 0, "b": 2}])
def test_json_keeps_every_bit(cards, prior, tmp_path):
    model = draw_dynamic_network(np.random.default_rng(2), cards, 2, {"s": 2}, prior=prior, groups="id")
    path = save_model(model, tmp_path / "model.json.gz")
    back = read_model(path)
    assert back == model and back.groups == "id" and hash(back) == hash(model)
    assert DynamicBayesianNetwork.load(path) == model
    assert pickle.loads(pickle.dumps(model)) == model
    assert back != draw_dynamic_network(np.random.default_rng(3), cards, 2, {"s": 2}, prior=prior, groups="id")


def test_bif_holds_the_network_of_the_first_rows(tmp_path):
    model = draw_dynamic_network(np.random.default_rng(2), {"a": 2, "b": 3}, 2, {"s": 2})
    back = DynamicBayesianNetwork.load(save_model(model, tmp_path / "model.bif"))
    assert set(back.names) == {"a", "b"} and back.static_columns == ("s",) and back.lags == 2
    history = model.simulate(1, random_state=5).drop(columns=["series", "time"])
    ours, theirs = model.forecast(history, 3).values, back.forecast(history, 3).values
    np.testing.assert_allclose(theirs[ours.columns], ours, rtol=1e-12)
    assert sorted(read_model(tmp_path / "model.bif").nodes()) == sorted(model.to_bayesian_network().nodes())
    with pytest.raises(TypeError, match="json"):
        save_model(draw_dynamic_network(np.random.default_rng(2), {"a": 0}), tmp_path / "model.bif")
    with pytest.raises(TypeError, match="npz"):
        save_model(model, tmp_path / "model.npz")
    with pytest.raises(ValueError, match="no column of an earlier row"):
        DynamicBayesianNetwork.load(write_plain(tmp_path))


def write_plain(folder):
    network = draw_dynamic_network(np.random.default_rng(2), {"a": 2}).prior
    return save_model(network.__class__.from_network(rename(network)), folder / "plain.bif")


def rename(network):
    copy = network.to_pgmpy().__class__()
    copy.add_node("a")
    copy.add_cpds(TabularCPD("a", 2, network.get_cpds("a@t-1").get_values()))
    return copy


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(lags=0), "number of lags is 0"),
        (lambda d: d.update(lags=3), "lacks the column"),
        (lambda d: d.update(names=["a", "c"]), "'c@t-0'|'b@t-"),
        (lambda d: d.update(names=["a", None]), "the names hold None"),
        (lambda d: d.update(static_columns=[]), "'s'"),
        (lambda d: d.update(groups=[1]), "groups is"),
        (lambda d: d["prior"]["distributions"].pop(), "its prior network: its distributions do not match"),
        (lambda d: d["transition"]["distributions"][-1]["prob"].pop(), "its transition network: the prob of 'b@t-0'"),
        (lambda d: d.pop("prior"), "prior"),
    ],
)
def test_damaged_documents_are_named(change, message, tmp_path):
    model = draw_dynamic_network(np.random.default_rng(2), {"a": 2, "b": 3}, 2, {"s": 2})
    path = save_model(model, tmp_path / "model.json")
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=f"(?s)model.json is not .*({message})"):
        read_model(path)


@pytest.mark.parametrize("cards", [{"a": 2, "b": 2}, {"a": 0, "b": 0}])
def test_pictures_and_reports_show_the_network(cards, tmp_path):
    model = draw_dynamic_network(np.random.default_rng(11), cards, 2, {"s": 2} if all(cards.values()) else {})
    plot_graph(model)
    plot_summary_graph(model)
    page = save_report(model, tmp_path / "model.html").read_text()
    assert f"{'Probabilities' if model.states else 'Regression'} of a" in page
    assert model.get_cpds("a") in model.cpds
    with pytest.raises(ValueError, match="no variable 'z'"):
        model.get_cpds("z")

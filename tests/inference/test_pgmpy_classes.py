"""VariableElimination and BeliefPropagation have pgmpy's signatures and results."""

import inspect

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
from pgmpy.models import DiscreteMarkovNetwork, LinearGaussianBayesianNetwork

import pgmx.estimators  # noqa: F401 - before pgmpy.inference, which warns of pgmpy.estimators
from pgmx.datasets import load_network
from pgmx.inference import BeliefPropagation, VariableElimination

EVIDENCE = {"dysp": "yes", "asia": "no"}


def theirs(name):
    import pgmpy.inference

    return getattr(pgmpy.inference, name)


@pytest.fixture
def asia():
    return load_network("asia")


@pytest.fixture
def markov():
    network = DiscreteMarkovNetwork([("a", "b"), ("b", "c")])
    network.add_factors(
        DiscreteFactor(["a", "b"], [2, 3], [1, 2, 3, 4, 5, 6]), DiscreteFactor(["b", "c"], [3, 2], [2, 1, 0, 1, 3, 3])
    )
    return network


def assert_equal(ours, other):
    assert ours.variables == other.variables
    assert ours.state_names.keys() == other.state_names.keys()
    places = [[other.name_to_no[name][state] for state in ours.state_names[name]] for name in ours.variables]
    np.testing.assert_allclose(ours.values, other.values[np.ix_(*places)], atol=1e-12)


@pytest.mark.parametrize("name", ["VariableElimination", "BeliefPropagation"])
def test_signatures(name):
    ours = {"VariableElimination": VariableElimination, "BeliefPropagation": BeliefPropagation}[name]
    assert issubclass(ours, theirs(name))
    for method in ("query", "map_query"):
        expected = list(inspect.signature(getattr(theirs(name), method)).parameters.values())
        found = list(inspect.signature(getattr(ours, method)).parameters.values())
        own = [parameter for parameter in found if parameter.kind is not inspect.Parameter.KEYWORD_ONLY]
        assert [(p.name, p.default) for p in own] == [(p.name, p.default) for p in expected]


@pytest.mark.parametrize("kind", [VariableElimination, BeliefPropagation])
@pytest.mark.parametrize("variables", [["lung"], ["xray", "bronc", "tub"]])
def test_queries_of_a_bayesian_network(kind, variables, asia):
    peer = theirs("VariableElimination")(asia)
    found = kind(asia).query(variables, EVIDENCE)
    assert_equal(found, peer.query(variables, EVIDENCE, show_progress=False))
    assert found.values.sum() == pytest.approx(1.0)
    alone = kind(asia).query(variables, EVIDENCE, joint=False)
    for name, factor in peer.query(variables, EVIDENCE, joint=False, show_progress=False).items():
        assert_equal(alone[name], factor)


def test_queries_of_a_markov_network(markov):
    peer = theirs("VariableElimination")(markov)
    elimination = VariableElimination(markov)
    assert_equal(elimination.query(["c"], {"a": 1}), peer.query(["c"], {"a": 1}, show_progress=False))
    assert elimination.query(["c"], {"a": 1}).values.tolist() == pytest.approx([26.0, 27.0])
    assert elimination.query(["c"], {"a": 1}, normalize=True).values.sum() == pytest.approx(1.0)
    assert BeliefPropagation(markov).query(["c"], {"a": 1}).values.sum() == pytest.approx(1.0)
    assert BeliefPropagation(markov).query(["c"], {"a": 1}, normalize=False).values.sum() == pytest.approx(53.0)


@pytest.mark.parametrize("kind", [VariableElimination, BeliefPropagation])
def test_most_probable_states(kind, asia):
    joint = kind(asia).query(["lung", "bronc"], EVIDENCE)
    (best,) = joint.assignment([int(joint.values.argmax())])
    assert kind(asia).map_query(["lung", "bronc"], EVIDENCE) == dict(best)
    everything = kind(asia).map_query(evidence=EVIDENCE)
    assert set(everything) == set(asia.nodes) - set(EVIDENCE)
    assert everything == kind(asia).map_query(list(everything), EVIDENCE)


def test_virtual_evidence_matches_states_by_name(asia):
    plain = VariableElimination(asia)
    given = TabularCPD("xray", 2, [[0.2], [0.8]], state_names={"xray": ["no", "yes"]})
    turned = DiscreteFactor(["xray"], [2], [0.8, 0.2], state_names={"xray": ["yes", "no"]})
    nodes = set(asia.nodes)
    first = plain.query(["lung"], virtual_evidence=[given])
    assert_equal(first, plain.query(["lung"], virtual_evidence=[turned]))
    peer = theirs("VariableElimination")(load_network("asia"))
    same_order = TabularCPD("xray", 2, [[0.8], [0.2]], state_names={"xray": ["yes", "no"]})
    assert_equal(first, peer.query(["lung"], virtual_evidence=[same_order], show_progress=False))
    assert set(asia.nodes) == nodes == set(plain.model.nodes)


def test_changes_of_the_model_are_seen(asia):
    elimination = VariableElimination(asia)
    before = elimination.query(["smoke"]).values.copy()
    asia.remove_cpds("smoke")
    asia.add_cpds(TabularCPD("smoke", 2, [[0.9], [0.1]], state_names={"smoke": ["yes", "no"]}))
    assert elimination.query(["smoke"]).values.tolist() == pytest.approx([0.9, 0.1])
    asia.get_cpds("smoke").values[:] = before
    assert elimination.query(["smoke"]).values.tolist() == pytest.approx([0.9, 0.1])
    elimination.refresh()
    assert elimination.query(["smoke"]).values.tolist() == pytest.approx(before.tolist())


def test_a_factor_shares_nothing_with_later_answers(asia):
    elimination = VariableElimination(asia)
    factor = elimination.query(["smoke"])
    factor.state_names["smoke"].append("perhaps")
    factor.values[:] = -1.0
    again = elimination.query(["smoke"])
    assert again.state_names["smoke"] == ["yes", "no"]
    assert (again.values > 0.0).all()


@pytest.mark.parametrize("network", ["asia", "markov"])
def test_calibrated_beliefs(network, request):
    model = request.getfixturevalue(network)
    propagation, elimination = BeliefPropagation(model), VariableElimination(model)
    assert "junction_tree" not in vars(propagation)
    propagation.calibrate()
    assert set(propagation.get_clique_beliefs()) == set(propagation.get_cliques())
    for clique, belief in propagation.get_clique_beliefs().items():
        assert_equal(belief, elimination.query(list(clique)))
    for pair, belief in propagation.get_sepset_beliefs().items():
        first, second = pair
        assert set(belief.variables) == set(first) & set(second)
        assert_equal(belief, elimination.query(belief.variables))


def test_max_calibration_is_pgmpys_on_our_tree(markov):
    propagation, elimination = BeliefPropagation(markov), VariableElimination(markov)
    propagation.max_calibrate()
    best = elimination.map_query()
    for clique, belief in propagation.get_clique_beliefs().items():
        (states,) = belief.assignment([int(belief.values.argmax())])
        assert dict(states) == {name: best[name] for name in clique}


def test_a_network_of_two_components():
    model = DiscreteMarkovNetwork([("a", "b"), ("c", "d")])
    model.add_factors(
        DiscreteFactor(["a", "b"], [2, 2], [1, 2, 3, 4]), DiscreteFactor(["c", "d"], [2, 2], [1, 2, 3, 4])
    )
    found = BeliefPropagation(model).query(["a", "d"]).values
    np.testing.assert_allclose(found, np.outer([3, 7], [4, 6]) / 100.0)
    assert VariableElimination(model).query(["a"]).values.tolist() == pytest.approx([30.0, 70.0])


def test_other_models_are_answered_by_pgmpy(asia):
    tree = asia.to_junction_tree()
    elimination = VariableElimination(tree)
    assert_equal(elimination.query(["lung"], show_progress=False), VariableElimination(asia).query(["lung"]))
    gaussian = LinearGaussianBayesianNetwork([("a", "b")])
    with pytest.raises(NotImplementedError):
        VariableElimination.query(_without_check(gaussian), ["a"])


def _without_check(model):
    elimination = VariableElimination.__new__(VariableElimination)
    elimination.model = model
    return elimination


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([],), ValueError, "must contain at least one variable"),
        ((["lung"], {"lung": "yes"}), ValueError, "'lung' cannot be both in variables and in evidence"),
        ((["lung"], ["lung"]), TypeError, "evidence must be a dict of {name: state}, got list"),
        ((["lungs"],), ValueError, "no variable 'lungs', did you mean 'lung'"),
        ((["lung"], {"dispnea": "yes"}), ValueError, "no variable 'dispnea'"),
        ((["lung"], {"dysp": "maybe"}), KeyError, "'dysp' has no state 'maybe'"),
        ((["lung"], {"dysp": "maybe"}), ValueError, "'dysp' has no state 'maybe'"),
        ((["lung"], {"tub": "yes", "either": "no"}), ValueError, "probability zero"),
        ((["lung"], None, None, ["tub"]), ValueError, "elimination_order lacks"),
        ((["lung"], None, None, ["lung"]), ValueError, "elimination_order holds 'lung'"),
        ((["lung"], None, None, "best"), KeyError, "elimination_order must be a list or one of"),
        ((["lung"], None, ["xray"]), ValueError, "Virtual evidence should be"),
    ],
)
def test_bad_questions(asia, arguments, error, message):
    with pytest.raises(error, match=message):
        VariableElimination(asia).query(*arguments)


def test_old_methods_stay(asia):
    elimination, peer = VariableElimination(asia), theirs("VariableElimination")(asia)
    order = list(asia.nodes)
    assert elimination.induced_width(order) == peer.induced_width(order)
    expected = peer.max_marginal(["dysp"], show_progress=False)
    assert elimination.max_marginal(["dysp"], show_progress=False) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [VariableElimination, BeliefPropagation])
def test_one_name_is_a_question(asia, kind):
    ours = kind(asia)
    assert_equal(ours.query("lung", EVIDENCE), ours.query(["lung"], EVIDENCE))
    assert ours.map_query("lung", EVIDENCE) == ours.map_query(["lung"], EVIDENCE)
    with pytest.raises(TypeError, match="evidence must be a dict of {name: state}, got Series"):
        ours.query(["lung"], pd.Series(EVIDENCE))


@pytest.mark.parametrize("question", ["query", "map_query"])
def test_evidence_is_a_dictionary(asia, question):
    row = pd.Series(EVIDENCE)
    for options in ({}, {"elimination_order": [name for name in asia if name not in {"lung", *EVIDENCE}]}):
        with pytest.raises(TypeError, match="evidence must be a dict of {name: state}, got Series"):
            getattr(VariableElimination(asia), question)(["lung"], evidence=row, **options)

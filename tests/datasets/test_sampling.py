import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmx.datasets import load_network, sample


def joint_probabilities(model):
    """P of every full configuration, by multiplying table entries one by one."""
    names = list(model.nodes())
    states = {v: model.get_cpds(v).state_names[v] for v in names}
    joint = {}
    for row in product(*(states[v] for v in names)):
        here = dict(zip(names, row, strict=True))
        p = 1.0
        for cpd in model.cpds:
            p *= cpd.values[tuple(cpd.state_names[v].index(here[v]) for v in cpd.variables)]
        joint[row] = p
    return joint


@pytest.fixture(scope="module")
def asia():
    return load_network("asia")


def test_frequencies_of_all_configurations_follow_the_joint_distribution(asia):
    n = 200_000
    frame = sample(asia, n, random_state=11)
    counts = frame.astype(str).value_counts()
    for row, p in joint_probabilities(asia).items():
        # Five standard deviations of a binomial count; an impossible configuration must never occur.
        assert abs(counts.get(row, 0) - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1e-9, row


def test_alarm_marginals_agree_with_exact_inference():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # pgmpy warns of its own modules
        from pgmpy.inference import VariableElimination
    model = load_network("alarm")
    n = 50_000
    frame = sample(model, n, random_state=3)
    engine = VariableElimination(model)
    for name in frame.columns:
        factor = engine.query([name], show_progress=False)
        seen = frame[name].value_counts(normalize=True)
        for state, p in zip(factor.state_names[name], factor.values, strict=True):
            assert abs(seen[state] - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-9, (name, state)


def test_columns_are_categories_with_every_declared_state_in_node_order(asia):
    frame = sample(asia, 3)
    assert list(frame.columns) == list(asia.nodes())
    for name, column in frame.items():
        assert isinstance(column.dtype, pd.CategoricalDtype)
        assert list(column.cat.categories) == asia.get_cpds(name).state_names[name]
        assert not column.isna().any()


def test_the_seed_decides_and_a_smaller_sample_is_the_beginning_of_a_larger_one(asia):
    frame = sample(asia, 500, random_state=5)
    pd.testing.assert_frame_equal(frame, sample(asia, 500, random_state=5))
    pd.testing.assert_frame_equal(frame.iloc[:20], sample(asia, 20, random_state=5))
    assert not frame.equals(sample(asia, 500, random_state=6))
    assert not sample(asia, 500, random_state=None).equals(sample(asia, 500, random_state=None))


def test_pinned_rows():
    # Drawn on Linux x86-64 with numpy 2.4; every other platform must draw the same.
    frame = sample(load_network("survey"), 12, random_state=0)
    assert {name: "".join(map(str, column.cat.codes)) for name, column in frame.items()} == {
        "A": "211011020120",
        "S": "101011010111",
        "E": "000000010000",
        "O": "000000000000",
        "R": "110101111111",
        "T": "020101000010",
    }


@pytest.mark.slow
def test_the_hash_seed_changes_nothing(hash_seed_digests):
    one, other = hash_seed_digests
    assert one["rows"] == other["rows"]


def two_node_model(parent_states_in_child):
    model = DiscreteBayesianNetwork([("parent", "child")])
    parent = TabularCPD("parent", 2, [[0.5], [0.5]], state_names={"parent": ["no", "yes"]})
    child = TabularCPD(
        "child",
        3,
        [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]],
        evidence=["parent"],
        evidence_card=[2],
        state_names={"child": [10, 20, 30], "parent": parent_states_in_child},
    )
    model.add_cpds(child, parent)
    return model


@pytest.mark.parametrize(
    ("order", "partner"), [(["no", "yes"], {"no": 10, "yes": 30}), (["yes", "no"], {"yes": 10, "no": 30})]
)
def test_a_table_may_order_the_states_of_a_parent_in_its_own_way(order, partner):
    frame = sample(two_node_model(order), 200)
    assert set(frame["parent"]) == {"no", "yes"}
    assert list(frame["child"].cat.categories) == [10, 20, 30]
    assert (frame["child"].astype(int) == frame["parent"].astype(str).map(partner)).all()


def test_rounded_tables_never_reach_an_impossible_last_state(monkeypatch):
    model = DiscreteBayesianNetwork()
    model.add_node("x")
    model.add_cpds(TabularCPD("x", 4, [[0.3333333], [0.3333333], [0.3333333], [0.0]]))
    largest = np.nextafter(1.0, 0.0)
    monkeypatch.setattr("pgmx.inference.named_networks.draw_uniforms", lambda entropy, position, n: np.full(n, largest))
    assert set(sample(model, 4)["x"].cat.codes) == {2}


def test_odd_names_and_no_rows():
    model = DiscreteBayesianNetwork()
    model.add_nodes_from([("tuple", 1), 7])
    model.add_cpds(TabularCPD(("tuple", 1), 2, [[0.5], [0.5]]), TabularCPD(7, 2, [[0.5], [0.5]]))
    frame = sample(model, 0)
    assert frame.shape == (0, 2)
    assert list(frame.columns) == [("tuple", 1), 7]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_rows": -1}, ValueError, "n_rows must be at least 0, got -1"),
        ({"n_rows": 2.5}, TypeError, "n_rows must be an integer, got 2.5"),
        ({"n_rows": 2, "random_state": -4}, ValueError, "random_state must not be negative, got -4"),
        ({"n_rows": 2, "random_state": "x"}, TypeError, "random_state must be an integer, or None.*got .x."),
    ],
)
def test_bad_arguments_are_named(asia, arguments, error, message):
    with pytest.raises(error, match=message):
        sample(asia, **arguments)


def test_models_without_tables_are_refused_with_the_node():
    model = DiscreteBayesianNetwork([("a", "b")])
    with pytest.raises(ValueError, match="node 'a' has no conditional probability table"):
        sample(model, 1)
    wrong = two_node_model(["no", "yes"])
    wrong.remove_edge("parent", "child")
    with pytest.raises(ValueError, match=r"node 'child' has the parents \['parent'\], the graph has others"):
        sample(wrong, 1)

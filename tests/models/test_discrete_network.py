"""pgmpy's discrete Bayesian network with compiled answers, against enumeration and pgmpy."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pgmpy.models
import pytest
from pgmpy.factors.discrete import TabularCPD

from pgmx.datasets import load_network, sample_network
from pgmx.estimators import HillClimbSearch
from pgmx.inference import CompiledNetwork, marginals
from pgmx.models import DiscreteBayesianNetwork, read_model, save_model


@pytest.fixture
def network():
    """A network of five variables, one of them of one state, with a zero, and with names of several types."""
    made = DiscreteBayesianNetwork([("a", 2), (2, "c"), ("a", "c"), ("c", ("d", 0))])
    made.add_node("one")
    made.add_cpds(
        TabularCPD("a", 2, [[0.3], [0.7]], state_names={"a": ["no", "yes"]}),
        TabularCPD(2, 3, [[0.1, 0.5], [0.9, 0.0], [0.0, 0.5]], ["a"], [2], {2: [7, 8, 9], "a": ["no", "yes"]}),
        TabularCPD(
            "c",
            2,
            [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]],
            [2, "a"],
            [3, 2],
            {"c": [True, False], 2: [9, 7, 8], "a": ["yes", "no"]},
        ),
        TabularCPD(("d", 0), 2, [[0.25, 0.5], [0.75, 0.5]], ["c"], [2], {("d", 0): ["x", "y"], "c": [True, False]}),
        TabularCPD("one", 1, [[1.0]], state_names={"one": ["only"]}),
    )
    return made


def _enumerate(network):
    """Return all configurations as a frame of objects, and their probabilities."""
    names = list(network.nodes)
    states = [network.get_cpds(name).state_names[name] for name in names]
    rows, probabilities = list(itertools.product(*states)), []
    for row in rows:
        value = dict(zip(names, row, strict=True))
        factors = []
        for cpd in network.cpds:
            cell = tuple(cpd.name_to_no[name][value[name]] for name in cpd.variables)
            factors.append(cpd.values[cell])
        probabilities.append(np.prod(factors))
    frame = pd.DataFrame(dict(enumerate(zip(*rows, strict=True))), dtype=object)
    return frame.set_axis(pd.Index(names, tupleize_cols=False), axis=1), np.array(probabilities)


def test_all_patterns_of_missing_values_against_enumeration(network):
    table, joint = _enumerate(network)
    states = {name: list(network.get_cpds(name).state_names[name]) for name in table}
    codes = np.array([[states[name].index(value) for value in table[name]] for name in table]).T
    possible = np.flatnonzero(joint > 0)
    n = table.shape[1]
    for hidden in itertools.product([False, True], repeat=n):
        mask = np.array(hidden)
        rows = table.iloc[possible].mask(np.broadcast_to(mask, (len(possible), n)))
        logs = network.log_evidence(rows)
        proba = network.predict_proba(rows)
        agree = (codes[possible][:, None, ~mask] == codes[None, :, ~mask]).all(axis=2)  # rows and configurations
        sums = agree @ joint
        assert logs == pytest.approx(np.log(sums), abs=1e-12)
        if not mask.any():
            continue
        best, single = network.predict(rows), network.predict(rows, method="marginal")
        for v in np.flatnonzero(mask):
            name = table.columns[v]
            shares = np.stack([agree @ (joint * (codes[:, v] == k)) for k in range(len(states[name]))], axis=1)
            own = proba.loc[:, [(name, state) for state in states[name]]].to_numpy()
            assert own == pytest.approx(shares / sums[:, None], abs=1e-12)
            chosen = [states[name].index(value) for value in single.iloc[:, v]]
            assert (own[np.arange(len(own)), chosen] == own.max(axis=1)).all()
        filled = np.array([[states[name].index(value) for value in best.iloc[:, v]] for v, name in enumerate(table)]).T
        places = (filled[:, None] == codes[None]).all(axis=2).argmax(axis=1)
        assert (codes[places] == filled).all() and agree[np.arange(len(filled)), places].all()
        assert joint[places] == pytest.approx((agree * joint).max(axis=1), rel=1e-12)


def test_complete_rows(network):
    table, joint = _enumerate(network)
    with np.errstate(divide="ignore"):
        expected = np.log(joint)
    assert network.log_likelihood(table) == pytest.approx(expected, abs=1e-13)
    possible = table[joint > 0]
    assert network.score(possible) == pytest.approx(expected[joint > 0].mean())
    with pytest.raises(ValueError, match="nothing to predict"):
        network.predict(possible)
    with pytest.raises(ValueError, match="no column"):
        network.log_likelihood(table.drop(columns="a"))


def test_named_variables_are_predicted_from_the_others(network):
    table, joint = _enumerate(network)
    possible = table[joint > 0]
    pd.testing.assert_frame_equal(
        network.predict_proba(possible, ["c"]), network.predict_proba(possible.drop(columns="c"))
    )
    with pytest.raises(ValueError, match="no variable 'e'"):
        network.predict_proba(possible, ["e"])


def test_order_of_columns_and_index(network):
    rows = pd.DataFrame({"c": [True, None], "a": ["yes", "no"]}, index=["first", "second"])
    found = network.predict(rows)
    assert list(found.columns) == ["c", "a", 2, ("d", 0), "one"]
    assert list(found.index) == ["first", "second"]
    assert list(found["a"].cat.categories) == ["no", "yes"]
    before = rows.copy()
    network.predict(rows)
    pd.testing.assert_frame_equal(rows, before)


def test_impossible_rows(network):
    rows = pd.DataFrame({"a": ["no", "no", "yes"], 2: [9, 7, 8]})
    assert list(np.isinf(network.log_evidence(rows))) == [True, False, True]
    for method in ("map", "marginal"):
        with pytest.raises(ValueError, match=r"2 row\(s\), the first at position 0, are impossible.*'a': 'no', 2: 9"):
            network.predict(rows, method=method)
    with pytest.raises(ValueError, match="position 0"):
        network.predict_proba(rows)


def test_rows_have_the_same_bits_in_any_table():
    alarm = load_network("alarm")
    frame = sample_network("alarm", 5_000, random_state=1)
    rows = frame.mask(np.random.default_rng(2).random(frame.shape) < 0.3)
    logs, proba = alarm.log_evidence(rows), alarm.predict_proba(rows)
    order = np.random.default_rng(3).permutation(len(rows))
    assert (alarm.log_evidence(rows.iloc[order]) == logs[order]).all()
    for k in (0, 4_321):
        alone = rows.iloc[[k]]
        assert alarm.log_evidence(alone)[0] == logs[k]
        found = alarm.predict_proba(alone)
        pd.testing.assert_frame_equal(found, proba.loc[[k], found.columns], check_exact=True)
    one, two = (alarm.predict(rows, n_jobs=n_jobs, stochastic=True, seed=4) for n_jobs in (1, 2))
    pd.testing.assert_frame_equal(one, two)


def test_draws_have_the_conditional_distribution(network):
    rows = pd.DataFrame({"c": [True] * 20_000})
    drawn = network.predict(rows, stochastic=True, seed=5)
    pairs = drawn.groupby(["a", 2], observed=False).size() / len(rows)
    table, joint = _enumerate(network)
    agree = (table["c"] == True).to_numpy()  # noqa: E712  (a state, not a truth value)
    for (a, b), share in pairs.items():
        cells = agree & (table["a"] == a).to_numpy() & (table[2] == b).to_numpy()
        assert share == pytest.approx(joint[cells].sum() / joint[agree].sum(), abs=0.012)


def test_same_answers_as_pgmpy():
    asia = load_network("asia")
    rows = sample_network("asia", 20, random_state=6)[["smoke", "xray", "dysp"]]
    ours, theirs = asia.predict(rows), asia.to_pgmpy().predict(rows, n_jobs=1)
    pd.testing.assert_frame_equal(ours.astype(object), theirs[ours.columns].astype(object), check_dtype=False)
    ours, theirs = asia.predict_probability(rows), asia.to_pgmpy().predict_probability(rows)
    pd.testing.assert_frame_equal(ours, theirs[ours.columns], atol=1e-12)
    states = {"smoke": "yes", "dysp": "no"}
    assert asia.get_state_probability(states) == pytest.approx(asia.to_pgmpy().get_state_probability(states))


def test_copies_are_of_the_class(network):
    network.predict_proba(pd.DataFrame({"a": ["yes"]}))
    for twin in (network.copy(), copy.copy(network), copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert type(twin) is DiscreteBayesianNetwork and twin == network and twin._kept is None
        assert marginals(twin) == marginals(network)
    assert type(network.do(["c"])) is DiscreteBayesianNetwork
    assert set(network.subgraph(["a", "c"])) == {"a", "c"}
    plain = network.to_pgmpy()
    assert type(plain) is pgmpy.models.DiscreteBayesianNetwork and plain == network
    again = DiscreteBayesianNetwork.from_network(plain)
    again.get_cpds("a").values[:] = [0.5, 0.5]
    assert network.get_cpds("a").values.tolist() == [0.3, 0.7]
    with pytest.raises(TypeError, match="LinearGaussian"):
        DiscreteBayesianNetwork.from_network(pgmpy.models.LinearGaussianBayesianNetwork())


def test_copies_keep_roles():
    made = DiscreteBayesianNetwork([("a", "b")], latents={"a"}, exposures={"b"})
    twin = made.copy()
    assert twin == made and twin.latents == {"a"}
    twin.latents = {"b"}
    assert made.latents == {"a"}


def test_changed_tables_are_seen(network):
    before = network.predict_proba(pd.DataFrame({"c": [True]}), ["a"]).to_numpy()
    kept = CompiledNetwork(network)
    fixed = marginals(kept)["a"]
    network.get_cpds("a").values[:] = [0.5, 0.5]
    edited = network.predict_proba(pd.DataFrame({"c": [True]}), ["a"]).to_numpy()
    assert (edited != before).all() and marginals(network)["a"]["yes"] == pytest.approx(0.5)
    network.remove_cpds("a")
    with pytest.raises(ValueError, match="'a' has no conditional probability table"):
        network.log_evidence(pd.DataFrame({"c": [True]}))
    network.add_cpds(TabularCPD("a", 2, [[0.3], [0.7]], state_names={"a": ["no", "yes"]}))
    assert (network.predict_proba(pd.DataFrame({"c": [True]}), ["a"]).to_numpy() == before).all()
    assert marginals(kept)["a"] == fixed


def test_it_is_the_class_of_learners_and_readers(tmp_path):
    frame = sample_network("asia", 500, random_state=0)
    learned = HillClimbSearch(show_progress=False).fit(frame).model_
    assert type(learned) is DiscreteBayesianNetwork
    for format in ("bif", "xmlbif", "net", "xdsl", "json"):
        assert type(read_model(save_model(learned, tmp_path / f"model.{format}"))) is DiscreteBayesianNetwork


def test_empty_frames():
    asia = load_network("asia")
    empty = sample_network("asia", 3).iloc[:0].drop(columns="lung")
    assert asia.predict(empty).shape == (0, 8)
    assert asia.predict_proba(empty).shape == (0, 2)
    assert asia.log_evidence(empty).shape == (0,)

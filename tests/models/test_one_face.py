"""One list of methods, with the same names and meanings, for all four kinds of network."""

import pickle
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.continuous import LinearGaussianCPD
from pgmpy.factors.discrete import TabularCPD

from pgmx.datasets import grid_network
from pgmx.models import (
    ConditionalGaussianCPD,
    ConditionalGaussianNetwork,
    DiscreteBayesianNetwork,
    LinearGaussianBayesianNetwork,
    PairwiseMarkovNetwork,
)

METHODS = ("predict", "predict_proba", "log_likelihood", "log_evidence", "score", "simulate", "copy", "to_pgmpy")
NAMES = ["a", "b", "c", "d"]


class Kind(NamedTuple):
    """A network of the variables a, b, c, d; which are continuous; options of the density of each row."""

    network: object
    continuous: tuple = ()
    per_row: dict = {}


def make_discrete():
    network = DiscreteBayesianNetwork([("a", "b"), ("b", "c"), ("a", "d"), ("c", "d")])
    rng = np.random.default_rng(0)
    states = {"a": ["no", "yes"], "b": [0, 1, 2], "c": ["x", "y"], "d": [True, False]}
    for name in NAMES:
        parents = sorted(network.predecessors(name))
        cards = [len(states[p]) for p in parents]
        table = rng.dirichlet(np.ones(len(states[name])), int(np.prod(cards))).T
        own = {key: states[key] for key in [name, *parents]}
        network.add_cpds(TabularCPD(name, len(states[name]), table, parents, cards, state_names=own))
    return Kind(network)


def make_linear():
    network = LinearGaussianBayesianNetwork([("a", "b"), ("b", "c"), ("a", "d"), ("c", "d")])
    network.add_cpds(
        LinearGaussianCPD("a", [1.0], 1.0),
        LinearGaussianCPD("b", [0.5, 2.0], 0.5, ["a"]),
        LinearGaussianCPD("c", [0.0, -1.0], 2.0, ["b"]),
        LinearGaussianCPD("d", [0.0, 1.0, 1.0], 0.3, ["a", "c"]),
    )
    return Kind(network, tuple(NAMES), {"per_row": True})  # without it the sum, as pgmpy has it


def make_mixed():
    cpds = [
        TabularCPD("a", 2, [[0.4], [0.6]], state_names={"a": ["no", "yes"]}),
        TabularCPD("b", 3, [[0.1, 0.4], [0.2, 0.3], [0.7, 0.3]], ["a"], [2], {"b": [0, 1, 2], "a": ["no", "yes"]}),
        ConditionalGaussianCPD("c", [[0.0], [2.0]], [1.0, 0.5], ["a"], (), {"a": ["no", "yes"]}),
        ConditionalGaussianCPD(
            "d", [[0.0, 1.0], [1.0, 1.0], [2.0, -1.0]], [1.0, 0.5, 2.0], ["b"], ["c"], {"b": [0, 1, 2]}
        ),
    ]
    return Kind(ConditionalGaussianNetwork.from_cpds(cpds), ("c", "d"))


def make_markov():
    potentials = grid_network(2, 2, edge_scale=2.0).potentials
    return Kind(
        PairwiseMarkovNetwork.from_potentials(NAMES, [["no", "yes"], [0, 1], ["x", "y"], [True, False]], potentials)
    )


KINDS = {"discrete": make_discrete, "linear": make_linear, "mixed": make_mixed, "markov": make_markov}


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request):
    return KINDS[request.param]()


@pytest.fixture(scope="module")
def rows(kind):
    """Ten complete rows, in an order of columns of their own, with an index."""
    frame = kind.network.simulate(10, seed=1)
    return frame[["c", "a", "d", "b"]].set_axis([f"r{k}" for k in range(10)])


def punch(kind, rows, share=0.4):
    holes = np.random.default_rng(2).random(rows.shape) < share
    gone = rows.astype(object).mask(pd.DataFrame(holes, index=rows.index, columns=rows.columns))
    return gone.astype(dict.fromkeys(kind.continuous, float))


def test_all_have_the_methods_and_can_be_copied(kind, rows):
    network = kind.network
    for name in METHODS:
        assert callable(getattr(network, name)), name
    for twin in (network.copy(), pickle.loads(pickle.dumps(network))):
        assert type(twin) is type(network)
        np.testing.assert_array_equal(twin.log_evidence(rows), network.log_evidence(rows))
    if not kind.continuous or len(kind.continuous) == 4:  # pgmpy has no mixed networks
        plain = network.to_pgmpy()
        assert type(plain).__module__.startswith("pgmpy.")
        again = type(network).from_network(plain)
        np.testing.assert_allclose(again.log_evidence(rows), network.log_evidence(rows), rtol=1e-9)
    else:
        with pytest.raises(ValueError, match="pgmpy has no network of discrete and continuous variables"):
            network.to_pgmpy()


@pytest.mark.parametrize("method", ["map", "marginal"])
def test_predict_returns_complete_rows(kind, rows, method):
    gone = punch(kind, rows).drop(columns="b")
    before = gone.copy(deep=True)
    filled = kind.network.predict(gone, method=method)
    pd.testing.assert_frame_equal(gone, before)
    assert list(filled) == ["c", "a", "d", "b"]
    assert filled.index.equals(gone.index)
    assert not filled.isna().any().any()
    for name in filled:
        if name in kind.continuous:
            assert filled[name].dtype == np.float64
        else:
            assert list(filled[name].cat.categories) == list(kind.network.states[name])
        if name in gone:
            seen = gone[name].notna()
            assert filled[name][seen].tolist() == rows[name][seen].tolist()
    for k in range(10):  # alone and in any order the same, to the bit
        pd.testing.assert_frame_equal(kind.network.predict(gone.iloc[[k]], method=method), filled.iloc[[k]])
    backwards = kind.network.predict(gone.iloc[::-1], method=method)
    pd.testing.assert_frame_equal(backwards.iloc[::-1], filled)


def test_marginal_predictions_are_those_of_the_distributions(kind, rows):
    gone = punch(kind, rows)
    shares, filled = kind.network.predict_proba(gone), kind.network.predict(gone, method="marginal")
    for name in shares.columns.get_level_values(0).unique():
        if name in kind.continuous:
            np.testing.assert_allclose(shares[name, "mean"], filled[name], rtol=1e-12)
        else:
            assert (shares[name].idxmax(axis=1) == filled[name].astype(object)).all()


def test_distributions_of_missing_and_of_named_variables(kind, rows):
    gone = rows.astype(object)
    gone.iloc[3, 1] = None
    gone = gone.astype(dict.fromkeys(kind.continuous, float)).drop(columns="d")
    shares = kind.network.predict_proba(gone)
    labels = {name: ["mean", "std"] if name in kind.continuous else list(kind.network.states[name]) for name in NAMES}
    assert list(shares) == [(name, label) for name in ("a", "d") for label in labels[name]]
    assert shares.index.equals(rows.index)
    for k, name in enumerate(rows.index):
        figures = shares.loc[name, "a"]
        if k == 3:
            continue
        if "a" in kind.continuous:
            assert figures.tolist() == [rows["a"].iloc[k], 0.0]
        else:
            assert figures[rows["a"].iloc[k]] == 1.0
    for names in (["c"], ["d", "b"]):  # in the order of the nodes, whatever the rows say
        asked = kind.network.predict_proba(rows, names)
        pd.testing.assert_frame_equal(asked, kind.network.predict_proba(rows.drop(columns=names)))
    with pytest.raises(ValueError, match="nobody"):
        kind.network.predict_proba(rows, ["nobody"])


def test_densities(kind, rows):
    network = kind.network
    complete = network.log_likelihood(rows, **kind.per_row)
    assert complete.shape == (10,)
    np.testing.assert_allclose(network.log_evidence(rows), complete, rtol=1e-9)
    np.testing.assert_allclose(network.log_evidence(rows.iloc[:0]), [])
    gone = punch(kind, rows)
    assert network.score(gone) == pytest.approx(network.log_evidence(gone).mean())
    assert network.score(rows) == pytest.approx(complete.mean())
    assert network.log_evidence(pd.DataFrame(index=range(2))) == pytest.approx([0.0, 0.0], abs=1e-12)
    if "b" not in kind.continuous:  # the sum over the states of a column
        others = rows.drop(columns="b")
        logs = [network.log_evidence(others.assign(b=[state] * 10)) for state in network.states["b"]]
        np.testing.assert_allclose(np.logaddexp.reduce(logs), network.log_evidence(others), rtol=1e-9)
    with pytest.raises(ValueError, match="missing values"):
        network.log_likelihood(gone, **kind.per_row)


def test_samples_given_evidence(kind, rows):
    value = rows["b"].iloc[0]
    drawn = kind.network.simulate(300, evidence={"b": value}, seed=5)
    assert set(drawn) == set(NAMES) and (drawn["b"] == value).all()
    pd.testing.assert_frame_equal(drawn, kind.network.simulate(300, evidence={"b": value}, seed=5))
    shares = kind.network.predict_proba(pd.DataFrame({"b": [value]}))
    for name in ("a", "c", "d"):
        if name in kind.continuous:
            mean, std = shares[name].iloc[0]
            assert drawn[name].mean() == pytest.approx(mean, abs=5.0 * std / np.sqrt(300))
        else:
            for state, share in shares[name].iloc[0].items():
                assert (drawn[name] == state).mean() == pytest.approx(
                    share, abs=5.0 * np.sqrt(share * (1 - share) / 300)
                )
    if isinstance(kind.network, PairwiseMarkovNetwork):
        return
    other = kind.network.simulate(300, do={"c": rows["c"].iloc[0]}, evidence={"b": value}, seed=5)
    assert (other["c"] == rows["c"].iloc[0]).all() and (other["b"] == value).all()


def test_wrong_rows_and_options_are_refused(kind, rows):
    network = kind.network
    gone = rows.drop(columns="b")
    for ask in (network.predict, network.predict_proba, network.log_evidence):
        with pytest.raises(ValueError, match="'another'"):
            ask(gone.assign(another=1.0))
    with pytest.raises(ValueError, match="method must be one of .*'map', 'marginal', got 'best'"):
        network.predict(gone, method="best")


@pytest.mark.parametrize("make", [make_discrete, make_mixed, make_markov])
def test_impossible_rows(make):
    kind = make()
    network = kind.network
    if isinstance(network, PairwiseMarkovNetwork):
        from pgmx.inference import PairwisePotentials

        potentials = PairwisePotentials.build([2] * 4, tables={(0, 1): [[0.0, -np.inf], [0.0, 0.0]]})
        network = PairwiseMarkovNetwork.from_potentials(NAMES, [["no", "yes"], [0, 1], [0, 1], [0, 1]], potentials)
    else:
        table = TabularCPD(
            "b", 3, [[0.5, 0.4], [0.0, 0.3], [0.5, 0.3]], ["a"], [2], {"b": [0, 1, 2], "a": ["no", "yes"]}
        )
        others = [cpd for cpd in network.cpds if cpd.variable != "b"]
        if isinstance(network, ConditionalGaussianNetwork):
            network = ConditionalGaussianNetwork.from_cpds([*others, table])
        else:
            network.add_cpds(table)
    rows = pd.DataFrame({"b": [0, 1, 1], "a": ["no", "yes", "no"]})
    assert np.isfinite(network.log_evidence(rows)).tolist() == [True, True, False]
    for ask in (network.predict, network.predict_proba):
        with pytest.raises(ValueError, match=r"1 row\(s\), the first at position 2, are impossible under the network"):
            ask(rows)

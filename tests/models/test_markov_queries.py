"""Questions to a Markov network, against enumeration."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from helpers.examples import examples
from helpers.markov_networks import codes_of, enumerable, networks, questions, ring
from oracles import enumeration
from pgmx.data import DiscreteTable, write_table
from pgmx.datasets import chain_network, grid_network, tree_network
from pgmx.inference import ApproximationWarning
from pgmx.models import PairwiseMarkovNetwork


@given(questions(impossible=(0.0, 0.2)))
@examples(80)
def test_marginals_and_partition(question):
    network, evidence = question
    cards, factors = enumerable(network)
    known = codes_of(network, evidence)
    total = enumeration.log_partition(cards, factors, known)
    if total == -np.inf:
        with pytest.raises(ValueError, match="probability"):
            network.marginals(evidence)
        return
    assert network.log_partition(evidence) == pytest.approx(total, abs=1e-9)
    found = network.marginals(evidence)
    assert found.method == "exact"
    wanted = enumeration.marginals(cards, factors, known)
    assert list(found) == [name for name in network.names if name not in evidence]
    for name in found:
        np.testing.assert_allclose(found.array(name), wanted[network.names.index(name)], atol=1e-9)
        assert list(found[name]) == network.states[name]


@given(questions())
@examples(40)
def test_joint_queries(question):
    network, evidence = question
    cards, factors = enumerable(network)
    free = [name for name in reversed(network.names) if name not in evidence][:3]
    found = network.query(free, evidence)
    ids = [network.names.index(name) for name in free]
    wanted = enumeration.joint(cards, factors, ids, codes_of(network, evidence))
    assert found.variables == free
    assert found.state_names == {name: network.states[name] for name in free}
    np.testing.assert_allclose(found.values.ravel(), list(wanted.values()), atol=1e-9)
    alone = network.query(free, evidence, joint=False)
    assert list(alone) == free
    np.testing.assert_allclose(alone[free[0]].values, found.values.sum(axis=tuple(range(1, len(free)))), atol=1e-9)


@given(questions(impossible=(0.0, 0.2)))
@examples(60)
def test_most_probable_states(question):
    network, evidence = question
    cards, factors = enumerable(network)
    known = codes_of(network, evidence)
    if enumeration.log_partition(cards, factors, known) == -np.inf:
        return
    best, _ = enumeration.most_probable(cards, factors, known)
    for method in ("exact", "loopy"):
        found = network.map(evidence, method=method)
        assert list(found) == [name for name in network.names if name not in evidence]
        states = codes_of(network, {**found, **evidence})
        score = enumeration.log_score(factors, [states[v] for v in range(len(cards))])
        if method == "exact":
            assert score == pytest.approx(best, abs=1e-9)
        else:
            assert score <= best + 1e-9


def test_max_product_is_exact_on_trees():
    for seed in range(5):
        tree = tree_network(60, 3, random_state=seed)
        assert tree.map(method="loopy") == tree.map()
    tied = chain_network(6, node_scale=0.0)  # two best configurations, mixed up by variables that decide alone
    codes = np.array([[tied.map(method="loopy")[name]] for name in tied.names])
    best = np.array([[tied.map()[name]] for name in tied.names])
    assert tied.potentials.log_score(codes) == pytest.approx(tied.potentials.log_score(best))


def test_engines_agree():
    network, evidence = ring(8, scale=0.5, isolated=2), {3: "yes"}
    exact = network.marginals(evidence)
    loopy = network.marginals(evidence, method="loopy")
    gibbs = network.marginals(evidence, method="gibbs", n_samples=40_000, thinning=2, seed=1)
    assert (exact.method, loopy.method, gibbs.method) == ("exact", "loopy", "gibbs")
    for name in exact:
        np.testing.assert_allclose(loopy.array(name), exact.array(name), atol=1e-3)
        np.testing.assert_allclose(gibbs.array(name), exact.array(name), atol=0.015)
    pair = network.query([1, 2], evidence, method="gibbs", n_samples=40_000, thinning=2)
    np.testing.assert_allclose(pair.values, network.query([1, 2], evidence).values, atol=0.015)
    pair = network.query([2, 1], evidence, method="loopy")
    np.testing.assert_allclose(pair.values, network.query([2, 1], evidence).values, atol=1e-3)
    with pytest.raises(ValueError, match=r"no joint distribution of \[0, 2\], because they do not share an edge"):
        network.query([0, 2], evidence, method="loopy")


@pytest.mark.slow
def test_wide_network_goes_to_belief_propagation():
    grid = grid_network(30, 30, edge_scale=0.2)
    with pytest.warns(ApproximationWarning, match=r"loopy belief propagation.*2\.15 GB"):
        found = grid.marginals({"x0": 1}, n_sweeps=1000)
    assert (found.method, found.converged, len(found)) == ("corrected", True, 899)
    assert grid.map().exact  # the bound of the search is met, so that there is nothing to warn of
    with pytest.warns(ApproximationWarning, match="Gibbs sampling"):
        assert grid.simulate(20, burn_in=20, thinning=1).shape == (20, 900)
    with pytest.warns(ApproximationWarning, match="annealed importance sampling"):
        assert not grid.partition_is_exact


def test_a_warning_when_messages_do_not_settle():
    grid = grid_network(5, 5, 3, edge_scale=3.0)
    with pytest.warns(RuntimeWarning, match=r"did not converge.*max_iter") as caught:
        found = grid.marginals(method="loopy", max_iter=2)
    assert caught[0].filename == __file__
    assert repr(found) == "Marginals(25 variables, loopy, not converged)"


@given(networks(impossible=(0.0, 0.1)))
@examples(40)
def test_likelihoods_of_rows(network):
    cards, factors = enumerable(network)
    total = enumeration.log_partition(cards, factors)
    if total == -np.inf:
        return
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, card, 6) for card in cards])
    frame = DiscreteTable(network.names, list(network.states.values()), codes).to_pandas()
    shuffled = frame[list(reversed(frame.columns))] if frame.shape[1] > 1 else frame
    wanted = [enumeration.log_score(factors, row) - total for row in codes.T.tolist()]
    np.testing.assert_allclose(network.log_likelihood(shuffled), wanted, atol=1e-8)
    wanted = [enumeration.pseudo_log_likelihood(cards, factors, row) for row in codes.T.tolist()]
    np.testing.assert_allclose(network.pseudo_log_likelihood(frame), wanted, atol=1e-8)


def test_rows_of_every_kind():
    network = chain_network(3)
    rows = [[0, 1, 1], [1, 1, 0]]
    wanted = network.log_likelihood(DiscreteTable(network.names, [[0, 1]] * 3, np.transpose(rows)))
    frame = pd.DataFrame(rows, columns=["x0", "x1", "x2"])
    for given_rows in (rows, np.array(rows), frame, frame.astype("Int64"), frame.astype(float), frame.astype(object)):
        np.testing.assert_array_equal(network.log_likelihood(given_rows), wanted)
    assert network.log_likelihood(frame.iloc[:1]) == wanted[0]


def test_rows_of_files_and_iterators(tmp_path):
    network = chain_network(3, 3)
    frame = network.simulate(30)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    write_table(frame, tmp_path / "rows.pgmx")
    for ask in (network.log_likelihood, network.pseudo_log_likelihood):
        wanted = ask(frame)
        for source in (tmp_path / "rows.csv", str(tmp_path / "rows.pgmx"), iter([frame[:10], frame[10:]])):
            np.testing.assert_array_equal(ask(source), wanted)
    frame.astype("Int64").mask(frame["x1"] == 1).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ValueError, match=r"missing values in column\(s\) 'x0', 'x1', 'x2': drop the rows"):
        network.log_likelihood(tmp_path / "rows.csv")
    with pytest.raises(FileNotFoundError, match="none.csv"):
        network.log_likelihood("none.csv")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda f: f.rename(columns={"x1": "y"}), r"'y' are not variables of the network"),
        (lambda f: f.drop(columns="x1"), "'x1' have no column: predict"),
        (lambda f: f.replace({"x1": {1: 5}}), "column 'x1' holds 5, which are not among the states .* 0, 1"),
        (lambda f: f.mask(f["x2"] == 1), "missing values in column"),
        (lambda f: f.to_numpy()[:, :2], r"one column for each of 3 variables"),
    ],
)
def test_wrong_rows(change, what):
    frame = pd.DataFrame([[0, 1, 1], [1, 1, 0]], columns=["x0", "x1", "x2"])
    with pytest.raises(ValueError, match=what):
        chain_network(3).log_likelihood(change(frame))


def test_states_known_as_text():
    potentials = chain_network(1).potentials
    network = PairwiseMarkovNetwork.from_potentials(["a"], [["0", "1"]], potentials)
    with pytest.raises(ValueError, match=r"as text, convert the column with astype\(.string.\)"):
        network.log_likelihood(pd.DataFrame({"a": [0, 1]}))


def test_simulated_rows():
    network = ring(5, isolated=1)
    for method in ("exact", "gibbs"):
        rows = network.simulate(4000, {2: "yes"}, method=method, seed=3)
        assert list(rows.columns) == list(network.names)
        assert (rows[2] == "yes").all()
        assert list(rows[0].cat.categories) == ["no", "yes"]
        for name, wanted in network.marginals({2: "yes"}).items():
            assert (rows[name] == "yes").mean() == pytest.approx(wanted["yes"], abs=0.035)
        assert rows.equals(network.simulate(4000, {2: "yes"}, method=method, seed=3))
        assert rows.equals(network.simulate(4000, {2: "yes"}, method=method, random_state=3))
        assert not rows.equals(network.simulate(4000, {2: "yes"}, method=method, seed=4))


@pytest.mark.parametrize(
    ("ask", "what"),
    [
        (lambda m: m.marginals({9: "no"}), "no variable 9"),
        (lambda m: m.marginals({0: "maybe"}), "0 has no state 'maybe': its states are 'no', 'yes'"),
        (lambda m: m.marginals(method="best"), "method must be one of 'auto', 'exact', 'corrected', 'loopy', 'gibbs'"),
        (lambda m: m.map(method="gibbs"), "method must be one of 'auto', 'exact', 'search', 'loopy'"),
        (lambda m: m.query([]), "variables is empty"),
        (lambda m: m.query([0, 0]), "variables must be distinct"),
        (lambda m: m.query([0], {0: "no"}), "both in variables and in evidence"),
    ],
)
def test_wrong_questions(ask, what):
    with pytest.raises(ValueError, match=what):
        ask(ring())


def test_wrong_numbers_of_simulated_rows():
    network = chain_network(2)
    with pytest.raises(ValueError, match="n_samples must be at least 1, got 0"):
        network.simulate(0)
    with pytest.raises(TypeError, match="n_samples must be an integer, got 2.5"):
        network.simulate(2.5)
    with pytest.raises(ValueError, match="seed must not be negative, got -1: give None"):
        network.simulate(5, seed=-1)
    with pytest.raises(ValueError, match="random_state=None and seed=0 are two spellings"):
        network.simulate(5, random_state=None, seed=0)
    with pytest.raises(ValueError, match="n_samples must be at least 1, got 0"):
        network.marginals(method="gibbs", n_samples=0)


def test_wrong_types_of_questions():
    with pytest.raises(TypeError, match=r"use \['x0'\]"):
        chain_network(2).query("x0")
    with pytest.raises(TypeError, match="evidence must be a dict"):
        chain_network(2).marginals(["x0"])

"""Missing values and columns filled by a Markov network."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.markov_networks import enumerable, named, networks
from oracles import enumeration
from pgmx.data import DiscreteTable, encode
from pgmx.datasets import chain_network, grid_network, tree_network
from pgmx.inference import ApproximationWarning, PairwisePotentials, TreewidthError
from pgmx.inference.approximate import markov_rows
from pgmx.inference.approximate.markov_rows import MarkovRows
from pgmx.models import PairwiseMarkovNetwork


@given(networks(), st.integers(0, 2**32), st.booleans())
@examples(80)
def test_against_enumeration(network, seed, is_extreme):
    """Both the exponentials and, for extreme potentials, their logarithms are exact."""
    cards, factors = enumerable(network)
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, card, 5) for card in cards], axis=1).astype(np.int32)
    codes[rng.random(codes.shape) < 0.5] = -1
    limit = markov_rows.MOST_RANGE
    markov_rows.MOST_RANGE = -1.0 if is_extreme else limit
    try:
        engine = MarkovRows(network.potentials)
    finally:
        markov_rows.MOST_RANGE = limit
    columns = np.cumsum([0, *cards])
    shares = np.zeros((5, columns[-1]))
    sums = engine.answer_rows(codes, None, probabilities=shares, columns=columns[:-1])
    filled, maxima = engine.complete_rows(codes, None)
    assert (filled[codes >= 0] == codes[codes >= 0]).all()
    for row in range(5):
        known = {v: int(code) for v, code in enumerate(codes[row]) if code >= 0}
        assert sums[row] == pytest.approx(enumeration.log_partition(cards, factors, known), abs=1e-9)
        best, _ = enumeration.most_probable(cards, factors, known)
        assert enumeration.log_score(factors, filled[row].tolist()) == pytest.approx(best, abs=1e-9)
        assert maxima[row] == pytest.approx(best, abs=1e-9)
        for v, probabilities in enumerate(enumeration.marginals(cards, factors, known)):
            if v not in known:
                np.testing.assert_allclose(shares[row, columns[v] : columns[v + 1]], probabilities, atol=1e-9)


def test_frame_comes_back_whole():
    network = named(chain_network(3, 3, edge_scale=3.0).potentials)
    rows = network.simulate(50)
    gone = rows.astype(object)
    gone.iloc[3, 0] = None
    gone.iloc[4, 1] = np.nan
    gone = gone.drop(columns=network.names[2]).set_index(pd.Index(range(100, 150)))
    before = gone.copy(deep=True)
    filled = network.predict(gone)
    pd.testing.assert_frame_equal(gone, before)
    assert list(filled.columns) == [*network.names[:2], *network.names[3:], network.names[2]]
    assert filled.index.equals(gone.index)
    for v, name in enumerate(network.names[:2]):
        known = np.arange(50) != 3 + v
        assert filled[name][known].tolist() == rows[name][known].tolist()
        assert list(filled[name].cat.categories) == network.states[name]
    assert filled.isna().sum().sum() == 0


def test_integers_that_became_floats():
    network = chain_network(2, edge_scale=4.0)
    frame = pd.DataFrame({"x0": [0.0, np.nan, 1.0], "x1": [1, 0, 0]})
    filled = network.predict(frame)
    assert filled["x0"].tolist()[0::2] == [0, 1]
    assert [type(state) for state in filled["x0"].cat.categories] == [int, int]


def test_tables_that_mark_missing_values():
    network = chain_network(2, edge_scale=4.0)
    frame = pd.DataFrame({"x0": [0, 1, None], "x1": [1, None, 0]}, dtype="Int64")
    table = encode(frame, missing="pairwise")
    assert network.predict(table).equals(network.predict(frame))


def test_nothing_known():
    network = grid_network(3, 3)
    best = network.map()
    table = DiscreteTable(["x0"], [(0, 1)], [[best["x0"]]])
    assert network.predict(table).iloc[0].to_dict() == best


@pytest.mark.slow
def test_one_missing_column_of_a_wide_network():
    network = grid_network(30, 30)
    with pytest.warns(ApproximationWarning, match="Gibbs sampling"):
        rows = network.simulate(100, burn_in=50)
    codes = rows.to_numpy().T.astype(np.uint8)
    filled = network.predict(rows.drop(columns="x31"))
    wanted = network.potentials.fields(codes)[31].argmax(axis=0)
    assert filled["x31"].tolist() == wanted.tolist()


def test_impossible_rows():
    forbidden = PairwisePotentials.build(
        [2, 2, 2], tables={(0, 1): [[0, -np.inf], [0, 0]], (1, 2): [[-np.inf, 0], [0, 0]]}
    )
    network = named(forbidden)
    first, _, third = network.names
    states = network.states
    rows = pd.DataFrame({first: [states[first][1], states[first][0]], third: [states[third][0]] * 2})
    for method in ("map", "marginal"):
        with pytest.raises(ValueError, match=r"1 row\(s\), the first at position 1, are impossible under the network"):
            network.predict(rows, method=method)
    np.testing.assert_array_equal(network.log_evidence(rows) == -np.inf, [False, True])
    with pytest.raises(ValueError, match="'map', 'marginal', got 'mode'"):
        network.predict(rows, method="mode")


def test_engines_agree_where_all_are_exact():
    """On a tree belief propagation is exact; thirty missing variables are too many to enumerate."""
    network = tree_network(40, random_state=3)
    rows = network.simulate(5, seed=1)[[f"x{i}" for i in range(10)]]
    for method in ("map", "marginal"):
        exact, loopy, auto = (
            network.predict(rows, method=method, inference=engine) for engine in ("exact", "loopy", "auto")
        )
        assert exact.equals(loopy)
        assert exact.equals(auto)
    with pytest.raises(ValueError, match="inference must be one of 'auto', 'exact', 'loopy', got 'gibbs'"):
        network.predict(rows, inference="gibbs")


def test_large_components_are_approximate_and_all_others_exact(monkeypatch):
    """A tree of 40 variables, on which belief propagation is exact, and cycles, on which it is not, in one network."""
    tree, grid = tree_network(40, random_state=3).potentials, grid_network(2, 3, edge_scale=2.0).potentials
    tables = {(i, j): tree.table(e) for e, (i, j) in enumerate(tree.edges.tolist())}
    tables |= {(40 + i, 40 + j): grid.table(e) for e, (i, j) in enumerate(grid.edges.tolist())}
    nodes = [potentials.node(v) for potentials in (tree, grid) for v in range(potentials.n_variables)]
    cards = [*tree.cardinalities.tolist(), *grid.cardinalities.tolist()]
    states = [tuple(range(card)) for card in cards]
    potentials = PairwisePotentials.build(cards, nodes, tables)
    network = PairwiseMarkovNetwork.from_potentials([f"y{v}" for v in range(46)], states, potentials)
    rows = network.simulate(20, seed=2)
    gone = rows.astype(object).mask(np.random.default_rng(0).random(rows.shape) < 0.7)
    gone.iloc[0], gone.iloc[1] = np.nan, rows.iloc[1]
    exact = network.predict_proba(gone, inference="exact"), network.predict(gone, inference="exact")
    propagated = []
    found = MarkovRows._propagate
    monkeypatch.setattr(
        MarkovRows, "_propagate", lambda self, *args, **kind: propagated.append(args[2]) or found(self, *args, **kind)
    )
    for engine, memory in (("loopy", markov_rows.AUTO_MEMORY), ("auto", 400)):
        monkeypatch.setattr(markov_rows, "AUTO_MEMORY", memory)
        propagated.clear()
        shares = network.predict_proba(gone, inference=engine)
        np.testing.assert_allclose(shares, exact[0], atol=1e-7)
        pd.testing.assert_frame_equal(network.predict(gone, inference=engine), exact[1])
        assert propagated and all(max(component) < 40 for component in propagated)  # the cycles are small


@pytest.mark.parametrize("columns", [["x0", "x1"], ["x2"]])
def test_no_rows_give_no_rows_of_all_columns(columns):
    network = chain_network(3, 3)
    filled = network.predict(pd.DataFrame(columns=columns, dtype="Int64"))
    assert filled.shape == (0, 3)
    assert list(filled.columns) == [*columns, *(name for name in network.names if name not in columns)]
    assert list(filled["x1"].cat.categories) == [0, 1, 2]
    assert network.predict(np.empty((0, 3), dtype=int)).shape == (0, 3)


def test_a_tree_that_is_too_large_names_the_option(monkeypatch):
    network = grid_network(6, 6)
    rows = network.simulate(2)[["x0"]]
    monkeypatch.setattr("pgmx.inference.exact.components.DEFAULT_MEMORY", 1000)
    monkeypatch.setattr("pgmx.inference.exact.components.SMALL_MEMORY", 500)
    with pytest.raises(TreewidthError, match=r"use loopy belief propagation \(inference='loopy'\)"):
        network.predict(rows, inference="exact")


def test_files_and_iterators_are_filled(tmp_path):
    network = chain_network(4, 3, edge_scale=3.0)
    frame = network.simulate(40).astype("Int64").mask(np.arange(160).reshape(40, 4) % 7 == 0).drop(columns="x2")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    wanted = network.predict(frame)
    assert network.predict(tmp_path / "rows.csv").equals(wanted)
    assert network.predict(str(tmp_path / "rows.csv")).equals(wanted)
    assert network.predict(iter([frame[:15], frame[15:]])).equals(wanted)


def test_log_evidence_and_score():
    network = named(grid_network(2, 3, edge_scale=2.0).potentials)
    rows = network.simulate(200, seed=1)
    np.testing.assert_allclose(network.log_evidence(rows), network.log_likelihood(rows), rtol=1e-12)
    assert network.score(rows) == pytest.approx(network.log_likelihood(rows).mean())
    assert network.log_evidence(pd.DataFrame(index=range(3))).tolist() == [0.0, 0.0, 0.0]
    name = network.names[2]
    others = rows.drop(columns=name)
    logs = np.stack([network.log_evidence(others.assign(**{name: state})) for state in network.states[name]])
    np.testing.assert_allclose(np.exp(logs).sum(axis=0), np.exp(network.log_evidence(others)), rtol=1e-12)
    given = {name: rows[name].iloc[0]}
    expected = network.log_partition(given) - network.log_partition_
    assert network.log_evidence(rows[[name]].iloc[:1])[0] == pytest.approx(float(expected))


def test_distributions_of_missing_and_of_named_variables():
    network = named(grid_network(2, 3, edge_scale=2.0).potentials)
    rows = network.simulate(20, seed=1)
    first, second, *_ = network.names
    named_ones = network.predict_proba(rows, [second, first])
    pd.testing.assert_frame_equal(named_ones, network.predict_proba(rows.drop(columns=[first, second])))
    assert list(named_ones) == [(name, state) for name in (first, second) for state in network.states[name]]
    gone = rows.astype(object)
    gone.iloc[3, 0] = None
    shares = network.predict_proba(gone)
    assert list(shares) == [(first, state) for state in network.states[first]]
    for k in np.delete(range(20), 3).tolist():
        assert shares.loc[k, (first, rows[first].iloc[k])] == 1.0
    evidence = {name: rows[name].iloc[3] for name in network.names[1:]}
    assert shares[first].loc[3].to_dict() == pytest.approx(network.marginals(evidence)[first])
    with pytest.raises(ValueError, match="no variable 'nobody'"):
        network.predict_proba(rows, ["nobody"])


def test_potentials_beyond_doubles():
    """A hub that 2,100 nats pull to one state, and its neighbours with up to 2,400 to the other."""
    strong = [[400.0, 0.0], [0.0, 400.0]]
    tables = {(0, v): strong for v in range(1, 7)}
    network = named(PairwisePotentials.build([2] * 7, [[0.0, 2100.0], *[None] * 6], tables))
    hub, *leaves = network.names
    low, high = network.states[hub]
    codes = np.array([[0] * 6, [0] * 5 + [1]])
    rows = pd.DataFrame(
        {leaf: np.array(network.states[leaf], dtype=object)[codes[:, k]] for k, leaf in enumerate(leaves)}
    )
    assert network.predict(rows)[hub].tolist() == [low, high]
    assert network.predict_proba(rows).to_numpy().round(9).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    logs = network.log_evidence(rows)
    assert logs[0] - logs[1] == pytest.approx(2400.0 - 2500.0)


@pytest.mark.parametrize("inference", ["exact", "loopy"])
def test_neighbours_that_must_differ(inference):
    """The most probable states of single variables are impossible together; the rows are not."""
    differ = [[-np.inf, 0.0], [0.0, -np.inf]]
    potentials = PairwisePotentials.build([2] * 17, tables={(v, v + 1): differ for v in range(16)})
    network = PairwiseMarkovNetwork.from_potentials([f"y{v}" for v in range(17)], [(0, 1)] * 17, potentials)
    rows = pd.DataFrame({"y16": [0, 1]})
    shares = network.predict_proba(rows, inference=inference)
    assert shares.iloc[0, :4].tolist() == pytest.approx([1.0, 0.0, 0.0, 1.0])
    filled = network.predict(rows, inference=inference).astype(int)
    assert filled.loc[1, [f"y{v}" for v in range(17)]].tolist() == [(v + 1) % 2 for v in range(17)]
    assert network.predict(rows, method="marginal", inference=inference).astype(int).equals(filled)

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
from pgmx.inference.approximate import imputation
from pgmx.inference.approximate.imputation import impute


@given(networks(), st.integers(0, 2**32), st.sampled_from(["map", "marginal"]), st.booleans())
@examples(80)
def test_against_enumeration(network, seed, method, by_tree):
    cards, factors = enumerable(network)
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, card, 5) for card in cards])
    missing = rng.random(codes.shape) < 0.5
    limit = imputation.MAX_CONFIGURATIONS
    imputation.MAX_CONFIGURATIONS = 0 if by_tree else limit
    try:
        filled = impute(network.potentials, codes, missing, method=method)
    finally:
        imputation.MAX_CONFIGURATIONS = limit
    assert (filled[~missing] == codes[~missing]).all()
    for row in range(5):
        known = {v: int(codes[v, row]) for v in range(len(cards)) if not missing[v, row]}
        if method == "map":
            best, _ = enumeration.most_probable(cards, factors, known)
            assert enumeration.log_score(factors, filled[:, row].tolist()) == pytest.approx(best, abs=1e-9)
        else:
            for v, probabilities in enumerate(enumeration.marginals(cards, factors, known)):
                assert probabilities[filled[v, row]] == pytest.approx(max(probabilities), abs=1e-9)


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
    assert list(filled.columns) == list(network.names)
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
    codes = np.array([[1, 0], [0, 0], [0, 0]])
    with pytest.raises(ValueError, match="row 1 is impossible"):
        impute(forbidden, codes, np.array([[False, False], [True, True], [False, False]]))
    stuck = PairwisePotentials.build([2, 2], [None, None], {(0, 1): [[-np.inf, -np.inf], [-np.inf, -np.inf]]})
    with pytest.raises(ValueError, match="row 0 is impossible"):
        impute(stuck, np.zeros((2, 1), dtype=int), np.ones((2, 1), dtype=bool))
    with pytest.raises(ValueError, match="'map', 'marginal', got 'mode'"):
        impute(stuck, codes[:2], codes[:2] > 5, method="mode")


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


@pytest.mark.parametrize("columns", [["x0", "x1"], ["x2"]])
def test_no_rows_give_no_rows_of_all_columns(columns):
    network = chain_network(3, 3)
    filled = network.predict(pd.DataFrame(columns=columns, dtype="Int64"))
    assert filled.shape == (0, 3)
    assert list(filled.columns) == list(network.names)
    assert list(filled["x1"].cat.categories) == [0, 1, 2]
    assert network.predict(np.empty((0, 3), dtype=int)).shape == (0, 3)


def test_a_tree_that_is_too_large_names_the_option(monkeypatch):
    network = grid_network(6, 6)
    monkeypatch.setattr(imputation, "MEMORY", 1000)
    with pytest.raises(TreewidthError, match=r"use loopy belief propagation \(inference='loopy'\)"):
        network.predict(network.simulate(2)[["x0"]], inference="exact")


def test_files_and_iterators_are_filled(tmp_path):
    network = chain_network(4, 3, edge_scale=3.0)
    frame = network.simulate(40).astype("Int64").mask(np.arange(160).reshape(40, 4) % 7 == 0).drop(columns="x2")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    wanted = network.predict(frame)
    assert network.predict(tmp_path / "rows.csv").equals(wanted)
    assert network.predict(str(tmp_path / "rows.csv")).equals(wanted)
    assert network.predict(iter([frame[:15], frame[15:]])).equals(wanted)

"""Rows of the learners of Markov networks: orders, weights, missing values, kinds of tables, further rows."""

import pickle

import numpy as np
import pandas as pd
import pytest

from helpers.markov_tables import ALL, pairs_of, planted_rows
from pgmx.data import encode, open_table, write_table
from pgmx.estimators import BestChoiceEdgeGrafting, EdgeGrafting, FeatureGrafting, GroupLassoMarkovNetwork
from pgmx.models import PairwiseMarkovNetwork

ROWS = planted_rows(600, 6)
every_learner = pytest.mark.parametrize("make", ALL.values(), ids=ALL)
some_learners = pytest.mark.parametrize("make", [EdgeGrafting, BestChoiceEdgeGrafting, FeatureGrafting])


def same(learner, expected, abs=2e-6):
    assert learner.objective_ == pytest.approx(expected.objective_, abs=abs)
    assert pairs_of(learner.graph_) == pairs_of(expected.graph_)


def same_shares(learner, expected, abs=2e-3):
    found, wanted = learner.model_.marginals({"x2": 1}), expected.model_.marginals({"x2": 1})
    for name in found:
        assert found[name] == pytest.approx(wanted[name], abs=abs)


# ---- orders and names ----


@every_learner
def test_order_of_rows(make):
    shuffled = ROWS.sample(frac=1, random_state=3)
    found, expected = make(lam=0.02).fit(shuffled), make(lam=0.02).fit(ROWS)
    same(found, expected)
    same_shares(found, expected)


@pytest.mark.slow
@every_learner
def test_order_of_columns_and_names_of_states(make):
    renamed = ROWS[list(ROWS)[::-1]].replace({0: "low", 1: "mid", 2: "high"})
    found, expected = make(lam=0.02).fit(renamed), make(lam=0.02).fit(ROWS)
    same(found, expected)
    wanted = expected.model_.marginals({"x2": 1})["x3"]
    shares = found.model_.marginals({"x2": "mid"})["x3"]
    assert [shares[name] for name in ("low", "mid", "high")] == pytest.approx([wanted[k] for k in range(3)], abs=2e-3)


@every_learner
def test_threads(make):
    one, two = (make(lam=0.02, n_jobs=n).fit(ROWS) for n in (1, 2))
    assert one.objective_ == two.objective_
    assert one.edges_.tolist() == two.edges_.tolist()
    assert one.history_["objective"].tolist() == two.history_["objective"].tolist()


# ---- weights ----


@every_learner
@pytest.mark.parametrize("loss", ["pseudolikelihood", "bethe"])
def test_weights_are_repeated_rows(make, loss):
    counts = np.random.default_rng(0).integers(0, 4, len(ROWS))
    repeated = ROWS.loc[ROWS.index.repeat(counts)].reset_index(drop=True)
    options = {"lam": 0.02, "loss": loss, "l2": 0.05, "state_names": {name: [0, 1, 2] for name in ROWS}}
    expected = make(**options).fit(repeated)
    for weights in (counts, counts * 0.37, counts * (1 + 1e-9)):
        same(make(**options).fit(ROWS, sample_weight=weights), expected, abs=1e-5)


def test_weights_of_one_and_rows_that_weigh_nothing():
    plain = EdgeGrafting(lam=0.02).fit(ROWS)
    assert EdgeGrafting(lam=0.02).fit(ROWS, sample_weight=np.ones(len(ROWS))).objective_ == plain.objective_
    more = pd.concat([ROWS, planted_rows(100, 6, seed=9)], ignore_index=True)
    weights = np.repeat([1.0, 0.0], [600, 100])
    same(EdgeGrafting(lam=0.02).fit(more, sample_weight=weights), plain)


def test_weights_weights_of_complete_rows():
    data = ROWS.astype("Int64")
    data.iloc[::9, 2] = pd.NA
    whole = data.notna().all(axis=1).to_numpy()
    weights = np.arange(len(data)) % 3
    names = {name: [0, 1, 2] for name in data}
    found = EdgeGrafting(lam=0.02, missing="drop", state_names=names).fit(data, sample_weight=weights)
    same(found, EdgeGrafting(lam=0.02, state_names=names).fit(ROWS[whole], sample_weight=weights[whole]))


# ---- missing values ----


@some_learners
def test_missing_values(make):
    data = ROWS.astype("Int64")
    data.iloc[::9, 2] = pd.NA
    with pytest.raises(ValueError, match="missing values.*'x2'.*'drop'"):
        make(lam=0.02).fit(data)
    dropped = make(lam=0.02, missing="drop").fit(data)
    same(dropped, make(lam=0.02).fit(ROWS.drop(index=ROWS.index[::9])))
    stated = make(lam=0.02, missing="category").fit(data)
    assert stated.model_.states["x2"] == [0, 1, 2, "missing"]
    same(stated, make(lam=0.02).fit(data.astype(object).where(data.notna(), "missing").astype(str)))


# ---- kinds of tables ----


def test_kinds_of_tables(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pl = pytest.importorskip("polars")
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    ROWS.to_parquet(tmp_path / "rows.parquet")
    write_table(ROWS, tmp_path / "rows.pgmx")
    kinds = {
        "categories": ROWS.astype("category"),
        "polars": pl.from_pandas(ROWS),
        "arrow": pa.Table.from_pandas(ROWS),
        "csv": tmp_path / "rows.csv",
        "parquet": str(tmp_path / "rows.parquet"),
        "plane file": tmp_path / "rows.pgmx",
        "mapped": open_table(tmp_path / "rows.pgmx"),
        "coded": encode(ROWS),
        "pieces": (ROWS[start : start + 250] for start in (0, 250, 500)),
    }
    expected = BestChoiceEdgeGrafting(lam=0.02).fit(ROWS)
    for kind, data in kinds.items():
        learner = BestChoiceEdgeGrafting(lam=0.02).fit(data)
        assert learner.variables_ == list(ROWS), kind
        assert learner.objective_ == expected.objective_, kind
        assert learner.edges_.tolist() == expected.edges_.tolist(), kind
    array = BestChoiceEdgeGrafting(lam=0.02).fit(ROWS.to_numpy(dtype=int))
    assert array.objective_ == expected.objective_


def test_mapped_and_coded_tables_stay_as_they_are(tmp_path):
    write_table(ROWS, tmp_path / "rows.pgmx")
    before = (tmp_path / "rows.pgmx").read_bytes()
    table = encode(ROWS)
    codes = table.codes.copy()
    for data in (open_table(tmp_path / "rows.pgmx"), table):
        learner = EdgeGrafting(lam=0.02)
        learner.partial_fit(data)
        learner.partial_fit(ROWS[:50])
    assert (tmp_path / "rows.pgmx").read_bytes() == before
    assert np.array_equal(table.codes, codes)


# ---- further rows ----


@every_learner
@pytest.mark.parametrize("loss", ["pseudolikelihood", "bethe"])
def test_rows_in_parts(make, loss):
    """The optimum is that of all rows at once, however they came."""
    options = {"lam": 0.02, "loss": loss, "l2": 0.05}
    whole = make(**options).fit(ROWS)
    parts = make(**options)
    for start in (0, 100, 350):
        stop = {0: 100, 100: 350, 350: 600}[start]
        assert parts.partial_fit(ROWS[start:stop]) is parts
    same(parts, whole, abs=1e-5)
    assert parts.converged_
    assert parts.rows_.table.n_rows == len(ROWS)


def test_fit_keeps_no_rows_and_nothing_is_added_to_it():
    learner = EdgeGrafting(lam=0.02).fit(ROWS[:300])
    assert learner.rows_ is None
    with pytest.raises(ValueError, match="fitted by fit, which stores no rows. Start with partial_fit"):
        learner.partial_fit(ROWS[300:])
    assert learner.objective_ == EdgeGrafting(lam=0.02).fit(ROWS[:300]).objective_


@some_learners
def test_weighted_rows_in_parts(make):
    weights = np.random.default_rng(1).uniform(0, 2, len(ROWS))
    whole = make(lam=0.02).fit(ROWS, sample_weight=weights)
    parts = make(lam=0.02).partial_fit(ROWS[:200], sample_weight=weights[:200])
    parts.partial_fit(ROWS[200:], sample_weight=weights[200:])
    same(parts, whole, abs=1e-5)
    mixed = make(lam=0.02).partial_fit(ROWS[:200]).partial_fit(ROWS[200:], sample_weight=np.ones(400))
    same(mixed, make(lam=0.02).fit(ROWS), abs=1e-5)
    more = mixed.partial_fit(ROWS[:10], sample_weight=np.full(10, 2.0))
    same(more, make(lam=0.02).fit(pd.concat([ROWS, ROWS[:10], ROWS[:10]])), abs=1e-5)


def test_states_of_later_rows():
    learner = EdgeGrafting(lam=0.02).partial_fit(ROWS)
    before = learner.objective_
    odd = ROWS[:5].assign(x0=7)
    with pytest.raises(ValueError, match=r"'x0'.*7"):
        learner.partial_fit(odd)
    assert learner.objective_ == before
    declared = EdgeGrafting(lam=0.02, state_names={"x0": [0, 1, 2, 7]}).partial_fit(ROWS).partial_fit(odd)
    assert declared.model_.marginals()["x0"][7] > 0
    same(declared, EdgeGrafting(lam=0.02, state_names={"x0": [0, 1, 2, 7]}).fit(pd.concat([ROWS, odd])))


def test_columns_of_later_rows():
    learner = EdgeGrafting(lam=0.02).partial_fit(ROWS)
    with pytest.raises(ValueError, match="5 features.*expecting 6"):
        learner.partial_fit(ROWS.drop(columns="x3"))
    with pytest.raises(ValueError, match=r"'x9'.*same columns"):
        learner.partial_fit(ROWS.rename(columns={"x0": "x9"}))


def test_fit_forgets_the_rows_before():
    learner = EdgeGrafting(lam=0.02).partial_fit(ROWS[:300])
    learner.fit(ROWS[300:])
    same(learner, EdgeGrafting(lam=0.02).fit(ROWS[300:]))
    assert learner.rows_ is None


def test_further_rows_after_pickling():
    expected = EdgeGrafting(lam=0.02).fit(ROWS)
    parts = pickle.loads(pickle.dumps(EdgeGrafting(lam=0.02).partial_fit(ROWS[:300])))
    same(parts.partial_fit(ROWS[300:]), expected)


def test_options_may_change_between_the_parts():
    learner = GroupLassoMarkovNetwork(lam=0.02).partial_fit(ROWS[:300])
    learner.set_params(lam=0.01).partial_fit(ROWS[300:])
    same(learner, GroupLassoMarkovNetwork(lam=0.01).fit(ROWS))
    assert isinstance(learner.model_, PairwiseMarkovNetwork)

"""Gaussian graphical models from tables of numbers whose partitions are at the workers of a real cluster."""

import os
import pickle
import signal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from helpers.distributed_tables import cut, draw_chain, with_empty_part
from pgmx.data import DistributedNumericTable, NumericTable, distribute, open_numeric
from pgmx.estimators import (
    CLIME,
    BootstrapStructure,
    GraphicalLasso,
    NeighborhoodLasso,
    Nonparanormal,
    OnlineEdgeGrafting,
    SelectedGraph,
)
from pgmx.statistics import gaussian_sample, moments
from pgmx.statistics.moments import merge_moments, sum_moments

LASSO = GraphicalLasso(lam=0.2, show_progress=False)
LEARNERS = [LASSO, NeighborhoodLasso(lam=0.2, show_progress=False), CLIME(lam=0.15, show_progress=False)]


@pytest.fixture(scope="module")
def rows():
    return draw_chain()


def assert_same_moments(far, near):
    """Compare moments to 1e-12: means by the size of the values, cross-products by the deviations."""
    assert far.n == near.n
    size = np.maximum(np.abs(near.low), np.abs(near.high))
    assert (np.abs(far.mean - near.mean) <= 1e-12 * size).all()
    deviation = np.sqrt(near.cross.diagonal())
    assert (np.abs(far.cross - near.cross) <= 1e-12 * np.outer(deviation, deviation)).all()
    assert np.array_equal(far.low, near.low) and np.array_equal(far.high, near.high)


def assert_same_bits(one, other):
    assert one.n == other.n
    assert np.array_equal(one.cross, other.cross) and np.array_equal(one.mean, other.mean)


def assert_same(learner, table, whole, weights=None):
    """Compare what a learner gets from a distributed table with what it gets from the whole."""
    learner.fit(table, sample_weight=weights)
    far = learner.edges_, learner.objective_, learner.lam_max_, learner.precision_
    learner.fit(whole, sample_weight=weights)
    assert np.array_equal(far[0], learner.edges_) and len(far[0])
    assert far[1] == pytest.approx(learner.objective_, rel=1e-9)
    assert far[2] == pytest.approx(learner.lam_max_, rel=1e-12)
    np.testing.assert_allclose(far[3], learner.precision_, rtol=1e-7, atol=1e-9 * np.abs(far[3]).max())


def test_learners_from_parts_of_two_processes(client, rows):
    table = distribute(with_empty_part(cut(rows, 7)), client)
    assert (table.names, table.n_rows, table.n_parts) == (tuple(rows.columns), 600, 8)
    assert isinstance(table, NumericTable) and open_numeric(table) is table
    assert_same_moments(sum_moments(table), moments(rows))
    assert_same(LASSO, table, rows)
    assert LASSO.score(table) == pytest.approx(LASSO.score(rows), rel=1e-12)
    assert sum(table.persist().bytes_by_worker().values()) == 600 * 9 * 8
    table.release()
    assert repr(table).endswith("released)")
    with pytest.raises(ValueError, match="distribute the source again"):
        LASSO.fit(table)


def test_what_sums_do_not_give_is_refused(client, rows):
    table = distribute(rows, client)
    for correlation, reason in (("kendall", "all pairs of rows"), ("spearman", "among all rows")):
        for learner in (Nonparanormal(LASSO, correlation=correlation), Nonparanormal(correlation=correlation)):
            with pytest.raises(TypeError, match=f"'{correlation}' .*{reason}.* DistributedNumericTable"):
                learner.fit(table)
    with pytest.raises(TypeError, match="'shrinkage' ranks"):
        gaussian_sample(table, correlation="shrinkage")
    grafting = OnlineEdgeGrafting(show_progress=False)
    for learner in (grafting, BootstrapStructure(grafting, show_progress=False)):
        with pytest.raises(TypeError, match="DistributedNumericTable.* is a numeric table"):
            learner.fit(table)
    with pytest.raises(TypeError, match="DistributedTable.* has discrete columns"):
        LASSO.fit(distribute((rows > 0).astype(int), client))
    with pytest.raises(ValueError, match="or a distributed table: use 'ebic'"):
        SelectedGraph(LASSO, selection="cv", show_progress=False).fit(table)
    for call in (table.rows, table.chunks, table.chunks_with_numbers):
        with pytest.raises(TypeError, match="rows, which stay with the workers"):
            call()
    with pytest.raises(ValueError, match=r"one weight per row, got \(2,\)"):
        LASSO.fit(table, sample_weight=[1, 2])


def test_bad_tables(client, rows):
    with pytest.raises(ValueError, match=r"float column.*'x0'.*Column\(s\) 'word' are not numeric \(text\)"):
        distribute(cut(rows.assign(word="a"), 2), client)
    with pytest.raises(ValueError, match="missing='category' .*'x0'"):
        distribute(rows, client, missing="category")
    with pytest.raises(ValueError, match="float column"):
        distribute(rows, client, {"x0": [0, 1]})
    holes = rows.copy()
    holes.iloc[3, 1] = holes.iloc[500, 7] = np.nan
    with pytest.raises(ValueError, match=r"missing values \(NaN\) in column\(s\) 'x1', 'x7': pass missing='drop' to"):
        distribute(cut(holes, 3), client)
    with pytest.raises(ValueError, match=r"infinite values \(inf\) in column\(s\) 'x1', 'x7'"):
        distribute(cut(holes.fillna(np.inf), 3), client)
    with pytest.raises(ValueError, match="'other'"):
        distribute([rows, rows.rename(columns={"x3": "other"})], client)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        distribute(rows[:1], client)
    with pytest.raises(ValueError, match="'x2' are constant"):
        LASSO.fit(distribute(rows.assign(x2=0.1), client))
    with pytest.raises(ValueError, match="'x2' hold numbers whose squares are too large"):
        LASSO.fit(distribute(rows.assign(x2=rows["x2"] * 1e300), client))
    with pytest.raises(TypeError, match=r"made by pgmx\.data\.distribute"):
        DistributedNumericTable(("a",), "error")


def test_moments_of_parts_lose_no_digits():
    """Against exact sums of fractions, partitions of sizes from none to most and means that differ by much."""
    rng = np.random.default_rng(0)
    parts = [1e8 * k + rng.standard_normal((n, 2)) for k, n in enumerate([1, 40, 3, 0, 90])]
    merged = merge_moments([moments(part) for part in parts])
    columns = [[Fraction(x) for x in column] for column in np.concatenate(parts).T.tolist()]
    means = [sum(column) / len(column) for column in columns]
    centred = [[x - mean for x in column] for column, mean in zip(columns, means, strict=True)]
    exact = [[float(sum(x * y for x, y in zip(a, b, strict=True))) for b in centred] for a in centred]
    np.testing.assert_allclose(merged.mean, list(map(float, means)), rtol=1e-15)
    np.testing.assert_allclose(merged.cross, exact, rtol=1e-14)


# ---- all partitions of all kinds ----


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 2, 7, 32])
def test_any_number_of_unequal_parts(client, rows, n_parts):
    table = distribute(with_empty_part(cut(rows, n_parts)), client)
    assert_same_moments(sum_moments(table), moments(rows))
    for learner in LEARNERS:
        assert_same(learner, table, rows)


@pytest.mark.slow
def test_four_workers_of_two_threads(client, rows):
    from distributed import Client, LocalCluster

    expected = sum_moments(distribute(rows, client, n_parts=23))
    assert_same_moments(expected, moments(rows))
    options = {"n_workers": 4, "threads_per_worker": 2, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        assert distribute(rows, client).n_parts == 8
        table = distribute(rows, client, n_parts=23)
        assert table.n_parts == 23
        assert_same_bits(sum_moments(table), expected)
        assert_same(LASSO, table, rows)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["real", "whole", "large"])
def test_weights(client, rows, kind):
    rng = np.random.default_rng(3)
    weights = {
        "real": rng.random(600),
        "whole": rng.integers(0, 4, 600),
        "large": rng.integers(0, 1000, 600).astype(float),
    }[kind]
    weights[:350] = 0  # a partition without weight
    table = distribute(rows, client)
    assert_same_moments(sum_moments(table, np.asarray(weights, dtype=float)), moments(rows, weights))
    for learner in LEARNERS:
        assert_same(learner, table, rows, weights)


@pytest.mark.slow
def test_fewer_rows_than_columns(client, rows):
    few = rows[:7]
    for learner in (*LEARNERS, CLIME(lam=0.3, ridge=0.1, show_progress=False)):
        assert_same(learner, distribute(cut(few, 3), client), few)


@pytest.mark.slow
def test_paths_and_selection(client, rows):
    table = distribute(rows, client)
    for learner in LEARNERS:
        far, near = learner.path(table, n_lams=5), learner.path(rows, n_lams=5)
        for one, other in zip(far.estimates, near.estimates, strict=True):
            assert np.array_equal(one.edges, other.edges)
            assert one.objective == pytest.approx(other.objective, rel=1e-9)
    far, near = (SelectedGraph(GraphicalLasso(), show_progress=False).fit(data) for data in (table, rows))
    assert np.array_equal(far.edges_, near.edges_) and far.lam_ == pytest.approx(near.lam_, rel=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pgmx.data.IncompleteRowsWarning")
def test_rows_with_missing_values_are_dropped(client, rows):
    holes = rows.mask(np.random.default_rng(4).random(rows.shape) < 0.02)
    table = distribute(cut(holes, 4), client, missing="drop")
    complete = holes.dropna()
    assert table.n_rows == len(complete) < 600
    assert_same(GraphicalLasso(lam=0.2, missing="pairwise", show_progress=False), table, complete)
    weights = np.random.default_rng(5).random(len(complete))
    assert_same(LASSO, table, complete, weights)
    with pytest.raises(ValueError, match="0 of 600 rows have no missing value"):
        distribute(cut(rows.assign(x4=np.nan), 2), client, missing="drop")


@pytest.mark.slow
def test_sources(client, rows, tmp_path):
    import dask.dataframe as dd
    import pyarrow as pa

    (tmp_path / "folder").mkdir()
    parts = cut(rows.assign(x8=np.arange(600)), 4)  # integers and continuous columns
    parts[2] = parts[2][parts[2].columns[::-1]]
    near = moments(pd.concat(parts))
    paths = {kind: [tmp_path / "folder" / f"{k}.{kind}" for k in range(4)] for kind in ("parquet", "csv")}
    for k, part in enumerate(parts):
        part.to_parquet(paths["parquet"][k])
        part.to_csv(paths["csv"][k], index=False)
    whole = pd.concat(parts)
    sources = [
        paths["parquet"],
        tmp_path / "folder",
        paths["csv"],
        [*paths["csv"][:2], *paths["parquet"][2:]],
        [parts[0], pa.Table.from_pandas(parts[1]), *parts[2:]],
        dd.from_pandas(whole.reset_index(drop=True), npartitions=3),
    ]
    for source in sources:
        assert_same_moments(sum_moments(distribute(source, client)), near)
    for source in (pa.Table.from_pandas(whole), whole.to_numpy()):
        assert_same_moments(sum_moments(distribute(source, client, n_parts=5)), near)
    single = rows.astype(np.float32)
    assert_same_moments(sum_moments(distribute(single, client)), moments(single))
    with pytest.raises(ValueError, match=r"are not numeric \(coded states\)"):
        distribute([*parts, open_codes(tmp_path / "codes.pgmx", rows)], client)


def open_codes(path, rows):
    """Return the path of a plane file with the columns of `rows`."""
    from pgmx.data import write_table

    write_table((rows > rows.mean()).astype(int), path)
    return path


@pytest.mark.slow
def test_pickled_learner_and_table(client, rows):
    table = distribute(rows, client)
    learner = LASSO.fit(table)
    again = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(again.precision_, learner.precision_)
    assert again.score(rows[:50]) == learner.score(rows[:50])
    with pytest.raises(ValueError, match="comes from a pickle"):
        pickle.loads(pickle.dumps(table)).persist()


@pytest.mark.slow
def test_score_of_other_columns(client, rows):
    learner = LASSO.fit(rows)
    in_other_order = rows[rows.columns[::-1]]
    assert learner.score(distribute(in_other_order, client)) == pytest.approx(learner.score(rows), rel=1e-12)
    with pytest.raises(ValueError, match="'other'"):
        learner.score(distribute(rows.rename(columns={"x3": "other"}), client))


@pytest.mark.slow
def test_csv_files_of_many_floats(client, tmp_path):
    """More values than a discrete column may have; in the second file integers come first."""
    numbers = pd.DataFrame(np.random.default_rng(6).standard_normal((70_000, 2)), columns=["a", "b"])
    second = numbers[::-1].copy()
    second.iloc[:5000, 0] = np.arange(5000)
    paths = [tmp_path / "0.csv", tmp_path / "1.csv", tmp_path / "2.csv"]
    for path, part in zip(paths, (numbers, second, second[:5000]), strict=True):
        part.to_csv(path, index=False)
    whole = pd.concat([numbers, second, second[:5000]])
    assert_same_moments(sum_moments(distribute(paths, client)), moments(whole))


@pytest.mark.slow
def test_worker_killed(client, rows, tmp_path):
    """Only the partitions of the worker that died are read again: the files of the others are gone."""
    paths = [tmp_path / f"{k}.parquet" for k in range(5)]
    for path, part in zip(paths, cut(rows, 5), strict=True):
        part.to_parquet(path)
    table = distribute(paths, client)
    before = sum_moments(table)
    victim, pid = next(iter(client.run(os.getpid).items()))
    n_lost = table._partitions.addresses.count(victim)
    for path, home in zip(paths, table._partitions.addresses, strict=True):
        if home != victim:
            path.unlink()
    os.kill(pid, signal.SIGKILL)
    assert 0 < n_lost < 5
    assert_same_bits(sum_moments(table), before)
    assert_same(LASSO, table, rows)
    client.wait_for_workers(2)


@pytest.mark.slow
def test_part_that_cannot_be_read_again(client, rows, tmp_path):
    paths = [tmp_path / f"{k}.parquet" for k in range(2)]
    for path, part in zip(paths, cut(rows, 2), strict=True):
        part.to_parquet(path)
    table = distribute(paths, client)
    sum_moments(table)
    victim, pid = next(iter(client.run(os.getpid).items()))
    lost = paths[table._partitions.addresses.index(victim)]
    lost.unlink()
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(FileNotFoundError, match=lost.name):
        sum_moments(table)
    client.wait_for_workers(2)

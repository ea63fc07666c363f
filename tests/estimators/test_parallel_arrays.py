"""Arrays on their way to workers: threads, processes of this machine, and a real cluster."""

import os
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from helpers.array_tasks import describe, fail
from pgmx.parallel.tasks import MOST_SENT_BYTES, SharedArrays, find_npy_path, make_sendable, run_tasks
from pgmx.statistics import gaussian_sample


@pytest.fixture
def temporary_folder(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("JOBLIB_TEMP_FOLDER", str(folder))
    return folder


def arrays(rng, n_large=MOST_SENT_BYTES // 8 + 1):
    return {"large_one": rng.normal(size=n_large), "small_one": rng.normal(size=(3, 4))}


def expected(given, n):
    return {i: float(given["large_one"].sum() + i * given["small_one"].sum()) for i in range(n)}


def sums(done):
    return {number: found[-1] for number, found in done.items()}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_see_the_arrays_themselves(rng, n_jobs, temporary_folder):
    given = arrays(rng)
    done = dict(run_tasks(describe, SharedArrays(**given), 7, n_jobs=n_jobs))
    assert sums(done) == expected(given, 7)
    assert {found[:4] for found in done.values()} == {(os.getpid(), (None, None), False, True)}
    assert not list(temporary_folder.iterdir())


@pytest.mark.parametrize(
    "backend",
    ["dask", pytest.param("loky", marks=pytest.mark.slow)],  # its processes import pgmx first
)
def test_processes_map_large_arrays(client, rng, backend, temporary_folder):
    given = arrays(rng)
    with parallel_config(backend, n_jobs=2):
        done = dict(run_tasks(describe, SharedArrays(**given), 7))
    assert sums(done) == expected(given, 7)
    assert os.getpid() not in {found[0] for found in done.values()}
    for _, (of_large, of_small), writeable, aligned, _ in done.values():
        assert Path(of_large).is_relative_to(temporary_folder)
        assert of_small is None
        assert not writeable
        assert aligned
    assert not list(temporary_folder.glob("pgmx-*"))


def test_small_arrays_travel_as_they_are(client, rng, temporary_folder):
    given = arrays(rng, 10)
    with parallel_config("dask"):
        done = dict(run_tasks(describe, SharedArrays(**given), 5))
    assert sums(done) == expected(given, 5)
    assert {found[1:4] for found in done.values()} == {((None, None), False, True)}


def test_mapped_files_travel_as_their_paths(client, rng, tmp_path, temporary_folder):
    given = arrays(rng)
    np.save(tmp_path / "large.npy", given["large_one"])
    data = SharedArrays(large_one=np.load(tmp_path / "large.npy", mmap_mode="r"), small_one=given["small_one"])
    assert len(pickle.dumps(data)) < 2000
    with parallel_config("dask"):
        done = dict(run_tasks(describe, data, 5))
    assert sums(done) == expected(given, 5)
    assert {found[1] for found in done.values()} == {(str(tmp_path / "large.npy"), None)}


def test_factor_of_a_file_travels_as_its_path(client, rng, tmp_path, temporary_folder):
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(",".join(map(str, row)) for row in [range(40), *rng.normal(size=(9, 40)).tolist()]))
    sample = gaussian_sample(str(path))
    assert Path(sample.factor.filename).is_relative_to(temporary_folder)
    data = SharedArrays(large_one=sample.factor, small_one=np.zeros(2))
    with parallel_config("dask"):
        done = dict(run_tasks(describe, data, 3))
    assert {found[1][0] for found in done.values()} == {str(sample.factor.filename)}
    assert {found[-1] for found in done.values()} == {float(sample.factor.sum())}


@pytest.mark.slow
def test_error_of_a_worker_is_raised(client, rng, temporary_folder):
    with parallel_config("dask"), pytest.raises(ValueError, match=r"task \d of \(3, 4\)"):
        dict(run_tasks(fail, SharedArrays(**arrays(rng)), 4))
    assert not list(temporary_folder.glob("pgmx-*"))


@pytest.mark.parametrize("order", ["C", "F"])
def test_what_is_written_keeps_its_layout(rng, order):
    matrix = np.asarray(rng.normal(size=(400, 400)), order=order)
    given = {"matrix": matrix, "every_second": matrix[::2, :], "nothing": None, "whole": np.arange(9)}
    with make_sendable(SharedArrays(**given), shared=False) as sent:
        twin = pickle.loads(pickle.dumps(sent))
        assert twin.nothing is None
        assert find_npy_path(twin.matrix) == find_npy_path(sent.matrix) is not None
        assert twin.matrix.flags[f"{order}_CONTIGUOUS"]
        for name in ("matrix", "every_second", "whole"):
            np.testing.assert_array_equal(getattr(twin, name), given[name])
        del twin, sent


def test_only_a_whole_file_goes_by_its_path(rng, tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, rng.normal(size=(4, 4)))
    whole = np.load(path, mmap_mode="r")
    assert find_npy_path(whole) == find_npy_path(whole[...]) == path
    for other in (whole[1:], whole[::-1], whole.T, whole + 0, np.asarray(whole), np.load(path, mmap_mode="c")):
        assert find_npy_path(other) is None
    raw = np.memmap(path, dtype=np.float64, mode="r", offset=128, shape=(4, 4))
    np.testing.assert_array_equal(raw, whole)
    assert find_npy_path(np.memmap(path, dtype=np.uint8, mode="r")) is None
    part = pickle.loads(pickle.dumps(SharedArrays(rows=whole[1:3]))).rows
    np.testing.assert_array_equal(part, whole[1:3])
    path.unlink()
    assert find_npy_path(whole) is None
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(SharedArrays(rows=whole))).rows, whole)


def test_the_callers_arrays_stay_writeable(rng):
    mine = rng.normal(size=5)
    shared = SharedArrays(mine=mine)
    with pytest.raises(ValueError, match="read-only"):
        shared.mine[0] = 1.0
    mine[0] = 2.0
    assert shared.mine[0] == 2.0
    with pytest.raises(AttributeError, match="no array 'other': the arrays are mine"):
        shared.other  # noqa: B018


def test_memory_at_any_address(rng):
    memory = np.empty(8 * 4 + 1, dtype=np.uint8)[1:]
    memory.view(np.float64)[:] = [1.0, 2.0, 3.0, 4.0]
    shared = SharedArrays(odd=memory.view(np.float64))
    assert shared.odd.flags.aligned
    assert shared.odd.tolist() == [1.0, 2.0, 3.0, 4.0]


def test_folder_of_the_system_without_another(rng, monkeypatch, tmp_path):
    monkeypatch.delenv("JOBLIB_TEMP_FOLDER", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with make_sendable(SharedArrays(**arrays(rng)), shared=False) as sent:
        assert find_npy_path(sent.large_one).is_relative_to(tmp_path)
        del sent
    assert not list(tmp_path.iterdir())

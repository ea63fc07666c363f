"""Tasks on threads: every one is run once, with memory of its thread, and none outlives its caller."""

import threading
import time

import pytest
from joblib import parallel_config

from pgmx.parallel import threads
from pgmx.parallel.tasks import in_order, run_tasks
from pgmx.parallel.threads import call_on_threads, count_threads, run_on_threads


def square(number):
    return number * number


def nap(number):
    time.sleep(0.004)
    return number * number


@pytest.mark.parametrize("task", [square, nap])
@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 3, 60])
def test_each_task_once(task, n_threads, n):
    results = list(run_on_threads(lambda: task, n, n_threads, compiled=False))
    assert sorted(results) == [(i, i * i) for i in range(n)]
    assert sorted(run_on_threads(lambda: task, n, n_threads, first=1)) == [(i, i * i) for i in range(1, n)]


def test_memory_of_a_thread_is_made_once():
    owners = []

    def make():
        owner = threading.get_ident()
        owners.append(owner)

        def task(number):
            assert threading.get_ident() == owner
            time.sleep(0.003)
            return owner

        return task

    used = {owner for _, owner in run_on_threads(make, 40, 3)}
    assert len(owners) == len(set(owners)) == len(used) == 3


def test_the_calling_thread_has_its_own():
    here = threading.get_ident()
    local_task = lambda number: threading.get_ident()  # noqa: E731
    results = run_on_threads(lambda: lambda number: nap(number) * 0, 30, 2, local_task=local_task)
    assert {result for _, result in results} <= {0, here}


def test_short_work_stays_on_one_thread():
    before, seen = threading.active_count(), set()

    def task(number):
        seen.add((threading.get_ident(), threading.active_count()))

    list(run_on_threads(lambda: task, 20, 2))
    assert seen == {(threading.get_ident(), before)}


@pytest.mark.parametrize("number", [0, 3, 25])
def test_an_error_is_raised_where_results_are_read(number):
    def task(i):
        time.sleep(0.003)
        if i == number:
            raise LookupError(f"task {i}")
        return i

    before = threading.active_count()
    with pytest.raises(LookupError, match=f"task {number}"):
        list(run_on_threads(lambda: task, 26, 3))
    assert threading.active_count() == before


def test_closed_early():
    before, begun = threading.active_count(), []

    def task(i):
        begun.append(i)
        time.sleep(0.003)
        return i

    results = run_on_threads(lambda: task, 1000, 3)
    for _ in range(10):
        next(results)
    results.close()
    assert threading.active_count() == before
    n_begun = len(begun)
    time.sleep(0.02)
    assert len(begun) == n_begun < 100


def test_no_task_is_begun_that_may_not_be():
    results = list(run_on_threads(lambda: nap, 100, 2, allowed=lambda number: number < 20))
    assert sorted(number for number, _ in results) == list(range(20))


def test_threads_that_gain_nothing_end(monkeypatch):
    monkeypatch.setattr(threads, "LEAST_GAIN", float("inf"))

    def task(i):
        time.sleep(0.003)
        return threading.get_ident()

    owners = [owner for _, owner in sorted(run_on_threads(lambda: task, 200, 2, compiled=False))]
    assert len(set(owners)) == 2
    assert set(owners[-50:]) == {threading.get_ident()}


@pytest.mark.slow
def test_calls_in_order():
    calls = [lambda i=i: nap(i) for i in range(20)]
    for n_jobs in (None, 1, 2, -1):
        for seconds in (0.0, 0.08, float("inf")):
            assert call_on_threads(calls, n_jobs, seconds) == [i * i for i in range(20)]


def test_workers_as_joblib_counts_them():
    assert count_threads(None) == count_threads(1) == 1
    assert count_threads(3) == 3
    with parallel_config("threading", n_jobs=4):
        assert count_threads(None) == 4
        assert count_threads(2) == 2
    with parallel_config("sequential", n_jobs=4):
        assert count_threads(None) == 1
    assert count_threads(-1) >= 1


class Prepared:
    """A task that says what it was prepared with."""

    def __call__(self, data, number):
        raise AssertionError("the prepared task is called")

    def prepare(self, data):
        return lambda number: data + number


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("backend", [None, "threading"])
def test_prepared_tasks_in_order(n_jobs, backend):
    with parallel_config(backend) if backend else parallel_config():
        results = run_tasks(Prepared(), 100, 30, n_jobs=n_jobs, first=7, compiled=True)
        assert list(in_order(results, 7)) == [100 + i for i in range(7, 30)]

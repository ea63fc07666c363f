"""The run of a learner: its clock, its limits, its history, its callback, and how it is resumed."""

import pickle
from math import inf, nan

import numpy as np
import pytest

from pgmx.parallel.tasks import run_tasks
from pgmx.runs.checkpoint import Checkpoint
from pgmx.runs.progress import GraftingProgress, ResamplingProgress, SearchProgress, SolverProgress
from pgmx.runs.run import Run, StartTime, TaskGroup, is_past, local_deadline


class Clock:
    """Wall and processor clocks that a test advances."""

    def __init__(self):
        self.wall, self.cpu = 1000.0, 10.0


@pytest.fixture
def clock(monkeypatch):
    now = Clock()
    monkeypatch.setattr("pgmx.runs.run.perf_counter", lambda: now.wall)
    monkeypatch.setattr("pgmx.runs.run.process_time", lambda: now.cpu)
    monkeypatch.setattr("pgmx.runs.run.time", lambda: now.wall + 1e9)
    return now


def test_fields_that_users_rely_on():
    assert SearchProgress._fields == ("n_iter", "score", "n_edges", "seconds")
    assert SolverProgress._fields == ("n_iter", "objective", "n_edges", "seconds")
    assert GraftingProgress._fields == ("n_iter", "objective", "n_edges", "seconds", "n_tests")
    assert ResamplingProgress._fields == ("n_iter", "seconds")


def test_history_in_columns(clock):
    run = Run(SearchProgress)
    assert {name: values.dtype for name, values in run.history.items()} == {
        "score": np.float64,
        "n_edges": np.int64,
        "seconds": np.float64,
    }
    for n_iter in (1, 5):
        clock.wall += 2
        assert not run.record(n_iter=n_iter, score=-n_iter, n_edges=n_iter)
    history = run.history
    assert history["score"].tolist() == [-1.0, -5.0]
    assert history["n_edges"].tolist() == [1, 5]
    assert history["seconds"].tolist() == [2.0, 4.0]
    assert run.n_rows == 2


def test_further_figures_go_into_the_history_alone(clock):
    seen = []
    run = Run(GraftingProgress, callback=seen.append)
    run.record(n_iter=0, objective=3.0, n_edges=0, n_tests=7, recall=0.5)
    assert seen == [GraftingProgress(0, 3.0, 0, 0.0, 7)]
    assert run.history["recall"].tolist() == [0.5]
    run.add_row(objective=2.0, n_edges=1, n_tests=9, recall=0.75)
    assert len(seen) == 1
    assert run.history["recall"].tolist() == [0.5, 0.75]


def test_rows_are_numbered_by_default(clock):
    seen = []
    run = Run(SolverProgress, callback=seen.append)
    for n_edges in (3, 4):
        run.record(objective=nan, n_edges=n_edges)
    assert [progress.n_iter for progress in seen] == [1, 2]


def test_a_figure_that_is_missing_is_an_error(clock):
    with pytest.raises(KeyError, match="n_tests"):
        Run(GraftingProgress).record(objective=0.0, n_edges=0)


# ---- what ends a run ----


def test_no_limit(clock):
    run = Run(SolverProgress)
    clock.wall += 1e12
    assert run.deadline == run.wall_deadline == inf
    assert not run.is_over()
    assert run.stopped_by == ""


def test_max_time(clock):
    run = Run(SearchProgress, max_time=5)
    clock.wall += 4.5
    assert not run.is_over()
    clock.wall += 0.5
    assert run.is_over()
    assert run.stopped_by == "max_time"


def test_the_callback_ends_the_run_and_nothing_is_recorded_any_more(clock):
    seen = []
    run = Run(SolverProgress, callback=lambda progress: seen.append(progress) or progress.n_iter == 2)
    assert [run.record(objective=0.0, n_edges=0) for _ in range(4)] == [False, True, True, True]
    assert len(seen) == run.n_rows == 2
    assert run.is_over()
    assert run.stopped_by == "callback"


@pytest.mark.parametrize(
    ("converged", "seconds", "otherwise", "reason"),
    [
        (True, 9.0, "max_iter", "converged"),
        (False, 9.0, "max_iter", "max_time"),
        (False, 1.0, "max_iter", "max_iter"),
        (False, 1.0, "max_edges", "max_edges"),
    ],
)
def test_why_a_run_ended(clock, converged, seconds, otherwise, reason):
    run = Run(SolverProgress, max_time=5)
    clock.wall += seconds
    assert run.conclude(converged, otherwise) == run.stopped_by == reason


def test_time_of_pauses_and_callbacks_is_not_the_learners(clock):
    def look(progress):
        clock.wall, clock.cpu = clock.wall + 100, clock.cpu + 30

    run = Run(SearchProgress, max_time=5, callback=look)
    clock.wall, clock.cpu = clock.wall + 1, clock.cpu + 2
    run.record(n_iter=1, score=0.0, n_edges=0)
    with run.pause():
        look(None)
    assert (run.seconds, run.cpu_seconds) == (1.0, 2.0)
    clock.wall += 3.9
    assert not run.is_over()
    clock.wall += 0.1
    assert run.is_over()


def test_workers_share_the_deadline(clock):
    run = Run(SolverProgress, max_time=5)
    assert local_deadline(run.wall_deadline) == run.deadline == 1005.0
    worker = Run.from_wall_deadline(SolverProgress, run.wall_deadline)
    assert worker.deadline == 1005.0
    clock.wall = 1005.0
    assert worker.is_over()


def test_seconds_count_from_the_start_of_the_fit(clock):
    start = StartTime.now()
    clock.wall, clock.cpu = clock.wall + 3, clock.cpu + 2  # the data are read
    run = Run(SolverProgress, max_time=5, start=start)
    assert (run.seconds, run.cpu_seconds, run.limit) == (3.0, 2.0, 5.0)
    clock.wall += 2
    assert run.is_over()


# ---- limits of runs within runs ----


def test_a_run_limits_what_begins_within_it(clock):
    outer = Run(SearchProgress, max_time=5)
    with outer.limit_runs():
        inner, short = Run(SolverProgress), Run(SolverProgress, max_time=2)
        assert (inner.deadline, short.deadline) == (1005.0, 1002.0)
        assert not is_past(inf)
        clock.wall += 5
        assert is_past(inf)
        assert inner.is_over()
        assert inner.stopped_by == "max_time"
    assert not is_past(inf)
    assert Run(SolverProgress).deadline == inf


def test_pauses_of_a_run_move_the_limit_of_what_is_within(clock):
    outer = Run(SearchProgress, max_time=5)
    with outer.limit_runs():
        with outer.pause():
            clock.wall += 100
        assert not is_past(inf)
        clock.wall += 5
        assert is_past(inf)


def test_tasks_end_at_the_deadline_of_their_group_and_of_the_groups_around_it(clock):
    outer = TaskGroup(clock.wall + 1e9 + 3)
    with outer.run_task():
        inner = TaskGroup(clock.wall + 1e9 + 7)
        assert TaskGroup().deadline == inner.deadline == outer.deadline == 1003.0
    assert TaskGroup().deadline == inf
    sent = pickle.loads(pickle.dumps(outer))
    assert sent.deadline == 1003.0
    assert not sent.is_stopped()


def test_tasks_of_one_thread_and_of_many_see_the_deadline(clock):
    def look(data, number):
        return Run(SolverProgress).deadline

    for n_jobs in (1, 2):
        found = dict(run_tasks(look, None, 3, n_jobs=n_jobs, deadline=clock.wall + 1e9 + 4, compiled=True))
        assert set(found.values()) == {1004.0}
    assert Run(SolverProgress).deadline == inf


# ---- checkpoints ----


def test_history_and_clock_go_on_from_a_snapshot(clock, tmp_path):
    path = tmp_path / "run"
    run = Run(SearchProgress, checkpoint=Checkpoint(path, 0.0, "a"))
    assert run.restore() is None
    assert run.is_snapshot_due()
    for n_iter in (1, 2):
        clock.wall, clock.cpu = clock.wall + 2, clock.cpu + 3
        run.record(n_iter=n_iter, score=-1.0, n_edges=n_iter)
    run.save({"edges": np.arange(4)}, n_rows=1)
    clock.wall += 500
    again = Run(SearchProgress, max_time=5, checkpoint=Checkpoint(path, 0.0, "a"))
    state = again.restore()
    assert state.names == ["edges"]
    assert state.value("edges").tolist() == [0, 1, 2, 3]
    assert (again.seconds, again.cpu_seconds) == (4.0, 6.0)
    clock.wall += 1
    again.record(n_iter=3, score=-1.0, n_edges=3)
    assert again.history["n_edges"].tolist() == [1, 3]
    assert again.history["seconds"].tolist() == [2.0, 5.0]
    assert not again.is_over()  # max_time counts from the start of each run
    assert path.exists()
    again.end("converged")
    assert not path.exists()


def test_other_ends_leave_the_checkpoint(clock, tmp_path):
    run = Run(SearchProgress, checkpoint=Checkpoint(tmp_path / "run", 0.0, "a"))
    run.save({})
    run.end("max_iter")
    assert (tmp_path / "run").exists()


def test_without_a_checkpoint_nothing_is_saved():
    run = Run(SearchProgress)
    assert not run.is_snapshot_due()
    run.save({"edges": np.arange(4)})
    assert run.restore() is None


def test_steps_are_counted_up_to_their_number(clock):
    run, heard = Run(SearchProgress), []
    run.on_step = lambda: heard.append((run.steps.done, run.steps.total, run.steps.unit))
    run.advance()
    run.expect_steps(3)  # where none are counted nothing happens
    assert run.steps is None
    assert not heard
    run.count_steps(5, "draws", done=1)
    run.advance()
    run.advance_to(2)  # done before
    run.advance_to(4)
    part = Run(SearchProgress)
    part.count_with(run)
    part.advance(7)
    assert heard == [(2, 5, "draws"), (4, 5, "draws"), (5, 5, "draws")]
    run.expect_steps(2)
    run.advance()
    assert heard[-1] == (6, 7, "draws")
    run.count_steps(2, "starts")
    run.advance()
    assert heard[-1] == (1, 2, "starts")
    run.count_steps(9, "penalties", done=4)
    run.finish_steps()
    assert heard[-1] == (4, 4, "penalties")

"""Runs of grafting: what ends them, what they tell, and what they leave for another run."""

from types import SimpleNamespace

import numpy as np
import pytest

from helpers.grafting_parts import PlayedLoss, PlayedSource, chained_codes, exhaustive, inactive, loss_of
from pgmx.runs.checkpoint import Checkpoint
from pgmx.search.edges import grafting
from pgmx.search.edges.grafting import Grafting, loss_state, restore_loss
from pgmx.search.edges.sources import BestEdge

CARDS = (2, 3, 2, 4, 2, 3)


@pytest.fixture
def clock(monkeypatch):
    """Clocks that go on when the test says so."""
    now = SimpleNamespace(cpu=100.0, wall=500.0)
    monkeypatch.setattr(grafting, "process_time", lambda: now.cpu)
    monkeypatch.setattr(grafting, "perf_counter", lambda: now.wall)
    return now


def run_of(loss, source, **options):
    run = Grafting(loss, source, **{"tol": 1e-4, **options})
    run.run()
    return run


def test_a_run_ends_where_nothing_passes_for_an_optimised_model():
    # the first full optimisation changes variables, so that the source has to look again; the second does not
    loss = PlayedLoss(answers=[[0, 1], [2], [3, 4], [0], []])
    source = PlayedSource([2, 1, 0, 1, 0])
    run = run_of(loss, source)
    assert run.stopped_by == "converged"
    assert source.told == [[0, 1], [2], [3, 4], [0]]
    assert [pairs for pairs, *_ in loss.optimisations] == [[[0, 2]], [[0, 3]], None, [[0, 4]], None]
    assert [tol for _, tol, _ in loss.optimisations] == [1.0, 1.0, 1e-4, 1.0, 1e-4]
    assert run.n_iter == 4
    assert run.history["n_edges"] == [0, 2, 3, 3, 4, 4]
    assert run.history["objective"] == [10, 8, 7, 7, 6, 6]
    assert run.history["n_tests"] == [0, 10, 20, 30, 40, 50]


def test_the_limit_on_edges_is_kept_and_the_last_model_optimised():
    loss, source = PlayedLoss(), PlayedSource([2, 2, 2, 2])
    run = run_of(loss, source, max_edges=5)
    assert run.stopped_by == "max_edges"
    assert source.limits == [5, 3, 1]
    assert len(loss.edges) == run.n_active == 5
    assert loss.optimisations[-1] == (None, 1e-4, None)


def test_no_edges_allowed():
    loss, source = PlayedLoss(), PlayedSource([1])
    run = run_of(loss, source, max_edges=0)
    assert run.stopped_by == "max_edges"
    assert not len(loss.edges)
    assert run.history["n_edges"] == [0, 0]


def test_edges_from_before_count():
    loss = PlayedLoss()
    loss.activate(np.array([[0, 1], [4, 5]]))
    run = run_of(loss, PlayedSource([3]), max_edges=4)
    assert run.history["n_edges"] == [2, 4, 4]
    counted = run_of(PlayedLoss(), PlayedSource([3]), max_edges=9, n_active=8)
    assert counted.history["n_edges"] == [8, 9, 9]


def test_a_deadline_ends_the_run_between_rounds(clock):
    loss, source = PlayedLoss(), PlayedSource([1] * 9)

    optimise = source.optimise

    def optimised(loss, deadline):
        assert deadline == 530.0
        clock.wall += 12
        return optimise(loss, deadline)

    source.optimise = optimised
    run = run_of(loss, source, deadline=530.0)
    assert run.stopped_by == "max_time"
    assert run.n_iter == 3
    assert run.history["seconds"] == [0, 12, 24, 36, 36]


def test_an_interrupted_source_ends_the_run():
    run = run_of(PlayedLoss(), PlayedSource([1, "interrupted", 1]))
    assert run.stopped_by == "max_time"
    assert run.n_iter == 1


def test_a_true_answer_of_the_callback_ends_the_run():
    told = []

    def callback(progress):
        told.append(progress)
        return progress.n_iter == 2

    run = run_of(PlayedLoss(), PlayedSource([1, 2, 1, 1]), callback=callback)
    assert run.stopped_by == "callback"
    assert [progress.n_iter for progress in told] == [0, 1, 2]
    assert [progress.n_edges for progress in told] == [0, 1, 3]
    assert [progress.objective for progress in told] == [10, 9, 7]
    assert [progress.n_tests for progress in told] == [0, 10, 20]


def test_a_callback_may_end_a_run_before_it_begins():
    source = PlayedSource([1, 1])
    run = run_of(PlayedLoss(), source, callback=lambda progress: True)
    assert run.stopped_by == "callback"
    assert run.n_iter == 0
    assert not source.limits


def test_measuring_is_off_the_clock(clock):
    source = PlayedSource([1, 1])
    optimise = source.optimise

    def optimised(loss, deadline):
        clock.cpu, clock.wall = clock.cpu + 2, clock.wall + 3
        return optimise(loss, deadline)

    def measure(n_edges):
        clock.cpu, clock.wall = clock.cpu + 50, clock.wall + 70
        return {"recall": n_edges / 10}

    source.optimise = optimised
    run = Grafting(PlayedLoss(), source, tol=1e-4, measure=measure, n_tables=lambda: 7)
    run.start_clock(99.0, 498.0)
    run.run()
    assert run.history["recall"] == [0, 0.1, 0.2, 0.2]
    assert run.history["cpu_seconds"] == [1, 3, 5, 5]
    assert run.history["seconds"] == [2, 5, 8, 8]
    assert run.history["n_tables"] == [7] * 4


# ---- with a real loss ----


def edges_run(loss, saver=None, **options):
    source = BestEdge(exhaustive(loss), loss.lam, 1e-3)
    return Grafting(loss, source, tol=1e-5, saver=saver, **options)


def test_the_end_is_certified(rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS)
    run = edges_run(loss)
    run.run()
    assert run.stopped_by == "converged"
    assert loss.kkt_residual() <= 1e-5
    assert (loss.scores(inactive(loss)) <= loss.lam).all()
    objectives = np.array(run.history["objective"])
    assert (np.diff(objectives) <= 1e-7).all()
    assert objectives[-1] == loss.objective()
    assert {len(values) for values in run.history.values()} == {run.n_iter + 2}


@pytest.mark.parametrize("ended_by", ["callback", "max_time"])
def test_a_run_that_was_ended_is_taken_up_again(ended_by, rng, tmp_path, clock):
    codes = chained_codes(rng, CARDS)
    whole = edges_run(loss_of(codes, CARDS))
    whole.run()

    def after_three(told):
        if told.n_iter == 3 and ended_by == "max_time":
            run.deadline = clock.wall
        return told.n_iter == 3 and ended_by == "callback"

    saver = Checkpoint(tmp_path / "run", 1e9, "of this test")  # never due
    loss = loss_of(codes, CARDS)
    run = edges_run(loss, saver, callback=after_three)
    clock.wall += 5
    run.run()
    assert run.stopped_by == ended_by
    snapshot = saver.load()
    assert snapshot["n_iter"] == snapshot["n_active"] == 3

    again = loss_of(codes, CARDS)
    restore_loss(again, snapshot)
    assert again.objective() == pytest.approx(loss.objective(), abs=1e-7)
    assert sorted(again.edges.tolist()) == sorted(loss.edges.tolist())
    rest = edges_run(again)
    rest.source.restore({}, again)
    clock.wall += 1000
    rest.start_clock(clock.cpu, clock.wall)
    rest.take_up(snapshot)
    rest.run()
    assert rest.stopped_by == "converged"
    assert rest.history["objective"][:4] == run.history["objective"][:4]
    assert rest.history["objective"][-1] == pytest.approx(whole.history["objective"][-1], abs=1e-6)
    assert rest.history["seconds"] == sorted(rest.history["seconds"])
    assert rest.history["seconds"][-1] == pytest.approx(5)
    assert rest.n_iter > 3


def test_snapshots_are_written_when_they_are_due(rng, tmp_path):
    loss = loss_of(chained_codes(rng, CARDS), CARDS)
    seen = []
    saver = Checkpoint(tmp_path / "run", 0.0, "of this test")
    save = saver.save
    saver.save = lambda snapshot: (seen.append(snapshot["n_iter"]), save(snapshot))
    run = edges_run(loss, saver)
    run.run()
    assert seen == list(range(1, run.n_iter + 1))


def test_the_state_of_a_loss_keeps_idle_edges(rng):
    codes = chained_codes(rng, CARDS)
    loss = loss_of(codes, CARDS)
    loss.activate(np.array([[0, 1], [0, 5], [2, 3]]))
    loss.optimise(tol=1e-5)
    assert loss.norms()[1] == 0  # far apart
    again = loss_of(codes, CARDS)
    restore_loss(again, loss_state(loss))
    assert sorted(again.edges.tolist()) == [[0, 1], [0, 5], [2, 3]]
    assert again.objective() == pytest.approx(loss.objective(), abs=1e-7)
    empty = loss_of(codes, CARDS)
    restore_loss(empty, loss_state(loss_of(codes, CARDS)))
    assert not len(empty.edges)

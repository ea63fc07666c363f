"""Runs of grafting: what ends them, what they report, and what they leave for another run."""

from types import SimpleNamespace

import numpy as np
import pytest

from helpers.grafting_parts import PlayedLoss, PlayedSelector, chained_codes, exhaustive, inactive, loss_of, run_of
from pgmx.runs import run as runs
from pgmx.runs.checkpoint import Checkpoint, Snapshot
from pgmx.search.edges.exhaustive import BestEdge
from pgmx.search.edges.grafting import Grafting

CARDS = (2, 3, 2, 4, 2, 3)


@pytest.fixture
def clock(monkeypatch):
    """Clocks that the test advances."""
    now = SimpleNamespace(cpu=100.0, wall=500.0)
    monkeypatch.setattr(runs, "process_time", lambda: now.cpu)
    monkeypatch.setattr(runs, "perf_counter", lambda: now.wall)
    return now


def graft(loss, selector, *, tol=1e-4, max_edges=np.inf, measure=None, **options):
    """Graft to the end, and return the grafting, why it ended, and the history as lists."""
    grafting = Grafting(loss, selector, run_of(**options), tol=tol, max_edges=max_edges, measure=measure)
    return grafting, grafting.graft(), lists_of(grafting.run.history)


def lists_of(history):
    return {name: values.tolist() for name, values in history.items()}


def test_a_run_ends_where_nothing_passes_for_an_optimised_model():
    # the first full optimisation changes variables, so that the selector has to look again; the second does not
    loss = PlayedLoss(answers=[[0, 1], [2], [3, 4], [0], []])
    selector = PlayedSelector([2, 1, 0, 1, 0])
    grafting, reason, history = graft(loss, selector)
    assert reason == "converged"
    assert selector.told == [[0, 1], [2], [3, 4], [0]]
    assert [pairs for pairs, *_ in loss.optimisations] == [[[0, 2]], [[0, 3]], None, [[0, 4]], None]
    assert [tol for _, tol, _ in loss.optimisations] == [1.0, 1.0, 1e-4, 1.0, 1e-4]
    assert grafting.n_iter == 4
    assert history["n_edges"] == [0, 2, 3, 3, 4, 4]
    assert history["objective"] == [10, 8, 7, 7, 6, 6]
    assert history["n_tests"] == [0, 10, 20, 30, 40, 50]
    assert history["n_tables"] == [7] * 6


def test_the_limit_on_edges_is_kept_and_the_last_model_optimised():
    loss, selector = PlayedLoss(), PlayedSelector([2, 2, 2, 2])
    grafting, reason, _ = graft(loss, selector, max_edges=5)
    assert reason == "max_edges"
    assert selector.limits == [5, 3, 1]
    assert len(loss.edges) == grafting.n_active == 5
    assert loss.optimisations[-1] == (None, 1e-4, None)


def test_no_edges_allowed():
    loss, selector = PlayedLoss(), PlayedSelector([1])
    _, reason, history = graft(loss, selector, max_edges=0)
    assert reason == "max_edges"
    assert not len(loss.edges)
    assert history["n_edges"] == [0, 0]


def test_edges_from_before_count():
    loss = PlayedLoss()
    loss.activate(np.array([[0, 1], [4, 5]]))
    assert graft(loss, PlayedSelector([3]), max_edges=4)[2]["n_edges"] == [2, 4, 4]


def test_a_deadline_ends_the_run_between_rounds(clock):
    loss, selector = PlayedLoss(), PlayedSelector([1] * 9)

    optimise = selector.optimise

    def optimised(loss, deadline):
        assert deadline == 530.0
        clock.wall += 12
        return optimise(loss, deadline)

    selector.optimise = optimised
    grafting, reason, history = graft(loss, selector, max_time=30)
    assert reason == "max_time"
    assert grafting.n_iter == 3
    assert history["seconds"] == [0, 12, 24, 36, 36]


def test_a_source_that_ran_out_of_time_ends_the_run(clock):
    selector = PlayedSelector([1, 0, 1])
    activate_next = selector.activate_next

    def late(loss, limit, run):
        clock.wall += 20
        return activate_next(loss, limit, run)

    selector.activate_next = late
    loss = PlayedLoss()
    grafting, reason, _ = graft(loss, selector, max_time=30)
    assert reason == "max_time"
    assert grafting.n_iter == 1
    assert len(loss.optimisations) == 1


def test_a_true_answer_of_the_callback_ends_the_run():
    told = []

    def callback(progress):
        told.append(progress)
        return progress.n_iter == 2

    assert graft(PlayedLoss(), PlayedSelector([1, 2, 1, 1]), callback=callback)[1] == "callback"
    assert [progress.n_iter for progress in told] == [0, 1, 2]
    assert [progress.n_edges for progress in told] == [0, 1, 3]
    assert [progress.objective for progress in told] == [10, 9, 7]
    assert [progress.n_tests for progress in told] == [0, 10, 20]


def test_a_callback_may_end_a_run_before_it_begins():
    selector = PlayedSelector([1, 1])
    grafting, reason, _ = graft(PlayedLoss(), selector, callback=lambda progress: True)
    assert reason == "callback"
    assert grafting.n_iter == 0
    assert not selector.limits


def test_measuring_is_off_the_clock(clock):
    selector = PlayedSelector([1, 1])
    optimise = selector.optimise

    def optimised(loss, deadline):
        clock.cpu, clock.wall = clock.cpu + 2, clock.wall + 3
        return optimise(loss, deadline)

    def measure(loss, n_edges):
        clock.cpu, clock.wall = clock.cpu + 50, clock.wall + 70
        return {"recall": n_edges / 10}

    selector.optimise = optimised
    *_, history = graft(PlayedLoss(), selector, measure=measure)
    assert history["recall"] == [0, 0.1, 0.2, 0.2]
    assert history["cpu_seconds"] == [0, 2, 4, 4]
    assert history["seconds"] == [0, 3, 6, 6]


# ---- with a real loss ----


def edges_run(loss, **options):
    return Grafting(loss, BestEdge(exhaustive(loss), 1e-3), run_of(**options), tol=1e-5)


def test_the_end_is_certified(rng):
    loss = loss_of(chained_codes(rng, CARDS), CARDS)
    grafting = edges_run(loss)
    assert grafting.graft() == "converged"
    assert loss.kkt_residual() <= 1e-5
    assert (loss.scores(inactive(loss)) <= loss.lam).all()
    history = grafting.run.history
    objectives = history["objective"]
    assert (np.diff(objectives) <= 1e-7).all()
    assert objectives[-1] == loss.objective()
    assert {len(values) for values in history.values()} == {grafting.n_iter + 2}


@pytest.mark.parametrize("ended_by", ["callback", "max_time"])
def test_a_run_that_was_ended_is_taken_up_again(ended_by, rng, tmp_path, clock):
    codes = chained_codes(rng, CARDS)
    whole = edges_run(loss_of(codes, CARDS))
    whole.graft()

    def after_three(progress):
        if progress.n_iter == 3 and ended_by == "max_time":
            grafting.run.deadline = clock.wall
        return progress.n_iter == 3 and ended_by == "callback"

    saver = Checkpoint(tmp_path / "run", 1e9, "of this test")  # never due
    loss = loss_of(codes, CARDS)
    grafting = edges_run(loss, checkpoint=saver, callback=after_three)
    clock.wall += 5
    assert grafting.graft() == ended_by
    snapshot = saver.load()
    assert snapshot.value("n_iter") == snapshot.value("n_active") == 3

    again = loss_of(codes, CARDS)
    clock.wall += 1000
    rest = edges_run(again, checkpoint=saver)
    rest.begin(np.zeros((0, 2), dtype=np.int64))
    assert again.objective() == loss.objective()
    assert sorted(again.edges.tolist()) == sorted(loss.edges.tolist())
    assert rest.graft() == "converged"
    history, expected = rest.run.history, whole.run.history
    assert history["objective"][:4].tolist() == grafting.run.history["objective"][:4].tolist()
    assert history["objective"][-1] == expected["objective"][-1]
    assert history["seconds"].tolist() == sorted(history["seconds"])
    assert history["seconds"][-1] == pytest.approx(5)
    assert rest.n_iter > 3


def test_snapshots_are_written_when_they_are_due(rng, tmp_path):
    seen = []
    saver = Checkpoint(tmp_path / "run", 0.0, "of this test")
    save = saver.save
    saver.save = lambda snapshot: (seen.append(snapshot["n_iter"]), save(snapshot))
    grafting = edges_run(loss_of(chained_codes(rng, CARDS), CARDS), checkpoint=saver)
    grafting.graft()
    assert seen == list(range(1, grafting.n_iter + 1))


def test_the_state_of_a_loss_keeps_idle_edges(rng):
    codes = chained_codes(rng, CARDS)
    loss = loss_of(codes, CARDS)
    loss.activate(np.array([[0, 1], [0, 5], [2, 3]]))
    loss.optimise(tol=1e-5)
    assert loss.norms()[1] == 0  # far apart
    again = loss_of(codes, CARDS)
    again.restore(Snapshot(loss.state()))
    assert again.edges.tolist() == [[0, 1], [0, 5], [2, 3]]
    assert again.objective() == loss.objective()
    empty = loss_of(codes, CARDS)
    empty.restore(Snapshot(loss_of(codes, CARDS).state()))
    assert not len(empty.edges)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("conditionals", lambda values: values * np.float32(1.5), "conditionals that do not match"),
        ("conditionals", lambda values: values[:-1], "shape"),
        ("totals", lambda values: values + 5, "sums that do not match"),
        ("is_open", np.zeros_like, "shape"),
        ("bound", lambda values: values - 1e9, "outside"),
        ("drift", lambda values: values * np.nan, "not finite"),
        ("tables", lambda values: values * 1e9, "outside"),
        ("n_steps", lambda values: values - 99, "outside"),
    ],
)
def test_changed_states_of_a_loss_are_refused(name, change, words, rng):
    codes = chained_codes(rng, CARDS)
    loss = loss_of(codes, CARDS)
    loss.activate(np.array([[0, 1], [2, 3]]))
    loss.optimise(tol=1e-3)
    state = loss.state()
    with pytest.raises(ValueError, match=words):
        loss_of(codes, CARDS).restore(Snapshot({**state, name: change(state[name])}))

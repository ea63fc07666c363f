"""The return to the best iterate of a run whose loss is not convex."""

import numpy as np
import pytest

from pgmx.search.edges import grafting
from pgmx.search.edges.grafting import Iterates


class ScriptedLoss:
    """A loss whose parameter is the number of a round, with the objectives of a run and those of fresh messages."""

    def __init__(self, of_run, of_fresh_messages, size=1):
        self._of_run, self._fresh, self._size = of_run, of_fresh_messages, size
        self.round, self._is_fresh, self.converged = 0, False, True
        self.n_measured = 0

    def objective(self):
        return (self._fresh if self._is_fresh else self._of_run)[self.round]

    def snapshot(self):
        return np.array([float(self.round)]), np.zeros(self._size)

    def revert(self, snapshot):
        self.round, self._is_fresh = int(snapshot[0][0]), True
        self.n_measured += 1

    def kkt_residual(self):
        fresh = self._fresh[self.round]
        self.converged = np.isfinite(fresh) and abs(fresh - self.objective()) <= 1e-9


def run_through(loss, n_rounds):
    iterate = Iterates(loss)
    for loss.round in range(n_rounds):
        iterate.add(loss.objective())
    return iterate


def test_an_objective_of_the_messages_of_the_run_is_not_trusted():
    """It falls all along, while that of fresh messages has its minimum in between."""
    fresh = [9.0, 8.0, 7.0, 6.5, 7.5, 12.0, 30.0]
    loss = ScriptedLoss([9.0, 8.0, 7.0, 6.4, 5.0, 3.0, 1.0], fresh)
    assert not run_through(loss, 7).return_to_best()
    assert loss.round == 3
    assert loss.objective() == 6.5


def test_iterates_without_an_answer_are_left_out():
    loss = ScriptedLoss([5.0, 1.0, 4.0, 2.0], [5.0, np.inf, 4.0, np.inf])
    assert not run_through(loss, 4).return_to_best()
    assert loss.round == 2


@pytest.mark.parametrize("last", [3.0, 3.0002])
def test_the_end_stays_where_it_is_the_best(last):
    loss = ScriptedLoss([5.0, 3.0, last], [5.0, 3.0, last])
    assert run_through(loss, 3).return_to_best()
    assert (loss.round, loss.n_measured) == (2, 0)


def test_the_end_stays_where_only_the_messages_of_the_run_were_better_before():
    loss = ScriptedLoss([5.0, 1.0, 2.0], [5.0, 8.0, 2.0])
    assert run_through(loss, 3).return_to_best()
    assert loss.round == 2


def test_the_best_of_many_iterates_is_approached_in_steps():
    fresh = np.abs(np.arange(5000) - 3217.0)
    loss = ScriptedLoss(-np.arange(5000.0), fresh)
    assert not run_through(loss, 5000).return_to_best()
    assert loss.round == 3217
    assert loss.n_measured <= 4 * grafting._MEASURED + 1


def test_iterates_are_thinned_out_where_they_are_large(monkeypatch):
    monkeypatch.setattr(grafting, "_MOST_NUMBERS", 50_000)
    fresh = np.abs(np.arange(600) - 401.0)
    loss = ScriptedLoss(-np.arange(600.0), fresh, size=999)
    iterate = run_through(loss, 600)
    assert sum(len(nodes) + len(tables) for nodes, tables in iterate._stored) <= 50_000
    assert not iterate.return_to_best()
    assert abs(loss.round - 401) <= 16


def test_nothing_to_return_to():
    assert Iterates(ScriptedLoss([1.0], [2.0])).return_to_best()


def test_stored_iterates_are_evenly_thinned_out(monkeypatch):
    monkeypatch.setattr(grafting, "_FEW", 4)
    monkeypatch.setattr(grafting, "_MOST_NUMBERS", 20)  # two numbers for each iterate
    for n_rounds in range(1, 90):
        loss = ScriptedLoss(np.arange(100.0)[::-1], np.arange(100.0)[::-1])
        iterate = run_through(loss, n_rounds)
        rounds = [int(nodes[0]) for nodes, _ in iterate._stored]
        stride = 1 if n_rounds <= 10 else rounds[1]
        assert rounds == list(range(0, n_rounds, stride))
        assert len(rounds) <= 10
        assert len(rounds) * stride >= n_rounds / 2  # no more is left out than memory asks for

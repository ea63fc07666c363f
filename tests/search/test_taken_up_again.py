"""A search that was interrupted and taken up again ends as if nothing had happened, wherever it was."""

import io
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.examples import examples
from helpers.whole_searches import SEARCHES, random_problem, search_with, walks_of
from pgmx.runs.checkpoint import Snapshot

every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)


class InMemory:
    """Keeps all snapshots as the bytes of the file they would have been; a run is resumed from `first`."""

    def __init__(self, at_every_place=True, first=None):
        self.at_every_place = at_every_place
        self.first = first
        self.files = []

    def is_due(self):
        return self.at_every_place

    def save(self, snapshot):
        file = io.BytesIO()
        np.savez(file, **snapshot)
        self.files.append(file.getvalue())

    def load(self):
        if self.first is None:
            return None
        with np.load(io.BytesIO(self.first), allow_pickle=False) as stored:
            return Snapshot(dict(stored))

    def remove(self):
        pass


def same(result, expected):
    assert result.converged == expected.converged
    assert result.edges.tolist() == expected.edges.tolist()
    assert result.score == expected.score
    assert result.n_iter == expected.n_iter
    for name in ("score", "n_edges"):
        np.testing.assert_array_equal(result.history[name], expected.history[name])
    assert (np.diff(result.history["seconds"]) >= 0).all()


@st.composite
def problems_for(draw, search):
    """Return a problem of integers and the options of the search."""
    problem = random_problem(
        draw(st.integers(0, 2**20), label="seed"),
        draw(st.integers(1, 5), label="n"),
        spread=draw(st.sampled_from([1, 6]), label="spread"),
        knowledge=draw(st.booleans(), label="knowledge"),
    )
    patience = draw(st.sampled_from([0, 0, 4]), label="patience")
    tabu_length = draw(st.sampled_from([0, 2, 100]), label="tabu_length")
    return problem.problem(patience=patience, tabu_length=tabu_length, all_moves=patience > 0 or walks_of(search))


@pytest.mark.slow
@every_search
@given(data=st.data())
@examples(25)
def test_from_every_snapshot(search, data):
    problem = data.draw(problems_for(search))
    plain = search_with(search, problem, seed=3)
    checkpoint = InMemory()
    same(search_with(search, problem, seed=3, checkpoint=checkpoint), plain)
    for first in checkpoint.files[:: 1 + len(checkpoint.files) // 12]:
        same(search_with(search, problem, seed=3, checkpoint=InMemory(first=first)), plain)


@every_search
@given(data=st.data())
@examples(15)
def test_stopped_after_so_many_moves_again_and_again(search, data):
    """The limit falls anywhere, in the middle of a trial too; each run makes a few moves more than the last."""
    problem = data.draw(problems_for(search))
    step = data.draw(st.integers(1, 9), label="moves of a run")
    plain = search_with(search, problem, seed=3)
    checkpoint = InMemory(at_every_place=False)
    for most in range(0, plain.n_iter + step + 1, step):
        limited = replace(problem, limits=replace(problem.limits, max_iter=most))
        result = search_with(search, limited, seed=3, checkpoint=checkpoint)
        if result.converged:
            break
        assert result.n_iter <= most
        assert result.stopped_by == "max_iter"
        checkpoint = InMemory(at_every_place=False, first=checkpoint.files[-1])
    same(result, plain)


@every_search
@given(data=st.data())
@examples(15)
def test_stopped_by_the_callback_again_and_again(search, data):
    problem = data.draw(problems_for(search))
    plain = search_with(search, problem, seed=3)
    checkpoint, told = InMemory(at_every_place=False), []
    rng = np.random.default_rng(data.draw(st.integers(0, 99), label="moments"))

    def callback(progress):
        told.append(progress)
        return rng.random() < 0.4

    for _ in range(len(plain.history["score"]) + 2):
        result = search_with(search, problem, seed=3, checkpoint=checkpoint, callback=callback)
        if result.converged:
            break
        assert result.stopped_by == "callback"
        checkpoint = InMemory(at_every_place=False, first=checkpoint.files[-1])
    same(result, plain)
    assert [progress.score for progress in told] == plain.history["score"].tolist()

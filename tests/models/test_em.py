"""EM of the parameters: laws of discrete, continuous and mixed rows. Oracles are in test_structural_em*.py."""

import pickle
from time import perf_counter

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import dependent_frame
from pgmx.data import encode, open_frame
from pgmx.data.mixed import read_incomplete_mixed
from pgmx.models.bayesian.em import TOLERANCE
from pgmx.models.bayesian.incomplete_continuous import IncompleteContinuousRows
from pgmx.models.bayesian.incomplete_discrete import IncompleteDiscreteRows
from pgmx.models.bayesian.incomplete_mixed import IncompleteMixedRows
from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import OutOfTimeError, TaskGroup

GRAPHS = [np.array([(0, 1), (0, 2), (2, 3), (1, 3)]), np.empty((0, 2), dtype=np.int64)]


def make_rows(kind, seed, share=0.3):
    """Return five columns; in mixed rows the first and the third column are discrete."""
    rng = np.random.default_rng(seed)
    frame = dependent_frame(seed, 120).astype(float)
    mask = rng.random(frame.shape) < share
    weights = rng.choice([0.5, 1.0, 3.0], len(frame))
    if kind == "discrete":
        return IncompleteDiscreteRows(encode(frame.astype("Int64").mask(mask), missing="pairwise"), weights, n_draws=4)
    frame += 0.3 * rng.normal(size=frame.shape)
    if kind == "continuous":
        return IncompleteContinuousRows(frame.mask(mask).to_numpy(), weights)
    for name in "ac":
        frame[name] = pd.Categorical(frame[name].round().clip(0, 1).astype(int))
    return IncompleteMixedRows(read_incomplete_mixed(open_frame(frame.mask(mask))), weights)


@pytest.fixture(params=["discrete", "continuous", "mixed"])
def rows(request, seed):
    return make_rows(request.param, seed)


@pytest.mark.parametrize("edges", GRAPHS)
def test_the_likelihood_never_falls_until_a_step_gains_little(rows, edges):
    fit = rows.fit(edges, max_steps=0)
    for _ in range(12):
        following = rows.resume(fit, max_steps=1)
        assert following.log_likelihood >= fit.log_likelihood
        fit = following
    end = rows.fit(edges)
    gain = rows.resume(end, max_steps=1).log_likelihood - end.log_likelihood
    assert 0 <= gain <= TOLERANCE * max(abs(end.log_likelihood), rows.n)
    assert rows.n == pytest.approx(rows.weights.sum())


@pytest.mark.parametrize("edges", GRAPHS)
def test_resumed_steps_equal_uninterrupted_steps(rows, edges):
    whole = rows.fit(edges, max_steps=2)
    half = rows.resume(rows.fit(edges, max_steps=1), max_steps=1)
    restored = rows.fit(edges, read_back(rows, rows.fit(edges, max_steps=1)), max_steps=1)
    for other in (half, restored):
        assert other.log_likelihood == whole.log_likelihood
        assert other.families == whole.families
        mine, theirs = rows.describe(other), rows.describe(whole)
        for name in theirs:
            np.testing.assert_array_equal(mine[name], theirs[name])


def read_back(rows, fit):
    return rows.read_statistics(Snapshot(rows.describe(fit)), fit.edges)


def test_a_deadline_ends_the_steps_but_not_before_there_is_a_fit(rows):
    first = rows.fit(GRAPHS[0], max_steps=0)
    late = rows.fit(GRAPHS[0], deadline=perf_counter() - 1.0)
    assert late.log_likelihood == first.log_likelihood
    tasks = TaskGroup()
    tasks.stop()
    with tasks.run_task():
        assert rows.resume(first) is first


def test_a_pass_that_runs_out_of_time_leaves_the_last_parameters(rows, monkeypatch):
    fit = rows.fit(GRAPHS[0], max_steps=1)

    def run_out(*args, **options):
        raise OutOfTimeError

    monkeypatch.setattr(rows, "_expect", run_out)
    assert rows.resume(fit) is fit


def test_pickled_rows_give_the_same_fit(rows):
    fit = rows.fit(GRAPHS[0], max_steps=3)
    again, same_fit = pickle.loads(pickle.dumps((rows, fit)))
    assert again.resume(same_fit).log_likelihood == rows.resume(fit).log_likelihood

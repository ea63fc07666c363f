"""Further rows for learners whose options, start or first run are out of the ordinary; paths that add nothing."""

import pickle

import numpy as np
import pytest

from helpers.markov_tables import planted_rows
from pgmx.estimators import EdgeGrafting, GroupLassoMarkovNetwork

ROWS = planted_rows(600)


def test_pickles_hold_weights_of_edges():
    options = {"lam": 0.02, "edge_weights": {("x0", "x1"): 2.0, ("x2", "x5"): 0.5}}
    learner = EdgeGrafting(**options).partial_fit(ROWS[:300])
    taken_up = pickle.loads(pickle.dumps(learner)).partial_fit(ROWS[300:])
    learner.partial_fit(ROWS[300:])
    assert taken_up.objective_ == learner.objective_
    assert np.array_equal(taken_up.edges_, learner.edges_)


@pytest.mark.parametrize("weights", [None, np.full(300, 2.0)])
def test_knowledge_that_comes_with_further_rows(weights):
    learner = EdgeGrafting(lam=0.01).partial_fit(ROWS[:300], sample_weight=weights)
    known = [tuple(edge) for edge in learner.graph_.edges()]
    absent = next((u, v) for u in ROWS for v in ROWS if u < v and not learner.graph_.has_edge(u, v))
    learner.set_params(forbidden_edges=known[:2], required_edges=[absent]).partial_fit(ROWS[300:])
    assert not any(learner.graph_.has_edge(*edge) for edge in known[:2])
    assert learner.graph_.has_edge(*absent)


def test_rows_after_a_first_run_that_broke_off():
    def break_off(told):
        raise KeyboardInterrupt

    learner = EdgeGrafting(lam=0.02, callback=break_off)
    with pytest.raises(KeyboardInterrupt):
        learner.partial_fit(ROWS[:300])
    learner.set_params(callback=None).partial_fit(ROWS[300:])
    assert learner.objective_ == pytest.approx(EdgeGrafting(lam=0.02).fit(ROWS).objective_, abs=1e-6)


def test_a_path_goes_on_where_no_penalty_adds_an_edge():
    learner = GroupLassoMarkovNetwork(selection="ebic", lam_ratio=1e-3, n_lams=25).fit(ROWS[["x0", "x1"]])
    assert learner.converged_
    assert len(learner.path_) == 25

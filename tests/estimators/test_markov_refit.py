"""Parameters estimated again without the penalty, and a loss that does not converge."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers.markov_tables import planted_rows
from pgmx.estimators import BestChoiceEdgeGrafting, EdgeGrafting, FeatureGrafting, GroupLassoMarkovNetwork

ROWS = planted_rows(2000, 8)


@pytest.mark.parametrize("make", [EdgeGrafting, FeatureGrafting, BestChoiceEdgeGrafting, GroupLassoMarkovNetwork])
def test_refit_keeps_the_graph_and_fits_better(make):
    penalised, refitted = (make(lam=0.02, refit=refit).fit(ROWS) for refit in (False, True))
    np.testing.assert_array_equal(refitted.edges_, penalised.edges_)
    assert refitted.objective_ == penalised.objective_
    assert refitted.kkt_residual_ == penalised.kkt_residual_
    assert refitted.score(ROWS) > penalised.score(ROWS) + 0.01
    strength = {frozenset(pair): size for *pair, size in penalised.graph_.edges(data="weight")}
    grown = [size > strength[frozenset(pair)] for *pair, size in refitted.graph_.edges(data="weight")]
    assert np.mean(grown) > 0.5  # the penalty shrinks


def test_refit_is_the_fit_of_a_known_graph():
    learner = EdgeGrafting(lam=0.02, refit=True, tol=1e-6).fit(ROWS)
    pairs = list(learner.graph_.edges())
    known = EdgeGrafting(lam=0.02, required_edges=pairs, max_edges=len(pairs), tol=1e-6).fit(ROWS)
    assert learner.score(ROWS) == pytest.approx(known.score(ROWS), abs=1e-6)


def test_refit_of_a_chosen_network():
    plain, refitted = (
        GroupLassoMarkovNetwork(lam_ratio=0.05, selection="ebic", n_lams=6, refit=refit).fit(ROWS)
        for refit in (False, True)
    )
    assert refitted.path_.selected == plain.path_.selected
    np.testing.assert_array_equal(refitted.edges_, plain.edges_)
    assert refitted.score(ROWS) > plain.score(ROWS)


def test_refit_gives_required_edges_a_table():
    learner = GroupLassoMarkovNetwork(lam=1.0, required_edges=[("x0", "x1")], refit=True).fit(ROWS)
    assert list(learner.graph_.edges()) == [("x0", "x1")]
    assert learner.graph_.edges["x0", "x1"]["weight"] > 0


def test_a_loss_that_does_not_converge_says_so():
    """Many weakly penalised loops: belief propagation finds no fixed point."""
    rows = planted_rows(400, 14)
    with pytest.warns(ConvergenceWarning, match="loss='bethe' did not converge"):
        learner = GroupLassoMarkovNetwork(lam=0.001, l2=1e-4, loss="bethe").fit(rows)
    assert learner.stopped_by_ == "unsettled"
    assert not learner.converged_
    assert np.isfinite(learner.objective_)


def test_an_unknown_option_is_named():
    with pytest.raises(TypeError, match="EdgeGrafting has no option 'lamda', did you mean 'lam'"):
        EdgeGrafting(lamda=0.1)


@pytest.mark.filterwarnings("ignore:selection=")
def test_path_says_what_it_holds():
    learner = GroupLassoMarkovNetwork(lam_ratio=0.5, selection="held_out", n_lams=3).fit(ROWS)
    assert repr(learner.path_).startswith("RegularizationPath(3 penalties, 0 to ")
    assert learner.path_.at_end == (learner.path_.selected == 2)

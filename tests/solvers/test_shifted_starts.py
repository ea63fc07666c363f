"""Starts whose parameters are large, but cancel each other."""

import numpy as np
import pytest

from helpers.loss_tables import dependent_codes, make
from pgmx.inference import PairwisePotentials
from pgmx.solvers import BetheLoss, ExactLoss, PseudolikelihoodLoss

CARDS = (3, 2, 3)


def potentials(shift):
    """Return one distribution; the shift goes from the table of the first two variables to the first."""
    rng = np.random.default_rng(1)
    nodes = [rng.normal(size=size) for size in CARDS]
    tables = {(0, 1): rng.normal(size=(3, 2)), (0, 2): rng.normal(size=(3, 3))}
    nodes[0][0] -= shift
    tables[0, 1][0] += shift
    return PairwisePotentials.build(CARDS, nodes=nodes, tables=tables)


@pytest.mark.parametrize("shift", [40.0, 100.0, 800.0])
@pytest.mark.parametrize("kind", [PseudolikelihoodLoss, ExactLoss])
def test_shifts_that_cancel_do_not_matter(kind, shift, rng):
    codes = dependent_codes(rng, CARDS)
    plain, shifted = (make(kind, codes, CARDS, lam=0.0, l2=0.0) for _ in range(2))
    plain.set_potentials(potentials(0.0))
    shifted.set_potentials(potentials(shift))
    assert shifted.loss() == pytest.approx(plain.loss(), rel=1e-5)


def test_the_bethe_loss_cuts_what_exponentials_cannot_hold(rng):
    codes = dependent_codes(rng, CARDS)
    loss = make(BetheLoss, codes, CARDS)
    loss.set_potentials(potentials(800.0))
    assert np.abs(loss.node_values).max() == 50.0
    assert np.isfinite(loss.loss())
    loss.optimise(tol=1e-6)
    plain = make(BetheLoss, codes, CARDS)
    plain.activate(loss.edges)
    plain.optimise(tol=1e-6)
    assert loss.objective() == pytest.approx(plain.objective(), abs=1e-5)

"""Structure priors as values: their changes under moves, and what they refuse."""

import copy
import math
import pickle

import numpy as np
import pytest

from pgmx.scores import EdgePrior, ParameterPrior, UniformPrior
from pgmx.scores.priors import StructurePrior, check_structure_prior

PRIORS = [UniformPrior(), EdgePrior(0.25), EdgePrior(np.float64(0.9)), ParameterPrior(2), ParameterPrior(0.0)]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_the_bonus_is_what_a_move_changes(prior):
    add, delete, flip = prior.bonus
    for n_edges in (0, 1, 17):
        assert prior.log_prior(n_edges + 1) - prior.log_prior(n_edges) == pytest.approx(add)
    assert delete == -add
    assert flip == 0


def test_numbers():
    assert EdgePrior(0.25).log_prior(3) == pytest.approx(3 * math.log(0.25))
    assert EdgePrior(0.25).parameter_cost == UniformPrior().parameter_cost == 0
    assert ParameterPrior(2).parameter_cost == 2
    assert ParameterPrior(2).log_prior(5) == UniformPrior().log_prior(5) == 0


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_priors_are_values(prior):
    for other in (copy.deepcopy(prior), pickle.loads(pickle.dumps(prior))):
        assert other == prior
        assert hash(other) == hash(prior)
    assert EdgePrior(0.5) != EdgePrior(0.25)


@pytest.mark.parametrize("c", [0, 1, 1.5, -0.1, math.nan, math.inf, "0.5", None, True])
def test_factors_that_are_none(c):
    with pytest.raises(ValueError, match="the factor c of an EdgePrior must lie between 0 and 1, got"):
        EdgePrior(c)


@pytest.mark.parametrize("cost", [-1, math.nan, math.inf, "1", None, False])
def test_costs_that_are_none(cost):
    with pytest.raises(ValueError, match="the cost of a ParameterPrior must be a number of nats, 0 or more, got"):
        ParameterPrior(cost)


def test_what_is_no_prior():
    check_structure_prior(StructurePrior())
    for wrong in ("uniform", 0.5, EdgePrior):
        with pytest.raises(TypeError, match=r"structure_prior must be None or a prior of pgmx.scores \(UniformPrior"):
            check_structure_prior(wrong)

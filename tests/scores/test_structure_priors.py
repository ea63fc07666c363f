"""Structure priors as values: their changes under moves, and what they refuse."""

import copy
import math
import pickle

import numpy as np
import pytest

from helpers.learning_tables import dependent_frame
from pgmx.estimators import HillClimbSearch
from pgmx.scores import BIC, EdgePrior, ParameterPrior, UniformPrior
from pgmx.scores.binding.scoring import check_structure_prior
from pgmx.scores.priors import StructurePrior

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


class Own(StructurePrior):
    """A prior of a user, whose numbers are attributes."""

    def __init__(self, bonus=(0.0, 0.0, 0.0), cost=0.0, empty=0.0):
        object.__setattr__(self, "numbers", (bonus, cost, empty))

    bonus = property(lambda self: self.numbers[0])
    parameter_cost = property(lambda self: self.numbers[1])

    def log_prior(self, n_edges):
        return self.numbers[2]


@pytest.mark.parametrize(
    "bonus", [(1.0,), (math.nan,) * 3, ("a", "b", "c"), (1.0, -1.0, 1j), None, 0.0, (0, -math.inf, 0)]
)
def test_a_bonus_that_no_search_can_use(bonus):
    """One number in the place of three ended in a segmentation fault."""
    with pytest.raises(ValueError, match=r"structure_prior=.*: its bonus must be three finite numbers"):
        HillClimbSearch(structure_prior=Own(bonus)).fit(dependent_frame(0))


@pytest.mark.parametrize(
    "options", [{"cost": 1j}, {"cost": math.inf}, {"cost": -1}, {"cost": None}, {"empty": math.nan}]
)
def test_costs_that_no_search_can_use(options):
    with pytest.raises(ValueError, match=r"structure_prior=.*: its parameter_cost and log_prior must be finite"):
        HillClimbSearch(structure_prior=Own(**options)).fit(dependent_frame(0))


def test_a_prior_of_a_user():
    data = dependent_frame(0)
    mine = HillClimbSearch(structure_prior=Own((-9, np.float64(9), 0))).fit(data)
    assert mine.edges_.tolist() == HillClimbSearch(structure_prior=EdgePrior(math.exp(-9))).fit(data).edges_.tolist()


def test_a_score_whose_own_prior_is_none():
    class Strange(BIC):
        def structure_prior_ratio(self, operation):
            return math.nan

    data = dependent_frame(0)
    with pytest.raises(ValueError, match="structure_prior_ratio of Strange must be three finite numbers"):
        HillClimbSearch(scoring_method=Strange(data)).fit(data)

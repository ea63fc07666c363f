"""Structure priors in a search: what they charge, for every kind of score, and which they refuse."""

import math

import numpy as np
import pytest
from pgmpy import structure_score as pgmpy_scores

from helpers.learning_tables import codes_of, dependent_frame, gaussian_frame, mixed_frame
from oracles.family_scores import dag_score
from oracles.other_scores import gaussian_score
from pgmx.estimators import HillClimbSearch
from pgmx.scores import BIC, BDs, EdgePrior, ParameterPrior, UniformPrior


def learn(data, scoring_method, structure_prior=None, **options):
    options = {"return_type": "dag", "scoring_method": scoring_method, **options}
    return HillClimbSearch(structure_prior=structure_prior, **options).fit(data)


def n_parameters(cards, edges):
    parents = [[tail for tail, head in edges if head == child] for child in range(len(cards))]
    return sum(math.prod(cards[p] for p in parents[v]) * (cards[v] - 1) for v in range(len(cards)))


@pytest.mark.parametrize("name", ["bic", "k2", "bdeu"])
def test_uniform_is_none(seed, name):
    data = dependent_frame(seed)
    mine, plain = learn(data, name, UniformPrior()), learn(data, name)
    assert mine.edges_.tolist() == plain.edges_.tolist()
    assert mine.score_ == plain.score_


@pytest.mark.parametrize("name", ["bic", "aic", "k2", "bdeu"])
def test_each_edge_costs(seed, name):
    data = dependent_frame(seed)
    learner, plain = learn(data, name, EdgePrior(1e-12)), learn(data, name)
    assert len(learner.edges_) < len(plain.edges_)
    expected = dag_score(*codes_of(data), learner.edges_, name) + len(learner.edges_) * math.log(1e-12)
    assert learner.score_ == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", ["ll", "bic", "aic", "k2", "bdeu"])
def test_each_parameter_costs(seed, name):
    data = dependent_frame(seed)
    codes, cards = codes_of(data)
    learner = learn(data, name, ParameterPrior(3.5))
    expected = dag_score(codes, cards, learner.edges_, name) - 3.5 * n_parameters(cards, learner.edges_.tolist())
    assert learner.score_ == pytest.approx(expected, rel=1e-10)


def test_log_likelihood_with_a_price_is_aic(seed):
    data = dependent_frame(seed)
    mine, aic = learn(data, "ll", ParameterPrior(1)), learn(data, "aic")
    assert mine.edges_.tolist() == aic.edges_.tolist()
    assert mine.score_ == pytest.approx(aic.score_, rel=1e-12)
    numbers = gaussian_frame(seed)
    mine, aic = learn(numbers, "ll-g", ParameterPrior(1)), learn(numbers, "aic-g")
    assert mine.edges_.tolist() == aic.edges_.tolist()
    assert mine.score_ == pytest.approx(aic.score_, rel=1e-12)


@pytest.mark.parametrize("prior", [EdgePrior(1e-6), ParameterPrior(4)], ids=repr)
def test_gaussian_scores_pay_too(seed, prior):
    data = gaussian_frame(seed)
    learner = learn(data, "bic-g", prior)
    expected = prior.log_prior(len(learner.edges_))
    for child in range(4):
        parents = [int(tail) for tail, head in learner.edges_ if head == child]
        expected += gaussian_score(data.to_numpy(), child, parents, 0.5 * math.log(200) + prior.parameter_cost)
    assert learner.score_ == pytest.approx(expected, rel=1e-9)


def test_a_prior_takes_the_place_of_the_scores_own(seed):
    """BDs has one that charges ln 2 an edge."""
    data = dependent_frame(seed)
    own, none = learn(data, BDs(data)), learn(data, BDs(data), UniformPrior())
    score = BDs(data)
    assert own.score_ == pytest.approx(score.score(own.dag_), rel=1e-10)
    families = sum(score.local_score(v, tuple(none.dag_.get_parents(v))) for v in data)
    assert none.score_ == pytest.approx(families, rel=1e-10)


def test_scores_of_pgmpy_take_a_prior_of_edges(seed):
    data = mixed_frame(seed)
    data = data.astype({"kind": "category", "size": "category"})
    learner = learn(data, pgmpy_scores.BICCondGauss(data), EdgePrior(1e-3))
    theirs = pgmpy_scores.BICCondGauss(data).score(learner.dag_)
    assert learner.score_ == pytest.approx(theirs + len(learner.edges_) * math.log(1e-3), rel=1e-9)


def test_scores_that_tell_no_parameters_are_named():
    data = mixed_frame(0).astype({"kind": "category", "size": "category"})
    with pytest.raises(ValueError, match=r"ParameterPrior\(cost=1\) needs the number of parameters .*BICCondGauss"):
        learn(data, pgmpy_scores.BICCondGauss(data), ParameterPrior(1))


@pytest.mark.parametrize("wrong", ["edges", 0.5, EdgePrior, BIC])
def test_what_is_no_prior(wrong):
    with pytest.raises((TypeError, ValueError), match="structure_prior"):
        learn(dependent_frame(0), "bic", wrong)


def test_priors_do_not_break_ties_of_equivalent_arcs(seed):
    data = dependent_frame(seed)
    learner = learn(data, "bdeu", ParameterPrior(1.5), max_iter=1)
    other = learn(data, "bdeu", ParameterPrior(1.5), max_iter=1, random_state=1)
    assert learner.score_ == other.score_
    assert np.isfinite(learner.score_)

"""Scores that are not pgmx's own: pgmpy's by name and by instance, user-made ones, and instances of other data."""

import math

import numpy as np
import pytest
from pgmpy import structure_score as pgmpy_scores

from helpers.learning_tables import codes_of, dependent_frame, edge_set, gaussian_frame, mixed_frame
from oracles.family_scores import dag_score
from pgmx.data import encode
from pgmx.estimators import HillClimbSearch
from pgmx.scores import AIC, BIC, K2, BDeu, LogLikelihood

OURS = {"bic": BIC, "aic": AIC, "k2": K2, "bdeu": BDeu}


def learn(data, scoring_method, **options):
    return HillClimbSearch(scoring_method=scoring_method, return_type="dag", **options).fit(data)


@pytest.mark.parametrize("name", OURS)
def test_an_instance_learns_what_its_name_learns(seed, name):
    data = dependent_frame(seed)
    by_name, by_instance = learn(data, name), learn(data, OURS[name](data))
    assert by_instance.edges_.tolist() == by_name.edges_.tolist()
    assert by_instance.score_ == by_name.score_


@pytest.mark.parametrize(("ours", "theirs"), [(BIC, pgmpy_scores.BIC), (AIC, pgmpy_scores.AIC), (K2, pgmpy_scores.K2)])
def test_pgmpy_instance_through_the_same_search(seed, ours, theirs):
    """Both have the same number for each family up to rounding; the move order by ties may differ, the score not."""
    data = dependent_frame(seed)
    native, foreign = learn(data, ours(data)), learn(data, theirs(data))
    assert foreign.score_ == pytest.approx(theirs(data).score(foreign.dag_), rel=1e-12)
    assert foreign.score_ == pytest.approx(native.score_, rel=1e-10)


def test_bds_instance(seed):
    data = dependent_frame(seed)
    score = pgmpy_scores.BDs(data, equivalent_sample_size=5)
    learner = learn(data, score)
    assert learner.score_ == pytest.approx(score.score(learner.dag_), rel=1e-12)
    assert len(learner.edges_) > 2


def test_gaussian_instance_is_the_score_by_name(seed):
    data = gaussian_frame(seed)
    by_name, by_instance = learn(data, "bic-g"), learn(data, pgmpy_scores.BICGauss(data))
    assert by_instance.edges_.tolist() == by_name.edges_.tolist()
    assert by_name.score_ == pytest.approx(pgmpy_scores.BICGauss(data).score(by_name.dag_), rel=1e-12)


def test_conditional_gaussian_score_of_the_result(seed):
    data = mixed_frame(seed)
    learner = learn(data, "bic-cg")
    assert learner.score_ == pytest.approx(pgmpy_scores.BICCondGauss(data).score(learner.dag_), rel=1e-10)


def test_equivalent_sample_size_of_an_instance_counts(seed):
    data = dependent_frame(seed)
    learner = learn(data, BDeu(data, equivalent_sample_size=1))
    assert learner.score_ == pytest.approx(dag_score(*codes_of(data), learner.edges_, "bdeu", ess=1.0), rel=1e-10)


def test_instance_with_declared_states_scores_them(seed):
    data = dependent_frame(seed)
    states = {name: list(range(4)) for name in data}
    learner = learn(data, BIC(data, state_names=states))
    codes, _ = codes_of(data)
    assert learner.score_ == pytest.approx(dag_score(codes, [4] * 5, learner.edges_, "bic"), rel=1e-10)
    assert learner.model_.states["a"] == [0, 1, 2, 3]


# ---- a model also where pgmpy scores discrete data ----


@pytest.mark.parametrize("scoring", ["bds", pgmpy_scores.BIC, pgmpy_scores.BDs], ids=str)
def test_model_of_discrete_data_under_any_score(scoring):
    data = dependent_frame(0)
    learner = learn(data, scoring if isinstance(scoring, str) else scoring(data))
    assert learner.model_.check_model()
    assert edge_set(learner.model_) == edge_set(learner.dag_)


def test_gaussian_model(seed):
    learner = learn(gaussian_frame(seed), None)
    assert type(learner.model_).__name__ == "LinearGaussianBayesianNetwork"
    assert learner.model_.check_model()
    assert edge_set(learner.model_) == edge_set(learner.dag_)


def test_model_of_mixed_data():
    learner = learn(mixed_frame(0), None)
    assert type(learner.model_).__name__ == "ConditionalGaussianNetwork"
    assert edge_set(learner.model_) == edge_set(learner.dag_)


# ---- scores of a user's own ----


class CountingScore(pgmpy_scores.BaseStructureScore):
    """Each family scores by a made-up rule; keeps what it was asked."""

    def __init__(self, data):
        self.asked = []
        super().__init__(data)

    def _local_score(self, variable, parents):
        return self.local_score(variable, parents)

    def local_score(self, variable, parents):
        self.asked.append((variable, tuple(parents)))
        return -float(abs(len(parents) - 1)) * (1 + ord(variable) % 7)


def test_any_decomposable_score_is_asked_once_a_family():
    data = dependent_frame(0)
    score = CountingScore(data)
    learner = learn(data, score)
    assert len(score.asked) == len(set(score.asked))
    assert all(list(parents) == sorted(parents) for _, parents in score.asked)
    assert sorted(np.bincount(learner.edges_[:, 1], minlength=5)) == [0, 1, 1, 1, 1]
    assert learner.score_ == pytest.approx(learner.history_["score"][-1])


class SparseBIC(BIC):
    """BIC with the structure prior c^|edges|."""

    cost = 40.0

    def structure_prior(self, model):
        return -self.cost * len(model.edges())

    def structure_prior_ratio(self, operation):
        return {"+": -self.cost, "-": self.cost, "flip": 0.0}[operation]


def test_structure_prior_counts():
    data = dependent_frame(0)
    dense, sparse = learn(data, BIC(data)), learn(data, SparseBIC(data))
    assert len(sparse.edges_) < len(dense.edges_)
    of_edges = dag_score(*codes_of(data), sparse.edges_, "bic")
    assert sparse.score_ == pytest.approx(of_edges - SparseBIC.cost * len(sparse.edges_), rel=1e-10)


class HalfBIC(BIC):
    """A subclass with its own family score is not replaced by the compiled one."""

    def local_score(self, variable, parents):
        return 0.5 * super().local_score(variable, parents)


def test_subclass_with_its_own_family_score():
    data = dependent_frame(0)
    learner = learn(data, HalfBIC(data))
    assert learner.score_ == pytest.approx(0.5 * dag_score(*codes_of(data), learner.edges_, "bic"), rel=1e-10)


class BrokenScore(CountingScore):
    def local_score(self, variable, parents):
        return math.nan if variable == "c" and "b" in parents else -1.0


def test_a_score_that_is_nan_is_named():
    data = dependent_frame(0)
    with pytest.raises(ValueError, match=r"BrokenScore of 'c' given \['b'\] is nan"):
        learn(data, BrokenScore(data))


# ---- instances of other data are refused ----


@pytest.mark.parametrize("make", [BIC, LogLikelihood, BDeu, pgmpy_scores.BIC, pgmpy_scores.K2], ids=str)
def test_instance_of_other_data_is_refused(make):
    data = dependent_frame(0)
    with pytest.raises(ValueError, match="different columns.*'e'"):
        learn(data, make(data.drop(columns="e")))
    with pytest.raises(ValueError, match="299 rows.*300"):
        learn(data, make(data.iloc[1:]))
    changed = data.copy()
    changed.loc[17, "d"] = 1 - changed.loc[17, "d"]
    with pytest.raises(ValueError, match="other data.*'d'"):
        learn(data, make(changed))


def test_instance_of_other_floats_is_refused():
    data = gaussian_frame(0)
    with pytest.raises(ValueError, match="other data.*'a'"):
        learn(data, pgmpy_scores.BICGauss(gaussian_frame(1)))
    assert learn(data, pgmpy_scores.BICGauss(data)).converged_


def test_instance_fits_the_same_data_in_another_dress():
    data = dependent_frame(0)
    for dress in (data.astype("category"), data.astype("int8"), encode(data), data[["e", "d", "c", "b", "a"]]):
        by_name, by_instance = learn(dress, "bic"), learn(dress, BIC(data))
        assert by_instance.edges_.tolist() == by_name.edges_.tolist()
        assert by_instance.score_ == by_name.score_


@pytest.mark.parametrize("scoring_method", ["bic", "bds", BIC, pgmpy_scores.BIC], ids=str)
def test_any_discrete_score_on_a_coded_table(scoring_method):
    data = dependent_frame(0)
    score = scoring_method if isinstance(scoring_method, str) else scoring_method(data)
    of_table, of_frame = learn(encode(data), score), learn(data, score)
    assert of_table.edges_.tolist() == of_frame.edges_.tolist()
    assert of_table.score_ == of_frame.score_

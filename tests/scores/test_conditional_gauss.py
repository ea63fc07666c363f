"""The conditional Gaussian scores of pgmpy, compiled: their formula, and where pgmpy follows it."""

import itertools

import numpy as np
import pytest
from pgmpy import structure_score as pgmpy
from sklearn.datasets import load_breast_cancer

from helpers.learning_tables import dependent_frame, gaussian_frame
from helpers.mixed_tables import iris, keep_few, parents_of, six_columns
from oracles.conditional_gaussian import cg_log_likelihood, cg_score
from pgmx.data import encode
from pgmx.estimators import ChowLiuForest, HillClimbSearch
from pgmx.scores import AICCondGauss, BICCondGauss, LogLikelihoodCondGauss, LogLikelihoodCondLinearGauss

OURS = {"ll-cg": LogLikelihoodCondGauss, "aic-cg": AICCondGauss, "bic-cg": BICCondGauss}
THEIRS = {"ll-cg": pgmpy.LogLikelihoodCondGauss, "aic-cg": pgmpy.AICCondGauss, "bic-cg": pgmpy.BICCondGauss}
QUIET = {"show_progress": False, "return_type": "dag"}


def families(frame, most):
    for child in frame:
        for size in range(most + 1):
            for parents in itertools.combinations([name for name in frame if name != child], size):
                yield child, parents


@pytest.mark.parametrize("name", OURS)
def test_every_family_follows_the_formula(name):
    frame = six_columns()
    score = OURS[name](frame)
    for child, parents in families(frame, 2 if name == "ll-cg" else 1):
        expected = cg_score(frame, child, parents, name)
        assert score.local_score(child, parents) == pytest.approx(expected, rel=1e-12), (child, parents)


@pytest.mark.parametrize("name", [*OURS])
def test_pgmpy_agrees_on_columns_of_moderate_scale(name):
    frame = six_columns()
    ours, theirs = OURS[name](frame), THEIRS[name](frame)
    several = [("Z", ("S", "T", "X", "Y")), ("R", ("S", "X")), ("T", ("S", "X", "Z")), ("S", ("X", "Y"))]
    for child, parents in [("X", ()), ("T", ()), ("T", ("S",)), ("X", ("Y",)), ("Y", ("S",)), ("R", ("X",)), *several]:
        expected = theirs.local_score(child, parents)
        assert ours.local_score(child, parents) == pytest.approx(expected, rel=2e-14), (child, parents)


@pytest.mark.parametrize(
    ("child", "parents", "expected"),
    [
        ("R", ("X",), 27.700287010790),
        ("R", ("S", "X"), 40.050998934286),
        ("S", ("X", "Y"), -271.221562016807),
        ("T", ("S", "Z"), -403.619141505559),
        ("Y", ("S", "X"), -809.428233436630),
        ("Z", ("S", "T", "X", "Y"), -943.790691861744),
    ],
)
def test_pinned_log_likelihoods(child, parents, expected):
    """Continuous parents of a discrete variable are rewarded above 0, the log-likelihood of a certainty."""
    assert LogLikelihoodCondGauss(six_columns()).local_score(child, parents) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("scale", "parents", "theirs"),
    [(1e3, ("S", "T", "X", "Y"), -972.117750358), (1e5, ("S", "T", "X", "Y"), -6860.686933128), (1e-4, ("R",), None)],
)
def test_pgmpy_departs_from_its_formula_in_other_units(scale, parents, theirs):
    """Densities of parents under 1e-8 are floored, and 1e-6 is added to covariances with an eigenvalue near 0."""
    frame = six_columns()
    child = "Z" if len(parents) > 1 else "X"
    scaled = frame.assign(**{name: frame[name] * scale for name in "XYZ"})
    shift = len(frame) * np.log(scale)
    formula = cg_log_likelihood(frame, child, parents)
    ours = LogLikelihoodCondGauss(scaled).local_score(child, parents) + shift
    assert ours == pytest.approx(formula, abs=1e-8)
    departed = pgmpy.LogLikelihoodCondGauss(scaled).local_score(child, parents) + shift
    assert departed == pytest.approx(-2582.478665735 if theirs is None else theirs, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("n_parents", "least"), [(1, 10), (4, 30)])
def test_pgmpy_departs_from_its_formula_on_real_tables(n_parents, least, rng):
    """Breast cancer with its target: columns of small scale, and parents whose densities are under 1e-8."""
    frame = load_breast_cancer(as_frame=True).frame.astype({"target": "category"})
    ours, theirs, departures = LogLikelihoodCondGauss(frame), pgmpy.LogLikelihoodCondGauss(frame), 0
    for _ in range(60):
        child, *parents = (frame.columns[v] for v in rng.permutation(31)[: n_parents + 1])
        formula = cg_log_likelihood(frame, child, parents)
        assert ours.local_score(child, parents) == pytest.approx(formula, rel=1e-8, abs=1e-6)
        with np.errstate(divide="ignore"):
            departures += abs(theirs.local_score(child, tuple(parents)) - formula) > 1e-6
    assert departures >= least


@pytest.mark.parametrize("k", [0, 1, 3, 4, 6])
def test_configurations_of_few_rows(k):
    frame = keep_few(six_columns(), k)
    score = BICCondGauss(frame)
    for child, parents in [("Z", ("S", "T", "X", "Y")), ("T", ("S", "X", "Y", "Z")), ("S", ("T", "X"))]:
        assert score.local_score(child, parents) == pytest.approx(cg_score(frame, child, parents, "bic-cg"), rel=1e-11)


def test_states_that_do_not_occur_cost_nothing():
    frame = six_columns()
    wider = frame.assign(T=frame["T"].cat.add_categories("never"))
    for child, parents in [("Z", ("T", "X")), ("T", ("S",)), ("T", ("X",))]:
        assert BICCondGauss(wider).local_score(child, parents) == BICCondGauss(frame).local_score(child, parents)


@pytest.mark.parametrize("name", OURS)
def test_weights_are_rows(name, rng):
    frame = six_columns()
    weights = rng.uniform(0.2, 2.0, len(frame))
    learner = HillClimbSearch(scoring_method=name, max_indegree=2, **QUIET).fit(frame, sample_weight=weights)
    expected = sum(
        cg_score(frame, child, parents, name, weights=weights)
        for child, parents in parents_of(frame, learner.dag_.edges()).items()
    )
    assert learner.score_ == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("make", [six_columns, iris])
def test_a_climb_is_pgmpys_local_optimum(make):
    frame = make()
    learner = HillClimbSearch(scoring_method="bic-cg", **QUIET).fit(frame)
    expected = sum(
        cg_score(frame, child, parents, "bic-cg") for child, parents in parents_of(frame, learner.dag_.edges()).items()
    )
    assert learner.score_ == pytest.approx(expected, abs=1e-7)
    assert learner.score_ >= (-4536.23 if make is six_columns else -253.58)  # where pgmpy's own climb ends


def test_columns_of_one_kind():
    """Continuous and discrete columns alone, as a frame and coded."""
    floats = HillClimbSearch(scoring_method="bic-cg", **QUIET).fit(gaussian_frame(0))
    assert floats.model_.check_model()
    assert floats.score_ == pytest.approx(pgmpy.BICCondGauss(gaussian_frame(0)).score(floats.dag_), rel=1e-9)
    frame = dependent_frame(0)
    states = [HillClimbSearch(scoring_method="bic-cg", **QUIET).fit(data) for data in (frame, encode(frame))]
    bic = HillClimbSearch(scoring_method="bic", **QUIET).fit(frame)
    for learner in states:
        assert learner.score_ == pytest.approx(bic.score_, rel=1e-12)
        assert learner.model_.check_model()


def test_forests_weigh_arcs_between_both_kinds():
    frame = six_columns()
    learner = ChowLiuForest().fit(frame)
    score = LogLikelihoodCondLinearGauss(frame)
    assert learner.dag_.number_of_edges() == 5
    for (tail, head), weight in zip(learner.edges_.tolist(), learner.edge_weights_, strict=True):
        u, v = frame.columns[tail], frame.columns[head]
        assert weight == pytest.approx(score.local_score(v, (u,)) - score.local_score(v, ()), abs=1e-4)

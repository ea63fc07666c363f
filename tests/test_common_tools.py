"""What every public learner is to scikit-learn's tools, and how it takes its options."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer

from helpers.learners import every_class, every_learner
from helpers.learning_tables import dependent_frame, gaussian_frame
from pgmx.data import Discretizer, FewValuesWarning

# ---- scikit-learn's tools ----


@pytest.mark.parametrize("by", ["score method", "callable"])
@every_learner
@pytest.mark.slow
def test_grid_search(make, by):
    if by == "score method" and not hasattr(make.cls, "score"):
        pytest.skip("it has no score: its graph is of no one distribution")
    option, values = make.grid
    sign = 1 if "score" in make.figure else -1  # objectives and numbers of tests are the better the smaller

    def in_sample_score(fitted, X, y=None):
        return sign * float(np.sum(getattr(fitted, make.figure)))

    data = dependent_frame(0)[list("abcd")] if make.is_markov else gaussian_frame(0)
    scoring = in_sample_score if by == "callable" else None
    search = GridSearchCV(make(), {option: values}, cv=2, scoring=scoring, error_score="raise")
    search.fit(data)
    assert set(search.best_params_) == {option}
    if option == "max_indegree" and by == "callable":
        assert search.best_params_[option] > 0
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert list(search.best_estimator_.graph_.nodes()) == list("abcd")


@every_learner
def test_pipeline_after_a_discretiser(make):
    bins = KBinsDiscretizer(n_bins=3, encode="ordinal", quantile_method="averaged_inverted_cdf")
    pipeline = make_pipeline(bins.set_output(transform="pandas"), make())
    if make.is_markov:
        with pytest.raises(ValueError, match=r"float column.*'a', 'b', 'c', 'd'.*whole numbers.*discrete_columns"):
            pipeline.fit(gaussian_frame(0))
        return
    with pytest.warns(FewValuesWarning, match="'a', 'b', 'c', 'd' have at most"):
        fitted = pipeline.fit(gaussian_frame(0))
    assert list(fitted[-1].graph_.nodes()) == list("abcd")
    assert fitted[-1].graph_.number_of_edges() > 0


@every_learner
def test_pipeline_after_ordered_categories(make):
    if make.is_gaussian:
        pytest.skip("it learns from numbers, which have no states")
    fitted = make_pipeline(Discretizer(n_bins=3), make()).fit(gaussian_frame(0))
    assert list(fitted[-1].graph_.nodes()) == list("abcd")
    if not make.has_model:
        return
    assert {len(states) for states in fitted[-1].model_.states.values()} == {3}


@every_learner
def test_pipeline_to_states(make):
    """scikit-learn's bins are floats; one cast makes states of them."""
    if make.is_gaussian:
        pytest.skip("it learns from numbers, which have no states")
    bins = KBinsDiscretizer(n_bins=3, encode="ordinal", quantile_method="averaged_inverted_cdf")
    fitted = make_pipeline(bins, FunctionTransformer(np.ndarray.astype, kw_args={"dtype": "int8"}), make())
    learner = fitted.fit(gaussian_frame(0))[-1]
    assert list(learner.graph_.nodes()) == [f"x{v}" for v in range(4)]
    if not make.has_model:
        return
    states = learner.model_.states
    assert states == {f"x{v}": [0, 1, 2] for v in range(4)}


# ---- options ----


@every_class
def test_unknown_options_are_refused_with_the_list(make):
    with pytest.raises(TypeError, match="no_such_option"):
        make(no_such_option=1)
    with pytest.raises(ValueError, match=rf"no_such_option.*Valid parameters are.*{make.grid[0]}"):
        make().set_params(no_such_option=1)
    if make.is_gaussian:
        return
    names = "'bethe'" if make.is_markov else "'bic'"
    words = rf"{make.score_option}.*{names}.*'no such score'|'no such score'.*(bic.*k2|chi_square)"
    with pytest.raises(ValueError, match=words):
        make(**{make.score_option: "no such score"}).fit(dependent_frame(0))


@every_class
def test_every_option_is_checked_when_fitted_not_before(make):
    """Each declared option refuses a value of no type at all, and names itself; the constructor takes anything."""
    unchecked = []
    for name in make().get_params():
        odd = make(**{name: object()})
        try:
            odd.fit(dependent_frame(0))
        except (TypeError, ValueError) as error:
            if name not in str(error):
                unchecked.append(name)
        else:
            unchecked.append(name)
    assert not unchecked


@every_class
def test_declared_constraints_are_those_of_the_constructor(make):
    assert set(make.cls._parameter_constraints) == set(make().get_params())

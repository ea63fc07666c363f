"""What the wrapping Gaussian learners are to scikit-learn, and what all Gaussian learners are to its tools."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from helpers.gaussian_tables import correlation_of, edge_set, every_leaf, random_rows
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso, Nonparanormal, SelectedGraph

ROWS = random_rows(6, 120, seed=9, units=True)
WRAPPERS = {
    "selected": lambda: SelectedGraph(GraphicalLasso(), n_lams=5),
    "ranks": lambda: Nonparanormal(GraphicalLasso()),
    "ranks selected": lambda: Nonparanormal(SelectedGraph(CLIME(), n_lams=5)),
    "selected ranks": lambda: SelectedGraph(Nonparanormal(NeighborhoodLasso()), n_lams=5),
}
every_wrapper = pytest.mark.parametrize("make", WRAPPERS.values(), ids=WRAPPERS)


# ---- options and copies ----


@every_wrapper
def test_options_within_options(make):
    learner = make()
    names = learner.get_params()
    assert "data" not in names
    leaf = [name for name in names if name.endswith("lam_ratio")]
    assert len(leaf) == 1
    twin = clone(learner.set_params(**{leaf[0]: 0.77}))
    assert twin.get_params()[leaf[0]] == 0.77
    assert repr(twin) == repr(learner)
    with pytest.raises(ValueError, match="no_such_option"):
        learner.set_params(no_such_option=1)
    with pytest.raises(TypeError):
        type(learner)(None, "ebic")


@every_wrapper
def test_the_estimator_within_is_not_fitted(make):
    learner = make()
    before = copy.deepcopy(vars(learner.estimator))
    learner.fit(ROWS)
    assert repr(vars(learner.estimator)) == repr(before)
    assert learner.estimator_ is not learner.estimator
    assert edge_set(learner.estimator_) == edge_set(learner)


@every_wrapper
def test_pickle_and_second_fit(make):
    fitted = make().fit(ROWS)
    twin = pickle.loads(pickle.dumps(fitted))
    for name in ("precision_", "covariance_", "edges_", "correlation_"):
        np.testing.assert_array_equal(getattr(twin, name), getattr(fitted, name))
    for name in ("objective_", "lam_", "lam_max_", "dual_gap_", "n_iter_", "variables_"):
        assert getattr(twin, name) == getattr(fitted, name)
    pd.testing.assert_frame_equal(twin.model_.predict(ROWS[["x0"]]), fitted.model_.predict(ROWS[["x0"]]))
    other = random_rows(4, 50, seed=1)
    assert edge_set(twin.fit(other)) == edge_set(make().fit(other))
    assert twin.n_features_in_ == 4


@every_wrapper
def test_pgmpys_face(make):
    learner = make()
    with pytest.raises(ValueError, match="made without data"):
        learner.estimate()
    leaf = learner
    while hasattr(leaf, "estimator"):
        leaf = leaf.estimator
    leaf.data = ROWS
    assert learner.estimate() is learner.graph_
    assert edge_set(learner) == edge_set(make().fit(ROWS))


@every_leaf
def test_pgmpys_face_of_the_leaves(make):
    learner = make(ROWS, lam_ratio=0.5)
    assert learner.estimate() is learner.graph_
    assert learner.variables == list(ROWS)
    with pytest.raises(TypeError, match="continuous variables, which have no states to count"):
        learner.state_counts("x0")
    matrix = learner.adjacency_matrix_
    assert list(matrix.columns) == list(ROWS)
    assert matrix.to_numpy().sum() == 2 * len(learner.edges_)


# ---- scikit-learn's tools ----


@every_leaf
def test_grid_search_by_likelihood(make):
    search = GridSearchCV(make(), {"lam_ratio": [0.05, 0.3, 1.0]}, cv=3, error_score="raise").fit(ROWS)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert scores[0] > scores[2]  # there is something to learn
    folds = cross_val_score(make(lam_ratio=0.3), ROWS, cv=3)
    assert folds.mean() == pytest.approx(scores[1])
    # the score is the mean log-density of rows
    fitted = search.best_estimator_
    theta, mean = fitted.model_.precision.to_numpy(), ROWS.mean().to_numpy()
    squares = np.einsum("ij,jk,ik->i", ROWS - mean, theta, ROWS - mean)
    expected = 0.5 * (np.linalg.slogdet(theta)[1] - 6 * np.log(2 * np.pi) - squares).mean()
    assert fitted.score(ROWS) == pytest.approx(expected, rel=1e-9)


def test_grid_search_over_wrapped_options():
    grid = {"correlation": ["kendall", "shrinkage"], "estimator__lam_ratio": [0.2, 0.6]}
    search = GridSearchCV(Nonparanormal(GraphicalLasso()), grid, cv=2, error_score="raise").fit(ROWS)
    assert set(search.best_params_) == set(grid)
    by_gamma = GridSearchCV(SelectedGraph(n_lams=5), {"gamma": [0.0, 1.0]}, cv=2, error_score="raise").fit(ROWS)
    assert by_gamma.best_params_["gamma"] in (0.0, 1.0)


@every_leaf
def test_pipelines(make):
    scaled = make_pipeline(StandardScaler().set_output(transform="pandas"), make()).fit(ROWS)
    plain = make().fit(ROWS)
    assert scaled[-1].variables_ == list(ROWS)
    np.testing.assert_array_equal(scaled[-1].edges_, plain.edges_)
    np.testing.assert_allclose(scaled[-1].correlation_, correlation_of(ROWS), rtol=0, atol=1e-12)
    difference = scaled.score(ROWS) - plain.score(ROWS)  # the densities differ by the units alone
    assert difference == pytest.approx(np.log(ROWS.std(ddof=0)).sum(), rel=1e-6)
    logs = make_pipeline(FunctionTransformer(np.arcsinh), make()).fit(ROWS)
    assert len(logs[-1].edges_)


@every_leaf
def test_scores_need_the_same_columns(make):
    learner = make().fit(ROWS)
    assert learner.score(ROWS[list(ROWS)[::-1]]) == pytest.approx(learner.score(ROWS), rel=1e-12)
    with pytest.raises(ValueError, match="X has 5 features, but .* is expecting 6 features"):
        learner.score(ROWS.iloc[:, :5])
    with pytest.raises(Exception, match="not fitted"):
        make().score(ROWS)
    for name in ("graph_", "model_", "precision_", "covariance_", "edges_"):
        with pytest.raises(AttributeError, match=f"{make.__name__} is not fitted yet"):
            getattr(make(), name)

"""Paths of penalties of the Gaussian learners."""

import pickle

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import issparse

from helpers.gaussian_tables import (
    check_positive_definite,
    correlation_of,
    deviations,
    every_leaf,
    random_rows,
    standardised,
)
from oracles import graphical_lasso as oracle
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso

ROWS = random_rows(10, 150, seed=3, units=True)


@every_leaf
def test_a_path_begins_without_edges_and_ends_where_asked(make):
    path = make().path(ROWS, n_lams=8, lam_min_ratio=0.2)
    largest = make().fit(ROWS).lam_max_
    assert len(path) == 8
    assert path.lam_max == largest
    np.testing.assert_allclose(path.lams, np.geomspace(largest, 0.2 * largest, 8), rtol=1e-12)
    assert path.n_edges[0] == 0
    assert path.n_edges[-1] > path.n_edges[2] > 0
    assert path.selected == -1
    assert path.criterion is None
    assert not path.at_end
    assert repr(path) == f"GaussianPath(8 penalties, 0 to {path.n_edges.max()} edges, selected -1)"


@every_leaf
def test_each_estimate_is_that_of_its_penalty_alone(make):
    options = {"tol": 1e-10} if make is not CLIME else {}
    path = make(**options).path(ROWS, n_lams=6)
    for k, lam in enumerate(path.lams):
        alone = make(lam=lam, **options).fit(ROWS)
        found = path.estimates[k]
        assert found.objective == pytest.approx(alone.objective_, rel=1e-8)
        assert found.converged
        np.testing.assert_array_equal(found.edges, alone.edges_)
        assert set(map(frozenset, path.graph(k).edges())) == set(map(frozenset, alone.graph_.edges()))
        # gaps of 1e-10 leave matrices right to about 1e-5
        np.testing.assert_allclose(
            standardised(path.model(k).precision.to_numpy(), deviations(ROWS)),
            standardised(alone.model_.precision.to_numpy(), deviations(ROWS)),
            rtol=0,
            atol=1e-4,
        )
        check_positive_definite(path.model(k))


@pytest.mark.parametrize("make", [GraphicalLasso, CLIME, NeighborhoodLasso])
@pytest.mark.parametrize("n_rows", [12, 150])
def test_what_must_be_monotone_is(make, n_rows):
    rows = ROWS[:n_rows]
    path = make().path(rows, n_lams=12, lam_min_ratio=0.15)
    values = np.array([found.objective for found in path.estimates])
    slack = np.array([found.dual_gap for found in path.estimates]) + 1e-10
    if make is CLIME:  # sum |q| grows as the constraint tightens
        assert (np.diff(values) >= -slack[:-1]).all()
        assert values[-1] > values[0]
    else:  # a smaller penalty leaves a smaller minimum
        assert (np.diff(values) <= slack[1:]).all()
    if make is GraphicalLasso:  # the likelihood itself grows, the norm of the precision as well
        R = correlation_of(rows)
        norms = [np.abs(found.precision.toarray()).sum() for found in path.estimates]
        losses = [oracle.objective(found.precision.toarray(), R, 0.0) for found in path.estimates]
        assert (np.diff(losses) <= 1e-4).all()
        assert norms[-1] > norms[0]


@every_leaf
def test_penalties_of_ones_own(make):
    given = [0.1, 0.4, 0.2]
    path = make().path(ROWS, lams=given)
    assert path.lams.tolist() == sorted(given, reverse=True)
    assert given == [0.1, 0.4, 0.2]
    np.testing.assert_array_equal(path.estimates[1].edges, make(lam=0.2).fit(ROWS).edges_)
    assert len(make().path(ROWS, lams=[0.3])) == 1
    for wrong in ([], [-0.1], [np.nan], [np.inf]):
        with pytest.raises(ValueError, match="lams must be one or more finite numbers of at least 0"):
            make().path(ROWS, lams=wrong)


@every_leaf
def test_a_path_is_sparse_and_leaves_the_learner_alone(make):
    learner = make()
    before = dict(vars(learner))
    path = learner.path(ROWS, n_lams=4)
    assert vars(learner) == before
    for k, found in enumerate(path.estimates):
        matrix = path.precision(k)
        assert matrix is found.precision
        if make is NeighborhoodLasso:
            assert matrix is None
        else:
            assert issparse(matrix)
            assert matrix.shape == (10, 10)
            assert matrix.nnz <= 10 + 2 * len(found.edges) + 2
        assert isinstance(path.graph(k), nx.Graph)
        assert list(path.graph(k).nodes()) == list(ROWS)
    twin = pickle.loads(pickle.dumps(path))
    assert twin.lams.tolist() == path.lams.tolist()
    assert twin.n_edges.tolist() == path.n_edges.tolist()
    assert twin.sample.table is None


def test_ends_of_a_run_end_a_path():
    told = []

    def callback(progress):
        told.append(progress)
        return len(told) == 4

    path = GraphicalLasso(callback=callback).path(ROWS, n_lams=20)
    assert 1 <= len(path) < 20
    assert [one.n_iter for one in told] == list(range(1, len(told) + 1))
    assert len(GraphicalLasso(max_time=0).path(ROWS, n_lams=20)) >= 1
    for make in (CLIME, NeighborhoodLasso):
        for path in (make(max_time=0).path(ROWS, n_lams=5), make(callback=lambda progress: True).path(ROWS, n_lams=5)):
            assert 1 <= len(path) <= 5
            check_positive_definite(path.model(len(path) - 1))


def test_rows_with_weights_and_covariances_have_paths():
    S = np.cov(ROWS, rowvar=False, bias=True)
    of_rows = GraphicalLasso().path(ROWS, sample_weight=np.full(len(ROWS), 2.0), n_lams=4)
    of_matrix = GraphicalLasso(covariance="precomputed").path(S, n_lams=4)
    np.testing.assert_allclose(of_rows.lams, of_matrix.lams, rtol=1e-10)
    assert of_rows.n_edges.tolist() == of_matrix.n_edges.tolist()
    assert of_rows.sample.n_rows == 2 * len(ROWS)

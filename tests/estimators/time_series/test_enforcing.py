"""Linear dynamical systems of a known structure against least squares over each series' own predictors."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from helpers.series_learners import list_coefficients, simulate_system
from pgmx.estimators import DenseLDS, SparsityEnforcingLDS
from pgmx.models import TimeSeriesGraph

ROWS, _ = simulate_system(5, 150)
MASK = np.random.default_rng(1).random((5, 5)) < 0.5
MASK[4] = False


def solve_by_series(rows, masks, intercept=False):
    """Return coefficients (lags, n, n) by numpy's least squares, one series at a time."""
    lags, n = masks.shape[:2]
    coef = np.zeros(masks.shape)
    predictors = np.stack([rows[lags - lag : len(rows) - lag] for lag in range(1, lags + 1)], axis=1)
    for target in range(n):
        columns = predictors[:, masks[:, target]]
        if intercept:
            columns = np.column_stack([columns, np.ones(len(columns))])
        if columns.shape[1]:
            solution = np.linalg.lstsq(columns, rows[lags:, target], rcond=None)[0]
            coef[:, target][masks[:, target]] = solution[: masks[:, target].sum()]
    return coef


def graph_of_mask(mask, graph):
    graph.add_edges_from((f"x{source}", f"x{target}") for target, source in np.argwhere(mask))
    return graph


@pytest.mark.parametrize("kind", ["mask", "numbers", "sparse", "graph"])
@pytest.mark.parametrize("lags", [1, 2])
def test_structures_of_every_kind(kind, lags):
    structure = {
        "mask": MASK,
        "numbers": 3.0 * MASK,
        "sparse": csr_array(MASK),
        "graph": graph_of_mask(MASK, nx.DiGraph()),
    }[kind]
    learner = SparsityEnforcingLDS(structure=structure, lags=lags).fit(ROWS)
    coef = list_coefficients(learner)
    expected = solve_by_series(ROWS, np.stack([MASK] * lags))
    np.testing.assert_allclose(coef if lags == 1 else coef[1:], expected, atol=1e-12)
    assert learner.graph_.number_of_edges() == lags * MASK.sum()


def test_structures_by_lag():
    masks = np.stack([np.zeros_like(MASK), MASK, MASK.T])
    expected = solve_by_series(ROWS + 3, masks[1:], intercept=True)
    by_mask = SparsityEnforcingLDS(structure=masks, lags=2, fit_intercept=True).fit(ROWS + 3)
    np.testing.assert_allclose(list_coefficients(by_mask)[1:], expected, atol=1e-11)
    graph = TimeSeriesGraph.from_coefficients([f"x{j}" for j in range(5)], masks.astype(float))
    for structure in (tuple(map(csr_array, masks)), graph, by_mask.graph_):
        other = SparsityEnforcingLDS(structure=structure, lags=2, fit_intercept=True).fit(ROWS + 3)
        np.testing.assert_allclose(list_coefficients(other), list_coefficients(by_mask), atol=1e-12)


def test_knowledge_changes_the_structure():
    target, source = np.argwhere(MASK)[0]
    learner = SparsityEnforcingLDS(
        structure=MASK,
        forbidden_edges=[((f"x{source}", 1), (f"x{target}", 0))],
        required_edges=[(("x0", 1), ("x4", 0))],
    ).fit(ROWS)
    mask = MASK.copy()
    mask[target, source], mask[4, 0] = False, True
    np.testing.assert_allclose(list_coefficients(learner), solve_by_series(ROWS, mask[None]), atol=1e-12)


def test_the_full_structure_is_dense():
    dense = DenseLDS().fit(ROWS)
    full = SparsityEnforcingLDS(structure=np.ones((5, 5))).fit(ROWS)
    np.testing.assert_allclose(full.coef_.toarray(), dense.coef_, atol=1e-13)
    np.testing.assert_allclose(full.noise_covariance_, dense.noise_covariance_, atol=1e-13)


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (None, "structure is None"),
        (np.ones((4, 4)), r"must have the shape \(5, 5\)"),
        (np.ones((3, 5, 5)), r"got 3 of the shape"),
        (np.ones((2, 5, 5)), "edges of lag 0"),
        ("x", "structure must be numbers"),
        (nx.Graph([("x0", "x1")]), "undirected"),
        (nx.DiGraph([("x0", "y")]), "has 'y', which is not in the data"),
        (TimeSeriesGraph([(("x0", 2), ("x1", 0))]), "lags=1 allows only the lags 1 to 1"),
    ],
)
def test_faults_of_a_structure(structure, message):
    with pytest.raises(ValueError, match=message):
        SparsityEnforcingLDS(structure=structure).fit(ROWS)

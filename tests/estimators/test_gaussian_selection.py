"""SelectedGraph: each criterion by hand, with numpy; the path it keeps, and how it makes it longer."""

import warnings

import numpy as np
import pytest
from scipy.linalg import block_diag

from helpers.gaussian_tables import (
    check_result,
    correlation_of,
    edge_set,
    every_leaf,
    random_rows,
)
from oracles import graphical_lasso as oracle
from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso, Nonparanormal, SelectedGraph
from pgmx.estimators.base import random_draws

pytestmark = pytest.mark.slow

ROWS = random_rows(8, 120, seed=5, units=True)
every_selection = pytest.mark.parametrize("selection", ["ebic", "cv", "stars"])


def loss(theta, S):
    """Return the negative log-likelihood a row, less p log(2 pi) / 2."""
    return 0.5 * (np.trace(theta @ S) - np.linalg.slogdet(theta)[1])


def of_numpy(random_state):
    """Return the generator that folds and subsamples are drawn by."""
    return np.random.default_rng(random_draws(1, random_state)[1])


# ---- EBIC ----


@every_leaf
@pytest.mark.parametrize(
    "gamma", [pytest.param(0.0, marks=pytest.mark.slow), 0.5, pytest.param(1.0, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_ebic_by_hand(make, gamma):
    """The likelihood is the largest under each graph."""
    rows = random_rows(6, 120, seed=2)
    learner = SelectedGraph(make(), gamma=gamma, n_lams=8).fit(rows)
    path, R, n, p = learner.path_, correlation_of(rows), 120, 6
    expected = []
    for k in range(len(path)):
        edges = [tuple(edge) for edge in path.estimates[k].edges.tolist()]
        assert set(map(frozenset, path.graph(k).edges())) == {frozenset((f"x{i}", f"x{j}")) for i, j in edges}
        theta = oracle.maximum_likelihood(R, edges, tol=1e-10, max_iter=500) if edges else np.eye(p)
        expected.append(2 * n * loss(theta, R) + len(edges) * (np.log(n) + 4 * gamma * np.log(p)))
    known = ~np.isnan(path.criterion)  # graphs that cannot win, were they to fit as the complete one, are left out
    np.testing.assert_allclose(path.criterion[known], np.array(expected)[known], rtol=1e-6)  # two fits, each to 1e-8
    assert known[: path.selected + 1].all()
    assert (np.array(expected)[~known] > min(expected)).all()
    assert expected[path.selected] == pytest.approx(min(expected), rel=1e-6)
    assert learner.lam_ == path.lams[path.selected]
    assert path.selected > 0


def test_ebic_of_a_covariance_needs_the_number_of_rows():
    S = np.cov(ROWS, rowvar=False, bias=True)
    leaf = GraphicalLasso(covariance="precomputed")
    with pytest.raises(ValueError, match="selection='ebic' needs the number of rows .* give n_samples"):
        SelectedGraph(leaf).fit(S)
    learner = SelectedGraph(leaf.set_params(n_samples=len(ROWS))).fit(S)
    expected = SelectedGraph().fit(ROWS)
    np.testing.assert_allclose(learner.path_.criterion, expected.path_.criterion, rtol=1e-6)
    assert learner.path_.selected == expected.path_.selected
    for selection in ("cv", "stars"):
        with pytest.raises(ValueError, match=r"need rows .* a covariance .*: use 'ebic'"):
            SelectedGraph(leaf, selection=selection).fit(S)


# ---- cross-validation ----


@pytest.mark.parametrize("random_state", [0, 3])
def test_cross_validation_by_hand(random_state):
    options = {"selection": "cv", "n_folds": 3, "n_lams": 7, "random_state": random_state}
    learner = SelectedGraph(GraphicalLasso(tol=1e-10), **options).fit(ROWS)
    path, X = learner.path_, ROWS.to_numpy()
    folds = np.array_split(of_numpy(random_state).permutation(len(X)), 3)
    total = np.zeros(len(path))
    for fold in folds:
        train, test = np.delete(X, fold, axis=0), X[fold]
        for k, lam in enumerate(path.lams):
            theta = GraphicalLasso(lam=lam, tol=1e-10).fit(train).precision_
            centred = test - train.mean(axis=0)
            in_units = loss(theta, centred.T @ centred / len(test))
            # the criterion is on the scale of the training rows
            total[k] += len(test) * (in_units - np.log(train.std(axis=0)).sum())
    known = np.count_nonzero(~np.isnan(path.criterion))  # it ends once the loss has risen over four penalties
    assert known == len(path) or known - 1 - np.argmin(total) >= 4
    np.testing.assert_allclose(path.criterion[:known], total[:known] / len(X), rtol=1e-6)
    assert path.selected == np.argmin(total)


def test_cross_validation_takes_maximum_likelihood_for_graphs_without_a_precision():
    rows = random_rows(5, 60, seed=1)
    learner = SelectedGraph(NeighborhoodLasso(), selection="cv", n_folds=2, n_lams=5).fit(rows)
    X, path = rows.to_numpy(), learner.path_
    folds = np.array_split(of_numpy(0).permutation(60), 2)
    for k, lam in enumerate(path.lams):
        held_out = [
            60 * np.log(2 * np.pi) * 5 / 2 / 60
            + NeighborhoodLasso(lam=lam).fit(np.delete(X, fold, axis=0)).score(X[fold])
            + np.log(np.delete(X, fold, axis=0).std(axis=0)).sum()
            for fold in folds
        ]
        assert path.criterion[k] == pytest.approx(-np.mean(held_out), rel=1e-6)


def test_too_few_rows_for_folds():
    with pytest.raises(ValueError, match="n_folds=5 is too large for 8 rows"):
        SelectedGraph(selection="cv").fit(ROWS[:8])


# ---- StARS ----


@every_leaf
def test_stability_by_hand(make):
    options = {"selection": "stars", "n_subsamples": 6, "n_lams": 6, "stability": 0.1, "random_state": 2}
    learner = SelectedGraph(make(), **options).fit(ROWS)
    path, X, p = learner.path_, ROWS.to_numpy(), ROWS.shape[1]
    rng = of_numpy(2)
    size = min(int(10 * np.sqrt(len(X))), int(0.8 * len(X)))
    subsets = [np.sort(rng.choice(len(X), size, replace=False)) for _ in range(6)]
    expected, worst = [], 0.0
    for lam in path.lams:
        counts = np.zeros((p, p))
        for subset in subsets:
            edges = make(lam=lam).fit(X[subset]).edges_
            counts[tuple(edges.T)] += 1
        shares = counts[np.triu_indices(p, 1)] / len(subsets)
        worst = max(worst, (2 * shares * (1 - shares)).mean())
        expected.append(worst)
    known = ~np.isnan(path.criterion)
    np.testing.assert_allclose(path.criterion[known], np.array(expected)[known], rtol=1e-12)
    stable = np.array(expected) <= 0.1
    assert path.selected == max(np.flatnonzero(stable))
    assert known[stable].all()  # beyond the stable ones graphs need not be learned
    assert (np.diff(known.astype(int)) <= 0).all()


def test_stability_needs_three_rows():
    with pytest.raises(ValueError, match="selection='stars' needs at least 3 rows, got 2"):
        SelectedGraph(selection="stars").fit(ROWS[:2])


# ---- the path ----


@every_leaf
@every_selection
def test_the_chosen_one_is_the_result(make, selection):
    learner = SelectedGraph(make(), selection=selection, n_folds=3, n_subsamples=5, n_lams=10).fit(ROWS)
    check_result(learner)
    path = learner.path_
    chosen = path.estimates[path.selected]
    assert isinstance(learner.estimator_, make)
    for name, value in (("lam_", chosen.lam), ("objective_", chosen.objective), ("dual_gap_", chosen.dual_gap)):
        assert getattr(learner, name) == getattr(learner.estimator_, name) == value
    alone = make(lam=learner.lam_).fit(ROWS)
    assert edge_set(alone) == edge_set(learner) == edge_set(learner.estimator_)
    np.testing.assert_allclose(
        learner.precision_, alone.precision_, rtol=2e-3, atol=1e-4 * np.abs(alone.precision_).max()
    )
    np.testing.assert_array_equal(path.model(path.selected).precision, learner.model_.precision)
    assert learner.lam_max_ == alone.lam_max_ == path.lam_max
    assert learner.n_features_in_ == 8
    if make is CLIME:
        assert learner.estimator_.precision_raw_.shape == (8, 8)
    if make is NeighborhoodLasso:
        assert learner.estimator_.coefficients_.shape == (8, 8)


@every_selection
def test_lam_of_the_estimator_is_not_used(selection):
    options = {"selection": selection, "n_lams": 5, "n_folds": 2, "n_subsamples": 3}
    one = SelectedGraph(GraphicalLasso(lam=0.123), **options).fit(ROWS)
    other = SelectedGraph(GraphicalLasso(lam_ratio=0.9), **options).fit(ROWS)
    assert one.path_.lams.tolist() == other.path_.lams.tolist()
    assert one.estimator.lam == 0.123


def pairs(correlations):
    """Return the correlation matrix of pairs of variables, each pair independent of the others."""
    return block_diag(*([[1.0, rho], [rho, 1.0]] for rho in correlations))


def test_a_path_becomes_longer_where_its_end_is_chosen():
    """Twenty pairs, of which each step of the path brings one or two more."""
    S, leaf = pairs(0.9 * 0.9 ** np.arange(20)), GraphicalLasso(covariance="precomputed", n_samples=5000)
    short = SelectedGraph(leaf, n_lams=6, lam_min_ratio=0.5).fit(S)
    lams = short.path_.lams
    assert len(lams) in (19, 28)  # 6, 9, 13, 19, 28: by half each time
    np.testing.assert_allclose(lams[1:] / lams[:-1], 0.5**0.2, rtol=1e-9)
    assert not short.path_.at_end
    assert len(short.edges_) == 20
    assert len(short.path_.criterion) == len(lams)
    # the same as a long path at once
    long = SelectedGraph(leaf, n_lams=len(lams), lam_min_ratio=lams[-1] / lams[0]).fit(S)
    assert long.path_.selected == short.path_.selected
    np.testing.assert_allclose(short.path_.criterion, long.path_.criterion[: len(lams)], rtol=1e-6)


@every_leaf
def test_a_path_becomes_longer_where_its_end_has_the_chosen_graph(make):
    """The criterion is the same for all penalties of one graph, the end of the path among them."""
    S, leaf = pairs([0.9, 0.3]), make(covariance="precomputed", n_samples=500)
    assert len(SelectedGraph(leaf, n_lams=6, lam_min_ratio=0.5).fit(S).edges_) == 2


@pytest.mark.parametrize("selection", ["cv", "stars"])
def test_longer_paths_of_parts(selection):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((800, 8)) @ np.linalg.cholesky(pairs([0.8, 0.6, 0.5, 0.4])).T
    options = {"selection": selection, "n_folds": 3, "n_subsamples": 5}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the smallest of")  # that the end was chosen is not the question
        short = SelectedGraph(n_lams=6, lam_min_ratio=0.5, **options).fit(rows)
        lams = short.path_.lams
        assert len(lams) in (9, 13, 19, 28)
        long = SelectedGraph(n_lams=len(lams), lam_min_ratio=lams[-1] / lams[0], **options).fit(rows)
    one, other = short.path_.criterion, long.path_.criterion[: len(lams)]
    both = ~np.isnan(one) & ~np.isnan(other)  # beyond the stable graphs some are not learned
    assert both[: short.path_.selected + 1].all()
    np.testing.assert_allclose(one[both], other[both], rtol=1e-5, atol=1e-9)


def test_a_choice_at_the_very_end_is_told():
    S = pairs(0.9 * 0.9 ** np.arange(20))
    leaf = GraphicalLasso(covariance="precomputed", n_samples=5000)
    with pytest.warns(
        UserWarning, match=r"the smallest of \d+ penalties was chosen, .* smaller lam_min_ratio than 0.85"
    ):
        learner = SelectedGraph(leaf, n_lams=2, lam_min_ratio=0.85).fit(S)
    assert learner.path_.at_end
    assert len(learner.path_) == 9  # 2, 3, 4, 6, 9


# ---- always the same ----


@every_selection
@pytest.mark.parametrize("make", [GraphicalLasso, CLIME])
def test_any_number_of_workers(make, selection):
    options = {"selection": selection, "n_lams": 6, "n_folds": 4, "n_subsamples": 5}
    one, *others = (SelectedGraph(make(), n_jobs=n_jobs, **options).fit(ROWS).path_ for n_jobs in (1, 2, -1))
    for other in others:
        np.testing.assert_array_equal(other.criterion, one.criterion)
        for a, b in zip(one.estimates, other.estimates, strict=True):
            np.testing.assert_array_equal(a.edges, b.edges)


@pytest.mark.parametrize("selection", ["cv", "stars"])
def test_random_state(selection):
    def criterion(random_state):
        options = {"selection": selection, "n_lams": 5, "n_folds": 3, "n_subsamples": 4, "lam_min_ratio": 0.05}
        options["early_stopping"] = False
        return SelectedGraph(random_state=random_state, **options).fit(ROWS).path_.criterion[:4].tolist()

    assert criterion(0) == criterion(0)
    assert criterion(0) != criterion(1)
    assert criterion(np.random.RandomState(3)) == criterion(np.random.RandomState(3))
    assert criterion(np.random.default_rng(3)) == criterion(np.random.default_rng(3))
    state = np.random.RandomState(3)
    assert criterion(state) != criterion(state)


def test_weights_and_wide_data():
    doubled = SelectedGraph().fit(ROWS, sample_weight=np.full(len(ROWS), 2.0))
    assert doubled.path_.criterion[0] == pytest.approx(2 * SelectedGraph().fit(ROWS).path_.criterion[0], rel=1e-9)
    wide = random_rows(30, 20, seed=1)
    for selection in ("ebic", "cv", "stars"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the smallest of")
            check_result(SelectedGraph(CLIME(), selection=selection, n_lams=6, n_subsamples=4).fit(wide))


# ---- around and within Nonparanormal ----


@pytest.mark.parametrize("make", [GraphicalLasso, CLIME])
@pytest.mark.parametrize("correlation", ["kendall", "truncation"])
def test_ranks_inside_and_outside_are_the_same_for_ebic(make, correlation):
    inside = SelectedGraph(Nonparanormal(make(), correlation=correlation)).fit(ROWS**3)
    outside = Nonparanormal(SelectedGraph(make()), correlation=correlation).fit(ROWS**3)
    np.testing.assert_array_equal(inside.path_.criterion, outside.estimator_.path_.criterion)
    assert inside.lam_ == outside.lam_
    np.testing.assert_array_equal(inside.precision_, outside.precision_)
    assert edge_set(inside) == edge_set(outside)
    known = ROWS.iloc[:3, :4] ** 3
    np.testing.assert_array_equal(inside.model_.predict(known), outside.model_.predict(known))


@pytest.mark.parametrize("selection", ["cv", "stars"])
def test_ranks_are_made_anew_for_each_part(selection):
    """So that a monotone transform of a column changes nothing."""
    options = {"selection": selection, "n_lams": 5, "n_folds": 3, "n_subsamples": 4}
    one = SelectedGraph(Nonparanormal(GraphicalLasso()), **options).fit(ROWS)
    other = SelectedGraph(Nonparanormal(GraphicalLasso()), **options).fit(np.exp(ROWS / ROWS.abs().max()))
    np.testing.assert_array_equal(one.path_.criterion, other.path_.criterion)
    outside = Nonparanormal(SelectedGraph(GraphicalLasso(), **options)).fit(ROWS)
    np.testing.assert_array_equal(outside.estimator_.path_.criterion, one.path_.criterion)

"""Nonparanormal: what ranks estimate, that transforms change nothing, and how prediction goes back to the units."""

import pickle

import numpy as np
import pytest
from scipy.stats import kendalltau, norm, rankdata, spearmanr
from sklearn.base import clone

from helpers.gaussian_tables import (
    chain_rows,
    check_result,
    correlation_of,
    edge_set,
    every_leaf,
    fit_hard,
    random_rows,
)
from pgmx.estimators import (
    CLIME,
    BootstrapStructure,
    GraphicalLasso,
    NeighborhoodLasso,
    Nonparanormal,
    SelectedGraph,
)
from pgmx.models import GaussianMarkovNetwork

METHODS = ("kendall", "spearman", "shrinkage", "truncation")
every_method = pytest.mark.parametrize("correlation", METHODS)
ROWS = random_rows(6, 150, seed=8)


def bent(rows):
    """Return rows after another increasing map of each column."""
    maps = [np.exp, np.arctan, lambda x: x**3, lambda x: 1e9 * x - 5, norm.cdf, lambda x: np.sinh(2 * x)]
    return rows.apply(lambda column: maps[rows.columns.get_loc(column.name) % 6](column))


# ---- correlations ----


def by_hand(rows, correlation):
    X, n = rows.to_numpy(), len(rows)
    p = X.shape[1]
    if correlation == "kendall":
        return np.array([[np.sin(np.pi / 2 * kendalltau(X[:, i], X[:, j])[0]) for i in range(p)] for j in range(p)])
    if correlation == "spearman":
        return np.array([[2 * np.sin(np.pi / 6 * spearmanr(X[:, i], X[:, j])[0]) for i in range(p)] for j in range(p)])
    shares = rankdata(X, axis=0) / (n + 1 if correlation == "shrinkage" else n)
    if correlation == "truncation":
        delta = 1 / (4 * n**0.25 * np.sqrt(np.pi * np.log(n)))
        shares = np.clip(shares, delta, 1 - delta)
    return np.corrcoef(norm.ppf(shares), rowvar=False)


@pytest.mark.filterwarnings("ignore::pgmx.data.FewValuesWarning")
@every_method
def test_correlations_by_scipy(correlation):
    for rows in (ROWS, bent(ROWS), ROWS.round(0)):  # the last with many ties
        learner = Nonparanormal(correlation=correlation).fit(rows)
        assert learner.repaired_ == 0.0
        np.testing.assert_allclose(learner.correlation_, by_hand(rows, correlation), rtol=0, atol=1e-12)
        np.testing.assert_array_equal(learner.correlation_.diagonal(), 1.0)


@every_method
@every_leaf
def test_the_estimator_learns_from_them(make, correlation):
    learner = Nonparanormal(make(lam_ratio=0.4), correlation=correlation).fit(ROWS)
    check_result(learner)
    R = by_hand(ROWS, correlation)
    inner = make(lam_ratio=0.4, covariance="precomputed", n_samples=len(ROWS)).fit(R)
    np.testing.assert_allclose(learner.correlation_, R, rtol=0, atol=1e-12)
    np.testing.assert_allclose(learner.precision_, inner.precision_, rtol=0, atol=1e-4)
    np.testing.assert_array_equal(learner.edges_, inner.edges_)
    assert learner.objective_ == pytest.approx(inner.objective_, rel=1e-8)
    assert isinstance(learner.estimator_, make)
    assert learner.estimator_.lam_ == learner.lam_ == pytest.approx(0.4 * inner.lam_max_)
    np.testing.assert_array_equal(learner.location_, np.zeros(6))
    assert learner.model_.n_samples == len(ROWS)


@every_method
@pytest.mark.parametrize("make", [GraphicalLasso, CLIME, NeighborhoodLasso, SelectedGraph])
def test_increasing_maps_of_columns_leave_the_graph_exactly(make, correlation):
    one, other = (Nonparanormal(make(), correlation=correlation).fit(rows) for rows in (ROWS, bent(ROWS)))
    np.testing.assert_array_equal(one.correlation_, other.correlation_)
    np.testing.assert_array_equal(one.edges_, other.edges_)
    np.testing.assert_array_equal(one.precision_, other.precision_)
    assert one.lam_ == other.lam_
    # a decreasing map changes signs
    turned = Nonparanormal(make(), correlation="kendall").fit(-ROWS)
    np.testing.assert_array_equal(turned.correlation_, Nonparanormal().fit(ROWS).correlation_)


def test_skewed_data_are_no_hindrance():
    rows = chain_rows(6, 600, seed=3, correlation=0.45) ** 5
    chain = {frozenset((f"x{v}", f"x{v + 1}")) for v in range(5)}
    assert edge_set(Nonparanormal(GraphicalLasso(lam=0.25)).fit(rows)) == chain
    assert np.abs(correlation_of(rows) - Nonparanormal().fit(rows).correlation_).max() > 0.1


# ---- predictions ----


@every_method
def test_predictions_go_through_the_maps(correlation):
    rows = bent(ROWS)
    learner = Nonparanormal(GraphicalLasso(lam=0.1), correlation=correlation).fit(rows)
    model, known = learner.model_, ["x0", "x2", "x3"]
    found = model.predict(rows[known])
    assert list(found) == ["x1", "x4", "x5"]
    asked, given = [1, 4, 5], [0, 2, 3]
    theta = learner.precision_
    scores = model.transforms.forward(np.array(given), rows[known].to_numpy())
    means = -scores @ theta[np.ix_(given, asked)] @ np.linalg.inv(theta[np.ix_(asked, asked)])
    np.testing.assert_allclose(found, model.transforms.backward(np.array(asked), means), rtol=1e-9)
    for name in found:  # within the data, whatever their units
        assert found[name].between(rows[name].min(), rows[name].max()).all()
    # better than the median of the column
    error = np.abs(found["x1"] - rows["x1"]).mean()
    if learner.graph_.degree("x1"):
        assert error < np.abs(rows["x1"] - rows["x1"].median()).mean()


def test_predictions_follow_increasing_maps():
    one, other = (Nonparanormal(GraphicalLasso(lam=0.1)).fit(rows) for rows in (ROWS, ROWS**3))
    half = ["x0", "x1", "x2"]
    direct, cubed = one.model_.predict(ROWS[half]), other.model_.predict(ROWS[half] ** 3)
    # between two rows the maps are interpolated in the units of the data
    np.testing.assert_allclose(np.cbrt(cubed), direct, rtol=0, atol=0.05)


def test_rows_have_the_margins_of_the_data():
    rows = bent(ROWS)
    drawn = Nonparanormal(GraphicalLasso(lam=0.05)).fit(rows).model_.simulate(4000, random_state=0)
    for name in rows:
        shares = [(drawn[name] <= rows[name].quantile(q)).mean() for q in (0.1, 0.5, 0.9)]
        # four standard errors of a share of 4000 rows, and a step of 150
        np.testing.assert_allclose(shares, [0.1, 0.5, 0.9], atol=0.04)


def test_score_is_of_the_scores():
    learner = Nonparanormal(GraphicalLasso(lam=0.1)).fit(ROWS)
    scores = learner.model_.transforms.forward(np.arange(6), ROWS.to_numpy())
    theta = learner.precision_
    squares = np.einsum("ij,jk,ik->i", scores, theta, scores)
    expected = 0.5 * (np.linalg.slogdet(theta)[1] - 6 * np.log(2 * np.pi) - squares).mean()
    assert learner.score(ROWS) == pytest.approx(expected, rel=1e-10)
    assert Nonparanormal(GraphicalLasso(lam=0.1)).fit(bent(ROWS)).score(bent(ROWS)) == pytest.approx(expected, rel=1e-2)


# ---- correlations alone ----


def test_without_an_estimator():
    learner = Nonparanormal(correlation="spearman").fit(ROWS)
    assert learner.variables_ == list(ROWS)
    with pytest.raises(AttributeError):
        learner.graph_  # noqa: B018
    with pytest.raises(AttributeError, match="not fitted yet"):
        Nonparanormal().correlation_  # noqa: B018
    defaults = {"estimator": None, "missing": "error", "na_values": None, "n_jobs": None}
    assert learner.get_params() == {"correlation": "spearman", **defaults}
    twin = pickle.loads(pickle.dumps(learner))
    np.testing.assert_array_equal(twin.correlation_, learner.correlation_)


# ---- missing values ----


@pytest.mark.parametrize("correlation", ["kendall", "spearman"])
def test_pairs_of_known_cells(correlation):
    rows = ROWS.mask(np.random.default_rng(0).random(ROWS.shape) < 0.15)
    learner = fit_hard(Nonparanormal(GraphicalLasso(), correlation=correlation, missing="pairwise"), rows)
    pair = rows[["x1", "x4"]].dropna()
    expected = by_hand(pair, correlation)[0, 1]
    assert abs(learner.correlation_[1, 4] - expected) <= learner.repaired_ + 1e-12
    dropped = Nonparanormal(GraphicalLasso(), correlation=correlation, missing="drop").fit(rows)
    np.testing.assert_allclose(dropped.correlation_, by_hand(rows.dropna(), correlation), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"missing.*'x0'"):
        Nonparanormal(GraphicalLasso(), correlation=correlation).fit(rows)


# ---- what it is to others ----


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (Nonparanormal(GraphicalLasso(covariance="precomputed")), "needs rows, not a covariance"),
        (Nonparanormal(Nonparanormal(GraphicalLasso())), "cannot wrap another Nonparanormal"),
        (Nonparanormal(missing="pairwise", correlation="shrinkage"), "missing='pairwise' is for .*not for 'shrinkage'"),
        (Nonparanormal(GraphicalLasso(), correlation="pearson"), "correlation"),
        (Nonparanormal("glasso"), "estimator"),
        (Nonparanormal(GraphicalLasso), "estimator"),
        (Nonparanormal(GraphicalLasso(lam=-1)), "lam"),
    ],
)
def test_what_is_refused(learner, words):
    with pytest.raises(ValueError, match=words):
        learner.fit(ROWS)


def test_weights_are_refused():
    with pytest.raises(TypeError, match="sample_weight"):
        Nonparanormal(GraphicalLasso()).fit(ROWS, sample_weight=np.ones(len(ROWS)))
    with pytest.raises(ValueError, match="does not support sample_weight, since ranks of weighted rows"):
        SelectedGraph(Nonparanormal(GraphicalLasso())).fit(ROWS, sample_weight=np.ones(len(ROWS)))


@pytest.mark.parametrize("cls", [Nonparanormal, SelectedGraph, BootstrapStructure])
def test_data_in_place_of_the_learner_are_refused_in_a_line(cls):
    for data in (ROWS, ROWS.to_numpy(), "rows.csv"):
        with pytest.raises(TypeError, match=r"is a learner, got data .*\(learner\(data\)\).estimate\(\)") as caught:
            cls(data).estimate()
        assert len(str(caught.value)) < 250
    with pytest.raises(ValueError, match=r"without data: use .*\(GraphicalLasso\(data\)\)\.estimate"):
        cls(GraphicalLasso()).estimate()
    with pytest.raises(ValueError, match=r"without data: use .*\(learner\(data\)\)\.estimate"):
        cls().estimate()


def test_estimate_learns_from_the_data_of_the_learner_within():
    graph = Nonparanormal(GraphicalLasso(ROWS, lam=0.1)).estimate()
    assert set(graph.edges) == set(Nonparanormal(GraphicalLasso(lam=0.1)).fit(ROWS).graph_.edges)


def test_messages_about_options_show_the_start_of_long_values():
    with pytest.raises(ValueError, match=r"'lam' parameter of .* must .* Got array.*\.\.\. instead") as caught:
        GraphicalLasso(lam=ROWS.to_numpy()).fit(ROWS)
    assert len(str(caught.value)) < 600


def test_copies_and_files(tmp_path):
    rows = bent(ROWS)
    learner = Nonparanormal(GraphicalLasso(lam=0.1)).fit(rows)
    twin = pickle.loads(pickle.dumps(learner))
    for suffix in ("npz", "json"):
        learner.model_.save(tmp_path / f"model.{suffix}")
        loaded = GaussianMarkovNetwork.load(tmp_path / f"model.{suffix}")
        np.testing.assert_array_equal(loaded.predict(rows[["x0"]]), learner.model_.predict(rows[["x0"]]))
    np.testing.assert_array_equal(twin.model_.predict(rows[["x0"]]), learner.model_.predict(rows[["x0"]]))
    fresh = clone(learner)
    assert not hasattr(fresh, "estimator_")
    assert fresh.set_params(estimator__lam=0.2, correlation="spearman").fit(rows).lam_ == 0.2
    assert learner.estimator.lam == 0.1
    for n_jobs in (1, 2):
        again = Nonparanormal(GraphicalLasso(lam=0.1), n_jobs=n_jobs).fit(rows)
        np.testing.assert_array_equal(again.precision_, learner.precision_)

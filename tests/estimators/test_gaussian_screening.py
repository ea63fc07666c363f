"""The graphical lasso of tables whose correlations are never formed, and the largest component that is solved."""

import warnings

import numpy as np
import pytest

from pgmx.estimators import GraphicalLasso, SelectedGraph
from pgmx.statistics import GaussianSample
from pgmx.statistics.gaussian import sample


@pytest.fixture
def rows():
    """30 rows of 60 columns, in six groups of ten that have a factor in common."""
    rng = np.random.default_rng(5)
    factors = np.repeat(rng.normal(size=(30, 6)), 10, axis=1)
    return factors * rng.uniform(0.5, 2.0, size=60) + rng.normal(size=(30, 60))


@pytest.fixture
def never_formed(monkeypatch):
    monkeypatch.setattr(sample, "MOST_FORMED", 0)
    monkeypatch.setattr(GaussianSample, "correlation", property(lambda self: pytest.fail("R was formed")))


def learn(rows, **options):
    return GraphicalLasso(show_progress=False, tol=1e-10, **options).fit(rows)


@pytest.mark.parametrize("options", [{"lam_ratio": 0.6}, {"lam": 0.62}, {"lam": 0.6, "penalize_diagonal": True}])
def test_a_fit_without_the_matrix_is_that_with_it(rows, request, options):
    expected = learn(rows, **options)
    request.getfixturevalue("never_formed")
    learner = learn(rows, **options)
    assert learner.lam_max_ == pytest.approx(expected.lam_max_, abs=1e-15)
    assert np.array_equal(learner.edges_, expected.edges_)
    assert 20 < len(learner.edges_) < 400
    assert learner.objective_ == pytest.approx(expected.objective_, abs=1e-9)
    assert abs(learner.dual_gap_) < 1e-7
    assert np.abs(learner.precision_ - expected.precision_).max() < 1e-8
    assert learner.graph_.number_of_edges() == len(learner.edges_)


def test_a_path_without_the_matrix_is_that_with_it(rows, request):
    lams = [0.9, 0.75, 0.6, 0.7, 0.55]  # sorted by the path; components join on the way
    make = GraphicalLasso(show_progress=False, tol=1e-10)
    expected = make.path(rows, lams=lams)
    request.getfixturevalue("never_formed")
    path = make.path(rows, lams=lams)
    for k in range(len(lams)):
        assert np.array_equal(path._edges(k), expected._edges(k))
        assert np.abs((path.precision(k) - expected.precision(k)).toarray()).max() < 1e-7


@pytest.mark.parametrize("formed", [8192, 0])
def test_a_component_that_is_too_large(rows, monkeypatch, formed):
    monkeypatch.setattr(sample, "MOST_FORMED", formed)
    with pytest.raises(ValueError, match=r"has \d+ of 60 variables, more than max_block=12: take") as error:
        learn(rows, lam=0.3, max_block=12)
    least = float(str(error.value).split("penalties of ")[1].split()[0])
    largest = max(len(part) for part in find_components(learn(rows, lam=least * 1.001, max_block=12)))
    assert 1 < largest <= 12
    with pytest.raises(ValueError, match="more than max_block=12"):
        learn(rows, lam=least * 0.99, max_block=12)


def find_components(learner):
    import networkx as nx

    return list(nx.connected_components(learner.graph_))


@pytest.mark.parametrize("formed", [8192, 0])
def test_a_path_ends_before_a_component_is_too_large(rows, monkeypatch, formed):
    monkeypatch.setattr(sample, "MOST_FORMED", formed)
    learner = GraphicalLasso(show_progress=False, max_block=15)
    with pytest.warns(UserWarning, match=r"of 12 penalties are solved: under lam=.* more than max_block=15"):
        path = learner.path(rows, n_lams=12)
    assert 1 < len(path) < 12
    full = GraphicalLasso(show_progress=False).path(rows, n_lams=12)
    assert np.array_equal(path.lams, full.lams[: len(path)])
    with pytest.warns(UserWarning, match="more than max_block=15"):
        chosen = SelectedGraph(learner, selection="ebic", n_lams=12, show_progress=False).fit(rows)
    assert chosen.lam_ >= path.lams[-1] * (1 - 1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(GraphicalLasso(show_progress=False, max_block=60).path(rows, n_lams=12)) == 12


def test_without_a_limit_free_memory_is_one(rows, never_formed, monkeypatch):
    monkeypatch.setattr("pgmx.estimators.gaussian.graphical_lasso.read_free_memory", lambda unknown: 40 * 10**2)
    with pytest.raises(ValueError, match="more than the 10 that free memory has room for"):
        learn(rows, lam=0.3)


def test_a_checkpoint_of_components_goes_on_where_it_ended(rows, never_formed, tmp_path):
    lams, file = [0.85, 0.7, 0.6, 0.5], tmp_path / "path.npz"
    expected = GraphicalLasso(show_progress=False).path(rows, lams=lams)
    calls = []

    def stop(progress):
        calls.append(progress)
        return len(calls) > 25

    options = {"show_progress": False, "checkpoint": file, "checkpoint_every": 0.0}
    first = GraphicalLasso(callback=stop, **options).path(rows, lams=lams)
    assert file.exists()
    assert len(first) < 4
    again = GraphicalLasso(**options).path(rows, lams=lams)
    for k in range(4):
        assert np.array_equal(again.precision(k).toarray(), expected.precision(k).toarray())
    assert not file.exists()

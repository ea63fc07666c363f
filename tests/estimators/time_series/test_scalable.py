"""Linear dynamical systems from the parents of a few seeds, against algorithm 4 with dense matrices."""

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from helpers.linear_series import draw_series, draw_sparse_series
from oracles.seeds import share_parents
from pgmx.datasets import sparse_system
from pgmx.estimators import ScalableLDS, SparsityInducingLDS
from pgmx.metrics import structure_recall


def list_parents(coef):
    return [set(row.tolist()) for row in np.split(coef.indices, coef.indptr[1:-1])]


@pytest.mark.parametrize("kind", ["random", "block", "hub"])
def test_parents_are_those_of_algorithm_4(kind):
    rows, _ = draw_sparse_series(n=40, kind=kind)
    learner = ScalableLDS(n_seeds=12, k=4).fit(rows)
    seeds = [int(name[1:]) for name in learner.seeds_]
    assert sorted(set(seeds)) == seeds
    assert learner.lam_ == pytest.approx(np.sqrt(2 * np.log(40) / 399))
    scaled = rows / rows.std(axis=0)
    lasso = Lasso(alpha=learner.lam_, fit_intercept=False, tol=1e-13, max_iter=10**6)
    one, two = (lasso.fit(scaled[:-lag], scaled[lag:, seeds]).coef_ for lag in (1, 2))
    expected = share_parents(one, two, seeds, 4)
    assert list_parents(learner.coef_) == expected
    for target, parents in enumerate(expected):
        chosen = sorted(parents)
        weights = np.linalg.lstsq(rows[:-1, chosen], rows[1:, target], rcond=None)[0]
        np.testing.assert_allclose(learner.coef_[[target]].toarray()[0, chosen], weights, atol=1e-8)
    residuals = rows[1:] - rows[:-1] @ learner.coef_.toarray().T
    np.testing.assert_allclose(learner.noise_covariance_, (residuals**2).mean(axis=0), rtol=1e-9)


def test_all_series_as_seeds_are_the_lasso():
    rows, _ = draw_sparse_series()
    learner = ScalableLDS(n_seeds=30, k=3, lam=0.1).fit(rows)
    np.testing.assert_allclose(
        learner.coef_.toarray(), SparsityInducingLDS(lam=0.1, k=3).fit(rows).coef_.toarray(), atol=1e-9
    )


def test_block_network():
    """Blocks share their parents: what is found of seeds, and of other series that feed seeds."""
    rows, coef = draw_sparse_series(n=300, n_times=1000, degree=4, kind="block")
    learner = ScalableLDS(seed_fraction=0.3).fit(rows)
    seeds = [int(name[1:]) for name in learner.seeds_]
    assert len(seeds) == 90
    others = np.setdiff1d(np.flatnonzero(np.diff(learner.coef_.indptr)), seeds)
    recalls = [len(a & b) / len(b) for a, b in zip(list_parents(learner.coef_), list_parents(coef), strict=True)]
    assert np.mean([recalls[v] for v in seeds]) > 0.8
    assert np.mean([recalls[v] for v in others]) > 0.65


def test_series_without_evidence_have_no_parents():
    """A chain of which the seed is the first node: nothing feeds it but itself."""
    coef = np.diag(np.full(8, 0.5)) + np.diag(np.full(7, 0.5), k=-1)
    learner = ScalableLDS(n_seeds=1, k=2).fit(draw_series(coef, 4000))
    seed = int(learner.seeds_[0][1:])
    counts = np.diff(learner.coef_.indptr)
    assert set(np.flatnonzero(counts)) <= {seed, max(seed - 1, 0)}
    assert counts[seed] > 0


def test_knowledge():
    rows, _ = draw_sparse_series(n=20)
    plain = ScalableLDS(seed_fraction=0.5, k=3).fit(rows)
    seeds = [int(name[1:]) for name in plain.seeds_]
    other = next(v for v in np.flatnonzero(np.diff(plain.coef_.indptr)) if v not in seeds)
    forbidden = [(seeds[0], plain.coef_[[seeds[0]]].indices[0]), (other, plain.coef_[[other]].indices[0])]
    empty = next((v for v in range(20) if not len(plain.coef_[[v]].indices)), other)
    required = [(seeds[1], 3), (empty, 4)]
    coef = ScalableLDS(
        seed_fraction=0.5,
        k=3,
        forbidden_edges=[((f"x{source}", 1), (f"x{target}", 0)) for target, source in forbidden],
        required_edges=[((f"x{source}", 1), (f"x{target}", 0)) for target, source in required],
    ).fit(rows).coef_.toarray()  # fmt: skip
    assert [coef[pair] for pair in forbidden] == [0, 0]
    assert all(coef[pair] for pair in required)


@pytest.mark.parametrize("solver", ["lasso", "sgd"])
def test_several_lags(solver):
    coefs = [sparse_system(20, 2, 0.5, random_state=seed).toarray() for seed in (0, 1)]
    rows = draw_series(coefs, 3000)
    learner = ScalableLDS(lags=2, n_seeds=20, k=4, solver=solver, fit_intercept=True).fit(
        [rows[:1000], rows[1000:] + 0.1]
    )
    assert learner.n_targets_ == 2996
    assert [part.shape for part in learner.coef_] == [(20, 20)] * 3
    assert structure_recall(learner, np.stack([np.zeros((20, 20)), *coefs])) > 0.9


def test_same_random_state_same_seeds():
    rows, _ = draw_sparse_series()
    one, other, third = (ScalableLDS(random_state=state).fit(rows) for state in (1, 1, 2))
    assert one.seeds_ == other.seeds_ != third.seeds_
    np.testing.assert_array_equal(one.coef_.toarray(), other.coef_.toarray())
    assert len(one.seeds_) == 6


def test_errors():
    rows, _ = draw_sparse_series(n=5)
    with pytest.raises(ValueError, match="n_seeds must be at most the number of series, 5, got 6"):
        ScalableLDS(n_seeds=6).fit(rows)
    with pytest.raises(ValueError, match="5 consecutive complete rows"):
        ScalableLDS(lags=2).fit([rows[:4], rows[4:8]])
    with pytest.raises(ValueError, match="'seed_fraction' parameter"):
        ScalableLDS(seed_fraction=0.0).fit(rows)

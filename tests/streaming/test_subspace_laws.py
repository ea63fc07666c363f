"""Laws of categorical subspaces: chunkings, orders of columns, scales of levels; probabilities by definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm

from helpers.stream_learners import SUBSPACE, list_state
from pgmx.streaming import CategoricalSubspace

MODELS = [
    {"model": "probit"},
    {"model": "probit", "offsets": False, "learn_thresholds": True, "noise": 0.4},
    {"model": "probit", "sketch": "gradient", "learn_thresholds": True},
    {"model": "tobit", "levels": (0.5, 2.5), "noise": 0.7},
    {"model": "tobit", "levels": (0.5, 2.5), "sketch": "gradient"},
    {"model": "tobit2", "levels": (0.5, 2.5), "learn_thresholds": True},
    {"model": "logit"},
    {"model": "logit", "sketch": "gradient", "offsets": False},
]
every_model = pytest.mark.parametrize("options", MODELS, ids=lambda options: " ".join(map(str, options.values())))


def start(options, **more):
    return CategoricalSubspace(**{"n_components": 2, "lam": 0.8, "levels": range(4), **options, **more})


def draw(n_rows=30, seed=0):
    return SUBSPACE.draw(n_rows, seed, n_features=6, n_classes=4)[0]


@every_model
@given(cuts=st.sets(st.integers(1, 29)), seed=st.integers(0, 9))
def test_any_chunks_are_single_rows_to_the_last_bit(options, cuts, seed):
    X = draw(seed=seed)
    whole, pieces = start(options).partial_fit(X), start(options)
    for piece in np.split(X, sorted(cuts)):
        before = list_state(pieces) if hasattr(pieces, "n_seen_") else None
        if before:
            pieces.impute(piece)
            assert list_state(pieces) == before
        pieces.partial_fit(piece)
    assert list_state(pieces) == list_state(whole)


@every_model
@given(order=st.permutations(range(6)), seed=st.integers(0, 9))
def test_the_order_of_columns_does_not_matter(options, order, seed):
    """Directions at the start are permuted along; sums in another order differ in their last bits."""
    X, empty = draw(seed=seed), np.full((1, 6), np.nan)
    learner, permuted = start(options).partial_fit(empty), start(options).partial_fit(empty)
    permuted._subspace[:] = learner._subspace[order]
    learner.partial_fit(X)
    permuted.partial_fit(X[:, order])
    np.testing.assert_allclose(permuted.transform(X[:, order]), learner.transform(X), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(permuted.predict_proba(X[:, order]), learner.predict_proba(X)[:, order], atol=1e-6)


@given(factor=st.sampled_from([-2.0, 0.5, 4.0]), shift=st.integers(-3, 3), seed=st.integers(0, 9))
def test_levels_are_names_up_to_their_order(factor, shift, seed):
    """Equally spaced levels may be rescaled; reversed ones give reversed probabilities."""
    X, options = draw(seed=seed), {"model": "probit"}
    levels = np.sort(shift + factor * np.arange(4))
    learner, other = start(options).fit(X), start(options, levels=levels)
    rows = shift + factor * X
    if factor > 0:
        np.testing.assert_allclose(other.fit(rows).predict_proba(rows), learner.predict_proba(X), atol=1e-9)
        return
    start_empty = np.full((1, 6), np.nan)
    learner, other = start(options).partial_fit(start_empty), other.partial_fit(start_empty)
    other._subspace *= -1
    learner.partial_fit(X)
    np.testing.assert_allclose(
        other.partial_fit(rows).predict_proba(rows)[..., ::-1], learner.predict_proba(X), atol=1e-6
    )


@every_model
def test_probabilities_and_expectations_are_those_of_the_definition(options):
    """From the public attributes alone, with scipy's minimiser in place of the compiled sketches."""
    X = draw()
    learner = start(options, lam=1.5).fit(X)
    edges = np.r_[-np.inf, learner.thresholds_, np.inf]
    tobit, logit = learner.model.startswith("tobit"), learner.model == "logit"
    middle = 1.5
    unit = learner.noise * (1 if tobit else 3 / 3)
    U = np.atleast_3d(learner.components_) if logit else learner.components_[None]
    b = np.atleast_2d(learner.column_offsets_)
    d, c = 2, len(b)

    def predict(z):
        return b + np.einsum("jdi,d->ji", U, z[:d]) + (z[d:, None] if learner.offsets else 0)

    def shares(x):
        if logit:
            logits = np.vstack([np.zeros(x.shape[1]), x])
            return np.exp(logits - logsumexp(logits, axis=0)).T
        return np.diff(norm.cdf((edges[:, None] - middle) / unit - x[0]), axis=0).T

    def cost(z, row):
        observed = np.flatnonzero(~np.isnan(row))
        x = predict(z)
        if tobit:
            # no level lies at a bound
            code = (row[observed] > 0.5).astype(int) + (row[observed] >= 2.5)
            exact = (code == 1) == (learner.model == "tobit")
            logs = np.log(shares(x)[observed, code])
            logs[exact] = norm.logpdf((row[observed] - middle) / unit - x[0, observed])[exact]
        else:
            logs = np.log(shares(x)[observed, row[observed].astype(int)])
        return -logs.sum() + 0.75 * (z[:d] ** 2).sum() + learner.lam_offsets / 2 * (z[d:] ** 2).sum()

    answers, means = learner.predict_proba(X[:4]), learner.impute(X[:4], how="expectation")
    for row, answer, filled in zip(X[:4], answers, means, strict=True):
        z = minimize(cost, np.zeros(d + c * learner.offsets), args=(row,), tol=1e-9).x
        expected = shares(predict(z))
        np.testing.assert_allclose(answer, expected, atol=2e-5)
        missing = np.isnan(row)
        if not tobit:
            np.testing.assert_allclose(filled[missing], (expected @ learner.levels_)[missing], atol=1e-4)
        else:
            draws = middle + unit * (predict(z)[0][missing] + norm.ppf((np.arange(20_000) + 0.5) / 20_000)[:, None])
            low, high = learner.thresholds_
            inside = (draws > low) & (draws < high)
            recorded = np.clip(draws, low, high) if learner.model == "tobit" else np.where(inside, middle, draws)
            np.testing.assert_allclose(filled[missing], recorded.mean(axis=0), atol=2e-3)

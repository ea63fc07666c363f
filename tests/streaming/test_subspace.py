"""Categorical subspaces: updates against a slow twin, sketches against a solver, predictions against integrals."""

import pickle
from copy import deepcopy
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.sparse import csr_array, csr_matrix
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.stream_learners import SUBSPACE, list_state
from oracles.subspace import Twin, differentiate_cell, is_exact, log_likelihood, log_mass
from pgmx.streaming import CategoricalSubspace, StreamLearner
from pgmx.streaming.online_subspace import code_cells, list_cells

MODELS = [
    {"model": "probit"},
    {"model": "probit", "offsets": False, "learn_thresholds": True},
    {"model": "probit", "learn_thresholds": True, "noise": 0.5},
    {"model": "tobit", "levels": (0.5, 2.5), "noise": 0.7},
    {"model": "tobit", "levels": (0.5, 2.5), "learn_thresholds": True},
    {"model": "tobit2", "levels": (0.5, 2.5), "noise": 0.7},
    {"model": "tobit2", "levels": (0.5, 2.5), "learn_thresholds": True},
    {"model": "logit"},
    {"model": "logit", "offsets": False, "sketch": "gradient"},
    {"model": "logit", "offsets": False, "learn_thresholds": True, "thresholds": (1.0, -0.5, 0.2)},
]
every_model = pytest.mark.parametrize("options", MODELS, ids=lambda options: " ".join(map(str, options.values())))


def start(options, **more):
    return CategoricalSubspace(**{"n_components": 2, "lam": 0.8, **options, **more})


def draw_cells(n_rows=40, seed=0, n_levels=4):
    return SUBSPACE.draw(n_rows, seed, n_features=6, n_classes=n_levels)[0]


def list_row(learner, row):
    observed = np.flatnonzero(~np.isnan(row))
    values = row[observed]
    if learner.model in ("tobit", "tobit2"):
        low, high = learner.levels_
        scaled = (values - (low + high) / 2) / learner.noise
        if learner.model == "tobit":
            return observed, (values > low).astype(int) + (values >= high), scaled
        return observed, (values >= low).astype(int) + (values > high), scaled
    return observed, np.searchsorted(learner.levels_, values), values


@pytest.mark.slow
@every_model
@pytest.mark.parametrize("sketch", ["newton", "gradient"])
def test_updates_are_those_of_the_slow_twin(options, sketch):
    X = draw_cells(40 if sketch == "newton" else 15)
    options = {**options, "sketch": sketch}
    learner = start(options, levels=options.get("levels", (0, 1, 2, 3))).partial_fit(np.full((1, 6), np.nan))
    twin = Twin(learner, learner._pack_state())
    twin.rows = 1
    if learner.model.startswith("tobit"):
        X = X + np.random.default_rng(1).normal(0, 0.2, X.shape)
    learner.partial_fit(X)
    for row in X:
        twin.learn(*list_row(learner, row))
    np.testing.assert_allclose(learner._progress[0] * learner._subspace, twin.u, rtol=1e-9)
    np.testing.assert_allclose(learner._offsets, twin.b, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(learner._centre, twin.centre, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(learner._thresholds, twin.edges, rtol=1e-9)
    moved = not np.array_equal(
        learner._thresholds[1:-1], (learner._list_thresholds() - learner._middle) / learner._unit
    )
    assert learner.model == "logit" or moved == learner.learn_thresholds
    assert learner.model == "logit" or (np.diff(learner.thresholds_) > 0).all()
    assert learner._progress[0] < 1


def test_tobit_cells_at_a_bound_are_censored():
    """A value at the lower bound means any lower value, one at the upper bound any higher one, as in Tobin's model."""
    cells = list_cells(np.array([[-1.0, 0.5, np.nextafter(0.5, 1.0), 1.7, np.nextafter(2.5, 0.0), 2.5, 9.0]]))
    assert code_cells(cells, np.array([0.5, 2.5]), "tobit").tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert code_cells(cells, np.array([0.5, 2.5]), "tobit2").tolist() == [0, 1, 1, 1, 1, 1, 2]
    rows = draw_cells(40)
    at_bounds, beyond = np.clip(rows, 0.5, 2.5), np.where(rows < 0.5, -7.0, np.where(rows > 2.5, 50.0, rows))
    learner, other = (start(MODELS[3]).fit(X) for X in (at_bounds, beyond))
    assert list_state(learner) == list_state(other)


def objective(learner, z, row):
    """Return (2.14) of a row at the sketch and offsets z, with terms that depend on the subspace alone left out."""
    d, total = learner.n_components, 0.0
    for i, code, value in zip(*list_row(learner, row), strict=True):
        x = learner._centre + learner._offsets[i] + learner._progress[0] * learner._subspace[i] @ z[:d]
        x = x + z[d:] if learner.offsets else x
        if learner.model == "logit":
            total -= np.r_[0.0, x][code] - logsumexp(np.r_[0.0, x])
        elif is_exact(learner.model, code):
            total += (value - x[0]) ** 2 / 2
        else:
            total -= log_mass(*(learner._thresholds[code : code + 2] - x[0]))
    return total + learner.lam / 2 * (z[:d] ** 2).sum() + learner.lam_offsets / 2 * (z[d:] ** 2).sum()


@every_model
def test_sketches_minimise_the_objective(options):
    X = draw_cells()
    learner = start(options).fit(X)
    before = list_state(learner)
    sketches = learner.transform(X[:2])
    assert list_state(learner) == before
    size = 2 + (len(learner._centre) if learner.offsets else 0)
    for row, sketch in zip(X[:2], sketches, strict=True):
        best = minimize(lambda z, row=row: objective(learner, z, row), np.zeros(size), tol=1e-10)
        np.testing.assert_allclose(sketch, best.x[:2], atol=2e-6)  # numerical derivatives of the solver


def test_far_tails_pull_like_a_line():
    """Cells whose probability underflows: the score of a level far above x is the distance, nearly."""
    learner = CategoricalSubspace(n_components=1, offsets=False, levels=(0, 1, 2), noise=1e-4, lam=1e-3)
    learner.partial_fit(np.full((1, 3), np.nan))
    learner._subspace[:] = 1e-6
    x = learner.components_[0, 0] * learner.transform([[2.0, np.nan, np.nan]])[0, 0]
    a = (1.5 - 1.0) / 1e-4  # the threshold
    np.testing.assert_allclose(learner.lam * x / 1e-12, a - x, rtol=1e-6)
    learner._subspace[:] = 30.0
    sketch = learner.transform([[2.0, 1.0, 0.0]])[0, 0]
    assert abs(sketch) < 1e-6  # pulled to both sides alike


@every_model
def test_chunks_sparse_rows_and_copies_agree_to_the_last_bit(options, tmp_path):
    X = draw_cells()
    options = {"levels": (0, 1, 2, 3), **options}
    whole = start(options, max_iter=1).fit(X)
    single = start(options)
    for row in X:
        single.partial_fit(row[None])
    observed = ~np.isnan(X)
    sparse = csr_array((X[observed], np.nonzero(observed)), shape=X.shape)
    pieces = start(options).partial_fit(iter([sparse[:7], sparse[7:9], sparse[9:]]))
    triples = start(options, max_iter=1).fit_triples(*(a[::-1] for a in np.nonzero(observed)), X[observed][::-1])
    mapped = np.asfortranarray(X)
    mapped.flags.writeable = False
    for other in (single, pieces, triples, start(options, max_iter=1).fit(mapped)):
        assert list_state(other) == list_state(whole)
    twice = start(options, max_iter=2).fit(X)
    copies = [
        pickle.loads(pickle.dumps(whole)),
        deepcopy(whole),
        StreamLearner.load(whole.save(tmp_path / "subspace.npz")),
    ]
    for copy in copies:
        assert list_state(copy.partial_fit(X)) == list_state(twice)
    np.testing.assert_array_equal(whole.transform(sparse), whole.transform(X))
    assert list_state(twice.set_params(max_iter=1).fit(X)) == list_state(whole)


@every_model
def test_predictions_of_cells(options):
    X = draw_cells()
    learner = start(options).fit(X)
    probabilities, levels, means = learner.predict_proba(X), learner.impute(X), learner.impute(X, how="expectation")
    np.testing.assert_allclose(probabilities.sum(axis=2), 1.0, rtol=1e-12)
    observed = ~np.isnan(X)
    for filled in (levels, means):
        np.testing.assert_array_equal(filled[observed], X[observed])
    gaps = np.argwhere(~observed)
    np.testing.assert_array_equal(learner.predict_proba(X, cells=gaps.T), probabilities[~observed])
    np.testing.assert_array_equal(learner.impute(csr_matrix((X[observed], np.nonzero(observed)), X.shape)), levels)
    np.testing.assert_array_equal(learner.impute(X, cells=(range(6), range(6))), np.diag(levels))
    if not learner.model.startswith("tobit"):
        np.testing.assert_allclose(means[~observed], probabilities[~observed] @ learner.levels_)
        order = np.cumsum(probabilities[~observed], axis=1)
        best = (order < 0.5).sum(axis=1) if learner.model == "probit" else probabilities[~observed].argmax(axis=1)
        np.testing.assert_array_equal(levels[~observed], learner.levels_[best])
        return
    t, i = gaps[0]
    x = learner.column_offsets_[i] + learner.components_[:, i] @ learner.transform(X)[t]
    x = x + learner._predict(learner._check_rows(X, None, restart=False)[0])[t, 2]
    s, (low, high) = learner.noise, learner.thresholds_
    x = 1.5 + s * x
    ends = [x - 12 * s, low, high, x + 12 * s]
    below, inside, above = (quad(lambda y: y * norm.pdf(y, x, s), *pair)[0] for pair in pairwise(ends))
    shares = np.diff(norm.cdf([-np.inf, low, high, np.inf], x, s))
    if learner.model == "tobit":
        expected, level = inside + low * shares[0] + high * shares[2], np.clip(x, low, high)
    else:
        expected, level = below + above + 1.5 * shares[1], 1.5 if low <= x <= high else x
    np.testing.assert_allclose(probabilities[t, i], shares, rtol=1e-9)
    np.testing.assert_allclose(means[t, i], expected, rtol=1e-7)
    np.testing.assert_allclose(levels[t, i], level)


@pytest.mark.parametrize("model", ["probit", "tobit", "tobit2", "logit"])
def test_scores_and_slopes_are_numerical_derivatives(model):
    """By central differences of the log likelihood of the model, for (2.11b), (2.17) to (2.20) and (2.23)."""
    c, step = 2 if model == "logit" else 1, 1e-5
    edges = np.array([-np.inf, -0.8, 0.6, np.inf])
    for code, value in [(0, -1.7), (1, 0.1), (2, 1.9)]:
        for x in np.random.default_rng(0).normal(0, 1.5, (4, c)):
            score, bend, slopes = differentiate_cell(model, x, code, value, edges)
            for j, e in enumerate(step * np.eye(c)):
                logs = [log_likelihood(model, at, code, value, edges) for at in (x - e, x, x + e)]
                assert (logs[2] - logs[0]) / (2 * step) == pytest.approx(score[j], rel=1e-6, abs=1e-8)
                assert -(logs[2] - 2 * logs[1] + logs[0]) / step**2 == pytest.approx(bend[j, j], abs=3e-5)
            for j in {code, code + 1} & {1, 2}:
                low, high = (
                    log_likelihood(model, x, code, value, edges + sign * step * np.eye(4)[j]) for sign in (-1, 1)
                )
                assert (high - low) / (2 * step) == pytest.approx(slopes[j - code], rel=1e-6, abs=1e-8)


def test_bounds_of_tobits_end_at_the_nearest_exact_values():
    """A detection limit that nobody wrote down: values below it are recorded as 0, or as one number inside."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 1)) @ rng.standard_normal((1, 8)) + rng.standard_normal((300, 8))
    first = np.where(x < -0.4, -1.0, np.where(x > 1.1, 2.0, x))
    learner = CategoricalSubspace(model="tobit", levels=(-1.0, 2.0), n_components=1, learn_thresholds=True).fit(first)
    exact = first[(first > -1.0) & (first < 2.0)]
    np.testing.assert_allclose(learner.thresholds_, [exact.min(), exact.max()])
    second = np.where((x > -0.4) & (x < 1.1), 0.0, x)
    learner = CategoricalSubspace(model="tobit2", levels=(-0.1, 0.1), n_components=1, learn_thresholds=True).fit(second)
    np.testing.assert_allclose(learner.thresholds_, [second[second < 0].max(), second[second > 0].min()])


def test_thresholds_of_a_logit_are_log_odds():
    """Independent cells whose first level is 3 times as likely as any other one: thresholds are log 3."""
    X = np.random.default_rng(0).choice(3, p=[0.6, 0.2, 0.2], size=(4000, 4)).astype(float)
    options = {"model": "logit", "offsets": False, "n_components": 1, "lam": 1e4, "levels": range(3)}
    learner = CategoricalSubspace(**options, learn_thresholds=True, max_iter=2).fit(X)
    np.testing.assert_allclose(learner.thresholds_, np.log(3), atol=0.15)
    fixed = CategoricalSubspace(**options, thresholds=learner.thresholds_, max_iter=1).fit(X)
    np.testing.assert_array_equal(fixed.thresholds_, learner.thresholds_)
    np.testing.assert_allclose(fixed.predict_proba(X[:1])[0, 0], [0.6, 0.2, 0.2], atol=0.02)


def test_what_is_refused_changes_nothing():
    X = draw_cells()
    learner = start({}).fit(X)
    before = list_state(learner)
    odd, infinite = X.copy(), X.copy()
    odd[3, 2], infinite[3, 2] = 2.5, np.inf
    refused = [(odd, "column 2, row 3 .* holds 2.5"), (infinite, "inf"), (X[:0], "0 sample"), (X[:, 1:], "5 features")]
    for rows, words in refused:
        with pytest.raises(ValueError, match=words):
            learner.partial_fit(rows)
        assert list_state(learner) == before
    twice = csr_matrix((np.ones(2), [1, 1], [0, 2]), shape=(1, 6))
    for rows, error, words in [
        (X * np.nan, ValueError, "no observed value"),
        (twice, ValueError, "two entries"),
        (iter([X]), TypeError, "partial_fit"),
    ]:
        with pytest.raises(error, match=words):
            learner.fit(rows)
        assert list_state(learner) == before
    for cells, words in [(([0, 0], [1, 1]), "row 0 and column 1 occur twice"), (([0], [-1]), "begin at 0")]:
        with pytest.raises(ValueError, match=words):
            learner.fit_triples(*cells, np.ones(len(cells[0])))
    with pytest.raises(ValueError, match="column that is not from 0 to 5"):
        learner.impute(X, cells=([0], [6]))
    with pytest.raises(ValueError, match="lam=3"):
        learner.set_params(lam=3.0).partial_fit(X)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"levels": [1, 1, 2]}, "ascend"),
        ({"levels": [0, 1, 2, 3], "model": "tobit"}, "two bounds"),
        ({"thresholds": [0.5]}, "4 levels need 3"),
        ({"thresholds": [0.5, 0.4, 2.0]}, "ascending"),
        ({"thresholds": [0.1], "model": "logit"}, "4 levels need 3"),
        ({"thresholds": [0.1, np.inf, 0.2], "model": "logit"}, "must be finite$"),
        ({"thresholds": [1.0], "model": "tobit"}, "bounds from levels"),
        ({"thresholds": [1.0], "model": "tobit2", "levels": [0, 1]}, "bounds from levels"),
        ({"model": "tobit2"}, "needs levels="),
        ({"model": "tobit2", "levels": [0, 1, 2]}, "two bounds"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        start(options).fit(draw_cells())


def test_damaged_files_are_refused(tmp_path):
    path = start({}).fit(draw_cells()).save(tmp_path / "subspace.npz")
    members = dict(np.load(path))
    for name, change in [
        ("levels_", lambda a: a[::-1]),
        ("_subspace", lambda a: a[:, :, :1]),
        ("_thresholds", lambda a: a[::-1]),
        ("_progress", lambda a: -a),
        ("_offsets", lambda a: a * np.inf),
    ]:
        np.savez(path, **{**members, name: change(members[name] + (name == "_offsets"))})
        with pytest.raises(ValueError, match="subspace\\.npz"):
            pytest.fail(f"{name}: {StreamLearner.load(path)}")


def test_missing_values_are_imputed_better_than_by_offsets_alone():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((400, 2)) @ rng.standard_normal((2, 20)) + 0.5 * rng.standard_normal((400, 20))
    X = np.digitize(x, [-1.5, -0.5, 0.5, 1.5]).astype(float)
    mask = rng.random(X.shape) < 0.3
    errors = []
    for lam in (1.0, 1e6):
        filled = (
            CategoricalSubspace(n_components=2, lam=lam)
            .fit(np.where(mask, np.nan, X))
            .impute(np.where(mask, np.nan, X))
        )
        errors.append(np.abs(filled - X)[mask].mean())
    assert errors[0] < 0.7 * errors[1]


def test_pipeline_and_grid_search():
    X = draw_cells(80)
    y = np.nanmean(X, axis=1) > 1.5
    search = GridSearchCV(
        make_pipeline(CategoricalSubspace(max_iter=1, levels=range(4)), LogisticRegression()),
        {"categoricalsubspace__n_components": [1, 2]},
        cv=2,
    ).fit(X, y)
    assert search.predict(X).shape == (80,)
    names = search.best_estimator_[0].get_feature_names_out()
    assert list(names) == [f"categoricalsubspace{j}" for j in range(len(names))]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [CategoricalSubspace(max_iter=1)], expected_failed_checks=lambda estimator: SUBSPACE.expected_failures
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)

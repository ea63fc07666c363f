"""The group lasso of structural vector autoregressions against a slow oracle on the kernel matrices."""

import numpy as np
import pytest

from oracles import svarm as oracle
from pgmx._ext import _group_lasso
from pgmx.solvers.time_series.group_lasso import GroupLassoProblem, solve_by_admm, solve_path
from pgmx.solvers.time_series.kernel_blocks import build_blocks, make_kernel


def simulate(n_rows, n, seed, even=True):
    """Return standardised series in which each depends on its neighbour's past, through an even function or not."""
    rng = np.random.default_rng(seed)
    series = np.zeros((n_rows, n))
    for t in range(1, n_rows):
        past = np.roll(series[t - 1], 1)
        series[t] = (np.cos(1.5 * past) if even else 0.6 * past) + 0.5 * rng.standard_normal(n)
    return (series - series.mean(axis=0)) / series.std(axis=0)


def pose(series, lags=1, kinds=("gaussian",), instantaneous=True):
    """Return the problem of all targets and its blocks."""
    kernels = [(make_kernel(kind, 1.0), str(kind)) for kind in kinds]
    blocks = build_blocks([series], lags, kernels, instantaneous=instantaneous)
    targets = series[lags:].T - series[lags:].mean(axis=0)[:, None]
    is_own = (blocks.lags == 0) & (blocks.sources == np.arange(series.shape[1])[:, None])
    return GroupLassoProblem(blocks.columns, blocks.starts, np.ascontiguousarray(targets), ~is_own), blocks


def solve(problem, lams, tol=1e-8):
    return list(solve_path(problem, np.atleast_1d(lams), tol=tol, max_iter=100_000))


# ---- blocks ----


def laplace(u, v):
    return np.exp(-np.abs(u - v))


@pytest.mark.parametrize("kind", ["gaussian", "poly2", "linear", laplace])
def test_blocks_are_factors_of_centred_kernel_matrices(kind):
    series = simulate(40, 3, seed=1)
    problem, blocks = pose(series, lags=2, kinds=(kind,))
    for b in range(blocks.n_blocks):
        part = problem.columns[:, blocks.starts[b] : blocks.starts[b + 1]]
        lag, source = blocks.lags[b], blocks.sources[b]
        window = series[2 - lag : 40 - lag, source]
        expected = oracle.centre(oracle.kernel_matrix(window, kind))
        np.testing.assert_allclose(part @ part.T, expected, atol=1e-6)
        gram = part.T @ part
        np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9 * len(part))
        np.testing.assert_allclose(blocks.extend(b, window), part, atol=1e-6)
    assert blocks.n_blocks == 9


@pytest.mark.parametrize(("kind", "unit"), [("linear", 1e-6), ("linear", 1.0), ("linear", 1e6), ("poly2", 1.0)])
def test_blocks_without_the_directions_of_a_basis(kind, unit):
    """A linear kernel of a series in the span of the basis has no block left, in any unit."""
    rng = np.random.default_rng(4)
    first, second = rng.standard_normal((2, 60))
    series = np.column_stack([unit * (first - 2 * second), unit * (first + rng.standard_normal(60))])
    given = np.column_stack([first, second]) - [first.mean(), second.mean()]
    basis = np.linalg.qr(given)[0]
    kernels = [(make_kernel(kind, 1.0), kind)]
    blocks = build_blocks([series], 0, kernels, basis=basis)
    outside = np.eye(60) - basis @ basis.T
    for source in range(2):
        matrix = oracle.centre(oracle.kernel_matrix(series[:, source], kind))  # of the trace T', before the projection
        expected = outside @ matrix @ outside
        rank = np.linalg.matrix_rank(expected, tol=1e-7)
        found = [b for b in range(blocks.n_blocks) if blocks.sources[b] == source]
        assert len(found) == (rank > 0)
        for b in found:
            part = blocks.columns[:, blocks.starts[b] : blocks.starts[b + 1]]
            assert part.shape[1] == rank
            np.testing.assert_allclose(part @ part.T, expected, atol=1e-6)
    assert (0 in blocks.sources) == (kind != "linear")


def test_ranks_of_polynomial_kernels():
    series = simulate(50, 2, seed=2)
    for kind, rank in (("linear", 1), ("poly2", 2)):
        _, blocks = pose(series, kinds=(kind,))
        assert np.diff(blocks.starts).tolist() == [rank] * 4
    few = build_blocks([series], 1, [(make_kernel("gaussian", 1.0), "gaussian")], max_rank=4)
    assert np.diff(few.starts).max() <= 4


def test_segments_have_no_lag_across_their_border():
    series = simulate(60, 2, seed=3)
    kernel = [(make_kernel("poly2", 1.0), "poly2")]
    blocks = build_blocks([series[:25], series[25:]], 2, kernel)
    rows = np.r_[2:25, 27:60]
    for b in range(blocks.n_blocks):
        window = series[rows - blocks.lags[b], blocks.sources[b]]
        part = blocks.columns[:, blocks.starts[b] : blocks.starts[b + 1]]
        expected = oracle.centre(oracle.kernel_matrix(window, "poly2"))
        np.testing.assert_allclose(part @ part.T, expected, atol=1e-8)


def test_unpenalised_columns_are_removed():
    series = simulate(40, 2, seed=4)
    wave = np.sin(np.arange(39))
    basis = ((wave - wave.mean()) / np.linalg.norm(wave - wave.mean()))[:, None]
    blocks = build_blocks([series], 1, [(make_kernel("gaussian", 1.0), "gaussian")], basis=basis)
    assert np.abs(basis.T @ blocks.columns).max() < 1e-10
    remove = np.eye(39) - basis @ basis.T
    expected = remove @ oracle.centre(oracle.kernel_matrix(series[1:, 0], "gaussian")) @ remove
    part = blocks.columns[:, : blocks.starts[1]]
    np.testing.assert_allclose(part @ part.T, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (lambda u, v: -u * v, "not positive semidefinite"),
        (lambda u, v: u + 2.0 * v, "not symmetric"),
        (lambda u, v: 1.0, "must broadcast"),
        (lambda u, v: np.log(np.abs(u - v)), "not finite"),
    ],
)
def test_bad_kernels(kernel, message):
    with np.errstate(divide="ignore"), pytest.raises(ValueError, match=message):
        build_blocks([simulate(30, 2, seed=5)], 1, [(kernel, "mine")])


# ---- solutions ----


@pytest.mark.parametrize(
    ("kinds", "instantaneous", "lags"),
    [(("gaussian",), True, 1), (("linear", "poly2"), True, 2), (("gaussian",), False, 2)],
)
def test_objective_lies_in_the_bracket_of_the_oracle(kinds, instantaneous, lags):
    series = simulate(40, 4, seed=6)
    problem, _ = pose(series, lags, kinds, instantaneous)
    lam = 0.3 * problem.lam_max
    (by_descent,) = solve(problem, lam)
    by_admm = solve_by_admm(problem, lam, tol=1e-8, max_iter=20_000)
    largest = 0.0
    for target in range(4):
        places, matrices, y = oracle.node_kernels(series, target, lags, kinds, instantaneous)
        lower, upper = oracle.bracket(matrices, y, lam)
        assert upper - lower <= 1e-7 * upper
        for estimates in (by_descent, by_admm):
            assert lower - 1e-6 * upper <= estimates.objectives[target] <= upper + 1e-6 * upper
            assert estimates.gaps[target] <= 1e-8 * estimates.objectives[target]
        largest = max(largest, *(np.sqrt(y @ k @ y) for k in matrices))
        assert len(places) == problem.allowed[target].sum()
    assert problem.lam_max == pytest.approx(largest, rel=1e-7)
    np.testing.assert_allclose(by_admm.coefficients, by_descent.coefficients, atol=2e-3)
    own = problem.measure_blocks(by_descent.coefficients)[~problem.allowed]
    assert not own.any()


def test_algorithm_of_the_thesis_ends_at_the_same_objective():
    series = simulate(25, 3, seed=7)
    problem, _ = pose(series)
    lam = 0.3 * problem.lam_max
    (estimates,) = solve(problem, lam)
    thesis = oracle.ThesisADMM(series)
    for _ in range(400):
        thesis.iterate(lam)
    upper, lower = thesis.bounds(lam).T
    assert (upper - lower <= 1e-4 * upper).all()
    np.testing.assert_allclose(estimates.objectives, upper, rtol=1e-4)


def test_warm_starts_of_a_path_end_where_cold_starts_do():
    problem, _ = pose(simulate(80, 5, seed=8), lags=2)
    lams = problem.lam_max * np.array([1.0, 0.7, 0.4, 0.15])
    path = solve(problem, lams)
    assert not path[0].coefficients.any()
    for lam, warm in zip(lams, path, strict=True):
        (cold,) = solve(problem, lam)
        np.testing.assert_allclose(warm.objectives, cold.objectives, rtol=1e-7)
    assert np.all(np.diff([estimates.objectives.sum() for estimates in path]) < 0)


def test_working_sets_without_the_whole_gram(monkeypatch):
    problem, _ = pose(simulate(60, 4, seed=9))
    lam = 0.2 * problem.lam_max
    (expected,) = solve(problem, lam)
    monkeypatch.setattr("pgmx.solvers.time_series.group_lasso.MOST_COLUMNS", 1)
    (estimates,) = solve(problem, lam)
    np.testing.assert_allclose(estimates.coefficients, expected.coefficients, atol=1e-9)


def test_gap_bounds_what_is_missing_for_any_coefficients(rng):
    problem, _ = pose(simulate(40, 3, seed=10))
    lam = 0.3 * problem.lam_max
    (best,) = solve(problem, lam, tol=1e-10)
    for _ in range(20):
        w = best.coefficients + 0.1 * rng.standard_normal(best.coefficients.shape) * np.repeat(
            problem.allowed, np.diff(problem.starts), axis=1
        )
        objectives, gaps, _ = problem.certify(w, lam, np.arange(3))
        assert (objectives - best.objectives >= -1e-9).all()
        assert (objectives - gaps <= best.objectives * (1 + 1e-9)).all()


def test_kernel_minimises_over_one_block(rng):
    d = np.array([30.0, 2.0, 1e-6])
    c = np.array([5.0, -4.0, 0.001])
    w = np.zeros(3)
    _group_lasso.descend(np.diag(d), c, np.array([0, 3]), 1.5, 100.0, w, 1e-13, 1000)
    gradient = c - d * w
    np.testing.assert_allclose(gradient, 1.5 * w / np.linalg.norm(w), atol=1e-9)
    small = np.zeros(3)
    _group_lasso.descend(np.diag(d), c, np.array([0, 3]), 7.0, 100.0, small, 1e-13, 1000)
    assert not small.any()


def test_kernel_gathers_rows_and_columns(rng):
    gram = rng.standard_normal((6, 6))
    columns = np.array([4, 0, 5])
    np.testing.assert_array_equal(_group_lasso.gather(gram, columns), gram[np.ix_(columns, columns)])

"""Cases of pgmx.statistics and pgmx.solvers for tables of numbers."""

from typing import Any

import numpy as np
from scipy import stats

from pgmx import solvers, statistics
from tests.fuzz.calls import Wrong, enter_calls, ignore
from tests.fuzz.cases import chance, pick
from tests.fuzz.frames import draw_numbers
from tests.fuzz.oracles import is_close
from tests.oracles import clime, graphical_lasso

Arguments = dict[str, Any]
NUMBERS = Wrong(
    (lambda X: X[:1] * np.nan, lambda X: X[0], lambda X: X + 1j, lambda X: X[None]),
    ("column", "shape", "table", "rows", "complex"),
)


def draw_cells(rng: np.random.Generator) -> np.ndarray:
    """Return rows of numbers, some tied."""
    cells = draw_numbers(rng, rows=30).to_numpy()
    return np.round(cells, int(rng.integers(0, 3))) + rng.normal(size=cells.shape) * 1e-9 if chance(rng, 0.3) else cells


def draw_correlation(rng: np.random.Generator) -> np.ndarray:
    """Return a correlation matrix, exactly symmetric."""
    R = np.corrcoef(
        rng.normal(size=(int(rng.integers(10, 40)), p := int(rng.integers(2, 7))))
        @ (np.eye(p) + np.triu(rng.normal(size=(p, p)) / 2, 1)),
        rowvar=False,
    )
    R = 0.5 * (R + R.T)
    np.fill_diagonal(R, 1.0)
    return np.ascontiguousarray(R)


# ---- statistics ----


def check_moments(result: Any, arguments: Arguments) -> None:
    """Compare with numpy."""
    data, weights = arguments["data"], arguments.get("weights")
    w = np.ones(len(data)) if weights is None else np.asarray(weights, dtype=float)
    mean = np.average(data, axis=0, weights=w)
    centred = data - mean
    assert is_close(result.n, w.sum()) and is_close(result.mean, mean, atol=1e-9 * np.abs(data).max())
    cross = (centred * w[:, None]).T @ centred
    assert is_close(result.cross, cross, rtol=1e-6, atol=1e-9 * np.abs(cross).max())


def draw_moments(rng: np.random.Generator) -> Arguments:
    """Return rows, sometimes weights."""
    data = draw_cells(rng)
    return {"data": data, **({"weights": rng.integers(0, 3, len(data)) + 0.5} if chance(rng, 0.5) else {})}


enter_calls(
    "statistics.moments",
    statistics.moments,
    draw_moments,
    check_moments,
    {"weights": Wrong((lambda w: -w, lambda w: w[:-1], lambda w: w * np.nan, lambda w: w * 0), ("weight",))},
)


def check_kendall(result: Any, arguments: Arguments) -> None:
    """Compare with SciPy."""
    X = arguments["X"]
    p = X.shape[1]
    expected = [[stats.kendalltau(X[:, i], X[:, j]).statistic for j in range(p)] for i in range(p)]
    assert is_close(result, expected), (result, expected)


def check_spearman(result: Any, arguments: Arguments) -> None:
    """Compare with numpy's correlation of SciPy's ranks."""
    ranks = stats.rankdata(arguments["X"], axis=0)
    assert is_close(result, np.corrcoef(ranks, rowvar=False)), result


MISSING = Wrong(("x", None, 3))
for _function, _check in ((statistics.kendall_tau_matrix, check_kendall), (statistics.spearman, check_spearman)):
    enter_calls(
        f"statistics.{_function.__name__}",
        _function,
        lambda rng: {"X": draw_cells(rng), "missing": "error"},
        _check,
        {"X": NUMBERS, "missing": MISSING},
    )


def check_correlation(result: Any, arguments: Arguments) -> None:
    """It is symmetric with a diagonal of ones, within bounds."""
    result = result[0] if isinstance(result, tuple) else result
    assert is_close(result.diagonal(), 1) and is_close(result, result.T)
    assert (np.abs(result) <= 1 + 1e-12).all()


enter_calls(
    "statistics.latent_correlation",
    statistics.latent_correlation,
    lambda rng: {"X": draw_cells(rng), "method": pick(rng, ["kendall", "spearman"])},
    check_correlation,
    {"method": Wrong(("x", "pearson", None)), "X": NUMBERS},
)


def check_nearest(result: Any, arguments: Arguments) -> None:
    """It is positive semidefinite besides."""
    check_correlation(result, arguments)
    assert np.linalg.eigvalsh(result[0])[0] >= -1e-9


def draw_indefinite(rng: np.random.Generator) -> Arguments:
    """Return a matrix that may be no correlation matrix."""
    R = draw_correlation(rng)
    noise = np.triu(rng.uniform(-0.5, 0.5, R.shape), 1)
    return {
        "R": np.clip(R + noise + noise.T, -1, 1) * (1 - np.eye(len(R))) + np.eye(len(R)),
        "floor": pick(rng, [1e-8, 0.0, 0.1]),
    }


MATRIX = Wrong(
    (lambda R: R[:-1], lambda R: R * np.nan, lambda R: R[0]), ("shape", "square", "finite", "matrix", "correlation")
)
enter_calls(
    "statistics.nearest_correlation",
    statistics.nearest_correlation,
    draw_indefinite,
    check_nearest,
    {"R": MATRIX, "floor": Wrong((-0.1, 1.0, np.nan)), "tol": Wrong((0, -1.0)), "max_iter": Wrong((0, -3))},
)


def check_sample(result: Any, arguments: Arguments) -> None:
    """Its correlation is that of the rows or the covariance."""
    if "covariance" in arguments:
        S = arguments["covariance"]
        expected = S / np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    else:
        expected = np.corrcoef(arguments["table"], rowvar=False)
    R = result.correlation if result.correlation is not None else result.factor.T @ result.factor
    assert is_close(R, expected, atol=1e-6), (R, expected)


enter_calls(
    "statistics.sample_of_covariance",
    statistics.sample_of_covariance,
    lambda rng: {
        "covariance": draw_correlation(rng) * pick(rng, [1.0, 1e-6, 1e6]),
        "n_samples": pick(rng, [None, 10, 2.5]),
    },
    check_sample,
    {
        "covariance": Wrong((*MATRIX.values, "x", lambda S: -S), (*MATRIX.words, "variance")),
        "n_samples": Wrong((1, -3, np.nan, "x")),
        "names": Wrong((["a"], ["a"] * 50)),
    },
)
enter_calls(
    "statistics.gaussian_sample",
    statistics.gaussian_sample,
    lambda rng: {"table": draw_cells(rng), "correlation": "pearson"},
    check_sample,
    {
        "correlation": Wrong(("x", None)),
        "weights": Wrong(([1.0], "x", [-1.0] * 30, [np.nan] * 30), ("weight",)),
        "constant": Wrong(("x", None)),
    },
)


def transform(rows: np.ndarray, method: str) -> Any:
    """Return a table there and back."""
    transforms = statistics.MarginalTransforms.from_rows(rows, method)
    columns = np.arange(rows.shape[1])
    return transforms.backward(columns, transforms.forward(columns, rows))


enter_calls(
    "statistics.MarginalTransforms",
    transform,
    lambda rng: {"rows": draw_cells(rng), "method": pick(rng, ["shrinkage", "truncation"])},
    lambda result, arguments: np.testing.assert_array_equal(result.shape, arguments["rows"].shape),
    {
        "method": Wrong(("x", None)),
        "rows": Wrong((lambda X: X * np.nan, lambda X: X[0], lambda X: X[:0]), ("column", "shape")),
    },
)

# ---- solvers ----


def check_lasso(result: Any, arguments: Arguments) -> None:
    """The duality gap from outside is small, and never below the optimum."""
    for solution in result:
        theta = solution.precision.toarray()
        gap = graphical_lasso.gap(theta, arguments["R"], solution.lam, arguments.get("penalize_diagonal", False))
        assert not solution.converged or abs(gap) < 1e-4 * len(theta), gap


LAMS = Wrong(([-1.0], [np.nan], "x"))
enter_calls(
    "solvers.graphical_lasso_path",
    lambda **options: list(solvers.graphical_lasso_path(**options)),
    lambda rng: {"R": draw_correlation(rng), "lams": [0.6, 0.3, 0.05], "penalize_diagonal": chance(rng, 0.5)},
    check_lasso,
    {"R": Wrong((lambda R: R[:-1], lambda R: R[0])), "lams": LAMS},
    2.0,
)


def check_columns(result: Any, arguments: Arguments) -> None:
    """The optimality of each column of the lasso, from outside."""
    R = arguments["R"]
    for k, lam in enumerate(arguments["lams"]):
        for c, j in enumerate(arguments["columns"]):
            b = result.coefficients[k].toarray()[:, c]
            assert not result.converged[k, c] or graphical_lasso.column_violation(b, R, j, lam) < 1e-4


def draw_columns(rng: np.random.Generator) -> Arguments:
    """Return a matrix and the columns to solve for."""
    R = draw_correlation(rng)
    return {"R": R, "columns": np.arange(len(R)), "lams": np.array([0.5, 0.2, 0.1])}


COLUMNS = {
    "R": Wrong((lambda R: R[:-1], lambda R: R[0])),
    "columns": Wrong((lambda c: c + 5 * len(c), lambda c: c - 1)),
    "lams": Wrong((np.array([-1.0]), np.array([np.nan]))),
}
enter_calls("solvers.neighborhood_columns", solvers.neighborhood_columns, draw_columns, check_columns, COLUMNS, 2.0)


def check_clime(result: Any, arguments: Arguments) -> None:
    """The constraints hold, and the value is that of the linear programme."""
    S = clime.shifted(arguments["R"], arguments["ridge"])
    lam = arguments["lams"][-1]
    for c, j in enumerate(arguments["columns"][:2]):
        q = result.coefficients[-1].toarray()[:, c]
        if result.converged[-1, c]:
            assert clime.excess(S, q, j, lam) < 1e-3
            assert np.abs(q).sum() <= clime.solve_column(S, j, lam)[2] * (1 + 1e-3) + 1e-3


enter_calls(
    "solvers.clime_columns",
    solvers.clime_columns,
    lambda rng: {
        **draw_columns(rng),
        "ridge": pick(rng, [0.0, 0.1]),
        "solver": pick(rng, ["auto", "homotopy", "admm"]),
    },
    check_clime,
    {**COLUMNS, "solver": Wrong(("x", None))},
    2.0,
)
enter_calls(
    "solvers.clime_lam_max",
    solvers.clime_lam_max,
    lambda rng: {"R": draw_correlation(rng)},
    ignore,
    {"R": Wrong((lambda R: R[:-1], lambda R: R[0]))},
    0.5,
)
enter_calls(
    "solvers.graphical_lasso_certificate",
    solvers.graphical_lasso_certificate,
    lambda rng: {"R": (R := draw_correlation(rng)), "precision": np.eye(len(R)), "lam": 0.3},
    lambda result, arguments: np.testing.assert_allclose(
        result[0], graphical_lasso.objective(arguments["precision"], arguments["R"], arguments["lam"]), rtol=1e-9
    ),
    weight=0.5,
)


def check_likelihood(result: Any, arguments: Arguments) -> None:
    """Its inverse agrees with R on the edges and the diagonal."""
    theta = result.precision.toarray()
    W, t = np.linalg.inv(theta), result.regularised
    R = (1 - t) * arguments["R"] + t * np.eye(len(theta))
    assert is_close(W.diagonal(), R.diagonal(), atol=1e-5)
    assert not result.converged or all(is_close(W[i, j], R[i, j], atol=1e-5) for i, j in arguments["edges"])


enter_calls(
    "solvers.maximum_likelihood_precision",
    solvers.maximum_likelihood_precision,
    lambda rng: {"R": (R := draw_correlation(rng)), "edges": np.array([[0, 1], [0, len(R) - 1]][: 1 + (len(R) > 2)])},
    check_likelihood,
    {
        "R": Wrong((lambda R: R[:-1],)),
        "edges": Wrong((np.array([[0, 99]]), np.array([[0, 0]]), np.array([[-1, 0]])), ("edge",)),
    },
)

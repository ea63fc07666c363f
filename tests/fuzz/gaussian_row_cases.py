"""Cases of the row methods of linear Gaussian networks, against their joint normal distribution."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pgmpy.factors.continuous import LinearGaussianCPD

from pgmx.models import LinearGaussianBayesianNetwork
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.frames import draw_names

METHODS = ("predict", "predict_proba", "log_evidence", "log_likelihood", "score", "simulate")
CONTAINERS = ("pandas", "dict", "chunks", "csv")
SPOILED = ("column", "text", "infinite", "cpd", "std", "variables", "method", "evidence")


class Drawn(NamedTuple):
    """A network, its names, and its joint distribution."""

    network: LinearGaussianBayesianNetwork
    names: list
    mean: np.ndarray
    covariance: np.ndarray


def draw_joint(rng: np.random.Generator, *, plain: bool) -> Drawn:
    """Return a network of variables in units that may differ."""
    n = int(rng.integers(1, 7))
    names = draw_names(rng, n, plain=plain)
    units = 10.0 ** rng.uniform(-3, 3, n) if chance(rng, 0.3) else np.ones(n)
    slopes, deviations, intercepts = np.zeros((n, n)), rng.uniform(0.3, 2.0, n) * units, rng.normal(size=n) * units
    network = LinearGaussianBayesianNetwork()
    network.add_nodes_from(names[v] for v in rng.permutation(n))
    for v in range(n):
        parents = [int(u) for u in rng.permutation(v)[: rng.integers(0, 4)]]
        slopes[v, parents] = rng.normal(size=len(parents)) * units[v] / units[parents]
        network.add_edges_from((names[u], names[v]) for u in parents)
        beta = [intercepts[v], *slopes[v, parents]]
        network.add_cpds(LinearGaussianCPD(names[v], beta, float(deviations[v]), [names[u] for u in parents]))
    spread = np.linalg.inv(np.eye(n) - slopes)
    return Drawn(network, names, spread @ intercepts, spread @ np.diag(deviations**2) @ spread.T)


def condition(drawn: Drawn, row: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return means and standard deviations of all variables given the values of a row, and their log-density."""
    seen = np.flatnonzero(~np.isnan(row))
    scale = np.sqrt(drawn.covariance.diagonal())
    matrix = drawn.covariance / np.outer(scale, scale)
    scores = ((row - drawn.mean) / scale)[seen]
    inverse = np.linalg.inv(matrix[np.ix_(seen, seen)])
    gain = matrix[:, seen] @ inverse
    variances = matrix.diagonal() - np.einsum("ij,ij->i", gain, matrix[:, seen])
    log_det = -np.linalg.slogdet(inverse)[1] + 2.0 * np.log(scale[seen]).sum()
    log = -0.5 * (scores @ inverse @ scores + log_det + len(seen) * np.log(2.0 * np.pi))
    return drawn.mean + scale * (gain @ scores), scale * np.sqrt(np.maximum(variances, 0.0)), log


def put_rows(container: str, frame: pd.DataFrame, folder: Path) -> Any:
    """Return rows in one of the containers."""
    if container == "dict":
        return {name: frame.iloc[:, k].tolist() for k, name in enumerate(frame.columns)}
    if container == "chunks":
        return iter([frame[:1], frame[1:]])
    if container == "csv":
        frame.to_csv(folder / "rows.csv", index=False)
        return folder / "rows.csv"
    return frame


@entry("models.LinearGaussianBayesianNetwork.rows", 4.0)
def draw_rows(rng: np.random.Generator) -> Case:
    """Return a call of a row method."""
    container = pick(rng, CONTAINERS)
    drawn = draw_joint(rng, plain=container == "csv")
    n, n_rows, method = len(drawn.names), int(pick(rng, [2, 7, 30])), pick(rng, METHODS)
    values = rng.multivariate_normal(drawn.mean, drawn.covariance, size=n_rows, check_valid="ignore")
    columns = [int(v) for v in rng.permutation(n)]
    if method not in ("log_likelihood", "score"):
        values[rng.random(values.shape) < pick(rng, [0.0, 0.2, 0.7])] = np.nan
        columns = columns[: rng.integers(1, n + 1)]
        values[:, [v for v in range(n) if v not in columns]] = np.nan
    options: dict[str, Any] = {}
    if method == "predict":
        values[0, columns[0]] = np.nan  # at least one value is missing
        options = pick(rng, [{}, {"method": "map"}, {"method": "marginal"}])
    elif method == "predict_proba" and chance(rng, 0.3):
        options = {"variables": [drawn.names[columns[0]]]}
    elif method == "log_likelihood":
        options = pick(rng, [{}, {"per_row": True}])
    faults, plant = [], pick(rng, SPOILED) if chance(rng, 0.3) else ""
    last = drawn.names[-1]
    if plant == "cpd":
        drawn.network.remove_cpds(drawn.network.get_cpds(last))
        faults = [fault(repr(last))]
    elif plant == "std" and method not in ("predict", "simulate"):
        drawn.network.get_cpds(last).std = pick(rng, [0.0, -1.0, np.nan])
        faults = [fault("standard deviation")]
    elif plant == "variables" and method == "predict_proba":
        options, faults = {"variables": pick(rng, [["no such name"], [], 3])}, [fault("no such name", "variables")]
    elif plant == "method" and method == "predict":
        options, faults = {"method": "mean"}, [fault("method")]
    elif plant == "evidence" and method == "simulate":
        options, faults = {"evidence": pick(rng, [{"no such name": 1.0}, {last: np.nan}, 3])}, [fault("evidence")]
    elif plant in ("column", "text", "infinite") and method != "simulate":
        faults = [fault("no such name", "infinite", repr(drawn.names[columns[0]]))]

    def call(folder: Path) -> Any:
        if method == "simulate":
            return drawn.network.simulate(n_rows, seed=1, **options)
        frame = pd.DataFrame(values[:, columns])
        frame.columns = pd.Index([drawn.names[v] for v in columns], tupleize_cols=False)
        if plant == "column":
            frame.columns = pd.Index([*frame.columns[:-1], "no such name"], tupleize_cols=False)
        elif plant == "text":
            frame.isetitem(0, pd.Series(["no such name"] * n_rows, dtype=object))
        elif plant == "infinite":
            frame.iloc[0, 0] = np.inf
        return getattr(drawn.network, method)(frame if faults else put_rows(container, frame, folder), **options)

    def check(result: Any) -> None:
        if method == "simulate":
            assert result.shape == (n_rows, n) and np.isfinite(result.to_numpy()).all()
        elif method in ("predict", "predict_proba"):
            check_predictions(drawn, values, columns, options, result)
        else:
            logs = np.array([condition(drawn, row)[2] for row in values])
            is_sum = method == "log_likelihood" and not options
            expected = logs.mean() if method == "score" else logs.sum() if is_sum else logs
            np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-6)

    plan = f"{method}, {container}, planted: {plant or 'nothing'}, {columns}, {values.tolist()}, {options}"
    return Case("", call, check, faults, plan=plan)


def check_predictions(drawn: Drawn, values: np.ndarray, columns: list[int], options: dict, result: Any) -> None:
    """Means and standard deviations are those of the joint distribution; observed values are kept."""
    asked = options.get("variables")
    if asked:
        values = values.copy()
        values[:, drawn.names.index(asked[0])] = np.nan
    is_missing, place = np.isnan(values), {name: v for v, name in enumerate(drawn.names)}
    wanted = [v for v in map(place.get, drawn.network.nodes()) if is_missing[:, v].any()]
    if "method" in options:
        wanted = [*columns, *(v for v in map(place.get, drawn.network.nodes()) if v not in columns)]
        assert list(result.columns) == [drawn.names[v] for v in wanted]
    elif result.columns.nlevels == 1:
        wanted = [place[name] for name in result.columns]
        assert set(wanted) == set(np.flatnonzero(is_missing.any(axis=0)))
    else:
        wanted = [place[asked[0]]] if asked else wanted
        assert list(result.columns) == [(drawn.names[v], label) for v in wanted for label in ("mean", "std")]
    scale = np.sqrt(drawn.covariance.diagonal())[wanted]
    cells = result.to_numpy()
    if result.columns.nlevels == 2:
        cells, deviations = cells[:, ::2], cells[:, 1::2]
    for k, row in enumerate(values):
        means, spread, _ = condition(drawn, row)
        expected = np.where(is_missing[k], means, row)[wanted]
        np.testing.assert_allclose(cells[k] / scale, expected / scale, atol=1e-6, rtol=1e-6)
        if result.columns.nlevels == 2:
            own = np.where(is_missing[k], spread, 0.0)[wanted]
            np.testing.assert_allclose(deviations[k] / scale, own / scale, atol=1e-5)

"""Cases of graphs over (variable, lag) and of linear dynamical systems."""

from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from pgmx.estimators import GraphicalLasso
from pgmx.models import LinearDynamicalSystem, TimeSeriesGraph, graphs_by_window, measures_by_window
from pgmx.plotting import plot_adjacency, plot_edge_paths, plot_forecast, plot_summary_graph
from tests.fuzz.calls import Arguments, Wrong, enter_calls, ignore
from tests.fuzz.cases import chance, pick
from tests.fuzz.frames import draw_names
from tests.fuzz.oracles import is_close
from tests.oracles.time_series import forecast


def draw_coefficients(rng: np.random.Generator) -> tuple[list, np.ndarray, Any]:
    """Return names, coefficients (lags + 1, n, n), and the same as callers may give them."""
    n, lags = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    coefs = rng.normal(size=(lags + 1, n, n)) * (rng.random((lags + 1, n, n)) < 0.5)
    coefs[0] = 0.0
    forms: list[Any] = [coefs, [csr_array(matrix) for matrix in coefs]]
    if lags == 1:
        forms += [coefs[1], csr_array(coefs[1])]
    return draw_names(rng, n), coefs, forms[int(rng.integers(len(forms)))]


WRONG_COEFS = Wrong((np.zeros((9, 8)), np.zeros((2, 9, 9)), csr_array((9, 9)), "x"))
WRONG_NAMES = Wrong(
    ([], lambda names: [*names, names[0]], lambda names: [None, *names[1:]]), ("names", "None", "more than once")
)


def draw_graph(rng: np.random.Generator) -> Arguments:
    """Return arguments of `TimeSeriesGraph.from_coefficients`."""
    names, coefs, form = draw_coefficients(rng)
    further = {"strengths": np.abs(coefs) * 2.0} if chance(rng, 0.3) else {}
    if chance(rng, 0.3):
        further["confidence"] = rng.random(coefs.shape)
    return {"names": names, "coefs": form, "undirected_instantaneous": chance(rng, 0.3), **further}


def check_graph(graph: Any, arguments: Arguments) -> None:
    """The edges are the coefficients, and the summary graph has no other."""
    form = arguments["coefs"]
    matrices = list(form) if isinstance(form, list) or np.ndim(form) == 3 else [form]
    edges = sum(np.count_nonzero(csr_array(matrix).toarray()) for matrix in matrices)
    assert graph.number_of_edges() == edges == len(graph.lagged_edges)
    summary = graph.summary_graph()
    assert sum(len(lags) for _, _, lags in summary.edges(data="lags")) == edges
    assert list(summary) == list(graph.names)


enter_calls(
    "models.TimeSeriesGraph",
    TimeSeriesGraph.from_coefficients,
    draw_graph,
    check_graph,
    {
        "names": WRONG_NAMES,
        "coefs": WRONG_COEFS,
        "strengths": Wrong((lambda s: -s - 1.0, lambda s: s * np.nan), ("strength",)),
        "confidence": Wrong((lambda c: c[:, :0], lambda c: c - 2.0)),
    },
)


def draw_system(rng: np.random.Generator) -> Arguments:
    """Return what a system is made of, a history and a number of steps."""
    names, coefs, form = draw_coefficients(rng)
    n, lags = len(names), len(coefs) - 1
    noise = np.ones(n) if chance(rng, 0.5) else np.eye(n)
    return {
        "names": names,
        "coef": form,
        "intercept": rng.normal(size=n),
        "noise_covariance": noise,
        "history": rng.normal(size=(lags + int(rng.integers(0, 3)), n)),
        "steps": int(rng.integers(1, 5)),
    }


def ask_system(history: np.ndarray, steps: int, **parts: Any) -> tuple:
    """Return the forecasts, a simulated series and the spectral radius of a new system."""
    system = LinearDynamicalSystem(**parts)
    return system.predict(history, steps), system.simulate(steps, initial=history), system.spectral_radius


def check_answers(answers: tuple, arguments: Arguments) -> None:
    """Forecasts are those of plain loops."""
    form = arguments["coef"]
    matrices = list(form) if isinstance(form, list) or np.ndim(form) == 3 else [np.zeros(form.shape), form]
    coefs = [csr_array(matrix).toarray() for matrix in matrices]
    means, rows, radius = answers
    expected = forecast(coefs, arguments["intercept"], arguments["history"], arguments["steps"])
    assert is_close(means, expected, rtol=1e-9, atol=1e-9)
    assert rows.shape == expected.shape and np.isfinite(rows.to_numpy()).all() and radius >= 0.0


enter_calls(
    "models.LinearDynamicalSystem",
    ask_system,
    draw_system,
    check_answers,
    {
        "names": WRONG_NAMES,
        "coef": WRONG_COEFS,
        "intercept": Wrong(([np.nan] * 9, lambda c: c * np.inf, lambda c: [*c, 1.0], "x")),
        "noise_covariance": Wrong((lambda q: -q, lambda q: q[1:], lambda q: q * np.nan, "x")),
        "history": Wrong((lambda h: h[:0], lambda h: h[:, 1:], "x", None)),
        "steps": Wrong((0, -1, 1.5, "x")),
    },
    weight=2.0,
)


def draw_questions(rng: np.random.Generator) -> Arguments:
    """Return a stable system and rows of it."""
    names = draw_names(rng, int(rng.integers(1, 4)))
    system = LinearDynamicalSystem(names, np.eye(len(names)) / 2, noise_covariance=np.ones(len(names)))
    return {"system": system, "rows": system.simulate(12), "steps": int(rng.integers(1, 4)), "coverage": 0.8}


def answer_questions(system: LinearDynamicalSystem, rows: Any, steps: int, coverage: float) -> tuple:
    """Ask everything that is asked of a system."""
    bounds = system.predict_interval(rows, steps, coverage)
    score = system.score_forecasts(rows, start=6, steps=steps)
    plot_forecast(system, rows, steps, coverages=[coverage])
    return bounds, score, system.log_likelihood(rows), system.impulse_response(steps), system.to_linear_gaussian_bn()


def check_questions(answers: tuple, arguments: Arguments) -> None:
    """Bounds enclose the forecasts, and all numbers are finite."""
    (lower, upper), score, densities, responses, network = answers
    means = arguments["system"].predict(arguments["rows"], arguments["steps"])
    assert (lower < means).all(axis=None) and (means < upper).all(axis=None)
    assert np.isfinite(score.to_numpy()).all() and np.isfinite(densities).all() and len(densities) == 11
    assert is_close(responses[-1], np.eye(means.shape[1]) * 0.5 ** arguments["steps"])
    assert network.check_model()


enter_calls(
    "models.LinearDynamicalSystem.questions",
    answer_questions,
    draw_questions,
    check_questions,
    {
        "rows": Wrong((lambda rows: rows.iloc[:0], lambda rows: rows.assign(more=1.0), None), ("history", "more")),
        "steps": Wrong((0, 2.5, "x")),
        "coverage": Wrong((0.0, 1.5, "x", None, float("nan"))),
    },
)


def draw_windows(rng: np.random.Generator) -> Arguments:
    """Return a series and the borders of windows."""
    rows = pd.DataFrame(rng.normal(size=(40, 3)), columns=draw_names(rng, 3))
    return {"series": rows, "learner": GraphicalLasso(lam=0.1), "boundaries": [20]}


def check_windows(table: Any, arguments: Arguments) -> None:
    """Each window has its row of measures."""
    graphs = graphs_by_window(**arguments)
    assert table["n_edges"].tolist() == [2 * graph.number_of_edges() for graph in graphs]


enter_calls(
    "models.measures_by_window",
    measures_by_window,
    draw_windows,
    check_windows,
    {
        "series": Wrong((None, [[1.0]], lambda rows: rows.iloc[:15]), ("boundaries",)),
        "boundaries": Wrong(([20, 20], [5, 3], [0, 41], 0, "x", 41)),
    },
)


def draw_pictures(rng: np.random.Generator) -> Arguments:
    """Return a graph and the number of its edges to draw."""
    arguments = draw_graph(rng)
    return {
        "graph": TimeSeriesGraph.from_coefficients(**arguments),
        "attribute": "strength",
        "n_edges": int(rng.integers(1, 9)),
        "order": pick(rng, ["given", "clustered"]),
    }


def draw_all_pictures(graph: TimeSeriesGraph, attribute: str, n_edges: int, order: str, reference: Any = None) -> Any:
    """Draw every picture of a graph."""
    plot_adjacency(graph, attribute=attribute, order=order, reference=graph if reference is None else reference)
    plot_summary_graph(graph, attribute=attribute)
    return plot_edge_paths([graph, graph], attribute=attribute, n_edges=n_edges)


enter_calls(
    "plotting.plot_adjacency",
    draw_all_pictures,
    draw_pictures,
    ignore,
    {
        "graph": Wrong((None, [[1.0]], TimeSeriesGraph()), ("graph", "TimeSeriesGraph")),
        "attribute": Wrong(("size", 3)),
        "n_edges": Wrong((0, "x")),
        "order": Wrong(("hclust", 3), ("order",)),
        "reference": Wrong((3, [[1.0]], nx.path_graph(2)), ("reference", "graph")),
    },
)

"""Cases of pgmx.metrics, pgmx.plotting and pgmx.scores."""

from inspect import signature
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from pgmpy.models import DiscreteBayesianNetwork

from pgmx import datasets, metrics, plotting, scores
from pgmx.data import encode
from pgmx.estimators import HillClimbSearch
from pgmx.models import fit_discrete
from pgmx.scores.registry import KINDS, SCORES, ScoreEntry
from tests.fuzz.calls import Arguments, InFolder, Wrong, enter_calls
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.frames import draw_names, draw_numbers, draw_table, hold_names, punch_holes
from tests.fuzz.oracles import is_close, make_local_score
from tests.oracles.conditional_gaussian import cg_log_likelihood, clg_log_likelihood, dg_score
from tests.oracles.family_scores import log_sets
from tests.oracles.other_scores import GAUSSIAN_FORMULAS

# ---- metrics of graphs ----


def draw_dag(rng: np.random.Generator, names: list) -> nx.DiGraph:
    """Return a random DAG."""
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    order = [names[i] for i in rng.permutation(len(names))]
    graph.add_edges_from((u, v) for i, u in enumerate(order) for v in order[i + 1 :] if chance(rng, 0.4))
    return graph


def mark(graph: nx.Graph, u: object, v: object) -> tuple[bool, bool]:
    """Return what joins two nodes."""
    return graph.has_edge(u, v), graph.has_edge(v, u)


METRICS = ("shd", "cpdag_shd", "skeleton_scores", "direction_scores", "edge_differences")


@entry("metrics.graphs", 3.0)
def draw_metric_case(rng: np.random.Generator) -> Case:
    """Return a comparison of two graphs."""
    names = draw_names(rng, int(rng.integers(1, 7)))
    a, b = draw_dag(rng, names), draw_dag(rng, names)
    name = pick(rng, METRICS)
    kind = pick(rng, ["", "", "nodes", "no graph", "loop", "cycle"])
    faults = []
    if kind == "nodes":
        b.add_node("another node")
        faults = [fault("another node")]
    elif kind == "no graph":
        b, faults = pick(rng, [3, None, [("a", "b")], "x"]), [fault("graph")]
    elif kind == "loop":
        b.add_edge(names[0], names[0])
        faults = [fault(repr(names[0]))]
    elif kind == "cycle" and name == "cpdag_shd" and len(names) > 2:
        b.add_edges_from(zip(names[:3], [*names[1:3], names[0]], strict=True))
        b.remove_edges_from([(v, u) for u, v in zip(names[:3], [*names[1:3], names[0]], strict=True)])
        faults = [fault("cycle")]

    def call(folder: Path) -> Any:
        return getattr(metrics, name)(a, b)

    def check(result: Any) -> None:
        pairs = [(u, v) for i, u in enumerate(names) for v in names[i + 1 :]]
        distance = sum(mark(a, u, v) != mark(b, u, v) for u, v in pairs)
        if name == "shd":
            assert result == distance
        elif name == "edge_differences":
            assert sum(map(len, result)) == distance
        elif name == "cpdag_shd":
            assert 0 <= result <= len(pairs) and metrics.cpdag_shd(b, a) == result
        else:
            first, second = (
                {frozenset(e) for e in g.edges()} if name == "skeleton_scores" else set(g.edges()) for g in (a, b)
            )
            both = len(first & second)
            assert is_close(result.precision, both / len(second) if second else 1.0)
            assert is_close(result.recall, both / len(first) if first else 1.0)

    return Case("", call, check, faults, plan=f"{name} {kind} {names}")


@entry("metrics.networks", 2.0)
def draw_divergence_case(rng: np.random.Generator) -> Case:
    """Return a divergence of two networks, or a likelihood of rows."""
    table = draw_table(rng, n=int(rng.integers(1, 4)))
    n = len(table.names)
    model = fit_discrete(encode(table.frame), [(0, n - 1)] if n > 1 else [])
    kind = pick(rng, ["kl", "kl", "likelihood", "likelihood", "columns", "hole", "no model", "max_cells", "n_samples"])
    name = pick(rng, table.names)
    frame = table.frame
    faults = {
        "columns": [fault(*hold_names(name))],
        "no model": [fault("network", "model")],
        "max_cells": [fault("max_cells")],
        "n_samples": [fault("n_samples")],
    }.get(kind, [])
    if kind == "hole":
        faults = [fault(*hold_names(punch_holes(rng, table)[0]))]

    def call(folder: Path) -> Any:
        if kind in ("kl", "max_cells", "n_samples"):
            options = {} if kind == "kl" else {kind: pick(np.random.default_rng(0), [-1, "x"])}
            return metrics.kl_divergence(model, model, **options)
        if kind == "no model":
            return metrics.held_out_log_likelihood(3, frame)
        data = frame.rename(columns={name: "another"}) if kind == "columns" else table.frame
        return metrics.held_out_log_likelihood(model, data)

    def check(result: Any) -> None:
        if kind == "kl":
            assert abs(result.value if hasattr(result, "value") else result[0]) < 1e-9
        else:
            local = make_local_score(table, "ll", "error", None)
            expected = sum(local(v, [0] if v == n - 1 and n > 1 else []) for v in range(n))
            assert is_close(result.total, expected, rtol=1e-8, atol=1e-6), (result, expected)

    return Case("", call, check, faults, plan=f"{kind} {table.plan}")


def draw_bayesian_network(rng: np.random.Generator) -> DiscreteBayesianNetwork:
    """Return a network of three dependent variables."""
    codes = rng.integers(0, 2, 100)
    frame = pd.DataFrame({"a": codes, "b": codes ^ (rng.random(100) < 0.2), "c": rng.integers(0, 3, 100)})
    return fit_discrete(encode(frame), [(0, 1)])


enter_calls(
    "metrics.learning_curve",
    metrics.learning_curve,
    lambda rng: {
        "network": draw_bayesian_network(rng),
        "sizes": [50, 20],
        "learners": {"greedy": HillClimbSearch(show_progress=False)},
        "n_repeats": 1,
    },
    lambda result, arguments: np.testing.assert_array_less(-1e-9, result["divergence"]),
    {
        "sizes": Wrong(([], [1], [2.5], "x", 3)),
        "learners": Wrong(({}, 3, {"a": 3}, None), ("learner",)),
        "n_repeats": Wrong((0, "x")),
        "pseudo_count": Wrong((-1.0, np.nan, "x")),
        "random_state": Wrong((-1, "x", None)),
        "max_cells": Wrong((-1, "x")),
        "n_samples": Wrong((1, "x")),
    },
    0.5,
)

# ---- scores ----


def list_classes(kind: str) -> dict[str, ScoreEntry]:
    """Return the scores of a kind of data by the names of their classes."""
    return {entry.class_name: entry for entry in SCORES if entry.kind == kind}


DISCRETE, CONTINUOUS, MIXED = map(list_classes, KINDS)


@entry("scores.discrete", 4.0)
def draw_score_case(rng: np.random.Generator) -> Case:
    """Return a score of a discrete family."""
    table = draw_table(rng)
    n = len(table.names)
    name = pick(rng, DISCRETE)
    child = int(rng.integers(n))
    parents = [v for v in range(n) if v != child and chance(rng, 0.4)]
    kind = pick(rng, ["", "", "", "unknown child", "unknown parent", "ess", "itself"])
    options: Arguments = {}
    names: list = [table.names[v] for v in parents]
    variable = table.names[child]
    faults = []
    if kind == "unknown child":
        variable, faults = "no such column", [fault("no such column")]
    elif kind == "unknown parent":
        names, faults = [*names, "no such column"], [fault("no such column")]
    elif kind == "itself":
        names, faults = [*names, variable], [fault(*hold_names(variable))]
    elif kind == "ess" and "equivalent_sample_size" in signature(getattr(scores, name)).parameters:
        options, faults = (
            {"equivalent_sample_size": pick(rng, [0, -1.0, np.nan, np.inf, "x", None])},
            [fault("equivalent_sample_size")],
        )

    def call(folder: Path) -> Any:
        return getattr(scores, name)(table.frame, **options).local_score(variable, tuple(names))

    def check(result: Any) -> None:
        expected = make_local_score(table, DISCRETE[name].name, "error", None)(child, parents)
        assert is_close(result, expected, rtol=1e-9, atol=1e-7), (result, expected)

    return Case("", call, check, faults, plan=f"{name} {kind} {variable!r} {names} {options} {table.plan}")


@entry("scores.gaussian", 2.0)
def draw_gaussian_score_case(rng: np.random.Generator) -> Case:
    """Return a score of a family of numbers."""
    frame = draw_numbers(rng)
    n = frame.shape[1]
    name = pick(rng, CONTINUOUS)
    child = int(rng.integers(n))
    parents = [v for v in range(n) if v != child and chance(rng, 0.4)]
    is_unknown = chance(rng, 0.2)
    variable = "no such column" if is_unknown else frame.columns[child]

    def call(folder: Path) -> Any:
        return getattr(scores, name)(frame).local_score(variable, tuple(frame.columns[v] for v in parents))

    def check(result: Any) -> None:
        expected = GAUSSIAN_FORMULAS[CONTINUOUS[name].name](frame.to_numpy(float), child, parents)
        assert is_close(result, expected, rtol=1e-7, atol=1e-5), (result, expected)

    return Case("", call, check, [fault("no such column")] if is_unknown else [], plan=f"{name} {child} {parents}")


@entry("scores.mixed", 2.0)
def draw_mixed_score_case(rng: np.random.Generator) -> Case:
    """Return a score of a family of mixed data."""
    numbers = draw_numbers(rng, n=int(rng.integers(3, 6)), rows=int(pick(rng, [60, 150])))
    n = numbers.shape[1]
    frame, n_discrete = numbers.copy(), int(rng.integers(1, n))
    for v in range(n_discrete):
        frame[frame.columns[v]] = pd.Categorical(rng.integers(0, int(rng.integers(1, 4)), len(frame)).astype(str))
    name = pick(rng, MIXED)
    child = int(rng.integers(n))
    floats_refused = MIXED[name].family == "clg" and child < n_discrete
    parents = [v for v in range(n) if v != child and chance(rng, 0.4) and not (floats_refused and v >= n_discrete)]
    is_unknown = chance(rng, 0.2)
    variable = "no such column" if is_unknown else frame.columns[child]

    def call(folder: Path) -> Any:
        score = getattr(scores, name)(frame)
        assert isinstance(score, scores.MixedScore)
        return score.local_score(variable, tuple(frame.columns[v] for v in parents))

    def check(result: Any) -> None:
        plain = frame.set_axis([f"c{v}" for v in range(n)], axis=1)
        if MIXED[name].family == "dg":
            choice = log_sets(n - 1, len(parents)) if MIXED[name].has_gamma else 0.0
            expected = dg_score(plain, f"c{child}", [f"c{v}" for v in parents]) - choice
            assert is_close(result, expected, rtol=1e-7, atol=1e-5), (result, expected)
            return
        compute = clg_log_likelihood if MIXED[name].family == "clg" else cg_log_likelihood
        expected = compute(plain, f"c{child}", [f"c{v}" for v in parents])
        if expected == -np.inf:
            assert result == -np.inf, result
        elif name.startswith("LogLikelihood"):
            assert is_close(result, expected, rtol=1e-7, atol=1e-5), (result, expected)
        else:  # a whole number of parameters is charged
            expected -= log_sets(n - 1, len(parents)) if MIXED[name].has_gamma else 0.0
            price = expected - result if name.startswith("AIC") else (expected - result) / (0.5 * np.log(len(frame)))
            assert price > -1e-4 and abs(price - round(price)) < 1e-4, (result, expected)

    return Case("", call, check, [fault("no such column")] if is_unknown else [], plan=f"{name} {child} {parents}")


enter_calls(
    "scores.EdgePrior",
    scores.EdgePrior,
    lambda rng: {"c": float(rng.uniform(0.01, 0.99))},
    lambda result, arguments: np.testing.assert_allclose(result.log_prior(2), 2 * np.log(arguments["c"])),
    {"c": Wrong((0, 1, -1.0, np.nan, "x", None, True, 2))},
    0.3,
)
enter_calls(
    "scores.ParameterPrior",
    scores.ParameterPrior,
    lambda rng: {"cost": float(rng.uniform(0, 5))},
    lambda result, arguments: np.testing.assert_equal(result.parameter_cost, arguments["cost"]),
    {"cost": Wrong((-1.0, np.nan, np.inf, "x", None, True))},
    0.3,
)

# ---- pictures ----


def draw_picture(rng: np.random.Generator) -> Arguments:
    """Return a graph and where its picture goes."""
    graph = draw_dag(rng, [str(name) for name in draw_names(rng, int(rng.integers(1, 6)), plain=True)])
    if not graph.size():  # no edge lacks an attribute
        graph.add_edge("tail", "head")
    return {"graph": graph, "path": InFolder(pick(rng, ["p.svg", "p.png"])), "dpi": 40}


def draw_picture_options(rng: np.random.Generator) -> Arguments:
    """Return a graph, where its picture goes, and what is shown of it."""
    arguments = draw_picture(rng)
    names = list(arguments["graph"])
    choices = {
        "sizes": [None, "degree", "closeness", dict.fromkeys(names, 1.0)],
        "targets": [None, [], names[:1], [[], names[:2]]],
        "around": [None, names[0], names[:2]],
        "radius": [1, 2],
        "layout": [None, "spring", "circular", "communities"],
    }
    return arguments | {option: pick(rng, values) for option, values in choices.items()}


enter_calls(
    "plotting.save_picture",
    plotting.save_picture,
    draw_picture_options,
    lambda result, arguments: np.testing.assert_(result.stat().st_size > 100),
    {
        "path": Wrong((InFolder("p.pdf"), InFolder("none/p.svg"), InFolder("p")), ("p.pdf", "none", "'p'")),
        "graph": Wrong((3, None, nx.DiGraph()), ("graph",)),
        "strengths": Wrong(
            (3, {("a",): 1.0}, "no such attribute", {}, {("a", "b"): "x"}), ("no such attribute", "strength")
        ),
        "dpi": Wrong((0, -1, "x", np.nan)),
        "reference": Wrong((3, "x"), ("graph",)),
        "layout": Wrong(("round", 3, "slices"), ("layout",)),
        "sizes": Wrong(("betweenness", {}, {"tail": -1.0}, 3), ("sizes",)),
        "targets": Wrong((["no one"], "no one", 3), ("targets",)),
        "around": Wrong(("no one", [3.5], [["no one"]]), ("around",)),
        "radius": Wrong((0, 1.5, "x"), ("radius",)),
        "pos": Wrong(({}, {"tail": (0, 0)}), ("pos",)),
        "max_edges": Wrong((-1, 1.5, "most"), ("max_edges",)),
    },
    1.0,
)


def draw_report(rng: np.random.Generator) -> Arguments:
    """Return a graph and where its report goes."""
    drawn = draw_picture(rng)
    other = draw_dag(rng, list(drawn["graph"]))
    drawn["reference"] = pick(rng, [None, other, other.to_undirected()])
    return {**drawn, "path": InFolder("r.html"), "title": "<b>", "notes": ["</script>"], "dpi": None}


enter_calls(
    "plotting.save_report",
    lambda graph, dpi=None, **options: plotting.save_report(graph, **options),
    draw_report,
    lambda result, arguments: np.testing.assert_("</script>x" not in result.read_text(encoding="utf-8")),
    {
        "path": Wrong((InFolder("p.pdf"), InFolder("none/p.html"), InFolder("p")), ("p.pdf", "none", "'p'")),
        "graph": Wrong((3, None, nx.DiGraph()), ("graph",)),
        "bootstrap": Wrong((3, {("a",): 1.0}, {("no one", "b"): 0.5}), ("strengths", "no one")),
        "reference": Wrong((3, "x", nx.path_graph(2)), ("graph",)),
    },
    0.3,
)


def draw_distribution(rng: np.random.Generator) -> Arguments:
    """Return a network and one of its variables."""
    return {"model": draw_bayesian_network(rng), "variable": pick(rng, ["a", "b", "c"])}


enter_calls(
    "plotting.plot_cpd",
    plotting.plot_cpd,
    draw_distribution,
    lambda result, arguments: np.testing.assert_(arguments["variable"] in result.get_xlabel()),
    {"model": Wrong((3, None, nx.path_graph(2)), ("CPD",)), "variable": Wrong(("no one", 3, None), ("variable",))},
    0.3,
)


def draw_question(rng: np.random.Generator) -> Arguments:
    """Return a network and an observation."""
    return {"model": draw_bayesian_network(rng), "evidence": pick(rng, [None, {"a": 0}, {"b": 1}])}


def check_panels(result: Any, arguments: Arguments) -> None:
    """There is one panel per variable that is not observed, unless some are named."""
    shown = [ax.get_title() for ax in result.axes]
    free = [name for name in "abc" if name not in (arguments["evidence"] or {})]
    assert sorted(shown) == sorted(arguments.get("variables", free))


enter_calls(
    "plotting.plot_marginals",
    plotting.plot_marginals,
    draw_question,
    check_panels,
    {
        "model": Wrong((3, None, nx.path_graph(2)), ("network",)),
        "evidence": Wrong(({"no one": 0}, {"a": "no state"}, 3), ("no one", "no state")),
        "variables": Wrong(([], ["no one"], "no one"), ("variables",)),
    },
    0.3,
)


@entry("plotting.plots", 1.0)
def draw_plot_case(rng: np.random.Generator) -> Case:
    """Return a plot of what it is not meant for, or of a history."""
    kind = pick(rng, ["history", "against", "measures", "not fitted", "strengths", "curve", "path"])
    faults = {
        "against": [fault("against")],
        "measures": [fault("measures")],
        "not fitted": [fault("fit")],
        "strengths": [fault("strengths")],
        "curve": [fault("learning_curve")],
        "path": [fault("path")],
    }.get(kind, [])
    network = draw_bayesian_network(rng)
    wrong = pick(rng, [3, "x", None, [1]])

    def call(folder: Path) -> Any:
        learner = HillClimbSearch(show_progress=False, scoring_method="bic")
        if kind == "not fitted":
            return plotting.plot_history(learner)
        if kind in ("history", "against", "measures"):
            learner = HillClimbSearch(show_progress=False, scoring_method="bic").fit(datasets.sample(network, 300))
            options = {} if kind == "history" else {kind: pick(np.random.default_rng(1), ["no such", "x"])}
            return plotting.plot_history(learner, **options)
        if kind == "curve":
            return plotting.plot_learning_curve(pick(np.random.default_rng(1), [wrong, pd.DataFrame()]))
        return plotting.plot_strengths(wrong) if kind == "strengths" else plotting.plot_path(wrong)

    return Case("", call, faults=faults, plan=f"{kind} {wrong!r}")

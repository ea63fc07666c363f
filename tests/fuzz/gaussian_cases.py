"""Cases of the learners of Gaussian graphs, and of those that wrap another learner."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgmx import estimators
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.frames import draw_numbers, draw_table, hold_names, spoil, spoil_numbers, spoil_weights
from tests.fuzz.options import COUNT, GAUSSIANS, RANDOM, REAL, RUN, Option, draw_options, spoil_option
from tests.fuzz.oracles import check_precision, correlation_of
from tests.fuzz.search_cases import draw_weights


def draw_gaussian_case(name: str, rng: np.random.Generator) -> Case:
    """Return a case of a learner of Gaussian graphs."""
    frame = draw_numbers(rng)
    plant = pick(rng, ("table", "option", "weights")) if chance(rng, 0.35) else ""
    options = draw_options(rng, GAUSSIANS[name], fixed=("missing", "covariance", "n_samples"))
    data: Any = frame
    weights, faults, plan = None, [], ""
    cells = frame.to_numpy()
    if plant == "table":
        data, faults, plan = spoil_numbers(rng, frame)
    elif plant == "option":
        wrong, faults = spoil_option(rng, GAUSSIANS[name])
        options |= wrong
    elif plant == "weights":
        weights, faults = spoil_weights(rng, len(frame), count_rows=False)
    else:
        weights = draw_weights(rng, len(frame)) if chance(rng, 0.2) else None
        if weights is None and chance(rng, 0.2):
            R = np.cov(cells, rowvar=False, bias=True)
            data, options["covariance"], options["n_samples"] = (
                pd.DataFrame(R, frame.columns, frame.columns),
                "precomputed",
                len(frame),
            )
        elif weights is None and chance(rng, 0.2):
            options["missing"] = "drop"
            data = frame.copy()
            data.iloc[3, 0] = np.nan
            cells = np.delete(cells, 3, axis=0)

    def call(folder: Path) -> Any:
        return getattr(estimators, name)(**options).fit(data, **({} if weights is None else {"sample_weight": weights}))

    def check(learner: Any) -> None:
        check_gaussian(learner, frame, cells, weights, options)

    return Case(
        "", call, check, faults, plan=f"{name}, planted: {plan or plant or 'nothing'}, {options}, {frame.shape}"
    )


def check_gaussian(learner: Any, frame: pd.DataFrame, cells: np.ndarray, weights: Any, options: dict[str, Any]) -> None:
    """Raise an AssertionError unless a fitted learner holds a valid and optimal result."""
    assert list(learner.variables_) == list(frame.columns)
    assert np.isfinite(learner.objective_) and learner.lam_ >= 0
    scale = np.sqrt(np.average((cells - np.average(cells, axis=0, weights=weights)) ** 2, axis=0, weights=weights))
    R = correlation_of(cells, weights)
    check_precision(learner, R, scale, options)
    named = {frozenset((frame.columns[i], frame.columns[j])) for i, j in learner.edges_}
    assert {frozenset(edge) for edge in learner.graph_.edges()} == named


for _name in GAUSSIANS:
    entry(f"estimators.{_name}", 2.0)(partial(draw_gaussian_case, _name))


# ---- learners that wrap others ----

WRAPPED = {
    "Nonparanormal": {
        "correlation": Option(("kendall", "spearman", "shrinkage", "truncation"), ("x", None, 3)),
        "missing": Option(("error",), ("x", None)),
        "estimator": Option((), (3, "x")),
    },
    "SelectedGraph": {
        **RUN,
        **RANDOM,
        "selection": Option(("ebic", "cv", "stars"), ("x", None)),
        "n_lams": Option((2, 4), (1, *COUNT)),
        "lam_min_ratio": Option((0.1, 0.5), (0, 1, *REAL)),
        "gamma": Option((0.0, 0.5, 1.0), REAL),
        "n_folds": Option((2, 3), (1, *COUNT)),
        "n_subsamples": Option((2, 4), (1, *COUNT)),
        "stability": Option((0.0, 0.1, 0.5), (0.6, *REAL)),
        "estimator": Option((), (3, "x")),
    },
}


def draw_wrapper_case(name: str, rng: np.random.Generator) -> Case:
    """Return a case of a learner that wraps a learner of Gaussian graphs."""
    frame = draw_numbers(rng)
    inner = pick(rng, ["GraphicalLasso", "CLIME", "NeighborhoodLasso"])
    options = draw_options(rng, WRAPPED[name])
    plant = pick(rng, ("table", "option")) if chance(rng, 0.35) else ""
    data, faults, plan = frame, [], ""
    if plant == "table":
        data, faults, plan = spoil_numbers(rng, frame)
    elif plant == "option":
        wrong, faults = spoil_option(rng, WRAPPED[name])
        options |= wrong

    def call(folder: Path) -> Any:
        estimator = getattr(estimators, inner)(show_progress=False)
        return getattr(estimators, name)(**{"estimator": estimator, **options}).fit(data)

    def check(learner: Any) -> None:
        theta = learner.model_.precision.to_numpy()
        assert theta.shape == (frame.shape[1],) * 2 and np.isfinite(theta).all()
        scale = np.sqrt(theta.diagonal())
        assert np.linalg.eigvalsh(theta / np.outer(scale, scale))[0] > 0
        assert list(learner.variables_) == list(frame.columns)
        assert learner.graph_.number_of_edges() == len(learner.edges_)

    return Case("", call, check, faults, plan=f"{name}({inner}), planted: {plan or plant or 'nothing'}, {options}")


for _name in WRAPPED:
    entry(f"estimators.{_name}", 1.5)(partial(draw_wrapper_case, _name))

BOOTSTRAP = {
    **RUN,
    **RANDOM,
    "n_resamples": Option((1, 3, 6), (0, *COUNT)),
    "estimator": Option((), (3, "x")),
}


@entry("estimators.BootstrapStructure", 2.0)
def draw_bootstrap_case(rng: np.random.Generator) -> Case:
    """Return a case of a bootstrap of a search."""
    table = draw_table(rng)
    plant = pick(rng, ("table", "option", "weights")) if chance(rng, 0.35) else ""
    options = {"n_resamples": 3, **draw_options(rng, BOOTSTRAP)}
    weights, faults = None, []
    if plant == "table":
        table = spoil(rng, table)
        faults = table.faults
    elif plant == "option":
        wrong, faults = spoil_option(rng, BOOTSTRAP)
        options |= wrong
    elif plant == "weights":
        weights, faults = spoil_weights(rng, table.n_rows)
    threshold = pick(rng, [0.0, 0.5, 1.0, -0.1, 1.5, "x", np.nan])
    is_threshold_wrong = plant == "" and not (isinstance(threshold, float) and 0 <= threshold <= 1)
    if is_threshold_wrong:
        faults = [fault("threshold")]

    def call(folder: Path) -> Any:
        estimator = estimators.HillClimbSearch(scoring_method="bic", show_progress=False)
        learner = estimators.BootstrapStructure(**{"estimator": estimator, **options})
        learner.fit(table.data, **({} if weights is None else {"sample_weight": weights}))
        return learner, learner.consensus_graph(threshold)

    def check(result: Any) -> None:
        learner, graph = result
        strengths = learner.strengths_
        assert strengths["strength"].between(0, 1).all()
        assert strengths["direction"].between(0, 1).all()
        assert set(graph.nodes()) == set(table.names)

    plan = f"planted: {plant or 'nothing'}, {options}, {table.plan}, threshold {threshold!r}"
    return Case("", call, check, faults, plan=plan)


@entry("estimators.estimate", 1.0)
def draw_estimate_case(rng: np.random.Generator) -> Case:
    """Return a case of pgmpy's face: estimate, variables, state_counts, score."""
    table = draw_table(rng)
    kind = pick(
        rng, ["estimate", "no data", "state_counts", "unknown column", "weighted", "not fitted", "other columns"]
    )
    name = pick(rng, table.names)
    faults = {
        "no data": [fault("data")],
        "unknown column": [fault("no such column")],
        "weighted": [fault("weighted")],
        "not fitted": [fault("fit")],
        "other columns": [fault("X", *hold_names(name))],
    }.get(kind, [])
    HillClimbSearch = estimators.HillClimbSearch

    def call(folder: Path) -> Any:
        learner = HillClimbSearch(table.frame, show_progress=False, scoring_method="bic")
        if kind == "no data":
            return HillClimbSearch().estimate()
        if kind in ("state_counts", "weighted", "unknown column"):
            variable = "no such column" if kind == "unknown column" else name
            return learner.state_counts(variable, weighted=kind == "weighted")
        if kind == "not fitted":
            return learner.score(table.frame)
        if kind == "other columns":
            return (
                learner.fit(table.frame).score(
                    table.frame.drop(columns=[name]).assign(other_column=1), metric="structure_score"
                )
                if len(table.names)
                else None
            )
        return learner.estimate()

    def check(result: Any) -> None:
        if kind == "estimate":
            assert set(result.nodes()) == set(table.names)
        else:
            assert int(result.to_numpy().sum()) == table.n_rows

    return Case("", call, check, faults, plan=f"{kind}, {table.plan}")

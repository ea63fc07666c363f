"""Cases of the learners of Bayesian networks."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from pgmx import estimators
from tests.fuzz.cases import Case, Fault, chance, entry, fault, pick
from tests.fuzz.containers import draw_container, put_into
from tests.fuzz.frames import Table, draw_numbers, draw_table, punch_holes, spoil, spoil_numbers, spoil_weights
from tests.fuzz.knowledge import Knowledge, draw_contradiction, draw_knowledge, no_knowledge
from tests.fuzz.options import FOREST, SEARCHES, draw_options, in_folder, spoil_option
from tests.fuzz.oracles import (
    GraphPrior,
    LocalScore,
    check_dag,
    check_local_optimum,
    check_network,
    is_close,
    make_gaussian_score,
    make_local_score,
    make_prior,
    sum_scores,
)

PLANTS = ("table", "option", "knowledge", "weights")


def draw_weights(rng: np.random.Generator, n_rows: int) -> np.ndarray:
    """Return allowed row weights."""
    weights = rng.integers(0, 4, n_rows) if chance(rng, 0.5) else rng.random(n_rows) * 2
    weights[0] = 2
    return weights.astype(pick(rng, [float, weights.dtype]))


def draw_plant(rng: np.random.Generator) -> str:
    """Return what is wrong in a case; in most nothing."""
    return pick(rng, PLANTS) if chance(rng, 0.35) else ""


def make_learner(name: str, options: dict[str, Any], folder: Path) -> Any:
    """Return a learner."""
    return getattr(estimators, name)(**in_folder(options, folder))


def draw_start(rng: np.random.Generator, names: list, known: Knowledge) -> nx.DiGraph:
    """Return a graph to start from, over the order of the knowledge."""
    n = len(names)
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    forward = [(known.order[i], known.order[j]) for i in range(n) for j in range(i + 1, n)]
    graph.add_edges_from((names[i], names[j]) for i, j in forward if chance(rng, 0.3))
    return graph


def draw_states_case(name: str, rng: np.random.Generator) -> Case:
    """Return a search on a discrete table."""
    plant, table = draw_plant(rng), draw_table(rng)
    options = draw_options(rng, SEARCHES[name], fixed=("missing", "checkpoint", "start_dag"))
    known, weights, faults = no_knowledge(table.names), None, []
    options.setdefault("scoring_method", pick(rng, [None, "bic"]))
    if plant == "table":
        table = spoil(rng, table)
        faults, options["scoring_method"] = table.faults, "bic"
    elif plant == "option":
        wrong, faults = spoil_option(rng, SEARCHES[name])
        options |= wrong
    elif plant == "knowledge":
        known = draw_contradiction(rng, table.names)
        faults = known.faults
    elif plant == "weights":
        weights, faults = spoil_weights(rng, table.n_rows)
    else:
        known = draw_knowledge(rng, table.names) if chance(rng, 0.5) else known
        if chance(rng, 0.3) and "start_dag" not in options:
            options["start_dag"] = (
                draw_start(rng, table.names, known) if chance(rng, 0.5) else pick(rng, ["tree", "random"])
            )
        if chance(rng, 0.3):
            weights = draw_weights(rng, table.n_rows)
        elif chance(rng, 0.3) and table.n_rows >= 40:
            punch_holes(rng, table)
            score = (options["scoring_method"] or "bic").lower().removesuffix("-d")
            pairwise = score in ("bic", "aic", "ebic", "ll")
            options["missing"] = pick(rng, ["drop", "category", "em"] + ["pairwise"] * pairwise)
        if chance(rng, 0.2):
            options["checkpoint"] = "file"
            if name == "SimulatedAnnealing":  # all draws saved one by one would take minutes
                options["n_draws"] = 100
        limit = options.get("max_indegree")
        if limit is not None and known.most_required() > limit:
            faults = [fault("max_indegree")]
    return finish_case(name, rng, table, options | known.options, known, weights, faults, plant)


def finish_case(
    name: str,
    rng: np.random.Generator,
    table: Table,
    options: dict[str, Any],
    known: Knowledge,
    weights: Any,
    faults: list[Fault],
    plant: str,
) -> Case:
    """Return the case of a discrete learner with its check."""
    container = "pandas" if plant == "table" else draw_container(rng, table.frame)
    if container in ("coded", "plane file") and options.get("state_names") is not None:
        container = "pandas"
    sends_weights = weights is not None

    def call(folder: Path) -> Any:
        data = table.data if container == "pandas" else put_into(container, table.frame, folder)
        return make_learner(name, options, folder).fit(data, **({"sample_weight": weights} if sends_weights else {}))

    def check(learner: Any) -> None:
        edges = check_dag(table.names, learner)
        known.check(edges)
        limit = inf if options.get("max_indegree") is None else options["max_indegree"]
        assert "start_dag" in options or all(
            sum(head == v for _, head in edges) <= limit for v in range(len(table.names))
        )
        if options.get("missing") == "em":
            check_expectations(learner, table)
            return
        prior, score = options.get("structure_prior"), options["scoring_method"] or "bic"
        local_score = make_local_score(table, score, options.get("missing", "error"), weights, prior)
        check_score(learner, edges, local_score, make_prior(len(learner.variables_), score, prior), known, options)
        if len(table.names) < 4:
            check_network(learner.model_)

    return Case(
        "",
        call,
        check,
        faults,
        plan=f"{name}, {container}, planted: {plant or 'nothing'}, {options}, {table.plan}, weights {sends_weights}",
    )


def check_expectations(learner: Any, table: Table) -> None:
    """Check that the score never fell, and that what is imputed keeps every known cell."""
    scores = learner.history_["score"]
    assert (np.diff(scores) >= -1e-8 * (1 + np.abs(scores[1:]))).all(), scores
    imputed = learner.imputed_frame()
    holes = table.codes < 0
    for v, name in enumerate(imputed):
        cells = imputed[name].astype(str).to_numpy()
        assert not imputed[name].isna().any()
        known = table.frame[name].astype(object).astype(str).to_numpy()
        assert (cells == known)[~holes[v]].all(), name


def check_score(
    learner: Any, edges: list, local_score: LocalScore, prior: GraphPrior, known: Knowledge, options: dict[str, Any]
) -> None:
    """Compare a score with the formula, and look for a better neighbour where the search ended by itself."""
    n = len(learner.variables_)
    expected = sum_scores(n, edges, local_score) + prior.constant + prior.bonus * len(edges)
    assert is_close(learner.score_, expected, rtol=1e-8, atol=1e-6), f"score {learner.score_}, by formula {expected}"
    if learner.converged_ and type(learner).__name__ == "HillClimbSearch" and options.get("max_candidates") is None:
        limit = options.get("max_indegree")
        check_local_optimum(
            n,
            edges,
            local_score,
            allowed=known.allowed,
            required=known.required,
            limit=inf if limit is None else limit,
            epsilon=options.get("epsilon", 1e-4),
            bonus=prior.bonus,
        )


def draw_numbers_case(name: str, rng: np.random.Generator) -> Case:
    """Return a search on a table of numbers, with a Gaussian score."""
    frame = draw_numbers(rng)
    plant = pick(rng, ("table", "option", "weights")) if chance(rng, 0.3) else ""
    options = draw_options(rng, SEARCHES[name], fixed=("missing", "checkpoint", "start_dag", "scoring_method"))
    options["scoring_method"] = pick(rng, [None, "bic-g", "aic-g", "ebic-g"])
    names, weights, faults, data = list(frame.columns), None, [], frame
    known = no_knowledge(names)
    plan = ""
    if plant == "table":
        data, faults, plan = spoil_numbers(rng, frame)
        options["scoring_method"] = "bic-g"
    elif plant == "option":
        wrong, faults = spoil_option(rng, SEARCHES[name])
        options |= wrong
    elif plant == "weights":
        weights, faults = spoil_weights(rng, len(frame))
    else:
        known = draw_knowledge(rng, names) if chance(rng, 0.5) else known
        weights = draw_weights(rng, len(frame)) if chance(rng, 0.2) else None
        limit = options.get("max_indegree")
        if limit is not None and known.most_required() > limit:
            faults = [fault("max_indegree")]
    options |= known.options

    def call(folder: Path) -> Any:
        return make_learner(name, options, folder).fit(data, **({} if weights is None else {"sample_weight": weights}))

    def check(learner: Any) -> None:
        edges = check_dag(names, learner)
        known.check(edges)
        prior, score = options.get("structure_prior"), options["scoring_method"] or "bic-g"
        local_score = make_gaussian_score(frame.to_numpy(), score, weights, prior)
        check_score(learner, edges, local_score, make_prior(len(learner.variables_), score, prior), known, options)

    return Case("", call, check, faults, plan=f"{name}, numbers, {plan or plant}, {options}")


def draw_search_case(name: str, rng: np.random.Generator) -> Case:
    """Return a case of a search."""
    return draw_numbers_case(name, rng) if chance(rng, 0.2) else draw_states_case(name, rng)


def draw_forest_case(rng: np.random.Generator) -> Case:
    """Return a case of the best forest."""
    plant, table = draw_plant(rng), draw_table(rng)
    options = draw_options(rng, FOREST, fixed=("missing", "root", "class_node"))
    known, weights, faults = no_knowledge(table.names), None, []
    if plant == "table":
        table = spoil(rng, table)
        faults, options["weight"] = table.faults, "bdeu"
    elif plant == "option":
        wrong, faults = spoil_option(rng, FOREST)
        options |= wrong
    elif plant == "knowledge":
        known = draw_contradiction(rng, table.names)
        faults = [*known.faults, fault("required_edges")]
    elif plant == "weights":
        weights, faults = spoil_weights(rng, table.n_rows)
    else:
        if chance(rng, 0.3):
            options["root"] = pick(rng, table.names)
        if chance(rng, 0.2) and options.get("root") is None:
            options["class_node"] = pick(rng, table.names)
        weights = draw_weights(rng, table.n_rows) if chance(rng, 0.3) else None
    case = finish_case(
        "ChowLiuForest", rng, table, options | {"scoring_method": None} | known.options, known, weights, faults, plant
    )
    plain = options | known.options
    container = "pandas" if plant == "table" else draw_container(rng, table.frame)

    def call(folder: Path) -> Any:
        data = table.data if container == "pandas" else put_into(container, table.frame, folder)
        return make_learner("ChowLiuForest", plain, folder).fit(
            data, **({} if weights is None else {"sample_weight": weights})
        )

    return replace(case, call=call, check=check_forest(table, plain, weights))


def check_forest(table: Table, options: dict[str, Any], weights: Any) -> Callable[[Any], None]:
    """Return the check of a forest: its shape, its score."""

    def check(learner: Any) -> None:
        edges = check_dag(table.names, learner)
        class_node = options.get("class_node")
        most = 1 if class_node is None else 2
        assert all(sum(head == v for _, head in edges) <= most for v in range(len(table.names)))
        score = {"mutual_info": "ll"}.get(options.get("weight", "mutual_info"), options.get("weight", "bic"))
        if score == "bdeu" and "equivalent_sample_size" in options:
            return
        local_score = make_local_score(table, score, "error", weights)
        assert is_close(learner.score_, sum_scores(len(table.names), edges, local_score), rtol=1e-8, atol=1e-6)

    return check


for _name in SEARCHES:
    _weight = {"HillClimbSearch": 6.0, "GreedyEquivalenceSearch": 3.0}.get(_name, 2.0)
    entry(f"estimators.{_name}", _weight)(partial(draw_search_case, _name))
entry("estimators.ChowLiuForest", 3.0)(draw_forest_case)

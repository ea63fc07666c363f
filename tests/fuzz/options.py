"""Options of the learners: values that are allowed, and values that must be refused by the name of the option."""

from math import inf, nan
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from pgmx.scores import EdgePrior, ParameterPrior, UniformPrior
from pgmx.scores.registry import list_scores
from tests.fuzz.cases import Fault, chance, fault, pick


class Option(NamedTuple):
    """Values of an option; `wrong` ones must be refused."""

    valid: tuple
    wrong: tuple


def continue_run(progress: object) -> bool:
    """Be a callback that lets a run continue."""
    return False


REAL = (-1.0, nan, "x", [1.0])
COUNT = (-1, 1.5, "2", nan)
SWITCH = ("yes", 2.5)

RUN = {
    "max_time": Option((None, 1000.0), (-1, nan, "x")),
    "show_progress": Option((False,), ("no", 2.5)),
    "callback": Option((None, continue_run), (3, "f")),
    "n_jobs": Option((None, 1), ("x", 1.5)),
}
RANDOM = {"random_state": Option((0, 7), (-1, "x", 1.5))}
CHECKPOINT = {"checkpoint_every": Option((0, 60.0), (-1, nan, "x", None)), "checkpoint": Option((None,), (3, 2.5))}

BAYESIAN = {
    **RUN,
    **RANDOM,
    "return_type": Option(("dag", "pdag", "DAG"), ("x", "", 3, None)),
    "missing": Option(("error", "drop", "category", "pairwise"), ("x", None, 3)),
    "state_names": Option((None, {}), (3, "x", ["a"])),
}
SEARCH = {
    **BAYESIAN,
    **CHECKPOINT,
    "missing": Option(("error", "drop", "category", "pairwise", "em"), ("x", None, 3)),
    "n_em_restarts": Option((0, 1, 2), COUNT),
    "scoring_method": Option((None, *list_scores("discrete", aliases=True), "BIC"), ("x", "", 3, "bde", b"bic")),
    "penalty": Option((1, 1.0), (0, -1.0, nan, inf, "x", None, True)),
    "gamma": Option((1, 1.0), (-1.0, nan, inf, "x", None, True)),
    "discrete_children": Option(("forbidden",), ("no", 3, None)),
    "structure_prior": Option((None, UniformPrior(), EdgePrior(0.3), ParameterPrior(0.7)), (3, "x", 0.5)),
    "start_dag": Option((None, "tree", "random"), ("x", 3, [("a", "b")], nx.Graph())),
    "max_indegree": Option((None, 0, 1, 2, inf, 10**9), (-1, 1.5, "2", nan)),
    "max_candidates": Option((None, 0, 1, 3, 10**9), COUNT),
    "epsilon": Option((0.0, 1e-4, 1.0, 1e9), (*REAL, None)),
    "max_iter": Option((0, 1, 5, 1e6, inf), (-1, nan, "x", None)),
}
SEARCHES = {
    "HillClimbSearch": {
        **SEARCH,
        "strategy": Option(("greedy", "thorough", "exact"), ("x", None, 1)),
        "tabu_length": Option((0, 1, 5, 10**12), COUNT),
        "patience": Option((0, 1, 10), COUNT),
        "n_restarts": Option((0, 1, 3), COUNT),
        "n_restart_moves": Option((1, 5), (0, *COUNT)),
    },
    "SimulatedAnnealing": {
        **SEARCH,
        "n_draws": Option((0, 1, 100, 400), COUNT),
        "initial_temperature": Option((None, 1.0, 100.0), (0, *REAL)),
        "final_temperature": Option((0.01, 0.5), (0, *REAL)),
    },
    "BestFirstSearch": {
        **SEARCH,
        "width": Option((1, 3, 10), (0, *COUNT)),
        "patience": Option((0, 5, 20), COUNT),
        "max_open": Option((1, 10, 1000), (0, *COUNT)),
    },
    "GreedyEquivalenceSearch": {
        **SEARCH,
        "phases": Option(
            (("forward", "backward"), ["turning"], ["backward", "forward"]), ((), "forward", ("x",), 3, None)
        ),
        "repeat": Option((False, True), SWITCH),
    },
}
FOREST = {
    **BAYESIAN,
    "weight": Option(("mutual_info", "bic", "aic", "bdeu"), ("x", None, 3)),
    "equivalent_sample_size": Option((10, 0.1, 1000.0), (0, *REAL)),
    "root": Option((None,), ("no such column",)),
    "class_node": Option((None,), ("no such column",)),
}
MARKOV = {
    **RUN,
    **RANDOM,
    **CHECKPOINT,
    "lam": Option((None, 0.02, 0.1, 1.0, 1e9), REAL),
    "lam_ratio": Option((0.1, 0.3, 0.9, 1.0, 5.0), (*REAL, None)),
    "l2": Option((0.001, 0.1, 1e6), (*REAL, None, 1e300, inf)),
    "refit": Option((False, True), SWITCH),
    "loss": Option(("pseudolikelihood", "exact"), ("x", None)),
    "penalize_nodes": Option((False, True), SWITCH),
    "max_edges": Option((None, 0, 1, 3, 10**9), COUNT),
    "tol": Option((1e-4, 1e-3), (0, *REAL, 1e-12)),
    "missing": Option(("error", "drop", "category"), ("x", None, "pairwise")),
    "state_names": Option((None, {}), (3, "x", ["a"])),
    "required_edges": Option((None, ()), (3, "x", [("a",)], [3])),
    "forbidden_edges": Option((None, []), (3, "x", [("a", "b", "c")])),
    "edge_weights": Option((None, {}), (3, "x", [[1.0, 2.0]], {"a": 2.0})),
    "start": Option((None,), (3, "x")),
    "true_graph": Option((None,), (3, "x")),
}
HUBS = {
    "structure_heuristics": Option((False, True), SWITCH),
    "hub_threshold": Option((None, 0.0, 0.5, 1.0), (-0.1, 1.1, nan, "x")),
}
RESERVOIR = {
    "alpha": Option((0, 0.5, 1), (-0.1, 1.1, nan, "x")),
    "reservoir_size": Option((None, 1, 5), (0, *COUNT)),
    "max_tests": Option((None, 100), (0, *COUNT)),
}
MARKOVS = {
    "EdgeGrafting": {
        **MARKOV,
        "batch": Option((False, True), SWITCH),
        "alpha": Option((0.0, 0.5, 1.0), (-0.1, 1.1, "x")),
    },
    "FeatureGrafting": MARKOV,
    "GraftingLight": MARKOV,
    "BestChoiceEdgeGrafting": {**MARKOV, **HUBS, **RESERVOIR},
    "OnlineEdgeGrafting": {**MARKOV, **HUBS, **RESERVOIR},
    "FirstHitEdgeGrafting": {**MARKOV, **HUBS},
    "GroupLassoMarkovNetwork": MARKOV,
}
GAUSSIAN = {
    **RUN,
    "lam": Option((None, 0.05, 0.3, 1.0, 1e9), REAL),
    "lam_ratio": Option((0.1, 0.3, 0.9, 1.0, 5.0), (*REAL, None)),
    "refit": Option((False, True), SWITCH),
    "tol": Option((), (0, *REAL)),
    "max_iter": Option((), (0, *COUNT)),
    "covariance": Option(("empirical",), ("x", None)),
    "n_samples": Option((None,), (1, *REAL)),
    "missing": Option(("error", "drop", "pairwise"), ("x", None, "category")),
}
GAUSSIANS = {
    "GraphicalLasso": {
        **GAUSSIAN,
        "penalize_diagonal": Option((False, True), SWITCH),
        "max_block": Option((None, 10**9), (0, *COUNT)),
    },
    "CLIME": {
        **GAUSSIAN,
        "solver": Option(("auto", "homotopy"), ("x", None)),
        "ridge": Option(("auto", 0.01, 0.5), (-1.0, nan, "x", None)),
    },
    "NeighborhoodLasso": {**GAUSSIAN, "rule": Option(("and", "or"), ("x", None))},
}


def draw_options(rng: np.random.Generator, options: dict[str, Option], fixed: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return some options with allowed values; those in `fixed` are left to the caller."""
    drawn: dict[str, Any] = {"show_progress": False} if "show_progress" in options else {}
    for name, option in options.items():
        if option.valid and name not in fixed and chance(rng, 0.25):
            drawn[name] = pick(rng, option.valid)
    return drawn


def spoil_option(rng: np.random.Generator, options: dict[str, Option]) -> tuple[dict[str, Any], list[Fault]]:
    """Return one option with a value that must be refused."""
    name = pick(rng, [name for name, option in options.items() if option.wrong])
    return {name: pick(rng, options[name].wrong)}, [fault(name)]


def in_folder(options: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return options of which a checkpoint lies in a folder."""
    if options.get("checkpoint") == "file":
        return {**options, "checkpoint": folder / "run.ckpt"}
    return options

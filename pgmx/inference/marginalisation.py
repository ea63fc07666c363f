"""Which engine answers a question about marginals: an exact one where memory allows, else beliefs or samples."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from math import prod
from typing import Any

import numpy as np

from pgmx.inference.engines import (
    BELIEF_OPTIONS,
    CORRECTION_OPTIONS,
    GIBBS_OPTIONS,
    BeliefEngine,
    CorrectedEngine,
    Engine,
    SampleEngine,
)
from pgmx.inference.exact.conditioning import plan_rest, sum_each_configuration
from pgmx.inference.exact.elimination import TreewidthError
from pgmx.inference.exact.exact import ExactInference
from pgmx.inference.networks.evidence import ReducedNetwork, describe_impossible
from pgmx.inference.partition import warn_approximate
from pgmx.inference.problem import NetworkLike, Problem, check_memory, check_method, check_options

#: Most configurations of some variables for which all others are eliminated.
MOST_CONFIGURATIONS = 16
#: Methods of the questions about marginals.
METHODS = ("auto", "exact", "corrected", "loopy", "gibbs")


def read_question(
    model: NetworkLike, evidence: Mapping[Hashable, Hashable] | None, method: str, options: Mapping[str, Any]
) -> tuple[Problem, dict[int, int]]:
    """Check method and options of a question about marginals; return the network and the evidence by number."""
    check_method(method, METHODS)
    known = {"exact": (), "gibbs": (*GIBBS_OPTIONS, "n_samples", "seed"), "loopy": BELIEF_OPTIONS}
    check_options(options, known.get(method, (*BELIEF_OPTIONS, *CORRECTION_OPTIONS)), method)
    problem = Problem.from_model(model)
    return problem, problem.codes_of(evidence)


def choose_engine(
    problem: Problem, codes: dict[int, int], method: str, memory: int | None, options: Mapping[str, Any]
) -> Engine:
    """Calibrate a junction tree; or take what the method asks for, or corrected beliefs where the tree is too large."""
    if method == "gibbs":
        return SampleEngine(problem, codes, **options)
    if method == "loopy":
        return BeliefEngine(problem, codes, options)
    if method == "corrected":
        return CorrectedEngine(problem, codes, **options)
    try:
        return problem.exact(codes, check_memory(memory))
    except TreewidthError as error:
        if method == "exact":
            raise error.with_engines("belief propagation corrected by samples (method='corrected')") from None
        engine = CorrectedEngine(problem, codes, **options)
        warn_approximate(
            "the answer is that of loopy belief propagation corrected by Gibbs sampling; probabilities of single "
            f"variables are off by up to {engine.errors.max():.2g}, by estimate",
            error,
        )
        return engine


def compute_joint(
    problem: Problem, codes: dict[int, int], ids: list[int], method: str, memory: int | None, options: Mapping[str, Any]
) -> np.ndarray:
    """Compute a joint distribution by a junction tree, or where that is too large by elimination per configuration."""
    if method not in ("auto", "exact"):
        return choose_engine(problem, codes, method, memory, options).joint(ids)
    memory = check_memory(memory)
    try:
        return problem.exact(codes, memory).joint(ids)
    except TreewidthError:
        answer = _eliminate_others(problem, codes, ids, memory)
    return choose_engine(problem, codes, method, memory, options).joint(ids) if answer is None else answer


def _eliminate_others(problem: Problem, codes: dict[int, int], ids: list[int], memory: int) -> np.ndarray | None:
    """Return a joint distribution by elimination of all others; None where that takes too much memory, or too long."""
    reduced = ReducedNetwork(problem.model, codes)
    if prod(reduced.cards[v] for v in ids) > MOST_CONFIGURATIONS:
        return None
    plan, cost = plan_rest(reduced.cards, [scope for scope, _ in reduced.factors], ids)
    if cost.bytes > memory:
        return None
    logs = sum_each_configuration(problem.model, codes, ids, plan)
    if logs.max() == -np.inf:
        raise ValueError(describe_impossible(reduced.evidence))
    shares = np.exp(logs - logs.max())
    return shares / shares.sum()


def try_exact(problem: Problem, codes: dict[int, int], method: str, memory: int | None) -> ExactInference | None:
    """Return a calibrated junction tree; where that takes too much, None and a warning if the method is "auto"."""
    try:
        return problem.exact(codes, check_memory(memory))
    except TreewidthError as error:
        if method == "exact":
            raise error.with_engines("Gibbs sampling (method='gibbs')") from None
        warn_approximate("the answer is that of Gibbs sampling, an approximation", error)
        return None

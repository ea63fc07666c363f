"""Which engine answers a question about marginals: an exact one where memory allows, else beliefs or samples."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from pgmx.inference.engines import (
    BELIEF_OPTIONS,
    CORRECTION_OPTIONS,
    GIBBS_OPTIONS,
    BeliefEngine,
    CorrectedEngine,
    Engine,
    SampleEngine,
)
from pgmx.inference.exact.elimination import TreewidthError
from pgmx.inference.exact.exact import ExactInference
from pgmx.inference.partition import warn_approximate
from pgmx.inference.problem import NetworkLike, Problem, check_memory, check_method, check_options

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


def try_exact(problem: Problem, codes: dict[int, int], method: str, memory: int | None) -> ExactInference | None:
    """Return a calibrated junction tree; where that takes too much, None and a warning if the method is "auto"."""
    try:
        return problem.exact(codes, check_memory(memory))
    except TreewidthError as error:
        if method == "exact":
            raise error.with_engines("Gibbs sampling (method='gibbs')") from None
        warn_approximate("the answer is that of Gibbs sampling, an approximation", error)
        return None

"""Most probable states of all variables together: exactly where memory allows, else by a search with a bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pgmx.inference.approximate.search import search_configuration
from pgmx.inference.engines import BeliefEngine
from pgmx.inference.exact.elimination import TreewidthError
from pgmx.inference.partition import warn_approximate
from pgmx.inference.problem import MapAssignment, Problem, check_memory

#: Options of the search.
SEARCH_OPTIONS = ("n_passes", "n_sweeps", "random_state")


def compute_map(
    problem: Problem, codes: Mapping[int, int], method: str, memory: int | None, options: Mapping[str, Any]
) -> MapAssignment:
    """Compute the most probable states given evidence by number; the search takes over if the method is "auto"."""
    if method == "loopy":
        best = BeliefEngine(problem, codes, {**options, "maximise": True}).map()
        return _name_states(problem, codes, best.codes, best.log_value, np.inf, "loopy")
    if method == "search":
        return _search(problem, codes, options)
    try:
        best = problem.exact(codes, check_memory(memory)).map()
    except TreewidthError as error:
        if method == "exact":
            raise error.with_engines("a search (method='search')") from None
        answer = _search(problem, codes, options)
        if not answer.exact:
            warn_approximate(
                f"the most probable states are those of a search: their score is {answer.log_value:.6g}, and none is "
                f"above {answer.bound:.6g}",
                error,
            )
        return answer
    return _name_states(problem, codes, best.codes, best.log_value, best.log_value, "exact")


def _search(problem: Problem, codes: Mapping[int, int], options: Mapping[str, Any]) -> MapAssignment:
    return _name_states(problem, codes, *search_configuration(problem, codes, **options), "search")


def _name_states(
    problem: Problem, codes: Mapping[int, int], best: np.ndarray, log_value: float, bound: float, method: str
) -> MapAssignment:
    free = (v for v in range(len(problem.names)) if v not in codes)
    states = {problem.names[v]: problem.states[v][int(best[v])] for v in free}
    return MapAssignment(states, log_value, bound, method)

"""What the learners that test a stream of edges have in common."""

from math import isqrt
from numbers import Integral, Real
from typing import Any

from pgmx.estimators.base import Interval
from pgmx.estimators.markov.learner import MarkovLearner
from pgmx.estimators.markov.problem import MarkovProblem
from pgmx.search.edges.sources import StreamedEdges
from pgmx.search.edges.stream import EdgeStream

RESERVOIR_CONSTRAINTS: dict[str, Any] = {
    "alpha": [Interval(Real, 0, 1, closed="both")],
    "reservoir_size": [Interval(Integral, 1, None, closed="left"), None],
    "max_tests": [Interval(Integral, 1, None, closed="left"), None],
}


class StreamLearner(MarkovLearner):
    """Base of the learners that test edges one after another."""

    _parameter_constraints = {
        **MarkovLearner._parameter_constraints,
        "structure_heuristics": ["boolean"],
        "hub_threshold": [Interval(Real, 0, 1, closed="both"), None],
    }
    _loss_options: dict[str, Any] = {}

    structure_heuristics: bool
    hub_threshold: float | None

    def _stream_edges(
        self, problem: MarkovProblem, seed: int, mode: str, reservoir_size: int | None, max_tests: int | None, alpha
    ) -> StreamedEdges:
        """Return a stream; by default the reservoir holds n edges, and a round takes √n tests."""
        stream = EdgeStream(
            problem.n,
            reservoir_size=problem.n if reservoir_size is None else int(reservoir_size),
            max_tests=max(1, isqrt(problem.n)) if max_tests is None else int(max_tests),
            alpha=float(alpha),
            penalty_weight=problem.knowledge.weight,
            structure_heuristics=bool(self.structure_heuristics),
            hub_threshold=self.hub_threshold,
            mode=mode,
            seed=seed,
            allowed=problem.candidate_rule(),
            lookahead=64,
        )
        return StreamedEdges(stream, self.tol)

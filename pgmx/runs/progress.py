"""The argument of a callback: a named tuple per family of learners."""

from typing import NamedTuple

#: Figures of a history that are not fields of the progress, and their types.
EXTRA_FIGURES = {"cpu_seconds": float, "n_tables": int, "recall": float, "held_out": float, "member": int}


class SearchProgress(NamedTuple):
    """Of a search over directed acyclic graphs: moves made, and score (nats) and arcs of the present graph."""

    n_iter: int
    score: float
    n_edges: int
    seconds: float


class GraftingProgress(NamedTuple):
    """Of edge grafting: rounds, objective (nats per row), activated edges, scores of inactive pairs computed.

    Feature-wise learners count single parameters in place of edges.
    """

    n_iter: int
    objective: float
    n_edges: int
    seconds: float
    n_tests: int


class SolverProgress(NamedTuple):
    """Of a Gaussian learner: sweeps, blocks of columns or penalties; the objective, NaN where it is not computed.

    Column-wise learners count as edges the pairs of a variable and a neighbour that it chose.
    """

    n_iter: int
    objective: float
    n_edges: int
    seconds: float


class ResamplingProgress(NamedTuple):
    """Of a bootstrap: resamples done."""

    n_iter: int
    seconds: float

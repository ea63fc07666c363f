"""One resample of a table, and the graph that a learner returns for it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy.base import PDAG
from sklearn.base import clone

from pgmx.checks import without_warnings
from pgmx.data import DiscreteTable, DistributedNumericTable, Frame, encode
from pgmx.data.distributed.tables import is_remote
from pgmx.data.draws import count_draws, count_many_draws, count_weighted_draws
from pgmx.data.errors import warn_of_rows_left
from pgmx.data.weights import MOST_REPETITIONS, Interventions, check_row_weights
from pgmx.estimators.base import BaseStructureLearner
from pgmx.estimators.bayesian.dag_learner import DagLearner, InputTable
from pgmx.estimators.bayesian.pgmpy_interface import BaseStructureScore
from pgmx.graphs.consensus import Marks, make_marks
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.binding.scoring import Scoring
from pgmx.scores.discrete.base import DiscreteScore
from pgmx.scores.gaussian.base import GaussianScore
from pgmx.scores.mixed.base import MixedScore
from pgmx.scores.registry import list_scores

#: Options of the learner that a resample sets, so that nothing is shown and resamples do not share a file.
_SILENT = {"show_progress": False, "checkpoint": None}


@dataclass(frozen=True, eq=False)
class Resampler:
    """Task of a worker: draw the rows of resample b and learn from them with a clone of `learner`.

    `weights` are the row weights, of shape (n_rows,), or None if all are 1. The draws are functions of (seed, b), see
    `data.draws`. `seeds_learner` is true if the learner has no seed and gets one for each resample.
    """

    learner: BaseStructureLearner
    n_rows: int
    weights: np.ndarray | None
    seed: int
    seeds_learner: bool
    interventions: Interventions | None = None

    @classmethod
    def from_learner(
        cls,
        learner: BaseStructureLearner,
        n_rows: int,
        weights: np.ndarray | None,
        seed: int,
        interventions: Interventions | None = None,
    ) -> Self:
        """Return a resampler with a quiet clone of the learner."""
        quiet: Any = clone(learner)
        options = quiet.get_params()
        quiet.set_params(**{option: value for option, value in _SILENT.items() if option in options})
        if interventions is not None:  # their column has been removed
            quiet.set_params(interventions=None)
        return cls(quiet, n_rows, weights, seed, options.get("random_state", 0) is None, interventions)

    def __call__(self, data: InputTable, b: int) -> tuple[str, Marks]:
        """Return the type of the graph of resample b, and its edges."""
        learner: Any = clone(self.learner)
        if self.seeds_learner:
            learner.random_state = int(np.random.default_rng([self.seed, b]).integers(2**31))
        bound = isinstance(getattr(learner, "scoring_method", None), BaseStructureScore)
        with without_warnings():  # given for all rows
            if is_remote(data) and not bound:  # the workers draw their rows: counts would be sent for each resample
                drawn = data.draw_rows(self.seed, b) if self.repeats_rows else data.draw_weights(self.seed, b)
                learner.fit(drawn, sample_weight=drawn.row_weights)
            elif bound or _is_mixed(data) or not self.repeats_rows:
                learner.fit(data, sample_weight=self.count_draws(b), **self._draw_interventions(None))
            else:
                counts = self.count_draws(b)
                learner.fit(_repeat_rows(data, counts), **self._draw_interventions(counts))
        return _read_edges(learner)

    def _draw_interventions(self, counts: np.ndarray | None) -> dict[str, Interventions]:
        """Return the argument of ``fit`` with the interventions of the rows, or of repeated rows; empty without any."""
        if self.interventions is None:
            return {}
        return {"interventions": self.interventions if counts is None else self.interventions.repeat(counts)}

    @property
    def n_draws(self) -> int:
        """Number of rows of a resample: the number of rows, or the sum of their weights."""
        return self.n_rows if self.weights is None else round(float(self.weights.sum()))

    @property
    def repeats_rows(self) -> bool:
        """Whether a resample repeats drawn rows, if they are few, instead of weighting them."""
        # weights with a large sum would repeat rows without bound
        return self.n_draws <= MOST_REPETITIONS * self.n_rows

    def count_draws(self, b: int) -> np.ndarray:
        """Draw rows with replacement in proportion to their weights; return how often each was drawn, int64."""
        if self.weights is None:
            return count_draws(self.seed, b, self.n_rows)
        if not self.repeats_rows:
            return count_many_draws(self.seed, b, self.weights)
        return count_weighted_draws(self.seed, b, np.cumsum(self.weights, dtype=np.float64))


def make_shared_table(
    learner: BaseStructureLearner, opened: InputTable, sample_weight: ArrayLike | None, n_jobs: int | None
) -> tuple[InputTable, np.ndarray | None]:
    """Return the data that all resamples share, coded once if the learner is discrete, and the row weights."""
    weights = None if sample_weight is None else check_row_weights(sample_weight, opened.n_rows)
    method = getattr(learner, "scoring_method", None)
    if isinstance(method, BaseStructureScore) and not _is_native(method):
        raise ValueError(
            f"scoring_method={type(method).__name__}(...) is a score object of pgmpy with its own rows and cannot be "
            "resampled: give its name, or a score of pgmx"
        )
    if isinstance(opened, DiscreteTable | DistributedNumericTable):
        # workers draw in proportion to the weights that they keep; without weights here, those of the table remain
        return opened if weights is None else opened.keep_weights(weights)[0], weights
    missing = getattr(learner, "missing", "error")
    if missing == "drop" and opened.missing_columns():
        keep = opened.complete_mask()
        if keep.sum() > 1:  # otherwise the coding raises an error
            warn_of_rows_left(int(keep.sum()), opened.n_rows)
            weights = None if weights is None else check_row_weights(weights[keep], int(keep.sum()))
            opened = opened.rows(keep)
    if not _is_discrete(method, opened):
        return opened, weights
    states = method.state_names if isinstance(method, DiscreteScore) else getattr(learner, "state_names", None)
    coding = "pairwise" if missing == "em" else missing
    return encode(opened, state_names=states, missing=coding, n_jobs=n_jobs), weights


def _is_native(score: BaseStructureScore) -> bool:
    return isinstance(score, DiscreteScore | GaussianScore | MixedScore) and score.is_compiled()


def _is_discrete(method: Any, frame: Frame) -> bool:
    if isinstance(method, BaseStructureScore):
        return isinstance(method, DiscreteScore)
    is_continuous = isinstance(method, str) and method.lower() not in list_scores("discrete", aliases=True)
    return not is_continuous and not frame.float_columns


def _is_mixed(data: InputTable) -> bool:
    """Return whether the data are mixed. A resample of weighted rows then has all states of the table."""
    return isinstance(data, Frame) and 0 < len(data.float_columns) < data.n_columns


def bind_score(
    learner: BaseStructureLearner,
    data: InputTable,
    weights: np.ndarray | None,
    n_jobs: int | None,
    interventions: Interventions | None = None,
) -> Scoring:
    """Return the score on all rows, from which parameters are estimated."""
    method = getattr(learner, "scoring_method", None)
    return resolve_scoring(
        method,
        data,
        state_names=getattr(learner, "state_names", None),
        missing=getattr(learner, "missing", "error"),
        n_jobs=n_jobs,
        sample_weight=weights,
        discrete_children=getattr(learner, "discrete_children", "forbidden"),
        interventions=interventions,
    )


def _repeat_rows(data: Any, counts: np.ndarray) -> DiscreteTable | Frame:
    if isinstance(data, DiscreteTable):
        return data.repeat_rows(counts)
    rows = np.repeat(np.arange(data.n_rows), counts)
    return Frame(data.names, [values.take(rows) for values in data.columns], len(rows), discrete=data.discrete)


def _read_edges(learner: BaseStructureLearner) -> tuple[str, Marks]:
    """Return the type of graph of a fitted learner (DAG, PDAG or undirected), and its edges as ids."""
    # from its arrays, without making a graph object per resample
    if isinstance(learner, DagLearner):
        if learner._kind == "dag":
            return "dag", make_marks(learner.edges_.tolist())
        return "pdag", make_marks(*learner._class_edges())
    graph = learner.graph_
    index = {name: v for v, name in enumerate(learner.variables_)}

    def ids(edges: Iterable) -> list[tuple[int, int]]:
        return [(index[u], index[v]) for u, v in edges]

    if not isinstance(graph, nx.DiGraph):
        return "graph", make_marks((), ids(graph.edges))
    if isinstance(graph, PDAG):
        return "pdag", make_marks(ids(graph.directed_edges), ids(graph.undirected_edges))
    return "dag", make_marks(ids(graph.edges))

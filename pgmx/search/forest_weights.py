"""Scores of forest learners, and weights of pairs of variables from stored gains, local or distributed counts."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf, log
from typing import NamedTuple

import numpy as np

from pgmx import scores
from pgmx._ext import _pair_weights
from pgmx.data import DiscreteTable, DistributedNumericTable, Frame, encode
from pgmx.parallel.threads import THREAD_PAYS, count_threads, run_on_threads
from pgmx.scores import ScoreTerms
from pgmx.scores.binding.discrete import DiscreteScoring
from pgmx.scores.binding.resolve import refuse_integers, resolve_scoring
from pgmx.scores.binding.scoring import Scoring
from pgmx.statistics.counts import add_counts, arrange_planes, count_segment_pairs, count_segments

#: The scores whose gains are the weights: for discrete, continuous and mixed data.
SCORE_OF_WEIGHT = {
    "mutual_info": ("ll", "ll-g", "ll-clg"),
    "bic": ("bic", "bic-g", "bic-clg"),
    "aic": ("aic", "aic-g", "aic-clg"),
    "bge": ("bge", "bge", "bge"),
    "bic-dg": ("bic-dg", "bic-dg", "bic-dg"),
}

#: Scores whose terms the pair kernel sums; all of them are score-equivalent.
COUNTED = (scores.LogLikelihood, scores.BIC, scores.AIC, scores.BDeu)

#: Planes of a block per thread, and column blocks per thread, so that a thread that is slowed down processes fewer.
_BLOCK_PLANES, _BLOCKS_PER_THREAD = 32, 4

#: Seconds per word of two planes and per cell of a table: they determine whether threads are worthwhile.
_WORD_PAIR_SECONDS, _CELL_SECONDS = 7e-11, 2e-9

#: Columns of a block that are counted before their weights are read, so that both stay in the second-level cache.
_COLUMNS = 1 << 11
Visitor = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]

#: Bytes of counts that are requested at once.
_BLOCK_BYTES = 1 << 22


class PairWeights(ABC):
    """Weights of pairs of variables, by blocks of rows."""

    n: int
    #: Magnitude of the terms whose difference is a weight: rounding errors are proportional to it.
    scale: float
    #: Best number of rows per request.
    block: int

    @abstractmethod
    def write(
        self, block: np.ndarray, others: np.ndarray, weights: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> None:
        """Write the weight of ``block[i]``, ``others[k]`` to ``weights[rows[i], columns[k]]``, -inf for none; int64."""

    def rows(self, block: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the weights, of shape (block, others)."""
        block, others = (np.ascontiguousarray(ids, dtype=np.int64) for ids in (block, others))
        weights = np.empty((len(block), len(others)))
        self.write(block, others, weights, np.arange(len(block)), np.arange(len(others)))
        return weights


class StoredWeights(PairWeights):
    """Weights in a matrix that a caller has filled, ``weights[child, parent]``."""

    def __init__(self, weights: np.ndarray, scale: float):
        self.weights = weights
        self.n = len(weights)
        self.scale = scale
        self.block = 1

    def write(
        self, block: np.ndarray, others: np.ndarray, weights: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> None:
        """Copy cells of the matrix."""
        weights[np.ix_(rows, columns)] = self.weights[np.ix_(block, others)]


class CountedWeights(PairWeights):
    r"""Weights :math:`s(j \mid i, C) - s(j \mid C)` counted from bit planes on demand, for a score-equivalent s.

    They are symmetric and not cached. C is the variable `class_node`, or empty; ids are positions in `variables`. A
    weight costs (states - 1)² · N / 512 vector operations with AVX-512. A class variable needs one copy of the codes
    and planes with the rows sorted by its state.
    """

    def __init__(
        self,
        table: DiscreteTable,
        terms: ScoreTerms,
        variables: np.ndarray,
        *,
        class_node: int | None = None,
        n_jobs: int | None = None,
    ):
        planes, offsets, bounds, marginals = arrange_planes(table, variables, class_node)
        self.n = len(variables)
        self.scale = table.n_rows * max(log(table.n_rows), 1.0)
        n_planes = max(int(offsets[-1]) - self.n, 1)  # the last state of each variable has no plane
        states = n_planes / self.n
        #: Estimated seconds of a thread per pair.
        self._pair_seconds = _CELL_SECONDS * (states + 1) ** 2 + _WORD_PAIR_SECONDS * states**2 * planes.shape[1]
        self._kernels = [
            make_pair_kernel(planes, offsets, bounds, marginals, terms)
            for _ in range(min(count_threads(n_jobs), self.n))  # one per thread
        ]
        self.block = max(1, len(self._kernels) * _BLOCK_PLANES * self.n // n_planes)

    def write(
        self, block: np.ndarray, others: np.ndarray, weights: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> None:
        """Count the rows; threads share the columns."""
        seconds = self._pair_seconds * len(block) * len(others)
        n_threads = min(len(self._kernels), max(1, int(seconds / THREAD_PAYS)))
        cuts = (
            np.linspace(0, len(others), (_BLOCKS_PER_THREAD * n_threads if n_threads > 1 else 1) + 1)
            .astype(int)
            .tolist()
        )
        free = self._kernels[:n_threads]

        def prepare() -> Callable[[int], None]:
            kernel = free.pop()
            return lambda k: kernel.write(
                block, others[cuts[k] : cuts[k + 1]], weights, rows, columns[cuts[k] : cuts[k + 1]]
            )

        for _ in run_on_threads(prepare, len(cuts) - 1, n_threads, at_once=True):
            pass

    def visit_pairs(self, make_visitor: Callable[[], Visitor]) -> None:
        """Count all pairs, each once, and pass them to visitors, one per thread.

        A visitor is called with the ids of rows and columns, their weights (of at least that shape), and the first
        column of each row with a new pair. Threads process blocks of rows, so that no thread waits for another.
        """
        ids, n_rows = np.arange(self.n), max(1, self.block // len(self._kernels))
        seconds = self._pair_seconds * self.n**2 / 2
        n_threads = min(len(self._kernels), max(1, int(seconds / THREAD_PAYS)))
        free = self._kernels[:n_threads]

        def prepare() -> Callable[[int], None]:
            kernel, visit, weights = free.pop(), make_visitor(), np.empty((n_rows, _COLUMNS))

            def visit_block(number: int) -> None:
                first = number * n_rows
                block = ids[first : first + n_rows]
                for begin in range(first, self.n, _COLUMNS):
                    others = ids[begin : begin + _COLUMNS]
                    kernel.write(block, others, weights, ids[: len(block)], ids[: len(others)])
                    visit(block, others, weights, np.minimum(np.maximum(block + 1 - begin, 0), len(others)))

            return visit_block

        for _ in run_on_threads(prepare, -(-self.n // n_rows), n_threads, at_once=True):
            pass


class DistributedWeights(PairWeights):
    """The weights of `CountedWeights`, identical to the bit, for distributed data.

    A block of rows of the weight matrix is one message per partition: the joint counts with all other variables.
    """

    def __init__(
        self, table: DiscreteTable, terms: ScoreTerms, variables: np.ndarray, *, class_node: int | None = None
    ):
        self._table = table
        self._share = (variables.tolist(), class_node)
        self.n = len(variables)
        self.scale = table.n_rows * max(log(table.n_rows), 1.0)
        marginals = np.ascontiguousarray(table.reduce(count_segments, self._share, add=add_counts), dtype=np.uint32)
        offsets = np.concatenate(([0], np.cumsum(table.cardinalities[variables]))).astype(np.int64)
        n_planes = max(int(offsets[-1]) - self.n, 1)
        states = n_planes / self.n
        self.block = max(1, int(_BLOCK_BYTES / (4 * len(marginals) * n_planes * states)))
        no_rows = np.empty((int(offsets[-1]), 0), dtype=np.uint64)
        bounds = np.zeros(len(marginals) + 1, dtype=np.int64)
        self._kernel = make_pair_kernel(no_rows, offsets, bounds, marginals, terms)

    def write(
        self, block: np.ndarray, others: np.ndarray, weights: np.ndarray, rows: np.ndarray, columns: np.ndarray
    ) -> None:
        """Let the workers count the block, and compute the weights from the sums."""
        if len(block) and len(others):
            counts = self._table.reduce(count_segment_pairs, self._share, block, others, add=add_counts)
            counts = np.ascontiguousarray(counts, dtype=np.uint32)
            self._kernel.weigh_block(block, others, counts, weights, rows, columns)


def can_be_counted(table: DiscreteTable) -> bool:
    """Return whether every variable has bit planes (not with too many states) and counts fit into 32 bits."""
    return int(table.plane_offsets[-1]) == int(table.cardinalities.sum()) and not table.has_wide_counts


class PairScores(NamedTuple):
    """Weights of pairs by position, and scores (n,) without edges: `scores` given the class, `alone` without it."""

    pair_weights: PairWeights
    scores: np.ndarray
    alone: np.ndarray


def bind_forest_score(
    weight: str,
    data: Frame | DiscreteTable | DistributedNumericTable,
    *,
    equivalent_sample_size: float,
    prior_network,
    sample_weight,
    **options,
) -> Scoring:
    """Return the score of `weight` for the data; `options` are the options of ``resolve_scoring``."""
    if weight in SCORE_OF_WEIGHT:
        kind = _find_kind(data)
        return resolve_scoring(SCORE_OF_WEIGHT[weight][kind], data, sample_weight=sample_weight, **options)
    table = encode(data, **options)
    if weight == "bdeu":
        score: scores.DiscreteScore = scores.BDeu(table, equivalent_sample_size)
    else:
        score = scores.BDe(table, prior_network, equivalent_sample_size)
    return resolve_scoring(score, table, sample_weight=sample_weight, **options)


def _find_kind(data: Frame | DiscreteTable | DistributedNumericTable) -> int:
    """Return 0 for discrete, 1 for continuous, 2 for mixed data."""
    if isinstance(data, DistributedNumericTable):
        refuse_integers(data)
    n_continuous = len(data.float_columns)
    return 0 if n_continuous == 0 else 1 if n_continuous == data.n_columns else 2


def score_pairs(
    scoring: Scoring, variables: np.ndarray, class_node: int | None, n_jobs, deadline: float = inf
) -> PairScores:
    """Return the weights between `variables`, with `class_node` as a parent of all of them."""
    n = len(scoring.names)
    parents = [np.array([] if class_node in (None, v) else [class_node], dtype=np.int32) for v in range(n)]
    none = np.empty(0, dtype=np.int32)
    if type(scoring) is DiscreteScoring and type(scoring.score) in COUNTED and can_be_counted(scoring.table):
        table = scoring.table
        terms = scoring.score.terms(table.n_rows)
        scorer = scores.family_scorer(table, terms, memory=0)
        alone = np.array([scorer.family_score(v, none) for v in range(n)])
        now = alone if class_node is None else np.array([scorer.family_score(v, parents[v]) for v in range(n)])
        if len(variables) > 1 and table.is_remote:  # blocks of counts in messages; here a kernel weighs what it counts
            return PairScores(DistributedWeights(table, terms, variables, class_node=class_node), now, alone)
        if len(variables) > 1:
            return PairScores(CountedWeights(table, terms, variables, class_node=class_node, n_jobs=n_jobs), now, alone)
        return PairScores(StoredWeights(np.zeros((len(variables),) * 2), 1.0), now, alone)
    gains, alone = np.full((n, n), -np.inf), np.empty(n)
    options = {"allowed": None, "deadline": deadline, "n_jobs": n_jobs}
    source = scoring.gains(max_indegree=None, **options)
    if class_node is None:
        source.start(gains, alone)
        now = alone
    else:
        now = np.array([source.rescore(v, parents[v], gains) for v in range(n)])
        source = scoring.gains(max_indegree=0, **options)
        scratch = np.empty((n, n))
        alone = np.array([source.rescore(v, none, scratch) for v in range(n)])
    # the terms n log n of a log-likelihood are at most this large, and so are their rounding errors
    n_rows = getattr(getattr(scoring, "table", None), "n_rows", 2)
    scale = max(float(np.abs(now).max()), n_rows * log(max(n_rows, 2)))
    return PairScores(StoredWeights(np.ascontiguousarray(gains[np.ix_(variables, variables)]), scale), now, alone)


def make_pair_kernel(planes, offsets, bounds, marginals, terms: ScoreTerms) -> _pair_weights.PairWeights:
    """Return the kernel that counts pairs and computes their weights, for one thread."""
    return _pair_weights.PairWeights(
        planes,
        offsets,
        bounds,
        marginals,
        dirichlet=terms.dirichlet,
        per_cell=terms.per_cell,
        prior=terms.prior,
        penalty=terms.penalty,
    )

"""The degenerate Gaussian score: one joint Gaussian of continuous variables and of 0/1 indicators of states."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from pgmx._ext import _blocks, _collinear, _families
from pgmx.data.mixed import MixedTable
from pgmx.scores.chance_edges import EdgePrice
from pgmx.scores.compiled import check_penalty
from pgmx.scores.mixed.base import MixedScore, RowSummary
from pgmx.statistics import Moments
from pgmx.statistics.collinearity import NOISE, find_collinearity, find_small_pivots

#: Number of values that are embedded at a time: 32 MB.
BLOCK_CELLS = 1 << 22


class BICDegenerateGauss(MixedScore):
    r"""BIC of a joint Gaussian of continuous variables and indicators of states, the degenerate Gaussian score.

    .. math::
        \mathrm{DG}(x \mid \Pi) = -\frac{N}{2} \left( \ln |\hat\Sigma_{X \mid P}| + m \ln 2 \pi + m \right)
        - \frac{\ln N}{2} \left( m k + \frac{m (m + 1)}{2} + m \right)

    in nats. A discrete variable with r states that occur is replaced by r - 1 indicator columns (0 or 1), one per state
    except the most frequent state. X are the m columns of the child, P the k columns of its parents, and
    :math:`\hat\Sigma_{X \mid P} = S_{XX} - S_{XP} S_{PP}^{-1} S_{PX}` with covariances S of denominator N.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        Continuous columns of finite values, none constant, and discrete columns. Integers are discrete.
    state_names : dict, optional
        States of some or all discrete columns, in order. States that do not occur have no indicator.
    penalty : float, default=1.0
        Multiplier of what a parameter costs, above 0. It is Tetrad's penalty discount; bnlearn's ``k`` is
        `penalty` · ln N / 2.

    Attributes
    ----------
    variables : list
        Names of the columns.
    mixed : MixedTable
        The continuous and the discrete columns.

    Raises
    ------
    ValueError
        If a continuous column is constant, or values are missing or infinite; the message names the column.

    Notes
    -----
    All arcs are scored, including arcs from continuous to discrete variables, and Markov equivalent graphs have the
    same score. The score is not the likelihood of a distribution of the discrete variables: it measures only linear
    dependence of indicators and continuous variables. It needs one covariance matrix. If all variables are continuous,
    it is :class:`BICGauss`. The choice of the state without an indicator does not matter. [1]_ does not count means as
    parameters, which changes each score by a constant.

    Searches do not add arcs between two variables that determine each other to ten digits, and a family that contains
    both raises an error. If the columns of three or more variables determine each other, all families are scored as if
    each column had independent noise of 1e-6 of its standard deviation.

    The matrix costs N D² multiplications for D columns. A family with d columns costs d³ / 6 multiplications.

    References
    ----------
    .. [1] Andrews, B., Ramsey, J. and Cooper, G. F. (2019). Learning high-dimensional directed acyclic graphs with
       mixed data-types. Proceedings of Machine Learning Research 104, 4-21, section 3.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"k": ["a"] * 4 + ["b"] * 4, "x": [0.0, 1.0, 0.0, 1.0, 5.0, 5.5, 5.0, 5.5]})
    >>> score = BICDegenerateGauss(data)
    >>> round(score.local_score("x", ("k",)) - score.local_score("x", ()), 3)
    13.415
    >>> round(score.local_score("k", ("x",)) - score.local_score("k", ()), 3)
    13.415
    """

    _tags = {"name": "bic-dg", "supported_datatype": "mixed", "default_for": None, "is_parameteric": False}

    def __init__(
        self, data: Any, state_names: Mapping[Hashable, Sequence] | None = None, *, penalty: float = 1.0
    ) -> None:
        self.penalty = check_penalty(penalty)
        super().__init__(data, state_names)

    @property
    def scores_discrete_children(self) -> bool:
        """Whether continuous variables may be parents of discrete variables."""
        return True

    @property
    def equivalent(self) -> bool:
        """Whether Markov equivalent graphs have the same score."""
        return True

    def make_source(
        self,
        mixed: MixedTable,
        weights: np.ndarray | None = None,
        prior_cost: float = 0.0,
        *,
        summary: RowSummary | None = None,
        **options: Any,
    ) -> "_blocks.BlockScorer | _collinear.CollinearScorer":
        """Return the compiled scorer of a table; `prior_cost` is added to the cost of a parameter."""
        summary = self.summarise(mixed, weights) if summary is None else summary
        return make_block_scorer(
            summary, mixed.columns, prior_cost, penalty=self.penalty, size_costs=self.size_costs, **options
        )

    def edge_price(self, mixed: MixedTable, summary: RowSummary, weights: np.ndarray | None = None) -> EdgePrice | None:
        """Return what an edge between two variables costs: the product of their numbers of embedded columns."""
        assert summary.embedding is not None
        sample_moments, starts = summary.embedding
        cost = self.penalty * 0.5 * _families.natural_log(sample_moments.n)
        return EdgePrice(cost, np.diff(starts), sample_moments.n)

    def summarise(self, mixed: MixedTable, weights: np.ndarray | None = None) -> RowSummary:
        """Return the moments of the embedded columns, and the columns that determine each other."""
        return summarise_embedding(*embed_states(mixed, weights), mixed.columns)


def summarise_embedding(sample_moments: Moments, starts: np.ndarray, names: Sequence[Hashable]) -> RowSummary:
    """Return the summary of the moments of embedded columns, see `embed_states`."""
    collinearity = find_collinearity(sample_moments.correlation, sample_moments.n_rows)
    of_columns = [name for name, width in zip(names, np.diff(starts).tolist(), strict=True) for _ in range(width)]
    return RowSummary(collinearity, of_columns, (sample_moments, starts))


def make_block_scorer(
    summary: RowSummary,
    names: Sequence[Hashable],
    prior_cost: float = 0.0,
    *,
    penalty: float = 1.0,
    size_costs: np.ndarray | None = None,
    **options: Any,
) -> "_blocks.BlockScorer | _collinear.CollinearScorer":
    """Return the compiled scorer of the summary of an embedding."""
    scorer: Any
    assert summary.embedding is not None
    sample_moments, starts = summary.embedding
    options.pop("deadline", None), options.pop("n_jobs", None)
    if options.get("max_indegree") is None:
        options["max_indegree"] = len(names)
    variances = sample_moments.cross.diagonal() / sample_moments.n
    cost = penalty * 0.5 * _families.natural_log(sample_moments.n) + prior_cost
    if summary.collinearity is None:
        scorer = _blocks.BlockScorer(
            sample_moments.correlation, variances, starts, sample_moments.n, cost, names=names, **options
        )
    else:
        correlation = summary.collinearity.correlation
        scorer = _collinear.CollinearScorer(
            correlation,
            variances,
            starts,
            sample_moments.n,
            cost,
            NOISE,
            find_copies_of_variables(correlation, starts),
            names=names,
            **options,
        )
    scorer.price_sizes(size_costs)
    return scorer


def find_copies_of_variables(correlation: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return whether the columns of two variables determine each other, symmetric uint8 (n, n), 0 on the diagonal."""
    n, widths = len(starts) - 1, np.diff(starts)
    copies = np.zeros((n, n), dtype=np.uint8)
    for a in range(n):
        for width in np.unique(widths[a + 1 :]).tolist():
            others = a + 1 + np.flatnonzero(widths[a + 1 :] == width)
            own = np.broadcast_to(np.arange(starts[a], starts[a + 1]), (len(others), widths[a]))
            columns = np.concatenate([own, starts[others, None] + np.arange(width)], axis=1)
            copies[a, others] = copies[others, a] = find_small_pivots(correlation, columns).any(axis=1)
    return copies


def embed_states(mixed: MixedTable, weights: np.ndarray | None = None) -> tuple[Moments, np.ndarray]:
    """Return the moments of continuous columns and indicators of states, and the first column of each variable.

    The first columns are int64 (n + 1,). A state has an indicator if it occurs and is not the first of the most
    frequent states.
    """
    shown = []
    for v, position in enumerate(mixed.positions):
        if mixed.is_continuous[v] or mixed.table is None:
            continue
        counts = np.bincount(mixed.table.codes[position], weights, minlength=int(mixed.table.cardinalities[position]))
        occurs = counts > 0
        occurs[int(np.argmax(counts))] = False
        shown.append(np.flatnonzero(occurs))
    widths = np.ones(len(mixed.columns), dtype=np.int64)
    widths[~mixed.is_continuous] = [len(states) for states in shown]
    starts = np.concatenate([[0], np.cumsum(widths)])
    n_columns = int(starts[-1])
    sample_moments = Moments(n_columns)
    step = max(1, BLOCK_CELLS // max(1, n_columns))
    for first in range(0, mixed.n_rows, step):
        rows = slice(first, min(first + step, mixed.n_rows))
        block = np.empty((rows.stop - rows.start, n_columns))
        for v, position in enumerate(mixed.positions):
            columns = slice(starts[v], starts[v + 1])
            if mixed.is_continuous[v]:
                block[:, columns] = mixed.numbers[position, rows, None]
            elif mixed.table is not None:
                block[:, columns] = mixed.table.codes[position, rows, None] == shown[position]
        sample_moments.update(block, None if weights is None else weights[rows])
    return sample_moments, starts

"""The scores of linear Gaussian networks over one covariance matrix."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from pgmx._ext import _collinear, _gaussian
from pgmx.checks import join_names
from pgmx.data import DiscreteTable, NumericTable
from pgmx.data.inputs import open_for_scores
from pgmx.data.weights import Interventions
from pgmx.scores.compiled import CompiledScore, Prices
from pgmx.scores.gains import LIKELIHOOD, FamilyBounds
from pgmx.statistics import Moments, moments
from pgmx.statistics.collinearity import NOISE, Collinearity, find_collinearity, warn_of_columns
from pgmx.statistics.moments import SetSums, sum_moments, sum_sets

if TYPE_CHECKING:
    import pandas as pd


def gaussian_scorer(
    sample_moments: Moments,
    cost: float,
    *,
    allowed: np.ndarray | None = None,
    max_indegree: int | None = None,
    memory: int = 1 << 26,
    names: Sequence[Hashable] | None = None,
) -> "_gaussian.GaussianScorer | _collinear.CollinearScorer":
    r"""Return the compiled scorer of the linear Gaussian families of a table.

    .. math::
        s(x \mid \Pi) = -\frac{N}{2} \left( \ln 2 \pi \hat\sigma^2_{x \mid \Pi} + 1 \right) - c\, (|\Pi| + 2)

    Parameters
    ----------
    sample_moments : Moments
        Moments of the columns, none constant; N is their `n`.
    cost : float
        c, the cost of a free parameter.
    allowed : uint8 ndarray of shape (n, n), optional
        ``allowed[child, parent] == 0`` forbids an arc.
    max_indegree : int, optional
        Largest number of parents. A child with `max_indegree` parents has no gains of additions.
    memory : int, default=2**26
        Bytes of factors that the scorer may keep between calls.
    names : sequence, optional
        Names of the variables, for messages.

    Returns
    -------
    GaussianScorer or CollinearScorer
        A :class:`pgmx.scores.gains.GainSource`: ``start``, ``rescore``, ``restrict`` and ``family_score`` on ids.

    Notes
    -----
    If three or more columns determine each other to ten digits, all families are scored as if each column had
    independent noise of 1e-6 of its standard deviation. Two columns that determine each other are never in the same
    family.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.statistics import moments
    >>> scorer = gaussian_scorer(moments(np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])), 0.0)
    >>> round(scorer.family_score(0, np.array([1], dtype=np.int32)), 3)  # -2 (ln 2 pi + 1)
    -5.676
    """
    correlation = sample_moments.correlation
    return make_gaussian_scorer(
        correlation,
        sample_moments.cross.diagonal() / sample_moments.n,
        sample_moments.n,
        cost,
        find_collinearity(correlation, sample_moments.n_rows),
        allowed=allowed,
        max_indegree=max_indegree,
        memory=memory,
        names=names,
    )


def make_gaussian_scorer(
    correlation: np.ndarray,
    variances: np.ndarray,
    n_rows: float,
    cost: float,
    collinearity: Collinearity | None,
    *,
    max_indegree: int | None = None,
    memory: int = 1 << 26,
    **options: Any,
) -> "_gaussian.GaussianScorer | _collinear.CollinearScorer":
    """Return the compiled scorer of a correlation matrix; `collinearity` holds columns that determine each other."""
    p = len(variances)
    max_indegree = p if max_indegree is None else max_indegree
    if collinearity is None:
        return _gaussian.GaussianScorer(
            correlation, variances, n_rows, cost, max_indegree=max_indegree, memory=memory, **options
        )
    return _collinear.CollinearScorer(
        collinearity.correlation,
        variances,
        np.arange(p + 1),
        n_rows,
        cost,
        NOISE,
        collinearity.copies.view(np.uint8),
        max_indegree=max_indegree,
        **options,
    )


def read_numbers(
    data: Any, *, missing: str = "error", purpose: str = "a Gaussian score"
) -> "pd.DataFrame | NumericTable":
    """Return a frame of the columns of `data`, or a distributed table itself; an error names non-numeric columns.

    Missing and infinite values raise an error unless `missing` drops rows.
    """
    opened = data if isinstance(data, DiscreteTable) else open_for_scores(data, "columns")
    if isinstance(opened, NumericTable):
        return opened
    frame = opened.to_pandas() if isinstance(opened, DiscreteTable) else opened.to_pandas(missing=missing)
    states = [name for name, dtype in zip(frame.columns, frame.dtypes, strict=True) if dtype.kind not in "fiu"]
    if states:
        raise ValueError(
            f"{purpose} needs continuous variables, but these columns are discrete: {join_names(states)}. Choose "
            "'bic-clg' or 'bic-cg', or drop them"
        )
    return frame


def list_names(rows: "pd.DataFrame | NumericTable") -> list:
    """Return the names of the columns."""
    return list(rows.names if isinstance(rows, NumericTable) else rows.columns)


def compute_moments(rows: "pd.DataFrame | NumericTable", weights: np.ndarray | None = None) -> Moments:
    """Return the moments of all columns; workers sum the moments of a distributed table."""
    return sum_moments(rows, weights) if isinstance(rows, NumericTable) else moments(rows, weights)


def compute_set_moments(
    rows: "pd.DataFrame | NumericTable", weights: np.ndarray | None, sets: Interventions | None
) -> tuple[Moments, SetSums | None]:
    """Return the moments of all columns, and sums over sets of rows; None if they would be larger than the rows."""
    if sets is None or weights is not None or isinstance(rows, NumericTable):
        return compute_moments(rows, weights), None
    n_sets, p = sets.targets.shape
    if n_sets * p > sets.n_rows:
        return compute_moments(rows), None
    return sum_sets(rows, sets.set_of_row, n_sets)


def refuse_constant(sample_moments: Moments, names: list) -> None:
    """Raise ValueError with the names of columns that are constant or too large to square."""
    constant = [names[v] for v in sample_moments.constant_columns]
    if constant:
        raise ValueError(f"columns {join_names(constant)} are constant. A Gaussian score needs variance: drop them")
    refuse_huge(sample_moments, names)


def refuse_huge(sample_moments: Moments, names: list) -> None:
    """Raise ValueError with the names of columns that are too large to square."""
    beyond = [names[v] for v in np.flatnonzero(~np.isfinite(sample_moments.cross.diagonal()))]
    if beyond:
        raise ValueError(
            f"column(s) {join_names(beyond)} hold numbers whose squares are too large: give them another unit"
        )


Score = TypeVar("Score", bound="GaussianScore")  # of Self jedi returns the base class


class GaussianScore(CompiledScore):
    """Base of the decomposable scores of linear Gaussian Bayesian networks.

    A subclass defines :meth:`parameter_cost`. A family has one free parameter per parent, one for the mean and one for
    the variance. The data are read once to compute their moments.

    Parameters
    ----------
    data : DataFrame, array or DistributedNumericTable
        One column of finite values per variable, none constant. The data are never changed.
    state_names : dict, optional
        Not used; present for compatibility with pgmpy.

    Attributes
    ----------
    variables : list
        Names of the columns.
    moments : Moments
        Means and cross-products.

    Raises
    ------
    ValueError
        If a column is discrete, is constant, or has missing or infinite values; the message names the column.
    """

    def __init__(self, data: Any, state_names: Mapping[Hashable, Sequence] | None = None):
        self.data = data
        self.state_names = state_names
        rows = read_numbers(data, purpose=type(self).__name__)
        self.variables = list_names(rows)
        self.moments: Moments = compute_moments(rows)
        self.check_moments(self.moments, self.variables)

    @classmethod
    def from_moments(
        cls: type[Score], sample_moments: Moments, names: Sequence[Hashable], prices: Prices | None = None
    ) -> Score:
        """Return the score of non-constant columns, from their moments; its `data` is None."""
        score = cls.__new__(cls)
        score.penalty, score.gamma = (cls.penalty, cls.gamma) if prices is None else prices
        score.data = score.state_names = None
        score.variables = list(names)
        score.moments = sample_moments
        score.check_moments(sample_moments, score.variables)
        return score

    @abstractmethod
    def parameter_cost(self, n_rows: float) -> float:
        """Return the cost of a free parameter in nats, for `n_rows` rows or weights with this sum."""

    @property
    def equivalent(self) -> bool:
        """Whether Markov equivalent graphs have the same score: they do."""
        return True

    def check_moments(self, sample_moments: Moments, names: list) -> None:
        """Raise ValueError with the names of columns for which the score is not defined."""
        refuse_constant(sample_moments, names)

    def find_collinearity(self, sample_moments: Moments) -> Collinearity | None:
        """Return three or more columns that determine each other, None if there are none; `make_scorer` uses them."""
        return find_collinearity(sample_moments.correlation, sample_moments.n_rows)

    def warn_of_collinearity(self, sample_moments: Moments, collinearity: Collinearity | None) -> None:
        """Warn of columns that determine each other."""
        warn_of_columns(sample_moments.correlation, self.variables, collinearity)

    def bounds(self, n_rows: float, prior_cost: float = 0.0) -> FamilyBounds:
        """Return bounds of families that are not scored yet; `prior_cost` is added to the cost of a parameter."""
        return FamilyBounds(LIKELIHOOD, self.parameter_cost(n_rows) + prior_cost, size_costs=self.size_costs)

    def make_scorer(
        self,
        sample_moments: Moments,
        prior_cost: float = 0.0,
        *,
        collinearity: Collinearity | Literal["unknown"] | None = "unknown",
        **options: Any,
    ) -> "_gaussian.GaussianScorer | _collinear.CollinearScorer":
        """Return the compiled scorer of these moments; `prior_cost` is added to the cost of a parameter.

        `collinearity` is the result of `find_collinearity`, if already computed. `options` go to the scorer.
        """
        scorer = make_gaussian_scorer(
            sample_moments.correlation,
            sample_moments.cross.diagonal() / sample_moments.n,
            sample_moments.n,
            self.parameter_cost(sample_moments.n) + prior_cost,
            self.find_collinearity(sample_moments) if collinearity == "unknown" else collinearity,
            **options,
        )
        scorer.price_sizes(self.size_costs)
        return scorer

    def _make_scorer(self) -> "_gaussian.GaussianScorer | _collinear.CollinearScorer":
        return self.make_scorer(self.moments, memory=0, names=self.variables)

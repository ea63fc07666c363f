"""The scores of linear Gaussian networks over one covariance matrix."""

import warnings

import numpy as np

from pgmx._ext import _gaussian
from pgmx.checks import join_names
from pgmx.data import DiscreteTable, open_frame
from pgmx.scores.compiled import CompiledScore
from pgmx.statistics import Moments, moments

#: Least part of a variance that parents may leave; the compiled scorer adds no parent that leaves less.
LEAST_RESIDUAL = 1e-10


def gaussian_scorer(
    found: Moments,
    cost: float,
    *,
    allowed: np.ndarray | None = None,
    max_indegree: int | None = None,
    memory: int = 1 << 26,
    names=None,
) -> "_gaussian.GaussianScorer":
    r"""Return the compiled scorer of the linear Gaussian families of a table.

    .. math::
        s(x \mid \Pi) = -\frac{N}{2} \left( \ln 2 \pi \hat\sigma^2_{x \mid \Pi} + 1 \right) - c\, (|\Pi| + 2)

    Parameters
    ----------
    found : Moments
        Of columns none of which is constant; N is their `n`.
    cost : float
        c, what a free parameter costs.
    allowed : uint8 ndarray of shape (n, n), optional
        ``allowed[child, parent] == 0`` keeps an arc out.
    max_indegree : int, optional
        A child with so many parents gets no gains of additions.
    memory : int, default=2**26
        Bytes of factors that the scorer may keep between calls.
    names : sequence, optional
        Names of the variables, for messages.

    Returns
    -------
    GaussianScorer
        ``family_score(child, parents)``, ``start(gains, scores)``, ``rescore(child, parents, gains)`` and
        ``restrict(allowed)`` on ids; parents as ascending int32. It serves one thread at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.statistics import moments
    >>> scorer = gaussian_scorer(moments(np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])), 0.0)
    >>> round(scorer.family_score(0, np.array([1], dtype=np.int32)), 3)  # -2 (ln 2 pi + 1)
    -5.676
    """
    return _gaussian.GaussianScorer(
        found.correlation,
        np.ascontiguousarray(found.covariance.diagonal()),
        found.n,
        cost,
        allowed=allowed,
        max_indegree=len(found.mean) if max_indegree is None else max_indegree,
        memory=memory,
        names=names,
    )


def numeric_columns(data, *, missing: str = "error", asked_for: str = "a Gaussian score"):
    """Return the names and a frame of the columns of `data`, or raise naming those that hold no numbers.

    Floats, integers and no others are numbers; missing and infinite cells are an error unless `missing` drops rows.
    """
    frame = data.to_pandas() if isinstance(data, DiscreteTable) else open_frame(data).to_pandas(missing=missing)
    states = [column for column in frame if frame[column].dtype.kind not in "fiu"]
    if states:
        raise ValueError(
            f"{asked_for} needs numbers, but {join_names(states)} hold states: choose 'bic-cg', or drop them"
        )
    return frame


def check_varying(found: Moments, names: list) -> None:
    """Raise naming the columns that are constant."""
    constant = [names[v] for v in found.constant_columns]
    if constant:
        raise ValueError(f"columns {join_names(constant)} are constant, which a Gaussian score cannot take: drop them")


def warn_of_copies(found: Moments, names: list) -> None:
    """Warn of pairs of columns that are linear functions of each other: the searches leave them unjoined."""
    correlation = np.abs(np.triu(found.correlation, 1))
    pairs = np.argwhere(1.0 - correlation**2 < LEAST_RESIDUAL)
    if len(pairs):
        shown = ", ".join(f"{names[i]!r} and {names[j]!r}" for i, j in pairs[:5].tolist())
        more = f" and {len(pairs) - 5} more pairs" if len(pairs) > 5 else ""
        warnings.warn(
            f"columns that determine each other linearly: {shown}{more}. Their density is unbounded, so no edge joins "
            "them: drop one of each pair",
            stacklevel=2,
        )


class GaussianScore(CompiledScore):
    """Base of the decomposable scores of linear Gaussian Bayesian networks.

    A subclass states what a free parameter costs; a family has one for each parent, one for the mean and one for the
    variance. The data are read once, for their moments.

    Parameters
    ----------
    data : DataFrame or array
        One column of finite numbers a variable, none constant. It is kept as it is given and never changed.
    state_names : dict, optional
        Not used; pgmpy's scores have it.

    Attributes
    ----------
    variables : list
        Names of the columns.
    moments : Moments
        Means and cross-products.

    Raises
    ------
    ValueError
        If a column holds states, missing or infinite cells, or one value; the message names it.
    """

    def __init__(self, data, state_names=None):
        self.data = data
        self.state_names = state_names
        frame = numeric_columns(data, asked_for=type(self).__name__)
        self._set_variables(frame.columns)
        self.moments: Moments = moments(frame)
        check_varying(self.moments, self.variables)

    @classmethod
    def of_moments(cls, found: Moments, names) -> "GaussianScore":
        """Return the score of columns that are known by their moments alone.

        Parameters
        ----------
        found : Moments
            Means and cross-products; no column constant.
        names : sequence
            Names of the columns.

        Returns
        -------
        GaussianScore
            Its `data` is None.
        """
        score = cls.__new__(cls)
        score.data = score.state_names = None
        score._set_variables(names)
        score.moments = found
        check_varying(found, score.variables)
        return score

    def parameter_cost(self, n_rows: float) -> float:
        """Return what a free parameter costs, in nats, with `n_rows` rows or weights that add up to it."""
        raise TypeError(f"{type(self).__name__} does not say its costs; use one of the scores in pgmx.scores")

    def _make_scorer(self):
        return gaussian_scorer(self.moments, self.parameter_cost(self.moments.n), memory=0, names=self.variables)

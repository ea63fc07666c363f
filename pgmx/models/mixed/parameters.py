"""The class for the parameters of a continuous variable given its parents."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pgmx.checks import as_reals, join_names, read_only
from pgmx.models.names import check_names

#: The name of the intercept in tables, as in R.
INTERCEPT = "(Intercept)"


class ConditionalGaussianCPD:
    r"""A continuous variable given its parents: one regression per configuration of its discrete parents.

    .. math:: x \mid d, c \sim \mathcal{N}\Big(\beta_{d0} + \sum_k \beta_{dk} c_k,\ \sigma_d^2\Big)

    Parameters
    ----------
    variable : hashable
        Name of the variable.
    coefficients : array_like of float, shape (states of each discrete parent ..., 1 + number of continuous parents)
        Intercepts and slopes :math:`\beta`, intercept first; finite.
    std : array_like of float, shape (states of each discrete parent ...)
        Standard deviations :math:`\sigma`, finite and above 0.
    discrete_parents : sequence of hashable, default=()
        Names of the discrete parents, in the order of the axes.
    continuous_parents : sequence of hashable, default=()
        Names of the continuous parents, in the order of the slopes.
    state_names : dict of {name: sequence}, optional
        The states of each discrete parent, in order; 0, 1, ... by default.

    Attributes
    ----------
    variable, discrete_parents, continuous_parents, state_names
        As given, converted to tuples and a dictionary of tuples.
    coefficients, std : ndarray of float64
        Read-only copies.

    Raises
    ------
    ValueError
        If shapes disagree, names occur twice, a coefficient is not finite, or a standard deviation is not above 0.

    Examples
    --------
    >>> from pgmx.models import ConditionalGaussianCPD
    >>> cpd = ConditionalGaussianCPD(
    ...     "level", [[1.0, 0.5], [3.0, 0.25]], [0.1, 0.2], ["dam"], ["rain"], {"dam": ["open", "shut"]}
    ... )
    >>> cpd
    ConditionalGaussianCPD('level' | 'dam', 'rain')
    >>> cpd.to_frame().loc["shut"].to_dict()
    {'(Intercept)': 3.0, 'rain': 0.25, 'std': 0.2}
    """

    def __init__(
        self,
        variable: Hashable,
        coefficients: ArrayLike,
        std: ArrayLike,
        discrete_parents: Sequence[Hashable] = (),
        continuous_parents: Sequence[Hashable] = (),
        state_names: Mapping[Hashable, Sequence] | None = None,
    ) -> None:
        names = check_names([variable, *discrete_parents, *continuous_parents])
        n_states = len(tuple(discrete_parents))
        self.variable = names[0]
        self.discrete_parents = names[1 : 1 + n_states]
        self.continuous_parents = names[1 + n_states :]
        self.coefficients = read_only(np.array(as_reals(coefficients, "coefficients"), dtype=np.float64))
        self.std = read_only(np.array(as_reals(std, "std"), dtype=np.float64))
        cards = self.std.shape
        wanted = (*cards, 1 + len(self.continuous_parents))
        if len(cards) != n_states or self.coefficients.shape != wanted:
            raise ValueError(
                f"{self.variable!r} has {n_states} discrete and {wanted[-1] - 1} continuous parents: its std must have "
                f"one axis per discrete parent, and its coefficients a further axis of length {wanted[-1]}; got the "
                f"shapes {cards} and {self.coefficients.shape}"
            )
        if not np.isfinite(self.coefficients).all():
            raise ValueError(f"the coefficients of {self.variable!r} must be finite")
        if not ((self.std > 0.0) & (self.std < np.inf)).all():
            wrong_one = float(self.std[~((self.std > 0.0) & (self.std < np.inf))][0])
            raise ValueError(f"the std of {self.variable!r} must be finite and above 0, got {wrong_one!r}")
        given = state_names or {}
        self.state_names = {
            name: tuple(given.get(name, range(card))) for name, card in zip(self.discrete_parents, cards, strict=True)
        }
        wrong = [
            name for name, card in zip(self.discrete_parents, cards, strict=True) if len(self.state_names[name]) != card
        ]
        if wrong:
            raise ValueError(f"state_names of {join_names(wrong)} must match the axes of std")

    def to_frame(self) -> pd.DataFrame:
        """Return a row per configuration of the discrete parents: intercept, slopes and standard deviation."""
        numbers = np.column_stack([self.coefficients.reshape(self.std.size, -1), self.std.ravel()])
        columns = pd.Index([INTERCEPT, *self.continuous_parents, "std"], tupleize_cols=False)
        rows = list(product(*self.state_names.values()))
        if len(self.discrete_parents) == 1:
            index = pd.Index([states[0] for states in rows], name=self.discrete_parents[0], tupleize_cols=False)
        elif rows == [()]:
            index = pd.RangeIndex(1)
        else:
            index = pd.MultiIndex.from_tuples(rows, names=self.discrete_parents)
        return pd.DataFrame(numbers, index=index, columns=columns)

    def __repr__(self) -> str:
        parents = ", ".join(map(repr, [*self.discrete_parents, *self.continuous_parents]))
        return f"ConditionalGaussianCPD({self.variable!r}{' | ' + parents if parents else ''})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalGaussianCPD):
            return NotImplemented
        keys = ("variable", "discrete_parents", "continuous_parents", "state_names")
        return all(getattr(self, key) == getattr(other, key) for key in keys) and (
            np.array_equal(self.coefficients, other.coefficients) and np.array_equal(self.std, other.std)
        )

    def __hash__(self) -> int:
        return hash((self.variable, self.discrete_parents, self.continuous_parents))

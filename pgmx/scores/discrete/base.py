"""The interface of pgmpy over the scores of discrete networks."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from math import isfinite
from numbers import Real
from typing import Any

from pgmx.data import DiscreteTable, encode
from pgmx.data.columns.missing import refuse_marked
from pgmx.scores.compiled import CompiledScore, FamilyScorer
from pgmx.scores.discrete.terms import ScoreTerms, family_scorer

#: A smaller equivalent sample size, shared among the cells of a family, would leave the normal range of floats.
SMALLEST_SIZE = 1e-100


def check_sample_size(size: float) -> float:
    """Return an equivalent sample size unchanged, or raise ValueError."""
    if not isinstance(size, Real) or isinstance(size, bool) or not isfinite(size) or size < SMALLEST_SIZE:
        raise ValueError(
            f"equivalent_sample_size must be a positive number, got {size!r}; the smallest is {SMALLEST_SIZE}"
        )
    return size


class DiscreteScore(CompiledScore):
    """Base of the decomposable scores of discrete Bayesian networks.

    A subclass defines :meth:`terms`; counting and summing are compiled.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        One column per variable; integers are states, floats and missing cells are refused. It is kept as it is and
        never changed.
    state_names : dict, optional
        States of each variable, in order; may hold states that never occur. The observed ones by default, and all
        declared categories of a categorical column.

    Attributes
    ----------
    variables : list
        Names of the columns.
    state_names : dict
        States of every variable.
    table : DiscreteTable
        The coded data.

    Notes
    -----
    Cost of a family: one pass over the bit planes of its cells.
    """

    def __init__(self, data: Any, state_names: Mapping[Hashable, Sequence] | None = None):
        self.data = data
        self.table: DiscreteTable = encode(data, state_names=state_names)
        self._set_variables(self.table.columns)
        resolved = {name: list(states) for name, states in zip(self.variables, self.table.states, strict=True)}
        # a complete argument is kept as it is: that is what makes a score cloneable
        self.state_names = state_names if state_names is not None and set(state_names) == set(resolved) else resolved

    def _refuse_marked_cells(self) -> None:
        remedy = "code the table with 'drop' or 'category', or learn with the score's name ('bic', 'aic' or 'll')"
        refuse_marked(self.table, remedy)

    @abstractmethod
    def terms(self, n_rows: float) -> ScoreTerms:
        """Return the terms of the score for a table of `n_rows` rows, or of weights that add up to it."""

    def _make_scorer(self) -> FamilyScorer:
        self._refuse_marked_cells()
        return family_scorer(self.table, self.terms(self.table.n_rows), memory=0)

"""The pgmpy face of pgmx's discrete scores."""

from collections.abc import Hashable, Iterable

import numpy as np
from pgmpy.structure_score import BaseStructureScore

from pgmx.data import DiscreteTable, encode
from pgmx.scores._terms import ScoreTerms, family_scorer


class DiscreteScore(BaseStructureScore):
    """Base of the decomposable scores of discrete Bayesian networks.

    A subclass states its formula and its :class:`ScoreTerms`; counting and summing are compiled.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        One column a variable; integers are states, floats and missing cells are refused. It is kept as it is given
        and never changed.
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
    """

    def __init__(self, data, state_names=None):
        self.data = data
        self.table: DiscreteTable = encode(data, state_names=state_names)
        self.variables = list(self.table.columns)
        resolved = {name: list(states) for name, states in zip(self.variables, self.table.states, strict=True)}
        # a complete argument is kept as it is: that is what makes a score cloneable
        self.state_names = state_names if state_names is not None and set(state_names) == set(resolved) else resolved
        self._ids = {name: i for i, name in enumerate(self.variables)}
        self._scorer = None
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def terms(self, n_rows: int) -> ScoreTerms:
        """Return the terms of the score for a table of `n_rows` rows."""
        raise TypeError(f"{type(self).__name__} does not say its terms; use one of the scores in pgmx.scores")

    def local_score(self, variable: Hashable, parents: Iterable[Hashable]) -> float:
        """Return the score of one family.

        Parameters
        ----------
        variable : hashable
            The child.
        parents : iterable of hashable
            Its parents; their order does not matter.

        Returns
        -------
        float
            In nats.

        Raises
        ------
        ValueError
            If a name is not a column of the data, a parent is given twice, or the child is its own parent.

        Notes
        -----
        Cost: one pass over the bit planes of the family's cells; results are remembered.
        """
        parents = tuple(parents)
        family = (self._id(variable), tuple(sorted(self._id(parent) for parent in parents)))
        if family not in self._known:
            self._known[family] = self._local_score(variable, parents)
        return self._known[family]

    def _local_score(self, variable: Hashable, parents: tuple[Hashable, ...]) -> float:
        """Count and score a family: pgmpy's place for a subclass to put its own formula."""
        child, ids = self._id(variable), sorted(self._id(parent) for parent in parents)
        if child in ids or len(set(ids)) < len(ids):
            raise ValueError(f"parents {list(parents)!r} of {variable!r} must be distinct and other variables")
        if self._scorer is None:
            self._scorer = family_scorer(self.table, self.terms(self.table.n_rows), memory=0)
        return self._scorer.family_score(child, np.array(ids, dtype=np.int32))

    @classmethod
    def is_compiled(cls) -> bool:
        """Tell whether :meth:`terms` says all: no subclass has put its own formula in place of the compiled one."""
        return cls.local_score is DiscreteScore.local_score and cls._local_score is DiscreteScore._local_score

    def _id(self, name: Hashable) -> int:
        try:
            return self._ids[name]
        except (KeyError, TypeError):
            raise ValueError(f"{name!r} is not a variable of the data; the columns are {self.variables!r}") from None

    def __repr__(self):
        return f"{type(self).__name__}({self.table!r})"

    def __getstate__(self):
        # compiled scorers do not travel; the copy makes its own on first use
        return {**self.__dict__, "_scorer": None}

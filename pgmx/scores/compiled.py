"""The pgmpy face of every compiled score."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from pgmpy.structure_score import BaseStructureScore


class CompiledScore(BaseStructureScore):
    """Base of the scores whose families a compiled scorer serves.

    A subclass reads the data in its constructor, calls ``_set_variables`` there, and makes its scorer in
    ``_make_scorer``.
    """

    def _set_variables(self, names: Iterable[Hashable]) -> None:
        self.variables = list(names)
        self._ids = {name: i for i, name in enumerate(self.variables)}
        self._scorer: Any = None
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def _make_scorer(self):
        """Return an object with ``family_score(child, parents)`` on ids."""
        raise TypeError(f"{type(self).__name__} makes no scorer; use one of the scores in pgmx.scores")

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
        Results are remembered.
        """
        parents = tuple(parents)
        family = (self._id(variable), tuple(sorted(self._id(parent) for parent in parents)))
        if family not in self._known:
            self._known[family] = self._local_score(variable, parents)
        return self._known[family]

    def _local_score(self, variable: Hashable, parents: tuple[Hashable, ...]) -> float:
        """Score a family: pgmpy's place for a subclass to put its own formula."""
        child, ids = self._id(variable), sorted(self._id(parent) for parent in parents)
        if child in ids or len(set(ids)) < len(ids):
            raise ValueError(f"parents {list(parents)!r} of {variable!r} must be distinct and other variables")
        if self._scorer is None:
            self._scorer = self._make_scorer()
        return self._scorer.family_score(child, np.array(ids, dtype=np.int32))

    @classmethod
    def is_compiled(cls) -> bool:
        """Tell whether no subclass has put a formula of its own in place of the compiled one."""
        return cls.local_score is CompiledScore.local_score and cls._local_score is CompiledScore._local_score

    def _id(self, name: Hashable) -> int:
        try:
            return self._ids[name]
        except (KeyError, TypeError):
            raise ValueError(f"{name!r} is not a variable of the data; the columns are {self.variables!r}") from None

    def __getstate__(self):
        # compiled scorers do not travel; the copy makes its own on first use
        return {**self.__dict__, "_scorer": None}

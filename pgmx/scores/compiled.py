"""The base class of all compiled scores, which gives them the interface of pgmpy's scores."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from pgmpy.structure_score import BaseStructureScore

from pgmx.checks import is_number
from pgmx.scores.scored_dag import find_scored_dag
from pgmx.scores.set_sizes import log_choices


class FamilyScorer(Protocol):
    """A scorer of single families of ids, such as a source of gains; `parents` are ascending int32."""

    def family_score(self, child: int, parents: np.ndarray) -> float:
        """Return the score of `child` with `parents`."""
        ...


def check_penalty(penalty: object) -> float:
    """Return the multiplier of what a parameter costs, or raise unless it is a positive, finite number."""
    if isinstance(penalty, str | bool) or not hasattr(penalty, "__float__"):
        raise TypeError(f"penalty must be a number above 0, got {penalty!r}")
    if not is_number(penalty) or not penalty > 0:
        raise ValueError(f"penalty must be a finite number above 0, got {penalty!r}")
    return float(penalty)


def check_gamma(gamma: object) -> float:
    """Return the multiplier of what the choice of parents costs, or raise unless it is finite and not negative."""
    if isinstance(gamma, str | bool) or not hasattr(gamma, "__float__"):
        raise TypeError(f"gamma must be a number, 0 or more, got {gamma!r}")
    if not is_number(gamma) or not gamma >= 0:
        raise ValueError(f"gamma must be a finite number, 0 or more, got {gamma!r}")
    return float(gamma)


class Prices(NamedTuple):
    """The multipliers of what a parameter costs, and of what the choice of the parents costs."""

    penalty: float = 1.0
    gamma: float = 0.0


class CompiledScore(BaseStructureScore, ABC):
    """Base of the scores whose families a compiled scorer serves.

    A subclass reads the data in its constructor, sets `variables` there, and makes its scorer in ``_make_scorer``.
    """

    variables: list[Hashable]
    #: Multiplier of what a parameter costs; scores whose parameters have a price set it.
    penalty: float = 1.0
    #: Multiplier of ln C(p - 1, k), what the choice of k parents costs; only EBIC scores set it.
    gamma: float = 0.0
    _scorer: FamilyScorer | None = None

    @cached_property
    def _ids(self) -> dict[Hashable, int]:
        return {name: i for i, name in enumerate(self.variables)}

    @cached_property
    def _family_scores(self) -> dict[tuple[int, tuple[int, ...]], float]:
        return {}

    @abstractmethod
    def _make_scorer(self) -> FamilyScorer:
        """Return the scorer of families of ids."""

    @cached_property
    def size_costs(self) -> np.ndarray | None:
        """What 0 to p - 1 parents cost in addition to their parameters, float64 (p,); None if nothing."""
        p = len(self.variables)
        return self.gamma * log_choices(p - 1, np.arange(p)) if self.gamma else None

    @property
    def equivalent(self) -> bool:
        """Whether Markov equivalent graphs have the same score, among the graphs that the score allows."""
        return False

    def allows(self, tail: Hashable, head: Hashable) -> bool:
        """Return whether graphs may have the arc ``tail -> head``."""
        return True

    def score(self, model: Any) -> float:
        """Return the score of a graph in nats: the sum over its families, plus the log prior of its structure.

        Parameters
        ----------
        model : pgmpy DAG or PDAG, networkx DiGraph, or fitted learner
            Two opposite edges are one undirected edge, as in pgmpy's ``PDAG``. All DAGs with the adjacencies, the
            arrows and the colliders of a partially directed graph have the same score, and one of them is scored. For a
            learner it is ``dag_`` if it has one. Variables of the data that are not nodes are left out, as in pgmpy.

        Returns
        -------
        float
            The score, the higher the better.

        Raises
        ------
        TypeError
            If the graph is undirected or has parallel edges, or the argument is neither a graph nor a learner.
        ValueError
            For a node that is not a column of the data, a directed cycle, and undirected edges if the score gives
            Markov equivalent graphs different scores (K2, BDs) or no DAG has exactly the colliders of the graph.

        Notes
        -----
        pgmpy's scores count an undirected edge in both directions, which is the score of no DAG.

        References
        ----------
        D. Dor, M. Tarsi (1992), A simple algorithm to construct a consistent extension of a partially oriented graph,
        UCLA technical report R-185.
        """
        has_classes = self.equivalent and self.is_compiled()
        return super().score(find_scored_dag(model, type(self).__name__, self.allows if has_classes else None))

    def local_score(self, variable: Hashable, parents: Iterable[Hashable]) -> float:
        """Return the score of one family in nats. Scores are cached, and the order of `parents` does not matter.

        Raises ValueError for names that are not columns of the data, equal parents, and a child that is its own parent.
        """
        parents = tuple(parents)
        family = (self._id(variable), tuple(sorted(self._id(parent) for parent in parents)))
        if family not in self._family_scores:
            self._family_scores[family] = self._local_score(variable, parents)
        return self._family_scores[family]

    def _local_score(self, variable: Hashable, parents: tuple[Hashable, ...]) -> float:
        """Score a family; subclasses of pgmpy scores override the formula here."""
        child, ids = self._id(variable), sorted(self._id(parent) for parent in parents)
        if child in ids or len(set(ids)) < len(ids):
            raise ValueError(f"parents {list(parents)!r} of {variable!r} must be distinct and other variables")
        if self._scorer is None:
            self._scorer = self._make_scorer()
        return self._scorer.family_score(child, np.array(ids, dtype=np.int32))

    @classmethod
    def is_compiled(cls) -> bool:
        """Return whether no subclass overrides the compiled formula."""
        return cls.local_score is CompiledScore.local_score and cls._local_score is CompiledScore._local_score

    def _id(self, name: Hashable) -> int:
        try:
            return self._ids[name]
        except (KeyError, TypeError):
            raise ValueError(f"{name!r} is not a variable of the data; the columns are {self.variables!r}") from None

    def __getstate__(self) -> dict[str, Any]:
        # compiled scorers cannot be pickled; the copy makes a new one on first use
        return {**self.__dict__, "_scorer": None}

"""Codes of the states of a discrete network in categorical columns: kept maps from categories, and columns from codes.

Nothing here imports pgmpy, since workers of a cluster read rows too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from pgmx.data.columns import list_categories
from pgmx.data.declared_states import match_states
from pgmx.inference.problem import Problem


class StateCodes:
    """What reading and writing categorical columns of a network needs, computed once per network.

    A map is an int32 array: ``map[code + 1]`` is the code of the network, -1 for missing values.
    """

    _of_problem: WeakKeyDictionary[Problem, StateCodes] = WeakKeyDictionary()

    def __init__(self, states: Sequence[tuple]) -> None:
        self._states = states
        self._maps: dict[int, tuple[pd.Index, np.ndarray]] = {}
        self._dtypes: dict[int, pd.CategoricalDtype] = {}

    @classmethod
    def of(cls, problem: Problem) -> StateCodes:
        """Return the object of a network, the same in every call."""
        found = cls._of_problem.get(problem)
        if found is None:
            found = cls._of_problem[problem] = cls(problem.states)
        return found

    def find_map(self, v: int, column: pd.Categorical) -> np.ndarray | None:
        """Return the map of a column's categories; None if one of them is not a state of variable v."""
        kept = self._maps.get(v)
        categories = column.dtype.categories
        if kept is not None and kept[0] is categories:
            return kept[1]
        states, observed = self._states[v], list_categories(column)
        if observed == states and list(map(type, observed)) == list(map(type, states)):
            found = list_same_codes(len(states))
        else:
            found = np.append(-1, match_states(observed, states, -1)).astype(np.int32)
            if (found[1:] < 0).any():
                return None
        self._maps[v] = (categories, found)
        return found

    def dtype(self, v: int) -> np.dtype:
        """Return the type of codes in a categorical column of variable v."""
        n = len(self._states[v])
        return np.dtype(np.int8 if n < 128 else np.int16 if n < 32768 else np.int32)

    def make_column(self, v: int, codes: np.ndarray) -> pd.Categorical:
        """Return a column with all states declared; the codes have the type `dtype` and are not copied."""
        dtype = self._dtypes.get(v)
        if dtype is None:
            dtype = self._dtypes[v] = pd.CategoricalDtype(pd.Index(list(self._states[v]), tupleize_cols=False))
        return pd.Categorical.from_codes(codes, dtype=dtype, validate=False)


@lru_cache(maxsize=1024)
def list_same_codes(n_states: int) -> np.ndarray:
    """Return the map of a column whose codes are those of the network; the same object in every call."""
    return np.arange(-1, n_states, dtype=np.int32)

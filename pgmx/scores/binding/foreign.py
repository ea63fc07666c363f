"""Scores of pgmpy and of users, bound to data and called family by family."""

import pickle
from functools import lru_cache
from typing import Any

import numpy as np
from pgmpy.structure_score import BaseStructureScore

from pgmx.data import DiscreteTable
from pgmx.models import fit_discrete, to_linear_gaussian
from pgmx.scores.binding.scoring import WithPrior, as_repetitions, function_gains
from pgmx.scores.priors import StructurePrior


class FunctionScoring(WithPrior):
    """Any other pgmpy score, called family by family.

    `data` is what parameters are fitted to: a coded table for a discrete score, a frame for any other.
    """

    equivalent = False  # unknown

    def __init__(self, score: BaseStructureScore, names: list, data, structure_prior: StructurePrior | None = None):
        self.score = score
        self.score_name = type(score).__name__
        self.names = names
        self.data = data
        self._set_prior(structure_prior)
        if self.parameter_cost:
            raise ValueError(
                f"structure_prior={structure_prior!r} needs the number of parameters of a family, which "
                f"{self.score_name} does not tell: use EdgePrior(c), or one of pgmx's scores"
            )

    def local_score(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family of ids, or say which one has none."""
        family = tuple(self.names[p] for p in parents)
        value = self.score.local_score(self.names[child], family)
        if np.isnan(value) or value == np.inf:
            raise ValueError(
                f"{self.score_name} of {self.names[child]!r} given {list(family)!r} is {value}: a column is "
                "constant or a combination of others; drop it"
            )
        return value

    def gains(self, *, allowed, max_indegree, deadline, n_jobs):
        """Return the remembered scores as a source of gains; `n_jobs` does not apply."""
        if self.score is None:
            raise ValueError(f"{self.score_name} cannot be sent to another process: use n_jobs=1")
        return function_gains(self, allowed, max_indegree, deadline)

    def model(self, edges):
        """Return a discrete network for states, a linear Gaussian one for floats."""
        if isinstance(self.data, DiscreteTable):
            return fit_discrete(self.data, edges)
        if any(dtype.kind != "f" for dtype in self.data.dtypes):
            raise AttributeError(
                f"pgmpy has no network with parameters for what {self.score_name} scores, floats beside states: model_ "
                "needs columns of states with a discrete score, or columns of floats"
            )
        return to_linear_gaussian(self.data, self.names, edges)

    def resampled(self, weights) -> "FunctionScoring":
        """Return the same score made from repeated rows."""
        whole = as_repetitions(weights)
        theirs: Any = getattr(self.score, "data", None)
        if whole is None or not hasattr(theirs, "iloc"):
            raise ValueError(
                f"{self.score_name} takes no row weights: use one of pgmx's scores"
                + ("" if whole is None else ", or a score that keeps its frame as `data`")
            )
        rows = np.repeat(np.arange(len(whole)), whole)
        try:
            options = {**self.score.get_params(deep=False), "data": theirs.iloc[rows].reset_index(drop=True)}
            score = type(self.score)(**options)
        except (AttributeError, TypeError) as error:
            raise ValueError(
                f"{self.score_name} cannot be made from other rows, for its constructor and its attributes do not "
                f"agree ({error}): keep every argument under its own name"
            ) from error
        data = self.data.repeat_rows(whole) if isinstance(self.data, DiscreteTable) else options["data"]
        return FunctionScoring(score, self.names, data, self.structure_prior)

    def __getstate__(self):
        return {**self.__dict__, "score": _portable(self.score)}

    def __setstate__(self, state):
        self.__dict__.update(state)
        if self.score is not None:
            self.score._cached_local_score = lru_cache(maxsize=10000)(self.score._local_score)


def _portable(score):
    """Return a copy of any score without what cannot be pickled, None where that is not enough."""
    state = {name: value for name, value in vars(score).items() if name != "_cached_local_score"}
    try:
        pickle.dumps((type(score), {name: value for name, value in state.items() if name != "data"}))
    except Exception:  # whatever a foreign object raises: its class is local, it holds a lock or a file
        return None
    bare = object.__new__(type(score))
    bare.__dict__.update(state)
    return bare

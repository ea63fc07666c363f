"""Scores of pgmpy and of users, bound to data and called family by family."""

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from pgmpy.structure_score import BaseStructureScore

from pgmx.data import DiscreteTable, open_frame
from pgmx.data.mixed import read_mixed
from pgmx.data.weights import to_repetitions
from pgmx.models import fit_discrete, to_linear_gaussian
from pgmx.scores.binding.scoring import FunctionMixin, make_mixed_model, strip_cache
from pgmx.scores.gains import GainSource
from pgmx.scores.priors import StructurePrior

if TYPE_CHECKING:
    import pandas as pd


class FunctionScoring(FunctionMixin):
    """Any other pgmpy score, called family by family.

    Parameters are fitted to `data`: a coded table for a discrete score, a frame for other scores.
    """

    equivalent = False  # unknown

    def __init__(
        self,
        score: BaseStructureScore,
        names: list,
        data: "DiscreteTable | pd.DataFrame",
        structure_prior: StructurePrior | None = None,
    ):
        self.score = score
        self.score_name = type(score).__name__
        self.names = names
        self.data = data
        self._set_prior(structure_prior)
        if self.parameter_cost:
            raise ValueError(
                f"structure_prior={structure_prior!r} needs the number of parameters of a family, which "
                f"{self.score_name} does not provide: use EdgePrior(c), or one of pgmx's scores"
            )

    def local_score(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family of ids; raise ValueError naming a family without a score."""
        family = tuple(self.names[p] for p in parents)
        value = self.score.local_score(self.names[child], family)
        if np.isnan(value) or value == np.inf:
            raise ValueError(
                f"{self.score_name} of {self.names[child]!r} given {list(family)!r} is {value}. A column is "
                "constant or a combination of others: drop it"
            )
        return value

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return a source of gains that scores each family once; `n_jobs` does not apply."""
        if self.score is None:
            raise ValueError(f"{self.score_name} cannot be sent to another process: use n_jobs=1")
        return super().gains(allowed=allowed, max_indegree=max_indegree, deadline=deadline, n_jobs=n_jobs)

    def model(self, edges: list, **prior: float | None) -> Any:
        """Return a discrete, a linear Gaussian or a conditional Gaussian network, depending on the columns."""
        if isinstance(self.data, DiscreteTable):
            return fit_discrete(self.data, edges, None, **prior)
        if any(dtype.kind != "f" for dtype in self.data.dtypes):
            return make_mixed_model(read_mixed(open_frame(self.data)), edges, prior)
        return to_linear_gaussian(self.data, self.names, edges)

    def reweight(self, weights: np.ndarray) -> "FunctionScoring":
        """Return the same score, made from repeated rows."""
        whole = to_repetitions(weights)
        frame: Any = getattr(self.score, "data", None)
        if whole is None or not hasattr(frame, "iloc"):
            raise ValueError(
                f"{self.score_name} does not support row weights: use one of pgmx's scores"
                + ("" if whole is None else ", or a score that keeps its frame as `data`")
            )
        rows = np.repeat(np.arange(len(whole)), whole)
        try:
            options = {**self.score.get_params(deep=False), "data": frame.iloc[rows].reset_index(drop=True)}
            score = type(self.score)(**options)
        except (AttributeError, TypeError) as error:
            raise ValueError(
                f"{self.score_name} cannot be made from other rows, because its constructor and its attributes do not "
                f"agree ({error}): keep every argument under its own name"
            ) from error
        data = self.data.repeat_rows(whole) if isinstance(self.data, DiscreteTable) else options["data"]
        return FunctionScoring(score, self.names, data, self.structure_prior)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "score": strip_cache(self.score)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.score is not None:
            self.score._cached_local_score = lru_cache(maxsize=10000)(self.score._local_score)

"""Scores bound to data: the common interface, the structure prior, sending to other processes, and pgmpy's scores.

Pickles leave out objects that cannot be pickled or are sent separately.
"""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from pgmpy.structure_score import BaseStructureScore

from pgmx.checks import count_workers, is_number, join_names
from pgmx.data import DiscreteTable, open_frame
from pgmx.data.mixed import MixedTable, read_mixed
from pgmx.data.weights import to_repetitions
from pgmx.models import ConditionalGaussianNetwork, fit_discrete, to_dag, to_linear_gaussian
from pgmx.models.mixed.fitting import Smoothing
from pgmx.models.mixed.network import fit_conditional_gaussian
from pgmx.parallel.tasks import make_sendable, shares_memory
from pgmx.scores.chance_edges import EdgePrice
from pgmx.scores.compiled import CompiledScore
from pgmx.scores.gains import FamilyBounds, FunctionGains, GainSource
from pgmx.scores.priors import StructurePrior

if TYPE_CHECKING:
    import pandas as pd

Bound = TypeVar("Bound")


class Scoring(Protocol):
    """A score bound to data, as a search uses it. It can be sent to other processes."""

    names: list[Hashable]
    bonus: tuple[float, float, float]  # changes of the log prior by an addition, a deletion and a reversal
    equivalent: bool  # whether Markov equivalent graphs have the same score

    @property
    def bounds(self) -> FamilyBounds:
        """Bounds of families that are not scored yet."""
        ...

    @property
    def edge_price(self) -> EdgePrice | None:
        """What an edge between two variables costs; None if its parameters have no fixed price."""
        ...

    @property
    def arc_mask(self) -> np.ndarray | None:
        """The arcs for which the score is defined, uint8, ``arc_mask[child, parent]``; None for all."""
        ...

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return a new source of gains."""
        ...

    def prior(self, edges: np.ndarray) -> float:
        """Return the log prior of the graph."""
        ...

    def model(self, edges: list, **prior: float | None) -> Any:
        """Return the network of `edges` with fitted parameters; `prior` as in `fit_discrete`."""
        ...

    def reweight(self, weights: np.ndarray) -> "Scoring":
        """Return the same score on the same rows, with their weights multiplied by `weights`."""
        ...


class PriorMixin:
    """The structure prior: the argument if given, otherwise the prior of the score."""

    names: list[Hashable]
    score: Any
    #: Cost of a free parameter in addition to that of the score and of the prior.
    extra_cost = 0.0

    @property
    def bounds(self) -> FamilyBounds:
        """Bounds of families that are not scored yet; none by default."""
        return FamilyBounds()

    @property
    def edge_price(self) -> EdgePrice | None:
        """What an edge between two variables costs; None if its parameters have no fixed price."""
        price = self._price_parameters()
        if price is None or self.score.size_costs is None:
            return price
        return price._replace(choice=float(self.score.size_costs[1:2].sum()))

    def _price_parameters(self) -> EdgePrice | None:
        """Return what the parameters of an edge cost; by default they have no fixed price."""
        return None

    @property
    def arc_mask(self) -> np.ndarray | None:
        """The arcs for which the score is defined; all by default."""
        return None

    def _set_prior(self, structure_prior: StructurePrior | None) -> None:
        self.structure_prior = structure_prior
        if structure_prior is not None:
            self.bonus = structure_prior.bonus
            return
        changes = [self.score.structure_prior_ratio(operation) for operation in ("+", "-", "flip")]
        self.bonus = _check_bonus(changes, f"structure_prior_ratio of {type(self.score).__name__}")

    @property
    def parameter_cost(self) -> float:
        """The cost of a free parameter in addition to that of the score: of the structure prior, and `extra_cost`."""
        return self.extra_cost + (0.0 if self.structure_prior is None else self.structure_prior.parameter_cost)

    def prior(self, edges: np.ndarray) -> float:
        """Return the log prior of the graph without the cost of its parameters."""
        if self.structure_prior is not None:
            return self.structure_prior.log_prior(len(edges))
        if type(self.score).structure_prior is BaseStructureScore.structure_prior:
            return 0.0
        return float(self.score.structure_prior(to_dag(self.names, np.asarray(edges).tolist())))


def check_structure_prior(prior: object) -> None:
    """Raise TypeError if `prior` is not a structure prior, ValueError if a value is infinite or a cost negative."""
    if not isinstance(prior, StructurePrior):
        raise TypeError(
            f"structure_prior must be None or a prior of pgmx.scores (UniformPrior(), EdgePrior(c), "
            f"ParameterPrior(cost)), got {prior!r}"
        )
    _check_bonus(prior.bonus, f"structure_prior={prior!r}: its bonus")
    if not is_number(prior.parameter_cost) or prior.parameter_cost < 0 or not is_number(prior.log_prior(0)):
        raise ValueError(
            f"structure_prior={prior!r}: its parameter_cost and log_prior must be finite, the former 0 or more, "
            f"got {prior.parameter_cost!r} and {prior.log_prior(0)!r} without edges"
        )


def _check_bonus(bonus: Iterable[float], what: str) -> tuple[float, float, float]:
    """Return the changes of a log prior by an addition, a deletion and a reversal; raise if these are not numeric."""
    values = tuple(bonus) if isinstance(bonus, Iterable) else ()
    if len(values) != 3 or not all(map(is_number, values)):
        raise ValueError(
            f"{what} must be three finite numbers, of an addition, a deletion and a reversal of an edge, got {bonus!r}"
        )
    return float(values[0]), float(values[1]), float(values[2])


class FunctionMixin(PriorMixin, ABC):
    """Gains of a score that is called family by family."""

    @abstractmethod
    def local_score(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family of ids."""

    def gains(
        self, *, allowed: np.ndarray | None, max_indegree: int | None, deadline: float, n_jobs: int | None
    ) -> GainSource:
        """Return a source of gains that scores each family once; `n_jobs` does not apply."""
        return FunctionGains(
            len(self.names),
            self.local_score,
            allowed=allowed,
            max_indegree=max_indegree,
            deadline=deadline,
            names=self.names,
        )


def make_mixed_model(
    mixed: MixedTable,
    edges: list,
    prior: Mapping[str, float | None],
    weights: np.ndarray | None = None,
    *,
    unbiased: bool = False,
) -> ConditionalGaussianNetwork:
    """Return the network of a graph over a mixed table; raise AttributeError if the graph has none."""
    wrong = [
        f"{mixed.columns[tail]} -> {mixed.columns[head]}"
        for tail, head in edges
        if mixed.is_continuous[tail] and not mixed.is_continuous[head]
    ]
    if wrong:
        raise AttributeError(
            f"the graph has arcs from continuous to discrete variables, {join_names(wrong)}, so model_ is not defined. "
            "Learn a graph without such arcs: scoring_method='bic-clg'"
        )
    return fit_conditional_gaussian(mixed, edges, weights, Smoothing(**prior, unbiased=unbiased))


# ---- to other processes and into pickles ----


def strip_data(score: CompiledScore) -> CompiledScore:
    """Return a copy of one of pgmx's scores with its options and without its data."""
    bare = copy(score)
    for name in ("data", "table", "moments", "mixed"):
        if hasattr(bare, name):
            setattr(bare, name, None)
    bare._family_scores = {}
    return bare


def strip_cache(score: BaseStructureScore) -> BaseStructureScore | None:
    """Return a copy of a foreign score without its cache, which cannot be pickled; None if that does not suffice."""
    state = {name: value for name, value in vars(score).items() if name != "_cached_local_score"}
    try:
        pickle.dumps((type(score), {name: value for name, value in state.items() if name != "data"}))
    except Exception:  # whatever a foreign object raises: its class is local, it holds a lock or a file
        return None
    bare = object.__new__(type(score))
    bare.__dict__.update(state)
    return bare


@contextmanager
def send_scoring(scoring: Bound, n_jobs: int | None) -> Iterator[Bound]:
    """Yield a score bound to data in the form that `n_jobs` workers read fastest: itself if they share memory."""
    table = getattr(scoring, "table", None)
    if table is None or count_workers(n_jobs) == 1:
        yield scoring
        return
    with make_sendable(table, shares_memory("threads")) as sent:
        twin: Any = copy(scoring)
        twin.table = sent
        yield twin


class StoredScoring:
    """A score bound to data, kept by a fitted learner, whose pickle does not depend on the file of a mapped table.

    After unpickling, the score is restored on the first access. If the file does not exist, only that access fails.
    """

    def __init__(self, scoring: Any):
        self._scoring = scoring
        self._pickle: bytes | None = None

    def get(self) -> Any:
        """Return the score; raise FileNotFoundError if the file of its table does not exist."""
        if self._pickle is not None:
            self._scoring, self._pickle = pickle.loads(self._pickle), None
        return self._scoring

    def __getstate__(self) -> dict[str, Any]:
        if any(getattr(getattr(self._scoring, name, None), "path", None) for name in ("table", "data")):
            return {"_scoring": None, "_pickle": pickle.dumps(self._scoring)}
        return self.__dict__


# ---- scores of pgmpy and of users ----


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
        vars(self).update(state)
        if self.score is not None:
            self.score._cached_local_score = lru_cache(maxsize=10000)(self.score._local_score)

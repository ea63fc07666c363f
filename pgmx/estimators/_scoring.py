"""From a user's `scoring_method` and data to a source of gains.

Two kinds: discrete scores run compiled on the coded table; any other score of pgmpy is called family by family.
"""

from typing import Any, Protocol

import numpy as np

from pgmx.data import DiscreteTable, Frame, encode
from pgmx.estimators._base import BaseStructureScore
from pgmx.models import fit_discrete, to_dag, to_linear_gaussian
from pgmx.scores import DiscreteScore, family_scorer
from pgmx.scores.registry import DISCRETE_SCORES, PGMPY_SCORES, check_score_name
from pgmx.search.gains import FunctionGains
from pgmx.statistics import pair_counts


class Scoring(Protocol):
    """A score bound to data, as a search uses it."""

    names: list
    bonus: tuple[float, float, float]

    def gains(self, *, allowed, max_indegree, deadline, n_jobs):
        """Return the source of gains."""

    def prior(self, edges: np.ndarray) -> float:
        """Return the log prior of the graph."""

    def model(self, edges: np.ndarray):
        """Return the network of `edges` with fitted parameters."""


class DiscreteScoring:
    """One of pgmx's scores over a coded table."""

    def __init__(self, score: DiscreteScore, table: DiscreteTable):
        self.score = score
        self.table = table
        self.names = list(table.columns)
        self.bonus = _prior_ratios(score)

    def gains(self, *, allowed, max_indegree, deadline, n_jobs):
        """Return the compiled scorer, pairs counted by `n_jobs` threads; a row is too short to look at the clock."""
        pairs = pair_counts(self.table, n_jobs=n_jobs)
        terms = self.score.terms(self.table.n_rows)
        return family_scorer(self.table, terms, pairs=pairs, allowed=allowed, max_indegree=max_indegree)

    def prior(self, edges) -> float:
        """Return the score's log prior of the graph."""
        return _prior(self.score, self.names, edges)

    def model(self, edges):
        """Return a discrete network, its parameters by maximum likelihood."""
        return fit_discrete(self.table, edges)


class FunctionScoring:
    """Any other pgmpy score, called family by family.

    `data` is what parameters are fitted to: a coded table for a discrete score, a frame for any other.
    """

    def __init__(self, score: BaseStructureScore, names: list, data):
        self.score = score
        self.score_name = type(score).__name__
        self.names = names
        self.data = data
        self.bonus = _prior_ratios(score)

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
        return FunctionGains(
            len(self.names),
            self.local_score,
            allowed=allowed,
            max_indegree=max_indegree,
            deadline=deadline,
            names=self.names,
        )

    def prior(self, edges) -> float:
        """Return the score's log prior of the graph."""
        return _prior(self.score, self.names, edges)

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

    def __getstate__(self):
        # pgmpy's scores hold a cache that cannot be pickled; parameters do not need them
        return {**self.__dict__, "score": None}


def resolve_scoring(scoring_method, data: Frame | DiscreteTable, *, state_names, missing, n_jobs) -> Scoring:
    """Return the score that `scoring_method` means for `data`.

    None means BIC for columns of states, Gaussian BIC where all columns are floats, conditional Gaussian BIC for
    floats beside states.
    """
    options = {"state_names": state_names, "missing": missing, "n_jobs": n_jobs}
    if isinstance(scoring_method, BaseStructureScore):
        return _of_instance(scoring_method, data, options)
    name = _default_name(data) if scoring_method is None else check_score_name(scoring_method)
    if name in DISCRETE_SCORES:
        table = encode(data, **options)
        return DiscreteScoring(DISCRETE_SCORES[name](table), table)
    return _of_pgmpy_name(name, data, options)


def _default_name(data) -> str:
    floats = () if isinstance(data, DiscreteTable) else data.float_columns
    if not floats:
        return "bic"
    return "bic-g" if len(floats) == data.n_columns else "bic-cg"


def _of_pgmpy_name(name: str, data, options) -> FunctionScoring:
    score = PGMPY_SCORES[name]
    if _datatype(score) == "discrete":
        table = encode(data, **options)
        declared = {column: list(names) for column, names in zip(table.columns, table.states, strict=True)}
        return FunctionScoring(score(table.to_pandas(), state_names=declared), list(table.columns), table)
    frame = _numbers_and_states(data, options["missing"], integers_as_categories=_datatype(score) == "mixed")
    states = [column for column in frame if frame[column].dtype.kind not in "fiu"]
    if _datatype(score) == "continuous" and states:
        raise ValueError(
            f"scoring_method={name!r} needs numbers, but {states[:5]!r} hold states: choose 'bic-cg', or drop them"
        )
    constant = [column for column in frame if column not in states and np.ptp(frame[column].to_numpy(float)) == 0]
    if constant:
        raise ValueError(f"columns {constant[:5]!r} are constant, which a Gaussian score cannot take: drop them")
    return FunctionScoring(score(frame), list(frame.columns), frame)


def _of_instance(score: BaseStructureScore, data, options) -> Scoring:
    if isinstance(score, DiscreteScore) and score.is_compiled():
        table = _coded_like(score, data, options)
        _check_same(score, list(table.columns), table.n_rows, score.table.n_rows)
        for name, column in zip(table.columns, table.codes, strict=True):
            v = score.table.index(name)
            same_states = table.states[table.index(name)] == score.table.states[v]
            if not same_states or not np.array_equal(column, score.table.codes[v]):
                raise _other_data(name)
        return DiscreteScoring(score, table)
    frame = _numbers_and_states(data, options["missing"])
    theirs: Any = getattr(score, "data", None)
    _check_same(score, list(frame.columns), len(frame), len(frame) if theirs is None else len(theirs))
    for name in frame if theirs is not None else ():
        if not np.array_equal(theirs[name].to_numpy(), frame[name].to_numpy()):
            raise _other_data(name)
    discrete = _datatype(score) == "discrete"
    return FunctionScoring(score, list(frame.columns), _coded_like(score, data, options) if discrete else frame)


def _datatype(score) -> str | None:
    return score.get_class_tag("supported_datatype")


def _coded_like(score, data, options) -> DiscreteTable:
    """Return the data coded with the states that the score knows."""
    states = getattr(score, "state_names", None)
    return data if isinstance(data, DiscreteTable) else data.encode(**{**options, "state_names": states})


def _numbers_and_states(data, missing: str, *, integers_as_categories: bool = False):
    if isinstance(data, DiscreteTable):
        return data.to_pandas()
    return data.to_pandas(missing=missing, integers_as_categories=integers_as_categories)


def _check_same(score, names: list, n_rows: int, rows_of_score: int) -> None:
    odd = set(getattr(score, "variables", names)) ^ set(names)
    if odd:
        shown = ", ".join(sorted(map(repr, odd))[:5])
        raise ValueError(f"the score was made from other columns: {shown}; make it from this data")
    if rows_of_score != n_rows:
        raise ValueError(
            f"the score was made from {rows_of_score} rows, the data have {n_rows}; make it from this data"
        )


def _other_data(name) -> ValueError:
    return ValueError(f"the score was made from other data: column {name!r} differs; make it from this data")


def _prior_ratios(score) -> tuple[float, float, float]:
    add, delete, flip = (float(score.structure_prior_ratio(operation)) for operation in ("+", "-", "flip"))
    return add, delete, flip


def _prior(score, names, edges) -> float:
    if type(score).structure_prior is BaseStructureScore.structure_prior:
        return 0.0
    return float(score.structure_prior(to_dag(names, edges.tolist())))

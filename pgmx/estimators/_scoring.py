"""From a user's `scoring_method` and data to a source of gains.

Two kinds: discrete scores run compiled on the coded table; any other score of pgmpy is called family by family.
"""

from typing import Protocol

import numpy as np
from pgmpy.structure_score import BaseStructureScore

from pgmx.data import DiscreteTable, Frame, encode
from pgmx.models import fit_discrete, to_dag, to_linear_gaussian
from pgmx.scores import DiscreteScore, family_scorer
from pgmx.scores.registry import DISCRETE_SCORES, PGMPY_SCORES, check_score_name, pgmpy_score
from pgmx.search.gains import FunctionGains
from pgmx.statistics import pair_counts


class Scoring(Protocol):
    """A score bound to data, as a search uses it."""

    names: list
    bonus: tuple[float, float, float]

    def gains(self, allowed, max_indegree, n_jobs):
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

    def gains(self, allowed, max_indegree, n_jobs):
        """Return the compiled scorer, pairs counted by `n_jobs` threads."""
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
    """Any other pgmpy score over a frame."""

    def __init__(self, score: BaseStructureScore, names: list, frame=None):
        self.score = score
        self.names = names
        self.frame = frame
        self.bonus = _prior_ratios(score)

    def local_score(self, child: int, parents: tuple[int, ...]) -> float:
        """Return the score of a family of ids, or say which one has none."""
        family = tuple(self.names[p] for p in parents)
        value = self.score.local_score(self.names[child], family)
        if np.isnan(value) or value == np.inf:
            raise ValueError(
                f"{type(self.score).__name__} of {self.names[child]!r} given {list(family)!r} is {value}: a column is "
                "constant or a combination of others; drop it"
            )
        return value

    def gains(self, allowed, max_indegree, n_jobs):
        """Return the remembered scores as a source of gains; `n_jobs` does not apply."""
        return FunctionGains(len(self.names), self.local_score, allowed=allowed, max_indegree=max_indegree)

    def prior(self, edges) -> float:
        """Return the score's log prior of the graph."""
        return _prior(self.score, self.names, edges)

    def model(self, edges):
        """Return a linear Gaussian network where all columns are floats."""
        if self.frame is None or any(dtype.kind != "f" for dtype in self.frame.dtypes):
            raise AttributeError(
                f"pgmpy has no network with parameters for what {type(self.score).__name__} scores; model_ needs "
                "columns of states with a discrete score, or columns of floats"
            )
        return to_linear_gaussian(self.frame, self.names, edges)


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
    return _of_pgmpy_name(name, data, missing)


def _default_name(data) -> str:
    floats = () if isinstance(data, DiscreteTable) else data.float_columns
    if not floats:
        return "bic"
    return "bic-g" if len(floats) == data.n_columns else "bic-cg"


def _of_pgmpy_name(name: str, data, missing: str) -> FunctionScoring:
    if isinstance(data, DiscreteTable):
        frame = data.to_pandas()
    else:
        frame = data.to_pandas(missing=missing, integers_as_categories=PGMPY_SCORES[name] != "continuous")
    categories = [column for column in frame if frame[column].dtype.kind not in "fiub"]
    if PGMPY_SCORES[name] == "continuous" and categories:
        raise ValueError(
            f"scoring_method={name!r} needs numbers, but {categories[:5]!r} hold states: choose 'bic-cg', or drop them"
        )
    if PGMPY_SCORES[name] == "continuous":
        constant = [column for column in frame if np.ptp(frame[column].to_numpy(dtype=float)) == 0]
        if constant:
            raise ValueError(f"columns {constant[:5]!r} are constant, which a Gaussian score cannot take: drop them")
    return FunctionScoring(pgmpy_score(name, frame), list(frame.columns), frame)


def _of_instance(score: BaseStructureScore, data, options) -> Scoring:
    compiled = isinstance(score, DiscreteScore) and type(score).local_score is DiscreteScore.local_score
    if compiled:
        table = (
            data if isinstance(data, DiscreteTable) else data.encode(**{**options, "state_names": score.state_names})
        )
        _check_same(score, list(table.columns), table.n_rows)
        for name, column in zip(table.columns, table.codes, strict=True):
            if not np.array_equal(column, score.table.codes[score.table.index(name)]):
                raise ValueError(f"the score was made from other data: column {name!r} differs; make it from this data")
        return DiscreteScoring(score, table)
    frame = data.to_pandas() if isinstance(data, DiscreteTable) else data.to_pandas(missing=options["missing"])
    _check_same(score, list(frame.columns), len(frame))
    for name in frame:
        theirs = score.data[name].to_numpy() if hasattr(score, "data") else frame[name].to_numpy()
        if not np.array_equal(theirs, frame[name].to_numpy()):
            raise ValueError(f"the score was made from other data: column {name!r} differs; make it from this data")
    return FunctionScoring(score, list(frame.columns), frame)


def _check_same(score, names: list, n_rows: int) -> None:
    theirs = list(getattr(score, "variables", names))
    if set(theirs) != set(names):
        odd = sorted(map(repr, set(theirs) ^ set(names)))
        raise ValueError(f"the score was made from other columns: {', '.join(odd[:5])}; make it from this data")
    data = getattr(score, "data", None)
    rows = score.table.n_rows if isinstance(score, DiscreteScore) else n_rows if data is None else len(data)
    if rows != n_rows:
        raise ValueError(f"the score was made from {rows} rows, the data have {n_rows}; make it from this data")


def _prior_ratios(score) -> tuple[float, float, float]:
    return tuple(float(score.structure_prior_ratio(operation)) for operation in ("+", "-", "flip"))


def _prior(score, names, edges) -> float:
    if type(score).structure_prior is BaseStructureScore.structure_prior:
        return 0.0
    return float(score.structure_prior(to_dag(names, edges.tolist())))

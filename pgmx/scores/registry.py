"""The scores by name: one entry for each score that `scoring_method` and ``--score`` accept.

Names, homes, messages, the help of the command line and lists of tests derive from these entries. No score is imported.
"""

from importlib import import_module
from typing import Any, NamedTuple

#: Kinds of data, by the kinds of their columns.
KINDS = ("discrete", "continuous", "mixed")


class ScoreEntry(NamedTuple):
    """A score that has a name."""

    name: str
    kind: str  # of its data: one of KINDS
    class_name: str
    module: str
    alias: str = ""  # its name in pgmpy, if that differs
    family: str = ""  # mixed data: "clg", "dg" or "cg", for conditional linear, degenerate or conditional Gaussian
    has_pairwise: bool = False  # whether `NodeAverage` has its penalty, for missing="pairwise"
    has_penalty: bool = False  # whether a parameter has a price, which `penalty` multiplies
    has_gamma: bool = False  # whether the choice of the parents has a price, which `gamma` multiplies

    def load(self) -> Any:
        """Return the class."""
        return getattr(import_module(self.module), self.class_name)


_LINEAR = "pgmx.scores.mixed.conditional_linear"
_EXTENDED = "pgmx.scores.mixed.ebic"

#: The entries in the order of messages and help: discrete, continuous, mixed; the defaults of `scoring_method` first.
SCORES = (
    ScoreEntry("bic", "discrete", "BIC", "pgmx.scores.discrete.bic", "bic-d", has_pairwise=True, has_penalty=True),
    ScoreEntry("aic", "discrete", "AIC", "pgmx.scores.discrete.aic", "aic-d", has_pairwise=True, has_penalty=True),
    ScoreEntry("ll", "discrete", "LogLikelihood", "pgmx.scores.discrete.log_likelihood", "ll-d", has_pairwise=True),
    ScoreEntry("ebic", "discrete", "EBIC", "pgmx.scores.discrete.ebic", "ebic-d", "", True, True, True),
    ScoreEntry("k2", "discrete", "K2", "pgmx.scores.discrete.k2"),
    ScoreEntry("bdeu", "discrete", "BDeu", "pgmx.scores.discrete.bdeu"),
    ScoreEntry("bds", "discrete", "BDs", "pgmx.scores.discrete.bds"),
    ScoreEntry("bic-g", "continuous", "BICGauss", "pgmx.scores.gaussian.bic", has_penalty=True),
    ScoreEntry("aic-g", "continuous", "AICGauss", "pgmx.scores.gaussian.aic", has_penalty=True),
    ScoreEntry("ll-g", "continuous", "LogLikelihoodGauss", "pgmx.scores.gaussian.log_likelihood"),
    ScoreEntry("ebic-g", "continuous", "EBICGauss", "pgmx.scores.gaussian.ebic", has_penalty=True, has_gamma=True),
    ScoreEntry("bge", "continuous", "BGe", "pgmx.scores.gaussian.bge"),
    ScoreEntry("bic-clg", "mixed", "BICCondLinearGauss", _LINEAR, family="clg", has_penalty=True),
    ScoreEntry("aic-clg", "mixed", "AICCondLinearGauss", _LINEAR, family="clg", has_penalty=True),
    ScoreEntry("ll-clg", "mixed", "LogLikelihoodCondLinearGauss", _LINEAR, family="clg"),
    ScoreEntry("ebic-clg", "mixed", "EBICCondLinearGauss", _EXTENDED, "", "clg", False, True, True),
    ScoreEntry("bic-dg", "mixed", "BICDegenerateGauss", "pgmx.scores.mixed.degenerate", family="dg", has_penalty=True),
    ScoreEntry("ebic-dg", "mixed", "EBICDegenerateGauss", _EXTENDED, "", "dg", False, True, True),
    ScoreEntry("bic-cg", "mixed", "BICCondGauss", "pgmx.scores.mixed.conditional", family="cg"),
    ScoreEntry("aic-cg", "mixed", "AICCondGauss", "pgmx.scores.mixed.conditional", family="cg"),
    ScoreEntry("ll-cg", "mixed", "LogLikelihoodCondGauss", "pgmx.scores.mixed.conditional", family="cg"),
)

_BY_NAME = {name: entry for entry in SCORES for name in (entry.name, entry.alias) if name}


def find_score(name: str) -> ScoreEntry:
    """Return the entry of a name that `check_score_name` returned."""
    return _BY_NAME[name]


def check_score_name(name: str) -> str:
    """Return `name` in lower case, or raise ValueError with the known names."""
    known = list_scores(aliases=True)
    if name.lower() == "bde":
        raise ValueError(
            "scoring_method='bde' needs a prior network: pass the instance pgmx.scores.BDe(data, prior_network), or "
            "'bdeu' for a uniform prior"
        )
    if name.lower() not in known:
        raise ValueError(f"scoring_method={name!r} is not known; choose one of {', '.join(known)}")
    return name.lower()


def check_prices_of(name: str, penalty: float, gamma: float) -> None:
    """Raise if another `penalty` or `gamma` than 1 is to multiply a price that the score does not have."""
    if penalty != 1.0 and not _BY_NAME[name].has_penalty:
        known = ", ".join(entry.name for entry in SCORES if entry.has_penalty)
        raise ValueError(
            f"penalty={penalty:g} multiplies what a parameter costs, which has no price in scoring_method={name!r}: "
            f"leave it out, or choose one of {known}"
        )
    if gamma != 1.0 and not _BY_NAME[name].has_gamma:
        known = ", ".join(entry.name for entry in SCORES if entry.has_gamma)
        raise ValueError(
            f"gamma={gamma:g} multiplies what the choice of the parents costs, which has no price in "
            f"scoring_method={name!r}: leave it out, or choose one of {known}"
        )


def list_scores(kind: str = "", *, family: str = "", aliases: bool = False) -> list[str]:
    """Return the names of all scores, of a kind, or of a family; `aliases` adds the names in pgmpy."""
    return [
        name
        for name, entry in _BY_NAME.items()
        if (not kind or entry.kind == kind) and (not family or entry.family == family)
        if aliases or name == entry.name
    ]


def needs_columns(name: str | None) -> bool:
    """Return whether a score needs integers as continuous values: a table must not be opened with them as states."""
    return name is not None and (_BY_NAME[name].kind == "continuous" or _BY_NAME[name].family == "cg")


def name_default(n_continuous: int, n_columns: int) -> str:
    """Return the default of `scoring_method` for a table with `n_continuous` continuous columns."""
    kind = "discrete" if not n_continuous else "continuous" if n_continuous == n_columns else "mixed"
    return list_scores(kind)[0]


def describe_pairwise() -> str:
    """Return the scores that support ``missing="pairwise"`` as text, for messages."""
    *others, last = (repr(entry.name) for entry in SCORES if entry.has_pairwise)
    return f"{', '.join(others)} or {last}"


def describe_defaults() -> str:
    """Return the defaults of the three kinds of data as text, for help."""
    *others, last = (list_scores(kind)[0] for kind in KINDS)
    return f"{', '.join(others)} or {last}"


def describe_scores() -> str:
    """Return the names of all scores by the kind of their data as text, for help."""
    discrete, continuous, mixed = (", ".join(list_scores(kind)) for kind in KINDS)
    return f"{discrete}; continuous variables: {continuous}; mixed data: {mixed}"

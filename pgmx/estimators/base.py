"""The base of all learners: scikit-learn's ``fit`` and pgmpy's ``estimate`` on one class."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import lru_cache
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike
from pgmpy import config
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, Options, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_array

from pgmx.checks import caller_level, warn_of_target
from pgmx.data import DiscreteTable, Frame, encode, open_any, open_frame
from pgmx.data.few_values import warn_of_few_values
from pgmx.lookup import explain_options
from pgmx.models.pgmpy_estimators import StructureEstimator
from pgmx.runs.run import Run, Start

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")
Learner = TypeVar("Learner", bound="BaseStructureLearner")  # of Self jedi returns the base class

#: Characters of an option that messages show.
LONGEST_VALUE = 200

# scikit-learn's private names, and pgmpy's switch, pass through here: one place to mend when they move
__all__ = [
    "DISCRETE_COLUMNS",
    "NA_VALUES",
    "BaseStructureLearner",
    "Interval",
    "Options",
    "StrOptions",
    "clone_learner",
    "config",
    "random_draws",
]

#: Values of the options of reading files and of discrete columns; what they hold is judged with the data.
NA_VALUES: list = [str, Real, "array-like", Set, Mapping, None]
DISCRETE_COLUMNS: list = ["array-like", Set, None]


class BaseStructureLearner(BaseEstimator, StructureEstimator, ABC):
    """Base of all structure learners.

    ``Learner(**options).fit(X)`` is scikit-learn's face, ``Learner(data, **options).estimate()`` pgmpy's; both run the
    same `_fit`. A subclass stores its options in `__init__`, `state_names`, `missing` and `n_jobs` among them, declares
    them in `_parameter_constraints`, and implements ``_fit(opened, sample_weight)``, which sets the fitted attributes
    and an empty `_results`; graphs and networks are made from arrays when they are first asked for.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        What ``estimate()`` learns from. It is no hyper-parameter: ``get_params`` leaves it out, ``clone`` drops it.
    """

    _parameter_constraints: dict[str, Any] = {}

    data: Any
    state_names: dict | None
    missing: str
    n_jobs: int | None
    # not every learner reads files itself, or has discrete variables
    na_values: Any = None
    discrete_columns: Sequence[Hashable] | None = None

    variables_: list
    n_features_in_: int
    feature_names_in_: np.ndarray
    _results: dict[str, Any]
    #: Where the clock of a fit that is under way began; None outside of ``fit``, where a run begins its own.
    _start: Start | None = None
    #: Seconds of the last fit, with the reading of the data.
    _fit_seconds: float

    if TYPE_CHECKING:  # `_fit` sets it, or a subclass makes it on access

        @property
        def graph_(self) -> nx.Graph:
            """The learned graph."""
            ...

    def __init__(self, data: Any = None):
        self.data = data

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        explain_options(cls)

    @abstractmethod
    def _fit(self, opened: Any, sample_weight: ArrayLike | None) -> Run | None:
        """Learn from a coded table, a frame or what else `_open` returns, and set the fitted attributes.

        What has interrupted the run that is returned is raised by ``fit``; None stands for a run that cannot be.
        """

    # ---- scikit-learn ----

    def fit(self: Learner, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Learner:
        """Learn the structure from `X`.

        Parameters
        ----------
        X : DataFrame, array or DiscreteTable of shape (n_samples, n_features), path, or iterator of frames
            One column a variable; pandas, polars and Arrow tables and numpy arrays (columns ``x0``, ``x1``, ...) are
            taken. A path names a CSV, Parquet or plane file or a folder of Parquet files. It is never changed.
        y : None
            Ignored; scikit-learn's convention. A named Series that is no column of a frame `X` brings a warning.
        sample_weight : array of shape (n_samples,), optional
            Non-negative weights of the rows, with a sum of at most 2**62. A row of weight 2 counts as two rows.

        Returns
        -------
        self
            The fitted learner.
        """
        if _is_score(self.data) or _is_word(self.data):
            given = repr(self.data) if isinstance(self.data, str) else f"{type(self.data).__name__}(...)"
            option = "scoring_method" if "scoring_method" in self.get_params(deep=False) else "option"
            raise TypeError(
                f"the first argument of {type(self).__name__} is data, got {given}: pass options by keyword, "
                f"{type(self).__name__}({option}={given})"
            )
        warn_of_target(self, X, y)
        self._validate()
        with self._start_clock():
            opened = self._open(X)
            if self._holds_numbers(opened) and not isinstance(X, Frame):  # a frame was opened, and looked at, before
                self._warn_of_few_values(opened if isinstance(opened, Frame) else X)
            names = opened.columns if isinstance(opened, DiscreteTable) else opened.names
            run = self._fit(opened, sample_weight)
            self._set_names(names)
        self._end_fit(run)
        return self

    def _end_fit(self, run: Run | None) -> None:
        """Take the seconds of a fit, and raise what has interrupted it."""
        if run is not None:
            self._fit_seconds = run.seconds
            run.raise_error()

    @contextmanager
    def _start_clock(self) -> Iterator[None]:
        """Let the runs that begin in the block count their seconds from here."""
        self._start = Start.now()
        try:
            yield
        finally:
            del self._start

    def _warn_of_time(self, consequence: str) -> None:
        """Warn that the time ended before there was a result worth the name; a caller's time is the caller's matter."""
        if self._limit_time() is None:
            return
        warnings.warn(
            f"max_time={self._limit_time()} ended {type(self).__name__} before its first complete pass: "
            f"{consequence}. Give a larger max_time",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )

    def _limit_time(self) -> float | None:
        """Return the shortest `max_time` of the learner and of those that it wraps, None where there is none."""
        limits = [value for name, value in self.get_params().items() if name.split("__")[-1] == "max_time"]
        return min((limit for limit in limits if limit is not None), default=None)

    def _validate(self) -> None:
        name, options = type(self).__name__, self.get_params(deep=False)
        self._refuse_data_for_learner()
        try:
            validate_parameter_constraints(self._parameter_constraints, options, caller_name=name)
        except (TypeError, ValueError) as error:
            before, got, value = str(error).partition(" Got ")
            if len(value) <= LONGEST_VALUE:
                raise
            value = " ".join(value.split())[:LONGEST_VALUE]
            raise type(error)(f"{before}{got}{value} ... instead.") from None

    def _refuse_data_for_learner(self) -> None:
        """Refuse data as the first argument of what wraps a learner, which is made with the data."""
        name, estimator = type(self).__name__, self.get_params(deep=False).get("estimator")
        is_path = isinstance(estimator, str | Path) and not _is_word(estimator)
        if is_path or hasattr(estimator, "shape") or isinstance(estimator, list):
            raise TypeError(
                f"the first argument of {name} is a learner, got data ({type(estimator).__name__}): use "
                f"{name}(learner(data)).estimate(), or {name}(learner()).fit(data)"
            )

    def _set_names(self, names: Sequence) -> None:
        self.variables_ = list(names)
        self.n_features_in_ = len(names)
        self.feature_names_in_ = np.empty(len(names), dtype=object)
        self.feature_names_in_[:] = names

    def _open(self, X) -> Any:
        if isinstance(X, np.ndarray) and X.dtype.kind == "f":
            # scikit-learn's own words for infinite or missing numbers
            check_array(X, ensure_all_finite=self.missing == "error", estimator=self)
        return open_any(X, **self._list_coding())

    def _list_coding(self) -> dict[str, Any]:
        """Return the options of this learner by which rows are read and coded."""
        options = {name: getattr(self, name) for name in ("state_names", "na_values", "discrete_columns", "n_jobs")}
        return {**options, "missing": self._coding}

    @property
    def _coding(self) -> str:
        """How missing cells are coded: those that are filled in later are marked."""
        return "pairwise" if self.missing == "em" else self.missing

    def _holds_numbers(self, opened: Any) -> bool:
        """Return whether floats of the rows would be taken for numbers; some may have been meant as states."""
        return not isinstance(opened, DiscreteTable)

    def _warn_of_few_values(self, table: Any) -> None:
        """Warn of columns of floats that look like states, with what this learner can do about them."""
        can_declare = any(name.endswith("discrete_columns") for name in self.get_params())
        options: dict[str, Any] = {"na_values": self.na_values, "can_declare": can_declare}
        warn_of_few_values(table, self._list_special_columns(), **options)

    def _list_special_columns(self) -> set:
        """Return the columns that an option sets apart, such as the times of a series."""
        given = {name.split("__")[-1]: value for name, value in self.get_params().items()}
        columns = {given.get(name) for name in ("time_column", "groups")}
        return columns | set(given.get("exogenous_columns") or ())

    # ---- results ----

    def report(
        self,
        path: str | Path = "report.html",
        *,
        data: Any = None,
        bootstrap: Any = None,
        title: str | None = None,
        notes: Iterable[str] = (),
    ) -> Path:
        """Write what was learned as one HTML file for a browser, with the graph to move, search and click.

        Parameters
        ----------
        path : str or path-like, default="report.html"
            Where to write; the suffix is ``.html`` or ``.htm``.
        data : DataFrame, array, DiscreteTable or path, optional
            The rows learned from, for their number, states and missing cells. Default: the `data` of the constructor.
        bootstrap : BootstrapStructure, DataFrame or mapping, optional
            How sure the edges are; a slider then hides edges below a share. Default: of a bootstrap its own.
        title : str, optional
            The heading. Default: the name of the class.
        notes : iterable of str, default=()
            Sentences to add to the warnings and limits.

        Returns
        -------
        pathlib.Path
            The file written; see :func:`pgmx.plotting.save_report`.
        """
        self._require_fit()
        return _import_page().save_report(self, path, data=data, bootstrap=bootstrap, title=title, notes=notes)

    def _make_once(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of this name, made by the first call after `fit`."""
        self._require_fit()
        if name not in self._results:
            self._results[name] = make()
        return self._results[name]

    def _require_fit(self) -> None:
        if not hasattr(self, "_results"):
            raise AttributeError(f"{type(self).__name__} is not fitted yet: call fit or estimate first")

    def _check_n_features(self, X) -> None:
        """Refuse rows with another number of columns, in the words that scikit-learn expects."""
        shape = np.shape(X)
        if len(shape) == 2 and shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as "
                "input: give the columns that were learned from"
            )

    @property
    def adjacency_matrix_(self) -> "DataFrame":
        """Adjacency matrix of the learned graph, 1 for each edge, rows are tails; made on each access."""
        return nx.to_pandas_adjacency(self.graph_, weight=None, dtype="int")  # pyright: ignore[reportArgumentType]

    # ---- scikit-learn's further methods ----

    def __sklearn_tags__(self):
        """Say what input is taken: categories, no target, missing cells refused by default."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = False
        tags.target_tags.required = False
        return tags

    @classmethod
    def _get_param_names(cls):
        return list(_list_options(cls))

    def __sklearn_clone__(self):
        # a score is bound to its data, a clone is not to copy them: it shares the score
        options = self.get_params(deep=False)
        return type(self)(
            **{name: value if _is_score(value) else clone(value, safe=False) for name, value in options.items()}
        )

    def set_params(self: Learner, **params: Any) -> Learner:
        """Set options by name, and `data` as well.

        Parameters
        ----------
        **params
            Options of the constructor.

        Returns
        -------
        self
            The learner.
        """
        if "data" in params:
            self.data = params.pop("data")
        return super().set_params(**params)

    # ---- notebooks ----

    def _repr_html_inner(self):
        return super()._repr_html_inner() + self._summarize_result()

    def _repr_mimebundle_(self, **kwargs):
        """Show scikit-learn's diagram, and below it what was learned."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._summarize_result()
        return bundle

    def _summarize_result(self) -> str:
        return _import_page().render_summary(self) if hasattr(self, "_results") else ""

    # ---- pgmpy ----

    def estimate(self) -> nx.Graph:
        """Learn from the data given to the constructor and return the graph.

        Returns
        -------
        pgmpy.base.DAG, pgmpy.base.PDAG or networkx graph
            ``fit(data).graph_``.

        Raises
        ------
        ValueError
            If the learner was made without data.
        """
        self._require_data()
        return self.fit(self.data).graph_

    def _require_data(self) -> None:
        self._refuse_data_for_learner()
        if self.data is None:
            name, inner = type(self).__name__, ""
            if "estimator" in self.get_params(deep=False):  # which is made with the data
                inner = type(self.estimator).__name__ if getattr(self, "estimator", None) is not None else "learner"
            made = f"{name}({inner}(data))" if inner else f"{name}(data)"
            bare = f"{name}({inner}())" if inner else f"{name}()"
            raise ValueError(f"{name} was made without data: use {made}.estimate(), or {bare}.fit(data)")

    @property
    def variables(self) -> list:
        """Names of the columns of the data given to the constructor."""
        if self.data is None:
            raise AttributeError(f"{type(self).__name__} was made without data, so it has no variables yet")
        opened = self.data
        if isinstance(self.data, str | Path):
            opened = open_any(self.data, **{**self._list_coding(), "missing": "pairwise"})
        return list(opened.columns if isinstance(opened, DiscreteTable) else open_frame(opened).names)

    def state_counts(self, variable, parents=(), weighted=False, reindex=True):
        """Return how often each state of `variable` occurs for each configuration of `parents`.

        Parameters
        ----------
        variable : hashable
            A column of the data given to the constructor.
        parents : iterable of hashable
            Further columns.
        weighted : bool, default=False
            Must be False: the learner has no row weights.
        reindex : bool, default=True
            Whether configurations that never occur get a column.

        Returns
        -------
        pandas.DataFrame
            Counts, states in rows, configurations in columns, as pgmpy gives them.
        """
        from pgmpy.utils import get_state_counts

        self._require_data()
        if weighted:
            raise ValueError(f"weighted=True: {type(self).__name__} has no row weights; repeat the rows instead")
        table = encode(self.data, **self._list_coding())
        names = dict(zip(table.columns, map(list, table.states), strict=True))
        parents = list(parents)
        ids = {name: k for k, name in enumerate(dict.fromkeys([variable, *parents]))}
        columns = table.to_pandas(ids)  # a mapped table may be larger than memory
        columns.columns = range(len(ids))  # pandas takes a name that is a tuple for several names
        states = {k: names[name] for name, k in ids.items()}
        counts = get_state_counts(columns, states, 0, [ids[name] for name in parents], reindex=reindex)
        if parents:
            counts.columns.names = parents
        return counts.rename_axis(index=[variable])


@lru_cache(maxsize=256)
def _list_options(learner: type[BaseStructureLearner]) -> tuple[str, ...]:
    """Return the options of a class of learners, whose signature takes a third of a millisecond to read."""
    read: Any = BaseEstimator._get_param_names  # bound to scikit-learn's own class
    names = read.__func__(learner)
    return tuple(name for name in names if name != "data")


def clone_learner(learner: T) -> T:
    """Return an unfitted copy with the same options, of the type that scikit-learn's ``clone`` leaves open."""
    copy: Any = clone(learner)
    return copy


def _import_page() -> Any:
    """Return the module of reports, late: the one import against the order, for users look for reports on learners."""
    from pgmx.plotting.reports import page

    return page


def _is_score(value: object) -> bool:
    """Tell a score of pgmpy's kind, bound to data, without an import of pgmpy's scores."""
    return hasattr(value, "local_score") and not isinstance(value, type)


def _is_word(data) -> bool:
    """Tell a score's name from the name of a file."""
    return isinstance(data, str) and not Path(data).suffix and not Path(data).exists()


def random_draws(n: int, random_state) -> tuple[np.ndarray, int]:
    """Return a permutation of n ids and a seed, drawn from `random_state` (seed, RandomState, Generator or None)."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.permutation(n), int(random_state.randint(2**31))
    rng = np.random.default_rng(random_state)
    return rng.permutation(n), int(rng.integers(2**31))

"""Base class of all learners, with scikit-learn's ``fit`` and pgmpy's ``estimate``."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import lru_cache
from numbers import Integral, Real
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

from pgmx.checks import caller_level, refuse_booleans, warn_of_target
from pgmx.data import DiscreteTable, Frame, encode, open_any, open_frame
from pgmx.data.few_values import warn_of_few_values
from pgmx.lookup import explain_options, refuse_options
from pgmx.models.pgmpy_estimators import StructureEstimator
from pgmx.runs.run import Run, StartTime

if TYPE_CHECKING:
    from pandas import DataFrame

T = TypeVar("T")
Learner = TypeVar("Learner", bound="BaseStructureLearner")  # jedi completes `Self` as the base class

#: Longest text of an option in messages, in characters.
_LONGEST_VALUE = 200

# private names of scikit-learn and pgmpy's configuration are imported here only, so that one module changes with them
__all__ = [
    "DISCRETE_COLUMNS",
    "NA_VALUES",
    "N_JOBS",
    "BaseStructureLearner",
    "Interval",
    "Options",
    "StrOptions",
    "clone_learner",
    "config",
    "import_page",
    "random_draws",
]

#: Types of the options for reading files and for discrete columns. Their contents are checked with the data.
NA_VALUES: list = [str, Real, "array-like", Set, Mapping, None]
DISCRETE_COLUMNS: list = ["array-like", Set, None]

#: Values that joblib accepts as a number of workers.
N_JOBS: list = [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None]


class BaseStructureLearner(BaseEstimator, StructureEstimator, ABC):
    """Base of all structure learners.

    ``Learner(**options).fit(X)`` is the interface of scikit-learn. ``Learner(data, **options).estimate()`` is the
    interface of pgmpy. Both call the same `_fit`. A subclass stores its options in `__init__`, including `state_names`,
    `missing` and `n_jobs`. It declares them in `_parameter_constraints` and implements ``_fit(opened, sample_weight)``,
    which sets the fitted attributes and an empty `_results`. Graphs and networks are made from arrays on first access.

    Parameters
    ----------
    data : DataFrame, array, DiscreteTable, path or iterator of frames, optional
        Data for ``estimate()``. It is not a hyper-parameter: ``get_params`` and ``clone`` omit it.
    """

    _parameter_constraints: dict[str, Any] = {}

    data: Any
    state_names: dict | None
    missing: str
    n_jobs: int | None
    # not every learner reads files itself, or has discrete variables
    na_values: Any = None
    discrete_columns: Sequence[Hashable] | None = None

    #: Opens data that are not opened yet. Learners that need only sums over rows open more kinds of input.
    _open_input: Callable[..., Any] = staticmethod(open_any)

    variables_: list
    n_features_in_: int
    feature_names_in_: np.ndarray
    _results: dict[str, Any]
    #: Start time of the current fit. None outside of ``fit``; a run then starts its own clock.
    _start: StartTime | None = None
    #: Seconds of the last fit, including reading the data.
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
        """Learn from a coded table, a frame or another result of `_open`, and set the fitted attributes.

        ``fit`` raises the error that interrupted the returned run. None means that the run cannot be interrupted.
        """

    # ---- scikit-learn ----

    def fit(self: Learner, X: Any, y: object = None, sample_weight: ArrayLike | None = None) -> Learner:
        """Learn the structure from `X`.

        Parameters
        ----------
        X : DataFrame, array or DiscreteTable of shape (n_samples, n_features), path, or iterator of frames
            The data, one column per variable: a pandas, polars or Arrow table, a numpy array (columns ``x0``, ``x1``,
            ...), or the path of a CSV, Parquet or plane file or of a folder of Parquet files. The data are never
            changed.
        y : None
            Ignored; scikit-learn's convention. A named Series that is not a column of a frame `X` causes a warning.
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
            if self._reads_continuous(opened) and not isinstance(X, Frame):  # a frame was checked when it was opened
                self._warn_of_few_values(opened if isinstance(opened, Frame) else X)
            names = opened.columns if isinstance(opened, DiscreteTable) else opened.names
            run = self._fit(opened, sample_weight)
            self._set_names(names)
        self._end_fit(run)
        return self

    def _end_fit(self, run: Run | None) -> None:
        """Set the seconds of a fit, and raise the error that interrupted it."""
        if run is not None:
            self._fit_seconds = run.seconds
            run.raise_error()

    @contextmanager
    def _start_clock(self) -> Iterator[None]:
        """Let runs in the block measure their seconds from its start."""
        self._start = StartTime.now()
        try:
            yield
        finally:
            del self._start

    def _warn_of_time(self, consequence: str) -> None:
        """Warn that the time limit was reached before there was a useful result, unless the limit is the caller's."""
        if self._limit_time() is None:
            return
        warnings.warn(
            f"max_time={self._limit_time()} ended {type(self).__name__} before its first complete pass: "
            f"{consequence}. Give a larger max_time",
            ConvergenceWarning,
            stacklevel=caller_level(),
        )

    def _limit_time(self) -> float | None:
        """Return the shortest `max_time` of the learner and of the learners that it wraps, None if there is none."""
        limits = [value for name, value in self.get_params().items() if name.split("__")[-1] == "max_time"]
        return min((limit for limit in limits if limit is not None), default=None)

    def _validate(self) -> None:
        name, options = type(self).__name__, self.get_params(deep=False)
        self._refuse_data_for_learner()
        try:
            validate_parameter_constraints(self._parameter_constraints, options, caller_name=name)
        except (TypeError, ValueError) as error:
            before, got, value = str(error).partition(" Got ")
            if len(value) <= _LONGEST_VALUE:
                raise
            value = " ".join(value.split())[:_LONGEST_VALUE]
            raise type(error)(f"{before}{got}{value} ... instead.") from None
        refuse_booleans(name, options, self._parameter_constraints)

    def _refuse_data_for_learner(self) -> None:
        """Refuse data as the first argument of a class that wraps a learner. The data belong to the wrapped learner."""
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
            # scikit-learn's wording for infinite or missing values
            check_array(X, ensure_all_finite=self.missing == "error", estimator=self)
        return self._open_input(X, **self._list_coding())

    def _list_coding(self) -> dict[str, Any]:
        """Return the options of this learner for reading and coding rows."""
        options = {name: getattr(self, name) for name in ("state_names", "na_values", "discrete_columns", "n_jobs")}
        return {**options, "missing": self._coding}

    @property
    def _coding(self) -> str:
        """Coding of missing values. Missing values that are filled in later are marked."""
        return "pairwise" if self.missing == "em" else self.missing

    def _reads_continuous(self, opened: Any) -> bool:
        """Return whether columns of floats are read as continuous variables; some may be meant as discrete."""
        return not isinstance(opened, DiscreteTable)

    def _warn_of_few_values(self, table: Any) -> None:
        """Warn of columns of floats that look discrete, and name the options of this learner for them."""
        can_declare = any(name.endswith("discrete_columns") for name in self.get_params())
        options: dict[str, Any] = {"na_values": self.na_values, "can_declare": can_declare}
        warn_of_few_values(table, self._list_special_columns(), **options)

    def _list_special_columns(self) -> set:
        """Return the columns with a special role, such as the times of a series."""
        given = {name.split("__")[-1]: value for name, value in self.get_params().items()}
        columns = {given.get(name) for name in ("time_column", "groups", "interventions")}
        return columns | set(given.get("exogenous_columns") or ())

    # ---- results ----

    def report(
        self,
        path: str | Path = "report.html",
        *,
        data: Any = None,
        bootstrap: Any = None,
        reference: Any = None,
        title: str | None = None,
        notes: Iterable[str] = (),
    ) -> Path:
        """Write the results as one HTML file with an interactive graph.

        Parameters
        ----------
        path : str or path-like, default="report.html"
            Path of the file, with the suffix ``.html`` or ``.htm``.
        data : DataFrame, array, DiscreteTable or path, optional
            The training data. The report shows the number of rows, the states and the missing values. The default is
            the `data` of the constructor.
        bootstrap : BootstrapStructure, DataFrame or mapping, optional
            Confidence of the edges. A slider in the report hides edges below a chosen confidence. A bootstrap uses its
            own confidence by default.
        reference : pgmpy or networkx graph, or fitted learner, optional
            A graph on the same variables. The report colours the edges that differ from it, and counts them.
        title : str, optional
            The heading. Default: the name of the class.
        notes : iterable of str, default=()
            Sentences to add to the warnings and limits.

        Returns
        -------
        pathlib.Path
            Path of the written file, see :func:`pgmx.plotting.save_report`.
        """
        self._require_fit()
        return import_page().save_report(
            self, path, data=data, bootstrap=bootstrap, reference=reference, title=title, notes=notes
        )

    def _make_once(self, name: str, make: Callable[[], T]) -> T:
        """Return the result with this name. The first call after `fit` makes it."""
        self._require_fit()
        if name not in self._results:
            self._results[name] = make()
        return self._results[name]

    def _require_fit(self) -> None:
        if not hasattr(self, "_results"):
            raise AttributeError(f"{type(self).__name__} is not fitted yet: call fit or estimate first")

    def _check_n_features(self, X) -> None:
        """Refuse rows with another number of columns, with the message that scikit-learn expects."""
        shape = np.shape(X)
        if len(shape) == 2 and shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features as "
                "input: give the columns of the training data"
            )

    @property
    def adjacency_matrix_(self) -> "DataFrame":
        """Adjacency matrix of the learned graph, 1 for each edge, tails in rows. It is made on each access."""
        return nx.to_pandas_adjacency(self.graph_, weight=None, dtype="int")  # pyright: ignore[reportArgumentType]

    # ---- scikit-learn's further methods ----

    def __sklearn_tags__(self):
        """Return scikit-learn's tags: categorical input, no target, missing values refused by default."""
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
        # a clone shares the score, which holds its data, so that the data are not copied
        options = self.get_params(deep=False)
        return type(self)(
            **{name: value if _is_score(value) else clone(value, safe=False) for name, value in options.items()}
        )

    def set_params(self: Learner, **params: Any) -> Learner:
        """Set options by name, including `data`.

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
        """Show scikit-learn's diagram, followed by the results."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._summarize_result()
        return bundle

    def _summarize_result(self) -> str:
        return import_page().render_summary(self) if hasattr(self, "_results") else ""

    # ---- pgmpy ----

    @refuse_options
    def estimate(self) -> nx.Graph:
        """Learn from the data of the constructor and return the graph.

        Returns
        -------
        pgmpy.base.DAG, pgmpy.base.PDAG or networkx graph
            ``fit(data).graph_``.

        Raises
        ------
        TypeError
            For any argument: options belong in the constructor.
        ValueError
            If the learner was made without data.
        """
        self._require_data()
        return self.fit(self.data).graph_

    def _require_data(self) -> None:
        self._refuse_data_for_learner()
        if self.data is None:
            name, inner = type(self).__name__, ""
            if "estimator" in self.get_params(deep=False):  # the wrapped learner holds the data
                wrapped = getattr(self, "estimator", None)
                inner = "learner" if wrapped is None else type(wrapped).__name__
            made = f"{name}({inner}(data))" if inner else f"{name}(data)"
            bare = f"{name}({inner}())" if inner else f"{name}()"
            raise ValueError(f"{name} was made without data: use {made}.estimate(), or {bare}.fit(data)")

    @property
    def variables(self) -> list:
        """Names of the columns of the data given to the constructor."""
        if self.data is None:
            raise AttributeError(f"{type(self).__name__} was made without data, so it has no variables yet")
        # files are opened, because their columns are not known otherwise
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
            Other columns.
        weighted : bool, default=False
            Must be False: the learner has no row weights.
        reindex : bool, default=True
            Whether configurations that do not occur get a column.

        Returns
        -------
        pandas.DataFrame
            Counts, with states in rows and configurations in columns, as in pgmpy.
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
        columns.columns = range(len(ids))  # pandas reads a tuple as several names
        states = {k: names[name] for name, k in ids.items()}
        counts = get_state_counts(columns, states, 0, [ids[name] for name in parents], reindex=reindex)
        if parents:
            counts.columns.names = parents
        return counts.rename_axis(index=[variable])


@lru_cache(maxsize=256)
def _list_options(learner: type[BaseStructureLearner]) -> tuple[str, ...]:
    """Return the options of a class of learners. Reading its signature takes a third of a millisecond."""
    read: Any = BaseEstimator._get_param_names  # bound to scikit-learn's own class
    names = read.__func__(learner)
    return tuple(name for name in names if name != "data")


def clone_learner(learner: T) -> T:
    """Return an unfitted copy with the same options, typed more exactly than scikit-learn's ``clone``."""
    copy: Any = clone(learner)
    return copy


def adopt_fit(learner: BaseEstimator, fresh: BaseEstimator) -> None:
    """Give a learner the fitted attributes of a copy of it; its options and the data stay."""
    options = {"data", *learner.get_params(deep=False)}
    for name, value in vars(fresh).items():
        if name not in options:
            setattr(learner, name, value)


def import_page() -> Any:
    """Return the module of reports. The import is late because it is against the order of imports."""
    from pgmx.plotting.reports import page

    return page


def _is_score(value: object) -> bool:
    """Return whether a value is a score object in pgmpy's style, without importing pgmpy's scores."""
    return hasattr(value, "local_score") and not isinstance(value, type)


def _is_word(data) -> bool:
    """Return whether a string is the name of a score, not of a file."""
    return isinstance(data, str) and not Path(data).suffix and not Path(data).exists()


def random_draws(n: int, random_state) -> tuple[np.ndarray, int]:
    """Return a permutation of n ids and a seed, drawn from `random_state` (seed, RandomState, Generator or None)."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.permutation(n), int(random_state.randint(2**31))
    rng = np.random.default_rng(random_state)
    return rng.permutation(n), int(rng.integers(2**31))

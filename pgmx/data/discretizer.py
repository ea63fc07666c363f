"""Discretisation of continuous variables: a transformer of scikit-learn, and a function that fits and applies it.

Edges are chosen column by column, by scikit-learn, or by Hartemink's method. There each column begins with many bins.
The columns alternate: each merges the two adjacent bins whose merger loses least of the sum of its mutual information
with all other columns, until its number of bins is small enough.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from pgmx.checks import caller_level, check_natural, join_names
from pgmx.data.errors import refuse_infinite
from pgmx.data.files.readers import is_path
from pgmx.data.frame import Frame, open_rows
from pgmx.data.inputs import open_frame
from pgmx.data.numeric import list_nonnumeric_kinds, read_column, refuse_nonnumeric

#: Names of the methods that choose edges column by column, and their names in scikit-learn.
STRATEGIES = {"quantile": "quantile", "interval": "uniform", "kmeans": "kmeans"}

METHODS = (*STRATEGIES, "hartemink")

#: Most bins of a column: more bins than a byte can count are of no use.
_MOST_BINS = 255

#: Losses that differ by less, in nats, are treated as equal: then the lower bins are merged.
_DECIMALS = 12

#: Most bytes of the counts of all pairs of bins.
MOST_BYTES = 2**31


class Discretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    r"""Discretise continuous variables into ordered categories, for learners of discrete variables.

    The bins of a column with edges :math:`e_0 < e_1 < \dots < e_k` are :math:`[e_0, e_1), [e_1, e_2), \dots,
    [e_{k-1}, e_k]`; values of new rows beyond the ends are in the first and the last bin. Methods:

    - ``"quantile"``: bins with about the same number of rows, ``"interval"``: bins of equal width, ``"kmeans"``: edges
      half way between the means of clusters of values. The edges are found by scikit-learn's ``KBinsDiscretizer``.
    - ``"hartemink"``: each column begins with `n_initial_bins` quantiles. The columns alternate: each merges the two
      adjacent bins that lose least of :math:`\sum_j I(X_i; X_j)`, the sum of its mutual information with all other
      columns, until `n_bins` are left. Discrete columns are included with their states.

    Parameters
    ----------
    method : {"quantile", "interval", "kmeans", "hartemink"}, default="quantile"
        How the edges are chosen.
    n_bins : int or mapping of column to int, default=5
        Most bins of a column, 2 to 255. With ``"interval"`` a column of two or more values has exactly this number,
        even if some bins contain no value. With the other methods a column with fewer distinct values, or with ties at
        its quantiles, has fewer bins, but at least two: one for each of few values, or the cut nearest to the median if
        all quantiles are equal.
    columns : sequence of column names, optional
        The columns to discretise, floating-point or integer; None means all floating-point columns.
    n_initial_bins : int, default=20
        Bins that ``"hartemink"`` begins with, at least `n_bins` and at most 255.

    Attributes
    ----------
    bin_edges_ : dict of column to ndarray, shape (number of bins + 1,)
        Edges of the bins of each discretised column.
    categories_ : dict of column to list of str
        Names of the bins of each discretised column, in order.
    n_features_in_ : int
        Number of columns seen by ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of these columns, if all are text.

    Raises
    ------
    TypeError
        By ``fit``: if a column to discretise is not numeric.
    ValueError
        By ``fit``: for an unknown method, column or number of bins, a column with infinite values or without observed
        values, and pairs of bins that would need more than 2 GiB. By ``transform``: if the columns differ from the
        columns of ``fit``.

    Warns
    -----
    UserWarning
        By ``fit``: if a column holds a single value (it has one bin, for any new value too), and if bins of equal width
        hold no row, with the number of such bins per column.

    Notes
    -----
    Bins of equal width that hold no row stay categories, as the levels of R's ``cut`` do, and new rows may fall into
    them. Discrete scores treat them like other states. Each state adds a parameter per configuration of the parents to
    BIC and AIC, adds possible parent configurations for its children, and shares the equivalent sample size of
    Dirichlet scores (``"bdeu"``, ``"bds"``, ``"k2"``, ``"bde"``); the log-likelihood is the same.
    ``frame[name].cat.remove_unused_categories()`` removes them. Fewer bins or ``"quantile"`` avoid them.

    Missing values stay missing. Cost, with n rows and p columns: O(n log n) per column; ``"hartemink"`` also counts all
    pairs of columns, O(n p²), and keeps :math:`8 S^2` bytes for S initial bins of all columns together.

    References
    ----------
    A. Hartemink, "Principled Computational Methods for the Validation and Discovery of Genetic Regulatory Networks",
    PhD thesis, MIT, 2001, section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from pgmx.data import Discretizer
    >>> from pgmx.estimators import HillClimbSearch
    >>> rows = np.random.default_rng(0).normal(size=(500, 2)).cumsum(axis=1)
    >>> pipeline = make_pipeline(Discretizer(n_bins=3), HillClimbSearch()).fit(rows)
    >>> len(pipeline[-1].dag_.edges())
    1
    >>> pipeline[0].categories_["x0"]
    ['below -0.516', '-0.516 to 0.346', '0.346 and above']
    """

    def __init__(
        self,
        method: str = "quantile",
        *,
        n_bins: int | Mapping[Hashable, int] = 5,
        columns: Sequence[Hashable] | None = None,
        n_initial_bins: int = 20,
    ):
        self.method = method
        self.n_bins = n_bins
        self.columns = columns
        self.n_initial_bins = n_initial_bins

    def fit(self, X: Any, y: object = None) -> Self:
        """Choose the edges.

        Parameters
        ----------
        X : table, array_like of shape (n_rows, n_columns), or path
            Rows, of any kind that learners accept. The columns of an array are named x0, x1, ...
        y : None
            Ignored; a convention of scikit-learn.

        Returns
        -------
        self
            The fitted transformer.
        """
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {join_names(METHODS)}, got {self.method!r}")
        frame = _open_rows(X)
        chosen = self._choose_columns(frame)
        most = self._read_bins(chosen)
        numbers = {name: _read_numbers(frame, name) for name in chosen}
        if self.method == "hartemink":
            edges = self._merge_edges(frame, numbers, most)
        else:
            edges = {
                name: find_edges(_take_known(name, cells), self.method, most[name]) for name, cells in numbers.items()
            }
        constant = [name for name, found in edges.items() if len(found) == 2 and found[0] == found[1]]
        if constant:
            warnings.warn(
                f"column(s) {join_names(constant)} hold a single value, which is one bin: leave them out",
                UserWarning,
                stacklevel=caller_level(),
            )
        if self.method == "interval":
            _warn_of_empty_bins({name: _count_values(_take_known(name, numbers[name]), edges[name]) for name in chosen})
        self.bin_edges_ = edges
        self.categories_ = {name: label_bins(found) for name, found in edges.items()}
        self._names = frame.names
        self.n_features_in_ = frame.n_columns
        if all(isinstance(name, str) for name in frame.names):
            self.feature_names_in_ = np.array(frame.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """Return the rows with ordered categories for the discretised columns.

        Parameters
        ----------
        X : table, array_like of shape (n_rows, n_columns), or path
            Rows with the columns of ``fit``. It is never changed.

        Returns
        -------
        pandas.DataFrame
            A new frame with the same columns and, for a pandas frame, the same index; discretised columns are ordered
            categories, all others are unchanged.
        """
        check_is_fitted(self, "bin_edges_")
        frame = _open_rows(X)
        self._check_names(frame)
        if isinstance(X, pd.DataFrame):
            result = X.copy()
        else:
            columns = [v.to_pandas() if hasattr(v, "to_pandas") else v for v in frame.columns]
            result = pd.DataFrame(dict(enumerate(columns)))
            result.columns = pd.Index(frame.names, tupleize_cols=False)
        for v, name in enumerate(frame.names):
            if name in self.bin_edges_:
                bins = _find_bins(_read_numbers(frame, name), self.bin_edges_[name])
                dtype = pd.CategoricalDtype(self.categories_[name], ordered=True)
                result.isetitem(v, pd.Categorical.from_codes(bins, dtype=dtype))
        return result

    def _choose_columns(self, frame: Frame) -> list[Hashable]:
        """Return the columns to discretise, in the order of the table."""
        if self.columns is None:
            return list(frame.float_columns)
        if isinstance(self.columns, str | bytes) or not isinstance(self.columns, Sequence | np.ndarray | pd.Index):
            raise ValueError(f"columns must be a list of column names, got {self.columns!r}")
        unknown = [name for name in self.columns if name not in frame.names]
        if unknown:
            raise ValueError(f"columns name {join_names(unknown)}, which the data do not have")
        wanted = set(self.columns)
        chosen = [v for v, name in enumerate(frame.names) if name in wanted]
        part = Frame(tuple(frame.names[v] for v in chosen), [frame.columns[v] for v in chosen], frame.n_rows)
        refuse_nonnumeric(part.names, list_nonnumeric_kinds(part))
        return list(part.names)

    def _read_bins(self, chosen: Sequence[Hashable]) -> dict[Hashable, int]:
        """Return the maximal number of bins of each column."""
        if not isinstance(self.n_bins, Mapping):
            return dict.fromkeys(chosen, _check_bins(self.n_bins, "n_bins"))
        unknown = [name for name in self.n_bins if name not in chosen]
        absent = [name for name in chosen if name not in self.n_bins]
        if unknown or absent:
            what = f"lacks {join_names(absent)}" if absent else f"holds {join_names(unknown)}, not discretised"
            raise ValueError(f"n_bins {what}: give a number for each column to discretise, or one for all")
        return {name: _check_bins(self.n_bins[name], f"n_bins[{name!r}]") for name in chosen}

    def _merge_edges(self, frame: Frame, numbers: dict, most: dict) -> dict[Hashable, np.ndarray]:
        """Return the edges that Hartemink's method keeps of the initial quantiles."""
        n_initial = _check_bins(self.n_initial_bins, "n_initial_bins")
        if n_initial < max(most.values(), default=2):
            raise ValueError(f"n_initial_bins={n_initial} is less than n_bins={self.n_bins}: begin with more bins")
        initial = {name: find_edges(_take_known(name, cells), "quantile", n_initial) for name, cells in numbers.items()}
        # other floating-point columns have no states, and are left out
        others = [v for v, name in enumerate(frame.names) if name not in (*numbers, *frame.float_columns)]
        codes, n_states = _code_states(frame, others)
        codes = [*(_find_bins(cells, initial[name]) for name, cells in numbers.items()), *codes]
        n_states = [*(len(edges) - 1 for edges in initial.values()), *n_states]
        if numbers and len(codes) < 2:
            raise ValueError(
                "1 feature(s) with bins or states, while method='hartemink' needs at least 2: use method='quantile'"
            )
        _check_size(n_states, list(numbers))
        firsts = merge_bins(codes, n_states, {v: most[name] for v, name in enumerate(numbers)})
        return {name: np.append(edges[firsts[v]], edges[-1]) for v, (name, edges) in enumerate(initial.items())}

    def _check_names(self, frame: Frame) -> None:
        if frame.n_columns != self.n_features_in_:
            raise ValueError(
                f"X has {frame.n_columns} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input: give the columns of fit"
            )
        if frame.names != self._names:
            new = [name for name in frame.names if name not in self._names]
            what = f"new: {join_names(new)}" if new else "their order is another"
            raise ValueError(f"the columns should match those that were passed during fit ({what})")

    def __sklearn_tags__(self):
        """Declare the accepted input: numbers, categories and text, also with missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def discretize(
    frame: Any,
    method: str = "quantile",
    *,
    n_bins: int | Mapping[Hashable, int] = 5,
    columns: Sequence[Hashable] | None = None,
    n_initial_bins: int = 20,
) -> tuple[pd.DataFrame, Discretizer]:
    """Discretise continuous variables into ordered categories.

    Parameters
    ----------
    frame : table, array_like of shape (n_rows, n_columns), or path
        The data, never changed.
    method : {"quantile", "interval", "kmeans", "hartemink"}, default="quantile"
        How the edges are chosen; see `Discretizer` for the formulas.
    n_bins : int or mapping of column to int, default=5
        Most bins of a column, 2 to 255.
    columns : sequence of column names, optional
        The columns to discretise, floating-point or integer; None means all floating-point columns.
    n_initial_bins : int, default=20
        Bins that ``"hartemink"`` begins with.

    Returns
    -------
    categories : pandas.DataFrame
        The rows, discretised columns as ordered categories with names such as ``"1.5 to 3"``.
    discretizer : Discretizer
        The fitted transformer: ``discretizer.transform(rows)`` puts new rows into the same bins.

    Raises
    ------
    TypeError, ValueError
        As `Discretizer` does.

    Warns
    -----
    UserWarning
        As `Discretizer` does: of a column with a single value, and of bins of equal width without rows.

    Notes
    -----
    Cost: as for `Discretizer`.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmx.data import discretize
    >>> days = pd.DataFrame({"rain": [0.0, 1.5, 0.2, 9.0], "windy": ["no", "no", "yes", "yes"]})
    >>> categories, discretizer = discretize(days, "interval", n_bins=2)
    >>> categories["rain"].tolist()
    ['below 4.5', 'below 4.5', 'below 4.5', '4.5 and above']
    >>> discretizer.transform(days.assign(rain=[5.0, 4.0, -1.0, 99.0]))["rain"].cat.codes.tolist()
    [1, 0, 0, 1]
    """
    discretizer = Discretizer(method, n_bins=n_bins, columns=columns, n_initial_bins=n_initial_bins)
    return discretizer.fit_transform(frame), discretizer


def _open_rows(X: Any) -> Frame:
    """Open rows; one row is enough, unlike for learning."""
    frame = open_frame(X) if is_path(X) else open_rows(X)
    if not frame.n_rows:
        raise ValueError(
            f"0 sample(s) (shape=(0, {frame.n_columns})) while a minimum of 1 is required: give a table with rows"
        )
    return frame


def _warn_of_empty_bins(counts: Mapping[Hashable, np.ndarray]) -> None:
    """Warn of bins that hold no row, given the number of rows in each bin of each column."""
    empty = {name: int(np.count_nonzero(rows == 0)) for name, rows in counts.items()}
    told = [f"{n} of {len(counts[name])} of {name!r}" for name, n in empty.items() if n]
    if told:
        shown = ", ".join(told[:10]) + (f" and more in {len(told) - 10} further columns" if len(told) > 10 else "")
        warnings.warn(
            f"method='interval' leaves bins without rows: {shown}. They stay states, and scores such as BIC and BDeu "
            "count their parameters: give fewer n_bins or method='quantile', or remove them with "
            "frame[name].cat.remove_unused_categories()",
            UserWarning,
            stacklevel=caller_level(),
        )


def _check_bins(value: object, name: str) -> int:
    count = check_natural(value, name, 2)
    if count > _MOST_BINS:
        raise ValueError(f"{name} must be at most {_MOST_BINS}, got {count}")
    return count


def _read_numbers(frame: Frame, name: Hashable) -> np.ndarray:
    """Return the values of a column as float64, missing ones as NaN; infinite values are an error."""
    cells = np.asarray(read_column(frame.columns[frame.names.index(name)]), dtype=np.float64)
    refuse_infinite([name] if np.isinf(cells).any() else [])
    return cells


def _take_known(name: Hashable, cells: np.ndarray) -> np.ndarray:
    """Return the observed values of a column."""
    known = cells[~np.isnan(cells)]
    if not known.size:
        raise ValueError(f"column {name!r} has no observed value: all its values are missing (NaN), leave it out")
    return known


def _code_states(frame: Frame, columns: Sequence[int]) -> tuple[list[np.ndarray], list[int]]:
    """Return the codes of discrete columns, -1 for missing values, and the number of states of each."""
    if not columns:
        return [], []
    part = Frame(tuple(frame.names[v] for v in columns), [frame.columns[v] for v in columns], frame.n_rows)
    table = part.encode(missing="pairwise")
    codes = [np.where(c == m, -1, c.astype(int)) for c, m in zip(table.codes, table.missing_codes, strict=True)]
    return codes, [int(r) - (m >= 0) for r, m in zip(table.cardinalities, table.missing_codes, strict=True)]


# ---- edges and names of the bins of one column ----


def find_edges(values: np.ndarray, method: str, n_bins: int) -> np.ndarray:
    """Return the edges of at most `n_bins` bins, strictly increasing, of finite values; one value has two edges.

    Bins of equal width may hold no value; those of other methods hold some.
    """
    from sklearn.preprocessing import KBinsDiscretizer

    low, high = values.min(), values.max()
    if low == high:
        return np.array([low, high])
    distinct = np.unique(values)
    if method != "interval" and len(distinct) <= n_bins:  # quantiles of few values are equal, and clusters may be empty
        return _part_values(distinct, np.arange(1, len(distinct)))
    # scikit-learn leaves out bins narrower than 1e-8: widths are made relative, by a power of two, which is exact
    exponent = int(np.frexp(high / 2 - low / 2)[1]) + 1
    options = {"encode": "ordinal", "strategy": STRATEGIES[method], "subsample": None}
    if "quantile_method" in KBinsDiscretizer().get_params():  # since 1.7; "linear" was the method before
        options["quantile_method"] = "linear"
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Bins whose width are too small", UserWarning)
        warnings.filterwarnings("ignore", "Number of distinct clusters", UserWarning)
        found = KBinsDiscretizer(n_bins=n_bins, **options).fit(np.ldexp(values, -exponent)[:, None])
    edges = np.ldexp(found.bin_edges_[0], exponent)
    edges = edges[np.append(True, np.diff(edges) > 0)]
    if method != "interval":  # between ties there may be two quantiles, or a cluster, without a value
        edges = edges[np.append(_count_values(values, edges) > 0, True)]
    if len(edges) > 2:
        return edges
    below = np.searchsorted(np.sort(values), distinct[1:])  # nearly all rows have one value
    return _part_values(distinct, [1 + int(np.argmin(np.abs(2 * below - len(values))))])


def _part_values(distinct: np.ndarray, places: ArrayLike) -> np.ndarray:
    """Return the edges of bins that separate ascending values midway before some of them."""
    at = np.asarray(places)
    cuts = distinct[at - 1] / 2 + distinct[at] / 2
    cuts = np.where(cuts > distinct[at - 1], cuts, distinct[at])  # adjacent floats have no value between them
    return np.concatenate([distinct[:1], cuts, [max(distinct[-1], np.nextafter(cuts[-1], np.inf))]])


def _count_values(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the number of values in each bin; none of the values is missing."""
    return np.bincount(_find_bins(values, edges), minlength=len(edges) - 1)


def _find_bins(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the bin of each value, -1 if it is missing; the k-th bin is [edges[k], edges[k + 1])."""
    bins = np.searchsorted(edges[1:-1], values, side="right")
    return np.where(np.isnan(values), -1, bins)


def label_bins(edges: np.ndarray) -> list[str]:
    """Return one name per bin: ``below 1.5``, ``1.5 to 3``, ``3 and above``; inner edges alone are shown.

    Edges have as many digits as needed to make them differ, at least 3.
    """
    inner = edges[1:-1]
    if not len(inner):
        return [f"{edges[0]:.6g}" if edges[0] == edges[-1] else "all"]
    for digits in range(3, 18):
        texts = [f"{edge + 0.0:.{digits}g}" for edge in inner]  # + 0.0: no -0
        if len(set(texts)) == len(texts):
            break
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"below {texts[0]}", *between, f"{texts[-1]} and above"]


# ---- bins that keep the mutual information between the columns (Hartemink, 2001, section 5.2) ----


def merge_bins(codes: Sequence[np.ndarray], n_states: Sequence[int], n_bins: dict[int, int]) -> dict[int, np.ndarray]:
    """Return the first initial bin of each final bin, by the positions in `n_bins` (position: most bins to keep).

    `codes` has the codes of all columns, -1 for missing values, below `n_states`; a pair counts the rows in which both
    are observed. Cost: n p² for n rows and p columns, then p S per merger, S being the sum of `n_states`.
    """
    counts, starts = _count_pairs(codes, n_states)
    firsts = {v: list(range(n_states[v])) for v in n_bins}
    stops = starts + np.array(n_states)  # shrinks with the bins: the block of v is starts[v] : stops[v]
    while any(len(firsts[v]) > most for v, most in n_bins.items()):
        for v, most in n_bins.items():
            if len(firsts[v]) > most:
                block = counts[starts[v] : stops[v]]
                others = [u for u in range(len(codes)) if u != v]
                first = int(np.argmin(np.round(_compute_losses(block, starts, stops, others), _DECIMALS)))
                del firsts[v][first + 1]
                _merge(counts, starts[v] + first, stops[v])
                stops[v] -= 1
    return {v: np.array(kept) for v, kept in firsts.items()}


def _check_size(n_states: Sequence[int], names: Sequence) -> None:
    """Refuse columns whose pairs of bins would take more than `MOST_BYTES`."""
    size = 8 * sum(n_states) ** 2
    if size > MOST_BYTES:
        raise ValueError(
            f"method='hartemink' counts all pairs of bins of the columns {join_names(names)}, which needs "
            f"{size / 2**30:.1f} GiB for {sum(n_states)} initial bins: lower n_initial_bins, or discretise groups of "
            "columns separately"
        )


def _count_pairs(codes, n_states) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each two bins occur together, float64 (S, S), and the first position of each column's bins."""
    from scipy.sparse import csr_array

    starts = np.concatenate([[0], np.cumsum(n_states)[:-1]]).astype(np.int64)
    total = int(sum(n_states))
    counts = np.zeros((total, total))
    cells = np.stack([np.where(c < 0, -1, c + start) for c, start in zip(codes, starts, strict=True)], axis=1)
    for first in range(0, len(cells), 65_536):
        part = cells[first : first + 65_536]
        known = part >= 0
        ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        marks = csr_array((np.ones(int(ends[-1])), part[known], ends), shape=(len(part), total))
        product = (marks.T @ marks).tocoo()
        counts[product.row, product.col] += product.data
    return counts, starts


def _compute_losses(block: np.ndarray, starts: np.ndarray, stops: np.ndarray, others: Sequence[int]) -> np.ndarray:
    """Return the loss of each merger of adjacent rows of a block: of the sum of mutual informations, in nats."""
    losses = np.zeros(len(block) - 1)
    merged = block[:-1] + block[1:]
    cells = _x_log_x(block)
    cells = cells[:-1] + cells[1:] - _x_log_x(merged)
    for u in others:
        columns = slice(starts[u], stops[u])
        margin = block[:, columns].sum(axis=1)
        total = margin.sum()
        if total:
            own = _x_log_x(margin)
            own = own[:-1] + own[1:] - _x_log_x(margin[:-1] + margin[1:])
            losses += (cells[:, columns].sum(axis=1) - own) / total
    return losses


def _merge(counts: np.ndarray, first: int, stop: int) -> None:
    """Add row and column `first` + 1 to `first`, and move those up to `stop` one back, in place."""
    counts[first] += counts[first + 1]
    counts[first + 1 : stop - 1] = counts[first + 2 : stop]
    counts[:, first] += counts[:, first + 1]
    counts[:, first + 1 : stop - 1] = counts[:, first + 2 : stop]


def _x_log_x(counts: np.ndarray) -> np.ndarray:
    return counts * np.log(np.where(counts > 0, counts, 1.0))

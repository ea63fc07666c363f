"""Sketches of categorical rows in a learned low-dimensional subspace: probit, two tobits and logit."""

from collections.abc import Callable, Iterator, Mapping
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from scipy.special import ndtr, softmax
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pgmx.checks import warn_of_target
from pgmx.data.files.readers import is_iterator
from pgmx.streaming.base import Interval, StreamLearner, StrOptions
from pgmx.streaming.inputs import collect_rows, iterate_row_chunks
from pgmx.streaming.online_subspace import Cells, OnlineSubspace, read_cell_positions, read_triples

_BLOCK = 1 << 16  # cells that are predicted together


class CategoricalSubspace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OnlineSubspace):
    r"""Sketches of categorical rows in a low-dimensional subspace, learned row by row; missing values are imputed.

    Columns are variables with the same ordered levels, and any value may be missing. Value i of row t has the predictor
    ``x = m + b_i + a_t + u_i' psi_t`` with the sketch psi_t and offset a_t of the row, the direction u_i and offset b_i
    of the column, and a common offset m. With v ~ N(0, 1):

    - ``"probit"``: the level whose thresholds enclose x + v;
    - ``"tobit"``: x + v, censored beyond two bounds (type I): a value at or beyond a bound is only known to be so;
    - ``"tobit2"``: x + v, censored between the bounds (type II): small values are not recorded, large ones are exact;
    - ``"logit"``: the softmax of (0, x_1, ..., x_{J-1}); each level except the first has its own directions.

    The sketch minimises (2.14) of the reference for the current subspace. Then the subspace makes one gradient step:

    .. math:: \min_{\psi, a} \; -\sum_i \log p(y_i \mid x_i) + \tfrac{\lambda}{2} \|\psi\|^2
        + \tfrac{\lambda_o}{2} a^2, \qquad
        u_i \leftarrow \frac{u_i}{1 + \mu_t \lambda / t}
        + \mu_i \frac{\partial \log p(y_i \mid x_i)}{\partial x_i} \psi

    with lambda = `lam`, lambda_o = `lam_offsets`, the number t of learned rows (at least 1,000), and the steps mu from
    `step` and `decay`; mu_t is for the mean number of observed values per column. Logarithms are natural.

    Parameters
    ----------
    model : {"probit", "tobit", "tobit2", "logit"}, default="probit"
        The distribution of a value.
    n_components : int, default=6
        Dimension d of the subspace, at least 1.
    lam : float, default=10.0
        Penalty on sketches and, divided by the number of learned rows, on directions; above 0.
    offsets : bool, default=True
        If True, rows and columns have offsets. Otherwise the subspace must explain the mean of each row and column.
    sketch : {"newton", "gradient"}, default="newton"
        Solver of a sketch: d^2 ("newton") or d ("gradient") operations per value and step; "gradient" needs many more
        steps.
    learn_thresholds : bool, default=False
        If True, thresholds are learned. Probit: their gaps stay positive, and with offsets they replace m. Logit: the
        threshold of a level is minus its common offset m, which is then learned also without offsets. Tobits: each
        bound starts at `levels` and moves to the nearest exact value, inwards for type I, outwards for type II.
    max_iter : int, default=6
        Number of passes of `fit`.
    levels : array-like of shape (n_levels,), default=None
        The levels in ascending order; for a tobit the two bounds, which may be infinite. Default: the observed values
        of `fit` or of the first chunk of `partial_fit` (tobit: their minimum and maximum); see Notes. Type II has no
        default.
    thresholds : array-like of shape (n_levels - 1,), default=None
        Initial thresholds. Probit: ascending, in the units of the levels, by default midpoints between levels. Logit:
        in the units of x, by default 0.
    noise : float, default=1.0
        Standard deviation of the noise: in mean gaps between levels for a probit, in units of the data for tobits.
    lam_offsets : float, default=4.0
        Penalty on the offsets of rows and of columns.
    step : float, default=0.2
        Initial step of the subspace for each column.
    decay : float, default=0.01
        The step after n values of a column is ``step / (1 + decay n)``; 0 gives constant steps.
    na_values : scalar, str, list-like or dict, default=None
        Further values of a CSV file that are missing, such as "?", as in ``pandas.read_csv``: a dict has those of some
        columns. Data in memory are used as they are.
    random_state : int, RandomState instance or None, default=0
        Seed of the initial subspace.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels,)
        The levels, or the bounds of a tobit.
    components_ : ndarray of shape (n_components, n_features) or (n_levels - 1, n_components, n_features)
        Directions of the columns; for a logit with more than two levels, the directions of each level except the first.
    column_offsets_ : ndarray of shape (n_features,) or (n_levels - 1, n_features)
        The sums m + b of the columns.
    thresholds_ : ndarray of shape (n_levels - 1,)
        Thresholds of a probit in the units of the levels, bounds of a tobit, or minus the common offsets of a logit.
    n_iter_ : int
        Number of passes of `fit`.
    n_seen_ : int
        Number of learned rows, counted once per pass.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        Names of the columns, if the first rows had names.

    Raises
    ------
    ValueError
        In `fit` and `partial_fit`, if an option is out of range or does not belong to the model.

    Notes
    -----
    A row costs O(observed values * d) and a Newton step O(observed values * d^2). Unobserved columns cost nothing,
    because their shrinkage is one common factor. Memory is O(n_features * d) for any number of rows. ``partial_fit``
    gives exactly the same result as a loop over single rows.

    A single observed level v gets the second level ``v + max(1, |v|)``. Code text levels first, for example by
    scikit-learn's ``OrdinalEncoder``. The sign of (2.20) is corrected and the tobits are derived from (2.3) and (2.4).
    Offsets, steps that decrease with the number of values of a column, and learned bounds are not in the reference.

    References
    ----------
    Y. Shen (2019), thesis, University of Minnesota, chapter 2, algorithms 1, 1a, 1b.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.streaming import CategoricalSubspace
    >>> answers = np.array([[1, 2, np.nan], [4, 5, 5], [3, 3, 3], [5, 5, np.nan], [2, 1, 1]] * 20)
    >>> learner = CategoricalSubspace(n_components=1, lam=1.0).fit(answers)
    >>> learner.impute(answers[[0, 3]])
    array([[1., 2., 1.],
           [5., 5., 5.]])
    """

    _parameter_constraints = {
        "model": [StrOptions({"probit", "tobit", "tobit2", "logit"})],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "offsets": ["boolean"],
        "sketch": [StrOptions({"newton", "gradient"})],
        "learn_thresholds": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "levels": ["array-like", None],
        "thresholds": ["array-like", None],
        "noise": [Interval(Real, 0, None, closed="neither")],
        "lam_offsets": [Interval(Real, 0, None, closed="neither")],
        "step": [Interval(Real, 0, None, closed="neither")],
        "decay": [Interval(Real, 0, None, closed="left")],
        "na_values": [str, Real, "array-like", Mapping, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        model: str = "probit",
        n_components: int = 6,
        lam: float = 10.0,
        offsets: bool = True,
        sketch: str = "newton",
        learn_thresholds: bool = False,
        max_iter: int = 6,
        levels: Any = None,
        thresholds: Any = None,
        noise: float = 1.0,
        lam_offsets: float = 4.0,
        step: float = 0.2,
        decay: float = 0.01,
        na_values: Any = None,
        random_state: Any = 0,
    ):
        self.model = model
        self.n_components = n_components
        self.lam = lam
        self.offsets = offsets
        self.sketch = sketch
        self.learn_thresholds = learn_thresholds
        self.max_iter = max_iter
        self.levels = levels
        self.thresholds = thresholds
        self.noise = noise
        self.lam_offsets = lam_offsets
        self.step = step
        self.decay = decay
        self.na_values = na_values
        self.random_state = random_state

    # a subspace predicts by `impute`
    predict: Any = available_if(lambda self: False)(StreamLearner.predict)
    predict_partial_fit: Any = available_if(lambda self: False)(StreamLearner.predict_partial_fit)

    # ---- learning ----

    def fit(self, X: Any, y: Any = None) -> Self:
        """Reset the learner and learn the rows in `max_iter` passes.

        Parameters
        ----------
        X : array, frame or scipy sparse matrix of shape (n_rows, n_features), or path
            The rows. NaN is missing. In a sparse matrix (CSR, CSC, COO, LIL or DOK), absent entries are missing and
            explicit zeros are levels. A CSV or Parquet file, or a folder of Parquet files, is read as a whole.
        y : None
            Not used.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            If there are no rows or no observed values, or a value is infinite or not a declared level. The learner is
            then unchanged.
        TypeError
            If `X` is an iterator, which allows only one pass; use `partial_fit`.
        """
        if is_iterator(X):
            raise TypeError("X is an iterator, which fit cannot read max_iter times: use partial_fit")
        warn_of_target(self, X, y)
        before = dict(vars(self))
        rows = collect_rows(X, self.na_values)
        try:
            # the first pass also finds the levels and allocates the state
            self._learn_chunk(rows, None, restart=True)
            cells, _ = self._check_rows(rows, None, restart=False)
            for _ in range(self.max_iter - 1):
                self._update(cells, None, None)
                self.n_seen_ += cells.shape[0]
        except BaseException:
            self._restore(before)
            raise
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more rows in one pass.

        Parameters
        ----------
        X : array, frame or scipy sparse matrix of shape (n_rows, n_features), path, or iterator
            The rows, as in `fit`. Files are read in chunks; an iterator yields arrays, frames or matrices.
        y : None
            Not used.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            As `fit`, and if the number of columns or an option was changed. Nothing of the chunk is then learned.
        """
        warn_of_target(self, X, y)
        for chunk in iterate_row_chunks(X, self.na_values):
            self._learn_chunk(chunk, None)
        return self

    def fit_triples(self, rows: Any, columns: Any, levels: Any, n_columns: int | None = None) -> Self:
        """Reset the learner and learn values given as triples, in the order of their rows.

        Parameters
        ----------
        rows, columns : array-like of int, shape (n_cells,)
            Positions of the values from 0 on, each position once.
        levels : array-like of shape (n_cells,)
            Their levels.
        n_columns : int, optional
            Number of columns. Default: up to the largest position.

        Returns
        -------
        self
            The learner, as after `fit` with the sparse matrix of these values.

        Raises
        ------
        ValueError
            If lengths differ, positions are negative or occur twice, and as `fit`.
        """
        return self.fit(read_triples(rows, columns, levels, n_columns))

    # ---- results ----

    def transform(self, X: Any) -> np.ndarray:
        """Sketch rows; nothing is learned.

        Parameters
        ----------
        X : array, frame or scipy sparse matrix of shape (n_rows, n_features)
            The rows, as in `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The sketches psi, 0 for a row without observed values. Offsets of rows are estimated but not returned.
        """
        check_is_fitted(self)
        cells, _ = self._check_rows(X, None, restart=False)
        return np.ascontiguousarray(self._predict(cells)[:, : self.n_components])

    def impute(self, X: Any, how: str = "level", cells: Any = None) -> np.ndarray:
        """Impute missing values; observed values do not change.

        Parameters
        ----------
        X : array, frame or scipy sparse matrix of shape (n_rows, n_features)
            The rows, as in `fit`.
        how : {"level", "expectation"}, default="level"
            "level": the median for a probit (the level whose thresholds enclose x), the most probable level for a
            logit, x within the bounds for a tobit of type I; for type II x, or the middle of the bounds if x lies
            between them. "expectation": the expected value.
        cells : pair of array-like of int, optional
            Rows and columns of the cells to compute. Default: all cells, as a dense array.

        Returns
        -------
        ndarray of shape (n_rows, n_features) or (n_cells,)
            The values of the cells.

        Raises
        ------
        ValueError
            If `how` is unknown, or cells are outside `X`.
        """
        if how not in ("level", "expectation"):
            raise ValueError(f"how={how!r}: it must be 'level' or 'expectation'")
        return self._predict_cells(X, cells, lambda x: self._predict_numbers(x, how), observed=True)

    def predict_proba(self, X: Any, cells: Any = None) -> np.ndarray:
        """Return the probabilities of the levels of cells, including observed cells.

        Parameters
        ----------
        X : array, frame or scipy sparse matrix of shape (n_rows, n_features)
            The rows, as in `fit`.
        cells : pair of array-like of int, optional
            Rows and columns of the cells to compute. Default: all cells, as a dense array.

        Returns
        -------
        ndarray of shape (n_rows, n_features, n_levels) or (n_cells, n_levels)
            Probabilities in the order of `levels_`; three for a tobit: below or at the lower bound, inside, above.

        Raises
        ------
        ValueError
            If cells are outside `X`.
        """
        return self._predict_cells(
            X,
            cells,
            lambda x: _compute_level_probabilities(x, self._thresholds, self.model == "logit"),
            observed=False,
        )

    def _predict_cells(
        self, X: Any, asked: Any, answer: Callable[[np.ndarray], np.ndarray], *, observed: bool
    ) -> np.ndarray:
        """Return the answers for predictors of the cells; if `observed`, observed values replace answers."""
        check_is_fitted(self)
        cells, _ = self._check_rows(X, None, restart=False)
        sketches = self._predict(cells)
        n_rows, n_columns = cells.shape
        places = np.arange(n_rows * n_columns) if asked is None else read_cell_positions(asked, cells.shape)
        subspace, offsets = self._progress[0] * self._subspace, self._centre + self._offsets
        answers = np.concatenate(
            [
                answer(
                    _compute_predictors(
                        sketches, *np.divmod(places[start : start + _BLOCK], n_columns), subspace, offsets
                    )
                )
                for start in range(0, max(len(places), 1), _BLOCK)
            ]
        )
        if observed:
            known = cells.rows * n_columns + cells.columns
            at = np.searchsorted(known, places)
            # -1 for places after the last observed value
            is_known = np.r_[known, -1][at] == places
            answers[is_known] = cells.values[at[is_known]]
        return answers if asked is not None else answers.reshape((n_rows, n_columns, *answers.shape[1:]))

    def _guess_hidden(self, cells: Cells, hidden: np.ndarray) -> Iterator[np.ndarray]:
        """Predict the hidden values of each row from its other values, learn these, then yield the predictions."""
        for t in range(cells.shape[0]):
            row = slice(cells.starts[t], cells.starts[t + 1])
            shown, columns = ~hidden[row], cells.columns[row]
            starts, parts = np.array([0, shown.sum()]), (columns[shown], cells.values[row][shown])
            known = Cells(starts, *parts, (1, cells.shape[1]), cells.codes[row][shown])
            columns = columns[~shown]
            subspace, offsets = self._progress[0] * self._subspace[columns], self._centre + self._offsets[columns]
            places = np.zeros(len(columns), int), np.arange(len(columns))
            predictors = _compute_predictors(self._predict(known), *places, subspace, offsets)
            guesses = self._predict_numbers(predictors, "level")
            self._update(known, None, None)
            self.n_seen_ += 1
            yield guesses

    def _predict_numbers(self, predictors: np.ndarray, how: str) -> np.ndarray:
        """Return levels or expectations (m,) of cells with the predictors (m, c)."""
        if self._is_tobit:
            bounds, x = self._thresholds[1:-1], predictors[:, 0]
            means = _compute_censored_means(predictors, bounds) if how == "expectation" else x
            if self.model == "tobit":
                return self._middle + self._unit * np.clip(means, *bounds)
            if how == "level":
                means = np.where((bounds[0] <= x) & (x <= bounds[1]), 0.0, x)
            else:
                # type II records exactly what type I censors, and 0 for the values inside
                masses = _compute_masses(predictors, self._thresholds)[:, [0, 2]]
                means = x - (means - masses @ np.where(np.isfinite(bounds), bounds, 0.0))
            return self._middle + self._unit * means
        is_logit = self.model == "logit"
        if how == "expectation":
            return _compute_level_probabilities(predictors, self._thresholds, is_logit) @ self.levels_
        return _predict_levels(predictors, self._thresholds, self.levels_, is_logit)

    @property
    def n_iter_(self) -> int:
        """Number of passes of `fit`."""
        return self.max_iter

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        return tags


# ---- predictions of cells ----


def _compute_predictors(
    sketches: np.ndarray, rows: np.ndarray, columns: np.ndarray, subspace: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Return the predictors (m, c) of m cells; sketches (n, d + c or d), subspace (D, c, d), offsets (D, c)."""
    d = subspace.shape[2]
    predictors = offsets[columns] + np.einsum("mcd,md->mc", subspace[columns], sketches[rows, :d])
    return predictors + sketches[rows, d:] if sketches.shape[1] > d else predictors


def _compute_masses(predictors: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return Phi(h - x) - Phi(l - x), (m, J), between thresholds (J + 1,); the nearer tail is used for precision."""
    edges = thresholds - predictors
    low, high = edges[:, :-1], edges[:, 1:]
    upper = low > -high
    return np.where(upper, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))


def _compute_level_probabilities(predictors: np.ndarray, thresholds: np.ndarray, is_logit: bool) -> np.ndarray:
    """Return the probabilities (m, J) of the levels; for a logit the softmax of 0 and the predictors."""
    if is_logit:
        return softmax(np.column_stack([np.zeros(len(predictors)), predictors]), axis=1)
    return _compute_masses(predictors, thresholds)


def _predict_levels(predictors: np.ndarray, thresholds: np.ndarray, levels: np.ndarray, is_logit: bool) -> np.ndarray:
    """Return the median level for a probit, the most probable level for a logit."""
    if is_logit:
        return levels[np.column_stack([np.zeros(len(predictors)), predictors]).argmax(axis=1)]
    return levels[np.searchsorted(thresholds[1:-1], predictors[:, 0])]


def _compute_censored_means(predictors: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return E min(max(x + v, low), high) for v ~ N(0, 1) and bounds (low, high), which may be infinite."""
    x = predictors[:, 0]
    low, high = bounds[0] - x, bounds[1] - x
    mean = (np.exp(-(low**2) / 2) - np.exp(-(high**2) / 2)) / np.sqrt(2 * np.pi)
    if np.isfinite(bounds[0]):
        mean = mean + low * ndtr(low)
    if np.isfinite(bounds[1]):
        mean = mean + high * ndtr(-high)
    return x + mean

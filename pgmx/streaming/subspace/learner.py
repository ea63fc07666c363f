"""Online subspace of rows of categories: probit, tobit and logit."""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pgmx.checks import warn_of_target
from pgmx.data.pieces.chunks import is_iterator
from pgmx.streaming.base import Interval, StreamLearner, StrOptions
from pgmx.streaming.inputs import collect_rows, iterate_row_chunks
from pgmx.streaming.subspace.cells import read_cell_positions, read_triples
from pgmx.streaming.subspace.online import OnlineSubspace
from pgmx.streaming.subspace.predictions import (
    compute_censored_means,
    compute_level_probabilities,
    compute_predictors,
    predict_levels,
)

_BLOCK = 1 << 16  # cells that are predicted at a time


class CategoricalSubspace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, OnlineSubspace):
    r"""Sketches of rows of categories in a low-dimensional subspace, learned row by row; missing cells are imputed.

    Rows are data, columns variables, all with the same ordered levels, and any cell may be missing. Cell i of row t has
    the predictor ``x = m + b_i + a_t + u_i' psi_t`` with the row's sketch psi_t and offset a_t, a column's direction
    u_i and offset b_i, and a common offset m. With v ~ N(0, 1):

    - ``"probit"``: the level between whose thresholds x + v lies;
    - ``"tobit"``: the number x + v, cut off at two bounds (type I);
    - ``"logit"``: the softmax of (0, x_1, ..., x_{J-1}), each level but the first with directions of its own.

    The sketch minimises (2.14) of the reference given the subspace, which takes one gradient step then:

    .. math:: \min_{\psi, a} \; -\sum_i \log p(y_i \mid x_i) + \tfrac{\lambda}{2} \|\psi\|^2
        + \tfrac{\lambda_o}{2} a^2, \qquad
        u_i \leftarrow \frac{u_i}{1 + \mu_t \lambda / t}
        + \mu_i \frac{\partial \log p(y_i \mid x_i)}{\partial x_i} \psi

    with lambda = `lam`, lambda_o = `lam_offsets`, t rows so far (at least 1,000), and the steps mu that `step` and
    `decay` give, mu_t for the mean number of cells of a column. Logarithms are natural.

    Parameters
    ----------
    model : {"probit", "tobit", "logit"}, default="probit"
        The law of a cell.
    n_components : int, default=6
        Dimension d of the subspace, at least 1.
    lam : float, default=10.0
        Penalty on sketches and, divided by the rows so far, on directions; above 0.
    offsets : bool, default=True
        Whether rows and columns have offsets. Without them the subspace must explain the level of each row and column.
    sketch : {"newton", "gradient"}, default="newton"
        How a sketch is found: d^2 or d operations per cell and step, the gradient with many more steps.
    learn_thresholds : bool, default=False
        Whether thresholds of the probit are learned; their gaps stay positive. With offsets they take the place of m.
    max_iter : int, default=6
        Passes that `fit` makes.
    levels : array-like of shape (n_levels,), default=None
        The levels in ascending order; of a tobit the two bounds, which may be infinite. None: the numbers that occur
        in the data of `fit` or the first chunk of `partial_fit`; of a tobit the least and the largest of them. A lone
        number v is joined by ``v + max(1, |v|)``.
    thresholds : array-like of shape (n_levels - 1,), default=None
        Thresholds of the probit at the start, ascending, in the units of the levels. None: half-way between levels.
    noise : float, default=1.0
        Standard deviation of the noise: of a probit in mean gaps between levels, of a tobit in units of the data.
    lam_offsets : float, default=4.0
        Penalty on the offset of a row, and on that of a column.
    step : float, default=0.2
        Step of the subspace at the first cells of a column.
    decay : float, default=0.01
        The step after n cells of a column is ``step / (1 + decay n)``; 0 for constant steps.
    na_values : scalar, str, list-like or dict, default=None
        Further values of a CSV file that are missing, such as "?", as in ``pandas.read_csv``: a dict has those of some
        columns. Data in memory are used as they are.
    random_state : int, RandomState instance or None, default=0
        Seed of the subspace at the start.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels,)
        The levels, or the bounds of a tobit.
    components_ : ndarray of shape (n_components, n_features) or (n_levels - 1, n_components, n_features)
        Directions of the columns; of a logit with more than two levels those of each level but the first.
    column_offsets_ : ndarray of shape (n_features,) or (n_levels - 1, n_features)
        The sums m + b of the columns.
    thresholds_ : ndarray of shape (n_levels - 1,)
        Thresholds of a probit in the units of the levels, or the bounds of a tobit.
    n_iter_ : int
        Passes that `fit` makes.
    n_seen_ : int
        Rows learned, once per pass.
    n_features_in_ : int
        Columns of the rows.
    feature_names_in_ : ndarray of str, shape (`n_features_in_`,)
        Names of the columns, where the first rows came with names.

    Raises
    ------
    ValueError
        By `fit` and `partial_fit`, for options out of range or that do not belong to the model.

    Notes
    -----
    A row costs O(observed cells * d) and a Newton step O(observed cells * d^2); columns that are not observed cost
    nothing, since their shrinking is one number. Memory is n_features * d numbers, whatever the rows.
    ``partial_fit`` equals a loop over single rows to the last bit. Levels of text are coded beforehand, as by
    scikit-learn's ``OrdinalEncoder``. The sign of (2.20) is corrected and the tobit is derived from (2.3); offsets,
    and steps that decrease with the cells of a column, are not in the reference.

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
        "model": [StrOptions({"probit", "tobit", "logit"})],
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
        "na_values": "no_validation",  # judged where files are read
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

    # predictions of a subspace are those of `impute`
    predict: Any = available_if(lambda self: False)(StreamLearner.predict)
    predict_partial_fit: Any = available_if(lambda self: False)(StreamLearner.predict_partial_fit)

    # ---- learning ----

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything and learn the rows in `max_iter` passes.

        Parameters
        ----------
        X : array, frame or scipy sparse matrix of shape (n_rows, n_features), or path
            The rows: NaN is missing, and so is what a sparse matrix (CSR, CSC, COO, LIL or DOK) has no entry for;
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
            If there is no row or no observed cell, or a number is infinite or not among the declared levels: the
            learner is as it was then.
        TypeError
            For an iterator, which allows one pass: it is for `partial_fit`.
        """
        if is_iterator(X):
            raise TypeError("X is an iterator, which fit cannot read max_iter times: give it to partial_fit")
        warn_of_target(self, X, y)
        before = dict(vars(self))
        rows = collect_rows(X, self.na_values)
        try:
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
        """Learn further rows in one pass.

        Parameters
        ----------
        X : array, frame or scipy sparse matrix of shape (n_rows, n_features), path, or iterator
            The rows, as those of `fit`. Files are read piece by piece; an iterator yields arrays, frames or matrices.
        y : None
            Not used.

        Returns
        -------
        self
            The learner.

        Raises
        ------
        ValueError
            As `fit`, and if the number of columns or an option was changed. Nothing of the chunk is learned then.
        """
        warn_of_target(self, X, y)
        for chunk in iterate_row_chunks(X, self.na_values):
            self._learn_chunk(chunk, None)
        return self

    def fit_triples(self, rows: Any, columns: Any, levels: Any, n_columns: int | None = None) -> Self:
        """Forget everything and learn cells given one by one, in the order of their rows.

        Parameters
        ----------
        rows, columns : array-like of int, shape (n_cells,)
            Positions of the cells from 0 on, each cell once.
        levels : array-like of shape (n_cells,)
            Their levels.
        n_columns : int, optional
            Number of columns; None: up to the last that occurs.

        Returns
        -------
        self
            The learner, as of `fit` with the sparse matrix of these cells.

        Raises
        ------
        ValueError
            For lengths that differ, positions below 0 and cells that occur twice, and as `fit`.
        """
        return self.fit(read_triples(rows, columns, levels, n_columns))

    # ---- results ----

    def transform(self, X: Any) -> np.ndarray:
        """Sketch rows; nothing is learned.

        Parameters
        ----------
        X : array, frame or scipy sparse matrix of shape (n_rows, n_features)
            The rows, as those of `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The sketches psi, 0 for a row without cells. Offsets of rows are found with them and left out.
        """
        check_is_fitted(self)
        cells, _ = self._check_rows(X, None, restart=False)
        return np.ascontiguousarray(self._predict(cells)[:, : self.n_components])

    def impute(self, X: Any, how: str = "level", cells: Any = None) -> np.ndarray:
        """Fill missing cells in; observed cells stay.

        Parameters
        ----------
        X : array, frame or scipy sparse matrix of shape (n_rows, n_features)
            The rows, as those of `fit`.
        how : {"level", "expectation"}, default="level"
            The level: of a probit the median (between whose thresholds x lies), of a logit the most probable one, of a
            tobit x within the bounds; or the expected number.
        cells : pair of array-like of int, optional
            Rows and columns of the cells that are asked about. None: all, which makes a dense array.

        Returns
        -------
        ndarray of shape (n_rows, n_features) or (n_cells,)
            The numbers of the cells.

        Raises
        ------
        ValueError
            For another `how`, or cells beyond `X`.
        """
        if how not in ("level", "expectation"):
            raise ValueError(f"how={how!r}: it must be 'level' or 'expectation'")
        return self._ask_cells(X, cells, lambda x: self._predict_numbers(x, how), observed=True)

    def predict_proba(self, X: Any, cells: Any = None) -> np.ndarray:
        """Return the probabilities of the levels of cells, observed ones included.

        Parameters
        ----------
        X : array, frame or scipy sparse matrix of shape (n_rows, n_features)
            The rows, as those of `fit`.
        cells : pair of array-like of int, optional
            Rows and columns of the cells that are asked about. None: all, which makes a dense array.

        Returns
        -------
        ndarray of shape (n_rows, n_features, n_levels) or (n_cells, n_levels)
            Probabilities in the order of `levels_`; of a tobit three: at the lower bound, inside, at the upper bound.

        Raises
        ------
        ValueError
            For cells beyond `X`.
        """
        return self._ask_cells(
            X,
            cells,
            lambda x: compute_level_probabilities(x, self._thresholds, self.model == "logit"),
            observed=False,
        )

    def _ask_cells(
        self, X: Any, asked: Any, answer: Callable[[np.ndarray], np.ndarray], *, observed: bool
    ) -> np.ndarray:
        """Return the answers for predictors of the cells asked about, observed numbers in their place if wanted."""
        check_is_fitted(self)
        cells, _ = self._check_rows(X, None, restart=False)
        sketches = self._predict(cells)
        n_rows, n_columns = cells.shape
        places = np.arange(n_rows * n_columns) if asked is None else read_cell_positions(asked, cells.shape)
        subspace, offsets = self._progress[0] * self._subspace, self._centre + self._offsets
        answers = np.concatenate(
            [
                answer(
                    compute_predictors(
                        sketches, *np.divmod(places[start : start + _BLOCK], n_columns), subspace, offsets
                    )
                )
                for start in range(0, max(len(places), 1), _BLOCK)
            ]
        )
        if observed:
            known = cells.rows * n_columns + cells.columns
            at = np.searchsorted(known, places)
            is_known = np.r_[known, -1][at] == places
            answers[is_known] = cells.values[at[is_known]]
        return answers if asked is not None else answers.reshape((n_rows, n_columns, *answers.shape[1:]))

    def _predict_numbers(self, predictors: np.ndarray, how: str) -> np.ndarray:
        """Return levels or expectations (m,) of cells with the predictors (m, c)."""
        if self.model == "tobit":
            bounds = self._thresholds[1:-1]
            means = compute_censored_means(predictors, bounds) if how == "expectation" else predictors[:, 0]
            return self._middle + self._unit * np.clip(means, *bounds)
        is_logit = self.model == "logit"
        if how == "expectation":
            return compute_level_probabilities(predictors, self._thresholds, is_logit) @ self.levels_
        return predict_levels(predictors, self._thresholds, self.levels_, is_logit)

    @property
    def n_iter_(self) -> int:
        """Passes that `fit` makes."""
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

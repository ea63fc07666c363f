"""Methods of a dynamic network on tables of series: forecasts, likelihoods, one-step predictions, simulation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from pgmx.checks import DEFAULT_SEED, check_natural, check_seed, choose_seed, is_number
from pgmx.inference.mixed.families import MixedRows
from pgmx.models.rows import make_label_columns
from pgmx.models.time_series.dynamic.columns import Columns, Slices
from pgmx.models.time_series.dynamic.exact_rows import (
    BatchRun,
    Filter,
    choose_filter,
    forecast_exactly,
    make_batches,
    refuse_impossible,
    split_batch,
)
from pgmx.models.time_series.dynamic.panel import Panel, Series, read_panel
from pgmx.models.time_series.dynamic.simulation import Paths, repeat_history
from pgmx.models.time_series.history import continue_index

#: Groups of samples whose spread estimates the standard errors of quantiles and deviations.
_SAMPLE_GROUPS = 20


class Forecast(NamedTuple):
    """A forecast, and its standard error if it is an average over simulated series (else None).

    Both are frames with a row per series and step. The columns have two levels: (variable, state) with probabilities,
    and (variable, "mean"), (variable, "std"), (variable, "lower") and (variable, "upper") of continuous variables.
    """

    values: pd.DataFrame
    standard_error: pd.DataFrame | None

    @property
    def exact(self) -> bool:
        """Whether the forecast is exact up to rounding."""
        return self.standard_error is None


class DynamicForecasts:
    """Mixin of the methods on tables of series; the subclass provides the parameters."""

    _columns: Columns
    _slices: Slices

    @property
    @abstractmethod
    def groups(self) -> Hashable | None:
        """Name of the column with the keys of the series."""

    @property
    @abstractmethod
    def time_column(self) -> Hashable | None:
        """Name of the column with the times of the rows."""

    @property
    @abstractmethod
    def transition(self) -> Any:
        """The network of a row given the rows before it."""

    @cached_property
    def _filter(self) -> Filter | None:
        return choose_filter(self._slices)

    @property
    def _variable_states(self) -> list[tuple | None]:
        return [self._slices.states[p] for p in self._columns.present]

    def _read(self, X: Any, what: str) -> Panel:
        return read_panel(X, self._slices, self.groups, self.time_column, what)

    # ---- forecasts ----

    def forecast(
        self,
        history: Any,
        steps: int = 1,
        *,
        coverage: float = 0.9,
        n_samples: int = 10_000,
        random_state: int | None = DEFAULT_SEED,
    ) -> Forecast:
        r"""Return the distribution of each variable in the next rows of each series.

        .. math:: p(x_{T+k,v} \mid x_0, \ldots, x_T, s), \qquad k = 1, \ldots, \text{steps}

        Parameters
        ----------
        history : DataFrame, array, path, or sequence or mapping of them
            Rows of one or more series, oldest first: at least L rows of each, or any number with a prior network. The
            columns are the variables, the static columns, and if the network has them `groups` and `time_column`; the
            columns of an array are the variables and then the static columns.
        steps : int, default=1
            Number of rows to forecast, at least 1.
        coverage : float, default=0.9
            Probability of the interval of a continuous variable, between 0 and 1.
        n_samples : int, default=10_000
            Number of simulated series per series of the history, at least 40, if the forecast is not exact.
        random_state : int or None, default=0
            A non-negative seed of the simulation; None draws fresh entropy.

        Returns
        -------
        Forecast
            A named tuple of two frames, ``values`` and ``standard_error``, with a row per series and step. The index
            has the key of the series, if there are several, and the time: regular times of the history continue,
            otherwise steps count from 1. The columns have two levels: (variable, state) with probabilities; (variable,
            "mean"), "std", "lower" and "upper" for a continuous variable. ``standard_error`` is None, and ``exact``
            is True, if the forecast is exact.

        Raises
        ------
        ValueError
            If a column or state is unknown, a series has fewer than L rows and there is no prior network, times do not
            increase, the values of a row are impossible, or a value is missing and cannot be summed out. The error
            names column and row.
        TypeError
            If `history` holds no rows, or an option has another type.

        Notes
        -----
        Forecasts of discrete networks are exact if the joint distribution of those variables of the last L rows on
        which later rows depend has at most 10^6 cells, and no table of a step more than 2^26. Forecasts of linear
        Gaussian networks are always exact. Others are averages over `n_samples` simulated series, and so are their
        intervals (quantiles); networks of discrete and continuous variables are always simulated.

        In exact forecasts missing values, rows that are missing in the times, and missing static values are summed out.
        Without a prior network, missing values of the first L rows have their marginal distributions in the transition
        network. Otherwise values of the last L rows and static values must not be missing.

        The network is treated as known, so intervals from a network that was learned from few rows are too narrow.

        Cost of an exact step: cells of its largest table times the number of variables, or O(k^3) for the k values of
        L + 1 rows. Cost of a simulated step: linear in `n_samples` and the number of edges.

        References
        ----------
        K. P. Murphy (2002), Dynamic Bayesian networks: representation, inference and learning, section 3.2.
        """
        steps, n_samples = check_natural(steps, "steps", 1), check_natural(n_samples, "n_samples", 2 * _SAMPLE_GROUPS)
        if not is_number(coverage) or not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must be a number between 0 and 1, got {coverage!r}")
        seed = check_seed(random_state, "random_state")
        panel = self._read(history, "history")
        self._check_lengths(panel, "history")
        index = _label_steps(panel, steps)
        engine = self._filter
        if engine is not None:
            answers = forecast_exactly(engine, panel, steps)
            width = float(ndtri((1.0 + coverage) / 2.0))
            answers = [[self._add_bounds(v, own, width) for v, own in enumerate(row)] for row in answers]
            return Forecast(self._frame(answers, index), None)
        means, errors = self._simulate_forecast(panel, steps, n_samples, coverage, seed)
        return Forecast(self._frame(means, index), self._frame(errors, index))

    def predict(self, history: Any, steps: int = 1, **options: Any) -> pd.DataFrame:
        """Return the most probable state, or the mean, of each variable in the next rows of each series.

        Parameters
        ----------
        history : DataFrame, array, path, or sequence or mapping of them
            Rows of one or more series, as for `forecast`.
        steps : int, default=1
            Number of rows to forecast, at least 1.
        **options
            Options of `forecast`.

        Returns
        -------
        pandas.DataFrame
            The rows of `forecast`, a column per variable; each variable is predicted for itself. Discrete columns are
            categorical with all states declared.

        Raises
        ------
        ValueError, TypeError
            As `forecast`.
        """
        values = self.forecast(history, steps, **options).values
        columns: dict[int, Any] = {}
        for v, (name, states) in enumerate(zip(self._columns.names, self._variable_states, strict=True)):
            own = values.loc[:, [column[0] == name for column in values.columns]].to_numpy()
            if states is None:
                columns[v] = own[:, 0]
            else:
                categories = pd.Index(list(states), tupleize_cols=False)
                columns[v] = pd.Categorical.from_codes(own.argmax(axis=1), categories)
        names = pd.Index(self._columns.names, tupleize_cols=False)
        return pd.DataFrame(columns, index=values.index).set_axis(names, axis=1)

    def _check_lengths(self, panel: Panel, what: str) -> None:
        """Raise if a series has fewer rows than lags and there is no prior network."""
        lags = self._columns.lags
        if self._slices.has_prior:
            return
        for series in panel.series:
            if len(series.rows) < lags:
                unit = "row" if lags == 1 else "rows"
                raise ValueError(
                    f"{what} must hold at least the last {lags} {unit}{series.where}, oldest first, got "
                    f"{len(series.rows)}: give more rows, or make the network with a prior"
                )

    def _add_bounds(self, v: int, values: np.ndarray, width: float) -> np.ndarray:
        """Return mean, deviation and bounds of a continuous variable, (n_series, 4)."""
        if self._variable_states[v] is not None:
            return values
        mean, deviation = values.T
        return np.column_stack([mean, deviation, mean - width * deviation, mean + width * deviation])

    def _frame(self, answers: list[list[np.ndarray]], index: pd.Index) -> pd.DataFrame:
        """Return the frame of answers by step and variable, (n_series, width), ordered by series and step."""
        labels = [states or ("mean", "std", "lower", "upper") for states in self._variable_states]
        table = np.stack([np.column_stack(row) for row in answers], axis=1).reshape(len(index), -1)
        return pd.DataFrame(table, index=index, columns=make_label_columns(self._columns.names, labels))

    # ---- simulated forecasts ----

    def _simulate_forecast(
        self, panel: Panel, steps: int, n_samples: int, coverage: float, seed: int | None
    ) -> tuple[list[list[np.ndarray]], list[list[np.ndarray]]]:
        """Return averages over simulated series and their standard errors, by step and variable."""
        entropy = np.random.SeedSequence(seed).entropy
        means: list[list[list[np.ndarray]]] = [[[] for _ in self._columns.names] for _ in range(steps)]
        errors: list[list[list[np.ndarray]]] = [[[] for _ in self._columns.names] for _ in range(steps)]
        for number, series in enumerate(panel.series):
            rng = np.random.default_rng([number, *np.atleast_1d(np.asarray(entropy, dtype=object)).tolist()])
            paths = self._continue_series(panel, series, n_samples, "history")
            for step in range(steps):
                drawn = paths.draw_row(rng)
                for v, states in enumerate(self._variable_states):
                    if states is None:
                        mean, error = _summarise(drawn.numbers[v], coverage)
                    else:
                        mean = np.bincount(drawn.codes[v], minlength=len(states)) / n_samples
                        error = np.sqrt(mean * (1.0 - mean) / n_samples)
                    means[step][v].append(mean)
                    errors[step][v].append(error)
        width = [len(states or range(4)) for states in self._variable_states]
        return tuple(
            [[np.array(own).reshape(-1, w) for own, w in zip(row, width, strict=True)] for row in table]
            for table in (means, errors)
        )  # type: ignore[return-value]

    def _continue_series(self, panel: Panel, series: Series, n_paths: int, what: str) -> Paths:
        """Return paths after the last rows of a series, which must be complete."""
        columns = self._columns
        n, n_static, lags = len(columns.names), len(columns.static), columns.lags
        rows = series.rows[-lags:]
        if (rows < 0).any():
            raise ValueError(
                f"the last {lags} rows of {what}{series.where} have a gap in their times: give {lags} consecutive rows"
            )
        panel.refuse_missing(rows, what, "fill it; it is summed out only in exact forecasts")
        shape = (len(columns.labels), 1)
        known = MixedRows(np.zeros(shape, dtype=np.intp), np.zeros(shape))
        static = panel.find_static(series)
        for to, values in ((known.codes, panel.codes), (known.numbers, panel.numbers)):
            to[:n_static, 0] = values[n + np.arange(n_static), static] if n_static else ()
            to[n_static : n_static + len(rows) * n, 0] = values[:n, rows].T.ravel()
        return Paths(self._slices, repeat_history(known, n_paths), len(rows))

    # ---- rows given the rows before them ----

    def log_likelihood(self, X: Any) -> pd.Series:
        r"""Return the log-density of each row given the rows before it in its series, in nats.

        .. math:: \ln p(x_t \mid x_0, \ldots, x_{t-1}, s)

        Parameters
        ----------
        X : DataFrame, array, path, or sequence or mapping of them
            Rows of one or more series, as for `forecast`.

        Returns
        -------
        pandas.Series of float64
            A value per row, with the index of a frame. Without a prior network the first L rows of each series are
            given, and have no value. Minus infinity for impossible rows. The sum over a series is its log-likelihood.

        Raises
        ------
        ValueError, TypeError
            As `forecast`; also if a value is missing, or a row is missing in the times, and cannot be summed out.

        Notes
        -----
        If forecasts are exact, missing values are summed out, so that a row has the log-density of its observed values;
        see `forecast`. Densities of continuous variables depend on their units.
        """
        panel = self._read(X, "X")
        values = np.full(len(panel.index), np.nan)
        whole, broken = self._split_series(panel)
        self._add_complete(panel, whole, values)
        for batch, part in self._list_parts(panel, broken):
            run = BatchRun(batch, panel, part)
            for t in range(part.rows.shape[1]):
                _, logs = run.read_row(is_asked=False)
                is_modelled = self._slices.has_prior or t >= self._columns.lags
                has_row = part.rows[:, t] >= 0
                if is_modelled and has_row.any():
                    values[part.rows[has_row, t]] = logs[has_row]
        known = ~np.isnan(values)
        return pd.Series(values[known], index=panel.index[known], name="log_likelihood")

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-density of the rows given the rows before them, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame, array, path, or sequence or mapping of them
            Rows of one or more series, as for `log_likelihood`.
        y : None
            Ignored; a convention of scikit-learn.

        Returns
        -------
        float
            The mean of `log_likelihood`, NaN without rows.

        Raises
        ------
        ValueError, TypeError
            As `log_likelihood`.
        """
        return float(self.log_likelihood(X).mean())

    def predict_proba(self, X: Any) -> pd.DataFrame:
        r"""Return the distribution of each variable of each row given the rows before it: one-step forecasts.

        .. math:: p(x_{t,v} \mid x_0, \ldots, x_{t-1}, s)

        Parameters
        ----------
        X : DataFrame, array, path, or sequence or mapping of them
            Rows of one or more series, as for `forecast`.

        Returns
        -------
        pandas.DataFrame of float64
            A row for each row of `X` that has L rows before it in its series, with the index of a frame. The columns
            have two levels: (variable, state) with probabilities, (variable, "mean") and (variable, "std") of
            continuous variables. The values of the row itself are not used.

        Raises
        ------
        ValueError, TypeError
            As `log_likelihood`.

        Notes
        -----
        `forecast` gives the distribution of the row after the last one. Missing values are summed out as there.
        Predictions of complete series come from the transition network, also for networks that are too large for exact
        forecasts.
        """
        panel = self._read(X, "X")
        labels = [states or ("mean", "std") for states in self._variable_states]
        bounds = np.cumsum([0, *map(len, labels)])
        values = np.full((len(panel.index), bounds[-1]), np.nan)
        whole, broken = self._split_series(panel)
        targets, sources = panel.find_windows([panel.series[number] for number in whole])
        self._predict_complete(panel, targets, sources, values)
        for batch, part in self._list_parts(panel, broken):
            run = BatchRun(batch, panel, part)
            for t in range(part.rows.shape[1]):
                has_row = part.rows[:, t] >= 0
                is_asked = t >= self._columns.lags and bool(has_row.any())
                answers, logs = run.read_row(is_asked=is_asked)
                refuse_impossible(panel, part, t, logs)
                if is_asked:
                    values[part.rows[has_row, t]] = np.column_stack(answers)[has_row]
        known = np.asarray(~np.isnan(values[:, 0]))
        columns = make_label_columns(self._columns.names, labels)
        return pd.DataFrame(values[known], index=panel.index[known], columns=columns)

    def _split_series(self, panel: Panel) -> tuple[list[int], list[int]]:
        """Return the positions of complete series, and of the others; raise if these cannot be summed out."""
        is_incomplete: np.ndarray = np.logical_or.reduce(panel.missing, axis=0)
        broken = [
            number
            for number, series in enumerate(panel.series)
            if (series.rows < 0).any() or is_incomplete[series.rows].any()
        ]
        if broken and self._filter is None:
            remedy = "fill it; missing values are summed out only by networks with exact forecasts"
            for number in broken:
                series = panel.series[number]
                panel.refuse_missing(series.rows[series.rows >= 0], "X", remedy)
            raise ValueError(
                f"X has a gap in the times{panel.series[broken[0]].where}: give consecutive rows, or make its parts "
                "different series"
            )
        return [number for number in range(len(panel.series)) if number not in set(broken)], broken

    def _list_parts(self, panel: Panel, numbers: list[int]) -> Any:
        """Yield the filter with batches of series that need little memory."""
        engine = self._filter
        if engine is not None:
            for batch in make_batches(panel, numbers, are_last_enough=False):
                for part in split_batch(engine, panel, batch):
                    yield engine, part

    def _add_complete(self, panel: Panel, numbers: list[int], values: np.ndarray) -> None:
        """Write the log-densities of rows of complete series."""
        columns, families = self._columns, self._slices.families
        n, lags = len(columns.names), columns.lags
        series = [panel.series[number] for number in numbers]
        targets, sources = panel.find_windows(series)
        for chunk in panel.chunks(len(targets)):
            lagged = panel.lag_rows(targets[chunk], sources[chunk])
            values[targets[chunk]] = sum(families.log_density(v, lagged) for v in columns.present)
        if not self._slices.has_prior:
            return
        for t in range(lags):
            first = [own.rows for own in series if len(own.rows) > t]
            if not first:
                return
            # the row t is at lag L - t of the prior network, whose later rows do not matter
            rows = np.stack([own[np.minimum(np.arange(lags), len(own) - 1)] for own in first])
            for chunk in panel.chunks(len(rows)):
                lagged = panel.lag_rows(rows[chunk, t], rows[chunk])
                start = columns.position(0, lags - t)
                found = sum(families.log_density(v, lagged) for v in range(start, start + n))
                values[rows[chunk, t]] = found

    def _predict_complete(self, panel: Panel, targets: np.ndarray, sources: np.ndarray, values: np.ndarray) -> None:
        """Write the predictions of the transition network for rows with complete rows before them."""
        columns, states = self._columns, self._slices.states
        network = self.transition
        present = [columns.labels[p] for p in columns.present]
        used = [p for p in columns.past if columns.labels[p] in set(network.nodes())]
        for chunk in panel.chunks(len(targets)):
            lagged = panel.lag_rows(targets[chunk], sources[chunk])
            cells: dict[int, Any] = {}
            for p in used:
                own = states[p]
                if own is None:
                    cells[p] = lagged.numbers[p]
                else:
                    cells[p] = pd.Categorical.from_codes(lagged.codes[p], pd.Index(list(own), tupleize_cols=False))
            names = pd.Index([columns.labels[p] for p in used], tupleize_cols=False)
            frame = pd.DataFrame(cells, index=pd.RangeIndex(len(targets[chunk]))).set_axis(names, axis=1)
            found = network.predict_proba(frame, present)
            order = [k for label in present for k, own in enumerate(found.columns) if own[0] == label]
            values[targets[chunk]] = found.to_numpy()[:, order]

    # ---- simulation ----

    def simulate(
        self,
        n_steps: int,
        n_series: int = 1,
        random_state: int | None = DEFAULT_SEED,
        *,
        history: Any = None,
        seed: int | None = DEFAULT_SEED,
    ) -> pd.DataFrame:
        """Draw independent series.

        Parameters
        ----------
        n_steps : int
            Number of rows of each series, at least 0.
        n_series : int, default=1
            Number of series, at least 1.
        random_state : int or None, default=0
            A non-negative seed; None draws fresh entropy.
        history : DataFrame, array, path, or sequence or mapping of them, optional
            Series that the drawn ones continue, as for `forecast`: series k continues the series number k modulo their
            number. It is needed without a prior network. By default series begin with their first row.
        seed : int or None, default=0
            Alias of `random_state` under pgmpy's name; do not give both.

        Returns
        -------
        pandas.DataFrame of shape (n_series * n_steps, n_columns)
            Rows by series and time: the columns ``series`` and ``time`` (named as `groups` and `time_column` if the
            network has them), which count from 0, the static columns and the variables. Discrete columns are
            categorical with all states declared. The rows of `history` are not repeated.

        Raises
        ------
        ValueError, TypeError
            If there is neither a prior network nor a history, a value of the last L rows of `history` or a static value
            is missing, or an option is out of its range.
        """
        n_steps, n_series = check_natural(n_steps, "n_steps", 0), check_natural(n_series, "n_series", 1)
        rng = np.random.default_rng(choose_seed(random_state, seed))
        columns = self._columns
        if history is not None:
            panel = self._read(history, "history")
            self._check_lengths(panel, "history")
            if not panel.series:
                raise ValueError("history holds no series: give at least one")
            known = [self._continue_series(panel, own, 1, "history") for own in panel.series[:n_series]]
            lengths = sorted({paths.n_known for paths in known})
            if len(lengths) > 1:
                raise ValueError(
                    f"the series of history have {lengths[0]} to {lengths[-1]} of the last {columns.lags} rows: give "
                    "the same number of rows of each"
                )
            order = np.arange(n_series) % len(known)
            joined = MixedRows(
                *(np.concatenate(own, axis=1)[:, order] for own in zip(*(k.rows for k in known), strict=True))
            )
            paths = Paths(self._slices, joined, lengths[0])
        elif self._slices.has_prior:
            paths = Paths.start(self._slices, n_series, rng)
        else:
            raise ValueError(
                "the network has no prior: the first rows of series are given, so give the series to continue as "
                "history="
            )
        static = MixedRows(*(values[: len(columns.static)].copy() for values in paths.rows))
        drawn = [paths.draw_row(rng) for _ in range(n_steps)]
        return self._make_series(static, drawn, n_series)

    def _make_series(self, static: MixedRows, drawn: list[MixedRows], n_series: int) -> pd.DataFrame:
        """Return drawn rows as a frame, ordered by series and time."""
        columns, n_steps = self._columns, len(drawn)
        keys: list[Hashable] = [
            "series" if self.groups is None else self.groups,
            "time" if self.time_column is None else self.time_column,
        ]
        cells: list[Any] = [np.repeat(np.arange(n_series), n_steps), np.tile(np.arange(n_steps), n_series)]
        names = (*columns.static, *columns.names)
        states = [*self._slices.states[: len(columns.static)], *self._variable_states]
        for number, own in enumerate(states):
            kind = 1 if own is None else 0
            if number < len(columns.static):
                column = np.repeat(static[kind][number], n_steps)
            else:
                rows = [row[kind][number - len(columns.static)] for row in drawn]
                column = np.stack(rows, axis=1).ravel() if rows else static[kind][:0].ravel()
            if own is not None:
                column = pd.Categorical.from_codes(column, pd.Index(list(own), tupleize_cols=False))
            cells.append(column)
        labels = pd.Index([*(key for key in keys if key not in names), *names], tupleize_cols=False)
        kept = [cell for key, cell in zip(keys, cells[:2], strict=True) if key not in names] + cells[2:]
        return pd.DataFrame(dict(enumerate(kept))).set_axis(labels, axis=1)


def _label_steps(panel: Panel, steps: int) -> pd.Index:
    """Return the index of forecasts: the key of the series, if there are several, and the time or the step."""
    times = []
    for series in panel.series:
        if series.labels is not None:
            times.append(continue_index(series.labels, steps))
        elif series.key is None:
            times.append(continue_index(panel.index, steps))
        else:
            times.append(pd.RangeIndex(1, steps + 1))
    if len(panel.levels) == 1:
        return times[0].rename(panel.levels[0] if panel.levels[0] is not None else times[0].name)
    keys = pd.Index([series.key for series in panel.series], tupleize_cols=False)
    levels = [keys.repeat(steps), times[0].append(times[1:]) if times else pd.RangeIndex(0)]
    return pd.MultiIndex.from_arrays(levels, names=[panel.levels[0], panel.levels[1] or "step"])


def _summarise(values: np.ndarray, coverage: float) -> tuple[np.ndarray, np.ndarray]:
    """Return mean, deviation and bounds of samples, and their standard errors, (4,) each."""
    shares = [(1.0 - coverage) / 2.0, (1.0 + coverage) / 2.0]
    summary = np.array([values.mean(), values.std(), *np.quantile(values, shares)])
    parts = values[: len(values) // _SAMPLE_GROUPS * _SAMPLE_GROUPS].reshape(_SAMPLE_GROUPS, -1)
    spread = [parts.std(axis=1), *np.quantile(parts, shares, axis=1)]
    errors = [own.std(ddof=1) / np.sqrt(_SAMPLE_GROUPS) for own in spread]
    return summary, np.array([summary[1] / np.sqrt(len(values)), *errors])

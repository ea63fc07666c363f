"""Predictions of missing values by a conditional linear Gaussian network."""

import warnings
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pgmx.checks import DEFAULT_SEED, caller_level, check_natural, check_seed, join_names
from pgmx.data.distributed.tables import is_remote
from pgmx.inference import ApproximationWarning, TreewidthError
from pgmx.inference.mixed.families import MixedFamilies, RowChunk
from pgmx.inference.mixed.missing_values import find_blocks
from pgmx.inference.mixed.posterior import (
    EXACT_CELLS,
    Answers,
    Question,
    answer_question,
    find_impossible,
    plan_question,
)
from pgmx.inference.mixed.weighting import make_key, weigh_samples
from pgmx.inference.reduced_network import show_evidence
from pgmx.models.distributed_rows import let_workers_answer
from pgmx.models.rows import MixedColumns, read_mixed_rows

#: Most values per row of exact inference with "auto"; beyond that it uses weighting.
AUTO_CELLS = 1 << 22

#: Number of plans, for connected sets of missing variables, that are cached across chunks.
_MOST_PLANS = 4096

_METHODS = ("auto", "exact", "weighting")


class Prediction(NamedTuple):
    """A request: positions of variables (None for missing ones), method, and options of sampling."""

    variables: list[int] | None
    method: str
    n_samples: int
    key: int


class ImpossibleRows:
    """Impossible rows: their number, the observed values of the first, and whether weighting found it impossible."""

    def __init__(self, names: Sequence[Hashable], states: Sequence[Sequence | None]) -> None:
        self.n_rows, self.first, self.is_sampled = 0, -1, False
        self.values: dict[Hashable, Hashable] = {}
        self._names, self._states = names, states

    def add(self, failed: np.ndarray, sizes: np.ndarray, begin: int, cells: RowChunk) -> None:
        """Count the `failed` rows of a chunk that begins at row `begin`; `sizes` are effective sample sizes."""
        if failed.any() and not self.n_rows:
            row = int(np.flatnonzero(failed)[0])
            self.first, self.is_sampled = begin + row, sizes[row] == 0.0
            for v in np.flatnonzero(~cells.missing[:, row]).tolist():
                states = self._states[v]
                value = float(cells.rows.numbers[v, row]) if states is None else states[cells.rows.codes[v, row]]
                self.values[self._names[v]] = value
        self.n_rows += int(failed.sum())

    def raise_if_any(self, n_samples: int) -> None:
        """Raise if there are impossible rows."""
        if self.n_rows:
            why, remedy = " under the network", ""
            if self.is_sampled:
                why, remedy = f" under all {n_samples} samples", "raise n_samples, or "
            raise ValueError(
                f"{self.n_rows} row(s), the first at position {self.first}, are impossible{why}. The first has "
                f"{show_evidence(self.values)}: {remedy}leave out some of these values"
            )


class MixedPredictions:
    """Mixin of a network with `names`, states per variable (None for continuous variables), and families."""

    _names: tuple
    _states: tuple

    @abstractmethod
    def _require_families(self) -> MixedFamilies:
        """Return the parameters, or raise if there are none."""

    def _require_parameters(self) -> None:
        self._require_families()

    def read_rows(self, rows: Any) -> MixedColumns:
        """Return rows in the order of the network; columns may be absent, values may be missing."""
        return read_mixed_rows(rows, self._names, self._states, allow_missing=True)

    def list_states(self) -> Mapping[Hashable, Sequence]:
        """Return the states of the discrete variables, by name."""
        return {name: own for name, own in zip(self._names, self._states, strict=True) if own is not None}

    @abstractmethod
    def without_graph(self, question: str) -> Any:
        """Return an object that has only arrays and the row-wise methods of the network."""

    # ---- predictions ----

    def predict(
        self,
        X: Any,
        variables: Sequence[Hashable] | None = None,
        *,
        method: str = "auto",
        n_samples: int = 10_000,
        random_state: int | None = DEFAULT_SEED,
    ) -> pd.DataFrame:
        r"""Predict missing values given the rest of the row: means of continuous variables, most probable states.

        .. math:: \hat x_v = E(x_v \mid x_o), \qquad \hat x_v = \arg\max_k P(x_v = k \mid x_o)

        for each variable separately.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or distributed table
            Any number of rows. A dictionary of single values is one row; an array has a column for each variable.
        variables : sequence of hashable, optional
            Names of variables to predict; their values in `X` are ignored. The default is all variables without a
            column or with missing values.
        method : {"auto", "exact", "weighting"}, default="auto"
            "exact" integrates continuous variables out and then sums over states by a junction tree. "weighting" is
            likelihood weighting with `n_samples` samples per row. "auto" is exact up to 2^22 values per row. Otherwise
            it uses weighting and warns with the effective sample size.
        n_samples : int, default=10_000
            Samples per row of likelihood weighting, at least 1.
        random_state : int or None, default=0
            A non-negative seed of likelihood weighting; None draws fresh entropy.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_predicted)
            Variables in the order of `names`, with the index of `X`; discrete columns are categorical with all states
            declared. Observed values are unchanged. For a distributed table, a dask.dataframe whose partitions the
            workers compute.

        Raises
        ------
        ValueError
            If a column or a name is not a variable, a value is infinite or not a state of its variable, a row is
            impossible, or `method` is unknown.
        TreewidthError
            If "exact" would need more than 2^27 values per row.

        Warns
        -----
        ApproximationWarning
            If weighting estimates a prediction; the warning reports the smallest effective sample size of a row.

        Notes
        -----
        Exact inference uses the strong junction tree of Lauritzen, with continuous variables eliminated first. The cost
        per row is the number of cells of a junction tree over the unobserved discrete variables. Each connected
        component of k unobserved continuous variables adds O(k³) per configuration of the discrete variables on which
        it depends. Rows with the same missing variables share the work.

        Rows are processed in chunks of a million values. In addition to `X` and the result this needs one or two bytes
        per value of discrete columns and about 100 MB, for any number of rows. The samples of a row depend on the seed
        and on its position.

        References
        ----------
        S. L. Lauritzen (1992), Propagation of probabilities, means, and variances in mixed graphical association
        models, JASA 87. S. L. Lauritzen, F. Jensen (2001), Stable local computation with conditional Gaussian
        distributions, Statistics and Computing 11. R. Fung, K.-C. Chang (1990), Weighing and integrating evidence for
        stochastic simulation in Bayesian networks, UAI 5.
        """
        return self._compute("_predict", X, variables, method, n_samples, random_state)

    @let_workers_answer
    def _predict(self, X: Any, prediction: Prediction, first_row: int) -> pd.DataFrame:
        read, wanted = self._read_rows_for(X, prediction)
        cells: dict[int, np.ndarray] = {
            v: np.empty(read.n_rows, dtype=np.float64 if self._states[v] is None else _code_type(len(self._states[v])))
            for v in wanted
        }
        for rows, chunk, answers in self._answer_chunks(read, wanted, prediction, first_row):
            for v in wanted:
                missing = chunk.missing[v]
                if self._states[v] is None:
                    column, answer = chunk.rows.numbers[v], answers.means[v][missing]
                else:
                    column, answer = chunk.rows.codes[v], answers.probabilities[v][missing].argmax(axis=1)
                cells[v][rows] = column
                cells[v][rows][missing] = answer
        columns: dict[int, Any] = {
            v: column if self._states[v] is None else pd.Categorical.from_codes(column, self._categories(v))
            for v, column in cells.items()
        }
        return self._frame(columns, read.index)

    def predict_proba(
        self,
        X: Any,
        variables: Sequence[Hashable] | None = None,
        *,
        method: str = "auto",
        n_samples: int = 10_000,
        random_state: int | None = DEFAULT_SEED,
    ) -> pd.DataFrame:
        """Return the distributions of missing values given the rest of the row, for each variable separately.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or distributed table
            Rows, as for `predict`.
        variables : sequence of hashable, optional
            Names of variables to predict; their values in `X` are ignored. The default is all variables without a
            column or with missing values.
        method : {"auto", "exact", "weighting"}, default="auto"
            As for `predict`.
        n_samples : int, default=10_000
            Samples per row of likelihood weighting.
        random_state : int or None, default=0
            A non-negative seed of likelihood weighting.

        Returns
        -------
        pandas.DataFrame
            A frame with the index of `X` and two levels of columns. (variable, state) holds the probability of a state;
            (variable, "mean") and (variable, "std") hold the mean and standard deviation of a continuous variable (of a
            mixture of normal distributions if states are missing). Observed values have probability 1, or standard
            deviation 0. For a distributed table, a dask.dataframe.

        Raises
        ------
        ValueError, TreewidthError
            As `predict`.
        """
        return self._compute("_predict_proba", X, variables, method, n_samples, random_state)

    @let_workers_answer
    def _predict_proba(self, X: Any, prediction: Prediction, first_row: int) -> pd.DataFrame:
        read, wanted = self._read_rows_for(X, prediction)
        labels = [(self._names[v], label) for v in wanted for label in self._states[v] or ("mean", "std")]
        values = np.empty((read.n_rows, len(labels)))
        for rows, chunk, answers in self._answer_chunks(read, wanted, prediction, first_row):
            begin = 0
            for v in wanted:
                missing = chunk.missing[v]
                if self._states[v] is None:
                    shares = np.column_stack([chunk.rows.numbers[v], np.zeros(missing.shape)])
                    shares[missing, 0] = answers.means[v][missing]
                    shares[missing, 1] = np.sqrt(answers.variances[v][missing])
                else:
                    shares = np.eye(len(self._states[v]))[chunk.rows.codes[v]]
                    shares[missing] = answers.probabilities[v][missing]
                values[rows, begin : begin + shares.shape[1]] = shares
                begin += shares.shape[1]
        return pd.DataFrame(values, index=read.index, columns=pd.MultiIndex.from_tuples(labels) if labels else None)

    def _compute(
        self,
        what: str,
        X: Any,
        variables: Sequence[Hashable] | None,
        method: str,
        n_samples: int,
        random_state: int | None,
    ) -> Any:
        """Check the options of a prediction and compute it; for a distributed table, on its workers."""
        self._require_families()
        if method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
        n_samples = check_natural(n_samples, "n_samples", 1)
        key = make_key(check_seed(random_state, "random_state"))
        chosen = None if variables is None else self._check_variables(variables)
        prediction = Prediction(chosen, method, n_samples, key)
        answers = getattr(self, what)(X, prediction=prediction, first_row=0)
        if is_remote(X):  # the workers, which know the effective sample sizes, can only log them
            self._warn_of_partitions(X, prediction)
        return answers

    def _read_rows_for(self, X: Any, prediction: Prediction) -> tuple[MixedColumns, list[int]]:
        """Return the rows, and the variables to predict."""
        chosen = prediction.variables
        ignore = [] if chosen is None else [self._names[v] for v in chosen]
        read = read_mixed_rows(X, self._names, self._states, allow_missing=True, ignore=ignore)
        return read, np.flatnonzero(read.incomplete).tolist() if chosen is None else chosen

    def _answer_chunks(
        self, read: MixedColumns, wanted: list[int], prediction: Prediction, first_row: int
    ) -> Iterator[tuple[slice, RowChunk, Answers]]:
        """Yield rows in chunks with their results, NaN for observed values; raise in the end for impossible rows.

        `first_row` is the position of the first row in the table, on which samples depend.
        """
        network = self._require_families()
        families = [(v, *parents) for v, parents in enumerate(network.parents)]
        plans: dict[tuple, list[Question | list[int]]] = {}
        impossible_rows, sizes = ImpossibleRows(self._names, self._states), []
        for chunk in read.chunks():
            cells = read.take(chunk)
            n_rows = chunk.stop - chunk.start
            answers = _make_answers(network, wanted, n_rows)
            # Rows without sampling have no effective sample size.
            effective = np.full(n_rows, np.inf)
            to_sample = np.zeros(cells.missing.shape, dtype=bool)
            for block in find_blocks(families, cells.missing):
                targets = [v for v in block.hidden if v in answers.probabilities or v in answers.means]
                observed = np.ones(len(network.cards), dtype=bool)
                observed[block.hidden] = False  # other missing values of the row do not matter
                if (questions := plans.get(tuple(block.hidden))) is None:
                    questions = list(self._questions(network, observed, targets, prediction.method))
                    if len(plans) < _MOST_PLANS:
                        # A full cache keeps the plans of the first blocks; results do not depend on it.
                        plans[tuple(block.hidden)] = questions
                for one in questions:
                    if isinstance(one, Question):
                        found = answer_question(network, one, cells.rows.take(block.rows), observed)
                        _set_answers(answers, found, block.rows)
                    else:
                        to_sample[np.array(one)[:, None], block.rows] = True
            for rows, missing, targets in _split_samples(cells.missing, to_sample):
                numbers = first_row + chunk.start + rows
                found, effective[rows] = weigh_samples(
                    network, targets, cells.rows.take(rows), ~missing, prediction.n_samples, prediction.key, numbers
                )
                _set_answers(answers, found, rows)
            impossible = find_impossible(network, cells.rows, cells.missing)
            for kind in answers:
                for values in kind.values():
                    values[impossible] = np.nan
            impossible_rows.add(_find_failures(network, wanted, cells.missing, answers), effective, chunk.start, cells)
            sizes.append(effective[effective < np.inf])
            yield chunk, cells, answers
        impossible_rows.raise_if_any(prediction.n_samples)
        self._warn_of_sizes(np.concatenate(sizes) if sizes else np.empty(0), read.n_rows, prediction.n_samples)

    def _questions(
        self, network: MixedFamilies, observed: np.ndarray, targets: list[int], method: str
    ) -> Iterator[Question | list[int]]:
        """Yield plans of exact computations, then a list of the targets that remain for weighting."""
        if not targets:
            return
        most = AUTO_CELLS if method == "auto" else EXACT_CELLS
        left = []
        # All targets together share their work; if that is too large, each alone may be small enough.
        whole = None if method == "weighting" else plan_question(network, observed, targets)
        if whole is not None and whole.cells <= most:
            yield whole
            return
        for v in targets:
            if method == "weighting":
                left.append(v)
                continue
            question = plan_question(network, observed, [v])
            if question.cells <= most:
                yield question
            elif method == "auto":
                left.append(v)
            else:
                raise TreewidthError(
                    f"exact inference of {self._names[v]!r} would need {question.cells:.2g} values per row, more than "
                    f"{most:,}",
                    engines="likelihood weighting (method='weighting')",
                )
        if left:
            yield left

    def _warn_of_sizes(self, sizes: np.ndarray, n_rows: int, n_samples: int) -> None:
        """Warn if predictions are estimates with these effective sample sizes."""
        if len(sizes):
            warnings.warn(
                f"{len(sizes)} of {n_rows} rows are predicted by likelihood weighting of {n_samples} "
                f"samples: their effective sample size is at least {sizes.min():.0f}, its median "
                f"{np.median(sizes):.0f}; standard errors correspond to this sample size",
                ApproximationWarning,
                stacklevel=caller_level(),
            )

    def _warn_of_partitions(self, X: Any, prediction: Prediction) -> None:
        """Warn if workers will use weighting: all rows of a distributed table have the same missing variables."""
        read, wanted = self._read_rows_for(X.without_rows(), prediction)
        if any(
            isinstance(one, list)
            for one in self._questions(self._require_families(), ~read.absent, wanted, prediction.method)
        ):
            warnings.warn(
                f"rows are predicted by likelihood weighting of {prediction.n_samples} samples each; their effective "
                "sample sizes are written to the logs of the workers",
                ApproximationWarning,
                stacklevel=caller_level(),
            )

    def _check_variables(self, variables: Sequence[Hashable]) -> list[int]:
        names = [variables] if isinstance(variables, str) else list(variables)
        place = {name: v for v, name in enumerate(self._names)}
        unknown = [name for name in names if name not in place]
        if unknown or not names:
            raise ValueError(
                f"variables must be one or more names of the network, got {join_names(unknown or names)}: it has "
                f"{join_names(self._names)}"
            )
        return sorted({place[name] for name in names})

    def _categories(self, v: int) -> pd.Index:
        return pd.Index(list(self._states[v]), tupleize_cols=False)

    def _frame(self, columns: dict[int, Any], index: pd.Index) -> pd.DataFrame:
        names = pd.Index([self._names[v] for v in columns], tupleize_cols=False)
        return pd.DataFrame(dict(enumerate(columns.values())), index=index).set_axis(names, axis=1)


def _make_answers(network: MixedFamilies, wanted: list[int], n_rows: int) -> Answers:
    """Return empty results."""
    answers = Answers({}, {}, {})
    for v in wanted:
        if network.cards[v]:
            answers.probabilities[v] = np.full((n_rows, network.cards[v]), np.nan)
        else:
            answers.means[v], answers.variances[v] = np.full(n_rows, np.nan), np.full(n_rows, np.nan)
    return answers


def _set_answers(answers: Answers, found: Answers, rows: np.ndarray) -> None:
    """Set the results of some rows."""
    for ours, theirs in zip(answers, found, strict=True):
        for v, values in theirs.items():
            ours[v][rows] = values


def _split_samples(missing: np.ndarray, to_sample: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, list[int]]]:
    """Yield rows with the same missing variables, bool (n,), and the same targets to sample, with both."""
    rows = np.flatnonzero(to_sample.any(axis=0))
    for of_rows, both in split_patterns(np.vstack([missing, to_sample])[:, rows]):
        missed, targets = np.split(both, 2)
        yield rows[of_rows], missed, np.flatnonzero(targets).tolist()


def _find_failures(network: MixedFamilies, wanted: list[int], missing: np.ndarray, answers: Answers) -> np.ndarray:
    """Return a mask of the rows without a result."""
    failed = np.zeros(missing.shape[1], dtype=bool)
    for v in wanted:
        values = answers.probabilities[v][:, 0] if network.cards[v] else answers.means[v]
        failed |= missing[v] & np.isnan(values)
    return failed


def _code_type(n_states: int) -> np.dtype:
    """Return the smallest signed type for n codes, as in pandas."""
    return np.min_scalar_type(-n_states)


def split_patterns(missing: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows with the same missing variables, and these variables."""
    if not missing.shape[1]:
        return
    packed = np.packbits(missing, axis=0)
    _, first, group = np.unique(packed, axis=1, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(first) + 1))
    for pattern, row in enumerate(first.tolist()):
        yield order[bounds[pattern] : bounds[pattern + 1]], missing[:, row]

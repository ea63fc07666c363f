"""What a conditional linear Gaussian network predicts of cells that are missing."""

import warnings
from abc import abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pgmx.checks import DEFAULT_SEED, caller_level, check_natural, check_seed, join_names
from pgmx.inference import ApproximationWarning, TreewidthError
from pgmx.inference.mixed.families import MixedFamilies
from pgmx.inference.mixed.posterior import (
    Answers,
    Question,
    answer_question,
    find_impossible,
    plan_question,
)
from pgmx.inference.mixed.weighting import weigh_samples
from pgmx.models.mixed.rows import ReadRows, read_mixed_rows

#: Most numbers per row that exact answers may take: where "auto" goes on to weighting, and where "exact" gives up.
AUTO_CELLS, EXACT_CELLS = 1 << 22, 1 << 27

_METHODS = ("auto", "exact", "weighting")


class MixedPredictions:
    """Mixin of a network that has `names`, the states of each variable (None for floats), and families."""

    _names: tuple
    _states: tuple

    @abstractmethod
    def _require_families(self) -> MixedFamilies:
        """Return the parameters, or raise where there are none."""

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
        r"""Predict what is missing given the rest of the row: means of floats, most probable states.

        .. math:: \hat x_v = E(x_v \mid x_o), \qquad \hat x_v = \arg\max_k P(x_v = k \mid x_o)

        each variable on its own.

        Parameters
        ----------
        X : DataFrame, dict, array, path or iterator of frames
            Rows, any number of them. A dictionary of cells is one row; an array has a column for each variable.
        variables : sequence of hashable, optional
            Names of variables to predict, whatever `X` says of them. By default those that have no column or miss a
            cell.
        method : {"auto", "exact", "weighting"}, default="auto"
            "exact": floats are integrated out first, then states by a junction tree. "weighting": likelihood weighting
            of `n_samples` samples per row. "auto": exact where a row takes at most 2^22 numbers, else weighting, with a
            warning that holds the effective sample size.
        n_samples : int, default=10_000
            Samples per row of likelihood weighting, at least 1.
        random_state : int or None, default=0
            A non-negative seed of likelihood weighting; None draws fresh entropy.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_predicted)
            In the order of `names`, with the index of `X`; states as categories with all states declared. Known cells
            are as they were.

        Raises
        ------
        ValueError
            If a column or a name is no variable, a cell infinite or no state of its variable, a row impossible, or
            `method` unknown.
        TreewidthError
            If "exact" would take more than 2^27 numbers per row.

        Warns
        -----
        ApproximationWarning
            Where an answer is estimated by weighting; with the smallest effective sample size of a row.

        Notes
        -----
        Exact answers take, per row, the cells of a junction tree over the unobserved states, and for each connected
        part of k unobserved floats O(k³) per configuration of the states that they depend on: the strong junction tree
        of Lauritzen with floats eliminated first. Rows that miss the same cells share the work.

        References
        ----------
        S. L. Lauritzen (1992), Propagation of probabilities, means, and variances in mixed graphical association
        models, JASA 87. S. L. Lauritzen, F. Jensen (2001), Stable local computation with conditional Gaussian
        distributions, Statistics and Computing 11. R. Fung, K.-C. Chang (1990), Weighing and integrating evidence for
        stochastic simulation in Bayesian networks, UAI 5.
        """
        read, wanted, answers = self._answer(X, variables, method, n_samples, random_state)
        columns = {}
        for v in wanted:
            missing, known = read.missing[v], ~read.missing[v]
            if self._states[v] is None:
                columns[v] = np.where(known, read.rows.numbers[v], 0.0)
                columns[v][missing] = answers.means[v][missing]
            else:
                codes = np.where(known, read.rows.codes[v], 0)
                codes[missing] = answers.probabilities[v][missing].argmax(axis=1)
                columns[v] = pd.Categorical.from_codes(codes, self._categories(v))
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
        """Return the distribution of what is missing given the rest of the row, each variable on its own.

        Parameters
        ----------
        X : DataFrame, dict, array, path or iterator of frames
            Rows, as for `predict`.
        variables : sequence of hashable, optional
            Names of variables to predict, whatever `X` says of them. By default those that have no column or miss a
            cell.
        method : {"auto", "exact", "weighting"}, default="auto"
            As for `predict`.
        n_samples : int, default=10_000
            Samples per row of likelihood weighting.
        random_state : int or None, default=0
            A non-negative seed of likelihood weighting.

        Returns
        -------
        pandas.DataFrame
            With the index of `X` and two levels of columns: (variable, state) holds the probability of a state;
            (variable, "mean") and (variable, "std") mean and standard deviation of a float, those of a mixture of
            normal distributions where states are unknown. Cells that are known have probability 1, or deviation 0.

        Raises
        ------
        ValueError, TreewidthError
            As `predict`.
        """
        read, wanted, answers = self._answer(X, variables, method, n_samples, random_state)
        columns: dict[tuple, np.ndarray] = {}
        for v in wanted:
            missing, name = read.missing[v], self._names[v]
            if self._states[v] is None:
                mean, std = read.rows.numbers[v].copy(), np.zeros(missing.shape)
                mean[missing] = answers.means[v][missing]
                std[missing] = np.sqrt(answers.variances[v][missing])
                columns[name, "mean"], columns[name, "std"] = mean, std
                continue
            shares = np.eye(len(self._states[v]))[read.rows.codes[v]]
            shares[missing] = answers.probabilities[v][missing]
            columns.update({(name, state): column for state, column in zip(self._states[v], shares.T, strict=True)})
        labels = pd.MultiIndex.from_tuples(list(columns)) if columns else None
        values = np.column_stack(list(columns.values())) if columns else np.empty((len(read.index), 0))
        return pd.DataFrame(values, index=read.index, columns=labels)

    def _answer(
        self, X: Any, variables: Sequence[Hashable] | None, method: str, n_samples: int, random_state: int | None
    ) -> tuple[ReadRows, list[int], Answers]:
        """Return the rows, the variables that are wanted, and answers for all rows, NaN where cells are known."""
        network = self._require_families()
        if method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(map(repr, _METHODS))}, got {method!r}")
        n_samples = check_natural(n_samples, "n_samples", 1)
        rng = np.random.default_rng(check_seed(random_state, "random_state"))
        chosen = None if variables is None else self._check_variables(variables)
        ignore = [] if chosen is None else [self._names[v] for v in chosen]
        read = read_mixed_rows(X, self._names, self._states, allow_missing=True, ignore=ignore)
        wanted = np.flatnonzero(read.missing.any(axis=1) | read.absent).tolist() if chosen is None else chosen
        n_rows = read.missing.shape[1]
        answers = Answers({}, {}, {})
        for v in wanted:
            if network.cards[v]:
                answers.probabilities[v] = np.full((n_rows, network.cards[v]), np.nan)
            else:
                answers.means[v], answers.variances[v] = np.full(n_rows, np.nan), np.full(n_rows, np.nan)
        sizes = np.full(n_rows, np.inf)
        for rows, missing in split_patterns(read.missing):
            targets = [v for v in wanted if missing[v]]
            part = read.rows.take(rows)
            impossible = rows[find_impossible(network, part, ~missing)]
            for question in self._questions(network, ~missing, targets, method):
                if isinstance(question, Question):
                    found = answer_question(network, question, part, ~missing)
                else:
                    found, effective = weigh_samples(network, question, part, ~missing, n_samples, rng)
                    sizes[rows] = np.minimum(sizes[rows], effective)
                for ours, theirs in zip(answers, found, strict=True):
                    for v, values in theirs.items():
                        ours[v][rows] = values
                        ours[v][impossible] = np.nan
        self._check_answers(read, wanted, answers, sizes, n_samples)
        return read, wanted, answers

    def _questions(
        self, network: MixedFamilies, observed: np.ndarray, targets: list[int], method: str
    ) -> Iterator[Question | list[int]]:
        """Yield plans of exact computations, and in one list the targets that are left to weighting."""
        if not targets:
            return
        most = AUTO_CELLS if method == "auto" else EXACT_CELLS
        left = []
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
                    f"exact inference of {self._names[v]!r} would take {question.cells:.2g} numbers per row, more than "
                    f"{most:,}",
                    engines="likelihood weighting (method='weighting')",
                )
        if left:
            yield left

    def _check_answers(
        self, read: ReadRows, wanted: list[int], answers: Answers, sizes: np.ndarray, n_samples: int
    ) -> None:
        """Raise for impossible rows; warn where answers are estimates."""
        failed = np.zeros(len(sizes), dtype=bool)
        for v in wanted:
            values = answers.probabilities[v][:, 0] if self._states[v] is not None else answers.means[v]
            failed |= read.missing[v] & np.isnan(values)
        if failed.any():
            row = int(np.flatnonzero(failed)[0])
            why = f" to {n_samples} samples: raise n_samples" if sizes[row] == 0.0 else " under the network"
            raise ValueError(
                f"what is known of {int(failed.sum())} row(s), the first at position {row}, is impossible{why}, or "
                "leave out some of its cells"
            )
        estimated = sizes < np.inf
        if estimated.any():
            warnings.warn(
                f"{int(estimated.sum())} of {len(sizes)} rows are predicted by likelihood weighting of {n_samples} "
                f"samples: their effective sample size is at least {sizes[estimated].min():.0f}, its median "
                f"{np.median(sizes[estimated]):.0f}; standard errors are those of so many samples",
                ApproximationWarning,
                stacklevel=caller_level(),
            )

    def _check_variables(self, variables: Sequence[Hashable]) -> list[int]:
        names = [variables] if isinstance(variables, str) else list(variables)
        place = {name: v for v, name in enumerate(self._names)}
        unknown = [name for name in names if name not in place]
        if unknown or not names:
            raise ValueError(
                f"variables must be names of the network, one at least, got {join_names(unknown or names)}: it has "
                f"{join_names(self._names)}"
            )
        return sorted({place[name] for name in names})

    def _categories(self, v: int) -> pd.Index:
        return pd.Index(list(self._states[v]), tupleize_cols=False)

    def _frame(self, columns: dict[int, Any], index: pd.Index) -> pd.DataFrame:
        names = pd.Index([self._names[v] for v in columns], tupleize_cols=False)
        return pd.DataFrame(dict(enumerate(columns.values())), index=index).set_axis(names, axis=1)


def split_patterns(missing: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows that miss the same cells, and which these are."""
    if not missing.shape[1]:
        return
    packed = np.packbits(missing, axis=0)
    _, first, group = np.unique(packed, axis=1, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(len(first) + 1))
    for pattern, row in enumerate(first.tolist()):
        yield order[bounds[pattern] : bounds[pattern + 1]], missing[:, row]

"""Simulation and likelihoods of a conditional linear Gaussian network, in addition to predictions."""

from collections.abc import Hashable, Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from pgmx.checks import DEFAULT_SEED, check_natural, choose_seed, join_names
from pgmx.inference.mixed.families import MixedFamilies, MixedRows, RowChunk
from pgmx.inference.mixed.missing_values import ObservedDensities
from pgmx.inference.mixed.simulation import cut_families, draw_given
from pgmx.inference.problem import UnknownStateError
from pgmx.inference.reduced_network import show_evidence
from pgmx.lookup import suggest
from pgmx.models.distributed_rows import average_answers, let_workers_answer
from pgmx.models.mixed.predictions import MixedPredictions
from pgmx.models.rows import read_mixed_rows


class MixedQueries(MixedPredictions):
    """Mixin of a network with simulation and likelihoods, in addition to predictions."""

    def simulate(
        self,
        n_samples: int,
        random_state: int | None = DEFAULT_SEED,
        *,
        evidence: Mapping[Hashable, Any] | None = None,
        do: Mapping[Hashable, Any] | None = None,
        seed: int | None = DEFAULT_SEED,
    ) -> pd.DataFrame:
        r"""Draw independent rows, given the evidence and after interventions if any.

        Without evidence, parents are drawn first. Given evidence, rows are exact draws from the posterior, not weighted
        or rejected ones: :math:`i \sim \int p(i, x_m \mid x_o)\, dx_m` down a junction tree, then
        :math:`x_m \sim p(x_m \mid i, x_o)`, a normal distribution, for all ancestors of observed variables; all others
        follow their parents.

        Parameters
        ----------
        n_samples : int
            Number of rows, at least 0.
        random_state : int or None, default=0
            A non-negative seed; None draws fresh entropy.
        evidence : dict of {name: state or number}, optional
            Observed variables; they keep their values.
        do : dict of {name: state or number}, optional
            Interventions: the edges into these variables are cut, and they have these values.
        seed : int or None, default=0
            Alias of `random_state` under pgmpy's name; do not give both.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            Float columns, and categorical columns with all states declared, in the order of `names`.

        Raises
        ------
        TypeError, ValueError
            If `n_samples` or the seed is negative or not an integer, both seeds are given, `evidence` or `do` is not a
            dictionary, a name or state is unknown, a variable is in both, or the evidence is impossible.
        TreewidthError
            If exact draws given the evidence would need more than 2^27 values.

        Notes
        -----
        Given evidence, the cost is one pass through the junction tree, and per row O(cells of the tree) at most.

        References
        ----------
        S. L. Lauritzen, F. Jensen (2001), Stable local computation with conditional Gaussian distributions, Statistics
        and Computing 11. J. Pearl (2009), Causality, equation 3.10 (interventions).
        """
        network = self._require_families()
        n = check_natural(n_samples, "n_samples", 0)
        rng = np.random.default_rng(choose_seed(random_state, seed))
        fixed, observed = self._read_values(do, "do"), self._read_values(evidence, "evidence")
        if both := [self._names[v] for v in fixed if v in observed]:
            raise ValueError(f"{join_names(both)} cannot be both in do and in evidence: leave out one")
        row = MixedRows(np.zeros((len(self._names), 1), dtype=np.intp), np.zeros((len(self._names), 1)))
        for v, value in {**fixed, **observed}.items():
            (row.codes if network.cards[v] else row.numbers)[v] = value
        known = np.zeros(len(self._names), dtype=bool)
        known[[*fixed, *observed]] = True
        rows = draw_given(cut_families(network, [*fixed], row), self._names, row, known, n, rng)
        if rows is None:
            raise ValueError(f"the evidence {show_evidence(evidence or {})} is impossible: leave out some of it")
        columns = {
            v: rows.numbers[v] if states is None else pd.Categorical.from_codes(rows.codes[v], self._categories(v))
            for v, states in enumerate(self._states)
        }
        return self._frame(columns, pd.RangeIndex(n))

    def _read_values(self, values: Mapping[Hashable, Any] | None, argument: str) -> dict[int, float]:
        """Return the codes or numbers of observed variables; raise for unknown names and invalid values."""
        if not isinstance(values or {}, Mapping):
            raise TypeError(f"{argument} must be a dictionary {{name: value}}, got {type(values).__name__}")
        place = {name: v for v, name in enumerate(self._names)}
        read: dict[int, float] = {}
        for name, value in (values or {}).items():
            if name not in place:
                raise ValueError(
                    f"{argument}: no variable {name!r}{suggest(name, self._names)}: the variables are "
                    f"{join_names(self._names)}"
                )
            states = self._states[place[name]]
            if states is None:
                if not isinstance(value, Real) or not np.isfinite(float(value)):
                    raise ValueError(
                        f"{argument} of {name!r}, a continuous variable, must be a finite number, got {value!r}"
                    )
                read[place[name]] = float(value)
            elif value in states:
                read[place[name]] = states.index(value)
            else:
                raise UnknownStateError(name, value, states)
        return read

    @let_workers_answer
    def log_likelihood(self, X: Any) -> np.ndarray:
        r"""Return the log-density of each row, in nats.

        .. math:: \ln p(x) = \sum_v \ln p(x_v \mid x_{\mathrm{pa}(v)})

        with probabilities of states and normal densities of continuous variables, which depend on their units.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or distributed table
            Rows without missing values; the columns are the variables, in any order.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Minus infinity for impossible rows. For a distributed table, a dask Series.

        Raises
        ------
        ValueError
            If columns are absent or unknown, or a value is missing, infinite or not a state of its variable.
        """
        network = self._require_families()
        read = read_mixed_rows(X, self._names, self._states)
        total = np.zeros(read.n_rows)
        for chunk in read.chunks():
            rows = read.take(chunk).rows
            for v in range(len(self._names)):
                total[chunk] += network.log_density(v, rows)
        return total

    @let_workers_answer
    def log_evidence(self, X: Any) -> np.ndarray:
        r"""Return the log-density of the observed values of each row, in nats, with missing values integrated out.

        .. math:: \ln p(x_o) = \ln \sum_{i_m} \int p(i, x)\, dx_m

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or distributed table
            Rows, in which columns and values may be missing.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            `log_likelihood` for complete rows, 0 for rows without observed values, minus infinity for impossible rows.
            For a distributed table, a dask Series.

        Raises
        ------
        ValueError
            If a column is not a variable, or a value is infinite or not a state of its variable.
        TreewidthError
            If the sums would need more than 2^27 values per row.
        """
        network = self._require_families()
        read = self.read_rows(X)
        densities = ObservedDensities(network, self._names)
        total = np.empty(read.n_rows)
        for chunk in read.chunks():
            cells = read.take(chunk)
            total[chunk] = densities.compute(cells.rows, cells.missing)
        return total

    def log_likelihood_terms(self, X: Any) -> np.ndarray:
        """Return the log-density of each variable given its parents, in nats; the sums are `log_likelihood`.

        Parameters
        ----------
        X : DataFrame, dict, array, path or iterator of frames
            Rows without missing values. Unknown states are impossible.

        Returns
        -------
        ndarray of float64, shape (n_variables, n_samples)
            In the order of `names`. The value is minus infinity for a variable with an unknown state, and 0 if only a
            parent has an unknown state.

        Raises
        ------
        ValueError
            If columns are absent or unknown, or a value is missing or infinite.
        """
        network = self._require_families()
        read = read_mixed_rows(X, self._names, self._states, allow_unknown=True)
        terms = np.empty((len(self._names), read.n_rows))
        for chunk in read.chunks():
            cells = read.take(chunk)
            of_chunk = np.stack([network.log_density(v, cells.rows) for v in range(len(self._names))])
            for v, parents in enumerate(network.parents):
                for p in parents:
                    of_chunk[v, cells.unknown[p]] = 0.0
            # After the parents: a variable with an unknown state is impossible whatever its parents are.
            of_chunk[cells.unknown] = -np.inf
            terms[:, chunk] = of_chunk
        return terms

    def read_chunks(self, X: Any) -> tuple[MixedFamilies, Iterator[RowChunk]]:
        """Return the parameters, and chunks of rows, in which values may be missing and states unknown.

        Parameters
        ----------
        X : DataFrame, dict, array, DiscreteTable, path or iterator of frames
            Rows, in which columns and values may be missing.

        Returns
        -------
        MixedFamilies
            The parameters.
        iterator of RowChunk
            Rows with variables in the order of `names`, a million values at a time.
        """
        read = read_mixed_rows(X, self._names, self._states, allow_missing=True, allow_unknown=True)
        return self._require_families(), map(read.take, read.chunks())

    def score(self, X: Any, y: object = None) -> float:
        """Return the mean log-density of the observed values of rows, in nats; higher is better.

        Parameters
        ----------
        X : DataFrame, dict, array, path, iterator of frames, or distributed table
            Rows, as for `log_evidence`.
        y : None
            Ignored; a convention of scikit-learn.

        Returns
        -------
        float
            The mean of `log_evidence`, for complete rows of `log_likelihood`; the workers of a distributed table
            compute the sums.
        """
        return average_answers(self, "log_evidence", X)

    # ---- for workers ----

    def without_graph(self, question: str) -> "MixedRowAnswers":
        """Return the parameters with the row-wise methods of the network, without a pgmpy graph."""
        return MixedRowAnswers(self._names, self._states, self._require_families())


class MixedRowAnswers(MixedQueries):
    """Names, states and parameters with the row-wise methods of a network."""

    def __init__(self, names: tuple, states: tuple, families: MixedFamilies):
        self._names, self._states, self._families = names, states, families

    @property
    def names(self) -> tuple:
        """Names of the variables, in order."""
        return self._names

    def _require_families(self) -> MixedFamilies:
        return self._families

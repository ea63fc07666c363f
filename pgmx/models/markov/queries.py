"""Questions that a Markov network answers itself, by the functions of :mod:`pgmx.inference`."""

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pgmpy.factors.discrete import DiscreteFactor

from pgmx.checks import DEFAULT_SEED, choose_seed
from pgmx.data import DiscreteTable
from pgmx.inference import (
    InferenceCost,
    LogPartition,
    MapAssignment,
    Marginals,
    estimate_cost,
    log_partition,
    map_assignment,
    marginals,
    sample,
)
from pgmx.inference import joint as joint_distribution
from pgmx.inference.approximate.imputation import impute
from pgmx.inference.problem import Problem
from pgmx.models.markov.factors import Scaling, compute_scaling
from pgmx.models.markov.rows import code_rows


class MarkovQueries:
    """Mixin of a network that has `inference_problem()` and a dictionary `_cache` for answers that do not change."""

    _cache: dict[str, Any]

    @abstractmethod
    def inference_problem(self) -> Problem:
        """Return the network as :mod:`pgmx.inference` sees it."""

    # ---- cost ----

    @property
    def width(self) -> int:
        """Variables of the largest table of the best order of elimination, less one; computed without any table."""
        return self.estimate_cost().width

    def estimate_cost(self, evidence: Mapping | None = None) -> InferenceCost:
        """Estimate what exact inference would cost, before anything is allocated.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables; they take no part.

        Returns
        -------
        InferenceCost
            Width, cells of the largest and of all tables, and bytes.
        """
        if evidence:
            return estimate_cost(self.inference_problem(), evidence)
        if "cost" not in self._cache:
            self._cache["cost"] = estimate_cost(self.inference_problem())
        return self._cache["cost"]

    # ---- the distribution ----

    @property
    def log_partition_(self) -> LogPartition:
        """Log-partition of the potentials in nats, computed once: what the factors are scaled by."""
        return self._scaling().log_partition

    @property
    def partition_is_exact(self) -> bool:
        """Whether `log_partition_` is exact rather than an estimate by annealed importance sampling."""
        return self.log_partition_.exact

    def _scaling(self) -> Scaling:
        if "scaling" not in self._cache:
            self._cache["scaling"] = compute_scaling(self.inference_problem())
        return self._cache["scaling"]

    def log_partition(self, evidence: Mapping | None = None, *, method: str = "auto", **options) -> LogPartition:
        """Return the logarithm of the sum over all configurations that agree with the evidence.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables.
        method : {"auto", "exact", "ais", "loopy"}, default="auto"
            As for :func:`pgmx.inference.log_partition`.
        **options : dict
            As there.

        Returns
        -------
        LogPartition
            In nats: a float that holds ``exact``, ``lower``, ``upper`` and ``standard_error``.
        """
        if not evidence and method == "auto" and not options:
            return self.log_partition_
        return log_partition(self.inference_problem(), evidence, method=method, **options)

    def marginals(self, evidence: Mapping | None = None, *, method: str = "auto", **options) -> Marginals:
        """Return the distribution of every variable that is not observed.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables.
        method : {"auto", "exact", "corrected", "loopy", "gibbs"}, default="auto"
            "auto": exactly where a junction tree fits into 2 GB, else, with a warning, by loopy belief propagation that
            is corrected by Gibbs sampling.
        **options : dict
            As for :func:`pgmx.inference.marginals`.

        Returns
        -------
        Marginals
            A mapping from name to ``{state: probability}``, which holds the method, whether it converged, and an
            estimate of the error of each variable.
        """
        return marginals(self.inference_problem(), evidence, method=method, **options)

    def query(
        self,
        variables: Sequence[Hashable],
        evidence: Mapping | None = None,
        *,
        joint: bool = True,
        method: str = "auto",
        **options,
    ) -> DiscreteFactor | dict[Hashable, DiscreteFactor]:
        """Return a normalised distribution as pgmpy's inference classes do.

        Parameters
        ----------
        variables : sequence of hashable
            Names, not observed.
        evidence : dict of {name: state}, optional
            Observed variables.
        joint : bool, default=True
            Whether to return their joint distribution, or those of each alone in a dictionary.
        method : {"auto", "exact", "corrected", "loopy", "gibbs"}, default="auto"
            As for :func:`pgmx.inference.joint`.
        **options : dict
            As there.

        Returns
        -------
        pgmpy.factors.discrete.DiscreteFactor or dict
            With the names of the states.
        """
        names = [variables] if not joint and isinstance(variables, str) else variables
        if joint:
            return self._factor(names, evidence, method=method, **options)
        return {name: self._factor([name], evidence, method=method, **options) for name in names}

    def _factor(self, names: Sequence[Hashable], evidence: Mapping | None, **options) -> DiscreteFactor:
        problem = self.inference_problem()
        values = joint_distribution(problem, names, evidence, **options)
        states = {name: list(problem.states[problem.position(name)]) for name in names}
        return DiscreteFactor(list(names), values.shape, values, states)

    def map(self, evidence: Mapping | None = None, *, method: str = "auto", **options) -> MapAssignment:
        """Return the most probable states of all variables together.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables.
        method : {"auto", "exact", "search", "loopy"}, default="auto"
            As for :func:`pgmx.inference.map_assignment`.
        **options : dict
            As there.

        Returns
        -------
        MapAssignment
            A dictionary of the states of the variables that are not observed, with ``log_value``, ``bound``, ``gap``
            and ``exact``.
        """
        return map_assignment(self.inference_problem(), evidence, method=method, **options)

    # ---- rows ----

    def log_likelihood(self, X) -> np.ndarray:
        """Return the log-probability of each row, in nats.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path or iterator of frames
            Rows without missing cells; the columns are the variables, in any order. A file or an iterator is read as by
            ``fit``, and has two rows at least.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Minus infinity for an impossible row. Where `partition_is_exact` is false, the same error is in all, that
            of ``log_partition_``, an estimate by annealed importance sampling: its ``standard_error`` is that of the
            mean of the rows too, and its ``lower`` and ``upper`` bound it.

        Warns
        -----
        ApproximationWarning
            If the log-partition takes too much memory to be exact; with its standard error.
        """
        rows = code_rows(X, self.inference_problem())
        return self.inference_problem().pairwise.log_score(rows.codes) - self.log_partition_

    def pseudo_log_likelihood(self, X) -> np.ndarray:
        """Return the log-pseudolikelihood of each row: the sum of log p(one variable | all others), in nats.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path or iterator of frames
            Rows without missing cells, as for `log_likelihood`.

        Returns
        -------
        ndarray of float64, shape (n_samples,)
            Needs no log-partition; its negative mean is the NPLL of the literature.
        """
        return self.inference_problem().pairwise.pseudo_log_likelihood(code_rows(X, self.inference_problem()).codes)

    def predict(self, X, *, method: str = "map", inference: str = "auto") -> pd.DataFrame:
        """Fill missing cells and columns given the others of the row.

        Parameters
        ----------
        X : DataFrame, array, DiscreteTable, path or iterator of frames
            Rows; variables without a column, and missing cells, are predicted.
        method : {"map", "marginal"}, default="map"
            The most probable states of all that is missing in a row together, or of each variable alone.
        inference : {"auto", "exact", "loopy"}, default="auto"
            How rows with many connected cells missing are filled: by junction trees, by loopy belief propagation, which
            is far faster on wide networks, or by the former where a tree takes 16 MB at most.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            All variables in order, of category dtype with all states declared; known cells as they were, the index of
            `X` where it has one.

        Raises
        ------
        ValueError
            If a column is no variable, a cell no state of it, or what is known of a row impossible.
        """
        problem = self.inference_problem()
        rows = code_rows(X, problem, allow_missing=True)
        codes = impute(problem.pairwise, rows.codes, rows.missing, method=method, inference=inference)
        n_rows = codes.shape[1]
        if not n_rows:  # a table has rows: one that is cut off again brings the columns
            codes = np.zeros((len(codes), 1), dtype=codes.dtype)
        frame = DiscreteTable(problem.names, problem.states, codes).to_pandas().iloc[:n_rows]
        return frame if rows.index is None else frame.set_axis(rows.index, axis=0)

    def simulate(
        self,
        n_samples: int,
        evidence: Mapping | None = None,
        *,
        method: str = "auto",
        random_state: int | None = DEFAULT_SEED,
        seed: int | None = DEFAULT_SEED,
        **options,
    ) -> pd.DataFrame:
        """Draw rows from the network, given the evidence if there is some.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        evidence : dict of {name: state}, optional
            Observed variables; they keep their states.
        method : {"auto", "exact", "gibbs"}, default="auto"
            Independent rows down a junction tree, Gibbs sampling, or the first where memory allows.
        random_state : int or None, default=0
            A non-negative seed; None draws fresh entropy.
        seed : int or None, default=0
            The same under pgmpy's name; both together are an error.
        **options : dict
            For Gibbs sampling: burn_in, thinning, n_chains, n_jobs.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            Of category dtype with all states declared.

        Raises
        ------
        TypeError, ValueError
            As by :func:`pgmx.inference.sample`, and if both seeds are given.
        """
        chosen = choose_seed(random_state, seed)
        problem = self.inference_problem()
        return sample(problem, n_samples, evidence=evidence, method=method, seed=chosen, **options).to_pandas()

"""Methods of a Markov network that call the functions of :mod:`pgmx.inference`."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd
from pgmpy.factors.discrete import DiscreteFactor

from pgmx.checks import DEFAULT_SEED, choose_seed
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
from pgmx.inference.problem import Problem
from pgmx.models.markov.factors import Scaling, compute_scaling
from pgmx.models.markov.row_queries import MarkovRowAnswers, MarkovRowQueries


class MarkovQueries(MarkovRowQueries):
    """Mixin of a network with `inference_problem()` and a dictionary `_cache` for results that do not change."""

    _cache: dict[str, Any]

    # ---- cost ----

    @property
    def width(self) -> int:
        """Width of the best elimination order found (variables of its largest table minus 1), without tables."""
        return self.estimate_cost().width

    def estimate_cost(self, evidence: Mapping | None = None) -> InferenceCost:
        """Estimate the cost of exact inference, before anything is allocated.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables; they are excluded.

        Returns
        -------
        InferenceCost
            Width, cells of the largest table and of all tables, and bytes.
        """
        if evidence:
            return estimate_cost(self.inference_problem(), evidence)
        if "cost" not in self._cache:
            self._cache["cost"] = estimate_cost(self.inference_problem())
        return self._cache["cost"]

    # ---- the distribution ----

    @property
    def log_partition_(self) -> LogPartition:
        """Log-partition of the potentials in nats, by which the factors are scaled; computed once."""
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
        """Return the logarithm of the unnormalised sum over all configurations that agree with the evidence.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables.
        method : {"auto", "exact", "ais", "loopy"}, default="auto"
            See :func:`pgmx.inference.log_partition`.
        **options : dict
            Further options of that function.

        Returns
        -------
        LogPartition
            A float in nats with the attributes ``exact``, ``lower``, ``upper`` and ``standard_error``.
        """
        if not evidence and method == "auto" and not options:
            return self.log_partition_
        return log_partition(self.inference_problem(), evidence, method=method, **options)

    def marginals(self, evidence: Mapping | None = None, *, method: str = "auto", **options) -> Marginals:
        """Return the distribution of every unobserved variable.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables.
        method : {"auto", "exact", "corrected", "loopy", "gibbs"}, default="auto"
            "auto" is exact if a junction tree fits into 2 GB. Otherwise it warns and uses loopy belief propagation,
            corrected by Gibbs sampling.
        **options : dict
            Further options of :func:`pgmx.inference.marginals`.

        Returns
        -------
        Marginals
            A mapping from name to ``{state: probability}``. Its attributes hold the method, whether it converged, and
            an estimated error per variable.
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
        """Return a normalised distribution, like pgmpy's inference classes.

        Parameters
        ----------
        variables : sequence of hashable
            Names of unobserved variables.
        evidence : dict of {name: state}, optional
            Observed variables.
        joint : bool, default=True
            Whether to return the joint distribution, or a dictionary of the distributions of the single variables.
        method : {"auto", "exact", "corrected", "loopy", "gibbs"}, default="auto"
            See :func:`pgmx.inference.joint`.
        **options : dict
            Further options of that function.

        Returns
        -------
        pgmpy.factors.discrete.DiscreteFactor or dict
            The distribution or distributions, with state names.
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
        """Return the most probable joint configuration.

        Parameters
        ----------
        evidence : dict of {name: state}, optional
            Observed variables.
        method : {"auto", "exact", "search", "loopy"}, default="auto"
            See :func:`pgmx.inference.map_assignment`.
        **options : dict
            Further options of that function.

        Returns
        -------
        MapAssignment
            A dictionary of the states of the unobserved variables, with the attributes ``log_value``, ``bound``,
            ``gap`` and ``exact``.
        """
        return map_assignment(self.inference_problem(), evidence, method=method, **options)

    # ---- rows ----

    def without_graph(self, question: str) -> MarkovRowAnswers:
        """Return the potentials with the row-wise methods of the network, without a pgmpy graph."""
        problem = self.inference_problem()
        partition = float(self.log_partition_) if question == "log_likelihood" else None
        return MarkovRowAnswers(Problem(problem.names, problem.states, problem.model), partition)

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
        """Draw rows from the network, given the evidence if any.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        evidence : dict of {name: state}, optional
            Observed variables; they keep their states.
        method : {"auto", "exact", "gibbs"}, default="auto"
            "exact" draws independent rows from a junction tree, "gibbs" uses Gibbs sampling. "auto" is "exact" if the
            memory suffices, else "gibbs".
        random_state : int or None, default=0
            A non-negative seed; None draws fresh entropy.
        seed : int or None, default=0
            Alias of `random_state` under pgmpy's name; do not give both.
        **options : dict
            Options of Gibbs sampling: burn_in, thinning, n_chains, n_jobs.

        Returns
        -------
        pandas.DataFrame of shape (n_samples, n_variables)
            Categorical columns with all states declared.

        Raises
        ------
        TypeError, ValueError
            As :func:`pgmx.inference.sample`, and if both seeds are given.
        """
        chosen = choose_seed(random_state, seed)
        problem = self.inference_problem()
        return sample(problem, n_samples, evidence=evidence, method=method, seed=chosen, **options).to_pandas()

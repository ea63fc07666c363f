"""The Bayesian Dirichlet score with a prior network."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pgmx._ext import _weighted
from pgmx.checks import check_same_names, join_names
from pgmx.data import DiscreteTable, open_frame
from pgmx.inference.exact.family_marginals import FamilyMarginals
from pgmx.inference.named_networks import BayesianArrays
from pgmx.scores.discrete.base import DiscreteScore, check_sample_size
from pgmx.scores.discrete.formulas import CountedFamilies, configuration_starts

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork

#: Most cells of a table that marginalisation may make (512 MiB of float64).
MAX_CELLS = 2**26

OWNERS = ("the prior network", "the data")


class BDe(DiscreteScore):
    r"""Marginal log-likelihood under Dirichlet priors that are given by a prior network.

    .. math::
        \mathrm{BDe}(x \mid \Pi) = \sum_{j=1}^{q} \left[ \ln \frac{\Gamma(\alpha_j)}{\Gamma(n_j + \alpha_j)}
        + \sum_{k=1}^{r} \ln \frac{\Gamma(n_{jk} + \alpha_{jk})}{\Gamma(\alpha_{jk})} \right],
        \qquad \alpha_{jk} = \alpha P(x = k, \Pi = j \mid B_0), \quad \alpha_j = \sum_k \alpha_{jk}

    in nats; α is `equivalent_sample_size`, and :math:`n_{jk}` is the number of rows with state k of x (of r states) and
    configuration j of its parents (of q configurations). The score is score equivalent. A prior network without edges
    and with uniform tables gives :class:`BDeu`.

    Parameters
    ----------
    data : DataFrame, array or DiscreteTable
        One discrete column per variable. Integers are states.
    prior_network : DiscreteBayesianNetwork
        B₀, over the columns of the data, with positive probabilities. Its variables have the states of the columns, in
        any order; not all states need to occur. The network is not changed.
    equivalent_sample_size : float, default=10
        α > 0.
    state_names : dict, optional
        Order of the states of each variable; the order in the prior network by default.

    Attributes
    ----------
    variables : list
        Names of the columns.
    state_names : dict
        States of every variable.
    table : DiscreteTable
        The coded data.

    Raises
    ------
    ValueError
        If `equivalent_sample_size` is not a positive number, the network has other variables or states than the data,
        or one of its probabilities is zero. The message names the variable.
    TypeError
        If `prior_network` is not a discrete Bayesian network of pgmpy.

    Notes
    -----
    A family costs one pass over its cells, and the computation of its joint distribution under B₀. Without edges in B₀
    this is a product of marginals. Otherwise variables are eliminated from the tables of the family's ancestors.

    References
    ----------
    .. [1] Heckerman, D., Geiger, D. and Chickering, D. M. (1995). Learning Bayesian networks: the combination of
       knowledge and statistical data. Machine Learning 20, 197-243, equation 28 and section 7.

    Examples
    --------
    >>> import pandas as pd
    >>> from pgmpy.factors.discrete import TabularCPD
    >>> from pgmpy.models import DiscreteBayesianNetwork
    >>> data = pd.DataFrame({"A": [0, 1, 1, 0], "B": [1, 0, 1, 0]})
    >>> prior = DiscreteBayesianNetwork()
    >>> prior.add_nodes_from(["A", "B"])
    >>> prior.add_cpds(TabularCPD("A", 2, [[0.7], [0.3]]), TabularCPD("B", 2, [[0.5], [0.5]]))
    >>> round(BDe(data, prior, equivalent_sample_size=5).local_score("B", ("A",)), 3)
    -3.535
    """

    terms = None  # type: ignore[assignment]  # its prior differs between cells: see `formula`

    _tags = {"name": "bde", "supported_datatype": "discrete", "default_for": None, "is_parameteric": True}

    def __init__(
        self,
        data,
        prior_network: DiscreteBayesianNetwork,
        equivalent_sample_size: float = 10,
        state_names: dict | None = None,
    ):
        self.equivalent_sample_size = check_sample_size(equivalent_sample_size)
        self.prior_network = prior_network
        network = _read_prior(prior_network)
        if not isinstance(data, DiscreteTable):
            frame = open_frame(data)
            check_same_names(network.names, frame.names, *OWNERS)
            # the network declares the states: all of them are coded, even if some do not occur in the data
            state_names = {**dict(zip(network.names, network.states, strict=True)), **(state_names or {})}
            state_names = {name: list(state_names[name]) for name in frame.names}
        super().__init__(data, state_names=state_names)
        self._network = _align_prior(network, self.variables, self.table.states)

    def formula(self, table: DiscreteTable) -> PriorCounts:
        """Return the formula for a table with the same variables and states, in any order."""
        network = _align_prior(self._network, table.columns, table.states)
        return PriorCounts(network, float(self.equivalent_sample_size))

    def _make_scorer(self):
        self._refuse_marked_cells()
        return CountedFamilies(self.table, self.formula(self.table))


class PriorCounts:
    """The BDe score of a family from its cells: a :class:`pgmx.scores.discrete.formulas.Formula`."""

    def __init__(self, network: BayesianArrays, size: float):
        self.network = network
        self.size = size
        self._has_edges = any(network.parents)
        self._marginals = FamilyMarginals(network, MAX_CELLS)

    def score(self, child: int, parents: np.ndarray, cells: np.ndarray, counts: np.ndarray) -> float:
        """Return the score of a family."""
        family = [*(int(p) for p in parents), child]
        starts = configuration_starts(cells)
        if self._has_edges:
            joint = self._joint(family)
            of_cells = joint[tuple(cells.T)]
            of_configs = joint.sum(axis=-1)[tuple(cells[starts, :-1].T)]
        else:
            marginals = [self.network.tables[v][cells[:, axis]] for axis, v in enumerate(family)]
            of_configs = np.prod(marginals[:-1], axis=0)[starts] if len(parents) else np.ones(1)
            of_cells = np.prod(marginals, axis=0)
        in_configs = np.add.reduceat(counts, starts)
        return _log_rising(self.size * of_cells, counts) - _log_rising(
            self.size * np.atleast_1d(of_configs), in_configs
        )

    def _joint(self, family: list[int]) -> np.ndarray:
        joint = self._marginals.joint(family)
        if joint is None:
            raise ValueError(
                f"the joint distribution of {join_names([self.network.names[v] for v in family])} under the prior "
                f"network needs tables of more than {MAX_CELLS:,} cells. Set max_indegree, or give a prior network "
                "with fewer edges"
            )
        return joint


def _read_prior(prior_network: DiscreteBayesianNetwork) -> BayesianArrays:
    """Read a prior network, all of whose probabilities must be positive."""
    network = BayesianArrays.from_model(prior_network, "prior_network")
    prior_network.check_model()
    for name, table in zip(network.names, network.tables, strict=True):
        if not (table > 0).all():
            raise ValueError(
                f"the prior network gives probability zero to a state of {name!r}. Every probability must be "
                "positive: otherwise the data could be impossible under the prior network"
            )
    # pgmpy accepts columns whose sum differs from 1 by up to 0.01, as in rounded files
    return network.normalise()


def _align_prior(network: BayesianArrays, names: Sequence[Hashable], states: Sequence[tuple]) -> BayesianArrays:
    """Return the network in the order of a table, or raise if variables or states differ."""
    check_same_names(network.names, names, *OWNERS)
    prior_states = dict(zip(network.names, network.states, strict=True))
    for name, column_states in zip(names, states, strict=True):
        if set(prior_states[name]) != set(column_states):
            raise ValueError(
                f"the prior network has the states {join_names(prior_states[name])} for {name!r}, the data "
                f"{join_names(column_states)}. Give each column of the data the states of the network, in any order"
            )
    return network.align(names, states)


def _log_rising(weights: np.ndarray, counts: np.ndarray) -> float:
    return _weighted.dirichlet_terms(np.ascontiguousarray(weights), np.ascontiguousarray(counts))

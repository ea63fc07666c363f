"""Results of the functions that use names: marginals, most probable states, and the cost of exact inference."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np


class InferenceCost(NamedTuple):
    """The cost of exact inference.

    Parameters
    ----------
    width : int
        Number of variables of the largest table in the best elimination order, minus one. This is the treewidth if the
        order is optimal.
    largest : int
        Cells of the largest table of the junction tree. Its order may differ: it minimises the total number of cells.
    cells : int
        Cells of all tables of the junction tree, the number of operations of one pass.
    bytes : int
        Peak memory of the junction tree.
    width_bound : int
        A lower bound on the width of every order.
    elimination_bytes : int
        Peak memory of variable elimination for the log-partition.
    elimination_operations : int
        Number of multiplications of variable elimination.
    map_bytes : int
        Peak memory of variable elimination for the most probable states, including the chosen states of each table.

    Examples
    --------
    >>> from pgmx.inference import PairwisePotentials, estimate_cost
    >>> estimate_cost(PairwisePotentials.build([2, 3], tables={(0, 1): [[0.0] * 3] * 2})).width
    1
    """

    width: int
    largest: int
    cells: int
    bytes: int
    width_bound: int
    elimination_bytes: int
    elimination_operations: int
    map_bytes: int


class Marginals(Mapping[Hashable, dict[Hashable, float]]):
    """Distributions of single variables: a read-only mapping from name to ``{state: probability}``.

    Parameters
    ----------
    names : sequence of hashable
        Names of the variables, in order.
    states : sequence of tuple
        States of each variable.
    arrays : sequence of ndarray of float64
        Probabilities of each variable, in the order of its states.
    method : {"exact", "corrected", "loopy", "gibbs"}
        The engine that computed them.
    converged : bool
        False if belief propagation stopped before its messages converged, or if groups of samples disagree.
    errors : sequence of float, optional
        Error of each variable's probabilities. For "corrected" and "gibbs" about 95 % of the errors are below this
        estimate. By default 0 for "exact" and NaN (unknown) for other methods.
    r_hat, effective_sample_size : float, default=nan
        For "corrected": the largest Gelman-Rubin statistic and the smallest effective sample size of all variables.

    Attributes
    ----------
    method, converged, r_hat, effective_sample_size
        As above.
    error : dict of {name: float}
        The errors by name.

    Examples
    --------
    >>> from pgmx.inference import Marginals
    >>> answer = Marginals(["a"], [("no", "yes")], [[0.25, 0.75]], "exact", True)
    >>> answer["a"]["yes"], answer.array("a").tolist(), answer.method
    (0.75, [0.25, 0.75], 'exact')
    """

    def __init__(
        self,
        names: Sequence[Hashable],
        states: Sequence[tuple],
        arrays: Sequence[np.ndarray],
        method: str,
        converged: bool,
        errors: Sequence[float] | np.ndarray | None = None,
        r_hat: float = np.nan,
        effective_sample_size: float = np.nan,
    ) -> None:
        self.method = method
        self.converged = converged
        if errors is None:
            errors = [0.0 if method == "exact" else np.nan] * len(names)
        self.error = dict(zip(names, np.asarray(errors, dtype=np.float64).tolist(), strict=True))
        self.r_hat = r_hat
        self.effective_sample_size = effective_sample_size
        self._states = dict(zip(names, states, strict=True))
        self._arrays = dict(zip(names, map(np.asarray, arrays), strict=True))

    @property
    def exact(self) -> bool:
        """Whether the probabilities are exact up to rounding."""
        return self.method == "exact"

    def __getitem__(self, name: Hashable) -> dict[Hashable, float]:
        return dict(zip(self._states[name], self._arrays[name].tolist(), strict=True))

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

    def __repr__(self) -> str:
        warning = "" if self.converged else ", not converged"
        return f"Marginals({len(self)} variables, {self.method}{warning})"

    def array(self, name: Hashable) -> np.ndarray:
        """Return the probabilities of one variable as an array in the order of its states."""
        return self._arrays[name]


class MapAssignment(dict[Hashable, Hashable]):
    """Most probable states of variables: a dictionary from name to state, with a bound on the best possible value.

    Parameters
    ----------
    states : dict of {name: state}
        States of the variables that are not observed, in their order.
    log_value : float
        Unnormalised log-probability of these states together with the evidence, in nats.
    bound : float
        Upper bound on the log-probability of every configuration.
    method : {"exact", "search", "loopy"}
        The engine that chose them.

    Attributes
    ----------
    log_value, bound, method
        As above.

    Examples
    --------
    >>> from pgmx.inference import PairwisePotentials, map_assignment
    >>> answer = map_assignment(PairwisePotentials.build([2, 2], tables={(0, 1): [[0.0, 1.5], [0.0, 0.0]]}))
    >>> answer, answer.log_value, answer.gap, answer.exact
    ({0: 0, 1: 1}, 1.5, 0.0, True)
    """

    def __init__(self, states: Mapping[Hashable, Hashable], log_value: float, bound: float, method: str) -> None:
        super().__init__(states)
        self.log_value = log_value
        self.bound = bound
        self.method = method

    @property
    def gap(self) -> float:
        """Largest possible distance in nats to the log-probability of the best configuration."""
        return self.bound - self.log_value

    @property
    def exact(self) -> bool:
        """Whether the states are proven to be most probable, up to rounding: `log_value` reaches `bound`."""
        return self.gap <= 1e-9 * max(1.0, abs(self.bound))

    def __reduce__(self) -> tuple[type, tuple]:
        return type(self), (dict(self), self.log_value, self.bound, self.method)

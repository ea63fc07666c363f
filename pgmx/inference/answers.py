"""Answers to questions about a network: marginals by name, and the cost of exact inference."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["InferenceCost", "Marginals"]


class InferenceCost(NamedTuple):
    """What exact inference would cost.

    Parameters
    ----------
    width : int
        Variables of the largest clique of the junction tree, less one.
    largest : int
        Cells of the largest table.
    cells : int
        Cells of all clique tables.
    bytes : int
        Memory at the peak.

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


class Marginals(Mapping[Hashable, dict[Hashable, float]]):
    """Distributions of single variables: a read-only mapping from name to ``{state: probability}``.

    Parameters
    ----------
    names : sequence of hashable
        Names of the variables, in order.
    states : sequence of tuple
        States of each.
    arrays : sequence of ndarray of float64
        Probabilities of each, in the order of its states.
    method : {"exact", "loopy", "gibbs"}
        The engine that computed them.
    converged : bool
        False where belief propagation stopped before its messages settled.

    Attributes
    ----------
    method : str
        As above.
    converged : bool
        As above.

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
    ) -> None:
        self.method = method
        self.converged = converged
        self._states = dict(zip(names, states, strict=True))
        self._arrays = dict(zip(names, map(np.asarray, arrays), strict=True))

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

"""Unobserved continuous variables, integrated out per configuration of the discrete variables that they depend on.

A connected component of them becomes a factor over discrete variables and one normal distribution per configuration.
Continuous variables are eliminated before discrete ones, so that no mixture is approximated by one normal distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from pgmx.inference.mixed.families import LOG_2_PI, GaussianFamily, MixedFamilies, MixedRows


class Component(NamedTuple):
    """Continuous families (by child) that share unobserved continuous variables, and these variables, ascending.

    `scope` contains the unobserved discrete variables that they depend on, ascending.
    """

    members: list[int]
    continuous: list[int]
    scope: tuple[int, ...]


class Solution(NamedTuple):
    """For B rows, Q configurations of the scope and k continuous variables: log-evidence (B, Q), means (B, Q, k).

    `roots` (B, Q, k, k) are upper triangular; the covariance is ``root @ root.T``. If the covariances are the same for
    all rows, the first axis of the roots and variances has length 1.
    """

    log_evidence: np.ndarray
    means: np.ndarray
    roots: np.ndarray

    @property
    def variances(self) -> np.ndarray:
        """Variances of the continuous variables, (B, Q, k)."""
        return np.square(self.roots).sum(axis=3)


def find_components(network: MixedFamilies, members: Iterable[int], observed: np.ndarray) -> list[Component]:
    """Split continuous families into groups that do not share an unobserved continuous variable."""
    groups: dict[int, set[int]] = {}
    root: dict[int, int] = {}

    def find(v: int) -> int:
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        return v

    members = sorted(members)
    hidden = {v: [u for u in (v, *_family(network, v).continuous_parents) if not observed[u]] for v in members}
    for continuous in hidden.values():
        for u in continuous:
            root.setdefault(u, u)
            root[find(u)] = find(continuous[0])
    for v in members:
        # A family without unobserved continuous variables is a group of its own, under an unused number.
        # Negative numbers differ from those of all variables.
        groups.setdefault(find(hidden[v][0]) if hidden[v] else -1 - v, set()).add(v)
    components = []
    for families in groups.values():
        continuous = sorted({u for v in families for u in hidden[v]})
        scope = {d for v in families for d in _family(network, v).discrete_parents if not observed[d]}
        components.append(Component(sorted(families), continuous, tuple(sorted(scope))))
    return components


def count_cells(network: MixedFamilies, component: Component) -> int:
    """Return the largest number of values that `solve_component` computes per row."""
    n_families, n_continuous = len(component.members), len(component.continuous)
    return prod(network.cards[d] for d in component.scope) * (n_families + 1) * (n_continuous + 1)


def solve_component(
    network: MixedFamilies, component: Component, rows: MixedRows, observed: np.ndarray, *, moments: bool
) -> Solution:
    r"""Integrate the unobserved continuous variables of a component out of the product of its families.

    The families are equations :math:`J u = t + \epsilon` for these variables u, divided by their standard deviations.
    With J = QR the posterior mean is :math:`R^{-1} Q^T t`, the posterior covariance :math:`(R^T R)^{-1}`.
    """
    parents = sorted({d for v in component.members for d in _family(network, v).discrete_parents if observed[d]})
    # Rows with the same states of the observed parents have the same equations, and share one factorisation.
    groups, group = np.unique(rows.codes[parents], axis=1, return_inverse=True)  # observed parents
    n_groups = groups.shape[1] if parents else 1
    group = group.reshape(-1) if parents else np.zeros(rows.codes.shape[1], dtype=np.intp)
    n_cells = prod(network.cards[d] for d in component.scope)
    n_families, n_continuous = len(component.members), len(component.continuous)
    place = {u: k for k, u in enumerate(component.continuous)}
    equations = np.zeros((n_groups, n_cells, n_families, n_continuous))
    targets = np.empty((len(group), n_cells, n_families))
    log_scales = np.zeros((n_groups, n_cells))
    for e, v in enumerate(component.members):
        family = _family(network, v)
        index = _index(network, family.discrete_parents, component.scope, parents, groups)
        shape = (n_groups, *(network.cards[d] for d in component.scope))
        std = np.broadcast_to(family.std[index], shape).reshape(n_groups, n_cells)
        width = family.coefficients.shape[-1]
        coefficients = np.broadcast_to(family.coefficients[index], (*shape, width)).reshape(n_groups, n_cells, width)
        log_scales += np.log(std)
        right = coefficients[group, :, 0]
        if observed[v]:
            right = right - rows.numbers[v][:, None]
        else:
            equations[:, :, e, place[v]] += 1.0 / std
        for k, u in enumerate(family.continuous_parents):
            if observed[u]:
                right = right + coefficients[group, :, k + 1] * rows.numbers[u][:, None]
            else:
                equations[:, :, e, place[u]] -= coefficients[:, :, k + 1] / std
        targets[:, :, e] = right / std[group]
    constant = -log_scales - 0.5 * LOG_2_PI * (n_families - n_continuous)
    if not n_continuous:
        log_evidence = constant[group] - 0.5 * np.square(targets).sum(axis=2)
        return Solution(log_evidence, np.empty((len(group), n_cells, 0)), np.empty((1, n_cells, 0, 0)))
    # Not the normal equations: they would square the condition number.
    orthogonal, upper = np.linalg.qr(equations)
    constant -= np.log(np.abs(np.diagonal(upper, axis1=2, axis2=3))).sum(axis=2)
    rotated = np.einsum("bqek,bqe->bqk", _take(orthogonal, group), targets)
    log_evidence = constant[group]
    if n_families > n_continuous:
        residual = targets - np.einsum("bqek,bqk->bqe", _take(orthogonal, group), rotated)
        log_evidence = log_evidence - 0.5 * np.square(residual).sum(axis=2)
    if not moments:
        return Solution(log_evidence, np.empty((len(group), n_cells, 0)), np.empty((1, n_cells, 0, 0)))
    inverse = np.linalg.solve(upper, np.broadcast_to(np.eye(n_continuous), upper.shape))
    means = np.einsum("bqij,bqj->bqi", _take(inverse, group), rotated)
    return Solution(log_evidence, means, _take(inverse, group))


def _family(network: MixedFamilies, v: int) -> GaussianFamily:
    family = network.families[v]
    assert isinstance(family, GaussianFamily)
    return family


def _take(array: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the entry of each row's group; a single entry if there is one group."""
    return array if len(array) == 1 else array[group]


def _index(
    network: MixedFamilies, states: Sequence[int], scope: Sequence[int], parents: Sequence[int], groups: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return indices that map an array over `states` to an array over (groups, scope)."""
    indices = []
    for d in states:
        if d in scope:
            axis = scope.index(d) + 1
            indices.append(np.arange(network.cards[d]).reshape([-1 if a == axis else 1 for a in range(len(scope) + 1)]))
        else:
            indices.append(groups[parents.index(d)].reshape([-1] + [1] * len(scope)))
    return tuple(indices)

"""Averages over many graphs: log-densities of rows and total effects, from arrays for each distinct family.

A family is a child and its ascending parents; variable v has the family ``family_of[g, v]`` in graph g.
"""

from collections.abc import Callable, Sequence
from math import lgamma, log, pi
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

#: Largest number of cells of a family whose probabilities are one dense table.
DENSE_CELLS = 1 << 16

#: Values of a block of graphs by rows.
BLOCK_VALUES = 1 << 22

Families = Sequence[tuple[int, np.ndarray]]


# ---- predictions ----


def average_rows(terms: np.ndarray, family_of: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return ln Σ_g share_g exp(Σ_v term of v's family) of each row; `terms` are finite, (n_families, n_rows)."""
    n_graphs, n = family_of.shape
    n_rows = terms.shape[1]
    # graphs differ from one another in few families: each is the commonest families and some differences
    base = np.array([np.bincount(family_of[:, v], weights=shares).argmax() for v in range(n)])
    owner = np.empty(len(terms), dtype=np.int64)
    for v in range(n):
        owner[family_of[:, v]] = v
    graphs, variables = np.nonzero(family_of != base)
    changed = csr_array((np.ones(len(graphs)), (graphs, family_of[graphs, variables])), shape=(n_graphs, len(terms)))
    common = terms[base].sum(axis=0)
    averages, size = np.empty(n_rows), max(1, BLOCK_VALUES // max(n_graphs, 1))
    for first in range(0, n_rows, size):
        rows = slice(first, first + size)
        logs = changed @ (terms[:, rows] - terms[base[owner], rows])
        top = logs.max(axis=0)
        logs -= top
        averages[rows] = common[rows] + top + np.log(shares @ np.exp(logs, out=logs))
    return averages


def predict_discrete(
    families: Families,
    count_cells: Callable[[int, np.ndarray], tuple[np.ndarray, np.ndarray]],
    cards: np.ndarray,
    codes: np.ndarray,
    prior_rows: Callable[[float, int], float],
) -> np.ndarray:
    """Return ln (n_jk + a) / (n_j + r a) of each family and row, float64 (n_families, n_rows).

    ``count_cells`` returns the keys (the child's state varies fastest) and rows of the cells that occur;
    ``prior_rows(q, r)`` is a for q configurations of the parents and r states.
    """
    codes = codes.astype(np.int64)
    terms = np.empty((len(families), codes.shape[1]))
    for number, (child, parents) in enumerate(families):
        r, q = int(cards[child]), float(np.prod(cards[parents], dtype=float))
        keys, counts = count_cells(child, np.asarray(parents, dtype=np.int32))
        keys = keys.astype(np.int64)
        cells = np.zeros(codes.shape[1], dtype=np.int64)
        for u in (*parents.tolist(), child):
            cells *= cards[u]
            cells += codes[u]
        a = prior_rows(q, r)
        if q * r <= DENSE_CELLS:
            cell_rows = np.full(int(q) * r, a)
            cell_rows[keys] += counts
            table = cell_rows.reshape(-1, r)
            terms[number] = np.log(table / table.sum(axis=1, keepdims=True)).ravel().take(cells)
        else:
            configs, at = np.unique(keys // r, return_inverse=True)
            totals = np.bincount(at, weights=counts, minlength=len(configs))
            n_cell, n_config = _look_up(keys, counts, cells), _look_up(configs, totals, cells // r)
            terms[number] = np.log((n_cell + a) / (n_config + r * a))
    return terms


def _look_up(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the value of each wanted key, 0 for those that are not among the ascending keys."""
    at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    if not len(keys):
        return np.zeros(len(wanted))
    return np.where(keys[at] == wanted, values[at], 0.0)


class GaussianRows(NamedTuple):
    """The posterior of a normal distribution: means, cross-products S about them, and degrees of freedom.

    With a number of `degrees` d and `weight` κ of the means, predictions of k + 1 variables are t with d + k degrees
    of freedom; with 0 degrees, normal with the covariance S / κ.
    """

    mean: np.ndarray
    cross: np.ndarray
    weight: float
    degrees: float


def predict_gaussian(families: Families, posterior: GaussianRows, rows: np.ndarray) -> np.ndarray:
    """Return the log predictive density of each family and row, float64 (n_families, n_rows); `rows` are (n, N)."""
    mean, cross, weight, degrees = posterior
    centred = rows - mean[:, None]
    terms = np.empty((len(families), rows.shape[1]))
    for number, (child, parents) in enumerate(families):
        k = len(parents)
        slopes = solve_symmetric(
            cross[np.ix_(parents, parents)], np.column_stack([cross[parents, child], centred[parents]])
        )
        residual = centred[child] - slopes[:, 0] @ centred[parents]
        rest = cross[child, child] - cross[parents, child] @ slopes[:, 0]
        if not degrees:
            variance = rest / weight
            terms[number] = -0.5 * (np.log(2 * pi * variance) + residual**2 / variance)
            continue
        factor = (weight + 1) / (weight * degrees)
        distance = np.einsum("kr,kr->r", centred[parents], slopes[:, 1:]) / factor
        # a t distribution with d + k degrees of freedom and this squared scale
        scale = rest * factor * (degrees + distance) / (degrees + k)
        half = (degrees + k) / 2
        constant = lgamma(half + 0.5) - lgamma(half) - 0.5 * log(2 * half * pi)
        terms[number] = constant - 0.5 * np.log(scale) - (half + 0.5) * np.log1p(residual**2 / (2 * half * scale))
    return terms


def solve_symmetric(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of a symmetric system, of smallest norm if the matrix is singular."""
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        return np.linalg.lstsq(matrix, right, rcond=None)[0]


# ---- effects ----


class EffectMoments(NamedTuple):
    """Means and standard deviations of the effect of each variable (row) on each other one, and shares of paths."""

    mean: np.ndarray
    std: np.ndarray
    nonzero: np.ndarray


def average_effects(
    families: Families, counts: np.ndarray, n_graphs: int, cross: np.ndarray, degrees: Callable[[int], float]
) -> EffectMoments:
    """Return the moments of total effects over graphs: the coefficient of x in the regression on x and its parents.

    ``counts[f, y]`` is the number of graphs with the family f of x in which y descends from x; in the others the effect
    is 0. A regression on k variables has ``degrees(k)`` degrees of freedom, whose t variance is added.
    """
    n = len(cross)
    mean, square, nonzero = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    children = np.array([child for child, _ in families], dtype=np.int64)
    sizes = np.array([len(parents) for _, parents in families], dtype=np.int64)
    for k in np.unique(sizes).tolist():
        members = np.flatnonzero(sizes == k)
        ids = np.array([[families[f][0], *families[f][1]] for f in members.tolist()], dtype=np.int64)
        within, across = cross[ids[:, :, None], ids[:, None, :]], cross[ids]
        first = np.zeros((len(ids), k + 1, 1))
        first[:, 0] = 1.0
        solved = _solve_all(within, np.concatenate([across, first], axis=2))
        slopes, inverse = solved[:, :, :n], solved[:, 0, n]
        rest = np.maximum(cross.diagonal() - np.einsum("fkn,fkn->fn", across, slopes), 0.0)
        variance = rest / max(degrees(k + 1) - 2.0, 1.0) * inverse[:, None]
        effect = slopes[:, 0]
        np.add.at(mean, children[members], counts[members] * effect)
        np.add.at(square, children[members], counts[members] * (effect**2 + variance))
        np.add.at(nonzero, children[members], counts[members])
    mean, square, nonzero = mean / n_graphs, square / n_graphs, nonzero / n_graphs
    return EffectMoments(mean, np.sqrt(np.maximum(square - mean**2, 0.0)), nonzero)


def average_path_effects(
    families: Families, family_of: np.ndarray, multiplicities: np.ndarray, regressions: Sequence[GaussianRows]
) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of total effects T over graphs, if the rows of children differ.

    ``regressions[v]`` has the rows of the families of v. Families are independent, so R = E T + I = (I - B)^-1 for the
    expected coefficients B. With their covariances C_v, Var T = P (I - P)^-1 (R ∘ R), P_xv = R_x,pa(v) C_v R_x,pa(v).
    """
    n_graphs, n = family_of.shape
    coefficients = [_regress_child(regressions[child], child, parents) for child, parents in families]
    mean, square = np.zeros((n, n)), np.zeros((n, n))
    identity, size = np.eye(n), max(1, BLOCK_VALUES // n**2)
    for first in range(0, n_graphs, size):
        shares = multiplicities[first : first + size] / multiplicities.sum()
        own = family_of[first : first + size]
        members = [(f, np.flatnonzero(own[:, families[f][0]] == f)) for f in np.unique(own).tolist()]
        members = [(f, graphs) for f, graphs in members if len(families[f][1])]
        arcs, spread = np.zeros((2, len(own), n, n))
        for f, graphs in members:
            child, parents = families[f]
            arcs[graphs[:, None], parents, child] = coefficients[f][0]
        effects = np.linalg.inv(identity - arcs)
        for f, graphs in members:
            child, parents = families[f]
            along = effects[graphs][:, :, parents]
            spread[graphs, :, child] = np.einsum("gxk,kl,gxl->gx", along, coefficients[f][1], along)
        squares = effects**2
        variances = spread @ np.linalg.solve(identity - spread, squares)
        mean += np.tensordot(shares, effects, 1)
        square += np.tensordot(shares, squares + variances, 1)
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


def _regress_child(rows: GaussianRows, child: int, parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the expected coefficients of a family, (k,), and their covariances, those of a t distribution, (k, k)."""
    k, cross = len(parents), rows.cross
    solved = solve_symmetric(cross[np.ix_(parents, parents)], np.column_stack([cross[parents, child], np.eye(k)]))
    rest = max(float(cross[child, child] - cross[parents, child] @ solved[:, 0]), 0.0)
    degrees = rows.degrees + k if rows.degrees else rows.weight - k - 1.0
    return solved[:, 0], rest / max(degrees - 2.0, 1.0) * solved[:, 1:]


def _solve_all(matrices: np.ndarray, right: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.solve(matrices, right)
    except np.linalg.LinAlgError:
        return np.array([solve_symmetric(*pair) for pair in zip(matrices, right, strict=True)])

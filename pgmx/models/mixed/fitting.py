"""Estimation of the families of a conditional linear Gaussian network from a mixed table."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from pgmx.checks import join_names
from pgmx.data.mixed import MixedTable
from pgmx.graphs.cycles import find_cycle
from pgmx.inference.mixed.families import DiscreteFamily, GaussianFamily, MixedFamilies
from pgmx.models.bayesian.networks import MAX_CPT_CELLS, check_parameter_prior, fit_discrete

#: Predictors determine a column if its residual variance is below this share of its variance in the table.
TOLERANCE = 1e-10

#: Ridge penalty per row on standardised columns, for regressions without a unique solution.
RIDGE = 1e-8


class Smoothing(NamedTuple):
    """The prior of the parameters, as for `fit_discrete`, and the divisor of residual sums of squares."""

    equivalent_sample_size: float | None = None
    pseudo_counts: float | None = None
    unbiased: bool = False

    def rows_per_cell(self, n_cells: int) -> float:
        """Return the number of prior rows per configuration of the parents."""
        return (self.equivalent_sample_size or 0.0) / n_cells + (self.pseudo_counts or 0.0)


def fit_families(
    mixed: MixedTable, edges: Iterable[tuple[int, int]], weights: np.ndarray | None, smoothing: Smoothing
) -> MixedFamilies:
    """Fit a network with the given edges, pairs of column positions; raise for invalid graphs."""
    check_parameter_prior(smoothing.equivalent_sample_size, smoothing.pseudo_counts)
    mixed.refuse_constant(weights)
    edges = sorted({(int(tail), int(head)) for tail, head in edges})
    check_arcs(mixed.columns, mixed.is_continuous, edges)
    cards = np.zeros(len(mixed.columns), dtype=np.int64)
    families: list = [None] * len(cards)
    if mixed.table is not None:
        cards[~mixed.is_continuous] = mixed.table.cardinalities
        for v, family in _fit_discrete(mixed, edges, weights, smoothing).items():
            families[v] = family
    numbers = _Numbers(mixed, weights)
    for v in np.flatnonzero(mixed.is_continuous).tolist():
        parents = [tail for tail, head in edges if head == v]
        discrete = [u for u in parents if not mixed.is_continuous[u]]
        continuous = [u for u in parents if mixed.is_continuous[u]]
        sizes = cards[discrete].tolist()
        if prod(sizes) * (len(continuous) + 2) > MAX_CPT_CELLS:
            raise ValueError(
                f"{mixed.columns[v]!r} given the {len(discrete)} discrete parents "
                f"{join_names(mixed.columns[u] for u in discrete)} would have {prod(sizes):,} regressions; learn again "
                "with a smaller max_indegree"
            )
        families[v] = _fit_continuous(numbers, v, discrete, continuous, sizes, smoothing)
    return MixedFamilies(tuple(cards.tolist()), tuple(families))


def check_arcs(names: Sequence, is_continuous: np.ndarray, edges: Sequence[tuple[int, int]]) -> None:
    """Raise for cycles, and for edges from continuous to discrete variables, which the model does not allow."""
    cycle = find_cycle(len(names), edges)
    if cycle is not None:
        raise ValueError(f"the edges form the cycle {' -> '.join(repr(names[v]) for v in [*cycle, cycle[0]])}")
    wrong = [
        f"{names[tail]} -> {names[head]}" for tail, head in edges if is_continuous[tail] and not is_continuous[head]
    ]
    if wrong:
        raise ValueError(
            "a conditional linear Gaussian network has no edges from continuous to discrete variables, got "
            f"{join_names(wrong)}: leave them out, or learn with scoring_method='bic-clg'"
        )


def _fit_discrete(
    mixed: MixedTable, edges: list, weights: np.ndarray | None, smoothing: Smoothing
) -> dict[int, DiscreteFamily]:
    assert mixed.table is not None
    members = np.flatnonzero(~mixed.is_continuous).tolist()
    place = {v: k for k, v in enumerate(members)}
    discrete_edges = [(place[tail], place[head]) for tail, head in edges if head in place]
    prior = {"equivalent_sample_size": smoothing.equivalent_sample_size, "pseudo_counts": smoothing.pseudo_counts}
    model = fit_discrete(mixed.table, discrete_edges, weights, **prior)
    families = {}
    for k, v in enumerate(members):
        parents = tuple(members[tail] for tail, head in discrete_edges if head == k)
        families[v] = DiscreteFamily(parents, model.cpds[k].values)
    return families


class _Numbers:
    """The columns of a table without rows of weight 0; continuous columns are standardised."""

    def __init__(self, mixed: MixedTable, weights: np.ndarray | None):
        # Rows of weight 0 would count as rows of a configuration.
        rows = slice(None) if weights is None else np.flatnonzero(weights > 0)
        numbers = mixed.numbers[:, rows]
        self.n_rows = numbers.shape[1]
        self.is_weighted = weights is not None
        self.weights = np.ones(self.n_rows) if weights is None else np.asarray(weights, dtype=np.float64)[rows]
        shares = self.weights / self.weights.sum()
        self.mean = numbers @ shares
        centred = numbers - self.mean[:, None]
        self.scale = np.sqrt(centred**2 @ shares)
        # Standardised, so that tolerances do not depend on units.
        self.standard = centred / self.scale[:, None]
        self.codes = np.empty((0, self.n_rows)) if mixed.table is None else mixed.table.codes[:, rows]
        self.positions = mixed.positions


def _fit_continuous(
    numbers: _Numbers, child: int, discrete: list[int], continuous: list[int], sizes: list[int], smoothing: Smoothing
) -> GaussianFamily:
    """Fit a regression per configuration of the discrete parents, by QR of its rows; O(N k²) for k predictors."""
    columns = numbers.positions[[*continuous, child]]
    k, n_cells = len(continuous), prod(sizes)
    order, bounds = _sort_rows(numbers, discrete, sizes)
    weights = numbers.weights[order]
    design = np.empty((numbers.n_rows, k + 2))
    design[:, 0] = 1.0
    for place, column in enumerate(columns.tolist(), start=1):
        design[:, place] = numbers.standard[column][order]
    if numbers.is_weighted:
        design *= np.sqrt(weights)[:, None]
    slices = [slice(start, stop) for start, stop in pairwise(bounds)]
    triangles = [None if rows.start == rows.stop else _triangle(design[rows]) for rows in slices]
    # The triangular factor of one average row of the whole table.
    row = _triangle(np.vstack([triangle for triangle in triangles if triangle is not None])) / np.sqrt(weights.sum())
    prior = smoothing.rows_per_cell(n_cells)
    unseen = _regress(np.zeros((k + 2, k + 2)), 0, 0.0, row, prior, smoothing.unbiased)
    coefficients = np.tile(unseen[0], (n_cells, 1))
    variances = np.full(n_cells, unseen[1])
    for cell, (rows, triangle) in enumerate(zip(slices, triangles, strict=True)):
        if triangle is not None:
            weight, n_rows = float(weights[rows].sum()), rows.stop - rows.start
            coefficients[cell], variances[cell] = _regress(triangle, n_rows, weight, row, prior, smoothing.unbiased)
    parents, v = columns[:-1], columns[-1]
    slopes = coefficients[:, 1:] * (numbers.scale[v] / numbers.scale[parents])
    intercepts = numbers.mean[v] + coefficients[:, 0] * numbers.scale[v] - slopes @ numbers.mean[parents]
    result = np.column_stack([intercepts, slopes]).reshape(*sizes, k + 1)
    std = (np.sqrt(variances) * numbers.scale[v]).reshape(sizes)
    return GaussianFamily(tuple(discrete), tuple(continuous), result, std)


def _sort_rows(numbers: _Numbers, discrete: list[int], sizes: list[int]) -> tuple[np.ndarray | slice, list[int]]:
    """Return an order of the rows by configuration, and the start positions of the configurations plus the end."""
    if not discrete:
        return slice(None), [0, numbers.n_rows]
    cells = np.zeros(numbers.n_rows, dtype=np.min_scalar_type(prod(sizes)))  # small types are sorted fastest
    for d, size in zip(discrete, sizes, strict=True):
        cells *= size
        cells += numbers.codes[numbers.positions[d]].astype(cells.dtype, copy=False)
    counts = np.bincount(cells, minlength=prod(sizes))
    return np.argsort(cells, kind="stable"), [0, *np.cumsum(counts).tolist()]


def _regress(
    triangle: np.ndarray, n_rows: float, weight: float, row: np.ndarray, prior: float, unbiased: bool
) -> tuple[np.ndarray, float]:
    """Return the coefficients and the residual variance of the last column on the others.

    `triangle` is the triangular factor of rows times the roots of their weights. `weight` is the sum of the weights.
    `row`, an average row of the whole table, is added `prior` times.
    """
    k = len(triangle) - 2
    is_regular = n_rows > k + 1 < weight and (np.diagonal(triangle)[1:] ** 2 > TOLERANCE * weight).all()
    if not is_regular:
        # As many average rows as the regression has numbers, so that its triangle is regular.
        prior += k + 2
    if prior:
        triangle = _triangle(np.vstack([triangle, np.sqrt(prior) * row]))
    if not is_regular:
        ridge = np.sqrt(RIDGE * (weight + prior)) * np.eye(k + 2)[1:-1]
        triangle = _triangle(np.vstack([triangle, ridge]))
    coefficients = np.linalg.solve(triangle[:-1, :-1], triangle[:-1, -1])
    freedom = weight + prior - (k + 1 if unbiased else 0)
    return coefficients, max(triangle[-1, -1] ** 2 / freedom, TOLERANCE)


def regress_moments(moments: np.ndarray, smoothing: Smoothing) -> tuple[np.ndarray, np.ndarray]:
    """Return coefficients (q, k + 1) and standard deviations (q,) of the last column in each of q configurations.

    `moments`, (q, k + 2, k + 2), are the sums of products of the constant 1, k predictors and the last column, in units
    with variances of about 1. Configurations may have no rows.
    """
    whole = moments.sum(axis=0)
    row = _factorise(whole) / np.sqrt(whole[0, 0])
    prior = smoothing.rows_per_cell(len(moments))
    regressions = []
    for products in moments:
        weight = float(products[0, 0])
        triangle = _factorise(products) if weight > 0 else np.zeros_like(products)
        regressions.append(_regress(triangle, weight, weight, row, prior, smoothing.unbiased))
    return np.array([coefficients for coefficients, _ in regressions]), np.sqrt([v for _, v in regressions])


def _factorise(products: np.ndarray) -> np.ndarray:
    """Return the triangular factor of rows from their cross-products."""
    try:
        return np.linalg.cholesky(products).T
    except np.linalg.LinAlgError:  # singular up to rounding errors
        values, vectors = np.linalg.eigh(products)
        return _triangle(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def _triangle(design: np.ndarray) -> np.ndarray:
    """Return the triangular factor of a matrix; it is square even if there are fewer rows than columns."""
    factor = np.linalg.qr(design, mode="r")
    return np.vstack([factor, np.zeros((design.shape[1] - len(factor), design.shape[1]))])

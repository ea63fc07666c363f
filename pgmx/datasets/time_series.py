"""Linear dynamical systems to learn from, their transitions, and hourly counts on a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pgmx.checks import as_reals, check_natural, is_number
from pgmx.datasets.random_graphs import make_generator

if TYPE_CHECKING:
    import pandas as pd
    from scipy.sparse import csr_array

KINDS = ("random", "block", "hub", "small-world", "uniform")
#: Share of the links of a small world that lead to a random node.
REWIRED = 0.1
#: Nodes per hub, and the size of a block divided by the number of parents.
NODES_PER_HUB, NODES_PER_PARENT = 20, 5
#: A spectral radius below this share of the largest row sum is a rounding error of 0.
ROUNDING = 1e-6


def sparse_system(
    n: int, degree: int = 3, radius: float = 0.9, kind: str = "random", *, random_state: int | None = 0
) -> csr_array:
    r"""Create the coefficients of a sparse, stable linear dynamical system.

    .. math:: x_t = A x_{t-1} + e_t, \qquad \rho(A) = \text{radius}

    Every node has `degree` parents (for "uniform" on average). Coefficients have random signs and absolute values
    uniform between 1/2 and 1. Then all of them are scaled by one factor to the given spectral radius.

    Parameters
    ----------
    n : int
        Number of nodes, at least 1.
    degree : int, default=3
        Number of parents per node, at most n; a node may be its own parent.
    radius : float, default=0.9
        Spectral radius ρ of A, above 0; the system is stable below 1.
    kind : {"random", "block", "hub", "small-world", "uniform"}, default="random"
        Choice of the parents. "random": from all nodes. "block": in each block of 5 `degree` nodes, `degree` nodes are
        the parents of all nodes of the block. "hub": from the first n / 20 nodes (at least `degree`). "small-world":
        the node itself and its predecessors on a ring; a tenth of these links are rewired at random. "uniform": the
        n `degree` coefficients have uniformly distributed positions, a density of `degree` / n.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.

    Returns
    -------
    scipy.sparse.csr_array of float64, shape (n, n)
        Coefficients A [target, source]; rows have ascending columns. If the graph of a tiny system has no cycle, its
        spectral radius is 0. The largest row sum of absolute values is then `radius`.

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer or too small, `degree` exceeds n, the radius is not positive, or the kind is
        unknown.

    Notes
    -----
    O(n degree) memory. The radius is the maximum over the strongly connected components: by dense eigenvalues up to 600
    nodes, by Arnoldi iterations for larger components (accurate to about 0.001; some seconds for n = 20,000).

    References
    ----------
    .. [1] Watts, D. J. and Strogatz, S. H. (1998). Collective dynamics of 'small-world' networks. Nature 393, 440-442.
    .. [2] Chaabene, W. (2017). Thesis, Virginia Tech, section 2.3.1 ("uniform").

    Examples
    --------
    >>> from pgmx.datasets import sparse_system
    >>> A = sparse_system(100, degree=3)
    >>> A.shape, A.nnz
    ((100, 100), 300)
    >>> round(float(abs(np.linalg.eigvals(A.toarray())).max()), 6)
    0.9
    """
    n, degree = check_natural(n, "n", 1), check_natural(degree, "degree", 1)
    if degree > n:
        raise ValueError(f"degree must be at most n = {n}, the number of nodes, got {degree}")
    if not is_number(radius) or radius <= 0:
        raise ValueError(f"radius must be a number above 0, got {radius!r}")
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}")
    from scipy.sparse import csr_array

    from pgmx.models.time_series.companion import compute_spectral_radius

    rng = make_generator(random_state)
    if kind == "uniform":
        targets, parents = np.divmod(np.sort(rng.choice(n * n, n * degree, replace=False)), n)
        starts = np.searchsorted(targets, np.arange(n + 1))
    else:
        parents = np.sort(_draw_parents(n, degree, kind, rng), axis=1)
        starts = np.arange(0, n * degree + 1, degree)
    sizes = rng.uniform(0.5, 1.0, parents.size) * rng.choice([-1.0, 1.0], parents.size)
    coef = csr_array((sizes, parents.ravel(), starts), shape=(n, n))
    computed, row_sum = compute_spectral_radius((coef,)), abs(coef).sum(axis=1).max()
    # If the radius is only rounding (a system without cycles), the row sum scales the coefficients instead.
    coef.data *= radius / (computed if computed > ROUNDING * row_sum else row_sum)
    return coef


class SystemTransitions(NamedTuple):
    """Training series of three rows, and test rows with the rows that follow them.

    Parameters
    ----------
    train : pandas.DataFrame of shape (3 n_series, n + 1)
        Columns "series" (0, 1, ...) and "x0", "x1", ...; for learners with ``groups="series"``.
    test, targets : ndarray of float64, shape (n_test, n)
        Standard normal rows, and the noise-free rows that follow them.

    Examples
    --------
    >>> from pgmx.datasets import system_transitions
    >>> system_transitions([[0.5]], 4, n_test=2).train["series"].tolist()
    [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    """

    train: pd.DataFrame
    test: np.ndarray
    targets: np.ndarray


def system_transitions(
    coef: Any, n_series: int = 6250, *, noise: float = 0.0, n_test: int = 2000, random_state: int | None = 0
) -> SystemTransitions:
    r"""Draw transitions of a linear dynamical system from random states, with a level of noise.

    .. math:: x_1 \sim N(0, I), \qquad x_{t+1} = A x_t + e_t, \qquad
              e_t \sim N(0, \sigma^2 I), \qquad \sigma = \text{noise} \cdot \|A\|_F / \sqrt{n}

    for the training series. Test rows have no noise. The training series have three rows, so that transitions of one
    and of two steps can be learned.

    Parameters
    ----------
    coef : array_like or sparse array of float, shape (n, n)
        Coefficients A [target, source], for example of `sparse_system`.
    n_series : int, default=6250
        Number of training series, at least 1; each has two transitions.
    noise : float, default=0.0
        Level of the noise, at least 0: its standard deviation, divided by the root mean square of A x for standard
        normal x, over all nodes.
    n_test : int, default=2000
        Number of test rows, at least 1.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.

    Returns
    -------
    SystemTransitions
        The training series, the test rows and their targets.

    Raises
    ------
    TypeError, ValueError
        If the coefficients are not finite or not square, or a number is too small.

    Notes
    -----
    The figures 2.3 to 2.5 of the source are for n = 100 and 1,000 coefficients:
    ``sparse_system(100, 10, 1.0, "uniform")``. O(n) memory per row.

    References
    ----------
    .. [1] Chaabene, W. (2017). Thesis, Virginia Tech, section 2.3.1 (data and metrics).

    Examples
    --------
    >>> from pgmx.datasets import sparse_system, system_transitions
    >>> from pgmx.estimators import DenseLDS
    >>> from pgmx.metrics import prediction_error
    >>> coef = sparse_system(10, 2, kind="uniform")
    >>> train, test, targets = system_transitions(coef, 100, noise=0.5)
    >>> learner = DenseLDS(groups="series").fit(train)
    >>> round(prediction_error(learner, test, targets), 2)
    0.12
    """
    import pandas as pd

    n_series, n_test = check_natural(n_series, "n_series", 1), check_natural(n_test, "n_test", 1)
    if not is_number(noise) or noise < 0:
        raise ValueError(f"noise must be a number of at least 0, got {noise!r}")
    matrix = as_reals(coef.toarray() if hasattr(coef, "toarray") else coef, "coef").astype(np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ValueError(f"coef must be square, got the shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise ValueError("coef must be finite")
    rng, n = make_generator(random_state), len(matrix)
    sigma = noise * np.sqrt((matrix**2).sum() / n)
    rows = [rng.standard_normal((n_series, n))]
    for _ in range(2):
        rows.append(rows[-1] @ matrix.T + sigma * rng.standard_normal((n_series, n)))
    train = pd.DataFrame(np.stack(rows, axis=1).reshape(-1, n), columns=[f"x{j}" for j in range(n)])
    train.insert(0, "series", np.repeat(np.arange(n_series), 3))
    test = rng.standard_normal((n_test, n))
    return SystemTransitions(train, test, test @ matrix.T)


def _draw_parents(n: int, degree: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Draw the parents of each node, of shape (n, degree)."""
    if kind == "block":
        size = NODES_PER_PARENT * degree
        starts = np.arange(n) // size * size
        # a last block with fewer nodes than parents is merged with the previous block
        starts = np.minimum(starts, max(0, (n - degree) // size * size))
        offsets = {start: rng.choice(min(size, n - start), degree, replace=False) for start in np.unique(starts)}
        return np.array([start + offsets[start] for start in starts])
    if kind == "small-world":
        parents = (np.arange(n)[:, None] - np.arange(degree)) % n
        is_rewired = (rng.random(parents.shape) < REWIRED) & (degree < n)
        for node, link in zip(*np.nonzero(is_rewired), strict=True):
            other = int(rng.integers(n))
            while other in parents[node]:
                other = int(rng.integers(n))
            parents[node, link] = other
        return parents
    n_choices = max(degree, n // NODES_PER_HUB) if kind == "hub" else n
    return np.array([rng.choice(n_choices, degree, replace=False) for _ in range(n)])


def gridded_counts(
    n_rows: int = 20,
    n_columns: int = 20,
    n_hours: int = 1344,
    *,
    mean_count: float = 5.0,
    min_count: int = 100,
    random_state: int | None = 0,
) -> pd.DataFrame:
    r"""Simulate hourly counts (such as taxi trips) in the cells of a grid over a city, divided by the cell maximum.

    .. math:: y_{ct} \sim \text{Poisson}(b_c \, p_c(t) \, e^{g_{ct}}), \qquad g_t = G g_{t-1} + e_t,
              \qquad x_{ct} = y_{ct} / \max_t y_{ct}

    The means b of cells decrease from the centre, with log-normal noise. The profile p of a cell, with mean 1, is a
    mixture of three profiles: offices (the rush hours of working days), homes (mornings and evenings) and evenings out
    (nights before days off). The log-intensities g depend on the cell itself, its neighbours on the grid and three
    random cells; the largest row sum of G is 0.9.

    Parameters
    ----------
    n_rows, n_columns : int, default=20
        Size of the grid, each at least 1.
    n_hours : int, default=1344
        Number of hours, at least 2; the first hour starts on a Monday at midnight.
    mean_count : float, default=5.0
        Mean of all counts, above 0; the least busy cells have much smaller counts.
    min_count : int, default=100
        Cells with a smaller sum of counts, or with no counts, are left out.
    random_state : int or None, default=0
        A non-negative seed; None uses fresh entropy.

    Returns
    -------
    pandas.DataFrame of float64, shape (n_hours, cells)
        Normalised counts x between 0 and 1 per hour (a ``DatetimeIndex``), columns "r0c0", "r0c1", ...

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer or too small, or no cell has enough counts.

    Notes
    -----
    The source divided New York into 99 x 99 such cells and kept the 4,057 cells with at least 100 trips in five months.

    References
    ----------
    .. [1] Chaabene, W. (2017). Thesis, Virginia Tech, section 2.3.2 (data).

    Examples
    --------
    >>> from pgmx.datasets import gridded_counts
    >>> counts = gridded_counts(6, 6, 336)
    >>> counts.shape, float(counts.max().min())
    ((336, 36), 1.0)
    """
    import pandas as pd

    shape = check_natural(n_rows, "n_rows", 1), check_natural(n_columns, "n_columns", 1)
    n_hours, min_count = check_natural(n_hours, "n_hours", 2), check_natural(min_count, "min_count", 0)
    if not is_number(mean_count) or mean_count <= 0:
        raise ValueError(f"mean_count must be a number above 0, got {mean_count!r}")
    rng = make_generator(random_state)
    rows, columns = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
    centre = np.hypot(rows / shape[0] - 0.5 + 0.5 / shape[0], columns / shape[1] - 0.5 + 0.5 / shape[1])
    base = np.exp(-4.0 * centre + 0.7 * rng.standard_normal(len(rows)))
    shares = rng.dirichlet(np.full(3, 0.5), len(rows))
    intensities = _draw_log_intensities(rows, columns, n_hours, rng)
    means = (_list_profiles(n_hours) @ shares.T) * np.exp(intensities) * (mean_count * base / base.mean())
    counts = rng.poisson(means)
    total = counts.sum(axis=0)
    busy = total >= max(min_count, 1)
    if not busy.any():
        raise ValueError(
            f"no cell has {min_count} counts in {n_hours} hours, the maximum is {total.max()}: lower min_count or "
            "raise mean_count"
        )
    names = [f"r{row}c{column}" for row, column in zip(rows[busy], columns[busy], strict=True)]
    index = pd.date_range("2015-01-05", periods=n_hours, freq="h")
    return pd.DataFrame(counts[:, busy] / counts[:, busy].max(axis=0), index=index, columns=names)


def _list_profiles(n_hours: int) -> np.ndarray:
    """Return the hourly weekly profiles of offices, homes and evenings out, each with mean 1."""
    day, hour = np.divmod(np.arange(n_hours) % 168, 24)
    works = day < 5

    def bump(centre: float, width: float) -> np.ndarray:
        distance = (hour - centre + 12) % 24 - 12
        return np.exp(-0.5 * (distance / width) ** 2)

    offices = 0.1 + np.where(works, bump(9, 1.5) + bump(13, 3) + 1.2 * bump(18, 2), 0.2 * bump(14, 4))
    homes = 0.15 + np.where(works, bump(8, 1.5), 0.7 * bump(11, 3)) + bump(20, 2.5)
    out = 0.1 + np.where((day == 4) | (day == 5), 2.0, 0.7) * bump(23, 2.5)
    profiles = np.column_stack([offices, homes, out])
    return profiles / profiles.mean(axis=0)


def _draw_log_intensities(rows: np.ndarray, columns: np.ndarray, n_hours: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the deviations of log-intensities, of shape (hours, cells)."""
    from scipy.sparse import coo_array

    n = len(rows)
    width = columns.max() + 1
    cells = np.arange(n)
    below, beside = cells[rows < rows.max()], cells[columns < columns.max()]
    sources = [cells, below, below + width, beside, beside + 1, *rng.integers(n, size=(3, n))]
    targets = [cells, below + width, below, beside + 1, beside, cells, cells, cells]
    weights = [np.full(n, 1.0), *(np.full(len(part), 0.3) for part in sources[1:5]), *rng.uniform(0.2, 0.5, (3, n))]
    drive = coo_array(
        (np.concatenate(weights), (np.concatenate(targets), np.concatenate(sources))), shape=(n, n)
    ).tocsr()
    drive.data *= 0.9 / abs(drive).sum(axis=1).max()
    state, states = np.zeros(n), np.empty((n_hours, n))
    for hour in range(-24, n_hours):  # a day before the first returned hour, from zero
        state = drive @ state + 0.15 * rng.standard_normal(n)
        states[max(hour, 0)] = state
    return states

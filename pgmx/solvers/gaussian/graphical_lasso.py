"""The graphical lasso along a path of penalties, and the solution without a penalty."""

from collections.abc import Callable, Generator, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import inf, nan
from threading import Lock

import numpy as np
from scipy import sparse

from pgmx.checks import as_reals
from pgmx.parallel.threads import THREAD_PAYS, call_on_threads, one_blas_thread
from pgmx.runs.run import is_past
from pgmx.solvers.gaussian.dual_ascent import DualAscent
from pgmx.solvers.gaussian.graphical_lasso_certificate import NEAR, compute_gap_bound, compute_log_determinant, invert
from pgmx.statistics.components import assemble_blocks, list_components
from pgmx.statistics.gaussian.correlations import Correlations, DenseCorrelations

#: Maximum number of continuations of the components of a problem if the sum of their gaps is above the tolerance.
ROUNDS = 4

#: If R has no inverse to working precision, these penalties (as shares of the largest correlation) replace all
#: penalties below the last of them. Smaller penalties suffer from rounding, since Θ grows with 1/λ. Even the last may
#: be too small.
STAND_IN_PENALTIES = (1e-3, 1e-5, 1e-7, 1e-9)

#: Sizes of components whose factorisation is up to twice as fast with one thread of OpenBLAS as with two. Smaller
#: components always use one thread.
ONE_BLAS_THREAD = range(128, 800)

#: Approximate seconds of a component of m variables divided by m³; decides whether threads are used.
CUBE_SECONDS = 1e-10

#: The smallest share that is itself tried.
LEAST_PENALTY = 1e-11
Callback = Callable[[float, int, float, int], bool | None]


@dataclass(frozen=True, eq=False)
class GraphicalLassoSolution:
    """A solution of the graphical lasso with its certificate, on the correlation scale."""

    lam: float
    precision: sparse.csr_array  # symmetric, positive definite; its non-zeros off the diagonal are the edges
    objective: float  # −log det Θ + tr(RΘ) + λ Σ|Θ_ij|
    dual_gap: float  # bound on objective - optimum from a feasible dual point, a sum of nonnegative terms
    #: gap at most the tolerance times max(1, |objective|), and the edges join the components of |R_ij| > λ
    converged: bool
    n_iter: int  # sweeps over the variables, maximum over components
    n_components: int  # of the graph of |R_ij| > λ, each solved separately
    least_pivot: float = 0.0  # of the Cholesky factor of Θ scaled to unit diagonal; 0 if unknown


def graphical_lasso_path(
    R: np.ndarray,
    lams,
    *,
    penalize_diagonal: bool = False,
    tol: float = 1e-6,
    max_iter: int = 200,
    n_jobs: int | None = None,
    deadline: float = inf,
    callback: Callback | None = None,
    on_interrupt: Callable[[KeyboardInterrupt], None] | None = None,
) -> Iterator[GraphicalLassoSolution]:
    r"""Solve the graphical lasso for one penalty after another, each started from the previous solution.

    .. math::

        \min_{\Theta \succ 0} \; -\log\det\Theta + \operatorname{tr}(R\Theta) + \lambda \sum_{i \ne j} |\Theta_{ij}|
        \;=\; \max_{|W - R| \le \lambda,\; W_{ii} = R_{ii}} \; \log\det W + p

    Parameters
    ----------
    R : ndarray of float64, shape (p, p)
        Correlation matrix: symmetric, positive semidefinite, unit diagonal. It may be singular if λ > 0.
    lams : array_like of float64, shape (k,)
        Penalties λ, at least 0, preferably in descending order. 0 gives the inverse of R.
    penalize_diagonal : bool, default=False
        Add :math:`\lambda \sum_i \Theta_{ii}` to the objective.
    tol : float, default=1e-6
        Largest duality gap, relative to ``max(1, |objective|)``.
    max_iter : int, default=200
        Maximum number of sweeps over the variables of a component, for each penalty.
    n_jobs : int, optional
        Number of threads for components, as in joblib. The result does not depend on it.
    deadline : float, default=inf
        Value of ``time.perf_counter`` after which no further columns are updated; some columns are updated for every
        penalty.
    callback : callable, optional
        Called after every sweep over a component with λ, the number of the sweep, NaN, and the edges in the component,
        and at the end of every penalty with the objective and all edges. If it returns True, the current solution is
        the last.
    on_interrupt : callable, optional
        Called with the ``KeyboardInterrupt`` of Ctrl-C; the current solution is then the last. By default it is raised.

    Yields
    ------
    GraphicalLassoSolution
        One solution per penalty.

    Raises
    ------
    ValueError
        If R is not a square matrix, or a penalty is negative or not a number.

    Notes
    -----
    The connected components of ``|R_ij| > λ`` are solved separately, which is exact [2]_ [3]_. In a component the dual
    objective is raised column by column, from a positive definite start W inside the box. Every exact step keeps these
    properties, and so does the start at the next penalty, R + (W − R) λ'/λ. A sweep takes ``O(p |E|)`` time, the
    certificate one Cholesky factorisation. Memory in addition to R: two m × m arrays for each component of m variables,
    and two more if Θ is dense. A precision that is not positive definite, or worse than no edges, is moved towards its
    diagonal until it is positive definite and better. If R has no inverse to working precision, λ of at most 10⁻⁹ of
    the largest correlation gives the best solution of small penalties, which is never marked as converged.

    References
    ----------
    .. [1] Friedman, J., Hastie, T. and Tibshirani, R. (2008). Sparse inverse covariance estimation with the graphical
       lasso. Biostatistics 9, 432-441, section 2.
    .. [2] Mazumder, R. and Hastie, T. (2012). The graphical lasso: new insights and alternatives. Electronic Journal of
       Statistics 6, 2125-2149, sections 2-4.
    .. [3] Witten, D., Friedman, J. and Simon, N. (2011). New insights and faster computations for the graphical lasso.
       Journal of Computational and Graphical Statistics 20, 892-900, theorem 1.

    Examples
    --------
    >>> R = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]])
    >>> for solution in graphical_lasso_path(R, [0.6, 0.3]):
    ...     print(solution.precision.toarray().round(3).tolist(), solution.n_components, solution.converged)
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]] 3 True
    [[1.042, -0.208, 0.0], [-0.208, 1.042, 0.0], [0.0, 0.0, 1.0]] 2 True
    """
    R = np.ascontiguousarray(R, dtype=np.float64)
    if R.ndim != 2 or R.shape[0] != R.shape[1] or not len(R):
        raise ValueError(f"R must be a square matrix with at least one row, got the shape {R.shape}")
    penalties = np.atleast_1d(as_reals(lams, "lams").astype(np.float64))
    if not (penalties >= 0).all():
        raise ValueError(f"lams must be at least 0, got {penalties[~(penalties >= 0)][0]}")
    return GraphicalLassoPath(
        DenseCorrelations(R),
        penalize_diagonal=penalize_diagonal,
        tol=tol,
        max_iter=max_iter,
        n_jobs=n_jobs,
        deadline=deadline,
        callback=callback,
        on_interrupt=on_interrupt,
    ).solve(penalties)


@dataclass(frozen=True, eq=False)
class GraphicalLassoState:
    """The start of the next penalty of a path; the components refer to the penalty `lam`."""

    lam: float
    dual: np.ndarray  # entries of W within the components, one component after another
    safe: np.ndarray  # whether each component had to start at a W that is certainly positive definite
    columns: sparse.csr_array  # the coefficients of each variable, in its row
    precision: sparse.csr_array


class GraphicalLassoPath:
    """The problems of one path, and the start of the next penalty; options as for `graphical_lasso_path`."""

    def __init__(
        self,
        correlations: Correlations,
        *,
        penalize_diagonal: bool = False,
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
        deadline: float = inf,
        callback: Callback | None = None,
        on_interrupt: Callable[[KeyboardInterrupt], None] | None = None,
    ):
        self._correlations, self._p = correlations, correlations.n_columns
        self._penalize_diagonal = penalize_diagonal
        self._tol, self._max_iter, self._deadline = tol, max_iter, deadline
        self._n_jobs = n_jobs
        self._callback, self._on_interrupt = callback, on_interrupt
        self._lock = Lock()
        self._stopped = False
        self._last: tuple[float, sparse.csr_array] | None = None  # λ, Θ
        self._blocks: dict[bytes, DualAscent] = {}
        #: For each variable: its component at the last λ (-1 for none), and its place in the component.
        self._owners, self._places = np.full(self._p, -1, dtype=np.int64), np.zeros(self._p, dtype=np.int64)

    def solve(self, penalties: np.ndarray) -> Generator[GraphicalLassoSolution, None, None]:
        """Yield a solution for each penalty."""
        self._correlations.scan(float(penalties.min()))
        for lam in penalties.tolist():
            is_nearly_free = lam <= STAND_IN_PENALTIES[-1] * self._correlations.largest
            solution = self._solve_nearly_free(lam) if is_nearly_free else self._solve(lam)
            if self._callback is not None:
                edges = (solution.precision.nnz - self._p) // 2
                self._stopped |= bool(self._callback(lam, solution.n_iter, solution.objective, edges))
            yield solution
            if self._stopped:
                return

    def state(self) -> GraphicalLassoState | None:
        """Return a copy of the start of the next penalty, None before the first penalty."""
        if self._last is None:
            return None
        lam, precision = self._last
        blocks, p = list(self._blocks.values()), self._p
        parts = [block.coefficients for block in blocks]
        nobody = np.zeros(0, dtype=np.int64)
        columns = assemble_blocks(p, [block.nodes for block in blocks], parts, nobody, np.zeros(0))
        safe = np.array([block.safe for block in blocks], dtype=bool)
        dual = np.concatenate([np.zeros(0), *(block.dual.ravel() for block in blocks)])
        return GraphicalLassoState(lam, dual, safe, columns, precision)

    def restore(self, state: GraphicalLassoState) -> None:
        """Resume exactly from a state of the same path; ValueError if the state is invalid."""
        members, _ = list_components(self._correlations.find_components(state.lam))
        sizes = [len(nodes) ** 2 for nodes in members]
        if (len(state.dual), len(state.safe)) != (sum(sizes), len(members)):
            raise ValueError("another number of components than the correlations have")
        blocks, columns = [], state.columns
        ends = columns.indptr.tolist()
        duals = np.split(state.dual, np.cumsum(sizes)[:-1]) if sizes else []
        for nodes, dual, safe in zip(members, duals, state.safe.tolist(), strict=True):
            block = DualAscent(self._select(nodes, state.lam), nodes)
            rows = np.concatenate([np.arange(ends[j], ends[j + 1]) for j in nodes.tolist()])
            at = np.searchsorted(nodes, columns.indices[rows])
            if not np.array_equal(nodes[np.minimum(at, len(nodes) - 1)], columns.indices[rows]):
                raise ValueError("coefficients of variables of different components")
            indptr = np.concatenate(([0], np.cumsum(np.diff(columns.indptr)[nodes])))
            block.restore(state.lam, dual.reshape(len(nodes), -1), safe, (indptr, at, columns.data[rows]))
            blocks.append(block)
        if sum(len(block.coefficients[1]) for block in blocks) != columns.nnz:
            raise ValueError("coefficients of variables without neighbours")
        self._keep(state.lam, blocks, state.precision)

    def _select(self, nodes: np.ndarray, lam: float) -> np.ndarray:
        """Return the matrix of a component."""
        matrix = self._correlations.select(nodes)
        return matrix + lam * np.eye(len(nodes)) if self._penalize_diagonal else matrix

    def _solve(self, lam: float) -> GraphicalLassoSolution:
        members, alone = list_components(self._correlations.find_components(lam))
        blocks = [self._start_block(nodes, lam) for nodes in members]
        diagonal = self._correlations.diagonal[alone] + lam * self._penalize_diagonal
        base = float(np.log(diagonal).sum()) + len(alone)
        tol, gap, allowed = self._tol, inf, inf
        for _ in range(ROUNDS):
            self._run(blocks, lam, tol)
            objective = base + sum(block.objective for block in blocks)
            gap = sum((block.gap for block in blocks), 0.0)
            allowed = self._tol * max(1.0, abs(objective))
            if gap <= allowed or self._is_over() or not all(block.converged for block in blocks):
                break
            tol *= 0.5 * allowed / gap
        parts = [block.triplets() for block in blocks]
        precision = assemble_blocks(self._p, members, parts, alone, 1.0 / diagonal)
        self._keep(lam, blocks, precision)
        return GraphicalLassoSolution(
            lam=lam,
            precision=precision,
            objective=objective,
            dual_gap=gap,
            converged=bool(gap <= allowed and all(block.connected for block in blocks)),
            n_iter=max((block.n_iter for block in blocks), default=0),
            n_components=len(blocks) + len(alone),
            least_pivot=min((block.least_pivot for block in blocks), default=1.0),
        )

    def _is_over(self) -> bool:
        return self._stopped or is_past(self._deadline)

    def _start_block(self, nodes: np.ndarray, lam: float) -> DualAscent:
        """Return the component of `nodes`, started at its last solution, or at its block of the last W."""
        block = self._blocks.get(nodes.tobytes())
        if block is not None and not self._penalize_diagonal:
            block.restart(lam)
            return block
        block = DualAscent(self._select(nodes, lam), nodes)
        if self._last is None:
            block.start(lam)
        else:
            last, precision = self._last
            whole = len(nodes) == self._p
            block.start_from(
                lam, last, self._select_dual(nodes, last), precision if whole else precision[nodes][:, nodes]
            )
        return block

    def _select_dual(self, nodes: np.ndarray, lam: float) -> np.ndarray:
        """Return the block of the last W for some variables, for the penalty `lam`."""
        blocks, owners = list(self._blocks.values()), self._owners[nodes]
        if len(blocks) == 1 and len(nodes) == len(blocks[0].nodes) == self._p:
            return blocks[0].dual
        W = np.diag(self._correlations.diagonal[nodes] + lam * self._penalize_diagonal)
        for owner in np.unique(owners[owners >= 0]).tolist():
            here = np.flatnonzero(owners == owner)
            there = self._places[nodes[here]]
            W[np.ix_(here, here)] = blocks[owner].dual[np.ix_(there, there)]
        return W

    def _run(self, blocks: list[DualAscent], lam: float, tol: float) -> None:
        """Solve all components to a relative tolerance."""

        def report_sweep(n_iter: int, edges: int) -> bool:
            if self._callback is not None:
                with self._lock:
                    self._stopped |= bool(self._callback(lam, n_iter, nan, edges))
            return self._is_over()

        def solve(block: DualAscent) -> None:
            block.solve(tol, self._max_iter, report_sweep, self._is_over)

        try:
            sizes = sorted(len(block.nodes) for block in blocks)
            other_seconds = CUBE_SECONDS * sum(
                m**3 for m in sizes[:-1]
            )  # time of the other components, parallel to the largest
            if self._n_jobs in (None, 1) or other_seconds < THREAD_PAYS:
                small = max(sizes, default=0) in ONE_BLAS_THREAD
                with one_blas_thread() if small else nullcontext():
                    for block in blocks:
                        solve(block)
            else:
                call_on_threads((partial(solve, block) for block in blocks), self._n_jobs)
        except KeyboardInterrupt as error:
            if self._on_interrupt is None:
                raise
            self._on_interrupt(error)
            self._stopped = True
            for block in blocks:  # some further columns, and the certificate
                solve(block)

    def _keep(self, lam: float, blocks: list[DualAscent], precision: sparse.csr_array) -> None:
        self._blocks = {block.nodes.tobytes(): block for block in blocks}
        self._owners[:] = -1
        for k, block in enumerate(blocks):
            self._owners[block.nodes], self._places[block.nodes] = k, np.arange(len(block.nodes))
        self._last = (lam, precision)

    def _solve_nearly_free(self, lam: float) -> GraphicalLassoSolution:
        """Solve with almost no penalty."""
        inverse = solve_without_penalty(self._correlations.select(np.arange(self._p)), self._tol)
        if inverse is None:
            return self._solve_singular(lam)
        return self._solve(lam) if lam > 0 else inverse

    def _solve_singular(self, lam: float) -> GraphicalLassoSolution:
        """Use the best of the solutions for small penalties that rounding allows.

        The dual point is R with shrunk correlations, its eigenvalues raised to the rounding of R.
        """
        largest = self._correlations.largest
        R = self._correlations.select(np.arange(self._p)) + lam * self._penalize_diagonal * np.eye(self._p)
        best, sweeps = self._solve(largest), 0  # no edges
        objective = compute_objective(R, best.precision, lam)
        last = [lam] if lam > LEAST_PENALTY * largest else []
        for penalty in [share * largest for share in STAND_IN_PENALTIES] + last:
            solution = self._solve(penalty)
            sweeps += solution.n_iter
            value = compute_objective(R, solution.precision, lam)
            if value < objective:
                best, objective = solution, value
            if self._is_over():
                break
        W = (1.0 - lam / largest) * R
        np.fill_diagonal(W, R.diagonal())
        eigenvalues = np.linalg.eigvalsh(W)
        least = len(R) * float(np.finfo(np.float64).eps) * float(eigenvalues[-1])
        gap = objective - float(np.log(np.maximum(eigenvalues, least)).sum()) - len(R)
        if best.lam == lam:
            gap = min(gap, best.dual_gap)
        return replace(best, lam=lam, objective=objective, dual_gap=gap, converged=False, n_iter=sweeps)


def solve_without_penalty(R: np.ndarray, tol: float) -> GraphicalLassoSolution | None:
    """Return the inverse of R; None if R has none, or only one of rounding errors."""
    inverted = invert(R)
    if inverted is None:
        return None
    theta = inverted[0]
    error = np.eye(len(theta)) - R @ theta
    distance, logdet = float(np.linalg.norm(error)), compute_log_determinant(theta)
    if logdet is None or not distance < NEAR:
        return None
    gap = compute_gap_bound(distance)
    objective = -logdet + len(theta) - float(np.trace(error))
    converged = gap <= tol * max(1.0, abs(objective))
    return GraphicalLassoSolution(0.0, sparse.csr_array(theta), objective, gap, converged, 0, 1)


def compute_objective(R: np.ndarray, precision: sparse.csr_array, lam: float) -> float:
    """Return −log det Θ + tr(RΘ) + λ Σ|Θ_ij|, infinite if Θ is not positive definite."""
    theta = precision.toarray()
    logdet = compute_log_determinant(theta)
    size = float(np.abs(theta).sum() - np.abs(theta.diagonal()).sum())
    return inf if logdet is None else -logdet + float(np.vdot(R, theta)) + lam * size

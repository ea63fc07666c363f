"""Penalised likelihood of a small pairwise Markov network, by enumeration of all configurations.

It is minimised by accelerated proximal gradient descent (`minimise`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

from pgmx.runs.checkpoint import Snapshot
from pgmx.runs.run import is_past
from pgmx.solvers.markov.penalised_loss import PenalisedLoss

#: Largest number of configurations: 32 MB for their probabilities.
MAX_CELLS = 2**22

#: Growth factor of a reciprocal step that was too small, and its decay per iteration.
GROWTH, DECAY = 2.0, 0.9

#: Largest reciprocal step. Above it, differences of the function are rounding errors.
STEEPEST = 1e12


class ExactLoss(PenalisedLoss):
    r"""Negative log-likelihood of a network with few configurations, and the state of its minimisation.

    .. math::

        F(w) = -\frac{1}{W} \sum_m w_m \log p(x^m)
               + \lambda \sum_e c_e d_e \|W_e\|_2 + \frac{l_2}{2} \|w\|_2^2, \qquad d_e = \sqrt{s_i s_j}

    For the parameters see :class:`~pgmx.solvers.markov.penalised_loss.PenalisedLoss`.

    Raises
    ------
    ValueError
        If the variables have more than 2**22 configurations.

    Notes
    -----
    An evaluation makes n passes over all configurations. F is convex. Its minimum exists if λ or l2 is above 0.

    References
    ----------
    .. [1] Lee, S.-I., Ganapathi, V. and Koller, D. (2006). Efficient structure learning of Markov networks using
       L1-regularization. Advances in Neural Information Processing Systems 19.
    """

    def _start(self, table, weights) -> None:
        cells = 1
        for size in self.cardinalities.tolist():
            cells *= size
        if cells > MAX_CELLS:
            raise ValueError(
                f"the {self.n_variables} variables have {cells:.3g} configurations, but the exact loss "
                f"enumerates at most {MAX_CELLS}: use the pseudolikelihood or the Bethe loss"
            )
        self._nodes = np.zeros(self._offsets[-1])
        self._tables = np.zeros(0)
        self._step = 1.0
        self._split = _halfway(self.cardinalities)
        self._joint: tuple[np.ndarray, float] | None = None
        self._n_evaluations = 0
        self._drift = 0.0
        self.optimise(tol=1e-9)
        self._joint_then = self._distribution()[0]  # at the last update of the drift

    def _values(self):
        return self._nodes.copy(), self._tables.copy()

    def _append_edges(self, positions: np.ndarray) -> None:
        self._tables = np.append(self._tables, np.zeros(self._active.where[-1] - len(self._tables)))

    def _replace_values(self, nodes: np.ndarray, tables: np.ndarray) -> None:
        self._nodes, self._tables, self._joint = nodes.copy(), tables, None

    @property
    def n_optimised(self) -> int:
        """Number of evaluations of the likelihood and its gradient."""
        return self._n_evaluations

    def _gradient_cells(self, pairs):
        tables, begins = self.statistics.flat(pairs)
        cells = self._pair_marginals(self._distribution()[0], pairs) - tables
        norms = np.sqrt(np.add.reduceat(cells**2, begins[:-1])) if len(pairs) else np.zeros(0)
        yield slice(None), cells, begins, norms

    @property
    def drift(self) -> np.ndarray:
        """Sum of the changes of the joint distribution in the 1-norm, the same value for each variable.

        A pair marginal changes by at most the change of the joint distribution.
        """
        joint = self._distribution()[0]
        if joint is not self._joint_then:
            self._drift += float(np.abs(joint - self._joint_then).sum())
            self._joint_then = joint
        return np.full(self.n_variables, self._drift)

    def _progress(self) -> dict[str, np.ndarray]:
        return {"step": np.array(self._step)}

    def _restore_progress(self, state: Snapshot) -> None:
        self._step = state.number("step", 1e-300)

    # ---- enumeration ----

    def _distribution(self) -> tuple[np.ndarray, float]:
        """Return the probabilities of all configurations, (first half, second half), and log Z."""
        if self._joint is None:
            self._joint = self._enumerate(self._nodes, self._tables)
        return self._joint

    def _enumerate(self, nodes: np.ndarray, tables: np.ndarray) -> tuple[np.ndarray, float]:
        cards, split, where = self.cardinalities, self._split, self._active.where
        halves = [np.zeros(tuple(cards[:split])), np.zeros(tuple(cards[split:]))]
        for v in range(self.n_variables):
            values = nodes[self._offsets[v] : self._offsets[v + 1]]
            half, axis = (halves[0], v) if v < split else (halves[1], v - split)
            half += values.reshape([-1 if k == axis else 1 for k in range(half.ndim)])
        across: dict[int, np.ndarray] = {}
        for e, (i, j) in enumerate(self._active.pairs.tolist()):
            table = tables[where[e] : where[e + 1]].reshape(cards[i], cards[j])
            if i < split <= j:
                part = across.setdefault(i, np.zeros((cards[i], *cards[split:])))
                part += table.reshape([cards[i], *(cards[j] if k == j else 1 for k in range(split, self.n_variables))])
                continue
            half, first = (halves[0], 0) if j < split else (halves[1], split)
            half += table.reshape([cards[k + first] if k + first in (i, j) else 1 for k in range(half.ndim)])
        joint = halves[0].reshape(-1, 1) + halves[1].reshape(1, -1)
        for i, part in across.items():
            view = joint.reshape((*self._around(i, 0, split), -1))
            view += part.reshape(1, cards[i], 1, -1)
        top = joint.max()
        np.exp(joint - top, out=joint)
        total = joint.sum()
        joint /= total
        return joint, float(top + np.log(total))

    def _around(self, v: int, first: int, end: int) -> tuple[int, int, int]:
        """Return the numbers of configurations of variables `first` to v - 1, of v, and of v + 1 to `end` - 1."""
        cards = self.cardinalities
        return int(np.prod(cards[first:v])), int(cards[v]), int(np.prod(cards[v + 1 : end]))

    def _marginals(self, joint: np.ndarray) -> np.ndarray:
        """Return the marginals of all nodes, followed by the marginals of the active edges."""
        split, n = self._split, self.n_variables
        sums = joint.sum(axis=1), joint.sum(axis=0)
        marginals = [sums[0].reshape(self._around(v, 0, split)).sum(axis=(0, 2)) for v in range(split)]
        marginals += [sums[1].reshape(self._around(v, split, n)).sum(axis=(0, 2)) for v in range(split, n)]
        return np.concatenate([*marginals, self._pair_marginals(joint, self._active.pairs)])

    def _pair_marginals(self, joint: np.ndarray, pairs: np.ndarray) -> np.ndarray:
        """Return the tables of pairs, one after another."""
        split, n = self._split, self.n_variables
        halves = joint.sum(axis=1), joint.sum(axis=0)
        shapes = tuple(self.cardinalities[:split]), tuple(self.cardinalities[split:])
        across: dict[int, np.ndarray] = {}
        marginals = [np.zeros(0)]
        for i, j in pairs.tolist():
            if i < split <= j:
                if i not in across:
                    across[i] = joint.reshape((*self._around(i, 0, split), -1)).sum(axis=(0, 2))
                rows = across[i].reshape((-1, *self._around(j, split, n)))
                marginals.append(rows.sum(axis=(1, 3)).ravel())
                continue
            side, first = (0, 0) if j < split else (1, split)
            others = tuple(k for k in range(len(shapes[side])) if k + first not in (i, j))
            marginals.append(halves[side].reshape(shapes[side]).sum(axis=others).ravel())
        return np.concatenate(marginals)

    # ---- minimisation ----

    def _descend(self, pairs, tol, max_sweeps, deadline):
        """Minimise over all parameters and ignore `pairs`. Either all variables have changed, or none."""
        n_node, active = len(self._nodes), self._active
        observed = np.concatenate([self._observed, active.tables])
        start = np.concatenate([self._nodes, self._tables])

        def value_and_gradient(x):
            joint, log_partition = self._enumerate(x[:n_node], x[n_node:])
            value = log_partition - float(x @ observed) + 0.5 * self.l2 * float(x @ x)
            return value, self._marginals(joint) - observed + self.l2 * x

        result = minimise(
            value_and_gradient,
            self._prox,
            start,
            penalty=self._group_penalty,
            residual=lambda x, gradient: float(self._distances(x, gradient).max()),
            step=self._step,
            tol=tol,
            max_iter=100_000 if max_sweeps is None else max_sweeps,
            deadline=deadline,
        )
        self._step = result.step
        self._n_evaluations += result.n_evaluations
        self._nodes, self._tables, self._joint = result.point[:n_node].copy(), result.point[n_node:].copy(), None
        return np.arange(self.n_variables) if result.n_iter else np.zeros(0, dtype=np.int64)

    def _groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the offsets of the groups of parameters, nodes first, and their penalties."""
        begins = np.concatenate([self._offsets[:-1], self._offsets[-1] + self._active.where[:-1]])
        nodes = self._lam * np.sqrt(self.cardinalities) if self._penalize_nodes else np.zeros(self.n_variables)
        return begins, np.concatenate([nodes, self._lam * self._active.weights])

    def _cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the penalty of each parameter, and which parameters may be non-zero, for feature-wise penalties."""
        _, lams = self._groups()
        nodes = len(self._nodes)
        sizes = np.diff(self._active.where)
        penalties = np.concatenate([np.zeros(nodes), np.repeat(lams[self.n_variables :], sizes)])
        return penalties, np.concatenate([np.ones(nodes, dtype=bool), self._active.masks.astype(bool)])

    def _prox(self, point: np.ndarray, step: float) -> np.ndarray:
        begins, lams = self._groups()
        if self._feature_wise:
            penalties, active = self._cells()
            point = np.where(active, np.sign(point) * np.maximum(np.abs(point) - step * penalties, 0.0), 0.0)
            lams = np.where(np.arange(len(lams)) < self.n_variables, lams, 0.0)
        norms = np.sqrt(np.add.reduceat(point**2, begins))
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(norms > step * lams, 1.0 - step * lams / norms, 0.0)
        return point * np.repeat(share, np.diff(np.append(begins, len(point))))

    def _group_penalty(self, x: np.ndarray) -> float:
        begins, lams = self._groups()
        norms = np.sqrt(np.add.reduceat(x**2, begins))
        if self._feature_wise:
            penalties, _ = self._cells()
            return float(lams[: self.n_variables] @ norms[: self.n_variables] + penalties @ np.abs(x))
        return float(lams @ norms)

    def _distances(self, x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the distance of 0 from the subdifferential in each group."""
        begins, lams = self._groups()
        if self._feature_wise:
            penalties, active = self._cells()
            shrunk = np.where(x != 0, gradient + penalties * np.sign(x), np.maximum(np.abs(gradient) - penalties, 0.0))
            gradient = np.where(active, shrunk, 0.0)
            lams = np.where(np.arange(len(lams)) < self.n_variables, lams, 0.0)
        norms = np.sqrt(np.add.reduceat(x**2, begins))
        sizes = np.diff(np.append(begins, len(x)))
        pull = np.divide(lams, norms, out=np.zeros_like(norms), where=norms > 0)
        inside = np.sqrt(np.add.reduceat((gradient + np.repeat(pull, sizes) * x) ** 2, begins))
        return np.where(norms > 0, inside, np.maximum(inside - lams, 0.0))

    def loss(self) -> float:
        """Return the negative log-likelihood, in nats per row."""
        observed = self._observed @ self._nodes + self._active.tables @ self._tables
        return self._distribution()[1] - float(observed)

    def kkt_residual(self) -> float:
        """Return the largest distance of 0 from the subdifferential over nodes and active edges."""
        joint, _ = self._distribution()
        x = np.concatenate([self._nodes, self._tables])
        gradient = self._marginals(joint) - np.concatenate([self._observed, self._active.tables]) + self.l2 * x
        return float(self._distances(x, gradient).max())


def _halfway(cardinalities: np.ndarray) -> int:
    """Return the split of the variables into two halves that minimises the larger of their tables."""
    logs = np.cumsum(np.log(cardinalities))
    return int(np.argmin(np.maximum(logs, logs[-1] - logs))) + 1


@dataclass(frozen=True, eq=False)
class ProximalResult:
    """Result of a minimisation: the point, its objective, its distance from optimality, and the effort.

    `step` is the last step, a first step for the next similar problem. `n_iter` is the number of accepted points,
    `n_evaluations` the number of calls of the smooth function.
    """

    point: np.ndarray
    objective: float
    residual: float
    step: float
    n_iter: int
    n_evaluations: int
    converged: bool


def minimise(
    value_and_gradient: Callable[[np.ndarray], tuple[float, np.ndarray]],
    prox: Callable[[np.ndarray, float], np.ndarray],
    start: np.ndarray,
    *,
    penalty: Callable[[np.ndarray], float],
    residual: Callable[[np.ndarray, np.ndarray], float],
    step: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 10000,
    deadline: float = inf,
) -> ProximalResult:
    """Minimise f(x) + P(x) for a smooth f and a penalty P by steps prox_tP(y - t grad f(y)) from extrapolated points y.

    `prox(point, t)` is arg min P(x) + |x - point|² / 2t; `residual(x, gradient)` is the distance from optimality, at
    most `tol` at the end. The objective never increases. References: Beck and Teboulle (2009), a fast iterative
    shrinkage-thresholding algorithm, with backtracking; O'Donoghue and Candès (2015), adaptive restart, section 3.2.
    """
    x = np.array(start, dtype=np.float64)
    value, gradient = value_and_gradient(x)
    if not np.isfinite(value):
        raise ValueError(f"the function is {value} at the start: start at a point with a finite value")
    evaluations, iteration, steepness, momentum = 1, 0, 1.0 / step, 1.0
    objective, distance = value + penalty(x), residual(x, gradient)
    y, value_y, gradient_y = x, value, gradient
    while distance > tol and iteration < max_iter and steepness < STEEPEST and not is_past(deadline):
        steepness *= DECAY
        new, value_new, gradient_new, steepness, used = _step(
            value_and_gradient, prox, y, value_y, gradient_y, steepness
        )
        evaluations += used
        objective_new = value_new + penalty(new)
        rounding = 1e-14 * (1.0 + abs(objective))
        if objective_new > objective + rounding:
            if y is x:  # a plain step that does not decrease: only rounding errors remain
                break
            y, value_y, gradient_y, momentum = x, value, gradient, 1.0
            continue
        uphill = float((y - new) @ (new - x)) > 0
        following = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum * momentum))
        share = 0.0 if uphill else (momentum - 1.0) / following
        momentum = 1.0 if uphill else following
        y = new + share * (new - x) if share else new
        x, value, gradient, objective = new, value_new, gradient_new, min(objective, objective_new)
        iteration += 1
        distance = residual(x, gradient)
        if y is x:
            value_y, gradient_y = value, gradient
        elif distance > tol:
            value_y, gradient_y = value_and_gradient(y)
            evaluations += 1
    return ProximalResult(x, objective, distance, 1.0 / steepness, iteration, evaluations, bool(distance <= tol))


def _step(value_and_gradient, prox, y, value_y, gradient_y, steepness: float):
    """Return the proximal step from y, its value, gradient and reciprocal step, and the number of calls."""
    used = 0
    while True:
        new = prox(y - gradient_y / steepness, 1.0 / steepness)
        value_new, gradient_new = value_and_gradient(new)
        used += 1
        moved = new - y
        bound = value_y + float(gradient_y @ moved) + 0.5 * steepness * float(moved @ moved)
        # If differences of the function are lost in rounding errors, gradients still show the curvature.
        rounding = 1e-13 * (1.0 + abs(value_y))
        steep = float((gradient_new - gradient_y) @ moved) > steepness * float(moved @ moved)
        if value_new <= bound or (value_new <= bound + rounding and not steep) or steepness >= STEEPEST:
            return new, value_new, gradient_new, steepness, used
        steepness *= GROWTH

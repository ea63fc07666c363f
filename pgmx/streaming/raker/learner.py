"""The base of Raker and AdaRaker: the state, its start, and the compiled pass over rows."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from pgmx._ext import _raker
from pgmx.streaming.base import Interval, StreamLearner
from pgmx.streaming.losses import LOSSES, check_step
from pgmx.streaming.raker.features import draw_frequencies, list_kernels, pad_to

#: Rows of frequencies and of coefficients are padded to these multiples for the vector kernels.
TILE, LANES = 16, 8


class RakerLearner(StreamLearner):
    """Base of the four learners: coefficients (outputs, experts, kernels, 2 D padded) of random features."""

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kernels": [str, "array-like"],
        "variances": [Interval(Real, 0, None, closed="neither"), "array-like"],
        "orthogonal": ["boolean"],
        "step": [Interval(Real, 0, None, closed="neither")],
        "weight_step": [Interval(Real, 0, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }
    _state_names = ("_frequencies", "_coefficients", "_kernel_logs", "_expert_logs", "_losses", "_figures", "_flags")
    #: Number of stored change flags.
    _n_flags = 0
    #: The expert whose losses are monitored for changes.
    _monitored = 0
    _is_adaptive = False

    n_components: int
    kernels: str | Sequence[str]
    variances: float | Sequence[float]
    orthogonal: bool
    step: float | None
    weight_step: float
    penalty: float
    random_state: Any
    loss: str = "square"
    coverage: float | None = None
    restart: bool = False

    @property
    def kernels_(self) -> tuple[tuple[str, float], ...]:
        """Kernels as pairs of a name and a variance."""
        check_is_fitted(self)
        self._check_options()
        return list_kernels(self.kernels, self.variances)

    @property
    def frequencies_(self) -> np.ndarray:
        """Frequencies, by [kernel, component, feature]."""
        check_is_fitted(self)
        self._check_options()
        n = self._coefficients.shape[2] * self.n_components
        return self._frequencies[:, :n].T.reshape(-1, self.n_components, self.n_features_in_).copy()

    @property
    def kernel_weights_(self) -> np.ndarray:
        """Weights of the kernels [output, interval learner, kernel], with sum 1."""
        check_is_fitted(self)
        weights = np.exp(self._kernel_logs[:, : self._count_experts()])
        return weights / weights.sum(axis=2, keepdims=True)

    # ---- hooks ----

    def _check_state(self, arrays: dict[str, np.ndarray]) -> None:
        super()._check_state(arrays)
        for name, array in arrays.items():
            if not np.isfinite(array).all():
                raise ValueError(f"its array {name!r} holds infinite values")
        flags = arrays["_flags"]
        if (flags < 0).any() or (flags[1:] >= max(self.n_seen_, 1)).any() or flags[0] > self.n_seen_:
            raise ValueError(f"its flags of changes are not between 0 and its {self.n_seen_:,} learned rows")

    def _list_steps(self) -> np.ndarray:
        """Return the step sizes of the experts."""
        return np.array([LOSSES[self.loss].get_full_step(self.penalty) if self.step is None else float(self.step)])

    def _list_rates(self) -> np.ndarray:
        """Return the step sizes of the experts' weights."""
        return self._list_steps()

    def _list_start_logs(self) -> np.ndarray:
        """Return the log weights of new experts."""
        return np.log(self._list_steps())

    def _count_experts(self) -> int:
        """Return the number of experts that predict the next row."""
        return 1

    def _count_numbers(self, n_features: int) -> int:
        n_kernels = len(list_kernels(self.kernels, self.variances))
        coefficients = 2 * self.n_components * self._n_functions * len(self._list_steps())
        return n_kernels * (self.n_components * n_features + coefficients)

    def _start(self, n_features: int) -> None:
        steps = self._list_steps()
        check_step(float(steps[0]), self.loss, self.penalty)
        pairs = list_kernels(self.kernels, self.variances)
        rng = check_random_state(self.random_state)
        drawn = draw_frequencies(pairs, n_features, self.n_components, self.orthogonal, rng)
        n, n_outputs = len(pairs) * self.n_components, self._n_functions
        self._frequencies = np.zeros((n_features, pad_to(n, TILE)))
        self._frequencies[:, :n] = drawn.reshape(n, n_features).T
        self._coefficients = np.zeros((n_outputs, len(steps), len(pairs), pad_to(2 * self.n_components, LANES)))
        self._kernel_logs = np.zeros((n_outputs, len(steps), len(pairs)))
        self._expert_logs = np.tile(self._list_start_logs(), (n_outputs, 1))
        self._losses = np.full((n_outputs, len(steps)), -1.0)
        self._figures = np.zeros(_raker.N_FIGURES)
        self._figures[_raker.MEAN_ERROR] = -1.0
        self._flags = np.zeros(1 + self._n_flags, dtype=np.int64)

    @property
    def _n_functions(self) -> int:
        """Number of learned functions, the columns of the encoded targets."""
        return self._n_outputs

    def _list_numbers(self, targets: np.ndarray) -> np.ndarray:
        """Return the encoded targets of the functions, (m, `_n_functions`)."""
        return targets[:, None]

    def _update(self, rows: Any, targets: np.ndarray, predictions: np.ndarray | None) -> None:
        _raker.update(
            rows,
            self._list_numbers(targets),
            self._frequencies,
            self._list_steps(),
            self._list_rates(),
            self._list_start_logs(),
            self._coefficients,
            self._kernel_logs,
            self._expert_logs,
            self._losses,
            self._figures,
            self._flags,
            np.empty((0, 1)) if predictions is None else predictions,
            n_components=self.n_components,
            loss=LOSSES[self.loss].code,
            weight_step=self.weight_step,
            penalty=self.penalty,
            adaptive=self._is_adaptive,
            restart=self.restart,
            coverage=self.coverage or 0.0,
            monitored=self._monitored,
            n_seen=self.n_seen_,
        )

    def _predict(self, rows: Any) -> np.ndarray:
        outputs = np.empty((len(rows), self._n_outputs))
        _raker.predict(
            rows,
            self._frequencies,
            self._coefficients,
            self._kernel_logs,
            self._expert_logs,
            self._figures,
            outputs,
            n_components=self.n_components,
            n_seen=self.n_seen_,
        )
        return outputs

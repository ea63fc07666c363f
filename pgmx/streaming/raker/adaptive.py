"""What makes Raker adaptive: experts of different step sizes, renewed at starts of intervals, and signs of changes."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pgmx.streaming.losses import LOSSES
from pgmx.streaming.raker.learner import RakerLearner

#: Experts at most: their intervals are 2^0 to 2^31 rows long.
MOST_EXPERTS = 32
#: The default step of classifiers in full steps, chosen on streams of eye states and signs of `drifting_stream`.
#: Intervals of up to 256 rows take full steps by it.
FULL_STEPS = 16.0


class Drift(NamedTuple):
    """How fast a stream changes, as an AdaRaker learner sees it.

    Attributes
    ----------
    interval : int
        Rows 2^j of the interval learner that leads: the one of least loss over the last 100 rows or so, on the average
        over the outputs. Long intervals with their small steps lead where nothing changes.
    step : float
        Its step size.
    n_flags : int
        Changes that were flagged.
    flags : ndarray of int64
        Rows, counted from 0, after which the last 64 changes at most were flagged, in ascending order.
    """

    interval: int
    step: float
    n_flags: int
    flags: np.ndarray


class AdaptiveLearner(RakerLearner):
    """Experts of the step sizes min(m, step 2^(-j/2)) for intervals of 2^j rows, with the full step m of the loss."""

    _parameter_constraints: dict[str, Any] = {**RakerLearner._parameter_constraints, "restart": ["boolean"]}
    _n_flags = 64
    _monitored = 6  # intervals of 64 rows: slow enough that a change shows, fast enough that it is soon over
    _is_adaptive = True

    @property
    def expert_weights_(self) -> np.ndarray:
        """Weights of the interval learners, which add up to 1, by [output, interval learner]."""
        check_is_fitted(self)
        logs = self._expert_logs[:, : self._count_experts()]
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    @property
    def drift_(self) -> Drift:
        """The interval learner that leads, and the rows where changes were flagged."""
        check_is_fitted(self)
        losses = self._losses.mean(axis=0)
        leader = int(np.where(losses < 0.0, np.inf, losses).argmin())
        n, room = int(self._flags[0]), self._n_flags
        places = np.arange(max(0, n - room), n) % room
        return Drift(2**leader, float(self._list_steps()[leader]), n, self._flags[1:][places])

    def _list_steps(self) -> np.ndarray:
        most = LOSSES[self.loss].get_full_step(self.penalty)
        first = FULL_STEPS * most if self.step is None else self.step
        return np.minimum(most, first * 2.0 ** (-0.5 * np.arange(MOST_EXPERTS)))

    def _list_rates(self) -> np.ndarray:
        return self._list_steps() if self.restart else np.full(MOST_EXPERTS, float(self.weight_step))

    def _list_start_logs(self) -> np.ndarray:
        # steps of long intervals are small: as weights they would hold these back where nothing changes
        return (1.0 if self.restart else 0.5) * np.log(self._list_steps())

    def _count_experts(self) -> int:
        return min(MOST_EXPERTS, (self.n_seen_ + 1).bit_length())

"""The base of AdaRaker: experts with different step sizes, weights reset at starts of intervals, and change flags."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pgmx.streaming.losses import LOSSES
from pgmx.streaming.raker.learner import RakerLearner

#: Maximum number of experts: their intervals are 2^0 to 2^31 rows long.
MOST_EXPERTS = 32
#: The default step of classifiers in full steps, chosen on streams of eye states and signs of `drifting_stream`.
#: Intervals of up to 256 rows then use full steps.
FULL_STEPS = 16.0


class Drift(NamedTuple):
    """Estimate of how fast a stream changes, by an AdaRaker learner.

    Attributes
    ----------
    interval : int
        Length 2^j, in rows, of the leading interval learner. It has the smallest loss over about the last 100 rows,
        averaged over the outputs. On stationary streams, long intervals with small steps lead.
    step : float
        Its step size.
    n_flags : int
        Number of flagged changes.
    flags : ndarray of int64
        Rows, counted from 0, after which changes were flagged (at most the last 64), in ascending order.
    """

    interval: int
    step: float
    n_flags: int
    flags: np.ndarray


class AdaptiveLearner(RakerLearner):
    """Experts with step sizes min(m, step 2^(-j/2)) for intervals of 2^j rows, with the full step m of the loss."""

    _parameter_constraints: dict[str, Any] = {**RakerLearner._parameter_constraints, "restart": ["boolean"]}
    _n_flags = 64
    _monitored = 6  # intervals of 64 rows: long enough to show a change, short enough to recover soon
    _is_adaptive = True

    @property
    def expert_weights_(self) -> np.ndarray:
        """Weights of the interval learners [output, interval learner], with sum 1."""
        check_is_fitted(self)
        logs = self._expert_logs[:, : self._count_experts()]
        weights = np.exp(logs - logs.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)

    @property
    def drift_(self) -> Drift:
        """The leading interval learner, and the rows of flagged changes."""
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
        # steps of long intervals are small; as weights they would slow these intervals down on stationary streams
        return (1.0 if self.restart else 0.5) * np.log(self._list_steps())

    def _count_experts(self) -> int:
        return min(MOST_EXPERTS, (self.n_seen_ + 1).bit_length())

"""Losses of the learners by random features: their curvature, and the step sizes that go with it."""

from typing import NamedTuple


class Loss(NamedTuple):
    """A loss c(f, y) of an output f = theta'z whose features z have length 1."""

    code: int  # in the kernels
    curvature: float  # at most
    assumed: float  # the curvature that full steps suppose: the hinge has a corner instead of one

    def get_full_step(self, penalty: float = 0.0) -> float:
        """Return the gradient step on c + penalty |theta|^2 that ends at its optimum, were the curvature everywhere so.

        Of the hinge loss a row takes f from one margin to the other.
        """
        return 1.0 / (self.assumed + 2.0 * penalty)


LOSSES = {"square": Loss(0, 2.0, 2.0), "logistic": Loss(1, 0.25, 0.25), "hinge": Loss(2, 0.0, 0.5)}


def check_step(step: float, loss: str, penalty: float = 0.0) -> None:
    """Raise for a step size by which coefficients diverge: twice the full step or more."""
    curvature = LOSSES[loss].curvature + 2.0 * penalty
    if step * curvature >= 2.0:
        raise ValueError(
            f"step={step!r} diverges under the {loss} loss with penalty={penalty!r}: give a step below "
            f"{2.0 / curvature:g}"
        )

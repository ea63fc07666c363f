"""Losses of the random-feature learners: their curvature, and the corresponding step sizes."""

from typing import NamedTuple


class Loss(NamedTuple):
    """A loss c(f, y) of an output f = theta'z with features z of length 1."""

    code: int  # in the kernels
    curvature: float  # maximum
    assumed: float  # the curvature for full steps; the hinge loss has a corner instead of a curvature

    def get_full_step(self, penalty: float = 0.0) -> float:
        """Return the gradient step on c + penalty |theta|^2 that reaches its optimum if the curvature is constant.

        For the hinge loss, a row moves f from one margin to the other.
        """
        return 1.0 / (self.assumed + 2.0 * penalty)


LOSSES = {"square": Loss(0, 2.0, 2.0), "logistic": Loss(1, 0.25, 0.25), "hinge": Loss(2, 0.0, 0.5)}


def check_step(step: float, loss: str, penalty: float = 0.0, name: str = "step") -> None:
    """Raise ValueError for a step size with diverging coefficients: twice the full step or more."""
    curvature = LOSSES[loss].curvature + 2.0 * penalty
    # gradient descent on a quadratic of this curvature contracts only below 2 / curvature
    if step * curvature >= 2.0:
        raise ValueError(
            f"{name}={step!r} diverges with the {loss} loss and penalty={penalty!r}: give a step below "
            f"{2.0 / curvature:g}"
        )

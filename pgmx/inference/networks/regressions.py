"""A linear Gaussian Bayesian network as arrays: a regression for each variable."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, pi
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from pgmpy.models import LinearGaussianBayesianNetwork


class Regression(NamedTuple):
    """A linear Gaussian variable given its parents, by position: intercept and slopes, and standard deviation."""

    variable: int
    parents: list[int]
    beta: np.ndarray
    std: float

    def log_density(self, columns: Sequence[np.ndarray], rows: slice) -> np.ndarray:
        """Return the log-density of some rows."""
        residual = columns[self.variable][rows] - self.beta[0]
        for parent, slope in zip(self.parents, self.beta[1:], strict=True):
            residual = residual - slope * columns[parent][rows]
        return -0.5 * (log(2.0 * pi) + (residual / self.std) ** 2) - log(self.std)


def read_regressions(model: LinearGaussianBayesianNetwork, names: list) -> list[Regression]:
    """Return the parameters of all variables; raise if one has no parameters or no positive standard deviation."""
    place = {name: v for v, name in enumerate(names)}
    regressions = []
    for v, name in enumerate(names):
        cpd: Any = model.get_cpds(name)
        if cpd is None:
            raise ValueError(f"node {name!r} has no parameters: fit the model or add its CPD")
        if not float(cpd.std) > 0.0:
            raise ValueError(f"the standard deviation of {name!r} is {cpd.std}: a density needs a positive one")
        parents = [place[parent] for parent in cpd.evidence]
        regressions.append(Regression(v, parents, np.asarray(cpd.beta, dtype=np.float64), float(cpd.std)))
    return regressions


def join_regressions(regressions: Sequence[Regression]) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean (p,) and the precision (p, p) of all variables together, in order."""
    equations, intercepts = np.eye(len(regressions)), np.empty(len(regressions))
    for v, parents, beta, _ in regressions:
        equations[v, parents], intercepts[v] = -beta[1:], beta[0]
    scaled = equations / np.array([regression.std for regression in regressions])[:, None]
    return np.linalg.solve(equations, intercepts), scaled.T @ scaled

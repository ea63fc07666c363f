"""Distributions of all values of a short series under a dynamic network: by enumeration, and by one linear system.

Variables are numbered: the static columns first, then the variables of row 0, of row 1 and so on.
"""

from itertools import product
from typing import Any

import numpy as np


def list_cpds(model: Any, n_rows: int) -> list[tuple[int, list[int], Any]]:
    """Return the number of each variable of the series, the numbers of its parents, and its CPD."""
    n, n_static, lags = len(model.names), len(model.static_columns), model.lags
    first = model.transition if model.prior is None else model.prior
    numbers = {name: v for v, name in enumerate(model.static_columns)}
    found = []
    for name in model.static_columns:
        cpd = first.get_cpds(name)
        found.append((numbers[name], [numbers[p] for p in list_parents(cpd)], cpd))
    for t in range(n_rows):
        network, present = (first, lags) if t < lags else (model.transition, t)
        # the prior network calls row 0 lag L
        place = numbers | {
            f"{name}@t-{lag}": n_static + (present - lag) * n + v
            for v, name in enumerate(model.names)
            for lag in range(lags + 1)
            if present - lag >= 0
        }
        for name in model.names:
            label = f"{name}@t-{present - t}"
            cpd = network.get_cpds(label)
            found.append((place[label], [place[p] for p in list_parents(cpd)], cpd))
    return found


def list_parents(cpd: Any) -> list:
    """Return the parents in the order of the CPD's axes or coefficients."""
    if hasattr(cpd, "variables"):
        return list(cpd.variables[1:])
    return list(cpd.evidence) if hasattr(cpd, "evidence") else [*cpd.discrete_parents, *cpd.continuous_parents]


def enumerate_series(model: Any, n_rows: int) -> np.ndarray:
    """Return the joint distribution of all values of a series of a discrete network, (*states)."""
    cpds = list_cpds(model, n_rows)
    cards = {number: cpd.values.shape[0] for number, _, cpd in cpds}
    joint = np.empty([cards[number] for number in range(len(cards))])
    for states in product(*map(range, joint.shape)):
        factors = [cpd.values[(states[number], *(states[p] for p in parents))] for number, parents, cpd in cpds]
        joint[states] = np.prod(factors)
    return joint


def solve_series(model: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of all values of a series of a linear Gaussian network."""
    cpds = list_cpds(model, n_rows)
    size = len(cpds)
    slopes, constants, deviations = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    for number, parents, cpd in cpds:
        constants[number], deviations[number] = cpd.beta[0], cpd.std
        slopes[number, parents] = cpd.beta[1:]
    root = np.linalg.inv(np.eye(size) - slopes)
    return root @ constants, root @ np.diag(deviations**2) @ root.T


def condition_joint(joint: np.ndarray, known: dict[int, int]) -> tuple[np.ndarray, float]:
    """Return the joint distribution given some values, with axes of length one for them, and their probability."""
    part = joint[tuple(slice(known[v], known[v] + 1) if v in known else slice(None) for v in range(joint.ndim))]
    return part / part.sum(), float(part.sum())


def condition_normal(
    mean: np.ndarray, covariance: np.ndarray, known: dict[int, float]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return means and variances of all values given some, and the log-density of these."""
    places, values = list(known), np.array(list(known.values()))
    inverse = np.linalg.inv(covariance[np.ix_(places, places)])
    errors = values - mean[places]
    gain = covariance[:, places] @ inverse
    _, log_det = np.linalg.slogdet(covariance[np.ix_(places, places)])
    log_density = -0.5 * (errors @ inverse @ errors + log_det + len(places) * np.log(2 * np.pi))
    return mean + gain @ errors, np.diag(covariance - gain @ covariance[:, places].T), float(log_density)

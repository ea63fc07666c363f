"""gglasso: ADMM of a single graphical lasso; a path starts where the last penalty ended.

Tolerance 1e-7 (its default) and relative tolerance 1e-5: with 1e-5 for both it ends at a relative gap above 1e-3.
"""

import numpy as np
from gglasso.solver.single_admm_solver import ADMM_SGL


def glasso(problem, lams):
    start = {"Omega_0": np.eye(problem.p)}
    found = []
    for lam in lams:
        solution, _ = ADMM_SGL(problem.covariance, lam, **start, tol=1e-7, rtol=1e-5, max_iter=5000)
        start = {"Omega_0": solution["Omega"], "Theta_0": solution["Theta"], "X_0": solution["X"]}
        found.append(solution)
    return found


METHODS = {"glasso": {"gglasso": glasso}}


def answers(task, raw):
    return [(solution["Theta"], None) for solution in raw]  # it returns no covariance

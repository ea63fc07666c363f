"""scikit-learn: graphical_lasso, and one lasso path a column on the Gram matrix of the others.

Tolerances are the defaults (1e-4). With them the inner lassos of graphical_lasso are often too coarse for its own stop,
and all 100 sweeps are made; "tuned" are those with which it ends soonest near a relative gap of 1e-6. For the lasso
paths "tight" is 1e-8.
"""

from functools import partial

import numpy as np
from sklearn.covariance import graphical_lasso
from sklearn.covariance._graph_lasso import graphical_lasso_path  # what its GraphicalLassoCV calls
from sklearn.linear_model import lasso_path


def glasso(problem, lams, **tolerances):
    if len(lams) == 1:
        covariance, precision, n_iter = graphical_lasso(problem.covariance, lams[0], return_n_iter=True, **tolerances)
        return [(precision, covariance)], n_iter
    # The path takes rows, whose covariance it forms: a small share of its time.
    covariances, precisions = graphical_lasso_path(problem.rows, lams, **tolerances)
    return list(zip(precisions, covariances, strict=True)), None


def neighborhood(problem, lams, tol=1e-4):
    p, gram = problem.p, problem.n * problem.covariance
    found = np.zeros((len(lams), p, p))
    for j in range(p):
        others = np.delete(np.arange(p), j)
        _, coefficients, _ = lasso_path(
            problem.rows[:, others],
            problem.rows[:, j],
            alphas=lams,
            precompute=gram[np.ix_(others, others)],
            Xy=gram[others, j],
            tol=tol,
        )
        found[:, others, j] = coefficients.T
    return [(matrix, None) for matrix in found], None


METHODS = {
    "glasso": {"scikit-learn": glasso, "scikit-learn tuned": partial(glasso, tol=1e-3, enet_tol=1e-6)},
    "neighborhood": {
        "scikit-learn": neighborhood,
        "scikit-learn tight": partial(neighborhood, tol=1e-8),
    },
}


def answers(task, raw):
    return raw[0]


def facts(task, raw):
    return {"iterations": raw[1]}  # 100 are the most

"""pgmx: the learners from a covariance or from rows, and the solver of CLIME's columns for some of them."""

from functools import partial

import numpy as np

from pgmx.estimators import CLIME, GraphicalLasso, NeighborhoodLasso

KNOWN = {"covariance": "precomputed", "show_progress": False}


def fitted(learner, data, lams):
    """Return what a user gets: a learner that has its matrices, or a path."""
    if len(lams) > 1:
        return learner.path(data, lams=lams)
    learner.set_params(lam=lams[0]).fit(data)
    if isinstance(learner, NeighborhoodLasso):
        learner.coefficients_  # noqa: B018  made when asked for
    elif isinstance(learner, CLIME):
        learner.precision_raw_  # noqa: B018
    else:
        learner.precision_  # noqa: B018
    return learner


def glasso(problem, lams):
    return fitted(GraphicalLasso(**KNOWN), problem.covariance, lams)


def glasso_of_rows(problem, lams):
    return fitted(GraphicalLasso(show_progress=False), problem.rows, lams)


def clime(problem, lams, solver):
    if problem.columns is None:
        return fitted(CLIME(solver=solver, ridge=problem.ridge, **KNOWN), problem.covariance, lams)
    return columns(problem, lams, solver)


def columns(problem, lams, solver):
    """Some columns alone, or all of them without the other work of the learner."""
    from pgmx.solvers.gaussian.clime import clime_columns

    solved = np.ascontiguousarray(problem.solved, dtype=np.int64)
    return clime_columns(problem.covariance, solved, np.array(lams), ridge=problem.ridge, solver=solver)


def neighborhood(problem, lams):
    return fitted(NeighborhoodLasso(**KNOWN), problem.covariance, lams)


METHODS = {
    "glasso": {"pgmx": glasso, "pgmx from rows": glasso_of_rows},
    "clime": {
        **{f"pgmx {solver}": partial(clime, solver=solver) for solver in ("auto", "homotopy", "admm")},
        "pgmx auto, columns alone": partial(columns, solver="auto"),
    },
    "neighborhood": {"pgmx": neighborhood},
}


def answers(task, raw):
    """Paths and columns are on the scale of correlations, which is the data's: they are standardised."""
    if hasattr(raw, "coefficients"):
        return [(matrix.toarray(), None) for matrix in raw.coefficients]
    if hasattr(raw, "estimates"):
        kept = [found.precision if task == "glasso" else found.raw for found in raw.estimates]
        return [(matrix.toarray(), None) for matrix in kept]
    if task == "glasso":
        return [(raw.precision_, raw.covariance_)]
    return [(raw.precision_raw_ if task == "clime" else raw.coefficients_, None)]


def facts(task, raw):
    """Return what the learner says of itself: the largest relative gap, the most iterations, whether all converged."""
    if hasattr(raw, "coefficients"):
        return {"converged": bool(raw.converged.all()), "iterations": int(raw.n_iter.max())}
    if hasattr(raw, "estimates"):
        gaps = [found.dual_gap / max(1.0, abs(found.objective)) for found in raw.estimates]
        ended = all(found.converged for found in raw.estimates)
        return {"own_gap": max(gaps), "converged": ended, "iterations": max(found.n_iter for found in raw.estimates)}
    gap = raw.dual_gap_ / max(1.0, abs(raw.objective_))
    return {"own_gap": gap, "converged": raw.converged_, "iterations": raw.n_iter_, "lam_max": raw.lam_max_}

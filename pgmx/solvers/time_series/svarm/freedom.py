"""Degrees of freedom of solutions of the group lasso."""

import numpy as np

from pgmx.solvers.time_series.svarm.problem import GroupLassoProblem


def count_freedom(problem: GroupLassoProblem, coefficients: np.ndarray, lam: float) -> np.ndarray:
    r"""Return the degrees of freedom of each target, (N,), as the divergence of its fit.

    tr((G + λP)⁻¹ G) over the columns of the blocks in use, with P = (I − ww'/‖w‖²) / ‖w‖ for each block. If all blocks
    are single columns, this is the number of coefficients. Vaiter et al. (2012), "The degrees of freedom of the group
    lasso".
    """
    norms = problem.measure_blocks(coefficients)
    freedom = np.zeros(len(coefficients))
    for target in range(len(coefficients)):
        blocks = np.flatnonzero(norms[target])
        if not len(blocks):
            continue
        places = problem.expand_blocks(blocks)
        columns = problem.columns[:, places]
        gram = columns.T @ columns
        curved = gram.copy()
        begin = 0
        for b in blocks:
            w = coefficients[target, problem.starts[b] : problem.starts[b + 1]]
            end = begin + len(w)
            length = norms[target, b]
            curved[begin:end, begin:end] += (lam / length) * (np.eye(len(w)) - np.outer(w, w) / length**2)
            begin = end
        freedom[target] = np.trace(np.linalg.lstsq(curved, gram, rcond=None)[0])
    return freedom

"""Parents of all nodes from those of some: a node that feeds a seed has the parents of two steps of that seed."""

import numpy as np
from scipy.sparse import csr_array, vstack

from pgmx.solvers.time_series.lagged_lasso import keep_largest


def share_parents(one_step: csr_array, two_steps: csr_array, seeds: np.ndarray, n: int, lags: int, k: int) -> csr_array:
    r"""Return the scores (n, L n) of the parents of all nodes, at most k of each, by algorithm 4 of the source.

    .. math:: E_{(j), (u, l')} = \sum_{i \in S: (j, l) \in N_i} |B_{i, (u, l + l')}| / \|B_i\|_1

    Seeds keep the sizes of `one_step` (s, L n), their parents N. `two_steps` (s, (2 L - 1) n) holds B, lags 2 to 2 L.
    """
    one_step, two_steps = keep_largest(one_step, k, {}), abs(csr_array(two_steps))
    sums = np.asarray(two_steps.sum(axis=1)).ravel()
    two_steps.data /= np.repeat(np.where(sums > 0, sums, 1.0), np.diff(two_steps.indptr))
    evidence = csr_array((n, lags * n))
    links = csr_array((np.ones(len(one_step.data)), one_step.indices, one_step.indptr), shape=one_step.shape)
    for lag in range(1, lags + 1):
        # columns of lags 1, ..., L of a parent at this lag are those of the lags behind it
        behind = two_steps[:, (lag - 1) * n : (lag - 1 + lags) * n]
        evidence = evidence + links[:, (lag - 1) * n : lag * n].T @ behind
    evidence = csr_array(evidence)
    is_seed = np.zeros(n, dtype=bool)
    is_seed[seeds] = True
    evidence.data[is_seed[np.repeat(np.arange(n), np.diff(evidence.indptr))]] = 0.0
    evidence.eliminate_zeros()
    evidence.sort_indices()
    others = keep_largest(evidence, k, {})
    # rows of the seeds, which come behind the others, replace theirs
    order = np.arange(n)
    order[seeds] = n + np.arange(len(seeds))
    return csr_array(vstack([others, abs(one_step)], format="csr")[order])

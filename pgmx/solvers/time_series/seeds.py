"""Parents of all nodes of a linear dynamical system from those of a few nodes, the seeds, over one and two steps."""

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_array, vstack

from pgmx.solvers.time_series.lagged_lasso import keep_largest


def share_parents(
    one_step: csr_array,
    two_steps: csr_array,
    seeds: np.ndarray,
    n: int,
    lags: int,
    k: int,
    forbidden: Mapping[int, np.ndarray] | None = None,
) -> csr_array:
    r"""Return the scores (n, L n) of the parents of all nodes, at most k per node, by algorithm 4 of the thesis.

    .. math:: E_{(j), (u, l')} = \sum_{i \in S: (j, l) \in N_i} |B_{i, (u, l + l')}| / \|B_i\|_1

    Seeds keep |`one_step`| (s, L n). B is `two_steps` (s, (2 L - 1) n), lags 2 to 2 L. Forbidden parents have no score.
    """
    one_step, two_steps = keep_largest(one_step, k, {}), abs(csr_array(two_steps))
    sums = np.asarray(two_steps.sum(axis=1)).ravel()
    two_steps.data /= np.repeat(np.where(sums > 0, sums, 1.0), np.diff(two_steps.indptr))
    evidence = csr_array((n, lags * n))
    links = csr_array((np.ones(len(one_step.data)), one_step.indices, one_step.indptr), shape=one_step.shape)
    for lag in range(1, lags + 1):
        # lags 1, ..., L of a parent at this lag are the columns of the next lags
        behind = two_steps[:, (lag - 1) * n : (lag - 1 + lags) * n]
        evidence = evidence + links[:, (lag - 1) * n : lag * n].T @ behind
    evidence = csr_array(evidence)
    is_seed = np.zeros(n, dtype=bool)
    is_seed[seeds] = True
    evidence.data[is_seed[np.repeat(np.arange(n), np.diff(evidence.indptr))]] = 0.0
    for target, predictors in (forbidden or {}).items():
        part = slice(evidence.indptr[target], evidence.indptr[target + 1])
        evidence.data[part][np.isin(evidence.indices[part], predictors)] = 0.0
    evidence.eliminate_zeros()
    evidence.sort_indices()
    others = keep_largest(evidence, k, {})
    # rows of the seeds are last and replace earlier rows
    order = np.arange(n)
    order[seeds] = n + np.arange(len(seeds))
    return csr_array(vstack([others, abs(one_step)], format="csr")[order])


def add_required(scores: csr_array, required: Mapping[int, np.ndarray]) -> csr_array:
    """Return the scores with 1 for required predictors, if there are any."""
    if not required:
        return scores
    rows = np.repeat(list(required), [len(predictors) for predictors in required.values()])
    columns = np.concatenate(list(required.values()))
    added = csr_array((np.ones(len(rows)), (rows, columns)), shape=scores.shape)
    return csr_array(scores.maximum(added))

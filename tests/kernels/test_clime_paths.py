"""The kernel of exact CLIME paths: hand-solved cases, chunks of work, and every way a column can end."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from oracles.clime import dual_value, excess, shifted
from pgmx._ext._clime import STATUSES, Paths

EVERYTHING = float("inf")


def random_correlation(rng, p, n):
    rows = rng.standard_normal((n, p))
    R = np.corrcoef(rows, rowvar=False)
    R = (R + R.T) / 2
    np.fill_diagonal(R, 1.0)
    R.flags.writeable = False
    return R


def paths_of(R, lams, *, ridge=0.0, allowance=EVERYTHING, most=10_000, columns=None):
    columns = np.arange(len(R)) if columns is None else np.asarray(columns)
    return Paths(R, columns, np.array(lams), ridge, allowance, most)


def dense(paths, p):
    """Return the solutions, shape (columns, radii, p), zero where there are none."""
    index, values = paths.pop_entries()
    found = np.zeros((*paths.counts.shape, p))
    ends = np.cumsum(paths.counts.ravel()).reshape(paths.counts.shape)
    for place, end in np.ndenumerate(ends):
        mine = slice(end - paths.counts[place], end)
        found[place][index[mine]] = values[mine]
    return found


def test_two_variables_by_hand():
    # one variable while (1 - lam)/2 <= lam, then S q = e - lam sign(y)
    R = np.array([[1.0, 0.5], [0.5, 1.0]])
    paths = paths_of(R, [1.5, 1.0, 0.5, 0.1, 0.0])
    assert paths.advance(EVERYTHING)
    expected = [[0, 0], [0, 0], [0.5, 0], *(np.linalg.solve(R, [1 - lam, lam]) for lam in (0.1, 0.0))]
    expected[3] = np.linalg.solve(R, [0.9, 0.1])
    np.testing.assert_allclose(dense(paths, 2)[0], expected, atol=1e-11)  # bounds are widened by up to 1e-12
    assert [STATUSES[status] for status in paths.statuses] == ["done", "done"]


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_certificates_are_those_of_the_solutions(rng, ridge):
    R = random_correlation(rng, 30, 60)
    lams = [0.6, 0.3, 0.15, 0.05]
    paths = paths_of(R, lams, ridge=ridge)
    paths.advance(EVERYTHING)
    S, found = shifted(R, ridge), dense(paths, 30)
    for (c, t), violation in np.ndenumerate(paths.violations):
        assert violation == pytest.approx(excess(S, found[c, t], c, lams[t]), abs=1e-12)
    assert paths.violations.max() <= 1e-11
    # the dual constraint is widened by up to 1e-10, and gaps are of the size of |q|_1
    sizes = abs(found).sum(axis=2)
    assert (paths.gaps >= -1e-12).all()
    assert (paths.gaps <= 1e-9 * np.maximum(1.0, sizes)).all()


@pytest.mark.parametrize("work", [1.0, 1e4, 1e6])
def test_chunks_of_work_change_nothing(rng, work):
    R = random_correlation(rng, 25, 40)
    lams = [0.4, 0.2, 0.1]
    whole, pieces = paths_of(R, lams), paths_of(R, lams)
    whole.advance(EVERYTHING)
    while not pieces.advance(work):
        pass
    assert (dense(whole, 25) == dense(pieces, 25)).all()
    assert (whole.gaps == pieces.gaps).all()
    assert (whole.pivots == pieces.pivots).all()


def test_columns_do_not_depend_on_each_other(rng):
    R = random_correlation(rng, 20, 30)
    whole = paths_of(R, [0.3, 0.1])
    whole.advance(EVERYTHING)
    expected = dense(whole, 20)
    order = rng.permutation(20)
    mixed = paths_of(R, [0.3, 0.1], columns=order)
    mixed.advance(EVERYTHING)
    assert (dense(mixed, 20) == expected[order]).all()


def test_threads_at_once(rng):
    R = random_correlation(rng, 40, 60)

    def solve(columns):
        paths = paths_of(R, [0.2, 0.05], columns=columns)
        paths.advance(EVERYTHING)
        return dense(paths, 40)

    blocks = np.array_split(np.arange(40), 8)
    with ThreadPoolExecutor(4) as pool:
        found = np.concatenate(list(pool.map(solve, blocks)))
    assert (found == solve(np.arange(40))).all()


def test_spent_columns_hand_over_where_they_stand(rng):
    R = random_correlation(rng, 30, 40)
    lams = np.array([0.5, 0.1, 0.01])
    paths = paths_of(R, lams, allowance=2e4)
    paths.advance(EVERYTHING)
    spent = np.flatnonzero(paths.statuses == STATUSES.index("spent"))
    assert len(spent)
    assert (paths.reached[spent] < 3).all()
    assert all((paths.counts[c, paths.reached[c] :] == 0).all() for c in spent)
    # a step more than what was allowed is the most that was done
    assert (paths.works <= 2e4 * (paths.reached + 1) + 1e5).all()
    index, values = paths.pop_unfinished_entries()
    at = 0
    for c in spent:
        k = int(paths.unfinished_counts[c, 0])
        q, y = np.zeros(30), np.zeros(30)
        q[index[at : at + k]], y[index[at + k : at + 2 * k]] = values[at : at + k], values[at + k : at + 2 * k]
        at += 2 * k
        reached = abs(R @ q - np.eye(30)[c]).max()
        assert abs(q).sum() == pytest.approx(dual_value(R, y, c, reached), rel=1e-8)
    assert at == len(index)


def test_finish_leaves_feasible_points(rng):
    R = random_correlation(rng, 20, 30)
    paths = paths_of(R, [0.3, 0.02])
    assert not paths.advance(2e5)
    paths.finish()
    found = dense(paths, 20)
    for (c, t), violation in np.ndenumerate(paths.violations):
        assert violation == pytest.approx(excess(R, found[c, t], c, [0.3, 0.02][t]), abs=1e-12)
    assert (paths.reached == 0).any()
    assert (paths.reached == 2).any()


def test_the_number_of_exchanges_is_bounded(rng):
    R = random_correlation(rng, 20, 30)
    paths = paths_of(R, [0.001], most=5)
    assert paths.advance(EVERYTHING)
    assert (paths.pivots == 5).all()
    assert {STATUSES[status] for status in paths.statuses} == {"stuck"}


def test_drift_of_the_inverse_is_repaired(rng):
    # hundreds of exchanges on a badly conditioned matrix
    rows = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 60)) + 0.02 * rng.standard_normal((80, 60))
    R = np.corrcoef(rows, rowvar=False)
    R = (R + R.T) / 2
    paths = paths_of(R, [0.2, 0.02, 0.005], columns=[0, 7, 31])
    paths.advance(EVERYTHING)
    found = dense(paths, 60)
    assert (paths.pivots > 40).all()
    for c, j in enumerate([0, 7, 31]):
        for t in range(paths.reached[c]):
            assert excess(R, found[c, t], j, [0.2, 0.02, 0.005][t]) <= 1e-9
    assert (paths.reached == 3).all()

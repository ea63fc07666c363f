"""Gaussian family scores and gains against regressions, along walks of parent sets."""

import math
import platform

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.coded_tables import random_moves, rescore, start, total
from helpers.examples import examples
from helpers.interpreter import run_python
from oracles.other_scores import gaussian_score
from pgmx._ext._gaussian import GaussianScorer

UNIT = 1e-5  # gains are rounded, to this at most


def correlated(rng, n, n_rows):
    """Return rows of dependent columns of unlike size and place."""
    mixed = rng.normal(size=(n_rows, n)) @ (np.eye(n) + rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5))
    return mixed * 10.0 ** rng.integers(-3, 4, n) + 10.0 ** rng.integers(0, 4, n)


def make_scorer(rows, cost=0.0, **options):
    centred = rows - rows.mean(axis=0)
    scaled = centred / centred.std(axis=0)
    correlation = scaled.T @ scaled / len(rows)
    correlation = (correlation + correlation.T) / 2
    np.fill_diagonal(correlation, 1.0)
    return GaussianScorer(correlation, rows.var(axis=0), float(len(rows)), cost, **options)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    rows = correlated(rng, draw(st.integers(2, 7)), draw(st.integers(12, 200)))
    return rng, rows, draw(st.sampled_from([0.0, 1.0, 0.5 * math.log(len(rows))]))


def check_row(rows, cost, child, parents, found, row, **options):
    allowed, most = options.get("allowed"), options.get("max_indegree", rows.shape[1])
    now = gaussian_score(rows, child, sorted(parents), cost)
    assert found == pytest.approx(now, rel=1e-9, abs=1e-7)
    for u in range(rows.shape[1]):
        possible = u != child and len(parents) < most and (allowed is None or allowed[child, u])
        if u in parents or possible:
            expected = gaussian_score(rows, child, sorted(set(parents) ^ {u}), cost) - now
            assert row[u] == pytest.approx(expected, rel=1e-9, abs=UNIT)
        else:
            assert row[u] == -np.inf


@given(problems())
@examples(60)
def test_walks_of_moves(problem):
    rng, rows, cost = problem
    n = rows.shape[1]
    scorers = [make_scorer(rows, cost), make_scorer(rows, cost, memory=0), make_scorer(rows, cost, memory=20 * n)]
    (gains, scores), *_ = map(start, scorers)
    np.testing.assert_array_equal(gains, gains.T)
    for child in range(n):
        check_row(rows, cost, child, (), scores[child], gains[child])
    for moves, _, changed in random_moves(rng, n, 8):
        for child in changed:
            parents = moves.parents_of(child)
            found = [rescore(scorer, child, parents) for scorer in scorers]
            check_row(rows, cost, child, parents.tolist(), *found[0])
            for other in found[1:]:  # what is kept of a child changes no bit
                assert other[0] == found[0][0] == scorers[0].family_score(child, parents)
                np.testing.assert_array_equal(other[1], found[0][1])


@given(problems())
@examples(40)
def test_gains_add_up_to_the_difference_of_full_scores(problem):
    rng, rows, cost = problem
    scorer = make_scorer(rows, cost)
    gains, scores = start(scorer)
    gained, first = [], math.fsum(scores)
    for moves, (op, tail, head), changed in random_moves(rng, rows.shape[1], 12):
        gained.append(gains[head, tail] + (gains[tail, head] if op == 2 else 0.0))
        for child in changed:
            scores[child] = scorer.rescore(child, moves.parents_of(child), gains)
        now = total(scorer, moves)
        assert math.fsum(scores) == pytest.approx(now, rel=1e-12, abs=1e-9)
        assert first + math.fsum(gained) == pytest.approx(now, rel=1e-10, abs=25 * UNIT)


@given(problems())
@examples(40)
def test_opposite_arcs_with_the_same_parents_tie_exactly(problem):
    rng, rows, cost = problem
    n = rows.shape[1]
    scorer = make_scorer(rows, cost)
    a, b, *others = rng.permutation(n).tolist()
    parents = others[: int(rng.integers(0, n - 1))]
    assert rescore(scorer, a, parents)[1][b] == rescore(scorer, b, parents)[1][a]


@given(problems())
@examples(40)
def test_equivalent_graphs_have_equal_scores(problem):
    """x1 -> x2 -> ... and any other order of a complete graph are one class."""
    rng, rows, cost = problem
    scorer = make_scorer(rows, cost)
    n = rows.shape[1]
    totals = []
    for _ in range(3):
        order = rng.permutation(n).tolist()
        families = [(x, np.array(sorted(order[:i]), dtype=np.int32)) for i, x in enumerate(order)]
        totals.append(math.fsum(scorer.family_score(*family) for family in families))
    np.testing.assert_allclose(totals, totals[0], rtol=1e-9, atol=1e-6)


def test_arcs_and_parents_that_are_not_allowed(rng):
    rows = correlated(rng, 5, 60)
    allowed = (rng.random((5, 5)) < 0.6).astype(np.uint8)
    scorer = make_scorer(rows, 1.0, allowed=allowed, max_indegree=2)
    options = {"allowed": allowed, "max_indegree": 2}
    gains, scores = start(scorer)
    for child in range(5):
        check_row(rows, 1.0, child, (), scores[child], gains[child], **options)
    for parents in ([1], [1, 3], [3], [1, 2, 3]):
        check_row(rows, 1.0, 0, parents, *rescore(scorer, 0, parents), **options)
    scorer.restrict(None)
    scorer.max_indegree = 5
    check_row(rows, 1.0, 0, [1, 3], *rescore(scorer, 0, [1, 3]))
    with pytest.raises(ValueError, match=r"shape \(5, 5\), got \(5, 4\)"):
        scorer.restrict(np.ascontiguousarray(allowed[:, :4]))


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-7])
def test_near_combinations_of_others_cannot_be_added(noise, rng):
    rows = rng.normal(size=(300, 4))
    rows[:, 3] = rows[:, 0] - 2 * rows[:, 1] + noise * rows[:, 3]
    scorer = make_scorer(rows)
    gains, _ = start(scorer)
    assert np.isfinite(gains[~np.eye(4, dtype=bool)]).all()
    for child, parents in [(2, [0, 1]), (2, [0, 3])]:
        row = rescore(scorer, child, parents)[1]
        assert (row[[u for u in (0, 1, 3) if u not in parents]] == -np.inf).all()
    assert rescore(scorer, 0, [1])[1][3] == -np.inf
    assert rescore(scorer, 3, [0])[1][1] == -np.inf
    for child, parents in [(2, [0, 1, 3]), (0, [1, 3])]:
        with pytest.raises(ValueError, match=r"is a combination of others among .* drop one of these columns"):
            rescore(scorer, child, parents)
        with pytest.raises(ValueError, match=r"is a combination of others"):
            scorer.family_score(child, np.array(parents, dtype=np.int32))
    found, row = rescore(scorer, 2, [0, 1])  # it still works
    check_row(rows[:, :3], 0.0, 2, [0, 1], found, row[:3])


def test_copies_are_joined_to_nothing_twice(rng):
    rows = rng.normal(size=(50, 3))
    rows[:, 1] = -3 * rows[:, 0] + 5
    gains, _ = start(make_scorer(rows))
    assert gains[0, 1] == gains[1, 0] == -np.inf


def test_near_combinations_that_can_be_told_apart(rng):
    """A residual of 1e-8 of the variance is data, not rounding."""
    rows = rng.normal(size=(500, 3))
    rows[:, 2] = rows[:, 0] + 1e-4 * rows[:, 2]
    rows[:, 1] += 2 * (rows[:, 2] - rows[:, 0]) * 1e4
    scorer = make_scorer(rows)
    _, row = rescore(scorer, 1, [0])
    expected = gaussian_score(rows, 1, [0, 2]) - gaussian_score(rows, 1, [0])
    assert expected > 100
    assert row[2] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n_rows", [1e6, 1e12])
def test_many_rows(n_rows):
    correlation = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]])
    scorer = GaussianScorer(correlation, np.ones(3), n_rows, 0.5 * math.log(n_rows))
    gains, _ = start(scorer)
    assert gains[0, 1] == pytest.approx(-n_rows / 2 * math.log(0.75) - 0.5 * math.log(n_rows), rel=1e-12, abs=UNIT)
    assert gains[0, 2] == pytest.approx(-0.5 * math.log(n_rows), abs=UNIT)


DIGEST = """
import numpy as np
from hashlib import sha256
from pgmx.scores import BGe, BICGauss
from pgmx.search.dag.state import DagState
rng = np.random.default_rng(3)
rows = rng.normal(size=(300, 70)) @ np.triu(rng.normal(size=(70, 70)) * (rng.random((70, 70)) < 0.05) + np.eye(70))
for score in (BICGauss(rows), BGe(rows)):
    state = DagState(score.make_scorer(score.moments), 70, priority=np.arange(70), max_indegree=4, least_gain=1e-4)
    n_made, _ = state.climb(1e-4, 300)
    print(n_made, *(sha256(a.tobytes()).hexdigest() for a in (state.gains, state.scores, state.edges())))
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="one level only")
def test_all_levels_of_instructions_give_the_same_bits():
    # the correlations come from BLAS, which takes its own level from the processor
    runs = [run_python("-c", DIGEST, PGMX_SIMD=level, OPENBLAS_NUM_THREADS="1") for level in ("plain", "avx2", None)]
    runs = [run for run in runs if "this processor runs" not in run.stderr]
    assert [run.returncode for run in runs] == [0] * len(runs)
    assert len({run.stdout for run in runs}) == 1

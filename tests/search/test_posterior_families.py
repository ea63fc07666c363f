"""Tables of parent sets against single families, for every kind of score, and sums over subsets against enumeration."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from pgmx._ext._family_sums import find_live_sets, sum_subsets
from pgmx._ext._gaussian import GaussianScorer
from pgmx.data import open_frame
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.priors import UniformPrior
from pgmx.search.posterior.families import ParentChoices, TableBuilder, find_best_sets, list_sets, make_tables

RNG = np.random.default_rng(5)
N_ROWS = 60


@pytest.fixture(scope="module")
def frames():
    rng = np.random.default_rng(3)
    states = rng.integers(0, 3, (N_ROWS, 5))
    states[:, 1] = np.where(rng.random(N_ROWS) < 0.7, states[:, 0], states[:, 1])
    states[:, 4] = 0  # a single state
    numbers = rng.normal(size=(N_ROWS, 4)) @ rng.normal(size=(4, 4))
    discrete = pd.DataFrame(states, columns=list("abcde")).astype("category")
    holes = discrete.mask(rng.random(states.shape) < 0.1)
    continuous = pd.DataFrame(numbers, columns=list("wxyz"))
    return {
        "discrete": discrete,
        "holes": holes.drop(columns="e"),
        "continuous": continuous,
        "mixed": pd.concat([continuous[["w", "x"]], discrete[["a", "b"]]], axis=1),
    }


def bind(frame, score, **options):
    given = {"state_names": None, "missing": "error", "n_jobs": 1, "structure_prior": UniformPrior(), **options}
    return resolve_scoring(score, open_frame(frame), **given)


def open_source(scoring):
    return scoring.gains(allowed=None, max_indegree=None, deadline=math.inf, n_jobs=1)


def all_choices(n, forbidden=(), required=()):
    allowed = 1 - np.eye(n, dtype=np.uint8)
    for tail, head in forbidden:
        allowed[head, tail] = 0
    return ParentChoices.from_masks(allowed, np.array(required, dtype=np.int64).reshape(-1, 2))


WEIGHTS = np.linspace(0.5, 2.0, N_ROWS)


@pytest.mark.parametrize(
    ("data", "score", "options"),
    [
        ("discrete", "bdeu", {}),
        ("discrete", "bds", {}),
        ("discrete", "k2", {}),
        ("discrete", "bic", {}),
        ("discrete", "bdeu", {"sample_weight": WEIGHTS}),
        ("holes", "bic", {"missing": "pairwise"}),
        ("continuous", "bge", {}),
        ("continuous", "bic-g", {"sample_weight": WEIGHTS}),
        ("mixed", "bic-clg", {"discrete_children": "allowed"}),
        ("mixed", "bic-cg", {}),
        ("mixed", "bic-dg", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "".join(value),
)
def test_weights_are_the_scores_of_families(frames, data, score, options):
    scoring = bind(frames[data], score, **options)
    n = len(scoring.names)
    choices = all_choices(n, forbidden=[(0, 1)], required=[(1, 2)])
    log_prior = -np.arange(n + 1.0)
    tables = make_tables(open_source(scoring), choices, log_prior, max_indegree=3)
    source = open_source(scoring)
    for v in range(n):
        sets, weights = tables.of(v)
        assert (np.diff(weights) <= 0).all()
        given = dict(zip(sets.tolist(), (weights + tables.offsets[v]).tolist(), strict=True))
        for m in range(1 << len(choices.candidates[v])):
            parents = tables.parents(v, m)
            assert (v != 2 or 1 in parents) and not (v == 1 and 0 in parents)
            weight = source.family_score(v, parents) - len(parents) if len(parents) <= 3 else -math.inf
            assert given.get(m, -math.inf) == pytest.approx(weight, rel=0, abs=1e-10)


def test_refused_families_have_no_weight_and_are_listed():
    correlation = np.full((3, 3), 1.0)  # equal columns
    source = GaussianScorer(correlation, np.ones(3), 100.0, 1.0)
    tables = make_tables(source, all_choices(3), np.zeros(4), max_indegree=2)
    assert tables.sets.tolist() == [0, 0, 0]
    assert {(refusal.child, *refusal.parents) for refusal in tables.refusals} == {
        (v, u) for v in range(3) for u in range(3) if u != v
    }
    assert "is a combination of others" in tables.refusals[0].message


def test_sums_over_subsets():
    scores = RNG.normal(size=64) * 30
    scores[RNG.random(64) < 0.3] = -np.inf
    sums = scores.copy()
    sum_subsets(sums)
    for m in range(64):
        subsets = [scores[s] for s in range(64) if s & ~m == 0]
        assert sums[m] == pytest.approx(np.logaddexp.reduce(subsets), abs=1e-12)


def test_live_sets_beat_their_subsets():
    scores = np.round(RNG.normal(size=32), 1)  # with ties
    expected = [m for m in range(32) if all(scores[s] < scores[m] for s in range(32) if s & ~m == 0 and s != m)]
    assert find_live_sets(scores).tolist() == expected


def test_levels_that_are_cut_leave_the_smaller_sets(frames):
    scoring = bind(frames["discrete"], "bdeu")
    choices = all_choices(5)
    whole = make_tables(open_source(scoring), choices, np.zeros(6), max_indegree=1)
    builder = TableBuilder(open_source(scoring), choices, max_indegree=4)
    asked = []
    while builder.score_level(lambda: asked.append(0) or len(asked) > 12):
        pass
    assert builder.level == 1 and not builder.is_complete
    cut = builder.finish(np.zeros(6))
    np.testing.assert_array_equal(cut.sets, whole.sets)
    np.testing.assert_array_equal(cut.sums, whole.sums)


def test_best_sets_have_bits_of_variables(frames):
    scoring = bind(frames["discrete"], "bdeu")
    tables = make_tables(open_source(scoring), all_choices(5, required=[(3, 0)]), np.zeros(6), max_indegree=4)
    sets, weights = find_best_sets(tables)
    assert (sets[0] & np.uint64(8)).all() and not any((sets[v] >> np.uint64(v) & np.uint64(1)).any() for v in range(5))
    assert [part.max() for part in weights] == [0.0] * 5


def test_lists_of_sets():
    for n, size in ((5, 0), (5, 2), (3, 3), (2, 3)):
        expected = sorted(sum(1 << b for b in chosen) for chosen in combinations(range(n), size))
        assert list_sets(n, size) == expected

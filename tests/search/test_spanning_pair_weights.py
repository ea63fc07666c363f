"""Pair weights counted in blocks are those of the family scorer, and of plain counting."""

import numpy as np
import pytest

from oracles.family_scores import family_score
from pgmx.data import DiscreteTable
from pgmx.scores import ScoreTerms
from pgmx.scores.discrete.base import family_scorer
from pgmx.search.forest_weights import CountedWeights, can_be_counted
from pgmx.search.spanning_forest import find_spanning_forest


def coded(rng, n=12, n_rows=700, most=6):
    cards = rng.integers(1, most, n)
    cards[:2] = (3, 2)
    codes = np.array([rng.integers(0, max(1, card - rng.integers(2)), n_rows) for card in cards])
    for v in range(3, n):
        copied = rng.random(n_rows) < 0.5
        codes[v, copied] = codes[v - 1, copied] % cards[v]
    return DiscreteTable(range(n), [range(card) for card in cards], codes)


def terms_of(name, n_rows):
    return {
        "ll": ScoreTerms(),
        "bic": ScoreTerms(penalty=0.5 * np.log(n_rows)),
        "aic": ScoreTerms(penalty=1.0),
        "bdeu": ScoreTerms(dirichlet=True, per_cell=True, prior=10.0),
    }[name]


every_score = pytest.mark.parametrize("name", ["ll", "bic", "aic", "bdeu"])


@every_score
@pytest.mark.parametrize("n_rows", [1, 700, 40_000])
def test_equal_to_the_family_scorer_to_the_last_bit(rng, name, n_rows):
    table = coded(rng, n_rows=n_rows)
    n = table.n_variables
    gains, scores = np.empty((n, n)), np.empty(n)
    family_scorer(table, terms_of(name, n_rows)).start(gains, scores)
    counted = CountedWeights(table, terms_of(name, n_rows), np.arange(n))
    assert np.array_equal(counted.rows(np.arange(n), np.arange(n)), gains)
    block, others = np.array([7, 2]), np.array([11, 2, 0])
    assert np.array_equal(counted.rows(block, others), gains[np.ix_(block, others)])


@every_score
def test_given_the_class_equal_to_plain_counting(rng, name):
    table = coded(rng, n=6)
    codes, cards = table.codes, table.cardinalities
    variables = np.array([1, 2, 3, 4, 5])
    weights = CountedWeights(table, terms_of(name, table.n_rows), variables, class_node=0).rows(
        np.arange(5), np.arange(5)
    )
    for i, u in enumerate(variables):
        for j, v in enumerate(variables):
            if u == v or cards[u] < 2 or cards[v] < 2:
                assert weights[i, j] == -np.inf
            else:
                gain = family_score(codes, cards, u, [0, v], name) - family_score(codes, cards, u, [0], name)
                assert weights[i, j] == pytest.approx(gain, rel=1e-9, abs=1e-8)
    assert np.array_equal(weights, weights.T)


def test_states_of_the_class_that_never_occur(rng):
    codes = np.array([rng.choice([0, 2], 300), rng.integers(0, 2, 300), rng.integers(0, 3, 300)])
    cards = np.array([4, 2, 3])
    table = DiscreteTable("cab", [range(card) for card in cards], codes)
    weight = CountedWeights(table, ScoreTerms(penalty=1.0), np.array([1, 2]), class_node=0).rows(
        np.arange(2), np.arange(2)
    )
    gain = family_score(codes, cards, 1, [0, 2], "aic") - family_score(codes, cards, 1, [0], "aic")
    assert weight[0, 1] == pytest.approx(gain, rel=1e-9)


@pytest.mark.parametrize("given", [None, 1])
def test_any_number_of_threads(rng, given):
    table = coded(rng)
    variables = np.delete(np.arange(12), 1) if given else np.arange(12)
    everyone = np.arange(len(variables))
    one, three = (CountedWeights(table, ScoreTerms(), variables, class_node=given, n_jobs=jobs) for jobs in (1, 3))
    assert np.array_equal(one.rows(everyone, everyone[::2]), three.rows(everyone, everyone[::2]))


def test_the_forest_is_the_same_for_any_block(rng):
    table = coded(rng, n=40)
    source = CountedWeights(table, ScoreTerms(), np.arange(40))
    forests = []
    for block in (1, 7, 64):
        source.block = block
        forests.append(find_spanning_forest(source, priority=np.arange(40)))
    assert all(np.array_equal(forests[0].edges, forest.edges) for forest in forests)
    assert all(np.array_equal(forests[0].weights, forest.weights) for forest in forests)


def test_no_weight_is_counted_much_more_than_once(rng):
    """Rows run over the variables outside the forest alone."""
    table = coded(rng, n=300, n_rows=60)
    source, asked = CountedWeights(table, ScoreTerms(), np.arange(300)), []
    write = source.write
    source.write = lambda block, others, *to: asked.append(len(block) * len(others)) or write(block, others, *to)
    find_spanning_forest(source, priority=np.arange(300))
    assert sum(asked) < 0.75 * 300 * 300


def test_variables_with_too_many_states_have_no_planes():
    codes = np.array([np.arange(300), np.arange(300) % 2])
    assert not can_be_counted(DiscreteTable("ab", [range(300), range(2)], codes))
    assert can_be_counted(DiscreteTable("ab", [range(255), range(2)], codes % 255))

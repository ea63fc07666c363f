"""Columns at several lags as views of one copy of the rows, against copies of the columns."""

import pickle

import numpy as np
import pandas as pd
import pytest

from helpers.dynamic_panels import draw_panel
from oracles.lagged_frames import lag_frame
from pgmx._ext import _families
from pgmx.data import DiscreteTable, encode
from pgmx.data.series.shifted import RowCodes, RowLanes, ShiftedTable
from pgmx.estimators import DynamicBayesianNetworkSearch
from pgmx.scores import BIC
from pgmx.scores.discrete.base import family_scorer


def draw_table(rng, n_rows, cards):
    codes = [rng.integers(0, card, n_rows) for card in cards]
    return DiscreteTable(range(len(cards)), [range(card) for card in cards], codes)


def shift(table, lags, targets, n_children=None):
    """Return the shifted table of all columns at all lags, and the same with copied codes."""
    lanes = RowLanes(table.n_rows, lags)
    lanes.fill(iter([table]), table.n_variables)
    sources = [(v, lag) for lag in range(lags + 1) for v in range(table.n_variables)]
    n_children = table.n_variables if n_children is None else n_children
    shifted = ShiftedTable(sources, lanes, sources, targets, n_children)
    copied = DiscreteTable(
        sources, [table.states[v] for v, _ in sources], [table.codes[v][targets - lag] for v, lag in sources]
    )
    return shifted, copied


@pytest.mark.parametrize(("n_rows", "lags"), [(30, 1), (100, 12), (1500, 3), (513, 8)])
@pytest.mark.parametrize("cards", [(2, 3, 1), (4, 300)])
def test_views_have_the_codes_of_copies(n_rows, lags, cards):
    rng = np.random.default_rng(n_rows)
    targets = np.sort(rng.choice(np.arange(lags, n_rows), n_rows // 2, replace=False))
    shifted, copied = shift(draw_table(rng, n_rows, cards), lags, targets)
    np.testing.assert_array_equal(np.asarray(shifted.codes), copied.codes)
    assert shifted == copied
    assert pickle.loads(pickle.dumps(shifted)) == copied
    weights = rng.integers(0, 3, len(targets))
    assert shifted.repeat_rows(weights) == copied.repeat_rows(weights)
    np.testing.assert_array_equal(shifted.planes, copied.planes)


@pytest.mark.parametrize("segment_rows", [512, 1 << 17])
@pytest.mark.parametrize("cards", [(2, 3, 4), (2, 300, 5)])
def test_families_of_views_are_counted_as_those_of_copies(cards, segment_rows):
    rng = np.random.default_rng(0)
    n_rows, lags = 3000, 2
    targets = np.flatnonzero(rng.random(n_rows) < 0.9)
    targets = targets[targets >= lags]
    shifted, copied = shift(draw_table(rng, n_rows, cards), lags, targets)
    terms = BIC(copied).terms(copied.n_rows)
    views = shifted.view_columns()
    scorer = _families.FamilyScorer(
        cardinalities=shifted.cardinalities, penalty=terms.penalty, segment_rows=segment_rows, **views
    )
    expected = family_scorer(copied, terms, memory=0)
    for child, parents in [(0, []), (1, [3]), (2, [0, 5]), (0, [3, 4, 7]), (1, [2, 4, 6, 8])]:
        ids = np.array(parents, dtype=np.int32)
        for ours, theirs in zip(scorer.family_counts(child, ids), expected.family_counts(child, ids), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        assert scorer.family_score(child, ids) == expected.family_score(child, ids)
        gains, reference = np.empty((2, 9, 9))
        assert scorer.rescore(child, ids, gains) == expected.rescore(child, ids, reference)
        np.testing.assert_allclose(gains[child], reference[child], rtol=1e-9, atol=1e-6)
    assert scorer.family_score(5, np.empty(0, dtype=np.int32)) == 0.0


@pytest.mark.parametrize("cards", [(2, 3, 4), (2, 300, 5)])
@pytest.mark.parametrize("is_whole", [True, False])
def test_weights_of_views_are_added_as_those_of_copies(cards, is_whole):
    rng = np.random.default_rng(0)
    n_rows, lags = 600, 2
    table = draw_table(rng, n_rows, cards)
    targets = np.arange(lags + 3, n_rows - 1)
    targets = targets if is_whole else targets[rng.random(len(targets)) < 0.9]
    sources = [(v, lag) for lag in range(lags + 1) for v in range(3)]
    shifted, copied = ShiftedTable(sources, RowCodes(table), sources, targets, 3), shift(table, lags, targets)[1]
    assert shifted == copied
    terms = BIC(copied).terms(copied.n_rows)
    weights = rng.random(len(targets))
    ours, theirs = (family_scorer(each, terms, weights=weights) for each in (shifted, copied))
    for child, parents in [(0, []), (1, [3]), (2, [0, 5]), (0, [3, 4, 7]), (1, [2, 4, 6, 8])]:
        ids, candidates = np.array(parents, dtype=np.int32), np.array([5, 8], dtype=np.int32)
        answers = [scorer.count(child, ids, candidates) for scorer in (ours, theirs)]
        assert all(np.array_equal(own, other) for own, other in zip(*answers, strict=True))
        gains, reference = np.empty((2, 9, 9))
        assert ours.rescore(child, ids, gains) == theirs.rescore(child, ids, reference)
        np.testing.assert_array_equal(gains[child], reference[child])
    # without weights the rows are counted in lanes
    ours, theirs = (family_scorer(each, terms) for each in (shifted, copied))
    assert ours.family_score(2, np.array([0, 5], dtype=np.int32)) == theirs.family_score(2, np.array([0, 5], np.int32))


def test_families_are_counted_on_the_lagged_frame_of_pandas():
    panel = draw_panel(n_groups=5, n_times=20).drop(columns=["t", "s"])
    learner = DynamicBayesianNetworkSearch(groups="id", lags=3).fit(panel)
    lagged = lag_frame(panel, 3, "id")
    source = learner._scoring.get().gains(allowed=None, max_indegree=None, deadline=np.inf, n_jobs=None)
    family = [("a", 1), ("c", 2), ("a", 3), ("b", 0)]
    ids = [learner.nodes_.index(node) for node in family]
    keys, counts = source.family_counts(ids[-1], np.array(ids[:-1], dtype=np.int32))
    radix = sum(factor * lagged[node].astype(int) for factor, node in zip((27, 9, 3, 1), family, strict=True))
    expected = radix.value_counts().sort_index()
    np.testing.assert_array_equal(keys, expected.index)
    np.testing.assert_array_equal(counts, expected)


def test_memory_of_the_rows_does_not_depend_on_the_lags():
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (10_000, 12)))
    table = encode(frame)
    plain = table.codes.nbytes + table.planes.nbytes
    for lags in (1, 8, 20):
        learner = DynamicBayesianNetworkSearch(lags=lags, max_iter=0, show_progress=False).fit(frame)
        views = learner._scoring.get().table.view_columns()
        assert views["codes"].nbytes + views["planes"].nbytes <= 1.2 * plain
        learner.fit(frame, None, np.linspace(0.5, 1.5, len(frame)))
        assert learner._scoring.get().table.view_codes()["codes"].nbytes == table.codes.nbytes

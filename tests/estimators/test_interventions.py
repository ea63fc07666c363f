"""Rows in which variables were set: families are scored on the other rows, and graphs are found by enumeration."""

import math

import numpy as np
import pandas as pd
import pytest

from oracles.all_dags import all_dags
from oracles.family_scores import FORMULAS, Family, family_counts
from oracles.interventional import join, list_classes
from pgmx.estimators import HillClimbSearch
from pgmx.scores import UniformPrior
from pgmx.scores.registry import list_scores

NAMES = ["a", "b", "c", "d"]
DAGS = list(all_dags(4))


def draw_targets(rng, n_rows, sets):
    """Return which variables were set in each row, bool (n_rows, 4)."""
    rows = np.zeros((n_rows, 4), dtype=bool)
    for k, row in zip(rng.integers(0, len(sets), n_rows).tolist(), rows, strict=True):
        row[list(sets[k])] = True
    return rows


def draw_states(rng, was_set, cards=(2, 3, 2, 2)):
    """Return columns of a -> b -> c -> d and a -> c; set variables are uniform."""
    columns = []
    for v, (card, rows) in enumerate(zip(cards, was_set.T, strict=True)):
        drawn = rng.integers(0, card, len(rows))
        if v:
            causes = columns[v - 1] if v != 2 else columns[0] + columns[1]
            drawn = np.where(rows | (rng.random(len(rows)) < 0.3), drawn, causes % card)
        columns.append(drawn)
    return np.array(columns)


def list_families(edges):
    return [(v, tuple(sorted(tail for tail, head in edges if head == v))) for v in range(4)]


def score_family(codes, cards, was_set, child, parents, score):
    tables = list(family_counts(codes[:, ~was_set[:, child]], cards, child, parents).values())
    q = math.prod(int(cards[p]) for p in parents)
    return FORMULAS[score](Family(tables, q, int(cards[child]), codes.shape[1], 10.0, len(parents), 3))


#: All families of four variables.
FAMILIES = sorted({family for dag in DAGS for family in list_families(dag)})


def score_dag(codes, cards, was_set, edges, score):
    return sum(score_family(codes, cards, was_set, v, parents, score) for v, parents in list_families(edges))


def to_frame(codes):
    return pd.DataFrame(codes.T, columns=NAMES).astype("category")


def to_cells(was_set):
    """Return names of variables, several as a list, None if there are none."""
    named = [[name for name, chosen in zip(NAMES, row, strict=True) if chosen] for row in was_set]
    return [None if not names else names[0] if len(names) == 1 else names for names in named]


SETS = [(), (0,), (1, 2), (3,)]


@pytest.mark.parametrize("score", list_scores("discrete"))
def test_exact_search_finds_the_best_graph(score):
    rng = np.random.default_rng(7)
    was_set = draw_targets(rng, 300, SETS)
    codes = draw_states(rng, was_set)
    cards = codes.max(axis=1) + 1
    families = {f: score_family(codes, cards, was_set, *f, score) for f in FAMILIES}
    best = max(DAGS, key=lambda edges: sum(map(families.get, list_families(edges))))
    frame = pd.DataFrame(was_set[:, ::-1], columns=NAMES[::-1])
    # BDs has a prior of its own
    search = HillClimbSearch(scoring_method=score, strategy="exact", structure_prior=UniformPrior())
    search.fit(to_frame(codes), interventions=frame)
    assert search.score_ == pytest.approx(score_dag(codes, cards, was_set, best, score))
    assert search.score_ == pytest.approx(score_dag(codes, cards, was_set, search.edges_.tolist(), score))


def test_greedy_search_and_the_class():
    rng = np.random.default_rng(3)
    for number in range(8):
        sets = [SETS[k] for k in sorted(set(rng.integers(0, 4, 2).tolist()) | {0})]
        was_set = draw_targets(rng, 250, sets)
        codes = draw_states(rng, was_set)
        cards = codes.max(axis=1) + 1
        data = to_frame(codes).assign(target=to_cells(was_set))
        search = HillClimbSearch(interventions="target", return_type=["dag", "pdag"][number % 2]).fit(data)
        edges = sorted(map(tuple, search.edges_.tolist()))
        assert search.variables_ == NAMES
        assert search.score_ == pytest.approx(score_dag(codes, cards, was_set, edges, "bic"))
        neighbours = [dag for dag in DAGS if len(set(dag) ^ set(edges)) == 1]
        assert search.score_ >= max(score_dag(codes, cards, was_set, dag, "bic") for dag in neighbours) - 1e-4
        if number % 2:
            members = next(c for c in list_classes(DAGS, sets) if edges in map(sorted, c))
            directed, undirected = join(members)
            assert {(NAMES.index(a), NAMES.index(b)) for a, b in search.graph_.directed_edges} == set(directed)
            got = {tuple(sorted(map(NAMES.index, edge))) for edge in search.graph_.undirected_edges}
            assert got == set(undirected)


def test_parameters_leave_the_rows_out():
    rng = np.random.default_rng(1)
    was_set = draw_targets(rng, 400, SETS)
    frame = to_frame(draw_states(rng, was_set))
    model = HillClimbSearch(interventions="target").fit(frame.assign(target=to_cells(was_set))).model_
    for v, name in enumerate(NAMES):
        cpd = model.get_cpds(name)
        parents = cpd.variables[1:]
        kept = frame[~was_set[:, v]].astype(int)
        counts = kept.groupby([name, *parents]).size().unstack(parents, fill_value=0) if parents else None
        counts = kept[name].value_counts().sort_index() if counts is None else counts.sort_index(axis=1)
        expected = counts.to_numpy().reshape(len(counts), -1)
        np.testing.assert_allclose(cpd.get_values(), expected / expected.sum(axis=0))
    assert model.check_model()


# ---- other data ----


def score_numbers(numbers, was_set, edges):
    """Return BIC of linear Gaussian families on their rows."""
    total = 0.0
    for child in range(4):
        kept = numbers[~was_set[:, child]]
        parents = [tail for tail, head in edges if head == child]
        design = np.column_stack([np.ones(len(kept)), kept[:, parents]])
        rest = kept[:, child] - design @ np.linalg.lstsq(design, kept[:, child], rcond=None)[0]
        total += -0.5 * len(kept) * (math.log(2 * math.pi * np.mean(rest**2)) + 1)
        total -= 0.5 * math.log(len(numbers)) * (len(parents) + 2)
    return total


def draw_numbers(rng, was_set):
    numbers = rng.normal(size=was_set.shape)
    for v in range(1, 4):
        numbers[:, v] += np.where(was_set[:, v], 2.0, 0.8 * numbers[:, v - 1])
    return numbers


@pytest.mark.parametrize("strategy", ["greedy", "thorough", "best", "exact"])
def test_continuous_data(strategy):
    rng = np.random.default_rng(11)
    was_set = draw_targets(rng, 200, SETS)
    numbers = draw_numbers(rng, was_set)
    data = pd.DataFrame(numbers, columns=NAMES)
    search = HillClimbSearch(strategy=strategy).fit(data, interventions=was_set)
    edges = search.edges_.tolist()
    assert search.score_ == pytest.approx(score_numbers(numbers, was_set, edges))
    if strategy == "exact":
        assert search.score_ == pytest.approx(max(score_numbers(numbers, was_set, dag) for dag in DAGS))
    for v, name in enumerate(NAMES):
        cpd = search.model_.get_cpds(name)
        kept = data[~was_set[:, v]]
        design = np.column_stack([np.ones(len(kept)), kept[list(cpd.evidence)]])
        np.testing.assert_allclose(cpd.beta, np.linalg.lstsq(design, kept[name], rcond=None)[0], atol=1e-9)


@pytest.mark.parametrize("strategy", ["greedy", "exact"])
def test_weights_count_rows(strategy):
    """Rows of weight 2 are two rows; real weights score as repeated rows divided by their number."""
    rng = np.random.default_rng(5)
    was_set = draw_targets(rng, 150, SETS)
    weights = rng.integers(0, 3, 150)
    repeated = np.repeat(np.arange(150), weights)
    for data in (to_frame(draw_states(rng, was_set)), pd.DataFrame(draw_numbers(rng, was_set), columns=NAMES)):
        search = HillClimbSearch(strategy=strategy)
        whole = search.fit(data.iloc[repeated].reset_index(drop=True), interventions=was_set[repeated])
        expected, edges = whole.score_, whole.edges_.tolist()
        for given in (weights, weights * (1 + 1e-12)):
            search.fit(data, sample_weight=given, interventions=was_set)
            assert search.score_ == pytest.approx(expected)
            assert search.edges_.tolist() == edges

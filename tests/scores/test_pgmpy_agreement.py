"""pgmx's scores compared with pgmpy's: the same numbers if pgmpy follows the formula; else the difference is shown."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from pgmpy import structure_score as theirs
from pgmpy.base import DAG
from pgmpy.causal_discovery import ExpertKnowledge, HillClimbSearch

from oracles import family_scores as oracle
from pgmx import scores as ours
from pgmx.scores.registry import SCORES

NAMES = [e.class_name for e in SCORES if e.kind == "discrete" and hasattr(theirs, e.class_name)]
KINDS = ["integers", "text", "categories"]


def complete_frame(rng, cards, n_rows, kind="categories"):
    """Return dependent columns in which every combination of states occurs."""
    every = np.array(list(itertools.product(*map(range, cards))))
    hidden = rng.integers(0, 6, n_rows - len(every))
    rest = [np.where(rng.random(len(hidden)) < 0.5, hidden % r, rng.integers(0, r, len(hidden))) for r in cards]
    frame = pd.DataFrame(np.vstack([every, np.stack(rest, axis=1)]), columns=[f"v{i}" for i in range(len(cards))])
    frame = frame.sample(frac=1, random_state=0, ignore_index=True)
    return {"integers": frame, "text": frame.astype(str), "categories": frame.astype("category")}[kind]


def families(columns):
    for child in columns:
        others = [name for name in columns if name != child]
        for k in range(len(others) + 1):
            for parents in itertools.combinations(others, k):
                yield child, parents


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_same_numbers_where_everything_occurs(name, kind, rng):
    frame = complete_frame(rng, [2, 3, 4, 2], 800, kind)
    mine, pgmpy = getattr(ours, name)(frame), getattr(theirs, name)(frame)
    for family in families(list(frame)):
        assert mine.local_score(*family) == pytest.approx(pgmpy.local_score(*family), rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_same_score_of_a_graph(name, rng):
    frame = complete_frame(rng, [2, 3, 2, 4, 2], 700)
    mine, pgmpy = getattr(ours, name)(frame), getattr(theirs, name)(frame)
    graph = DAG([("v0", "v2"), ("v1", "v2"), ("v2", "v3"), ("v0", "v3"), ("v3", "v4")])
    assert mine.score(graph) == pytest.approx(pgmpy.score(graph), rel=1e-10)
    assert mine.structure_prior(graph) == pytest.approx(pgmpy.structure_prior(graph))
    for move in ("+", "-", "flip"):
        assert mine.structure_prior_ratio(move) == pgmpy.structure_prior_ratio(move)


@pytest.mark.parametrize("name", ["BDeu", "BDs"])
@pytest.mark.parametrize("size", [0.1, 1, 5, 10.0, 250])
def test_same_numbers_for_each_equivalent_sample_size(size, name, rng):
    frame = complete_frame(rng, [2, 3, 3], 300)
    mine, pgmpy = getattr(ours, name)(frame, size), getattr(theirs, name)(frame, size)
    for family in families(list(frame)):
        assert mine.local_score(*family) == pytest.approx(pgmpy.local_score(*family), rel=1e-10)


@pytest.mark.parametrize("name", ["LogLikelihood", "AIC", "BIC"])
def test_same_likelihoods_where_states_never_occur(name):
    frame = pd.DataFrame({"x": [0, 1, 1, 0, 1, 0], "y": [0, 0, 1, 1, 1, 1]})
    names = {"x": [0, 1, 2], "y": [0, 1, 2]}
    mine, pgmpy = getattr(ours, name)(frame, names), getattr(theirs, name)(frame, names)
    for family in families(["x", "y"]):
        assert mine.local_score(*family) == pytest.approx(pgmpy.local_score(*family), rel=1e-10)


def test_bdeu_follows_the_formula_where_a_state_of_the_child_never_occurs():
    """pgmpy 1.1.2 subtracts ln Gamma(b) for every cell of the family, but adds it for observed child states only."""
    frame = pd.DataFrame({"x": [0, 1, 1, 0, 1, 0], "y": [0, 0, 1, 1, 1, 0]})
    names = {"x": [0, 1, 2], "y": [0, 1]}
    mine = ours.BDeu(frame, 10, names).local_score("x", ("y",))
    expected = oracle.family_score(frame.to_numpy().T, [3, 2], 0, [1], "bdeu", ess=10)
    assert mine == pytest.approx(expected, rel=1e-10)
    pgmpy = theirs.BDeu(frame, 10, names).local_score("x", ("y",))
    # two cells (state 2 of x, with either state of y) lack their ln Gamma(10 / 6)
    assert pgmpy == pytest.approx(expected - 2 * math.lgamma(10 / 6), rel=1e-10)
    assert abs(pgmpy - mine) > 0.1


def test_k2_follows_the_formula_where_a_configuration_never_occurs():
    """pgmpy 1.1.2 adds ln Gamma(r) for every configuration, but subtracts ln Gamma(0 + r) for observed ones only."""
    frame = pd.DataFrame({"x": [0, 1, 2, 0, 1, 3], "y": [0, 0, 1, 1, 1, 0], "z": [0, 0, 1, 1, 1, 1]})
    mine = ours.K2(frame).local_score("x", ("y", "z"))
    expected = oracle.family_score(frame.to_numpy().T, [4, 2, 2], 0, [1, 2], "k2")
    assert mine == pytest.approx(expected, rel=1e-10)
    pgmpy = theirs.K2(frame).local_score("x", ("y", "z"))
    # one configuration of four, y = 1 with z = 0, never occurs
    assert pgmpy == pytest.approx(expected + math.lgamma(4), rel=1e-10)
    assert abs(pgmpy - mine) > 1.0


def test_bds_follows_the_formula_where_a_configuration_never_occurs():
    """pgmpy 1.1.2 shares alpha among all cells for those of the child, and takes ln Gamma(alpha_j) off too often."""
    frame = pd.DataFrame({"x": [0, 1, 1, 0, 1, 0], "y": [0, 0, 1, 1, 1, 0], "z": [0, 0, 1, 1, 1, 1]})
    mine = ours.BDs(frame, 10).local_score("x", ("y", "z"))
    assert mine == pytest.approx(oracle.family_score(frame.to_numpy().T, [2, 2, 2], 0, [1, 2], "bds"), rel=1e-10)
    # three of four configurations occur: x is (0, 1), (0, 2 of 1), (0) there
    tables, own, shared = [[1, 1], [1, 2], [1, 0]], 10 / 6, 10 / 8
    rising = [[math.lgamma(a + n) - math.lgamma(a) for table in tables for n in table] for a in (own, shared)]
    configs = sum(math.lgamma(10 / 3 + sum(table)) - math.lgamma(10 / 3) for table in tables)
    assert mine == pytest.approx(sum(rising[0]) - configs, rel=1e-10)
    pgmpy = theirs.BDs(frame, 10).local_score("x", ("y", "z"))
    assert pgmpy == pytest.approx(sum(rising[1]) - configs - math.lgamma(10 / 3), rel=1e-10)
    assert abs(pgmpy - mine) > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_scores_serve_pgmpys_own_search(name, rng):
    """Edges may only lead from left to right: opposite edges would tie, and pgmpy decides ties by hash order."""
    frame = complete_frame(rng, [2, 3, 2, 2], 600)
    backward = [(head, tail) for tail, head in itertools.combinations(frame, 2)]
    found = {}
    for module in (ours, theirs):
        search = HillClimbSearch(
            scoring_method=getattr(module, name)(frame),
            return_type="dag",
            max_indegree=2,
            expert_knowledge=ExpertKnowledge(forbidden_edges=backward),
            show_progress=False,
        ).fit(frame)
        found[module] = search.causal_graph_
    assert set(found[ours].edges()) == set(found[theirs].edges())
    assert found[ours].number_of_edges() > 0
    judge = getattr(theirs, name)(frame)
    assert getattr(ours, name)(frame).score(found[ours]) == pytest.approx(judge.score(found[theirs]), rel=1e-10)

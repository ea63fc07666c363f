"""Parents that gain only together: pairs of them, and all sets of parents where these are few."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from pgmx.estimators import HillClimbSearch
from pgmx.scores import BIC, BDeu
from pgmx.search.dag import parent_pairs


@pytest.fixture(autouse=True)
def last_climb(monkeypatch, request):
    """End the last climb at a local optimum, so that it does not find the parents by itself."""
    if "patience" not in request.node.name:
        monkeypatch.setattr("pgmx.search.dag.best.LAST_PATIENCE", 0)


def make_parity(n, size, n_rows=400, seed=0):
    """Return a table of n binary columns: the last one is the parity of the first `size`, but in 1 of 20 rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (n_rows, n))
    codes[:, -1] = (codes[:, :size].sum(axis=1) + (rng.random(n_rows) < 0.05)) % 2
    return pd.DataFrame(codes, columns=[f"v{i}" for i in range(n)])


def learn(data, score="bic", **options):
    return HillClimbSearch(scoring_method=score, return_type="dag", show_progress=False, **options).fit(data)


def family_of_parity(learner, size):
    """Return whether the columns of the parity, in any order, are one variable with all others as parents."""
    members = {*(f"v{i}" for i in range(size)), learner.variables_[-1]}
    return any(members - {v} == set(learner.dag_.predecessors(v)) for v in members)


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_two_parents_of_a_parity_among_many_variables(score):
    data = make_parity(20, 2)
    assert not family_of_parity(learn(data, score, strategy="greedy"), 2)
    learner = learn(data, score, strategy="best")
    assert family_of_parity(learner, 2)
    assert "pairs of parents" in set(learner.history_["member"])


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_four_parents_of_a_parity_among_few_variables(score):
    data = make_parity(8, 4)
    learner = learn(data, score, strategy="best")
    assert family_of_parity(learner, 4)
    assert learner.history_["member"][-1] == "all sets of parents"
    assert learner.score_ == pytest.approx(learn(data, score, strategy="exact").score_, rel=1e-12)
    assert learner.proven_ is False


def test_sets_of_few_parents_where_all_would_be_too_many(monkeypatch):
    monkeypatch.setattr("pgmx.search.dag.parent_pairs.MOST_VARIABLES", 0)
    data = make_parity(8, 3)
    for most, size in ((8 * (1 + 7 + 21 + 35), True), (8 * (1 + 7 + 21 + 35) - 1, False)):
        monkeypatch.setattr("pgmx.search.dag.exact.MOST_DISCRETE_FAMILIES", most)
        assert family_of_parity(learn(data, strategy="best"), 3) == size


@pytest.mark.parametrize(("name", "score"), [("bic", BIC), ("bdeu", BDeu)])
def test_no_pair_gains_in_the_end(name, score, monkeypatch):
    monkeypatch.setattr("pgmx.search.dag.exact.MOST_MEMBERS_TO_FINISH", 0)
    data = make_parity(7, 2, n_rows=150, seed=3)
    learner = learn(data, name, strategy="best", max_indegree=3, forbidden_edges=[("v0", "v6")])
    dag, local = learner.dag_, score(data).local_score
    for child in dag:
        parents = sorted(dag.predecessors(child))
        if len(parents) > 1:  # max_indegree
            continue
        below = {child, *(v for v in dag if child in dag.get_ancestral_graph([v]))}
        others = [u for u in dag if u not in below and u not in parents and (u, child) != ("v0", "v6")]
        for pair in combinations(others, 2):
            assert local(child, [*parents, *pair]) <= local(child, parents) + 1e-4


def test_knowledge_decides_which_pairs_are_tried(monkeypatch):
    monkeypatch.setattr("pgmx.search.dag.exact.MOST_MEMBERS_TO_FINISH", 0)
    data = make_parity(6, 2)
    assert family_of_parity(learn(data, strategy="best"), 2)
    every = [(u, v) for u in data for v in ("v0", "v1", "v5") if u != v]
    for options in ({"forbidden_edges": every}, {"max_indegree": 1}, {"tiers": [["v5"], ["v0"], ["v1"]]}):
        if "tiers" in options:
            options["tiers"][0] += ["v2", "v3", "v4"]
        learner = learn(data, strategy="best", **options)
        assert family_of_parity(learner, 2) == ("tiers" in options)
    assert ("v5", "v1") in learner.dag_.edges


def test_large_families_are_left_out(monkeypatch):
    monkeypatch.setattr("pgmx.search.dag.exact.MOST_MEMBERS_TO_FINISH", 0)
    monkeypatch.setattr(parent_pairs, "MOST_CELLS", 3)
    assert not family_of_parity(learn(make_parity(6, 2), strategy="best"), 2)


def test_a_search_ended_between_pairs_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr("pgmx.search.dag.exact.MOST_MEMBERS_TO_FINISH", 0)
    data = pd.concat([make_parity(5, 2, seed=i).add_prefix(f"t{i}") for i in range(2)], axis=1)
    whole = learn(data, strategy="best")
    members = whole.history_["member"].tolist()
    assert members.count("pairs of parents") >= 2
    for most in range(whole.n_iter_ - 6, whole.n_iter_ + 1):
        path = tmp_path / f"{most}.ckpt"
        learn(data, strategy="best", checkpoint=path, checkpoint_every=1e9, max_iter=most)
        learner = learn(data, strategy="best", checkpoint=path)
        assert learner.edges_.tolist() == whole.edges_.tolist()
        assert (learner.n_iter_, learner.score_) == (whole.n_iter_, whole.score_)
        assert learner.history_["member"].tolist() == members


def test_a_last_climb_with_patience_finds_them_too(monkeypatch):
    monkeypatch.setattr("pgmx.search.dag.best.finish_exactly", lambda *arguments: False)
    monkeypatch.setattr("pgmx.search.dag.best.climb_by_pairs", lambda *arguments: None)
    data = make_parity(8, 4)
    learner = learn(data, strategy="best")
    assert family_of_parity(learner, 4)
    assert learner.history_["member"][-1] == "last climb"
    assert learner.score_ == pytest.approx(max(learner.history_["score"]), rel=1e-12)
    monkeypatch.setattr("pgmx.search.dag.best.LAST_PATIENCE", 0)
    assert not family_of_parity(learn(data, strategy="best"), 4)

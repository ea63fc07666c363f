"""``strategy="best"`` on all kinds of data, scores and knowledge: the optimum, and never below the others."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers.learning_tables import mixed_frame
from oracles.graphs import is_acyclic
from oracles.subset_networks import best_network_score
from pgmx.estimators import HillClimbSearch
from pgmx.scores import AIC, BIC, K2, BDeu, BGe, BICCondLinearGauss, BICDegenerateGauss, BICGauss, EdgePrior

SCORES = {
    **{"bic": BIC, "aic": AIC, "k2": K2, "bdeu": BDeu, "bic-g": BICGauss, "bge": BGe},
    **{"bic-clg": BICCondLinearGauss, "bic-dg": BICDegenerateGauss},
}
KNOWLEDGE = {
    "none": {},
    "required": {"required_edges": [("v3", "v0"), ("v4", "v0")]},
    "forbidden": {"forbidden_edges": [("v0", "v1"), ("v1", "v0"), ("v2", "v4")]},
    "tiers": {"tiers": [["v3", "v1"], ["v0", "v2"], ["v4"]]},
    "indegree": {"max_indegree": 1},
    "all": {
        "required_edges": [("v1", "v2")],
        "forbidden_edges": [("v3", "v2")],
        "tiers": [["v1", "v3", "v0"], ["v2", "v4"]],
        "max_indegree": 2,
    },
}


def make_states(seed, n=5, n_rows=120):
    """Return columns of two and three states; most follow two earlier ones jointly."""
    rng = np.random.default_rng([seed, 31])
    columns = []
    for v in range(n):
        noise = rng.integers(0, 2 + v % 2, n_rows)
        parents = [columns[u] for u in rng.permutation(v)[:2]]
        columns.append(np.where(rng.random(n_rows) < 0.75, sum(parents) % (2 + v % 2) if parents else noise, noise))
    return pd.DataFrame({f"v{i}": columns[u] for i, u in enumerate(rng.permutation(n))})


def make_numbers(seed, n=5, n_rows=120):
    rng = np.random.default_rng([seed, 32])
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6), 1)
    values = rng.normal(size=(n_rows, n)) @ np.linalg.inv(np.eye(n) - weights)
    return pd.DataFrame(values[:, rng.permutation(n)], columns=[f"v{i}" for i in range(n)])


def make_table(name, seed):
    if name.endswith(("clg", "dg")):
        mixed = mixed_frame(seed).set_axis(["v0", "v1", "v2", "v3"], axis=1)
        return mixed.assign(v4=np.where(np.random.default_rng(seed).random(200) < 0.8, mixed["v0"], "maybe"))
    return (make_numbers if name in ("bic-g", "bge") else make_states)(seed)


def learn(data, strategy="best", *, sample_weight=None, **options):
    options = {"return_type": "dag", "show_progress": False, **options}
    learner = HillClimbSearch(strategy=strategy, **options).fit(data, sample_weight=sample_weight)
    assert is_acyclic([tuple(edge) for edge in learner.edges_.tolist()])
    return learner


def find_optimum(local_score, options, n=5, mask=None):
    """Return the score of the best network under the options of a learner, by a plain program."""
    allowed = np.ones((n, n), dtype=bool) if mask is None else mask.copy()
    for tail, head in options.get("forbidden_edges", ()):
        allowed[int(head[1]), int(tail[1])] = False
    tier = {int(v[1]): i for i, names in enumerate(options.get("tiers", ())) for v in names}
    for u, v in combinations(range(n), 2) if tier else ():
        allowed[v, u] &= tier[v] >= tier[u]
        allowed[u, v] &= tier[u] >= tier[v]
    required = [(int(tail[1]), int(head[1])) for tail, head in options.get("required_edges", ())]
    most = options.get("max_indegree")
    return best_network_score(n, local_score, allowed=allowed, required=required, max_indegree=most)


def score_by(score):
    return lambda v, parents: score.local_score(f"v{v}", [f"v{p}" for p in parents])


@pytest.mark.parametrize("knowledge", KNOWLEDGE)
@pytest.mark.parametrize("name", SCORES)
def test_the_optimum_of_five_variables(name, knowledge):
    data, options, mask = make_table(name, 1), KNOWLEDGE[knowledge], None
    if name == "bic-clg":  # no arcs from continuous to discrete variables
        is_float = np.array([data[v].dtype.kind == "f" for v in data])
        mask = is_float[:, None] | ~is_float[None, :]
        if any(not mask[int(head[1]), int(tail[1])] for tail, head in options.get("required_edges", ())):
            options = {**options, "required_edges": [("v0", "v1")]}
    learner = learn(data, scoring_method=name, **options)
    assert learner.score_ == pytest.approx(find_optimum(score_by(SCORES[name](data)), options, mask=mask), rel=1e-9)
    assert learner.score_ == pytest.approx(learn(data, "exact", scoring_method=name, **options).score_, rel=1e-11)
    assert set(options.get("required_edges", ())) <= set(learner.dag_.edges)
    assert learner.converged_ and not learner.proven_


@pytest.mark.parametrize("name", ["bic", "bdeu", "bic-g", "bge", "bic-clg"])
def test_weights_stand_for_repeated_rows(name):
    data = make_table(name, 2)
    weights = np.random.default_rng(0).integers(0, 4, len(data)).astype(float)
    repeated = data.loc[np.repeat(np.arange(len(data)), weights.astype(int))].reset_index(drop=True)
    whole = learn(repeated, scoring_method=name)
    assert learn(data, scoring_method=name, sample_weight=weights).score_ == pytest.approx(whole.score_, rel=1e-9)
    fractions = {"scoring_method": name, "sample_weight": weights / 3 + 0.1}
    assert learn(data, **fractions).score_ == pytest.approx(learn(data, "exact", **fractions).score_, rel=1e-9)


@pytest.fixture
def holes():
    data = make_states(3, n_rows=200).astype(float)
    return data.mask(np.random.default_rng(1).random(data.shape) < 0.06).astype("Int64").astype("category")


def test_missing_values_drop_rows_or_are_a_state(holes):
    with pytest.warns(UserWarning, match="rows"):
        learner = learn(holes, missing="drop", scoring_method="bdeu")
    rows = holes.dropna().reset_index(drop=True)
    assert learner.score_ == pytest.approx(find_optimum(score_by(BDeu(rows)), {}), rel=1e-9)
    learner = learn(holes, missing="category", scoring_method="bic")
    filled = holes.astype(object).where(holes.notna(), "missing").astype(str)
    assert learner.score_ == pytest.approx(find_optimum(score_by(BIC(filled)), {}), rel=1e-9)


def test_missing_values_of_families(holes):
    learner = learn(holes, missing="pairwise", scoring_method="bic")
    assert learner.score_ == pytest.approx(
        learn(holes, "exact", missing="pairwise", scoring_method="bic").score_, rel=1e-9
    )
    every = [(u, v) for u in holes for v in holes if u != v]
    others = [learn(holes, missing="pairwise", scoring_method="bic", forbidden_edges=[arc]).score_ for arc in every]
    assert max(others) <= learner.score_ + 1e-9


def test_expected_counts_end_no_lower_than_those_of_other_searches(holes):
    scores = [
        learn(holes, strategy, missing="em", scoring_method="bic", random_state=0).score_
        for strategy in ("greedy", "best")
    ]
    assert scores[1] >= scores[0] - 1e-6


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("start_dag", ["random", "tree"])
def test_never_below_the_others_from_the_same_start(name, start_dag):
    data = make_table(name, len(start_dag))
    options = {"scoring_method": name, "start_dag": start_dag, "structure_prior": EdgePrior(0.3)}
    scores = [learn(data, strategy, **options).score_ for strategy in ("greedy", "thorough", "best", "exact")]
    assert scores[2] >= max(scores[:2]) - 1e-9
    assert scores[2] == pytest.approx(scores[3], rel=1e-11)


@pytest.mark.parametrize("name", ["bdeu", "bic-g", "bge", "bic-clg"])
def test_ended_and_resumed_as_if_it_had_not_been(name, tmp_path):
    data = make_table(name, 4)
    whole = learn(data, scoring_method=name)
    for part in (0.1, 0.5, 0.9, 0.99):
        options = {"scoring_method": name, "checkpoint": tmp_path / f"{part}.ckpt", "checkpoint_every": 1e9}
        short = learn(data, max_iter=int(part * whole.n_iter_), **options)
        assert short.stopped_by_ == "max_iter"
        learner = learn(data, **options)
        assert learner.edges_.tolist() == whole.edges_.tolist()
        assert (learner.score_, learner.n_iter_) == (whole.score_, whole.n_iter_)
        assert learner.history_["member"].tolist() == whole.history_["member"].tolist()


def test_what_the_clock_ends_is_a_graph_no_worse_than_the_first():
    data = make_states(5, 12, 200)
    with pytest.warns(ConvergenceWarning, match="max_time=0"):
        learner = learn(data, max_time=0)
    assert not learner.converged_
    assert learner.score_ >= learn(data, "greedy", max_iter=0).score_ - 1e-9
    ended = []
    learner = learn(data, callback=lambda progress: ended.append(progress) or len(ended) > 20)
    assert learner.stopped_by_ == "callback"
    assert learner.score_ == pytest.approx(max(one.score for one in ended), rel=1e-12)
    assert len(ended) == 21

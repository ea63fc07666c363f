"""The degenerate Gaussian score: its formula, its laws, its searches, what it refuses."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import dependent_frame, gaussian_frame
from helpers.mixed_tables import iris, parents_of, six_columns
from oracles.conditional_gaussian import dg_score
from pgmx.data import open_frame
from pgmx.data.mixed import read_mixed
from pgmx.estimators import (
    BestFirstSearch,
    BootstrapStructure,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    SimulatedAnnealing,
)
from pgmx.scores import BICDegenerateGauss, BICGauss, ParameterPrior

QUIET = {"show_progress": False, "return_type": "dag"}


def score_graph(frame, arcs, **options):
    parents = parents_of(frame, arcs)
    return sum(dg_score(frame, child, parents[child], **options) for child in frame)


@pytest.mark.parametrize("make", [six_columns, iris])
def test_every_family_follows_the_formula(make):
    frame = make()
    score = BICDegenerateGauss(frame)
    for child in frame:
        for size in range(4):
            for parents in itertools.combinations([name for name in frame if name != child], size):
                expected = dg_score(frame, child, parents)
                assert score.local_score(child, parents) == pytest.approx(expected, rel=1e-10), (child, parents)


def test_floats_alone_have_the_gaussian_score():
    frame = gaussian_frame(0)
    ours, plain = BICDegenerateGauss(frame), BICGauss(frame)
    names = list(frame)
    for k in range(len(names)):
        family = names[k], tuple(names[:k])
        assert ours.local_score(*family) == pytest.approx(plain.local_score(*family), rel=1e-11)


def test_equivalent_graphs_tie():
    frame = six_columns()
    forward = [("X", "S"), ("S", "T"), ("T", "R"), ("X", "T")]
    turned = [("S", "X"), ("S", "T"), ("T", "R"), ("X", "T")]
    score = BICDegenerateGauss(frame)

    def total(arcs):
        return sum(score.local_score(child, tuple(parents)) for child, parents in parents_of(frame, arcs).items())

    assert total(forward) == pytest.approx(total(turned), rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_gains_are_differences_of_scores(weighted, rng):
    frame = six_columns()
    weights = rng.uniform(0.1, 2.0, len(frame)) if weighted else None
    mixed = read_mixed(open_frame(frame))
    source = BICDegenerateGauss.from_mixed(mixed).make_source(mixed, weights, max_indegree=4)
    names, gains, scores = list(frame), np.empty((6, 6)), np.empty(6)
    source.start(gains, scores)
    np.testing.assert_array_equal(gains, gains.T)
    for child in range(6):
        assert scores[child] == pytest.approx(dg_score(frame, names[child], [], weights=weights), rel=1e-10)
        others = [v for v in range(6) if v != child]
        for size in range(5):
            for parents in itertools.combinations(others, size):
                ids = np.array(parents, dtype=np.int32)
                now = source.rescore(child, ids, gains)
                assert now == source.family_score(child, ids)
                expected = dg_score(frame, names[child], [names[p] for p in parents], weights=weights)
                assert now == pytest.approx(expected, rel=1e-9)
                for u in others:
                    if u not in parents and size == 4:
                        assert gains[child, u] == -np.inf
                        continue
                    family = np.array(sorted({*parents} ^ {u}), dtype=np.int32)
                    assert gains[child, u] == pytest.approx(source.family_score(child, family) - now, abs=2e-5)


def test_both_directions_tie_to_the_last_bit(rng):
    frame = six_columns()
    score = BICDegenerateGauss(frame)
    source, gains = score.make_source(score.mixed), np.empty((6, 6))
    for parents in [(), (3,), (0, 4)]:
        ids = np.array(parents, dtype=np.int32)
        for u, v in itertools.combinations([v for v in range(6) if v not in parents], 2):
            source.rescore(u, ids, gains)
            source.rescore(v, ids, gains)
            assert gains[u, v] == gains[v, u]


SEARCHES = {
    "greedy": lambda: HillClimbSearch(scoring_method="bic-dg", **QUIET),
    "thorough": lambda: HillClimbSearch(scoring_method="bic-dg", strategy="thorough", **QUIET),
    "best": lambda: HillClimbSearch(scoring_method="bic-dg", strategy="best", **QUIET),
    "exact": lambda: HillClimbSearch(scoring_method="bic-dg", strategy="exact", **QUIET),
    "restarts": lambda: HillClimbSearch(scoring_method="bic-dg", n_restarts=2, **QUIET),
    "equivalence": lambda: GreedyEquivalenceSearch(scoring_method="bic-dg", **QUIET),
    "annealing": lambda: SimulatedAnnealing(scoring_method="bic-dg", n_draws=200, **QUIET),
    "best first": lambda: BestFirstSearch(scoring_method="bic-dg", patience=5, **QUIET),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_ends_at_the_score_of_its_graph(name):
    frame = six_columns()
    learner = SEARCHES[name]().fit(frame)
    arcs = list(learner.dag_.edges())
    assert learner.score_ == pytest.approx(score_graph(frame, arcs), abs=1e-6)
    truth = [("R", "S"), ("S", "T"), ("R", "X"), ("S", "Y"), ("X", "Y"), ("S", "Z"), ("T", "Z"), ("X", "Z"), ("Y", "Z")]
    finds_optimum = name in ("thorough", "best", "exact")
    assert learner.score_ >= score_graph(frame, truth) - (1e-6 if finds_optimum else 3.0)


def test_weights_holes_and_resampling(rng, tmp_path):
    frame = six_columns()
    weights = rng.integers(0, 4, len(frame))
    repeated = frame.loc[np.repeat(frame.index, weights)].reset_index(drop=True)
    weighted = HillClimbSearch(scoring_method="bic-dg", **QUIET).fit(frame, sample_weight=weights)
    again = HillClimbSearch(scoring_method="bic-dg", **QUIET).fit(repeated)
    assert weighted.score_ == pytest.approx(again.score_, abs=1e-5)
    boot = BootstrapStructure(HillClimbSearch(scoring_method="bic-dg", show_progress=False), n_resamples=3).fit(frame)
    assert len(boot.edges_) >= 5
    holes = frame.assign(X=frame["X"].where(frame.index != 7))
    dropped = HillClimbSearch(scoring_method="bic-dg", missing="drop", **QUIET).fit(holes)
    assert dropped.score_ == HillClimbSearch(scoring_method="bic-dg", **QUIET).fit(frame.drop(index=7)).score_
    stopped = HillClimbSearch(scoring_method="bic-dg", max_iter=2, checkpoint=tmp_path / "c", **QUIET).fit(frame)
    assert stopped.stopped_by_ == "max_iter"
    resumed = HillClimbSearch(scoring_method="bic-dg", checkpoint=tmp_path / "c", **QUIET).fit(frame)
    assert resumed.score_ == HillClimbSearch(scoring_method="bic-dg", **QUIET).fit(frame).score_


def test_priors_and_travel():
    frame = six_columns()
    score = BICDegenerateGauss(frame)
    assert pickle.loads(pickle.dumps(score)).local_score("S", ("X",)) == score.local_score("S", ("X",))
    sparse = HillClimbSearch(scoring_method=score, structure_prior=ParameterPrior(50.0), **QUIET).fit(frame)
    assert len(sparse.edges_) < len(HillClimbSearch(scoring_method=score, **QUIET).fit(frame).edges_)


def test_columns_of_one_kind_and_states_that_do_not_occur():
    states = dependent_frame(0).astype("category")
    learner = HillClimbSearch(scoring_method="bic-dg", **QUIET).fit(states)
    assert learner.score_ == pytest.approx(score_graph(states, list(learner.dag_.edges())), abs=1e-6)
    frame = six_columns()
    wider = frame.assign(T=frame["T"].cat.add_categories("never"))
    plain, other = BICDegenerateGauss(frame), BICDegenerateGauss(wider)
    assert other.local_score("Z", ("T", "X")) == plain.local_score("Z", ("T", "X"))
    single = frame.assign(one=pd.Categorical(["only"] * len(frame)))
    learner = HillClimbSearch(scoring_method="bic-dg", **QUIET).fit(single)
    assert not [arc for arc in learner.dag_.edges() if "one" in arc]


def test_variables_that_determine_each_other_are_not_joined():
    frame = six_columns().assign(W=lambda f: 2 * f["X"] - 3, Q=lambda f: f["S"].cat.rename_categories(["a", "b", "c"]))
    learner = HillClimbSearch(scoring_method="bic-dg", **QUIET).fit(frame)
    assert not {("X", "W"), ("W", "X"), ("S", "Q"), ("Q", "S")} & set(learner.dag_.edges())
    with pytest.raises(ValueError, match="'Q' is determined by others among 'Q' and its parents"):
        BICDegenerateGauss(frame).local_score("Q", ("S",))


def test_fewer_rows_than_columns(rng):
    """Families of as many columns as rows have no maximum of the likelihood: a search ends before them."""
    frame = pd.DataFrame(rng.normal(size=(9, 40)), columns=[f"x{v}" for v in range(40)])
    frame["k"] = pd.Categorical(rng.integers(0, 3, 9).astype(str))
    for strategy in ("greedy", "thorough"):
        learner = HillClimbSearch(scoring_method="bic-dg", strategy=strategy, **QUIET).fit(frame)
        assert np.isfinite(learner.score_)
        assert learner.score_ == pytest.approx(score_graph(frame, list(learner.dag_.edges())), rel=1e-4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(X=1.0), "columns 'X' are constant"),
        (lambda f: f.assign(X=np.inf), "infinite values .* 'X'"),
        (lambda f: f.assign(X=f["X"].where(f.index > 3)), "'X'"),
    ],
)
def test_bad_tables(change, message):
    with pytest.raises(ValueError, match=message):
        BICDegenerateGauss(change(six_columns()))

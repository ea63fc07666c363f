"""Checkpoints of the learners: taken up wherever they were interrupted, refused where they are another search's."""

import os

import numpy as np
import pytest
from pgmpy.structure_score import BaseStructureScore
from sklearn.base import clone

from helpers.learning_tables import dependent_frame, gaussian_frame, mixed_frame
from pgmx.estimators import BestFirstSearch, GreedyEquivalenceSearch, HillClimbSearch, SimulatedAnnealing
from pgmx.scores import EdgePrior

SEARCHES = {
    "greedy": lambda **options: HillClimbSearch(**options),
    "tabu": lambda **options: HillClimbSearch(patience=8, tabu_length=3, **options),
    "restarts": lambda **options: HillClimbSearch(n_restarts=3, **options),
    "thorough": lambda **options: HillClimbSearch(strategy="thorough", **options),
    "best": lambda **options: HillClimbSearch(strategy="best", **options),
    "all of these": lambda **options: HillClimbSearch(strategy="thorough", patience=5, n_restarts=2, **options),
    "annealing": lambda **options: SimulatedAnnealing(n_draws=200, **options),
    "best first": lambda **options: BestFirstSearch(patience=10, **options),
    "classes": lambda **options: GreedyEquivalenceSearch(**options),
}
every_search = pytest.mark.parametrize(
    "make",
    [pytest.param(make, marks=[pytest.mark.slow] if name == "best" else []) for name, make in SEARCHES.items()],
    ids=SEARCHES,
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.ckpt"


def same(learner, expected):
    assert learner.edges_.tolist() == expected.edges_.tolist()
    assert learner.score_ == expected.score_
    assert learner.n_iter_ == expected.n_iter_
    assert learner.converged_ == expected.converged_
    for name in ("score", "n_edges"):
        assert learner.history_[name].tolist() == expected.history_[name].tolist()
    assert (np.diff(learner.history_["seconds"]) >= 0).all()


@every_search
@pytest.mark.parametrize(
    ("data", "options"),
    [
        (dependent_frame(0), {"scoring_method": "bdeu"}),
        (dependent_frame(1), {"scoring_method": "k2", "structure_prior": EdgePrior(0.3)}),
        (dependent_frame(2), {"required_edges": [("e", "a")], "root_nodes": ["d"], "max_candidates": 2}),
        (dependent_frame(3), {"start_dag": "tree", "max_indegree": 2}),
        (dependent_frame(4), {"start_dag": "random", "random_state": 7}),
        (gaussian_frame(0), {}),
    ],
    ids=["bdeu", "prior", "knowledge", "tree", "random", "gaussian"],
)
@pytest.mark.slow
def test_interrupted_after_so_many_moves(path, make, data, options):
    plain = make(**options).fit(data)
    step = 1 + plain.n_iter_ // 10
    for most in range(1, plain.n_iter_ + step + 1, step):
        learner = make(checkpoint=str(path), checkpoint_every=1e9, max_iter=most, **options).fit(data)
        if learner.converged_:
            break
        assert path.exists()
        assert learner.n_iter_ <= most
    same(learner, plain)
    assert os.listdir(path.parent) == []


def test_moves_of_the_first_climb_over_orders_count_once(path):
    data, options = dependent_frame(3), {"start_dag": "tree", "max_indegree": 2}
    whole = HillClimbSearch(strategy="best", **options).fit(data)
    first = HillClimbSearch(strategy="thorough", **options).fit(data).n_iter_
    for most in range(first, first + 10):
        HillClimbSearch(strategy="best", checkpoint=path, checkpoint_every=1e9, max_iter=most, **options).fit(data)
        same(HillClimbSearch(strategy="best", checkpoint=path, **options).fit(data), whole)


@every_search
def test_interrupted_by_the_callback(path, make):
    data = dependent_frame(0)
    plain, told = make().fit(data), []
    for _ in range(len(plain.history_["score"]) + 2):
        learner = make(checkpoint=path, callback=lambda progress: told.append(progress) or len(told) % 4 == 0).fit(data)
        if learner.converged_:
            break
    same(learner, plain)
    assert [progress.score for progress in told] == plain.history_["score"].tolist()


@every_search
@pytest.mark.parametrize("moment", [0.0, 0.3, 0.8])
def test_interrupted_by_an_error(path, make, moment):
    """The last snapshot counts, whatever ended the run after it."""
    data, told = dependent_frame(0), []
    plain = make().fit(data)

    def fail(progress):
        told.append(progress)
        if len(told) > moment * len(plain.history_["score"]):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(checkpoint=path, checkpoint_every=0, callback=fail).fit(data)
    same(make(checkpoint=path).fit(data), plain)


@every_search
def test_watching_changes_nothing(path, make):
    data = dependent_frame(0)
    same(make(checkpoint=path, checkpoint_every=0).fit(data), make().fit(data))
    assert os.listdir(path.parent) == []


def test_scores_of_pgmpy_go_on_too(path):
    data = mixed_frame(0)
    plain = HillClimbSearch(max_indegree=1).fit(data)
    HillClimbSearch(max_indegree=1, checkpoint=path, max_iter=1).fit(data)
    same(HillClimbSearch(max_indegree=1, checkpoint=path).fit(data), plain)


def test_restarts_go_on_with_another_number_of_threads(path):
    data = dependent_frame(0)
    plain = HillClimbSearch(n_restarts=12).fit(data)
    HillClimbSearch(n_restarts=12, checkpoint=path, max_iter=plain.n_iter_ // 2).fit(data)
    same(HillClimbSearch(n_restarts=12, checkpoint=path, n_jobs=2).fit(data), plain)


def test_out_of_time_and_on_again(path):
    """Each run has `max_time` of its own; the seconds of the history add up."""
    data = dependent_frame(0)
    plain = HillClimbSearch(strategy="thorough").fit(data)
    first = HillClimbSearch(strategy="thorough", checkpoint=path, max_iter=4).fit(data)
    stopped = HillClimbSearch(strategy="thorough", checkpoint=path, max_time=0).fit(data)
    assert not stopped.converged_
    assert stopped.edges_.tolist() == first.edges_.tolist()
    learner = HillClimbSearch(strategy="thorough", checkpoint=path, max_time=1000).fit(data)
    same(learner, plain)
    assert learner.history_["seconds"][3] == first.history_["seconds"][3]


@pytest.mark.filterwarnings("ignore:max_time=")
def test_no_time_for_the_first_gains_is_no_place_to_go_on_from(path):
    class Slow(BaseStructureScore):
        def _local_score(self, variable, parents):
            return -float(len(parents))

    data = dependent_frame(0)
    assert not HillClimbSearch(scoring_method=Slow(data), checkpoint=path, max_time=0).fit(data).converged_
    assert HillClimbSearch(scoring_method=Slow(data), checkpoint=path).fit(data).converged_


# ---- what is refused ----

THOROUGH = {"strategy": "thorough", "scoring_method": "bic"}


@pytest.mark.parametrize(
    "change",
    [
        {"strategy": "greedy"},
        {"scoring_method": "aic"},
        {"scoring_method": "k2"},
        {"structure_prior": EdgePrior(0.5)},
        {"random_state": 1},
        {"max_indegree": 1},
        {"max_candidates": 1},
        {"n_restarts": 1},
        {"n_restart_moves": 3},
        {"epsilon": 0.5},
        {"tabu_length": 1},
        {"patience": 1},
        {"start_dag": "tree"},
        {"start_dag": "random"},
        {"required_edges": [("e", "a")]},
        {"forbidden_edges": [("a", "b")]},
    ],
    ids=str,
)
def test_other_options_are_another_search(path, change):
    data = dependent_frame(0)
    HillClimbSearch(checkpoint=path, max_iter=3, **THOROUGH).fit(data)
    before = path.read_bytes()
    with pytest.raises(
        ValueError, match=r"search\.ckpt.*another search.*delete the file to begin again, or name another"
    ):
        HillClimbSearch(checkpoint=path, **{**THOROUGH, **change}).fit(data)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "other", [dependent_frame(1), dependent_frame(0)[:-1], dependent_frame(0)[["b", "a", "c", "d", "e"]]]
)
def test_other_data_are_another_search(path, other):
    HillClimbSearch(checkpoint=path, max_iter=3).fit(dependent_frame(0))
    with pytest.raises(ValueError, match="another search"):
        HillClimbSearch(checkpoint=path).fit(other)


def test_another_learner_or_weights_are_another_search(path):
    data = dependent_frame(0)
    HillClimbSearch(checkpoint=path, max_iter=3).fit(data)
    for learner in (SimulatedAnnealing(checkpoint=path), BestFirstSearch(checkpoint=path)):
        with pytest.raises(ValueError, match="another search"):
            learner.fit(data)
    with pytest.raises(ValueError, match="another search"):
        HillClimbSearch(checkpoint=path).fit(data, sample_weight=np.arange(len(data)))


def test_limits_and_watchers_may_differ(path):
    data = dependent_frame(0)
    HillClimbSearch(checkpoint=path, max_iter=3, max_time=50, callback=print).fit(data)
    learner = HillClimbSearch(checkpoint=path, checkpoint_every=0, n_jobs=2, return_type="dag", show_progress=False)
    same(learner.fit(data.set_axis(list("vwxyz"), axis=1)), HillClimbSearch().fit(data))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"a,b\n1,2\n"])
def test_other_files_are_never_overwritten(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"search\.ckpt.*delete the file to begin again"):
        HillClimbSearch(checkpoint=path).fit(dependent_frame(0))
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"checkpoint": 3}, r"'checkpoint'.*3"),
        ({"checkpoint": "no_such_folder/x.ckpt"}, r"no_such_folder.*make it first"),
        ({"checkpoint": "."}, r"'\.' is a folder"),
        ({"checkpoint_every": -1}, r"'checkpoint_every'.*-1"),
        ({"checkpoint_every": "1 min"}, r"'checkpoint_every'.*'1 min'"),
        ({"checkpoint": "x.ckpt", "random_state": None}, r"random_state=None.*give a seed"),
    ],
    ids=str,
)
def test_bad_values(options, words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        HillClimbSearch(**options).fit(dependent_frame(0))
    assert os.listdir(tmp_path) == []


def test_generators_begin_from_the_same_draws(path):
    data = dependent_frame(0)
    for make in (np.random.default_rng, np.random.RandomState):
        plain = HillClimbSearch(n_restarts=4, random_state=make(3)).fit(data)
        HillClimbSearch(n_restarts=4, random_state=make(3), checkpoint=path, max_iter=6).fit(data)
        same(HillClimbSearch(n_restarts=4, random_state=make(3), checkpoint=path).fit(data), plain)


def test_a_clone_writes_to_the_same_file(path):
    learner = HillClimbSearch(checkpoint=path, max_iter=2)
    clone(learner).fit(dependent_frame(0))
    assert path.exists()
    assert clone(learner).checkpoint == path

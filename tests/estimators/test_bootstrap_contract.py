"""BootstrapStructure keeps scikit-learn's contract and pgmpy's, and says what is wrong."""

import copy
import pickle

import numpy as np
import pandas as pd
import pgmpy.structure_score
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.bootstraps import boot, same
from helpers.learning_tables import dependent_frame, gaussian_frame
from pgmx.data import Discretizer, open_table, write_table
from pgmx.estimators import BootstrapStructure, ChowLiuForest, EdgeGrafting, HillClimbSearch
from pgmx.estimators.bootstrap import pack_graphs, read_graphs
from pgmx.graphs.consensus import make_marks
from pgmx.runs.checkpoint import Snapshot


@parametrize_with_checks([boot(HillClimbSearch(), 2)])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_options_reach_the_learner():
    learner = boot(HillClimbSearch(max_indegree=2))
    assert learner.get_params(deep=True)["estimator__max_indegree"] == 2
    learner.set_params(estimator__max_indegree=1, n_resamples=3)
    assert learner.estimator.max_indegree == 1
    copied = clone(learner)
    assert copied.estimator is not learner.estimator
    assert copied.get_params()["estimator__max_indegree"] == 1
    assert copied.n_resamples == 3
    assert copied.fit(dependent_frame(0)).dag_.in_degree("e") <= 1


def test_estimate_learns_from_the_data_of_the_learner():
    data = dependent_frame(0)
    bound = boot(HillClimbSearch(data))
    assert bound.estimate() is bound.graph_
    assert same(bound, boot().fit(data))
    assert bound.variables == list(data)
    assert clone(bound).data is None
    with pytest.raises(ValueError, match="made without data"):
        boot().estimate()


def test_the_frame_is_untouched():
    for data in (dependent_frame(0), gaussian_frame(0)):
        before = copy.deepcopy(data)
        boot(n_resamples=2).fit(data)
        pd.testing.assert_frame_equal(data, before, check_exact=True)


def test_pickle_of_a_fitted_one():
    fitted = boot(n_resamples=4).fit(dependent_frame(0))
    copied = pickle.loads(pickle.dumps(fitted))
    assert same(copied, fitted)
    assert copied.model_.get_cpds("a") == fitted.model_.get_cpds("a")


def test_grid_search_and_pipeline():
    def held(fitted, X, y=None):
        return fitted.threshold_

    grid = GridSearchCV(boot(n_resamples=2), {"estimator__max_indegree": [0, 1]}, cv=2, scoring=held)
    grid.set_params(estimator__estimator=HillClimbSearch())
    assert grid.fit(dependent_frame(0)).best_params_["estimator__max_indegree"] in (0, 1)
    fitted = make_pipeline(Discretizer(n_bins=3), boot(n_resamples=2)).fit(gaussian_frame(0))
    assert list(fitted[-1].graph_.nodes()) == list("abcd")


def test_score_of_the_consensus():
    data = dependent_frame(0)
    fitted = boot(n_resamples=3).fit(data)
    assert fitted.score(true_graph=fitted.dag_) == 0
    assert np.isfinite(fitted.score(data))


# ---- inputs ----


def test_plane_file_and_coded_table(tmp_path):
    data = dependent_frame(0)
    path = tmp_path / "data.pgmx"
    write_table(data, path)
    expected = boot().fit(data)
    assert same(boot().fit(open_table(path)), expected)
    assert same(boot().fit(path), expected)
    assert same(boot(n_jobs=2).fit(str(path)), expected)


@pytest.mark.parametrize("missing", ["drop", "category", "pairwise"])
def test_missing_values(missing):
    data = dependent_frame(0).astype("Int64")
    data.iloc[::7, 1] = pd.NA
    learner = HillClimbSearch(missing=missing, scoring_method="bic")
    fitted = boot(learner, 6).fit(data)
    assert same(boot(learner, 6, n_jobs=2).fit(data), fitted)
    assert fitted.model_.check_model()
    if missing == "drop":
        names = {name: sorted(data[name].dropna().unique()) for name in data}
        weights = np.arange(len(data)) % 3
        whole = data.notna().all(axis=1).to_numpy()
        known = HillClimbSearch(scoring_method="bic", state_names=names)
        assert same(
            boot(learner).fit(data, sample_weight=weights), boot(known).fit(data[whole], sample_weight=weights[whole])
        )
    with pytest.raises(ValueError, match=r"missing values .* 'b'"):
        boot(HillClimbSearch(scoring_method="bic")).fit(data)


def test_missing_numbers():
    data = gaussian_frame(0)
    data.iloc[::9, 2] = np.nan
    with pytest.raises(ValueError, match=r"missing values .* 'c'"):
        boot().fit(data)
    whole = data.dropna()
    assert same(boot(HillClimbSearch(missing="drop")).fit(data), boot().fit(whole))


# ---- limits ----


def test_max_time_keeps_what_is_done():
    data = dependent_frame(0)
    with pytest.warns(ConvergenceWarning, match="one resample, whose search was interrupted"):
        stopped = boot(n_resamples=50, max_time=0).fit(data)
    assert stopped.n_resamples_ == 1
    assert (stopped.converged_, stopped.stopped_by_) == (False, "max_time")
    full = boot(n_resamples=3, max_time=1000, n_jobs=2).fit(data)
    assert (full.converged_, full.stopped_by_) == (True, "converged")
    assert full.n_resamples_ == 3


def test_the_callback_sees_each_resample_and_ends_the_run():
    data, seen = dependent_frame(0), []
    full = boot(n_resamples=4, callback=seen.append).fit(data)
    assert full.converged_
    assert [progress.n_iter for progress in seen] == [1, 2, 3, 4]
    assert [progress._fields for progress in seen] == [("n_iter", "seconds")] * 4
    stopped = boot(n_resamples=50, callback=lambda progress: progress.n_iter == 3).fit(data)
    assert (stopped.n_resamples_, stopped.converged_, stopped.stopped_by_) == (3, False, "callback")
    assert same(stopped, boot(n_resamples=3).fit(data))


def test_bar_counts_the_resamples(capfd, monkeypatch):
    monkeypatch.setattr("pgmx.runs.progress.ProgressBar.DELAY", -1.0)
    BootstrapStructure(n_resamples=3).fit(dependent_frame(0))
    out, err = capfd.readouterr()
    assert out == ""
    assert "BootstrapStructure" in err
    assert "3/3" in err


def test_checkpoint_and_progress_of_the_learner_are_left_out(tmp_path, capfd):
    path = tmp_path / "search.ckpt"
    learner = HillClimbSearch(checkpoint=path, checkpoint_every=0, show_progress=True)
    fitted = boot(learner, 3).fit(dependent_frame(0))
    assert not path.exists()
    assert same(fitted, boot(n_resamples=3).fit(dependent_frame(0)))
    assert capfd.readouterr() == ("", "")


# ---- checkpoints ----


@pytest.mark.parametrize(
    ("learner", "data", "weights"),
    [
        (HillClimbSearch(scoring_method="bic"), dependent_frame(0), None),
        (HillClimbSearch(return_type="dag", random_state=None), dependent_frame(0), np.arange(300) % 3),
        (HillClimbSearch(), gaussian_frame(0), None),
        pytest.param(EdgeGrafting(lam=0.05), dependent_frame(0), None, marks=pytest.mark.slow),
    ],
)
def test_a_killed_bootstrap_goes_on(learner, data, weights, tmp_path):
    path, calls = tmp_path / "boot.ckpt", []
    whole = boot(learner, 7).fit(data, sample_weight=weights)
    for n_jobs in (1, 2, None):
        n_first = len(calls)
        part = boot(
            learner,
            7,
            checkpoint=path,
            checkpoint_every=0,
            n_jobs=n_jobs,
            callback=lambda progress: calls.append(progress) or len(calls) == n_first + 2,  # noqa: B023
        )
        part.fit(data, sample_weight=weights)
        assert (part.stopped_by_, path.exists()) == ("callback", True)
    assert part.n_resamples_ == 6
    last = boot(learner, 7, checkpoint=path, callback=calls.append).fit(data, sample_weight=weights)
    assert [progress.n_iter for progress in calls] == list(range(1, 8))
    assert same(last, whole)
    assert not path.exists()


def test_an_interrupted_bootstrap_leaves_a_checkpoint_from_which_more_resamples_are_made(tmp_path):
    path, data = tmp_path / "boot.ckpt", dependent_frame(0)

    def fail(progress):
        if progress.n_iter == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        boot(n_resamples=5, checkpoint=path, callback=fail).fit(data)
    assert same(boot(n_resamples=8, checkpoint=path).fit(data), boot(n_resamples=8).fit(data))


@pytest.mark.parametrize(
    ("estimator", "options"),
    [(HillClimbSearch(max_indegree=1), {}), (ChowLiuForest(), {}), (HillClimbSearch(), {"random_state": 3})],
)
def test_the_checkpoint_of_another_bootstrap_is_refused(estimator, options, tmp_path):
    path, data = tmp_path / "boot.ckpt", dependent_frame(0)
    boot(HillClimbSearch(), 4, checkpoint=path, callback=lambda progress: True).fit(data)
    with pytest.raises(ValueError, match=r"boot\.ckpt.*another search"):
        boot(estimator, 4, checkpoint=path, **options).fit(data)
    with pytest.raises(ValueError, match=r"boot\.ckpt.*another search"):
        boot(HillClimbSearch(), 4, checkpoint=path).fit(dependent_frame(1))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": "tree"}, "unknown kind"),
        ({"numbers": np.array([0, 0])}, "a value in 'numbers' twice"),
        ({"sizes": np.array([[1, 0], [0, 9]])}, "outside"),
        ({"sizes": np.array([[1, 0], [0, 0]])}, "numbers of edges"),
        ({"edges": np.array([[0, 1], [2, 2]], dtype=np.int32)}, "to itself"),
        ({"edges": np.array([[0, 1], [2, 99]], dtype=np.int32)}, "outside"),
        ({"edges": np.array([[0, 1], [1, 0]], dtype=np.int32), "sizes": np.array([[2, 0], [0, 0]])}, "joined twice"),
        ({"kind": "dag"}, "edges that a dag cannot have"),
    ],
)
def test_changed_graphs_are_refused(change, words):
    marks = [make_marks([(0, 1)]), make_marks([], [(1, 2)])]
    packed = pack_graphs({k: ("pdag", of_one) for k, of_one in enumerate(marks)})
    assert [marks.directed.tolist() for _, marks in read_graphs(Snapshot(packed), 5).values()] == [[[0, 1]], []]
    with pytest.raises(ValueError, match=words):
        read_graphs(Snapshot({**packed, **change}), 5)


# ---- what is refused ----


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": "bic"}, "estimator"),
        ({"estimator": HillClimbSearch}, "estimator"),
        ({"n_resamples": 0}, "n_resamples"),
        ({"n_resamples": 2.5}, "n_resamples"),
        ({"max_time": -1}, "max_time"),
        ({"n_jobs": "two"}, "n_jobs"),
        ({"random_state": "seed"}, "random_state"),
        ({"show_progress": "no"}, "show_progress"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(ValueError, match=words):
        BootstrapStructure(**options).fit(dependent_frame(0))


def test_unfitted():
    for attribute in ("graph_", "dag_", "model_", "strengths_", "edge_probability_", "direction_probability_"):
        with pytest.raises(AttributeError, match="BootstrapStructure is not fitted yet"):
            getattr(boot(), attribute)
    with pytest.raises(AttributeError, match="not fitted"):
        boot().consensus_graph()


@pytest.mark.parametrize("threshold", [-0.1, 1.5, float("nan"), "high"])
def test_wrong_thresholds(threshold):
    fitted = boot(n_resamples=1).fit(dependent_frame(0))
    with pytest.raises(ValueError, match="threshold must be a share of resamples, between 0 and 1"):
        fitted.consensus_graph(threshold)


def test_what_the_learner_refuses_is_refused_before_the_resamples():
    data = dependent_frame(0)
    with pytest.raises(ValueError, match="no such score"):
        boot(HillClimbSearch(scoring_method="no such score")).fit(data)
    with pytest.raises(ValueError, match=r"K2\(\.\.\.\) is a score object of pgmpy with its own rows"):
        boot(HillClimbSearch(scoring_method=pgmpy.structure_score.K2(data))).fit(data)
    with pytest.raises(ValueError, match="class_node='z'"):
        boot(ChowLiuForest(class_node="z"), n_jobs=2).fit(data)
    for weights in ([1.0, 2.0], np.full(len(data), -1.0), np.zeros(len(data))):
        with pytest.raises(ValueError, match="sample_weight"):
            boot().fit(data, sample_weight=weights)

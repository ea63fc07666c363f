"""missing="em" with a checkpoint: a run that was cut short continues to the same result; other runs are refused."""

import numpy as np
import pandas as pd
import pytest

from helpers.learning_tables import dependent_frame
from pgmx.estimators import HillClimbSearch
from pgmx.estimators.bayesian.structural_em import StructuralEM

OPTIONS = {"missing": "em", "n_em_restarts": 2, "show_progress": False, "return_type": "dag", "checkpoint_every": 0}


def table_of(kind):
    rng = np.random.default_rng(5)
    frame = dependent_frame(0).astype("Int64")
    if kind != "states":
        frame = frame.astype(float) + 0.3 * rng.normal(size=frame.shape)
    if kind == "mixed":
        frame["a"] = pd.Categorical(frame["a"].round().clip(0, 1).astype(int))
        frame["c"] = pd.Categorical(frame["c"].round().clip(0, 1).astype(int))
    return frame.mask(rng.random(frame.shape) < 0.3)


def same(mine, other):
    np.testing.assert_array_equal(mine.edges_, other.edges_)
    assert mine.score_ == other.score_
    assert mine.observed_log_likelihood_ == other.observed_log_likelihood_
    assert (mine.n_iter_, mine.n_em_iter_) == (other.n_iter_, other.n_em_iter_)
    np.testing.assert_array_equal(mine.history_["score"], other.history_["score"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["states", "floats", "mixed"])
def test_a_run_that_was_killed_goes_on_to_the_same_graph(kind, tmp_path, monkeypatch):
    data, path = table_of(kind), tmp_path / "em.ckpt"
    whole = HillClimbSearch(**OPTIONS).fit(data)
    improve = StructuralEM._improve
    for most in range(1, whole.n_em_iter_ + 1):
        calls = []

        def die(em, present, calls=calls, most=most):
            calls.append(present)
            if len(calls) == most:
                raise RuntimeError("killed")
            return improve(em, present)

        monkeypatch.setattr(StructuralEM, "_improve", die)
        with pytest.raises(RuntimeError, match="killed"):
            HillClimbSearch(checkpoint=path, **OPTIONS).fit(data)
        monkeypatch.setattr(StructuralEM, "_improve", improve)
        same(HillClimbSearch(checkpoint=path, **OPTIONS).fit(data), whole)
        assert not path.exists()
    assert whole.n_em_iter_ >= 3


@pytest.mark.filterwarnings("ignore:max_time")
def test_a_limit_of_time_leaves_a_place_to_go_on_from(tmp_path):
    data, path = table_of("floats"), tmp_path / "em.ckpt"
    whole = HillClimbSearch(**OPTIONS).fit(data)
    options = {**OPTIONS, "checkpoint_every": 1e9}
    HillClimbSearch(checkpoint=path, max_time=0.0, **options).fit(data)
    assert not path.exists()  # no graph was whole
    HillClimbSearch(checkpoint=path, callback=lambda progress: True, **options).fit(data)
    assert path.exists()
    same(HillClimbSearch(checkpoint=path, **options).fit(data), whole)


def test_other_runs_and_changed_files_are_refused(tmp_path):
    data, path = table_of("floats"), tmp_path / "em.ckpt"
    HillClimbSearch(checkpoint=path, callback=lambda progress: True, **OPTIONS).fit(data)
    for other, options in (
        (data + 1.0, OPTIONS),
        (data, OPTIONS | {"max_iter": 3}),
        (data, OPTIONS | {"epsilon": 1.0}),
    ):
        with pytest.raises(ValueError, match="is of another search"):
            HillClimbSearch(checkpoint=path, **options).fit(other)
    with pytest.raises(ValueError, match="is of another search"):
        HillClimbSearch(checkpoint=path, forbidden_edges=[("a", "b")], **OPTIONS).fit(data)
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(ValueError, match="cannot be read|is damaged"):
        HillClimbSearch(checkpoint=path, **OPTIONS).fit(data)

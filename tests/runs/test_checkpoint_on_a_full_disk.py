"""A checkpoint that cannot be written costs a warning, not the search."""

import resource
import shutil

import pandas as pd
import pytest

from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch, OnlineEdgeGrafting
from tests.helpers.processes import run_in_child

LIMIT = 512


@pytest.fixture(scope="module")
def frame():
    return sample(load_network("asia"), 500, random_state=0)


def learners(**options):
    yield HillClimbSearch(show_progress=False, **options)
    yield OnlineEdgeGrafting(show_progress=False, lam_ratio=0.3, **options)


@pytest.mark.parametrize("which", [0, 1])
def test_a_full_disk(tmp_path, frame: pd.DataFrame, which):
    path = tmp_path / "run.npz"
    expected = list(learners())[which].fit(frame)

    def fit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
        learner = list(learners(checkpoint=path, checkpoint_every=0))[which]
        with pytest.warns(RuntimeWarning, match=r"checkpoint=.*run\.npz.*cannot be written.*continues") as warnings:
            learner.fit(frame)
        assert len(warnings) == 1
        assert sorted(learner.graph_.edges()) == sorted(expected.graph_.edges())

    run_in_child(fit)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", [0, 1])
def test_a_folder_that_is_removed_during_the_run(tmp_path, frame: pd.DataFrame, which):
    folder = tmp_path / "runs"
    folder.mkdir()
    expected = list(learners())[which].fit(frame)

    def remove(*_, **__):
        shutil.rmtree(folder, ignore_errors=True)

    learner = list(learners(checkpoint=folder / "run.npz", checkpoint_every=0, callback=remove))[which]
    with pytest.warns(RuntimeWarning, match=r"checkpoint=.*there is no folder"):
        learner.fit(frame)
    assert sorted(learner.graph_.edges()) == sorted(expected.graph_.edges())

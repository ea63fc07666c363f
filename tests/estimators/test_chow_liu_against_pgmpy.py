"""ChowLiuForest against pgmpy's TreeSearch, and on the learners' common ground."""

import warnings

import pytest

from helpers.learning_tables import dependent_frame
from pgmx.datasets import load_network, sample
from pgmx.estimators.bayesian.chow_liu import ChowLiuForest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # pgmpy.estimators warns of its own move
    from pgmpy.estimators import TreeSearch


def tree_search(frame, root, **options):
    return set(TreeSearch(frame, root_node=root, n_jobs=1).estimate(show_progress=False, **options).edges())


@pytest.mark.parametrize("root", ["a", "c", "e"])
def test_chow_liu(seed, root):
    frame = dependent_frame(seed)
    assert set(ChowLiuForest(root=root).fit(frame).graph_.edges()) == tree_search(frame, root)


@pytest.mark.parametrize("root", ["a", "c", "e"])
def test_tree_augmented_naive_bayes(seed, root):
    frame = dependent_frame(seed)
    ours = ChowLiuForest(root=root, class_node="b").fit(frame).graph_
    assert set(ours.edges()) == tree_search(frame, root, estimator_type="tan", class_node="b")


@pytest.mark.parametrize("options", [{}, {"class_node": "Cancer"}], ids=["chow-liu", "tan"])
def test_bundled_network(options):
    frame = sample(load_network("cancer"), 2000, random_state=1)
    kind = {"estimator_type": "tan", **options} if options else {}
    ours = ChowLiuForest(root="Smoker", **options).fit(frame).graph_
    assert set(ours.edges()) == tree_search(frame, "Smoker", **kind)

"""The path of penalties of GroupLassoMarkovNetwork, and the choice of one of them."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from helpers.markov_tables import codes_of, objective_by_formula, pairs_of, planted_network, planted_rows, violations
from pgmx.estimators import GroupLassoMarkovNetwork
from pgmx.models import PairwiseMarkovNetwork

ROWS = planted_rows(2000, 12)
CODES = codes_of(ROWS)
PATH = {"lam_ratio": 0.02, "n_lams": 10}
SELECTIONS = ("held_out", "ebic", "stars")
pytestmark = pytest.mark.filterwarnings("ignore:selection=")  # the end of a short path is chosen now and then
every_selection = pytest.mark.parametrize("selection", SELECTIONS)
every_selection_slowly = pytest.mark.parametrize(
    "selection", ["held_out", "ebic", pytest.param("stars", marks=pytest.mark.slow)]
)


def learner(selection, **options):
    return GroupLassoMarkovNetwork(selection=selection, n_subsamples=8, **{**PATH, **options})


@every_selection
def test_path_and_choice(selection):
    fitted = learner(selection).fit(ROWS)
    path = fitted.path_
    assert fitted.converged_
    assert len(path) == len(path.lams) == len(path.objective) == len(path.n_edges) == 10
    assert path.lams[0] == fitted.lam_max_
    assert path.lams[-1] == pytest.approx(0.02 * fitted.lam_max_)
    np.testing.assert_allclose(path.lams[1:] / path.lams[:-1], 0.02 ** (1 / 9))
    assert path.n_edges[0] == 0
    assert (np.diff(path.n_edges) >= 0).mean() > 0.8
    assert (np.diff(path.objective) < 0).all()
    assert max(path.kkt_residual) <= 1e-4
    assert path.selected > 0
    assert fitted.lam_ == path.lams[path.selected]
    assert len(fitted.edges_) == path.n_edges[path.selected]
    assert fitted.objective_ == path.objective[path.selected]
    assert fitted.kkt_residual_ == path.kkt_residual[path.selected]
    assert pairs_of(fitted.graph_) == pairs_of(path.graph(path.selected))
    assert isinstance(path.model(2), PairwiseMarkovNetwork)
    assert path.model(path.selected).marginals()["x0"] == fitted.model_.marginals()["x0"]
    assert list(path.graph(0)) == list(ROWS)


def test_every_network_of_the_path_is_the_optimum():
    """Warm starts and strong rules change nothing: each is what a run of its own finds."""
    path = learner("ebic").fit(ROWS).path_
    for k in (2, 5, 9):
        alone = GroupLassoMarkovNetwork(lam=path.lams[k]).fit(ROWS)
        assert path.objective[k] == pytest.approx(alone.objective_, abs=2e-6)
    fitted = learner("ebic").fit(ROWS)
    assert violations(fitted, CODES).max() <= 1.01e-4
    assert fitted.objective_ == pytest.approx(objective_by_formula(fitted, CODES), abs=1e-6)


@pytest.mark.slow
def test_a_chosen_network_is_near_the_planted_one():
    true = pairs_of(planted_network(12))
    for selection in ("ebic", "stars"):
        found = pairs_of(learner(selection).fit(ROWS).graph_)
        assert len(found & true) >= (0.6 if selection == "ebic" else 0.4) * len(true), selection
        assert len(found & true) >= 0.7 * len(found), selection
    by_likelihood = learner("held_out").fit(ROWS)
    assert len(pairs_of(by_likelihood.graph_) & true) >= 0.9 * len(true)  # it takes many more


def test_held_out_rows_of_the_caller():
    more = planted_rows(2500, 12)[2000:]
    fitted = learner("held_out", held_out=more).fit(ROWS)
    scores = [-fitted.path_.model(k).pseudo_log_likelihood(more).mean() for k in range(10)]
    np.testing.assert_allclose(fitted.path_.criterion, scores, atol=1e-6)
    assert fitted.path_.selected == int(np.argmin(scores))
    assert fitted.history_["held_out"][-1] == pytest.approx(scores[-1], abs=1e-6)


def test_extended_bic_by_its_formula():
    sparse, dense = (learner("ebic", gamma=gamma).fit(ROWS) for gamma in (20.0, 0.0))
    for fitted, gamma in ((sparse, 20.0), (dense, 0.0)):
        for k in (1, 4, 8):
            pairs = list(fitted.path_.graph(k).edges())
            model = GroupLassoMarkovNetwork(lam=9.0, required_edges=pairs).fit(ROWS).model_  # without the penalty
            n_edges = model.number_of_edges()
            df = sum((model.get_cardinality(a) - 1) * (model.get_cardinality(b) - 1) for a, b in model.edges())
            deviance = -model.pseudo_log_likelihood(ROWS).sum()  # 2 N times half of the mean
            bic = deviance + df * np.log(2000) + 4 * gamma * n_edges * np.log(12)
            assert fitted.path_.criterion[k] == pytest.approx(bic, rel=1e-5)
    assert len(sparse.edges_) < len(dense.edges_)


@pytest.mark.filterwarnings("error:selection=")
def test_the_end_of_the_path_is_told():
    with pytest.warns(
        UserWarning, match=r"selection='ebic' chose the smallest of 3 penalties.*smaller lam or lam_ratio"
    ):
        fitted = learner("ebic", lam_ratio=0.5, n_lams=3).fit(ROWS)
    assert fitted.path_.at_end
    assert not learner("ebic", gamma=20.0).fit(ROWS).path_.at_end


@pytest.mark.slow
def test_stability_allows_more_edges_the_more_it_is_lax():
    found = [learner("stars", stability=share).fit(ROWS) for share in (0.0, 0.05, 0.5)]
    sizes = [len(fitted.edges_) for fitted in found]
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]
    assert (np.diff(found[1].path_.criterion) >= 0).all()
    assert found[1].path_.criterion[found[1].path_.selected] <= 0.05
    assert found[2].path_.selected == 9


@every_selection_slowly
def test_same_seed_same_choice(selection):
    first, second, threads = (learner(selection, random_state=4, n_jobs=n_jobs).fit(ROWS) for n_jobs in (None, None, 2))
    for other in (second, threads):
        assert other.path_.criterion.tolist() == first.path_.criterion.tolist()
        assert other.edges_.tolist() == first.edges_.tolist()


@every_selection_slowly
def test_weights_of_rows(selection):
    """A row that weighs nothing is none; rows that all weigh the same are as before."""
    more = pd.concat([ROWS, ROWS[:200].assign(x0=1)], ignore_index=True)
    weights = np.repeat([1.0, 0.0], [2000, 200])
    fitted = learner(selection).fit(more, sample_weight=weights)
    assert fitted.path_.objective[-1] == pytest.approx(learner(selection).fit(ROWS).path_.objective[-1], abs=2e-6)


@every_selection_slowly
def test_knowledge_holds_along_the_path(selection):
    known = {"required_edges": [("x0", "x11")], "forbidden_edges": [("x0", "x1")]}
    path = learner(selection, **known).fit(ROWS).path_
    assert all(path.graph(k).has_edge("x0", "x11") for k in range(10))
    assert not any(path.graph(k).has_edge("x0", "x1") for k in range(10))


def test_a_path_of_one_and_a_path_that_is_over_at_once():
    single = learner("ebic", n_lams=1).fit(ROWS)
    assert (len(single.path_), single.path_.selected) == (1, 0)
    above = learner("ebic", lam=10.0).fit(ROWS)
    assert (len(above.path_), len(above.edges_), above.lam_) == (1, 0, 10.0)
    lonely = learner("stars").fit(ROWS[["x0"]])
    assert nx.number_of_edges(lonely.graph_) == 0


@pytest.mark.parametrize("loss", ["exact", "bethe"])
def test_other_losses(loss):
    fitted = learner("ebic", loss=loss, lam_ratio=0.1, l2=0.1).fit(ROWS[["x0", "x1", "x2", "x3"]])
    assert fitted.converged_
    assert fitted.model_.marginals()["x0"]


def test_no_selection_no_path():
    assert GroupLassoMarkovNetwork(lam=0.02).fit(ROWS).path_ is None


# ---- limits ----


def test_limits_end_the_path():
    told = []
    stopped = learner("ebic", callback=lambda progress: told.append(progress) or progress.n_iter == 3).fit(ROWS)
    assert (stopped.stopped_by_, stopped.converged_) == ("callback", False)
    assert 1 <= len(stopped.path_) < 10
    few = learner("ebic", max_edges=5).fit(ROWS)
    assert few.stopped_by_ == "max_edges"
    assert max(few.path_.n_edges) <= 5


@pytest.mark.filterwarnings("ignore:max_time=")
@every_selection
def test_no_time(selection):
    fitted = learner(selection, max_time=0).fit(ROWS)
    assert (fitted.stopped_by_, fitted.converged_, len(fitted.path_)) == ("max_time", False, 1)
    assert fitted.model_.marginals()["x0"]


def test_recall_along_the_path():
    history = learner("ebic", true_graph=planted_network(12)).fit(ROWS).history_
    assert history["recall"][0] == 0
    assert history["recall"][-1] >= 0.9


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"selection": "aic"}, r"'selection'.*'aic'"),
        ({"n_lams": 0}, r"'n_lams'.*0"),
        ({"gamma": -1}, r"'gamma'.*-1"),
        ({"stability": 0.7}, r"'stability'.*0\.7"),
        ({"n_subsamples": 1}, r"'n_subsamples'.*1"),
        ({"selection": "ebic", "lam": 0.0}, "smallest penalty above 0.*lam"),
        ({"selection": "ebic", "lam_ratio": 0.0}, "smallest penalty above 0.*lam_ratio"),
        ({"selection": "ebic", "start": planted_network(12)}, "starts from the network without edges.*omit start"),
    ],
    ids=str,
)
def test_what_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        GroupLassoMarkovNetwork(**options).fit(ROWS)

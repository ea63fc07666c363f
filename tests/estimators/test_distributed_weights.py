"""Real weights of rows that lie with the workers of a cluster: sums to 1e-12, the same graph, the score to 1e-9."""

import numpy as np
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from sklearn.base import clone

from helpers.distributed_tables import CLIMB, FOREST, assert_close, cut, draw_frame, with_empty_part
from pgmx.data import DiscreteTable, distribute, encode
from pgmx.data.inputs import split_column
from pgmx.datasets import load_network, sample
from pgmx.estimators import (
    BestFirstSearch,
    BootstrapStructure,
    ChowLiuForest,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    SimulatedAnnealing,
)
from pgmx.scores import BDe, BDeu, EdgePrior, ScoreTerms, family_scorer
from pgmx.scores.registry import list_scores
from pgmx.statistics import marginal_counts


@pytest.fixture(scope="module")
def frame():
    return draw_frame(600, seed=2)


@pytest.fixture(scope="module")
def weights():
    """Some of them zero, one of them in a whole partition."""
    rng = np.random.default_rng(5)
    weights = rng.exponential(size=600) * (rng.random(600) < 0.9)
    weights[100:180] = 0
    return weights


def test_forest_and_climb(client, frame, weights):
    table, whole = distribute(with_empty_part(cut(frame, 4)), client), encode(frame)
    assert_close(FOREST, table, whole, weights)
    assert_close(CLIMB, table, whole, weights)


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 2, 7, 32])
def test_sums_and_graphs_of_any_parts(client, n_parts):
    data = sample(load_network("alarm"), 1500, random_state=0)
    weights = np.random.default_rng(n_parts).exponential(size=1500)
    table, whole = distribute(with_empty_part(cut(data, n_parts)), client), encode(data)
    far, near = (family_scorer(rows, ScoreTerms(), weights=weights) for rows in (table, whole))
    rng = np.random.default_rng(0)
    for size in (0, 1, 2, 3):
        child, *parents = rng.choice(whole.n_variables, size + 1, replace=False)
        family = np.sort(parents).astype(np.int32)
        (keys, sums), (keys_of_whole, sums_of_whole) = (
            scorer.family_counts(int(child), family) for scorer in (far, near)
        )
        assert np.array_equal(keys, keys_of_whole)
        np.testing.assert_allclose(sums, sums_of_whole, rtol=1e-12)
    assert_close(HillClimbSearch(scoring_method="bdeu", max_indegree=3, show_progress=False), table, whole, weights)
    assert_close(ChowLiuForest(show_progress=False), table, whole, weights)


def uniform_network(table):
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(table.columns)
    for name, states in zip(table.columns, table.states, strict=True):
        values = np.full((len(states), 1), 1 / len(states))
        network.add_cpds(TabularCPD(name, len(states), values, state_names={name: list(states)}))
    return network


@pytest.mark.slow
@pytest.mark.parametrize("name", [*list_scores("discrete"), "bdeu instance", "bde instance"])
def test_every_score(client, frame, weights, name):
    columns = ["number", "word", "order", "few", "more", "pair"]
    table, whole = distribute(cut(frame[columns], 3), client), encode(frame[columns])
    for rows in (table, whole):
        method = name
        if name == "bdeu instance":
            method = BDeu(rows)
        elif name == "bde instance":
            method = BDe(rows, uniform_network(rows))
        learner = HillClimbSearch(scoring_method=method, max_indegree=2, show_progress=False)
        learner.fit(rows, sample_weight=weights)
        if rows is table:
            edges, score = learner.edges_, learner.score_
    assert np.array_equal(edges, learner.edges_) and len(edges)
    assert score == pytest.approx(learner.score_, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [
        *(HillClimbSearch(strategy=name, max_indegree=2, show_progress=False) for name in ("thorough", "exact")),
        HillClimbSearch(strategy="best", max_time=None, max_indegree=2, n_jobs=2, show_progress=False),
        HillClimbSearch(n_restarts=4, n_jobs=2, show_progress=False),
        HillClimbSearch(start_dag="tree", max_candidates=3, structure_prior=EdgePrior(0.2), show_progress=False),
        HillClimbSearch(
            required_edges=[("few", "more")],
            forbidden_edges=[("word", "number")],
            root_nodes=["few"],
            show_progress=False,
        ),
        ChowLiuForest(class_node="word", show_progress=False),
        ChowLiuForest(weight="bdeu", root="few", required_edges=[("few", "more")], show_progress=False),
        BestFirstSearch(show_progress=False),
        GreedyEquivalenceSearch(show_progress=False),
        SimulatedAnnealing(max_iter=300, random_state=1, show_progress=False),
    ],
    ids=str,
)
def test_every_search(client, frame, weights, learner):
    columns = ["number", "word", "order", "few", "more", "pair"]
    assert_close(learner, distribute(cut(frame[columns], 3), client), encode(frame[columns]), weights)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:implausibly many states")
def test_many_states(client):
    """Tables of pairs that are too large for a table of a candidate among them."""
    rows = np.arange(6000)
    states = [range(2500), range(2000), "xyz", range(2)]
    codes = np.array([rows % 2500, rows % 2000, rows // 7 % 3, (rows // 7 % 3 == rows % 2).astype(int)])
    whole = DiscreteTable("abcd", states, codes)
    weights = np.random.default_rng(0).exponential(size=6000)
    table = distribute(whole, client, n_parts=3)
    for name in ("bic", "bdeu"):
        assert_close(HillClimbSearch(scoring_method=name, show_progress=False), table, whole, weights)


@pytest.mark.slow
def test_large_whole_weights(client, frame):
    """Rows are weighed where repeating them would take many times the memory."""
    weights = np.random.default_rng(3).integers(0, 1000, 600)
    table, whole = distribute(cut(frame, 3), client), encode(frame)
    assert_close(CLIMB, table, whole, weights)
    learner = BootstrapStructure(CLIMB, n_resamples=3, show_progress=False)
    far = learner.fit(table, sample_weight=weights).pair_counts_
    assert np.array_equal(far, learner.fit(whole, sample_weight=weights).pair_counts_)


@pytest.mark.slow
def test_resamples_of_real_weights(client, frame, weights):
    learner = BootstrapStructure(FOREST, n_resamples=3, show_progress=False)
    far = learner.fit(distribute(cut(frame, 3), client), sample_weight=weights)
    pairs, score = far.pair_counts_, [cpd.values for cpd in far.model_.get_cpds()]
    near = learner.fit(encode(frame), sample_weight=weights)
    assert np.array_equal(pairs, near.pair_counts_)
    for ours, theirs in zip(score, [cpd.values for cpd in near.model_.get_cpds()], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11)


@pytest.mark.slow
def test_checkpoint_goes_on_with_other_parts(client, frame, weights, tmp_path):
    path = tmp_path / "climb.ckpt"
    options = {"checkpoint": path, "show_progress": False}
    begun = HillClimbSearch(max_iter=2, **options).fit(distribute(frame, client, n_parts=2), sample_weight=weights)
    assert path.exists() and begun.stopped_by_ == "max_iter"
    table = distribute(cut(frame, 5), client)
    with pytest.raises(ValueError, match="other data or options"):
        HillClimbSearch(**options).fit(table, sample_weight=weights + 0.001)
    learner = HillClimbSearch(**options).fit(table, sample_weight=weights)
    whole = HillClimbSearch(show_progress=False).fit(encode(frame), sample_weight=weights)
    assert np.array_equal(learner.edges_, whole.edges_)
    assert learner.score_ == pytest.approx(whole.score_, rel=1e-9)


@pytest.mark.slow
def test_weights_are_sent_once(client, frame, weights, monkeypatch):
    table = distribute(cut(frame, 4), client)
    sent = []
    submit = client.submit

    def measure(function, *arguments, **options):
        sent.append(sum(getattr(argument, "nbytes", 0) for argument in arguments))
        return submit(function, *arguments, **options)

    monkeypatch.setattr(client, "submit", measure)
    _ = HillClimbSearch(show_progress=False).fit(table, sample_weight=weights).model_
    assert sum(n_bytes for n_bytes in sent if n_bytes > 100) == 600 * 8


@pytest.mark.slow
def test_interventions(client, frame, weights):
    was_set = np.zeros((600, frame.shape[1]), dtype=bool)
    was_set[50:200, 0] = was_set[150:260, 2] = True
    far, near = distribute(cut(frame, 2), client), encode(frame)
    CLIMB.fit(far, None, weights, interventions=was_set)
    score, edges = CLIMB.score_, CLIMB.edges_.tolist()
    CLIMB.fit(near, None, weights, interventions=was_set)
    assert edges == CLIMB.edges_.tolist()
    assert score == pytest.approx(CLIMB.score_)
    assert edges
    # workers send the column, and count the others
    cells = np.full(600, "", dtype=object)
    cells[50:150], cells[150:200], cells[200:260] = frame.columns[0], ", ".join(frame.columns[[0, 2]]), frame.columns[2]
    table = distribute(cut(frame.assign(set=cells), 2), client)
    assert clone(CLIMB).set_params(interventions="set").fit(table, None, weights).score_ == pytest.approx(score)


def test_a_column_of_a_distributed_table(client, frame):
    table, whole = distribute(with_empty_part(cut(frame, 3)), client), encode(frame)
    for kind in (table, whole):
        (codes, states), rest = split_column(kind, frame.columns[1], "interventions")
        assert [states[code] for code in codes] == frame[frame.columns[1]].tolist()
        assert rest.columns == (frame.columns[0], *frame.columns[2:])
        np.testing.assert_array_equal(marginal_counts(rest), marginal_counts(encode(frame[list(rest.columns)])))

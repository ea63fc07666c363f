"""What networks answer about rows that lie with the workers of a real cluster: what they answer about the whole."""

import numpy as np
import pandas as pd
import pytest

from helpers.distributed_tables import cut, draw_frame, kill_worker, with_empty_part
from pgmx.data import distribute
from pgmx.datasets import gaussian_chain_network
from pgmx.estimators import GraphicalLasso, HillClimbSearch, OnlineEdgeGrafting
from pgmx.inference import ApproximationWarning
from pgmx.metrics import held_out_log_likelihood
from pgmx.models import ConditionalGaussianNetwork, GaussianMarkovNetwork, to_linear_gaussian


@pytest.fixture(scope="module")
def frame():
    return draw_frame(400)


@pytest.fixture(scope="module")
def learner(frame):
    return OnlineEdgeGrafting(lam=0.02, show_progress=False).fit(frame)


@pytest.fixture(scope="module")
def numbers():
    """Rows of a chain, in two units, whose first column holds one of three whole numbers."""
    drawn = gaussian_chain_network(5, 0.6).simulate(500, random_state=2) * np.geomspace(1, 1e3, 5) + 40.0
    return drawn.assign(kind=np.digitize(drawn["x0"], [39.5, 40.5]))


def assert_same(far, near):
    """Compare answers, to the bit, with their types and the numbers of the rows."""
    far = far.compute()
    if isinstance(near, np.ndarray):
        pd.testing.assert_series_equal(far, pd.Series(near, name=far.name), check_exact=True)
    else:
        pd.testing.assert_frame_equal(far, near.reset_index(drop=True), check_exact=True)
    assert isinstance(far.index, pd.RangeIndex)


def test_a_markov_network_answers_at_the_workers(client, frame, learner):
    network = learner.model_
    table = distribute(with_empty_part(cut(frame[frame.columns[::-1]], 5)), client)
    likelihoods = network.log_likelihood(table)
    assert (likelihoods.npartitions, likelihoods.name) == (2, "log_likelihood")
    assert_same(likelihoods, network.log_likelihood(frame))
    assert learner.score(table) == pytest.approx(learner.score(frame), rel=1e-12)
    some = frame.drop(columns=["word", "pair"])
    answers = network.predict(distribute(some, client))
    assert answers.divisions[0] == 0 and answers["word"].cat.known
    assert_same(answers, network.predict(some))
    with pytest.raises(ValueError, match=r"'word', 'pair' have no column"):
        network.log_likelihood(distribute(some, client))


def test_a_discrete_bayesian_network_answers_at_the_workers(client, frame):
    network = HillClimbSearch(show_progress=False).fit(frame).model_
    part = frame.drop(columns=["word", "pair"])
    table, some = (distribute(with_empty_part(cut(rows, 3)), client) for rows in (frame, part))
    assert_same(network.log_likelihood(table), network.log_likelihood(frame))
    assert_same(network.log_evidence(some), network.log_evidence(part))
    assert network.score(some) == pytest.approx(network.score(part), rel=1e-12)
    for options in ({}, {"method": "marginal"}, {"stochastic": True, "seed": 3}):
        assert_same(network.predict(some, **options), network.predict(part, **options))
    drawn = network.predict(some, stochastic=True)
    assert_same(drawn, drawn.compute())
    assert_same(network.predict_proba(some), network.predict_proba(part))
    assert_same(network.predict_proba(table, ["word"]), network.predict_proba(frame, ["word"]))
    with pytest.raises(ValueError, match="nothing to predict"):
        network.predict(table)


# ---- all networks ----


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 2, 7, 32])
def test_markov_network_of_any_number_of_parts(client, frame, learner, n_parts):
    network, some = learner.model_, frame.drop(columns=["word", "number"])
    table, part = (distribute(with_empty_part(cut(rows, n_parts)), client) for rows in (frame, some))
    assert_same(network.log_likelihood(table), network.log_likelihood(frame))
    assert_same(network.pseudo_log_likelihood(table), network.pseudo_log_likelihood(frame))
    for options in ({}, {"method": "marginal"}, {"inference": "loopy"}):
        assert_same(network.predict(part, **options), network.predict(some, **options))


@pytest.mark.slow
def test_answers_are_written_to_parquet(client, frame, learner, tmp_path):
    some = frame.drop(columns="word")
    answers = learner.model_.predict(distribute(some, client, n_parts=3))
    answers.to_parquet(tmp_path)
    assert len(list(tmp_path.glob("*.parquet"))) == answers.npartitions == 2
    written = pd.read_parquet(tmp_path).reset_index(drop=True)
    assert (written["word"].astype(str) == learner.model_.predict(some)["word"].astype(str)).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 3, 7])
def test_gaussian_networks(client, numbers, n_parts):
    learner = GraphicalLasso(lam=0.1, show_progress=False).fit(numbers)
    network = learner.model_
    table = distribute(with_empty_part(cut(numbers[numbers.columns[::-1]], n_parts)), client)
    far, near = network.log_likelihood(table).compute(), network.log_likelihood(numbers)
    np.testing.assert_allclose(far, near, rtol=1e-12)
    assert learner.score(table) == pytest.approx(near.mean(), rel=1e-12)
    some = numbers.drop(columns=["x1", "x3"])
    far, covariance = network.predict(distribute(with_empty_part(cut(some, n_parts)), client), return_covariance=True)
    near, near_covariance = network.predict(some, return_covariance=True)
    pd.testing.assert_frame_equal(far.compute(), near, check_exact=False, rtol=1e-12)
    pd.testing.assert_frame_equal(covariance, near_covariance)
    linear = to_linear_gaussian(numbers.astype(float), list(numbers), [(0, 1), (1, 2), (1, 5)])
    far, near = (held_out_log_likelihood(linear, rows) for rows in (table, numbers))
    assert far[:2] == pytest.approx(near[:2], rel=1e-12) and far[2:4] == near[2:4]


@pytest.fixture(scope="module")
def mixed(numbers):
    """A mixed network with integers as states."""
    return ConditionalGaussianNetwork([("kind", "x1"), ("kind", "x4"), ("x1", "x2"), ("x2", "x3"), ("x0", "x1")]).fit(
        numbers
    )


@pytest.mark.slow
@pytest.mark.parametrize("n_parts", [1, 3, 7])
def test_conditional_gaussian_network_of_numbers(client, numbers, mixed, n_parts):
    table = distribute(with_empty_part(cut(numbers, n_parts)), client)
    assert_same(mixed.log_likelihood(table), mixed.log_likelihood(numbers))
    assert mixed.score(table) == pytest.approx(mixed.score(numbers), rel=1e-12)
    for absent in (["kind"], ["x1", "x2"], ["kind", "x0", "x2"]):
        some = numbers.drop(columns=absent)
        part = distribute(with_empty_part(cut(some, n_parts)), client)
        assert_same(mixed.predict(part), mixed.predict(some))
        assert_same(mixed.predict_proba(part), mixed.predict_proba(some))
        assert_same(mixed.log_evidence(part), mixed.log_evidence(some))
    assert_same(mixed.predict(table, ["kind"]), mixed.predict(numbers, ["kind"]))
    far, near = (held_out_log_likelihood(mixed, rows) for rows in (table, numbers))
    assert far[:2] == pytest.approx(near[:2], rel=1e-12) and far[2:4] == near[2:4]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pgmx.inference.ApproximationWarning")
def test_floats_from_states_and_samples(client, numbers, mixed):
    states = numbers[["kind"]].assign(kind=numbers["kind"])
    table = distribute(cut(states, 3), client)
    assert_same(mixed.predict(table), mixed.predict(states))
    options = {"inference": "weighting", "n_samples": 20}
    with pytest.warns(ApproximationWarning, match=r"of 20 samples each; .* logs of the workers"):
        far = mixed.predict_proba(table, **options)
    assert_same(far, mixed.predict_proba(states, **options))
    far = mixed.predict(table, random_state=None, **options).compute()
    assert far.shape == (500, 6)


@pytest.mark.slow
def test_learners_of_graphs(client, numbers, frame):
    floats = numbers.drop(columns="kind")
    learner = HillClimbSearch(show_progress=False).fit(floats)
    assert learner.score(distribute(floats, client)) == pytest.approx(learner.score(floats), rel=1e-12)
    with pytest.raises(ValueError, match="features"):
        learner.score(distribute(numbers, client))
    with pytest.raises(TypeError, match="correlation_score.* rows are distributed"):
        learner.score(distribute(floats, client), metric="correlation_score")
    mixed = HillClimbSearch(show_progress=False).fit(numbers)
    assert mixed.score(distribute(numbers, client)) == pytest.approx(mixed.score(numbers), rel=1e-12)


# ---- what is wrong is said before any row is asked about ----


@pytest.mark.slow
def test_states_and_columns_of_other_networks(client, frame, learner, monkeypatch):
    network = learner.model_
    other = frame.assign(word=frame["word"].where(frame.index != 7, "z"))
    for rows, method in (
        (other, network.predict),
        (other, network.log_likelihood),
        (frame.assign(new=1), network.predict),
    ):
        with pytest.raises(ValueError) as near:
            method(rows)
        table = distribute(rows, client)
        monkeypatch.setattr(type(table), "map_rows", None)
        with pytest.raises(ValueError) as far:
            method(table)
        monkeypatch.undo()
        assert str(far.value) == str(near.value)
    declared = distribute(frame, client, {"word": ["a", "b", "c", "d", "z"]})  # z does not occur
    assert_same(network.log_likelihood(declared), network.log_likelihood(frame))
    with pytest.raises(ValueError, match="method must be one of 'map', 'marginal', got 'best'"):
        network.predict(declared, method="best")
    gaussian = GaussianMarkovNetwork.from_precision(["number", "few"], np.eye(2))
    with pytest.raises(TypeError, match="DistributedTable"):
        gaussian.predict(distribute(frame[["number"]], client))


@pytest.mark.slow
def test_numbers_that_are_no_states(client, numbers, mixed):
    other = numbers.assign(kind=np.where(np.arange(500) == 123, 8, numbers["kind"]))
    with pytest.raises(ValueError) as near:
        mixed.log_likelihood(other)
    with pytest.raises(ValueError) as far:
        mixed.log_likelihood(distribute(other, client))
    assert str(far.value).replace("8.0", "8") == str(near.value)
    with pytest.raises(ValueError, match="no variable .nobody."):
        mixed.predict(distribute(numbers, client), ["nobody"])
    assert held_out_log_likelihood(mixed, distribute(other, client)).impossible == {"kind": 1}


@pytest.mark.slow
def test_impossible_rows_are_counted_from_the_first_of_the_part(client):
    from pgmx.inference import PairwisePotentials
    from pgmx.models import PairwiseMarkovNetwork

    tables = {(0, 1): [[0.0, -np.inf], [0.0, 0.0]], (1, 2): [[-np.inf, 0.0], [0.0, 0.0]]}
    network = PairwiseMarkovNetwork.from_potentials(
        "abc", [(0, 1)] * 3, PairwisePotentials.build([2] * 3, tables=tables)
    )
    rows = pd.DataFrame({"a": [1] * 60 + [0], "c": [1, 0] * 30 + [0]})
    table = distribute(rows, client, n_parts=2)
    with pytest.raises(ValueError, match="impossible") as error:
        network.predict(table).compute()
    assert any("count from row 30 of the distributed table" in note for note in error.value.__notes__)


# ---- faults ----


@pytest.mark.slow
def test_released_table_and_lost_worker(client, frame, learner, tmp_path):
    network = learner.model_
    paths = [tmp_path / f"{k}.parquet" for k in range(5)]
    for path, part in zip(paths, cut(frame, 5), strict=True):
        part.to_parquet(path)
    table = distribute(paths, client)
    answers = network.log_likelihood(table)
    assert_same(answers, network.log_likelihood(frame))
    kill_worker(client)
    assert_same(answers, network.log_likelihood(frame))
    client.wait_for_workers(2)
    table.release()
    with pytest.raises(ValueError, match="distribute the source again"):
        network.log_likelihood(table)


def test_a_linear_gaussian_network_answers_at_the_workers(client, numbers):
    names = [*numbers.columns]
    network = to_linear_gaussian(numbers.drop(columns="kind"), names[:-1], [(0, 1), (1, 2), (2, 3), (3, 4)])
    rows = numbers.drop(columns="kind")
    table, part = (distribute(with_empty_part(cut(some, 3)), client) for some in (rows, rows.drop(columns=names[1])))
    some = rows.drop(columns=names[1])
    assert_same(network.predict(part), network.predict(some))
    assert_same(network.predict(part, method="map"), network.predict(some, method="map"))
    assert_same(network.predict_proba(part, [names[0]]), network.predict_proba(some, [names[0]]))
    assert_same(network.log_evidence(part), network.log_evidence(some))
    assert_same(network.log_likelihood(table, per_row=True), network.log_likelihood(rows, per_row=True))
    assert network.log_likelihood(table) == pytest.approx(network.log_likelihood(rows), rel=1e-12)
    assert network.score(table) == pytest.approx(network.score(rows), rel=1e-12)

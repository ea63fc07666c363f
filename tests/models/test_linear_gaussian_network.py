"""pgmpy's linear Gaussian network with compiled answers, against dense formulas, pgmpy and the conditional network."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pgmpy.models
import pytest
from pgmpy.factors.continuous import LinearGaussianCPD
from scipy.stats import multivariate_normal

from pgmx.estimators import ChowLiuForest, HillClimbSearch
from pgmx.models import (
    ConditionalGaussianNetwork,
    GaussianMarkovNetwork,
    LinearGaussianBayesianNetwork,
    read_model,
    save_model,
)

NAMES = ["wet", 0, "b a", (1, 2), "a", 7]


def make_network(n=6, share=0.5, seed=0, least=0.3):
    """Return a network whose nodes are in another order than its edges."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n).tolist()
    network = LinearGaussianBayesianNetwork()
    network.add_nodes_from(NAMES[:n])
    for k, v in enumerate(order):
        parents = [NAMES[u] for u in order[:k] if rng.random() < share]
        network.add_edges_from((parent, NAMES[v]) for parent in parents)
        beta = rng.normal(size=1 + len(parents))
        network.add_cpds(LinearGaussianCPD(NAMES[v], beta, float(rng.uniform(least, 2.0)), parents))
    return network


def join(network):
    """Return mean and covariance in the order of the nodes; pgmpy's own method rounds to 8 decimals."""
    place = {name: v for v, name in enumerate(network.nodes())}
    slopes, deviations, intercepts = np.zeros((len(place),) * 2), np.zeros(len(place)), np.zeros(len(place))
    for cpd in network.cpds:
        v = place[cpd.variable]
        intercepts[v], deviations[v] = cpd.beta[0], cpd.std
        slopes[v, [place[name] for name in cpd.evidence]] = cpd.beta[1:]
    spread = np.linalg.inv(np.eye(len(place)) - slopes)
    return spread @ intercepts, spread @ np.diag(deviations**2) @ spread.T


def condition(network, observed, row):
    """Return means and covariance of the variables that are not observed."""
    mean, covariance = join(network)
    hidden = np.setdiff1d(np.arange(len(mean)), observed)
    slopes = covariance[np.ix_(hidden, observed)] @ np.linalg.inv(covariance[np.ix_(observed, observed)])
    means = mean[hidden] + slopes @ (row[observed] - mean[observed])
    return hidden, means, covariance[np.ix_(hidden, hidden)] - slopes @ covariance[np.ix_(observed, hidden)]


def frame_of(network, values):
    return pd.DataFrame(values, columns=pd.Index(list(network.nodes()), tupleize_cols=False))


@pytest.mark.parametrize("share", [0.2, 0.5, 1.0])
def test_all_patterns_of_missing_values(share):
    network = make_network(share=share, seed=int(10 * share))
    mean, covariance = join(network)
    patterns = np.array(list(itertools.product([False, True], repeat=6)))
    values = np.random.default_rng(1).normal(size=patterns.shape) + mean
    frame = frame_of(network, np.where(patterns, np.nan, values))
    before = frame.copy()
    filled, logs = network.predict(frame, method="map"), network.log_evidence(frame)
    shares = network.predict_proba(frame).to_numpy().reshape(-1, 6, 2)
    single = network.predict_proba(frame, NAMES).to_numpy().reshape(-1, 6, 2)
    pd.testing.assert_frame_equal(frame, before)
    for k, pattern in enumerate(patterns):
        observed = np.flatnonzero(~pattern)
        hidden, means, spread = condition(network, observed, values[k])
        np.testing.assert_array_equal(filled.iloc[k, observed], values[k, observed])
        np.testing.assert_allclose(filled.iloc[k, hidden], means, rtol=1e-10, atol=1e-10)
        deviations = np.sqrt(spread.diagonal())
        np.testing.assert_allclose(shares[k, hidden], np.stack([means, deviations], axis=1), rtol=1e-10, atol=1e-10)
        for v in observed:
            assert shares[k, v].tolist() == [values[k, v], 0.0]
            others = observed[observed != v]
            alone, centers, cross = condition(network, others, values[k])
            at = int(np.flatnonzero(alone == v)[0])
            expected = [centers[at], np.sqrt(cross[at, at])]
            np.testing.assert_allclose(single[k, v], expected, rtol=1e-10, atol=1e-10)
        own = covariance[np.ix_(observed, observed)]
        density = multivariate_normal.logpdf(values[k, observed], mean[observed], own) if len(observed) else 0.0
        assert logs[k] == pytest.approx(density, abs=1e-10)


def test_pgmpys_calls_give_pgmpys_answers():
    network = make_network(seed=4)
    theirs = network.to_pgmpy()
    frame = frame_of(network, np.random.default_rng(2).normal(size=(7, 6))).set_axis(list("abcdefg"))
    for absent in ([0], [NAMES[3], NAMES[0]], NAMES):
        rows = frame.drop(columns=absent)
        found, expected = network.predict(rows), theirs.predict(rows)
        assert list(found.columns) == list(expected.columns)
        assert list(found.index) == list("abcdefg")
        np.testing.assert_allclose(found, expected, atol=1e-6)
        for ours, other in zip(network.predict_probability(rows), theirs.predict_probability(rows), strict=True):
            if isinstance(ours, list):
                assert ours == other
            else:
                np.testing.assert_allclose(ours, other, atol=1e-6)
    total = network.log_likelihood(frame)
    assert isinstance(total, float)
    assert total == pytest.approx(theirs.log_likelihood(frame), rel=1e-6)
    with pytest.raises(ValueError, match="nothing to predict"):
        network.predict(frame)
    with pytest.raises(ValueError, match="nothing to predict"):
        network.predict_probability(frame)
    with pytest.raises(ValueError, match="predict_proba returns"):
        network.predict_probability(frame.drop(columns=[0]).mask(frame.drop(columns=[0]) > 1.0))


def test_columns_and_rows_of_predictions():
    network = make_network()
    frame = frame_of(network, np.random.default_rng(3).normal(size=(5, 6))).set_index(np.arange(5) + 10)
    some = frame[["a", "wet", 7]].mask(np.eye(5, 3, dtype=bool))
    whole = network.predict(some, method="map")
    assert list(whole.columns) == ["a", "wet", 7, 0, "b a", (1, 2)]
    assert list(whole.index) == list(some.index)
    pd.testing.assert_frame_equal(network.predict(some, method="marginal"), whole)
    only = network.predict(some)
    assert set(only.columns) == set(NAMES)
    pd.testing.assert_frame_equal(whole[list(only.columns)], only)
    proba = network.predict_proba(some)
    assert list(dict.fromkeys(name for name, _ in proba.columns)) == NAMES
    assert list(network.predict_proba(some, [7, "wet"]).columns) == [
        (7, "mean"),
        (7, "std"),
        ("wet", "mean"),
        ("wet", "std"),
    ]
    pd.testing.assert_frame_equal(network.predict(frame, method="map"), frame)
    assert network.predict_proba(frame).shape == (5, 0)
    empty = some.iloc[:0]
    assert network.predict(empty, method="map").shape == (0, 6)
    assert network.log_evidence(empty).shape == (0,)


@pytest.mark.parametrize("least", [0.3, 1e-7])
def test_a_row_has_the_same_bits_in_any_frame(least):
    network = make_network(seed=6, least=least)
    if least < 0.1:
        for name in NAMES[::2]:
            network.get_cpds(name).std = least
    rng = np.random.default_rng(4)
    frame = frame_of(network, rng.normal(size=(40, 6))).mask(rng.random((40, 6)) < 0.4)
    frame.iloc[20:] = frame.iloc[[5] * 20]
    order = rng.permutation(40)

    def ask(rows):
        predicted = network.predict(rows, method="map")[NAMES].to_numpy()
        proba = network.predict_proba(rows, NAMES).to_numpy()
        return np.column_stack([predicted, proba, network.log_evidence(rows)])

    whole = ask(frame)
    np.testing.assert_array_equal(ask(frame.iloc[order, ::-1]), whole[order])
    np.testing.assert_array_equal(np.concatenate([ask(frame.iloc[k : k + 1]) for k in range(40)]), whole)


def test_parents_that_nearly_determine_a_variable():
    """The precision has lost its digits, so that the regressions are solved; the mixed network always does this."""
    network = make_network(seed=8, share=0.7)
    for name in NAMES[1::2]:
        network.get_cpds(name).std = 1e-7
    rng = np.random.default_rng(5)
    values = np.zeros((60, 6))
    arrays = network._read_arrays()
    for v in arrays.order:
        _, parents, beta, std = arrays.regressions[v]
        values[:, v] = beta[0] + values[:, parents] @ beta[1:] + std * rng.normal(size=60)
    frame = frame_of(network, np.where(rng.random((60, 6)) < 0.5, np.nan, values))
    other = ConditionalGaussianNetwork.from_network(network)
    np.testing.assert_allclose(network.predict(frame)[NAMES], other.predict(frame)[NAMES], atol=1e-8)
    np.testing.assert_allclose(network.predict_proba(frame), other.predict_proba(frame), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(network.log_evidence(frame), other.log_evidence(frame), rtol=1e-6)


def test_likelihoods():
    network = make_network(seed=9)
    frame = frame_of(network, np.random.default_rng(6).normal(size=(8, 6)))
    rows = network.log_likelihood(frame, per_row=True)
    np.testing.assert_allclose(network.log_likelihood_terms(frame).sum(axis=0), rows, rtol=1e-12)
    np.testing.assert_array_equal(network.log_evidence(frame), rows)
    assert network.score(frame) == pytest.approx(rows.mean(), rel=1e-12)
    assert network.log_likelihood(frame) == pytest.approx(rows.sum(), rel=1e-12)
    # chain rule: log p(a, b) = log p(a) + log p(b | a)
    part = frame[NAMES[:3]]
    _, means, spread = condition(network, np.arange(3), frame.to_numpy()[0])
    given = multivariate_normal.logpdf(frame.to_numpy()[0, 3:], means, spread)
    assert rows[0] == pytest.approx(network.log_evidence(part)[0] + given, abs=1e-10)
    with pytest.raises(ValueError, match="have no column"):
        network.log_likelihood(part)
    with pytest.raises(ValueError, match="missing values in column"):
        network.score(frame.mask(frame > 1.0))


def test_kinds_of_rows(tmp_path):
    import polars as pl
    import pyarrow as pa

    network = LinearGaussianBayesianNetwork([("a", "b"), ("b", "c")])
    network.add_cpds(LinearGaussianCPD("a", [1.0], 1.0), LinearGaussianCPD("b", [0.0, 0.5], 1.0, ["a"]))
    network.add_cpds(LinearGaussianCPD("c", [2.0, 1.0], 0.5, ["b"]))
    table = {"c": [2.0, -1.0], "a": [1.0, None]}
    wanted = network.predict(pd.DataFrame(table), method="map")
    path = tmp_path / "rows.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    chunks = (pd.DataFrame(table).iloc[[k]] for k in range(2))
    for rows in (table, pl.DataFrame(table), pa.table(table), path, chunks):
        if isinstance(rows, dict):
            rows = {"c": [2.0, -1.0], "a": [1.0, np.nan]}
        pd.testing.assert_frame_equal(network.predict(rows, method="map"), wanted)
    array = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, -1.0]])
    pd.testing.assert_frame_equal(network.predict(array, method="map")[list(wanted)], wanted)
    assert network.predict({"a": 1.0})["b"].tolist() == [0.5]
    with pytest.raises(ValueError, match=r"column\(s\) 'd' are not variables"):
        network.predict({"d": 1.0})


def test_the_object_behaves_as_pgmpys():
    network = make_network(seed=10)
    network.latents = {"wet"}
    network.predict_proba({0: 1.0})
    theirs = network.to_pgmpy()
    assert type(theirs) is pgmpy.models.LinearGaussianBayesianNetwork
    clones = [network.copy(), copy.deepcopy(network), pickle.loads(pickle.dumps(network))]
    clones.append(LinearGaussianBayesianNetwork.from_network(theirs))
    for clone in clones:
        assert type(clone) is LinearGaussianBayesianNetwork
        assert clone == network
        assert network == clone
        assert clone == theirs
        assert theirs == clone
        assert clone.latents == {"wet"}
        assert "_kept" not in vars(clone)
        assert list(clone.nodes()) == NAMES
        assert clone.cpds[0] is not network.cpds[0]
    assert isinstance(network, pgmpy.models.LinearGaussianBayesianNetwork)
    cut = network.do("a")
    assert type(cut) is LinearGaussianBayesianNetwork
    assert not cut.get_parents("a")
    assert network.get_parents("a")
    assert type(network.subgraph(NAMES[:2]).copy()) is LinearGaussianBayesianNetwork
    assert isinstance(LinearGaussianBayesianNetwork.get_random(4, edge_prob=0.5), LinearGaussianBayesianNetwork)
    markov = GaussianMarkovNetwork.from_covariance(["x", "y"], [[1.0, 0.5], [0.5, 1.0]])
    assert LinearGaussianBayesianNetwork.from_network(markov) == markov.to_linear_gaussian_bn()
    with pytest.raises(TypeError, match="must be a LinearGaussianBayesianNetwork"):
        LinearGaussianBayesianNetwork.from_network(pgmpy.models.DiscreteBayesianNetwork([("a", "b")]))


def test_changes_are_seen_by_the_next_question():
    network = LinearGaussianBayesianNetwork([("a", "b")])
    network.add_cpds(LinearGaussianCPD("a", [1.0], 1.0), LinearGaussianCPD("b", [0.0, 2.0], 1.0, ["a"]))
    row = {"a": [3.0]}
    assert network.predict(row)["b"].tolist() == [6.0]
    network.get_cpds("b").beta[1] = 4.0
    assert network.predict(row)["b"].tolist() == [12.0]
    network.remove_cpds("b")
    with pytest.raises(ValueError, match="node 'b' has no parameters"):
        network.predict(row)
    network.add_cpds(LinearGaussianCPD("b", [1.0, 1.0], 1.0, ["a"]))
    assert network.predict(row)["b"].tolist() == [4.0]
    network.add_edge("c", "b")
    network.add_cpds(LinearGaussianCPD("c", [0.0], 1.0))
    with pytest.raises(ValueError, match="the CPD of 'b' has 2 coefficients and the parents 'a'"):
        network.predict(row)
    network.add_cpds(LinearGaussianCPD("b", [1.0, 1.0, 1.0], 1.0, ["a", "c"]))
    assert network.predict({"a": 3.0, "c": 2.0})["b"].tolist() == [6.0]


def test_a_standard_deviation_of_zero():
    network = LinearGaussianBayesianNetwork([("a", "b")])
    network.add_cpds(LinearGaussianCPD("a", [1.0], 1.0), LinearGaussianCPD("b", [0.0, 2.0], 0.0, ["a"]))
    rows = pd.DataFrame({"a": [3.0, 4.0]})
    pd.testing.assert_frame_equal(network.predict(rows), network.to_pgmpy().predict(rows))
    for question in (network.log_evidence, network.predict_proba, network.score):
        with pytest.raises(ValueError, match="the standard deviation of 'b' is 0.0"):
            question(rows)


@pytest.mark.parametrize("variables", [["nothing"], ["a", "a"]])
def test_wrong_variables(variables):
    with pytest.raises(ValueError, match="no variable 'nothing'|distinct names"):
        make_network().predict_proba({"a": 1.0}, variables)


def test_an_unknown_method():
    with pytest.raises(ValueError, match="method must be one of"):
        make_network().predict({"a": 1.0}, method="mean")


def test_learners_and_files_return_the_class(tmp_path):
    rows = make_network(seed=12).simulate(200, seed=1)
    rows.columns = list("abcdef")
    models = [
        HillClimbSearch(scoring_method="bic-g", show_progress=False).fit(rows).model_,
        ChowLiuForest().fit(rows).model_,
    ]
    path = save_model(models[0], tmp_path / "model.json")
    models.append(read_model(path))
    for model in models:
        assert type(model) is LinearGaussianBayesianNetwork
        assert model.predict(rows[["a", "b"]], method="map").shape == (200, 6)
    assert models[0] == models[2]
    save_model(models[0].to_pgmpy(), path)
    assert read_model(path) == models[0]

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
    single = {v: network.predict_proba(frame, [NAMES[v]]).to_numpy() for v in range(6)}
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
            np.testing.assert_allclose(single[v][k], expected, rtol=1e-10, atol=1e-10)
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
    named = network.predict_proba(some, [7, "wet"])
    assert list(named.columns) == [("wet", "mean"), ("wet", "std"), (7, "mean"), (7, "std")]
    both = network.predict_proba(some[["a"]])[list(named.columns)]  # the values of all named variables are ignored
    pd.testing.assert_frame_equal(named, both)
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
        proba = network.predict_proba(rows, NAMES[:2]).to_numpy()
        whole = network.predict_proba(pd.concat([rows, rows.iloc[:1] * np.nan])).to_numpy()[:-1]
        return np.column_stack([predicted, proba, whole, network.log_evidence(rows)])

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
    gone = frame.mask(frame > 1.0)
    with pytest.raises(ValueError, match="missing values in column"):
        network.log_likelihood(gone)
    assert network.score(gone) == pytest.approx(network.log_evidence(gone).mean(), rel=1e-12)


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


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of pgmpy's parser
@pytest.mark.parametrize("syntax", ["dag{a -> b [beta=0.3]}", "dag{a -> b}"])
def test_dagitty(syntax):
    assert type(LinearGaussianBayesianNetwork.from_dagitty(syntax)) is LinearGaussianBayesianNetwork


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


@pytest.mark.parametrize("variables", [["nothing"], [], 3])
def test_wrong_variables(variables):
    with pytest.raises((TypeError, ValueError), match="no variable 'nothing'|variables is empty|must be a list"):
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


def rename(network):
    """Return the network with names that pgmpy can sort."""
    names = {name: f"v{v}" for v, name in enumerate(network.nodes())}
    renamed = LinearGaussianBayesianNetwork()
    renamed.add_nodes_from(names.values())
    renamed.add_edges_from((names[u], names[v]) for u, v in network.edges())
    for cpd in network.cpds:
        parents = [names[parent] for parent in cpd.evidence]
        renamed.add_cpds(LinearGaussianCPD(names[cpd.variable], cpd.beta, cpd.std, parents))
    return renamed


@pytest.mark.parametrize(
    "options", [{}, {"do": {"v1": 2.0}}, {"virtual_intervention": [LinearGaussianCPD("v4", [1.0], 2.0)]}]
)
def test_rows_of_a_seed_are_those_of_pgmpy(options):
    network = rename(make_network(seed=3))
    found, theirs = network.simulate(20, seed=5, **options), network.to_pgmpy().simulate(20, seed=5, **options)
    pd.testing.assert_frame_equal(found, theirs, atol=1e-5)


def test_rows_given_evidence_and_interventions():
    network = make_network(seed=14, share=0.8)
    evidence, do = {NAMES[3]: 1.5, NAMES[0]: -2.0}, {NAMES[4]: 2.5}
    rows = network.simulate(100_000, evidence=evidence, do=do, seed=2)
    assert list(rows.columns)[-1] == NAMES[4]
    rows = rows[NAMES].to_numpy()
    np.testing.assert_array_equal(rows[:, [3, 0, 4]], np.broadcast_to([1.5, -2.0, 2.5], (100_000, 3)))
    cut = network.do(NAMES[4])
    cut.add_cpds(LinearGaussianCPD(NAMES[4], [2.5], 1e-6))
    hidden, means, spread = condition(cut, np.array([0, 3, 4]), np.array([-2.0, 0.0, 0.0, 1.5, 2.5, 0.0]))
    roots = np.sqrt(spread.diagonal())
    # five standard errors
    np.testing.assert_allclose((rows[:, hidden].mean(axis=0) - means) / roots, 0.0, atol=5 / np.sqrt(1e5))
    np.testing.assert_allclose(
        np.cov(rows[:, hidden].T) / np.outer(roots, roots), spread / np.outer(roots, roots), atol=0.02
    )


def test_rows_of_very_different_units():
    network = LinearGaussianBayesianNetwork([("a", "b")])
    network.add_cpds(LinearGaussianCPD("a", [0.0], 1e6), LinearGaussianCPD("b", [0.0, 1e-13], 1e-7, ["a"]))
    rows = network.simulate(20_000, seed=1)
    assert rows["b"].std() == pytest.approx(np.sqrt(2) * 1e-7, rel=0.03)  # pgmpy's is 0
    assert rows.corr().iloc[0, 1] == pytest.approx(np.sqrt(0.5), abs=0.03)


def test_simulation_with_determined_variables():
    network = LinearGaussianBayesianNetwork([("a", "sum"), ("b", "sum")])
    network.add_cpds(LinearGaussianCPD("a", [1.0], 1.0), LinearGaussianCPD("b", [2.0], 2.0))
    network.add_cpds(LinearGaussianCPD("sum", [0.5, 1.0, 1.0], 0.0, ["a", "b"]))
    rows = network.simulate(2000, evidence={"sum": 4.5}, seed=1)
    np.testing.assert_allclose(rows["a"] + rows["b"] + 0.5, 4.5, atol=1e-6)
    # a given a + b = 4: the share 1/5 of the deviation 1 from the mean 3
    assert rows["a"].mean() == pytest.approx(1.2, abs=0.1)
    with pytest.raises(ValueError, match="observed values are impossible"):
        network.simulate(5, evidence={"a": 1.0, "b": 1.0, "sum": 9.0})
    assert network.simulate(3, evidence={"a": 1.0, "b": 1.0, "sum": 2.5})["sum"].tolist() == [2.5] * 3
    found = network.predict(pd.DataFrame({"sum": [3.5, 8.5], "b": [2.0, 2.0]}))
    np.testing.assert_allclose(found["a"], [1.0, 6.0])
    names, means, spread = network.predict_probability(pd.DataFrame({"sum": [3.5, 8.5]}))
    np.testing.assert_allclose(dict(zip(names, means.T, strict=True))["a"], [1.0, 2.0])
    np.testing.assert_allclose(spread, [[0.8, -0.8], [-0.8, 0.8]], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"do": {"z": 1.0}}, "do-nodes that are not present in the network: 'z'"),
        ({"evidence": {"z": 1.0}}, "evidence-nodes that are not present in the network: 'z'"),
        ({"do": {"a": 1.0}, "evidence": {"a": 1.0}}, "can't be in both do and evidence, got 'a'"),
        ({"evidence": {"a": np.nan}}, "the value of 'a' in evidence must be a finite number, got nan"),
        ({"do": {"a": "x"}}, "the value of 'a' in do must be a finite number, got 'x'"),
        ({"missing_prob": {"z": 0.5}}, "missing_prob has 'z'"),
        ({"missing_prob": {"a": 1.5}}, "missing_prob of 'a' must be between 0 and 1, got 1.5"),
        ({"virtual_intervention": [LinearGaussianCPD("z", [0.0], 1.0)]}, "must be on a variable of the network"),
        ({"n_samples": -1}, "n_samples must be at least 0"),
    ],
)
def test_wrong_options_of_simulate(options, message):
    network = LinearGaussianBayesianNetwork([("a", "b")])
    network.add_cpds(LinearGaussianCPD("a", [1.0], 1.0), LinearGaussianCPD("b", [0.0, 2.0], 1.0, ["a"]))
    with pytest.raises(ValueError, match=message):
        network.simulate(**{"n_samples": 3, **options})


def test_latent_variables_and_missing_values_of_samples():
    network = rename(make_network(seed=3))
    network.latents = {"v2"}
    assert "v2" not in network.simulate(3, seed=0)
    assert "v2" in network.simulate(3, seed=0, include_latents=True)
    rows = network.simulate(2000, seed=0, missing_prob={"v1": 0.25})
    assert rows["v1"].isna().mean() == pytest.approx(0.25, abs=0.04)
    assert rows.drop(columns="v1").notna().all(axis=None)
    assert network.simulate(0).shape == (0, 5)

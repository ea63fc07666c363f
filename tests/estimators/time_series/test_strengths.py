"""Strengths of edges over (name, lag): standardised coefficients, which do not depend on the units of the series."""

import numpy as np
import pandas as pd
import pytest

from helpers.series_learners import SERIES_LEARNERS, every_series_learner, make_series_learner, simulate_system
from pgmx.estimators import BlockBootstrap, DenseLDS, KernelSVARM, LinearSVARM, SparsityInducingLDS
from pgmx.models import LinearDynamicalSystem

UNITS = np.array([1.0, 1000.0, 0.01, 7.0])


def simulate(n_times=200):
    rows, _ = simulate_system(4, n_times)
    return rows * [1.0, 3.0, 0.5, 20.0]


def standardise(weights, rows):
    """Return |a_ij| s_j / s_i, cell by cell."""
    deviations = rows.std(axis=0)
    expected = np.zeros_like(weights)
    for lag, target, source in np.argwhere(weights):
        expected[lag, target, source] = abs(weights[lag, target, source]) * deviations[source] / deviations[target]
    return expected


@pytest.mark.filterwarnings("ignore:not identifiable")
@every_series_learner
def test_units_change_weights_alone(cls):
    rows = simulate()
    graph, other = (make_series_learner(cls).fit(table).graph_ for table in (rows, rows * UNITS))
    np.testing.assert_allclose(graph.to_arrays("strength"), other.to_arrays("strength"), rtol=1e-5, atol=1e-7)
    assert graph.number_of_edges()
    if cls is not KernelSVARM:  # has no coefficients
        np.testing.assert_allclose(
            other.to_arrays("weight"), graph.to_arrays("weight") * UNITS[:, None] / UNITS, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("cls", [cls for cls, facts in SERIES_LEARNERS.items() if facts.is_linear])
@pytest.mark.parametrize("standardize", [True, False])
def test_strengths_are_standardised_coefficients(cls, standardize):
    rows = simulate()
    graph = make_series_learner(cls, standardize=standardize, lags=2).fit(rows).graph_
    np.testing.assert_allclose(graph.to_arrays("strength"), standardise(graph.to_arrays("weight"), rows), rtol=1e-9)


@pytest.mark.parametrize("standardize", [True, False])
def test_rows_in_chunks_have_the_same_strengths(standardize, tmp_path):
    rows = pd.DataFrame(simulate(), columns=list("abcd"))
    rows.to_csv(tmp_path / "rows.csv", index=False)
    learner = DenseLDS(solver="gram", standardize=standardize)
    whole, chunks = (learner.fit(X).graph_.to_arrays("strength") for X in (rows, tmp_path / "rows.csv"))
    np.testing.assert_allclose(whole, chunks, rtol=1e-8)


@pytest.mark.parametrize("learner", [SparsityInducingLDS(lam_ratio=0.2), LinearSVARM(lam_ratio=0.2)])
def test_consensus_graphs_have_standardised_means(learner):
    rows = simulate()
    boot, other = (BlockBootstrap(learner, n_resamples=4).fit(table) for table in (rows, rows * UNITS))
    graph = boot.consensus_graph(0.5)
    weights = graph.to_arrays("weight")
    expected = standardise(weights, rows)
    expected[0] = np.maximum(expected[0], expected[0].T)  # instantaneous edges have no direction
    np.testing.assert_allclose(graph.to_arrays("strength"), expected, rtol=1e-9)
    np.testing.assert_allclose(
        other.consensus_graph(0.5).to_arrays("strength"), graph.to_arrays("strength"), rtol=1e-5, atol=1e-7
    )


@pytest.mark.parametrize("noise", [[4.0, 9.0, 0.0], np.diag([4.0, 9.0, 0.0])])
def test_systems_are_in_units_of_their_noise(noise):
    coef = np.array([[0.5, 0.25, 0.0], [-0.5, 0.0, 0.125], [0.0, 0.25, 0.5]])
    graph = LinearDynamicalSystem(["a", "b", "c"], coef, noise_covariance=noise).to_networkx()
    assert np.array_equal(graph.to_arrays("weight")[1], coef)
    # standard deviations 2 and 3; the third has none, and keeps its unit
    expected = [[0.5, 0.25 * 3 / 2, 0.0], [0.5 * 2 / 3, 0.0, 0.125 / 3], [0.0, 0.25 * 3, 0.5]]
    np.testing.assert_allclose(graph.to_arrays("strength")[1], expected)
    bare = LinearDynamicalSystem(["a", "b", "c"], coef).to_networkx()
    assert np.array_equal(bare.to_arrays("strength")[1], np.abs(coef))


# ---- the table of a bootstrap ----


@pytest.mark.parametrize(
    "learner",
    [
        SparsityInducingLDS(lam_ratio=0.3, lags=2),
        LinearSVARM(lam_ratio=0.3),
        KernelSVARM(lam_ratio=0.3, kernels="poly2", orient="nonlinear"),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_table_of_a_bootstrap(learner):
    rows = pd.DataFrame(simulate(60), columns=list("abcd"))
    boot = BlockBootstrap(learner, n_resamples=5).fit(rows)
    shares, names = boot.edge_probability_, list(rows)
    undirected = getattr(learner, "orient", None) is None
    expected = {}
    for lag, target, source in np.argwhere(shares):
        share, back = shares[lag, target, source], shares[lag, source, target]
        if lag:
            expected[names[source], lag, names[target]] = share, 1.0
        elif undirected and source < target:
            expected[names[source], 0, names[target]] = share, 0.5
        elif not undirected and (share > back or (share == back and source < target)):
            expected[names[source], 0, names[target]] = share + back, share / (share + back)
    table = boot.strengths_
    assert list(table) == ["from", "lag", "to", "strength", "direction"]
    assert {row[:3]: row[3:] for row in table.itertuples(index=False, name=None)} == {
        edge: pytest.approx(numbers) for edge, numbers in expected.items()
    }
    assert table["strength"].is_monotonic_decreasing
    assert table["strength"].max() <= 1
    assert 0 in table["lag"].tolist() or isinstance(learner, SparsityInducingLDS)
    assert boot.strengths_ is table


def test_table_of_a_bootstrap_that_is_not_fitted():
    with pytest.raises(AttributeError, match="BlockBootstrap is not fitted yet"):
        _ = BlockBootstrap().strengths_

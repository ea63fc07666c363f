"""Sampled DAGs of exact and sampled posteriors, two variables by hand, and collinear columns."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmx.datasets import sample_network
from pgmx.estimators import StructurePosterior
from pgmx.scores import BDeu


def count_arcs(dags, names):
    """Return the share of the DAGs that have each arc."""
    place = {name: v for v, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)))
    for dag in dags:
        for tail, head in dag.edges():
            counts[place[tail], place[head]] += 1
    return pd.DataFrame(counts / len(dags), index=names, columns=names)


def assert_arcs_agree(shares, expected, n_draws):
    """Compare all arcs within 4.5 standard errors of independent draws; one draw more or less where these vanish."""
    variance = np.maximum(expected * (1 - expected), 1 / n_draws)
    excess = np.abs(shares - expected) / np.sqrt(variance / n_draws)
    assert excess.to_numpy().max() < 4.5


@pytest.fixture(scope="module")
def asia():
    return sample_network("asia", 200, random_state=4)


@pytest.mark.parametrize("over", ["dags", "orders"])
def test_independent_draws_have_all_arcs_of_the_exact_posterior(asia, over):
    posterior = StructurePosterior(over=over, show_progress=False).fit(asia)
    shares = count_arcs(posterior.sample_dags(600, random_state=3), list(asia))
    assert_arcs_agree(shares, posterior.arc_probability_, 600)


@pytest.mark.slow
def test_draws_of_chains_have_all_arcs_up_to_the_effective_size(asia):
    options = {"method": "mcmc", "n_steps": 1 << 17, "n_chains": 2, "show_progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        posterior = StructurePosterior(**options).fit(asia)
    n_draws = int(min(posterior.effective_sample_size_, 600))
    assert n_draws > 200
    shares = count_arcs(posterior.sample_dags(n_draws, random_state=3), list(asia))
    assert_arcs_agree(shares, posterior.arc_probability_, n_draws)
    exact = StructurePosterior(method="exact", show_progress=False).fit(asia)
    assert_arcs_agree(posterior.arc_probability_, exact.arc_probability_, n_draws)


@pytest.mark.parametrize("method", ["exact", "mcmc"])
def test_two_variables_by_hand(method):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 60)
    frame = pd.DataFrame({"a": a, "b": np.where(rng.random(60) < 0.4, a % 2, rng.integers(0, 2, 60))})
    score = BDeu(frame, equivalent_sample_size=10)
    alone = score.local_score("a", []) + score.local_score("b", [])
    arcs = np.array([score.local_score("a", ["b"]) + score.local_score("b", []) for _ in range(2)])
    weights = np.exp(np.array([0.0, *(arcs - alone)]))  # BDeu is the same for both directions
    weights /= weights.sum()
    posterior = StructurePosterior(method=method, n_steps=1 << 16, show_progress=False).fit(frame)
    tolerance = 1e-10 if method == "exact" else 0.03
    assert 0.05 < weights[1] < 0.45
    for arc in (("a", "b"), ("b", "a")):
        assert posterior.arc_probability_.loc[arc] == pytest.approx(weights[1], abs=tolerance)
    assert posterior.edge_probability_.loc["a", "b"] == pytest.approx(weights[1:].sum(), abs=tolerance)


@pytest.mark.parametrize("score", ["bge", "bic-g"])
def test_collinear_columns_leave_the_others_alone(score):
    rng = np.random.default_rng(2)
    x, z = rng.normal(size=(2, 100))
    frame = pd.DataFrame({"x": x, "twice": 2 * x, "y": x + z, "z": z + 0.5 * rng.normal(size=100)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        posterior = StructurePosterior(scoring_method=score, show_progress=False).fit(frame)
    # the prior of BGe bounds the density, so that it needs no warning
    assert ["determine each other" in str(one.message) for one in caught] == [True] * (score == "bic-g")
    arcs = posterior.arc_probability_.to_numpy()
    assert np.isfinite(arcs).all() and arcs.min() >= 0 and arcs.max() <= 1
    assert posterior.edge_probability_.loc["y", "z"] > 0.9
    assert (posterior.edge_probability_.loc["x", "twice"] > 0.9) == (score == "bge")

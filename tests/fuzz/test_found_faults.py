"""What the harness found, each call by itself: an error that names the culprit, in place of another one or of none."""

import numpy as np
import pandas as pd
import pytest

from pgmx import datasets, inference, metrics, plotting, solvers, statistics
from pgmx.data import DiscreteTable, estimate_memory
from pgmx.estimators import EdgeGrafting, GraphicalLasso, HillClimbSearch
from pgmx.models import GaussianMarkovNetwork, save_markov_network
from tests.fuzz.model_files import discrete
from tests.fuzz.oracles import check_pseudolikelihood

ROWS = np.random.default_rng(0).normal(size=(20, 3))
R = np.array([[1.0, 0.5], [0.5, 1.0]])
CHAIN = datasets.chain_network(3)
NETWORK = discrete()
TABLE = DiscreteTable("ab", [range(2), range(2)], [[0, 1, 0, 1, 1], [0, 0, 1, 1, 1]])
LARGE = pd.DataFrame({"a": ROWS[:, 0] * 1e200, "b": ROWS[:, 1]})
SAME = pd.DataFrame({"a": np.full(20, 1e300), "b": ROWS[:, 1]})

FAULTS = {
    "no rows": (lambda: estimate_memory(None, [2]), "n_rows must be an integer"),
    "states in halves": (lambda: estimate_memory(5, [2.5]), "cardinalities must be a list of numbers of states"),
    "states beyond 64 bits": (lambda: estimate_memory(5, [2**70]), "cardinalities must be"),
    "negative weights": (lambda: statistics.moments(ROWS, -np.ones(20)), r"weights\[0\] is -1"),
    "too few weights": (lambda: statistics.moments(ROWS, np.ones(19)), r"weights must have the shape \(20,\)"),
    "no weight": (lambda: statistics.moments(ROWS, np.zeros(20)), "all weights are zero"),
    "words for weights": (lambda: statistics.gaussian_sample(ROWS, weights=["x"] * 20), "weights must be numbers"),
    "weights of a learner": (
        lambda: GraphicalLasso(show_progress=False).fit(ROWS, sample_weight=-np.ones(20)),
        r"sample_weight\[0\] is -1",
    ),
    "complex cells": (lambda: statistics.kendall_tau_matrix(ROWS + 1j), "X must be real numbers"),
    "large numbers": (
        lambda: HillClimbSearch(scoring_method="bic-g", show_progress=False).fit(LARGE),
        "'a' hold numbers whose squares are too large",
    ),
    "a large constant": (
        lambda: HillClimbSearch(scoring_method="bic-g", show_progress=False).fit(SAME),
        "columns 'a' are constant",
    ),
    "words for a size": (lambda: statistics.sample_of_covariance(R, n_samples="x"), "n_samples must be a number"),
    "words for penalties": (lambda: list(solvers.graphical_lasso_path(R, "x")), "lams must be numbers"),
    "a row for a matrix": (lambda: solvers.clime_lam_max(R[0]), "R must be a square matrix"),
    "half a matrix": (lambda: solvers.clime_lam_max(R[:1]), "R must be a square matrix"),
    "no scale": (lambda: datasets.grid_network(2, 2, node_scale=None), "node_scale must be a number"),
    "words for a correlation": (lambda: datasets.gaussian_chain_network(3, "x"), "correlation must be"),
    "words for a degree": (lambda: datasets.gaussian_random_network(3, "x"), "mean_degree must be a number"),
    "one weight of an edge": (lambda: datasets.gaussian_hub_network(3, weights=(0.1,)), "weights must be two numbers"),
    "one size": (lambda: datasets.reservoir_ranks(5, 3), "sizes must be a list"),
    "one number of rows": (lambda: metrics.learning_curve(NETWORK, 3, {"a": NETWORK}), "sizes must be a list"),
    "no evidence": (
        lambda: inference.loopy_belief_propagation(CHAIN.potentials, evidence=3),
        "evidence must be a dict",
    ),
    "words for sweeps": (
        lambda: inference.loopy_belief_propagation(CHAIN.potentials, max_iter="x"),
        "max_iter must be an integer",
    ),
    "words for a damping": (
        lambda: inference.loopy_belief_propagation(CHAIN.potentials, damping="x"),
        "damping must lie in",
    ),
    "words for memory": (
        lambda: inference.log_partition(CHAIN, {"x0": 0}, memory="x"),
        "memory must be an integer",
    ),
    "words for potentials": (
        lambda: inference.PairwisePotentials([2], "x", [], []),
        "node_values must be numbers",
    ),
    "words for a mean": (
        lambda: GaussianMarkovNetwork.from_covariance(["a", "b"], R, mean="x"),
        "mean must be numbers",
    ),
    "words for memory of pairs": (lambda: statistics.PairTables(TABLE, memory="x"), "memory must be an integer"),
    "words for weights of pairs": (
        lambda: statistics.PairTables(TABLE, weights=["x"] * 5),
        "weights must be numbers",
    ),
    "no ratio": (lambda: GraphicalLasso().path(ROWS, lam_min_ratio="x"), "lam_min_ratio must be a number"),
    "half a penalty": (lambda: GraphicalLasso().path(ROWS, n_lams=2.5), "n_lams must be an integer"),
    "words for lams": (lambda: GraphicalLasso().path(ROWS, lams=["x"]), "lams must be numbers"),
    "words for a network": (lambda: save_markov_network("x", "a.json"), "network must be a PairwiseMarkovNetwork"),
    "no resolution": (lambda: plotting.save_picture(NETWORK, "no/such.svg", dpi=0), "dpi must be a positive number"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_culprit_is_named(name):
    call, words = FAULTS[name]
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_rows_without_weight_let_no_column_vary():
    """The oracle looks at the rows that count, as the learners do."""
    rows = pd.DataFrame({"c": [0, 1, 1], "b": [0, 1, 0]})
    weights = np.array([2, 0, 2])
    learner = EdgeGrafting(lam=0.1, l2=1e6, show_progress=False).fit(rows, sample_weight=weights)
    assert not len(learner.edges_)
    check_pseudolikelihood(learner, rows.to_numpy().T, [2, 2], 1e6, weights, {})

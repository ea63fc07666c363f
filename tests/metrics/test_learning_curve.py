"""Divergence from the truth against the number of rows."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import PDAG

from pgmx.data import encode
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.metrics import cpdag_shd, kl_divergence, learning_curve
from pgmx.models import fit_discrete


@pytest.fixture(scope="module")
def asia():
    return load_network("asia")


def learners(network):
    return {"structure known": network, "BIC": HillClimbSearch(scoring_method="bic", show_progress=False)}


@pytest.mark.slow
def test_what_is_known_costs_less_and_more_rows_bring_it_closer(asia):
    curve = learning_curve(asia, [5000, 100, 1000], learners(asia), n_repeats=3, random_state=2)
    assert list(curve.columns) == [
        "learner", "n_rows", "repeat", "divergence", "standard_error", "shd", "n_edges"
    ]  # fmt: skip
    assert list(curve["learner"].unique()) == ["structure known", "BIC"]
    assert curve["n_rows"].tolist() == [100] * 3 + [1000] * 3 + [5000] * 3 + [100] * 3 + [1000] * 3 + [5000] * 3
    means = curve.groupby(["learner", "n_rows"])["divergence"].mean()
    assert means["structure known", 100] < means["BIC", 100]
    assert means["structure known", 5000] < means["BIC", 5000]
    assert means["BIC"].is_monotonic_decreasing
    assert means["BIC", 5000] < 0.05
    assert (curve["standard_error"] == 0).all()
    known = curve[curve["learner"] == "structure known"]
    assert (known["shd"] == 0).all()
    assert (known["n_edges"] == 8).all()


def test_a_row_of_the_curve_is_what_its_parts_give(asia):
    options = {"n_repeats": 2, "pseudo_count": 0, "random_state": 5}
    curve = learning_curve(asia, [200, 20_000], learners(asia), **options)
    seed = int(np.random.SeedSequence(5).generate_state(2, np.uint64)[1])
    table = encode(sample(asia, 20_000, random_state=seed))
    learner = HillClimbSearch(scoring_method="bic", show_progress=False).fit(table)
    row = curve[(curve["learner"] == "BIC") & (curve["n_rows"] == 20_000) & (curve["repeat"] == 1)].iloc[0]
    fitted = fit_discrete(table, learner.edges_.tolist())
    assert row["divergence"] == pytest.approx(kl_divergence(asia, fitted).nats, rel=1e-9)
    assert row["shd"] == cpdag_shd(asia, learner.dag_)
    assert row["n_edges"] == len(learner.edges_)


def test_without_pseudo_counts_few_rows_give_an_infinite_divergence(asia):
    curve = learning_curve(asia, [20], {"known": asia}, n_repeats=1, pseudo_count=0)
    assert curve["divergence"].tolist() == [np.inf]


@pytest.mark.slow
def test_the_result_does_not_depend_on_the_number_of_processes(asia):
    sizes = [50, 400]
    first = learning_curve(asia, sizes, learners(asia), n_repeats=2)
    pd.testing.assert_frame_equal(first, learning_curve(asia, sizes, learners(asia), n_repeats=2, n_jobs=2))
    other = learning_curve(asia, sizes, learners(asia), n_repeats=2, random_state=1)
    assert not first["divergence"].equals(other["divergence"])


def test_a_learner_is_not_changed(asia):
    given = learners(asia)
    learning_curve(asia, [50], given, n_repeats=1)
    assert not hasattr(given["BIC"], "edges_")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"learners": {}}, TypeError, "learners must be a mapping"),
        ({"learners": {"x": HillClimbSearch}}, TypeError, "the learner 'x' must be a learner with a method fit, or a"),
        (
            {"learners": {"x": nx.DiGraph([("a", "b")])}},
            ValueError,
            "only in the network: 'asia'",
        ),
        ({"learners": {"x": "ring"}}, ValueError, "the graph of 'x' has the cycle 'asia' -> 'tub' -> 'asia'"),
        ({"sizes": []}, ValueError, "sizes is empty"),
        ({"sizes": [1]}, ValueError, "each of the sizes must be at least 2, got 1"),
        ({"pseudo_count": -1}, ValueError, "pseudo_count must be a number of at least 0, got -1"),
        ({"n_repeats": 0}, ValueError, "n_repeats must be at least 1, got 0"),
        ({"network": None}, TypeError, "network must be a fitted pgmpy DiscreteBayesianNetwork, got NoneType"),
    ],
)
def test_bad_arguments_are_named(asia, arguments, error, message):
    if arguments.get("learners") == {"x": "ring"}:
        ring = PDAG([("asia", "tub")], [])
        ring.add_nodes_from(asia.nodes())
        ring.add_edge("tub", "asia")
        arguments = {"learners": {"x": ring}}
    with pytest.raises(error, match=message):
        learning_curve(**{"network": asia, "sizes": [50], "learners": {"known": asia}, "n_repeats": 1, **arguments})

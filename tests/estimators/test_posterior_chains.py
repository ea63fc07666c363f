"""StructurePosterior(method="mcmc"): against the exact posterior, candidates, diagnostics, limits, checkpoints."""

import pickle
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from pgmx.data import encode
from pgmx.datasets import sample_network
from pgmx.estimators import StructurePosterior
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.priors import UniformPrior
from pgmx.search.posterior import chains as chains_module
from pgmx.search.posterior.diagnostics import (
    compare_chains,
    compute_arc_r_hats,
    compute_split_r_hat,
    estimate_sample_size,
)
from pgmx.search.posterior.families import ParentChoices, make_tables

STEPS = 1 << 16


@pytest.fixture(scope="module")
def asia():
    return sample_network("asia", 300, random_state=1)


@pytest.fixture(scope="module")
def chain_frame():
    """Ten continuous variables, each caused by the one before."""
    rng = np.random.default_rng(2)
    values = np.cumsum(rng.normal(size=(200, 10)), axis=1)
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(10)])


def make_asia_tables(frame):
    given = {"state_names": None, "missing": "error", "n_jobs": 1, "structure_prior": UniformPrior()}
    scoring = resolve_scoring("bdeu", encode(frame), **given)
    source = scoring.gains(allowed=None, max_indegree=None, deadline=np.inf, n_jobs=1)
    choices = ParentChoices.from_masks(np.ones((8, 8), dtype=np.uint8), np.empty((0, 2), dtype=np.int64))
    return make_tables(source, choices, np.zeros(9), max_indegree=3)


def fit(frame, **options):
    given = {"method": "mcmc", "n_steps": STEPS, "n_chains": 2, "show_progress": False, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message=".*from outside its")
        return StructurePosterior(**given).fit(frame)


# ---- probabilities ----


@pytest.mark.parametrize("over", ["dags", "orders"])
def test_agrees_with_the_exact_posterior(asia, over):
    exact = StructurePosterior(method="exact", over=over, show_progress=False).fit(asia)
    sampled = fit(asia, over=over)
    np.testing.assert_allclose(sampled.arc_probability_, exact.arc_probability_, rtol=0, atol=0.05)
    assert sampled.method_ == "mcmc"
    assert sampled.outside_mass_ == 0
    if over == "dags":
        assert set(sampled.best_dag_.edges()) == set(exact.best_dag_.edges())
        assert sampled.best_score_ == pytest.approx(exact.best_score_)


def test_arcs_from_outside_the_candidates(chain_frame):
    """With four candidates the other variables still have probabilities, which are near the exact ones."""
    exact = StructurePosterior(method="exact", show_progress=False).fit(chain_frame)
    sampled, other = (fit(chain_frame, n_candidates=4, random_state=seed) for seed in (0, 1))
    assert other.candidates_ == sampled.candidates_  # of the data alone
    assert all(len(parents) <= 4 for parents in sampled.candidates_.values())
    probability = sampled.arc_probability_
    outside = [(u, v) for v in probability for u in probability if u != v and u not in sampled.candidates_[v]]
    assert 0 < max(probability.loc[u, v] for u, v in outside) < 0.2
    assert 0 < sampled.outside_mass_ < 1
    np.testing.assert_allclose(sampled.edge_probability_, exact.edge_probability_, rtol=0, atol=0.1)
    assert (sampled.edge_probability_.to_numpy() <= 1).all()


def test_a_parent_that_replaces_another_enters():
    """A noisy copy is chosen as the only candidate's rival although it adds nothing to the first one."""
    rng = np.random.default_rng(0)
    cause = rng.normal(size=400)
    data = {"effect": cause + rng.normal(size=400), "cause": cause, "copy": cause + 0.02 * rng.normal(size=400)}
    frame = pd.DataFrame({**data, **{f"noise{i}": rng.normal(size=400) for i in range(3)}})
    exact = StructurePosterior(method="exact", show_progress=False).fit(frame)
    sampled = fit(frame, n_candidates=2, n_chains=4)
    for cause_of in ("cause", "copy"):
        assert sampled.edge_probability_.loc[cause_of, "effect"] == pytest.approx(
            exact.edge_probability_.loc[cause_of, "effect"], abs=0.15
        )


def test_sampled_dags_keep_the_knowledge(asia):
    options = {"required_edges": [("smoke", "dysp")], "forbidden_edges": [("smoke", "lung"), ("lung", "smoke")]}
    posterior = fit(asia, **options, tiers=[["asia", "smoke"], [c for c in asia if c not in ("asia", "smoke")]])
    dags = posterior.sample_dags(200)
    for dag in dags:
        assert nx.is_directed_acyclic_graph(dag)
        assert dag.has_edge("smoke", "dysp")
        assert not dag.has_edge("smoke", "lung")
        assert not dag.has_edge("bronc", "smoke")
    share = np.mean([dag.has_edge("either", "xray") for dag in dags])
    expected = posterior.arc_probability_.loc["either", "xray"]
    error = np.sqrt(expected * (1 - expected) / min(200, posterior.effective_sample_size_)) + 1e-3
    assert abs(share - expected) < 4.5 * error


def test_errors_of_features_are_of_independent_draws(asia):
    """Draws of chains count as `effective_sample_size_` at most."""
    posterior = fit(asia, n_steps=1, n_dags=6000)
    size = posterior.effective_sample_size_
    assert size < 5000
    value, error = posterior.feature_probability(lambda dag: dag.has_edge("asia", "tub") or dag.has_edge("tub", "asia"))
    assert 0.01 < value < 0.99
    assert error == pytest.approx(np.sqrt(value * (1 - value) / size))
    few = fit(asia, n_steps=1, n_dags=10).feature_probability(lambda dag: dag.number_of_edges())
    assert few.error > 0.1


# ---- the same result ----


def test_any_number_of_threads(asia):
    first, second = (fit(asia, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert (first.arc_probability_ == second.arc_probability_).all(axis=None)
    assert [set(dag.edges()) for dag in first.sample_dags(20)] == [set(dag.edges()) for dag in second.sample_dags(20)]


def test_other_seeds(asia):
    assert (fit(asia).arc_probability_ != fit(asia, random_state=1).arc_probability_).any(axis=None)


@pytest.mark.slow
@pytest.mark.parametrize("n_calls", [2, 5])
def test_resumes_to_the_same_bits(chain_frame, tmp_path, n_calls):
    """Two calls stop in the warm-up, five after it."""
    options = {"n_candidates": 4, "checkpoint": tmp_path / "chains.ckpt", "checkpoint_every": 0.0}
    whole = fit(chain_frame, n_candidates=4)
    stopped = fit(chain_frame, **options, callback=lambda progress: progress.n_iter == n_calls)
    assert stopped.stopped_by_ == "callback"
    assert not stopped.converged_
    assert options["checkpoint"].exists()
    resumed = fit(chain_frame, **options)
    assert not options["checkpoint"].exists()
    assert (resumed.arc_probability_ == whole.arc_probability_).all(axis=None)
    assert (resumed._sampled.graphs == whole._sampled.graphs).all()
    assert resumed.candidates_ == whole.candidates_
    assert resumed.effective_sample_size_ == whole.effective_sample_size_


def test_refuses_a_checkpoint_of_other_options(asia, tmp_path):
    options = {"checkpoint": tmp_path / "chains.ckpt", "callback": lambda progress: True}
    fit(asia, **options)
    with pytest.raises(ValueError, match="another search"):
        fit(asia, **options, max_indegree=2)


def test_pickles(asia):
    posterior = fit(asia)
    twin = pickle.loads(pickle.dumps(posterior))
    assert (twin.arc_probability_ == posterior.arc_probability_).all(axis=None)
    assert set(twin.sample_dags(1)[0].edges()) == set(posterior.sample_dags(1)[0].edges())


# ---- limits ----


def test_limits(asia):
    posterior = fit(asia, max_time=0.0)
    assert posterior.stopped_by_ == "max_time"
    assert np.isfinite(posterior.arc_probability_).all(axis=None)

    def interrupt(progress):
        if progress.n_iter == 6:
            raise KeyboardInterrupt

    learner = StructurePosterior(method="mcmc", callback=interrupt, show_progress=False)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(asia)
    assert learner.stopped_by_ == "interrupt"
    assert np.isfinite(learner.arc_probability_).all(axis=None)
    assert len(learner.history_["r_hat"]) == 6


def test_warns_of_chains_that_differ(chain_frame):
    learner = StructurePosterior(method="mcmc", n_steps=1, n_chains=2, r_hat=1.0001, show_progress=False)
    with pytest.warns(ConvergenceWarning, match=r"differ most between chains for 'x\d' -> 'x\d'"):
        learner.fit(chain_frame)
    assert not learner.converged_
    assert learner.stopped_by_ == "max_iter"
    assert learner.n_steps_ == chains_module.PIECE
    assert learner.r_hats_.to_numpy()[~np.eye(10, dtype=bool)].max() == pytest.approx(learner.r_hat_, rel=0.2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_candidates": 17}, "at most 16 candidates"),
        ({"n_candidates": 1, "required_edges": [("x0", "x5"), ("x1", "x5")]}, "n_candidates=1"),
    ],
)
def test_bad_options(options, message):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 19)), columns=[f"x{i}" for i in range(19)])
    with pytest.raises(ValueError, match=message):
        fit(frame, **options)


@pytest.mark.parametrize("options", [{"max_indegree": 0}, {"n_candidates": 0}])
def test_no_parents(asia, options):
    posterior = fit(asia, n_steps=1, **options)
    if "max_indegree" in options:
        assert not posterior.arc_probability_.to_numpy().any()
    assert not posterior.sample_dags(1)[0].edges()


def test_equal_and_constant_columns():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 2, 200)
    y = np.where(rng.random(200) < 0.8, x, 1 - x)
    frame = pd.DataFrame({"x": x, "twin": x, "y": y, "one": np.zeros(200, dtype=int)})
    exact = StructurePosterior(method="exact", show_progress=False).fit(frame)
    np.testing.assert_allclose(fit(frame).arc_probability_, exact.arc_probability_, rtol=0, atol=0.06)


# ---- diagnostics ----


def test_r_hats():
    same, apart = np.full((4, 2, 3), 0.5), np.full((4, 2, 3), 0.5)
    apart[2:, 1, 2] = 0.9
    assert (compute_arc_r_hats(same) == 1).all()
    expected = np.sqrt(1 + np.var([0.5, 0.5, 0.9, 0.9], ddof=1) / ((0.25 + 0.09) / 2))
    assert compute_arc_r_hats(apart)[1, 2] == pytest.approx(expected)
    rng = np.random.default_rng(0)
    traces = [rng.normal(size=1000) for _ in range(4)]
    assert compute_split_r_hat(traces) < 1.01
    assert compute_split_r_hat([*traces[:3], traces[3] + 2]) > 1.2
    agreement = compare_chains([same, apart], traces[:2])
    assert agreement.max_difference == pytest.approx(0.2)
    assert agreement.r_hat == max(agreement.score_r_hat, agreement.r_hats.max())


def test_effective_sample_size():
    rng = np.random.default_rng(0)
    independent = [rng.normal(size=4000) for _ in range(2)]
    assert estimate_sample_size(independent) > 6000
    series = []
    for noise in independent:  # autoregression: n (1 - a) / (1 + a)
        values = np.empty(4000)
        values[0] = noise[0]
        for t in range(1, 4000):
            values[t] = 0.8 * values[t - 1] + noise[t]
        series.append(values)
    assert estimate_sample_size(series) == pytest.approx(8000 * 0.2 / 1.8, rel=0.25)
    assert estimate_sample_size([np.ones(100)]) == 100


def test_restarts_a_chain_that_lags_behind(asia):
    """One chain is put to an order far below the others: it starts again from the best chain's order."""
    sampler = chains_module.ChainSampler(
        make_asia_tables(asia),
        np.arange(8),
        over_dags=True,
        n_chains=3,
        n_steps=None,
        r_hat=1.05,
        seed=0,
    )
    for chain in sampler.chains:
        chain.warm_trace[:] = np.random.default_rng(0).normal(size=len(chain.warm_trace))
    sampler.chains[1].warm_trace[:] -= 40
    sampler._restart_laggards()
    assert sampler.n_restarts == 1

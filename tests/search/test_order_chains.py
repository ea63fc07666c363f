"""The compiled chains against enumeration of all DAGs, a plain Metropolis chain, the prior, and laws."""

import math

import numpy as np
import pytest

from oracles.posterior import EnumeratedPosterior, run_metropolis
from pgmx.search.posterior.chains import BETAS, PIECE, RECORDS, make_kernel
from pgmx.search.posterior.families import ParentChoices, make_tables

STEPS = 1 << 17


class RandomScores:
    """Scores of families: normal numbers of a scale, by a seed."""

    def __init__(self, scale, seed=0):
        self.scale, self.seed = scale, seed

    def __call__(self, child, parents):
        key = [self.seed, child, *sorted(int(p) for p in parents)]
        return self.scale * float(np.random.default_rng(key).normal()) if self.scale else 0.0

    family_score = __call__


def choose(n, forbidden=(), required=()):
    allowed = 1 - np.eye(n, dtype=np.uint8)
    for tail, head in forbidden:
        allowed[head, tail] = 0
    return ParentChoices.from_masks(allowed, np.array(required, dtype=np.int64).reshape(-1, 2))


def tabulate(scores, choices, log_prior=None, max_indegree=30):
    log_prior = np.zeros(choices.n + 1) if log_prior is None else log_prior
    return make_tables(scores, choices, log_prior, max_indegree=max_indegree)


def run(tables, order, betas=(1.0,), *, over_dags=True, word=7, steps=STEPS, warm_up=0):
    """Return shares of arcs, the trace, the recorded parents as masks of variables, and the kernel."""
    n = tables.n
    kernel = make_kernel(tables, np.tile(order, (len(betas), 1)), betas, over_dags=over_dags, word=word)
    if warm_up:
        kernel.warm_up(warm_up, np.empty(RECORDS))
    shape = (n, kernel.n_candidates)
    parts = []
    for _ in range(steps // PIECE):
        arcs, trace, graphs = np.empty(shape), np.empty(RECORDS), np.empty((RECORDS, n), dtype=np.uint16)
        kernel.run(PIECE, arcs, trace, graphs)
        parts.append((arcs, trace, graphs))
    arcs = np.zeros((n, n))
    for v, free in enumerate(tables.choices.candidates):
        arcs[free, v] = np.mean([part[0] for part in parts], axis=0)[v, : len(free)]
    for v, forced in enumerate(tables.choices.required):
        arcs[forced, v] = 1.0
    return arcs, np.concatenate([part[1] for part in parts]), np.concatenate([part[2] for part in parts]), kernel


def enumerate_posterior(scores, choices, over="dags", max_indegree=30):
    def log_weight(v, parents):
        required, free = set(choices.required[v].tolist()), set(choices.candidates[v].tolist())
        if not required <= set(parents) <= required | free or len(parents) > max_indegree:
            return -math.inf
        return scores(v, parents)

    return EnumeratedPosterior(choices.n, log_weight, over=over)


# ---- against enumeration: the warrant of the chain over pairs ----


@pytest.mark.parametrize("betas", [(1.0,), BETAS])
@pytest.mark.parametrize("over", ["dags", "orders"])
@pytest.mark.parametrize("scale", [0.5, 1.5])
def test_against_enumeration(scale, over, betas):
    scores, choices = RandomScores(scale, 1), choose(4)
    oracle = enumerate_posterior(scores, choices, over)
    arcs, _, graphs, _ = run(tabulate(scores, choices), np.arange(4), betas, over_dags=over == "dags")
    np.testing.assert_allclose(arcs, oracle.arcs, rtol=0, atol=0.02)
    drawn = np.array([[(graphs[:, v] >> b & 1).mean() for b in range(3)] for v in range(4)])
    expected = np.array([oracle.arcs[choices.candidates[v], v] for v in range(4)])
    np.testing.assert_allclose(drawn, expected, rtol=0, atol=0.08)  # 1,024 records


def test_whole_graphs_against_enumeration():
    """Single arcs may agree while their combinations do not."""
    scores, choices = RandomScores(1.0, 3), choose(3)
    oracle = enumerate_posterior(scores, choices)
    *_, graphs, _ = run(tabulate(scores, choices), np.arange(3), steps=16 * PIECE)
    counts = dict.fromkeys(map(tuple, oracle.graphs), 0)
    for row in graphs.tolist():
        edges = [(int(u), v) for v in range(3) for b, u in enumerate(choices.candidates[v]) if row[v] >> b & 1]
        counts[tuple(sorted(edges))] += 1
    shares = np.array([counts[tuple(edges)] for edges in oracle.graphs]) / len(graphs)
    np.testing.assert_allclose(shares, oracle.probabilities, rtol=0, atol=0.025)


@pytest.mark.parametrize("over", ["dags", "orders"])
def test_knowledge(over):
    """Forbidden arcs, required arcs and a limit of parents are those of the enumeration."""
    scores, choices = RandomScores(1.0, 4), choose(4, forbidden=[(0, 1), (1, 2)], required=[(3, 0), (2, 0)])
    oracle = enumerate_posterior(scores, choices, over, max_indegree=2)
    order = np.array([3, 2, 0, 1])
    arcs, _, graphs, _ = run(tabulate(scores, choices, max_indegree=2), order, BETAS, over_dags=over == "dags")
    np.testing.assert_allclose(arcs, oracle.arcs, rtol=0, atol=0.02)
    assert not graphs[:, 0].any()  # two parents are required


def test_prior_without_data():
    """With equal weights each DAG is as probable as any other."""
    oracle = enumerate_posterior(RandomScores(0.0), choose(4))
    arcs, trace, _, _ = run(tabulate(RandomScores(0.0), choose(4)), np.arange(4))
    np.testing.assert_allclose(arcs, oracle.arcs, rtol=0, atol=0.015)
    assert not trace.any()


@pytest.mark.slow
def test_against_metropolis():
    scores, choices = RandomScores(1.0, 5), choose(6)
    expected = run_metropolis(6, scores, n_steps=200_000, seed=1)
    arcs, *_ = run(tabulate(scores, choices), np.arange(6))
    np.testing.assert_allclose(arcs, expected, rtol=0, atol=0.06)


# ---- laws ----


def test_one_dag_with_all_mass():
    """Scores of 3,000 nats neither overflow nor stop the chain: it finds the best DAG from any order."""
    scores, choices = RandomScores(3000.0, 6), choose(4)
    oracle = enumerate_posterior(scores, choices)
    arcs, trace, _, kernel = run(tabulate(scores, choices), np.array([3, 1, 0, 2]), BETAS, warm_up=PIECE)
    np.testing.assert_allclose(arcs, oracle.arcs, rtol=0, atol=1e-3)
    assert np.isfinite(trace).all()
    best = [(int(u), v) for v in range(4) for b, u in enumerate(choices.candidates[v]) if kernel.best_sets[v] >> b & 1]
    assert sorted(best) == oracle.best


def test_same_bits_by_word():
    tables = tabulate(RandomScores(1.0, 7), choose(5))
    first, second, other = (run(tables, np.arange(5), BETAS, word=word, steps=2 * PIECE) for word in (1, 1, 2))
    assert (first[0] == second[0]).all()
    assert (first[2] == second[2]).all()
    assert (first[2] != other[2]).any()


@pytest.mark.parametrize("over_dags", [True, False])
def test_continues_from_a_state(over_dags):
    """A chain that continues from a stored state makes the same steps as one that was not stopped."""
    tables = tabulate(RandomScores(1.0, 8), choose(5))
    options = {"over_dags": over_dags, "word": 3}
    whole = run(tables, np.arange(5), BETAS, steps=2 * PIECE, **options)
    *_, kernel = run(tables, np.arange(5), BETAS, steps=PIECE, **options)
    other = make_kernel(tables, np.tile(np.arange(5)[::-1], (len(BETAS), 1)), BETAS, **options)
    other.set_state(*kernel.get_state())
    arcs, trace, graphs = np.empty((5, 4)), np.empty(RECORDS), np.empty((RECORDS, 5), dtype=np.uint16)
    other.run(PIECE, arcs, trace, graphs)
    assert (trace == whole[1][RECORDS:]).all()
    assert (graphs == whole[2][RECORDS:]).all()


def test_refuses_states_of_other_tables():
    tables = tabulate(RandomScores(1.0, 9), choose(3, required=[(2, 0)]))
    with pytest.raises(ValueError, match="an order has no DAG"):
        make_kernel(tables, np.array([[0, 1, 2]]), [1.0], over_dags=True, word=1)
    kernel = make_kernel(tables, np.array([[2, 0, 1]]), [1.0], over_dags=True, word=1)
    order = np.array([[2, 0, 1]], dtype=np.int32)
    with pytest.raises(ValueError, match="not among"):
        kernel.set_state(order, np.full((1, 3), 99, dtype=np.int32), 1)
    last = np.array([[tables.start[v + 1] - 1 for v in range(3)]], dtype=np.int32)
    refused = 0
    for chosen in np.ndindex(*np.diff(tables.start)):  # some families have parents that come later
        families = (last - last + tables.start[:-1] + np.array(chosen)).astype(np.int32)
        try:
            kernel.set_state(order, families, 1)
        except ValueError as error:
            assert "does not agree" in str(error)
            refused += 1
    assert refused

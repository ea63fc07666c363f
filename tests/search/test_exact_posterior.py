"""The exact posterior against enumeration and decimals, exact samples, and laws."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from oracles.posterior import EnumeratedPosterior, decimal_arcs
from pgmx.scores.priors import EdgePrior
from pgmx.search.posterior.exact import ExactPosterior, count_bytes, find_best_dag
from pgmx.search.posterior.families import ParentChoices, make_tables
from pgmx.search.posterior.sampled import SampledDags
from pgmx.search.posterior.structure_priors import compute_log_prior, sum_prior

OVERS = ["dags", "orders"]


class RandomScores:
    """Scores of families: normal numbers of a scale, by a seed."""

    def __init__(self, scale, seed=0):
        self.scale, self.seed = scale, seed

    def __call__(self, child, parents):
        key = [self.seed, child, *sorted(int(p) for p in parents)]
        return self.scale * float(np.random.default_rng(key).normal())

    family_score = __call__


def choose_all(n, forbidden=(), required=()):
    allowed = 1 - np.eye(n, dtype=np.uint8)
    for tail, head in forbidden:
        allowed[head, tail] = 0
    return ParentChoices.from_masks(allowed, np.array(required, dtype=np.int64).reshape(-1, 2))


def solve(scores, choices, over, *, log_prior=None, max_indegree=30):
    log_prior = np.zeros(choices.n + 1) if log_prior is None else log_prior
    posterior = ExactPosterior(make_tables(scores, choices, log_prior, max_indegree=max_indegree), over)
    assert posterior.solve()
    return posterior


def allow(scores, choices, log_prior=None, max_indegree=30):
    """Return the log weight of a family, -inf outside the choices."""

    def log_weight(v, parents):
        required, free = set(choices.required[v].tolist()), set(choices.candidates[v].tolist())
        if not required <= set(parents) <= required | free or len(parents) > max_indegree:
            return -math.inf
        return scores(v, parents) + (0.0 if log_prior is None else log_prior[len(parents)])

    return log_weight


def list_graphs(drawn):
    return [sorted(drawn.list_edges(graph)) for graph in range(len(drawn.parents))]


# ---- against enumeration and decimals ----


@pytest.mark.parametrize("over", OVERS)
@pytest.mark.parametrize("scale", [1.0, 10.0, 300.0])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_against_enumeration(n, scale, over):
    scores, choices = RandomScores(scale), choose_all(n)
    log_prior = compute_log_prior("fair", n)
    posterior = solve(scores, choices, over, log_prior=log_prior)
    oracle = EnumeratedPosterior(n, allow(scores, choices, log_prior), over=over)
    np.testing.assert_allclose(posterior.arc_probability, oracle.arcs, rtol=0, atol=1e-11)
    assert posterior.log_total == pytest.approx(oracle.log_total, rel=1e-13, abs=1e-11)
    edges, _ = posterior.find_best()
    if over == "dags":
        assert sorted(map(tuple, edges.tolist())) == oracle.best


@pytest.mark.parametrize("over", OVERS)
def test_knowledge_and_limits_against_enumeration(over):
    scores = RandomScores(3.0, 1)
    choices = choose_all(4, forbidden=[(0, 1), (2, 3)], required=[(1, 2), (3, 0)])
    posterior = solve(scores, choices, over, max_indegree=2)
    oracle = EnumeratedPosterior(4, allow(scores, choices, max_indegree=2), over=over)
    np.testing.assert_allclose(posterior.arc_probability, oracle.arcs, rtol=0, atol=1e-12)
    assert posterior.log_total == pytest.approx(oracle.log_total, abs=1e-11)
    for graph in list_graphs(posterior.sample(300, 4)):
        assert {(1, 2), (3, 0)} <= set(graph) and not {(0, 1), (2, 3)} & set(graph) and graph in oracle.graphs


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("over", OVERS)
def test_five_variables_against_enumeration(scale, over):
    scores, choices = RandomScores(scale, 2), choose_all(5)
    posterior = solve(scores, choices, over)
    oracle = EnumeratedPosterior(5, allow(scores, choices), over=over)
    np.testing.assert_allclose(posterior.arc_probability, oracle.arcs, rtol=0, atol=1e-10)
    assert posterior.log_total == pytest.approx(oracle.log_total, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.3, 5.0, 200.0])
def test_eight_variables_against_decimals(scale):
    scores, choices = RandomScores(scale, 3), choose_all(8)
    posterior = solve(scores, choices, "dags")
    log_total, arcs = decimal_arcs(8, scores)
    np.testing.assert_allclose(posterior.arc_probability, arcs, rtol=0, atol=1e-8)
    assert posterior.log_total == pytest.approx(log_total, abs=1e-8)


# ---- laws ----


@pytest.mark.parametrize(
    ("n", "n_dags"), [(1, 1), (2, 3), (3, 25), (4, 543), (5, 29281), (6, 3781503), (9, 1213442454842881)]
)
def test_uniform_weights_count_dags(n, n_dags):
    choices = choose_all(n)
    posterior = solve(RandomScores(0.0), choices, "dags")
    assert posterior.log_total == pytest.approx(math.log(n_dags), rel=1e-13, abs=1e-13)
    assert sum_prior(np.zeros(n), choices, n, "dags") == pytest.approx(math.log(n_dags), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("over", OVERS)
@pytest.mark.parametrize("prior", ["fair", "uniform", EdgePrior(0.3)])
def test_sum_of_the_prior(prior, over):
    log_prior, choices = compute_log_prior(prior, 5), choose_all(5)
    posterior = solve(RandomScores(0.0), choices, over, log_prior=log_prior, max_indegree=3)
    alike = sum_prior(log_prior, choices, 3, over)
    assert alike == pytest.approx(posterior.log_total, rel=1e-13)
    fewer = choose_all(5, forbidden=[(0, 1)])
    assert sum_prior(log_prior, fewer, 3, over) < alike


@pytest.mark.parametrize("over", OVERS)
def test_forbidding_an_arc_conditions_on_its_absence(over):
    scores, choices = RandomScores(2.0, 5), choose_all(6)
    whole = solve(scores, choices, over)
    without = solve(scores, choose_all(6, forbidden=[(4, 2)]), over)
    share = 1.0 - whole.arc_probability[4, 2]
    assert math.exp(without.log_total - whole.log_total) == pytest.approx(share, rel=1e-11)


@pytest.mark.parametrize("over", OVERS)
def test_a_constant_of_a_variable_changes_only_the_total(over):
    scores = RandomScores(4.0, 6)

    class Shifted:
        def family_score(self, child, parents):
            return scores(child, parents) - (1e6 if child == 3 else 0.0)

    plain, shifted = (solve(source, choose_all(5), over) for source in (scores, Shifted()))
    np.testing.assert_allclose(shifted.arc_probability, plain.arc_probability, rtol=0, atol=1e-8)
    assert shifted.log_total == pytest.approx(plain.log_total - 1e6, rel=1e-14)


@pytest.mark.parametrize("over", OVERS)
def test_names_do_not_matter(over):
    scores, order = RandomScores(2.0, 7), [3, 0, 4, 1, 2]

    class Permuted:
        def family_score(self, child, parents):
            return scores(order[child], [order[p] for p in parents])

    plain, permuted = (solve(source, choose_all(5), over) for source in (scores, Permuted()))
    np.testing.assert_allclose(permuted.arc_probability, plain.arc_probability[np.ix_(order, order)], atol=1e-13)


@pytest.mark.parametrize("over", OVERS)
@pytest.mark.parametrize("scale", [0.1, 10_000.0])
def test_scores_of_any_size(scale, over):
    posterior = solve(RandomScores(scale, 8), choose_all(9), over, max_indegree=3)
    assert np.isfinite(posterior.log_total)
    assert 0.0 <= posterior.arc_probability.min() <= posterior.arc_probability.max() <= 1.0
    drawn = posterior.sample(20, 0)
    assert np.abs(drawn.arc_frequency() - posterior.arc_probability).max() < (1e-9 if scale > 1 else 0.6)


@pytest.mark.parametrize("over", OVERS)
def test_no_structure_with_all_required_arcs(over):
    only = ParentChoices.from_masks(np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]]), np.array([[2, 0], [0, 1], [1, 2]]))
    with pytest.raises(ValueError, match="no DAG has the required parents"):
        solve(RandomScores(1.0), only, over)


# ---- samples ----


@pytest.mark.parametrize("over", OVERS)
def test_samples_have_the_frequencies_of_the_posterior(over):
    scores, choices = RandomScores(1.0, 9), choose_all(4)
    posterior = solve(scores, choices, over)
    oracle = EnumeratedPosterior(4, allow(scores, choices), over=over)
    drawn = posterior.sample(20_000, 11)
    number = {tuple(graph): k for k, graph in enumerate(oracle.graphs)}
    counts = np.zeros(len(oracle.graphs))
    for graph, times in zip(list_graphs(drawn), drawn.multiplicities, strict=True):
        counts[number[tuple(graph)]] += times
    expected = oracle.probabilities * drawn.n_samples
    large = expected > 5
    statistic = ((counts - expected)[large] ** 2 / expected[large]).sum()
    assert 1e-4 < chi2.sf(statistic, large.sum() - 1) < 0.9999
    np.testing.assert_allclose(drawn.path_frequency(), oracle.paths, rtol=0, atol=0.02)


@pytest.mark.parametrize("over", OVERS)
def test_samples_depend_on_the_seed_and_their_number_only(over):
    posterior = solve(RandomScores(1.0, 10), choose_all(10), over, max_indegree=3)  # keeps tables of layers
    few, many, other = posterior.sample(30, 5), posterior.sample(200, 5), posterior.sample(200, 6)
    first = [many.list_edges(graph) for graph in many.graph_of[:30]]
    assert [few.list_edges(graph) for graph in few.graph_of] == first
    assert [other.list_edges(graph) for graph in other.graph_of[:30]] != first
    error = np.abs(many.arc_frequency() - posterior.arc_probability)
    assert (
        error <= 4.5 * np.sqrt(np.maximum(posterior.arc_probability * (1 - posterior.arc_probability), 1e-3) / 200)
    ).all()


def test_no_samples():
    drawn = solve(RandomScores(1.0), choose_all(3), "dags").sample(0, 1)
    assert drawn.n_samples == 0 and len(drawn.parents) == 0


def test_sampled_dags_of_many_variables():
    rng, n = np.random.default_rng(0), 70  # two words
    arcs = [np.triu(rng.random((n, n)) < 0.05, 1) for _ in range(3)]
    arcs = [arcs[0], arcs[1], arcs[0], arcs[2], arcs[1]]
    parents = np.zeros((5, n, 2), dtype=np.uint64)
    for k, matrix in enumerate(arcs):
        for u, v in np.argwhere(matrix):
            parents[k, v, u >> 6] |= np.uint64(1 << (u & 63))
    drawn = SampledDags(parents)
    assert len(drawn.parents) == 3 and drawn.graph_of.tolist() == [0, 1, 0, 2, 1]
    assert sorted(drawn.list_edges(2)) == sorted(map(tuple, np.argwhere(arcs[3]).tolist()))
    np.testing.assert_allclose(drawn.arc_frequency(), np.mean(arcs, axis=0))
    reach = [np.linalg.matrix_power(np.eye(n) + matrix, n) - np.eye(n) > 0 for matrix in arcs]
    np.testing.assert_allclose(drawn.path_frequency(), np.mean(reach, axis=0))
    found = drawn.families
    counts = drawn.count_descendants()
    for family, (child, ids) in enumerate(zip(found.children, found.parents, strict=True)):
        have = [k for k in range(5) if np.flatnonzero(arcs[k][:, child]).tolist() == ids.tolist()]
        np.testing.assert_array_equal(counts[family], sum(reach[k][child].astype(float) for k in have))
    parents[1, 0, 0], parents[1, 1, 0] = np.uint64(2), np.uint64(1)
    with pytest.raises(ValueError, match="has a cycle"):
        SampledDags(parents).path_frequency()


# ---- size ----


def test_bytes_are_counted_from_shapes():
    choices = choose_all(10)
    assert count_bytes(choices, "dags") == 10 * 2 * 8 * 2**9 + 24 * 2**10
    assert count_bytes(choices, "orders") == 10 * 2 * 8 * 2**9 + 16 * 2**10


def test_the_clock_ends_the_sums():
    posterior = ExactPosterior(make_tables(RandomScores(0.1), choose_all(13), np.zeros(14), max_indegree=2), "dags")
    assert not posterior.solve(lambda: True)


def test_large_rounding_errors_are_an_error(monkeypatch):
    posterior = ExactPosterior(make_tables(RandomScores(0.1), choose_all(4), np.zeros(5), max_indegree=2), "dags")
    monkeypatch.setattr("pgmx.search.posterior.exact.LAW_TOLERANCE", -1.0)
    with pytest.raises(ArithmeticError, match="sum to 1 only within"):
        posterior.solve()


def test_best_dag_of_a_network_is_the_best_of_all():
    scores, choices = RandomScores(5.0, 12), choose_all(4)
    tables = make_tables(scores, choices, np.zeros(5), max_indegree=2)
    edges, weight = find_best_dag(tables)
    oracle = EnumeratedPosterior(4, allow(scores, choices, max_indegree=2))
    assert sorted(map(tuple, edges.tolist())) == oracle.best
    parents = [tuple(sorted(tail for tail, head in oracle.best if head == v)) for v in range(4)]
    assert weight == pytest.approx(sum(scores(v, parents[v]) for v in range(4)))

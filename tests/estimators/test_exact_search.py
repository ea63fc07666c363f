"""``strategy="exact"``: the best of all graphs under any knowledge and score, and no proof that is not finished."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

from oracles.all_dags import best_score
from oracles.graphs import is_acyclic
from oracles.subset_networks import best_network_score
from pgmx.estimators import HillClimbSearch
from pgmx.scores import AIC, BIC, K2, BDeu, BDs, BICGauss, EdgePrior, LogLikelihood, ParameterPrior

SCORES = {"bic": BIC, "aic": AIC, "ll": LogLikelihood, "k2": K2, "bdeu": BDeu, "bds": BDs, "bic-g": BICGauss}


def make_states(rng, n, n_rows=60):
    """Return a table whose columns depend on earlier ones, some only jointly."""
    columns = []
    for v in range(n):
        noise = rng.integers(0, 2 + v % 2, n_rows)
        parents = [columns[u] for u in rng.permutation(v)[:2]]
        columns.append(np.where(rng.random(n_rows) < 0.7, sum(parents) % (2 + v % 2) if parents else noise, noise))
    order = rng.permutation(n)
    return pd.DataFrame({f"v{i}": columns[u] for i, u in enumerate(order)})


def make_numbers(rng, n, n_rows=80):
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6), 1)
    order = rng.permutation(n)
    values = rng.normal(size=(n_rows, n)) @ np.linalg.inv(np.eye(n) - weights)
    return pd.DataFrame(values[:, order], columns=[f"v{i}" for i in range(n)])


def draw_knowledge(rng, n):
    """Return the options of a learner, the same as a matrix (child, parent), and the required arcs."""
    allowed = np.ones((n, n), dtype=bool)
    forbidden = [(u, v) for u in range(n) for v in range(n) if u != v and rng.random() < 0.15]
    tier = rng.integers(0, 2, n) if rng.random() < 0.5 else np.zeros(n, dtype=int)
    for u, v in forbidden:
        allowed[v, u] = False
    allowed &= tier[:, None] >= tier[None, :]
    order = sorted(range(n), key=lambda v: (tier[v], rng.random()))
    required = [(u, v) for i, u in enumerate(order) for v in order[i + 1 :] if allowed[v, u] and rng.random() < 0.08]
    options = {
        "forbidden_edges": [(f"v{u}", f"v{v}") for u, v in forbidden] or None,
        "required_edges": [(f"v{u}", f"v{v}") for u, v in required] or None,
        "tiers": [[f"v{u}" for u in range(n) if tier[u] == t] for t in (0, 1) if (tier == t).any()],
    }
    return options, allowed, required


def fit(data, name, *, sample_weight=None, **options):
    learner = HillClimbSearch(scoring_method=name, strategy="exact", show_progress=False, return_type="dag", **options)
    learner.fit(data, sample_weight=sample_weight)
    assert is_acyclic([tuple(edge) for edge in learner.edges_.tolist()])
    return learner


def local_scores(data, name):
    score = SCORES[name](data)
    return lambda v, parents: score.local_score(f"v{v}", [f"v{p}" for p in parents])


@pytest.mark.parametrize("name", SCORES)
def test_it_is_the_best_of_all_graphs_under_any_knowledge(name):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        n = 4
        data = (make_numbers if name == "bic-g" else make_states)(rng, n)
        options, allowed, required = draw_knowledge(rng, n)
        most_required = max([sum(head == v for _, head in required) for v in range(n)])
        most = max(int(rng.integers(1, n + 1)), most_required)
        learner = fit(data, name, max_indegree=most, **options)
        price = np.log(2) if name == "bds" else 0.0  # its own prior of graphs: an arc 1/4 each way, none 1/2
        rules = {"allowed": allowed, "required": required, "max_indegree": most}
        expected = best_score(n, local_scores(data, name), price=price, **rules) - price * n * (n - 1) / 2
        assert learner.score_ == pytest.approx(expected, rel=1e-9)
        assert learner.proven_ and learner.optimality_gap_ == 0 and learner.converged_
        assert set(required) <= {tuple(edge) for edge in learner.edges_.tolist()}


@pytest.mark.parametrize("name", ["bic", "bdeu", "k2", "bic-g"])
def test_it_is_the_optimum_of_dynamic_programming(name):
    rng = np.random.default_rng(5)
    n = 6
    data = (make_numbers if name == "bic-g" else make_states)(rng, n, 300)
    expected = best_network_score(n, local_scores(data, name))
    learner = fit(data, name)
    assert learner.score_ == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SCORES if name != "bds"])
def test_larger_problems_under_knowledge(name):
    for seed in range(4):
        rng = np.random.default_rng(100 + seed)
        n = 8
        data = (make_numbers if name == "bic-g" else make_states)(rng, n, 200)
        options, allowed, required = draw_knowledge(rng, n)
        expected = best_network_score(n, local_scores(data, name), allowed=allowed, required=required, max_indegree=6)
        assert fit(data, name, max_indegree=6, **options).score_ == pytest.approx(expected, rel=1e-9)


def test_priors_of_graphs_and_weights_count():
    rng = np.random.default_rng(8)
    data = make_states(rng, 4)
    score = local_scores(data, "bdeu")
    learner = fit(data, "bdeu", structure_prior=EdgePrior(0.2))
    assert learner.score_ == pytest.approx(best_score(4, score, price=-np.log(0.2)))
    weights = rng.integers(1, 4, len(data)).astype(float)
    repeated = data.loc[np.repeat(np.arange(len(data)), weights.astype(int))].reset_index(drop=True)
    learner = fit(data, "bic", structure_prior=ParameterPrior(0.7), sample_weight=weights)
    n_states = data.nunique().to_numpy()

    def price(v, parents):
        return 0.7 * (n_states[v] - 1) * np.prod(n_states[list(parents)])

    score = local_scores(repeated, "bic")
    assert learner.score_ == pytest.approx(best_score(4, lambda v, parents: score(v, parents) - price(v, parents)))


@pytest.mark.parametrize("name", ["bic", "bdeu"])
def test_fractional_weights_of_rows(name):
    data = make_states(np.random.default_rng(9), 4)
    weights = np.random.default_rng(1).random(len(data))
    learner = fit(data, name, sample_weight=weights)
    assert learner.proven_
    arcs = [(f"v{u}", f"v{v}") for u, v in learner.edges_.tolist()]
    others = [fit(data, name, sample_weight=weights, forbidden_edges=[arc]).score_ for arc in arcs]
    others += [
        fit(data, name, sample_weight=weights, required_edges=[(u, v)]).score_ for u in data for v in data if u != v
    ]
    assert max(others) <= learner.score_ + 1e-8


def test_other_strategies_prove_nothing():
    data = make_states(np.random.default_rng(3), 4)
    for strategy in ("greedy", "thorough"):
        learner = HillClimbSearch(strategy=strategy, show_progress=False).fit(data)
        assert learner.proven_ is False and np.isnan(learner.optimality_gap_)


@pytest.mark.parametrize("name", ["bic", "bdeu", "bic-g"])
def test_what_the_clock_ends_is_bounded_not_proven(name):
    rng = np.random.default_rng(4)
    data = (make_numbers if name == "bic-g" else make_states)(rng, 7, 300)
    best = fit(data, name).score_
    calls = []
    learner = fit(data, name, callback=lambda progress: calls.append(progress) or len(calls) > 1)
    assert learner.stopped_by_ == "callback"
    assert learner.score_ + learner.optimality_gap_ >= best - 1e-9
    with pytest.warns(ConvergenceWarning, match="max_time=0"):
        learner = fit(data, name, max_time=0)
    assert learner.proven_ is False and learner.score_ + learner.optimality_gap_ >= best - 1e-9


def test_large_problems_are_refused_in_words_or_bounded(monkeypatch):
    data = make_states(np.random.default_rng(2), 7, 300)
    best = fit(data, "bic").score_
    monkeypatch.setattr("pgmx.search.dag.exact.MOST_MEMBERS", 2)
    with pytest.raises(ValueError, match=r"subsets of the \d variables .* GB and about .* max_time"):
        fit(data, "bic")
    monkeypatch.setattr("pgmx.search.dag.exact.GROUP_SIZE", 3)
    learner = fit(data, "bic", max_time=60)
    assert learner.score_ <= best + 1e-9 <= learner.score_ + learner.optimality_gap_ + 2e-9
    monkeypatch.setattr("pgmx.search.dag.exact.MOST_FAMILIES", 10)
    with pytest.raises(ValueError, match="more than 10 families"):
        fit(data, "bic")
    wide = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (30, 65)))
    with pytest.raises(ValueError, match="at most 64 variables, got 65"):
        HillClimbSearch(strategy="exact", show_progress=False).fit(wide)


@pytest.mark.parametrize("name", ["bge", "bic-dg", "bic-clg"])
def test_scores_without_bounds_are_proven_or_refused_in_words(name):
    data = make_numbers(np.random.default_rng(2), 20)
    if name != "bge":
        data = data.assign(v0=np.where(data["v0"] > 0, "high", "low"))
    words = r"would score [\d,]+ families one by one, since this score has no bounds: give max_time .* max_indegree"
    with pytest.raises(ValueError, match=words):
        fit(data, name)
    assert fit(data, name, max_indegree=1).proven_
    few = data.iloc[:, :5]
    best = fit(few, name)
    assert best.proven_ and best.score_ >= fit(few, name, max_indegree=2).score_ - 1e-9
    with pytest.warns(ConvergenceWarning, match="max_time=0"):
        learner = fit(few, name, max_time=0)
    assert learner.proven_ is False and learner.optimality_gap_ == np.inf


def test_a_prior_that_does_not_decompose_is_refused():
    class Reversing(EdgePrior):
        @property
        def bonus(self):
            return -1.0, 1.0, -0.5

    with pytest.raises(ValueError, match="is a sum over arcs"):
        fit(make_states(np.random.default_rng(2), 3), "bic", structure_prior=Reversing(0.5))

"""StructurePosterior: probabilities against enumeration, evidence, effects, predictions, limits and errors."""

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG
from pgmpy.structure_score import BIC as FOREIGN_BIC
from sklearn.exceptions import ConvergenceWarning

from oracles.posterior import EnumeratedPosterior
from pgmx.estimators import StructurePosterior
from pgmx.models import to_dag
from pgmx.models.bayesian.averages import average_rows
from pgmx.plotting.strengths import plot_strengths, read_strengths
from pgmx.scores import K2, BDeu, BGe, BICGauss, EdgePrior, ParameterPrior, StructurePrior
from pgmx.search.posterior.exact import ExactPosterior
from pgmx.search.posterior.families import ParentChoices, make_prior_tables

RNG = np.random.default_rng(2)
N = 80
A = RNG.integers(0, 2, N)
STATES = pd.DataFrame({"a": A, "b": np.where(RNG.random(N) < 0.8, A, 1 - A), "c": RNG.integers(0, 3, N)}).astype(
    "category"
)
STATES["d"] = pd.Categorical(np.where(RNG.random(N) < 0.7, STATES["b"].to_numpy() + 0, 1))
NUMBERS = pd.DataFrame(RNG.normal(size=(N, 4)), columns=list("wxyz"))
NUMBERS["x"] += NUMBERS["w"]
NUMBERS["y"] -= 0.5 * NUMBERS["x"]
MIXED = pd.concat([STATES[["a", "b"]], NUMBERS[["w", "x"]]], axis=1)
WEIGHTS = np.linspace(0.5, 2.0, N)


def fair(n):
    return [-math.log(math.comb(n - 1, k)) for k in range(n)]


def enumerate_with(score, names, *, over="dags", prior=None, allow=lambda v, parents: True):
    prior = fair(len(names)) if prior is None else prior

    def log_weight(v, parents):
        if not allow(names[v], [names[p] for p in parents]):
            return -math.inf
        return score(names[v], tuple(names[p] for p in parents)) + prior[len(parents)]

    return EnumeratedPosterior(len(names), log_weight, over=over)


# ---- probabilities ----


@pytest.mark.parametrize("over", ["dags", "orders"])
@pytest.mark.parametrize(
    ("data", "method", "score"),
    [(STATES, None, BDeu), (STATES, "k2", K2), (NUMBERS, None, BGe), (NUMBERS, "bic-g", BICGauss)],
)
def test_probabilities_against_enumeration(data, method, score, over):
    posterior = StructurePosterior(scoring_method=method, over=over).fit(data)
    oracle = enumerate_with(score(data).local_score, list(data.columns), over=over)
    arcs = posterior.arc_probability_
    assert list(arcs.index) == list(arcs.columns) == list(data.columns)
    np.testing.assert_allclose(arcs, oracle.arcs, rtol=0, atol=1e-10)
    np.testing.assert_allclose(posterior.edge_probability_, oracle.arcs + oracle.arcs.T, rtol=0, atol=1e-10)
    share = oracle.arcs / np.where(np.eye(4), np.nan, oracle.arcs + oracle.arcs.T)
    np.testing.assert_allclose(posterior.direction_probability_, share, rtol=0, atol=1e-9)
    np.testing.assert_allclose(posterior.path_probabilities(), oracle.paths, rtol=0, atol=4.5 * 0.5 / math.sqrt(2000))
    first = posterior.strengths_.iloc[0]
    assert first["strength"] == posterior.edge_probability_.to_numpy().max() and first["direction"] >= 0.5
    assert posterior.converged_ and posterior.stopped_by_ == "converged" and posterior.method_ == "exact"


def test_foreign_scores_and_score_objects():
    foreign = FOREIGN_BIC(STATES)
    posterior = StructurePosterior(scoring_method=foreign).fit(STATES)
    oracle = enumerate_with(foreign.local_score, list(STATES.columns))
    np.testing.assert_allclose(posterior.arc_probability_, oracle.arcs, rtol=0, atol=1e-10)
    other = BDeu(STATES, equivalent_sample_size=2)
    posterior = StructurePosterior(scoring_method=other).fit(STATES)
    oracle = enumerate_with(other.local_score, list(STATES.columns))
    np.testing.assert_allclose(posterior.arc_probability_, oracle.arcs, rtol=0, atol=1e-10)


def test_knowledge():
    posterior = StructurePosterior(
        required_edges=[("a", "b")], forbidden_edges=[("c", "d")], tiers=[["a"], ["b", "c", "d"]], max_indegree=2
    ).fit(STATES)

    def allow(child, parents):
        return not (
            (child == "b" and "a" not in parents)
            or (child == "d" and "c" in parents)
            or (child == "a" and parents)
            or len(parents) > 2
        )

    oracle = enumerate_with(BDeu(STATES).local_score, list("abcd"), allow=allow)
    np.testing.assert_allclose(posterior.arc_probability_, oracle.arcs, rtol=0, atol=1e-10)
    assert posterior.candidates_ == {"a": [], "b": ["a", "c", "d"], "c": ["a", "b", "d"], "d": ["a", "b"]}
    for dag in posterior.sample_dags(50):
        assert ("a", "b") in dag.edges and ("c", "d") not in dag.edges and not list(dag.predecessors("a"))


def test_weights_count_as_repeated_rows():
    times = np.arange(N) % 3
    weighted = StructurePosterior().fit(STATES, sample_weight=times)
    repeated = StructurePosterior().fit(STATES.loc[np.repeat(np.arange(N), times)])
    np.testing.assert_allclose(weighted.arc_probability_, repeated.arc_probability_, rtol=0, atol=1e-10)
    real = StructurePosterior(scoring_method="bdeu").fit(STATES, sample_weight=WEIGHTS)
    assert np.isfinite(real.log_evidence_)


def test_missing_values():
    holes = STATES.mask(np.random.default_rng(0).random(STATES.shape) < 0.05)
    pairwise = StructurePosterior(scoring_method="bic", missing="pairwise").fit(holes)
    assert pairwise.edge_probability_.loc["a", "b"] > 0.9
    with pytest.raises(ValueError, match=r"'drop', or HillClimbSearch\(missing='em'\) for one"):
        StructurePosterior(missing="em").fit(holes)


def test_score_equivalent_directions_are_undirected():
    posterior = StructurePosterior(structure_prior="uniform").fit(STATES[["a", "b"]])
    assert posterior.arc_probability_.loc["a", "b"] == pytest.approx(
        posterior.arc_probability_.loc["b", "a"], abs=1e-12
    )
    assert list(posterior.graph_.undirected_edges) == [("a", "b")] and len(posterior.dag_.edges) == 1
    assert not posterior.consensus_graph(1.0).edges


def test_columns_without_information():
    constant = STATES.assign(e=pd.Categorical(["only"] * N))
    posterior = StructurePosterior(structure_prior=EdgePrior(0.5)).fit(constant)
    # two parts of one prior: the arcs of a constant column hardly matter to the others
    assert 0.2 < posterior.arc_probability_.loc["e", "a"] < 0.5
    equal = STATES.assign(e=STATES["a"])[["a", "b", "e"]]
    arcs = StructurePosterior().fit(equal).edge_probability_
    assert arcs.loc["a", "e"] > 0.999
    one = StructurePosterior().fit(STATES[["a"]])
    assert (
        one.arc_probability_.shape == (1, 1)
        and not one.strengths_.size
        and one.log_evidence_ == pytest.approx(BDeu(STATES[["a"]]).local_score("a", ()))
    )
    none = StructurePosterior(max_indegree=0).fit(STATES)
    assert not none.arc_probability_.to_numpy().any() and not none.best_dag_.edges


# ---- evidence and the best DAG ----


@pytest.mark.parametrize("over", ["dags", "orders"])
@pytest.mark.parametrize(
    ("prior", "of_family"),
    [
        ("fair", lambda v, parents: fair(4)[len(parents)]),
        ("uniform", lambda v, parents: 0.0),
        (EdgePrior(0.3), lambda v, parents: math.log(0.3) * len(parents)),
        (ParameterPrior(0.2), None),
    ],
    ids=["fair", "uniform", "edges", "parameters"],
)
def test_evidence_is_the_average_of_the_likelihood(prior, of_family, over):
    score, names = BDeu(STATES), list(STATES.columns)
    cards = [STATES[name].cat.categories.size for name in names]
    if of_family is None:

        def of_family(v, parents):
            return -0.2 * math.prod(cards[p] for p in parents) * (cards[v] - 1)

    def likelihood(v, parents):
        return score.local_score(names[v], tuple(names[p] for p in parents))

    whole = EnumeratedPosterior(4, lambda v, parents: of_family(v, parents) + likelihood(v, parents), over=over)
    alone = EnumeratedPosterior(4, of_family, over=over)
    posterior = StructurePosterior(structure_prior=prior, over=over).fit(STATES)
    np.testing.assert_allclose(posterior.arc_probability_, whole.arcs, rtol=0, atol=1e-10)
    assert posterior.log_evidence_ == pytest.approx(whole.log_total - alone.log_total, abs=1e-8)


def test_best_dag():
    posterior = StructurePosterior().fit(STATES)
    oracle = enumerate_with(BDeu(STATES).local_score, list("abcd"))
    score = BDeu(STATES)
    parents = {v: sorted(posterior.best_dag_.predecessors(v)) for v in "abcd"}
    value = sum(score.local_score(v, parents[v]) + fair(4)[len(parents[v])] for v in "abcd")
    assert posterior.best_score_ == pytest.approx(value, abs=1e-9)
    assert posterior.best_score_ == pytest.approx(math.log(oracle.probabilities.max()) + oracle.log_total, abs=1e-9)


# ---- samples, features, effects ----


def test_samples_and_features():
    posterior = StructurePosterior(n_dags=1000).fit(STATES)
    dags = posterior.sample_dags(1000)
    assert all(isinstance(dag, DAG) and list(dag.nodes) == list("abcd") for dag in dags[:5])
    value, error = posterior.feature_probability(lambda dag: dag.has_edge("a", "b"))
    assert value == pytest.approx(np.mean([dag.has_edge("a", "b") for dag in dags]))
    assert abs(value - posterior.arc_probability_.loc["a", "b"]) < 4.5 * error and 0.012 < error < 0.017
    edges = posterior.feature_probability(lambda dag: dag.number_of_edges())
    assert edges.value == pytest.approx(posterior.arc_probability_.to_numpy().sum(), abs=4.5 * edges.error)
    again = posterior.sample_dags(5)
    assert [set(dag.edges) for dag in again] == [set(dag.edges) for dag in dags[:5]]
    assert [set(dag.edges) for dag in posterior.sample_dags(20, 1)] != [set(dag.edges) for dag in dags[:20]]
    assert posterior.sample_dags(0) == []
    with pytest.raises(ValueError, match="n must be a number of DAGs"):
        posterior.sample_dags(-1)
    with pytest.raises(ValueError, match="boolean or a finite number"):
        posterior.feature_probability(lambda dag: "yes")


@pytest.mark.parametrize("score", ["bge", "bic-g"])
def test_effects_are_regressions_averaged_over_dags(score):
    posterior = StructurePosterior(scoring_method=score, n_dags=100).fit(NUMBERS)
    effects = posterior.causal_effects()
    centred = NUMBERS - NUMBERS.mean()
    scale = 0.5 if score == "bge" else 0.0  # t = mu (alpha_w - p - 1) / (mu + 1)
    cross = (centred.T @ centred).to_numpy() + scale * np.eye(4)
    mean, nonzero = np.zeros((4, 4)), np.zeros((4, 4))
    names = list(NUMBERS.columns)
    for dag in posterior.sample_dags(100):
        for i, x in enumerate(names):
            regressors = [i, *map(names.index, dag.predecessors(x))]
            for y in descend(dag, x):
                j = names.index(y)
                mean[i, j] += np.linalg.solve(cross[np.ix_(regressors, regressors)], cross[regressors, j])[0] / 100
                nonzero[i, j] += 1 / 100
    np.testing.assert_allclose(effects.mean, mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(effects.nonzero, nonzero, rtol=0, atol=1e-12)
    np.testing.assert_allclose(effects.nonzero, posterior.path_probabilities(), rtol=0, atol=1e-12)
    assert (effects.std.to_numpy()[nonzero > 0] > 0).all() and not np.diag(effects.mean).any()
    assert list(effects.mean.index) == names


def descend(dag, x):
    seen, waiting = set(), [x]
    while waiting:
        for child in dag.successors(waiting.pop()):
            if child not in seen:
                seen.add(child)
                waiting.append(child)
    return seen


def test_effects_need_continuous_data():
    with pytest.raises(ValueError, match="needs continuous data and scoring_method='bge'"):
        StructurePosterior().fit(STATES).causal_effects()


def test_arcs_from_outside_the_candidates():
    """The exact sums over one candidate add the first-order mass of the second cause, and warn of it."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(200, 4)), columns=["a", "b", "effect", "noise"])
    frame["effect"] += frame["a"] + 0.7 * frame["b"]
    options = {"method": "exact", "show_progress": False, "required_edges": [("a", "effect")]}
    whole = StructurePosterior(**options).fit(frame)
    assert whole.outside_mass_ == 0
    learner = StructurePosterior(**options, n_candidates=1)
    with pytest.warns(UserWarning, match="has parents from outside its 1 candidates"):
        learner.fit(frame)
    assert learner.candidates_["effect"] == ["a"]
    assert 0.9 < learner.outside_mass_ < 1
    assert learner.edge_probability_.loc["b", "effect"] == pytest.approx(1, abs=0.1)
    assert learner.edge_probability_.loc["noise", "effect"] < 0.2
    np.testing.assert_allclose(learner.edge_probability_, learner.edge_probability_.T)
    assert (learner.edge_probability_.to_numpy() <= 1 + 1e-12).all()


def test_causes_of_small_gains_are_candidates():
    """Descendants have larger gains alone than the causes."""
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=500) for name in ("a", "b")}
    value = 0.4 * columns["a"] + 0.4 * columns["b"] + rng.normal(size=500)
    for name in ("effect", "c", "d", "e", "f"):
        columns[name], value = value, value + 0.3 * rng.normal(size=500)
    learner = StructurePosterior(method="exact", n_candidates=4, show_progress=False).fit(pd.DataFrame(columns))
    assert {"a", "b"} <= set(learner.candidates_["effect"])
    assert learner.outside_mass_ < 0.1


# ---- predictions ----


def fitted_density(score_of, names, dags, data, row):
    """Return ln of the average over DAGs of exp(score of the data and one row - score of the data)."""
    more = pd.concat([data, row], ignore_index=True)
    if isinstance(data.dtypes.iloc[0], pd.CategoricalDtype):
        more = more.astype(data.dtypes)
    before, after = score_of(data), score_of(more)
    logs = []
    for dag in dags:
        families = [(v, tuple(sorted(dag.predecessors(v)))) for v in names]
        logs.append(sum(after.local_score(*family) - before.local_score(*family) for family in families))
    return logs


def test_predictions_of_bdeu_are_ratios_of_marginal_likelihoods():
    posterior = StructurePosterior(n_dags=60).fit(STATES)
    rows = STATES.iloc[[3, 17]]
    predicted = posterior.score_samples(rows)
    for k in range(2):
        logs = fitted_density(BDeu, list("abcd"), posterior.sample_dags(60), STATES, rows.iloc[[k]])
        assert predicted[k] == pytest.approx(np.logaddexp.reduce(logs) - math.log(60), abs=1e-10)
        assert predicted[k] >= np.mean(logs)
    assert posterior.score(rows) == pytest.approx(predicted.mean())


def test_predictions_of_bge_are_ratios_of_marginal_likelihoods():
    def score_of(data):
        return BGe(data, prior_mean=np.zeros(4))  # the default prior mean moves with the data

    posterior = StructurePosterior(scoring_method=score_of(NUMBERS), n_dags=60).fit(NUMBERS)
    row = pd.DataFrame([[0.3, -2.0, 1.0, 0.1]], columns=list("wxyz"))
    logs = fitted_density(score_of, list("wxyz"), posterior.sample_dags(60), NUMBERS, row)
    expected = np.logaddexp.reduce(logs) - math.log(60)
    assert posterior.score_samples(row[list("zyxw")])[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (STATES, {"scoring_method": "bic", "equivalent_sample_size": 4.0}),
        (NUMBERS, {"scoring_method": "bic-g"}),
        (MIXED, {"scoring_method": "bic-clg"}),
    ],
)
def test_predictions_average_over_networks(data, options):
    posterior = StructurePosterior(n_dags=20, **options).fit(data)
    predicted = posterior.score_samples(data)
    scoring, logs = posterior._scoring.get(), []
    ids = {name: v for v, name in enumerate(data.columns)}
    for dag in posterior.sample_dags(20):
        prior = options.get("equivalent_sample_size", 1.0)
        model = scoring.model([(ids[u], ids[v]) for u, v in dag.edges], equivalent_sample_size=prior)
        is_discrete = data is STATES
        logs.append(model.log_likelihood(data) if is_discrete else model.log_likelihood_terms(data).sum(axis=0))
    expected = np.logaddexp.reduce(logs, axis=0) - math.log(20)
    if data is NUMBERS:  # networks divide by the degrees of freedom
        np.testing.assert_allclose(predicted, expected, rtol=0.05, atol=0.1)
    else:
        np.testing.assert_allclose(predicted, expected, rtol=0, atol=1e-9)


def test_rows_with_new_states_are_impossible():
    posterior = StructurePosterior(n_dags=10).fit(STATES)
    rows = STATES.astype(object).iloc[:3].copy()
    rows.loc[1, "c"] = 7
    with pytest.warns(UserWarning, match="1 of 3 rows have states of 'c'"):
        logs = posterior.score_samples(rows)
    assert np.isneginf(logs).tolist() == [False, True, False]


def test_averages_of_rows():
    rng = np.random.default_rng(0)
    terms, numbers = rng.normal(size=(7, 9)) * 50, np.array([[0, 3, 5], [1, 3, 6], [2, 4, 5], [0, 3, 5]])
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    logs = terms[numbers].sum(axis=1) + np.log(shares)[:, None]
    np.testing.assert_allclose(average_rows(terms, numbers, shares), np.logaddexp.reduce(logs, axis=0), atol=1e-10)


# ---- limits and errors ----


def test_limits_leave_graphs_of_fewer_parents():
    posterior = StructurePosterior(callback=lambda progress: progress.n_iter == 2).fit(STATES)
    fewer = StructurePosterior(max_indegree=1).fit(STATES)
    assert posterior.stopped_by_ == "callback" and not posterior.converged_ and math.isnan(posterior.log_evidence_)
    np.testing.assert_array_equal(posterior.arc_probability_, fewer.arc_probability_)
    with pytest.warns(ConvergenceWarning, match="at most 0 candidates"):
        none = StructurePosterior(max_time=0).fit(STATES)
    assert not none.edges_.size and none.stopped_by_ == "max_time"


def test_an_interrupt_keeps_the_levels_that_are_done():
    def stop(progress):
        if progress.n_iter == 2:
            raise KeyboardInterrupt

    learner = StructurePosterior(callback=stop)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(STATES)
    assert learner.stopped_by_ == "interrupt"
    np.testing.assert_array_equal(
        learner.arc_probability_, StructurePosterior(max_indegree=1).fit(STATES).arc_probability_
    )


def test_pickles_make_the_tables_again():
    posterior = StructurePosterior(over="orders").fit(STATES)
    copied = pickle.loads(pickle.dumps(posterior))
    assert len(pickle.dumps(posterior)) < 50_000
    assert [set(dag.edges) for dag in copied.sample_dags(9)] == [set(dag.edges) for dag in posterior.sample_dags(9)]
    assert copied.best_score_ == posterior.best_score_


def test_reports_and_plots(tmp_path):
    posterior = StructurePosterior().fit(STATES)
    assert posterior.report(tmp_path / "report.html").stat().st_size > 1000
    assert "Confidence is the probability that" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert plot_strengths(posterior, kind="ranks").get_ylabel() == "probability"
    assert plot_strengths(posterior.strengths_, kind="ranks").get_ylabel() == "share of resamples"
    assert len(read_strengths(posterior).of) == 6
    assert posterior.model_.check_model()


def test_estimated_cost():
    cost = StructurePosterior().estimate_cost(STATES)
    assert cost.scratch > 2 * 4 * 8 * 2**3 + 24 * 2**4
    wide = pd.DataFrame(np.zeros((4, 40), dtype=int), columns=[f"v{i}" for i in range(40)])
    assert StructurePosterior(n_candidates=3).estimate_cost(wide).total > 0


WIDE = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (30, 31)), columns=[f"v{i}" for i in range(31)])


class OddPrior(StructurePrior):
    @property
    def bonus(self):
        return -1.0, 0.5, 0.0


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"scoring_method": "aic"}, STATES, "'aic-d' is not a log marginal likelihood"),
        ({"scoring_method": "ll-g"}, NUMBERS, "'ll-g' is not a log marginal likelihood"),
        ({}, MIXED, "no score is the default for them"),
        ({"method": "exact"}, WIDE, "method='exact' accepts 30 variables at most, got 31: leave out .* method='mcmc'"),
        (
            {"method": "exact"},
            WIDE.iloc[:, :30],
            "needs .* for 30 .* at most: give a smaller n_candidates",
        ),
        ({"required_edges": [("a", "d"), ("b", "d")], "max_indegree": 1}, STATES, "'d' has 2 required parents"),
        ({"required_edges": [("a", "d"), ("b", "d")], "n_candidates": 1}, STATES, "but n_candidates=1"),
        ({"required_edges": [("a", "b"), ("b", "a")]}, STATES, "form the cycle"),
        ({"structure_prior": OddPrior()}, STATES, "is not a product over edges"),
        ({"structure_prior": "unfair"}, STATES, "'structure_prior' parameter"),
        ({}, STATES.mask(STATES == 1), "missing"),
        ({}, NUMBERS.mask(NUMBERS > 2), "missing"),
        ({"scoring_method": "bdeu"}, NUMBERS, "float"),
        ({}, NUMBERS.assign(w=np.inf), "inf"),
    ],
)
def test_errors_name_the_cause(options, data, message):
    with pytest.raises((ValueError, TypeError), match=message), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        StructurePosterior(**options).fit(data)


# ---- calibration ----


@pytest.mark.slow
def test_probabilities_are_calibrated():
    """Networks, parameters and rows are drawn from the prior: of the arcs of probability p, the share p is true."""
    rng, n, names = np.random.default_rng(4), 7, [f"v{i}" for i in range(7)]
    choices = ParentChoices.from_masks(np.ones((n, n)), np.empty((0, 2), dtype=np.int64))
    prior = ExactPosterior(make_prior_tables(choices, np.array(fair(n)), max_indegree=5), "dags")
    assert prior.solve()
    drawn = prior.sample(120, 5)
    said, seen = [], []
    for graph in drawn.graph_of.tolist():
        dag = to_dag(names, drawn.list_edges(graph))
        rows = np.zeros((200, n), dtype=int)
        for v in map(names.index, sort_nodes(dag, names)):
            parents = [names.index(u) for u in dag.predecessors(names[v])]
            cells = np.zeros(200, dtype=int)
            for u in parents:
                cells = 2 * cells + rows[:, u]
            q = 2 ** len(parents)
            theta = rng.dirichlet(np.full(2, 10.0 / (2 * q)), size=q)
            rows[:, v] = rng.random(200) < theta[cells, 1]
        data = pd.DataFrame(rows, columns=names).astype(pd.CategoricalDtype([0, 1]))
        arcs = StructurePosterior().fit(data).arc_probability_.to_numpy()
        for i, u in enumerate(names):
            for j, v in enumerate(names):
                if i != j:
                    said.append(arcs[i, j])
                    seen.append(dag.has_edge(u, v))
    said, seen = np.array(said), np.array(seen, dtype=float)
    bins = np.minimum((said * 10).astype(int), 9)
    error = sum(abs(said[bins == b].sum() - seen[bins == b].sum()) for b in range(10)) / len(said)
    assert error <= 0.02
    assert abs(seen.sum() - said.sum()) < 3.5 * math.sqrt((said * (1 - said)).sum())


def sort_nodes(dag, names):
    placed = []
    while len(placed) < len(names):
        placed += [v for v in names if v not in placed and set(dag.predecessors(v)) <= set(placed)]
    return placed

"""Three or more columns that determine each other: scores against columns with noise, in exact arithmetic; graphs."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest

from oracles.all_dags import all_dags
from oracles.equivalence import cpdag
from oracles.noisy_columns import add_noise, covariance, determinant, log_residual, noisy_score
from pgmx.data import open_frame
from pgmx.data.mixed import read_mixed
from pgmx.estimators import (
    BestFirstSearch,
    BootstrapStructure,
    ChowLiuForest,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    SimulatedAnnealing,
)
from pgmx.scores import (
    AICGauss,
    BGe,
    BICCondGauss,
    BICCondLinearGauss,
    BICDegenerateGauss,
    BICGauss,
    LogLikelihoodGauss,
)

QUIET = {"show_progress": False, "return_type": "dag"}
RNG = np.random.default_rng(0)
A, B, C = RNG.integers(-3000, 3000, (3, 200)).astype(float)
NEAR_A = A // 2 + C
TABLES = {
    "a total": [A, B, A + B],
    "a total and a cause": [A, B, A + B, (A + B) // 2 + C],
    "a total of dependent columns": [A, NEAR_A, A + NEAR_A],
    "a small share": [A, B // 100, A + B // 100, C],
    "shares": list(RNG.multinomial(1000, [0.1, 0.2, 0.3, 0.4], 200).T.astype(float)),
    "one-hot": list(np.eye(4)[RNG.integers(0, 4, 200)].T),
    "two totals of a column": [A, B, C, A + B, B + C],
}
every_table = pytest.mark.parametrize("name", TABLES)
SEARCHES = {
    "greedy": lambda method: HillClimbSearch(scoring_method=method, **QUIET),
    "restarts": lambda method: HillClimbSearch(scoring_method=method, n_restarts=2, **QUIET),
    "thorough": lambda method: HillClimbSearch(scoring_method=method, strategy="thorough", **QUIET),
    "two threads": lambda method: HillClimbSearch(scoring_method=method, strategy="thorough", n_jobs=2, **QUIET),
    "best": lambda method: HillClimbSearch(scoring_method=method, strategy="best", **QUIET),
    "exact": lambda method: HillClimbSearch(scoring_method=method, strategy="exact", **QUIET),
    "equivalence": lambda method: GreedyEquivalenceSearch(scoring_method=method, **QUIET),
    "annealing": lambda method: SimulatedAnnealing(scoring_method=method, **QUIET),
    "best first": lambda method: BestFirstSearch(scoring_method=method, **QUIET),
}
SCORES = ["bic-g", "aic-g", "bge", "bic-clg", "aic-clg", "bic-cg", "bic-dg"]


def frame_of(columns):
    return pd.DataFrame(dict(enumerate(columns))).set_axis([f"x{v}" for v in range(len(columns))], axis=1)


def list_families(p):
    for child in range(p):
        others = [v for v in range(p) if v != child]
        for size in range(p):
            yield from ((child, parents) for parents in itertools.combinations(others, size))


def names_of(child, parents):
    return f"x{child}", tuple(f"x{v}" for v in parents)


def fit_and_catch(learner, data, **options):
    """Return a fitted learner, and the warnings of columns that determine each other."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(data, **options)
    return learner, [str(one.message) for one in caught if "determine each other" in str(one.message)]


def total_frame(n_rows=500, seed=2):
    """Return t = a + b of independent draws, c = t / 2 and noise, and seven further columns."""
    rng = np.random.default_rng(seed)
    a, b, c, *others = rng.normal(size=(10, n_rows))
    others[1] += others[0]
    others[2] += a
    further = {f"x{v}": column for v, column in enumerate(others)}
    return pd.DataFrame({"a": a, "x": c + 0.5 * (a + b), **further, "b": b, "t": a + b})


# ---- scores ----


@every_table
@pytest.mark.parametrize("weighted", [False, True])
def test_every_gaussian_family_is_that_of_columns_with_noise(name, weighted):
    columns, p = TABLES[name], len(TABLES[name])
    weights = RNG.integers(1, 4, 200).astype(float) if weighted else None
    exact = covariance(columns, weights)
    noisy = add_noise(exact, [exact[v][v] for v in range(p)])
    score, frame = BICGauss(frame_of(columns)), frame_of(columns)
    n = 200.0
    if weighted:
        n = weights.sum()
        score = BICGauss(frame.loc[frame.index.repeat(weights.astype(int))])
    for child, parents in list_families(p):
        expected = noisy_score(noisy, child, parents, n, math.log(n) / 2)
        assert score.local_score(*names_of(child, parents)) == pytest.approx(expected, abs=1e-5)


def test_the_scores_differ_by_their_penalty():
    frame = frame_of(TABLES["a total"])
    plain = LogLikelihoodGauss(frame).local_score("x2", ("x0", "x1"))
    assert AICGauss(frame).local_score("x2", ("x0", "x1")) == pytest.approx(plain - 4, rel=1e-12)
    assert BICGauss(frame).local_score("x2", ("x0", "x1")) == pytest.approx(plain - 2 * math.log(200), rel=1e-12)


def test_a_marginal_likelihood_whose_prior_is_too_small_to_be_seen():
    """R of BGe has t on its diagonal, 1e-17 of the sums of squares here: noise of 1e-12 is added."""
    columns = [1e7 * column for column in TABLES["a total and a cause"]]
    n, p = 200, 4
    exact = [[200 * x for x in row] for row in covariance(columns)]
    noisy = add_noise(exact, [exact[v][v] for v in range(p)])
    score = BGe(frame_of(columns))
    t = 0.5

    def log_det(members):
        value = determinant([[noisy[i][j] for j in members] for i in members]) if members else 1
        return math.log(value)

    for child, parents in list_families(p):
        k = len(parents)
        expected = 0.5 * math.log(1 / (n + 1)) + math.lgamma((n + 3 + k) / 2) - math.lgamma((3 + k) / 2)
        expected += -n / 2 * math.log(math.pi) + (2 + 2 * k + 1) / 2 * math.log(t)
        expected += (n + 2 + k) / 2 * log_det(parents) - (n + 3 + k) / 2 * log_det((*parents, child))
        assert score.local_score(*names_of(child, parents)) == pytest.approx(expected, abs=1e-4)


def mixed_frame():
    """Return a total with three causes of both kinds, in whole numbers."""
    rng = np.random.default_rng(5)
    k, j = rng.integers(0, 3, 300), rng.integers(0, 2, 300)
    a = rng.integers(-500, 500, 300) + 400 * k
    b = rng.integers(-500, 500, 300) * (1 + j)
    columns = {"a": a.astype(float), "b": b.astype(float), "t": (a + b).astype(float)}
    columns["c"] = columns["t"] // 2 + rng.integers(-500, 500, 300)
    states = {"k": pd.Categorical(k.astype(str)), "j": pd.Categorical(j.astype(str))}
    return pd.DataFrame({"j": states["j"], **columns, "k": states["k"]})


def exact_cells(frame, states, floats, divisor=0):
    """Return (rows, covariance with noise) of each configuration: fractions; denominator n - divisor."""
    whole = covariance([frame[name].to_list() for name in floats])
    variances = [whole[v][v] for v in range(len(floats))]
    cells = []
    for _, rows in frame.groupby(list(states), observed=True) if states else [((), frame)]:
        n = len(rows)
        noisy = add_noise(covariance([rows[name].to_list() for name in floats]), variances)
        cells.append((n, [[x * n / (n - divisor) for x in row] for row in noisy]))
    return cells


@pytest.mark.parametrize(
    ("child", "states", "floats"),
    [
        ("t", (), ("a", "b")),
        ("t", ("k",), ("a", "b")),
        ("b", ("j", "k"), ("a", "t")),
        ("c", ("j",), ("a", "b", "t")),
        ("a", ("j",), ("b", "c", "t")),
        ("c", ("k",), ("a", "t")),
    ],
)
def test_conditional_families_have_the_noise_in_each_configuration(child, states, floats):
    frame = mixed_frame()
    p, last = len(floats), (*floats, child)
    n_cells = int(np.prod([frame[name].nunique() for name in states]))
    cost = math.log(300) / 2 * n_cells * (p + 2)
    expected = -cost
    for n, matrix in exact_cells(frame, states, last):
        expected += -n / 2 * (math.log(2 * math.pi) + log_residual(matrix, p, range(p)) + 1)
    assert BICCondLinearGauss(frame).local_score(child, (*states, *floats)) == pytest.approx(expected, abs=1e-6)
    expected = -cost
    for n, matrix in exact_cells(frame, states, last, 1):
        expected += -n / 2 * (math.log(2 * math.pi) + log_residual(matrix, p, range(p))) - (n - 1) / 2
    assert BICCondGauss(frame).local_score(child, (*states, *floats)) == pytest.approx(expected, abs=1e-6)


def test_states_with_continuous_parents_that_determine_each_other():
    frame = mixed_frame()

    def log_density(states):
        total = 0.0
        for n, matrix in exact_cells(frame, states, ("a", "b", "t"), 1):
            log_det = math.log(determinant(matrix))
            total += n * math.log(n) - n / 2 * (3 * math.log(2 * math.pi) + log_det) - (n - 1) * 1.5
        return total

    expected = log_density(("k", "j")) - log_density(("j",)) - math.log(300) / 2 * 2 * 2 * 5
    assert BICCondGauss(frame).local_score("k", ("j", "a", "b", "t")) == pytest.approx(expected, abs=1e-6)


def test_what_is_determined_in_one_configuration_alone_is_refused_as_before():
    frame = mixed_frame()
    frame.loc[frame["k"] == "1", "b"] = 7.0
    frame["t"] = frame["a"] + frame["b"]
    score = BICCondLinearGauss(frame)
    assert score.local_score("t", ("a", "k")) == -np.inf
    assert np.isfinite(score.local_score("t", ("a", "b")))
    assert np.isfinite(score.local_score("t", ("a", "j")))


def test_continuous_columns_alone_have_the_gaussian_score_in_all_others():
    frame = frame_of(TABLES["a total and a cause"])
    plain, linear, degenerate = BICGauss(frame), BICCondLinearGauss(frame), BICDegenerateGauss(frame)
    for family in itertools.starmap(names_of, list_families(4)):
        assert linear.local_score(*family) == pytest.approx(plain.local_score(*family), abs=1e-6)
        assert degenerate.local_score(*family) == pytest.approx(plain.local_score(*family), rel=1e-12)


@pytest.mark.parametrize("make", [BICGauss, BGe, BICDegenerateGauss, BICCondLinearGauss])
def test_gains_are_differences_of_scores_and_both_directions_tie(make):
    frame = mixed_frame() if make is BICDegenerateGauss else 1e7 * mixed_frame()[["a", "b", "t", "c"]]
    score = make(frame)
    if make in (BICGauss, BGe):
        source = score.make_scorer(score.moments, names=list(frame))
    else:
        mixed = read_mixed(open_frame(frame))
        source = score.make_source(mixed, max_indegree=9)
    p = frame.shape[1]
    gains, scores = np.empty((p, p)), np.empty(p)
    source.start(gains, scores)
    np.testing.assert_array_equal(gains, gains.T)
    for child, parents in list_families(p):
        ids = np.array(parents, dtype=np.int32)
        now = source.rescore(child, ids, gains)
        assert now == source.family_score(child, ids)
        for u in set(range(p)) - {child}:
            family = np.array(sorted({*parents} ^ {u}), dtype=np.int32)
            assert gains[child, u] == pytest.approx(source.family_score(child, family) - now, abs=2e-5)
    for parents in [(), (2,), (1, 2)]:
        ids = np.array(parents, dtype=np.int32)
        for u, v in itertools.combinations(set(range(p)) - set(parents), 2):
            source.rescore(u, ids, gains)
            source.rescore(v, ids, gains)
            assert gains[u, v] == gains[v, u]


@every_table
def test_equivalent_graphs_tie(name):
    """All complete graphs are equivalent."""
    p, score = len(TABLES[name]), BICGauss(frame_of(TABLES[name]))
    totals = []
    for order in itertools.permutations(range(p)):
        totals.append(sum(score.local_score(*names_of(v, order[:i])) for i, v in enumerate(order)))
    assert max(totals) - min(totals) < 2e-5


# ---- graphs ----


@pytest.mark.parametrize("name", [name for name, columns in TABLES.items() if len(columns) <= 4])
@pytest.mark.filterwarnings("ignore::pgmx.data.FewValuesWarning")
def test_the_graph_is_the_best_of_columns_with_noise(name):
    columns, p = TABLES[name], len(TABLES[name])
    exact = covariance(columns)
    noisy = add_noise(exact, [exact[v][v] for v in range(p)])
    families = {family: noisy_score(noisy, *family, 200, math.log(200) / 2) for family in list_families(p)}
    best, best_edges = -math.inf, []
    for edges in all_dags(p):
        parents = [tuple(sorted(tail for tail, head in edges if head == v)) for v in range(p)]
        total = sum(families[v, parents[v]] for v in range(p))
        if total > best + 1e-6:
            best, best_edges = total, edges
    drawn = np.random.default_rng(1).normal(size=(200, p))
    noise = 1e-6 * frame_of(columns).std(ddof=0).to_numpy() * drawn
    for data in (frame_of(columns), frame_of(columns) + noise):
        learner, messages = fit_and_catch(HillClimbSearch(strategy="exact", **QUIET), data)
        assert cpdag(p, list(map(tuple, learner.edges_.tolist()))) == cpdag(p, best_edges)
        assert learner.proven_
        assert learner.score_ == pytest.approx(best, abs=1e-5 if data.equals(frame_of(columns)) else 1e3)
        assert len(messages) == 1


@pytest.mark.parametrize("method", SCORES)
@pytest.mark.parametrize("search", SEARCHES)
def test_every_search_finds_the_parts_of_a_total(search, method):
    a, b = np.random.default_rng(3).normal(size=(2, 300))
    frame = 1e7 * pd.DataFrame({"a": a, "t": a + b, "b": b})
    learner, messages = fit_and_catch(SEARCHES[search](method), frame)
    assert set(learner.dag_.edges()) == {("a", "t"), ("b", "t")}
    assert len(messages) == 1
    assert messages[0].startswith("columns that determine each other linearly: 'a', 't' and 'b'. The graph is learned")
    if search == "exact":
        assert learner.proven_


@pytest.mark.parametrize("search", SEARCHES)
def test_a_total_within_eight_further_columns(search):
    frame = total_frame()
    method = "bic-g"
    learner, messages = fit_and_catch(SEARCHES[search](method), frame)
    assert learner.score_ == pytest.approx(
        sum(BICGauss(frame).local_score(v, tuple(learner.dag_.predecessors(v))) for v in frame), abs=1e-4
    )
    if search != "annealing":
        assert list(learner.dag_.predecessors("t")) == ["a", "b"]
        assert list(learner.dag_.predecessors("x")) == ["t"]
        assert {frozenset(edge) for edge in learner.dag_.edges()} == {
            frozenset(pair) for pair in [("a", "t"), ("b", "t"), ("t", "x"), ("x0", "x1"), ("a", "x2")]
        }
    assert ["'a', 'b' and 't'" in message for message in messages] == [True]


def test_graphs_of_mixed_data_are_those_of_more_noise():
    """Noise of 1e-3 is computed by the ordinary kernels."""
    frame = mixed_frame()
    noisy = frame.copy()
    for name in ("a", "b", "t", "c"):
        noisy[name] += 1e-3 * frame[name].std() * np.random.default_rng(8).normal(size=300)
    for method, strategy in itertools.product(("bic-clg", "bic-dg"), ("thorough", "exact")):
        learner, messages = fit_and_catch(HillClimbSearch(scoring_method=method, strategy=strategy, **QUIET), frame)
        other, none = fit_and_catch(HillClimbSearch(scoring_method=method, strategy=strategy, **QUIET), noisy)
        assert sorted(learner.dag_.edges()) == sorted(other.dag_.edges())
        assert set(learner.dag_.predecessors("t")) == {"a", "b"}
        assert (len(messages), len(none)) == (1, 0)


def test_the_set_is_named_among_copies_and_further_sets():
    frame = total_frame().assign(twice=lambda f: 2 * f["a"], u=lambda f: f["x0"] - f["x1"] - f["x2"] + f["x3"])
    learner, messages = fit_and_catch(HillClimbSearch(**QUIET), frame)
    assert len(messages) == 1
    assert "linearly: 'a' and 'twice'. Their density is unbounded" in messages[0]
    assert "pair. Other columns that determine each other linearly: 'a', 'b' and 't' (in all, 2 columns" in messages[0]
    assert not learner.dag_.has_edge("a", "twice")
    assert not learner.dag_.has_edge("twice", "a")
    with pytest.raises(ValueError, match="'twice' is determined by 'a' among 't' and its parents"):
        BICGauss(frame).local_score("t", ("a", "twice"))


def test_tables_with_no_more_rows_than_columns_are_learned_as_before():
    frame = pd.DataFrame(np.random.default_rng(2).normal(size=(8, 9)), columns=list("abcdefghi")).assign(
        a=lambda f: f["b"] + f["c"]
    )
    learner, messages = fit_and_catch(HillClimbSearch(max_indegree=2, **QUIET), frame)
    assert not messages
    assert np.isfinite(learner.score_)
    with pytest.raises(ValueError, match="'c' is a combination of others|'a' is a combination of others"):
        BICGauss(frame).local_score("a", ("b", "c"))


# ---- weights, missing values, resamples, models ----


def test_weights_count_rows():
    frame = total_frame()
    weights = np.random.default_rng(1).integers(0, 4, len(frame))
    weighted, messages = fit_and_catch(HillClimbSearch(**QUIET), frame, sample_weight=weights)
    repeated, _ = fit_and_catch(HillClimbSearch(**QUIET), frame.loc[frame.index.repeat(weights)])
    assert weighted.score_ == pytest.approx(repeated.score_, abs=1e-5)
    assert sorted(weighted.dag_.edges()) == sorted(repeated.dag_.edges())
    assert len(messages) == 1


@pytest.mark.parametrize("mixed", [False, True])
def test_missing_values(mixed):
    frame = total_frame().iloc[:, [0, 1, 9, 10]]
    if mixed:
        frame["k"] = pd.Categorical(np.where(frame["a"] > 0, "u", "v"))
    holes = frame.mask(np.random.default_rng(3).random(frame.shape) < 0.03)
    learner, messages = fit_and_catch(HillClimbSearch(missing="em", **QUIET), holes)
    assert {("a", "t"), ("b", "t"), ("t", "x")} <= set(learner.dag_.edges())
    assert ["'a', 'b' and 't'" in message for message in messages] == [True]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_resamples_do_not_repeat_the_warning(n_jobs):
    frame = total_frame().iloc[:, [0, 1, 9, 10]]
    bootstrap = BootstrapStructure(HillClimbSearch(**QUIET), n_resamples=4, n_jobs=n_jobs)
    learner, messages = fit_and_catch(bootstrap, frame)
    assert len(messages) == 1
    assert {(0, 3), (2, 3)} <= set(map(tuple, learner.edges_.tolist()))


def test_forests_warn_as_well():
    _, messages = fit_and_catch(ChowLiuForest(show_progress=False), total_frame())
    assert len(messages) == 1


@pytest.mark.parametrize("weights", [None, np.full(500, 2.0)])
def test_the_network_of_a_determined_column_has_a_positive_variance(weights):
    frame = total_frame()
    learner, _ = fit_and_catch(HillClimbSearch(**QUIET), frame, sample_weight=weights)
    cpd = learner.model_.get_cpds("t")
    n = 500 if weights is None else 1000
    assert cpd.std == pytest.approx(1e-6 * frame["t"].std(ddof=0) * math.sqrt(n / (n - 3)), rel=1e-6)
    np.testing.assert_allclose(cpd.beta, [0.0, 1.0, 1.0], atol=1e-12)
    assert np.isfinite(learner.score(frame))

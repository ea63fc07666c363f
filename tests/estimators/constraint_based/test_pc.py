"""PC: an oracle's class, laws of its result (order, weights, threads, knowledge, rates), limits, and messages."""

import pickle
import warnings
from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.base import DAG, PDAG, UndirectedGraph
from pgmpy.causal_discovery import ExpertKnowledge
from pgmpy.ci_tests import PowerDivergence
from pgmpy.models import DiscreteBayesianNetwork
from scipy.stats import chi2, chi2_contingency
from sklearn.exceptions import ConvergenceWarning

from oracles.equivalence import cpdag
from oracles.graphs import is_acyclic
from oracles.separation import are_d_separated, random_parents
from pgmx.ci_tests import ChiSquare, FisherZ
from pgmx.data.errors import IncompleteRowsWarning
from pgmx.estimators import MMHC, PC, HillClimbSearch, HybridSearch, MarkovBlanket

NAMES = list("fbdaec")
RULES = (None, "pvalue", "effect", "majority", "conservative")


def draw_states(rng, n_rows=600):
    """Return a frame of six variables of 2 or 3 states with a random network."""
    parents = random_parents(6, 2.5, rng)
    columns, left = {}, list(range(6))
    while left:
        v = next(v for v in left if not parents[v] & set(left))
        left.remove(v)
        mixed = sum((columns[u] for u in sorted(parents[v])), np.zeros(n_rows, dtype=int)) + v
        columns[v] = np.where(rng.random(n_rows) < 0.6, mixed % (2 + v % 2), rng.integers(0, 2 + v % 2, n_rows))
    return pd.DataFrame({NAMES[v]: columns[v] for v in range(6)})


def draw_numbers(rng, n_rows=300):
    weights = np.triu(rng.normal(size=(6, 6)) * (rng.random((6, 6)) < 0.5), 1)
    return pd.DataFrame(rng.normal(size=(n_rows, 6)) @ np.linalg.inv(np.eye(6) - weights), columns=NAMES)


def list_results(pc):
    """Return all results in a form that does not depend on the order of columns."""
    return (
        sorted(pc.graph_.edges()),
        pc.separating_sets_,
        pc.edge_p_values_,
        pc.n_tests_,
        pc.ambiguous_triples_,
        pc.conflicts_,
        sorted(pc.dag_.edges()),
    )


def make_oracle(parents):
    """Return a function that asks a DAG, as pgmpy takes it."""
    ids = {name: v for v, name in enumerate(NAMES)}

    def test(X, Y, Z=(), significance_level=0.05):
        return are_d_separated(parents, ids[X], ids[Y], {ids[z] for z in Z})

    return test


BLANK = pd.DataFrame(np.arange(12).reshape(2, 6) % 5, columns=NAMES)


@pytest.mark.parametrize("rule", [None, "pvalue", "majority", "conservative"])
@pytest.mark.parametrize("variant", ["stable", "orig"])
def test_an_oracle_gives_the_class(rule, variant, rng):
    for _ in range(3):
        parents = random_parents(6, 2.5, rng)
        pc = PC(ci_test=make_oracle(parents), orient_rule=rule, variant=variant).fit(BLANK)
        edges = [(tail, head) for head in range(6) for tail in parents[head]]
        directed, undirected = cpdag(6, edges)
        assert pc.graph_.directed_edges == {(NAMES[u], NAMES[v]) for u, v in directed}
        assert {frozenset(e) for e in pc.graph_.undirected_edges} == {
            frozenset((NAMES[u], NAMES[v])) for u, v in undirected
        }
        for (x, y), z in ((tuple(pair), z) for pair, z in pc.separating_sets_.items()):
            assert make_oracle(parents)(x, y, z)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("draw", [draw_states, draw_numbers])
def test_the_order_of_columns_changes_nothing(rule, draw, rng):
    frame = draw(rng)
    expected = list_results(PC(orient_rule=rule, significance_level=0.1).fit(frame))
    for _ in range(3):
        shuffled = frame[list(rng.permutation(NAMES))]
        pc = PC(orient_rule=rule, significance_level=0.1).fit(shuffled)
        assert list_results(pc) == expected
        assert list(pc.graph_.nodes()) == list(shuffled)


@pytest.mark.parametrize("draw", [draw_states, draw_numbers])
def test_threads_and_weights_and_variants_change_no_bit(draw, rng):
    frame = draw(rng)
    expected = list_results(PC().fit(frame))
    assert list_results(PC(n_jobs=3, variant="parallel").fit(frame)) == expected
    weights = rng.integers(0, 3, len(frame))
    weighted = PC().fit(frame, sample_weight=weights)
    repeated = PC().fit(frame.loc[frame.index.repeat(weights)].reset_index(drop=True))
    assert sorted(weighted.graph_.edges()) == sorted(repeated.graph_.edges())
    assert list(weighted.edge_p_values_.values()) == pytest.approx(list(repeated.edge_p_values_.values()), rel=1e-9)
    assert weighted.score(frame) == pytest.approx(repeated.score(frame))


def test_the_skeleton_is_that_of_the_definition(rng):
    frame = draw_states(rng)

    def p_value(x, y, z):
        statistic = dof = 0
        for _, rows in frame.groupby(list(z)) if z else [((), frame)]:
            table = pd.crosstab(rows[x], rows[y])
            if min(table.shape) > 1:
                value, _, degrees, _ = chi2_contingency(table, correction=False)
                statistic, dof = statistic + value, dof + degrees
        return chi2.sf(statistic, dof) if dof else 1.0

    pc = PC(max_cond_vars=1).fit(frame)
    neighbours = {v: [u for u in NAMES if u != v] for v in NAMES}
    best = {}
    for size in range(2):
        for x, y in combinations(sorted(NAMES), 2):
            if y not in neighbours[x]:
                continue
            for a, b in ((x, y), (y, x)):
                for z in combinations(sorted(v for v in neighbours[a] if v != b), size):
                    best[x, y] = max(best.get((x, y), (-1, ())), (p_value(x, y, z), z), key=lambda t: t[0])
        neighbours = {v: [u for u in n if best[tuple(sorted((u, v)))][0] < 0.01] for v, n in neighbours.items()}
    for (x, y), (p, z) in best.items():
        assert pc.skeleton_.has_edge(x, y) == (p < 0.01)
        if p < 0.01:
            assert pc.edge_p_values_[frozenset((x, y))] == pytest.approx(p, rel=1e-9)
        else:
            assert pc.separating_sets_[frozenset((x, y))] == z


def test_results_have_the_types_of_pgmpy(rng):
    frame = draw_states(rng)
    pc = PC(frame)
    assert type(pc.estimate()) is PDAG
    assert type(pc.skeleton_) is UndirectedGraph
    assert type(PC(return_type="DAG").fit(frame).graph_) is DAG
    assert pc.causal_graph_ is pc.graph_
    assert {frozenset(edge) for edge in pc.edge_p_values_} == {frozenset(edge) for edge in pc.skeleton_.edges()}
    assert nx.is_directed_acyclic_graph(pc.dag_) and set(pc.graph_.directed_edges) <= set(pc.dag_.edges())
    assert pc.ci_test_ == "chi_square" and pc.converged_ and pc.stopped_by_ == "converged"
    assert np.isfinite(pc.score(frame)) and pc.model_.check_model()
    copied = pickle.loads(pickle.dumps(pc))
    assert list_results(copied) == list_results(pc) and copied.score(frame) == pc.score(frame)


@pytest.mark.parametrize(
    ("name", "make", "draw"), [("chi_square", ChiSquare, draw_states), ("fisher_z", FisherZ, draw_numbers)]
)
def test_names_objects_and_functions_agree(name, make, draw, rng):
    frame = draw(rng)
    expected = list_results(PC(ci_test=name).fit(frame))
    assert list_results(PC(ci_test=make(frame)).fit(frame)) == expected
    test = make(frame)
    by_function = PC(ci_test=lambda X, Y, Z, significance_level: test(X, Y, Z, significance_level)).fit(frame)
    assert sorted(by_function.skeleton_.edges()) == sorted(PC(ci_test=name).fit(frame).skeleton_.edges())


def test_tests_of_pgmpy_by_name_and_object(rng):
    frame = draw_states(rng, 200)
    named = PC(ci_test="power_divergence", max_cond_vars=1).fit(frame)
    assert named.ci_test_ == "PowerDivergence"
    test = PowerDivergence(data=frame)
    assert list_results(PC(ci_test=test, max_cond_vars=1).fit(frame)) == list_results(named)
    for x, y in named.skeleton_.edges():
        test.run_test(x, y, [])
        assert test.p_value_ < 0.01
    rule = PC(ci_test=test, max_cond_vars=1, orient_rule="effect").fit(frame)
    assert sorted(rule.skeleton_.edges()) == sorted(named.skeleton_.edges())


def test_known_independences(rng):
    model = DiscreteBayesianNetwork([("a", "c"), ("b", "c"), ("b", "d"), ("c", "e")])
    frame = pd.DataFrame(np.zeros((2, 5), dtype=int), columns=list("abcde"))
    pc = PC(ci_test="independence_match").fit(frame, independencies=model.get_independencies())
    assert set(pc.graph_.edges()) == {("a", "c"), ("b", "c"), ("c", "e"), ("b", "d"), ("d", "b")}
    assert PC().fit(frame, None, model.get_independencies()).skeleton_.number_of_edges() == 4
    with pytest.raises(ValueError, match="independencies"):
        PC(ci_test="independence_match").fit(frame)
    with pytest.raises(TypeError, match="Independencies object of pgmpy.independencies, got 'a'"):
        PC().fit(frame, independencies="a")
    unknown = PC().fit(pd.DataFrame(np.nan, index=range(3), columns=list("abcde")), None, model.get_independencies())
    assert set(unknown.graph_.edges()) == set(pc.graph_.edges())  # only the names of the columns count
    with pytest.raises(AttributeError, match="model_ needs data .* missing values"):
        _ = unknown.model_


# ---- knowledge ----


@pytest.mark.parametrize("rule", RULES)
def test_knowledge_holds(rule, rng):
    for _ in range(4):
        frame = draw_states(rng, 100)
        options = {
            "required_edges": [("f", "a"), ("d", "c")],
            "forbidden_edges": [("a", "e"), ("e", "a"), ("b", "a")],
            "tiers": [["f", "b"], ["d", "a"], ["e", "c"]],
        }
        for pc in (
            PC(orient_rule=rule, significance_level=0.2, **options),
            PC(orient_rule=rule, significance_level=0.2, expert_knowledge=to_expert(**options)),
        ):
            graph = pc.fit(frame).graph_
            assert {("f", "a"), ("d", "c")} <= graph.directed_edges
            assert not graph.has_edge("a", "e") and not graph.has_edge("e", "a") and not graph.has_edge("b", "a")
            tier = {name: k for k, names in enumerate(options["tiers"]) for name in names}
            assert all(tier[tail] <= tier[head] for tail, head in graph.edges())
            assert is_acyclic(list(graph.directed_edges))
            assert all(
                max((tier[v] for v in z), default=0) <= max(tier[v] for v in pair)
                for pair, z in pc.separating_sets_.items()
            )


def to_expert(required_edges, forbidden_edges, tiers):
    return ExpertKnowledge(required_edges=required_edges, forbidden_edges=forbidden_edges, temporal_order=tiers)


def test_a_search_space_is_kept(rng):
    frame = draw_states(rng)
    space = [("f", "b"), ("b", "d"), ("a", "d"), ("d", "a")]
    expert = ExpertKnowledge(search_space=space)
    for enforce in (False, True):
        graph = PC(expert_knowledge=expert, enforce_expert_knowledge=enforce, significance_level=0.5).fit(frame).graph_
        assert set(graph.edges()) <= set(space)
    assert PC(candidate_edges=[]).fit(frame).n_tests_ == []


# ---- false discoveries ----


@pytest.mark.parametrize("draw", [draw_states, draw_numbers])
def test_the_rate_keeps_edges_that_pass_the_procedure(draw, rng):
    frame = draw(rng, 60)
    free = PC(significance_level=0.2).fit(frame)
    p_values = sorted(free.edge_p_values_.values())
    for fdr, rate in ((0.05, 0.05), (("bh", 0.2), 0.2), (("by", 0.2), 0.2 / sum(1 / k for k in range(1, 16)))):
        n_kept = max((k for k, p in enumerate(p_values, 1) if p <= k * rate / 15), default=0)
        held = PC(significance_level=0.2, fdr=fdr).fit(frame)
        assert sorted(held.edge_p_values_.values()) == p_values[:n_kept]
        assert set(held.separating_sets_) >= set(free.separating_sets_)


@pytest.mark.parametrize("fdr", [0, 1.5, "x", ("bx", 0.1), ("bh",), True])
def test_other_rates_are_refused(fdr):
    with pytest.raises(ValueError, match="fdr must be"):
        PC(fdr=fdr).fit(BLANK)


# ---- limits ----


def test_limits_end_the_search(rng, tmp_path):
    frame = draw_states(rng)
    whole = PC().fit(frame)
    with pytest.warns(ConvergenceWarning, match="max_tests=1 .* tests of pairs given no other variable .15 tests"):
        pc = PC(max_tests=1).fit(frame)
    assert (pc.n_tests_, pc.converged_, pc.stopped_by_) == ([15], False, "max_tests")
    with pytest.warns(ConvergenceWarning, match="max_tests=16 .* given 1 variable .*tests"):
        never = PC(ci_test=lambda X, Y, Z, significance_level: False, max_tests=16).fit(frame)
    assert never.n_tests_ == [15, 60]
    assert set(whole.skeleton_.edges()) <= set(pc.skeleton_.edges())
    seen = []
    stopped = PC(callback=lambda progress: seen.append(progress) or progress.n_iter == 2).fit(frame)
    assert stopped.stopped_by_ == "callback" and stopped.n_tests_ == whole.n_tests_[:2]
    assert [one.n_tests for one in seen] == np.cumsum(whole.n_tests_[:2]).tolist()
    with pytest.warns(ConvergenceWarning, match="max_time=0"):
        assert PC(max_time=0).fit(frame).skeleton_.number_of_edges() == 15


@pytest.mark.parametrize("draw", [draw_states, draw_numbers])
def test_a_checkpoint_continues_to_the_same_graph(draw, rng, tmp_path):
    frame, path = draw(rng), tmp_path / "pc.npz"
    expected = list_results(PC(significance_level=0.1).fit(frame))
    PC(significance_level=0.1, checkpoint=path, callback=lambda progress: progress.n_iter == 1).fit(frame)
    assert path.exists()
    with pytest.raises(ValueError, match="another search"):
        PC(significance_level=0.2, checkpoint=path).fit(frame)
    calls = []
    pc = PC(significance_level=0.1, checkpoint=path, callback=lambda p: calls.append(p.n_iter)).fit(frame)
    assert list_results(pc) == expected and calls[0] == 2 and not path.exists()


# ---- messages ----


def test_constant_columns_get_no_edges(rng):
    for frame in (draw_states(rng), draw_numbers(rng)):
        frame["a"] = frame["a"].iloc[0]
        with pytest.warns(UserWarning, match="'a'.* constant"):
            pc = PC().fit(frame)
        assert pc.skeleton_.degree("a") == 0


def test_columns_that_determine_each_other_are_named(rng):
    states, numbers = draw_states(rng), draw_numbers(rng, 600)
    with pytest.warns(UserWarning, match=r"function of the other: .*'b', 'g'"):
        PC().fit(states.assign(g=1 - states["b"] % 2))
    with pytest.warns(UserWarning, match=r"correlation 1 or -1: .*'b', 'g'"):
        PC().fit(numbers.assign(g=-2 * numbers["b"]))
    with pytest.warns(UserWarning, match=r"linearly: 'a', 'b', 'g'"):
        PC().fit(numbers.assign(g=numbers["b"] + numbers["a"]))
    mixed = states[["a", "b"]].join(numbers[["e", "f"]])
    with pytest.warns(UserWarning, match=r"correlation 1 or -1: .*'e', 'g'"):
        PC().fit(mixed.assign(g=-2 * numbers["e"]))
    for learner in (PC(), MarkovBlanket(), MMHC(), HybridSearch(restrict="iamb")):
        with pytest.warns(UserWarning, match=r"function of the other: \('b', 'g'\)"):
            learner.fit((mixed if isinstance(learner, PC) else states).assign(g=1 - states["b"] % 2))


def test_missing_values(rng):
    for frame in (draw_states(rng).astype("Int64"), draw_numbers(rng)):
        holes = frame.mask(rng.random(frame.shape) < 0.05)
        with pytest.raises(ValueError, match="missing values"):
            PC().fit(holes)
        with pytest.warns(UserWarning, match="leaves out"):
            dropped = PC(missing="drop").fit(holes)
        complete = PC().fit(holes.dropna().reset_index(drop=True))
        assert list_results(dropped) == list_results(complete)
        pairwise = PC(missing="pairwise", max_cond_vars=0).fit(holes)
        for u, v in list(pairwise.skeleton_.edges())[:3]:
            pair = PC().fit(holes[[u, v]].dropna().reset_index(drop=True))
            p_value = pair.edge_p_values_[frozenset((u, v))]
            assert pairwise.edge_p_values_[frozenset((u, v))] == pytest.approx(p_value, rel=1e-9)
    mixed = PC(missing="pairwise").fit(holes[["b"]].join(draw_states(rng, len(holes))[["a"]].astype("Int64")))
    for learner in (pairwise, mixed):
        with pytest.raises(AttributeError, match="complete rows"):
            _ = learner.model_


@pytest.mark.parametrize("cls", [PC, MMHC, MarkovBlanket, HybridSearch])
def test_messages_name_what_helps_against_missing_values(cls, rng):
    numbers = draw_numbers(rng, 60).mask(rng.random((60, 6)) < 0.05)
    states = draw_states(rng, 60)[["a", "b"]].rename(columns=str.upper)
    has_scores = cls in (MMHC, HybridSearch)
    for frame in (numbers, numbers.join(states)):
        with pytest.raises(ValueError, match="pass missing='drop'") as caught:
            cls().fit(frame)
        assert ("in each family or test the rows" in str(caught.value)) != has_scores
        assert "'em'" not in str(caught.value) and "'category'" not in str(caught.value)
        for missing in ("category", "pairwise") if has_scores else ("category",):
            learner = cls(missing=missing) if cls is not HybridSearch else cls(HillClimbSearch(missing=missing))
            with pytest.raises(ValueError, match=f"{missing}") as caught:
                learner.fit(frame)
            assert "'em'" not in str(caught.value) and "'drop'" in str(caught.value)


def test_rows_are_left_out_once(rng):
    for frame in (draw_states(rng, 60).astype("Int64"), draw_numbers(rng, 60)):
        holes = frame.mask(rng.random(frame.shape) < 0.02)
        weights = rng.integers(0, 3, 60)
        complete = holes.notna().all(axis=1).to_numpy()
        for make in (MMHC, lambda **options: HybridSearch(HillClimbSearch(**options))):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", IncompleteRowsWarning)
                learner = make(missing="drop").fit(holes, sample_weight=weights)
            assert [one.category for one in caught] == [IncompleteRowsWarning]
            same = make().fit(holes[complete].reset_index(drop=True), sample_weight=weights[complete])
            assert (learner.score_, learner.edges_.tolist()) == (same.score_, same.edges_.tolist())


def test_mixed_data(rng):
    frame = pd.concat([draw_states(rng, 200)[["a", "b"]], draw_numbers(rng, 200)[["c", "d"]]], axis=1)
    pc = PC().fit(frame)
    assert pc.ci_test_ == "mixed"
    assert list_results(PC().fit(frame[["c", "a", "d", "b"]])) == list_results(pc)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ci_test": "chi"}, "chi_square"),
        ({"ci_test": 3}, "ci_test"),
        ({"ci_test": ChiSquare}, r"the class ChiSquare: give an object .* ChiSquare\(data\)"),
        ({"ci_test": lambda X, Y, Z, significance_level: 1}, "True or False"),
        ({"orient_rule": "max"}, "majority"),
        ({"variant": "fast"}, "stable"),
        ({"significance_level": 1.0}, "significance_level"),
        ({"return_type": "graph"}, "return_type"),
        ({"fdr": 0.1, "ci_test": lambda X, Y, Z, significance_level: True}, "p-values"),
        ({"orient_rule": "effect", "ci_test": lambda X, Y, Z, significance_level: True}, "effect sizes"),
        ({"required_edges": [("a", "x")]}, "'x'"),
        ({"ci_test": "fisher_z", "missing": "category"}, "category"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        PC(**options).fit(BLANK)


def test_bad_data_are_named(rng):
    with pytest.raises(ValueError, match="column.s. 'f', .* are continuous, and chi_square .*: use 'fisher_z'"):
        PC(ci_test="chi_square").fit(draw_numbers(rng))
    with pytest.raises(ValueError, match="must be integers"):
        PC().fit(draw_states(rng, 40), sample_weight=np.full(40, 0.5))
    with pytest.raises(TypeError, match="data"):
        PC("stable").fit(BLANK)


def test_too_few_rows_for_any_test_are_told():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(3, 4)), columns=list("abcd"))
    with pytest.warns(UserWarning, match="3 rows are too few for a test by fisher_z"):
        learner = PC(show_progress=False).fit(frame)
    assert sum(learner.n_tests_) == 0 and learner.skeleton_.number_of_edges() == 6

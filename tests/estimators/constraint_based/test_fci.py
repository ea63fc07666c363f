"""FCI and RFCI: the PAG under an oracle, laws of the result (order, threads, weights, knowledge), and limits."""

import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from pgmpy.causal_discovery import ExpertKnowledge
from sklearn.exceptions import ConvergenceWarning

from oracles.ancestral_graphs import enumerate_pag, list_adjacent_pairs, list_separations
from oracles.separation import are_d_separated
from pgmx.ci_tests import FisherZ
from pgmx.estimators import FCI, PC, RFCI
from pgmx.metrics import shd
from pgmx.models import PAG, read_model, save_model

NAMES = list("dbeac")
BLANK = pd.DataFrame(np.arange(10).reshape(2, 5) % 3, columns=NAMES)
RULES = (None, "pvalue", "effect", "majority", "conservative")

# A and E are separated by B, C and D only: C is adjacent to neither, T1 and T2 are hidden.
DISTANT = ["T1>A", "T1>B", "T2>D", "T2>E", "C>B", "C>D", "B>E", "D>A"]


def make_oracle(edges, selected=""):
    """Return the test that a DAG of edges such as "a>b" answers."""
    pairs = [edge.split(">") for edge in edges]
    names = sorted({name for pair in pairs for name in pair})
    parents = [{names.index(tail) for tail, head in pairs if head == name} for name in names]
    given = {names.index(name) for name in selected}

    def test(X, Y, Z=(), significance_level=0.05):
        return are_d_separated(parents, names.index(X), names.index(Y), {names.index(z) for z in Z} | given)

    return test


def blank(names):
    return pd.DataFrame(np.arange(2 * len(names)).reshape(2, -1) % 3, columns=list(names))


def draw_edges(rng, n_hidden=3, n_selected=2):
    """Return the edges of a random DAG with hidden variables h0, ... and selected ones s0, ..."""
    names = [*NAMES, *(f"h{k}" for k in range(n_hidden))]
    order = [names[k] for k in rng.permutation(len(names))]
    edges = [f"{u}>{v}" for u, v in combinations(order, 2) if rng.random() < 0.35]
    edges += [f"{u}>s{k}" for k in range(n_selected) for u in names if rng.random() < 0.35]
    selected = [f"s{k}" for k in range(n_selected)]
    # every name occurs, so that the oracle knows it
    return edges + [f"x{name}>{name}" for name in names + selected], selected


def read_marks(pag):
    return {(u, v): marks[v] for a, b, marks in pag.edges(data="marks") for u, v in ((a, b), (b, a))}


def write_edges(learner):
    pag = learner.graph_
    return sorted(pag.describe_edge(*sorted(edge)) for edge in pag.edges())


def list_results(learner):
    """Return all results in a form that does not depend on the order of columns."""
    return (
        write_edges(learner),
        learner.separating_sets_,
        learner.edge_p_values_,
        learner.n_tests_,
        learner.ambiguous_triples_,
        sorted(learner.skeleton_.edges()) and {frozenset(edge) for edge in learner.skeleton_.edges()},
    )


def draw_numbers(rng, n_rows=400, n=9):
    """Return the observed columns of a random linear network with two hidden common causes."""
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5), 1)
    numbers = rng.normal(size=(n_rows, n)) @ np.linalg.inv(np.eye(n) - weights)
    return pd.DataFrame(numbers[:, 2:], columns=list("gcafdbe")[: n - 2])


def draw_states(rng, n_rows=600):
    numbers = draw_numbers(rng, n_rows)
    return (numbers > numbers.median()).astype(int) + (numbers > numbers.quantile(0.8)).astype(int)


def test_the_pag_is_that_of_all_ancestral_graphs(rng):
    ids = {name: v for v, name in enumerate(NAMES)}
    n_checked = 0
    while n_checked < 4:
        edges, selected = draw_edges(rng)
        oracle = make_oracle(edges, selected)
        table = list_separations(5, lambda x, y, z, oracle=oracle: oracle(NAMES[x], NAMES[y], [NAMES[v] for v in z]))
        if len(list_adjacent_pairs(5, table)) > 6:
            continue
        n_checked += 1
        expected = enumerate_pag(5, table)
        found = read_marks(FCI(ci_test=oracle).fit(BLANK).graph_)
        assert {(ids[u], ids[v]): mark for (u, v), mark in found.items()} == expected
        assert read_marks(RFCI(ci_test=oracle).fit(BLANK).graph_).keys() >= found.keys()


@pytest.mark.parametrize("rule", [None, "pvalue", "majority", "conservative"])
def test_the_rules_agree_under_an_oracle(rule, rng):
    for _ in range(2):
        edges, selected = draw_edges(rng)
        for cls in (FCI, RFCI):
            plain, other = (cls(ci_test=make_oracle(edges, selected), orient_rule=r).fit(BLANK) for r in (None, rule))
            assert shd(plain, other) == 0
            assert other.ambiguous_triples_ == []


def test_possible_d_sep_sets_and_their_limit():
    oracle, frame = make_oracle(DISTANT), blank("ABCDE")
    expected = ["A <-- D", "A <-> B", "B --> E", "B <-o C", "C o-> D", "D <-> E"]
    assert write_edges(FCI(ci_test=oracle).fit(frame)) == expected
    with_distant = sorted([*expected, "A <-> E"])
    assert write_edges(RFCI(ci_test=oracle).fit(frame)) == with_distant
    for option in ({"max_possible_d_sep": 2}, {"max_cond_vars": 2}, {"max_possible_d_sep": 0}):
        assert write_edges(FCI(ci_test=oracle, **option).fit(frame)) == with_distant


def test_selection_bias():
    edges = ["a>p", "b>p", "b>q", "c>q", "c>r", "d>r", "d>s", "a>s"]
    for cls in (FCI, RFCI):
        options = {"ci_test": make_oracle(edges, "pqrs")}
        assert write_edges(cls(**options).fit(blank("abcd"))) == ["a --- b", "a --- d", "b --- c", "c --- d"]
        assert write_edges(cls(**options, selection_bias=False).fit(blank("abcd")))[0] == "a o-o b"


@pytest.mark.parametrize("cls", [FCI, RFCI])
@pytest.mark.parametrize("rule", RULES)
def test_the_order_of_columns_changes_nothing(cls, rule, rng):
    frame = draw_numbers(rng)
    options = {"orient_rule": rule, "significance_level": 0.1, "max_cond_vars": 3}
    expected = list_results(cls(**options).fit(frame))
    for _ in range(2):
        shuffled = frame[list(rng.permutation(frame.columns))]
        learner = cls(**options).fit(shuffled)
        assert list_results(learner) == expected
        assert list(learner.graph_.nodes()) == list(shuffled)


@pytest.mark.parametrize("cls", [FCI, RFCI])
def test_threads_change_no_bit_and_weights_repeat_rows(cls, rng):
    frame = draw_states(rng)
    assert list_results(cls(n_jobs=3).fit(frame)) == list_results(cls().fit(frame))
    weights = rng.integers(0, 3, len(frame))
    repeated = frame.loc[frame.index.repeat(weights)].reset_index(drop=True)
    assert write_edges(cls().fit(frame, sample_weight=weights)) == write_edges(cls().fit(repeated))


@pytest.mark.parametrize("cls", [FCI, RFCI])
def test_results(cls, rng, tmp_path):
    frame = draw_numbers(rng)
    learner = cls(ci_test=FisherZ(frame)).fit(frame)
    pag = learner.graph_
    assert type(pag) is PAG
    assert learner.causal_graph_ is pag
    assert {frozenset(edge): p for *edge, p in pag.edges(data="p_value")} == learner.edge_p_values_
    assert max(learner.edge_p_values_.values()) < 0.01
    assert {frozenset(edge) for edge in pag.edges()} == {frozenset(edge) for edge in learner.skeleton_.edges()}
    assert learner.converged_
    assert sum(learner.n_tests_) >= sum(PC(ci_test="fisher_z").fit(frame).n_tests_)
    again = pickle.loads(pickle.dumps(learner))
    assert list_results(again) == list_results(learner)
    saved = read_model(save_model(learner, tmp_path / "pag.json"))
    assert shd(saved, learner) == 0


def test_rfci_contains_the_skeleton_of_fci_and_pc_that_of_rfci(rng):
    for _ in range(3):
        frame = draw_numbers(rng)
        edges = [
            {frozenset(edge) for edge in cls(significance_level=0.05).fit(frame).skeleton_.edges()}
            for cls in (FCI, RFCI, PC)
        ]
        assert edges[0] <= edges[2]
        assert edges[1] <= edges[2]


# ---- knowledge ----


def test_tiers_draw_arrowheads():
    oracle = make_oracle(["a>b", "b>c"])
    assert write_edges(FCI(ci_test=oracle).fit(blank("abc"))) == ["a o-o b", "b o-o c"]
    for cls in (FCI, RFCI):
        tiers = cls(ci_test=oracle, tiers=[["a"], ["b"], ["c"]]).fit(blank("abc"))
        assert write_edges(tiers) == ["a o-> b", "b --> c"]
        expert = ExpertKnowledge(temporal_order=[["a"], ["b"], ["c"]])
        assert write_edges(cls(ci_test=oracle, expert_knowledge=expert).fit(blank("abc"))) == write_edges(tiers)


def test_forbidden_and_required_edges():
    oracle = make_oracle(["a>b", "b>c"])

    def learn(**options):
        return write_edges(FCI(ci_test=oracle, **options).fit(blank("abc")))

    assert learn(forbidden_edges=[("a", "b")]) == ["a <-o b", "b o-o c"]
    assert learn(required_edges=[("a", "b")]) == ["a --> b", "b --> c"]
    assert learn(root_nodes=["b"]) == ["a <-o b", "b o-> c"]
    assert learn(candidate_edges=[("a", "b"), ("c", "b"), ("b", "c")]) == ["a o-> b", "b --> c"]


def test_pairs_forbidden_both_ways_are_not_joined():
    oracle = make_oracle(["a>b", "b>c"])
    for cls in (FCI, RFCI):
        learner = cls(ci_test=oracle, forbidden_edges=[("a", "b"), ("b", "a")]).fit(blank("abc"))
        assert write_edges(learner) == ["b o-o c"]
        # no set separates a and b, so the tests do not say whether the triple a, c, b is a collider
        oracle_of_three = make_oracle(["a>b", "b>c", "a>c"])
        learner = cls(ci_test=oracle_of_three, forbidden_edges=[("a", "b"), ("b", "a")]).fit(blank("abc"))
        assert write_edges(learner) == ["a o-o c", "b o-o c"]
        assert learner.ambiguous_triples_ == [("a", "c", "b")]


@pytest.mark.parametrize("cls", [FCI, RFCI])
def test_knowledge_holds_on_samples(cls, rng):
    for _ in range(3):
        frame = draw_numbers(rng, 200)
        names = list(frame)
        required, forbidden = [(names[0], names[1])], [(names[2], names[3]), (names[4], names[2])]
        marks = read_marks(cls(required_edges=required, forbidden_edges=forbidden).fit(frame).graph_)
        assert marks[required[0]] == ">"
        assert marks[required[0][::-1]] == "-"
        assert all(marks.get((v, u), ">") == ">" for u, v in forbidden)
        tiers = [names[:3], names[3:5], names[5:]]
        marks = read_marks(cls(tiers=tiers).fit(frame).graph_)
        tier = {name: k for k, group in enumerate(tiers) for name in group}
        assert all(mark == ">" for (u, v), mark in marks.items() if tier[u] < tier[v])


# ---- limits ----


def test_max_tests_ends_with_a_message(rng):
    frame = draw_numbers(rng)
    whole = FCI(significance_level=0.1).fit(frame)
    n_first = sum(PC(significance_level=0.1).fit(frame).n_tests_)
    assert sum(whole.n_tests_) > n_first
    with pytest.warns(ConvergenceWarning, match=f"max_tests={n_first - 1} ended FCI"):
        cut = FCI(significance_level=0.1, max_tests=n_first - 1).fit(frame)
    assert not cut.converged_
    assert cut.stopped_by_ == "max_tests"
    assert sum(cut.n_tests_) == n_first
    assert set(cut.skeleton_.edges()) >= set(whole.skeleton_.edges())


def test_tests_of_rfci_that_exceed_the_limit_are_told(rng):
    frame = draw_numbers(rng)
    whole = RFCI(significance_level=0.1).fit(frame)
    n_tests, n_first = sum(whole.n_tests_), sum(PC(significance_level=0.1).fit(frame).n_tests_)
    assert n_tests > n_first
    for limit in (n_first - 1, n_first, n_tests - 1):
        with pytest.warns(ConvergenceWarning, match=f"made {n_tests} tests, more than max_tests={limit}: the"):
            told = RFCI(significance_level=0.1, max_tests=limit).fit(frame)
        assert (told.converged_, told.stopped_by_, sum(told.n_tests_)) == (False, "max_tests", n_tests)
        assert write_edges(told) == write_edges(whole)
    assert RFCI(significance_level=0.1, max_tests=n_tests).fit(frame).converged_
    with pytest.warns(ConvergenceWarning, match="max_tests=1 ended RFCI"):
        RFCI(significance_level=0.1, max_tests=1).fit(frame)


def test_callbacks_end_either_stage(rng):
    frame = draw_numbers(rng)
    rows = []
    whole = FCI(callback=lambda progress: rows.append(progress)).fit(frame)
    assert [row.n_iter for row in rows] == list(range(1, len(rows) + 1))
    assert rows[-1].n_tests == sum(whole.n_tests_)
    for n in (1, len(rows) - 1):
        cut = FCI(callback=lambda progress, n=n: progress.n_iter == n).fit(frame)
        assert cut.stopped_by_ == "callback"
        assert len(cut.history_["n_tests"]) == n


def test_max_time_gives_a_graph(rng):
    frame = draw_numbers(rng)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        learner = FCI(max_time=0).fit(frame)
    assert learner.graph_.number_of_edges() == 21


@pytest.mark.parametrize("n", range(1, 6))
def test_checkpoints_resume_in_either_stage(n, rng, tmp_path):
    frame = draw_numbers(rng)
    path = tmp_path / "fci.ckpt"
    options = {"significance_level": 0.1, "checkpoint": path}
    expected = FCI(significance_level=0.1).fit(frame)
    cut = FCI(**options, callback=lambda progress: progress.n_iter == n).fit(frame)
    assert path.exists() == (cut.stopped_by_ == "callback")
    resumed = FCI(**options).fit(frame)
    assert not path.exists()
    assert list_results(resumed) == list_results(expected)
    assert len(resumed.history_["n_tests"]) == len(expected.history_["n_tests"])


def test_bad_options(rng):
    frame = draw_numbers(rng)
    with pytest.raises(ValueError, match="max_possible_d_sep"):
        FCI(max_possible_d_sep=-1).fit(frame)
    with pytest.raises(ValueError, match="orient_rule"):
        RFCI(orient_rule="best").fit(frame)
    with pytest.raises(ValueError, match="effect sizes"):
        FCI(ci_test=make_oracle(DISTANT), orient_rule="effect").fit(blank("ABCDE"))


def test_constant_columns_have_no_edges(rng):
    frame = draw_numbers(rng).assign(c=1.0)
    with pytest.warns(UserWarning, match="constant"):
        learner = FCI().fit(frame)
    assert learner.graph_.degree("c") == 0


@pytest.mark.parametrize("learner", [PC, FCI, RFCI])
@pytest.mark.parametrize("rule", [None, "effect", "pvalue", "majority", "conservative"])
def test_one_column_has_no_edges_under_any_rule(learner, rule):
    # a rule that looked at the first pair would read beyond the end of the table
    for frame in (pd.DataFrame({"a": list("abab")}), pd.DataFrame({"a": [0.5, 1.5, 2.0, 4.0]})):
        learned = learner(orient_rule=rule, show_progress=False).fit(frame)
        assert list(learned.graph_.nodes) == ["a"]
        assert not learned.graph_.edges
        assert learned.n_tests_ == []

"""The search for dynamic Bayesian networks against all transition networks, and against the lagged frame of pandas."""

import numpy as np
import pandas as pd
import pgmpy.models
import pytest

from helpers.dynamic_panels import draw_panel
from oracles.lagged_frames import best_transition, discrete_bic, gaussian_bic, lag_frame
from pgmx.data.series.shifted import ShiftedTable
from pgmx.estimators import DynamicBayesianNetworkSearch, HillClimbSearch
from pgmx.estimators.time_series.dynamic.knowledge import find_common_order
from pgmx.scores import BDeu, BICGauss


def draw_numbers(seed=0, n_times=150):
    """Return a continuous series of three variables with edges of lag 1 and within a row."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_times, 3))
    for t in range(1, n_times):
        rows[t, 1] += 0.8 * rows[t - 1, 0]
        rows[t, 2] += 0.8 * rows[t, 1]
    return pd.DataFrame(rows, columns=list("abc"))


def edges_of(learner):
    return set(learner.graph_.edges())


def test_best_of_all_networks_of_discrete_variables(seed):
    panel = draw_panel(seed, n_groups=6, n_times=25)
    lagged = lag_frame(panel.drop(columns="t"), 1, "id", ["s"])
    score, edges = best_transition(lagged, "abc", discrete_bic, {"a": 3, "b": 3, "c": 3, "s": 2}, static=["s"])
    learner = DynamicBayesianNetworkSearch(groups="id", static_columns=["s"], strategy="exact").fit(
        panel.drop(columns="t")
    )
    assert learner.score_ == pytest.approx(score, rel=1e-12)
    assert edges_of(learner) == edges
    assert learner.n_rows_ == len(lagged["a", 0]) == len(panel) - 6


def test_best_of_all_networks_with_edges_in_a_row():
    frame = draw_numbers()
    score, edges = best_transition(lag_frame(frame, 1), "abc", gaussian_bic, instantaneous=True)
    learner = DynamicBayesianNetworkSearch(instantaneous=True, strategy="exact", return_type="dag").fit(frame)
    assert learner.score_ == pytest.approx(score, rel=1e-10)
    # graphs of one class have the same score
    assert {frozenset(edge) for edge in edges_of(learner)} == {frozenset(edge) for edge in edges}
    assert learner.proven_


def test_families_of_mixed_variables_are_scored_on_the_lagged_frame():
    panel = draw_panel().astype({"a": float, "b": "category", "c": "category"}).drop(columns=["t", "s"])
    panel["a"] += np.random.default_rng(0).standard_normal(len(panel))
    learner = DynamicBayesianNetworkSearch(groups="id", lags=2, return_type="dag").fit(panel)
    columns = lag_frame(panel, 2, "id")
    frame = pd.DataFrame({f"{name}@t-{lag}": column.to_numpy() for (name, lag), column in columns.items()})
    tiers = [[name for name in frame if not name.endswith("@t-0")]]
    later = [name for name in frame if name.endswith("@t-0")]
    forbidden = [(u, v) for v in later for u in later if u != v] + [
        (u, v) for v in tiers[0] for u in tiers[0] if u != v
    ]
    search = HillClimbSearch(tiers=[*tiers, later], forbidden_edges=forbidden, return_type="dag").fit(frame)
    assert set(search.graph_.edges()) == set(learner.dag_.edges())


@pytest.mark.parametrize("score", ["bic", "aic", "ll", "k2", "bdeu", "bds", "ebic"])
def test_same_bits_as_on_the_lagged_frame(score):
    panel = draw_panel(n_groups=3).drop(columns=["t", "s"])
    options = {"scoring_method": score, "return_type": "dag", "max_indegree": 2}
    learner = DynamicBayesianNetworkSearch(groups="id", lags=2, **options).fit(panel)
    frame = pd.DataFrame(
        {
            f"{n}@t-{k}": pd.Categorical(column.astype(int), [0, 1, 2])
            for (n, k), column in lag_frame(panel, 2, "id").items()
        }
    )
    later = [f"{name}@t-0" for name in "abc"]
    earlier = [name for name in frame if name not in later]
    candidates = [(u, v) for u in earlier for v in later]
    search = HillClimbSearch(candidate_edges=candidates, **options).fit(frame[list(learner.dag_.nodes())])
    np.testing.assert_array_equal(search.edges_, learner.edges_)
    source = search._scoring.get().gains(allowed=None, max_indegree=None, deadline=np.inf, n_jobs=None)
    families = [
        source.family_score(v, np.sort(search.edges_[search.edges_[:, 1] == v, 0]).astype(np.int32)) for v in range(3)
    ]
    assert float(np.sum(families)) + search._scoring.get().prior(search.edges_) == learner.score_


#: Scores of complete discrete rows with real weights.
WEIGHTED = [(score, "error", True) for score in ("bic", "bdeu", "bds", "k2")]


def fit_lagged_frame(frame, lags, groups=None, sample_weight=None, **options):
    """Return `HillClimbSearch` fitted to the lagged frame of pandas with the edges of a transition network."""
    columns = lag_frame(frame, lags, groups)
    rows = next(iter(columns.values())).index
    lagged = pd.DataFrame({f"{name}@t-{lag}": column for (name, lag), column in columns.items()})
    later = [name for name in lagged if name.endswith("@t-0")]
    candidates = [(u, v) for u in lagged if u not in later for v in later]
    weights = None if sample_weight is None else sample_weight[rows]
    return HillClimbSearch(candidate_edges=candidates, **options).fit(lagged, None, weights)


@pytest.mark.parametrize("is_weighted", [False, True])
def test_numbers_have_the_bits_of_the_lagged_frame(is_weighted):
    rng = np.random.default_rng(0)
    rows = 100.0 + rng.standard_normal((1600, 30)) * 10.0 ** rng.uniform(-2, 2, 30)
    frame = pd.DataFrame(rows).set_axis([f"v{v}" for v in range(30)], axis=1).assign(id=np.repeat(range(4), 400))
    weights = rng.random(1600) if is_weighted else None
    options = {"max_iter": 3, "return_type": "dag"}
    learner = DynamicBayesianNetworkSearch(lags=2, groups="id", **options).fit(frame, None, weights)
    expected = fit_lagged_frame(frame, 2, "id", weights, **options)
    np.testing.assert_array_equal(learner.edges_, expected.edges_)
    ours, theirs = learner._scoring.get(), expected._scoring.get()
    np.testing.assert_array_equal(ours.moments.cross, theirs.moments.cross)
    # several chunks of rows, which are never all in memory
    assert len(list(ours.rows.chunks())) == 2
    np.testing.assert_array_equal(ours.rows.rows(), theirs.rows)


@pytest.mark.parametrize(
    ("score", "missing", "is_weighted"),
    [("bic", "pairwise", False), ("ll", "pairwise", False), ("aic", "pairwise", True), *WEIGHTED],
)
def test_views_have_the_bits_of_the_lagged_frame(score, missing, is_weighted):
    rng = np.random.default_rng(0)
    panel = draw_panel(n_groups=3).drop(columns=["t", "s"]).astype(dict.fromkeys("abc", "Int64"))
    if missing == "pairwise":
        panel[["a", "b"]] = panel[["a", "b"]].mask(rng.random((len(panel), 2)) < 0.1)
    weights = 0.5 + rng.random(len(panel)) if is_weighted else None
    options = {"scoring_method": score, "max_indegree": 2, "missing": missing, "return_type": "dag"}
    learner = DynamicBayesianNetworkSearch(groups="id", lags=2, **options).fit(panel, None, weights)
    expected = fit_lagged_frame(panel, 2, "id", weights, **options)
    np.testing.assert_array_equal(learner.edges_, expected.edges_)
    assert len(learner.edges_)
    ours, theirs = learner._scoring.get(), expected._scoring.get()
    assert isinstance(ours.table, ShiftedTable)
    options = {"allowed": None, "max_indegree": None, "deadline": np.inf, "n_jobs": None}
    sources = [scoring.gains(**options) for scoring in (ours, theirs)]
    for v in range(3):
        for parents in ((), (4,), (3, 7)):
            own, other = (source.family_score(v, np.array(parents, dtype=np.int32)) for source in sources)
            assert own == other


def test_objects_of_discrete_scores_are_bound_to_the_lagged_columns():
    panel = draw_panel(n_groups=30, n_times=6).drop(columns="t")
    columns = panel[list("abcs")]
    options = {"groups": "id", "static_columns": ["s"]}
    by_name = DynamicBayesianNetworkSearch(**options, scoring_method="bdeu").fit(panel)
    by_object = DynamicBayesianNetworkSearch(**options, scoring_method=BDeu(columns)).fit(panel)
    assert by_object.score_ == by_name.score_ and by_object.prior_dag_.edges == by_name.prior_dag_.edges
    stronger = BDeu(columns, equivalent_sample_size=50)
    assert DynamicBayesianNetworkSearch(**options, scoring_method=stronger).fit(panel).score_ != by_name.score_
    with pytest.raises(ValueError, match="only in the series: 'c'"):
        DynamicBayesianNetworkSearch(**options, scoring_method=BDeu(columns[["a", "b", "s"]])).fit(panel)
    gaussian = BICGauss(draw_numbers())
    with pytest.raises(TypeError, match=r"BICGauss\(...\) is bound to a table without lags"):
        DynamicBayesianNetworkSearch(scoring_method=gaussian).fit(draw_numbers())


def test_gaps_and_missing_values_break_the_series():
    panel = draw_panel(n_groups=2, n_times=30)
    panel = panel.drop(index=[5, 6, 40]).reset_index(drop=True)
    with pytest.raises(ValueError, match=r"times of the series 'g1' are irregular.*missing='drop'"):
        DynamicBayesianNetworkSearch(groups="id", time_column="t").fit(panel)
    options = {"groups": "id", "time_column": "t", "lags": 2, "missing": "drop"}
    assert DynamicBayesianNetworkSearch(**options).fit(panel).n_rows_ == 57 - 4 * 1 - 2 * 2
    assert DynamicBayesianNetworkSearch(**options | {"irregular": "ignore"}).fit(panel).n_rows_ == 57 - 4
    holes = panel.astype({"a": object})
    holes.loc[20, "a"] = None
    assert DynamicBayesianNetworkSearch(**options).fit(holes).n_rows_ == 49 - 3
    assert DynamicBayesianNetworkSearch(**options | {"missing": "pairwise"}).fit(holes).n_rows_ == 49
    with pytest.raises(ValueError, match="'a'.*missing"):
        DynamicBayesianNetworkSearch(groups="id").fit(holes)


def test_the_order_of_groups_and_their_tables_do_not_matter():
    panel = draw_panel()
    learner = DynamicBayesianNetworkSearch(groups="id", time_column="t", static_columns=["s"]).fit(panel)
    mixed = panel.sort_values(["t", "id"], ascending=[True, False])
    tables = {key: rows.drop(columns=["id"]) for key, rows in panel.groupby("id")}
    for other in (
        DynamicBayesianNetworkSearch(groups="id", time_column="t", static_columns=["s"]).fit(mixed),
        DynamicBayesianNetworkSearch(time_column="t", static_columns=["s"]).fit(tables),
        DynamicBayesianNetworkSearch(time_column="t", static_columns=["s"]).fit(list(tables.values())),
    ):
        assert other.graph_.edges == learner.graph_.edges
        assert (other.score_, other.n_rows_, other.n_groups_) == (learner.score_, learner.n_rows_, 6)


def test_weights_of_groups_repeat_them():
    panel = draw_panel().drop(columns=["t"])
    double = panel[panel["id"] < "g2"].assign(id=lambda rows: rows["id"] + "again")
    repeated = DynamicBayesianNetworkSearch(groups="id").fit(pd.concat([panel, double]))
    for weights in (np.where(panel["id"] < "g2", 2, 1), [2, 2, 1, 1, 1, 1]):
        weighted = DynamicBayesianNetworkSearch(groups="id").fit(panel, sample_weight=weights)
        assert weighted.score_ == pytest.approx(repeated.score_, rel=1e-12)
        assert edges_of(weighted) == edges_of(repeated)


def test_knowledge_over_variables_and_lags():
    panel = draw_panel().drop(columns=["t", "s"])
    options = {"groups": "id", "lags": 2, "instantaneous": True}
    free = edges_of(DynamicBayesianNetworkSearch(**options, return_type="dag").fit(panel))
    assert (("a", 1), ("b", 0)) in free
    forbidden = [(("a", 1), ("b", 0))]
    required = [(("c", 2), ("a", 0))]
    learner = DynamicBayesianNetworkSearch(**options, forbidden_edges=forbidden, required_edges=required).fit(panel)
    assert set(required) <= edges_of(learner) and not set(forbidden) & edges_of(learner)
    only = DynamicBayesianNetworkSearch(**options, candidate_edges=forbidden).fit(panel)
    assert edges_of(only) == set(forbidden)
    roots = DynamicBayesianNetworkSearch(**options, root_nodes=[("b", 0)], max_indegree=1).fit(panel)
    assert not [edge for edge in edges_of(roots) if edge[1] == ("b", 0)]


def test_directions_within_a_row_that_both_fit_are_undirected():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 400)
    frame = pd.DataFrame({"x": x, "y": np.where(rng.random(400) < 0.9, x, 1 - x)})
    learner = DynamicBayesianNetworkSearch(instantaneous=True).fit(frame)
    assert learner.graph_.edges[("x", 0), ("y", 0)]["undirected"]
    assert edges_of(learner) == {(("x", 0), ("y", 0)), (("y", 0), ("x", 0))}
    required = [(("y", 0), ("x", 0))]
    directed = DynamicBayesianNetworkSearch(instantaneous=True, required_edges=required).fit(frame)
    assert edges_of(directed) == set(required)


def test_strength_is_what_the_score_loses_without_the_edge():
    panel = draw_panel(n_groups=2).drop(columns=["t", "s"])
    learner = DynamicBayesianNetworkSearch(groups="id", return_type="dag").fit(panel)
    lagged = lag_frame(panel, 1, "id")
    cards = {"a": 3, "b": 3, "c": 3}
    for u, v, strength in learner.graph_.edges(data="strength"):
        parents = sorted(learner.graph_.predecessors(v))
        rest = [parent for parent in parents if parent != u]
        loss = discrete_bic(lagged, v, parents, cards) - discrete_bic(lagged, v, rest, cards)
        assert strength == pytest.approx(loss, rel=1e-9)
    required = [(("c", 1), ("a", 0))]
    learner = DynamicBayesianNetworkSearch(groups="id", return_type="dag", required_edges=required).fit(panel)
    assert learner.graph_.edges[required[0]]["strength"] == 0.0  # the score gains without it


def test_first_rows_are_modelled_if_there_are_thirty_series():
    panel = draw_panel(n_groups=40, n_times=4)
    options = {"groups": "id", "time_column": "t", "static_columns": ["s"]}
    learner = DynamicBayesianNetworkSearch(**options, lags=2).fit(panel)
    first = panel[panel["t"] < 2].pivot(index="id", columns="t", values=["a", "b", "c"])
    frame = pd.DataFrame(
        {"s": panel.groupby("id")["s"].first()}
        | {f"{name}@t-{2 - t}": first[name, t].astype(int) for t in range(2) for name in "abc"}
    )
    forbidden = [(f"{u}@t-1", f"{v}@t-2") for u in "abc" for v in "abc"] + [(u, "s") for u in frame if u != "s"]
    expected = HillClimbSearch(forbidden_edges=forbidden, return_type="dag").fit(frame)
    assert set(learner.prior_dag_.edges()) == set(expected.graph_.edges())
    assert learner.model_.prior is not None
    few = DynamicBayesianNetworkSearch(**options).fit(panel[panel["id"].isin(panel["id"].unique()[:29])])
    assert few.prior_dag_ is None
    with pytest.warns(UserWarning, match="fewer than 30 series"):
        assert few.model_.prior is None


def test_edges_of_first_rows_keep_the_order_within_a_row():
    rng = np.random.default_rng(10)
    rows = rng.integers(0, 2, (40, 6, 4))
    for t in range(6):
        for v in range(1, 4):
            rows[:, t, v] = np.where(rng.random(40) < 0.8, rows[:, t, v - 1], rows[:, t, v])
    panel = pd.DataFrame(rows.reshape(-1, 4), columns=list("abcd")).assign(id=np.repeat(range(40), 6))
    learner = DynamicBayesianNetworkSearch(groups="id", instantaneous=True, return_type="dag").fit(panel)
    assert {(name[0], head[0]) for name, head in learner.prior_dag_.edges()}
    # pgmpy has the same inner edges in both slices
    assert isinstance(learner.model_, pgmpy.models.DynamicBayesianNetwork) and learner.model_.check_model()


def test_places_of_series_follow_the_transition_network():
    chain = np.array([[0, 1], [2, 3]])
    assert find_common_order(chain, np.array([[1, 2], [0, 3]]), 4) is None
    places = find_common_order(chain, np.array([[1, 2], [3, 0]]), 4)
    assert places[0] < places[1] and places[2] < places[3]
    assert places.tolist() == [1, 2, 0, 3] or places.tolist() == [2, 3, 0, 1]


def test_the_model_has_the_edges_of_the_graph():
    panel = draw_panel(n_groups=30, n_times=10)
    learner = DynamicBayesianNetworkSearch(groups="id", time_column="t", static_columns=["s"], return_type="dag").fit(
        panel
    )
    assert learner.model_.to_networkx().edges == learner.graph_.edges
    assert learner.model_.states == {"a": (0, 1, 2), "b": (0, 1, 2), "c": (0, 1, 2), "s": (0, 1)}
    assert (learner.model_.groups, learner.model_.time_column) == ("id", "t")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda p: p.iloc[[*range(40), 45]], {}, r"1 group\(s\) have one row \('g1'\)"),
        (lambda p: p.iloc[::-1], {}, "times of the series 'g5' do not increase"),
        (lambda p: p, {"lags": 40}, "the longest group has 40 rows, and lags=40 needs at least 41"),
        (lambda p: p, {"groups": None, "time_column": None, "lags": 240}, "the series has 240 rows"),
        (lambda p: p, {"static_columns": ["a"]}, "static column 'a' changes in the group 'g0'"),
        (lambda p: p, {"static_columns": ["z"]}, "static_columns names 'z'"),
        (lambda p: p, {"static_columns": ["id"]}, "static_columns names 'id'"),
        (lambda p: p, {"groups": "z"}, "groups names 'z'"),
        (lambda p: p, {"required_edges": [(("a", 0), ("b", 1))]}, "no edge leads from a later to an earlier row"),
        (lambda p: p, {"required_edges": [(("a", 0), ("b", 0))]}, "instantaneous=True"),
        (lambda p: p, {"required_edges": [(("a", 1), ("s", 0))], "static_columns": ["s"]}, "'s' has no parents"),
        (lambda p: p, {"required_edges": [(("a", 2), ("b", 0))]}, "unknown variables.*'a', 2"),
        (lambda p: p, {"required_edges": [(("id", 1), ("b", 0))]}, "unknown variables.*'id', 1"),
        (lambda p: p, {"scoring_method": "x"}, "x"),
        (lambda p: p, {"missing": "em"}, "missing='em' is not supported for series.*use 'pairwise'"),
        (lambda p: p.assign(t=1), {}, "time 1 of the series 'g0' occurs twice"),
        (
            lambda p: p.rename(columns={"s": "a@t-1"}),
            {"static_columns": ["a@t-1"]},
            "'a' and 'a@t-1' would both be named 'a@t-1'",
        ),
        (lambda p: p.rename(columns={"a": 1, "b": "1"}), {}, "1 and '1' would both be named '1@t-0'"),
    ],
)
def test_bad_input_is_named(change, options, message):
    with pytest.raises(ValueError, match=message):
        DynamicBayesianNetworkSearch(**{"groups": "id", "time_column": "t"} | options).fit(change(draw_panel()))


def test_short_groups_are_named_in_a_warning():
    panel = draw_panel().iloc[:42]
    with pytest.warns(UserWarning, match="1 of 2 groups have at most 2 rows and do not count"):
        learner = DynamicBayesianNetworkSearch(groups="id", time_column="t", lags=2).fit(panel)
    assert learner.n_rows_ == 38


def test_weights_and_columns_of_another_form_are_refused():
    panel = draw_panel()
    with pytest.raises(TypeError, match="static_columns must be a list"):
        DynamicBayesianNetworkSearch(static_columns="s").fit(panel)
    with pytest.raises(ValueError, match="sample_weight"):
        DynamicBayesianNetworkSearch(groups="id", time_column="t").fit(panel, sample_weight=np.ones(7))
    with pytest.raises(ValueError, match="all rows that follow 2 observed rows .* have the sample_weight zero"):
        learner = DynamicBayesianNetworkSearch(groups="id", time_column="t", lags=2)
        learner.fit(panel, sample_weight=(panel["t"] < 2).to_numpy(dtype=float))

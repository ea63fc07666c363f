"""Rows in which variables were set: families are scored on the other rows, and graphs are found by enumeration."""

import math

import networkx
import numpy as np
import pandas as pd
import pgmpy.structure_score
import polars as pl
import pyarrow as pa
import pytest

from helpers.command_line import done
from oracles.all_dags import all_dags
from oracles.conditional_gaussian import clg_log_likelihood
from oracles.family_scores import FORMULAS, Family, family_counts
from oracles.interventional import join, list_classes
from pgmx.data import open_numeric
from pgmx.estimators import BootstrapStructure, GreedyEquivalenceSearch, HillClimbSearch, StructurePosterior
from pgmx.estimators.resampler import Resampler
from pgmx.scores import BDeu, UniformPrior
from pgmx.scores.registry import list_scores

NAMES = ["a", "b", "c", "d"]
DAGS = list(all_dags(4))


def draw_targets(rng, n_rows, sets):
    """Return which variables were set in each row, bool (n_rows, 4)."""
    rows = np.zeros((n_rows, 4), dtype=bool)
    for k, row in zip(rng.integers(0, len(sets), n_rows).tolist(), rows, strict=True):
        row[list(sets[k])] = True
    return rows


def draw_states(rng, was_set, cards=(2, 3, 2, 2)):
    """Return columns of a -> b -> c -> d and a -> c; set variables are uniform."""
    columns = []
    for v, (card, rows) in enumerate(zip(cards, was_set.T, strict=True)):
        drawn = rng.integers(0, card, len(rows))
        if v:
            causes = columns[v - 1] if v != 2 else columns[0] + columns[1]
            drawn = np.where(rows | (rng.random(len(rows)) < 0.3), drawn, causes % card)
        columns.append(drawn)
    return np.array(columns)


def list_families(edges):
    return [(v, tuple(sorted(tail for tail, head in edges if head == v))) for v in range(4)]


def score_family(codes, cards, was_set, child, parents, score):
    tables = list(family_counts(codes[:, ~was_set[:, child]], cards, child, parents).values())
    q = math.prod(int(cards[p]) for p in parents)
    return FORMULAS[score](Family(tables, q, int(cards[child]), codes.shape[1], 10.0, len(parents), 3))


#: All families of four variables.
FAMILIES = sorted({family for dag in DAGS for family in list_families(dag)})


def score_dag(codes, cards, was_set, edges, score):
    return sum(score_family(codes, cards, was_set, v, parents, score) for v, parents in list_families(edges))


def to_frame(codes):
    return pd.DataFrame(codes.T, columns=NAMES).astype("category")


def to_cells(was_set):
    """Return names of variables, several as a list, None if there are none."""
    named = [[name for name, chosen in zip(NAMES, row, strict=True) if chosen] for row in was_set]
    return [None if not names else names[0] if len(names) == 1 else names for names in named]


SETS = [(), (0,), (1, 2), (3,)]


@pytest.mark.parametrize("score", list_scores("discrete"))
def test_exact_search_finds_the_best_graph(score):
    rng = np.random.default_rng(7)
    was_set = draw_targets(rng, 300, SETS)
    codes = draw_states(rng, was_set)
    cards = codes.max(axis=1) + 1
    families = {f: score_family(codes, cards, was_set, *f, score) for f in FAMILIES}
    best = max(DAGS, key=lambda edges: sum(map(families.get, list_families(edges))))
    frame = pd.DataFrame(was_set[:, ::-1], columns=NAMES[::-1])
    # BDs has a prior of its own
    search = HillClimbSearch(scoring_method=score, strategy="exact", structure_prior=UniformPrior())
    search.fit(to_frame(codes), interventions=frame)
    assert search.score_ == pytest.approx(score_dag(codes, cards, was_set, best, score))
    assert search.score_ == pytest.approx(score_dag(codes, cards, was_set, search.edges_.tolist(), score))


def test_greedy_search_and_the_class():
    rng = np.random.default_rng(3)
    for number in range(4):
        sets = [SETS[k] for k in sorted(set(rng.integers(0, 4, 2).tolist()) | {0})]
        was_set = draw_targets(rng, 250, sets)
        codes = draw_states(rng, was_set)
        cards = codes.max(axis=1) + 1
        data = to_frame(codes).assign(target=to_cells(was_set))
        search = HillClimbSearch(interventions="target", return_type=["dag", "pdag"][number % 2]).fit(data)
        edges = sorted(map(tuple, search.edges_.tolist()))
        assert search.variables_ == NAMES
        assert search.score_ == pytest.approx(score_dag(codes, cards, was_set, edges, "bic"))
        neighbours = [dag for dag in DAGS if len(set(dag) ^ set(edges)) == 1]
        assert search.score_ >= max(score_dag(codes, cards, was_set, dag, "bic") for dag in neighbours) - 1e-4
        if number % 2:
            members = next(c for c in list_classes(DAGS, sets) if edges in map(sorted, c))
            directed, undirected = join(members)
            assert {(NAMES.index(a), NAMES.index(b)) for a, b in search.graph_.directed_edges} == set(directed)
            got = {tuple(sorted(map(NAMES.index, edge))) for edge in search.graph_.undirected_edges}
            assert got == set(undirected)


def test_parameters_leave_the_rows_out():
    rng = np.random.default_rng(1)
    was_set = draw_targets(rng, 400, SETS)
    frame = to_frame(draw_states(rng, was_set))
    model = HillClimbSearch(interventions="target").fit(frame.assign(target=to_cells(was_set))).model_
    for v, name in enumerate(NAMES):
        cpd = model.get_cpds(name)
        parents = cpd.variables[1:]
        kept = frame[~was_set[:, v]].astype(int)
        counts = kept.groupby([name, *parents]).size().unstack(parents, fill_value=0) if parents else None
        counts = kept[name].value_counts().sort_index() if counts is None else counts.sort_index(axis=1)
        expected = counts.to_numpy().reshape(len(counts), -1)
        np.testing.assert_allclose(cpd.get_values(), expected / expected.sum(axis=0))
    assert model.check_model()


# ---- other data ----


def score_numbers(numbers, was_set, edges):
    """Return BIC of linear Gaussian families on their rows."""
    total = 0.0
    for child in range(4):
        kept = numbers[~was_set[:, child]]
        parents = [tail for tail, head in edges if head == child]
        design = np.column_stack([np.ones(len(kept)), kept[:, parents]])
        rest = kept[:, child] - design @ np.linalg.lstsq(design, kept[:, child], rcond=None)[0]
        total += -0.5 * len(kept) * (math.log(2 * math.pi * np.mean(rest**2)) + 1)
        total -= 0.5 * math.log(len(numbers)) * (len(parents) + 2)
    return total


def draw_numbers(rng, was_set):
    numbers = rng.normal(size=was_set.shape)
    for v in range(1, 4):
        numbers[:, v] += np.where(was_set[:, v], 2.0, 0.8 * numbers[:, v - 1])
    return numbers


@pytest.mark.parametrize("strategy", ["greedy", "thorough", "best", "exact"])
def test_continuous_data(strategy):
    rng = np.random.default_rng(11)
    was_set = draw_targets(rng, 200, SETS)
    numbers = draw_numbers(rng, was_set)
    data = pd.DataFrame(numbers, columns=NAMES)
    search = HillClimbSearch(strategy=strategy).fit(data, interventions=was_set)
    edges = search.edges_.tolist()
    assert search.score_ == pytest.approx(score_numbers(numbers, was_set, edges))
    if strategy == "exact":
        assert search.score_ == pytest.approx(max(score_numbers(numbers, was_set, dag) for dag in DAGS))
    for v, name in enumerate(NAMES):
        cpd = search.model_.get_cpds(name)
        kept = data[~was_set[:, v]]
        design = np.column_stack([np.ones(len(kept)), kept[list(cpd.evidence)]])
        np.testing.assert_allclose(cpd.beta, np.linalg.lstsq(design, kept[name], rcond=None)[0], atol=1e-9)


@pytest.mark.parametrize(("n_rows", "sums_products"), [(40, False), (300, True)])
@pytest.mark.parametrize("shift", [0.0, 1e7])
def test_few_rows_are_left_out_one_by_one_and_many_by_their_products(n_rows, sums_products, shift):
    rng = np.random.default_rng(3)
    n = 12
    was_set = np.zeros((n_rows, n), dtype=bool)
    chosen = np.arange(0, n_rows, 2)
    was_set[chosen, chosen // 2 % n] = True
    was_set[chosen[::3], 5] = True
    numbers = rng.normal(size=(n_rows, n)).cumsum(axis=1) + shift
    data = pd.DataFrame(numbers).set_axis([f"v{v}" for v in range(n)], axis=1)
    scoring = HillClimbSearch(max_iter=0).fit(data, interventions=was_set)._scoring.get()
    assert (scoring.left_out.rows is None) == sums_products
    source = scoring.gains(allowed=None, max_indegree=None, deadline=np.inf, n_jobs=None)
    for child in range(n):
        parents = np.array([v for v in (child - 1, child + 2) if 0 <= v < n], dtype=np.int32)
        kept = numbers[~was_set[:, child]] - shift
        design = np.column_stack([np.ones(len(kept)), kept[:, parents]])
        rest = kept[:, child] - design @ np.linalg.lstsq(design, kept[:, child], rcond=None)[0]
        expected = -0.5 * len(kept) * (math.log(2 * math.pi * np.mean(rest**2)) + 1)
        expected -= 0.5 * math.log(n_rows) * (len(parents) + 2)
        assert source.family_score(child, parents) == pytest.approx(expected, rel=1e-9 if shift == 0 else 1e-7)


@pytest.mark.parametrize("strategy", ["greedy", "exact"])
def test_weights_count_rows(strategy):
    """Rows of weight 2 are two rows; real weights score as repeated rows divided by their number."""
    rng = np.random.default_rng(5)
    was_set = draw_targets(rng, 150, SETS)
    weights = rng.integers(0, 3, 150)
    repeated = np.repeat(np.arange(150), weights)
    for data in (to_frame(draw_states(rng, was_set)), pd.DataFrame(draw_numbers(rng, was_set), columns=NAMES)):
        search = HillClimbSearch(strategy=strategy)
        whole = search.fit(data.iloc[repeated].reset_index(drop=True), interventions=was_set[repeated])
        expected, edges = whole.score_, whole.edges_.tolist()
        for given in (weights, weights * (1 + 1e-12)):
            search.fit(data, sample_weight=given, interventions=was_set)
            assert search.score_ == pytest.approx(expected)
            assert search.edges_.tolist() == edges


def test_mixed_data_and_score_objects():
    """Scores bound to each set of rows agree with the rows themselves."""
    rng = np.random.default_rng(2)
    was_set = draw_targets(rng, 200, [(), (0,), (3,)])
    numbers = draw_numbers(rng, was_set)
    data = pd.DataFrame(numbers, columns=NAMES)
    for name in "bd":
        data[name] = pd.Categorical(np.where(data[name] > 0, "high", "low"))
    search = HillClimbSearch(scoring_method="bic-clg").fit(data, interventions=was_set)
    expected = 0.0
    for v, name in enumerate(NAMES):
        parents = [NAMES[tail] for tail, head in search.edges_.tolist() if head == v]
        kept = data[~was_set[:, v]].reset_index(drop=True)
        n_parameters = clg_parameters(kept, name, parents)
        expected += clg_log_likelihood(kept, name, parents) - 0.5 * math.log(200) * n_parameters
    assert search.score_ == pytest.approx(expected)
    assert search.model_.check_model()
    states = data.assign(a=data["a"] > 0, c=data["c"] > 0).astype("category")
    by_object = HillClimbSearch(scoring_method=pgmpy.structure_score.AIC(states)).fit(states, interventions=was_set)
    by_name = HillClimbSearch(scoring_method="aic").fit(states, interventions=was_set)
    assert by_object.score_ == pytest.approx(by_name.score_)
    assert by_object.edges_.tolist() == by_name.edges_.tolist()


def clg_parameters(frame, child, parents):
    q = math.prod(frame[p].cat.categories.size for p in parents if frame[p].dtype == "category")
    n_floats = sum(frame[p].dtype != "category" for p in parents)
    return q if frame[child].dtype == "category" else q * (2 + n_floats)


def test_missing_values():
    rng = np.random.default_rng(9)
    was_set = draw_targets(rng, 300, [(), (1,), (2, 3)])
    data = to_frame(draw_states(rng, was_set))
    data = data.mask(rng.random(data.shape) < 0.05)
    complete = data.notna().all(axis=1).to_numpy()
    expected = HillClimbSearch().fit(data[complete], interventions=was_set[complete])
    with pytest.warns(UserWarning, match="leaves out"):
        search = HillClimbSearch(missing="drop").fit(data, interventions=was_set)
    assert search.score_ == expected.score_
    search = HillClimbSearch(missing="pairwise").fit(data, interventions=was_set)
    alone = HillClimbSearch(missing="pairwise", candidate_edges=[])  # by variable, from its rows
    total = sum(alone.fit(data[[name]][~was_set[:, v]]).score_ for v, name in enumerate(NAMES))
    assert HillClimbSearch(missing="pairwise", candidate_edges=[]).fit(data, interventions=was_set).score_ == (
        pytest.approx(total)
    )
    assert search.score_ > total


@pytest.mark.parametrize("missing", ["error", "pairwise"])
def test_classes(missing):
    """GIES finds a graph of at least the score of the greedy search in a class with the right directions."""
    rng = np.random.default_rng(4)
    was_set = draw_targets(rng, 500, [(), (1,), (2, 3)])
    data = to_frame(draw_states(rng, was_set))
    search = GreedyEquivalenceSearch(interventions="set", missing=missing).fit(data.assign(set=to_cells(was_set)))
    greedy = HillClimbSearch(missing=missing).fit(data, interventions=was_set)
    assert search.score_ >= greedy.score_ - 1e-6
    assert ("a", "b") in search.graph_.directed_edges


def test_posterior_is_that_of_all_graphs():
    rng = np.random.default_rng(6)
    was_set = draw_targets(rng, 40, [(), (0,), (1, 2)])
    codes = draw_states(rng, was_set)
    cards = codes.max(axis=1) + 1
    logs = np.array([score_dag(codes, cards, was_set, dag, "bdeu") for dag in DAGS])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    options = {"structure_prior": "uniform", "scoring_method": BDeu(to_frame(codes), equivalent_sample_size=10)}
    posterior = StructurePosterior(**options).fit(to_frame(codes), interventions=was_set)
    for a, b in ((0, 1), (1, 2), (2, 1)):
        expected = sum(w for w, dag in zip(weights, DAGS, strict=True) if (a, b) in dag)
        assert posterior.arc_probability_.loc[NAMES[a], NAMES[b]] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("score", ["bge", "bic-g"])
def test_effects_averaged_over_dags(score):
    """Coefficients come from the rows of a child; products along paths are added, and their variances are exact."""
    rng = np.random.default_rng(12)
    was_set = draw_targets(rng, 60, SETS)
    numbers = draw_numbers(rng, was_set)
    posterior = StructurePosterior(scoring_method=score, n_dags=40)
    effects = posterior.fit(pd.DataFrame(numbers, columns=NAMES), interventions=was_set).causal_effects()
    mean, square, n_dags = np.zeros((4, 4)), np.zeros((4, 4)), 40
    for dag in posterior.sample_dags(n_dags):
        first, second = np.eye(4), np.zeros((4, 4, 4))  # by cause: E t_v, and E t_u t_v
        for v in map(NAMES.index, networkx.topological_sort(dag)):
            parents = sorted(map(NAMES.index, dag.predecessors(NAMES[v])))
            kept = numbers[~was_set[:, v]] - numbers[~was_set[:, v]].mean(axis=0)
            cross = kept.T @ kept + (0.5 if score == "bge" else 0.0) * np.eye(4)
            inverse = np.linalg.inv(cross[np.ix_(parents, parents)])
            slopes = inverse @ cross[parents, v]
            # BGe: N + alpha_w - p + 1 degrees of freedom and one for each parent, with alpha_w = p + 2
            degrees = len(kept) + 3 + len(parents) if score == "bge" else len(kept) - len(parents) - 1
            spread = (cross[v, v] - slopes @ cross[parents, v]) / (degrees - 2) * inverse
            for x in range(4):
                if x != v:
                    first[x, v] = slopes @ first[x, parents]
                    second[x, v] = second[x, :, v] = slopes @ second[x, parents]
                    both = np.outer(slopes, slopes) + spread
                    second[x, v, v] = np.sum(both * second[x][np.ix_(parents, parents)])
            second[v, v, v] = 1.0
        mean += (first - np.eye(4)) / n_dags
        square += (np.einsum("xvv->xv", second) - np.eye(4)) / n_dags
    np.testing.assert_allclose(effects.mean, mean, atol=1e-12)
    np.testing.assert_allclose(effects.std, np.sqrt(np.maximum(square - mean**2, 0.0)), atol=1e-7)
    np.testing.assert_array_equal(effects.nonzero, posterior.path_probabilities())


def test_score_of_rows_leaves_out_the_terms_of_set_variables():
    rng = np.random.default_rng(13)
    was_set = draw_targets(rng, 40, SETS)
    frame, numbers = to_frame(draw_states(rng, was_set)), pd.DataFrame(draw_numbers(rng, was_set), columns=NAMES)
    mixed = numbers.assign(b=pd.Categorical(np.where(numbers["b"] > 0, "high", "low")))
    for data, prior in ((frame, 1.0), (numbers, None), (mixed, 1.0)):
        search = HillClimbSearch(interventions="set", equivalent_sample_size=prior)
        search.fit(data.assign(set=to_cells(was_set)))
        rows = pd.concat([data, data]).reset_index(drop=True)
        twice = np.concatenate([was_set, np.zeros_like(was_set)])
        terms = list_terms(search.model_, rows)
        expected = np.where(twice, 0.0, terms).sum(axis=1).mean()
        assert search.score(rows.assign(set=to_cells(twice))) == pytest.approx(expected)
        assert search.score(rows[::-1], interventions=twice[::-1]) == pytest.approx(expected)
        assert search.score(rows) == pytest.approx(terms.sum(axis=1).mean())  # no variable was set
        if data is numbers:
            assert search.score(open_numeric(rows), interventions=twice) == pytest.approx(expected)
    with pytest.raises(ValueError, match="neither metric nor true_graph"):
        search.score(rows, metric="shd", interventions=twice)
    with pytest.raises(ValueError, match="give one of them"):
        search.score(rows.assign(set=to_cells(twice)), interventions=twice)


def list_terms(model, rows):
    """Return ln P(x_v | u_v) of each row and variable, (n_rows, 4)."""
    if hasattr(model, "log_likelihood_terms"):
        names = list(model.nodes())
        return pd.DataFrame(model.log_likelihood_terms(rows).T, columns=names)[NAMES].to_numpy()
    cpds = [model.get_cpds(name) for name in NAMES]
    return np.log([[cpd.get_value(**row[cpd.variables]) for cpd in cpds] for _, row in rows.iterrows()])


# ---- bad input ----


def test_a_variable_set_in_every_row_has_no_parents():
    rng = np.random.default_rng(8)
    was_set = draw_targets(rng, 200, [(2,), (1, 2)])
    codes = draw_states(rng, was_set)
    with pytest.warns(UserWarning, match="'c' was set in every row") as caught:
        search = HillClimbSearch().fit(to_frame(codes), interventions=was_set)
    assert len(caught) == 1
    assert not [edge for edge in search.edges_.tolist() if edge[1] == 2]
    assert ("c", "d") in search.graph_.directed_edges
    np.testing.assert_allclose(search.model_.get_cpds("c").values, np.bincount(codes[2]) / 200)
    with (
        pytest.warns(UserWarning, match="'c' was set in every row"),
        pytest.raises(ValueError, match="'b' -> 'c' is required, but 'c' was set in every row"),
    ):
        HillClimbSearch(required_edges=[("b", "c")]).fit(to_frame(codes), interventions=was_set)


def test_bad_interventions_are_named():
    frame = to_frame(np.array([[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]]))
    rows = pd.DataFrame({"a": [True, False, False, False]})
    numbers = pd.DataFrame(np.random.default_rng(0).normal(size=(4, 4)), columns=NAMES)
    cases = [
        ({}, frame, rows.rename(columns={"a": "z"}), "column.s. 'z', but the variables are 'a', 'b', 'c', 'd'"),
        ({}, frame, rows.astype(int), "must hold booleans, but column.s. 'a' hold int64"),
        ({}, frame, np.zeros((4, 4)), "must hold booleans, got float64"),
        ({}, frame, rows.astype("boolean").where(rows), "missing values in column.s. 'a': write False"),
        ({}, frame, rows.iloc[:3], r"must have the shape \(4, 1\)"),
        ({}, frame, rows.iloc[[1, 0, 3, 2]], "row labels of the data in another order"),
        ({}, numbers, pd.DataFrame({"a": [True] * 3 + [False]}), "in the row in which 'a' was not set: .* constant"),
        ({}, frame, np.zeros((4, 3), dtype=bool), r"must have the shape \(4, 4\)"),
        ({}, frame, pd.concat([rows, rows], axis=1), "a column name twice"),
        ({"interventions": "t"}, frame, None, "interventions='t' is not a column of the data: 'a', 'b', 'c', 'd'"),
        (
            {"interventions": "t"},
            frame.assign(t=[None, "a", "q, b", ["r"]]),
            None,
            "'t' of interventions names 'q', 'r'",
        ),
        ({"interventions": "t"}, frame.assign(t=[None] * 4), rows, "give one of them"),
        ({"missing": "em"}, frame, rows, "missing='em' is not supported"),
    ]
    for options, data, given, message in cases:
        with pytest.raises(ValueError, match=message):
            HillClimbSearch(**options).fit(data, interventions=given)


def test_rows_are_matched_by_position():
    frame = to_frame(np.array([[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]]))
    rows = pd.DataFrame({"a": [True, False, False, False]})
    expected = HillClimbSearch(scoring_method="k2").fit(frame, interventions=rows).score_
    shuffled = frame.set_axis([3, 1, 0, 2])
    for given in (rows, rows.set_axis([3, 1, 0, 2]), rows.set_axis([7, 1, 0, 2])):
        assert HillClimbSearch(scoring_method="k2").fit(shuffled, interventions=given).score_ == expected


def test_frames_of_other_libraries():
    was_set = np.array([[True, False], [False, False], [False, True], [False, False]])
    frame = to_frame(np.array([[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]]))
    expected = HillClimbSearch(scoring_method="k2").fit(frame, interventions=pd.DataFrame(was_set, columns=["a", "c"]))
    for kind in (pl.DataFrame, pa.table):
        given = kind({"a": was_set[:, 0], "c": was_set[:, 1]})
        assert HillClimbSearch(scoring_method="k2").fit(frame, interventions=given).score_ == expected.score_


def test_names_that_are_numbers_in_a_file(tmp_path):
    """A column of numbers with empty cells is read as floats."""
    frame = to_frame(np.array([[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]])).set_axis(list("1234"), axis=1)
    frame.assign(t=[2, None, 3, None]).to_csv(tmp_path / "table.csv", index=False)
    found = HillClimbSearch(interventions="t", scoring_method="k2").fit(tmp_path / "table.csv")
    was_set = pd.DataFrame({"2": [True, False, False, False], "3": [False, False, True, False]})
    assert found.score_ == HillClimbSearch(scoring_method="k2").fit(frame, interventions=was_set).score_


def test_cells_of_the_column():
    frame = to_frame(np.array([[0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]]))
    forms = ["a,b", "a, b", ["a", "b"], ("b", "a"), {"a", "b"}, np.array(["a", "b"])]
    for form in forms:
        search = HillClimbSearch(interventions="t", scoring_method="k2")
        cells = pd.Series([form, "", None, float("nan")], dtype=object)
        search.fit(frame.assign(t=cells))
        expected = HillClimbSearch(scoring_method="k2")
        expected.fit(frame, interventions=pd.DataFrame({"b": [True, *[False] * 3], "a": [True, *[False] * 3]}))
        assert search.score_ == expected.score_
    numbered = frame.set_axis([0, 1, 2, 3], axis=1).assign(t=[0, 1, np.nan, 3])  # a column of floats names integers
    assert HillClimbSearch(interventions="t").fit(numbered).variables_ == [0, 1, 2, 3]


def test_resamples_draw_the_interventions_of_their_rows():
    rng = np.random.default_rng(10)
    was_set = draw_targets(rng, 300, [(), (1,), (2,)])
    data = to_frame(draw_states(rng, was_set)).assign(target=to_cells(was_set))
    bootstrap = BootstrapStructure(HillClimbSearch(interventions="target"), n_resamples=4, show_progress=False)
    resampler = Resampler.from_learner(HillClimbSearch(), 300, None, 0)
    graphs = []
    for b in range(4):
        rows = np.repeat(np.arange(300), resampler.count_draws(b))
        graphs.append(HillClimbSearch(interventions="target").fit(data.iloc[rows]).graph_)
    found = bootstrap.fit(data).direction_probability_
    share = np.mean([("a", "b") in graph.directed_edges for graph in graphs])
    assert bootstrap.variables_ == NAMES
    assert found.loc["a", "b"] == pytest.approx(share)


def test_command_line(tmp_path):
    rng = np.random.default_rng(0)
    was_set = draw_targets(rng, 200, [(), (1,)])
    rows = pd.DataFrame(draw_states(rng, was_set).T, columns=NAMES)
    rows.assign(target=["b" if row[1] else None for row in was_set]).to_csv(tmp_path / "rows.csv", index=False)
    printed = done("learn", tmp_path / "rows.csv", "--interventions", "target")
    score = HillClimbSearch().fit(rows, interventions=was_set).score_
    assert f"{score:.4f} (bic)" in printed

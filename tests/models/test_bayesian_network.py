"""Graphs and fitted networks from integer edges, against pgmpy's own ways of making them."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.base import DAG, PDAG
from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork
from pgmpy.parameter_estimator import DiscreteBayesianEstimator, DiscreteMLE

from helpers.examples import examples
from pgmx.data.table import DiscreteTable
from pgmx.datasets import load_network
from pgmx.models import fit_discrete, fit_linear_gaussian, to_dag, to_linear_gaussian, to_pdag
from pgmx.models.bayesian import networks as bayesian_network
from pgmx.statistics import moments

NAMES = ["d", "a", "c", "b"]


def test_columns_of_unequal_length_are_named():
    with pytest.raises(ValueError, match="one length; the lengths are 'smoke' 2, 'xray' 1"):
        load_network("asia").predict({"smoke": ["yes", "no"], "xray": ["yes"]})


def test_dag_equals_pgmpys():
    dag = to_dag(NAMES, [(3, 0), (1, 0)])
    theirs = DAG([("a", "d"), ("b", "d")])
    theirs.add_node("c")
    assert type(dag) is DAG
    assert dag == theirs
    assert list(dag.edges(data=True)) == list(theirs.edges(data=True))


def test_dag_order_is_that_of_the_columns():
    dag = to_dag(NAMES, {(3, 0), (3, 2), (1, 0), (1, 2)})
    assert list(dag.nodes()) == NAMES
    assert list(dag.edges()) == [("a", "d"), ("a", "c"), ("b", "d"), ("b", "c")]
    assert dag.get_parents("d") == ["a", "b"]


def test_pdag_equals_pgmpys():
    pdag = to_pdag(NAMES, [(1, 0)], [(2, 0), (3, 2)])
    theirs = PDAG([("a", "d")], [("c", "d"), ("b", "c")])
    assert type(pdag) is PDAG
    assert pdag == theirs
    assert set(pdag.edges()) == set(theirs.edges())
    assert list(pdag.nodes()) == NAMES
    assert pdag.copy() == pdag
    assert nx.is_directed_acyclic_graph(pdag.to_dag())


def test_pdag_order_does_not_depend_on_hashes():
    pdag = to_pdag(NAMES, [(3, 0)], [(1, 0), (2, 3)])
    assert list(pdag.edges()) == [("d", "a"), ("a", "d"), ("c", "b"), ("b", "d"), ("b", "c")]


def test_isolated_nodes_stay():
    assert list(to_dag(NAMES, []).nodes()) == NAMES
    assert list(to_pdag(NAMES, [], []).nodes()) == NAMES


@pytest.mark.parametrize("build", [to_dag, lambda names, edges: to_pdag(names, edges, [])])
def test_positions_outside_the_names(build):
    with pytest.raises(ValueError, match=r"edge \(0, 4\) has a position outside the 4 variables"):
        build(NAMES, [(0, 4)])
    with pytest.raises(ValueError, match=r"\(-1, 0\)"):
        build(NAMES, [(-1, 0)])


def test_cycles_are_named():
    with pytest.raises(ValueError, match="'d' -> 'a' -> 'd'"):
        to_dag(NAMES, [(0, 1), (1, 0)])


@pytest.mark.parametrize(("directed", "undirected"), [([(0, 1)], [(1, 0)]), ([(0, 1), (1, 0)], []), ([], [(2, 2)])])
def test_pdag_with_two_marks_on_a_pair(directed, undirected):
    with pytest.raises(ValueError, match="two edges join the same two variables, or one joins a variable with itself"):
        to_pdag(NAMES, directed, undirected)


@st.composite
def tables_and_dags(draw):
    n = draw(st.integers(1, 5))
    rows = draw(st.integers(1, 40))
    cards = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    codes = np.stack([rng.integers(0, card, rows) for card in cards])
    table = DiscreteTable([f"v{v}" for v in range(n)], [[f"s{s}" for s in range(card)] for card in cards], codes)
    order = draw(st.permutations(range(n)))
    edges = [(order[i], order[j]) for i in range(n) for j in range(i + 1, n) if j - i <= 3 and draw(st.booleans())]
    return table, edges


def frame_of(table):
    cells = {name: [table.states[v][code] for code in table.codes[v]] for v, name in enumerate(table.columns)}
    return pd.DataFrame(cells, columns=list(table.columns))


@pytest.mark.parametrize(
    ("estimator", "options", "prior"),
    [
        (DiscreteMLE, {}, {}),
        (DiscreteBayesianEstimator, {"prior_type": "BDeu"}, {"equivalent_sample_size": 2.5}),
        (DiscreteBayesianEstimator, {"prior_type": "dirichlet"}, {"pseudo_counts": 0.5}),
    ],
    ids=["maximum likelihood", "BDeu", "pseudo-counts"],
)
@given(case=tables_and_dags())
@examples(20)
def test_parameters_equal_pgmpys(estimator, options, prior, case):
    table, edges = case
    model = fit_discrete(table, edges, **prior)
    assert model.check_model()
    state_names = {name: list(states) for name, states in zip(table.columns, table.states, strict=True)}
    theirs = DiscreteBayesianNetwork(to_dag(table.columns, edges))
    theirs.fit(frame_of(table), estimator=estimator(state_names=state_names, **options, **prior))
    for name in table.columns:
        ours, other = model.get_cpds(name), theirs.get_cpds(name)
        if len(other.variables) > 2:  # theirs are sorted by name
            other.reorder_parents(ours.variables[1:])
        assert ours.variables == other.variables
        assert ours.state_names == other.state_names
        np.testing.assert_allclose(ours.values, other.values, rtol=1e-13 if prior else 0)


def small_table(columns=("x", "y", "z")):
    codes = [[0, 0, 1, 1, 1], [0, 1, 0, 0, 0], [2, 2, 0, 0, 2]]
    return DiscreteTable(columns, [(False, True), (10, 20), ("l", "m", "h")], codes)


def test_declared_states_stay_and_unseen_parents_are_uniform():
    model = fit_discrete(small_table(), [(0, 2), (1, 2)])
    cpd = model.get_cpds("z")
    assert cpd.variables == ["z", "x", "y"]
    third = 1 / 3
    expected = [[0, 0, 2 / 3, third], [0, 0, 0, third], [1, 1, third, third]]
    np.testing.assert_allclose(cpd.get_values(), expected, rtol=1e-15)
    assert cpd.state_names == {"z": ["l", "m", "h"], "x": [False, True], "y": [10, 20]}
    assert [type(state) for state in cpd.state_names["y"]] == [int, int]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ({"equivalent_sample_size": 1, "pseudo_counts": 1}, "equivalent_sample_size=1 and pseudo_counts=1.*one"),
        ({"equivalent_sample_size": 0}, "equivalent_sample_size must be.*got 0"),
        ({"equivalent_sample_size": np.inf}, "equivalent_sample_size must be.*got inf"),
        ({"pseudo_counts": -1}, "pseudo_counts must be.*got -1"),
    ],
)
def test_a_prior_out_of_its_range_is_refused(prior, message):
    with pytest.raises(ValueError, match=message):
        fit_discrete(small_table(), [(0, 2)], **prior)


@pytest.mark.parametrize("columns", [(7, 0, 3), ("b", 0, ("c", 1)), (True, 0, 2.5)])
def test_names_need_not_be_text(columns):
    model = fit_discrete(small_table(columns), [(0, 2), (1, 2)])
    assert model.check_model()
    assert list(model.nodes()) == list(columns)


@pytest.mark.filterwarnings("ignore:`pgmpy.estimators:FutureWarning")  # raised inside pgmpy, at its own import
def test_the_network_answers_queries():
    from pgmpy.inference import VariableElimination

    model = fit_discrete(small_table(), [(0, 2), (1, 2)])
    answer = VariableElimination(model).query(["z"], evidence={"x": True, "y": 10}, show_progress=False)
    np.testing.assert_allclose(answer.values, [2 / 3, 0, 1 / 3])


def test_many_states_and_one_row():
    states = [f"s{s}" for s in range(300)]
    table = DiscreteTable(["wide", "one"], [states, ["only"]], np.array([[299], [0]]))
    model = fit_discrete(table, [(1, 0)])
    assert model.check_model()
    assert model.get_cpds("wide").get_values()[299, 0] == 1


def test_tables_too_large_are_refused_before_counting():
    n = 7
    table = DiscreteTable([f"v{v}" for v in range(n)], [range(20)] * n, np.zeros((n, 1), dtype=np.uint8))
    words = r"'v6' given its 6 parents \['v0', .*\] would have 1,280,000,000 cells \(10 GiB\); .*max_indegree"
    with pytest.raises(ValueError, match=words):
        fit_discrete(table, [(v, 6) for v in range(6)])


def test_the_limit_is_inclusive(monkeypatch):
    monkeypatch.setattr(bayesian_network, "MAX_CPT_CELLS", 12)
    assert fit_discrete(small_table(), [(0, 2), (1, 2)]).check_model()
    monkeypatch.setattr(bayesian_network, "MAX_CPT_CELLS", 11)
    with pytest.raises(ValueError, match="'z' given its 2 parents"):
        fit_discrete(small_table(), [(0, 2), (1, 2)])


def test_fit_refuses_cycles():
    with pytest.raises(ValueError, match="cycle 'x' -> 'y' -> 'x'"):
        fit_discrete(small_table(), [(0, 1), (1, 0)])


@pytest.fixture
def floats():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 60))
    return pd.DataFrame({"y": y, "z": 2 * x - y + 1 + 0.1 * rng.normal(size=60), "x": x, "other": "text"})


def test_linear_gaussian_equals_pgmpys(floats):
    before = floats.copy()
    model = to_linear_gaussian(floats, ["x", "y", "z"], [(0, 2), (1, 2)])
    theirs = LinearGaussianBayesianNetwork([("x", "z"), ("y", "z")]).fit(floats[["x", "y", "z"]])
    assert list(model.nodes()) == ["x", "y", "z"]
    for name in model.nodes():
        ours, other = model.get_cpds(name), theirs.get_cpds(name)
        assert ours.evidence == other.evidence
        np.testing.assert_allclose(ours.beta, other.beta, rtol=1e-12)
        np.testing.assert_allclose(ours.std, other.std, rtol=1e-12)
    pd.testing.assert_frame_equal(floats, before)


def test_linear_gaussian_from_moments_is_that_of_the_rows(floats):
    names, edges = ["x", "y", "z"], [(0, 2), (1, 2)]
    rows = floats[names].to_numpy()
    model = bayesian_network.fit_linear_gaussian(moments(rows), names, edges)
    for child, name in enumerate(names):
        parents = [tail for tail, head in edges if head == child]
        design = np.column_stack([np.ones(60), rows[:, parents]])
        beta, residual, *_ = np.linalg.lstsq(design, rows[:, child])
        cpd = model.get_cpds(name)
        np.testing.assert_allclose(cpd.beta, beta, rtol=1e-10, atol=1e-12)
        # one degree of freedom for each of the 1 + len(parents) coefficients
        np.testing.assert_allclose(cpd.std, np.sqrt(residual[0] / (60 - 1 - len(parents))), rtol=1e-10)
        assert cpd.evidence == [names[p] for p in parents]


def test_linear_gaussian_with_names_of_any_kind(floats):
    names = ["text", 7, ("a", "tuple")]
    frame = floats[["x", "y", "z"]].copy()
    frame.columns = pd.Index(names, dtype=object, tupleize_cols=False)
    model = to_linear_gaussian(frame, names, [(0, 2), (1, 2)])
    assert model.check_model()
    np.testing.assert_allclose(model.get_cpds(("a", "tuple")).beta, [1, 2, -1], atol=0.1)  # noise of 0.1, 60 rows


def fit_rows(frame, names, edges):
    return to_linear_gaussian(frame, names, edges)


def fit_moments(frame, names, edges):
    return fit_linear_gaussian(moments(frame[names]), names, edges)


@pytest.mark.parametrize("fit", [fit_rows, fit_moments])
def test_a_column_that_its_parents_determine_has_a_standard_deviation(fit, floats):
    frame = floats.assign(z=1e5 * (floats["x"] - 2 * floats["y"]) + 3)
    cpd = fit(frame, ["x", "y", "z"], [(0, 2), (1, 2)]).get_cpds("z")
    np.testing.assert_allclose(cpd.beta, [3, 1e5, -2e5], rtol=1e-9)
    assert cpd.std == pytest.approx(1e-6 * frame["z"].std(ddof=0) * np.sqrt(60 / 57), rel=1e-9)


def test_parents_that_determine_each_other(floats):
    """All solutions predict alike; that of smallest norm is orthogonal to the null vector of the standard columns."""
    frame = floats.assign(s=floats["x"] + 100 * floats["y"])
    names = ["x", "y", "s", "z"]
    cpd = fit_moments(frame, names, [(0, 3), (1, 3), (2, 3)]).get_cpds("z")
    plain = fit_moments(frame, names, [(0, 3), (1, 3)]).get_cpds("z")
    combined = cpd.beta[:3] + np.multiply([0, 1, 100], cpd.beta[3])
    np.testing.assert_allclose(combined, plain.beta, rtol=1e-6)
    scale = frame[["x", "y", "s"]].std(ddof=0).to_numpy()
    assert abs((cpd.beta[1:] * scale) @ (np.array([1, 100, -1]) * scale)) < 1e-6
    assert cpd.std == pytest.approx(plain.std * np.sqrt(57 / 56), rel=1e-9)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["x", "nope"], r"no columns \['nope'\]"),
        (["x", "other"], "column 'other' must be float and finite"),
        (["x", "gap"], "column 'gap' must be float and finite"),
    ],
)
def test_linear_gaussian_bad_input(floats, names, words):
    floats["gap"] = np.where(floats["x"] > 0, floats["x"], np.inf)
    with pytest.raises(ValueError, match=words):
        to_linear_gaussian(floats, names, [(0, 1)])

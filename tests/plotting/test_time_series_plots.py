"""Pictures of graphs over (variable, lag), of forecasts, and of edges over windows."""

import numpy as np
import pandas as pd
import pytest

from pgmx.estimators import BlockBootstrap, LinearSVARM, SelectedGraph, SparsityInducingLDS
from pgmx.models import LinearDynamicalSystem, TimeSeriesGraph
from pgmx.plotting import (
    plot_adjacency,
    plot_edge_paths,
    plot_forecast,
    plot_graph,
    plot_strengths,
    plot_summary_graph,
)

NAMES = ["a", "b", "c"]


def make_graph(weight=0.5):
    coefs = np.zeros((3, 3, 3))
    coefs[0, 2, 0], coefs[1, 1, 0], coefs[2, 1, 0], coefs[1, 2, 2] = 0.25, -weight, 0.125, 1.0
    return TimeSeriesGraph.from_coefficients(NAMES, coefs, undirected_instantaneous=True)


def make_system():
    return LinearDynamicalSystem(NAMES, np.diag([0.5, 0.25, 0.0]), noise_covariance=np.eye(3))


class Learner:
    graph_, model_ = make_graph(), make_system()


@pytest.mark.parametrize("source", [make_graph(), Learner(), make_system()])
def test_heat_maps_hold_the_numbers(source):
    figure = plot_adjacency(source)
    figure.canvas.draw()
    maps = [ax for ax in figure.axes if ax.images]
    values = [np.ma.filled(ax.images[0].get_array(), np.nan) for ax in maps]
    if isinstance(source, LinearDynamicalSystem):
        assert [ax.get_title() for ax in maps] == ["lag 1"]
        assert np.array_equal(np.nan_to_num(values[0]), np.diag([0.5, 0.25, 0.0]))
        return
    assert [ax.get_title() for ax in maps] == ["lag 0, instantaneous", "lag 1", "lag 2"]
    assert values[0][2, 0] == values[0][0, 2] == 0.25  # a line has one number
    assert values[1][1, 0] == -0.5 and np.isnan(values[1][0, 1])
    assert {image.get_clim() for ax in maps for image in ax.images} == {(-1.0, 1.0)}


def test_heat_maps_of_strengths_and_of_many_variables():
    graph = TimeSeriesGraph.from_coefficients(range(50), None, strengths=np.eye(50))
    figure = plot_adjacency(graph)
    assert figure.axes[0].get_xticks().size == 0 and figure.axes[-1].get_ylabel() == "strength"
    with pytest.raises(ValueError, match="no edge of the graph has the attribute 'confidence'"):
        plot_adjacency(graph, attribute="confidence")


def test_the_summary_has_the_lags_of_each_pair():
    ax = plot_summary_graph(make_graph())
    ax.figure.canvas.draw()
    texts = [text.get_text() for text in ax.texts]
    assert texts[:3] == NAMES
    assert sorted(texts[3:]) == ["0", "1, 2", "↻ 1"]
    styles = [type(patch.get_arrowstyle()).__name__ for patch in ax.patches]
    assert sorted(styles) == ["Curve", "CurveFilledB"]  # the relation at lag 0 has no head


def test_opposite_edges_do_not_lie_on_each_other():
    graph = TimeSeriesGraph.from_coefficients(NAMES, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    one, other = plot_summary_graph(graph).patches
    assert one.get_connectionstyle().rad != -other.get_connectionstyle().rad


@pytest.mark.parametrize("kind", ["array", "range", "dates", "periods"])
def test_forecasts_follow_the_series(kind):
    rows = make_system().simulate(80)
    index = {
        "dates": pd.date_range("2020-01-01", periods=80),
        "periods": pd.period_range("2020-01", periods=80, freq="M"),
    }
    rows.index = index.get(kind, rows.index)
    truth, rows = rows.iloc[70:], rows.iloc[:70]
    figure = plot_forecast(make_system(), rows.to_numpy() if kind == "array" else rows, 10, truth=truth, n_shown=30)
    figure.canvas.draw()
    assert [ax.get_title(loc="left") for ax in figure.axes] == NAMES
    # the second axes is the last one of its column
    assert [any(label.get_visible() for label in ax.get_xticklabels()) for ax in figure.axes] == [False, True, True]
    assert [bool(ax.get_xlabel()) for ax in figure.axes] == [False, kind == "array", kind == "array"]
    for column, ax in enumerate(figure.axes):
        series, forecast, points = ax.get_lines()
        assert np.array_equal(series.get_ydata(), rows.iloc[-30:, column])
        means = make_system().predict(rows.to_numpy(), 10)[:, column]
        assert np.allclose(forecast.get_ydata(), np.append(rows.iloc[-1, column], means))
        assert np.array_equal(points.get_ydata(), truth.iloc[:, column])
        first, *later = forecast.get_xdata()
        assert first == list(series.get_xdata())[-1] and len(ax.collections) == 2
        assert list(points.get_xdata()) == later


def test_some_series_of_a_learner():
    figure = plot_forecast(Learner(), make_system().simulate(9), 2, series=["c"], coverages=[0.8])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["c"]
    with pytest.raises(ValueError, match="series must be names of the system, got 'd'"):
        plot_forecast(Learner(), make_system().simulate(9), series=["d"])
    rows = make_system().simulate(80)
    selected = SelectedGraph(SparsityInducingLDS(seasonal_period=7)).fit(rows)
    (ax,) = plot_forecast(selected, rows, 3, series=["a"]).axes
    assert np.allclose(ax.get_lines()[1].get_ydata()[1:], selected.estimator_.predict(rows, 3)["a"])


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_other_columns_of_a_learner_are_not_drawn(kind):
    rows = make_system().simulate(80)
    rows["push"], rows["day"] = np.sin(np.arange(80)), pd.date_range("2020-01-01", periods=80)
    options = {"time_column": "day", "exogenous_columns": ["push"]}
    if kind == "array":
        rows, options = rows.drop(columns="day").to_numpy(), {"exogenous_columns": ["x3"]}
    later = np.sin(np.arange(75, 80))[:, None]
    learner = SparsityInducingLDS(seasonal_period=7, **options).fit(rows[:75])
    figure = plot_forecast(learner, rows[:75], 5, truth=rows[75:], exogenous=later)
    figure.canvas.draw()
    means = np.asarray(learner.predict(rows[:75], 5, exogenous=later))
    assert len(figure.axes) == 3
    for column, ax in enumerate(figure.axes):
        _, forecast, points = ax.get_lines()
        assert np.allclose(forecast.get_ydata()[1:], means[:, column])
        assert np.array_equal(points.get_ydata(), np.asarray(rows)[75:, column].astype(float))
        assert list(points.get_xdata()) == list(rows["day"][75:] if kind == "frame" else range(1, 6))


def test_paths_of_edges():
    graphs = [make_graph(weight) for weight in (0.5, 0.75, 0.0)]
    ax = plot_edge_paths(graphs, n_edges=1, positions=[10, 20, 30], changes=[15.0])
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.texts] == ["a → b, lag 1"]
    bold = [line for line in ax.get_lines() if line.get_linewidth() > 1.5]
    assert [list(line.get_ydata()) for line in bold] == [[-0.5, -0.75, 0.0]] and list(bold[0].get_xdata()) == [
        10,
        20,
        30,
    ]
    assert len(ax.get_lines()) == 4 + 2  # four edges, the change, the line of zero
    ax = plot_edge_paths(graphs, edges=[(("c", 1), ("c", 0)), (("a", 0), ("c", 0))])
    assert [text.get_text() for text in ax.texts] == ["a → c, lag 0", "c → c, lag 1"]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: plot_adjacency([[1.0]]), TypeError, "expected a pgmpy or networkx graph"),
        (lambda: plot_summary_graph(TimeSeriesGraph()), ValueError, "has no nodes"),
        (lambda: plot_summary_graph(make_graph(), attribute="size"), ValueError, "attribute must be one of 'weight'"),
        (lambda: plot_forecast(make_graph(), np.ones((3, 3))), TypeError, "expected a LinearDynamicalSystem"),
        (lambda: plot_forecast(make_system(), np.ones((3, 3)), 0), ValueError, "steps must be at least 1"),
        (lambda: plot_edge_paths([]), ValueError, "no graphs to draw"),
        (lambda: plot_edge_paths([make_graph()], positions=[1, 2]), ValueError, "2 for 1 graphs"),
        (lambda: plot_edge_paths([make_graph()], edges=[(("a", 9), ("b", 0))]), ValueError, "is in none of the graphs"),
    ],
)
def test_what_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


# ---- units of the series ----


def simulate_in_units(factor):
    """Return rows of the system, in which b depends on a as well, with a in other units."""
    rows = LinearDynamicalSystem(NAMES, [[0.5, 0, 0], [-0.5, 0.25, 0], [0.25, 0, 0]], noise_covariance=np.eye(3))
    return rows.simulate(300) * [factor, 1.0, 1.0]


@pytest.fixture(scope="module")
def in_two_units():
    return [SparsityInducingLDS(lam_ratio=0.05).fit(simulate_in_units(factor)) for factor in (1.0, 1e6)]


def test_pictures_do_not_depend_on_units(in_two_units):
    one, other = (plot_summary_graph(learner) for learner in in_two_units)
    styles = [[(patch.get_linewidth(), *patch.get_edgecolor()) for patch in ax.patches] for ax in (one, other)]
    np.testing.assert_allclose(*styles, rtol=1e-6)
    assert {red > blue for _, red, _, blue, _ in styles[0]} == {True, False}  # a -> b is negative, a -> c positive
    one, other = (plot_adjacency(learner).axes[0].images[0].get_array() for learner in in_two_units)
    np.testing.assert_allclose(np.ma.filled(one, 0.0), np.ma.filled(other, 0.0), rtol=1e-6)
    assert one[1, 0] < 0 < one[2, 0]
    one, other = (
        [line.get_ydata()[0] for line in plot_edge_paths([learner]).lines if len(line.get_ydata()) == 1]
        for learner in in_two_units
    )
    np.testing.assert_allclose(one, other, rtol=1e-6)


def test_weights_are_drawn_on_request(in_two_units):
    learner = in_two_units[1]
    drawn = plot_adjacency(learner, attribute="weight").axes[0].images[0].get_array()
    np.testing.assert_allclose(np.ma.filled(drawn, 0.0), learner.coef_.toarray())


def test_weights_take_the_place_of_strengths_that_are_not_there():
    graph = TimeSeriesGraph([(("a", 1), ("b", 0), {"weight": -0.5})])
    figure = plot_adjacency(graph)
    assert figure.axes[0].images[0].get_array()[1, 0] == -0.5
    assert figure.axes[-1].get_ylabel() == "weight"
    with pytest.raises(ValueError, match="no edge of the graph has the attribute 'strength'"):
        plot_adjacency(TimeSeriesGraph([(("a", 1), ("b", 0))]))


# ---- nodes (variable, lag) in pictures of graphs ----


def texts_of(ax):
    return sorted(text.get_text() for text in ax.texts)


def test_lags_without_edges_are_left_out():
    names = ["realcons", "alone", "a name of more than twenty-eight characters"]
    coefs = np.zeros((4, 3, 3))
    coefs[1, 0, 0] = coefs[3, 2, 0] = 1.0
    graph = TimeSeriesGraph.from_coefficients(names, coefs)
    cut = "a name of more than twent… t"
    assert texts_of(plot_graph(graph)) == sorted(["realcons t", "realcons t-1", "realcons t-3", cut, "alone t"])
    assert all(len(text) <= 28 for text in texts_of(plot_graph(graph)))
    assert len(graph) == 12
    coefs[3, 2, 0], coefs[2, 0, 1] = 0.0, 1.0
    reference = TimeSeriesGraph.from_coefficients(names, coefs)
    ax = plot_graph(graph, reference=reference)
    assert texts_of(ax) == sorted(["realcons t", "realcons t-1", "realcons t-3", cut, "alone t-2"])
    assert ax.get_legend().get_texts()[0].get_text() == "in both: 1"
    with pytest.raises(ValueError, match="the graph and its reference have different nodes"):
        plot_graph(graph, reference=TimeSeriesGraph.from_coefficients(names, coefs[:3]))


def test_a_variable_whose_present_has_no_edge_is_drawn_by_its_lag():
    graph = TimeSeriesGraph.from_coefficients(["a", "b"], [[0.0, 0.0], [1.0, 0.0]])
    assert texts_of(plot_graph(graph)) == ["a t-1", "b t"]


def test_the_strongest_edges_of_series_do_not_depend_on_units(in_two_units):
    one, other = (plot_graph(learner, max_edges=2) for learner in in_two_units)
    assert texts_of(one) == texts_of(other)
    strengths = in_two_units[0].graph_.to_arrays("strength")
    kept = np.sort(strengths[strengths > 0])[-2:]
    ends = {name for _, target, source in np.argwhere(strengths >= kept[0]) for name in (target, source)}
    assert ends
    paths = [[path.vertices.round(3).tolist() for path in ax.collections[0].get_paths()] for ax in (one, other)]
    assert paths[0] == paths[1]


def test_strengths_of_a_bootstrap_have_labels_and_widths():
    rows = simulate_in_units(1.0)
    boot = BlockBootstrap(SparsityInducingLDS(lam_ratio=0.3), n_resamples=4).fit(rows)
    labels = [label.get_text() for label in plot_strengths(boot).get_yticklabels()]
    assert labels[0] == "a t-1 → a t"
    assert "a t-1 → b t" in labels
    legend = plot_graph(boot, strengths=boot.strengths_).get_legend()
    assert "not given" not in " ".join(text.get_text() for text in legend.get_texts())
    boot = BlockBootstrap(LinearSVARM(lam_ratio=0.3), n_resamples=4).fit(rows)
    labels = [label.get_text() for label in plot_strengths(boot).get_yticklabels()]
    assert "a t — b t" in labels or "a t — c t" in labels or "b t — c t" in labels

"""Pictures of CPDs and of distributions given observations: the values are those of the network."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import TabularCPD

from pgmx.datasets import load_network
from pgmx.inference import marginals
from pgmx.models import (
    ConditionalGaussianCPD,
    ConditionalGaussianNetwork,
    DiscreteBayesianNetwork,
    GaussianMarkovNetwork,
    TimeSeriesGraph,
)
from pgmx.plotting import plot_cpd, plot_marginals


@pytest.fixture(scope="module")
def asia():
    return load_network("asia")


def make_mixed():
    """Return dam -> level <- rain, with dam discrete."""
    return ConditionalGaussianNetwork.from_cpds(
        [
            TabularCPD("dam", 2, [[0.25], [0.75]], state_names={"dam": ["open", "shut"]}),
            ConditionalGaussianCPD("rain", [2.0], 1.0),
            ConditionalGaussianCPD(
                "level", [[1.0, 0.5], [3.0, -0.25]], [0.5, 1.0], ["dam"], ["rain"], {"dam": ["open", "shut"]}
            ),
        ]
    )


def rows_of(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---- CPDs ----


def test_bars_hold_the_table(asia):
    ax = plot_cpd(asia, "dysp")
    widths = np.array([[patch.get_width() for patch in bars] for bars in ax.containers])
    cpd = asia.get_cpds("dysp")
    assert np.allclose(widths, np.asarray(cpd.get_values()))
    assert legend_of(ax) == ["yes", "no"] and ax.get_xlim() == (0.0, 1.0)
    middles = {(round(patch.get_x() + patch.get_width() / 2, 9), f"{patch.get_width():.2f}") for patch in ax.patches}
    assert len(ax.texts) == 8 and {(round(text.get_position()[0], 9), text.get_text()) for text in ax.texts} == middles
    for row, name in enumerate(rows_of(ax)):
        states = dict(pair.split("=") for pair in name.split(", "))
        assert np.isclose(widths[0, row], cpd.get_value(dysp="yes", **states))
    root = plot_cpd(asia, "smoke")
    assert rows_of(root) == [""] and root.get_xlabel() == "P(smoke)"


def test_many_configurations_are_a_heat_map():
    alarm = load_network("alarm")
    ax = plot_cpd(alarm, "CATECHOL")
    (image,) = ax.images
    assert np.allclose(image.get_array(), np.asarray(alarm.get_cpds("CATECHOL").get_values()).T)
    assert ax.get_ylabel().startswith("54 configurations of ")
    states = TabularCPD("x", 20, np.full((20, 1), 0.05))
    network = DiscreteBayesianNetwork()
    network.add_node("x")
    network.add_cpds(states)
    assert plot_cpd(network, "x").images[0].get_array().shape == (1, 20)


def test_regressions():
    network = make_mixed()
    ax = plot_cpd(network, "rain")
    assert [patch.get_width() for patch in ax.patches] == [2.0] and rows_of(ax) == ["intercept"]
    ax = plot_cpd(network, "level")
    assert rows_of(ax) == ["dam=open", "dam=shut"]
    (points,) = [line for line in ax.get_lines() if len(line.get_xdata()) == 2]
    assert points.get_xdata().tolist() == [1.0, 3.0]
    assert {text.get_text(): text.xy for text in ax.texts} == {
        "+0.5 rain": (1.0, 0),
        "\N{MINUS SIGN}0.25 rain": (3.0, 1),
    }
    assert plot_cpd(network, "dam").containers


# ---- marginals ----


def test_bars_are_the_marginals_before_and_after(asia):
    evidence = {"xray": "yes", "smoke": "no"}
    figure = plot_marginals(asia, evidence)
    before, after = marginals(asia), marginals(asia, evidence)
    assert [ax.get_title() for ax in figure.axes] == list(after)
    for ax in figure.axes:
        name, grey, blue = ax.get_title(), *ax.containers
        assert np.allclose([patch.get_width() for patch in grey], before.array(name))
        assert np.allclose([patch.get_width() for patch in blue], after.array(name))
        assert rows_of(ax) == ["yes", "no"]
    assert figure.get_suptitle() == "given xray = yes, smoke = no"
    assert len(plot_marginals(asia).axes[0].containers) == 1


def test_variables_are_chosen_by_name_or_by_their_change(asia, monkeypatch):
    assert [ax.get_title() for ax in plot_marginals(asia, variables="lung").axes] == ["lung"]
    monkeypatch.setattr("pgmx.plotting.distributions._MOST_PANELS", 2)
    evidence = {"xray": "yes"}
    figure = plot_marginals(asia, evidence)
    before, after = marginals(asia), marginals(asia, evidence)
    change = {name: np.abs(after.array(name) - before.array(name)).sum() for name in after}
    assert {ax.get_title() for ax in figure.axes} == set(sorted(change, key=change.get)[-2:])
    assert figure.get_suptitle().endswith("the 2 of 7 variables that change most")


def test_means_and_intervals_are_those_of_the_joint_normal():
    covariance = np.array([[1.0, 0.6], [0.6, 4.0]])
    network = GaussianMarkovNetwork.from_precision(["a", "b"], np.linalg.inv(covariance), mean=[1.0, 2.0])
    (ax,) = plot_marginals(network, {"a": 3.0}).axes
    before, _, after, point = (line.get_xdata() for line in ax.get_lines())
    assert np.allclose(before, 2.0 + 1.959964 * 2.0 * np.array([-1, 1]))
    assert np.allclose(after, 2.0 + 0.6 * 2.0 + 1.959964 * np.sqrt(4.0 - 0.36) * np.array([-1, 1]))
    assert np.allclose(point, 3.2)


def test_mixed_networks_have_both_kinds():
    network = make_mixed()
    figure = plot_marginals(network, {"level": 3.0})
    panels = {ax.get_title(): ax for ax in figure.axes}
    assert set(panels) == {"dam", "rain"}
    answer = network.predict_proba(pd.DataFrame({"level": [3.0]}))
    assert np.allclose([patch.get_width() for patch in panels["dam"].containers[1]], answer["dam"].to_numpy()[0])
    assert np.allclose(panels["rain"].get_lines()[-1].get_xdata(), answer["rain", "mean"])
    assert len(plot_marginals(network, {"dam": "open"}).axes) == 2
    assert len(plot_marginals(network).axes) == 3


# ---- bad input ----


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda net: plot_cpd(net, "dysk"), ValueError, "variable has 'dysk', not in the network, did you mean 'dysp'"),
        (lambda net: plot_cpd(TimeSeriesGraph(), "a"), TypeError, "CPDs of Bayesian networks, got TimeSeriesGraph"),
        (lambda net: plot_cpd(3, "a"), TypeError, "CPDs of Bayesian networks, got int"),
        (lambda net: plot_marginals(net, {"x": 1}), ValueError, "evidence has 'x', not in the network"),
        (lambda net: plot_marginals(net, {"xray": "maybe"}), ValueError, "maybe"),
        (
            lambda net: plot_marginals(net, {"lung": "yes", "either": "no"}),
            ValueError,
            "has probability zero",
        ),
        (lambda net: plot_marginals(net, variables=["x"]), ValueError, "variables has 'x', not in the network"),
        (lambda net: plot_marginals(net, {"lung": "no"}, variables=["lung"]), ValueError, "observed in evidence"),
        (lambda net: plot_marginals(net, variables=[]), ValueError, "variables is empty"),
        (lambda net: plot_marginals(net, 3), TypeError, "evidence must be a dict"),
        (lambda net: plot_marginals(make_mixed(), {"level": "high"}), ValueError, "give a number"),
        (lambda net: plot_marginals(3), TypeError, "network"),
    ],
)
def test_what_is_refused(asia, call, error, words):
    with pytest.raises(error, match=words):
        call(asia)

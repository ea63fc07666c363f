"""A report answers questions: in a browser, compared with `pgmx.inference`, for evidence, interventions and maxima."""

import base64
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from helpers.browser import Browser, require_chromium
from helpers.learning_tables import gaussian_frame, mixed_frame
from pgmx.datasets import load_network, sample
from pgmx.estimators import GraphicalLasso, HillClimbSearch, OnlineEdgeGrafting
from pgmx.inference import VariableElimination, marginals, mutual_information
from pgmx.plotting import save_report
from pgmx.plotting.reports.answers import MOST_CELLS, MOST_GAUSSIAN, pack_answers

NETWORKS = ("asia", "alarm", "insurance", "hailfinder", "win95pts")


# ---- what the page is given ----


def test_tables_are_given_as_doubles():
    network = load_network("asia")
    payload, notes = pack_answers(network)
    assert notes == []
    values = np.frombuffer(base64.b64decode(payload["values"]), "<f8")
    first = 0
    for scope in payload["scopes"]:
        cpd = network.get_cpds(payload["names"][scope[0]])
        assert [payload["names"][v] for v in scope] == cpd.variables
        assert np.array_equal(values[first : first + cpd.values.size], cpd.values.ravel())
        first += cpd.values.size
    assert first == len(values)


def test_what_the_page_cannot_answer_is_told():
    assert pack_answers(nx.path_graph(3)) == (None, [])
    _, (wide,) = pack_answers(load_network("link"))
    assert f"at most {MOST_CELLS:,} are possible" in wide
    assert "width 13" in wide
    mixed = HillClimbSearch(scoring_method="bic-clg").fit(mixed_frame(0)).model_
    assert "mixed data" in pack_answers(mixed)[1][0]
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(50, MOST_GAUSSIAN + 1)))
    many = GraphicalLasso(lam_ratio=0.9).fit(rows.add_prefix("x"))
    assert f"at most {MOST_GAUSSIAN}" in pack_answers(many.model_)[1][0]


# ---- in a browser ----


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    require_chromium()
    folder = tmp_path_factory.mktemp("answers")
    for name in NETWORKS:
        save_report(load_network(name), folder / f"{name}.html")
    markov = OnlineEdgeGrafting(lam_ratio=0.1).fit(sample(load_network("asia"), 2_000, random_state=0))
    gaussian = HillClimbSearch(scoring_method="bic-g").fit(gaussian_frame(0))
    lasso = GraphicalLasso(lam_ratio=0.1).fit(gaussian_frame(0))
    for name, learner in (("markov", markov), ("gaussian", gaussian), ("lasso", lasso)):
        learner.report(folder / f"{name}.html")
    return folder, markov.model_, gaussian.model_, lasso.model_


@pytest.fixture(scope="module")
def browser(tmp_path_factory, pages):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    assert browser.problems == []
    browser.close()


def give(browser, observed, actions=()):
    """Observe and set states or values by index; return what the page answers."""
    pairs, actions = (json.dumps([[int(v), x] for v, x in dict(given).items()]) for given in (observed, actions))
    return browser.evaluate(
        f"""(() => {{ const p = answerPanel; p.observed = new Map({pairs}); p.set = new Map({actions}); p.update();
        return p.answer ? {{ means: [...p.answer.means], stds: [...p.answer.stds] }}
          : {{ log: p.marginals ? p.logProbability : null, marginals: p.marginals && p.marginals.map((m) => [...m]),
              best: p.marginals && [...p.best] }}; }})()"""
    )


def draw_evidence(rng, states, most=5):
    chosen = rng.choice(len(states), rng.integers(1, most), replace=False)
    return {int(v): int(rng.integers(len(states[v]))) for v in chosen}


def check_marginals(browser, model, evidence, names, states, do=None):
    answer = give(browser, evidence, do or {})
    given, actions = ({names[v]: states[v][x] for v, x in (part or {}).items()} for part in (evidence, do))
    try:
        expected = marginals(model, evidence=given, **({"do": actions} if actions else {}))
    except ValueError as error:
        assert "probability" in str(error)
        assert answer["marginals"] is None
        return False
    for v, name in enumerate(names):
        if name not in given and name not in actions:
            values = [float(expected[name][state]) for state in states[v]]
            assert answer["marginals"][v] == pytest.approx(values, abs=1e-6)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("name", NETWORKS)
def test_distributions_given_evidence_and_interventions(browser, pages, name):
    browser.open(pages[0] / f"{name}.html")
    model, rng, n_possible = load_network(name), np.random.default_rng(1), 0
    names, states = browser.evaluate("[report.answers.names, report.answers.states]")
    for case in range(40):
        evidence = draw_evidence(rng, states)
        do = dict([evidence.popitem()]) if case % 4 == 0 else None
        n_possible += check_marginals(browser, model, evidence, names, states, do)
    assert n_possible > 10


@pytest.mark.slow
def test_a_markov_network(browser, pages):
    browser.open(pages[0] / "markov.html")
    rng = np.random.default_rng(2)
    names, states = browser.evaluate("[report.answers.names, report.answers.states]")
    for _ in range(20):
        assert check_marginals(browser, pages[1], draw_evidence(rng, states), names, states)
    assert browser.evaluate("find('do-box').hidden")


@pytest.mark.slow
def test_probability_of_the_evidence_the_best_configuration_and_what_to_observe_next(browser, pages):
    browser.open(pages[0] / "alarm.html")
    model, rng = load_network("alarm"), np.random.default_rng(3)
    names, states = browser.evaluate("[report.answers.names, report.answers.states]")
    for _ in range(5):
        evidence = draw_evidence(rng, states)
        given = {names[v]: states[v][x] for v, x in evidence.items()}
        answer = give(browser, evidence)
        assert answer["log"] == pytest.approx(float(model.log_evidence(pd.DataFrame([given]))[0]), abs=1e-6)
        best = {name: states[v][answer["best"][v]] for v, name in enumerate(names)}
        expected = VariableElimination(model).map_query(evidence=given, show_progress=False)
        logs = model.log_evidence(pd.DataFrame([best, {**given, **expected}]))
        assert logs[0] == pytest.approx(logs[1], abs=1e-9)
        target = next(name for name in names if name not in given)
        ranked = mutual_information(model, target, given)
        bits = browser.evaluate(
            f"[...answerPanel.tree.information({names.index(target)}, answerPanel.observed, answerPanel.set, "
            "answerPanel.marginals)]"
        )
        for variable, value in ranked.items():
            assert bits[names.index(variable)] == pytest.approx(value / np.log(2), abs=1e-6)


@pytest.mark.slow
def test_clicks_take_back_and_clear(browser, pages):
    browser.open(pages[0] / "asia.html")
    find = "[...document.querySelectorAll('button.state')].find((b) => b.ariaLabel.startsWith('{}'))"
    # by the keyboard: the button takes the focus, and the enter key chooses
    browser.evaluate(find.format("smoke: yes") + ".focus()")
    for kind in ("rawKeyDown", "char", "keyUp"):
        text = {"text": "\r"} if kind == "char" else {}
        browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, **text)
    assert browser.evaluate("find('evidence').textContent") == "P(smoke = yes) = 0.5"
    browser.evaluate(find.format("smoke: yes") + ".click()")
    assert browser.evaluate("answerPanel.observed.size") == 0
    # either is a function of lung and tub
    browser.evaluate(find.format("either: no") + ".click()")
    browser.evaluate(find.format("lung: yes") + ".click()")
    assert browser.evaluate("find('evidence').textContent").startswith("P(either = no, lung = yes) = 0: ")
    assert browser.evaluate("[...document.querySelectorAll('.state i')].every((bar) => bar.style.width === '0px')")
    browser.evaluate("find('undo').click()")
    assert browser.evaluate("answerPanel.observed.size") == 1
    browser.evaluate("find('do').click()")
    browser.evaluate(find.format("lung: yes") + ".click()")
    assert "do(lung = yes)" in browser.evaluate("find('evidence').textContent")
    browser.evaluate("find('clear').click()")
    assert browser.evaluate("find('clear').disabled")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "lasso"])
def test_continuous_variables(browser, pages, name):
    browser.open(pages[0] / f"{name}.html")
    _, _, network, lasso = pages
    rng = np.random.default_rng(4)
    names = browser.evaluate("report.answers.names")
    if name == "gaussian":
        mean, covariance = network.to_joint_gaussian()
        order = list(nx.topological_sort(network))  # pgmpy's order of the joint distribution
        mean, covariance = pd.Series(mean, order), pd.DataFrame(covariance, order, order)
    else:
        mean, covariance = lasso.mean, lasso.covariance
    for _ in range(10):
        chosen = rng.choice(len(names), 2, replace=False)
        values = {int(v): float(rng.normal()) for v in chosen}
        answer = give(browser, values)
        seen, free = [names[v] for v in values], [v for v in range(len(names)) if v not in values]
        gains = np.linalg.solve(covariance.loc[seen, seen].to_numpy(), covariance.loc[seen, names].to_numpy())
        expected = mean[names].to_numpy() + (np.array(list(values.values())) - mean[seen].to_numpy()) @ gains
        spread = np.diag(covariance.loc[names, names] - covariance.loc[names, seen].to_numpy() @ gains)
        assert np.array(answer["means"])[free] == pytest.approx(expected[free], abs=1e-6)  # pgmpy rounds to 8 decimals
        assert np.array(answer["stds"])[free] ** 2 == pytest.approx(spread[free], abs=1e-6)


@pytest.mark.slow
def test_setting_a_continuous_variable_leaves_its_causes(browser, pages):
    browser.open(pages[0] / "gaussian.html")
    network = pages[2]
    names = browser.evaluate("report.answers.names")
    (parent, child), *_ = network.edges()
    before, after = give(browser, {}), give(browser, {}, {names.index(child): 3.0})
    assert after["means"][names.index(parent)] == before["means"][names.index(parent)]
    simulated = network.simulate(200_000, do={child: 3.0}, seed=0)
    for v, name in enumerate(names):
        assert after["means"][v] == pytest.approx(simulated[name].mean(), abs=0.02)
        assert after["stds"][v] == pytest.approx(simulated[name].std(), abs=0.02)

"""A report answers questions: in a browser, compared with `pgmx.inference`, for evidence, interventions and maxima."""

import base64
import json

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from helpers.browser import Browser, require_chromium
from helpers.learning_tables import gaussian_frame
from pgmx.datasets import load_network, sample
from pgmx.estimators import GraphicalLasso, HillClimbSearch, OnlineEdgeGrafting
from pgmx.inference import VariableElimination, marginals, mutual_information
from pgmx.inference.mixed.families import DiscreteFamily, GaussianFamily, MixedFamilies, MixedRows, normalise
from pgmx.inference.mixed.simulation import cut_families
from pgmx.models import ConditionalGaussianNetwork
from pgmx.models.mixed.cpds import MixedParts
from pgmx.plotting import save_report
from pgmx.plotting.reports.answers import MOST_CELLS, MOST_GAUSSIAN, pack_answers

NETWORKS = ("asia", "alarm", "insurance", "hailfinder", "win95pts")


def make_mixed(rng, n_discrete=5, n_continuous=6, *, joined=False):
    """Return a network with zeros in its tables; `joined`: three continuous variables depend on all discrete ones."""
    cards, families = [], []
    for v in range(n_discrete):
        parents = tuple(u for u in range(v) if rng.random() < 0.4)[-2:]
        cards.append(2 if joined else int(rng.integers(2, 4)))
        table = rng.dirichlet(np.ones(cards[v]), size=[cards[u] for u in parents])
        table = np.where(table < 0.1, 0.0, table)
        families.append(DiscreteFamily(parents, normalise(np.moveaxis(table, -1, 0))))
    for k in range(3 if joined else n_continuous):
        states = tuple(d for d in range(n_discrete) if rng.random() < 0.3)[:2]
        if joined:
            states = tuple(range(8 * k, min(8 * k + 8, n_discrete)))
        above = tuple(n_discrete + j for j in range(k) if joined or rng.random() < 0.5)
        shape = [cards[d] for d in states]
        coefficients = rng.normal(size=(*shape, 1 + len(above)))
        families.append(GaussianFamily(states, above, coefficients, rng.uniform(0.3, 2.0, shape)))
        cards.append(0)
    names = [f"{'d' if card else 'x'}{v}" for v, card in enumerate(cards)]
    states = [tuple(f"s{x}" for x in range(card)) if card else None for card in cards]
    return ConditionalGaussianNetwork.from_parts(
        MixedParts(names, states, MixedFamilies(tuple(cards), tuple(families)))
    )


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
    _, (mixed,) = pack_answers(make_mixed(np.random.default_rng(0), n_discrete=22, joined=True))
    assert mixed.startswith("The page cannot answer questions: 3 continuous variables depend on 22 discrete ones")
    assert "cells, at most 2,000,000 are possible" in mixed
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
    mixed = {"mixed": make_mixed(np.random.default_rng(0))}
    mixed["numbers"] = ConditionalGaussianNetwork.from_network(gaussian.model_)
    for name, model in mixed.items():
        save_report(model, folder / f"{name}.html")
    for name, learner in (("markov", markov), ("gaussian", gaussian), ("lasso", lasso)):
        learner.report(folder / f"{name}.html")
    return folder, markov.model_, gaussian.model_, lasso.model_, mixed


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
    _, _, network, lasso, _ = pages
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
        row = pd.DataFrame([{names[v]: x for v, x in values.items()}])
        log = (network if name == "gaussian" else lasso).log_evidence(row)
        assert browser.evaluate("answerPanel.logProbability") == pytest.approx(float(log[0]), abs=1e-6)
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mixed", "numbers"])
def test_discrete_and_continuous_variables(browser, pages, name):
    browser.open(pages[0] / f"{name}.html")
    model, rng, n_possible = pages[4][name], np.random.default_rng(5), 0
    typical = model.simulate(25, random_state=3)
    for case in range(25):
        known = rng.choice(len(model.names), rng.integers(0, len(model.names) - 1) // 2 + 1, replace=False)
        # states of different rows may be impossible together
        rows = rng.integers(25, size=len(model.names)) if case % 3 == 0 else np.full(len(model.names), case)
        values = {model.names[v]: typical[model.names[v]][rows[v]] for v in known.tolist()}
        do = dict([values.popitem()]) if case % 4 == 0 else {}
        n_possible += check_mixed(browser, model, values, do)
    assert n_possible >= 20


def check_mixed(browser, model, values, do):
    """Compare the page with the network, in which set variables have lost their parents."""
    names, states = model.names, model.states
    codes = [
        {names.index(name): states[name].index(x) if name in states else float(x) for name, x in part.items()}
        for part in (values, do)
    ]
    give(browser, *codes)
    answer = browser.evaluate(
        """(() => { const p = answerPanel; return p.answer && { log: p.logProbability, means: [...p.answer.means],
        stds: [...p.answer.stds], marginals: p.marginals.map((m) => m && [...m]), best: p.best }; })()"""
    )
    row = MixedRows(np.zeros((len(names), 1), dtype=np.intp), np.zeros((len(names), 1)))
    for v, value in codes[1].items():
        (row.codes if names[v] in states else row.numbers)[v] = value
    cut = cut_families(model.parts().families, list(codes[1]), row)
    network = ConditionalGaussianNetwork.from_parts(model.parts()._replace(families=cut))
    given = pd.DataFrame([values | do])
    log = float(network.log_evidence(given)[0])
    if answer is None:
        assert log == -np.inf
        return False
    n_set = sum(name not in states for name in do)  # there each has the density of a standard normal at its mean
    assert answer["log"] == pytest.approx(log + 0.5 * n_set * np.log(2 * np.pi), abs=1e-6)
    free = [name for name in names if name not in given]
    expected = network.predict_proba(given, free, inference="exact").iloc[0]
    for v, name in enumerate(names):
        if name in free and name in states:
            shares = [expected[name, state] for state in states[name]]
            assert answer["marginals"][v] == pytest.approx(shares, abs=1e-6)
        elif name in free:
            assert answer["means"][v] == pytest.approx(expected[name, "mean"], abs=1e-6)
            assert answer["stds"][v] == pytest.approx(expected[name, "std"], abs=1e-6)
    hidden = [name for name in free if name in states]
    if hidden:
        best = network.predict(given, hidden, inference="exact").iloc[0]
        assert [states[name][answer["best"][names.index(name)]] for name in hidden] == list(best)
    return True

"""Cases of the conditional Gaussian network: parameters, questions, and wrong tables."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pgmpy.factors.discrete import TabularCPD

from pgmx.models import ConditionalGaussianCPD, ConditionalGaussianNetwork
from tests.fuzz.calls import Arguments, Wrong, enter_calls
from tests.fuzz.cases import Case, entry, fault, pick
from tests.fuzz.frames import draw_names, hold_names
from tests.fuzz.oracles import is_close
from tests.oracles import mixed_networks as oracle


def draw_mixed(rng: np.random.Generator) -> tuple[ConditionalGaussianNetwork, list]:
    """Return a network and its families as the oracle has them; at least one variable of each kind."""
    n = int(rng.integers(2, 7))
    names = draw_names(rng, n)
    is_float = np.array([True, False, *(rng.random(n - 2) < 0.5)])
    rng.shuffle(is_float)
    cards = rng.integers(1, 4, n)
    families, cpds = [], []
    states = {names[v]: list(range(cards[v])) for v in range(n)}
    for v in range(n):
        parents = [u for u in range(v) if rng.random() < 0.5]
        discrete = [u for u in parents if not is_float[u]]
        floats = [u for u in parents if is_float[u]]
        shape = tuple(int(cards[u]) for u in discrete)
        labels = {names[u]: states[names[u]] for u in discrete}
        if is_float[v]:
            coefficients, std = rng.normal(size=(*shape, 1 + len(floats))), rng.uniform(0.3, 2.0, shape)
            families.append(("floats", discrete, floats, coefficients, std))
            ends = [names[u] for u in discrete], [names[u] for u in floats]
            cpds.append(ConditionalGaussianCPD(names[v], coefficients, std, *ends, labels))
        else:
            table = np.moveaxis(rng.dirichlet(np.ones(cards[v]), size=shape or None), -1, 0)
            families.append(("states", discrete, table))
            flat, evidence = table.reshape(cards[v], -1), [names[u] for u in discrete]
            own = {names[v]: states[names[v]], **labels}
            cpds.append(TabularCPD(names[v], cards[v], flat, evidence, shape, state_names=own))
    return ConditionalGaussianNetwork.from_cpds(cpds), families


QUESTIONS = ("predict_proba", "predict", "log_likelihood", "simulate", "fit", "score", "to_linear_gaussian_bn")


@entry("models.ConditionalGaussianNetwork", 3.0)
def draw_mixed_case(rng: np.random.Generator) -> Case:
    """Return a question to a network of mixed data."""
    network, families = draw_mixed(rng)
    names, rows = list(network.names), network.simulate(30, int(rng.integers(99)))
    floats = network.continuous
    method = pick(rng, QUESTIONS)
    kind = pick(rng, ["", "", "", "column", "hole", "text", "infinite", "state", "number"])
    name, faults = pick(rng, floats), []
    of_rows = method in ("predict_proba", "predict", "log_likelihood", "score")
    hidden = [v for v in range(len(names)) if rng.random() < 0.5] or [0]
    if kind == "column" and of_rows:
        rows, faults = rows.assign(another=1.0), [fault("another")]
    elif kind == "hole" and method in ("log_likelihood", "fit"):
        rows.iloc[2, names.index(name)] = np.nan
        faults = [fault(*hold_names(name))]
    elif kind in ("text", "infinite") and of_rows and names.index(name) not in hidden:
        rows, faults = rows.astype({name: object}), [fault(*hold_names(name))]
        rows.iloc[0, names.index(name)] = "a" if kind == "text" else np.inf
    elif kind == "state" and method == "to_linear_gaussian_bn":
        faults = [fault("no such state")]
    elif kind == "number" and method == "simulate":
        faults = [fault("n_samples")]
    seen = rows.drop(columns=[names[v] for v in hidden])

    def call(folder: Path) -> Any:
        if method == "simulate":
            known = {name: rows[name].iloc[0] for name in seen if not faults}
            changed = {name: known.pop(name) for name in [*known][: len(known) // 3]}
            n = pick(np.random.default_rng(0), [-1, "x", 2.5]) if faults else 50
            return network.simulate(n, evidence=known, do=changed)
        if method in ("predict", "predict_proba"):
            single = {"method": "marginal"} if method == "predict" else {}
            return getattr(network, method)(rows.drop(columns=[names[v] for v in hidden]), **single)
        if method == "fit":
            twin = ConditionalGaussianNetwork()
            twin.add_nodes_from(names)
            twin.add_edges_from(network.edges())
            return twin.fit(rows)
        if method == "to_linear_gaussian_bn":
            chosen = {d: "no such state" if faults else own[0] for d, own in network.states.items()}
            return network.to_linear_gaussian_bn(chosen)
        return getattr(network, method)(rows)

    def check(result: Any) -> None:
        if method in ("predict", "predict_proba"):
            check_answers(method, result, families, names, rows, hidden)
        elif method == "fit":
            assert result.log_likelihood(rows).sum() >= network.log_likelihood(rows).sum() - 1e-6
        elif method == "simulate":
            assert result.shape == (50, len(names))
        elif method == "to_linear_gaussian_bn":
            assert result.check_model() and list(result.nodes()) == floats
        else:
            assert np.isfinite(result).all()

    return Case("", call, check, faults, plan=f"{method} {kind} {names} {list(seen)}")


def check_answers(method: str, result: Any, families: list, names: list, rows: pd.DataFrame, hidden: list) -> None:
    """Compare the first row with an enumeration of all configurations."""
    first = {v: rows.iloc[0, v] for v in range(len(names)) if v not in hidden}
    expected = oracle.answer(families, first)
    for v in hidden:
        # Of a tuple for a name, pandas would take each part for a level of the columns.
        own = [(label if method == "predict" else label[0]) == names[v] for label in result.columns]
        answer = result.loc[:, own].iloc[0]
        answer = answer.iloc[0] if method == "predict" else answer.droplevel(0)
        if families[v][0] == "floats":
            mean, variance = expected[v]
            assert is_close(answer if method == "predict" else answer.loc["mean"], mean, rtol=1e-6, atol=1e-6)
            assert method == "predict" or is_close(answer.loc["std"] ** 2, variance, rtol=1e-6, atol=0.0)
        elif method == "predict":
            assert expected[v][int(answer)] > expected[v].max() - 1e-7
        else:
            assert is_close(answer.to_numpy(), expected[v], atol=1e-7)


def draw_parameters(rng: np.random.Generator) -> Arguments:
    """Return the parameters of a continuous family."""
    names, n_states, n_floats = draw_names(rng, 6), int(rng.integers(3)), int(rng.integers(3))
    shape = tuple(rng.integers(1, 4, n_states).tolist())
    return {
        "variable": names[0],
        "coefficients": rng.normal(size=(*shape, 1 + n_floats)),
        "std": rng.uniform(0.1, 2.0, shape),
        "discrete_parents": names[1 : 1 + n_states],
        "continuous_parents": names[3 : 3 + n_floats],
    }


def check_parameters(result: Any, arguments: Arguments) -> None:
    """The table of a family has a row per configuration."""
    table = result.to_frame()
    assert table.shape == (arguments["std"].size, arguments["coefficients"].shape[-1] + 1)
    assert is_close(table["std"].to_numpy(), arguments["std"].ravel())


enter_calls(
    "models.ConditionalGaussianCPD",
    ConditionalGaussianCPD,
    draw_parameters,
    check_parameters,
    {
        "variable": Wrong((None,)),
        "coefficients": Wrong((lambda c: c * np.nan, lambda c: c[..., None], "x", 1j)),
        "std": Wrong((lambda s: -s, lambda s: s * np.inf, lambda s: s[None], "x")),
    },
)

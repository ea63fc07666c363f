"""Cases of explanations, of information, and of rows drawn from Bayesian networks, against enumeration."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pgmpy.factors.discrete import TabularCPD

from pgmx import inference, models
from tests.fuzz.cases import Case, Fault, chance, entry, fault, pick
from tests.fuzz.network_cases import draw_network, draw_tables
from tests.fuzz.oracles import is_close
from tests.oracles import enumeration


def draw_any(rng: np.random.Generator) -> tuple[Any, list, list, list[int], list]:
    """Return a network, its names and states, numbers of states, and factors for enumeration."""
    if chance(rng, 0.5):
        network, cards, factors = draw_network(rng)
        names = list(network.names)
        return network, names, [list(network.states[name]) for name in names], cards, factors
    network, cards, factors = draw_tables(rng)
    kind = pick(rng, [lambda x: x, inference.CompiledNetwork, models.DiscreteBayesianNetwork.from_network])
    return kind(network), list(network.nodes), [[f"s{k}" for k in range(card)] for card in cards], cards, factors


def draw_evidence(rng: np.random.Generator, names: list, states: list) -> tuple[dict[int, int], Any, list[Fault]]:
    """Return codes of some variables but the last, evidence, and what is wrong with it."""
    codes = {v: int(rng.integers(len(states[v]))) for v in range(len(names) - 1) if chance(rng, 0.3)}
    evidence = {names[v]: states[v][code] for v, code in codes.items()}
    plant = pick(rng, ["state", "variable", "no dict"]) if chance(rng, 0.25) else ""
    if plant == "state":
        return codes, {names[-1]: "no such state"}, [fault("no such state", repr(names[-1]))]
    if plant == "variable":
        return codes, {"no such variable": 0}, [fault("no such variable")]
    if plant == "no dict":
        return codes, pick(rng, [3, "x", [names[0]]]), [fault("evidence")]
    return codes, evidence, []


@entry("inference.most_probable_assignments", 2.0)
def draw_explanations(rng: np.random.Generator) -> Case:
    """Return a question for the k most probable configurations."""
    network, names, states, cards, factors = draw_any(rng)
    codes, evidence, faults = draw_evidence(rng, names, states)
    k: Any = int(rng.integers(1, 30))
    options: dict[str, Any] = {}
    if not faults and chance(rng, 0.2):
        k, faults = pick(rng, [0, -1, 2.5, "x", None]), [fault("k must")]
    elif not faults and chance(rng, 0.1):
        options, faults = {"memory": pick(rng, ["x", -1, 2.5])}, [fault("memory")]

    def call(folder: Path) -> Any:
        return inference.most_probable_assignments(network, k, evidence, **options)

    def check(result: Any) -> None:
        values = [enumeration.log_score(factors, x) for x in enumeration.configurations(cards, codes)]
        expected = sorted((value for value in values if value > -np.inf), reverse=True)[:k]
        assert len(result) == len(expected)
        for answer, value in zip(result, expected, strict=True):
            assert is_close(answer.log_value, value)
            assert list(answer) == [name for v, name in enumerate(names) if v not in codes]
            row = {**{names[v]: states[v][code] for v, code in codes.items()}, **answer}
            assert is_close(
                enumeration.log_score(factors, [states[v].index(row[name]) for v, name in enumerate(names)]), value
            )
        assert len({tuple(answer.values()) for answer in result}) == len(result)

    return Case("", call, check, faults, plan=f"{type(network).__name__}, {cards}, {evidence}, k={k}, {options}")


@entry("inference.mutual_information", 2.0)
def draw_information(rng: np.random.Generator) -> Case:
    """Return a question for the information about the last variable."""
    network, names, states, cards, factors = draw_any(rng)
    codes, evidence, faults = draw_evidence(rng, names, states)
    target, options = names[-1], {}
    free = [v for v in range(len(names)) if v not in codes]
    if not faults and chance(rng, 0.1):
        target, faults = "no such variable", [fault("no such variable")]
    elif not faults and chance(rng, 0.3):
        free = [v for v in free if chance(rng, 0.5)] or free
        options = {"variables": [names[v] for v in free]}
    else:
        free.remove(len(names) - 1)

    def call(folder: Path) -> Any:
        return inference.mutual_information(network, target, evidence, **options)

    def check(result: pd.Series) -> None:
        assert sorted(map(str, result.index)) == sorted(str(names[v]) for v in free)
        assert (np.diff(result) <= 0.0).all() and (result >= 0.0).all()
        found = dict(zip(result.index, result, strict=True))
        for v in free:
            if v == len(names) - 1:
                continue
            pair = enumeration.joint(cards, factors, (v, len(names) - 1), codes)
            table = np.array(list(pair.values())).reshape(cards[v], -1)
            product = np.outer(table.sum(axis=1), table.sum(axis=0))
            known = table > 0.0
            assert abs(found[names[v]] - (table[known] * np.log(table[known] / product[known])).sum()) < 1e-9

    return Case("", call, check, faults, plan=f"{type(network).__name__}, {cards}, {target}, {evidence}, {options}")


@entry("models.DiscreteBayesianNetwork.simulate", 2.0)
def draw_simulation(rng: np.random.Generator) -> Case:
    """Return a call of `simulate`."""
    tables, cards, _ = draw_tables(rng)
    network, names = models.DiscreteBayesianNetwork.from_network(tables), list(tables.nodes)
    states = [[f"s{k}" for k in range(card)] for card in cards]
    codes, evidence, faults = draw_evidence(rng, names, states)
    options: dict[str, Any] = {"n_samples": int(rng.integers(0, 50)), "seed": 1}
    last, size = names[-1], cards[-1]
    extra = pick(rng, ["", "do", "virtual_evidence", "virtual_intervention", "partial_samples", "missing_prob"])
    if extra == "do":
        options["do"] = {last: "s0"}
    elif extra in ("virtual_evidence", "virtual_intervention"):
        options[extra] = [TabularCPD(last, size, rng.dirichlet(np.ones(size))[:, None], state_names={last: states[-1]})]
    elif extra == "partial_samples":
        frame = pd.DataFrame({0: rng.choice(states[-1], options["n_samples"])})
        options[extra] = frame.set_axis(pd.Index([last], tupleize_cols=False), axis=1)
    elif extra == "missing_prob" and isinstance(last, str):
        options[extra] = TabularCPD(f"{last}*", 2, [[0.5], [0.5]])
    if not faults and chance(rng, 0.25):
        wrong = {"n_samples": -1, "seed": -1, "virtual_evidence": [3], "virtual_intervention": 3, "missing_prob": 0.5}
        option, value = pick(rng, [*wrong.items(), ("n_samples", 2.5), ("seed", "x"), ("do", {"no such variable": 0})])
        options[option], faults = value, [fault(option, "no such variable")]

    def call(folder: Path) -> Any:
        return network.simulate(evidence=evidence, **options)

    def check(result: pd.DataFrame) -> None:
        assert list(result.columns) == names and len(result) == options["n_samples"]
        for v, name in enumerate(names):
            column = result[name] if not isinstance(name, tuple) else result.iloc[:, v]
            assert list(column.cat.categories) == states[v]
            assert extra == "missing_prob" or not column.isna().any()
            assert v not in codes or (column == states[v][codes[v]]).all()

    return Case("", call, check, faults, plan=f"{cards}, {evidence}, {extra}, {options}")

"""Cases of the row methods of discrete Bayesian networks, against the table of their joint distribution."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pgmpy.factors.discrete import TabularCPD

from pgmx.data import DiscreteTable
from pgmx.models import DiscreteBayesianNetwork, save_model
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.command_line_cases import run
from tests.fuzz.frames import draw_names

METHODS = ("predict", "predict_proba", "log_evidence", "log_likelihood", "score")
CONTAINERS = ("pandas", "dict", "chunks", "coded", "csv")
SPOILED = ("column", "state", "table", "variables", "method", "impossible")


class Drawn(NamedTuple):
    """A network, its names and states, and its joint distribution, one axis per variable."""

    network: DiscreteBayesianNetwork
    names: list
    states: list[list]
    joint: np.ndarray


def draw_joint(rng: np.random.Generator, *, plain: bool) -> Drawn:
    """Return a network, sometimes with zeros, variables of one state, and one of 300 states."""
    n = int(rng.integers(1, 6))
    cards = [int(r) for r in rng.integers(1, 4, n)]
    if chance(rng, 0.1):
        cards[int(rng.integers(n))] = 300
    names = draw_names(rng, n, plain=plain)
    kinds = [lambda k: f"s{k}", lambda k: k, lambda k: k / 2 + 0.25, lambda k: k > 0]
    states = []
    for r in cards:
        kind = pick(rng, kinds[:1] if plain else kinds[: 4 if r <= 2 else 3])
        states.append([kind(int(k)) for k in rng.permutation(r)])
    network = DiscreteBayesianNetwork()
    network.add_nodes_from(names)
    joint = np.ones(cards)
    for v in range(n):
        parents = sorted(int(u) for u in rng.permutation(v)[: rng.integers(0, 3)])
        table = rng.dirichlet(np.ones(cards[v]), [cards[u] for u in parents])
        if chance(rng, 0.4):
            table[rng.random(table.shape) < 0.3] = 0.0
            table[..., 0] += table.sum(axis=-1) == 0.0
            table /= table.sum(axis=-1, keepdims=True)
        family = [*parents, v]
        joint *= table.reshape([cards[u] if u in family else 1 for u in range(n)])
        network.add_edges_from((names[u], names[v]) for u in parents)
        known = {names[u]: states[u] for u in family}
        sizes = [cards[u] for u in parents]
        values = np.moveaxis(table, -1, 0).reshape(cards[v], -1)
        own = [names[u] for u in parents]
        network.add_cpds(TabularCPD(names[v], cards[v], values, own or None, sizes or None, state_names=known))
    return Drawn(network, names, states, joint)


def make_frame(drawn: Drawn, codes: np.ndarray, columns: list[int]) -> pd.DataFrame:
    """Return rows of codes, -1 for missing values, as a frame of some columns."""
    cells = {
        k: pd.Series([None if c < 0 else drawn.states[v][c] for c in codes[:, v]], dtype=object)
        for k, v in enumerate(columns)
    }
    frame = pd.DataFrame(cells, index=pd.RangeIndex(len(codes)))
    return frame.set_axis(pd.Index([drawn.names[v] for v in columns], tupleize_cols=False), axis=1)


def put_rows(container: str, drawn: Drawn, codes: np.ndarray, columns: list[int], folder: Path) -> Any:
    """Return rows in one of the containers."""
    frame = make_frame(drawn, codes, columns)
    if container == "dict":
        return {drawn.names[v]: frame.iloc[:, k].tolist() for k, v in enumerate(columns)}
    if container == "chunks":
        return iter([frame[:1], frame[1:]])
    if container == "csv":
        frame.to_csv(folder / "rows.csv", index=False)
        return folder / "rows.csv"
    if container == "coded":
        sizes = [len(drawn.states[v]) for v in columns]
        states = [[*drawn.states[v], "no state"] for v in columns]
        coded = np.where(codes[:, columns] < 0, sizes, codes[:, columns]).T
        return DiscreteTable([drawn.names[v] for v in columns], states, coded, sizes)
    return frame


def find_possible(drawn: Drawn, codes: np.ndarray) -> Iterator[np.ndarray]:
    """Yield for each row its part of the joint distribution, with hidden variables as axes."""
    for row in codes:
        yield drawn.joint[tuple(slice(None) if code < 0 else code for code in row.tolist())]


@entry("models.DiscreteBayesianNetwork.rows", 4.0)
def draw_rows(rng: np.random.Generator) -> Case:
    """Return a call of a row method."""
    container = pick(rng, CONTAINERS)
    drawn = draw_joint(rng, plain=container == "csv")
    n, n_rows = len(drawn.names), int(pick(rng, [1, 2, 7, 30]))
    method = pick(rng, METHODS)
    flat = rng.choice(drawn.joint.size, n_rows, p=drawn.joint.ravel() / drawn.joint.sum())
    codes = np.stack(np.unravel_index(flat, drawn.joint.shape), axis=1).astype(int)
    columns = [int(v) for v in rng.permutation(n)]
    options: dict[str, Any] = {}
    if method != "log_likelihood":
        codes[rng.random(codes.shape) < pick(rng, [0.0, 0.2, 0.7])] = -1
        columns = columns[: rng.integers(1, n + 1)]
        codes[:, [v for v in range(n) if v not in columns]] = -1
    if method == "predict":
        codes[0, columns[0]] = -1  # at least one value is missing
        options = pick(rng, [{}, {"method": "marginal"}, {"stochastic": True, "seed": 1}])
    elif method == "predict_proba" and chance(rng, 0.3):
        options = {"variables": [drawn.names[columns[0]]]}
    faults, plant = [], pick(rng, SPOILED) if chance(rng, 0.3) else ""
    if plant == "table":
        drawn.network.remove_cpds(drawn.network.get_cpds(drawn.names[-1]))
        faults = [fault(repr(drawn.names[-1]))]
    elif plant == "variables" and method == "predict_proba":
        options, faults = (
            {"variables": pick(rng, [["no such variable"], [], 3])},
            [fault("no such variable", "variables")],
        )
    elif plant == "method" and method == "predict":
        options, faults = {"method": "mpe"}, [fault("method")]
    elif plant in ("column", "state"):
        faults = [fault("no such name")]
    elif plant == "impossible" and n_rows > 1 and (drawn.joint == 0.0).any():
        cell = np.argwhere(drawn.joint == 0.0)[rng.integers((drawn.joint == 0.0).sum())]
        codes[-1, columns] = cell[columns]
        ignored = [drawn.names.index(name) for name in options.get("variables", [])]
        seen = codes[-1:].copy()
        seen[:, ignored] = -1
        if method in ("predict", "predict_proba") and next(find_possible(drawn, seen)).sum() == 0.0:
            faults = [fault("impossible")]

    def call(folder: Path) -> Any:
        rows = put_rows(container, drawn, codes, columns, folder)
        if plant in ("column", "state"):
            rows = make_frame(drawn, codes, columns)
            names = list(rows.columns)
            if plant == "column":
                rows = rows.set_axis(pd.Index([*names[:-1], "no such name"], tupleize_cols=False), axis=1)
            else:
                rows.isetitem(0, pd.Series(["no such name"] * n_rows, dtype=object))
        return getattr(drawn.network, method)(rows, **options)

    def check(result: Any) -> None:
        if method == "predict":
            check_predictions(drawn, codes, columns, options, result)
        elif method == "predict_proba":
            check_distributions(drawn, codes, columns, options, result)
        else:
            with np.errstate(divide="ignore"):
                logs = np.log([part.sum() for part in find_possible(drawn, codes)])
            np.testing.assert_allclose(result, logs.mean() if method == "score" else logs, atol=1e-10)

    plan = f"{method}, {container}, planted: {plant or 'nothing'}, {drawn.joint.shape}, {codes.tolist()}, {options}"
    return Case("", call, check, faults, plan=plan)


def check_predictions(drawn: Drawn, codes: np.ndarray, columns: list[int], options: dict, result: Any) -> None:
    """All values are observed or among the states; their probability is the largest."""
    order = [*columns, *(v for v in range(len(drawn.names)) if v not in columns)]
    assert list(result.columns) == [drawn.names[v] for v in order]
    filled = np.empty_like(codes)
    for k, v in enumerate(order):
        assert list(result.iloc[:, k].cat.categories) == drawn.states[v]
        filled[:, v] = result.iloc[:, k].cat.codes
    assert (filled[codes >= 0] == codes[codes >= 0]).all() and (filled >= 0).all()
    for row, known, part in zip(filled, codes, find_possible(drawn, codes), strict=True):
        hidden = [v for v, code in enumerate(known) if code < 0]
        if options.get("method") == "marginal":
            for axis, v in enumerate(hidden):
                shares = part.sum(axis=tuple(a for a in range(len(hidden)) if a != axis))
                assert shares[row[v]] >= shares.max() * (1 - 1e-9)
        else:
            least = 0.0 if options.get("stochastic") else part.max() * (1 - 1e-9)
            assert drawn.joint[tuple(row)] >= least and drawn.joint[tuple(row)] > 0.0


def check_distributions(drawn: Drawn, codes: np.ndarray, columns: list[int], options: dict, result: Any) -> None:
    """The probabilities are sums over the joint distribution, 1 for observed states."""
    wanted = [v for v, name in enumerate(drawn.names) if (codes[:, v] < 0).any() or v not in columns]
    if "variables" in options:
        wanted = [drawn.names.index(options["variables"][0])]
        codes = codes.copy()
        codes[:, wanted] = -1
    assert list(result.columns) == [(drawn.names[v], state) for v in wanted for state in drawn.states[v]]
    for at, (known, part) in enumerate(zip(codes, find_possible(drawn, codes), strict=True)):
        hidden, expected = [v for v, code in enumerate(known) if code < 0], []
        for v in wanted:
            if known[v] >= 0:
                expected.append(np.eye(len(drawn.states[v]))[known[v]])
            else:
                others = tuple(axis for axis, u in enumerate(hidden) if u != v)
                expected.append(part.sum(axis=others) / part.sum())
        np.testing.assert_allclose(result.iloc[at], np.concatenate(expected) if expected else [], atol=1e-10)


# ---- the command ----

WRONG = {"--method": "mpe", "--out": "filled.txt", "--drop": "no_such_column", "--sep": "ab", "--no-such-option": "3"}


@entry("cli.predict", 1.5)
def draw_command(rng: np.random.Generator) -> Case:
    """Return a case of ``pgmx predict``, whose answers are those of the network for the same rows."""
    drawn = draw_joint(rng, plain=True)
    n, n_rows = len(drawn.names), int(pick(rng, [1, 3, 30]))
    flat = rng.choice(drawn.joint.size, n_rows, p=drawn.joint.ravel() / drawn.joint.sum())
    codes = np.stack(np.unravel_index(flat, drawn.joint.shape), axis=1).astype(int)
    codes[rng.random(codes.shape) < 0.3] = -1
    codes[0, 0] = -1  # something is missing
    columns = [int(v) for v in rng.permutation(n)]
    source, out = pick(rng, ["rows.csv", "rows.parquet"]), pick(rng, ["out.csv", "out.parquet"])
    proba = chance(rng, 0.4)
    arguments = ["predict", "model.json", source, "--out", out, *(["--proba"] if proba else [])]
    faults = []
    plant = pick(rng, [*WRONG, "state", "file", "model"]) if chance(rng, 0.35) else ""
    if plant in WRONG:
        arguments += [plant, WRONG[plant]]
        faults = [fault(plant, WRONG[plant])]
    elif plant in ("file", "model"):
        arguments[2 if plant == "file" else 1] = "none.csv"
        faults = [fault("none.csv")]
    elif plant == "state":
        faults = [fault("no such state", "nothing to predict")]  # it may replace all missing values

    def call(folder: Path) -> Any:
        save_model(drawn.network, folder / "model.json")
        frame = make_frame(drawn, codes, columns)
        if plant == "state":
            frame.isetitem(0, pd.Series(["no such state"] * n_rows, dtype=object))
        frame.to_csv(folder / "rows.csv", index=False)
        frame.astype("string").to_parquet(folder / "rows.parquet")
        run(folder, arguments)
        return pd.read_csv(folder / out) if out.endswith("csv") else pd.read_parquet(folder / out)

    def check(result: pd.DataFrame) -> None:
        frame = make_frame(drawn, codes, columns)
        if proba:
            expected = drawn.network.predict_probability(frame)
            assert list(result.columns) == list(expected.columns)
            np.testing.assert_allclose(result, expected, atol=1e-6)
        else:
            expected = drawn.network.predict(frame)
            assert list(result.columns) == list(expected.columns)
            assert (result.astype(str).to_numpy() == expected.astype(str).to_numpy()).all()

    return Case("", call, check, faults, plan=f"{arguments}, planted: {plant or 'nothing'}, {codes.tolist()}")

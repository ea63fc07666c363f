"""Cases of total causal effects, and of possible effects in a class of graphs."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgmx import inference
from pgmx.inference import PossibleEffects
from pgmx.models import cpdag, to_dag, to_linear_gaussian, to_pdag
from tests.fuzz.calls import Arguments
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.frames import draw_numbers, hold_names, spoil_numbers
from tests.oracles.equivalence import members


def draw_edges(rng: np.random.Generator, n: int) -> list[tuple[int, int]]:
    """Return the edges of a random DAG."""
    order = rng.permutation(n).tolist()
    return [(order[i], order[j]) for i in range(n) for j in range(i + 1, n) if chance(rng, 0.6)]


@entry("inference.total_effects", 1.0)
def draw_total_effects(rng: np.random.Generator) -> Case:
    """Return a question for the effects in a linear Gaussian network."""
    frame = draw_numbers(rng)
    names, edges = list(frame.columns), draw_edges(rng, frame.shape[1])
    model: Any = to_linear_gaussian(frame, names, edges)
    slopes = np.zeros((len(names), len(names)))
    for cpd in model.cpds:
        slopes[names.index(cpd.variable), [names.index(parent) for parent in cpd.evidence]] = cpd.beta[1:]
    faults = []
    if chance(rng, 0.3):
        model, faults = to_dag(names, edges), [fault("total_effects needs", "has no parameters")]

    def call(folder: Path) -> Any:
        return inference.total_effects(model)

    def check(result: pd.DataFrame) -> None:
        assert list(result.index) == list(result.columns) == names
        expected = np.linalg.inv(np.eye(len(names)) - slopes).T - np.eye(len(names))
        units = frame.std().to_numpy()
        scale = units / units[:, None]
        np.testing.assert_allclose(result / scale, expected / scale, atol=1e-8)

    return Case("", call, check, faults, plan=f"{frame.shape}, {edges}")


@entry("inference.possible_effects", 1.0)
def draw_possible_effects(rng: np.random.Generator) -> Case:
    """Return a question for the effects of a variable in the class of a DAG."""
    frame: Any = draw_numbers(rng)
    names, edges = list(frame.columns), draw_edges(rng, frame.shape[1])
    x = int(rng.integers(len(names)))
    compelled = [edge for edge in edges if chance(rng, 0.2)]
    graph = to_pdag(names, *cpdag(len(names), edges, compelled=compelled))
    options: Arguments = {"data": frame}
    if chance(rng, 0.4):
        options = {"covariance": frame.cov() if chance(rng, 0.5) else np.cov(frame.to_numpy().T)}
    cause, effects, faults = names[x], None, []
    kind = pick(rng, ["", "", "", "rows", "cause", "effects", "both", "none", "graph"])
    if kind == "rows":
        spoilt, faults, kind = spoil_numbers(rng, frame)
        options = {"data": spoilt}
        if kind == "constant":  # other columns may be used only
            effects = names[:x] + names[x + 1 :]
    elif kind == "cause":
        cause, faults = "no such variable", [fault("no such variable")]
    elif kind == "effects":
        effects, faults = [cause], [fault(repr(cause))]
    elif kind in ("both", "none"):
        options = {"data": frame, "covariance": frame.cov()} if kind == "both" else {}
        faults = [fault("data")]
    elif kind == "graph":
        graph, faults = pick(rng, [graph.to_undirected(), edges, None]), [fault("PDAG")]

    def call(folder: Path) -> Any:
        return inference.possible_effects(graph, cause, effects, **options)

    def check(result: PossibleEffects) -> None:
        graphs = members(len(names), edges, compelled)
        sets = {frozenset(names[u] for u, head in graph if head == x) for graph in graphs}
        assert result.cause == cause and len(result.parents) == len(sets) and set(result.parents) == sets
        cells = (frame - frame.mean()) / frame.std()
        for parents, row in zip(result.parents, result.effects.to_numpy(), strict=True):
            columns = [x, *(names.index(parent) for parent in parents)]
            for y, value in zip(result.effects.columns, row, strict=True):
                v = names.index(y)
                slope = np.linalg.lstsq(cells.iloc[:, columns], cells.iloc[:, v], rcond=None)[0][0]
                units = frame.iloc[:, v].std() / frame.iloc[:, x].std()
                assert value == 0.0 or abs(value / units - slope) < 1e-6
                assert value == 0.0 or y not in parents
        assert (result.smallest <= result.largest).all()
        assert (result.unique_effect.notna() == result.is_unique).all()

    return Case("", call, check, faults, plan=f"{kind} {frame.shape}, {edges}, {compelled}, {hold_names(cause)}")

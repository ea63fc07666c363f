"""What a page needs to answer questions to a network: its parameters, and for discrete variables a junction tree."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from typing import Any

import numpy as np

from pgmx.inference.exact.elimination_order import (
    CELL_BYTES,
    EliminationPlan,
    TreewidthError,
    min_fill_order,
    search_order,
)
from pgmx.inference.linear_gaussian import LinearGaussianArrays, read_regressions
from pgmx.inference.mixed.components import count_cells, find_components
from pgmx.inference.mixed.families import DiscreteFamily, GaussianFamily
from pgmx.inference.networks import LogFactors, PairwisePotentials
from pgmx.inference.problem import Problem
from pgmx.plotting.reports.tables import to_text

#: Largest number of cells in all clique tables together: a browser passes through them in about 0.1 s.
MOST_CELLS = 2_000_000
#: An order by fewest added edges with this many times as many cells is not improved to the limit by a search.
FACTOR = 20
#: Largest number of variables of a Gaussian network: a covariance matrix of 0.7 MB.
MOST_GAUSSIAN = 250


def pack_answers(model: Any) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the parameters of a network for the scripts of the page, and notes; None if the page cannot answer.

    They are doubles, so that the page computes with the parameters of the model.
    """
    if hasattr(model, "sparse_precision") or hasattr(model, "to_joint_gaussian"):
        return _pack_gaussian(model)
    if hasattr(model, "continuous"):
        return _pack_mixed(model)
    try:
        problem = Problem.from_model(model)
    except TypeError:
        return None, []  # a graph without parameters
    except ValueError as error:
        return None, [f"The page cannot answer questions: {to_text(str(error))}"]
    return _pack_discrete(problem)


def _pack_discrete(problem: Problem) -> tuple[dict[str, Any] | None, list[str]]:
    if problem.is_directed:
        scopes = [(v, *family) for v, family in enumerate(problem.arrays.parents)]
        tables = problem.arrays.tables
    else:
        factors = problem.model
        if isinstance(factors, PairwisePotentials):
            factors = LogFactors.from_potentials(factors)
        used = [(scope, table) for scope, table in zip(factors.scopes, factors.tables, strict=True) if scope]
        scopes = [scope for scope, _ in used]
        # a constant factor changes no answer: the largest value of each table becomes 1
        tables = [np.exp(table - (table.max() if np.isfinite(table.max()) else 0.0)) for _, table in used]
    plan, note = _find_plan([len(states) for states in problem.states], scopes)
    if plan is None:
        return None, [note]
    return {
        "names": [to_text(name) for name in problem.names],
        "states": [[to_text(state) for state in states] for states in problem.states],
        **_pack_tree(plan, scopes, tables, is_directed=problem.is_directed),
    }, []


def _pack_tree(
    plan: EliminationPlan, scopes: list[tuple[int, ...]], tables: Iterable[np.ndarray], *, is_directed: bool
) -> dict[str, Any]:
    """Return the cliques, and the factors with their cliques."""
    rank = plan.rank.tolist()
    return {
        "isDirected": is_directed,
        "scopes": [list(scope) for scope in scopes],
        "places": [int(plan.homes[min(scope, key=rank.__getitem__)]) for scope in scopes],
        "values": _encode_doubles(tables),
        "cliques": [list(clique) for clique in plan.cliques],
        "parents": plan.parents.tolist(),
        "homes": plan.homes.tolist(),
    }


def _pack_mixed(model: Any) -> tuple[dict[str, Any] | None, list[str]]:
    """Return a junction tree of the discrete variables and the regressions of the continuous ones.

    A clique contains the discrete variables on which continuous variables that are joined depend, as long as none of
    these is observed: observed ones split them further.
    """
    try:
        parts = model.parts()
    except ValueError:
        return None, []  # a graph without parameters
    network = getattr(parts, "families", None)
    if network is None:
        return None, []  # a dynamic network has those of each slice
    n = len(parts.names)
    place = {v: k for k, v in enumerate(np.flatnonzero(network.cards).tolist())}  # of discrete variables
    continuous = [v for v in range(n) if v not in place]
    if len(continuous) > MOST_GAUSSIAN:
        return None, [f"The page answers questions to at most {MOST_GAUSSIAN} continuous variables: use the model."]
    components = find_components(network, continuous, np.zeros(n, dtype=bool))
    cells = sum(count_cells(network, component) for component in components)
    if cells > MOST_CELLS:
        widest = max(components, key=lambda component: count_cells(network, component))
        return None, [
            f"The page cannot answer questions: {len(widest.continuous)} continuous variables depend on "
            f"{len(widest.scope)} discrete ones, which need {cells:,} cells, at most {MOST_CELLS:,} are possible in a "
            "browser. Use the methods of the model."
        ]
    scopes = [tuple(place[u] for u in (v, *network.parents[v])) for v in place]
    joined = [tuple(place[d] for d in component.scope) for component in components if component.scope]
    plan, note = _find_plan([network.cards[v] for v in place], scopes + joined)
    if plan is None:
        return None, [note]
    tables = [family.table for family in network.families if isinstance(family, DiscreteFamily)]
    payload: dict[str, Any] = {
        "names": [to_text(name) for name in parts.names],
        "states": [None if states is None else [to_text(state) for state in states] for states in parts.states],
        "isDirected": True,
        "tree": _pack_tree(plan, scopes, tables, is_directed=True),
        "regressions": [],
    }
    values = []
    for v in continuous:
        family = network.families[v]
        assert isinstance(family, GaussianFamily)
        states = [place[d] for d in family.discrete_parents]
        payload["regressions"].append([v, states, list(family.continuous_parents)])
        values += [family.coefficients, family.std]
    return {**payload, "values": _encode_doubles(values)}, []


def _pack_gaussian(model: Any) -> tuple[dict[str, Any] | None, list[str]]:
    """Return regressions, parents first, of a Bayesian network; means and covariances of a Markov network."""
    names = list(model.nodes())
    if len(names) > MOST_GAUSSIAN:
        return None, [f"The page answers questions to at most {MOST_GAUSSIAN} continuous variables: use the model."]
    if getattr(model, "transforms", None) is not None:
        return None, ["The page answers no questions about transformed columns: use the methods of the model."]
    payload = {"names": [to_text(name) for name in names], "isDirected": not hasattr(model, "sparse_precision")}
    if not payload["isDirected"]:
        covariance = model.covariance.loc[names, names].to_numpy()
        return {**payload, "values": _encode_doubles([model.mean[names].to_numpy(), covariance])}, []
    try:
        arrays = LinearGaussianArrays(names, read_regressions(model, names, least=0.0))
    except ValueError as error:
        return None, [f"The page cannot answer questions: {to_text(str(error))}"]
    regressions = [arrays.regressions[v] for v in arrays.order]
    payload["regressions"] = [[one.variable, one.parents, one.beta.tolist(), one.std] for one in regressions]
    return payload, []


def _encode_doubles(arrays: Iterable[np.ndarray]) -> str:
    """Return all values, one array after another, in base 64."""
    values = [np.ravel(array).astype("<f8") for array in arrays]
    return b64encode(np.concatenate(values).tobytes()).decode("ascii") if values else ""


def _find_plan(cards: list[int], scopes: list[tuple[int, ...]]) -> tuple[EliminationPlan | None, str]:
    """Return a junction tree within the limit, or None and the reason why there is none."""
    try:
        plan = min_fill_order(cards, scopes, max_bytes=CELL_BYTES * FACTOR * MOST_CELLS)
    except TreewidthError as error:
        return None, f"The page cannot answer questions: {error}. pgmx.inference has approximate methods."
    if plan.cells > MOST_CELLS:
        plan = search_order(cards, scopes)
    if plan.cells > MOST_CELLS:
        return None, (
            f"The page cannot answer questions: the junction tree of width {plan.width} has {plan.cells:,} cells, at "
            f"most {MOST_CELLS:,} are possible in a browser. pgmx.inference answers them."
        )
    return plan, ""

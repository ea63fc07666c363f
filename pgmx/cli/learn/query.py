"""One question to the fitted network, asked only when exact inference is cheap."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from pgmx.inference.exact.elimination_order import TreewidthError
from pgmx.inference.exact.family_marginals import FamilyMarginals, plan_query
from pgmx.inference.named_networks import BayesianArrays

if TYPE_CHECKING:
    import networkx as nx
    from pgmpy.models import DiscreteBayesianNetwork

    from pgmx.models import ConditionalGaussianNetwork

#: Maximum number of cells of any table of a query (32 MiB of float64, well under a second).
MAX_CELLS = 2**22

#: Maximum number of cells of all tables of a network that is fitted for a query.
MAX_MODEL_CELLS = 2**24

#: Maximum number of targets that are tried in the search for a cheap query.
MAX_TARGETS = 20


class Answer(NamedTuple):
    """States of `target` with their probabilities before and after seeing `evidence` in `state`."""

    target: Hashable
    evidence: Hashable
    state: Hashable
    states: list[Hashable]
    prior: list[float]
    posterior: list[float]


class Prediction(NamedTuple):
    """Figures about a continuous `target` before and after the observation `evidence` = `value` (None without).

    `columns` names the figures: mean and standard deviation, or, for transformed marginal distributions, the median and
    the quantiles at one standard deviation.
    """

    target: Hashable
    evidence: Hashable
    value: Hashable
    columns: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]


def choose_question(
    edges: Sequence[tuple[int, int]], cards: Sequence[int], *, joined: bool = False
) -> tuple[int, int | None] | str:
    """Choose a target, with a neighbour if `joined`, and what to observe, such that exact inference is cheap.

    The target is the last column, among the last 20, with a cheap question. The evidence is its first parent, else its
    first child, None for an isolated target. If there is no such question, a string with the reason is returned.
    """
    parents: list[list[int]] = [[] for _ in cards]
    children: list[list[int]] = [[] for _ in cards]
    for u, v in edges:
        parents[v].append(u)
        children[u].append(v)
    cells = sum(prod([cards[v], *(cards[u] for u in near)]) for v, near in enumerate(parents))
    if cells > MAX_MODEL_CELLS:
        return f"the conditional tables have {cells:.2g} cells; --max-indegree makes them smaller"
    smallest = 0
    targets = [v for v in range(len(cards)) if parents[v] or children[v] or not joined]
    for target in targets[: -MAX_TARGETS - 1 : -1]:
        near = parents[target] or children[target]
        evidence = [min(near)] if near else []
        cells = plan_query(parents, cards, [target, *evidence]).cells
        if cells <= MAX_CELLS:
            return target, evidence[0] if evidence else None
        smallest = min(smallest, cells) or cells
    if not targets:
        return "no two variables are joined"
    return f"exact inference would build tables of {smallest:.2g} cells; --max-indegree makes them smaller"


def ask(model: DiscreteBayesianNetwork, target: int, evidence: int | None) -> Answer:
    """Compute the distribution of `target`, by position, before and after the likeliest state of `evidence`."""
    arrays = BayesianArrays.from_model(model).normalise()
    joint = FamilyMarginals(arrays, MAX_CELLS).joint([target] if evidence is None else [target, evidence])
    assert joint is not None  # choose_question made sure
    name, states = arrays.names[target], list(arrays.states[target])
    if evidence is None:
        return Answer(name, None, None, states, joint.tolist(), joint.tolist())
    shares = joint.sum(axis=0)
    likeliest = int(shares.argmax())
    posterior = joint[:, likeliest] / shares[likeliest]
    state = arrays.states[evidence][likeliest]
    return Answer(name, arrays.names[evidence], state, states, joint.sum(axis=1).tolist(), posterior.tolist())


def ask_mixed(model: ConditionalGaussianNetwork) -> Answer | Prediction | str:
    """Return the distribution of the last variable with an edge, given a neighbour, in a mixed network.

    The neighbour is its first parent, else its first child, in its likeliest state, or one standard deviation above its
    mean. If there is no cheap question, a string with the reason is returned.
    """
    joined = [name for name in model.names if model.degree(name)]
    target = joined[-1] if joined else model.names[-1]
    place = {name: v for v, name in enumerate(model.names)}
    near = list(model.predecessors(target)) or list(model.successors(target))
    evidence = min(near, key=place.__getitem__) if near else None
    try:
        before = model.predict_proba({}, [target], inference="exact")
        if evidence is None:
            value, after = None, before
        else:
            value = _choose_value(model, evidence)
            after = model.predict_proba({evidence: value}, [target], inference="exact")
    except TreewidthError as error:
        return f"{error.problem}; --max-indegree makes them fewer"
    prior, posterior = before.iloc[0].tolist(), after.iloc[0].tolist()
    if target in model.states:
        shown = value if evidence is None or evidence in model.states else f"{value:.4g}"
        return Answer(target, evidence, shown, list(model.states[target]), prior, posterior)
    return Prediction(target, evidence, value, ("mean", "sd"), tuple(prior), tuple(posterior))


def _choose_value(model: ConditionalGaussianNetwork, name: Hashable) -> Hashable:
    figures = model.predict_proba({}, [name], inference="exact").iloc[0].tolist()
    if name in model.states:
        return model.states[name][figures.index(max(figures))]
    return float(f"{figures[0] + figures[1]:.4g}")  # as it is printed


def target_and_neighbour(graph: nx.Graph, names: Sequence[Hashable]) -> tuple[Hashable, Hashable | None]:
    """Choose the last variable with an edge and its neighbour of largest |weight|; the last, None without edges."""
    ends = [name for name in names if graph.degree(name)]
    if not ends:
        return names[-1], None
    near = [(-abs(data["weight"]), str(name), name) for name, data in graph[ends[-1]].items()]
    return ends[-1], min(near, key=lambda item: item[:2])[2]

"""One question to the fitted network, asked only when exact inference is cheap."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pgmx.inference.exact.family_marginals import elimination

#: Most cells of any table that a query may build (32 MiB of float64, about a second of pgmpy's time).
MAX_CELLS = 2**22

#: Most cells of all tables of the network together that is fitted for the sake of a query.
MAX_MODEL_CELLS = 2**24

#: Most targets that are tried in search of a cheap question.
MAX_TARGETS = 20


class Answer(NamedTuple):
    """States of `target` with their probabilities before and after seeing `evidence` in `state`."""

    target: object
    evidence: object
    state: object
    states: list
    prior: list
    posterior: list


def choose_question(
    edges: Sequence[tuple[int, int]], cards: Sequence[int], *, joined: bool = False
) -> tuple[int, int | None] | str:
    """Choose what to ask for and what to observe, such that pgmpy answers at once.

    Parameters
    ----------
    edges : sequence of (int, int)
        Edges (tail, head) of the DAG.
    cards : sequence of int
        Number of states of each variable, in column order.
    joined : bool, default=False
        Whether the target must have a neighbour.

    Returns
    -------
    (target, evidence) : int and int or None
        The last column whose question is cheap, among the last 20, and its first parent, or else its first child;
        evidence is None for an isolated target.
    reason : str
        In their place, why there is none.

    Examples
    --------
    >>> from pgmx.cli.learn.query import choose_question
    >>> choose_question([(0, 2), (1, 2)], [2, 3, 2])
    (2, 0)
    """
    families = dict(enumerate(cards))
    parents: dict[int, list[int]] = {v: [] for v in families}
    children: dict[int, list[int]] = {v: [] for v in families}
    for u, v in edges:
        parents[v].append(u)
        children[u].append(v)
        families[v] *= cards[u]
    cells = sum(families.values())
    if cells > MAX_MODEL_CELLS:
        return f"the conditional tables have {cells:.2g} cells; --max-indegree makes them smaller"
    smallest = 0
    targets = [v for v in families if parents[v] or children[v] or not joined]
    for target in targets[: -MAX_TARGETS - 1 : -1]:
        near = parents[target] or children[target]
        question = (target, min(near) if near else None)
        cells = elimination(edges, cards, question)[1]
        if cells <= MAX_CELLS:
            return question
        smallest = min(smallest, cells) or cells
    if not targets:
        return "no two variables are joined"
    return f"exact inference would build tables of {smallest:.2g} cells; --max-indegree makes them smaller"


def ask(model, edges: Sequence[tuple[int, int]], cards: Sequence[int], target: int, evidence: int | None) -> Answer:
    """Ask pgmpy for the distribution of `target`, before and after seeing the likeliest state of `evidence`.

    Parameters
    ----------
    model : pgmpy.models.DiscreteBayesianNetwork
        The fitted network; its nodes are in the order of the positions used here.
    edges, cards : sequences
        As in `choose_question`.
    target, evidence : int, int or None
        The question.

    Returns
    -------
    Answer
        With `posterior` equal to `prior` when there is no evidence.
    """
    from pgmpy.inference import VariableElimination

    names = list(model.nodes())
    engine = VariableElimination(model)

    def distribution(variable: int, seen: Mapping) -> tuple[list, list]:
        observed = [names.index(name) for name in seen]
        order, _ = elimination(edges, cards, [variable, *observed])
        factor = engine.query(
            [names[variable]], dict(seen), elimination_order=[names[v] for v in order], show_progress=False
        )
        return factor.state_names[names[variable]], factor.values.tolist()

    states, prior = distribution(target, {})
    if evidence is None:
        return Answer(names[target], None, None, states, prior, prior)
    seen_states, shares = distribution(evidence, {})
    state = seen_states[max(range(len(shares)), key=shares.__getitem__)]
    _, posterior = distribution(target, {names[evidence]: state})
    return Answer(names[target], names[evidence], state, states, prior, posterior)


def target_and_neighbour(graph, names: Sequence) -> tuple:
    """Choose what to ask a graph without directions: the last variable that has an edge, by its strongest neighbour.

    Parameters
    ----------
    graph : networkx.Graph
        With the attribute ``weight``, whose size tells the strength of an edge.
    names : sequence
        The variables in order.

    Returns
    -------
    target, neighbour : hashable, hashable or None
        The first neighbour by name among equals; the last variable and None where there are no edges.
    """
    joined = [name for name in names if graph.degree(name)]
    if not joined:
        return names[-1], None
    near = [(-abs(own["weight"]), str(name), name) for name, own in graph[joined[-1]].items()]
    return joined[-1], min(near, key=lambda item: item[:2])[2]

"""What must hold of results, by other means than those of pgmx."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pgmx.scores import EdgePrior, ParameterPrior
from tests.fuzz.frames import Table
from tests.oracles import graphical_lasso, pseudolikelihood
from tests.oracles.family_scores import family_score, log_sets
from tests.oracles.graphs import is_acyclic
from tests.oracles.other_scores import gaussian_score, node_average, weighted_score

LocalScore = Callable[[int, list[int]], float]
SHORT = {"bic-d": "bic", "aic-d": "aic", "ebic-d": "ebic", "ll-d": "ll"}


def is_close(x: ArrayLike, y: ArrayLike, rtol: float = 1e-9, atol: float = 1e-8) -> bool:
    """Return whether numbers agree; NaN agrees with nothing."""
    return bool(np.allclose(np.asarray(x, dtype=float), np.asarray(y, dtype=float), rtol=rtol, atol=atol))


# ---- scores of directed graphs ----


def rows_in_use(
    table: Table, missing: str, weights: np.ndarray | None
) -> tuple[np.ndarray, list[int], np.ndarray | None]:
    """Return codes, numbers of states and weights after the missing values are dropped or coded."""
    codes, cards = table.codes, list(table.cards)
    if missing == "drop":
        complete = (codes >= 0).all(axis=0)
        codes, weights = codes[:, complete], None if weights is None else weights[complete]
        for v in range(len(codes)):
            if table.frame.dtypes.iloc[v].name != "category":
                levels = np.unique(codes[v])
                cards[v] = len(levels)
                codes = codes.copy()
                codes[v] = np.searchsorted(levels, codes[v])
    elif (codes < 0).any():
        holes = (codes < 0).any(axis=1)
        cards = [r + int(hole) for r, hole in zip(cards, holes, strict=True)]
        codes = np.where(codes < 0, np.array(cards)[:, None] - 1, codes)
    return codes, cards, weights


def make_local_score(
    table: Table, score: str, missing: str, weights: np.ndarray | None, prior: Any = None
) -> LocalScore:
    """Return a function from a family to its score, from the formulas."""
    score = SHORT.get(score.lower(), score.lower())
    codes, cards, weights = rows_in_use(table, missing, weights)
    holes = (table.codes < 0).any(axis=1)
    marks = [r - 1 if hole else -1 for r, hole in zip(cards, holes, strict=True)]
    n_states = [r - int(missing == "pairwise" and hole) for r, hole in zip(cards, holes, strict=True)]
    penalty = {"ll": lambda n: 0.0, "aic": lambda n: 1.0, "bic": lambda n: 0.5 * math.log(n)}  # with missing values
    penalty["ebic"] = penalty["bic"]

    def local_score(child: int, parents: list[int]) -> float:
        cost = (
            prior.cost * (n_states[child] - 1) * math.prod(n_states[p] for p in parents)
            if isinstance(prior, ParameterPrior)
            else 0.0
        )
        if missing == "pairwise" and holes.any():
            choice = log_sets(len(cards) - 1, len(parents)) if score == "ebic" else 0.0
            return node_average(codes, cards, child, parents, marks, penalty[score]) - cost - choice
        if weights is not None:
            return weighted_score(codes, cards, child, parents, weights, score) - cost
        return family_score(codes, cards, child, parents, score) - cost

    return local_score


class GraphPrior(NamedTuple):
    """The log prior of a graph: a constant, and what each edge adds."""

    constant: float
    bonus: float


def make_prior(n: int, score: str, prior: Any) -> GraphPrior:
    """Return the log prior that a search uses."""
    if isinstance(prior, EdgePrior):
        return GraphPrior(0.0, math.log(prior.c))
    if score.lower() == "bds" and prior is None:  # half for no arc of a pair, a quarter for each direction
        return GraphPrior(-math.log(2) * n * (n - 1) / 2, -math.log(2))
    return GraphPrior(0.0, 0.0)


def make_gaussian_score(cells: np.ndarray, score: str, weights: np.ndarray | None, prior: Any = None) -> LocalScore:
    """Return a function from a linear Gaussian family to its score."""
    n = len(cells) if weights is None else weights.sum()
    cost = {"ll-g": 0.0, "aic-g": 1.0, "bic-g": 0.5 * math.log(n), "ebic-g": 0.5 * math.log(n)}[score.lower()]
    cost += prior.cost if isinstance(prior, ParameterPrior) else 0.0
    gamma, n_others = float(score.lower() == "ebic-g"), cells.shape[1] - 1

    def local_score(child: int, parents: list[int]) -> float:
        plain = gaussian_score(cells, child, parents, cost, weights)
        return plain - gamma * log_sets(n_others, len(parents))

    return local_score


def parents_of(edges: list[tuple[int, int]], child: int) -> list[int]:
    """Return the tails of the edges into a variable."""
    return sorted(tail for tail, head in edges if head == child)


def sum_scores(n: int, edges: list[tuple[int, int]], local_score: LocalScore) -> float:
    """Return the score of a graph but for its prior."""
    return math.fsum(local_score(v, parents_of(edges, v)) for v in range(n))


def check_local_optimum(
    n: int,
    edges: list,
    local_score: LocalScore,
    *,
    allowed: set,
    required: set,
    limit: float,
    epsilon: float,
    bonus: float,
) -> None:
    """Raise an AssertionError where adding or deleting one edge gains more than epsilon."""
    present = [local_score(v, parents_of(edges, v)) for v in range(n)]
    for tail, head in sorted(allowed | set(edges)):
        family = parents_of(edges, head)
        if (tail, head) in edges:
            if (tail, head) in required:
                continue
            family, sign = [p for p in family if p != tail], -1
        elif len(family) < limit and is_acyclic([*edges, (tail, head)]):
            family, sign = [*family, tail], 1
        else:
            continue
        gain = local_score(head, sorted(family)) - present[head] + sign * bonus
        assert gain < epsilon + 1e-6 * max(1.0, abs(present[head])), f"changing {tail} -> {head} gains {gain}"


def check_dag(names: list, learner: Any) -> list[tuple[int, int]]:
    """Return the edges of a learned graph, whose faces must agree and which must have no cycle."""
    edges = [(int(tail), int(head)) for tail, head in learner.edges_]
    assert len(set(edges)) == len(edges)
    assert all(0 <= v < len(names) for edge in edges for v in edge)
    assert is_acyclic(edges), f"a cycle in {edges}"
    assert list(learner.variables_) == list(names)
    assert set(learner.dag_.nodes()) == set(names)
    assert set(learner.dag_.edges()) == {(names[i], names[j]) for i, j in edges}
    pairs = {frozenset(edge) for edge in learner.graph_.edges()}
    assert pairs == {frozenset((names[i], names[j])) for i, j in edges}
    return edges


def check_network(model: Any) -> None:
    """Raise an AssertionError unless the conditional probabilities of a network are such."""
    for cpd in model.cpds:
        if hasattr(cpd, "get_values"):
            values = cpd.get_values()
            assert (values >= 0).all() and is_close(values.sum(axis=0), 1), values
        else:
            assert np.isfinite(cpd.beta).all() and cpd.std >= 0, cpd


# ---- Markov networks ----


def check_pseudolikelihood(
    learner: Any, codes: np.ndarray, cards: list[int], l2: float, weights: Any, factors: dict
) -> None:
    """Compare the objective with its formula, and look for violations of the conditions of optimality."""
    potentials = learner.model_.potentials
    pairs = [(i, j) for i in range(len(cards)) for j in range(i + 1, len(cards))]
    known = dict(zip(map(tuple, potentials.edges.tolist()), potentials.tables(), strict=True))
    tables = [np.ravel(known.get(pair, np.zeros(cards[pair[0]] * cards[pair[1]]))) for pair in pairs]
    values = np.concatenate([potentials.node_values, *tables])
    lam = learner.lam_
    is_free = [factors.get(pair, 1.0) != math.inf for pair in pairs]
    penalties = [0.0] * len(cards) + [
        (lam * factors.get((i, j), 1.0) if free else 0.0) * math.sqrt(cards[i] * cards[j])
        for (i, j), free in zip(pairs, is_free, strict=True)
    ]
    objective = pseudolikelihood.objective(cards, pairs, values, codes, penalties, l2, weights=weights)
    assert is_close(learner.objective_, objective, rtol=2e-5, atol=2e-5), (learner.objective_, objective)
    if learner.converged_ and lam > 0:  # without a penalty, pairs without any information are left out
        distances = pseudolikelihood.distances(cards, pairs, values, codes, penalties, l2, weights=weights)
        heavy = codes if weights is None else codes[:, np.asarray(weights) > 0]
        varies = heavy.min(axis=1) < heavy.max(axis=1)  # a column of one state is joined to nothing
        is_free = [free and varies[i] and varies[j] for (i, j), free in zip(pairs, is_free, strict=True)]
        distances = distances[[True] * len(cards) + is_free]
        assert distances.max(initial=0.0) <= 3 * learner.tol + 2e-5, f"kkt {distances.max()}"


# ---- Gaussian networks ----


def correlation_of(cells: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the correlation matrix of rows."""
    weights = np.ones(len(cells)) if weights is None else np.asarray(weights, dtype=float)
    centred = cells - np.average(cells, axis=0, weights=weights)
    scale = np.sqrt(np.average(centred**2, axis=0, weights=weights))
    centred /= scale
    return (centred * weights[:, None]).T @ centred / weights.sum()


def check_precision(learner: Any, R: np.ndarray, scale: np.ndarray, options: dict) -> None:
    """Look for violations of the conditions of optimality of a Gaussian graph, from outside."""
    p = len(R)
    theta = np.asarray(learner.precision_) * np.outer(scale, scale)
    assert np.isfinite(theta).all()
    fitted = learner.model_.precision.to_numpy() * np.outer(scale, scale)
    assert np.linalg.eigvalsh((fitted + fitted.T) / 2)[0] > 0
    edges = {tuple(edge) for edge in np.asarray(learner.edges_).tolist()}
    if not options.get("refit"):
        off = np.argwhere(np.triu(theta != 0, 1))
        assert {(int(i), int(j)) for i, j in off} <= edges or type(learner).__name__ != "GraphicalLasso"
    assert is_close(np.asarray(learner.covariance_) / np.outer(scale, scale) @ fitted, np.eye(p), atol=1e-5)
    if type(learner).__name__ == "GraphicalLasso" and learner.converged_ and not options.get("refit"):
        diagonal = bool(options.get("penalize_diagonal", False))
        gap = graphical_lasso.gap((theta + theta.T) / 2, R, learner.lam_, diagonal)
        assert abs(gap) <= 1e-4 * max(1.0, p), f"duality gap {gap}"

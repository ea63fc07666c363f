"""Cases of counts of coded tables, and of the losses of Markov networks."""

from pathlib import Path
from typing import Any

import numpy as np

from pgmx import scores, solvers, statistics
from pgmx.data import DiscreteTable
from tests.fuzz.calls import Arguments, enter_calls
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.frames import draw_codes
from tests.fuzz.oracles import is_close
from tests.oracles import pseudolikelihood
from tests.oracles.family_scores import family_score


def draw_coded(rng: np.random.Generator, n_rows: int | None = None) -> DiscreteTable:
    """Return a coded table, some of whose states do not occur."""
    n = int(rng.integers(1, 6))
    codes = draw_codes(rng, n, n_rows or int(pick(rng, [2, 5, 63, 64, 65, 600])))
    cards = codes.max(axis=1) + 1 + rng.integers(0, 2, n)
    return DiscreteTable([f"x{v}" for v in range(n)], [range(r) for r in cards], codes)


def count(table: DiscreteTable, i: int, j: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the table of a pair of variables, by numpy."""
    cells = np.zeros((table.cardinalities[i], table.cardinalities[j]))
    np.add.at(cells, (table.codes[i], table.codes[j]), 1.0 if weights is None else weights)
    return cells


def check_marginals(result: Any, arguments: Arguments) -> None:
    """They are numpy's counts."""
    table = arguments["table"]
    expected = [np.bincount(row, minlength=r) for row, r in zip(table.codes, table.cardinalities, strict=True)]
    assert np.array_equal(result, np.concatenate(expected)), result


enter_calls(
    "statistics.marginal_counts", statistics.marginal_counts, lambda rng: {"table": draw_coded(rng)}, check_marginals
)


@entry("statistics.PairTables", 2.0)
def draw_pair_tables(rng: np.random.Generator) -> Case:
    """Return a case of joint distributions of pairs."""
    table = draw_coded(rng)
    n = table.n_variables
    weights: Any = rng.random(table.n_rows) + 0.1 if chance(rng, 0.5) else None
    pairs: Any = [(int(i), int(j)) for i in range(n) for j in range(i + 1, n)]
    kind = pick(rng, ["", "", "weights", "memory", "outside", "itself", "shape"])
    faults = []
    options: Arguments = {}
    if kind == "weights":
        weights = pick(rng, [[1.0], [-1.0] * table.n_rows, ["x"] * table.n_rows, np.full(table.n_rows, np.nan)])
        faults = [fault("weight")]
    elif kind == "memory":
        options, faults = {"memory": pick(rng, [0, -1, "x"])}, [fault("memory")]
    elif kind in ("outside", "itself", "shape"):
        pairs = {"outside": [(0, n)], "itself": [(0, 0)], "shape": [(0, 0, 0)]}[kind]
        faults = [fault("variable", "pairs")]

    def call(folder: Path) -> Any:
        tables = statistics.PairTables(table, weights=weights, **options)
        return tables.get(pairs), tables.margins()

    def check(result: Any) -> None:
        joints, margins = result
        for (i, j), joint in zip(pairs, joints, strict=True):
            expected = count(table, i, j, weights)
            assert is_close(joint, expected / expected.sum(), atol=1e-12)
        assert all(is_close(margin.sum(), 1) for margin in margins)

    return Case("", call, check, faults, plan=f"{kind} {table!r} weights {weights is not None} {pairs} {options}")


@entry("solvers.losses", 3.0)
def draw_loss(rng: np.random.Generator) -> Case:
    """Return a case of a loss that is optimised over some edges."""
    table = draw_coded(rng, n_rows=60)
    n, cards = table.n_variables, table.cardinalities.tolist()
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if chance(rng, 0.6)]
    name = pick(rng, ["PseudolikelihoodLoss", "PseudolikelihoodLoss", "ExactLoss", "BetheLoss"])
    options: Arguments = {"lam": pick(rng, [0.0, 0.02, 0.1]), "l2": pick(rng, [0.001, 0.1])}
    kind = pick(rng, ["", "", "", "lam", "l2", "twice", "lam nan"])
    faults = []
    if kind in ("lam", "l2"):
        options[kind] = -1.0
        faults = [fault(kind)]
    elif kind == "twice" and pairs:
        faults = [fault("already active")]

    def call(folder: Path) -> Any:
        loss = getattr(solvers, name)(table, statistics.PairTables(table), **options)
        loss.activate(np.array(pairs, dtype=np.int64).reshape(-1, 2))
        if kind == "twice" and pairs:
            loss.activate(np.array(pairs[:1]))
        loss.optimise(tol=1e-5)
        return loss

    def check(loss: Any) -> None:
        potentials = loss.potentials()
        assert np.isfinite(potentials.node_values).all() and np.isfinite(potentials.edge_values).all()
        assert np.isfinite(loss.objective()) and np.isfinite(loss.kkt_residual())
        if name != "PseudolikelihoodLoss":
            return
        known = dict(zip(map(tuple, potentials.edges.tolist()), potentials.tables(), strict=True))
        tables = [np.ravel(known.get(pair, np.zeros(cards[pair[0]] * cards[pair[1]]))) for pair in pairs]
        values = np.concatenate([potentials.node_values, *tables])
        groups = [0.0] * n + [options["lam"] * np.sqrt(cards[i] * cards[j]) for i, j in pairs]
        objective = pseudolikelihood.objective(cards, pairs, values, table.codes, groups, options["l2"])
        assert is_close(loss.objective(), objective, rtol=1e-5, atol=1e-5), (loss.objective(), objective)

    return Case("", call, check, faults, plan=f"{name} {kind} {table!r} {pairs} {options}")


@entry("scores.family_scorer", 2.0)
def draw_scorer(rng: np.random.Generator) -> Case:
    """Return a case of the compiled scorer by ids."""
    table = draw_coded(rng)
    n = table.n_variables
    child = int(rng.integers(n))
    parents = np.array([v for v in range(n) if v != child and chance(rng, 0.5)], dtype=np.int32)
    terms = {"ll": scores.ScoreTerms(), "aic": scores.ScoreTerms(penalty=1.0)}
    name = pick(rng, terms)

    def call(folder: Path) -> Any:
        return scores.family_scorer(table, terms[name]).family_score(child, parents)

    def check(result: float) -> None:
        expected = family_score(table.codes, table.cardinalities.tolist(), child, parents.tolist(), name)
        assert is_close(result, expected, rtol=1e-10, atol=1e-8), (result, expected)

    return Case("", call, check, plan=f"{name} {table!r} {child} {parents}")

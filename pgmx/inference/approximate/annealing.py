"""Annealed importance sampling: the log-partition of networks too wide for exact inference, with a standard error."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from pgmx._ext import _annealing
from pgmx.checks import check_natural, check_seed, is_number
from pgmx.inference.approximate.spanning_tree import fit_tree
from pgmx.inference.networks import LogFactors

#: Options of the estimate.
AIS_OPTIONS = ("max_work", "n_chains", "n_jobs", "random_state", "tol")
#: Standard error in nats at which runs stop.
AIS_TOLERANCE = 0.01
#: Chains that the kernel moves together: their states fit into a processor's cache.
BLOCK = 64
#: Temperatures of the first run; smallest and largest factor to the next run, and a margin on the factor needed.
FIRST_STEPS = 32
LEAST_GROWTH, MOST_GROWTH, GROWTH_MARGIN = 2.0, 4.0, 1.2
#: Nats between a cell of minus infinity and the smallest finite cell of its table while chains are annealed.
FORBIDDEN_GAP = 20.0
#: Share of equal steps that every schedule keeps, whatever the first run suggests.
EVEN_SHARE = 0.2


class AnnealingEstimate(NamedTuple):
    """An estimate of a log-partition with its standard error and effective number of chains.

    The largest score of a chain's last state is a lower bound on the log-partition.
    """

    value: float
    standard_error: float
    effective_size: float
    largest_score: float


class _Layout(NamedTuple):
    """Tables of any arity, one after the other; the kernel's first arguments, in its order."""

    node_at: np.ndarray
    table_at: np.ndarray
    member_at: np.ndarray
    member: np.ndarray
    stride: np.ndarray
    pointer: np.ndarray
    incident: np.ndarray
    owner: np.ndarray


def estimate_by_annealing(
    factors: LogFactors,
    *,
    random_state: int | None = 0,
    tol: float = AIS_TOLERANCE,
    n_chains: int = 512,
    max_work: int = 4 * 10**9,
    n_jobs: int | None = None,
) -> AnnealingEstimate:
    """Estimate the log-partition by annealed importance sampling from a spanning tree.

    Each run has two to four times as many temperatures as the previous one. Runs end when the standard error is at most
    `tol` or after reading `max_work` cells. Scopes are distinct and not empty. Cells of minus infinity outside the tree
    have very low finite values, so that chains can leave them; a chain that ends at such a cell has weight 0.
    """
    sequence = np.random.SeedSequence(check_seed(random_state))
    n_chains = check_natural(n_chains, "n_chains", 2)
    max_work = check_natural(max_work, "max_work", 0)
    if not is_number(tol) or tol <= 0:
        raise ValueError(f"tol must be a positive number of nats, got {tol!r}")
    layout, target = _lay_out(_make_finite(factors))
    tree = fit_tree(factors)
    _, base = _lay_out(tree.factors)
    sweep = n_chains * max(1, sum(int(factors.cardinalities[list(scope)].sum()) for scope in factors.scopes))
    temperatures = np.linspace(0.0, 1.0, FIRST_STEPS + 1)
    while True:
        # Each run has streams of its own, so that its estimate is independent of the runs that chose its temperatures.
        seeds, words = sequence.spawn(1)[0].spawn(2)
        states = tree.draw_samples(n_chains, np.random.default_rng(seeds))
        log_weights, variances = _run_chains(layout, base, target, temperatures, states, words, n_jobs)
        scores = factors.log_score(states)
        log_weights[scores == -np.inf] = -np.inf
        estimate = AnnealingEstimate(*_average(tree.log_partition, log_weights), float(scores.max()))
        n_steps = len(temperatures) - 1
        max_work -= n_steps * sweep
        # The variance falls like one over the number of temperatures.
        growth = min(max(LEAST_GROWTH, GROWTH_MARGIN * (estimate.standard_error / tol) ** 2), MOST_GROWTH)
        next_steps = min(int(growth * n_steps), max_work // sweep)
        if estimate.standard_error <= tol or next_steps <= n_steps:
            return estimate
        temperatures = _choose_temperatures(temperatures, variances, next_steps)


def _make_finite(factors: LogFactors) -> LogFactors:
    """Return factors in which minus infinity is replaced by a finite value below all others of the table."""
    tables = []
    for table in factors.tables:
        possible = table > -np.inf
        least = table.min(where=possible, initial=np.inf) - FORBIDDEN_GAP
        tables.append(table if possible.all() else np.where(possible, table, least))
    return LogFactors(factors.cardinalities, factors.scopes, tuple(tables))


def _lay_out(factors: LogFactors) -> tuple[_Layout, np.ndarray]:
    """Return the layout of all cells, and the cells: first of single variables, then of the other tables."""
    cards = factors.cardinalities
    node_at = np.concatenate([[0], np.cumsum(cards)])
    nodes = np.zeros(node_at[-1])
    others = []
    for scope, table in zip(factors.scopes, factors.tables, strict=True):
        if len(scope) == 1:
            nodes[node_at[scope[0]] : node_at[scope[0] + 1]] += table
        else:
            others.append((scope, np.ascontiguousarray(table)))
    sizes = np.array([table.size for _, table in others], dtype=np.int64)
    arity = np.array([len(scope) for scope, _ in others], dtype=np.int64)
    member = np.array([v for scope, _ in others for v in scope], dtype=np.int64)
    # numpy's strides are in bytes, the kernel's in cells.
    stride = np.array([step // 8 for _, table in others for step in table.strides], dtype=np.int64)
    layout = _Layout(
        node_at.astype(np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([[0], np.cumsum(arity)]).astype(np.int64),
        member,
        stride,
        np.concatenate([[0], np.cumsum(np.bincount(member, minlength=len(cards)))]).astype(np.int64),
        np.argsort(member, kind="stable").astype(np.int64),
        np.repeat(np.arange(len(others)), arity).astype(np.int64),
    )
    return layout, np.concatenate([nodes, *(table.ravel() for _, table in others)])


def _run_chains(
    layout: _Layout,
    base: np.ndarray,
    target: np.ndarray,
    temperatures: np.ndarray,
    states: np.ndarray,
    entropy: np.random.SeedSequence,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of the weights of all chains, and the variance of D at each temperature.

    The states, int32 (n, chains), are updated in place.
    """
    from pgmx.parallel.threads import call_on_threads

    n_chains, n_steps = states.shape[1], len(temperatures) - 1
    words = entropy.generate_state(n_chains, np.uint64)
    log_weights = np.empty(n_chains)
    starts = range(0, n_chains, BLOCK)
    differences = np.empty((len(starts), n_steps, 2))

    def run(number: int) -> int:
        chains = slice(starts[number], starts[number] + BLOCK)
        block = np.ascontiguousarray(states[:, chains], dtype=np.int32)
        alive = _annealing.anneal(
            *layout, base, target, temperatures, block, words[chains], log_weights[chains], differences[number]
        )
        states[:, chains] = block
        return alive

    calls = (partial(run, number) for number in range(len(starts)))
    alive = sum(call_on_threads(calls, n_jobs))
    sums, squares = differences.sum(axis=0).T / max(alive, 1)
    return log_weights, np.maximum(squares - sums**2, 0.0)


def _choose_temperatures(temperatures: np.ndarray, variances: np.ndarray, n_steps: int) -> np.ndarray:
    """Return temperatures with equal standard deviations of the steps of the logarithm of a weight."""
    lengths = np.sqrt(variances) * np.diff(temperatures)
    # All variances may be 0.
    lengths = lengths / max(lengths.sum(), 1e-300)
    lengths = (1.0 - EVEN_SHARE) * lengths + EVEN_SHARE / len(lengths)
    reached = np.concatenate([[0.0], np.cumsum(lengths)])
    chosen = np.interp(np.linspace(0.0, reached[-1], n_steps + 1), reached, temperatures)
    # Exactly the base and the target, however interpolation rounds.
    chosen[0], chosen[-1] = 0.0, 1.0
    return chosen


def _average(log_partition: float, log_weights: np.ndarray) -> tuple[float, float, float]:
    """Return the estimate from the base's log-partition and the weights, its standard error and effective size.

    Few chains miss the largest weights and underestimate the variance. The variance of a log-normal variable is then
    used instead.
    """
    top = log_weights.max()
    if top == -np.inf:
        return -np.inf, np.inf, 0.0
    weights = np.exp(log_weights - top)
    n_chains, mean = len(weights), weights.mean()
    variance = weights.var(ddof=1) / mean**2
    alive = log_weights > -np.inf
    spread = float(np.var(log_weights[alive]))
    # exp(50) stands for any larger variance, and stays finite.
    variance = max(variance, np.expm1(min(spread, 50.0)) * alive.mean())
    size = float(weights.sum() ** 2 / (weights**2).sum())
    return float(log_partition + top + np.log(mean)), float(np.sqrt(variance / n_chains)), size

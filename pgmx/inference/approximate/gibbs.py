"""Gibbs sampling from discrete Markov networks with a compiled sweep."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from pgmx._ext import _gibbs
from pgmx.checks import check_natural, check_seed
from pgmx.inference.networks import LogFactors, PairwisePotentials
from pgmx.inference.reduced_network import Network, ZeroProbabilityError, check_evidence
from pgmx.parallel.threads import call_on_threads


class Conditionals(NamedTuple):
    """Tables of a network copied for each of their variables; the kernels' first arguments, in their order."""

    node_offsets: np.ndarray
    node_logs: np.ndarray
    node_scaled: np.ndarray
    pointer: np.ndarray
    first_row: np.ndarray
    members: np.ndarray
    member: np.ndarray
    strides: np.ndarray
    logs: np.ndarray
    scaled: np.ndarray


def gibbs_sample(
    model: Network,
    n_samples: int,
    *,
    evidence: Mapping[int, int] | None = None,
    burn_in: int = 1000,
    thinning: int = 10,
    n_chains: int = 1,
    seed: int | None = 0,
    start: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    r"""Draw configurations of a discrete Markov network by systematic-scan Gibbs sampling.

    A sweep draws the variables one after the other from their conditional distribution given all others,

    .. math:: p(x_i \mid x_{-i}) \propto \exp\Big(\theta_i(x_i) + \sum_{c \ni i} \theta_c(x_c)\Big)

    Parameters
    ----------
    model : PairwisePotentials or LogFactors
        Log-potentials; cells may be minus infinity.
    n_samples : int
        Total number of samples of all chains.
    evidence : dict of {int: int}, optional
        Variables that are held fixed, with their state codes.
    burn_in : int, default=1000
        Sweeps of each chain before its first sample is kept.
    thinning : int, default=10
        Sweeps from one sample to the next, at least 1.
    n_chains : int, default=1
        Independent chains. Each draws an equal number of samples after its own burn-in.
    seed : int or None, default=0
        Seed of the random streams, one per chain; None takes fresh entropy.
    start : array_like of int, shape (n,) or (n, n_chains), optional
        Codes from which the chains start; None draws them uniformly.
    n_jobs : int, optional
        Threads that run chains; None means one. The samples do not depend on it.

    Returns
    -------
    ndarray of uint8 or uint16, shape (n, n_samples)
        State codes, one row per variable as in :class:`pgmx.data.DiscreteTable`; the samples of a chain are adjacent,
        in the order in which they were drawn. uint16 if a variable has more than 256 states.

    Raises
    ------
    TypeError
        If a number, a variable or a code is not an integer.
    ValueError
        If an option is out of range, evidence or start have no such variable or state, or no configuration of positive
        probability was found.

    Notes
    -----
    One sweep costs a multiplication per state and incident table: about 50 ns per variable with five states and four
    neighbours. Samples of one chain are correlated. If cells are minus infinity, a chain may start at an impossible
    configuration. It then draws states that violate the fewest tables until it reaches a possible configuration. From
    there it visits possible configurations only, but may not reach all of them, since one variable changes at a time.

    References
    ----------
    .. [1] Geman, S. and Geman, D. (1984). Stochastic relaxation, Gibbs distributions, and the Bayesian restoration of
       images. IEEE Transactions on Pattern Analysis and Machine Intelligence 6, 721-741.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.inference import PairwisePotentials
    >>> from pgmx.inference.approximate.gibbs import gibbs_sample
    >>> agree = PairwisePotentials.build([2, 2], tables={(0, 1): [[1.0, 0.0], [0.0, 1.0]]})
    >>> codes = gibbs_sample(agree, 20000, burn_in=100, thinning=1)
    >>> codes.shape
    (2, 20000)
    >>> exact = np.e / (np.e + 1.0)
    >>> bool(abs(np.mean(codes[0] == codes[1]) - exact) < 0.02)
    True
    """
    tables = copy_tables(model)
    cards = np.asarray(model.cardinalities, dtype=np.int64)
    n_samples, burn_in = check_natural(n_samples, "n_samples", 0), check_natural(burn_in, "burn_in", 0)
    thinning, n_chains = check_natural(thinning, "thinning", 1), check_natural(n_chains, "n_chains", 1)
    fixed = check_evidence(evidence, cards)
    sequence = np.random.SeedSequence(check_seed(seed))
    states = _choose_first_states(start, cards, n_chains, sequence.spawn(1)[0])
    # A seed per chain: the samples do not depend on the number of threads.
    words = sequence.generate_state(n_chains, np.uint64)
    free = np.setdiff1d(np.arange(len(cards)), list(fixed)).astype(np.int64)
    for variable, code in fixed.items():
        states[variable] = code
    codes = np.empty((len(cards), n_samples), dtype=np.uint8 if cards.max() <= 256 else np.uint16)
    # The chains differ by at most one sample.
    bounds = [n_samples * c // n_chains for c in range(n_chains + 1)]

    def run(c: int) -> bool:
        columns = codes[:, bounds[c] : bounds[c + 1]]
        if not columns.shape[1]:
            return True
        possible = _gibbs.run_chain(
            *tables,
            free,
            np.ascontiguousarray(states[:, c], dtype=np.int32),
            words[c : c + 1],
            np.empty(int(cards.max())),
            burn_in,
            thinning,
            columns,
        )
        # a sweep never reads the tables between fixed variables
        return possible and bool(np.isfinite(model.log_score(columns[:, :1]))[0])

    successes = call_on_threads((partial(run, c) for c in range(n_chains)), n_jobs)
    if not all(successes):
        raise ZeroProbabilityError(
            fixed,
            template=f"no configuration of positive probability{{given}} was found in {burn_in + thinning} sweeps: "
            "check the evidence, raise burn_in, or give a possible configuration as start",
        )
    return codes


def _choose_first_states(
    start: np.ndarray | None, cards: np.ndarray, n_chains: int, entropy: np.random.SeedSequence
) -> np.ndarray:
    """Return the first configuration of each chain, (n, n_chains)."""
    shape = (len(cards), n_chains)
    if start is None:
        return np.random.default_rng(entropy).integers(0, cards[:, None], size=shape)
    codes = np.asarray(start)
    if codes.shape not in (shape, shape[:1]) or codes.dtype.kind not in "iu":
        raise ValueError(f"start must hold integers of shape {shape[:1]} or {shape}, got {codes.shape}, {codes.dtype}")
    states = np.array(np.broadcast_to(codes if codes.ndim == 2 else codes[:, None], shape), dtype=np.int64)
    wrong = np.flatnonzero(((states < 0) | (states >= cards[:, None])).any(axis=1))
    if wrong.size:
        v = wrong[0]
        raise ValueError(f"start gives variable {v} a state outside 0..{cards[v] - 1}: {states[v].tolist()}")
    return states


def _scale_rows(logs: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the exponentials of rows, scaled to a maximum of 1; rows of minus infinity become zeros."""
    # `reduceat` needs one row at least.
    if not logs.size:
        return logs
    tops = np.maximum.reduceat(logs, starts)
    tops[tops == -np.inf] = 0.0
    return np.exp(logs - np.repeat(tops, np.diff(np.append(starts, logs.size))))


def copy_tables(network: Network) -> Conditionals:
    """Return the tables of a network in the layout of the sampling kernels."""
    return _copy_pairs(network) if isinstance(network, PairwisePotentials) else _copy_factors(network)


def _copy_pairs(potentials: PairwisePotentials) -> Conditionals:
    cards, edges = potentials.cardinalities, potentials.edges
    pointer, neighbour, edge = potentials.neighbours()
    variable = np.repeat(np.arange(len(cards)), np.diff(pointer))
    first, second = cards[edges[:, 0]], cards[edges[:, 1]]
    offsets = potentials.edge_offsets
    # The original tables (i, j), with j contiguous, are followed by their transposes, with i contiguous.
    of_cell = np.repeat(np.arange(len(edges)), first * second)
    row, column = np.divmod(np.arange(offsets[-1]) - offsets[of_cell], second[of_cell])
    transposed = np.empty(offsets[-1])
    transposed[offsets[of_cell] + column * first[of_cell] + row] = potentials.edge_values
    logs = np.concatenate([potentials.edge_values, transposed])
    lengths = np.concatenate([np.repeat(second, first), np.repeat(first, second)])
    return Conditionals(
        potentials.node_offsets,
        potentials.node_values,
        _scale_rows(potentials.node_values, potentials.node_offsets[:-1]),
        pointer,
        offsets[edge] + np.where(variable < neighbour, offsets[-1], 0),
        np.arange(len(neighbour) + 1),
        neighbour,
        cards[variable],
        logs,
        _scale_rows(logs, np.cumsum(lengths) - lengths),
    )


def _copy_factors(factors: LogFactors) -> Conditionals:
    cards = np.asarray(factors.cardinalities, dtype=np.int64)
    node_offsets = np.concatenate([[0], np.cumsum(cards)])
    node_logs = np.zeros(node_offsets[-1])
    incident: list[list[tuple[np.ndarray, list[int]]]] = [[] for _ in cards]
    for scope, table in zip(factors.scopes, factors.tables, strict=True):
        if len(scope) == 1:
            node_logs[node_offsets[scope[0]] : node_offsets[scope[0] + 1]] += table
            continue
        for k, v in enumerate(scope):
            copy = np.ascontiguousarray(np.moveaxis(np.asarray(table, dtype=np.float64), k, -1))
            incident[v].append((copy, [other for other in scope if other != v]))
    copies = [copy for of_variable in incident for copy, _ in of_variable]
    others = [rest for of_variable in incident for _, rest in of_variable]
    # numpy's strides are in bytes, the kernel's in cells.
    strides = [stride // 8 for copy in copies for stride in copy.strides[:-1]]
    sizes = np.array([copy.size for copy in copies], dtype=np.int64)
    logs = np.concatenate([copy.ravel() for copy in copies]) if copies else np.empty(0)
    lengths = np.concatenate([np.full(c.size // c.shape[-1], c.shape[-1]) for c in copies]) if copies else np.empty(0)
    return Conditionals(
        node_offsets,
        node_logs,
        _scale_rows(node_logs, node_offsets[:-1]),
        np.concatenate([[0], np.cumsum([len(of_variable) for of_variable in incident])]).astype(np.int64),
        np.cumsum(sizes) - sizes,
        np.concatenate([[0], np.cumsum([len(rest) for rest in others])]).astype(np.int64),
        np.array([other for rest in others for other in rest], dtype=np.int64),
        np.array(strides, dtype=np.int64),
        logs,
        _scale_rows(logs, (np.cumsum(lengths) - lengths).astype(np.int64)),
    )

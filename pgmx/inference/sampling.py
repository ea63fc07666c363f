"""Forward sampling of discrete Bayesian networks as state codes, one vectorised pass per variable."""

import numpy as np

from pgmx.inference.networks.bayesian import NetworkArrays, parents_first


def draw_codes(arrays: NetworkArrays, n_rows: int, random_state: int | None) -> list[np.ndarray]:
    """Draw rows as state codes: one integer array per variable, each from its own stream."""
    entropy = np.random.SeedSequence(random_state).entropy
    codes: dict[int, np.ndarray] = {}
    for v in parents_first(arrays):
        drawn = [codes[parent] for parent in arrays.parents[v]]
        codes[v] = _draw(_cumulative(arrays.tables[v]), drawn, _uniforms(entropy, v, n_rows))
    return [codes[v] for v in range(len(codes))]


def _uniforms(entropy, position, n_rows):
    """Doubles in [0, 1) made of the top 53 bits of PCG64's raw output, which numpy keeps stable for ever."""
    stream = np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=(position,)))
    return (stream.random_raw(n_rows) >> np.uint64(11)) * 2.0**-53


def _cumulative(values):
    """Sum over states, scaled so that no rounding of the file's decimals can reach a state of probability zero."""
    total = np.cumsum(values, axis=0)
    remaining = np.cumsum(values[::-1], axis=0)[::-1]
    cumulative = total / total[-1]
    cumulative[:-1][remaining[1:] == 0.0] = 1.0
    return cumulative


def _draw(cumulative, parent_codes, uniforms):
    n_states = cumulative.shape[0]
    drawn = np.zeros(uniforms.size, dtype=np.min_scalar_type(-n_states))
    if not parent_codes:
        for state in range(n_states - 1):
            drawn += uniforms >= cumulative[state]
        return drawn
    row = np.ravel_multi_index(parent_codes, cumulative.shape[1:])
    for state in range(n_states - 1):
        drawn += uniforms >= cumulative[state].ravel()[row]
    return drawn

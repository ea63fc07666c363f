"""Forward sampling of discrete Bayesian networks as state codes, one vectorised pass per variable."""

from collections.abc import Sequence

import numpy as np

from pgmx.inference.networks.bayesian import BayesianArrays


def draw_codes(arrays: BayesianArrays, n_rows: int, random_state: int | None) -> list[np.ndarray]:
    """Draw rows as state codes: one integer array per variable, each from its own stream."""
    entropy = np.random.SeedSequence(random_state).entropy
    codes: dict[int, np.ndarray] = {}
    for v in arrays.sort_parents_first():
        parent_codes = [codes[parent] for parent in arrays.parents[v]]
        codes[v] = _draw(_accumulate(arrays.tables[v]), parent_codes, _draw_uniforms(entropy, v, n_rows))
    return [codes[v] for v in range(len(codes))]


def _draw_uniforms(entropy: int | Sequence[int] | None, position: int, n_rows: int) -> np.ndarray:
    """Return doubles in [0, 1) made of the top 53 bits of PCG64's raw output, which numpy keeps stable for ever."""
    stream = np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=(position,)))
    return (stream.random_raw(n_rows) >> np.uint64(11)) * 2.0**-53


def _accumulate(values: np.ndarray) -> np.ndarray:
    """Sum over states, scaled so that no rounding of the file's decimals can reach a state of probability zero."""
    total = np.cumsum(values, axis=0)
    remaining = np.cumsum(values[::-1], axis=0)[::-1]
    cumulative = total / total[-1]
    cumulative[:-1][remaining[1:] == 0.0] = 1.0
    return cumulative


def _draw(cumulative: np.ndarray, parent_codes: list[np.ndarray], uniforms: np.ndarray) -> np.ndarray:
    n_states = cumulative.shape[0]
    codes = np.zeros(uniforms.size, dtype=np.min_scalar_type(-n_states))
    if not parent_codes:
        for state in range(n_states - 1):
            codes += uniforms >= cumulative[state]
        return codes
    row = np.ravel_multi_index(parent_codes, cumulative.shape[1:])
    for state in range(n_states - 1):
        codes += uniforms >= cumulative[state].ravel()[row]
    return codes

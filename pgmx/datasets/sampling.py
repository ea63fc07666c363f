"""Forward sampling of discrete Bayesian networks, one vectorised pass per variable."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from pgmx.metrics.arrays import NetworkArrays, network_arrays, parents_first

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork


def sample(model: DiscreteBayesianNetwork, n_rows: int, *, random_state: int | None = 0) -> pd.DataFrame:
    r"""Draw independent rows from a discrete Bayesian network by forward (ancestral) sampling.

    Variables are visited parents first. In a row whose parents are in configuration :math:`j`, the state of variable
    :math:`v` is the number of states :math:`k` with :math:`F_{vj}(k) \le u`, where :math:`F_{vj}` is the cumulative
    distribution in that configuration and :math:`u` is uniform on :math:`[0, 1)`.

    Parameters
    ----------
    model : pgmpy.models.DiscreteBayesianNetwork
        A network with a conditional probability table for every node. It is only read.
    n_rows : int
        Number of rows, at least 0.
    random_state : int or None, default=0
        A non-negative seed; None draws fresh entropy from the operating system.

    Returns
    -------
    pandas.DataFrame, shape (n_rows, n_variables)
        Columns in the order of ``model.nodes()``, each of category dtype whose categories are all states of the
        variable, drawn or not, in the order of its table.

    Raises
    ------
    TypeError
        If `n_rows` or `random_state` is no integer.
    ValueError
        If one of them is negative, a node has no table or one for other parents, or the graph has a cycle.

    Notes
    -----
    Each variable has a random stream of its own, seeded by `random_state` and the position of the variable in
    ``model.nodes()``: the same seed gives the same frame on every platform, and its first rows are the frame
    that a smaller `n_rows` gives. The time is O(n_rows * sum of (number of parents + number of states)).

    References
    ----------
    M. Henrion (1988), Propagating uncertainty in Bayesian networks by probabilistic logic sampling.

    Examples
    --------
    >>> from pgmx.datasets import load_network, sample
    >>> frame = sample(load_network("cancer"), 1000, random_state=1)
    >>> frame.shape
    (1000, 5)
    >>> list(frame["Smoker"].cat.categories)
    ['True', 'False']
    """
    n_rows = _natural(n_rows, "n_rows")
    if random_state is not None:
        random_state = _natural(random_state, "random_state")
    arrays = network_arrays(model)
    codes = sample_codes(arrays, n_rows, random_state)
    columns = [
        pd.Categorical.from_codes(drawn, dtype=pd.CategoricalDtype(list(states)))
        for drawn, states in zip(codes, arrays.states, strict=True)
    ]
    frame = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(n_rows))
    frame.columns = pd.Index(arrays.names, tupleize_cols=False)
    return frame


def sample_codes(arrays: NetworkArrays, n_rows: int, random_state: int | None) -> list[np.ndarray]:
    """Draw rows as state codes: one integer array of length `n_rows` for each variable, as `sample` describes."""
    entropy = np.random.SeedSequence(random_state).entropy
    codes: dict[int, np.ndarray] = {}
    for v in parents_first(arrays):
        drawn = [codes[parent] for parent in arrays.parents[v]]
        codes[v] = _draw(_cumulative(arrays.tables[v]), drawn, _uniforms(entropy, v, n_rows))
    return [codes[v] for v in range(len(codes))]


def _natural(value, name):
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < 0:
        raise ValueError(f"{name} must not be negative, got {value}")
    return int(value)


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

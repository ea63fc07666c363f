"""Log-likelihood of rows under a fitted network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import inf, log, pi
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from pgmx.checks import check_same_names, join_names
from pgmx.inference.networks.bayesian import BayesianArrays
from pgmx.inference.networks.log_tables import take_logs

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork

_CHUNK = 16_384  # rows whose sums stay in the cache


class HasTerms(Protocol):
    """A network that computes the terms of the likelihood itself, such as one of floats beside states."""

    @property
    def names(self) -> tuple:
        """Names of the variables, in order."""
        ...

    def log_likelihood_terms(self, X: Any) -> np.ndarray:
        """Return the log-density of each variable given its parents, (n_variables, n_rows)."""
        ...

    def without_graph(self, question: str) -> HasTerms:
        """Return something that answers the same question with arrays alone."""
        ...


class HeldOutLikelihood(NamedTuple):
    """Log-likelihood of rows under a network, in nats.

    Parameters
    ----------
    mean, total : float
        Over all rows; ``-inf`` where a row has probability 0.
    n_rows : int
        Number of rows.
    n_impossible : int
        Rows of probability 0.
    possible_mean : float
        Mean over the other rows; NaN where there are none. It flatters a network that rules out rows.
    impossible : dict
        Variables whose tables give probability 0, and to how many rows; a row may count at several of them.

    Examples
    --------
    >>> HeldOutLikelihood(-1.5, -3.0, 2, 0, -1.5, {}).mean
    -1.5
    """

    mean: float
    total: float
    n_rows: int
    n_impossible: int
    possible_mean: float
    impossible: dict[Hashable, int]


def held_out_log_likelihood(
    model: DiscreteBayesianNetwork | LinearGaussianBayesianNetwork | HasTerms,
    X,
    *,
    missing: str = "error",
) -> HeldOutLikelihood:
    r"""Return the log-likelihood of rows under a fitted network.

    .. math:: \ell(X) = \sum_{i=1}^{N} \sum_v \ln P(x_{iv} \mid u_{iv})

    with :math:`u_{iv}` the states (or values) of the parents of variable :math:`v` in row :math:`i`. For rows that were
    not used for learning it measures how well the network predicts.

    Parameters
    ----------
    model : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork or ConditionalGaussianNetwork
        A network with all its parameters; it is only read.
    X : DataFrame, array or DiscreteTable of shape (n_samples, n_features)
        What the learners take; its columns are the variables of the network, in any order. A state that the network
        does not know has probability 0. The rows of a distributed table, of states or of numbers, are summed by their
        workers.
    missing : {"error", "drop"}, default="error"
        Whether a missing cell is an error or drops its row.

    Returns
    -------
    HeldOutLikelihood
        A named tuple ``(mean, total, n_rows, n_impossible, possible_mean, impossible)``. Rows of probability 0 are
        counted, and make `mean` and `total` ``-inf``.

    Raises
    ------
    TypeError, ValueError
        If `model` is neither kind of network, the columns are not the variables, cells are missing or infinite, a node
        has no parameters, a standard deviation is not positive, or a column's states are text in the network only.

    Notes
    -----
    One table look-up per cell. Distributions are scaled to the sum 1, since files hold rounded decimals.

    Examples
    --------
    >>> from pgmx.datasets import load_network, sample
    >>> from pgmx.metrics import held_out_log_likelihood
    >>> model = load_network("cancer")
    >>> result = held_out_log_likelihood(model, sample(model, 1000, random_state=1))
    >>> round(result.mean, 2), result.n_impossible
    (-2.05, 0)
    """
    from pgmx.data import DistributedTable, encode
    from pgmx.data.columns.missing import refuse_marked

    network: Any = model
    if hasattr(network, "log_likelihood_terms"):
        return _mixed_likelihood(network, X, missing)
    # known by name, since nothing here imports pgmpy
    if any(base.__name__ == "LinearGaussianBayesianNetwork" for base in type(network).__mro__):
        return _gaussian_likelihood(network, X, missing)
    arrays = BayesianArrays.from_model(network).normalise()
    table = encode(X, missing=missing)
    refuse_marked(table, "a row has a likelihood where all its cells are known; code the table with 'drop'")
    if isinstance(table, DistributedTable):
        return table.reduce(_sum_part, arrays, add=_add_likelihoods)
    return _sum_terms(arrays.names, _DiscreteTerms(arrays, table), table.n_rows)


def _sum_part(part: Any, arrays: BayesianArrays) -> HeldOutLikelihood:
    """Return the likelihood of the rows of a part of a distributed table."""
    return _sum_terms(arrays.names, _DiscreteTerms(arrays, part.table), part.table.n_rows)


def _add_likelihoods(parts: list[HeldOutLikelihood]) -> HeldOutLikelihood:
    """Return the likelihood of the rows of all parts."""
    n_rows, n_impossible = sum(part.n_rows for part in parts), sum(part.n_impossible for part in parts)
    n_possible = n_rows - n_impossible
    possible = sum(
        part.possible_mean * (part.n_rows - part.n_impossible) for part in parts if part.n_rows > part.n_impossible
    )
    total = -inf if n_impossible else possible
    impossible: Counter = Counter()
    for part in parts:
        impossible.update(part.impossible)
    possible_mean = possible / n_possible if n_possible else float("nan")
    return HeldOutLikelihood(total / n_rows, total, n_rows, n_impossible, possible_mean, dict(impossible))


def look_up_logs(codes: Sequence[np.ndarray], logs: np.ndarray) -> np.ndarray:
    """Return the cell of a table of logs for each row, float64 (n_rows,); ``codes[k]`` are the states on axis k."""
    cell = codes[0].astype(np.intp)
    for parent, card in zip(codes[1:], logs.shape[1:], strict=True):
        cell *= card
        cell += parent
    return logs.ravel().take(cell)


class _DiscreteTerms:
    """The terms of a variable for a slice of rows, whose codes alone are translated: a file is not read whole."""

    def __init__(self, arrays: BayesianArrays, table) -> None:
        self._families = [(v, *parents) for v, parents in enumerate(arrays.parents)]
        self._logs = [np.ascontiguousarray(take_logs(values)) for values in arrays.tables]
        columns = _positions(arrays.names, table.columns)
        self._codes = [table.codes[column] for column in columns]
        self._lookups = [_lookup(arrays, v, table.states[column]) for v, column in enumerate(columns)]
        cards = arrays.cards
        self._unknown = {v: cards[v] for v, lookup in enumerate(self._lookups) if lookup.max() == cards[v]}

    def __call__(self, v: int, rows: slice) -> np.ndarray:
        family = self._families[v]
        codes = [self._lookups[u][self._codes[u][rows]] for u in family]
        outside = {}  # rows whose state the network does not have
        for at, u in enumerate(family):
            if u in self._unknown:
                outside[at] = codes[at] == self._unknown[u]
                codes[at][outside[at]] = 0
        terms = look_up_logs(codes, self._logs[v])
        for at, unknown in outside.items():
            if at > 0:
                terms[unknown] = 0.0  # the row is impossible by its parent's own term, whatever this one is
        if 0 in outside:
            terms[outside[0]] = -inf
        return terms


def _positions(names: Sequence, columns: Sequence) -> list[int]:
    """Return the column of each variable, or raise when they are not the same names."""
    check_same_names(names, columns, "the network", "X")
    at = {name: position for position, name in enumerate(columns)}
    return [at[name] for name in names]


def _lookup(arrays: BayesianArrays, v: int, states: Sequence) -> np.ndarray:
    """Return the network's code of each state of a column; one that it does not have is the one after the last."""
    from pgmx.data.recode import match_states

    known = arrays.states[v]
    codes = match_states(states, known, absent=len(known))
    if codes.min() == len(known) and any(str(state) in known for state in states):
        raise ValueError(
            f"column {arrays.names[v]!r} holds {join_names(states)}, which are text in the network: convert it with "
            "astype(str)"
        )
    return codes.astype(np.min_scalar_type(len(known)))


def _sum_terms(names: Sequence, term: Callable[[int, slice], np.ndarray], n_rows: int) -> HeldOutLikelihood:
    """Sum the terms of all variables, rows in chunks."""
    sums = np.zeros(n_rows)
    zeros = np.zeros(len(names), dtype=np.int64)
    for begin in range(0, n_rows, _CHUNK):
        rows = slice(begin, begin + _CHUNK)
        for v in range(len(names)):
            terms = term(v, rows)
            sums[rows] += terms
            zeros[v] += np.count_nonzero(terms == -inf)
    possible = sums[sums > -inf]
    n_impossible = n_rows - possible.size
    total = float(possible.sum()) if not n_impossible else -inf
    return HeldOutLikelihood(
        mean=total / n_rows,
        total=total,
        n_rows=n_rows,
        n_impossible=n_impossible,
        possible_mean=float(possible.mean()) if possible.size else float("nan"),
        impossible={name: int(count) for name, count in zip(names, zeros, strict=True) if count},
    )


class Regression(NamedTuple):
    """A linear Gaussian variable given its parents, by position: intercept and slopes, and standard deviation."""

    variable: int
    parents: list[int]
    beta: np.ndarray
    std: float

    def log_density(self, columns: Sequence[np.ndarray], rows: slice) -> np.ndarray:
        """Return the log-density of some rows."""
        residual = columns[self.variable][rows] - self.beta[0]
        for parent, slope in zip(self.parents, self.beta[1:], strict=True):
            residual = residual - slope * columns[parent][rows]
        return -0.5 * (log(2.0 * pi) + (residual / self.std) ** 2) - log(self.std)


def _gaussian_likelihood(model: LinearGaussianBayesianNetwork, X, missing: str) -> HeldOutLikelihood:
    from pgmx.data import DistributedNumericTable, open_frame

    names = list(model.nodes())
    if isinstance(X, DistributedNumericTable):
        positions = _positions(names, X.names)
        return X.reduce(_sum_gaussian_part, names, positions, _read_regressions(model, names), add=_add_likelihoods)
    frame = open_frame(X).to_pandas(missing=missing)
    positions = _positions(names, list(frame.columns))
    columns = [frame.iloc[:, at].to_numpy(dtype=np.float64) for at in positions]
    regressions = _read_regressions(model, names)
    return _sum_terms(names, lambda v, rows: regressions[v].log_density(columns, rows), len(frame))


def _sum_gaussian_part(
    part: Any, names: list, positions: list[int], regressions: list[Regression]
) -> HeldOutLikelihood:
    """Return the likelihood of the rows of a part of a distributed table of numbers."""
    return _add_likelihoods([_sum_block(block, names, positions, regressions) for block in part.blocks])


def _sum_block(
    block: np.ndarray, names: list, positions: list[int], regressions: list[Regression]
) -> HeldOutLikelihood:
    columns = [block[:, at] for at in positions]
    return _sum_terms(names, lambda v, rows: regressions[v].log_density(columns, rows), len(block))


def _read_regressions(model: LinearGaussianBayesianNetwork, names: list) -> list[Regression]:
    """Return the parameters of all variables; ValueError where a density has none, or no positive deviation."""
    place = {name: v for v, name in enumerate(names)}
    regressions = []
    for v, name in enumerate(names):
        cpd: Any = model.get_cpds(name)
        if cpd is None:
            raise ValueError(f"node {name!r} has no parameters: fit the model or add its CPD")
        if not float(cpd.std) > 0.0:
            raise ValueError(f"the standard deviation of {name!r} is {cpd.std}: a density needs a positive one")
        parents = [place[parent] for parent in cpd.evidence]
        regressions.append(Regression(v, parents, np.asarray(cpd.beta, dtype=np.float64), float(cpd.std)))
    return regressions


def _mixed_likelihood(model: HasTerms, X, missing: str) -> HeldOutLikelihood:
    from pgmx.data import DiscreteTable, DistributedNumericTable, DistributedTable, open_any

    if isinstance(X, DistributedTable | DistributedNumericTable):
        _positions(model.names, list(X.columns if isinstance(X, DistributedTable) else X.names))
        model.log_likelihood_terms(X.without_rows())
        sent = model.without_graph("log_likelihood_terms")
        return X.reduce(_sum_mixed_part, tuple(model.names), sent, add=_add_likelihoods)
    opened = open_any(X, missing=missing)
    columns = opened.columns if isinstance(opened, DiscreteTable) else opened.names
    _positions(model.names, list(columns))
    if not isinstance(opened, DiscreteTable):
        opened = opened.to_pandas(missing=missing)
    return _sum_mixed_rows(opened, tuple(model.names), model)


def _sum_mixed_part(part: Any, names: tuple, model: HasTerms) -> HeldOutLikelihood:
    """Return the likelihood of the rows of a part of a distributed table."""
    return _add_likelihoods([_sum_mixed_rows(rows, names, model) for _, rows in part.pieces()])


def _sum_mixed_rows(rows: Any, names: tuple, model: HasTerms) -> HeldOutLikelihood:
    terms = model.log_likelihood_terms(rows)
    return _sum_terms(names, lambda v, some: terms[v, some], terms.shape[1])

"""Log-likelihood of rows under a fitted network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from pgmx.checks import check_same_names, join_names
from pgmx.fitted import FittedLearner, get_model
from pgmx.inference.linear_gaussian import LinearGaussianArrays, Regression, read_regressions
from pgmx.inference.mixed.families import DiscreteFamily, MixedFamilies, MixedRows, RowChunk
from pgmx.inference.mixed.missing_values import ObservedDensities
from pgmx.inference.named_networks import BayesianArrays
from pgmx.inference.networks import take_logs

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork

    from pgmx.data import DiscreteTable, Frame

#: Ways to treat missing values.
MISSING_CHOICES = ("error", "drop", "observed")
_CHUNK_ROWS = 16_384  # rows whose sums stay in the cache
_CHUNK_CELLS = 1 << 20  # values of incomplete rows that are processed at a time


class HasTerms(Protocol):
    """A network that computes the terms of the likelihood itself, such as a conditional linear Gaussian network."""

    @property
    def names(self) -> tuple:
        """Names of the variables, in order."""
        ...

    def log_likelihood_terms(self, X: Any) -> np.ndarray:
        """Return the log-density of each variable given its parents, (n_variables, n_rows)."""
        ...

    def read_chunks(self, X: Any) -> tuple[MixedFamilies, Iterator[RowChunk]]:
        """Return the parameters, and rows in chunks, which may have missing values and unknown states."""
        ...

    def without_graph(self, question: str) -> HasTerms:
        """Return an equivalent network that consists of arrays only."""
        ...


class HeldOutLikelihood(NamedTuple):
    """Log-likelihood of rows under a network, in nats.

    Parameters
    ----------
    mean, total : float
        Mean and sum over all rows; ``-inf`` if a row has probability 0.
    n_rows : int
        Number of rows.
    n_impossible : int
        Rows of probability 0.
    possible_mean : float
        Mean over the other rows; NaN if there are none. It is too optimistic for a network that rules out rows.
    impossible : dict
        For each variable whose table gives probability 0: the number of these rows. A row may count for several
        variables. It counts for none if missing values make it impossible only through several tables together.

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
    model: DiscreteBayesianNetwork | LinearGaussianBayesianNetwork | HasTerms | FittedLearner,
    X,
    *,
    missing: str = "error",
) -> HeldOutLikelihood:
    r"""Return the log-likelihood of rows under a fitted network.

    .. math:: \ell(X) = \sum_{i=1}^{N} \sum_v \ln P(x_{iv} \mid u_{iv})

    with :math:`u_{iv}` the states (or values) of the parents of variable :math:`v` in row :math:`i`. For rows that were
    not used for learning it measures how well the network predicts. For rows with missing values it can be the
    log-likelihood of the observed values :math:`o_i`,

    .. math:: \ln P(x_{i o_i}) = \ln \sum_{x_m} P(x_{i o_i}, x_m)

    summed (or integrated) over the missing values, computed exactly.

    Parameters
    ----------
    model : DiscreteBayesianNetwork, LinearGaussianBayesianNetwork, ConditionalGaussianNetwork or fitted learner
        A network with all its parameters, or a learner that has one. The network is not changed.
    X : DataFrame, array or DiscreteTable of shape (n_samples, n_features)
        The same input as for learners; a single row is enough. The columns are the variables of the network, in any
        order. See Notes.
    missing : {"error", "drop", "observed"}, default="error"
        "error" raises an error for missing values, "drop" drops rows with missing values, "observed" sums (integrates)
        over the missing values.

    Returns
    -------
    HeldOutLikelihood
        A named tuple ``(mean, total, n_rows, n_impossible, possible_mean, impossible)``. Rows of probability 0 are
        included: they make `mean` and `total` ``-inf``.

    Raises
    ------
    TypeError, ValueError
        If `model` is not one of these networks, the columns are not the variables, values are missing or infinite, a
        node has no parameters, a standard deviation is not positive, or only the network has text states in a column.
    TreewidthError
        With ``missing="observed"``, if the sums would take more than 2^27 values per row.

    Notes
    -----
    A state that the network does not have has probability 0. Numbers in the column of a discrete variable are states.
    The rows of distributed data are summed by their workers.

    The cost is one table look-up per value. Distributions are scaled to the sum 1, since files hold rounded decimals.
    With ``missing="observed"`` each connected set of missing variables takes one pass over its junction tree, which is
    shared by all rows with this set: 0.6 CPU seconds for alarm, 10,000 rows, 20 % of the values missing.

    Examples
    --------
    >>> from pgmx.datasets import load_network, sample
    >>> from pgmx.metrics import held_out_log_likelihood
    >>> model = load_network("cancer")
    >>> result = held_out_log_likelihood(model, sample(model, 1000, random_state=1))
    >>> round(result.mean, 2), result.n_impossible
    (-2.05, 0)
    """
    from pgmx.checks import check_missing_option
    from pgmx.data.distributed.tables import is_remote
    from pgmx.data.errors import refuse_marked
    from pgmx.data.inputs import open_rows_to_score

    check_missing_option(missing, MISSING_CHOICES)
    X = open_rows_to_score(X)
    network: Any = get_model(model)
    # recognised by the name of the class, since this module does not import pgmpy
    is_gaussian = any(base.__name__ == "LinearGaussianBayesianNetwork" for base in type(network).__mro__)
    is_mixed = hasattr(network, "log_likelihood_terms") and not is_gaussian
    if is_remote(X):  # a message for the sums of each partition; no value is missing
        if is_mixed:
            return _sum_mixed_partitions(network, X)
        if is_gaussian:
            return _sum_gaussian_partitions(network, X)
        missing = "error"
    if is_mixed:
        return _mixed_likelihood(network, X, missing)
    if is_gaussian:
        return _gaussian_likelihood(network, X, missing)
    arrays = BayesianArrays.from_model(network).normalise()
    table = _code_rows(X, arrays.names, "pairwise" if missing == "observed" else missing)
    if missing == "observed":
        return _sum_observed(arrays.names, _to_families(arrays), _read_states(arrays, table), table.n_rows)
    refuse_marked(
        table,
        "the likelihood of a row needs all its values; code the table with 'drop', or give missing='observed'",
    )
    return table.reduce(_sum_partition, arrays, add=_add_likelihoods)


def sum_unset_terms(model: Any, X: Any, columns: Sequence[Hashable], was_set: np.ndarray) -> HeldOutLikelihood:
    """Return the likelihood of rows without the terms of variables that were set, bool (n_rows, columns).

    `X` is a coded table for a discrete network, otherwise a Frame; no value is missing.
    """
    from pgmx.data.errors import refuse_marked

    network: Any = get_model(model)
    terms: Any
    if hasattr(network, "log_likelihood_terms"):
        names = list(getattr(network, "names", None) or network.nodes())
        table = network.log_likelihood_terms(X.to_pandas())

        terms = lambda v, rows: table[v, rows]  # noqa: E731 (a function of either kind)
    else:
        refuse_marked(X, "the likelihood of rows in which variables were set needs all values: drop these rows")
        arrays = BayesianArrays.from_model(network).normalise()
        names, terms = list(arrays.names), _DiscreteTerms(arrays, X)
    at = _find_positions(names, columns)
    return _sum_terms(names, lambda v, rows: np.where(was_set[rows, at[v]], 0.0, terms(v, rows)), len(was_set))


def _code_rows(X: Any, names: Sequence[Hashable], missing: str) -> DiscreteTable:
    """Return coded rows of discrete variables; the states of float columns are their distinct values."""
    from pgmx.data import Frame, open_any

    opened = open_any(X, missing=missing)
    if not isinstance(opened, Frame):
        return opened
    return opened.declare_discrete([name for name in opened.names if name in set(names)]).encode(missing=missing)


def _sum_partition(partition: Any, arrays: BayesianArrays) -> HeldOutLikelihood:
    """Return the likelihood of the rows of one partition of a discrete table."""
    return _sum_terms(arrays.names, _DiscreteTerms(arrays, partition.table), partition.n_rows)


def _add_likelihoods(sums: list[HeldOutLikelihood]) -> HeldOutLikelihood:
    """Return the likelihood of the rows of all partitions."""
    n_rows, n_impossible = sum(one.n_rows for one in sums), sum(one.n_impossible for one in sums)
    n_possible = n_rows - n_impossible
    # The mean of a partition without possible rows is NaN.
    possible = sum(one.possible_mean * (one.n_rows - one.n_impossible) for one in sums if one.n_rows > one.n_impossible)
    total = -inf if n_impossible else possible
    impossible: Counter = Counter()
    for one in sums:
        impossible.update(one.impossible)
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
    """The terms of a variable for a slice of rows; only these rows are read from a file and translated."""

    def __init__(self, arrays: BayesianArrays, table) -> None:
        self._families = [(v, *parents) for v, parents in enumerate(arrays.parents)]
        self._logs = [np.ascontiguousarray(take_logs(values)) for values in arrays.tables]
        columns = _find_positions(arrays.names, table.columns)
        self._codes = [table.codes[column] for column in columns]
        self._lookups = [_make_lookup(arrays, v, table.states[column]) for v, column in enumerate(columns)]
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
                terms[unknown] = 0.0  # the parent's own term already makes the row impossible
        if 0 in outside:
            terms[outside[0]] = -inf
        return terms


def _find_positions(names: Sequence, columns: Sequence) -> list[int]:
    """Return the column of each variable, or raise if the names of columns and variables differ."""
    check_same_names(names, columns, "the network", "X")
    at = {name: position for position, name in enumerate(columns)}
    return [at[name] for name in names]


def _make_lookup(arrays: BayesianArrays, v: int, states: Sequence) -> np.ndarray:
    """Return the network's code of each state of a column; the number of states for a state that it does not have."""
    from pgmx.data.declared_states import match_states

    known = arrays.states[v]
    codes = match_states(states, known, absent=len(known))
    if len(states) and codes.min() == len(known) and any(str(state) in known for state in states):
        raise ValueError(
            f"column {arrays.names[v]!r} holds {join_names(states)}, but the network has these states as text: convert "
            "the column with astype(str)"
        )
    return codes.astype(np.min_scalar_type(len(known)))


def _sum_terms(names: Sequence, term: Callable[[int, slice], np.ndarray], n_rows: int) -> HeldOutLikelihood:
    """Sum the terms of all variables, rows in chunks."""
    sums = np.zeros(n_rows)
    zeros = np.zeros(len(names), dtype=np.int64)
    for begin in range(0, n_rows, _CHUNK_ROWS):
        rows = slice(begin, begin + _CHUNK_ROWS)
        for v in range(len(names)):
            terms = term(v, rows)
            sums[rows] += terms
            # Counted per variable: the message to users names the tables that rule rows out.
            zeros[v] += np.count_nonzero(terms == -inf)
    return _summarise(names, sums, zeros)


def _summarise(names: Sequence, sums: np.ndarray, zeros: np.ndarray) -> HeldOutLikelihood:
    """Return the likelihood of rows from their logarithms, (n_rows,), and the impossible rows of each variable."""
    n_rows = len(sums)
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


# ---- rows with missing values ----


def _sum_observed(
    names: Sequence, network: MixedFamilies, chunks: Iterable[RowChunk], n_rows: int
) -> HeldOutLikelihood:
    """Sum the log-densities of the observed values of rows that come in chunks."""
    sums, zeros = np.empty(n_rows), np.zeros(len(names), dtype=np.int64)
    densities, begin = ObservedDensities(network, names), 0
    for chunk in chunks:
        logs = densities.compute(chunk.rows, chunk.missing)
        logs[chunk.unknown.any(axis=0)] = -inf
        zeros += _count_impossible(network, chunk, np.flatnonzero(logs == -inf))
        sums[begin : begin + len(logs)] = logs
        begin += len(logs)
    return _summarise(names, sums, zeros)


def _count_impossible(network: MixedFamilies, chunk: RowChunk, rows: np.ndarray) -> np.ndarray:
    """Return for each variable in how many rows its observed state is impossible given its observed parents."""
    counts = chunk.unknown[:, rows].sum(axis=1)
    cells = chunk.rows.take(rows)
    for v in np.flatnonzero(network.cards).tolist() if len(rows) else ():
        family = [v, *network.parents[v]]
        known = ~(chunk.missing | chunk.unknown)[family][:, rows].any(axis=0)
        counts[v] += np.count_nonzero(network.log_density(v, cells)[known] == -inf)
    return counts


def _to_families(arrays: BayesianArrays) -> MixedFamilies:
    families = [DiscreteFamily(parents, table) for parents, table in zip(arrays.parents, arrays.tables, strict=True)]
    return MixedFamilies(tuple(arrays.cards), tuple(families))


def _read_states(arrays: BayesianArrays, table: Any) -> Iterator[RowChunk]:
    """Yield the rows of a coded table in the codes of a network; missing values and unknown states have the code 0."""
    columns = _find_positions(arrays.names, table.columns)
    markers = [int(table.missing_codes[column]) for column in columns]
    lookups = []
    for v, (column, marker) in enumerate(zip(columns, markers, strict=True)):
        states = table.states[column]
        known = _make_lookup(arrays, v, states[:marker] if marker >= 0 else states).astype(np.intp)
        lookups.append(np.append(known, 0) if marker >= 0 else known)
    n, step = len(columns), max(1, _CHUNK_CELLS // len(columns))
    for begin in range(0, table.n_rows, step):
        n_rows = min(step, table.n_rows - begin)
        codes = np.empty((n, n_rows), dtype=np.intp)
        missing, unknown = np.zeros((n, n_rows), dtype=bool), np.zeros((n, n_rows), dtype=bool)
        for v, (column, marker) in enumerate(zip(columns, markers, strict=True)):
            of_column = table.codes[column][begin : begin + step]
            codes[v] = lookups[v][of_column]
            missing[v] = of_column == marker if marker >= 0 else False
            unknown[v] = codes[v] == arrays.cards[v]
        # Any valid code: the row becomes impossible, whatever its density.
        codes[unknown] = 0
        yield RowChunk(MixedRows(codes, np.zeros(codes.shape)), missing, unknown)


def _gaussian_likelihood(model: LinearGaussianBayesianNetwork, X, missing: str) -> HeldOutLikelihood:
    from pgmx.data import open_frame

    names = list(model.nodes())
    if missing == "observed":
        return _sum_observed_continuous(names, read_regressions(model, names), open_frame(X))
    frame = open_frame(X).to_pandas(missing=missing)
    positions = _find_positions(names, list(frame.columns))
    columns = [frame.iloc[:, at].to_numpy(dtype=np.float64) for at in positions]
    regressions = read_regressions(model, names)
    return _sum_terms(names, lambda v, rows: regressions[v].log_density(columns, rows), len(frame))


def _sum_observed_continuous(names: list, regressions: list[Regression], frame: Frame) -> HeldOutLikelihood:
    """Return the likelihood of the observed values of continuous rows."""
    from pgmx.data.inputs import open_numeric

    table = open_numeric(frame, missing="pairwise")
    values = table.rows()[:, _find_positions(names, table.names)]
    sums = LinearGaussianArrays(names, regressions).log_evidence(values)
    return _summarise(names, sums, np.zeros(len(names), dtype=np.int64))


def _sum_gaussian_partitions(model: LinearGaussianBayesianNetwork, X: Any) -> HeldOutLikelihood:
    """Return the likelihood of distributed continuous data."""
    names = list(model.nodes())
    positions = _find_positions(names, X.names)
    return X.reduce(_sum_gaussian_partition, names, positions, read_regressions(model, names), add=_add_likelihoods)


def _sum_gaussian_partition(
    partition: Any, names: list, positions: list[int], regressions: list[Regression]
) -> HeldOutLikelihood:
    """Return the likelihood of the rows of one partition of distributed continuous data."""
    return _add_likelihoods([_sum_block(block, names, positions, regressions) for block in partition.blocks])


def _sum_block(
    block: np.ndarray, names: list, positions: list[int], regressions: list[Regression]
) -> HeldOutLikelihood:
    columns = [block[:, at] for at in positions]
    return _sum_terms(names, lambda v, rows: regressions[v].log_density(columns, rows), len(block))


def _mixed_likelihood(model: HasTerms, X, missing: str) -> HeldOutLikelihood:
    from pgmx.data import DiscreteTable, open_any

    opened = open_any(X, missing="pairwise" if missing == "observed" else missing)
    _find_positions(model.names, list(opened.names))
    if missing == "observed":
        network, chunks = model.read_chunks(opened)
        return _sum_observed(list(model.names), network, chunks, opened.n_rows)
    if not isinstance(opened, DiscreteTable):
        opened = opened.to_pandas(missing=missing)
    return _sum_mixed_rows(opened, tuple(model.names), model)


def _sum_mixed_partitions(model: HasTerms, X: Any) -> HeldOutLikelihood:
    """Return the likelihood of distributed mixed data."""
    _find_positions(model.names, list(X.names))
    model.log_likelihood_terms(X.without_rows())
    sent = model.without_graph("log_likelihood_terms")  # workers need no graph
    return X.reduce(_sum_mixed_partition, tuple(model.names), sent, add=_add_likelihoods)


def _sum_mixed_partition(partition: Any, names: tuple, model: HasTerms) -> HeldOutLikelihood:
    """Return the likelihood of the rows of one partition of distributed mixed data."""
    return _add_likelihoods([_sum_mixed_rows(rows, names, model) for _, rows in partition.chunks()])


def _sum_mixed_rows(rows: Any, names: tuple, model: HasTerms) -> HeldOutLikelihood:
    terms = model.log_likelihood_terms(rows)
    return _sum_terms(names, lambda v, some: terms[v, some], terms.shape[1])

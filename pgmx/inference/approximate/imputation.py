"""Missing states of rows, filled by what is most probable given the rest of the row."""

from __future__ import annotations

from math import prod

import numpy as np

from pgmx.inference.approximate.decoding import decoded
from pgmx.inference.approximate.loopy import loopy_belief_propagation
from pgmx.inference.exact.elimination import TreewidthError
from pgmx.inference.exact.exact import ExactInference
from pgmx.inference.networks.log_tables import log_sum_exp
from pgmx.inference.networks.potentials import PairwisePotentials
from pgmx.inference.problem import check_method

__all__ = ["imputed"]

#: Configurations of connected missing variables up to which all are tried, for all rows at once.
MAX_CONFIGURATIONS = 4096
#: Cells of the scores of configurations that are held at a time.
CHUNK_CELLS = 2**22
#: Most bytes of a junction tree, of which there is one for each distinct row: as "auto" takes it, and at all.
AUTO_MEMORY = 2**24
MEMORY = 2**31


def imputed(
    potentials: PairwisePotentials,
    codes: np.ndarray,
    missing: np.ndarray,
    *,
    method: str = "map",
    inference: str = "auto",
) -> np.ndarray:
    r"""Fill missing cells with the most probable states given the others of their row.

    Parameters
    ----------
    potentials : PairwisePotentials
        The network.
    codes : ndarray of int, shape (n, N)
        State codes; cells that are missing are not read.
    missing : ndarray of bool, shape (n, N)
        Which cells are.
    method : {"map", "marginal"}, default="map"
        :math:`\arg\max p(x_M \mid x_O)` over all missing variables M of a row together, or
        :math:`\arg\max p(x_i \mid x_O)` for each.
    inference : {"auto", "exact", "loopy"}, default="auto"
        What more than a few connected cells are filled by: a junction tree, loopy belief propagation, or a tree where
        it takes 16 MB at most.

    Returns
    -------
    ndarray of int, shape (n, N)
        A filled copy.

    Raises
    ------
    ValueError
        If what is known of a row rules out every state of a missing cell; if a tree is too large for "exact".

    Notes
    -----
    Rows with the same cells missing are filled together. Missing variables that are not connected through others which
    are missing too are independent given the rest: a single one costs a look-up a neighbour and row, a few are
    enumerated, more are given to a junction tree once for each distinct surrounding.

    Examples
    --------
    >>> import numpy as np
    >>> from pgmx.inference import PairwisePotentials
    >>> from pgmx.inference.approximate.imputation import imputed
    >>> agree = PairwisePotentials.build([2, 2], tables={(0, 1): [[1.0, 0.0], [0.0, 1.0]]})
    >>> imputed(agree, np.array([[1, 0], [0, 0]]), np.array([[False, False], [True, True]]))
    array([[1, 0],
           [1, 0]])
    """
    check_method(method, ("map", "marginal"))
    check_method(inference, ("auto", "exact", "loopy"), "inference")
    filled = np.array(codes)
    touched = np.flatnonzero(missing.any(axis=0))
    if not len(touched):
        return filled
    patterns, of_row = np.unique(np.packbits(missing[:, touched], axis=0), axis=1, return_inverse=True)
    order = np.argsort(of_row.ravel(), kind="stable")
    for rows in np.split(touched[order], np.cumsum(np.bincount(of_row.ravel(), minlength=patterns.shape[1]))[:-1]):
        gone = np.flatnonzero(missing[:, rows[0]])
        fields = _fields(potentials, filled, rows, set(gone.tolist()))
        for part in _connected(potentials, gone):
            _fill(potentials, filled, rows, part, fields, method, inference)
    return filled


def _fields(
    potentials: PairwisePotentials, codes: np.ndarray, rows: np.ndarray, gone: set[int]
) -> dict[int, np.ndarray]:
    """Return the log-potentials of each missing variable with what its known neighbours add: (states, rows)."""
    pointer, neighbour, edge = potentials.neighbours()
    fields = {}
    for v in sorted(gone):
        field = np.repeat(potentials.node(v)[:, None], len(rows), axis=1)
        for at in range(pointer[v], pointer[v + 1]):
            u, table = int(neighbour[at]), potentials.table(int(edge[at]))
            if u not in gone:
                field += (table if v < u else table.T)[:, codes[u, rows]]
        impossible = np.flatnonzero(field.max(axis=0) == -np.inf)
        if len(impossible):
            raise ValueError(
                f"row {rows[impossible[0]]} is impossible: what is known of it rules out every state of variable {v}"
            )
        fields[v] = field
    return fields


def _connected(potentials: PairwisePotentials, gone: np.ndarray) -> list[list[int]]:
    """Return the connected parts of the missing variables."""
    pointer, neighbour, _ = potentials.neighbours()
    left = dict.fromkeys(gone.tolist())
    parts = []
    while left:
        part = [next(iter(left))]
        del left[part[0]]
        for v in part:
            for u in neighbour[pointer[v] : pointer[v + 1]].tolist():
                if u in left:
                    del left[u]
                    part.append(u)
        parts.append(sorted(part))
    return parts


def _fill(
    potentials, filled: np.ndarray, rows: np.ndarray, part: list[int], fields: dict, method: str, inference: str
) -> None:
    """Fill one connected part of the missing variables in all rows."""
    if len(part) == 1:
        filled[part[0], rows] = fields[part[0]].argmax(axis=0)
        return
    inside = [
        (part.index(i), part.index(j), potentials.table(e))
        for e, (i, j) in enumerate(potentials.edges.tolist())
        if i in set(part) and j in set(part)
    ]
    shape = [int(potentials.cardinalities[v]) for v in part]
    surroundings = np.concatenate([fields[v] for v in part])
    _, first, same = np.unique(surroundings, axis=1, return_index=True, return_inverse=True)
    distinct = [fields[v][:, first] for v in part]
    if prod(shape) <= MAX_CONFIGURATIONS:
        found = _enumerated(shape, inside, distinct, method, rows[first])
    else:
        found = _inferred(shape, inside, distinct, method, inference)
    filled[np.ix_(np.array(part), rows)] = found[:, same.ravel()]


def _enumerated(shape: list[int], inside: list, fields: list[np.ndarray], method: str, rows: np.ndarray) -> np.ndarray:
    """Try all configurations, for chunks of rows."""
    base = np.zeros(shape)
    for i, j, table in inside:
        base += table.reshape([size if axis in (i, j) else 1 for axis, size in enumerate(shape)])
    n = fields[0].shape[1]
    found = np.empty((len(shape), n), dtype=np.int64)
    step = max(1, CHUNK_CELLS // base.size)
    for begin in range(0, n, step):
        total = base[..., None]
        for axis, field in enumerate(fields):
            part = field[:, begin : begin + step]
            total = total + part.reshape([len(part) if a == axis else 1 for a in range(len(shape))] + [-1])
        flat = total.reshape(base.size, -1)
        impossible = np.flatnonzero(flat.max(axis=0) == -np.inf)
        if len(impossible):
            raise ValueError(f"row {rows[begin + impossible[0]]} is impossible: nothing fits what is known of it")
        columns = slice(begin, begin + flat.shape[1])
        if method == "map":
            found[:, columns] = np.unravel_index(flat.argmax(axis=0), shape)
            continue
        for axis, size in enumerate(shape):
            alone = np.moveaxis(total, axis, 0).reshape(size, base.size // size, -1)
            found[axis, columns] = log_sum_exp(np.moveaxis(alone, 1, 2)).argmax(axis=0)
    return found


def _inferred(shape: list[int], inside: list, fields: list[np.ndarray], method: str, inference: str) -> np.ndarray:
    """Ask a junction tree, or belief propagation where that is too large, once for each surrounding."""
    exact = inference != "loopy"
    found = np.empty((len(shape), fields[0].shape[1]), dtype=np.int64)
    for column in range(found.shape[1]):
        own = PairwisePotentials.build(
            shape, [field[:, column] for field in fields], {(i, j): table for i, j, table in inside}
        )
        try:
            tree = ExactInference(own, memory=AUTO_MEMORY if inference == "auto" else MEMORY) if exact else None
        except TreewidthError as error:
            if inference == "exact":
                raise error.offering("loopy belief propagation (inference='loopy')") from None
            tree, exact = None, False  # the graph is the same for all surroundings
        if tree is not None:
            best = tree.map().codes if method == "map" else [p.argmax() for p in tree.marginals()]
        else:
            beliefs = loopy_belief_propagation(own, maximise=method == "map")
            if method == "map":
                best = decoded(own, {}, beliefs.node_beliefs, beliefs.edge_beliefs)
            else:
                best = [part.argmax() for part in np.split(beliefs.node_beliefs, own.node_offsets[1:-1])]
        found[:, column] = best
    return found

"""Connected components of symmetric matrices: their variables, and matrices composed of their blocks."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

#: A sparse matrix as the arrays of a csr_array: indptr, indices, values.
SparseRows = tuple[np.ndarray, np.ndarray, np.ndarray]


def find_components(matrix: csr_array) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the components of the graph of a matrix, as `list_components` does."""
    return list_components(connected_components(matrix, directed=False)[1])


def list_components(labels: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the variables of each label with two or more variables, ascending, and all other variables."""
    counts = np.bincount(labels, minlength=len(labels))
    order = np.argsort(labels, kind="stable")
    groups = np.split(order, np.cumsum(counts[counts > 0])[:-1])
    return [nodes for nodes in groups if len(nodes) > 1], np.flatnonzero(counts[labels] == 1)


def assemble_blocks(
    p: int, members: list[np.ndarray], blocks: list[SparseRows], alone: np.ndarray, diagonal: np.ndarray
) -> csr_array:
    """Return the matrix of p variables with the blocks of components, and a diagonal for isolated variables."""
    if len(members) == 1 and len(members[0]) == p:
        indptr, indices, values = blocks[0]
        return csr_array((values, indices, indptr), shape=(p, p))
    rows, columns, entries = [alone], [alone], [diagonal]
    for nodes, (indptr, indices, values) in zip(members, blocks, strict=True):
        rows.append(np.repeat(nodes, np.diff(indptr)))
        columns.append(nodes[indices])
        entries.append(values)
    return csr_array((np.concatenate(entries), (np.concatenate(rows), np.concatenate(columns))), shape=(p, p))

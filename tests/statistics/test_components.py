"""Components of symmetric matrices, and the matrices that their blocks make up."""

import numpy as np
from scipy.sparse import csr_array

from pgmx.statistics.components import assemble_blocks, find_components


def split(matrix):
    members, alone = find_components(matrix)
    blocks = [csr_array(matrix[nodes][:, nodes]) for nodes in members]
    return members, alone, [(block.indptr, block.indices, block.data) for block in blocks]


def test_blocks_make_up_the_matrix_they_were_taken_from():
    rng = np.random.default_rng(3)
    for n_edges in (0, 6, 12, 60):
        i, j = rng.integers(0, 20, (2, n_edges))
        dense = np.diag(np.arange(1.0, 21.0))
        dense[i, j] = dense[j, i] = rng.normal(size=n_edges)
        members, alone, blocks = split(csr_array(dense))
        assert sorted(np.concatenate([alone, *members]).tolist()) == list(range(20))
        assert all(len(nodes) > 1 and (np.diff(nodes) > 0).all() for nodes in members)
        whole = assemble_blocks(20, members, blocks, alone, dense[alone, alone])
        assert np.array_equal(whole.toarray(), dense)
        for nodes in members:
            outside = np.setdiff1d(np.arange(20), nodes)
            assert not dense[np.ix_(nodes, outside)].any()
            links = dense[np.ix_(nodes, nodes)] != 0  # the diagonal too: a path may wait
            assert np.linalg.matrix_power(links.astype(float), len(nodes)).all()


def test_one_component_is_the_matrix_itself():
    matrix = csr_array(np.array([[2.0, 1.0], [1.0, 2.0]]))
    members, alone, blocks = split(matrix)
    assert len(members) == 1
    assert not len(alone)
    assert np.array_equal(assemble_blocks(2, members, blocks, alone, np.zeros(0)).toarray(), matrix.toarray())

"""When a node becomes a hub."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgmx.search.edges.stream import find_new_hubs


@given(st.lists(st.lists(st.integers(0, 9), min_size=6, max_size=6), max_size=8), st.none() | st.floats(0, 1))
def test_each_node_is_found_once(history, threshold):
    is_hub = np.zeros(6, dtype=bool)
    for degrees in map(np.array, history):
        new = find_new_hubs(degrees, is_hub, threshold, least_edges=4)
        assert not is_hub[new].any()
        is_hub[new] = True
        assert (np.diff(new) > 0).all()
        centrality = degrees / 5
        limit = centrality.mean() if threshold is None else threshold
        for node in new.tolist():
            assert centrality[node] >= limit * (1 - 1e-12)
        if degrees.sum() >= 8:
            assert is_hub[centrality > limit * (1 + 1e-12)].all()
        else:
            assert not len(new)


def test_equal_degrees_make_no_hub():
    assert len(find_new_hubs(np.full(49, 3), np.zeros(49, dtype=bool), None, least_edges=0)) == 0


def test_sixteen_edges_by_default():
    degrees = np.zeros(40, dtype=np.int64)
    degrees[:3] = 10
    no_hub = np.zeros(40, dtype=bool)
    assert len(find_new_hubs(degrees, no_hub, None)) == 0
    degrees[3] = 2
    assert find_new_hubs(degrees, no_hub, None).tolist() == [0, 1, 2, 3]

"""When a node becomes a hub."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pgmx.search.edges.hubs import HubRule


@given(st.lists(st.lists(st.integers(0, 9), min_size=6, max_size=6), max_size=8), st.none() | st.floats(0, 1))
def test_each_node_is_told_once(history, threshold):
    rule, told = HubRule(6, threshold, least_edges=4), []
    for degrees in map(np.array, history):
        new = rule.new_hubs(degrees)
        assert (np.diff(new) > 0).all()
        centrality = degrees / 5
        limit = centrality.mean() if threshold is None else threshold
        for node in new.tolist():
            assert centrality[node] >= limit * (1 - 1e-12)
        if degrees.sum() >= 8:
            assert rule.is_hub[centrality > limit * (1 + 1e-12)].all()
        else:
            assert not len(new)
        told.extend(new.tolist())
    assert len(set(told)) == len(told)
    assert np.flatnonzero(rule.is_hub).tolist() == sorted(told)


def test_equal_degrees_make_no_hub():
    assert len(HubRule(49, least_edges=0).new_hubs(np.full(49, 3))) == 0


def test_sixteen_edges_by_default():
    degrees = np.zeros(40, dtype=np.int64)
    degrees[:3] = 10
    rule = HubRule(40)
    assert len(rule.new_hubs(degrees)) == 0
    degrees[3] = 2
    assert rule.new_hubs(degrees).tolist() == [0, 1, 2, 3]

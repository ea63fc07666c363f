"""Small random networks for hypothesis, as arrays and as factor lists for the enumeration."""

import itertools

import numpy as np
from hypothesis import strategies as st

from pgmx.inference import LogFactors, PairwisePotentials


def table_of(rng, shape, impossible):
    """Log-values in a wide range; a share of `impossible` of the cells is minus infinity, never all."""
    values = rng.normal(scale=2.0, size=shape)
    forbidden = rng.random(shape) < impossible
    values[forbidden] = -np.inf
    if forbidden.all():
        values.flat[int(rng.integers(values.size))] = 0.0
    return values


@st.composite
def pairwise_networks(draw, largest=6, impossible=(0.0, 0.2)):
    """Potentials of at most `largest` variables of 1 to 3 states, any graph, connected or not."""
    cards = draw(st.lists(st.integers(1, 3), min_size=1, max_size=largest))
    pairs = list(itertools.combinations(range(len(cards)), 2))
    edges = [pair for pair in pairs if draw(st.booleans())]
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from(impossible))
    nodes = [table_of(rng, size, 0.0) for size in cards]
    return PairwisePotentials.build(
        cards, nodes, {(i, j): table_of(rng, (cards[i], cards[j]), share) for i, j in edges}
    )


@st.composite
def factor_networks(draw, largest=6, arity=4, impossible=(0.0, 0.2)):
    """Factors of up to `arity` variables; scopes may repeat, be empty, and leave variables out."""
    cards = draw(st.lists(st.integers(1, 3), min_size=1, max_size=largest))
    scopes = draw(
        st.lists(
            st.permutations(range(len(cards))).flatmap(lambda p: st.integers(0, arity).map(lambda k: p[:k])), max_size=6
        )
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from(impossible))
    tables = [table_of(rng, tuple(cards[v] for v in scope), share if scope else 0.0) for scope in scopes]
    return LogFactors(cards, [tuple(scope) for scope in scopes], tables)


def as_list(network):
    """Return (cards, factors) as the enumeration takes them, read from the public arrays only."""
    if isinstance(network, LogFactors):
        return network.cardinalities.tolist(), list(zip(network.scopes, network.tables, strict=True))
    ends = network.node_offsets
    factors = [((i,), network.node_values[ends[i] : ends[i + 1]]) for i in range(network.n_variables)]
    start = 0
    for i, j in network.edges.tolist():
        size = int(network.cardinalities[i] * network.cardinalities[j])
        table = network.edge_values[start : start + size].reshape(-1, network.cardinalities[j])
        factors.append(((i, j), table))
        start += size
    return network.cardinalities.tolist(), factors


@st.composite
def evidence_for(draw, network):
    """Codes of some of the variables."""
    return {
        v: draw(st.integers(0, size - 1))
        for v, size in enumerate(network.cardinalities.tolist())
        if draw(st.integers(0, 3)) == 0
    }

"""Small random conditional linear Gaussian networks, as the oracle has them and as arrays."""

import numpy as np
from hypothesis import strategies as st

from pgmx.inference.mixed.families import DiscreteFamily, GaussianFamily, MixedFamilies, MixedRows
from pgmx.models import ConditionalGaussianNetwork
from pgmx.models.files.mixed import MixedParts


@st.composite
def mixed_networks(draw, most_states=4, most_floats=4):
    """Return families of the oracle, in an order in which parents need not come first."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kinds = ["states"] * draw(st.integers(0, most_states)) + ["floats"] * draw(st.integers(0, most_floats))
    kinds = kinds or ["floats"]
    impossible = draw(st.sampled_from([0.0, 0.25]))
    density = draw(st.sampled_from([0.2, 0.5, 0.9]))
    kinds = [kinds[k] for k in rng.permutation(len(kinds))]
    rank, cards = rng.permutation(len(kinds)), rng.integers(1, 4, len(kinds))
    families = []
    for v, kind in enumerate(kinds):
        earlier = [u for u in range(len(kinds)) if rank[u] < rank[v] and rng.random() < density]
        states = [u for u in earlier if kinds[u] == "states"]
        shape = tuple(int(cards[u]) for u in states)
        if kind == "states":
            table = rng.dirichlet(np.ones(cards[v]), size=shape or None)
            table[table < impossible] = 0.0  # never the largest of three
            table /= table.sum(axis=-1, keepdims=True)
            families.append(("states", states, np.moveaxis(table, -1, 0)))
        else:
            floats = [u for u in earlier if kinds[u] == "floats"]
            coefficients = rng.normal(scale=2.0, size=(*shape, 1 + len(floats)))
            families.append(("floats", states, floats, coefficients, rng.uniform(0.2, 2.0, shape)))
    return families


def to_families(families):
    """Return the network of the oracle's families as arrays."""
    cards = tuple(len(f[2]) if f[0] == "states" else 0 for f in families)
    parts = [
        DiscreteFamily(tuple(f[1]), np.asarray(f[2]))
        if f[0] == "states"
        else GaussianFamily(tuple(f[1]), tuple(f[2]), np.asarray(f[3]), np.asarray(f[4]))
        for f in families
    ]
    return MixedFamilies(cards, tuple(parts))


def draw_rows(network, n, seed=0):
    """Return n rows drawn from a network of arrays."""
    n_variables = len(network.cards)
    rows = MixedRows(np.zeros((n_variables, n), dtype=np.intp), np.zeros((n_variables, n)))
    network.draw(rows, np.zeros(n_variables, dtype=bool), np.random.default_rng(seed))
    return rows


def evidence_of(network, rows, row, observed):
    """Return the observed cells of a row as the oracle takes them."""
    return {
        v: int(rows.codes[v, row]) if network.cards[v] else float(rows.numbers[v, row])
        for v in np.flatnonzero(observed).tolist()
    }


def name_network(families, labels=(("a", "b c", "é"), (0, 1, 2), (True, "yes", None))):
    """Return the network of the oracle's families with names and states, by default text, numbers and booleans."""
    arrays = to_families(families)
    names = [f"v{v}" if v % 2 else v for v in range(len(families))]
    states = [tuple(labels[v % len(labels)][:card]) if card else None for v, card in enumerate(arrays.cards)]
    return ConditionalGaussianNetwork.from_parts(MixedParts(names, states, arrays))

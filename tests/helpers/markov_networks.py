"""Small named Markov networks, and what enumeration says of them."""

import numpy as np
from hypothesis import strategies as st

from helpers.random_networks import as_list, pairwise_networks
from pgmx.inference import PairwisePotentials
from pgmx.models import PairwiseMarkovNetwork

# Names and states of every type that users have, in no order.
NAMES = ["wet", 0, "b a", (1, 2), "a", 7, True]
STATES = [["no", "yes", "so"], [False, True, "maybe"], [3, 1, 2], ["x", 0, -1]]


def named(potentials):
    """Return a network of at most seven variables of at most three states."""
    cards = potentials.cardinalities.tolist()
    states = [STATES[v % len(STATES)][:card] for v, card in enumerate(cards)]
    return PairwiseMarkovNetwork.from_potentials(NAMES[: len(cards)], states, potentials)


@st.composite
def networks(draw, largest=5, impossible=(0.0,)):
    return named(draw(pairwise_networks(largest=largest, impossible=impossible)))


@st.composite
def questions(draw, largest=5, impossible=(0.0,)):
    """A network, and evidence on some of its variables but not all."""
    network = draw(networks(largest, impossible))
    observed = draw(st.lists(st.sampled_from(network.names), unique=True, max_size=len(network.names) - 1))
    return network, {name: draw(st.sampled_from(network.states[name])) for name in observed}


def enumerable(network):
    """Return (cards, factors) for the enumeration."""
    return as_list(network.potentials)


def codes_of(network, evidence):
    return {network.names.index(name): network.states[name].index(state) for name, state in evidence.items()}


def ring(n=6, scale=1.0, isolated=1, seed=0, cells=2):
    """A cycle and isolated variables, with names that are integers."""
    rng = np.random.default_rng(seed)
    total = n + isolated
    tables = {(v, (v + 1) % n): rng.normal(scale=scale, size=(cells, cells)) for v in range(n)}
    potentials = PairwisePotentials.build([cells] * total, [rng.normal(size=cells) for _ in range(total)], tables)
    return PairwiseMarkovNetwork.from_potentials(range(total), [["no", "yes", "so"][:cells]] * total, potentials)

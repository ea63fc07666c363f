"""Random discrete networks, and their full joint distributions."""

import numpy as np
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork


def random_network(rng, n, *, cards=None, zeros=0.0, density=0.5, order=None):
    """Return a network over v0, v1, ... with states 0, 1, ..., random tables and a share of zeros in them."""
    cards = [int(c) for c in (rng.integers(1, 4, n) if cards is None else cards)]
    order = rng.permutation(n) if order is None else order
    model = DiscreteBayesianNetwork()
    model.add_nodes_from(f"v{v}" for v in range(n))
    for at, child in enumerate(order):
        parents = [int(u) for u in order[:at] if rng.random() < density][:3]
        model.add_edges_from((f"v{u}", f"v{child}") for u in parents)
        shape = (cards[child], int(np.prod([cards[u] for u in parents])))
        values = rng.random(shape) + 0.01
        values[rng.random(shape) < zeros] = 0.0
        values[rng.integers(0, cards[child]), values.sum(axis=0) == 0.0] = 1.0
        scope = [child, *parents]
        model.add_cpds(
            TabularCPD(
                f"v{child}",
                cards[child],
                values / values.sum(axis=0),
                evidence=[f"v{u}" for u in parents],
                evidence_card=[cards[u] for u in parents],
                state_names={f"v{v}": list(range(cards[v])) for v in scope},
            )
        )
    return model


def joint_table(model):
    """Return the joint distribution over the variables in the order v0, v1, ..., entry by entry."""
    names = sorted(model.nodes())
    cards = [int(model.get_cardinality(name)) for name in names]
    joint = np.empty(cards)
    for cell in np.ndindex(*cards):
        here = dict(zip(names, cell, strict=True))
        joint[cell] = np.prod([cpd.values[tuple(here[name] for name in cpd.variables)] for cpd in model.cpds])
    return joint

"""Exact inference in networks read from pgmpy, against pgmpy's own variable elimination."""

import itertools

import numpy as np
import pytest
from pgmpy.factors.discrete import DiscreteFactor
from pgmpy.models import DiscreteMarkovNetwork

from pgmx.inference import ExactInference, read_network

SCOPES = [("a", "b", "c"), ("c", "d"), ("d", "e"), ("e", "c"), ("f",), ("g", "h")]
CARDS = dict(zip("abcdefgh", (2, 3, 2, 4, 2, 3, 2, 2), strict=True))


@pytest.fixture
def model(rng):
    """A network of three components, with a factor of three variables."""
    network = DiscreteMarkovNetwork()
    network.add_nodes_from("hgfedcba")
    for scope in SCOPES:
        network.add_edges_from(itertools.combinations(scope, 2))
        cards = [CARDS[name] for name in scope]
        network.add_factors(DiscreteFactor(scope, cards, rng.random(np.prod(cards))))
    return network


@pytest.mark.filterwarnings("ignore:`pgmpy.estimators:FutureWarning")  # raised inside pgmpy, at its own import
@pytest.mark.parametrize("evidence", [{}, {"d": 2}, {"a": 1, "g": 0}])
def test_against_pgmpy(model, evidence):
    from pgmpy.inference import VariableElimination

    names, _, factors = read_network(model)
    inference = ExactInference(factors, {names.index(name): code for name, code in evidence.items()})
    pgmpy = VariableElimination(model)
    free = [name for name in names if name not in evidence]
    for asked in [*((name,) for name in free), ("b", "e"), ("h", "f", "e")]:
        table = pgmpy.query(list(asked), evidence, show_progress=False)
        table.normalize()
        wanted = np.asarray(table.values).transpose([table.variables.index(name) for name in asked])
        found = inference.joint([names.index(name) for name in asked])
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    best = pgmpy.map_query(free, evidence, show_progress=False) | evidence
    assert dict(zip(names, inference.map().codes.tolist(), strict=True)) == best
    if not evidence:
        assert np.exp(inference.log_partition) == pytest.approx(model.get_partition_function(), rel=1e-12)

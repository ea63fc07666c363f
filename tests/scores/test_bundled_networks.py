"""Scores of the true families of bundled networks, compared with pgmpy's."""

import math

import pytest
from pgmpy import structure_score as theirs

from oracles import family_scores as oracle
from pgmx import scores as ours
from pgmx.data import encode
from pgmx.datasets import list_networks, load_network, sample

SMALL = ("asia", "cancer", "earthquake", "survey")
LARGE = ("barley", "diabetes", "mildew", "munin", "munin2", "munin3", "munin4")  # half a minute each to read
NETWORKS = [
    name if name in SMALL else pytest.param(name, marks=pytest.mark.slow)
    for name in list_networks()
    if name not in LARGE
]


@pytest.mark.filterwarnings("ignore:implausibly many states")
@pytest.mark.parametrize("network", NETWORKS)
def test_true_families(network):
    """As many as pgmpy can score in seconds: it makes a frame of all configurations that occur."""
    model = load_network(network)
    frame = sample(model, 300, random_state=0)
    states = {name: list(model.states[name]) for name in frame}
    families = [(child, tuple(sorted(model.get_parents(child)))) for child in frame]
    families = [(x, parents) for x, parents in families if math.prod(len(states[v]) for v in (x, *parents)) < 3000][:40]
    table = encode(frame, state_names=states)
    ids = [(table.index(x), [table.index(p) for p in parents]) for x, parents in families]
    for name in ("LogLikelihood", "AIC", "BIC"):
        mine, pgmpy = getattr(ours, name)(table), getattr(theirs, name)(frame, state_names=states)
        expected = [pgmpy.local_score(*family) for family in families]
        assert [mine.local_score(*family) for family in families] == pytest.approx(expected, rel=1e-10, abs=1e-9)
    for name in ("K2", "BDeu", "BDs"):  # pgmpy departs from the formulas where states never occur
        mine = getattr(ours, name)(table)
        expected = [oracle.family_score(table.codes, table.cardinalities, *family, name.lower()) for family in ids]
        assert [mine.local_score(*family) for family in families] == pytest.approx(expected, rel=1e-9, abs=1e-9)

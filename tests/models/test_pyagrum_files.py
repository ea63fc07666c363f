"""NET, XDSL and XMLBIF between pgmx and pyAgrum, cell by cell, on the bundled networks; skipped without pyAgrum.

pyAgrum 3.3 reads NET in single precision and writes the other formats with six digits: so much is forgiven. It reads
and writes the states of the first parent fastest in XDSL, unlike GeNIe, whose order pgmx writes.
"""

import numpy as np
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmx.datasets import list_networks, load_network
from pgmx.models import read_model, save_model

gum = pytest.importorskip("pyagrum")

SMALL = ("asia", "alarm", "survey", "sachs", "insurance")
networks = pytest.mark.parametrize(
    "name", [name if name in SMALL else pytest.param(name, marks=pytest.mark.slow) for name in list_networks()]
)


def compare(model, network, reverse=False):
    """Check that two networks have the same tables; with `reverse` the columns of `network` are permuted."""
    assert set(network.names()) == set(model.nodes())
    for cpd in model.cpds:
        table = network.cpt(cpd.variable)
        axes = list(reversed(table.names))
        assert set(axes) == set(cpd.variables)
        assert list(network.variable(cpd.variable).labels()) == cpd.state_names[cpd.variable]
        values = np.asarray(table.toarray()).reshape([network.variable(axis).domainSize() for axis in axes])
        values = values.transpose([axes.index(name) for name in cpd.variables])
        if reverse:
            values = values.transpose(0, *reversed(range(1, values.ndim))).reshape(values.shape)
        np.testing.assert_allclose(values, cpd.values, atol=1e-6)


def with_plain_states(model):
    """Return a network whose states are identifiers, such as all programs and formats take."""
    plain = DiscreteBayesianNetwork(model.edges())
    plain.add_nodes_from(model.nodes())
    for cpd in model.cpds:
        child, *parents = cpd.variables
        states = {name: [f"s{k}" for k in range(len(own))] for name, own in cpd.state_names.items()}
        plain.add_cpds(TabularCPD(child, len(states[child]), cpd.get_values(), parents, cpd.cardinality[1:], states))
    return plain


@networks
def test_pyagrum_reads_what_pgmx_writes(tmp_path, name):
    model = load_network(name)
    compare(model, gum.loadBN(str(save_model(model, tmp_path / "a.net"))))
    plain = with_plain_states(model)
    compare(plain, gum.loadBN(str(save_model(plain, tmp_path / "a.xdsl"))), reverse=True)
    compare(plain, gum.loadBN(str(save_model(plain, tmp_path / "a.bifxml"))))


@networks
@pytest.mark.parametrize("suffix", ["net", "xdsl", "bifxml", "bif"])
def test_pgmx_reads_what_pyagrum_writes(tmp_path, name, suffix):
    model = with_plain_states(load_network(name))
    network = gum.loadBN(str(save_model(model, tmp_path / "a.net")))
    gum.saveBN(network, str(tmp_path / f"b.{suffix}"))
    compare(read_model(tmp_path / f"b.{suffix}"), network)

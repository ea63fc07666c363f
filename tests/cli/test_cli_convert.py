"""``pgmx convert``, and ``--format`` of the commands that read a network."""

import gzip
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from helpers.command_line import done, refused
from pgmx.datasets import chain_network, load_network
from pgmx.models import LinearDynamicalSystem, read_model, save_model


def test_a_chain_of_formats():
    first, asia = "asia", load_network("asia")
    for name in ("a.net", "a.xdsl", "a.bif.gz", "a.xmlbif", "a.bifxml", "a.json", "a.xdsl.gz", "b.bif"):
        assert done("convert", first, name) == f"wrote {name}\n"
        first = name
    read = read_model("b.bif")
    for cpd in asia.cpds:
        np.testing.assert_array_equal(read.get_cpds(cpd.variable).values, cpd.values)
    done("convert", "a.xdsl.gz", "b.xdsl")
    assert gzip.decompress(Path("a.xdsl.gz").read_bytes()) == Path("b.xdsl").read_bytes()


def test_other_models():
    save_model(chain_network(3), "m.uai")
    done("convert", "m.uai", "m.graphml.gz")
    done("convert", "m.graphml.gz", "m.json")
    expected = chain_network(3).marginals()
    for name, own in read_model("m.json").marginals().items():
        assert list(own.values()) == pytest.approx(list(expected[name].values()), rel=1e-9)
    save_model(LinearDynamicalSystem(["x", "y"], np.eye(2) / 2), "s.npz")
    done("convert", "s.npz", "t.npz")
    assert read_model("t.npz").names == ("x", "y")
    done("convert", "asia", "g.graphml")
    done("convert", "g.graphml", "g.json")
    assert set(read_model("g.json").edges()) == set(load_network("asia").edges())


def test_the_format_of_a_file_with_another_suffix():
    Path("a.dat").write_bytes(save_model(load_network("asia"), "a.net").read_bytes())
    Path("rows.csv").write_text("asia,tub,smoke,lung,bronc,either,xray,dysp\n" + "no,no,no,no,no,no,no,no\n" * 3)
    done("convert", "--format", "net", "a.dat", "a.bif")
    assert "8 edges" in done("compare", "--format", "net", "asia", "a.dat")
    assert "bic" in done("score", "--format", "net", "a.dat", "rows.csv")
    done("show", "--format", "net", "a.dat", "--out", "a.html")
    assert "--format" in refused("convert", "a.dat", "b.bif")


def test_documents_in_xml():
    asia = load_network("asia")
    for suffix in ("xmlbif", "xdsl", "graphml"):
        Path("a.xml").write_bytes(save_model(asia, f"a.{suffix}").read_bytes())
        assert "shd      0 " in done("compare", "asia", "a.xml")
    Path("a.xml").write_text("<html/>")
    assert "not a network in XML" in refused("compare", "asia", "a.xml")


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ("asia", "a.dne", "a.dne: Netica's DNE is not supported"),
        ("a.dsc", "a.bif", "a.dsc: DSC (Microsoft and Netica) is not supported"),
        ("asia", "a.xml", "unknown suffix '.xml' of 'a.xml'"),
        ("asia", "none/a.net", "OUT none/a.net: there is no folder none"),
        ("asia", "a.npz", "npz holds a PairwiseMarkovNetwork"),
        ("g.graphml", "a.net", "net holds a fitted DiscreteBayesianNetwork, not a DiGraph"),
        ("d.net", "a.bif", "'d' is a decision node: influence diagrams are not supported"),
        ("none.net", "a.bif", "no such file: none.net"),
        ("alarn", "a.bif", "'alarn' is neither a file nor a bundled network"),
        (".", "a.bif", ". is a folder: give the file of a network"),
    ],
)
def test_what_is_refused(source, target, words):
    save_model(nx.DiGraph([("x", "y")]), "g.graphml")
    Path("a.dsc").write_text("belief network")
    Path("d.net").write_text('decision d { states = ("a" "b"); }')
    assert words in refused("convert", source, target)
    assert not Path(target).exists()


def test_questions_about_networks_of_hugin_and_genie():
    for suffix in ("net", "xdsl", "net.gz"):
        save_model(load_network("asia"), f"a.{suffix}")
        assert done("infer", f"a.{suffix}", "--task", "PR", "--given", "asia=yes", "--format", "uai") == "PR\n-2\n"

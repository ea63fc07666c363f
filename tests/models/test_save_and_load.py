"""`save` and `load` of discrete Bayesian networks: our class, every format, errors of damaged and unknown files."""

import numpy as np
import pytest
from pgmpy.factors.continuous import LinearGaussianCPD

from pgmx.datasets import load_network
from pgmx.models import DiscreteBayesianNetwork, LinearGaussianBayesianNetwork, read_model, save_model

ASIA = load_network("asia")
PROBABILITY = ASIA.predict_proba({"xray": ["yes"]}, ["lung"]).to_numpy()


@pytest.mark.parametrize(
    ("name", "filetype"),
    [
        ("a.bif", None),
        ("a.xmlbif", None),
        ("a.net", None),
        ("a.xdsl", None),
        ("a.uai", None),
        ("a.json", None),
        ("a.bif.gz", None),
        ("a", None),
        ("a.dat", "net"),
        ("a.xml", "xmlbif"),
    ],
)
def test_every_format_is_read_back(name, filetype, tmp_path):
    path = tmp_path / name
    ASIA.save(str(path), filetype)
    loaded = DiscreteBayesianNetwork.load(path, filetype)
    assert type(loaded) is DiscreteBayesianNetwork
    assert set(loaded.edges) == set(ASIA.edges)
    assert loaded.predict_proba({"xray": ["yes"]}, ["lung"]).to_numpy() == pytest.approx(PROBABILITY, rel=1e-6)
    if path.suffix:
        assert set(read_model(path, filetype).edges) == set(ASIA.edges)


def test_the_child_of_a_uai_table_is_last(tmp_path):
    ASIA.save(tmp_path / "a.uai")
    words = (tmp_path / "a.uai").read_text().split("#")[0].split()
    names, sizes = list(ASIA.nodes()), words[2:10]
    at, scopes = 11, []
    for _ in names:
        scopes.append([names[int(v)] for v in words[at + 1 : at + 1 + int(words[at])]])
        at += 1 + int(words[at])
    assert words[0] == "BAYES" and sizes == ["2"] * 8
    for *parents, child in scopes:
        assert set(parents) == set(ASIA.predecessors(child))
        values = np.array(words[at + 1 : at + 1 + int(words[at])], dtype=float)
        at += 1 + len(values)
        assert values.reshape(-1, 2).sum(axis=1) == pytest.approx(1)


def test_states_are_converted(tmp_path):
    text = save_model(ASIA, tmp_path / "a.bif").read_text()
    (tmp_path / "b.bif").write_text(text.replace("yes", "1").replace("no", "0"))
    loaded = DiscreteBayesianNetwork.load(tmp_path / "b.bif", state_name_type=int)
    assert loaded.states["lung"] == [1, 0]
    assert loaded.predict({"lung": [1], "either": [1]}).loc[0, "xray"] == 1


def test_damaged_and_unknown_files_are_refused(tmp_path):
    path = tmp_path / "a.bif"
    ASIA.save(path)
    path.write_text(path.read_text()[:800])
    with pytest.raises(ValueError, match=r"a\.bif is not a Bayesian network"):
        DiscreteBayesianNetwork.load(path)
    with pytest.raises(ValueError, match=r"unknown suffix '\.foo' of 'a\.foo'"):
        ASIA.save(tmp_path / "a.foo")
    assert not (tmp_path / "a.foo").exists()
    other = LinearGaussianBayesianNetwork([("x", "y")])
    other.add_cpds(LinearGaussianCPD("x", [0.0], 1.0), LinearGaussianCPD("y", [0.0, 1.0], 1.0, ["x"]))
    with pytest.raises(TypeError, match="got LinearGaussianBayesianNetwork"):
        DiscreteBayesianNetwork.load(save_model(other, tmp_path / "g.json"))

"""Hugin NET and GeNIe XDSL: files of other programs, files of pgmx, and what is refused by name."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork
from pgmpy.readwrite import NETReader, XDSLReader

from pgmx.data.table import DiscreteTable
from pgmx.datasets import load_network
from pgmx.models import fit_discrete, read_model, save_model

NET = r"""
net
{
    name = "a; b {}";   % a comment with { and "
    node_size = (50 50);
}
discrete node wet
{
    label = "Is it \"wet\"?";
    states = ("no, never" "(0,1]" "a%b");
    HR_Desc = "line one
line two; }";
}
node rain { states = ("no" "yes"); subtype = boolean; }
node season { states = (1 2, 3); }
potential (rain) { data = (0.25 0.75); }
potential ( season | ) { data = (0.5 0.25 0.25); }
potential (wet | season rain)
{
    model_nodes = ();
    model_data = ( if (rain) Distribution(1, 0, 0) );
    data = ((( 0.5 0.25 0.25 )( 1 0 0 ))
            (( 0 1 0 )( 0 0 1 ))
            (( 0.125 0.125 0.75 )( 0.25 0.5 0.25 )));
}
"""

# The last parent varies fastest in both formats: wet given (season, rain), states of wet fastest.
WET = [[0.5, 1, 0, 0, 0.125, 0.25], [0.25, 0, 1, 0, 0.125, 0.5], [0.25, 0, 0, 1, 0.75, 0.25]]

XDSL = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- of GeNIe's form: the asia network has its probabilities of dyspnoea in this order -->
<smile version="1.0" id="Asia" numsamples="10000" discsamples="10000">
  <nodes>
    <cpt id="tub"><state id="Absent" /><state id="Pr\u00e9sent" /><probabilities>0.99 0.01</probabilities></cpt>
    <deterministic id="either" diagtype="observation">
      <state id="Nothing" label="x" /><state id="CancerORTuberculosis" /><state id="Never" />
      <parents>tub</parents>
      <resultingstates>Nothing CancerORTuberculosis</resultingstates>
      <property id="literature">nothing</property>
    </deterministic>
    <cpt id="bronc" target="true">
      <state id="Absent" /><state id="Present" /><probabilities>0.55 0.45</probabilities>
    </cpt>
    <cpt id="dysp">
      <state id="Absent" /><state id="Present" fault="true" />
      <parents>either bronc</parents>
      <probabilities>0.9 0.1 0.2 0.8 0.3 0.7 0.1 0.9 0.5 0.5 0.25 0.75</probabilities>
    </cpt>
  </nodes>
  <extensions>
    <genie version="1.0" app="GeNIe 5.0"><node id="tub"><name>Has tuberculosis</name></node></genie>
  </extensions>
</smile>
"""

# pyAgrum 3.3.1: saveBN(network, "small.net") and "small.xdsl".
AGRUM_NET = """
net {
  name = weather;
  software = "aGrUM 3.3.1";
  node_size = (50 50);
}

node season {
   states = (winter spring summer );
   label = "season";
   ID = "season";
}

node rain {
   states = (no yes );
   label = "rain";
   ID = "rain";
}

node wet {
   states = (1 2 );
   label = "wet";
   ID = "wet";
}

node temp {
   states = ([0;1.5[ [1.5;4] );
   label = "temp";
   ID = "temp";
}

potential (season) {
   data = (  0.5 0.25 0.25);
}

potential (rain) {
   data = (  0.75 0.25);
}

potential ( wet | season   rain   ) {
   data =
   (((    0.5    0.5)   % rain=no   season=winter
   (    0.75    0.25))   % rain=yes   season=winter
   ((    0.25    0.75)   % rain=no   season=spring
   (    1    0))   % rain=yes   season=spring
   ((    0.125    0.875)   % rain=no   season=summer
   (    0    1)));   % rain=yes   season=summer
}

potential ( temp | wet   ) {
   data =
   ((    0.375    0.625)   % wet=1
   (    1    0));   % wet=2
}
"""
AGRUM_XDSL = """<?xml version="1.0" ?>
<smile version="1.0" id="weather">
  <nodes>
    <cpt id="rain"><state id="no" /><state id="yes" /><probabilities>0.75 0.25</probabilities></cpt>
    <cpt id="season">
      <state id="winter" /><state id="spring" /><state id="summer" />
      <probabilities>0.5 0.25 0.25</probabilities>
    </cpt>
    <cpt id="wet">
      <state id="1" /><state id="2" />
      <parents>season rain</parents>
      <probabilities>0.5 0.5 0.25 0.75 0.125 0.875 0.75 0.25 1 0 0 1</probabilities>
    </cpt>
    <cpt id="temp">
      <state id="[0;1.5[" /><state id="[1.5;4]" />
      <parents>wet</parents>
      <probabilities>0.375 0.625 1 0</probabilities>
    </cpt>
  </nodes>
  <extensions><genie version="1.0" app="aGrUM 3.3.1" name="weather"></genie></extensions>
</smile>
"""


def read(folder, text, suffix):
    path = folder / f"a.{suffix}"
    path.write_text(text, encoding="latin-1" if "8859-1" in text else "utf-8")
    return read_model(path)


def table_of(model, name):
    return model.get_cpds(name).get_values().tolist()


def test_net_of_others(tmp_path):
    model = read(tmp_path, NET, "net")
    assert list(model.nodes()) == ["wet", "rain", "season"]
    assert model.get_cpds("wet").variables == ["wet", "season", "rain"]
    assert model.get_cpds("wet").state_names == {
        "wet": ["no, never", "(0,1]", "a%b"],
        "season": ["1", "2", "3"],
        "rain": ["no", "yes"],
    }
    assert table_of(model, "wet") == WET
    assert table_of(model, "season") == [[0.5], [0.25], [0.25]]


def test_xdsl_of_others(tmp_path):
    model = read(tmp_path, XDSL, "xdsl")
    assert list(model.nodes()) == ["tub", "either", "bronc", "dysp"]
    assert model.get_cpds("tub").state_names == {"tub": ["Absent", "Présent"]}
    assert table_of(model, "either") == [[1, 0], [0, 1], [0, 0]]
    # Without a disease but with bronchitis, dyspnoea has the probability 0.8, not 0.7 (Lauritzen and Spiegelhalter).
    dysp = model.get_cpds("dysp")
    assert dysp.get_value(dysp="Present", either="Nothing", bronc="Present") == 0.8
    assert table_of(model, "dysp") == [[0.9, 0.2, 0.3, 0.1, 0.5, 0.25], [0.1, 0.8, 0.7, 0.9, 0.5, 0.75]]


@pytest.mark.parametrize(("text", "suffix"), [(AGRUM_NET, "net"), (AGRUM_XDSL, "xdsl")])
def test_files_of_pyagrum(tmp_path, text, suffix):
    """pyAgrum has the states of the first parent fastest in xdsl, and names itself there."""
    model = read(tmp_path, text, suffix)
    wet = model.get_cpds("wet")
    assert wet.variables == ["wet", "season", "rain"]
    assert wet.get_values()[0].tolist() == [0.5, 0.75, 0.25, 1, 0.125, 0]
    assert wet.get_value(wet="1", season="spring", rain="yes") == 1
    assert model.get_cpds("temp").state_names == {"temp": ["[0;1.5[", "[1.5;4]"], "wet": ["1", "2"]}
    assert table_of(model, "temp") == [[0.375, 1], [0.625, 0]]


def fitted(names, states, edges, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, len(labels), 50) for labels in states])
    return fit_discrete(DiscreteTable(names, states, codes), edges)


def assert_same(one, other):
    assert {str(node) for node in one.nodes()} == set(other.nodes())
    for cpd in one.cpds:
        mate = other.get_cpds(str(cpd.variable))
        assert mate.variables == [str(name) for name in cpd.variables]
        assert mate.state_names == {str(name): [str(s) for s in own] for name, own in cpd.state_names.items()}
        np.testing.assert_array_equal(mate.values, cpd.values)


AWKWARD = [*'(){}|";é&?1Aa \n\x00\\%_', "", "<b>", "-1", "//", "/*", "x,y", "a b", "_x0020_", "n_xempty_", "n_xempty_1"]
AWKWARD += ["(0,1]", ");", '\\"', "node", "potential", "data", "_xempty_", "states = ("]
WORDS = st.sampled_from(AWKWARD) | st.text(max_size=6)


@pytest.mark.parametrize("suffix", ["net", "xdsl"])
class TestFilesOfPgmx:
    @pytest.mark.slow
    @given(data=st.data())
    @settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_name_and_state_comes_back(self, tmp_path, suffix, data):
        names = data.draw(st.lists(WORDS, min_size=3, max_size=3, unique=True))
        states = [data.draw(st.lists(WORDS, min_size=1, max_size=3, unique=True)) for _ in names]
        model = fitted(names, states, [(0, 1), (0, 2), (1, 2)])
        assert_same(model, read_model(save_model(model, tmp_path / f"a.{suffix}")))

    def test_names_are_identifiers(self, tmp_path, suffix):
        chain = [(v, v + 1) for v in range(len(AWKWARD) - 1)]
        model = fitted(AWKWARD, [AWKWARD[v:] + AWKWARD[:v] for v in range(len(AWKWARD))], chain)
        path = save_model(model, tmp_path / f"a.{suffix}")
        text = path.read_text(encoding="utf-8")
        pattern = r"^node (.*)$" if suffix == "net" else r'<(?:cpt|state) id="(.*)" ?/?>'
        words = re.findall(pattern, text, re.MULTILINE)
        assert len(words) == (1 if suffix == "net" else 1 + len(AWKWARD)) * len(AWKWARD)
        assert all(re.fullmatch("[A-Za-z][A-Za-z0-9_]*", word) for word in words)
        assert_same(model, read_model(path))

    def test_other_types_become_text(self, tmp_path, suffix):
        model = fitted([1, "x"], [(0, 1, 2), (True, False)], [(1, 0)])
        assert_same(model, read_model(save_model(model, tmp_path / f"a.{suffix}")))
        with pytest.raises(ValueError, match="states of 'v': 1 and '1' are both written as '1'"):
            save_model(fitted(["v"], [(1, "1")], []), tmp_path / f"b.{suffix}")

    def test_bits_of_bundled_networks(self, tmp_path, suffix):
        for name in ("alarm", "child", "sachs"):
            model = load_network(name)
            assert_same(model, read_model(save_model(model, tmp_path / f"{name}.{suffix}")))

    def test_pgmpy_reads_plain_names(self, tmp_path, suffix):
        model = load_network("asia")
        path = str(save_model(model, tmp_path / f"asia.{suffix}"))
        other = NETReader(path).get_model() if suffix == "net" else XDSLReader(path).get_model()
        for cpd in model.cpds:
            mate = other.get_cpds(cpd.variable).copy()
            assert mate.variables == cpd.variables and mate.state_names[cpd.variable] == cpd.state_names[cpd.variable]
            np.testing.assert_allclose(mate.values, cpd.values, rtol=1e-12)

    def test_what_is_not_written(self, tmp_path, suffix):
        bare = DiscreteBayesianNetwork([("a", "b")])
        with pytest.raises(ValueError, match="No CPD associated with a"):
            save_model(bare, tmp_path / f"a.{suffix}")
        with pytest.raises(ValueError, match="no nodes"):
            save_model(DiscreteBayesianNetwork(), tmp_path / f"a.{suffix}")
        with pytest.raises(TypeError, match=f"{suffix} holds a fitted DiscreteBayesianNetwork"):
            save_model(load_network("asia").to_markov_model(), tmp_path / f"a.{suffix}")


def test_parents_precede_children_in_xdsl(tmp_path):
    asia = load_network("asia")  # its nodes have such an order already
    assert list(read_model(save_model(asia, tmp_path / "asia.xdsl")).nodes()) == list(asia.nodes())
    states = {"a": ["x", "y"], "b": ["x", "y"]}
    model = DiscreteBayesianNetwork()
    model.add_nodes_from("ab")
    model.add_edge("b", "a")
    model.add_cpds(TabularCPD("a", 2, [[0.5, 1], [0.5, 0]], ["b"], [2], states))
    model.add_cpds(TabularCPD("b", 2, [[0.25], [0.75]], state_names={"b": states["b"]}))
    text = save_model(model, tmp_path / "a.xdsl").read_text()
    assert re.findall('<cpt id="(.)"', text) == ["b", "a"]


def refuse(folder, text, old, new, suffix, words):
    assert old in text
    with pytest.raises(ValueError, match=words) as caught:
        read(folder, text.replace(old, new, 1), suffix)
    assert f"a.{suffix} is not a Bayesian network in {suffix} form" in str(caught.value)


NET_FAULTS = {
    "decision": (
        "node rain",
        "decision rain",
        "line 14, 'rain' is a decision node: influence diagrams are not supported",
    ),
    "utility": ("node rain", "utility rain", "'rain' is a utility node: influence diagrams are not supported"),
    "function": (
        "discrete node",
        "discrete function",
        "'wet' is a function node: influence diagrams are not supported",
    ),
    "continuous": (
        "discrete node",
        "continuous node",
        "line 7, 'wet' is continuous: only discrete nodes are supported",
    ),
    "class": ("net\n", "class x\n", "line 2, it contains a class: object-oriented networks are not supported"),
    "another block": ("node rain", "knot rain", "'rain' is of the kind 'knot', which is not supported"),
    "no brace": ("potential (rain) {", "potential (rain)", "there is no complete block"),
    "a table given twice": ("( season | )", "( rain | )", "there are two tables of 'rain'"),
    "data given twice": ("data = (0.25", "data = (1 0); data = (0.25", "has two attributes 'data'"),
    "a node given twice": ("node rain", "node wet", "the variable 'wet' occurs twice"),
    "a state twice": ('"yes"', '"no"', "the states of 'rain' occur more than once, such as 'no'"),
    "no states": ("states = (1 2, 3);", "", "the variable 'season' has no states"),
    "nan": ("0.25 0.75", "nan 0.75", "'rain' hold nan"),
    "negative": ("0.25 0.75", "-0.25 1.25", "'rain' hold -0.25"),
    "a sum of 1.5": ("0.25 0.75", "0.75 0.75", "'rain' add up to 1.5"),
    "a word": ("0.25 0.75", "0.25 much", "must be numeric, got 'much'"),
    "too few": ("0.25 0.75", "1.0", "the table of 'rain' must hold 2 values, got 1"),
    "an expression": ("data = (0.25 0.75);", "model_data = (x);", "'rain' has no 'data', only an expression, which is"),
    "no data": ("data = (0.25 0.75);", "", "'rain' has no 'data';"),
    "two children": ("(rain)", "(rain season)", "a table of one variable before '|' is expected, got 'rain season'"),
    "no parentheses": ("(rain)", "rain", r"'\( variable \| parents \)' is expected, got 'rain'"),
    "an unknown parent": ("season rain)", "season snow)", "name the unknown variable.s. 'snow'"),
    "own parent": ("season rain)", "season wet)", "occur more than once, such as 'wet'"),
    "no table": ("potential (rain) { data = (0.25 0.75); }", "", "it holds no probabilities of 'rain'"),
    "no attribute": ("subtype = boolean;", "subtype boolean;", "which is not 'name = value;'"),
}


@pytest.mark.parametrize("fault", NET_FAULTS)
def test_faults_of_net(tmp_path, fault):
    old, new, words = NET_FAULTS[fault]
    refuse(tmp_path, NET, old, new, "net", words)


def test_a_cycle(tmp_path):
    old, new = "potential (rain) { data = (0.25 0.75); }", "potential (rain | wet) { data = (1 0 1 0 1 0); }"
    refuse(tmp_path, NET, old, new, "net", "its parents form a cycle")


XDSL_FAULTS = {
    "decision": ("<deterministic id", "<decision id", "mismatched tag"),
    "noisy-max": (
        "cpt",
        "noisymax",
        r"'tub' is of the kind 'noisymax', which is not supported, only tables \(cpt, determin",
    ),
    "equation": ("cpt", "equation", "'tub' is of the kind 'equation', which is not supported"),
    "utility": ("cpt", "utility", "'tub' is a utility node: influence diagrams are not supported"),
    "mau": ("cpt", "mau", "'tub' is a mau node: influence diagrams are not supported"),
    "a table given twice": (
        "</probabilities>",
        "</probabilities><probabilities>1 0</probabilities>",
        "more than one prob",
    ),
    "no table": ("<probabilities>0.99 0.01</probabilities>", "", "the definition of 'tub' has no probabilities"),
    "two lists of parents": ("<parents>tub</parents>", "<parents>tub</parents><parents/>", "more than one list of par"),
    "an unknown result": (
        "Nothing CancerOR",
        "Something CancerOR",
        "must be 2 of its states, got the unknown state 'Something'",
    ),
    "a result too many": ("<resultingstates>", "<resultingstates>Nothing ", "must be 2 of its states, got 3 states"),
    "nan": ("0.99", "NaN", "'tub' hold nan"),
    "a sum of 1.8": ("0.99", "1.79", "'tub' add up to 1.8"),
    "a state twice": ('id="Present" />', 'id="Absent" />', "the states of 'bronc' occur more than once"),
    "a node given twice": ('id="bronc"', 'id="tub"', "the variable 'tub' occurs twice"),
    "an unknown parent": (">either bronc<", ">either smoke<", "name the unknown variable.s. 'smoke'"),
    "no nodes": ("nodes>", "knots>", "mismatched tag"),
    "another root": ("smile", "smirk", "mismatched tag"),
    "dynamic": ("<extensions>", "<dynamic/><extensions>", "a dynamic Bayesian network, which is not supported"),
}


@pytest.mark.parametrize("fault", XDSL_FAULTS)
def test_faults_of_xdsl(tmp_path, fault):
    old, new, words = XDSL_FAULTS[fault]
    text = XDSL
    if old == "cpt":  # of the first node
        end = text.index("</cpt>") + len("</cpt>")
        text, old, new = XDSL, text[:end], text[:end].replace("cpt", new)
    refuse(tmp_path, text, old, new, "xdsl", words)


@pytest.mark.parametrize(("old", "new"), [("nodes>", "knots>"), ("smile", "smirk")])
def test_other_documents(tmp_path, old, new):
    with pytest.raises(ValueError, match="a document 'smile' with 'nodes' is expected, got 'sm"):
        read(tmp_path, XDSL.replace(old, new), "xdsl")

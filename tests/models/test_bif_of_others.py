"""BIF and XMLBIF as other programs write them: quotes, intervals, encodings, compressed files."""

import gzip

import pytest

from pgmx.datasets import load_network
from pgmx.models import read_model, save_model
from tests.helpers.processes import run_in_child, set_limits


def write(folder, text, name="a.bif"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def table_of(model, name):
    return model.get_cpds(name).get_values().tolist()


def test_names_in_quotes(tmp_path):
    text = (
        'variable "rain today" { type discrete [ 2 ] { "no; never", "yes" }; }\n'
        'variable "a, b" { type discrete [ 2 ] { x, "y|{z}" }; }\n'
        'variable "say \\"hm\\"" { type discrete [ 2 ] { "_x0020_", "" }; }\n'
        'probability ( "rain today" ) { table 0.25, 0.75; }\n'
        'probability ( "a, b" | "rain today" ) { ("yes") 0.5, 0.5; ("no; never") 0.125, 0.875; }\n'
        'probability ( "say \\"hm\\"" | "rain today", "a, b" ) { default 1, 0; ("no; never", "y|{z}") 0, 1; }\n'
    )
    model = read_model(write(tmp_path, text))
    assert list(model.nodes()) == ["rain today", "a, b", 'say "hm"']
    assert model.get_cpds("rain today").state_names == {"rain today": ["no; never", "yes"]}
    assert model.get_cpds("a, b").state_names["a, b"] == ["x", "y|{z}"]
    assert model.get_cpds('say "hm"').state_names['say "hm"'] == ["_x0020_", ""]
    assert table_of(model, "a, b") == [[0.125, 0.5], [0.875, 0.5]]
    assert table_of(model, 'say "hm"') == [[1, 0, 1, 1], [0, 1, 0, 0]]


@pytest.mark.parametrize("separator", [", ", ",", " ", " , "])
@pytest.mark.parametrize("labels", [["(0,1]", "(1,2.5]"], ["[-Inf,3)", "[3,Inf]"], ["(0,1]", "none"]])
def test_states_with_commas(tmp_path, separator, labels):
    """As `cut` of R names them, and bnlearn writes them."""
    text = (
        f"variable a {{ type discrete [ 2 ] {{ {separator.join(labels)} }}; }}\n"
        f"variable b {{ type discrete [ 3 ] {{ u, v, w }}; }}\n"
        f"variable c {{ type discrete [ 2 ] {{ {separator.join(labels)} }}; }}\n"
        "probability ( a ) { table 0.25, 0.75; }\nprobability ( b ) { table 0.5, 0.25, 0.25; }\n"
        "probability ( c | b, a ) { default 0.5, 0.5;\n"
        f"  (w, {labels[1]}) 0.125, 0.875;\n  (u,{labels[0]}) 1, 0;\n}}\n"
    )
    model = read_model(write(tmp_path, text))
    assert model.get_cpds("a").state_names == {"a": labels}
    assert table_of(model, "c") == [[1, 0.5, 0.5, 0.5, 0.5, 0.125], [0, 0.5, 0.5, 0.5, 0.5, 0.875]]
    assert table_of(read_model(save_model(model, tmp_path / "b.bif")), "c") == table_of(model, "c")


def test_rows_that_can_be_read_in_two_ways(tmp_path):
    text = (
        'variable a { type discrete [ 2 ] { x, "x,y" }; } variable b { type discrete [ 2 ] { "y,z", z }; }\n'
        "variable c { type discrete [ 2 ] { 0, 1 }; }\nprobability ( a ) { table 1, 0; }\n"
        "probability ( b ) { table 1, 0; }\nprobability ( c | a, b ) { default 1, 0; (x,y,z) 0, 1; }\n"
    )
    with pytest.raises(ValueError, match=r"line 5, the row \(x,y,z\) can be read in two ways as states of 'a', 'b'"):
        read_model(write(tmp_path, text))
    model = read_model(write(tmp_path, text.replace("(x,y,z)", '("x,y",z)')))
    assert table_of(model, "c") == [[1, 1, 1, 0], [0, 0, 0, 1]]


N = 300_000
LONG = {
    "blanks": ("net", "node a { x =" + " " * N + "}"),
    "properties": ("bif", "variable a { " + "property " * N + "}"),
    "an unclosed text": ("bif", '"' + '\\"' * N + "\\"),
    "rows": ("bif", "variable a { type discrete [ 2 ] { x, y }; } probability ( a ) { " + "(x ;" * N + "}"),
    "a state of all": ("net", "node a { states = (" + ")      " * N),
}


@pytest.mark.parametrize("kind", LONG)
def test_long_files_are_refused_in_linear_time(tmp_path, kind):
    suffix, text = LONG[kind]
    path = write(tmp_path, text, f"a.{suffix}")

    def read():
        set_limits(seconds=20, megabytes=1000)
        with pytest.raises(ValueError, match="repair the file"):
            read_model(path)

    run_in_child(read)


def test_names_that_differ_by_case(tmp_path):
    text = "".join(f"variable {name} {{ type discrete [ 1 ] {{ x }}; }}" for name in ("Ab", "ab", "C"))
    text += "probability ( Ab ) { table 1; } probability ( ab | Ab ) { table 1; } probability ( c | ab ) { table 1; }"
    assert set(read_model(write(tmp_path, text)).edges()) == {("Ab", "ab"), ("ab", "C")}
    with pytest.raises(ValueError, match="name the unknown variable.s. 'aB'"):
        read_model(write(tmp_path, text.replace("c | ab", "c | aB")))


def test_properties_are_left_out(tmp_path):
    text = (
        "network n { property type decision of noisy; }\n"
        'variable a { property type decision; type discrete [ 2 ] { x, y }; property "type utility"; }\n'
        "probability ( a ) { property noisy-max; table 0.5, 0.5; }"
    )
    assert table_of(read_model(write(tmp_path, text)), "a") == [[0.5], [0.5]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("suffix", ["bif", "net", "uai", "json"])
def test_byte_order_marks(tmp_path, encoding, suffix):
    asia = load_network("asia")
    model = asia if suffix != "uai" else asia.to_markov_model()
    text = save_model(model, tmp_path / f"a.{suffix}").read_text(encoding="utf-8").replace("asia", "süß")
    assert "süß" in read_model(write(tmp_path, text.encode(encoding), f"b.{suffix}")).nodes()


@pytest.mark.parametrize("suffix", ["bif", "net", "uai", "json"])
def test_other_encodings_are_named(tmp_path, suffix):
    raw = b"%# / \n \xe9" if suffix != "bif" else b"// \n//\xe9"
    with pytest.raises(ValueError, match="not text in UTF-8, as byte 0xe9 in line 2 shows: convert it to UTF-8"):
        read_model(write(tmp_path, raw, f"a.{suffix}"))


XMLBIF = """<?xml version="1.0"{encoding}?>
<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME> süß </NAME><OUTCOME>(0,1]</OUTCOME><OUTCOME>ß</OUTCOME></VARIABLE>
<DEFINITION><FOR>süß</FOR><TABLE> 0.25 0.75 </TABLE></DEFINITION></NETWORK></BIF>
"""


@pytest.mark.parametrize("name", ["a.xmlbif", "a.bifxml", "a.XML"])
@pytest.mark.parametrize("blanks", ["", " \n\t\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_xmlbif_of_others(tmp_path, name, blanks, encoding):
    declared = ' encoding="ISO-8859-1"' if encoding == "latin-1" else ""
    raw = (blanks + XMLBIF.format(encoding=declared)).encode(encoding)
    model = read_model(write(tmp_path, raw, name))
    assert model.get_cpds("süß").state_names == {"süß": ["(0,1]", "ß"]}
    assert table_of(model, "süß") == [[0.25], [0.75]]


def test_xml_that_is_not_understood(tmp_path):
    raw = XMLBIF.format(encoding="").encode("latin-1")
    with pytest.raises(ValueError, match="not text in UTF-8, as byte 0xfc in line 3 shows"):
        read_model(write(tmp_path, raw, "a.xmlbif"))
    with pytest.raises(ValueError, match=r"a\.xml is not a network in XML: its root is 'html'; expected one of 'BIF'"):
        read_model(write(tmp_path, "<html/>", "a.xml"))
    with pytest.raises(ValueError, match="holds a graph and no parameters"):
        read_model(write(tmp_path, '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"/>', "a.xml"))


@pytest.mark.parametrize("suffix", ["bif", "xmlbif", "bifxml", "net", "xdsl", "json"])
def test_compressed_files(tmp_path, suffix):
    model = load_network("asia")
    path = save_model(model, tmp_path / f"asia.{suffix}.gz")
    plain = save_model(model, tmp_path / f"asia.{suffix}")
    assert gzip.decompress(path.read_bytes()) == plain.read_bytes()
    for read in (read_model(path), load_network(path)):
        assert set(read.edges()) == set(model.edges())
        for cpd in model.cpds:
            assert table_of(read, cpd.variable) == cpd.get_values().tolist()
    assert load_network(path).name == "asia"
    again = save_model(model, tmp_path / f"again.{suffix}.gz")
    assert again.read_bytes() == path.read_bytes()


def test_damaged_compressed_files(tmp_path):
    path = save_model(load_network("asia"), tmp_path / "a.bif.gz")
    raw = path.read_bytes()
    for damaged in (b"network", raw[:100], raw[:100] + b"x" + raw[101:], b""):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a\.bif\.gz is not a .*; repair the file"):
            read_model(path)


def test_a_compressed_bomb(tmp_path):
    packed = gzip.compress(bytes(2**20))
    path = write(tmp_path, packed * 2**10, "bomb.bif.gz")  # a gigabyte of zeros

    def read():
        set_limits(seconds=5, megabytes=500)
        with pytest.raises(ValueError, match=r"bomb\.bif\.gz is not .*: it unpacks to more than the 1[0-9,]+ bytes"):
            read_model(path)

    run_in_child(read)


def test_what_would_not_be_read_back_is_not_compressed(tmp_path, monkeypatch):
    monkeypatch.setattr("pgmx.archives._TEXT", 10)
    monkeypatch.setattr("pgmx.archives._PER_BYTE", 1)
    with pytest.raises(
        ValueError, match=r"a\.bif\.gz: the content is compressed too much to be read again; write it without"
    ):
        save_model(load_network("asia"), tmp_path / "a.bif.gz")
    assert not list(tmp_path.iterdir())

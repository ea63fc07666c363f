"""Files of models that are damaged or forged: each fault is refused with the file, the place in it and a remedy."""

import gc
import gzip
import json
import warnings
import zipfile
from contextlib import nullcontext
from io import BytesIO

import numpy as np
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmx.datasets import chain_network, gaussian_chain_network
from pgmx.models import load_gaussian_network, load_markov_network, read_json, read_model, save_model
from pgmx.runs.checkpoint import Checkpoint
from tests.helpers.processes import run_in_child, set_limits


@pytest.fixture
def network():
    model = DiscreteBayesianNetwork([("rain", "wet")])
    model.add_cpds(
        TabularCPD("rain", 2, [[0.25], [0.75]], state_names={"rain": ["no", "yes"]}),
        TabularCPD("wet", 2, [[0.9, 0.1], [0.1, 0.9]], ["rain"], [2], {"wet": ["dry", "wet"], "rain": ["no", "yes"]}),
    )
    return model


def refuse(read, path, words):
    with pytest.raises(ValueError, match=words) as caught:
        read(path)
    assert path.name in str(caught.value)
    assert "repair the file, or save the model again" in str(caught.value)


def alter(path, old, new):
    raw = path.read_bytes()
    assert old in raw
    path.write_bytes(raw.replace(old, new, 1))
    return path


BIF = {
    "bad bytes": (b"rain", b"r\xe9in", "not text in UTF-8, as byte 0xe9 in line 3 shows: convert it to UTF-8"),
    "undefined parent": (b"wet | rain", b"wet | sun", "block at line 12.*'wet' name the unknown variable.s. 'sun'"),
    "missing variable": (
        b"variable rain {\n    type discrete [ 2 ] { no, yes };\n}\n",
        b"",
        "the unknown variable.s. 'rain'",
    ),
    "missing table": (b"probability ( rain ) {\n    table 0.25, 0.75 ;\n}\n", b"", "no probabilities of 'rain'"),
    "missing row": (b"( no ) 0.9, 0.1;", b"", r"1 row\(s\) of 'wet' are missing, among them \(no\)"),
    "a row given twice": (b"( no )", b"(yes)", "the row 'yes' of 'wet' is given twice"),
    "a table given twice": (b"0.25, 0.75 ;", b"0.25, 0.75; table 0.5, 0.5;", "the table of 'rain' is given twice"),
    "a row and a table": (b"( no )", b"table 1, 1, 0, 0; (no)", "the row 'no' of 'wet' is given twice"),
    "two defaults": (b"( no )", b"default 1, 0; default 0, 1; (no)", "the row 'default' of 'wet' is given twice"),
    "a row of NaN beside a default": (b"( no ) 0.9, 0.1", b"default 1, 0; (no) nan, nan", "'wet' hold nan"),
    "two types": (b"no, yes };", b"no, yes }; type discrete [ 2 ] { a, b };", "'rain' has more than one 'type"),
    "no type": (b"type discrete", b"sort discrete", "'rain' has no 'type discrete"),
    "decision": (b"type discrete", b"type decision", "'rain' is a decision node: influence diagrams are not supported"),
    "utility": (b"variable rain", b"utility rain", "'rain' is a utility node: influence diagrams are not supported"),
    "continuous": (
        b"type discrete [ 2 ]",
        b"type continuous",
        "'rain' is of the kind 'continuous', which is not supported",
    ),
    "noisy-max": (b"( no ) 0.9, 0.1", b"noisy-max 0.9", "'wet' has a noisy-max instead of a table"),
    "noisy-or": (b"( no ) 0.9, 0.1", b"function noisy-or (0.9)", "'wet' has a noisy-or instead of a table"),
    "columns of 1.8": (b"0.25", b"0.75", "'rain' add up to 1.5"),
    "negative": (b"0.25, 0.75", b"-0.5, 1.5", "'rain' hold -0.5"),
    "nan": (b"0.25", b"nan", "'rain' hold nan"),
    "words for numbers": (b"0.25", b"much", "must be numeric, got 'much'"),
    "a number too many": (b"0.25,", b"0.25, 0.0,", "must hold 2 values, got 3"),
    "a state too many": (b"no, yes", b"no, so, yes", "there are 3 states, but 2 are declared"),
    "a state that is not": (b"( no )", b"( so )", "names no states of 'rain'"),
    "a twin": (b"no, yes", b"no, no", "occur more than once, such as 'no'"),
    "no braces": (b"}", b"", "line 1 begins no complete block"),
    "a cycle": (b"( rain ) {\n    table 0.25, 0.75 ;", b"( rain | wet ) {\n (dry) 1, 0; (wet) 0, 1;", "a cycle"),
    "own parent": (b"wet | rain", b"wet | wet", "occur more than once, such as 'wet'"),
}


@pytest.mark.parametrize("fault", BIF)
def test_bif(tmp_path, network, fault):
    old, new, words = BIF[fault]
    refuse(read_model, alter(save_model(network, tmp_path / "a.bif"), old, new), words)


def test_bif_of_others(tmp_path):
    """Comments, quotes, defaults, tables with parents, names in other cases."""
    path = tmp_path / "other.bif"
    path.write_text(
        'network "Dog-Problem" { property "a; b"; }\n// a comment {\nvariable "A" { type discrete[2] { "x" "y" }; }\n'
        "/* of two\nlines */ variable B { type discrete [ 2 ] { u, v }; property p = 1; }\n"
        "variable C { type discrete [ 2 ] { u, v }; }\nprobability ( a ) { table 0.5 .5; }\n"
        "probability ( B | a ) { default 0.25 0.75; (y) 1e0, 0; }\nprobability ( C A ) { table 1 0.5, 0 0.5; }\n"
    )
    read = read_model(path)
    assert list(read.nodes()) == ["A", "B", "C"]
    assert read.get_cpds("B").get_values().tolist() == [[0.25, 1.0], [0.75, 0.0]]
    assert read.get_cpds("C").get_values().tolist() == [[1.0, 0.5], [0.0, 0.5]]
    assert read.check_model()


XMLBIF = {
    "words for numbers": (b"0.25", b"much", "'rain' must be numeric, got 'much'"),
    "columns of 1.8": (b"0.25", b"0.75", "'rain' add up to 1.5"),
    "negative": (b"0.25", b"-0.25", "'rain' hold -0.25"),
    "undefined parent": (b"<GIVEN>rain", b"<GIVEN>sun", "the unknown variable.s. 'sun'"),
    "missing name": (b"<NAME>rain</NAME>", b"", "variable 1 has no NAME"),
    "missing table": (b"TABLE>0.25", b"NOTE>0.25", "mismatched tag"),
    "another document": (b"NETWORK", b"NETWORD", "mismatched tag"),
    "decision": (
        b'TYPE="nature"',
        b'TYPE="decision"',
        "'rain' is a decision node: influence diagrams are not supported",
    ),
    "a table given twice": (b"</TABLE>", b"</TABLE><TABLE>0.5 0.5</TABLE>", "'rain' has more than one TABLE"),
    "two names": (b"</NAME>\n      <OUT", b"</NAME><NAME>b</NAME><OUT", "variable 1 has more than one NAME"),
    "noisy-max": (b"TABLE>0.25 0.75 </TABLE", b"NOISYMAX>0.25 0.75 </NOISYMAX", "'rain' has a NOISYMAX instead of a"),
}


@pytest.mark.parametrize("fault", XMLBIF)
def test_xmlbif(tmp_path, network, fault):
    old, new, words = XMLBIF[fault]
    refuse(read_model, alter(save_model(network, tmp_path / "a.xmlbif"), old, new), words)


JSON = {
    "columns of 1.8": (b"0.25", b"1.05", "'rain' add up to 1.8"),
    "negative": (b"0.25", b"-0.25", "'rain' hold -0.25"),
    "nan": (b"0.25", b"NaN", "it holds NaN"),
    "beyond numbers": (b"0.25", b"1e999", "it holds 1e999, which is not a finite number"),
    "cells that do not fit": (b"[0.25], ", b"", r"'rain' has the shape \(1, 1\)"),
    "states of a letter each": (b'["no", "yes"]', b'"no"', "the states of 'rain' must be a list"),
    "a parent that is not": (b'"evidence": ["rain"]', b'"evidence": ["sun"]', "it lacks 'sun'"),
    "two of a name": (b'"id": "wet"', b'"id": "rain"', "occur more than once, such as 'rain'"),
    "a list for a name": (b'"id": "wet"', b'"id": ["wet"]', "the name"),
}


@pytest.mark.parametrize("fault", JSON)
def test_json(tmp_path, network, fault):
    old, new, words = JSON[fault]
    refuse(read_json, alter(save_model(network, tmp_path / "a.json"), old, new), words)


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 100_000])
@pytest.mark.parametrize("read", [read_model, read_json, load_markov_network, load_gaussian_network])
def test_deep_json(tmp_path, text, read):
    path = tmp_path / "deep.json"
    path.write_bytes(text)
    refuse(read, path, "nested too deeply")


UAI = {
    "huge cardinality": ("MARKOV 2 1000000000000 2 1 1 1 2 1 1", "declares 1,000,000,000,002 states"),
    "huge count": ("MARKOV 99999999999 2 2", "ends too early"),
    "huge factor": ("MARKOV 2 30000 30000 1 2 0 1 900000000 1 1", "ends too early, in the factor"),
    "negative scope": ("MARKOV 2 2 2 1 2 0 -1 4 1 1 1 1", "word 8 must be a variable, .* got '-1'"),
    "variable beyond": ("MARKOV 2 2 2 1 2 0 2 4 1 1 1 1", r"factor of \[0, 2\]"),
    "pair with itself": ("MARKOV 2 2 2 1 2 1 1 4 1 1 1 1", r"factor of \[1, 1\]"),
    "cells that do not fit": ("MARKOV 2 2 2 1 2 0 1 3 1 1 1", "declares 3 values, its variables require 4"),
    "infinite cell": ("MARKOV 1 2 1 1 0 2 1 1e999", "must be finite"),
    "more than it says": ("MARKOV 1 2 1 1 0 2 1 1 2 1 1", "continues after the last of 1 factors"),
    "word for a count": ("MARKOV two 2", "word 2 must be the number of variables, .* got 'two'"),
    "count without end": (
        "MARKOV 1 " + "9" * 5000,
        "word 3 must be a number of states, of 18 digits at most, got '999",
    ),
}


@pytest.mark.parametrize("fault", UAI)
def test_uai(tmp_path, fault):
    text, words = UAI[fault]
    path = tmp_path / "a.uai"
    path.write_text(text)
    refuse(read_model, path, words)


# ---- archives ----


def pack(path, **arrays):
    """Replace members of an archive, or add some."""
    with np.load(path) as archive:
        arrays = dict(archive) | arrays
    np.savez_compressed(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def add_bomb(path, name):
    """Put two gigabytes of zeros into an archive, in a few kilobytes per gigabyte twice deflated at most."""
    buffer = BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (2**28,)})
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist() if info.filename != f"{name}.npy"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
        with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
            member.write(buffer.getvalue())
            for _ in range(128):
                member.write(bytes(2**24))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["unknown", "names", "edge_values", "node_values"])
def test_bombs(tmp_path, name):
    path = save_model(chain_network(5), tmp_path / "bomb.npz")
    add_bomb(path, name)

    def read():
        set_limits(seconds=2, megabytes=200)
        refuse(read_model, path, f"'{name}'")

    run_in_child(read)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"more": np.zeros(3)}, "has the member 'more', which such a file does not have"),
        ({"node_values": np.zeros(300)}, "'node_values' declares 2,528 bytes"),
        ({"node_values": None}, r"lacks the array\(s\) 'node_values'"),
        ({"edges": np.array([[0, 9]] * 5)}, "outside its 5 variables"),
        ({"edges": np.zeros((5, 2))}, "'edges' is of the type float64"),
        ({"edge_values": np.full(16, np.nan)}, r"edge_values\[0\] is nan"),
    ],
)
def test_members_of_markov_archives(tmp_path, change, words):
    path = save_model(chain_network(5), tmp_path / "a.npz")
    refuse(read_model, pack(path, **change), words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"more": np.zeros(3)}, "has the member 'more'"),
        ({"mean": np.zeros(300)}, "'mean' declares 2,528 bytes"),
        ({"rows": np.array([0, 1, 7])}, "must join two of its 4 variables"),
        ({"columns": np.array([1, 1, 3])}, "must join two of its 4 variables"),
        ({"rows": np.array([0, 0, 2]), "columns": np.array([1, 1, 3])}, "an edge occurs twice"),
        ({"scale": np.zeros(4)}, "scale of .* must be finite and positive"),
    ],
)
def test_members_of_gaussian_archives(tmp_path, change, words):
    path = save_model(gaussian_chain_network(4), tmp_path / "a.npz")
    refuse(read_model, pack(path, **change), words)


def test_a_damaged_header_of_an_array(tmp_path):
    """numpy ended in tokenize.TokenError."""
    path = save_model(chain_network(5), tmp_path / "a.npz")
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    for old, new in ((b"(4, 2)", b"(4,(("), (b"'descr'", b"'descr(")):
        with zipfile.ZipFile(path, "w") as archive:
            for member, content in members.items():
                archive.writestr(member, content.replace(old, new))
        refuse(read_model, path, "does not begin like an array")


@pytest.mark.parametrize("is_damaged", [pytest.param(False, marks=pytest.mark.slow), True])
def test_probed_archives_are_closed(tmp_path, is_damaged):
    """numpy left the file of each npz open that was looked into."""
    markov = save_model(chain_network(5), tmp_path / "m.npz")
    gaussian = save_model(gaussian_chain_network(5), tmp_path / "g.npz")
    checkpoint = Checkpoint(tmp_path / "c.npz", 0, "a search")
    checkpoint.save({"numbers": np.arange(3)})
    for path in (markov, gaussian, checkpoint.path) if is_damaged else ():
        path.write_bytes(b"PK no archive")
    readers = (lambda: read_model(markov), lambda: read_model(gaussian), lambda: load_markov_network(markov))
    readers += (lambda: load_gaussian_network(gaussian), checkpoint.load)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        for read in readers:
            with pytest.raises(ValueError, match=r"\.npz") if is_damaged else nullcontext():
                read()
        gc.collect()
    assert not shown


def test_numbers_of_a_type_of_a_gigabyte(tmp_path):
    path = tmp_path / "a.json"
    document = json.loads(save_model(gaussian_chain_network(2), path).read_text())
    document["transforms"] = {"starts": {"dtype": "V1000000000", "values": [0, 1, 2]}}
    path.write_text(json.dumps(document))
    refuse(read_model, path, "values of the type 'V1000000000'")


@pytest.mark.parametrize("read", [read_model, read_json, load_markov_network, load_gaussian_network])
def test_paths_that_cannot_be(tmp_path, read):
    with pytest.raises(ValueError, match=r"a\\x00.json' holds a NUL character: give another name"):
        read(f"{tmp_path}/a\0.json")
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        read(tmp_path / "none.json")


def test_a_compressed_model_is_no_model(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(gzip.compress(b"{}"))
    refuse(read_json, path, "not text in UTF-8")

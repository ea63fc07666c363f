"""``pgmx score`` and ``pgmx compare``."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from helpers.command_line import done, pgmx, refused
from pgmx.data import encode
from pgmx.datasets import load_network, sample
from pgmx.metrics import held_out_log_likelihood
from pgmx.models import save_model, to_dag, to_pdag
from pgmx.scores import BIC, BDeu


@pytest.fixture
def asia():
    return load_network("asia")


@pytest.fixture
def rows(asia):
    frame = sample(asia, 800, random_state=4)
    frame.to_csv("rows.csv", index=False)
    return frame


def test_structure_and_parameters_are_scored(asia, rows):
    text = done("score", "asia", "rows.csv", "--score", "BIC", "--score", "bdeu")
    table = encode(rows)
    assert "data     rows: 800 rows, 8 variables\ngraph    8 edges\n" in text
    assert f"score    {BIC(table).score(asia):.4f} (bic, parameters fitted to these rows)\n" in text
    assert f"score    {BDeu(table).score(asia):.4f} (bdeu, parameters fitted to these rows)\n" in text
    result = held_out_log_likelihood(asia, table)
    assert f"loglik   {result.total:.4f} nats, {result.mean:.4f} per row (parameters of the network)\n" in text


def test_columns_may_stand_in_any_order_and_files_turn_states_into_text(rows, asia):
    expected = done("score", "asia", "rows.csv")
    rows[list(rows.columns[::-1])].to_csv("turned.csv", index=False)
    assert done("score", "asia", "turned.csv").splitlines()[1:] == expected.splitlines()[1:]
    frame = pd.DataFrame({"a": [0, 1, 1, 0] * 30, "b": [True, True, False, False] * 30})
    frame.to_csv("ab.csv", index=False)
    done("learn", "ab.csv", "--required", _write("edges.csv", "a,b\n"), "--out", "ab.bif")
    assert f"loglik   {240 * np.log(0.5):.4f} nats" in done("score", "ab.bif", "ab.csv")
    Path("shouted.bif").write_text(Path("ab.bif").read_text().replace("True", "TRUE").replace("False", "FALSE"))
    assert f"loglik   {240 * np.log(0.5):.4f} nats" in done("score", "shouted.bif", "ab.csv")


def _write(name, text):
    Path(name).write_text(text)
    return name


def test_rows_that_the_network_rules_out_are_counted(rows):
    frame = rows.astype(str)
    frame.loc[:2, "smoke"] = "sometimes"
    frame.to_csv("rows.csv", index=False)
    text = done("score", "asia", "rows.csv")
    assert "loglik   -inf: the network gives probability 0 to 3 of 800 rows\n" in text
    assert re.search(r"^ +-\d+\.\d{4} nats per row of the others$", text, re.M)
    assert "at smoke (3)\n" in text


def test_gaussian_networks_and_bare_graphs(floats):
    done("learn", floats, "--out", "g.json")
    text = done("score", "g.json", floats)
    assert "(bic-g, " in text
    assert re.search(r"^loglik +-\d+\.\d{4} nats", text, re.M)
    done("learn", floats, "--required", _write("e.csv", "a,b\n"), "--out", "g.graphml")
    text = done("score", "g.graphml", floats, "--score", "ll-g")
    assert "loglik   left out: the network is a graph without parameters" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'MODEL' (see 'pgmx score --help')"),
        (("asia",), "Missing argument 'SOURCE'"),
        (("asai", "rows.csv"), "'asai' is neither a file nor a bundled network (alarm, "),
        (("asai.bif", "rows.csv"), "no such file: asai.bif"),
        (("asia", "row.csv"), "no such file: row.csv"),
        (("asia", "asia"), "asia is a network, not a table"),
        (("rows.csv", "rows.csv"), "unknown suffix '.csv' of 'rows.csv'; expected one of bif, xmlbif, net, xdsl"),
        (("cancer", "rows.csv"), "only in the network: 'Pollution'"),
        (("lines.json", "rows.csv"), "lines.json has undirected edges: a score needs a DAG"),
        (("broken.json", "rows.csv"), "broken.json is not a model"),
        (("broken.bif", "rows.csv"), "broken.bif"),
        (("asia", "rows.csv", "--score", "bik"), "'bik' is not known; choose one of bic, "),
        (("asia", "rows.csv", "--score", "bic-g"), "--score bic-g is for continuous variables, but column 'asia' is"),
    ],
)
def test_bad_usage_of_score(arguments, message, rows, asia):
    names = list(asia.nodes())
    save_model(to_pdag(names, [], [(0, 1)]), "lines.json")
    _write("broken.json", "{")
    _write("broken.bif", "no network")
    assert message in refused("score", *arguments)


def test_what_differs_is_listed():
    save_model(to_dag("abcd", [(0, 1), (1, 2), (2, 3)]), "first.graphml")
    save_model(to_dag("abcd", [(1, 0), (1, 2), (0, 3)]), "second.json")
    text = done("compare", "first.graphml", "second.json")
    assert "graphs   first.graphml: 4 variables, 3 edges; second.json: 4 variables, 3 edges\n" in text
    assert "shd      3 (2 between the CPDAGs)\n" in text
    assert re.search(r"^neighbours +0\.667 +0\.667 +0\.667$", text, re.M)
    assert re.search(r"^arrows +0\.333 +0\.333 +0\.333$", text, re.M)
    assert re.search(r"^arrows of the CPDAGs +1\.000 +1\.000 +1\.000$", text, re.M)
    assert text.endswith(
        "\nonly in second.json: 1\n  a -> d\n\nonly in first.graphml: 1\n  c -> d\n\n"
        "reversed in second.json: 1\n  b -> a\n"
    )
    assert "->" not in done("compare", "first.graphml", "second.json", "--quiet")
    assert "only in second.json: 1\n  a -- d\n" in done("compare", "first.graphml", "second.json", "--classes")


def test_a_learned_network_is_compared_with_a_bundled_one():
    learned = done("learn", "asia", "--rows", 2000, "--out", "a.bif", "--quiet")
    distance = re.search(r"^shd +(\d+)", learned, re.M)[1]
    assert f"({distance} between the CPDAGs)" in done("compare", "asia", "a.bif")
    assert "shd      0 (0 between the CPDAGs)\n" in done("compare", "asia", "asia")


def test_numbers_for_names_are_compared_by_their_text():
    save_model(to_dag([1, 2], [(0, 1)]), "n.json")
    save_model(to_dag(["1", "2"], [(0, 1)]), "t.graphml")
    assert "shd      0 (0 between" in done("compare", "n.json", "t.graphml")


def test_bad_usage_of_compare():
    save_model(to_dag("ab", [(0, 1)]), "ab.json")
    save_model(to_dag("ac", [(0, 1)]), "ac.json")
    save_model(to_dag([1, "1"], []), "twice.json")
    assert "Missing argument 'REFERENCE' (see 'pgmx compare --help')" in refused("compare")
    assert "only in the first graph: 'b'" in refused("compare", "ab.json", "ac.json")
    assert "twice.json: two variables have the same name as text" in refused("compare", "twice.json", "ab.json")
    assert "is a folder: give the file of a network" in refused("compare", "ab.json", ".")
    assert "none.graphml" in refused("compare", "ab.json", "none.graphml")
    assert "g.graphml cannot be read" in refused("compare", "ab.json", _write("g.graphml", "<"))


@pytest.mark.parametrize("command", ["score", "compare", "bootstrap"])
def test_help_of(command):
    result = pgmx(command, "--help")
    assert result.exit_code == 0
    assert f"Usage: pgmx {command} " in result.stdout
    assert f"\n    pgmx {command} " in result.stdout

"""The commands on mixed tables, and on networks with floats."""

import json

import numpy as np
import pytest

from helpers.command_line import done, pgmx, refused
from pgmx.estimators import GraphicalLasso, HillClimbSearch
from pgmx.models import ConditionalGaussianNetwork, read_model, save_model
from tests.helpers.mixed_tables import iris, six_columns


@pytest.fixture
def table(tmp_path):
    iris().to_csv(tmp_path / "iris.csv", index=False)
    return tmp_path / "iris.csv"


@pytest.fixture
def network(tmp_path, table):
    done("learn", str(table), "--out", str(tmp_path / "iris.json"))
    return tmp_path / "iris.json"


def read_answer(network, task, *more):
    first, second = done("infer", str(network), "--task", task, "--format", "uai", *more).splitlines()
    assert first == task
    return [float(word) for word in second.split()]


def test_learn_asks_and_writes_the_network(tmp_path, table):
    text = done("learn", str(table), "--out", str(tmp_path / "iris.json"))
    model = read_model(tmp_path / "iris.json")
    assert isinstance(model, ConditionalGaussianNetwork)
    assert "(bic-clg)" in text
    near = min(model.get_parents("K") or model.get_children("K"), key=list(model.names).index)
    value = float(text.split(f"query    P(K | {near} = ")[1].split(")")[0])
    shares = model.predict_proba({near: value}, ["K"]).iloc[0]
    rows = [line.split() for line in text.split("posterior\n")[1].splitlines()[:3]]
    assert [row[0] for row in rows] == ["setosa", "versicolor", "virginica"]
    np.testing.assert_allclose([float(row[2]) for row in rows], shares, atol=1e-3)  # the value has four digits


def test_learn_predicts_a_float(tmp_path):
    path = tmp_path / "six.csv"
    six_columns().to_csv(path, index=False)
    text = done("learn", str(path), "--out", str(tmp_path / "six.json"))
    model = read_model(tmp_path / "six.json")
    before = text.split("before")[1].split()[:2]
    np.testing.assert_allclose([float(word) for word in before], model.predict_proba({}, ["Z"]).iloc[0], rtol=1e-3)
    numbers = tmp_path / "xyz.csv"
    six_columns()[["X", "Y", "Z"]].to_csv(numbers, index=False)
    assert "query    Z | X = " in done("learn", str(numbers))


def test_a_graph_without_network_is_written_as_a_graph(tmp_path):
    path = tmp_path / "six.csv"
    six_columns().to_csv(path, index=False)
    text = done("learn", str(path), "--score", "bic-cg", "--out", str(tmp_path / "six.json"))
    assert "left out: edges from continuous to discrete variables have no parameters" in text
    assert json.loads((tmp_path / "six.json").read_text())["type"] == "PDAG"


def test_arcs_from_floats_to_states(tmp_path):
    path = tmp_path / "six.csv"
    six_columns().to_csv(path, index=False)
    said = "excluded edges from continuous to discrete variables: conditional"
    assert said in done("learn", str(path), "--quiet")
    allowed = done("learn", str(path), "--discrete-children", "allowed", "--quiet")
    assert said not in allowed and "query    left out: edges from continuous" in allowed
    degenerate = done("learn", str(path), "--score", "bic-dg", "--quiet")
    assert said not in degenerate and "(bic-dg)" in degenerate
    message = "--discrete-children allowed is for --score bic-clg, aic-clg, ll-clg, ebic-clg, not for bic-dg"
    assert message in refused("learn", str(path), "--score", "bic-dg", "--discrete-children", "allowed")


def test_numbers_are_scored_by_bge(tmp_path):
    path = tmp_path / "numbers.csv"
    iris().drop(columns="K").to_csv(path, index=False)
    assert "(bge)" in done("learn", str(path), "--score", "bge", "--out", str(tmp_path / "g.json"), "--quiet")
    assert "bge" in done("score", str(tmp_path / "g.json"), str(path), "--score", "bge")


def test_the_tasks(network):
    model = read_model(network)
    row = {"PL": 1.4, "SW": 3.5}
    given = ("--given", "PL=1.4", "--given", "SW=3.5")
    assert read_answer(network, "PR", *given) == [pytest.approx(model.log_evidence(row)[0] / np.log(10), rel=1e-10)]
    shares = model.predict_proba(row)
    expected = [5, 0, *shares["SL"].iloc[0], 0, 3.5, 0, 0, 1.4, 0, 0, *shares["PW"].iloc[0], 3, *shares["K"].iloc[0]]
    np.testing.assert_allclose(read_answer(network, "MAR", *given), expected, rtol=1e-8)
    assert read_answer(network, "MAR", "--given", "K=setosa")[-4:] == [3, 1, 0, 0]
    best = model.predict(row).iloc[0]
    codes = [best[name] if name in model.continuous else model.states[name].index(best[name]) for name in model.names]
    np.testing.assert_allclose(read_answer(network, "MAP", *given), [5, *codes], rtol=1e-8)
    assert done("infer", str(network), "--task", "MAP", *given).split()[-2:] == ["K", best["K"]]


def test_evidence_in_a_file(network, tmp_path):
    path = tmp_path / "some.evid"
    path.write_text("2 4 1 2 4.5")
    by_name = read_answer(network, "MAR", "--given", "K=versicolor", "--given", "PL=4.5")
    assert read_answer(network, "MAR", "--evidence", str(path)) == by_name
    for text, message in (
        ("1 4", "count"),
        ("1 9 0", "numbered 0..4"),
        ("1 4 7", "numbered 0..2"),
        ("1 0 x", "needs a number"),
        ("2 0 1 0 1", "two values"),
    ):
        path.write_text(text)
        assert message in refused("infer", str(network), "--task", "PR", "--evidence", str(path))
    path.write_text("1 4 1")
    more = ("--evidence", str(path), "--given", "K=setosa")
    assert "given twice" in refused("infer", str(network), "--task", "PR", *more)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--task", "MAR", "--method", "loopy"), "exact or weighting"),
        (("--task", "MAR", "--given", "PL"), "NAME=VALUE"),
        (("--task", "MAR", "--given", "XX=1"), "NAME=VALUE"),
        (("--task", "MAR", "--given", "PL=high"), "needs a number"),
        (("--task", "MAR", "--given", "PL=inf"), "infinite"),
        (("--task", "MAR", "--given", "K=rose"), "has the states"),
    ],
)
def test_wrong_questions_are_refused(network, options, message):
    assert message in refused("infer", str(network), *options)


def test_networks_of_floats_answer(tmp_path):
    frame = six_columns()[["X", "Y", "Z"]]
    learner = HillClimbSearch().fit(frame)
    dag, graph = tmp_path / "dag.json", tmp_path / "graph.npz"
    save_model(learner.model_, dag)
    model = ConditionalGaussianNetwork.from_network(learner.model_)
    values = model.predict({"X": 1.0}).iloc[0]
    assert read_answer(dag, "MAP", "--given", "X=1") == pytest.approx([3, *values])
    gaussian = GraphicalLasso(0.01).fit(frame).model_
    save_model(gaussian, graph)
    means = gaussian.predict({"X": 1.0}).iloc[0]
    assert read_answer(graph, "MAP", "--given", "X=1") == pytest.approx([3, 1, *means])
    assert read_answer(graph, "PR", "--given", "X=1", "--given", "Y=0", "--given", "Z=2")[0] == pytest.approx(
        gaussian.log_likelihood({"X": 1.0, "Y": 0.0, "Z": 2.0})[0] / np.log(10)
    )


def test_states_are_given_by_name_to_any_network():
    given = ("--given", "xray=yes", "--given", "smoke=no")
    assert done("infer", "asia", "--task", "MAR", "--format", "uai", *given).split()[:2] == ["MAR", "8"]
    assert "given twice" in refused("infer", "asia", "--task", "MAR", "--given", "xray=yes", "--given", "xray=no")


def test_score_of_other_rows(network, table, tmp_path):
    model = read_model(network)
    text = done("score", str(network), str(table))
    assert f"loglik   {model.log_likelihood(iris()).sum():.4f} nats" in text and "(bic-clg, " in text
    unknown = iris().astype({"K": str})
    unknown.loc[3, "K"] = "rose"
    unknown.to_csv(tmp_path / "rose.csv", index=False)
    assert "probability 0 to 1 of 150 rows" in done("score", str(network), str(tmp_path / "rose.csv"))
    holes = iris()
    holes.loc[3, "PL"] = np.nan
    holes.to_csv(tmp_path / "holes.csv", index=False)
    assert "'PL'" in refused("score", str(network), str(tmp_path / "holes.csv"))
    total = model.log_likelihood(holes.dropna()).sum()
    result = pgmx("score", str(network), str(tmp_path / "holes.csv"), "--missing", "drop")
    assert result.exit_code == 0 and f"loglik   {total:.4f}" in result.stdout

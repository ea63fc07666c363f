"""Numeric columns that are declared discrete, and new rows for what they learned."""

import numpy as np
import pandas as pd
import pytest

from pgmx.data import encode
from pgmx.estimators import (
    BestChoiceEdgeGrafting,
    BestFirstSearch,
    BootstrapStructure,
    ChowLiuForest,
    EdgeGrafting,
    FirstHitEdgeGrafting,
    GreedyEquivalenceSearch,
    GroupLassoMarkovNetwork,
    HillClimbSearch,
    OnlineEdgeGrafting,
    SimulatedAnnealing,
)
from pgmx.metrics import held_out_log_likelihood

MIXED = [
    HillClimbSearch,
    SimulatedAnnealing,
    BestFirstSearch,
    GreedyEquivalenceSearch,
    ChowLiuForest,
]
MARKOV = [
    EdgeGrafting,
    FirstHitEdgeGrafting,
    BestChoiceEdgeGrafting,
    OnlineEdgeGrafting,
    GroupLassoMarkovNetwork,
]


@pytest.fixture(scope="module")
def frame():
    """Return a discrete numeric column, two continuous columns that depend on it, and a column of words."""
    rng = np.random.default_rng(0)
    code = rng.integers(1, 4, 300).astype(float)
    x = code + rng.normal(size=300)
    word = np.where(rng.random(300) < 0.2, "u", np.where(code == 2, "v", "w"))
    return pd.DataFrame({"code": code, "x": x, "y": x + rng.normal(size=300), "word": word})


def as_categories(frame):
    return frame.astype({"code": int}).astype({"code": "category"})


@pytest.mark.parametrize("learner", MIXED, ids=lambda learner: learner.__name__)
def test_declared_columns_are_those_of_categories(learner, frame):
    learned = learner(discrete_columns=["code"]).fit(frame)
    other = learner().fit(as_categories(frame))
    assert np.array_equal(learned.edges_, other.edges_)
    assert learned.model_.states == {"code": (1, 2, 3), "word": ("u", "v", "w")}
    assert learned.score(frame) == other.score(as_categories(frame))
    assert learned.score(frame[:1].assign(x=0.5, y=-1)[["code", "x", "y", "word"]].iloc[[0, 0]]) == pytest.approx(
        other.score(as_categories(frame)[:1].assign(x=0.5, y=-1.0).iloc[[0, 0]]), rel=1e-12
    )


@pytest.mark.parametrize("learner", MARKOV, ids=lambda learner: learner.__name__)
def test_markov_networks_of_declared_columns(learner, frame):
    rows = frame[["code", "word"]].assign(half=np.round(frame["x"]) / 2)
    rows.loc[:20, "code"] = np.nan
    learned = learner(missing="category", discrete_columns=["code", "half"]).fit(rows)
    codes = rows["code"].map({1.0: "1", 2.0: "2", 3.0: "3"})
    other = learner(missing="category").fit(rows.assign(code=codes, half=rows["half"].astype("category")))
    assert np.array_equal(learned.edges_, other.edges_)
    assert learned.model_.states["code"] == [1, 2, 3, "missing"]
    assert learned.model_.states["half"] == sorted(rows["half"].unique())
    assert learned.score(rows) == pytest.approx(
        other.score(rows.assign(code=codes, half=rows["half"].astype("category"))), rel=1e-12
    )


@pytest.mark.filterwarnings("ignore:missing='drop' leaves out")
@pytest.mark.parametrize("missing", ["drop", "em"])
def test_new_rows_of_floats(missing, frame):
    rows = frame.copy()
    rows.loc[::15, "code"] = np.nan
    learned = HillClimbSearch(missing=missing, discrete_columns=["code"]).fit(rows)
    model, new = learned.model_, frame[["code", "x", "y", "word"]][:40]
    categories = as_categories(new)
    assert model.states["code"] == (1, 2, 3)
    np.testing.assert_array_equal(model.log_likelihood(new), model.log_likelihood(categories))
    np.testing.assert_array_equal(
        model.log_evidence(new.drop(columns="y")), model.log_evidence(categories[["code", "x", "word"]])
    )
    assert model.predict(new.drop(columns="word")).equals(model.predict(categories.drop(columns="word")))
    assert set(model.predict(new.drop(columns="code"))["code"]) <= {1, 2, 3}
    assert held_out_log_likelihood(model, new).total == held_out_log_likelihood(model, categories).total


def test_new_rows_of_a_discrete_network(frame):
    rows = frame[["code", "word"]]
    learned = HillClimbSearch(discrete_columns=["code"]).fit(rows)
    assert learned.model_.get_cpds("code").state_names["code"] == [1, 2, 3]
    assert learned.score(rows) == HillClimbSearch().fit(as_categories(rows)).score(as_categories(rows))
    assert held_out_log_likelihood(learned.model_, rows[:9]).total == pytest.approx(
        held_out_log_likelihood(learned.model_, as_categories(rows)[:9]).total, rel=1e-12
    )
    assert learned.model_.predict(rows[["word"]][:5])["code"].isin([1, 2, 3]).all()


@pytest.mark.parametrize("score", ["bic-g", "bge"])
@pytest.mark.parametrize("missing", ["error", "em"])
def test_scores_of_numbers_refuse_declared_columns(score, missing, frame):
    for rows in (frame[["code", "x", "y"]], frame[["code", "x", "y"]].astype({"code": int})):
        if missing == "em":
            rows = rows.assign(y=rows["y"].mask(rows["x"] > 3))
        with pytest.raises(
            ValueError, match=f"scoring_method='{score}' needs continuous variables, .* discrete: 'code'"
        ):
            HillClimbSearch(scoring_method=score, missing=missing, discrete_columns=["code"]).fit(rows)


def test_resamples_know_declared_columns(frame):
    bootstrap = BootstrapStructure(HillClimbSearch(discrete_columns=["code"]), n_resamples=4)
    other = BootstrapStructure(HillClimbSearch(), n_resamples=4)
    assert bootstrap.fit(frame).strengths_.equals(other.fit(as_categories(frame)).strengths_)


def test_costs_and_counts_know_declared_columns(frame):
    learner = HillClimbSearch(frame[["code", "word"]], discrete_columns=["code"])
    assert learner.state_counts("code")["count"].tolist() == frame["code"].value_counts().sort_index().tolist()
    assert learner.estimate_cost(frame) == HillClimbSearch().estimate_cost(as_categories(frame))


def test_files_and_tables_in_chunks(frame, tmp_path):
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    expected = HillClimbSearch(discrete_columns=["code"]).fit(frame)
    for X in (path, iter([frame[:100], frame[100:]])):
        learned = HillClimbSearch(discrete_columns=["code"]).fit(X)
        assert (learned.score_, learned.edges_.tolist()) == (expected.score_, expected.edges_.tolist())
    assert expected.score(path) == expected.score(frame)
    table = encode(frame[["code", "word"]], discrete_columns=["code"])
    assert HillClimbSearch(discrete_columns=["code"]).fit(table).model_.get_cpds("code") is not None


@pytest.mark.parametrize("learner", [*MIXED, EdgeGrafting], ids=lambda learner: learner.__name__)
def test_unknown_names_are_refused(learner, frame):
    with pytest.raises(
        ValueError, match=r"discrete_columns has unknown column\(s\) 'cod': the columns are 'code', 'x'"
    ):
        learner(discrete_columns=["cod"]).fit(frame)


def test_a_report_shows_declared_columns(frame, tmp_path):
    learned = HillClimbSearch(discrete_columns=["code"]).fit(frame)
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    text = learned.report(tmp_path / "report.html", data=path).read_text(encoding="utf-8")
    assert "1 (" in text

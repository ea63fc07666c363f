"""The score of conditional linear Gaussian networks: its formula, bnlearn's figures, what it refuses, its searches."""

import itertools
import os
import pickle
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pgmx
from helpers.mixed_tables import IRIS_ARCS, MIXED_ARCS, iris, keep_few, parents_of, six_columns
from oracles.conditional_gaussian import clg_score
from pgmx.estimators import BestFirstSearch, BootstrapStructure, HillClimbSearch, SimulatedAnnealing
from pgmx.scores import BIC, BICCondLinearGauss, ParameterPrior

QUIET = {"show_progress": False, "return_type": "dag"}


def families(frame, most=3):
    """Yield the families without arcs from continuous to discrete variables."""
    for child in frame:
        others = [name for name in frame if name != child and (child not in "RST" or name in "RST")]
        for size in range(most + 1):
            for parents in itertools.combinations(others, size):
                yield child, parents


def score_graph(frame, learner, **options):
    parents = parents_of(frame, learner.dag_.edges())
    return sum(clg_score(frame, child, parents[child], **options) for child in frame)


@pytest.mark.parametrize("variance", ["likelihood", "unbiased"])
def test_every_family_follows_the_formula(variance):
    frame = six_columns()
    score = BICCondLinearGauss(frame, variance=variance)
    for child, parents in families(frame):
        expected = clg_score(frame, child, parents, variance=variance)
        assert score.local_score(child, parents) == pytest.approx(expected, rel=1e-12), (child, parents)


@pytest.mark.parametrize(
    ("make", "arcs", "variance", "total", "nodes"),
    [
        (
            six_columns,
            MIXED_ARCS,
            "unbiased",
            -4628.502195959683,
            {"R": -545.190525714636, "X": -907.926730298709, "Y": -839.517548292509, "Z": -1024.132788116922},
        ),
        (six_columns, MIXED_ARCS, "likelihood", -4628.347238210287, {}),
        (six_columns, [], "unbiased", -6308.773077354675, {}),
        (
            iris,
            IRIS_ARCS,
            "unbiased",
            -288.109164435082,
            {"SL": -118.532843175799, "SW": -36.902577002702, "PW": 58.835080928449, "K": -169.802478594313},
        ),
        (iris, IRIS_ARCS, "likelihood", -287.830006929373, {}),
    ],
)
def test_figures_of_bnlearn(make, arcs, variance, total, nodes):
    """bnlearn 5.2.1, score(dag, data, type="bic-cg", by.node=TRUE); pybnesian 0.5.1 has the same totals."""
    frame = make()
    score = BICCondLinearGauss(frame, variance=variance)
    got = {child: score.local_score(child, parents) for child, parents in parents_of(frame, arcs).items()}
    assert sum(got.values()) == pytest.approx(total, abs=1e-9)
    for child, expected in nodes.items():
        assert got[child] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("k", "expected"),
    [(0, -952.517283722337), (1, -np.inf), (2, -np.inf), (3, -np.inf), (4, -958.553815792017), (6, -959.492975201598)],
)
def test_configurations_of_few_rows(k, expected):
    """bnlearn's bic-cg: minus infinity where a configuration has rows, but no more than the regression coefficients."""
    frame = keep_few(six_columns(), k)
    score = BICCondLinearGauss(frame, variance="unbiased")
    assert score.local_score("Z", ("S", "T", "X", "Y")) == pytest.approx(expected, abs=1e-9)


def test_declared_states_count(rng):
    frame = six_columns()
    wider = frame.assign(T=frame["T"].cat.add_categories("never"))
    change = BICCondLinearGauss(frame).local_score("Z", ("T", "X")) - BICCondLinearGauss(wider).local_score(
        "Z", ("T", "X")
    )
    assert change == pytest.approx(3 * np.log(len(frame)) / 2, rel=1e-9)


def test_units_shift_the_score(seed):
    frame = six_columns()
    moved = frame.assign(X=frame["X"] * 1e-6 + 5, Y=frame["Y"] * 1e5 - 1e6)
    plain, other = BICCondLinearGauss(frame), BICCondLinearGauss(moved)
    for child, parents in [("X", ("R",)), ("X", ("Y", "S")), ("Z", ("X", "Y", "T")), ("Y", ("X", "S", "T"))]:
        shift = len(frame) * np.log({"X": 1e-6, "Y": 1e5, "Z": 1.0}[child])
        assert other.local_score(child, parents) == pytest.approx(plain.local_score(child, parents) - shift, abs=1e-5)


# ---- searches ----


@pytest.mark.parametrize(("make", "score"), [(six_columns, -4628.502195959680), (iris, -283.490908120154)])
def test_climbs_reach_bnlearns_score(make, score):
    frame = make()
    learner = HillClimbSearch(scoring_method=BICCondLinearGauss(frame, variance="unbiased"), **QUIET).fit(frame)
    assert learner.score_ == pytest.approx(score, abs=1e-8)
    assert learner.score_ == pytest.approx(score_graph(frame, learner, variance="unbiased"), abs=1e-8)


SEARCHES = {
    "greedy": lambda: HillClimbSearch(**QUIET),
    "name": lambda: HillClimbSearch(scoring_method="bic-clg", **QUIET),
    "thorough": lambda: HillClimbSearch(strategy="thorough", **QUIET),
    "best": lambda: HillClimbSearch(strategy="best", **QUIET),
    "exact": lambda: HillClimbSearch(strategy="exact", **QUIET),
    "restarts": lambda: HillClimbSearch(n_restarts=3, **QUIET),
    "annealing": lambda: SimulatedAnnealing(n_draws=200, **QUIET),
    "best first": lambda: BestFirstSearch(patience=5, **QUIET),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_every_search_ends_at_the_score_of_its_graph(name):
    frame = six_columns()
    learner = SEARCHES[name]().fit(frame)
    assert learner.score_ == pytest.approx(score_graph(frame, learner), abs=1e-7)
    assert learner.score_ >= -4628.3473
    is_state = [name in "RST" for name in frame]
    assert not [arc for arc in learner.edges_.tolist() if is_state[arc[1]] and not is_state[arc[0]]]


def test_weights_are_rows(rng):
    frame = six_columns()
    weights = rng.integers(0, 4, len(frame))
    repeated = frame.loc[np.repeat(frame.index, weights)].reset_index(drop=True)
    weighted = HillClimbSearch(**QUIET).fit(frame, sample_weight=weights)
    assert weighted.score_ == pytest.approx(HillClimbSearch(**QUIET).fit(repeated).score_, abs=1e-6)
    fractional = rng.uniform(0.5, 2.0, len(frame))
    learner = HillClimbSearch(**QUIET).fit(frame, sample_weight=fractional)
    assert learner.score_ == pytest.approx(score_graph(frame, learner, weights=fractional), abs=1e-7)


def test_directions_from_states_stay_in_the_class():
    graph = HillClimbSearch(show_progress=False).fit(six_columns()).graph_
    assert ("R", "X") in graph.directed_edges
    assert HillClimbSearch(strategy="thorough", show_progress=False).fit(iris()).graph_.directed_edges


def test_knowledge_bootstrap_and_start():
    frame = six_columns()
    with pytest.raises(ValueError, match="'X' -> 'R' is required, but .* from continuous to discrete variables"):
        HillClimbSearch(required_edges=[("X", "R")], **QUIET).fit(frame)
    learner = HillClimbSearch(required_edges=[("T", "X")], forbidden_edges=[("R", "X")], **QUIET).fit(frame)
    assert {("T", "X")} <= set(learner.dag_.edges())
    assert ("R", "X") not in learner.dag_.edges()
    boot = BootstrapStructure(HillClimbSearch(show_progress=False), n_resamples=5).fit(frame)
    assert len(boot.edges_) >= 6


def test_excluded_arcs_are_said_once(caplog):
    frame = six_columns()
    with caplog.at_level("INFO", logger="pgmx"):
        HillClimbSearch(**QUIET).fit(frame)
    said = [record.getMessage() for record in caplog.records if "excluded" in record.getMessage()]
    assert said == [
        "9 edges from continuous to discrete variables are excluded: conditional linear Gaussian networks do not allow "
        "them (discrete_children='allowed' does)"
    ]
    caplog.clear()
    with caplog.at_level("INFO", logger="pgmx"):
        HillClimbSearch(tiers=[["R", "S", "T"], ["X", "Y", "Z"]], **QUIET).fit(frame)  # known already
        HillClimbSearch(discrete_children="allowed", **QUIET).fit(frame)
        HillClimbSearch(scoring_method="bic-cg", **QUIET).fit(frame)
    assert not caplog.records


@pytest.mark.parametrize("name", [None, "bic-clg", "aic-clg", "LL-CLG"])
def test_arcs_from_floats_to_states_on_request(name):
    frame = six_columns()
    learner = HillClimbSearch(scoring_method=name, discrete_children="allowed", max_indegree=2, **QUIET).fit(frame)
    is_state = [name in "RST" for name in frame]
    assert [arc for arc in learner.edges_.tolist() if is_state[arc[1]] and not is_state[arc[0]]]
    if name in (None, "bic-clg"):
        score = BICCondLinearGauss(frame, discrete_children="allowed")
        same = HillClimbSearch(scoring_method=score, max_indegree=2, **QUIET).fit(frame)
        assert (learner.score_, learner.edges_.tolist()) == (same.score_, same.edges_.tolist())
    with pytest.raises(AttributeError, match="arcs from continuous to discrete variables"):
        _ = learner.model_


def test_arcs_from_floats_to_states_are_for_scores_that_exclude_them():
    frame = six_columns()
    with pytest.raises(
        ValueError, match="discrete_children='allowed' applies to the scores bic-clg, .*not to .*'bic-dg'"
    ):
        HillClimbSearch(scoring_method="bic-dg", discrete_children="allowed").fit(frame)
    with pytest.raises(ValueError, match="Pass it to the instance"):
        HillClimbSearch(scoring_method=BICCondLinearGauss(frame), discrete_children="allowed").fit(frame)
    with pytest.raises(ValueError, match="'discrete_children'"):
        HillClimbSearch(discrete_children="some").fit(frame)
    assert HillClimbSearch(discrete_children="allowed", **QUIET).fit(frame[["X", "Y"]]).score_ < 0


@pytest.mark.parametrize("name", ["bic-clg", "bic-cg"])
def test_a_stopped_search_goes_on_where_it_was(name, tmp_path):
    frame = six_columns()
    path = tmp_path / "climb"
    first = HillClimbSearch(scoring_method=name, max_iter=3, checkpoint=path, **QUIET).fit(frame)
    assert (first.stopped_by_, first.n_iter_) == ("max_iter", 3)
    second = HillClimbSearch(scoring_method=name, checkpoint=path, **QUIET).fit(frame)
    whole = HillClimbSearch(scoring_method=name, **QUIET).fit(frame)
    assert second.n_iter_ == whole.n_iter_ > 3
    assert (second.score_, second.edges_.tolist()) == (whole.score_, whole.edges_.tolist())


def test_files_and_chunks_are_tables(tmp_path):
    frame = six_columns()
    frame.to_csv(tmp_path / "rows.csv", index=False)
    whole = HillClimbSearch(**QUIET).fit(frame.astype(dict.fromkeys("RST", int)))
    from_file = HillClimbSearch(**QUIET).fit(tmp_path / "rows.csv")
    parts = (part for part in np.array_split(frame, 3))
    from_parts = HillClimbSearch(**QUIET).fit(parts)
    for learner in (from_file, from_parts):
        assert learner.score_ == pytest.approx(whole.score_, abs=1e-7)
        assert learner.edges_.tolist() == whole.edges_.tolist()


def test_max_time_leaves_a_graph():
    learner = HillClimbSearch(max_time=0.0, **QUIET)
    with pytest.warns(UserWarning, match="max_time=0.0 ended"):
        learner.fit(six_columns())
    assert learner.stopped_by_ == "max_time"


def test_priors_of_graphs_and_travel():
    frame = six_columns()
    sparse = HillClimbSearch(structure_prior=ParameterPrior(100.0), **QUIET).fit(frame)
    assert len(sparse.edges_) < len(HillClimbSearch(**QUIET).fit(frame).edges_)
    score = BICCondLinearGauss(frame)
    assert pickle.loads(pickle.dumps(score)).local_score("X", ("R",)) == score.local_score("X", ("R",))
    assert score.local_score("T", ("S",)) == BIC(frame[["S", "T"]]).local_score("T", ("S",))


def test_a_missing_cell_is_dropped_on_request():
    frame = six_columns()
    holes = frame.assign(X=frame["X"].where(np.arange(800) != 7))
    with pytest.raises(ValueError, match="'X'"):
        HillClimbSearch(**QUIET).fit(holes)
    dropped = HillClimbSearch(missing="drop", **QUIET).fit(holes)
    whole = HillClimbSearch(**QUIET).fit(frame.drop(index=7))
    assert dropped.score_ == whole.score_


# ---- refusals ----


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(X=1.0), "columns 'X' are constant"),
        (lambda f: f.assign(X=np.inf), "infinite values .* 'X'"),
        (lambda f: f.assign(X=f["X"] * 1e200), "'X' hold values whose squares are too large"),
        (lambda f: f.assign(X=f["X"].where(f.index > 3)), "'X'"),
    ],
)
def test_bad_tables(change, message):
    with pytest.raises(ValueError, match=message):
        BICCondLinearGauss(change(six_columns()))


def test_bad_options_and_other_data():
    frame = six_columns()
    with pytest.raises(ValueError, match="variance must be 'likelihood' or 'unbiased', got 'ml'"):
        BICCondLinearGauss(frame, variance="ml")
    with pytest.raises(ValueError, match="discrete_children must be 'forbidden' or 'allowed', got 'no'"):
        BICCondLinearGauss(frame, discrete_children="no")
    for changed in (frame.assign(X=frame["X"] + 1), frame.assign(R=frame["R"].cat.rename_categories(["a", "b"]))):
        with pytest.raises(ValueError, match="made from other data. Column '[RX]' differs"):
            HillClimbSearch(scoring_method=BICCondLinearGauss(frame)).fit(changed)
    with pytest.raises(ValueError, match="'X' with the parents .* has the score -inf. A configuration"):
        few = pd.concat([frame[frame["R"] == "0"], frame[frame["R"] == "1"].head(1)])
        HillClimbSearch(required_edges=[("R", "X")], **QUIET).fit(few)


def test_columns_that_determine_each_other_are_not_joined():
    frame = six_columns().assign(W=lambda f: 2 * f["X"] - 3)
    learner = HillClimbSearch(**QUIET).fit(frame)
    assert not {("X", "W"), ("W", "X")} & set(learner.dag_.edges())


DIGEST = """
import numpy as np
from helpers.mixed_tables import six_columns
from pgmx.scores import BICCondLinearGauss
score = BICCondLinearGauss(six_columns())
families = [("X", ("R",)), ("Z", ("S", "T", "X", "Y")), ("Y", ("S", "X")), ("Z", ("R", "S", "T"))]
print([float(score.local_score(*family)).hex() for family in families])
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="one level only")
def test_all_levels_of_instructions_give_the_same_bits():
    tests = str(Path(__file__).resolve().parents[1])
    printed = set()
    for level in ("plain", ""):
        path = os.pathsep.join([tests, str(Path(pgmx.__file__).parents[1])])
        environment = {**os.environ, "PGMX_SIMD": level, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", DIGEST], env=environment, capture_output=True, text=True, check=True
        )
        printed.add(done.stdout)
    assert len(printed) == 1

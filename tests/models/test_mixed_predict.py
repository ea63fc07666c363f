"""Predictions of the conditional Gaussian network: against enumeration, for all kinds of rows, by both methods."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pgmpy.factors.discrete import TabularCPD

from pgmx.inference import ApproximationWarning, TreewidthError
from pgmx.inference.mixed import missing_values, row_answers
from pgmx.models import ConditionalGaussianCPD, ConditionalGaussianNetwork
from pgmx.models import rows as rows_module
from tests.helpers.mixed_networks import name_network
from tests.helpers.mixed_tables import MIXED_ARCS, six_columns
from tests.oracles import mixed_networks as oracle


def six_network(frame=None):
    return ConditionalGaussianNetwork(MIXED_ARCS).fit(six_columns() if frame is None else frame)


def punch(frame, share, seed):
    """Return a frame with some of its cells missing."""
    holes = np.random.default_rng(seed).random(frame.shape) < share
    return frame.astype(object).mask(pd.DataFrame(holes, index=frame.index, columns=frame.columns)), holes


def evidence_of(network, row, holes):
    """Return the observed values of a row as the oracle takes them."""
    pairs = zip(network.names, network.parts().states, strict=True)
    cells = [row[name] if own is None else own.index(row[name]) for name, own in pairs]
    return {v: cell for v, cell in enumerate(cells) if not holes[v]}


@st.composite
def plain_networks(draw):
    """Return families and their network, states 0, 1, ... in place of other labels."""
    from tests.helpers.mixed_networks import mixed_networks

    families = draw(mixed_networks())
    return families, name_network(families, labels=[[0, 1, 2]])


@settings(max_examples=30, deadline=None)
@given(plain_networks(), st.sampled_from([0.2, 0.5, 0.9]), st.integers(0, 99), st.booleans())
def test_predictions_are_those_of_enumeration(pair, share, seed, is_compiled):
    """The answers of the compiled solver, and of the computation for blocks that are too large for it."""
    families, network = pair
    with pytest.MonkeyPatch.context() as patch:
        if not is_compiled:
            for module in (row_answers, missing_values):
                patch.setattr(module, "SOLVER_CELLS", 0)
        check_predictions(families, network, share, seed)


def check_predictions(families, network, share, seed):
    frame = network.simulate(4, seed)
    rows, holes = punch(frame, share, seed)
    rows = rows.astype(dict.fromkeys(network.continuous, float))
    shares, logs = network.predict_proba(rows), network.log_evidence(rows)
    values, joint = network.predict(rows, method="marginal"), network.predict(rows)
    assert list(values) == list(joint) == list(frame)
    for row in range(4):
        evidence = evidence_of(network, frame.iloc[row], holes[row])
        assert logs[row] == pytest.approx(oracle.log_evidence(families, evidence), rel=1e-7, abs=1e-7)
        check_most_probable(network, families, evidence, joint.iloc[row])
        answers = {network.names[v]: value for v, value in oracle.answer(families, evidence).items()}
        for v, name in enumerate(network.names):
            assert (name in shares) == holes[:, v].any()
            if not holes[row, v]:
                assert values[name].iloc[row] == joint[name].iloc[row] == frame[name].iloc[row]
            elif name in network.states:
                np.testing.assert_allclose(shares[name].iloc[row], answers[name], rtol=1e-6, atol=1e-9)
                assert answers[name][network.states[name].index(values[name].iloc[row])] == pytest.approx(
                    answers[name].max(), abs=1e-9
                )
            else:
                mean, variance = answers[name]
                assert values[name].iloc[row] == pytest.approx(mean, rel=1e-6, abs=1e-7)
                assert shares[name, "mean"].iloc[row] == values[name].iloc[row]
                assert shares[name, "std"].iloc[row] ** 2 == pytest.approx(variance, rel=1e-6)


def check_most_probable(network, families, evidence, row):
    """Check that no configuration is more probable than the one of a predicted row, and the means given it."""
    largest, table = oracle.most_probable(families, evidence)
    states = tuple(network.states[name].index(row[name]) for name in network.names if name in network.states)
    value, means = table[states]
    assert value == pytest.approx(largest, abs=1e-8)
    for v, mean in means.items():
        assert row[network.names[v]] == pytest.approx(mean, rel=1e-6, abs=1e-7)


def test_the_most_probable_configuration_is_joint():
    """Two states that are most probable each, but not together."""
    cpds = [TabularCPD("a", 2, [[0.4], [0.6]]), TabularCPD("b", 3, [[0.1, 0.4], [0.1, 0.35], [0.8, 0.25]], ["a"], [2])]
    cpds.append(ConditionalGaussianCPD("x", [[1.0], [5.0]], [1.0, 1.0], ["a"]))
    network = ConditionalGaussianNetwork.from_cpds(cpds)
    assert network.predict({}).iloc[0].to_dict() == {"a": 0, "b": 2, "x": 1.0}
    assert network.predict({}, method="marginal").iloc[0].to_dict() == {"a": 1, "b": 2, "x": pytest.approx(3.4)}
    assert network.predict({}, ["a"]).iloc[0].to_dict() == {"a": 0}  # a joint configuration, of which a is shown
    assert network.predict({"b": 2}, ["x"]).iloc[0].to_dict() == {"x": 1.0}
    with pytest.warns(ApproximationWarning):
        assert network.predict({}, inference="weighting").iloc[0].to_dict() == {"a": 0, "b": 2, "x": 1.0}


def test_named_variables_are_predicted_whatever_the_rows_say():
    frame, network = six_columns(), six_network()
    bare = network.predict_proba(frame.drop(columns=["R", "Y"]))
    named = network.predict_proba(frame, ["Y", "R"])
    pd.testing.assert_frame_equal(named, bare)
    assert list(named) == [("R", "0"), ("R", "1"), ("Y", "mean"), ("Y", "std")]
    guesses = network.predict(frame, "R")
    assert (guesses["R"].astype(str) == frame["R"].astype(str)).mean() > 0.9
    assert list(guesses) == ["R"] and (guesses.index == frame.index).all()


def test_a_dictionary_is_a_row_and_arrays_have_all_columns():
    network = six_network()
    one = network.predict_proba({"X": 1.0, "S": "2"})
    frame = network.predict_proba(pd.DataFrame({"S": ["2"], "X": [1.0]}))
    pd.testing.assert_frame_equal(one, frame)
    two = network.predict({"X": [1.0, -1.0]})
    assert two.shape == (2, 6) and list(two) == ["X", "R", "S", "T", "Y", "Z"]
    prior = network.predict_proba({})
    assert prior["R"].loc[0].sum() == pytest.approx(1.0)
    cells = np.array([[1.0, "2", None, None, None, "1"]], dtype=object)[:, [5, 1, 2, 0, 3, 4]]
    pd.testing.assert_frame_equal(
        network.predict_proba(cells)["T"], network.predict_proba({"R": "1", "S": "2", "X": 1.0})["T"]
    )


def test_nothing_missing_and_no_rows():
    frame, network = six_columns(), six_network()
    pd.testing.assert_frame_equal(network.predict(frame), frame, check_dtype=False, check_categorical=False)
    assert network.predict_proba(frame).shape == (800, 0)
    assert network.predict(frame.iloc[:0, :2]).shape == (0, 6)
    assert network.predict_proba(frame.iloc[:0, :2]).shape == (0, 1 * 2 + 3 * 2)
    assert network.log_likelihood(frame.iloc[:0]).shape == (0,)


def test_index_and_labels_are_kept():
    frame, network = six_columns(), six_network()
    rows = frame.iloc[5:8].drop(columns="Z").set_axis(["p", "q", "r"], axis=0)
    before = rows.copy()
    predicted = network.predict(rows)
    assert list(predicted.index) == ["p", "q", "r"]
    pd.testing.assert_frame_equal(rows, before)


def test_integers_are_numbers_for_a_float():
    network = six_network()
    pd.testing.assert_frame_equal(network.predict({"X": 1}), network.predict({"X": 1.0}))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"X": np.inf}, "infinite values.*'X'"),
        ({"S": "9"}, "'S' holds '9', which are not among the states"),
        ({"S": 1}, r"as text"),
        ({"Q": 1.0}, "'Q' are not variables"),
        ({"X": "high"}, "'X' hold states or text"),
        ({"X": [1.0, 2.0], "Y": [1.0]}, "lengths"),
    ],
)
def test_wrong_rows_are_refused(row, message):
    with pytest.raises((ValueError, TypeError), match=message):
        six_network().predict(row)


def test_wrong_arguments_are_refused():
    frame, network = six_columns(), six_network()
    with pytest.raises(ValueError, match="no variable 'Q'"):
        network.predict(frame, ["Q"])
    with pytest.raises(ValueError, match="method must be one of 'map', 'marginal', got 'loopy'"):
        network.predict(frame, ["R"], method="loopy")
    with pytest.raises(ValueError, match="got 'exact': the engine is chosen by inference='exact'"):
        network.predict(frame, ["R"], method="exact")
    with pytest.raises(ValueError, match="inference must be one of 'auto', 'exact', 'weighting', got 'loopy'"):
        network.predict_proba(frame, ["R"], inference="loopy")
    with pytest.raises(ValueError, match="n_samples"):
        network.predict(frame, ["R"], n_samples=0)
    with pytest.raises(ValueError, match="shape"):
        network.predict(np.ones((3, 2)))
    for incomplete in (frame.drop(columns="X"), frame.assign(X=np.nan)):
        with pytest.raises(ValueError, match="'X'.*predict"):
            network.log_likelihood(incomplete)


def test_impossible_rows_are_named():
    frame = six_columns().assign(S=lambda f: f["S"].where(f["R"] == "0", "1"))
    network = six_network(frame)  # R = 1 rules out S = 0
    rows = pd.DataFrame({"R": ["0", "1"], "S": ["0", "0"]})
    for inference in ("exact", "weighting"):
        for method in ("map", "marginal"):
            with pytest.raises(ValueError, match="1 row.*position 1, are impossible"):
                network.predict(rows, ["X", "T"], method=method, inference=inference)
    with pytest.raises(ValueError, match="impossible under the network"):
        network.predict({"T": "0", "R": "1", "S": "0"})
    terms = network.log_likelihood_terms(frame.iloc[:2].assign(R="1", S="0"))
    assert terms[1].tolist() == [-np.inf, -np.inf]


def test_evidence_is_likelihood_where_nothing_is_missing():
    frame, network = six_columns(), six_network()
    np.testing.assert_allclose(network.log_evidence(frame), network.log_likelihood(frame), rtol=1e-9)
    assert network.log_evidence({}).tolist() == [0.0]
    frame = frame.assign(S=frame["S"].where(frame["R"] == "0", "1"))
    assert six_network(frame).log_evidence({"R": "1", "S": "0"}).tolist() == [-np.inf]
    with pytest.raises(TreewidthError, match="leave out more of the columns"):
        wide_network(24).log_evidence({"x23": 1.0})


def test_unknown_states_are_impossible_in_a_likelihood():
    network = six_network()
    frame = six_columns().iloc[:2].astype({"S": str})
    frame.loc[0, "S"] = "9"
    terms = network.log_likelihood_terms(frame)
    assert terms[1, 0] == -np.inf and terms[[2, 4, 5], 0].tolist() == [0.0, 0.0, 0.0]
    assert np.isfinite(terms[:, 1]).all()


# ---- methods ----


def test_weighting_says_its_effective_sample_size():
    frame, network = six_columns().iloc[:20], six_network()
    rows = frame.drop(columns=["R", "X"])
    exact = network.predict_proba(rows, inference="exact")
    with pytest.warns(ApproximationWarning, match="20 of 20 rows .* effective sample size is at least") as told:
        near = network.predict_proba(rows, inference="weighting", n_samples=20_000)
    assert len(told) == 1
    np.testing.assert_allclose(near["R"], exact["R"], atol=0.1)
    assert np.abs(near["X", "mean"] - exact["X", "mean"]).max() < 0.3
    with pytest.warns(ApproximationWarning):
        again = network.predict_proba(rows, inference="weighting", n_samples=20_000)
    pd.testing.assert_frame_equal(near, again)


def wide_network(n):
    """Return a float whose mean depends on n states one after the other: its mixture has 2^n components."""
    coin = np.array([0.5, 0.5])
    cpds = [TabularCPD(f"d{k}", 2, coin[:, None]) for k in range(n)]
    cpds.append(ConditionalGaussianCPD("x0", [[0.0], [1.0]], [1.0, 1.0], ["d0"]))
    for k in range(1, n):
        cpds.append(ConditionalGaussianCPD(f"x{k}", [[0.0, 1.0], [1.0, 1.0]], [1.0, 1.0], [f"d{k}"], [f"x{k - 1}"]))
    return ConditionalGaussianNetwork.from_cpds(cpds)


def test_what_is_too_large_is_weighted_and_the_rest_exact():
    network = wide_network(24)
    row = {"x23": 12.0}
    with pytest.raises(TreewidthError, match=r"'d0' would need .* values per row.*inference='weighting'"):
        network.predict_proba(row, ["d0"], inference="exact")
    with pytest.raises(TreewidthError, match=r"'d0', 'd1', 'd2', ... would need .*inference='weighting'"):
        network.predict(row, inference="exact")
    with pytest.warns(ApproximationWarning, match="1 of 1 rows"):
        near = network.predict_proba(row, ["d0"], n_samples=40_000)
    assert near.loc[0, ("d0", 1)] == pytest.approx(0.5, abs=0.05)  # x23 is at its mean, so that all are even
    known = {f"x{k}": float(k) for k in range(24)}
    shares = network.predict_proba(known)  # no float is left: states are independent given their neighbours
    odds = np.exp(-0.5 * (0.0 - 1.0) ** 2) / (1.0 + np.exp(-0.5))
    assert shares.loc[0, ("d0", 1)] == pytest.approx(odds)
    assert shares.loc[0, ("d5", 1)] == pytest.approx(1.0 - odds)


def test_variables_are_asked_one_by_one_where_all_together_are_too_large(monkeypatch):
    network = wide_network(4)
    whole = network.predict_proba({"d3": 1})
    monkeypatch.setattr(row_answers, "AUTO_CELLS", 150)
    monkeypatch.setattr(row_answers, "SOLVER_CELLS", 150)
    with pytest.warns(ApproximationWarning):
        single = network.predict_proba({"d3": 1}, n_samples=50_000)
    small = [label for label in whole if label[0] in ("d0", "d1", "d2", "x0", "x1")]
    pd.testing.assert_frame_equal(single[small], whole[small])
    np.testing.assert_allclose(single["x3", "mean"], whole["x3", "mean"], atol=0.05)


@settings(max_examples=20, deadline=None)
@given(plain_networks(), st.integers(0, 99))
def test_units_do_not_matter(pair, seed):
    """Continuous columns in units up to ten orders of magnitude larger or smaller have the same answers."""
    families, network = pair
    rng = np.random.default_rng(seed)
    units = 10.0 ** rng.integers(-10, 11, len(families))
    scaled = []
    for v, family in enumerate(families):
        if family[0] == "states":
            scaled.append(family)
            continue
        _, states, floats, coefficients, std = family
        factors = units[v] / np.array([1.0, *units[floats]])
        scaled.append(("floats", states, floats, coefficients * factors, std * units[v]))
    other = name_network(scaled, labels=[[0, 1, 2]])
    frame = network.simulate(4, seed)
    rows, _ = punch(frame, 0.5, seed)
    rows = rows.astype(dict.fromkeys(network.continuous, float))
    scale = {name: units[v] for v, name in enumerate(network.names) if name in network.continuous}
    moved = rows.copy()
    for name, unit in scale.items():
        moved[name] = rows[name] * unit
    ours, theirs = network.predict_proba(rows), other.predict_proba(moved)
    for name, figure in ours.columns:
        unit = scale.get(name, 1.0)
        size = np.abs(ours[name, "std"]).max() + 1.0 if name in scale else 1.0
        np.testing.assert_allclose(theirs[name, figure] / unit, ours[name, figure], rtol=1e-6, atol=1e-7 * size)


# ---- many rows ----


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(plain_networks(), st.sampled_from([0.2, 0.5, 0.9]), st.integers(0, 99), st.sampled_from([1, 2, 7]))
def test_answers_do_not_depend_on_the_chunks_of_rows(pair, share, seed, n_rows):
    families, network = pair
    frame = network.simulate(20, seed)
    holes, _ = punch(frame, share, seed)
    holes = holes.astype(dict.fromkeys(network.continuous, float))

    def ask_all():
        tables = network.predict(holes), network.predict_proba(holes)
        return *(table.to_numpy(dtype=float) for table in tables), network.log_evidence(holes), network.score(frame)

    whole = ask_all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "CHUNK_CELLS", n_rows * len(families))
        in_pieces = ask_all()
    assert all(map(np.array_equal, in_pieces, whole, [True] * 4))


@pytest.mark.filterwarnings("ignore::pgmx.inference.ApproximationWarning")
@pytest.mark.parametrize("random_state", [0, 2**70])
def test_samples_of_a_row_depend_on_its_number_alone(monkeypatch, random_state):
    network, rows = six_network(), six_columns().iloc[:9].drop(columns=["R", "X"])
    options = {"inference": "weighting", "n_samples": 50, "random_state": random_state}
    whole = network.predict_proba(rows, **options)
    pd.testing.assert_frame_equal(network.predict_proba(rows.iloc[:4], **options), whole.iloc[:4])
    assert not network.predict_proba(rows, **{**options, "random_state": 1}).equals(whole)
    monkeypatch.setattr(rows_module, "CHUNK_CELLS", 2 * 6)
    pd.testing.assert_frame_equal(network.predict_proba(rows, **options), whole)


def test_rows_share_plans_of_what_families_join(monkeypatch):
    arcs = [(f"p{k}", f"c{k}") for k in range(8)]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.normal(size=300) for arc in arcs for name in arc})
    network = ConditionalGaussianNetwork(arcs).fit(frame)
    holes = frame.mask(rng.random(frame.shape) < 0.2)
    n_plans = []
    plan = row_answers.plan_block
    monkeypatch.setattr(row_answers, "plan_block", lambda *args: n_plans.append(1) or plan(*args))
    answers = network.predict(holes)
    assert len(holes.isna().drop_duplicates()) > 200
    assert len(n_plans) == 3 * 8  # either of two, or both
    alone = pd.concat([network.predict(holes, [name]) for name in answers], axis=1)
    for name in answers:
        missing = holes[name].isna()
        np.testing.assert_allclose(answers[name][missing], alone[name][missing], rtol=1e-12, atol=1e-12)


def test_errors_and_warnings_are_of_all_rows(monkeypatch):
    network, rows = six_network(), six_columns().iloc[:20]
    monkeypatch.setattr(rows_module, "CHUNK_CELLS", 3 * 6)
    holes = rows.copy()
    holes.loc[2, "X"], holes.loc[17, "R"] = np.nan, None
    with pytest.raises(ValueError, match=r"missing values in column\(s\) 'R', 'X'"):
        network.log_likelihood(holes)
    states = [0, 1]
    families = [("states", [], np.array([1.0, 0.0])), ("states", [0], np.array([[1.0, 0.5], [0.0, 0.5]]))]
    impossible = pd.DataFrame({"v1": [0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0]})
    with pytest.raises(ValueError, match=r"3 row\(s\), the first at position 4, are impossible"):
        name_network(families, labels=[states]).predict(impossible)
    with pytest.warns(ApproximationWarning, match="20 of 20 rows") as told:
        network.predict(rows.drop(columns="R"), inference="weighting", n_samples=100)
    assert len(told) == 1


def test_predictions_take_little_memory_beside_rows_and_answers(monkeypatch):
    frame = six_columns().drop(columns=["R", "X"])
    rows, network = pd.concat([frame] * 100, ignore_index=True), six_network()
    monkeypatch.setattr(rows_module, "CHUNK_CELLS", 6 * 1000)
    network.predict(frame), network.log_likelihood(six_columns())  # imports and caches
    tracemalloc.start()
    try:
        answers = network.predict(rows)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # codes read; a mask of missing continuous values; three continuous and three discrete columns
    cells = len(rows) * (2 * 1 + 2 * 1 + 3 * 8 + 3 * 1)
    assert answers.shape == (80_000, 6)
    assert peak < 1.5 * cells + 2_000_000

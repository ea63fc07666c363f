"""pgmpy's discrete Bayesian network with compiled answers, against enumeration and pgmpy."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pgmpy.models
import pytest
from pgmpy.factors.discrete import TabularCPD

from pgmx.datasets import load_network, sample_network
from pgmx.estimators import HillClimbSearch
from pgmx.inference import CompiledNetwork, TreewidthError, marginals
from pgmx.inference.exact import components
from pgmx.models import DiscreteBayesianNetwork, read_model, save_model


@pytest.fixture
def network():
    """A network of five variables, one of them of one state, with a zero, and with names of several types."""
    made = DiscreteBayesianNetwork([("a", 2), (2, "c"), ("a", "c"), ("c", ("d", 0))])
    made.add_node("one")
    made.add_cpds(
        TabularCPD("a", 2, [[0.3], [0.7]], state_names={"a": ["no", "yes"]}),
        TabularCPD(2, 3, [[0.1, 0.5], [0.9, 0.0], [0.0, 0.5]], ["a"], [2], {2: [7, 8, 9], "a": ["no", "yes"]}),
        TabularCPD(
            "c",
            2,
            [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]],
            [2, "a"],
            [3, 2],
            {"c": [True, False], 2: [9, 7, 8], "a": ["yes", "no"]},
        ),
        TabularCPD(("d", 0), 2, [[0.25, 0.5], [0.75, 0.5]], ["c"], [2], {("d", 0): ["x", "y"], "c": [True, False]}),
        TabularCPD("one", 1, [[1.0]], state_names={"one": ["only"]}),
    )
    return made


def _enumerate(network):
    """Return all configurations as a frame of objects, and their probabilities."""
    names = list(network.nodes)
    states = [network.get_cpds(name).state_names[name] for name in names]
    rows, probabilities = list(itertools.product(*states)), []
    for row in rows:
        value = dict(zip(names, row, strict=True))
        factors = []
        for cpd in network.cpds:
            cell = tuple(cpd.name_to_no[name][value[name]] for name in cpd.variables)
            factors.append(cpd.values[cell])
        probabilities.append(np.prod(factors))
    frame = pd.DataFrame(dict(enumerate(zip(*rows, strict=True))), dtype=object)
    return frame.set_axis(pd.Index(names, tupleize_cols=False), axis=1), np.array(probabilities)


def test_all_patterns_of_missing_values_against_enumeration(network):
    table, joint = _enumerate(network)
    names = list(network.nodes)
    states = [network.get_cpds(name).state_names[name] for name in names]
    codes = np.array(list(itertools.product(*map(range, map(len, states)))))
    patterns, possible = np.array(list(itertools.product([False, True], repeat=5))), np.flatnonzero(joint > 0)
    chosen, mask = np.tile(possible, len(patterns)), np.repeat(patterns, len(possible), axis=0)
    rows = table.iloc[chosen].reset_index(drop=True).mask(mask)
    # the weight of each configuration in each row
    weights = joint * ((codes == codes[chosen][:, None]) | mask[:, None]).all(axis=2)
    evidence = weights.sum(axis=1)
    assert network.log_evidence(rows) == pytest.approx(np.log(evidence), abs=1e-12)
    proba = network.predict_proba(rows)
    assert list(proba.columns) == [(name, state) for name, own in zip(names, states, strict=True) for state in own]
    single = network.predict(rows, method="marginal")
    for v, own in enumerate(states):
        shares = np.stack([weights[:, codes[:, v] == k].sum(axis=1) / evidence for k in range(len(own))], axis=1)
        start = sum(map(len, states[:v]))
        found = proba.iloc[:, start : start + len(own)].to_numpy()
        np.testing.assert_allclose(found, shares, rtol=0, atol=1e-12)
        assert (found[np.arange(len(rows)), single.iloc[:, v].cat.codes] == found.max(axis=1)).all()
    best = np.stack([column.cat.codes for _, column in network.predict(rows).items()], axis=1)
    place = (best[:, None] == codes).all(axis=2).argmax(axis=1)
    assert weights[np.arange(len(rows)), place] == pytest.approx(weights.max(axis=1), rel=1e-12)
    assert (np.where(mask, best, codes[chosen]) == best).all()


def test_complete_rows(network):
    table, joint = _enumerate(network)
    with np.errstate(divide="ignore"):
        expected = np.log(joint)
    assert network.log_likelihood(table) == pytest.approx(expected, abs=1e-13)
    possible = table[joint > 0]
    assert network.score(possible) == pytest.approx(expected[joint > 0].mean())
    with pytest.raises(ValueError, match="nothing to predict"):
        network.predict(possible)
    with pytest.raises(ValueError, match="no column"):
        network.log_likelihood(table.drop(columns="a"))


def test_named_variables_are_predicted_from_the_others(network):
    table, joint = _enumerate(network)
    possible = table[joint > 0]
    pd.testing.assert_frame_equal(
        network.predict_proba(possible, ["c"]), network.predict_proba(possible.drop(columns="c"))
    )
    with pytest.raises(ValueError, match="no variable 'e'"):
        network.predict_proba(possible, ["e"])


def test_order_of_columns_and_index(network):
    rows = pd.DataFrame({"c": [True, None], "a": ["yes", "no"]}, index=["first", "second"])
    found = network.predict(rows)
    assert list(found.columns) == ["c", "a", 2, ("d", 0), "one"]
    assert list(found.index) == ["first", "second"]
    assert list(found["a"].cat.categories) == ["no", "yes"]
    before = rows.copy()
    network.predict(rows)
    pd.testing.assert_frame_equal(rows, before)


def test_impossible_rows(network):
    rows = pd.DataFrame({"a": ["no", "no", "yes"], 2: [9, 7, 8]})
    assert list(np.isinf(network.log_evidence(rows))) == [True, False, True]
    for method in ("map", "marginal"):
        with pytest.raises(ValueError, match=r"2 row\(s\), the first at position 0, are impossible.*'a': 'no', 2: 9"):
            network.predict(rows, method=method)
    with pytest.raises(ValueError, match="position 0"):
        network.predict_proba(rows)


def _list_codes(frame):
    return np.stack([column.cat.codes for _, column in frame.items()], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_rows"), [("alarm", 4_500), ("andes", 6)])
def test_rows_have_the_same_bits_in_any_table(name, n_rows):
    model = load_network(name)
    frame = sample_network(name, n_rows, random_state=1)
    rng = np.random.default_rng(2)
    # rows that hide little go by components, rows of alarm that hide much by the whole tree
    rows = frame.mask(rng.random(frame.shape) < rng.choice([0.2, 0.9], size=(n_rows, 1)))
    logs, proba, filled = model.log_evidence(rows), model.predict_proba(rows), _list_codes(model.predict(rows))
    if name == "alarm":
        codes = np.array(_list_codes(rows), dtype=np.int32)
        assert 0 < model.inference_problem().engine.find_sparse_rows(codes).sum() < n_rows
    order = rng.permutation(n_rows)
    others = rows.iloc[order]
    for twin in (model, load_network(name)):  # with kept plans, and with new ones
        assert (twin.log_evidence(others) == logs[order]).all()
        assert (twin.predict_proba(others).to_numpy() == proba.to_numpy()[order]).all()
        assert (_list_codes(twin.predict(others, n_jobs=2)) == filled[order]).all()
    for k in (0, n_rows - 3):
        alone = rows.iloc[[k]]
        assert model.log_evidence(alone)[0] == logs[k]
        found = model.predict_proba(alone)
        pd.testing.assert_frame_equal(found, proba.loc[[k], found.columns], check_exact=True)
        columns = [rows.columns.get_loc(v) for v in model.predict(alone).columns]
        assert (_list_codes(model.predict(alone)) == filled[[k]][:, columns]).all()
    for options in ({"stochastic": True, "seed": 4}, {"method": "marginal"}):
        one, two = (_list_codes(model.predict(rows, n_jobs=n_jobs, **options)) for n_jobs in (1, 2))
        assert (one == two).all()


def test_columns_of_any_type_give_the_same_answers():
    asia = load_network("asia")
    frame = sample_network("asia", 200, random_state=3)
    rows = frame.mask(np.random.default_rng(4).random(frame.shape) < 0.2)
    expected = asia.predict(rows)
    turned = pd.DataFrame(
        {name: column.cat.set_categories(column.cat.categories[::-1]) for name, column in rows.items()}
    )
    wider = pd.DataFrame({name: column.cat.add_categories(["never"]) for name, column in rows.items()})
    mixed = rows.copy()
    mixed[mixed.columns[::2]] = mixed[mixed.columns[::2]].astype(object)
    for twin in (turned, wider, mixed, rows.astype(object), expected.where(rows.notna())):
        before = twin.copy()
        pd.testing.assert_frame_equal(asia.predict(twin), expected)
        assert (asia.log_evidence(twin) == asia.log_evidence(rows)).all()
        pd.testing.assert_frame_equal(twin, before)
    given = frame.drop(columns="dysp")
    whole, before = asia.predict(given), given.copy()
    whole.iloc[:, 0] = whole.iloc[0, 0]  # the result shares no memory with the rows
    pd.testing.assert_frame_equal(given, before)
    unknown = wider.assign(dysp=pd.Categorical(["never"] * 200, categories=["never", "no"]))
    with pytest.raises(ValueError, match="'dysp' holds 'never'"):
        asia.predict(unknown)


def test_plans_of_rows_are_kept_within_limits(monkeypatch):
    monkeypatch.setattr(components, "ROW_PLAN_BYTES", 1 << 12)
    alarm = load_network("alarm")
    frame = sample_network("alarm", 300, random_state=1)
    rows = frame.mask(np.random.default_rng(5).random(frame.shape) < 0.3)
    few = alarm.predict(rows, n_jobs=2)
    engine = alarm.inference_problem().engine
    assert len(engine._workers) in (1, 2)
    monkeypatch.undo()
    pd.testing.assert_frame_equal(load_network("alarm").predict(rows), few)
    assert pickle.loads(pickle.dumps(engine))._workers == []


def test_rows_beyond_memory_are_named():
    # every pair of the roots has an observed child, so that the roots form a clique
    names = [f"x{k}" for k in range(32)]
    pairs = list(itertools.combinations(names, 2))
    made = DiscreteBayesianNetwork([(u, f"{a}{b}") for a, b in pairs for u in (a, b)])
    made.add_cpds(*(TabularCPD(name, 2, [[0.5], [0.5]]) for name in names))
    table = [[0.9, 0.6, 0.3, 0.2], [0.1, 0.4, 0.7, 0.8]]
    made.add_cpds(*(TabularCPD(f"{a}{b}", 2, table, [a, b], [2, 2]) for a, b in pairs))
    rows = pd.DataFrame(0, index=range(3), columns=list(made.nodes)).astype("Int64")
    rows.loc[1, names[:5]] = pd.NA
    rows.loc[2, names] = pd.NA
    assert np.isfinite(made.log_evidence(rows.iloc[:2])).all()
    for question in (made.predict, made.predict_proba, made.log_evidence):
        with pytest.raises(TreewidthError, match=r"row 2: .*width 31"):
            question(rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pathfinder", pytest.param("munin", marks=pytest.mark.slow)])
def test_no_row_underflows(name):
    try:
        model = load_network(name)
    except (FileNotFoundError, OSError, ValueError) as error:
        pytest.skip(f"{name}: {error}")
    n_rows = 10
    frame = sample_network(name, n_rows, random_state=7)
    logs = np.zeros(n_rows)
    for cpd in model.cpds:
        places = [[cpd.name_to_no[v][state] for state in frame[v]] for v in cpd.variables]
        columns = cpd.values / cpd.values.sum(axis=0)
        logs += np.log(columns[tuple(places)])
    assert model.log_likelihood(frame) == pytest.approx(logs, rel=1e-12)
    assert model.log_evidence(frame) == pytest.approx(logs, rel=1e-12)
    half = frame.mask(np.random.default_rng(8).random(frame.shape) < 0.5)
    found = model.log_evidence(half)
    assert (logs - 1e-9 <= found).all() and (found <= 0.0).all()
    # P(x_o) is the sum of P(x_o, x_v) over the states of another variable
    v = next(name for name in frame.columns if half[name].isna().all() or half[name].isna().any())
    hidden = half[half[v].isna()]
    parts = [model.log_evidence(hidden.assign(**{v: state})) for state in model.get_cpds(v).state_names[v]]
    assert np.logaddexp.reduce(parts) == pytest.approx(found[half[v].isna()], rel=1e-9)


def test_draws_have_the_conditional_distribution(network):
    rows = pd.DataFrame({"c": [True] * 20_000})
    drawn = network.predict(rows, stochastic=True, seed=5)
    pairs = drawn.groupby(["a", 2], observed=False).size() / len(rows)
    table, joint = _enumerate(network)
    agree = (table["c"] == True).to_numpy()  # noqa: E712  (a state, not a truth value)
    for (a, b), share in pairs.items():
        cells = agree & (table["a"] == a).to_numpy() & (table[2] == b).to_numpy()
        assert share == pytest.approx(joint[cells].sum() / joint[agree].sum(), abs=0.012)


def test_same_answers_as_pgmpy():
    asia = load_network("asia")
    rows = sample_network("asia", 20, random_state=6)[["smoke", "xray", "dysp"]]
    ours, theirs = asia.predict(rows), asia.to_pgmpy().predict(rows, n_jobs=1)
    pd.testing.assert_frame_equal(ours.astype(object), theirs[ours.columns].astype(object), check_dtype=False)
    ours, theirs = asia.predict_probability(rows), asia.to_pgmpy().predict_probability(rows)
    pd.testing.assert_frame_equal(ours, theirs[ours.columns], atol=1e-12)
    states = {"smoke": "yes", "dysp": "no"}
    assert asia.get_state_probability(states) == pytest.approx(asia.to_pgmpy().get_state_probability(states))


def test_copies_are_of_the_class(network):
    network.predict_proba(pd.DataFrame({"a": ["yes"]}))
    for twin in (network.copy(), copy.copy(network), copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
        assert type(twin) is DiscreteBayesianNetwork and twin == network and twin._kept is None
        assert marginals(twin) == marginals(network)
    assert type(network.do(["c"])) is DiscreteBayesianNetwork
    assert set(network.subgraph(["a", "c"])) == {"a", "c"}
    plain = network.to_pgmpy()
    assert type(plain) is pgmpy.models.DiscreteBayesianNetwork and plain == network
    again = DiscreteBayesianNetwork.from_network(plain)
    again.get_cpds("a").values[:] = [0.5, 0.5]
    assert network.get_cpds("a").values.tolist() == [0.3, 0.7]
    with pytest.raises(TypeError, match="LinearGaussian"):
        DiscreteBayesianNetwork.from_network(pgmpy.models.LinearGaussianBayesianNetwork())


def test_copies_keep_roles():
    made = DiscreteBayesianNetwork([("a", "b")], latents={"a"}, exposures={"b"})
    twin = made.copy()
    assert twin == made and twin.latents == {"a"}
    twin.latents = {"b"}
    assert made.latents == {"a"}


def test_changed_tables_are_seen(network):
    before = network.predict_proba(pd.DataFrame({"c": [True]}), ["a"]).to_numpy()
    kept = CompiledNetwork(network)
    fixed = marginals(kept)["a"]
    network.get_cpds("a").values[:] = [0.5, 0.5]
    edited = network.predict_proba(pd.DataFrame({"c": [True]}), ["a"]).to_numpy()
    assert (edited != before).all() and marginals(network)["a"]["yes"] == pytest.approx(0.5)
    network.remove_cpds("a")
    with pytest.raises(ValueError, match="'a' has no conditional probability table"):
        network.log_evidence(pd.DataFrame({"c": [True]}))
    network.add_cpds(TabularCPD("a", 2, [[0.3], [0.7]], state_names={"a": ["no", "yes"]}))
    assert (network.predict_proba(pd.DataFrame({"c": [True]}), ["a"]).to_numpy() == before).all()
    assert marginals(kept)["a"] == fixed


def test_it_is_the_class_of_learners_and_readers(tmp_path):
    frame = sample_network("asia", 500, random_state=0)
    learned = HillClimbSearch(show_progress=False).fit(frame).model_
    assert type(learned) is DiscreteBayesianNetwork
    for format in ("bif", "xmlbif", "net", "xdsl", "json"):
        assert type(read_model(save_model(learned, tmp_path / f"model.{format}"))) is DiscreteBayesianNetwork


def test_empty_frames():
    asia = load_network("asia")
    empty = sample_network("asia", 3).iloc[:0].drop(columns="lung")
    assert asia.predict(empty).shape == (0, 8)
    assert asia.predict_proba(empty).shape == (0, 2)
    assert asia.log_evidence(empty).shape == (0,)

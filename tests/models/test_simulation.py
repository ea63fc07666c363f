"""Rows drawn from Bayesian networks: their distribution against enumeration, their arguments against pgmpy."""

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from pgmpy.factors.discrete import DiscreteFactor, TabularCPD
from scipy.stats import chisquare

from helpers.bayesian_networks import random_network
from pgmx.datasets import load_network, sample
from pgmx.inference import marginals
from pgmx.models import DiscreteBayesianNetwork
from pgmx.models.bayesian import simulation

N_ROWS = 8000
NAMES = [f"v{k}" for k in range(6)]


def compute_joint(model, vectors=None):
    """Return the joint distribution over v0, v1, ...; `vectors` replaces tables by distributions without parents."""
    joint = 1.0
    axes = {name: axis for axis, name in enumerate(NAMES)}
    for cpd in model.cpds:
        names, values = list(cpd.variables), np.asarray(cpd.values)
        if vectors and names[0] in vectors:
            names, values = names[:1], np.asarray(vectors[names[0]])
        order = np.argsort([axes[name] for name in names])
        shape = [1] * len(NAMES)
        for name, size in zip(names, values.shape, strict=True):
            shape[axes[name]] = size
        joint = joint * values.transpose(order).reshape(shape)
    return joint


def multiply(joint, vectors):
    """Return the joint times a vector per variable, scaled to the sum 1."""
    for name, vector in vectors.items():
        shape = [1] * joint.ndim
        shape[NAMES.index(name)] = -1
        joint = joint * np.reshape(vector, shape)
    return joint / joint.sum()


def assert_distribution(frame, joint):
    """Check the frequencies of all configurations by Pearson's test, and that no impossible one was drawn."""
    cells = np.ravel_multi_index([frame[name].cat.codes for name in NAMES], joint.shape)
    counts = np.bincount(cells, minlength=joint.size)
    expected = joint.ravel()
    assert not counts[expected == 0.0].any()
    frequent = expected * len(frame) >= 5.0
    observed = [*counts[frequent], counts[~frequent].sum()]
    shares = [*expected[frequent], expected[~frequent].sum()]
    if shares[-1] * len(frame) < 5.0:  # too few for the test
        observed, shares = observed[:-1], shares[:-1]
    if len(shares) > 1:
        total = np.sum(observed)
        assert chisquare(observed, np.array(shares) / np.sum(shares) * total).pvalue > 1e-4


def indicate(state, size):
    return np.arange(size) == state


def vector_of(name, values):
    return TabularCPD(name, len(values), np.reshape(values, (-1, 1)))


@pytest.fixture(scope="module")
def asia():
    return DiscreteBayesianNetwork.from_network(load_network("asia"))


@pytest.fixture(scope="module", params=range(6))
def case(request):
    """A random network with some zeros, and its numbers of states."""
    rng = np.random.default_rng(request.param)
    cards = rng.integers(1, 4, 6)
    network = random_network(rng, 6, cards=cards, zeros=0.1)
    return DiscreteBayesianNetwork.from_network(network), cards, rng


def test_rows_follow_the_network(case):
    network, _, _ = case
    assert_distribution(network.simulate(N_ROWS, seed=1), compute_joint(network))


def test_rows_follow_evidence_and_interventions(case):
    network, cards, rng = case
    for seed in range(6):
        roles = dict(zip(NAMES, rng.permutation(["do", "evidence", "virtual", "policy", "none", "none"]), strict=True))
        given = {kind: [name for name in NAMES if roles[name] == kind] for kind in set(roles.values())}
        size = dict(zip(NAMES, cards, strict=True))
        do = {name: int(rng.integers(size[name])) for name in given["do"]}
        virtual = {name: rng.random(size[name]) + 0.05 for name in given["virtual"]}
        policies = {name: rng.dirichlet(np.ones(size[name])) for name in given["policy"]}
        # the variable of the policy may be observed, or have a likelihood
        if seed % 3 == 1:
            virtual |= {name: rng.random(size[name]) + 0.05 for name in policies}
        cut = compute_joint(network, policies | {name: indicate(state, size[name]) for name, state in do.items()})
        observed = given["evidence"] + (given["policy"] if seed % 3 == 2 else [])
        states = np.unravel_index(rng.choice(cut.size, p=cut.ravel()), cut.shape)
        evidence = {name: int(states[NAMES.index(name)]) for name in observed}
        joint = multiply(cut, {name: indicate(state, size[name]) for name, state in evidence.items()} | virtual)
        frame = network.simulate(
            N_ROWS,
            do=do,
            evidence=evidence,
            virtual_evidence=[vector_of(*pair) for pair in virtual.items()],
            virtual_intervention=[vector_of(*pair) for pair in policies.items()],
            seed=seed,
        )
        assert list(frame.columns) == NAMES
        assert_distribution(frame, joint)


def test_partial_samples_are_interventions_of_each_row(case):
    network, cards, rng = case
    name = NAMES[int(np.argmax(cards))]
    size = int(cards.max())
    partial = pd.DataFrame({name: rng.integers(size, size=3 * N_ROWS)}, index=np.arange(3 * N_ROWS)[::-1])
    frame = network.simulate(3 * N_ROWS, partial_samples=partial, seed=2)
    assert frame[name].tolist() == partial[name].tolist()
    assert frame.index.equals(pd.RangeIndex(3 * N_ROWS))
    likely = marginals(network)
    other = max((x for x in NAMES if x != name), key=lambda x: min(likely[x].values()) * (len(likely[x]) > 1))
    state = max(likely[other], key=likely[other].get)
    cut = [compute_joint(network, {name: indicate(k, size)}) for k in range(size)]
    for k in range(size):
        assert_distribution(frame[frame[name] == k], cut[k])
    mask = indicate(state, len(likely[other]))
    if all((multiply_unscaled(joint, other, mask)).sum() > 0.0 for joint in cut):
        given = network.simulate(3 * N_ROWS, partial_samples=partial, evidence={other: state}, seed=2)
        assert given[name].tolist() == partial[name].tolist()
        for k in range(size):
            assert_distribution(given[given[name] == k], multiply(cut[k], {other: mask}))


def multiply_unscaled(joint, name, vector):
    shape = [1] * joint.ndim
    shape[NAMES.index(name)] = -1
    return joint * np.reshape(vector, shape)


@pytest.mark.slow
def test_rare_evidence_and_seeds(asia, monkeypatch):
    evidence = {"asia": "yes", "tub": "yes", "smoke": "no", "dysp": "no"}
    frame = asia.simulate(3000, evidence=evidence, seed=7)
    assert all((frame[name] == state).all() for name, state in evidence.items())
    expected = marginals(asia, evidence)["xray"]["yes"]
    assert (frame["xray"] == "yes").mean() == pytest.approx(expected, abs=5 * np.sqrt(expected / 3000))
    pd.testing.assert_frame_equal(asia.simulate(3000, evidence=evidence, seed=7), frame)
    pd.testing.assert_frame_equal(asia.simulate(300, evidence=evidence, seed=7), frame[:300])
    assert not asia.simulate(3000, evidence=evidence, seed=8).equals(frame)
    assert not asia.simulate(3000, evidence=evidence).equals(asia.simulate(3000, evidence=evidence))
    monkeypatch.setattr(simulation, "CHUNK_NUMBERS", 0)
    monkeypatch.setattr(simulation, "LEAST_ROWS", 700)
    pd.testing.assert_frame_equal(asia.simulate(3000, evidence=evidence, seed=7), frame)


@pytest.mark.slow
def test_any_number_of_threads_draws_the_same_rows(asia):
    arguments = {"n_samples": 9000, "evidence": {"dysp": "yes", "either": "no"}, "seed": 5}
    frame = asia.simulate(**arguments)
    with parallel_config(n_jobs=2):
        pd.testing.assert_frame_equal(asia.simulate(**arguments), frame)


def test_pinned_rows(asia):
    # of an exact integer stream and products in a fixed order: the same on every machine
    frame = asia.simulate(8, evidence={"dysp": "yes", "xray": "yes"}, seed=12)
    assert ["".join(x[0] for x in row) for row in frame.astype(str).to_numpy()] == PINNED
    pd.testing.assert_frame_equal(asia.simulate(100, seed=4), sample(asia, 100, random_state=4))


PINNED = ["nnyyyyyy", "nnyynyyy", "nnnnynyy", "nnnynyyy", "nnynynyy", "nnyyyyyy", "nynnyyyy", "nnyynyyy"]


def test_frames(asia):
    frame = asia.simulate(seed=0)
    assert frame.shape == (10, 8)
    assert list(frame.columns) == list(asia.nodes)
    assert all(list(frame[name].cat.categories) == asia.states[name] for name in frame)
    assert asia.simulate(0, evidence={"dysp": "yes"}).shape == (0, 8)
    hidden = asia.copy()
    hidden.latents = {"either", "smoke"}
    assert list(hidden.simulate(5, seed=0).columns) == [name for name in asia.nodes if name not in hidden.latents]
    pd.testing.assert_frame_equal(hidden.simulate(10, seed=0, include_latents=True), frame)


# ---- missing values ----


def test_missing_values_depend_on_the_rules(asia):
    completely = TabularCPD("xray*", 2, [[0.2], [0.8]])
    names = {"smoke*": [0, 1], "smoke": ["yes", "no"], "bronc": ["yes", "no"]}
    by_values = TabularCPD("smoke*", 2, [[0.9, 0.5, 0.3, 1.0], [0.1, 0.5, 0.7, 0.0]], ["smoke", "bronc"], [2, 2], names)
    chained = TabularCPD("lung*", 2, [[1.0, 0.25], [0.0, 0.75]], ["smoke*"], [2], {"lung*": [0, 1], "smoke*": [0, 1]})
    rules = [completely, by_values, chained]
    full = asia.simulate(N_ROWS, seed=5)
    frame = asia.simulate(N_ROWS, missing_prob=rules, seed=5, return_full=True)
    assert list(frame.columns) == [*asia.nodes, "xray_full", "smoke_full", "lung_full"]
    for name in asia.nodes:
        kept = frame[name].notna()
        assert (frame.loc[kept, name] == full.loc[kept, name]).all()
        assert kept.all() or name in ("xray", "smoke", "lung")
        assert f"{name}_full" not in frame or (frame[f"{name}_full"] == full[name]).all()
    assert frame["xray"].isna().mean() == pytest.approx(0.8, abs=0.02)
    for smoke, bronc, share in (("yes", "yes", 0.1), ("yes", "no", 0.5), ("no", "yes", 0.7), ("no", "no", 0.0)):
        chosen = (full["smoke"] == smoke) & (full["bronc"] == bronc)
        assert frame.loc[chosen, "smoke"].isna().mean() == pytest.approx(share, abs=0.03)
    assert not frame.loc[frame["smoke"].notna(), "lung"].isna().any()
    assert frame.loc[frame["smoke"].isna(), "lung"].isna().mean() == pytest.approx(0.75, abs=0.03)
    without = asia.simulate(N_ROWS, missing_prob=rules, seed=5)
    pd.testing.assert_frame_equal(without, frame[list(asia.nodes)])
    one = asia.simulate(100, missing_prob=TabularCPD("xray*", 2, [[1.0], [0.0]], state_names={"xray*": [1, 0]}))
    assert one["xray"].isna().all()  # states are matched by name


# ---- as pgmpy ----


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"evidence": {"U": 1}},
        {"do": {"X": 1}, "evidence": {"Y": 0}},
        {"virtual_evidence": [vector_of("Y", [0.9, 0.2])]},
        {"virtual_intervention": [vector_of("X", [0.0, 1.0])]},
        {"missing_prob": TabularCPD("Z*", 2, [[0.3, 0.9], [0.7, 0.1]], ["X"], [2])},
        {"partial_samples": pd.DataFrame({"X": np.arange(20_000) % 2})},
    ],
)
def test_distributions_are_pgmpys(arguments):
    network = DiscreteBayesianNetwork([("Z", "X"), ("X", "Y"), ("U", "X"), ("U", "Y")])
    network.add_cpds(
        TabularCPD("Z", 2, [[0.2], [0.8]]),
        TabularCPD("U", 2, [[0.3], [0.7]]),
        TabularCPD("X", 2, [[0.1, 0.2, 0.4, 0.7], [0.9, 0.8, 0.6, 0.3]], ["U", "Z"], [2, 2]),
        TabularCPD("Y", 2, [[0.2, 0.1, 0.6, 0.4], [0.8, 0.9, 0.4, 0.6]], ["U", "X"], [2, 2]),
    )
    ours = network.simulate(20_000, seed=1, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = network.to_pgmpy().simulate(20_000, seed=1, show_progress=False, **arguments)
    # pgmpy's columns with missing values hold floats
    columns = [[f[name].astype(float).fillna(-1.0) for name in "ZUXY"] for f in (ours, theirs)]
    counts = [Counter(zip(*own, strict=True)) for own in columns]
    assert all(abs(counts[0][row] - counts[1][row]) < 400 for row in counts[0].keys() | counts[1].keys())


def test_bad_input(asia):
    yes = {"yes": 0.3, "no": 0.7}

    def table(name, values=(0.3, 0.7), states=("yes", "no")):
        return TabularCPD(name, len(values), np.reshape(values, (-1, 1)), state_names={name: list(states)})

    pair = DiscreteFactor(["lung", "tub"], [2, 2], np.ones(4))
    cases = [
        ({"n_samples": -1}, "n_samples must be at least 0"),
        ({"seed": -1}, "seed must not be negative"),
        ({"evidence": {"lungs": "yes"}}, "no variable 'lungs'.*did you mean 'lung'"),
        ({"evidence": {"lung": "maybe"}}, "'lung' has no state 'maybe'"),
        ({"do": {"lung": "maybe"}}, "'lung' has no state 'maybe'"),
        ({"do": {"lung": "yes"}, "evidence": {"lung": "yes"}}, "'lung' cannot be both in do and in evidence"),
        ({"do": {"lung": "yes"}, "virtual_intervention": [table("lung")]}, "both in do and in virtual_intervention"),
        ({"evidence": {"either": "no", "tub": "yes"}}, "'either': 'no'.*has probability zero"),
        ({"virtual_evidence": [table("lungs")]}, "no variable 'lungs'"),
        ({"virtual_evidence": [table("lung", (0.3, 0.3, 0.4), "abc")]}, "gives 'lung' 3 states.*it has 2"),
        ({"virtual_evidence": [table("lung", states="ab")]}, "gives 'lung' the states 'a', 'b'"),
        ({"virtual_evidence": [pair]}, "a table of this variable alone"),
        ({"virtual_evidence": [DiscreteFactor(["lung"], [2], [0, 0])]}, "excludes all of its states"),
        ({"virtual_evidence": [DiscreteFactor(["lung"], [2], [-1, 2])]}, "finite and nonnegative"),
        ({"virtual_evidence": [0.5]}, "must consist of TabularCPD objects, got float"),
        ({"missing_prob": 0.5}, "must consist of TabularCPD objects, got float"),
        ({"missing_prob": table("lung")}, "name must be that of a variable and '\\*'"),
        ({"missing_prob": TabularCPD("a*", 2, [[0.5], [0.5]])}, "no variable 'a'"),
        ({"missing_prob": TabularCPD("lung*", 3, [[0.5], [0.3], [0.2]])}, "must have 2 states"),
        ({"missing_prob": [TabularCPD("lung*", 2, [[0.5], [0.5]])] * 2}, "two tables of 'lung\\*'"),
        ({"partial_samples": pd.DataFrame({"lung": ["yes"]})}, "partial_samples has 1 rows, n_samples=10"),
        ({"partial_samples": pd.DataFrame({"lungs": ["yes"] * 10})}, "lungs"),
        ({"partial_samples": pd.DataFrame({"lung": ["yes"] * 9 + [None]})}, "missing values in column.*'lung'"),
        (
            {"partial_samples": pd.DataFrame({"lung": ["no"] * 9 + ["yes"]}), "evidence": {"either": "no"}},
            "impossible in row 9 of partial_samples",
        ),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            asia.simulate(**arguments)
    with pytest.raises(TypeError, match="virtual_evidence must be a list of TabularCPD, got dict"):
        asia.simulate(virtual_evidence={"lung": yes})


def test_nothing_that_is_passed_in_changes(asia):
    partial = pd.DataFrame({"tub": ["no"] * 10})
    evidence, likelihood = {"dysp": "yes"}, vector_of("xray", [0.2, 0.7])
    before = (partial.copy(), dict(evidence), likelihood.copy(), set(asia.nodes), [cpd.copy() for cpd in asia.cpds])
    asia.simulate(10, evidence=evidence, virtual_evidence=[likelihood], partial_samples=partial, do={"lung": "no"})
    pd.testing.assert_frame_equal(partial, before[0])
    assert (evidence, likelihood, set(asia.nodes)) == before[1:4]
    assert asia.cpds == before[4]
    assert marginals(asia)["lung"] == marginals(load_network("asia"))["lung"]

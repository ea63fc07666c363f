"""Questions to Bayesian networks by name: evidence, likelihoods, interventions, files, compiled networks."""

import pickle

import numpy as np
import pandas as pd
import pytest
from pgmpy.factors.discrete import TabularCPD
from pgmpy.models import DiscreteBayesianNetwork

from pgmx.datasets import load_network, sample_network
from pgmx.estimators import HillClimbSearch
from pgmx.inference import (
    ApproximationWarning,
    CompiledNetwork,
    PairwisePotentials,
    TreewidthError,
    estimate_cost,
    joint,
    log_partition,
    map_assignment,
    marginals,
    sample,
)
from pgmx.models import save_model

EVIDENCE = {"dysp": "yes", "xray": "no"}


@pytest.fixture(scope="module")
def asia():
    return load_network("asia")


def pgmpy_elimination(network):
    from pgmpy.inference import VariableElimination  # warns of pgmpy.estimators unless pgmx.estimators came first

    return VariableElimination(network)


@pytest.fixture(scope="module")
def peer(asia):
    return pgmpy_elimination(asia)


def read_rows(table):
    """Return the rows of a table of codes as a frame of states."""
    columns = zip(table.columns, table.states, table.codes, strict=True)
    return pd.DataFrame({name: [states[code] for code in codes] for name, states, codes in columns})


def distribution(factor, states):
    """Return the values of pgmpy's factor of one variable in the order of some states."""
    (name,) = factor.variables
    return [factor.values[factor.state_names[name].index(state)] for state in states]


def test_marginals_equal_pgmpy(asia, peer):
    answer = marginals(asia, EVIDENCE)
    assert answer.method == "exact"
    assert answer.exact
    assert set(answer) == set(asia.nodes) - set(EVIDENCE)
    for name in answer:
        theirs = peer.query([name], EVIDENCE, show_progress=False)
        assert list(answer[name].values()) == pytest.approx(distribution(theirs, answer[name]), abs=1e-12)


def test_joint_equals_pgmpy(asia, peer):
    theirs = peer.query(["lung", "bronc", "tub"], EVIDENCE, show_progress=False)
    order = [theirs.variables.index(name) for name in ("lung", "bronc", "tub")]
    np.testing.assert_allclose(
        joint(asia, ["lung", "bronc", "tub"], EVIDENCE), theirs.values.transpose(order), atol=1e-12
    )


def test_log_partition_is_the_probability_of_the_evidence(asia, peer):
    theirs = peer.query(["dysp", "xray"], show_progress=False)
    share = theirs.get_value(dysp="yes", xray="no")
    assert log_partition(asia, EVIDENCE) == pytest.approx(np.log(share), abs=1e-12)
    assert log_partition(asia) == pytest.approx(0.0, abs=1e-12)


def test_the_most_probable_states_are_those_of_the_joint(asia):
    answer = map_assignment(asia, EVIDENCE)
    table = joint(asia, list(answer), EVIDENCE)
    assert np.exp(answer.log_value - log_partition(asia, EVIDENCE)) == pytest.approx(table.max(), rel=1e-12)
    assert answer.exact
    assert log_partition(asia, {**answer, **EVIDENCE}) == pytest.approx(answer.log_value, abs=1e-12)


def test_samples_follow_the_posterior_and_the_seed(asia):
    rows = sample(asia, 20_000, evidence=EVIDENCE, seed=3)
    again = sample(asia, 20_000, evidence=EVIDENCE, seed=3)
    assert (rows.codes == again.codes).all()
    frame = read_rows(rows)
    assert (frame["dysp"] == "yes").all()
    found = (frame["bronc"] == "yes").mean()
    assert found == pytest.approx(marginals(asia, EVIDENCE)["bronc"]["yes"], abs=6 * 0.5 / np.sqrt(20_000))


def test_likelihoods_are_those_of_a_further_child(asia):
    cpd = TabularCPD("test", 2, [[0.2, 0.7], [0.8, 0.3]], ["bronc"], [2], {"test": ["+", "-"], "bronc": ["yes", "no"]})
    larger = asia.copy()
    larger.add_edge("bronc", "test")
    larger.add_cpds(cpd)
    expected = marginals(larger, {"dysp": "yes", "test": "+"})
    for likelihoods in ([0.2, 0.7], {"yes": 0.2, "no": 0.7}, {"no": 7.0, "yes": 2.0}):
        answer = marginals(asia, {"dysp": "yes"}, virtual_evidence={"bronc": likelihoods})
        for name in answer:
            assert list(answer[name].values()) == pytest.approx(list(expected[name].values()), abs=1e-12)
    hard = marginals(asia, {"bronc": "yes"})
    soft = marginals(asia, virtual_evidence={"bronc": {"yes": 1.0}})
    assert soft["lung"]["yes"] == pytest.approx(hard["lung"]["yes"], abs=1e-13)


def test_an_intervention_cuts_the_edges_into_it(asia):
    cut = marginals(asia, do={"lung": "yes"})
    assert cut["smoke"]["yes"] == pytest.approx(marginals(asia)["smoke"]["yes"], abs=1e-13)
    assert cut["either"]["yes"] == pytest.approx(1.0)
    mutilated = asia.do(["lung"])
    expected = marginals(mutilated, {"lung": "yes", "dysp": "no"})
    answer = marginals(asia, {"dysp": "no"}, do={"lung": "yes"})
    for name in answer:
        assert list(answer[name].values()) == pytest.approx(list(expected[name].values()), abs=1e-12)
    root = marginals(asia, do={"smoke": "no"})  # of a variable without parents it is an observation
    assert root["dysp"]["yes"] == pytest.approx(marginals(asia, {"smoke": "no"})["dysp"]["yes"], abs=1e-13)


@pytest.mark.parametrize("method", ["auto", "exact", "ais", "loopy"])
def test_every_method_sees_likelihoods_and_interventions(asia, method):
    options = {"evidence": {"xray": "yes"}, "virtual_evidence": {"dysp": [0.3, 0.4]}, "do": {"bronc": "no"}}
    exact = log_partition(asia, **options)
    assert log_partition(asia, method=method, **options) == pytest.approx(exact, abs=0.3)


def test_approximations_equal_exact_answers(asia):
    options = {"virtual_evidence": {"dysp": [0.3, 0.4]}, "do": {"bronc": "no"}}
    exact = marginals(asia, {"xray": "yes"}, **options)
    rough = marginals(asia, {"xray": "yes"}, method="corrected", **options)  # Gibbs alone is stuck between zeros
    assert rough["smoke"]["yes"] == pytest.approx(exact["smoke"]["yes"], abs=0.05)


def test_beyond_the_memory(asia):
    with pytest.raises(TreewidthError, match="exact inference needs"):
        marginals(asia, method="exact", memory=8)
    with pytest.warns(ApproximationWarning, match="corrected by Gibbs sampling"):
        answer = marginals(asia, {"dysp": "yes"}, memory=8)
    assert not answer.exact
    assert map_assignment(asia, {"dysp": "yes"}, memory=8) == map_assignment(asia, {"dysp": "yes"})
    with pytest.warns(ApproximationWarning, match="samples were drawn approximately, by Gibbs sampling"):
        assert sample(asia, 3, evidence={"dysp": "yes"}, memory=8).n_rows == 3
    with pytest.raises(TreewidthError, match="use Gibbs sampling"):
        sample(asia, 3, memory=8, method="exact")


@pytest.mark.parametrize("suffix", ["bif", "xmlbif", "json", "net"])
def test_a_file_is_a_network(asia, suffix, tmp_path):
    path = tmp_path / f"network.{suffix}"
    save_model(asia, path)
    for model in (path, str(path)):
        assert marginals(model, EVIDENCE)["lung"]["yes"] == pytest.approx(marginals(asia, EVIDENCE)["lung"]["yes"])


def test_a_name_is_no_file():
    with pytest.raises(ValueError, match=r"'alarm' is not a file of a network.*load_network\('alarm'\)"):
        marginals("alarm")


def test_learners_are_networks():
    frame = sample_network("asia", 500, random_state=0)
    learner = HillClimbSearch(show_progress=False).fit(frame)
    assert marginals(learner)["smoke"] == marginals(learner.model_)["smoke"]
    assert estimate_cost(learner).width >= 1


def test_a_compiled_network_keeps_its_answers(asia):
    changed = asia.copy()
    kept = CompiledNetwork(changed)
    before = marginals(kept, EVIDENCE)
    changed.get_cpds("smoke").values[:] = [0.9, 0.1]
    assert marginals(kept, EVIDENCE)["smoke"] == before["smoke"]
    assert marginals(changed, EVIDENCE)["smoke"] != before["smoke"]
    copy = pickle.loads(pickle.dumps(kept))
    assert marginals(copy, EVIDENCE)["smoke"] == before["smoke"]
    assert repr(kept) == "CompiledNetwork(8 variables, directed)"
    assert kept.names == tuple(asia.nodes)


def test_names_and_states_of_any_kind():
    network = DiscreteBayesianNetwork([(("a", 1), 2)])
    network.add_cpds(
        TabularCPD(("a", 1), 2, [[0.3], [0.7]], state_names={("a", 1): [False, True]}),
        TabularCPD(2, 1, [[1.0, 1.0]], [("a", 1)], [2], {2: ["only"], ("a", 1): [True, False]}),
    )
    answer = marginals(network)
    assert answer[2] == {"only": 1.0}
    assert answer["a", 1] == pytest.approx({False: 0.3, True: 0.7})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"evidence": {"dispnea": "yes"}}, ValueError, "no variable 'dispnea'"),
        ({"evidence": {"dysp": "maybe"}}, ValueError, "'dysp' has no state 'maybe': its states are 'yes', 'no'"),
        ({"evidence": {"dysp": "maybe"}}, KeyError, "'dysp' has no state 'maybe'"),
        ({"evidence": {"tub": "yes", "either": "no"}}, ValueError, "has probability zero"),
        ({"virtual_evidence": {"dysp": [1.0]}}, ValueError, "one likelihood per state, 2"),
        ({"virtual_evidence": {"dysp": [1.0, -1.0]}}, ValueError, "finite and nonnegative"),
        ({"virtual_evidence": {"dysp": [np.nan, 1.0]}}, ValueError, "finite and nonnegative"),
        ({"virtual_evidence": {"dysp": [0.0, 0.0]}}, ValueError, "not all 0"),
        ({"virtual_evidence": {"dysp": {"maybe": 1.0}}}, ValueError, "'dysp' has no state 'maybe'"),
        ({"virtual_evidence": ["dysp"]}, TypeError, "virtual_evidence must be a dict"),
        ({"do": {"dysp": "yes"}, "evidence": {"dysp": "yes"}}, ValueError, "cannot be both in do and in evidence"),
        ({"do": {"dysp": "yes"}, "virtual_evidence": {"dysp": [1, 2]}}, ValueError, "in do and in virtual_evidence"),
        ({"do": ["dysp"]}, TypeError, "do must be a dict"),
    ],
)
def test_bad_questions(asia, options, error, message):
    with pytest.raises(error, match=message):
        marginals(asia, **options)


def test_markov_networks_have_no_interventions():
    chain = PairwisePotentials.build([2, 2], tables={(0, 1): [[0.0, 1.0], [0.0, 0.0]]})
    with pytest.raises(TypeError, match="do needs a Bayesian network"):
        marginals(chain, do={0: 1})
    soft = marginals(chain, virtual_evidence={1: [0.0, 1.0]})
    assert soft[0][0] == pytest.approx(marginals(chain, {1: 1})[0][0])


def test_impossible_evidence_that_the_question_does_not_need(asia):
    # the family of `either` is observed completely, and it is impossible, so a question to smoke finds it
    with pytest.raises(ValueError, match="probability zero"):
        joint(asia, ["smoke"], {"either": "no", "tub": "yes", "lung": "no"})


def test_a_network_with_a_missing_table_is_refused():
    network = DiscreteBayesianNetwork([("a", "b")])
    with pytest.raises(ValueError, match="node 'a' has no conditional probability table"):
        marginals(network)


def test_rounded_tables_are_scaled():
    network = DiscreteBayesianNetwork()
    network.add_node("a")
    network.add_cpds(TabularCPD("a", 3, [[0.333], [0.333], [0.334]]))
    network.get_cpds("a").values[:] = [0.3333, 0.3333, 0.3333]
    assert log_partition(network) == pytest.approx(0.0, abs=1e-13)
    assert sum(marginals(network)["a"].values()) == pytest.approx(1.0, abs=1e-15)


def test_alarm_equals_pgmpy_for_random_evidence(rng):
    alarm = load_network("alarm")
    peer, kept = pgmpy_elimination(alarm), CompiledNetwork(alarm)
    rows = read_rows(sample(alarm, 5, seed=1))
    for _, row in rows.iterrows():
        names = rng.permutation(list(alarm.nodes))
        evidence = {name: row[name] for name in names[:4].tolist()}
        asked = names[5:7].tolist()
        theirs = peer.query(asked, evidence, show_progress=False)
        answer = joint(kept, asked, evidence)
        states = [kept.states[kept.names.index(name)] for name in asked]
        for a, first in enumerate(states[0]):
            for b, second in enumerate(states[1]):
                value = theirs.get_value(**{asked[0]: first, asked[1]: second})
                assert answer[a, b] == pytest.approx(value, abs=1e-10)

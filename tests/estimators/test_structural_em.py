"""missing="em": the likelihood of the observed cells never falls and is that of enumeration; graphs and refusals."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.learning_tables import dependent_frame, edge_set, mixed_frame
from oracles import missing_cells as oracle
from pgmx.data import DiscreteTable, encode, open_frame
from pgmx.estimators import (
    BestFirstSearch,
    BootstrapStructure,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    SimulatedAnnealing,
)
from pgmx.models import fit_discrete
from pgmx.models.bayesian.incomplete_discrete import IncompleteDiscreteRows, normalise
from pgmx.scores import BIC, EdgePrior
from pgmx.scores.binding.resolve import resolve_scoring
from pgmx.scores.registry import list_scores

QUIET = {"show_progress": False, "return_type": "dag"}


def learn(data, **options):
    return HillClimbSearch(**{"missing": "em", **QUIET, **options}).fit(data)


def with_holes(frame, rng, share=0.2):
    frame = frame.astype("Int64")
    for name in frame:
        frame[name] = frame[name].mask(rng.random(len(frame)) < share)
    return frame


def tables_of(network, names):
    """Return the families and tables of pgmpy's network, parents in its order."""
    position = {name: v for v, name in enumerate(names)}
    cpds = [network.get_cpds(name) for name in names]
    families = [tuple(position[name] for name in cpd.variables) for cpd in cpds]
    return families, [np.asarray(cpd.values) for cpd in cpds]


def bic_penalty(network, n_rows):
    free = sum((cpd.values.shape[0] - 1) * math.prod(cpd.values.shape[1:]) for cpd in network.cpds)
    return 0.5 * math.log(n_rows) * free


# ---- parameters ----


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.4, 0.7]))
def test_no_step_of_the_parameters_lowers_the_likelihood(seed, share):
    rng = np.random.default_rng(seed)
    table = encode(with_holes(dependent_frame(seed % 50, 40), rng, share), missing="pairwise")
    rows = IncompleteDiscreteRows(table, rng.uniform(0.5, 2, table.n_rows), n_draws=4)
    arcs = [arc for arc in itertools.combinations(range(5), 2) if rng.random() < 0.5]
    fit = rows.fit(np.array(arcs).reshape(-1, 2), max_steps=0)
    first = oracle.log_likelihoods(rows.cards, fit.families, fit.parameters, rows.codes)
    assert fit.log_likelihood == pytest.approx(rows.weights @ first, rel=1e-9)
    for _ in range(6):
        following = rows.resume(fit, max_steps=1)
        expected = oracle.expected_counts(rows.cards, fit.families, fit.parameters, rows.codes, rows.weights)
        for mine, theirs in zip(following.parameters, map(normalise, expected), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-9)
        assert following.log_likelihood >= fit.log_likelihood - 1e-9 * abs(fit.log_likelihood)
        fit = following


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_a_graph_of_higher_expected_score_has_a_higher_observed_one(seed):
    """Friedman's theorem: what rises on the expected counts rises at least as much on the observed cells."""
    rng = np.random.default_rng(seed)
    table = encode(with_holes(dependent_frame(seed % 50, 60), rng, 0.3), missing="pairwise")
    rows = IncompleteDiscreteRows(table, n_draws=1000)  # all completions
    scoring = resolve_scoring("bic", table, state_names=None, missing="em", n_jobs=None)
    arcs = list(itertools.combinations(range(5), 2))
    graphs = [np.array([arc for arc in arcs if rng.random() < 0.4]).reshape(-1, 2) for _ in range(4)]
    fit = rows.fit(graphs[0], max_steps=3)
    completed = rows.complete(fit, 0)
    expected = resolve_scoring(
        "bic", completed.table, state_names=None, missing="error", n_jobs=None, sample_weight=completed.weights
    )
    source = expected.gains(allowed=None, max_indegree=None, deadline=math.inf, n_jobs=None)

    def expected_score(graph):
        return sum(source.family_score(f[0], np.array(f[1:], dtype=np.int32)) for f in rows.families(graph))

    now = scoring.score_fit(fit, completed)
    for graph in graphs:
        other = rows.fit(graph, rows.count(graph, completed), max_steps=0)
        rise = expected_score(graph) - expected_score(graphs[0])
        gain = scoring.score_fit(other, completed) - now
        assert gain >= rise - 1e-6 * abs(now)


def test_complete_rows_have_their_counts():
    table = encode(dependent_frame(0))
    arcs = [(0, 1), (1, 3), (2, 3)]
    fit = IncompleteDiscreteRows(table).fit(np.array(arcs))
    network = fit_discrete(table, arcs)
    for family, mine in zip(fit.families, fit.parameters, strict=True):
        theirs = network.get_cpds(table.columns[family[0]]).values
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


# ---- graphs ----


@pytest.mark.parametrize("score", list_scores("discrete"))
@pytest.mark.parametrize("strategy", ["greedy", "thorough"])
def test_the_observed_score_never_falls(score, strategy, seed, rng):
    data = with_holes(dependent_frame(seed), rng, 0.25)
    learner = learn(data, scoring_method=score, strategy=strategy, max_indegree=2)
    history = learner.history_["score"]
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
    assert len(history) >= 2
    assert learner.n_em_iter_ >= 1
    assert learner.converged_
    assert learner.stopped_by_ == "converged"
    assert learner.score_ == history[-1]


def test_score_and_likelihood_are_those_of_enumeration(seed, rng):
    data = with_holes(dependent_frame(seed), rng, 0.3)
    learner = learn(data)
    table = encode(data, missing="pairwise")
    cards = [card - (code >= 0) for card, code in zip(table.cardinalities, table.missing_codes, strict=True)]
    families, tables = tables_of(learner.model_, table.columns)
    likelihood = oracle.log_likelihoods(cards, families, tables, table.codes).sum()
    assert learner.observed_log_likelihood_ == pytest.approx(likelihood, rel=1e-9)
    assert learner.score_ == pytest.approx(likelihood - bic_penalty(learner.model_, 300), rel=1e-9)


def test_the_parameters_are_at_their_maximum(seed, rng):
    """One more step by enumeration leaves the tables where they are."""
    data = with_holes(dependent_frame(seed), rng, 0.3)
    learner = learn(data)
    table = encode(data, missing="pairwise")
    cards = [card - (code >= 0) for card, code in zip(table.cardinalities, table.missing_codes, strict=True)]
    families, tables = tables_of(learner.model_, table.columns)
    counts = oracle.expected_counts(cards, families, tables, table.codes, np.ones(300))
    for table_of_model, expected in zip(tables, counts, strict=True):
        np.testing.assert_allclose(table_of_model, normalise(expected), atol=0.01)


def test_a_prior_is_added_to_the_expected_counts(rng):
    data = with_holes(dependent_frame(0), rng, 0.3)
    plain, smooth = learn(data), learn(data, pseudo_counts=1.0)
    fit = plain._scoring.get().fit
    for (child, *_), counts in zip(fit.families, fit.statistics, strict=True):
        name = data.columns[child]
        np.testing.assert_allclose(smooth.model_.get_cpds(name).values, normalise(counts + 1.0), atol=1e-12)


def test_a_complete_table_is_learned_as_ever():
    data = dependent_frame(0)
    mine, plain = learn(data), learn(data, missing="error")
    assert edge_set(mine.dag_) == edge_set(plain.dag_)
    assert mine.score_ == plain.score_
    assert mine.n_em_iter_ == 0
    assert mine.observed_log_likelihood_ == pytest.approx(plain.score_ + bic_penalty(plain.model_, 300), rel=1e-9)
    assert mine.imputed_frame().astype(int).equals(data.astype(int))


def test_cells_that_follow_from_others_are_imputed():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, 400)
    data = pd.DataFrame({"x": x, "copy": x, "coin": rng.integers(0, 2, 400)}).astype("Int64")
    holes = data.copy()
    holes.loc[:99, "x"] = pd.NA
    holes.loc[100:199, "copy"] = pd.NA
    learner = learn(holes)
    frame = learner.imputed_frame()
    assert frame["x"].astype(int).tolist() == x.tolist()
    assert frame["copy"].astype(int).tolist() == x.tolist()
    assert not frame.isna().any(axis=None)
    assert list(frame.columns) == list(data.columns)


def test_holes_that_depend_on_known_cells_do_no_harm():
    """Rows with missing values are not a fair sample here: what is complete shows another distribution of x."""
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, 4000)
    x = np.where(rng.random(4000) < 0.9, z, 1 - z)
    data = pd.DataFrame({"z": z, "x": x}).astype("Int64")
    data.loc[(z == 1) & (rng.random(4000) < 0.9), "x"] = pd.NA
    families, tables = tables_of(learn(data).model_, ["z", "x"])
    of_x = oracle.marginals([2, 2], families, tables, [2, 2])[1][1]
    assert of_x == pytest.approx(x.mean(), abs=0.03)
    assert data["x"].mean() < x.mean() - 0.2


def test_weights_are_repeated_rows(rng):
    data = with_holes(dependent_frame(0), rng)
    weights = rng.integers(0, 4, 300)
    states = {name: [0, 1, 2] if name in "be" else [0, 1] for name in data}
    mine = HillClimbSearch(missing="em", state_names=states, **QUIET).fit(data, sample_weight=weights)
    repeated = learn(data.loc[data.index.repeat(weights)].reset_index(drop=True), state_names=states)
    assert edge_set(mine.dag_) == edge_set(repeated.dag_)
    assert mine.observed_log_likelihood_ == pytest.approx(repeated.observed_log_likelihood_, rel=1e-6)


def test_the_same_seed_gives_the_same_to_the_last_bit(rng):
    data = with_holes(dependent_frame(1), rng)
    first, second = learn(data), learn(data)
    assert first.score_ == second.score_
    np.testing.assert_array_equal(first.edges_, second.edges_)


def test_knowledge_holds(rng):
    data = with_holes(dependent_frame(0), rng)
    learner = learn(data, required_edges=[("e", "a")], forbidden_edges=[("b", "d"), ("d", "b")], max_indegree=2)
    edges = set(learner.dag_.edges())
    assert ("e", "a") in edges
    assert not edges & {("b", "d"), ("d", "b")}


@pytest.mark.parametrize("make", [SimulatedAnnealing, BestFirstSearch, GreedyEquivalenceSearch])
def test_other_searches(make, rng):
    data = with_holes(dependent_frame(0), rng)
    learner = make(missing="em", **QUIET).fit(data)
    assert learner.n_em_iter_ >= 1
    assert learner.model_.check_model()
    assert learner.score_ < learner.observed_log_likelihood_


def test_a_structure_prior_counts(rng):
    data = with_holes(dependent_frame(0), rng)
    sparse, plain = learn(data, structure_prior=EdgePrior(1e-4)), learn(data)
    assert len(sparse.edges_) < len(plain.edges_)


def test_resamples_are_learned_by_it(rng):
    data = with_holes(dependent_frame(0), rng)
    boot = BootstrapStructure(HillClimbSearch(missing="em", **QUIET), n_resamples=3, show_progress=False).fit(data)
    assert boot.model_.check_model()


@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_restarts_are_never_worse(score, seed, rng):
    data = with_holes(dependent_frame(seed), rng, 0.4)
    plain, restarted = learn(data, scoring_method=score), learn(data, scoring_method=score, n_em_restarts=4)
    assert restarted.score_ >= plain.score_ - 1e-6
    assert restarted.n_em_iter_ > plain.n_em_iter_
    assert (np.diff(restarted.history_["score"]) >= -1e-9).all()


def test_a_callback_sees_each_graph_and_may_end_it(rng):
    data = with_holes(dependent_frame(0), rng)
    seen = []
    learner = learn(data, callback=lambda progress: seen.append(progress) or len(seen) == 1)
    assert learner.stopped_by_ == "callback"
    assert seen[0].n_iter == 0
    assert learner.model_.check_model()


@pytest.mark.filterwarnings("ignore:max_time")
def test_no_time_gives_a_graph_all_the_same(rng):
    learner = learn(with_holes(dependent_frame(0), rng), max_time=0.0)
    assert learner.stopped_by_ == "max_time"
    assert learner.model_.check_model()


def test_an_error_of_the_callback_is_raised(rng):
    def fail(progress):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        learn(with_holes(dependent_frame(0), rng), callback=fail)


# ---- refusals ----


def test_scores_of_states_take_no_floats():
    with pytest.raises(ValueError, match="float column.* in a table of discrete variables: discretise them"):
        learn(mixed_frame(0), scoring_method="bdeu")


def test_scores_made_from_the_data_are_refused(rng):
    data = with_holes(dependent_frame(0), rng)
    with pytest.raises(ValueError, match="missing='em' needs a score by name .* not an instance of BIC"):
        learn(data, scoring_method=BIC(data.dropna().astype(int)))


def test_a_column_without_a_known_cell_is_named(rng):
    declared = pd.Categorical([None] * 300, categories=["x", "y"])
    for blank in (pd.array([pd.NA] * 300, dtype="Int64"), declared):
        data = with_holes(dependent_frame(0), rng).assign(blank=blank)
        with pytest.raises(ValueError, match="no observed value: drop them. Latent variables are not learned"):
            learn(data)


def test_other_values_of_missing_impute_nothing(rng):
    learner = learn(with_holes(dependent_frame(0), rng), missing="pairwise")
    with pytest.raises(ValueError, match="imputed_frame needs missing='em', got missing='pairwise'"):
        learner.imputed_frame()


def test_a_table_coded_for_it_is_taken(rng):
    data = with_holes(dependent_frame(0), rng)
    table = encode(data, missing="pairwise")
    assert isinstance(table, DiscreteTable)
    assert learn(table).score_ == learn(data).score_
    assert open_frame(data).n_rows == 300


def test_the_order_of_the_rows_does_not_matter(rng):
    data = with_holes(dependent_frame(0), rng)
    first, second = learn(data), learn(data.iloc[::-1].reset_index(drop=True))
    assert first.score_ == second.score_
    np.testing.assert_array_equal(first.edges_, second.edges_)


@pytest.mark.parametrize("missing", ["drop", "category", "pairwise"])
def test_the_network_is_fitted_to_what_the_graph_was_scored_by(missing, rng):
    """Structural EM fits its network to the expected counts of its last graph, see the other tests."""
    data = with_holes(dependent_frame(0), rng)
    learner = learn(data, missing=missing, max_indegree=1)
    table = encode(data, missing=missing)
    for name in data:
        v, parents = table.index(name), [table.index(parent) for parent in learner.dag_.predecessors(name)]
        family = [v, *parents]
        known = np.logical_and.reduce([table.codes[u] != table.missing_codes[u] for u in family])
        counts = np.zeros([table.cardinalities[u] - (table.missing_codes[u] >= 0) for u in family])
        np.add.at(counts, tuple(table.codes[family][:, known]), 1.0)
        np.testing.assert_allclose(learner.model_.get_cpds(name).values, normalise(counts), atol=1e-12)

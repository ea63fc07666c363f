"""The score of rows by learners of Bayesian networks, and the prior of their parameters."""

import math
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.model_selection import GridSearchCV, cross_val_score

from helpers.bootstraps import boot
from pgmx.data import IncompleteRowsWarning, write_table
from pgmx.datasets import load_network, sample
from pgmx.estimators import (
    BestFirstSearch,
    ChowLiuForest,
    GraphicalLasso,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    OnlineEdgeGrafting,
    SelectedGraph,
    SimulatedAnnealing,
)
from pgmx.metrics import held_out_log_likelihood

ASIA = load_network("asia")
ROWS, FRESH = sample(ASIA, 300, random_state=0), sample(ASIA, 300, random_state=1)

LEARNERS = [
    HillClimbSearch,
    BestFirstSearch,
    ChowLiuForest,
    GreedyEquivalenceSearch,
    lambda **options: SimulatedAnnealing(n_draws=2000, **options),
]
each_learner = pytest.mark.parametrize("make", LEARNERS, ids=["climb", "best first", "forest", "classes", "annealing"])


def explain(model, row):
    """Return the log-probability of a row by look-ups in the network's tables."""
    total = 0.0
    for cpd in model.get_cpds():
        at = tuple(cpd.name_to_no[name][row[name]] for name in cpd.variables)
        total += math.log(cpd.values[at])
    return total


@each_learner
def test_the_score_is_the_mean_log_likelihood(make):
    learner = make(equivalent_sample_size=2.0).fit(ROWS)
    expected = [explain(learner.model_, row) for row in FRESH.to_dict("records")]
    assert learner.score(FRESH) == pytest.approx(np.mean(expected), rel=1e-12)
    assert learner.score(FRESH[list(FRESH)[::-1]]) == pytest.approx(np.mean(expected), rel=1e-12)


@each_learner
def test_one_equivalent_row_unless_a_prior_is_given(make):
    plain, one, laplace = make().fit(ROWS), make(equivalent_sample_size=1).fit(ROWS), make(pseudo_counts=1).fit(ROWS)
    assert plain.score(FRESH) == one.score(FRESH)
    assert laplace.score(FRESH) == pytest.approx(held_out_log_likelihood(laplace.model_, FRESH).mean, rel=1e-12)
    assert {cpd.values.min() > 0 for cpd in laplace.model_.get_cpds()} == {True}


def test_files_and_iterators_have_the_score_of_their_rows(tmp_path):
    learner = HillClimbSearch(state_names={"asia": ["no", "yes"]}).fit(ROWS.astype(str))
    rows = FRESH.astype(str)
    expected = learner.score(rows)
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_parquet(tmp_path / "rows.parquet")
    states = {name: sorted(rows[name].unique()) for name in rows} | {"asia": ["no", "yes"]}
    write_table(rows, tmp_path / "rows.pgmx", state_names=states)
    for name in ("rows.csv", "rows.parquet", "rows.pgmx"):
        assert learner.score(tmp_path / name) == pytest.approx(expected, rel=1e-12)
    assert learner.score(rows.iloc[k : k + 70] for k in range(0, 300, 70)) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="features"):
        learner.score(iter([rows.drop(columns="tub")]))


def test_maximum_likelihood_stays_the_default_of_the_network():
    learner = HillClimbSearch(scoring_method="bdeu").fit(ROWS)
    assert held_out_log_likelihood(learner.model_, FRESH).n_impossible > 0
    assert math.isfinite(learner.score(FRESH))


def test_a_bootstrap_takes_the_prior_of_its_learner():
    learner = boot(ChowLiuForest(pseudo_counts=1), n_resamples=3).fit(ROWS)
    assert learner.score(FRESH) == pytest.approx(held_out_log_likelihood(learner.model_, FRESH).mean, rel=1e-12)


def test_states_that_were_not_learned_from_are_named():
    rows = ROWS.astype(str)
    fresh = FRESH.astype(str).assign(asia="perhaps")
    with pytest.warns(UserWarning, match="300 of 300 rows.*'asia'.*state_names"):
        assert HillClimbSearch().fit(rows).score(fresh) == -math.inf
    known = HillClimbSearch(state_names={"asia": ["no", "perhaps", "yes"]}).fit(rows)
    assert math.isfinite(known.score(fresh))


def test_numbers_have_the_density_of_the_network():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    rows = pd.DataFrame({"x": x, "y": 2 * x + rng.normal(size=400)})
    learner = HillClimbSearch().fit(rows[:300])
    fresh = rows[300:]
    assert learner.score(fresh) == pytest.approx(held_out_log_likelihood(learner.model_, fresh).mean, rel=1e-12)
    with pytest.raises(ValueError, match="pseudo_counts=1.*'x', 'y' hold floats"):
        HillClimbSearch(pseudo_counts=1).fit(rows)


def sum_out(model, row):
    """Return the log-probability of what is known of a row: the sum over all states of the missing values."""
    states = [model.get_cpds(name).state_names[name] if cell is None else [cell] for name, cell in row.items()]
    return math.log(sum(math.exp(explain(model, dict(zip(row, cells, strict=True)))) for cells in product(*states)))


@pytest.mark.parametrize("missing", ["drop", "category", "pairwise", "em"])
def test_missing_values_of_the_rows(missing):
    rows = ROWS.astype(object).mask(np.random.default_rng(0).random(ROWS.shape) < 0.02, None)
    learner = HillClimbSearch(missing=missing, equivalent_sample_size=1).fit(rows)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        score = learner.score(rows)
    assert len(heard) == (missing == "drop")  # no warning of rows left out where none is
    if missing == "category":
        rows = rows.fillna("missing")
    rows = rows.dropna() if missing == "drop" else rows
    expected = [sum_out(learner.model_, row) for row in rows.to_dict("records")]
    assert score == pytest.approx(np.mean(expected), rel=1e-12)


@pytest.mark.parametrize("kind", ["states", "floats", "both"])
def test_the_rows_learned_from_have_the_likelihood_that_em_has_reached(kind):
    rng = np.random.default_rng(1)
    floats = pd.DataFrame(rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)), columns=list("xyz"))
    rows = {
        "states": ROWS.astype(str),
        "floats": floats,
        "both": pd.concat([floats, ROWS.iloc[:, 2:5].astype(str)], axis=1),
    }
    holes = rows[kind].mask(rng.random(rows[kind].shape) < 0.1)
    learner = HillClimbSearch(missing="em").fit(holes)
    likelihood = held_out_log_likelihood(learner.model_, holes, missing="observed")
    # as pgmpy does, a continuous network has standard deviations that divide by the rows minus the parameters
    assert likelihood.total == pytest.approx(learner.observed_log_likelihood_, rel=1e-5 if kind == "floats" else 1e-9)
    assert learner.score(holes) == pytest.approx(likelihood.mean, abs=0.05)  # a prior of one row
    assert learner.score(holes[list(holes)[::-1]]) == pytest.approx(learner.score(holes), rel=1e-12)


def test_unknown_states_beside_missing_values():
    rows = ROWS.astype(str).mask(np.random.default_rng(0).random(ROWS.shape) < 0.1)
    learner = HillClimbSearch(missing="em").fit(rows)
    with pytest.warns(UserWarning, match="300 of 300 rows.*'asia'.*state_names"):
        assert learner.score(rows.assign(asia="perhaps")) == -math.inf


def test_numbers_of_a_gaussian_graph_with_missing_values():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)), columns=list("wxyz"))
    holes = rows.mask(rng.random(rows.shape) < 0.2)
    for learner in (GraphicalLasso(lam=0.1, missing="pairwise"), SelectedGraph(GraphicalLasso(missing="pairwise"))):
        learner.fit(holes)
        expected = []
        for row in holes.to_numpy():
            known = np.flatnonzero(~np.isnan(row))
            covariance = learner.covariance_[np.ix_(known, known)]
            density = multivariate_normal(learner.location_[known], covariance) if len(known) else None
            expected.append(0.0 if density is None else density.logpdf(row[known]))
        assert learner.score(holes) == pytest.approx(np.mean(expected), rel=1e-9)
        assert learner.score(holes.to_numpy()) == learner.score(holes)
    with pytest.warns(IncompleteRowsWarning, match="missing='drop' leaves out"):
        learner = GraphicalLasso(lam=0.1, missing="drop").fit(holes)
    with pytest.warns(IncompleteRowsWarning, match="missing='drop' leaves out"):
        assert learner.score(holes) == pytest.approx(learner.score(holes.dropna()), rel=1e-12)
    with pytest.raises(ValueError, match="missing values in column"):
        GraphicalLasso(lam=0.1).fit(rows).score(holes)


@pytest.mark.parametrize("missing", ["drop", "category"])
def test_states_of_a_markov_network_with_missing_values(missing):
    rows = ROWS.astype(str).mask(np.random.default_rng(0).random(ROWS.shape) < 0.05)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        learner = OnlineEdgeGrafting(missing=missing, max_edges=5).fit(rows)
        score = learner.score(rows)
        same = learner.score(rows.to_numpy(dtype=object))
    assert len(heard) == 3 * (missing == "drop")
    filled = rows.dropna() if missing == "drop" else rows.fillna("missing")
    assert score == same == pytest.approx(learner.model_.log_likelihood(filled).mean(), rel=1e-12)


def test_a_grid_search_chooses_what_predicts():
    rows = sample(load_network("sachs"), 300, random_state=0)
    search = GridSearchCV(HillClimbSearch(max_indegree=3), {"scoring_method": ["bic", "ll"]}, cv=2).fit(rows)
    assert search.best_params_ == {"scoring_method": "bic"}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(cross_val_score(ChowLiuForest(), rows, cv=3)).all()


def test_the_metric_of_pgmpy_is_there_by_name():
    learner = HillClimbSearch().fit(ROWS)
    assert learner.score(FRESH, metric="correlation_score") != learner.score(FRESH)
    assert learner.score(true_graph=learner.dag_, metric="SHD") == 0


# ---- one row ----


@pytest.mark.parametrize(
    "learner",
    [make() for make in LEARNERS] + [boot(HillClimbSearch(), n_resamples=2), OnlineEdgeGrafting()],
    ids=lambda learner: type(learner).__name__,
)
def test_one_row_has_a_score(learner):
    learner.fit(ROWS)
    alone = [learner.score(FRESH[k : k + 1]) for k in range(4)]
    assert learner.score(FRESH[:4]) == pytest.approx(np.mean(alone), rel=1e-12)


@pytest.mark.parametrize("missing", ["error", "em"])
@pytest.mark.parametrize("kind", ["floats", "both"])
def test_one_row_of_floats_has_a_score(kind, missing):
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"x": rng.normal(size=60)}).assign(y=lambda t: t.x + rng.normal(size=60))
    if kind == "both":
        rows["kind"] = np.where(rng.random(60) < 0.5, "a", "b")
    learner = HillClimbSearch(missing=missing).fit(rows)
    alone = [learner.score(rows[k : k + 1]) for k in range(4)]
    assert learner.score(rows[:4]) == pytest.approx(np.mean(alone), rel=1e-9)
    assert held_out_log_likelihood(learner.model_, rows[:1]).n_rows == 1


def test_no_row_has_no_score():
    with pytest.raises(ValueError, match=r"0 sample\(s\).*minimum of 1 is required: .* at least one row"):
        HillClimbSearch().fit(ROWS).score(FRESH[:0])


# ---- the prior of a classifier ----


def classify(rows, new, tree):
    """Return the class probabilities of new rows by hand: one pseudo row, shared by the cells of each table."""
    states = {name: sorted(rows[name].unique()) for name in rows}
    answers = []
    for row in new.to_dict("records"):
        weights = []
        for label in states["class"]:
            cells = {**row, "class": label}
            weight = 1.0
            for child, parents in tree.items():
                configurations = math.prod(len(states[parent]) for parent in parents)
                at = (rows[parents] == [cells[parent] for parent in parents]).all(axis=1)
                both = (at & (rows[child] == cells[child])).sum() + 1 / (configurations * len(states[child]))
                weight *= both / (at.sum() + 1 / configurations)
            weights.append(weight)
        answers.append(np.array(weights) / sum(weights))
    return np.array(answers)


def test_a_classifier_has_probabilities_for_rows_that_were_not_learned_from():
    counts = {("no", "a", "p"): 40, ("no", "b", "q"): 20, ("yes", "a", "p"): 5, ("yes", "c", "q"): 30}
    rows = pd.DataFrame([cells for cells, n in counts.items() for _ in range(n)], columns=["class", "u", "v"])
    new = pd.DataFrame(product("abc", "pq"), columns=["u", "v"])  # no class had ("b", "p") or ("c", "p")
    learner = ChowLiuForest(class_node="class", root="u").fit(rows)
    assert sorted(learner.dag_.edges()) == [("class", "u"), ("class", "v"), ("u", "v")]
    answers = learner.model_.predict_probability(new)[["class_no", "class_yes"]].to_numpy()
    expected = classify(rows, new, {"class": [], "u": ["class"], "v": ["class", "u"]})
    np.testing.assert_allclose(answers, expected, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"weight": "bdeu"}, {"missing": "pairwise"}])
def test_one_pseudo_row_is_the_default_of_a_classifier(options):
    rows = ROWS.astype(str)[:60]
    states = {name: ["no", "yes"] for name in rows}
    learner = ChowLiuForest(class_node="dysp", state_names=states, **options).fit(rows)
    fresh = FRESH.astype(str)
    likelihood = held_out_log_likelihood(learner.model_, fresh)
    assert likelihood.n_impossible == 0
    assert learner.score(fresh) == pytest.approx(likelihood.mean, rel=1e-12)
    forest = ChowLiuForest(state_names=states, **options).fit(rows)  # without a class: maximum likelihood, as before
    assert held_out_log_likelihood(forest.model_, fresh).n_impossible > 0
    consensus = boot(ChowLiuForest(class_node="dysp", state_names=states, **options), n_resamples=2).fit(rows)
    assert held_out_log_likelihood(consensus.model_, fresh).n_impossible == 0


def test_a_given_prior_is_that_of_a_classifier():
    one, ten = (ChowLiuForest(class_node="dysp", equivalent_sample_size=k).fit(ROWS).model_ for k in (1, 10))
    default = ChowLiuForest(class_node="dysp").fit(ROWS).model_
    assert default.get_cpds("either") == one.get_cpds("either")
    assert default.get_cpds("either") != ten.get_cpds("either")


def test_a_class_among_floats_has_no_prior():
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(rng.normal(size=(50, 3)), columns=list("xyz"))
    learner = ChowLiuForest(class_node="x").fit(rows)
    assert learner.score(rows) == pytest.approx(held_out_log_likelihood(learner.model_, rows).mean, rel=1e-12)

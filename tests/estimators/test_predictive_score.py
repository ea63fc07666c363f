"""The score of rows by learners of Bayesian networks, and the prior of their parameters."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from helpers.bootstraps import boot
from pgmx.data import write_table
from pgmx.datasets import load_network, sample
from pgmx.estimators import BestFirstSearch, ChowLiuForest, GreedyEquivalenceSearch, HillClimbSearch, SimulatedAnnealing
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


@pytest.mark.parametrize("missing", ["drop", "category", "pairwise"])
def test_missing_cells_of_the_rows(missing):
    rows = ROWS.astype(object).mask(np.random.default_rng(0).random(ROWS.shape) < 0.02)
    learner = HillClimbSearch(missing=missing, equivalent_sample_size=1).fit(rows)
    score = learner.score(rows)
    if missing == "category":
        rows = rows.fillna("missing")
    expected = [explain(learner.model_, row) for row in rows.dropna().to_dict("records")]
    assert score == pytest.approx(np.mean(expected), rel=1e-12)


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

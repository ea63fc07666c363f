"""Every search finds the best of all graphs over four variables, and reports what it found."""

import numpy as np
import pytest

from helpers.learning_tables import codes_of, dependent_frame, gaussian_frame
from oracles.all_dags import all_dags, best_score
from oracles.family_scores import dag_score, family_score
from pgmx.estimators import BestFirstSearch, HillClimbSearch, SimulatedAnnealing
from pgmx.scores import BICGauss, EdgePrior

SEARCHES = {
    "annealing": lambda **options: SimulatedAnnealing(n_draws=3000, **options),
    "best first": lambda **options: BestFirstSearch(width=20, patience=200, **options),
    "best": lambda **options: HillClimbSearch(strategy="best", **options),
    "thorough": lambda **options: HillClimbSearch(strategy="thorough", n_restarts=100, n_restart_moves=4, **options),
}
every_search = pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)


def optimum(data, score, **constraints):
    codes, cards = codes_of(data)
    known = {}

    def local_score(child, parents):
        if (child, parents) not in known:
            known[child, parents] = family_score(codes, cards, child, parents, score)
        return known[child, parents]

    return best_score(len(cards), local_score, **constraints)


@every_search
@pytest.mark.parametrize("score", ["bic", "aic", "k2", "bdeu"])
def test_best_of_all_graphs(make, score, seed):
    for trial in range(2):
        data = dependent_frame([seed, trial], 150, 4)
        learner = make(scoring_method=score, random_state=trial).fit(data)
        assert learner.score_ == pytest.approx(optimum(data, score), rel=1e-10)
        assert learner.score_ == pytest.approx(dag_score(*codes_of(data), learner.edges_, score), rel=1e-12)
        assert learner.converged_


@every_search
def test_best_of_all_graphs_that_are_allowed(make, seed):
    data = dependent_frame(seed, 150, 4)
    allowed = np.ones((4, 4), dtype=int)
    allowed[2, 0] = allowed[1] = 0
    learner = make(
        scoring_method="bic",
        forbidden_edges=[("a", "c")],
        root_nodes=["b"],
        required_edges=[("d", "a")],
        max_indegree=2,
        structure_prior=EdgePrior(0.2),
        return_type="dag",
    ).fit(data)
    best = optimum(data, "bic", allowed=allowed, required=[(3, 0)], max_indegree=2, price=-np.log(0.2))
    assert learner.score_ == pytest.approx(best, rel=1e-10)
    assert ("d", "a") in learner.graph_.edges
    assert learner.dag_.in_degree("b") == 0


@every_search
def test_best_of_all_gaussian_networks(make, seed):
    data = gaussian_frame(seed)
    score = BICGauss(data)
    names = list(data)
    learner = make().fit(data)
    best = max(
        sum(score.local_score(names[v], [names[t] for t, h in edges if h == v]) for v in range(4))
        for edges in all_dags(4)
    )
    assert learner.score_ == pytest.approx(best, rel=1e-9)


@every_search
def test_history_is_that_of_the_graphs_seen(make):
    data = dependent_frame(0)
    learner = make(scoring_method="bic").fit(data)
    assert set(learner.history_) - {"member"} == {"score", "n_edges", "seconds"}
    assert len(learner.history_["score"]) <= learner.n_iter_
    assert learner.score_ == pytest.approx(max(learner.history_["score"]), rel=1e-12)
    assert (np.diff(learner.history_["seconds"]) >= 0).all()


# ---- their own options ----


def refused(make, words):
    with pytest.raises(ValueError, match=words):
        make().fit(dependent_frame(0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_draws": -1}, r"'n_draws'.*-1"),
        ({"n_draws": 1.5}, r"'n_draws'.*1\.5"),
        ({"initial_temperature": 0}, r"'initial_temperature'.*0"),
        ({"initial_temperature": "hot"}, r"'initial_temperature'.*'hot'"),
        ({"final_temperature": 0.0}, r"'final_temperature'.*0\.0"),
        ({"final_temperature": None}, r"'final_temperature'.*None"),
    ],
    ids=str,
)
def test_bad_options_of_annealing(options, words):
    refused(lambda: SimulatedAnnealing(**options), words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 0}, r"'width'.*0"),
        ({"patience": -1}, r"'patience'.*-1"),
        ({"max_open": 0}, r"'max_open'.*0"),
        ({"max_open": 2.5}, r"'max_open'.*2\.5"),
    ],
    ids=str,
)
def test_bad_options_of_best_first_search(options, words):
    refused(lambda: BestFirstSearch(**options), words)


def test_annealing_without_draws_is_a_climb():
    data = dependent_frame(0)
    one, other = SimulatedAnnealing(n_draws=0).fit(data), HillClimbSearch(tabu_length=0).fit(data)
    assert one.edges_.tolist() == other.edges_.tolist()
    assert one.history_["score"].tolist() == other.history_["score"].tolist()


@pytest.mark.slow
def test_draws_are_by_default_ten_thousand_a_variable():
    data = dependent_frame(0, 60, 2)
    one, other = SimulatedAnnealing().fit(data), SimulatedAnnealing(n_draws=20_000).fit(data)
    assert one.history_["score"].tolist() == other.history_["score"].tolist()


def test_hot_annealing_moves_more():
    data = dependent_frame(0)
    moves = [
        SimulatedAnnealing(n_draws=2000, initial_temperature=hot, final_temperature=0.1).fit(data).n_iter_
        for hot in (0.2, 500.0)
    ]
    assert moves[0] < moves[1]


def test_patience_of_best_first_search_is_the_number_of_expansions_without_a_better_graph():
    data = dependent_frame(0)
    for patience in (0, 5, 40):
        learner = BestFirstSearch(patience=patience).fit(data)
        scores = learner.history_["score"]
        assert len(scores) - 1 - int(np.argmax(scores)) in (patience, patience + 1)

"""Searches of dense graphs: cliques of neighbours are limited, and the best search ends."""

import itertools

import numpy as np
import pandas as pd
import pytest

from pgmx.estimators import GreedyEquivalenceSearch, HillClimbSearch
from pgmx.graphs.partial_dag import PartialDag
from pgmx.search.dag import best, equivalence
from pgmx.search.dag.equivalence import search_classes


def dense_frame(n, n_rows=400):
    """Rows of a linear network in which each variable depends on all earlier ones."""
    rng = np.random.default_rng(n)
    columns = []
    for _ in range(n):
        columns.append(sum((0.4 * column for column in columns), rng.normal(size=n_rows)))
    return pd.DataFrame({f"x{v}": column / column.std() for v, column in enumerate(columns)})


def test_cliques_come_by_size():
    graph = PartialDag.from_dag(4, list(itertools.combinations(range(4), 2)))  # a complete graph, without directions
    sizes = [len(clique) for clique in graph.list_cliques(range(4))]
    assert sizes == sorted(sizes) and len(sizes) == 16
    assert len(set(graph.list_cliques(range(4)))) == 16


def test_cliques_of_a_head_are_limited(monkeypatch):
    frame = dense_frame(7)
    whole = GreedyEquivalenceSearch(scoring_method="bic-g", show_progress=False).fit(frame)
    assert not whole.truncated_
    monkeypatch.setattr(equivalence, "MOST_CLIQUES", 4)
    with pytest.warns(UserWarning, match="more than 4 cliques of neighbours"):
        few = GreedyEquivalenceSearch(scoring_method="bic-g", show_progress=False).fit(frame)
    assert few.truncated_ and few.score_ <= whole.score_ + 1e-6


def test_dense_graphs_are_not_below_those_of_a_climb(tmp_path):
    options = {"scoring_method": "bic-g", "show_progress": False}
    rng = np.random.default_rng(8)
    order, columns = rng.permutation(14), np.zeros((300, 14))
    for i, v in enumerate(order):
        parents = order[:i][rng.random(i) < 0.5]
        columns[:, v] = columns[:, parents] @ rng.choice([-1, 1], len(parents)) + rng.normal(size=300)
        columns[:, v] /= columns[:, v].std()
    frame = pd.DataFrame(columns).add_prefix("x")
    climb = HillClimbSearch(**options).fit(frame)
    whole = GreedyEquivalenceSearch(**options).fit(frame)
    classes = GreedyEquivalenceSearch(**options, max_degree=13).fit(frame)  # without the climb
    assert classes.score_ + 10 < climb.score_ < whole.score_ - 1
    for n_moves in (classes.n_iter_ + 3, whole.n_iter_ - 1):  # in the climb, and after it
        path = tmp_path / f"{n_moves}.npz"
        GreedyEquivalenceSearch(**options, max_iter=n_moves, checkpoint=path).fit(frame)
        resumed = GreedyEquivalenceSearch(**options, checkpoint=path).fit(frame)
        assert resumed.edges_.tolist() == whole.edges_.tolist() and resumed.n_iter_ == whole.n_iter_


def test_max_degree_of_the_learner():
    frame = dense_frame(7)
    options = {"scoring_method": "bic-g", "show_progress": False}
    learner = GreedyEquivalenceSearch(**options, max_degree=3).fit(frame)
    assert max(dict(learner.dag_.degree).values()) == 3
    with pytest.raises(ValueError, match="max_degree"):
        GreedyEquivalenceSearch(**options, max_degree=0).fit(frame)
    with pytest.raises(ValueError, match=r"'x0' has 2 required edges, but max_degree=1"):
        required = [("x0", "x1"), ("x0", "x2")]
        GreedyEquivalenceSearch(**options, max_degree=1, required_edges=required).fit(frame)


@pytest.mark.parametrize(("score", "searches"), [("bic-g", 1), ("bge", 2)])  # the order search takes the place of one
def test_best_ends_on_dense_data(score, searches, monkeypatch):
    frame = dense_frame(9)
    thorough = HillClimbSearch(scoring_method=score, strategy="thorough", show_progress=False).fit(frame)
    listed = []

    def count(*arguments, **options):
        listed.append(options["most_listed"])
        return search_classes(*arguments, **options)

    monkeypatch.setattr(best, "search_classes", count)
    learner = HillClimbSearch(scoring_method=score, strategy="best", show_progress=False).fit(frame)
    assert listed == [best.CLIQUES_PER_VARIABLE * 9] * searches
    assert learner.score_ >= thorough.score_ - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("most", [0, 12, 40])
def test_a_search_of_few_cliques_resumes_where_it_ended(most, tmp_path, monkeypatch):
    monkeypatch.setattr(best, "CLIQUES_PER_VARIABLE", most)
    frame = dense_frame(8)
    options = {"scoring_method": "bic-g", "strategy": "best", "show_progress": False}
    whole = HillClimbSearch(**options).fit(frame)
    for n_moves in (12, 25):
        path = tmp_path / f"{most}_{n_moves}.npz"
        HillClimbSearch(**options, max_iter=n_moves, checkpoint=path).fit(frame)
        resumed = HillClimbSearch(**options, checkpoint=path).fit(frame)
        assert resumed.score_ == whole.score_ and resumed.edges_.tolist() == whole.edges_.tolist()

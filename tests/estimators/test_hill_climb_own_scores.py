"""Scores that users write themselves, and scores that refuse or take long."""

import time

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from pgmpy.structure_score import BaseStructureScore

from pgmx.estimators import HillClimbSearch
from pgmx.scores import BIC


@pytest.fixture
def data(rng):
    a = rng.integers(0, 2, 300)
    b = np.where(rng.random(300) < 0.9, a, 1 - a)
    return pd.DataFrame({"a": a, "b": b, "c": np.where(rng.random(300) < 0.9, b, 1 - b)})


class NoArcs(BIC):
    """A subclass with its own formula in pgmpy's place for it."""

    def _local_score(self, variable, parents):
        return -1000.0 * len(parents)


class Forbidding(BaseStructureScore):
    """Minus infinity for one family, a small price for the others."""

    def __init__(self, data, forbidden):
        super().__init__(data)
        self.forbidden = forbidden

    def _local_score(self, variable, parents):
        return -np.inf if (variable, tuple(parents)) == self.forbidden else -1.0 + 0.5 * min(len(parents), 1)


def test_own_formula_of_a_subclass_is_taken(data):
    assert NoArcs(data).local_score("b", ("a",)) == -1000.0
    assert HillClimbSearch(scoring_method=BIC(data)).fit(data).edges_.size > 0
    assert HillClimbSearch(scoring_method=NoArcs(data)).fit(data).edges_.size == 0


def test_minus_infinity_keeps_a_family_out(data):
    learner = HillClimbSearch(scoring_method=Forbidding(data, ("b", ("a",))), return_type="dag").fit(data)
    assert sorted(learner.dag_.get_parents("b")) != ["a"]
    assert len(learner.edges_) == 2


@pytest.mark.parametrize("forbidden", [("b", ()), ("b", ("a",))])
def test_no_search_begins_at_minus_infinity(data, forbidden):
    start = nx.DiGraph([(p, forbidden[0]) for p in forbidden[1]])
    start.add_nodes_from(data)
    with pytest.raises(ValueError, match="'b'.*-inf"):
        HillClimbSearch(scoring_method=Forbidding(data, forbidden), start_dag=start).fit(data)


@pytest.mark.filterwarnings("ignore:max_time=")
def test_max_time_bounds_the_first_step_of_a_slow_score(data):
    class Slow(BaseStructureScore):
        asked = 0

        def _local_score(self, variable, parents):
            Slow.asked += 1
            time.sleep(0.02)
            return -float(len(parents))

    wide = pd.concat([data.add_suffix(str(i)) for i in range(4)], axis=1)
    learner = HillClimbSearch(scoring_method=Slow(wide), max_time=0.01).fit(wide)
    assert not learner.converged_
    assert learner.n_iter_ == 0
    assert Slow.asked == 12  # the parentless families; none of the 132 additions


def test_true_graph_in_the_place_of_y_is_noticed(data):
    learner = HillClimbSearch(return_type="dag").fit(data)
    with pytest.raises(TypeError, match="true_graph=..."):
        learner.score(None, learner.dag_)

"""The contract with pgmpy: the base classes and tags of this version, and a stand-in for the next one."""

import sys

import pytest
from sklearn.base import clone

import pgmx.estimators
from helpers.interpreter import run_python
from helpers.learning_tables import dependent_frame
from helpers.next_pgmpy import TAGS
from pgmx.estimators import (
    BaseStructureLearner,
    HillClimbSearch,
    OnlineEdgeGrafting,
)
from pgmx.estimators.bayesian.dag_learner import NetworkResults
from pgmx.models.pgmpy_estimators import NoStructureEstimator, StructureEstimator, _find_structure_estimator

PUBLIC = [getattr(pgmx.estimators, name) for name in pgmx.estimators.__all__]
LEARNERS = [cls for cls in PUBLIC if isinstance(cls, type) and issubclass(cls, BaseStructureLearner)]
DAG_LEARNERS = [cls for cls in LEARNERS if issubclass(cls, NetworkResults)]


@pytest.mark.parametrize("cls", LEARNERS)
def test_every_learner_is_a_structure_estimator(cls):
    assert StructureEstimator.__module__ == "pgmpy.estimators.base"
    assert issubclass(cls, StructureEstimator)
    own = {"__init__", "estimate", "state_counts", "variables"}  # nothing of pgmpy's class is left to run
    assert {name for name in own if getattr(cls, name) is getattr(StructureEstimator, name, None)} == set()


def test_which_learners_have_the_tags_of_causal_discovery():
    assert [cls for cls in LEARNERS if hasattr(cls, "get_class_tags")] == DAG_LEARNERS


@pytest.mark.parametrize("cls", DAG_LEARNERS)
def test_tags(cls):
    tags = cls.get_class_tags()
    assert list(tags) == TAGS
    assert {name for name, value in tags.items() if value is None} == set()
    assert cls().get_tags() == tags
    assert set(tags["data_types"]) <= {"discrete", "continuous", "mixed"}
    assert tags["identifiable_graph"] in {"dag", "cpdag", "pag"}
    assert {type(value) for name, value in tags.items() if name.startswith("assumption:")} == {bool}


def test_names_of_learners_are_their_own():
    assert len({cls.get_class_tag("name") for cls in DAG_LEARNERS}) == len(DAG_LEARNERS)
    assert HillClimbSearch.get_class_tag("name") == "hill_climb_search"
    assert HillClimbSearch.get_class_tag("no such tag", 3) == 3


def test_tags_of_one_learner():
    learner = HillClimbSearch()
    assert learner.set_tags(**{"data_types": ["discrete"], "my tag": 1}) is learner
    assert learner.get_tag("data_types") == ["discrete"]
    assert learner.get_tag("my tag") == 1
    for other in (HillClimbSearch(), clone(learner)):
        assert other.get_tag("data_types") == ["discrete", "continuous", "mixed"]
        assert other.get_tag("my tag", 2, raise_error=False) == 2
        with pytest.raises(ValueError, match="HillClimbSearch has no tag 'my tag'; get_tags"):
            other.get_tag("my tag")


# ---- the next version ----

PROGRAM = """
from helpers import next_pgmpy

next_pgmpy.install(has_estimators={has_estimators})

import pytest
from pgmpy.causal_discovery import BaseCausalDiscovery, ExpertKnowledge
from sklearn.base import clone

from helpers.learning_tables import dependent_frame, gaussian_frame
from pgmx.estimators import *

table, numbers = dependent_frame(0), gaussian_frame(0)
learners = [
    HillClimbSearch(),
    BestFirstSearch(),
    ChowLiuForest(),
    GreedyEquivalenceSearch(),
    SimulatedAnnealing(n_draws=100),
    BootstrapStructure(n_resamples=2),
]
for learner in learners:
    assert isinstance(learner, BaseCausalDiscovery)
    assert list(learner.get_tags()) == next_pgmpy.TAGS
    assert clone(learner).fit(table).score(table) < 0
    assert learner.fit(numbers).count_edges() == len(learner.causal_graph_.edges())
    assert learner.score(true_graph=learner.dag_) == 0  # the default metric, SHD
    assert learner.score(true_graph=learner.dag_, metric="shd") == 0
    assert 0 <= learner.fit(table).score(table, metric="correlation_score") <= 1
    with pytest.raises(ValueError, match="Unknown metric: 'none'"):
        learner.score(table, metric="none")
for learner in (OnlineEdgeGrafting(table, lam_ratio=0.3), GraphicalLasso(numbers, lam=0.3), LinearSVARM(numbers)):
    assert not isinstance(learner, BaseCausalDiscovery)
    assert learner.estimate() is learner.graph_
    assert isinstance(learner, LinearSVARM) or learner.model_.check_model()

edge = sorted(HillClimbSearch(return_type="dag").fit(table).graph_.edges())[0]
turned = HillClimbSearch(expert_knowledge=ExpertKnowledge(orientations=[edge[::-1]])).fit(table)
assert edge not in turned.dag_.edges() and edge not in turned.graph_.directed_edges
rooted = HillClimbSearch(expert_knowledge=ExpertKnowledge(root_nodes=[edge[1]])).fit(table)
assert not list(rooted.dag_.predecessors(edge[1]))
assert clone(rooted).fit(table).edges_.tolist() == rooted.edges_.tolist()
with pytest.raises(ValueError, match="expert_knowledge.orientation_fn is"):
    HillClimbSearch(expert_knowledge=ExpertKnowledge(orientation_fn=max)).fit(table)
with pytest.raises(TypeError, match="search_space is 'marginally_dependent'"):
    HillClimbSearch(expert_knowledge=ExpertKnowledge(search_space="marginally_dependent")).fit(table)
"""


@pytest.mark.slow
@pytest.mark.parametrize("has_estimators", [True, False])
def test_the_next_version(has_estimators):
    done = run_python("-W", "ignore::FutureWarning", "-c", PROGRAM.format(has_estimators=has_estimators))
    assert done.returncode == 0, done.stderr


def test_no_structure_estimator(monkeypatch):
    monkeypatch.delattr(sys.modules["pgmpy.estimators"], "StructureEstimator")
    assert _find_structure_estimator() is NoStructureEstimator
    monkeypatch.setitem(sys.modules, "pgmpy.estimators", None)  # importing it is a ModuleNotFoundError
    assert _find_structure_estimator() is NoStructureEstimator


@pytest.mark.slow
def test_a_package_that_pgmpy_needs_is_not_taken_for_its_next_version():
    program = "import sys; sys.modules['statsmodels'] = None; import pgmx.models.pgmpy_estimators"
    done = run_python("-W", "ignore::FutureWarning", "-c", program)
    assert "ModuleNotFoundError: No module named 'statsmodels" in done.stderr


def test_scores_by_the_metrics_of_this_version():
    table = dependent_frame(0)
    learner = HillClimbSearch().fit(table)
    assert learner.score(true_graph=learner.dag_) == 0
    assert 0 <= learner.score(table, metric="correlation_score") <= 1
    with pytest.raises(ValueError, match=r"metric='none' is not known; pgmpy.metrics.get_metrics\(\) lists"):
        learner.score(table, metric="none")


def test_answers_of_variable_elimination_are_not_normalised():
    """What docs/from_pgmpy.md says of pgmpy's queries of Markov networks."""
    from pgmpy.inference import BeliefPropagation, VariableElimination  # warns where pgmx is not imported before

    table = dependent_frame(0)
    model = OnlineEdgeGrafting(lam_ratio=0.05).fit(table).model_
    expected = model.marginals(evidence={"b": 1})["a"]
    factor = VariableElimination(model).query(["a"], evidence={"b": 1}, show_progress=False)
    assert factor.values.sum() == pytest.approx(model.marginals()["b"][1], rel=1e-9)
    factor.normalize()
    by_propagation = BeliefPropagation(model).query(["a"], evidence={"b": 1}, show_progress=False)
    for state, probability in expected.items():
        assert factor.get_value(a=state) == pytest.approx(probability, rel=1e-9)
        assert by_propagation.get_value(a=state) == pytest.approx(probability, rel=1e-9)

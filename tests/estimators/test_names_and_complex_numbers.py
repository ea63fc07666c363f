"""Columns without a name, and complex numbers, are refused by all learners; self pairs that say nothing are ignored."""

import numpy as np
import pandas as pd
import pytest
from pgmpy.causal_discovery import ExpertKnowledge

from pgmx.data import DiscreteTable, encode, open_any, open_numeric
from pgmx.estimators import (
    CLIME,
    BootstrapStructure,
    ChowLiuForest,
    EdgeGrafting,
    GraphicalLasso,
    GroupLassoMarkovNetwork,
    HillClimbSearch,
    NeighborhoodLasso,
    Nonparanormal,
    SelectedGraph,
)
from pgmx.search.knowledge import read_constraints
from pgmx.statistics import sample_of_covariance

DRAWS = np.random.default_rng(0)
STATES = pd.DataFrame(DRAWS.integers(0, 2, (40, 3)), columns=list("abc"))
NUMBERS = pd.DataFrame(DRAWS.standard_normal((40, 3)), columns=list("abc"))
OF_STATES = [HillClimbSearch(), ChowLiuForest(), EdgeGrafting(), GroupLassoMarkovNetwork()]
OF_NUMBERS = [GraphicalLasso(), CLIME(), NeighborhoodLasso(), SelectedGraph(GraphicalLasso()), HillClimbSearch()]
LEARNERS = [(learner, STATES) for learner in OF_STATES] + [(learner, NUMBERS) for learner in OF_NUMBERS]
NO_NAMES = [None, np.nan, pd.NA, pd.NaT]


def without_name(frame, name):
    return frame.set_axis(pd.Index(["a", name, "c"], dtype=object), axis=1)


@pytest.mark.parametrize("name", NO_NAMES, ids=repr)
@pytest.mark.parametrize(("learner", "rows"), [*LEARNERS, (Nonparanormal(GraphicalLasso()), NUMBERS)], ids=repr)
def test_a_column_without_name(learner, rows, name):
    message = rf"missing column name\(s\) {name!r} \(at 1, from 0\): give every column a name"
    with pytest.raises(ValueError, match=message):
        learner.fit(without_name(rows, name))


@pytest.mark.parametrize("name", NO_NAMES, ids=repr)
def test_tables_of_columns_without_name(name):
    for read in (encode, open_any, lambda X: encode(iter([X]))):
        with pytest.raises(ValueError, match=r"missing column name\(s\)"):
            read(without_name(STATES, name))
    with pytest.raises(ValueError, match=r"missing column name\(s\)"):
        open_numeric(without_name(NUMBERS, name))
    with pytest.raises(ValueError, match=r"missing column name\(s\)"):
        DiscreteTable(["a", name], [(0, 1), (0, 1)], [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"missing column name\(s\)"):
        sample_of_covariance(without_name(NUMBERS, name).cov())


@pytest.mark.parametrize("dtype", [complex, object])
@pytest.mark.parametrize(
    ("learner", "rows"), [*LEARNERS, (BootstrapStructure(HillClimbSearch(), n_resamples=2), STATES)], ids=repr
)
def test_complex_weights(learner, rows, dtype):
    weights = np.full(40, 1 + 0.5j).astype(dtype)
    with pytest.raises(ValueError, match=r"weights? must be real numbers, got complex ones"):
        learner.fit(rows, sample_weight=weights)


@pytest.mark.parametrize("learner", OF_NUMBERS, ids=repr)
def test_complex_data(learner):
    rows = NUMBERS.to_numpy() + 0.5j
    with pytest.raises(ValueError, match=r"^Complex data not supported \(dtype=complex128\): use the real and"):
        learner.fit(rows)
    frame = pd.DataFrame(rows, columns=list("abc"))
    for complexes in (frame, frame.assign(b=NUMBERS["b"]), frame.assign(b="x")):
        with pytest.raises(TypeError, match=r"'a'.* complex.*: use .real or .abs\(\) of each.*lose the imaginary part"):
            learner.fit(complexes)
    with pytest.raises(TypeError, match=r"'a'.* complex") as caught:
        learner.fit(frame.astype(object))
    assert "astype" not in str(caught.value)


def test_a_complex_covariance():
    with pytest.raises(ValueError, match="the covariance must be real numbers, got complex ones"):
        GraphicalLasso(covariance="precomputed").fit(NUMBERS.cov() + 0.1j)


def test_pairs_of_a_variable_and_itself_are_ignored():
    names = list(STATES)
    everything = [(u, v) for u in names for v in names]
    space = read_constraints(names, expert_knowledge=ExpertKnowledge(search_space=everything))
    assert space.allowed is None
    nothing = {(u, v) for u in ("a", "b") for v in names}
    knowledge = ExpertKnowledge(forbidden_edges=nothing)
    expected = ExpertKnowledge(forbidden_edges=[(u, v) for u, v in nothing if u != v])
    allowed = [read_constraints(names, expert_knowledge=k).allowed for k in (knowledge, expected)]
    np.testing.assert_array_equal(*allowed)
    for option in ("forbidden_edges", "candidate_edges"):
        loops, plain = (
            read_constraints(names, **{option: pairs}) for pairs in ([("a", "b"), ("c", "c")], [("a", "b")])
        )
        np.testing.assert_array_equal(loops.allowed, plain.allowed)
    assert HillClimbSearch(forbidden_edges=everything).fit(STATES).graph_.number_of_edges() == 0
    assert len(EdgeGrafting(forbidden_edges=everything).fit(STATES).edges_) == 0
    with pytest.raises(ValueError, match="required_edges holds the self loop 'a' -> 'a'"):
        read_constraints(names, required_edges=[("a", "a")])


def test_an_only_self_pair_leaves_no_candidate():
    assert HillClimbSearch(candidate_edges=[("a", "a")]).fit(STATES).graph_.number_of_edges() == 0

"""The log-partition has the method of its computation, and does not depend on what was asked before."""

import copy
import itertools
import pickle

import numpy as np
import pytest

from pgmx.datasets import grid_network
from pgmx.inference import ApproximationWarning, LogPartition, TreewidthError, log_partition, map_assignment, marginals
from pgmx.inference.problem import Problem

pytestmark = pytest.mark.slow

TREE, TABLES = 2**20, 2**13  # bytes of a junction tree of the grid, and of elimination


@pytest.fixture(scope="module")
def grid():
    return grid_network(9, 9, 2, edge_scale=1.5, random_state=3)


def test_a_copy_says_the_same():
    answer = LogPartition(1.5, "ais", 0.25, 0.5, 3.0, 400.0)
    for other in (pickle.loads(pickle.dumps(answer)), copy.deepcopy(answer)):
        assert (other, other.method, other.exact, other.lower, other.upper) == (1.5, "ais", False, 0.5, 3.0)
        assert (other.standard_error, other.effective_sample_size) == (0.25, 400.0)
    assert answer + 1 == 2.5


def test_beyond_memory_it_is_an_approximation_and_says_so(grid):
    exact = log_partition(grid)
    with pytest.warns(ApproximationWarning, match=r"standard error.*is between.*than the 64 bytes") as caught:
        answer = log_partition(grid, memory=64)
    assert caught[0].filename == __file__
    assert (answer.exact, answer.method) == (False, "ais")
    assert abs(answer - exact) < 4 * answer.standard_error < 0.1
    assert answer.lower < exact < answer.upper
    loopy = log_partition(grid, method="loopy")
    assert np.isnan(loopy.standard_error)
    assert loopy.lower < exact < loopy.upper
    with pytest.raises(TreewidthError, match="method='ais'"):
        log_partition(grid, method="exact", memory=64)


def test_elimination_takes_less_than_a_tree(grid):
    with pytest.warns(ApproximationWarning, match="belief propagation"):
        marginals(grid, memory=TABLES, n_sweeps=1000)
    assert log_partition(grid, memory=TABLES).exact


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pgmx.inference.ApproximationWarning")
@pytest.mark.filterwarnings("ignore:loopy belief propagation did not converge")
def test_order_of_the_questions_is_irrelevant(grid):
    questions = {
        "log Z": log_partition,
        "log Z in little": lambda problem: log_partition(problem, memory=64, max_work=0),
        "marginals": lambda problem: marginals(problem).array("x0").tolist(),
        "marginals in little": lambda problem: marginals(problem, memory=TABLES, n_sweeps=200).array("x0").tolist(),
        "MAP in little": lambda problem: map_assignment(problem, memory=64, n_sweeps=200),
    }

    def ask(names):
        problem = Problem.from_model(grid_network(9, 9, 2, edge_scale=1.5, random_state=3))
        return {name: questions[name](problem) for name in names}

    expected = {name: ask([name])[name] for name in questions}
    for names in itertools.permutations(questions, 2):
        answers = ask(names)
        assert answers == {name: expected[name] for name in names}
    assert expected["marginals"] != expected["marginals in little"]

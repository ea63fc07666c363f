"""The memory that a run takes: bytes that bound the peak and grow with the table."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmx.data import DiscreteTable, estimate_memory
from pgmx.data.memory import limit_kept_counts
from pgmx.data.mixed import MixedTable
from pgmx.estimators import (
    BestChoiceEdgeGrafting,
    BootstrapStructure,
    ChowLiuForest,
    EdgeGrafting,
    GraphicalLasso,
    GroupLassoMarkovNetwork,
    HillClimbSearch,
)
from pgmx.estimators.bayesian.cost import MissingCounts
from pgmx.search.dag.orders.kicks import TREE_MEMORY

SCRIPT = """
import gc, sys
from pathlib import Path
import numpy as np
from pgmx.data import DiscreteTable
from pgmx.estimators import (
    BestChoiceEdgeGrafting, ChowLiuForest, EdgeGrafting, GroupLassoMarkovNetwork, HillClimbSearch
)

def read(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024

rng = np.random.default_rng(0)
p, n = int(sys.argv[2]), int(sys.argv[3])
codes = rng.integers(0, 3, (p, n)).astype(np.uint8)
for v in range(1, p):
    codes[v] = np.where(rng.random(n) < 0.6, codes[rng.integers(max(0, v - 5), v)], codes[v])
learner = {"climb": HillClimbSearch(), "forest": ChowLiuForest(), "lasso": GroupLassoMarkovNetwork(),
           "grafting": EdgeGrafting(batch=True), "stream": BestChoiceEdgeGrafting(lam=0.02),
           "thorough": HillClimbSearch(strategy="thorough", max_time=2)}[sys.argv[1]].set_params(show_progress=False)
HillClimbSearch(show_progress=False).fit(codes[:4, :50].T)
table = DiscreteTable(range(p), [range(3)] * p, codes)
gc.collect()
Path("/proc/self/clear_refs").write_text("5")
start = read("VmRSS") - codes.nbytes
learner.fit(table)
print(learner.estimate_cost(table).total, read("VmHWM") - start)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from /proc")
@pytest.mark.parametrize(
    ("kind", "p", "n"),
    [
        ("climb", 300, 50_000),
        ("forest", 1500, 10_000),
        ("climb", 900, 5_000),
        ("lasso", 800, 5_000),
        ("grafting", 400, 5_000),
        ("stream", 400, 5_000),
    ],
)
def test_the_bound_is_near_the_peak(kind, p, n):
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, kind, str(p), str(n)]
    bound, peak = map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert peak > 10e6
    assert peak <= bound <= 3 * peak


def test_parts_add_up_and_are_those_of_the_table():
    cost = HillClimbSearch().estimate_cost(n_rows=10_000, cardinalities=[3] * 40)
    memory = estimate_memory(10_000, [3] * 40)
    assert cost[:7] == memory[:-1]
    assert cost.total == sum(cost[:8]) == memory.total
    assert cost.numbers == 0
    weighted = HillClimbSearch().estimate_cost(n_rows=10_000, cardinalities=[3] * 40, weighted=True)
    assert weighted.total == cost.total + 80_000


def test_each_thread_of_the_best_search_has_trees_of_its_own():
    options = {"n_rows": 10_000, "cardinalities": [3] * 40}
    thorough = HillClimbSearch(strategy="thorough").estimate_cost(**options)
    one, two = (HillClimbSearch(strategy="best", n_jobs=n).estimate_cost(**options) for n in (1, 2))
    assert one.kept_rows - thorough.kept_rows == two.kept_rows - one.kept_rows == TREE_MEMORY


def test_data_and_numbers_tell_the_same():
    rng = np.random.default_rng(0)
    states = pd.DataFrame(rng.integers(0, 3, (100, 4)))
    floats = pd.DataFrame(rng.normal(size=(100, 2)), columns=["x", "y"])
    learner = HillClimbSearch()
    assert learner.estimate_cost(states) == learner.estimate_cost(n_rows=100, cardinalities=[3] * 4)
    assert learner.estimate_cost(floats) == learner.estimate_cost(n_rows=100, n_floats=2)
    mixed = learner.estimate_cost(states.join(floats))
    assert mixed == learner.estimate_cost(n_rows=100, cardinalities=[3] * 4, n_floats=2)
    assert mixed.numbers >= 2 * floats.to_numpy().nbytes
    with pytest.raises(ValueError, match="needs the data"):
        learner.estimate_cost(n_rows=100)


def test_columns_of_many_states_are_counted_by_rows():
    def estimate(learner, n_wide, n_states, n_rows=20_000):
        return learner.estimate_cost(n_rows=n_rows, cardinalities=[n_states] * n_wide + [4] * (10 - n_wide))

    few, many = (estimate(HillClimbSearch(), 3, n_states) for n_states in (300, 30_000))
    assert few.total == many.total  # what occurs in the rows, not what might
    cells = few.scratch - estimate(HillClimbSearch(), 0, 4).scratch
    assert cells == (20_000 - 16) * 48 + 20_000 * 5 * 7 * 4 - 16 * 5 * 10 * 4


def test_a_stream_to_few_edges_ends_in_its_first_pass():
    def estimate(max_edges=None, n_rows=2000, **options):
        learner = BestChoiceEdgeGrafting(max_edges=max_edges, **options)
        return learner.estimate_cost(n_rows=n_rows, cardinalities=[3] * 500)

    costs = [estimate(max_edges, loss="bethe") for max_edges in (250, 500, 750, 1000, None)]
    assert costs[0].gains == costs[1].gains < costs[2].gains < costs[3].gains == costs[4].gains
    assert (np.diff([cost.kept_counts for cost in costs]) >= 0).all()
    many = estimate(500, loss="bethe", n_rows=200_000)  # beliefs do not look at rows
    assert many.total - costs[1].total == many.codes + many.planes - costs[1].codes - costs[1].planes
    assert estimate().total > estimate(500).total


def test_resamples_share_the_table():
    table = DiscreteTable(range(9), [range(3)] * 9, np.random.default_rng(0).integers(0, 3, (9, 5000)))
    one = HillClimbSearch().estimate_cost(table)
    for workers in (1, 2):
        cost = BootstrapStructure(HillClimbSearch(), n_resamples=40, n_jobs=workers).estimate_cost(table)
        assert cost.total == one.codes + one.planes + workers * one.total
    floats = np.random.default_rng(0).normal(size=(100, 5))
    lasso, cost = (
        learner.estimate_cost(floats)
        for learner in (GraphicalLasso(), BootstrapStructure(GraphicalLasso(), n_resamples=40))
    )
    assert cost.total >= lasso.total
    assert ChowLiuForest().estimate_cost(table).codes == one.codes


def make_holes(kind, share, n_rows=2000, seed=0):
    rng = np.random.default_rng(seed)
    floats = pd.DataFrame(rng.normal(size=(n_rows, 6)).cumsum(axis=1), columns=list("abcdef"))
    states = pd.DataFrame(rng.integers(0, 3, (n_rows, 6)).astype(str), columns=list("uvwxyz"), dtype="category")
    table = {"floats": floats, "states": states, "both": floats.join(states)}[kind]
    return table.mask(rng.random(table.shape) < share).astype(table.dtypes.to_dict())


@pytest.mark.parametrize("kind", ["states", "floats", "both"])
def test_structural_em_costs_more_the_more_is_missing(kind):
    learner, plain = HillClimbSearch(missing="em"), HillClimbSearch()
    whole = make_holes(kind, 0.0)
    assert learner.estimate_cost(whole) == plain.estimate_cost(whole)
    costs = [learner.estimate_cost(make_holes(kind, share)) for share in (0.02, 0.1, 0.3)]
    assert (np.diff([cost.total for cost in costs]) > 0).all()
    assert all(cost.total == sum(cost[:8]) > plain.estimate_cost(whole).total for cost in costs)


@pytest.mark.parametrize("kind", ["states", "floats", "both"])
def test_structural_em_from_a_table_and_from_numbers(kind):
    learner = HillClimbSearch(missing="em")
    cards = [3] * 6 if kind != "floats" else None
    sizes = {"n_rows": 2000, "cardinalities": cards, "n_floats": 6 if kind != "states" else 0}
    numbers = learner.estimate_cost(**sizes, missing_share=0.1)
    table = learner.estimate_cost(make_holes(kind, 0.1))
    assert table.total == pytest.approx(numbers.total, rel=0.5)
    assert learner.estimate_cost(**sizes) == HillClimbSearch().estimate_cost(**sizes)
    for other, share in ((HillClimbSearch(), 0.1), (learner, 1.5), (learner, -0.1)):
        with pytest.raises(ValueError, match=f"missing_share={share}"):
            other.estimate_cost(**sizes, missing_share=share)


def test_missing_values_are_counted_by_unlike_rows():
    codes = np.array([[0, 2, 0, 1, 2, 2], [1, 1, 1, 2, 1, 2]], dtype=np.uint8)  # 2 is missing
    table = DiscreteTable._from_parts(("a", "b"), ((0, 1, None), (0, 1, None)), codes, np.array([2, 2]))
    mixed = MixedTable(table.columns, np.zeros(2, dtype=bool), np.empty((0, 6)), table)
    counted = MissingCounts.from_table(mixed)  # (0, 1), (?, 1), (1, ?), (?, ?)
    assert counted == MissingCounts(4, 3, 1 + 2 + 2 + 4, 4, 1 + 1 + 4)
    numbers = np.array([[1.0, np.nan, np.nan, 2.0]])
    floats = MissingCounts.from_table(MixedTable(("x",), np.ones(1, dtype=bool), numbers, None))
    assert floats[:2] == (4, 2)
    assert floats[3:] == (2, 2)


def test_counts_that_are_kept_are_bounded_by_what_there_is():
    assert limit_kept_counts(0) == 1 << 20
    assert limit_kept_counts(1 << 40) == 1 << 26
    assert estimate_memory(10_000, [3] * 40).kept_counts < 10e6


def test_costs_of_markov_networks():
    sizes = {"n_rows": 5000, "cardinalities": [3] * 300}
    wide = {"n_rows": 5000, "cardinalities": [3] * 600}
    for learner in (EdgeGrafting(), GroupLassoMarkovNetwork(), BestChoiceEdgeGrafting(), EdgeGrafting(loss="bethe")):
        cost = learner.estimate_cost(**sizes)
        assert cost[:2] == estimate_memory(**sizes)[:2]
        assert cost.total == sum(cost[:8])
        assert learner.estimate_cost(**wide).gains > 3.9 * cost.gains
    table = DiscreteTable(range(9), [range(3)] * 9, np.random.default_rng(0).integers(0, 3, (9, 500)))
    assert EdgeGrafting().estimate_cost(table) == EdgeGrafting().estimate_cost(n_rows=500, cardinalities=[3] * 9)
    with pytest.raises(ValueError, match="needs the data"):
        EdgeGrafting().estimate_cost(n_rows=500)

"""The memory that learning Gaussian graphs and time series takes: bytes that bound the peak and grow with the table."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pgmx.estimators import (
    CLIME,
    DenseLDS,
    GraphicalLasso,
    KernelSVARM,
    LinearSVARM,
    NeighborhoodLasso,
    Nonparanormal,
    ScalableLDS,
    SelectedGraph,
    SparsityEnforcingLDS,
    SparsityInducingLDS,
    TensorSEM,
    TensorSEMTracker,
)

GRAPHS = [
    GraphicalLasso(),
    GraphicalLasso(missing="pairwise"),
    CLIME(),
    CLIME(solver="admm"),
    NeighborhoodLasso(),
    Nonparanormal(GraphicalLasso()),
    Nonparanormal(CLIME(), correlation="spearman"),
    Nonparanormal(),
    SelectedGraph(),
    SelectedGraph(NeighborhoodLasso(), selection="stars"),
    SelectedGraph(Nonparanormal(GraphicalLasso()), selection="cv"),
]
SERIES = [
    DenseLDS(lags=2),
    DenseLDS(solver="svd"),
    SparsityInducingLDS(),
    SparsityInducingLDS(screen=5),
    SparsityEnforcingLDS(structure=np.eye(10)),
    ScalableLDS(),
    LinearSVARM(),
    KernelSVARM(kernels=("gaussian", "linear")),
    KernelSVARM(solver="admm"),
    TensorSEM(window=50),
    TensorSEM(window=50, method="als"),
    TensorSEMTracker(),
    SelectedGraph(SparsityInducingLDS()),
    SelectedGraph(LinearSVARM(), selection="bic", lags=[1, 2]),
]

BENCHMARK = Path(__file__).parents[1] / "benchmarks" / "memory_numbers.py"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peaks are read from /proc")
@pytest.mark.parametrize(
    "name",
    [
        "graphical lasso, 4,000 x 2,000",
        "graphical lasso, 50,000 x 300",
        "CLIME, 2,000 x 1,000",
        "neighbourhoods, 200 x 10,000",
        "Spearman's rho, 50,000 x 200",
        "dense, 20,000 x 300, 3 lags",
        "sparse, screened, 500 x 4,000",
        "linear SVARM, 20,000 x 50, 2 lags",
        "equations, 20 windows of 1,000 x 300",
    ],
)
def test_the_bound_is_near_the_peak(name):
    command = [sys.executable, "-W", "ignore", str(BENCHMARK), name]
    row = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1].split("|")
    bound, peak = float(row[2]), float(row[3])
    assert peak >= 10
    assert peak <= bound <= 3 * peak


@pytest.mark.parametrize("learner", [*GRAPHS, *SERIES], ids=repr)
def test_table_and_numbers_tell_the_same(learner):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 10)))
    numbers = learner.estimate_cost(n_rows=200, n_floats=10)
    assert learner.estimate_cost(rows) == numbers
    assert numbers.total == numbers.scratch + numbers.numbers


@pytest.mark.parametrize("learner", [*GRAPHS, *SERIES], ids=repr)
def test_cost_grows_with_columns_and_rows(learner):
    few, wide, long = (learner.estimate_cost(n_rows=t, n_floats=n) for t, n in ((1000, 40), (1000, 160), (16_000, 40)))
    assert wide.total > few.total
    assert long.total >= few.total


def test_matrices_of_a_graphical_lasso():
    cost = GraphicalLasso().estimate_cost(n_rows=8000, n_floats=4000)
    assert 5 * 8 * 4000**2 <= cost.scratch < 5.1 * 8 * 4000**2
    assert cost.numbers == 8 * 8000 * 4000
    blocks = GraphicalLasso(max_block=1000).estimate_cost(n_rows=200, n_floats=20_000)
    assert blocks.scratch < 40 * 1000**2 + 10 * 8 * 200 * 20_000


def test_an_array_is_not_copied_and_a_covariance_has_no_rows():
    rows = np.random.default_rng(0).normal(size=(300, 8))
    assert GraphicalLasso().estimate_cost(rows).numbers == 0
    learner = GraphicalLasso(covariance="precomputed")
    cost = learner.estimate_cost(np.cov(rows.T))
    assert cost == learner.estimate_cost(n_floats=8)
    assert cost.numbers == 0


def test_files_are_read_in_chunks(tmp_path):
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 8)), columns=list("abcdefgh"))
    rows.to_parquet(tmp_path / "rows.parquet")
    cost = GraphicalLasso().estimate_cost(tmp_path / "rows.parquet")
    assert cost.scratch == GraphicalLasso().estimate_cost(rows).scratch
    series = DenseLDS().estimate_cost(tmp_path / "rows.parquet")
    assert series.numbers == 0


def test_folds_keep_their_correlations():
    sizes = {"n_rows": 5000, "n_floats": 500}
    path, folds = (SelectedGraph(selection=name).estimate_cost(**sizes) for name in ("ebic", "cv"))
    assert folds.total - path.total == 5 * 8 * 500**2


@pytest.mark.parametrize(
    "learner", [GraphicalLasso(), Nonparanormal(), DenseLDS(), SelectedGraph(DenseLDS())], ids=repr
)
def test_numbers_that_lack(learner):
    with pytest.raises(ValueError, match=r"estimate_cost needs the data, or n_rows=\.\.\. and n_floats=\.\.\."):
        learner.estimate_cost(n_rows=100)


def test_bad_options_are_refused():
    with pytest.raises(ValueError, match="lam_ratio"):
        GraphicalLasso(lam_ratio=-1.0).estimate_cost(n_rows=100, n_floats=5)

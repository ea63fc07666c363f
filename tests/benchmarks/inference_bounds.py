"""Draw how the bounds on the log-partition of a grid close: python tests/benchmarks/inference_bounds.py FILE.svg."""

import sys
import time

import matplotlib.pyplot as plt
from inference_problems import grid

from pgmx.inference import LogFactors, log_partition
from pgmx.inference.approximate.bounds import fit_naive_field, fit_tree_field, reweight_trees

SIZE, COUPLINGS, MOVES = 10, (0.25, 0.5, 1.0), (0, 1, 2, 3, 5, 8, 12, 16, 20, 25, 30)


def measure(coupling):
    """Return the exact log-partition, the upper bound after each number of moves, the lower bounds, the estimate."""
    potentials = grid(SIZE, coupling).potentials
    exact = log_partition(potentials)
    uppers = [reweight_trees(potentials, most_moves=moves).upper - exact for moves in MOVES]
    naive = fit_naive_field(LogFactors.from_potentials(potentials)) - exact
    tree = fit_tree_field(potentials) - exact
    return uppers, naive, tree, log_partition(potentials, method="ais")


def main(path):
    """Draw a panel per coupling."""
    figure, axes = plt.subplots(1, len(COUPLINGS), figsize=(10.5, 3.7), layout="constrained")
    for axis, coupling in zip(axes, COUPLINGS, strict=True):
        began = time.process_time()
        uppers, naive, tree, estimate = measure(coupling)
        exact = log_partition(grid(SIZE, coupling).potentials)
        axis.plot(MOVES, uppers, marker="o", markersize=3, color="#b5482a", label="upper: reweighted trees")
        axis.axhline(tree, color="#2a6fb5", label="lower: mean field of a tree")
        axis.axhline(naive, color="#2a6fb5", linestyle=":", label="lower: independent variables")
        axis.axhline(0, color="black", linewidth=0.8, label="exact")
        error = 2 * estimate.standard_error
        axis.errorbar([MOVES[-1] / 2], [estimate - exact], [error], color="#3b8a4a", marker="s", capsize=3, label="AIS")
        axis.set_title(f"coupling {coupling}", fontsize=10)
        axis.set_xlabel("moves of the edge probabilities")
        print(
            f"{coupling}: upper {uppers[0]:+.3f} -> {uppers[-1]:+.3f}, tree {tree:+.3f}, naive {naive:+.3f}, "
            f"AIS {estimate - exact:+.4f} ± {estimate.standard_error:.4f}; {time.process_time() - began:.1f} CPU s"
        )
    axes[0].set_ylabel("nats from the exact log-partition")
    figure.legend(*axes[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=5)
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None)


if __name__ == "__main__":
    main(sys.argv[1])

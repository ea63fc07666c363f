"""Quality against time of the learners of Markov networks: the picture in docs/speed.md.

Synthetic data as in appendix C of the paper on best-choice edge grafting: preferential attachment, 5 states, 20,000
rows by Gibbs sampling, of which 1,000 are held out. All learners minimise the same objective; those that work feature
by feature have another one and are left out. The clock is stopped while the history is recorded.

    python tests/benchmarks/curves.py --out tests/benchmarks/results/markov_curves.png
"""

import argparse
import json
from pathlib import Path

from pgmx.data import DiscreteTable
from pgmx.datasets import preferential_attachment_network, sample_markov_network
from pgmx.estimators import (
    BestChoiceEdgeGrafting,
    EdgeGrafting,
    FirstHitEdgeGrafting,
    GroupLassoMarkovNetwork,
    OnlineEdgeGrafting,
)
from pgmx.plotting import plot_history

LEARNERS = {
    "group lasso": (GroupLassoMarkovNetwork, {}),
    "exhaustive, batches": (EdgeGrafting, {"batch": True}),
    "exhaustive, one edge a round": (EdgeGrafting, {}),
    "best choice, alpha = 0": (BestChoiceEdgeGrafting, {"alpha": 0.0}),
    "best choice, alpha = 1": (BestChoiceEdgeGrafting, {"alpha": 1.0}),
    "online, alpha = 0.5": (OnlineEdgeGrafting, {"alpha": 0.5}),
    "first hit": (FirstHitEdgeGrafting, {}),
}


def problem(n_variables, n_rows, n_held_out, seed):
    """Return the network, the rows to learn from and those held out."""
    network = preferential_attachment_network(n_variables, random_state=seed)
    table = sample_markov_network(network, n_rows, random_state=seed)
    cut = n_rows - n_held_out
    parts = (table.codes[:, :cut], table.codes[:, cut:])
    return network, *(DiscreteTable(table.columns, table.states, codes) for codes in parts)


def fitted(network, rows, held_out, lam, max_edges):
    """Fit all learners; the first fit loads what is loaded once and is thrown away."""
    GroupLassoMarkovNetwork(lam=10 * lam, held_out=held_out, show_progress=False).fit(rows)
    found = {}
    for label, (learner, options) in LEARNERS.items():
        common = {"lam": lam, "max_edges": max_edges, "true_graph": network, "held_out": held_out}
        found[label] = learner(**common, **options, show_progress=False).fit(rows)
    return found


def main():
    """Fit, draw and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", type=int, default=200)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--held-out", type=int, default=1_000)
    parser.add_argument("--lam", type=float, default=0.01)
    parser.add_argument("--max-edges", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="the picture, .png or .svg; figures go to .json")
    given = parser.parse_args()
    network, rows, held_out = problem(given.variables, given.rows, given.held_out, given.seed)
    learners = fitted(network, rows, held_out, given.lam, given.max_edges)
    panels = plot_history(learners, measures=["objective", "recall", "held_out"], against="cpu_seconds")
    panels[0].figure.savefig(given.out, dpi=110)
    names = ("objective", "recall", "held_out", "n_edges", "n_tests", "n_tables", "cpu_seconds")
    ends = {
        label: {name: float(learner.history_[name][-1]) for name in names} | {"stopped_by": learner.stopped_by_}
        for label, learner in learners.items()
    }
    settings = {name: value for name, value in vars(given).items() if name != "out"} | {"l2": 0.005}
    given.out.with_suffix(".json").write_text(json.dumps({"settings": settings, "ends": ends}, indent=1) + "\n")
    for label, end in ends.items():
        print(f"{label:<30}", "  ".join(f"{name} {value}" for name, value in end.items()))


if __name__ == "__main__":
    main()

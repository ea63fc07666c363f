"""Draw what searches over orders and the exact search do: python tests/benchmarks/strategy_pictures.py FOLDER.

`orders.svg`: an order of the eight variables of asia with the parents that each takes, the scores of all places of one
variable, and the best score over time of one run on alarm. `exact.svg`: the subsets of five variables of asia with the
way to the best network, and how many sets of parents the bounds leave of all. 1,000 sampled rows, BIC; child 2,000.
"""

import sys
from collections import Counter
from itertools import combinations
from math import comb, inf
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch

from pgmx.data import encode
from pgmx.datasets import load_network, sample
from pgmx.estimators import HillClimbSearch
from pgmx.scores import BIC
from pgmx.scores.binding.discrete import DiscreteScoring
from pgmx.search.dag.exact import find_parent_sets

#: An order of asia that is not the best one, and the variable that moves.
ORDER, MOVED = ("smoke", "lung", "xray", "asia", "either", "bronc", "dysp", "tub"), "xray"
FIVE = ("asia", "tub", "lung", "either", "xray")
BLUE, RED, GREY = "#2a6fb5", "#b5482a", "#888888"


class Families:
    """Scores of families, each computed once, and the best parents among given ones."""

    def __init__(self, frame):
        self._score, self._known = BIC(frame), {}

    def score(self, child, parents):
        key = child, tuple(sorted(parents))
        if key not in self._known:
            self._known[key] = self._score.local_score(*key)
        return self._known[key]

    def find_best(self, child, allowed):
        """Return the best score and its parents, fewer before more."""
        best = -inf, ()
        for size in range(min(len(allowed), 4) + 1):
            for parents in combinations(sorted(allowed), size):
                if self.score(child, parents) > best[0] + 1e-9:
                    best = self.score(child, parents), parents
        return best

    def score_order(self, order):
        return sum(self.find_best(child, order[:i])[0] for i, child in enumerate(order))


def draw_order(axis, families, order):
    """Draw the variables in a row, and an arc from each parent."""
    for i, child in enumerate(order):
        for parent in families.find_best(child, order[:i])[1]:
            color = RED if MOVED in (child, parent) else GREY
            ends = (order.index(parent), 0.12), (i, 0.12)
            axis.add_patch(
                FancyArrowPatch(
                    *ends,
                    connectionstyle=f"arc3,rad=-{0.32 + 0.1 / (ends[1][0] - ends[0][0])}",
                    arrowstyle="-|>",
                    mutation_scale=10,
                    color=color,
                    shrinkA=1,
                    shrinkB=1,
                )
            )
    for i, name in enumerate(order):
        axis.text(i, 0, name, ha="center", va="top", color=RED if name == MOVED else "black", fontsize=9)
    axis.set_xlim(-0.6, len(order) - 0.4)
    axis.set_ylim(-0.35, 1.4)
    axis.axis("off")


def draw_orders(path):
    """Draw an order, the one after the best move of a variable, the scores of its places, and a run over time."""
    families = Families(sample(load_network("asia"), 1_000, random_state=0))
    others = [name for name in ORDER if name != MOVED]
    orders = [(*others[:place], MOVED, *others[place:]) for place in range(len(ORDER))]
    scores = [families.score_order(order) for order in orders]
    best = int(np.argmax(scores))
    figure, axes = plt.subplots(2, 2, figsize=(10.5, 5.4), layout="constrained", height_ratios=(0.65, 1))
    draw_order(axes[0, 0], families, ORDER)
    axes[0, 0].set_title(
        f"1. An order: each variable takes its best parents\namong those before it. {families.score_order(ORDER):,.1f}",
        fontsize=10,
    )
    draw_order(axes[0, 1], families, orders[best])
    axes[0, 1].set_title(f"2. The best move of {MOVED}. {scores[best]:,.1f}", fontsize=10)
    colors = [RED if place == best else BLUE for place in range(len(scores))]
    axes[1, 0].bar(range(len(scores)), np.subtract(scores, min(scores)), color=colors)
    axes[1, 0].set_xlabel(f"place of {MOVED} in the order")
    axes[1, 0].set_ylabel("nats above its worst place")
    axes[1, 0].set_title("All places of one variable are compared;\nthe move to the best one is made", fontsize=10)
    draw_history(axes[1, 1])
    figure.savefig(path, metadata={"Date": None})
    print(path, [f"{score:.1f}" for score in scores])


def draw_history(axis):
    """Draw the best score so far of a run with kicks, by the step that found it."""
    table = encode(sample(load_network("insurance"), 10_000, random_state=0))
    learner = HillClimbSearch(strategy="best", show_progress=False).fit(table)
    history = learner.history_
    highest = np.maximum.accumulate(history["score"])
    below = learner.score_ - highest + 1.0
    members = list(dict.fromkeys(history["member"].tolist()))
    for member, color in zip(members, (GREY, BLUE, RED, "#3b8a4a", "black"), strict=False):
        mine = history["member"] == member
        axis.plot(history["seconds"][mine] * 1e3, below[mine], "o", markersize=3, color=color, label=member)
    axis.set_yscale("log")
    axis.set_xlabel("milliseconds (insurance, 10,000 rows)")
    axis.set_ylabel("nats below the last score, plus 1")
    axis.set_title(
        "3. Kicks: variables go to random places, and the\nclimb begins again. What found each better graph",
        fontsize=10,
    )
    axis.legend(fontsize=8)


def draw_subsets(axis, families):
    """Draw all subsets of five variables by size, and the way to the best network."""
    n = len(FIVE)
    totals, sinks = {frozenset(): 0.0}, {}
    for size in range(1, n + 1):
        for subset in map(frozenset, combinations(FIVE, size)):
            options = {v: totals[subset - {v}] + families.find_best(v, subset - {v})[0] for v in sorted(subset)}
            sinks[subset] = max(options, key=options.get)
            totals[subset] = options[sinks[subset]]
    places = {}
    for size in range(n + 1):
        level = list(map(frozenset, combinations(FIVE, size)))
        places |= {subset: (i - (len(level) - 1) / 2, -size) for i, subset in enumerate(level)}
    way, subset = {frozenset()}, frozenset(FIVE)
    while subset:
        way.add(subset)
        subset -= {sinks[subset]}
    for subset, (x, y) in places.items():
        for v in set(FIVE) - subset:
            wider = subset | {v}
            on_way = subset in way and wider in way
            axis.plot(
                [x, places[wider][0]],
                [y, places[wider][1]],
                color=RED if on_way else "#cccccc",
                lw=2 if on_way else 0.6,
                zorder=1,
            )
    for subset, (x, y) in places.items():
        axis.plot(x, y, "o", markersize=9 if subset in way else 6, color=RED if subset in way else BLUE, zorder=2)
    subset = frozenset(FIVE)
    while subset:
        parents = families.find_best(sinks[subset], subset - {sinks[subset]})[1]
        text = f"{sinks[subset]} from {', '.join(parents) or 'nothing'}"
        axis.text(5.3, -len(subset), text, fontsize=8, va="center", color=RED)
        subset -= {sinks[subset]}
    axis.set_xlim(-5.2, 9.5)
    axis.axis("off")
    axis.set_title(
        "1. The best network of a set: one variable comes last and takes\nits best parents in the rest; the rest is "
        "the best network of a smaller\nset. Each subset once: 2ⁿ in place of all graphs",
        fontsize=10,
    )


class CountingSource:
    """A compiled scorer that counts the sets of parents it is asked for, by size."""

    def __init__(self, source):
        self._source, self.n, self.by_size = source, source.n, Counter()

    def family_score(self, child, parents):
        return self._source.family_score(child, parents)

    def score_additions(self, child, parents, wanted, scores, cells):
        self.by_size[len(parents) + 1] += len(wanted)
        self._source.score_additions(child, parents, wanted, scores, cells)


def draw_sets(axis):
    """Draw by size how many sets of parents there are, how many were scored, and how many can be in a best network."""
    frame = sample(load_network("child"), 2_000, random_state=0)
    table = encode(frame)
    scoring = DiscreteScoring(BIC(frame), table)
    n = len(table.columns)
    source = CountingSource(scoring.gains(allowed=None, max_indegree=None, deadline=inf, n_jobs=1))
    allowed = ~np.eye(n, dtype=bool)
    lists = find_parent_sets(source, allowed, np.empty((0, 2), dtype=np.int64), max_indegree=n, bounds=scoring.bounds)
    kept = Counter(int(size) for parents in lists for size in np.bitwise_count(parents.sets))
    sizes = np.arange(1, n)
    axis.plot(sizes, [n * comb(n - 1, k) for k in sizes], "o-", markersize=3, color=GREY, label="all sets of parents")
    for counts, color, label in ((source.by_size, BLUE, "scored"), (kept, RED, "can be in a best network")):
        shown = [k for k in sizes.tolist() if counts[k]]
        axis.plot(shown, [counts[k] for k in shown], "o-", markersize=3, color=color, label=label)
    axis.set_yscale("log")
    axis.set_xticks(range(1, n, 2))
    axis.set_xlabel("parents in the set")
    n_scored, n_sets = sum(source.by_size.values()), n * 2 ** (n - 1)
    axis.set_title(
        f"2. Bounds leave few sets of parents: {n} variables of child,\n"
        f"2,000 rows, BIC. {n_scored:,} of {n_sets:,} are scored",
        fontsize=10,
    )
    axis.legend(fontsize=8)


def draw_exact(path):
    families = Families(sample(load_network("asia"), 1_000, random_state=0))
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained", width_ratios=(1.25, 1))
    draw_subsets(axes[0], families)
    draw_sets(axes[1])
    figure.savefig(path, metadata={"Date": None})


def main(folder):
    draw_orders(Path(folder) / "orders.svg")
    draw_exact(Path(folder) / "exact.svg")


if __name__ == "__main__":
    main(sys.argv[1])

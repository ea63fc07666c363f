"""Tables for the workers of a cluster, and what is compared of the learners that learn from them."""

import os
import signal
import time
from itertools import pairwise

import numpy as np
import pandas as pd

from pgmx.data import DiscreteTable
from pgmx.data.distributed.remote_partitions import RemotePartitions
from pgmx.datasets import gaussian_chain_network
from pgmx.estimators import (
    BestFirstSearch,
    ChowLiuForest,
    GreedyEquivalenceSearch,
    HillClimbSearch,
    SimulatedAnnealing,
)
from pgmx.scores.registry import list_scores

#: Learners without options.
CLIMB = HillClimbSearch(show_progress=False)
FOREST = ChowLiuForest(weight="bic", show_progress=False)

#: Learners of each kind, for columns of `draw_frame`.
SEARCHES = [
    *(HillClimbSearch(scoring_method=name, show_progress=False) for name in list_scores("discrete")[1:]),
    *(HillClimbSearch(strategy=name, max_indegree=2, show_progress=False) for name in ("thorough", "exact")),
    ChowLiuForest(class_node="word", show_progress=False),
    BestFirstSearch(show_progress=False),
    GreedyEquivalenceSearch(show_progress=False),
    SimulatedAnnealing(max_iter=300, random_state=1, show_progress=False),
]


def draw_frame(n_rows, seed=0):
    """Return a frame of eight columns of 2 to 4 states: numbers, strings, booleans and categories in an odd order."""
    rng = np.random.default_rng(seed)
    hidden = rng.integers(0, 4, n_rows)
    noisy = [np.where(rng.random(n_rows) < 0.6, hidden, rng.integers(0, 4, n_rows)) for _ in range(8)]
    return pd.DataFrame(
        {
            "number": noisy[0],
            "word": np.array(["b", "a", "d", "c"])[noisy[1]],
            "truth": noisy[2] > 1,
            "order": pd.Categorical(
                np.array(["lo", "hi", "mid", "lo"])[noisy[3]], categories=["lo", "mid", "hi", "no"]
            ),
            "few": noisy[4] // 2,
            "more": np.array([10, -3, 7, 2])[noisy[5]],
            "pair": (noisy[6] + noisy[0]) % 3,
            "constant": 1,
        }
    )


def cut(frame, n_parts, seed=1):
    """Cut a frame into partitions of unequal sizes."""
    rng = np.random.default_rng(seed)
    inner = np.sort(rng.choice(np.arange(1, len(frame)), n_parts - 1, replace=False))
    bounds = [0, *inner.tolist(), len(frame)]
    return [frame.iloc[a:b] for a, b in pairwise(bounds)]


def with_empty_part(parts):
    """Put a partition without rows behind the first one."""
    return [parts[0], parts[0].iloc[:0], *parts[1:]]


def draw_chain(far=1e5):
    """Return 600 rows of a chain, its nine columns in several units and up to so far from zero."""
    drawn = gaussian_chain_network(9, 0.6).simulate(600, random_state=2)
    return drawn * np.geomspace(1e-3, 1e3, 9) + np.linspace(-far, far, 9)


def kill_worker(client):
    """Kill one worker, which the cluster starts again."""
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


class WorkerKiller:
    """A callback that kills a worker after some moves or rounds."""

    def __init__(self, client, after):
        self.pid = next(iter(client.run(os.getpid).values()))
        self.after, self.killed = after, False

    def __call__(self, progress):
        if not self.killed and progress.n_iter >= self.after:
            self.killed = True
            os.kill(self.pid, signal.SIGKILL)


def gather_codes(table):
    """Return the codes of a distributed table."""
    return table.reduce(copy_codes, add=join_codes)


class RepeatedParts(RemotePartitions):
    """Partitions that each represent 2**n equal rows: the sums of as many workers as that, added in pairs."""

    def __init__(self, parts, n):
        super().__init__(parts.row_counts, parts._client, parts._futures, parts.addresses)
        self.n_rows, self._n = parts.n_rows << n, n

    def reduce(self, function, *arguments, add, slices=()):
        """Return the sum over all partitions."""
        total = super().reduce(function, *arguments, add=add, slices=slices)
        for _ in range(self._n):
            total = add([total, total])
        return total

    def map_partitions(self, function, slices, *arguments, row_counts):
        """Return other partitions, which represent as many."""
        return RepeatedParts(super().map_partitions(function, slices, *arguments, row_counts=row_counts), self._n)


def repeat_parts(table, n):
    """Return a distributed table whose rows count 2**n times, without a worker that keeps them."""
    return table._with_partitions(RepeatedParts(table._partitions, n))


def copy_codes(part):
    return part.table.codes


def copy_weights(part):
    return part.weights


def join_blocks(part):
    return np.concatenate(part.blocks)


def count_late(part):
    time.sleep(0.4)
    return part.table.n_rows


def join_codes(parts):
    return np.concatenate(parts, axis=1)


def same_table(table, whole):
    """Return whether a distributed table has the states and codes of a whole one."""
    rows = DiscreteTable(table.columns, table.states, gather_codes(table))
    return rows == whole and table.n_rows == whole.n_rows


def assert_same(learner, table, whole, weights=None):
    """Compare what a learner gets from a distributed table with what it gets from the whole, to the bit."""
    learner.fit(table, sample_weight=weights)
    far = learner.edges_, learner.score_, [cpd.values for cpd in learner.model_.get_cpds()]
    learner.fit(whole, sample_weight=weights)
    near = learner.edges_, learner.score_, [cpd.values for cpd in learner.model_.get_cpds()]
    assert np.array_equal(far[0], near[0])
    assert far[1] == near[1]
    assert all(map(np.array_equal, far[2], near[2]))
    assert len(near[0])


def assert_close(learner, table, whole, weights):
    """Compare what a learner gets from weighted rows of a distributed table with what it gets from the whole."""
    learner.fit(table, sample_weight=weights)
    far = learner.edges_, learner.score_, [cpd.values for cpd in learner.model_.get_cpds()]
    learner.fit(whole, sample_weight=weights)
    near = learner.edges_, learner.score_, [cpd.values for cpd in learner.model_.get_cpds()]
    assert np.array_equal(far[0], near[0])
    assert abs(far[1] - near[1]) <= 1e-9 * abs(near[1])
    for ours, theirs in zip(far[2], near[2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11)
    assert len(near[0])

"""Bethe's loss on rows whose optimum belief propagation does not find: what a run passed through is not lost."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from oracles import belief_propagation, group_lasso
from pgmx.estimators import EdgeGrafting, GroupLassoMarkovNetwork, OnlineEdgeGrafting

LAM, L2, CARDS = 0.005, 0.001, (2,) * 6


def latent_rows():
    """Rows of six variables that all show one hidden state."""
    rng = np.random.default_rng(0)
    hidden = rng.random(300) < 0.3
    return np.where(rng.random((300, 6)) < 0.9, hidden[:, None], rng.random((300, 6)) < 0.2).astype(int)


@pytest.mark.parametrize(
    "learner",
    [
        EdgeGrafting(batch=True, loss="bethe", lam=LAM, l2=L2),
        EdgeGrafting(loss="bethe", lam=LAM, l2=L2),
        OnlineEdgeGrafting(loss="bethe", lam=LAM, l2=L2),
        GroupLassoMarkovNetwork(loss="bethe", lam=LAM, l2=L2),
    ],
    ids=["batch", "one by one", "online", "working set"],
)
def test_the_best_parameters_are_kept(learner):
    rows = latent_rows()
    with pytest.warns(ConvergenceWarning, match="did not converge .* Its best parameters are kept"):
        learner.fit(rows)
    assert learner.stopped_by_ == "unsettled"
    assert not learner.converged_
    assert len(learner.edges_)
    assert learner.objective_ < learner.history_["objective"][0]
    assert learner.objective_ == pytest.approx(flooded_objective(learner.model_.potentials, rows), abs=1e-6)
    assert likelihood(learner.model_.potentials, rows) > np.log(shares(rows)[rows, np.arange(6)]).sum(axis=1).mean()


def flooded_objective(potentials, rows):
    """Return the objective by flooding from uniform messages."""
    pairs = list(map(tuple, potentials.edges.tolist()))
    nodes = [potentials.node(i) for i in range(6)]
    factors = [((i,), node.tolist()) for i, node in enumerate(nodes)]
    factors += [(pair, table.tolist()) for pair, table in zip(pairs, potentials.tables(), strict=True)]
    alone, joined = belief_propagation.beliefs(CARDS, factors)
    bethe = belief_propagation.bethe_log_partition(CARDS, factors, alone, joined)
    scores = sum(node[rows[:, i]] for i, node in enumerate(nodes))
    scores = scores + sum(
        table[rows[:, i], rows[:, j]] for (i, j), table in zip(pairs, potentials.tables(), strict=True)
    )
    numbers = np.concatenate([potentials.node_values, potentials.edge_values])
    norms = sum(np.linalg.norm(table) for table in potentials.tables())
    return bethe - scores.mean() + LAM * 2 * norms + 0.5 * L2 * numbers @ numbers


def likelihood(potentials, rows):
    """Return the mean log-likelihood by enumeration."""
    values = np.concatenate([potentials.node_values, potentials.edge_values])
    return -group_lasso.loss(CARDS, potentials.edges.tolist(), rows.T, values)[0]


def shares(rows):
    return np.stack([1 - rows.mean(axis=0), rows.mean(axis=0)])

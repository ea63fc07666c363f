"""The one outside judge of Markov networks: objective and fit to held-out rows from parameters, for every method alike.

It imports numpy alone and shares no code with the learners. All values are in nats a row.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

MOST_SWEEPS = 5_000


@dataclass
class Network:
    """Log-potentials of a pairwise network, one vector a variable and one table an edge; tables[e] is (s_i, s_j)."""

    nodes: list
    edges: np.ndarray
    tables: list

    @classmethod
    def of(cls, potentials):
        """Copy what a learner hands back."""
        n = len(potentials.cardinalities)
        return cls(
            [np.array(potentials.node(i)) for i in range(n)],
            np.array(potentials.edges),
            [np.array(table) for table in potentials.tables()],
        )

    def fields(self, codes):
        """Yield the logits (s_i, rows) of each variable given all others, variable after variable."""
        around: list[list[Any]] = [[] for _ in self.nodes]
        for (i, j), table in zip(self.edges.tolist(), self.tables, strict=True):
            around[i].append((j, table))
            around[j].append((i, table.T))
        for node, terms in zip(self.nodes, around, strict=True):
            logits = np.repeat(node[:, None], codes.shape[1], axis=1)
            for other, table in terms:
                logits += table[:, codes[other]]
            yield logits


def negative_pseudolikelihood(fields, codes):
    """Return -(1 / rows) sum over rows and variables of log p(x_i | all others).

    ``fields`` gives the logits (s_i, rows) of the variables in turn: those of a network, or of separate regressions.
    """
    total = 0.0
    for logits, own in zip(fields, codes, strict=True):
        top = logits.max(axis=0)
        log_sum = np.log(np.exp(logits - top).sum(axis=0)) + top
        total += float((log_sum - logits[own, np.arange(len(own))]).sum())
    return total / codes.shape[1]


def penalty(network, lam, l2, single=False):
    """Return lam * sum of sqrt(s_i s_j) ||W_e|| + (l2 / 2) ||(theta, W)||^2; with ``single`` lam * sum |W_e(a, b)|."""
    if single:
        groups = sum(np.abs(table).sum() for table in network.tables)
    else:
        groups = sum(np.sqrt(table.size) * np.linalg.norm(table) for table in network.tables)
    squares = sum(float((part**2).sum()) for part in (*network.nodes, *network.tables))
    return lam * float(groups) + 0.5 * l2 * squares


def objective(network, codes, loss, lam, l2, single=False):
    """Return the penalised loss; the pseudolikelihood is halved, which puts gradients on the scale of a likelihood."""
    if loss == "pseudolikelihood":
        fit = 0.5 * negative_pseudolikelihood(network.fields(codes), codes)
    else:
        fit = bethe_log_partition(network) - mean_score(network, codes)
    return fit + penalty(network, lam, l2, single)


def largest_violation(network, codes, lam, l2):
    """Return the largest distance of 0 from the subdifferential of the penalised pseudolikelihood, all pairs included.

    Over nodes, pairs with a table, and all pairs without: from one product of all conditionals with all indicators.
    """
    sizes = np.array([len(node) for node in network.nodes])
    begins = np.concatenate([[0], np.cumsum(sizes)])
    n_rows = codes.shape[1]
    conditionals = np.empty((begins[-1], n_rows), dtype=np.float32)
    seen = np.zeros((begins[-1], n_rows), dtype=np.float32)
    worst = 0.0
    for v, (logits, own, node) in enumerate(zip(network.fields(codes), codes, network.nodes, strict=True)):
        odds = np.exp(logits - logits.max(axis=0))
        odds /= odds.sum(axis=0)
        part = slice(begins[v], begins[v + 1])
        conditionals[part], seen[part] = odds, own == np.arange(sizes[v])[:, None]
        slope = 0.5 * (odds.mean(axis=1) - seen[part].mean(axis=1, dtype=np.float64)) + l2 * node
        worst = max(worst, float(np.linalg.norm(slope)))
    moments = (conditionals @ seen.T).astype(np.float64) / n_rows
    gradient = 0.5 * (moments + moments.T) - (seen @ seen.T).astype(np.float64) / n_rows
    widths = np.sqrt(np.outer(sizes, sizes))
    norms = np.sqrt(np.add.reduceat(np.add.reduceat(gradient**2, begins[:-1], axis=0), begins[:-1], axis=1))
    over = norms - lam * widths
    for (i, j), table in zip(network.edges.tolist(), network.tables, strict=True):
        cells = gradient[begins[i] : begins[i + 1], begins[j] : begins[j + 1]]
        over[i, j] = np.linalg.norm(cells + l2 * table + lam * widths[i, j] * table / np.linalg.norm(table))
        over[j, i] = 0.0
    np.fill_diagonal(over, 0.0)
    return max(worst, float(over.max()))


def mean_score(network, codes):
    """Return the mean over rows of the sum of the potentials."""
    total = sum(float(node[own].mean()) for node, own in zip(network.nodes, codes, strict=True))
    for (i, j), table in zip(network.edges.tolist(), network.tables, strict=True):
        total += float(table[codes[i], codes[j]].mean())
    return total


def bethe_log_partition(network, tol=1e-9):
    """Return the Bethe approximation of log Z, by damped flooding of messages; all variables have as many states.

    NaN where the messages do not settle within 5,000 rounds.
    """
    nodes = np.array(network.nodes)
    if not len(network.edges):
        return float(_log_sum(nodes).sum())
    tables = np.array(network.tables)
    source, target = network.edges.T.ravel(), network.edges[:, ::-1].T.ravel()
    both = np.concatenate([tables, tables.transpose(0, 2, 1)])  # from source (rows) to target (columns)
    back = np.roll(np.arange(len(source)), len(tables))
    messages = np.zeros((len(source), nodes.shape[1]))
    for sweep in range(MOST_SWEEPS):
        beliefs = nodes.copy()
        np.add.at(beliefs, target, messages)
        cavity = beliefs[source] - messages[back]
        fresh = _log_sum(np.moveaxis(both + cavity[:, :, None], 1, 2))
        fresh -= _log_sum(fresh)[:, None]
        change = np.abs(fresh - messages).max()
        if change < tol:
            break
        messages = fresh if sweep < 200 else 0.5 * (messages + fresh)
    else:
        return float("nan")
    m = len(tables)
    pairs = tables + cavity[:m, :, None] + cavity[m:, None, :]
    together = (
        _log_sum(pairs.reshape(m, -1)) - _log_sum(cavity[:m] + messages[m:]) - _log_sum(cavity[m:] + messages[:m])
    )
    return float(_log_sum(beliefs).sum() + together.sum())


def _log_sum(values):
    top = values.max(axis=-1)
    return np.log(np.exp(values - top[..., None]).sum(axis=-1)) + top


def recall_and_precision(edges, true_edges):
    """Return the share of the true edges found, and the share of the found ones that are true."""
    found, true = (
        set(map(tuple, np.sort(edges, axis=1).tolist())),
        set(map(tuple, np.sort(true_edges, axis=1).tolist())),
    )
    hits = len(found & true)
    return hits / max(len(true), 1), hits / max(len(found), 1)

"""Graphs with labels or values for `streaming_gradraker.py`, and what a practitioner would use on them instead.

Baselines see the whole graph at once, with the nodes whose values are to be predicted; Gradraker sees each row once.
"""

import networkx as nx
import numpy as np
import pandas as pd
from data_folder import STREAMS
from scipy import sparse
from sklearn.linear_model import LogisticRegression

PENALTIES = 10.0 ** np.arange(-6, 3)


def read_email(directed=False):
    """Return the graph of e-mails and the department of each node."""
    graph = (nx.DiGraph if directed else nx.Graph)()
    graph.add_nodes_from(range(1005))
    graph.add_edges_from(pd.read_parquet(STREAMS / "email_eu_core_edges.parquet").to_numpy().tolist())
    return graph, pd.read_parquet(STREAMS / "email_eu_core_labels.parquet")["department"].to_numpy()


def read_cora():
    """Return the graph of citations and the class of each paper."""
    labels = pd.read_parquet(STREAMS / "cora_labels.parquet")["label"].to_numpy()
    graph = nx.empty_graph(len(labels))
    graph.add_edges_from(pd.read_parquet(STREAMS / "cora_edges.parquet").to_numpy().tolist())
    return graph, labels


def read_words():
    """Return the words of each paper of Cora, rows of zeros and ones."""
    table = pd.read_parquet(STREAMS / "cora_words.parquet")
    places = table["node"].to_numpy(), table["word"].to_numpy()
    return sparse.csr_array((np.ones(len(table)), places), shape=(2708, 1433))


def read_temperatures(n_neighbors=8):
    """Return the graph of nearest stations of each day, weights exp(-d^2 / (2 median d^2)), and both temperatures."""
    for _, day in pd.read_parquet(STREAMS / "us_station_temperature.parquet").groupby("day"):
        day = day.drop_duplicates(["longitude", "latitude"])
        places = day[["longitude", "latitude"]].to_numpy()
        flat = places * [np.cos(np.radians(places[:, 1].mean())), 1.0]
        squares = ((flat[:, None] - flat) ** 2).sum(axis=2)
        graph, nearest = nx.empty_graph(len(flat)), np.argsort(squares, axis=1)[:, 1 : n_neighbors + 1]
        scale = 2.0 * np.median(np.take_along_axis(squares, nearest, axis=1))
        for i, others in enumerate(nearest.tolist()):
            graph.add_weighted_edges_from((i, j, float(np.exp(-squares[i, j] / scale))) for j in others)
        yield graph, day[["max_temp", "min_temp"]].to_numpy()


def propagate_labels(A, Y, train, n_steps=200):
    """Return the scores (n, k) of neighbours' means with the labels Y of `train` clamped, after some steps."""
    scores = np.tile(Y[train].mean(axis=0), (len(Y), 1))
    shares = sparse.diags_array(1.0 / np.maximum(A.sum(axis=1), 1e-300)) @ A
    lone = A.sum(axis=1) == 0.0
    for _ in range(n_steps):
        scores[train] = Y[train]
        scores = np.where(lone[:, None], scores, shares @ scores)
    return scores


def spread_labels(A, Y, train, alpha=0.9):
    """Return the scores (I - alpha S)^-1 Y of label spreading with S = D^-1/2 A D^-1/2, by 200 steps."""
    roots = sparse.diags_array(1.0 / np.sqrt(np.maximum(A.sum(axis=1), 1e-300)))
    seeds, scores = np.zeros(Y.shape), np.zeros(Y.shape)
    seeds[train] = Y[train]
    spread = roots @ A @ roots
    for _ in range(200):
        scores = alpha * (spread @ scores) + seeds
    return scores


def average_neighbors(A, Y, train):
    """Return the weighted mean of labelled neighbours, that of all labels where there is none."""
    weights = sparse.csr_array(A[:, train])
    totals = weights.sum(axis=1)[:, None]
    return np.where(totals > 0.0, weights @ Y[train] / np.where(totals > 0.0, totals, 1.0), Y[train].mean(axis=0))


def sum_neighbors(A, Y, train):
    """Return the nearest neighbours of the source: labels weighted by 1 / (largest degree), or by a / sum a.

    Neighbours without labels count as 0.
    """
    degrees = np.diff(A.indptr)
    weighted = len(A.data) and (A.data != A.data[0]).any()
    totals = np.maximum(A.sum(axis=1), 1e-300) if weighted else np.full(A.shape[0], max(degrees.max(), 1))
    return sparse.csr_array(A[:, train] != 0 if not weighted else A[:, train]) @ Y[train] / totals[:, None]


class GraphKernels:
    """Kernels of the normalised Laplacian: exp(-s^2 L / 2), by variance, and projections on its first eigenvectors."""

    def __init__(self, A, variances=(1.0, 5.0, 10.0), bands=(10, 50)):
        roots = sparse.diags_array(1.0 / np.sqrt(np.maximum(A.sum(axis=1), 1e-300)))
        values, vectors = np.linalg.eigh(np.eye(A.shape[0]) - (roots @ A @ roots).toarray())
        self.kernels = {f"diffusion {s:g}": (vectors * np.exp(-0.5 * s * values)) @ vectors.T for s in variances}
        self.kernels |= {f"band {b}": vectors[:, :b] @ vectors[:, :b].T for b in bands if b <= len(vectors)}

    def predict(self, Y, train, centred=True):
        """Return the predictions of all kernels by their names."""
        more = "" if centred else ", not centred"
        return {f"{name}{more}": fit_ridge(kernel, Y, train, centred) for name, kernel in self.kernels.items()}


def compute_gaussian(rows, variance=5.0):
    """Return the kernel exp(-r^2 / variance) of unscaled rows, without random features, as the source has it."""
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    far = squares[:, None] + squares - 2.0 * (rows @ rows.T).toarray()
    return np.exp(-np.maximum(far, 0.0) / variance)


def fit_ridge(K, Y, train, centred=True):
    """Return kernel ridge predictions of all nodes, the penalty of least squared error when each label is left out."""
    mean = Y[train].mean(axis=0) if centred else 0.0
    values, vectors = np.linalg.eigh(K[np.ix_(train, train)])
    turned, best = vectors.T @ (Y[train] - mean), None
    for penalty in PENALTIES:
        shares = 1.0 / (np.maximum(values, 0.0) + penalty)
        dual = vectors @ (shares[:, None] * turned)
        error = np.mean((dual / ((vectors**2) @ shares)[:, None]) ** 2)
        if best is None or error < best[0]:
            best = error, dual
    return mean + K[:, train] @ best[1]


def fit_logistic(rows, y, train, C):
    """Return the labels that logistic regression on rows predicts."""
    return LogisticRegression(C=C, max_iter=300).fit(rows[train], y[train]).predict(rows)


def list_rows(graph, hops=(1, 2)):
    """Return the unit rows that Gradraker makes of nodes, sparse (n, n), of undirected graphs."""
    A = sparse.csr_array(nx.to_scipy_sparse_array(graph, dtype=float))
    shares = sparse.diags_array(1.0 / np.maximum(np.diff(A.indptr), 1)) @ A
    rows, reach = sparse.csr_array(A.shape), A
    for hop in range(1, max(hops) + 1):
        rows = rows + scale_rows(reach) if hop in hops else rows
        reach = sparse.csr_array(reach @ shares)
    return scale_rows(rows)


def scale_rows(rows):
    """Return rows of unit length; rows of zeros as they are."""
    lengths = np.sqrt(rows.multiply(rows).sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1.0 / np.where(lengths > 0.0, lengths, 1.0)) @ rows)

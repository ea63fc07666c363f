"""A slow bootstrap: frames with repeated rows, graphs by their names, dictionaries of shares."""

from itertools import combinations

import numpy as np


def resampled_frames(frame, n_resamples, seed):
    """Return the frames of resamples, the rows in their first order."""
    frames = []
    for b in range(n_resamples):
        frames.append(frame.iloc[np.sort(draw_rows(len(frame), seed, b))].reset_index(drop=True))
    return frames


def draw_rows(n_rows, seed, resample):
    """Return the rows of all draws of a resample, in the order of the draws."""
    numbers = np.random.Philox(key=[seed, resample]).random_raw(n_rows)
    return np.array([int((int(number) >> 11) / 2**53 * n_rows) for number in numbers])


def shares(names, graphs):
    """Return {pair: strength} and {(u, v): direction} of networkx graphs; opposite arcs are an undirected edge."""
    strength, direction = {}, {}
    for u, v in combinations(names, 2):
        joined = [g for g in graphs if g.has_edge(u, v) or g.has_edge(v, u)]
        strength[u, v] = len(joined) / len(graphs)
        if joined:
            forward = sum(g.has_edge(u, v) / (g.has_edge(u, v) + g.has_edge(v, u)) for g in joined)
            direction[u, v] = forward / len(joined)
            direction[v, u] = 1 - direction[u, v]
    return strength, direction


def threshold(strengths, n_graphs):
    """Return the threshold of Scutari and Nagarajan by trying many t; strengths of all pairs, zeros among them."""
    strengths = np.sort(np.asarray(strengths, dtype=float))
    knots = np.unique(np.concatenate([[0.0, 1.0], strengths]))
    steps = np.array([np.mean(strengths <= x) for x in knots[:-1]])

    def distance(t):
        return float(np.sum(np.abs(steps - t) * np.diff(knots)))

    tried = np.unique(np.concatenate([steps, [0.0]]))
    distances = np.array([distance(t) for t in tried])
    t = tried[np.flatnonzero(distances <= distances.min() + 1e-12)[-1]]
    quantile = min((x for x in knots if np.mean(strengths <= x) >= t - 1e-12), default=0.0)
    significant = strengths[strengths > quantile]
    return float(significant[0]) if len(significant) else 1.0

"""Lagged frames by pandas, and the best transition network by trying all of them."""

import itertools
import math

import numpy as np

from oracles.all_dags import all_dags


def lag_frame(frame, lags, groups=None, static=()):
    """Return the frame of all columns at the lags 0 to `lags`, named (name, lag), of the rows that have them all."""
    names = [name for name in frame.columns if name not in (groups, *static)]
    shifted = frame[names] if groups is None else frame.groupby(groups, sort=False)[names]
    columns = {
        (name, lag): (frame[name] if lag == 0 else shifted.shift(lag)[name])
        for lag in range(lags + 1)
        for name in names
    }
    columns |= {(name, 0): frame[name] for name in static}
    order = frame.groupby(groups, sort=False).cumcount() if groups is not None else np.arange(len(frame))
    rows = np.flatnonzero(np.asarray(order) >= lags)
    return {node: column.iloc[rows] for node, column in columns.items()}


def discrete_bic(lagged, child, parents, cards):
    """Return the BIC of a family of nodes, counted by pandas."""
    of_child = lagged[child]
    groups = of_child.groupby([lagged[parent] for parent in parents]) if parents else [((), of_child)]
    score = -0.5 * math.log(len(of_child)) * (cards[child[0]] - 1) * math.prod(cards[name] for name, _ in parents)
    for _, states in groups:
        counts = states.value_counts().to_numpy()
        score += float((counts * np.log(counts / counts.sum())).sum() if len(counts) else 0.0)
    return score


def gaussian_bic(lagged, child, parents, cards=None):
    """Return the BIC of a linear Gaussian family of nodes, by least squares."""
    y = lagged[child].to_numpy()
    design = np.column_stack([np.ones(len(y)), *(lagged[parent].to_numpy() for parent in parents)])
    residuals = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    variance = (residuals**2).mean()
    cost = 0.5 * math.log(len(y)) * (len(parents) + 2)
    return -0.5 * len(y) * (math.log(2 * math.pi * variance) + 1) - cost


def best_transition(lagged, names, bic, cards=None, *, instantaneous=False, static=()):
    """Return the largest score of a transition network, and its edges ((source, lag), (target, 0))."""
    past = [node for node in lagged if node[1] > 0 or node[0] in static]
    sets = [chosen for k in range(len(past) + 1) for chosen in itertools.combinations(past, k)]
    best_of = {}

    def find_best(target, same_row):
        key = target, same_row
        if key not in best_of:
            fixed = tuple((name, 0) for name in same_row)
            best_of[key] = max((bic(lagged, (target, 0), fixed + chosen, cards), fixed + chosen) for chosen in sets)
        return best_of[key]

    found = []
    for edges in all_dags(len(names)) if instantaneous else [[]]:
        families = [
            find_best(target, tuple(names[tail] for tail, head in edges if head == v)) for v, target in enumerate(names)
        ]
        graph = {(parent, (target, 0)) for target, (_, of_it) in zip(names, families, strict=True) for parent in of_it}
        found.append((sum(score for score, _ in families), graph))
    return max(found, key=lambda pair: pair[0])

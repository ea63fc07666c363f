"""Scores of families with row weights, missing values, a prior network, or Gaussian variables, the slow way.

Data are ``codes`` of shape (n_variables, n_rows) and ``cards`` as in ``family_scores``, or ``rows`` of numbers of shape
(n_rows, n_variables). Logarithms are natural.
"""

import itertools
import math

import numpy as np

from .family_scores import FORMULAS, Family, log_sets


def weighted_tables(codes, cards, child, parents, weights):
    """Return {parent configuration: array of r sums of weights}, those of weight zero left out."""
    tables = {}
    for row, weight in enumerate(weights):
        if weight > 0:
            configuration = tuple(int(codes[p][row]) for p in parents)
            tables.setdefault(configuration, np.zeros(cards[child]))[codes[child][row]] += weight
    return tables


def weighted_score(codes, cards, child, parents, weights, score="bic", *, ess=10.0):
    """Return a score of ``family_scores`` with sums of weights for counts."""
    tables = list(weighted_tables(codes, cards, child, parents, weights).values())
    q = math.prod(cards[p] for p in parents)
    return FORMULAS[score](Family(tables, q, cards[child], sum(weights), ess, len(parents), len(cards) - 1))


def node_average(codes, cards, child, parents, missing, cost):
    """Return the node-average score; ``missing[v]`` is the code of missing values, no state, or -1.

    Each parent is judged together with the earlier ones on the rows that are complete with it, the parents in
    descending order of what each gains alone; ``cost(n)`` is what a parameter costs that n rows are informative about.
    """
    cards = [r - (code >= 0) for r, code in zip(cards, missing, strict=True)]
    parents = sorted(p for p in parents if cards[p] > 1)

    def average(known, of):
        """Return the penalised likelihood of the child given `known`, a row of those complete in `of`, for all rows."""
        complete = np.all([codes[v] != missing[v] for v in (child, *of)], axis=0)
        n = int(complete.sum())
        if n == 0:
            return -math.inf
        tables = weighted_tables(codes[:, complete], cards, child, known, np.ones(n)).values()
        free = math.prod(cards[p] for p in known) * (cards[child] - 1)
        return codes.shape[1] / n * (math.fsum(map(_entropy, tables)) - cost(n) * free)

    def gain(before, parent):
        return average([*before, parent], [*before, parent]) - average(before, [*before, parent])

    if average(parents, parents) == -math.inf:
        return -math.inf
    order = sorted(parents, key=lambda p: -gain([], p))
    return average([], []) + math.fsum(gain(order[:k], p) for k, p in enumerate(order))


def bde(codes, cards, child, parents, probability, ess):
    """Return the BDe score; ``probability(states)`` is that of a full tuple of states of all variables."""
    tables = weighted_tables(codes, cards, child, parents, np.ones(codes.shape[1]))
    weights = {}
    for states in itertools.product(*map(range, cards)):
        configuration = tuple(states[p] for p in parents)
        weights.setdefault(configuration, np.zeros(cards[child]))[states[child]] += ess * probability(states)
    return math.fsum(_dirichlet(table, weights[configuration]) for configuration, table in tables.items())


def bge_score(rows, child, parents, *, mean_sample_size=1.0, wishart_sample_size=None, prior_mean=None):
    """Return BGe as Kuipers, Moffa and Heckerman (2014) write it: a ratio of densities of sets of columns.

    The density of m of p columns under the normal-Wishart prior is a multivariate t in all rows at once, here as a sum
    over the rows one after the other, each given those before it; no determinant of the whole table is taken.
    """

    def log_density(columns):
        """Return the sum of log multivariate t densities, the hyperparameters updated row by row."""
        m, p = len(columns), rows.shape[1]
        mu, w = mean_sample_size, p + 2 if wishart_sample_size is None else wishart_sample_size
        nu = rows.mean(axis=0) if prior_mean is None else np.asarray(prior_mean, dtype=float)
        scale = mu * (w - p - 1) / (mu + 1) * np.eye(m)
        nu, w, total = nu[columns], w - p + m, 0.0
        for row in rows[:, columns]:
            degrees = w - m + 1
            spread = scale * (mu + 1) / (mu * degrees)
            gap = row - nu
            total += math.lgamma((degrees + m) / 2) - math.lgamma(degrees / 2) - m / 2 * math.log(degrees * math.pi)
            total -= np.linalg.slogdet(spread)[1] / 2
            total -= (degrees + m) / 2 * math.log1p(gap @ np.linalg.solve(spread, gap) / degrees)
            scale = scale + mu / (mu + 1) * np.outer(gap, gap)
            nu, mu, w = (mu * nu + row) / (mu + 1), mu + 1, w + 1
        return total

    parents = list(parents)
    return log_density([*parents, child]) - (log_density(parents) if parents else 0.0)


def gaussian_score(rows, child, parents, cost=0.0, weights=None):
    """Return the score of a linear Gaussian family by a regression, `cost` for each free parameter."""
    weights = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=float)
    design = np.column_stack([np.ones(len(rows)), rows[:, list(parents)]])
    # columns of one size: the regression is not to lose digits to their units
    middle = np.concatenate([[0.0], rows[:, list(parents)].mean(axis=0)])
    design = (design - middle) / np.concatenate([[1.0], rows[:, list(parents)].std(axis=0)])
    root = np.sqrt(weights)
    target = rows[:, child] - rows[:, child].mean()
    solution = np.linalg.lstsq(design * root[:, None], target * root, rcond=None)[0]
    n = weights.sum()
    variance = (weights * (target - design @ solution) ** 2).sum() / n
    return -n / 2 * (math.log(2 * math.pi * variance) + 1) - cost * (len(parents) + 2)


#: The Gaussian scores by name, as functions of rows, child and parents. A new score is entered here.
GAUSSIAN_FORMULAS = {
    "ll-g": gaussian_score,
    "aic-g": lambda rows, child, parents: gaussian_score(rows, child, parents, 1.0),
    "bic-g": lambda rows, child, parents: gaussian_score(rows, child, parents, 0.5 * math.log(len(rows))),
    "ebic-g": lambda rows, child, parents: (
        gaussian_score(rows, child, parents, 0.5 * math.log(len(rows))) - log_sets(rows.shape[1] - 1, len(parents))
    ),
    "bge": bge_score,
}


def _entropy(table):
    return math.fsum(x * math.log(x / table.sum()) for x in table if x > 0)


def _dirichlet(table, weights):
    rising = [math.lgamma(a + x) - math.lgamma(a) for x, a in zip(table, weights, strict=True)]
    return math.fsum([*rising, math.lgamma(weights.sum()) - math.lgamma(weights.sum() + table.sum())])

"""Script: print what the kernels compute on fixed data, to the last bit, as one line of JSON.

Run in a process of its own by ``test_simd_levels.py``, once for each level of ``PGMX_SIMD``.
"""

import hashlib
import json

import numpy as np

from helpers.bare_climb import hill_climb
from helpers.coded_tables import SCORES, make_scorer, pair_table, random_codes, rescore, start
from helpers.conditional_rows import Case
from helpers.correlation_matrices import correlation
from helpers.lasso_kernels import neighborhoods, start_ascent
from pgmx._ext import _counts, _ranks
from pgmx._ext._clime import Paths
from pgmx.data import DiscreteTable
from pgmx.search.dag.state import ClimbLimits
from pgmx.statistics import PairTables, kendall_tau_matrix, spearman
from pgmx.streaming import AdaRakerRegressor, GradrakerClassifier, GradrakerRegressor, RakerClassifier

# rows around the words and vectors, rows read in blocks, the two sizes at which lists of rows begin to pay later, and
# columns of one observed state, whose planes are full
TABLES = [
    ([2, 3, 5, 2, 4, 3], None, 63),
    ([2, 3, 1, 2, 4, 3], None, 511),
    ([2, 3, 5, 2, 4, 3, 2, 2, 7, 2, 3, 3], None, 5_000),
    ([2, 2, 3, 2, 2], [1, 1, 1, 2, 1], 20_000),
    ([20, 20, 3, 2, 270], None, 45_000),
    ([4, 6, 3, 2], None, 270_000),
]
WALK = [[1], [1, 2], [1, 2, 3], [1, 3], [1, 3], [2, 3], [3], []]
CONDITIONALS = [[3, 2, 4, 5, 2], [16, 17, 2, 20, 3], [300, 2, 17, 5, 300]]


def digest_of(*arrays):
    """Return a digest of every bit of the arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def digest_families(codes, cards, score, pairs):
    """Return one number and a digest of all gains and scores of a walk."""
    scorer = make_scorer(codes, cards, score, pairs=pairs)
    arrays = list(start(scorer))
    for parents in WALK:
        total, row = rescore(scorer, 0, parents)
        arrays += [np.array([total]), row]
    return float(arrays[2][0]).hex(), digest_of(*arrays)


def digest_climb(codes, cards, score):
    """Return the edges of a climb and its scores after each move."""
    n = len(cards)
    limits = ClimbLimits(epsilon=1e-4, max_iter=200, max_indegree=n, tabu_length=10, patience=2)
    result = hill_climb(make_scorer(codes, cards, score), n, limits, priority=np.arange(n))
    return result.edges.tolist(), [score.hex() for score in result.history["score"].tolist()]


def digest_tables(rng):
    for cards, observed, n_rows in TABLES:
        codes = random_codes(rng, cards, n_rows, observed=observed)
        planes, offsets = _counts.pack_planes(codes, np.array(cards))
        name = f"{len(cards)} variables, {n_rows} rows: "
        yield name + "counts", digest_of(planes, _counts.count_planes(planes), np.triu(pair_table(planes, offsets)))
        table = DiscreteTable(range(len(cards)), [range(r) for r in cards], codes)
        pairs = np.column_stack(np.triu_indices(len(cards), 1))
        yield name + "pair tables", digest_of(PairTables(table).flat(pairs)[0])
        for score in SCORES:
            yield name + score, [digest_families(codes, cards, score, pairs) for pairs in (True, False)]
            if n_rows <= 5_000:
                yield name + "climb by " + score, digest_climb(codes, cards, score)


def digest_ranks(rng):
    for n, p in ((50, 30), (700, 13), (9_000, 4)):
        X = rng.normal(size=(n, p)) + rng.normal(size=(n, 1))
        X[:, 1::3] = np.round(2 * X[:, 1::3])
        X[:, 2::3][rng.random(X[:, 2::3].shape) < 0.2] = np.nan
        yield f"Kendall's tau of {n} rows", digest_of(kendall_tau_matrix(X, missing="pairwise"))
        yield f"Spearman's rho of {n} rows", digest_of(spearman(X, missing="pairwise"))


def compute_conditionals(rng):
    """Yield the digest of what steps read, and the sum of logarithms itself: the levels share out the doubles of it."""
    edges = [(0, 1), (1, 2), (0, 2), (2, 3)]
    for cards in CONDITIONALS:
        for n_rows in (17, 4_096 + 9):
            case = Case(rng, cards, edges, n_rows, weighted=n_rows == 17)
            case.rebuild()
            loss = case.kernel.losses(range(len(cards))).sum()
            gradients = case.measure(edges)
            case.descend(np.full(len(edges), 0.02))
            yield f"conditionals of {cards}, {n_rows} rows", digest_of(gradients, case.parameters), loss


def digest_lasso():
    R = correlation(45, 60, 5)
    ascent = start_ascent(R, 0.1, "soft")
    for _ in range(3):
        ascent.sweep(0.1, 1e-6, 10, 0, len(ascent.dual), 0.0)
    yield "sweeps of the graphical lasso", digest_of(ascent.dual)
    yield "neighbourhoods", digest_of(*neighborhoods(R, [0.4, 0.1, 0.01]))


def digest_clime():
    R = correlation(40, 30, 6)
    for ridge in (0.0, 0.3):
        paths = Paths(R, np.arange(len(R)), np.array([0.6, 0.3, 0.15, 0.05]), ridge, np.inf, 10_000)
        paths.advance(np.inf)
        arrays = (*paths.pop_entries(), paths.counts, paths.violations, paths.gaps, paths.pivots)
        yield f"paths of CLIME, ridge {ridge}", digest_of(*arrays)


def digest_streams(rng):
    X = rng.normal(size=(90, 11)) * (rng.random((90, 11)) < 0.6)
    y = np.round(X[:, 0] + X[:, 1])
    for cls in (AdaRakerRegressor, RakerClassifier, GradrakerRegressor, GradrakerClassifier):
        more = {"classes": np.unique(y)} if cls in (RakerClassifier, GradrakerClassifier) else {}
        for n_components in (1, 7, 50):
            learner = cls(n_components=n_components)
            predictions = learner.predict_partial_fit(X, y, **more)
            name = f"{cls.__name__} of {n_components} frequencies"
            yield name, digest_of(predictions, *learner._pack_state().values())


def main():
    digests = dict(digest_tables(np.random.default_rng(20240229)))
    digests.update(digest_ranks(np.random.default_rng(7)))
    digests.update(digest_lasso())
    digests.update(digest_clime())
    digests.update(digest_streams(np.random.default_rng(9)))
    losses = {}
    for name, digest, loss in compute_conditionals(np.random.default_rng(8)):
        digests[name], losses[name] = digest, loss
    print(json.dumps({"levels": [_counts.SIMD_LEVEL, _ranks.SIMD_LEVEL], "digests": digests, "losses": losses}))


if __name__ == "__main__":
    main()

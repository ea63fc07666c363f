"""Script: print what the kernels compute on fixed data, to the last bit, as one line of JSON.

Run in a process of its own by ``test_simd_levels.py``, once for each level of ``PGMX_SIMD``.
"""

import hashlib
import json

import numpy as np

from helpers.bare_climb import hill_climb
from helpers.coded_tables import SCORES, make_scorer, pair_table, random_codes, rescore, start
from pgmx._ext import _counts
from pgmx.data import DiscreteTable
from pgmx.search.dag.course import ClimbLimits
from pgmx.statistics import PairTables

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


def bits(*arrays):
    """Return a digest of every bit of the arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def family_bits(codes, cards, score, pairs):
    """Return one number as it stands and a digest of all gains and scores of a walk."""
    scorer = make_scorer(codes, cards, score, pairs=pairs)
    found = list(start(scorer))
    for parents in WALK:
        total, row = rescore(scorer, 0, parents)
        found += [np.array([total]), row]
    return float(found[2][0]).hex(), bits(*found)


def climbed(codes, cards, score):
    """Return the edges of a climb and its scores after each move."""
    n = len(cards)
    limits = ClimbLimits(epsilon=1e-4, max_iter=200, max_indegree=n, tabu_length=10, patience=2)
    result = hill_climb(make_scorer(codes, cards, score), n, limits, priority=np.arange(n))
    return result.edges.tolist(), [score.hex() for score in result.history["score"].tolist()]


def main():
    rng = np.random.default_rng(20240229)
    found = {}
    for cards, observed, n_rows in TABLES:
        codes = random_codes(rng, cards, n_rows, observed=observed)
        planes, offsets = _counts.pack_planes(codes, np.array(cards))
        key = f"{len(cards)} variables, {n_rows} rows"
        found[key] = {"counts": bits(planes, _counts.count_planes(planes), np.triu(pair_table(planes, offsets)))}
        table = DiscreteTable(range(len(cards)), [range(r) for r in cards], codes)
        found[key]["pair tables"] = bits(PairTables(table).flat(np.column_stack(np.triu_indices(len(cards), 1)))[0])
        for score in SCORES:
            found[key][score] = [family_bits(codes, cards, score, pairs) for pairs in (True, False)]
        if n_rows <= 5_000:
            found[key]["climbs"] = {score: climbed(codes, cards, score) for score in SCORES}
    print(json.dumps({"level": _counts.SIMD_LEVEL, "found": found}))


if __name__ == "__main__":
    main()

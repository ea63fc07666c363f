"""What the tests of the climb share: exact scores, default limits, random problems."""

import itertools

import numpy as np
from hypothesis import strategies as st

from helpers.bare_climb import hill_climb
from pgmx.scores.gains import FunctionGains
from pgmx.search.dag.state import ClimbLimits


def limits(n, **changes):
    default = {
        "epsilon": 1e-4,
        "max_iter": 5000,
        "max_indegree": n,
        "tabu_length": 100,
        "patience": 0,
    }
    return ClimbLimits(**{**default, **changes})


def integer_score(seed, spread=6):
    """Return an arbitrary local score of small integers: many moves tie, and sums are exact."""
    known = {}

    def local_score(child, parents):
        family = (child, *sorted(parents))
        if family not in known:
            known[family] = int(np.random.default_rng([seed, *family, 9]).integers(-spread, spread + 1))
        return known[family]

    return local_score


def graph_score(local_score, n, edges):
    return sum(local_score(v, [tail for tail, head in edges if head == v]) for v in range(n))


def climb_integers(seed, n, **changes):
    return hill_climb(FunctionGains(n, integer_score(seed)), n, limits(n, **changes), priority=np.arange(n))


@st.composite
def problems(draw):
    """Return ``(n, local score, options of the climb)``."""
    seed = draw(st.integers(0, 2**20), label="seed")
    rng = np.random.default_rng(seed)
    n = draw(st.integers(1, 5), label="n")
    order = rng.permutation(n)
    pairs = [(int(order[i]), int(order[j])) for i, j in itertools.combinations(range(n), 2)]
    start = [pairs[i] for i in rng.permutation(len(pairs))[: draw(st.integers(0, n), label="start")]]
    allowed = (rng.random((n, n)) < 0.7).astype(np.uint8) if draw(st.booleans(), label="allowed") else None
    options = {
        "max_indegree": draw(st.sampled_from([1, 2, n]), label="max_indegree"),
        "tabu_length": draw(st.sampled_from([0, 1, 3, 100]), label="tabu_length"),
        "allowed": allowed,
        "start": start,
        "required": start[: draw(st.integers(0, len(start)), label="required")],
        "priority": rng.permutation(n),
        "bonus": draw(st.sampled_from([(0.0, 0.0, 0.0), (-1.0, 1.0, 0.0), (1.5, -1.5, 0.0)]), label="bonus"),
    }
    return n, integer_score(seed, draw(st.sampled_from([1, 6]), label="spread")), options


def arcs(edges):
    return np.array(edges, dtype=np.int64).reshape(-1, 2)

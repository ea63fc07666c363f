"""The order of ties: variables with more partners first, the given permutation among equals."""

import numpy as np
import pandas as pd

from pgmx.estimators import HillClimbSearch
from pgmx.search.dag.state import rank_by_partners


def test_more_partners_go_first():
    gains = np.full((4, 4), -1.0)
    np.fill_diagonal(gains, -np.inf)
    for child, parent in [(2, 0), (2, 1), (2, 3), (0, 2), (1, 2), (3, 2)]:
        gains[child, parent] = 5.0
    assert rank_by_partners(gains, np.array([2, 0, 3, 1])).tolist() == [3, 1, 0, 2]  # 2 first, then 1, 3, 0


def test_without_gains_the_permutation_stands():
    permutation = np.array([2, 0, 1])
    assert rank_by_partners(np.full((3, 3), -np.inf), permutation).tolist() == permutation.tolist()


def test_arcs_lead_into_the_hub(rng):
    """The hub depends on three independent coins: the first arc leads into it, for any random_state."""
    coins = rng.integers(0, 2, (3, 600))
    hub = np.where(rng.random(600) < 0.9, coins.T @ [4, 2, 1], rng.integers(0, 8, 600))
    frame = pd.DataFrame({"a": coins[0], "hub": hub, "b": coins[1], "c": coins[2]})
    for state in range(6):
        first = HillClimbSearch(return_type="dag", max_iter=1, random_state=state).fit(frame).dag_.edges
        assert [head for _, head in first] == ["hub"]

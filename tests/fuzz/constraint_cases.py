"""Cases of learners that test conditional independence."""

import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from pgmx.estimators import FCI, MMHC, PC, RFCI, HybridSearch, MarkovBlanket
from pgmx.metrics import MarkScores, arrowhead_scores, tail_scores
from pgmx.models import PAG
from tests.fuzz.calls import Arguments
from tests.fuzz.cases import Case, entry, fault, pick
from tests.fuzz.frames import draw_codes

LEARNERS = {cls.__name__: cls for cls in (PC, FCI, RFCI, MMHC, HybridSearch, MarkovBlanket)}
TESTS = ["chi_square", "chi_square_moments", "g_sq", "mixed", None]


@entry("constraint_based", 3.0)
def draw_learner(rng: np.random.Generator) -> Case:
    """Return a case of a learner of discrete data, in two orders of the columns."""
    name = pick(rng, list(LEARNERS))
    n, n_rows = int(rng.integers(2, 6)), int(pick(rng, [5, 40, 200]))
    frame = pd.DataFrame(draw_codes(rng, n, n_rows).T.astype(int), columns=[f"x{v}" for v in range(n)])
    options: Arguments = {"significance_level": pick(rng, [0.01, 0.2]), "ci_test": pick(rng, TESTS)}
    kind = pick(rng, ["", "", "", "level", "test", "size"])
    faults = []
    if kind == "level":
        options["significance_level"] = pick(rng, [0, 1.5, -1])
        faults = [fault("significance_level")]
    elif kind == "test":
        options["ci_test"], faults = "nothing", [fault("nothing")]
    elif kind == "size":
        options["max_cond_vars"], faults = -1, [fault("max_cond_vars")]

    def call(folder: Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of constant columns and functions of others
            shuffled = frame[[*frame.columns[::-1]]]
            return [LEARNERS[name](**options).fit(table) for table in (frame, shuffled)]

    def check(result: Any) -> None:
        first, second = (learner.graph_ for learner in result)
        assert set(first.nodes) == set(second.nodes) == set(frame.columns)
        if name in ("FCI", "RFCI"):
            assert isinstance(first, PAG)
            for scores in (arrowhead_scores(first, second), tail_scores(first, second)):
                assert isinstance(scores, MarkScores)
                assert np.isnan(scores.precision) or scores.precision == 1
        if name not in ("MMHC", "HybridSearch"):  # equal scores of directions are ordered by columns
            assert nx.utils.graphs_equal(nx.Graph(first.edges), nx.Graph(second.edges))

    return Case("", call, check, faults, plan=f"{name} {kind} {options} {n_rows} rows of {n}")

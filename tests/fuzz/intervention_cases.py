"""Cases of searches over data in which variables were set."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pgmx import estimators
from pgmx.scores import UniformPrior
from tests.fuzz.cases import Case, Fault, entry, fault, pick
from tests.oracles.family_scores import FORMULAS, Family, family_counts

SCORES = sorted(FORMULAS)


def draw_targets(rng: np.random.Generator, n_rows: int, n: int) -> np.ndarray:
    """Return which variables were set in each row, bool (n_rows, n); no variable was set in every row."""
    sets = rng.random((int(rng.integers(1, 4)), n)) < 0.3
    was_set = np.vstack([sets, np.zeros((1, n), dtype=bool)])[rng.integers(0, len(sets) + 1, n_rows)]
    was_set[rng.integers(n_rows)] = False
    return was_set


@entry("estimators.interventions", 2.0)
def draw_interventions(rng: np.random.Generator) -> Case:
    """Return a search over discrete data, whose score is computed again from the rows of each family."""
    n, n_rows = int(rng.integers(1, 5)), int(rng.integers(5, 60))
    names = [pick(rng, [f"v{v}", v, f"v {v}"]) for v in range(n)]
    cards = rng.integers(1, 4, n)
    codes = np.array([rng.integers(0, card, n_rows) for card in cards])
    frame = pd.DataFrame(
        {
            name: pd.Categorical.from_codes(own, list(range(card)))
            for name, own, card in zip(names, codes, cards, strict=True)
        }
    )
    was_set = draw_targets(rng, n_rows, n)
    score, name = pick(rng, SCORES), pick(rng, ["HillClimbSearch", "GreedyEquivalenceSearch", "BestFirstSearch"])
    options: dict[str, Any] = {"scoring_method": score, "structure_prior": UniformPrior(), "show_progress": False}
    faults: list[Fault] = []
    given: Any = pd.DataFrame(was_set, columns=pd.Index(names, tupleize_cols=False))
    how = pick(rng, ["frame", "array", "column", "column", "names", "rows", "numbers", "cells"])
    if how == "array":
        given = was_set
    elif how == "names":
        given, faults = given.assign(nobody=False), [fault("nobody")]
    elif how == "rows":
        given, faults = given.iloc[1:], [fault("interventions must have the shape")]
    elif how == "numbers":
        given, faults = given.astype(float), [fault("booleans")]
    elif how in ("column", "cells"):
        cells = [[names[v] for v in np.flatnonzero(row)] or None for row in was_set]
        if how == "cells":
            cells[0], faults = ["nobody"], [fault("nobody")]
        frame, given = frame.assign(target=pd.Series(cells, dtype=object)), None
        options["interventions"] = "target"

    def call(folder: Path) -> Any:
        return getattr(estimators, name)(**options).fit(frame, interventions=given)

    def check(learner: Any) -> None:
        assert learner.variables_ == names
        total = 0.0
        for v in range(n):
            parents = sorted(tail for tail, head in learner.edges_.tolist() if head == v)
            tables = list(family_counts(codes[:, ~was_set[:, v]], cards, v, parents).values())
            q = math.prod(int(cards[p]) for p in parents)
            # equivalent sample size 10, as in the learner
            total += FORMULAS[score](Family(tables, q, int(cards[v]), n_rows, 10.0, len(parents), n - 1))
        assert math.isclose(learner.score_, total, rel_tol=1e-7, abs_tol=1e-5)

    return Case("", call, check, faults, plan=f"{name}, {how}, {score}, {cards}, {n_rows} rows")

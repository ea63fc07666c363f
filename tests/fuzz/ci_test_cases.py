"""Cases of tests of conditional independence."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pgmpy.independencies import Independencies

from pgmx.ci_tests import (
    ChiSquare,
    CITest,
    FisherZ,
    GSq,
    GSquare,
    IndependenceMatch,
    MixedRegression,
    Pearsonr,
    get_ci_test,
)
from tests.fuzz.calls import Arguments
from tests.fuzz.cases import Case, chance, entry, fault, pick
from tests.fuzz.frames import draw_codes
from tests.fuzz.oracles import is_close
from tests.oracles.independence import test_discrete

#: Tests by name, and the kind of the oracle.
KINDS = {"chi_square": "pearson", "chi_square_moments": "moments", "g_sq": "g_square"}
CLASSES = {"chi_square": ChiSquare, "chi_square_moments": ChiSquare, "g_sq": GSquare, "fisher_z": FisherZ}
CLASSES |= {"pearsonr": Pearsonr, "mixed": MixedRegression}


def draw_rows(rng: np.random.Generator, name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a frame that a test accepts, and the codes of its discrete columns."""
    n_rows = int(pick(rng, [2, 3, 9, 64, 300]))
    codes = draw_codes(rng, 5, n_rows)
    frame = pd.DataFrame(codes.T.astype(int), columns=[f"x{v}" for v in range(5)])
    if name in ("fisher_z", "pearsonr", "mixed"):
        for column in frame.columns[: 5 if name != "mixed" else int(rng.integers(1, 5))]:
            frame[column] = frame[column] + rng.normal(size=n_rows)
    return frame, codes


@entry("ci_tests", 3.0)
def draw_ci_test(rng: np.random.Generator) -> Case:
    """Return a case of a test by its name or class."""
    name = pick(rng, list(CLASSES))
    frame, codes = draw_rows(rng, name)
    order = rng.permutation(5).tolist()
    z = order[2 : 2 + int(rng.integers(0, 4))]
    given: Any = [f"x{v}" for v in z]
    X, Y, level = f"x{order[0]}", f"x{order[1]}", 0.05
    kind = pick(rng, ["", "", "", "", "itself", "inside", "unknown", "level", "text"])
    faults = []
    if kind == "itself":
        X, faults = Y, [fault("different", Y)]
    elif kind == "inside":
        given, faults = [*given, X], [fault(X)]
    elif kind == "unknown":
        Y, faults = "nothing", [fault("nothing")]
    elif kind == "level":
        level, faults = pick(rng, [0, 1, -0.5, float("nan")]), [fault("significance_level")]
    elif kind == "text":
        given, faults = "x0", [fault("Z")]
    options: Arguments = {"calibration": "moments"} if name == "chi_square_moments" else {}
    by_name = chance(rng, 0.5)

    def call(folder: Path) -> Any:
        test = get_ci_test(name, frame) if by_name else CLASSES[name](frame, **options)
        assert isinstance(test, CITest)
        return test(X, Y, given, significance_level=level), test.run_test(Y, X, given), test.test_many(X, [Y], given)

    def check(result: Any) -> None:
        answer, (statistic, p_value), rows = result
        assert np.isnan(p_value) or 0 <= p_value <= 1
        assert answer == (p_value >= level)
        assert is_close(rows["p_value"], [p_value], atol=1e-9) or np.isnan(p_value)
        if name in KINDS:
            expected = test_discrete(KINDS[name], codes[order[0]].astype(int), codes[order[1]].astype(int), codes[z])
            assert is_close(statistic, expected[0], atol=1e-8), (statistic, expected)
            assert is_close(p_value, expected[2], atol=1e-8), (p_value, expected)

    return Case("", call, check, faults, plan=f"{name} {kind} {X} {Y} {given} {len(frame)} rows {level}")


@entry("ci_tests.IndependenceMatch", 0.5)
def draw_match(rng: np.random.Generator) -> Case:
    """Return a case of a look-up of known independences."""
    known = chance(rng, 0.7)
    independences = Independencies(["a", "b", ["c"]]) if known else None

    def call(folder: Path) -> Any:
        assert GSq is GSquare
        test = IndependenceMatch(independences)
        return test("b", "a", ["c"]), test("a", "b", [])

    def check(result: Any) -> None:
        assert result == (True, False)

    return Case("", call, check, [] if known else [fault("independencies")], plan=f"known {known}")

"""Scores of a small table against figures of pgmpy and pyagrum; ``pin_scores.py`` made them."""

import pandas as pd
import pytest

from pgmx.scores import AIC, BIC, K2, AICGauss, BDeu, BDs, BICGauss, LogLikelihood, LogLikelihoodGauss
from scores.pin_scores import FAMILIES, numbers, rows

# pgmpy 1.1.2, families in the order of FAMILIES
PGMPY = {
    "ll": (-166.3553233343869, -262.1723064563953, -324.49000047129283, -149.7546545871795),
    "aic": (-167.3553233343869, -266.1723064563953, -336.49000047129283, -173.7546545871795),
    "bic": (-169.0956427960579, -273.13358430307926, -357.3738340113448, -215.5223216672834),
    "k2": (-168.87296778990913, -270.03879648643203, -342.5456345934762, -175.06115092680335),
    "bdeu": (-169.32247581235526, -275.0143129416021, -366.68819148949115, -245.9825318735407),
}

PGMPY["bds"] = PGMPY["bdeu"]  # all configurations occur

PGMPY_GAUSSIAN = {
    LogLikelihoodGauss: (-607.4402191368379, -1381.9453874826131, -809.7002279487396, -11.973849308016664),
    AICGauss: (-609.4402191368379, -1384.9453874826131, -813.7002279487396, -16.973849308016664),
    BICGauss: (-612.9208580601799, -1390.1663458676262, -820.6615057954235, -25.675446616371644),
}

# pyagrum 3.3.1, where it agrees with pgmpy
PYAGRUM = {
    "ll": (-166.3553233343871, -262.1723064563952, -324.4900004712928, -149.7546545871795),
    "bic": (-169.0956427960581, -273.13358430307915, -357.37383401134474, -215.5223216672834),
    "k2": (-168.8729682017906, -270.03879548116777, -342.5456323122716, -175.06114379125952),
}

CLASSES = {"ll": LogLikelihood, "aic": AIC, "bic": BIC, "k2": K2, "bdeu": BDeu, "bds": BDs}


@pytest.fixture(scope="module", params=["text", "integers", "categories"])
def frame(request):
    """The table as text, as integers, and as categories."""
    table = pd.DataFrame(rows(), columns=list("ABCD"))
    return {"text": table.astype(str), "integers": table, "categories": table.astype("category")}[request.param]


def local_scores(name, frame):
    options = {"equivalent_sample_size": 1} if name in ("bdeu", "bds") else {}
    score = CLASSES[name](frame, **options)
    return [score.local_score(*family) for family in FAMILIES]


@pytest.mark.parametrize("name", PGMPY)
def test_pgmpy(name, frame):
    assert local_scores(name, frame) == pytest.approx(PGMPY[name], rel=1e-10)


@pytest.mark.parametrize("name", PYAGRUM)
def test_pyagrum(name, frame):
    # pyagrum approximates log-gamma: its K2 holds 7 digits
    assert local_scores(name, frame) == pytest.approx(PYAGRUM[name], rel=1e-7 if name == "k2" else 1e-10)


@pytest.mark.parametrize("score", PGMPY_GAUSSIAN)
def test_pgmpy_gaussian(score):
    mine = score(pd.DataFrame(numbers(), columns=list("ABCD")))
    assert [mine.local_score(*family) for family in FAMILIES] == pytest.approx(PGMPY_GAUSSIAN[score], rel=1e-8)

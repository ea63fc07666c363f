"""Tests of conditional independence, with the interface of pgmpy's tests.

- `registry`: the tests by name
- `base`: the interface of a test object
- `discrete`, `continuous`, `mixed`: tests of discrete, continuous and mixed data
- `choice`: a test object by its name or for the kind of the data
- `sources`: tests of the variables of a table by ids, which searches ask
"""

from typing import TYPE_CHECKING

from pgmx.lookup import import_on_demand

if TYPE_CHECKING:
    from pgmx.ci_tests.base import CITest as CITest
    from pgmx.ci_tests.choice import IndependenceMatch as IndependenceMatch
    from pgmx.ci_tests.choice import get_ci_test as get_ci_test
    from pgmx.ci_tests.continuous import FisherZ as FisherZ
    from pgmx.ci_tests.continuous import Pearsonr as Pearsonr
    from pgmx.ci_tests.discrete import ChiSquare as ChiSquare
    from pgmx.ci_tests.discrete import GSq as GSq
    from pgmx.ci_tests.discrete import GSquare as GSquare
    from pgmx.ci_tests.mixed import MixedRegression as MixedRegression

_HOMES = {
    "CITest": "pgmx.ci_tests.base",
    "ChiSquare": "pgmx.ci_tests.discrete",
    "FisherZ": "pgmx.ci_tests.continuous",
    "GSq": "pgmx.ci_tests.discrete",
    "GSquare": "pgmx.ci_tests.discrete",
    "IndependenceMatch": "pgmx.ci_tests.choice",
    "MixedRegression": "pgmx.ci_tests.mixed",
    "Pearsonr": "pgmx.ci_tests.continuous",
    "get_ci_test": "pgmx.ci_tests.choice",
}

if not TYPE_CHECKING:
    __getattr__, __dir__ = import_on_demand(__name__, _HOMES)
    __all__ = sorted(_HOMES)

"""``StructureEstimator``, the base class of pgmpy for every structure learner, as long as pgmpy has it.

It is imported only here. ``pgmpy.estimators`` warns about a move that our users cannot influence, and pgmpy.inference
imports it too. After the first import here, users do not see the warning.
"""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any


class NoStructureEstimator:
    """Base of the learners under a version of pgmpy that has no ``StructureEstimator``."""


def _find_structure_estimator() -> Any:
    try:
        module = import_module("pgmpy.estimators")
    except ModuleNotFoundError as error:
        if error.name != "pgmpy.estimators":  # pgmpy has the module, but a package that it needs is missing
            raise
        return NoStructureEstimator
    return getattr(module, "StructureEstimator", NoStructureEstimator)


if TYPE_CHECKING:
    from pgmpy.estimators import StructureEstimator
else:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        StructureEstimator = _find_structure_estimator()

__all__ = ["StructureEstimator"]

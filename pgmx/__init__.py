"""Fast structure learning of probabilistic graphical models, for pgmpy users.

Use ``from pgmx.estimators import HillClimbSearch``, fit a frame, and query the model. ``pgmx.report(learner,
"report.html")`` shows the result in a browser. ``import pgmx`` is fast: only the packages that return pgmpy objects
import pgmpy. The packages in the order of import; each imports only packages above it:

- `_ext`: the compiled kernels; `checks`: checks of arguments; `fitted`: fitted learners as arguments; `archives`: safe
  reading of archives of arrays; `atomic`: atomic writing of files; `lookup`: import of names on demand, with
  explanations of unknown names
- `data`: input tables; `runs`: clock, limits, progress and checkpoint of one run
- `statistics`: counts, moments, correlations; `graphs`: graphs of integer ids; `parallel`: tasks on workers
- `inference`: inference in networks given as arrays
- `models`: native pgmpy and networkx objects, and files of them
- `scores`: scores of Bayesian networks, and scores bound to a table
- `search`: searches over graphs; `solvers`: convex objectives and their minimisation
- `estimators`: the learners; `streaming`: stream learners, which process each row once
- `datasets`, `metrics`, `plotting`: networks to learn from, quality of learned networks, pictures
- `cli`: the command line; `__main__`: ``python -m pgmx``
"""

import logging
import sys
import warnings
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgmx import (  # noqa: F401  (each is imported on demand)
        ci_tests,
        data,
        datasets,
        estimators,
        inference,
        metrics,
        models,
        plotting,
        scores,
        solvers,
        statistics,
        streaming,
    )
    from pgmx.plotting.reports.page import save_report as report

try:
    __version__ = version("pgmx")
except PackageNotFoundError:  # used from a source tree that was never installed
    __version__ = "0+unknown"

logging.getLogger("pgmx").addHandler(logging.NullHandler())

if "ipykernel" in sys.modules:
    # pgmpy imports tqdm.auto, whose first import in a notebook without ipywidgets warns in red
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "IProgress not found")
        import_module("tqdm.auto")

__all__ = ["__version__", "report"]


def __getattr__(name: str) -> object:
    """Import the report, or a package of public names, on demand, so that ``import pgmx`` is fast."""
    if name == "report":
        return import_module("pgmx.plotting").save_report
    lookup = import_module("pgmx.lookup")
    if name in lookup.PACKAGES:
        return import_module(f"pgmx.{name}")
    raise lookup.refuse_name("pgmx", name)


def __dir__() -> list[str]:
    return sorted([*__all__, *import_module("pgmx.lookup").PACKAGES])

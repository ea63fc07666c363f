"""Structure learning of probabilistic graphical models at the speed of the machine, for pgmpy users.

``from pgmx.estimators import HillClimbSearch``, fit a frame, query the model. Importing ``pgmx`` itself stays light:
pgmpy is loaded by the submodules that hand back its objects.
"""

import logging
from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("pgmx")
except PackageNotFoundError:  # used from a source tree that was never installed
    __version__ = "0+unknown"

logging.getLogger("pgmx").addHandler(logging.NullHandler())

__all__ = ["__version__"]

"""The discrete networks of the Bayesian network repository, as the installed pgmpy carries them.

pgmpy's own loader fetches its models from the network; the same files lie compressed in the installed package, and
those are what is read here.
"""

from __future__ import annotations

import difflib
import gzip
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pgmpy.models import DiscreteBayesianNetwork

_SUFFIX = ".bif.gz"


def _find_folder() -> Traversable:
    return files("pgmpy").joinpath("utils", "example_models")


def list_networks() -> list[str]:
    """Name the networks that :func:`load_network` can read.

    Returns
    -------
    list of str
        The names in alphabetical order; empty when the installed pgmpy carries none.

    Examples
    --------
    >>> from pgmx.datasets import list_networks
    >>> "alarm" in list_networks()
    True
    """
    folder = _find_folder()
    if not folder.is_dir():
        return []
    return sorted(entry.name.removesuffix(_SUFFIX) for entry in folder.iterdir() if entry.name.endswith(_SUFFIX))


def load_network(name: str) -> DiscreteBayesianNetwork:
    """Read one of the discrete Bayesian networks bundled with the installed pgmpy.

    Nothing is downloaded.

    Parameters
    ----------
    name : str
        One of :func:`list_networks`, for instance ``"alarm"``.

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
        The network with its conditional probability tables, its nodes in the order of the file, its state names as
        strings and ``model.name == name``.

    Raises
    ------
    TypeError, ValueError
        If `name` is no string, or the name of no bundled network; the message lists those that exist.

    Notes
    -----
    Reading takes pgmpy's parser about a second for ALARM (37 nodes) and three for Link (724 nodes).

    References
    ----------
    M. Scutari, Bayesian Network Repository, https://www.bnlearn.com/bnrepository

    Examples
    --------
    >>> from pgmx.datasets import load_network
    >>> model = load_network("cancer")
    >>> list(model.nodes())
    ['Pollution', 'Smoker', 'Cancer', 'Xray', 'Dyspnoea']
    >>> model.get_cpds("Cancer").state_names["Cancer"]
    ['True', 'False']
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string such as 'alarm', got {type(name).__name__}")
    known = list_networks()
    if name not in known:
        raise ValueError(f"no bundled network is called {name!r}{_suggest_name(name, known)}")
    from pgmpy.readwrite.BIF import BIFReader

    text = gzip.decompress(_find_folder().joinpath(name + _SUFFIX).read_bytes()).decode("utf-8")
    model = BIFReader(string=text).get_model()
    model.name = name
    return model


def _suggest_name(name: str, known: list[str]) -> str:
    if not known:
        return ": the installed pgmpy carries no networks (pgmpy 1.1 does)"
    close = difflib.get_close_matches(name, known, n=1)
    return f"{f', did you mean {close[0]!r}?' if close else ''}; bundled are: {', '.join(known)}"

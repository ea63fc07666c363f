"""The discrete networks of the Bayesian network repository (some ship with pgmx, all with pgmpy), and network files.

pgmpy's own loader downloads its models from the internet; the same files are compressed in the installed package.
"""

from __future__ import annotations

import gzip
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pgmx.datasets.sampling import sample
from pgmx.lookup import suggest

if TYPE_CHECKING:
    import pandas as pd

    from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork

_SUFFIX = ".bif.gz"


class NetworkSize(NamedTuple):
    """Size of a Bayesian network.

    Attributes
    ----------
    n_nodes, n_edges : int
        Variables and arcs.
    n_parameters : int
        Free parameters: (number of states - 1) times the configurations of the parents, summed over variables.
    max_indegree, max_states : int
        Maximum number of parents and of states of a variable.
    """

    n_nodes: int
    n_edges: int
    n_parameters: int
    max_indegree: int
    max_states: int


#: The sizes of the known networks, because reading all of them takes a second. A test compares them.
_SIZES = {
    "alarm": NetworkSize(37, 46, 509, 4, 4),
    "andes": NetworkSize(223, 338, 1157, 6, 2),
    "asia": NetworkSize(8, 8, 18, 2, 2),
    "barley": NetworkSize(48, 84, 114005, 4, 67),
    "cancer": NetworkSize(5, 4, 10, 2, 2),
    "child": NetworkSize(20, 25, 230, 2, 6),
    "diabetes": NetworkSize(413, 602, 429409, 2, 21),
    "earthquake": NetworkSize(5, 4, 10, 2, 2),
    "hailfinder": NetworkSize(56, 66, 2656, 4, 11),
    "hepar2": NetworkSize(70, 123, 1453, 6, 4),
    "insurance": NetworkSize(27, 52, 1008, 3, 5),
    "link": NetworkSize(724, 1125, 14211, 3, 4),
    "mildew": NetworkSize(35, 46, 540150, 3, 100),
    "munin": NetworkSize(1041, 1397, 80592, 3, 21),
    "munin1": NetworkSize(186, 273, 15622, 3, 21),
    "munin2": NetworkSize(1003, 1244, 69431, 3, 21),
    "munin3": NetworkSize(1041, 1306, 71059, 3, 21),
    "munin4": NetworkSize(1038, 1388, 80352, 3, 21),
    "pathfinder": NetworkSize(109, 195, 72079, 5, 63),
    "pigs": NetworkSize(441, 592, 5618, 2, 3),
    "sachs": NetworkSize(11, 17, 178, 3, 3),
    "survey": NetworkSize(6, 6, 21, 2, 3),
    "water": NetworkSize(32, 66, 10083, 5, 4),
    "win95pts": NetworkSize(76, 112, 574, 7, 2),
}


def _list_folders() -> list[Traversable]:
    """Return the folders of networks: first the folder of pgmx, then the folder of the installed pgmpy."""
    folders = [files("pgmx.datasets").joinpath("networks"), files("pgmpy").joinpath("utils", "example_models")]
    return [folder for folder in folders if folder.is_dir()]


def _list_files() -> dict[str, Traversable]:
    """Return the file of each network by its name, in alphabetical order."""
    found: dict[str, Traversable] = {}
    for folder in _list_folders():
        for entry in folder.iterdir():
            if entry.name.endswith(_SUFFIX):
                found.setdefault(entry.name.removesuffix(_SUFFIX), entry)
    return dict(sorted(found.items()))


def list_networks() -> dict[str, NetworkSize]:
    """List the names and sizes of the networks that :func:`load_network` can read.

    Returns
    -------
    dict of NetworkSize by str
        In alphabetical order of the names: ``n_nodes``, ``n_edges``, ``n_parameters``, ``max_indegree`` and
        ``max_states`` of each. ``pandas.DataFrame.from_dict(list_networks(), orient="index",
        columns=NetworkSize._fields)`` shows them as a table.

    Examples
    --------
    >>> from pgmx.datasets import list_networks
    >>> networks = list_networks()
    >>> networks["alarm"]
    NetworkSize(n_nodes=37, n_edges=46, n_parameters=509, max_indegree=4, max_states=4)
    >>> [name for name, size in networks.items() if size.n_nodes > 1_000]
    ['munin', 'munin2', 'munin3', 'munin4']
    """
    return {name: _SIZES.get(name) or _measure(load_network(name)) for name in _list_files()}


def load_network(name: str | Path) -> DiscreteBayesianNetwork:
    """Read a discrete Bayesian network by its name, or from a file.

    Nothing is downloaded. Seven networks (alarm, asia, cancer, child, insurance, sachs and survey) ship with pgmx, the
    others with pgmpy.

    Parameters
    ----------
    name : str or path
        One of :func:`list_networks`, for instance ``"alarm"``; or a file of a discrete Bayesian network in a format of
        :func:`pgmx.models.read_model`. A file name has a suffix: ``"asia.bif"``, ``"./asia.net.gz"``.

    Returns
    -------
    pgmx.models.DiscreteBayesianNetwork
        The network with its conditional probability tables, its nodes in the order of the file, and its state names as
        strings. ``model.name`` is its name, or the name of the file without the suffix.

    Raises
    ------
    TypeError, ValueError
        If `name` is neither a string nor a path, is not a bundled network (the message lists the bundled ones), or is a
        file of another kind.
    FileNotFoundError
        If there is no such file.

    Notes
    -----
    Reading takes O(parameters) time: 5 ms for ALARM (37 nodes), 0.1 s for Link (724 nodes).

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
    if not isinstance(name, str | Path):
        raise TypeError(f"name must be a string such as 'alarm', or a path, got {type(name).__name__}")
    known = _list_files()
    if isinstance(name, Path) or (name not in known and Path(name).suffix):
        return _read_file(Path(name))
    if name not in known:
        raise ValueError(f"no bundled network is called {name!r}{_suggest_name(name, list(known))}")
    return _read_compressed(known[name].read_bytes(), name)


def sample_network(name: str | Path, n_rows: int, *, random_state: int | None = 0) -> pd.DataFrame:
    """Draw independent rows from a network by its name, or from a file.

    Parameters
    ----------
    name : str or path
        As in :func:`load_network`.
    n_rows : int
        Number of rows, at least 0.
    random_state : int or None, default=0
        A non-negative seed; None uses entropy from the operating system.

    Returns
    -------
    pandas.DataFrame, shape (n_rows, n_variables)
        Columns of category dtype with all states of each variable; see :func:`sample`.

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        As in :func:`load_network` and :func:`sample`.

    Examples
    --------
    >>> from pgmx.datasets import sample_network
    >>> sample_network("asia", 1_000).shape
    (1000, 8)
    """
    return sample(load_network(name), n_rows, random_state=random_state)


def _read_compressed(raw: bytes, name: str) -> DiscreteBayesianNetwork:
    from pgmx.models.files.discrete import read_bif

    model = read_bif(gzip.decompress(raw), "bif")
    model.name = name
    return model


def _read_file(path: Path) -> DiscreteBayesianNetwork:
    from pgmx.models.any_model import read_model
    from pgmx.models.bayesian.discrete_network import DiscreteBayesianNetwork

    model = read_model(path)
    if not isinstance(model, DiscreteBayesianNetwork):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, not a discrete Bayesian network: use pgmx.models.read_model"
        )
    model.name = model.name or Path(path.name.removesuffix(".gz")).stem
    return model


def _measure(model: DiscreteBayesianNetwork) -> NetworkSize:
    cards = {cpd.variable: cpd.variable_card for cpd in model.cpds}
    n_parameters = sum(cpd.get_values().size // cpd.variable_card * (cpd.variable_card - 1) for cpd in model.cpds)
    indegree = max(degree for _, degree in model.in_degree())
    return NetworkSize(len(model), model.number_of_edges(), n_parameters, indegree, max(cards.values()))


def _suggest_name(name: str, known: list[str]) -> str:
    if not known:
        return ": neither pgmx nor pgmpy has any networks, so this installation is broken"
    return f"{suggest(name, known)}; bundled are: {', '.join(known)}"

"""What holds for the files of Markov networks of either kind."""

import pytest

from pgmx.models import read_json, read_model, save_model


def damaged_files(kind, name):
    """Return (name of a file, its bytes, message of the error) for damaged files of networks of a type."""
    begin = b'{"format": "pgmx", "version": 1, "type": '
    return [
        ("a.json", b"{}", "not marked as format 'pgmx'"),
        ("a.json", b"[", "Expecting value"),
        ("a.json", begin + b'"DAG"}', "its type is 'DAG'"),
        ("a.json", begin + f'"{kind}"}}'.encode(), "it lacks 'nodes'"),
        ("a.npz", b"", f"not {name} in npz form"),
        ("a.npz", b"PK no", f"not {name} in npz form"),
        ("a.graphml", b"<graphml/>", f"not {name} in graphml form"),
        ("a.graphml", b"<", f"not {name} in graphml form"),
    ]


def check_targets(network, save, load, folder):
    """Check what is refused before anything is written to a folder, or read from it."""
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        network.save(folder / "none" / "a.npz")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        save(network, folder, "npz")
    with pytest.raises(ValueError, match="unknown format 'xml'"):
        save(network, folder / "a.npz", "xml")
    with pytest.raises(ValueError, match="unknown suffix '.txt'"):
        network.save(folder / "a.txt")
    with pytest.raises(FileNotFoundError):
        load(folder / "a.npz")
    assert not list(folder.iterdir())


def check_files_of_any_model(network, formats, same, folder):
    """Check that the functions for all models write and read a network, and say who reads its graphml."""
    for format in formats:
        path = save_model(network, folder / f"network.{format}")
        if format != "graphml":
            same(read_model(path), network)
    assert type(read_json(folder / "network.json")) is type(network)
    with pytest.raises(ValueError, match="load_markov_network, a GaussianMarkovNetwork with load_gaussian_network"):
        read_model(folder / "network.graphml")

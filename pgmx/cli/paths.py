"""Checks of the source and of the output files before any work."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pgmx.models.files.formats import format_of
from pgmx.plotting.pictures import check_picture_path
from pgmx.plotting.reports.page import check_report_path

NETWORK_SUFFIXES = (".bif", ".xmlbif", ".net", ".xdsl")
GRAPH_SUFFIXES = (".graphml", ".json")
MARKOV_SUFFIXES = (".uai", ".npz", ".json", ".graphml")
GAUSSIAN_SUFFIXES = (".npz", ".json", ".graphml")
SYSTEM_SUFFIXES = (".npz", *GRAPH_SUFFIXES)


class Source(NamedTuple):
    """A table (a file, or a folder of Parquet files) or a bundled network: `path` is None for the latter."""

    name: str
    path: Path | None


def find_source(text: str) -> Source:
    """Return the bundled network or file of a name; bundled networks come first, ``./alarm`` is always a file."""
    from pgmx.datasets import list_networks

    names = list_networks()
    if text in names:
        return Source(text, None)
    path = Path(text)
    if path.is_file():
        return Source(path.stem, path)
    if path.is_dir():
        from pgmx.data.files.readers import list_table_files

        list_table_files(path)
        return Source(path.absolute().name, path)
    if path.suffix or len(path.parts) > 1:
        raise ValueError(f"no such file: {text}")
    raise ValueError(f"{text!r} is neither a file nor a bundled network ({', '.join(names)})")


def check_targets(
    out: Path | None,
    plot: Path | None,
    suffixes: Sequence[str] = NETWORK_SUFFIXES + GRAPH_SUFFIXES,
    history: Path | None = None,
    report: Path | None = None,
) -> None:
    """Raise an error for output files that are not writable or named twice; `suffixes` are the choices for `out`."""
    targets = {"--out": out, "--plot": plot, "--plot-history": history, "--report": report}
    options: dict[Path, str] = {}
    for option, path in targets.items():
        if path is None:
            continue
        if option == "--out" and suffix_of(path) not in suffixes:
            raise ValueError(f"--out {path}: the suffix must be one of {', '.join(suffixes)}")
        if option != "--out":
            try:
                (check_report_path if option == "--report" else check_picture_path)(path)
            except ValueError as error:
                raise ValueError(f"{option} {path}: {error}") from None
        check_writable(path, option)
        other = options.setdefault(path.absolute(), option)
        if other != option:
            raise ValueError(f"{other} and {option} name the same file {path}")


def check_page(path: Path, option: str) -> None:
    """Raise an error for the file of a page that is not writable or has another suffix."""
    try:
        check_report_path(path)
    except ValueError as error:
        raise ValueError(f"{option} {path}: {error}") from None
    check_writable(path, option)


def suffix_of(path: Path) -> str:
    """Return the suffix for the format of a network, without ``.gz``."""
    return f".{format_of(path)}"


def check_writable(path: Path, option: str) -> None:
    """Raise an error that names the option if a file is not writable."""
    if path.is_dir():
        raise ValueError(f"{option} {path}: this is a folder, give a file in it")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}, create it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option} {path}: no permission to write there")

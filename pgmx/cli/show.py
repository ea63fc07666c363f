"""The work of ``pgmx show``."""

import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from pgmx.cli.console import say
from pgmx.cli.inputs.networks import read_network
from pgmx.cli.inputs.paths import check_targets
from pgmx.cli.inputs.tables import open_input


def show(model: str, *, format: str | None, data: Path | None, out: Path | None, **options: Any) -> None:
    """Write the page of a network and, without an output file, open it in the browser."""
    from pgmx.plotting import save_report

    check_targets(None, None, report=out)
    network = read_network(model, format)
    rows = None if data is None else open_input(data, options)
    name = Path(model).stem
    path = out or Path(tempfile.mkdtemp(prefix="pgmx-")) / f"{name}.html"
    say(f"wrote {save_report(network, path, data=rows, title=name)}")
    if out is None and not webbrowser.open(path.as_uri()):
        say("no browser was found: open this file in a browser")

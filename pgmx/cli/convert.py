"""The work of ``pgmx convert``."""

from pathlib import Path

from pgmx.cli.console import say
from pgmx.cli.inputs.networks import read_any
from pgmx.cli.inputs.paths import check_writable


def convert(source: str, target: Path, *, format: str | None) -> None:
    """Read a graph or a network and write it in the format that the suffix of the target names."""
    from pgmx.models import save_model
    from pgmx.models.any_model import FORMATS
    from pgmx.models.files.formats import check_target

    check_writable(target, "OUT")
    check_target(target, None, FORMATS)
    say(f"wrote {save_model(read_any(source, format), target)}")

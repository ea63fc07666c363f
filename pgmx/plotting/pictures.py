"""Figures that a notebook shows as pictures and that a script shows or writes with one call."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgmx.atomic import replace_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SUFFIXES = (".svg", ".png")
LARGEST_SIDE = 4000  # pixels on the longer side, by default
_LARGEST_SVG = 250_000  # characters; a notebook shows a larger picture as PNG


def make_picture(width: float, height: float, *, fills: bool = False) -> Axes:
    """Return axes on a new figure of this size in inches; if `fills`, they leave no room for labels."""
    kind: Any = _make_classes()[0]
    if fills:
        return make_figure(width, height, layout="none").add_axes((0, 0, 1, 1), axes_class=kind)
    return make_figure(width, height).add_subplot(axes_class=kind)


def make_panels(figure: Figure, n_columns: int) -> Sequence[Axes]:
    """Return axes next to each other, each of which shows the whole figure."""
    return list(figure.subplots(1, n_columns, subplot_kw={"axes_class": _make_classes()[0]}).ravel())


def make_figure(width: float, height: float, layout: Any = "constrained") -> Figure:
    """Return a new figure of this size in inches."""
    kind: Any = _make_classes()[1]
    return kind(figsize=(width, height), layout=layout)


def write_figure(figure: Figure, path: Path, dpi: float = 150) -> None:
    """Write a figure as png or svg, according to the suffix; the same figure gives the same bytes."""
    with replace_file(path) as part:
        _write(figure, part, "png" if path.suffix.lower() == ".png" else "svg", dpi)


def check_picture_path(path: str | PathLike[str]) -> Path:
    """Return `path` as a Path, or raise a ValueError that lists the allowed suffixes."""
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"a picture is written to a file ending in {' or '.join(_SUFFIXES)}, got {path.name!r}")
    return path


def limit_dpi(figure: Figure, dpi: float) -> float:
    """Return the resolution at which no side of a PNG has too many pixels."""
    return min(dpi, LARGEST_SIDE / max(figure.get_size_inches()))


def _write(figure: Figure, target: Any, kind: str, dpi: float, letters: str = "path") -> None:
    from matplotlib import rc_context

    # A fixed salt gives the same ids, and no date below: the same figure has the same bytes.
    style: Any = {"svg.hashsalt": "pgmx", "svg.fonttype": letters}
    if letters == "none":
        style["font.sans-serif"] = ["DejaVu Sans", "Verdana", "Arial"]  # fonts of the viewer; the first is the widest
    with rc_context(style):
        metadata: Any = {"Date": None} if kind == "svg" else None
        figure.savefig(target, format=kind, dpi=dpi, metadata=metadata)


def render_svg(figure: Any) -> str:
    """Return a figure as short SVG: letters as text, two decimals, no metadata, no space between elements."""
    from io import StringIO

    target = StringIO()
    _write(figure, target, "svg", 72, letters="none")
    text = target.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r"(\.\d\d)\d+(?=[^<>]*>)", r"\1", re.sub(r">\s+<", "><", text))  # within tags: labels stay
    text = re.sub(r'<g id="(?!label|note)[^"]*">', "<g>", text)  # nothing refers to groups
    text = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", text)
    return re.sub(r"\s*\n\s*", " ", text)


def _render_png(figure: Figure) -> str:
    from base64 import b64encode
    from io import BytesIO

    data = BytesIO()
    _write(figure, data, "png", limit_dpi(figure, 144))
    return b64encode(data.getvalue()).decode()


class PictureMixin:
    """An object that a notebook shows as the picture of its figure."""

    figure: Any

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        text = render_svg(self.figure)
        picture = {"image/svg+xml": text} if len(text) <= _LARGEST_SVG else {"image/png": _render_png(self.figure)}
        return {**picture, "text/plain": repr(self)}

    def show(self) -> None:
        """Show the picture: in a notebook in the output, in a script in the browser."""
        if "IPython" in sys.modules:
            from IPython import get_ipython
            from IPython.display import display

            if hasattr(get_ipython(), "kernel"):
                display(self)
                return
        open_in_browser(render_svg(self.figure))

    def save(self, path: str | PathLike[str], *, dpi: float = 150) -> Path:
        """Write the figure as .svg or .png and return the path."""
        path = check_picture_path(path)
        write_figure(self.figure, path, limit_dpi(self.figure, dpi))
        return path


@cache
def _make_classes() -> tuple[type, type]:
    """Return the classes of axes and figures; the first call imports matplotlib."""
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    class PictureAxes(PictureMixin, Axes):
        """Axes that show their figure."""

    class PictureFigure(PictureMixin, Figure):
        """A figure that shows itself."""

        def show(self, warn: bool = True) -> None:  # matplotlib's method has `warn`
            """Show the picture: in a notebook in the output, in a script in the browser."""
            PictureMixin.show(self)

    for kind in (PictureAxes, PictureFigure):  # pickles find the classes by these names
        kind.__module__, kind.__qualname__ = __name__, kind.__name__
    return PictureAxes, PictureFigure


def open_in_browser(svg: str) -> Path:
    """Write a page with a picture into a temporary folder, show it in the browser, and return its path."""
    import tempfile
    import webbrowser

    path = Path(tempfile.mkdtemp(prefix="pgmx-")) / "picture.html"
    style = "body{margin:0;background:white}svg{display:block;margin:auto;max-width:100%;height:auto}"
    path.write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><title>pgmx</title><style>{style}</style>{svg}', encoding="utf-8"
    )
    webbrowser.open(path.as_uri())
    return path


def __getattr__(name: str) -> Any:
    if name in ("PictureAxes", "PictureFigure"):
        return _make_classes()[name == "PictureFigure"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

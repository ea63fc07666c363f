"""Pictures of the gallery: figures that pgmx draws are no windows, so they are taken from an example's variables."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

from pgmx.plotting.pictures import write_figure


def save_pictures(block, block_vars, gallery_conf):
    """Write each figure that a block has drawn, and return the text that shows them."""
    names = block_vars["example_globals"]
    shown = names.setdefault("__shown__", [])
    paths = []
    for value in list(names.values()):
        figure = value.figure if isinstance(value, Axes) else value
        if isinstance(figure, Figure) and not any(figure is other for other in shown):
            shown.append(figure)
            paths.append(next(block_vars["image_path_iterator"]))
            write_figure(figure, Path(paths[-1]), dpi=110)
    return figure_rst(paths, gallery_conf["src_dir"])


def _get_sg_image_scraper():
    """Return the scraper; sphinx-gallery asks for it by this name."""
    return save_pictures

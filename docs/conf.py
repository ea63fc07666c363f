"""Sphinx's settings. ``python -m sphinx -W -n docs docs/_build`` builds the site without network."""

import sys
from pathlib import Path

from pgmx import __version__

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "pgmx"
author = "the authors of pgmx"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "mathml",  # formulas that need no script
    "reference",  # pages of the public packages, from their names
    "benchmark_pages",  # tests/benchmarks/*.md as pages
    "tutorial_pages",  # tutorials/*.ipynb as pages
]
exclude_patterns = ["_build", "_templates", "_extensions", "**/GALLERY_HEADER.rst", "Thumbs.db"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
templates_path = ["_templates"]
nitpicky = True

# Names of other packages, in types and in docstrings, are shown without a link. Do not add names of pgmx.
nitpick_ignore_regex = [
    (r"py:.*", rf"(?:{package})(?:\..*)?")
    for package in (
        "collections",
        "contextlib",
        "joblib",
        "matplotlib",
        "networkx",
        "nx",
        "np",
        "numpy",
        "os",
        "pandas",
        "pathlib",
        "pd",
        "pgmpy",
        "pyarrow",
        "scipy",
        "sklearn",
        "typing",
        "types",
        "warnings",
    )
]

autosummary_generate = True
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_display_short_literal_types = True
maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the templates of autosummary list them
numpydoc_class_members_toctree = False

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # functions in the settings of the gallery

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "image_scrapers": ("gallery_pictures",),
    "reset_modules": (),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,  # the page of times asks for scripts from the network
    "plot_gallery": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "pgmx"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["pgmx.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": False,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def fill_version(app, docname, source):
    """Write the version into the front page, whose code blocks take no substitutions."""
    if docname == "index":
        source[0] = source[0].replace("@VERSION@", version)


def setup(app):
    """Connect what only this site does."""
    app.connect("source-read", fill_version)

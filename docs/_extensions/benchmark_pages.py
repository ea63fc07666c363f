"""The pages of ``tests/benchmarks`` as pages of the site, with links adapted to the site."""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath
from shutil import copyfile

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def place_of(target: str) -> str | None:
    """Return the path in ``docs`` of a file of the repository, None if it is not a page or figure of the site."""
    path = PurePosixPath(target)
    if target.startswith("docs/"):
        return target.removeprefix("docs/")
    if path.parent == PurePosixPath("tests/benchmarks") and path.suffix == ".md":
        return f"benchmarks/{path.name}"
    if path.parent == PurePosixPath("tutorials") and path.suffix == ".ipynb":
        return f"tutorials/{path.stem}.md"
    if path.parent == PurePosixPath("tests/benchmarks/results") and path.suffix in (".png", ".svg"):
        return f"benchmarks/{path.name}"
    return None


def adapt_links(text: str, source: str, docname: str) -> str:
    """Return Markdown whose links are valid in ``docs``.

    `source` is the file of the text in the repository, `docname` its page. Links to files outside the site,
    such as programs, become plain text.
    """
    folder, depth = str(PurePosixPath(source).parent), docname.count("/")

    def replace(match):
        mark, words, target = match.groups()
        if "://" in target or target.startswith(("#", "mailto:")):
            return match[0]
        path, hash_sign, anchor = target.partition("#")
        place = place_of(normpath(f"{folder}/{path}"))
        return words if place is None else f"{mark}[{words}]({'../' * depth}{place}{hash_sign}{anchor})"

    return LINK.sub(replace, text)


def copy_pages(app, config):
    """Copy the pages and their pictures into ``benchmarks/``."""
    folder = Path(app.srcdir) / "benchmarks"
    folder.mkdir(exist_ok=True)
    for path in sorted((ROOT / "tests/benchmarks").glob("*.md")):
        text = adapt_links(path.read_text(encoding="utf-8"), f"tests/benchmarks/{path.name}", f"benchmarks/{path.stem}")
        copy = folder / path.name
        if not copy.exists() or copy.read_text(encoding="utf-8") != text:
            copy.write_text(text, encoding="utf-8")
    for path in (ROOT / "tests/benchmarks/results").glob("*.png"):
        copyfile(path, folder / path.name)


def adapt_source(app, docname, source):
    """Adapt the links of a Markdown page in ``docs``, which is also read in the repository."""
    if app.env.doc2path(docname).suffix == ".md" and not docname.startswith(("benchmarks/", "tutorials/")):
        source[0] = adapt_links(source[0], f"docs/{docname}.md", docname)


def setup(app):
    """Copy before pages are looked for; adapt when they are read."""
    app.connect("config-inited", copy_pages)
    app.connect("source-read", adapt_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

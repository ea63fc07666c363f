"""The executed notebooks of ``tutorials`` as pages of the site, with their outputs as they were saved."""

import base64
import json
import re
from pathlib import Path

from benchmark_pages import adapt_links

ROOT = Path(__file__).parents[2]
PURPOSE = re.compile(r"After\s+this\s+tutorial\s+you\s+can (?P<purpose>[^.]*)\.")
#: Outputs that a page can show, the best first, each with the suffix of its file (None: written into the page).
KINDS = {"image/svg+xml": "svg", "image/png": "png", "text/html": None, "text/plain": None}


def fence(directive: str, text: str) -> str:
    """Return a fenced block that no line of the text can end."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    marks = "`" * max(3, longest + 1)
    return f"{marks}{directive}\n{text.rstrip()}\n{marks}"


def show_text(text: str) -> str:
    """Return printed text as a block that the style sheet sets apart from code."""
    return fence("{code-block} text\n:class: cell-output\n", text)


def show_output(output: dict, name: str, folder: Path) -> str:
    """Return the Markdown of one output of a cell; a picture is written into `folder` under `name`."""
    if output["output_type"] == "stream":
        return show_text("".join(output["text"])) if output["name"] == "stdout" else ""
    data = output.get("data", {})
    kind = next((kind for kind in KINDS if kind in data), None)
    if kind is None:
        return ""
    text = "".join(data[kind])
    if KINDS[kind] is not None:
        picture = text.encode() if kind == "image/svg+xml" else base64.b64decode(text)
        write_if_changed(folder / f"{name}.{KINDS[kind]}", picture)
        return f"![Figure drawn by the code above]({name}.{KINDS[kind]})"
    return fence("{raw} html\n", f'<div class="cell-table">{text}</div>') if kind == "text/html" else show_text(text)


def write_if_changed(path: Path, content: bytes) -> None:
    """Write a file. One with the same content stays, so that the site does not read it again."""
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)


def write_page(path: Path, folder: Path) -> tuple[str, str]:
    """Return the Markdown of a notebook, and what a reader can do afterwards; pictures are written into `folder`."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts, n_pictures, purpose = [], 0, ""
    for cell in cells:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(adapt_links(text, f"tutorials/{path.name}", f"tutorials/{path.stem}"))
            if not purpose and (match := PURPOSE.search(text)):
                purpose = " ".join(match["purpose"].split())
            continue
        parts.append(fence("python", text))
        for output in cell["outputs"]:
            n_pictures += 1
            parts.append(show_output(output, f"{path.stem}-{n_pictures}", folder))
    title, _, rest = parts[0].partition("\n")
    link = f"{{download}}`Download this notebook <../../tutorials/{path.name}>`"
    return "\n\n".join([title, link, rest.strip(), *filter(None, parts[1:])]) + "\n", purpose


def copy_tutorials(app, config):
    """Write one page per notebook and the page that lists them into ``tutorials/``."""
    folder = Path(app.srcdir) / "tutorials"
    folder.mkdir(exist_ok=True)
    rows, names = ["| tutorial | after it you can |", "| --- | --- |"], []
    for path in sorted((ROOT / "tutorials").glob("*.ipynb")):
        text, purpose = write_page(path, folder)
        write_if_changed(folder / f"{path.stem}.md", text.encode())
        title = text.partition("\n")[0].removeprefix("# ")
        rows.append(f"| [{title}]({path.stem}.md) | {purpose} |")
        names.append(path.stem)
    contents = "```{toctree}\n:maxdepth: 1\n:hidden:\n\n" + "\n".join(names) + "\n```"
    intro = "Notebooks with their saved outputs. Each runs offline from top to bottom with the data that pgmx brings."
    write_if_changed(folder / "index.md", "\n\n".join(["# Tutorials", intro, "\n".join(rows), contents, ""]).encode())


def setup(app):
    """Write the pages before pages are looked for."""
    app.connect("config-inited", copy_tutorials)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Formulas as MathML, which browsers draw themselves: no script, no fonts to fetch, nothing to download at build.

The converter is that of docutils, which Sphinx stands on. A formula that it cannot read is a warning of the build.
"""

import re

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

#: What LaTeX has and the converter lacks, as patterns, and what stands for it.
SPELLINGS = {
    r"\\dots\b": r"\\ldots",
    r"\\iff\b": r"\\Longleftrightarrow",
    r"\\setminus\b": r"\\smallsetminus",  # a character that more fonts have
    r"\\([bB]igg?)(?=\s*(?:[(\[]|\\\{))": r"\\\1l",
    r"\\([bB]igg?)(?=\s*(?:[)\]]|\\\}))": r"\\\1r",
    r"\\[bB]igg?(?=\s*(?:\||\\\|))": "",
}

LOGGER = logging.getLogger(__name__)


def convert(node: nodes.Element, *, as_block: bool) -> str:
    """Return the MathML of a formula."""
    formula = node.astext().strip()
    for pattern, spelling in SPELLINGS.items():
        formula = re.sub(pattern, spelling, formula)
    lines = rf"\begin{{aligned}}{formula}\end{{aligned}}" if as_block and r"\\" in formula else formula
    try:
        return tex2mathml(lines, as_block=as_block)
    except MathError as error:
        LOGGER.warning("formula %r: %s", formula, error, location=node)
        return ""


def write_inline(translator, node):
    """Write a formula within a line."""
    translator.body.append(convert(node, as_block=False))
    raise nodes.SkipNode


def write_block(translator, node):
    """Write a formula on lines of its own."""
    translator.body.append(f'<div class="formula">{convert(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

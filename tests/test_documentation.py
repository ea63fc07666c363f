"""The pages of ``docs``: every public name is in the reference, links lead somewhere, formulas are drawn."""

import importlib
import importlib.util
import pkgutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import pgmx

DOCS = Path(__file__).parents[1] / "docs"


def load_extension(name):
    """Import one of the extensions that the site is built with."""
    pytest.importorskip("sphinx")
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / "_extensions" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_every_public_package_is_in_the_reference():
    reference = load_extension("reference")
    packages = ["pgmx", *(f"pgmx.{info.name}" for info in pkgutil.iter_modules(pgmx.__path__) if info.ispkg)]
    public = {name for name in packages if getattr(importlib.import_module(name), "__all__", None)} - {"pgmx.cli"}
    assert set(reference.PACKAGES) == public


def test_every_public_name_is_in_the_reference():
    reference = load_extension("reference")
    for package in reference.PACKAGES:
        listed = [line.strip() for line in reference.write_page(package).splitlines() if line.startswith("   ")]
        assert set(importlib.import_module(package).__all__) <= set(listed)


def test_classes_that_nobody_exports_are_where_the_reference_says():
    for name in load_extension("reference").RESULTS:
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute).__module__ == module


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[all](../tests/benchmarks/MIXED.md#cost)", "[all](benchmarks/MIXED.md#cost)"),
        ("[a](input_data.md), [b](https://x.org/y)", "[a](input_data.md), [b](https://x.org/y)"),
        ("![curve](../tests/benchmarks/results/a.png)", "![curve](benchmarks/a.png)"),
        ("[`hc.py`](../tests/benchmarks/hill_climb.py)", "`hc.py`"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(text, expected):
    assert load_extension("benchmark_pages").adapt_links(text, "docs/page.md", "page") == expected


def test_links_between_pages_of_figures():
    adapt = load_extension("benchmark_pages").adapt_links
    text = "[here](GAUSSIAN.md), [there](../../docs/inference.md), ![x](results/x.png), [z](#z)"
    assert adapt(text, "tests/benchmarks/README.md", "benchmarks/README") == (
        "[here](../benchmarks/GAUSSIAN.md), [there](../inference.md), ![x](../benchmarks/x.png), [z](#z)"
    )


@pytest.mark.parametrize(
    "formula", [r"a \dots b", r"\Big( \sum_i x_i \Big)^2", r"\Big\| x \Big\|", r"f(x) &= 1 \\ &= 2", r"\frac{1}{n}"]
)
def test_formulas_are_drawn_without_a_script(formula):
    mathml = load_extension("mathml")
    from docutils import nodes

    text = mathml.convert(nodes.math_block(formula, formula), as_block=True)
    assert text.startswith("<math") and text.endswith("</math>")


def test_the_first_pages_have_a_line_for_every_page():
    contents = load_extension("reference").write_contents()
    assert all(f":doc:`{page} <{page}>`" in contents for page in (*load_extension("reference").PACKAGES, "results"))
    benchmarks = (DOCS / "benchmarks/index.md").read_text(encoding="utf-8")
    pages = sorted((DOCS.parent / "tests/benchmarks").glob("*.md"))
    assert [path.name for path in pages if f"({path.name}) | " not in benchmarks] == []


def test_a_page_of_the_reference_begins_with_the_purpose_and_the_examples():
    from docutils import nodes
    from sphinx.addnodes import desc, desc_content, desc_signature

    purpose, options, examples, code, notes = (
        nodes.paragraph(text="Search."),
        nodes.field_list(),
        nodes.rubric(text="Examples"),
        nodes.doctest_block(text=">>> 1"),
        nodes.rubric(text="Notes"),
    )
    content = desc_content("", purpose, options, notes, examples, code)
    signature = desc_signature(ids=["pgmx.Search"])
    described = desc("", signature, content)
    page = nodes.section("", nodes.title(text="Search"), described, ids=["search"])
    document = nodes.Element("", page)
    app = SimpleNamespace(env=SimpleNamespace(docname="reference/names/pgmx.Search"))
    load_extension("reference").show_purpose_first(app, document)
    assert page.children[1:] == [purpose, examples, code, described]
    assert content.children == [options, notes]
    assert page["ids"] == ["search", "pgmx.Search"] and not signature["ids"]  # links lead to the top of the page

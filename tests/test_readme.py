"""The README and the page of learners: short, their links lead somewhere, and their examples run as they are pasted."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

TOP = Path(__file__).parents[1]
PAGES = [TOP / "README.md", *sorted((TOP / "docs").glob("*.md"))]
PASTED = [
    "README.md",
    "docs/learners.md",
    "docs/getting_started.md",
    "docs/files.md",
    "docs/knowledge.md",
    "docs/confidence.md",
    "docs/penalties.md",
    "docs/posterior.md",
    "docs/search_explained.md",
]


def list_blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (TOP / page).read_text(encoding="utf-8"), re.M | re.S)


def test_length():
    assert len((TOP / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_two_commands_come_first():
    assert list_blocks("README.md", "bash")[:2] == [
        "python -m pip install . && pgmx learn alarm\n",
        "python -m pip install -e '.[test]' && python -m pytest\n",
    ]


@pytest.mark.parametrize(
    ("page", "number"), [(page, number) for page in PASTED for number in range(len(list_blocks(page, "python")))]
)
def test_examples_run_as_pasted(page, number, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    block = list_blocks(page, "python")[number]
    exec(compile(block, f"{page}, example {number + 1}", "exec"), {})
    plt.close("all")
    assert len(capsys.readouterr().out.splitlines()) >= block.count("\nprint(")


@pytest.mark.parametrize("page", ["docs/inference.md", "docs/from_pgmpy.md", "docs/mixed_data.md"])
def test_examples_run_in_the_order_of_the_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    known = {}
    for number, block in enumerate(list_blocks(page, "python"), start=1):
        exec(compile(block, f"{page}, example {number}", "exec"), known)
    assert known


def test_every_page_has_the_examples_that_it_promises():
    assert [len(list_blocks(page, "python")) for page in PASTED] == [3, 4, 1, 1, 1, 2, 1, 3, 3]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    inside = [link.split("#")[0] for link in links if "://" not in link and not link.startswith("#")]
    inside = [re.sub(r"^tutorials/(\w+)\.md$", r"../tutorials/\1.ipynb", link) for link in inside]  # pages of notebooks
    assert [link for link in inside if not (page.parent / link).exists()] == []

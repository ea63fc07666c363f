"""Every tutorial runs from top to bottom in a clean kernel, offline, without an error or a word on standard error."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import pgmx

TUTORIALS = sorted((Path(__file__).parents[1] / "tutorials").glob("*.ipynb"))


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def complaints(notebook):
    """Return the text on standard error, without the progress bars that appear where a machine is slow."""
    text = "".join(o.text for o in outputs(notebook) if o.output_type == "stream" and o.name == "stderr")
    return re.sub(r"(?:\r[^\r\n\[\]]*\[\d[^\r\n\[\]]*\] *)+\n?", "", text)


def test_progress_bars_are_no_complaints():
    def write(*texts):
        outputs = [nbformat.v4.new_output("stream", name="stderr", text=text) for text in texts]
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(outputs=outputs)])

    bars = ["\rGES: 0 moves [00:00, ? moves/s]", "\r 10%|#  | 1/9 [00:01<00:08,  1.1it/s, edges=1]   ", "\n"]
    assert complaints(write(*bars)) == ""
    assert complaints(write(*bars[:2], "a.py:1: UserWarning: no\n")) == "a.py:1: UserWarning: no\n"
    assert complaints(write("a.py:1: UserWarning: [0]\n", *bars)) == "a.py:1: UserWarning: [0]\n"


def test_there_are_tutorials():
    assert [path.stem for path in TUTORIALS][:12] == [
        "01_bayesian_network",
        "02_knowledge_and_confidence",
        "03_five_million_rows",
        "04_markov_network",
        "05_gaussian_graphical_models",
        "06_time_series",
        "07_streams",
        "08_mixed_data",
        "09_a_cluster",
        "10_answers",
        "11_hidden_causes",
        "12_posterior",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_the_tutorial_runs(path, tmp_path, monkeypatch):
    # The kernel is to import the package under test, whether or not it is installed, and nothing else of the checkout.
    package = Path(pgmx.__file__).parents[1]
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(package), before])))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    for size in ("PGMX_TUTORIAL_ROWS", "PGMX_TUTORIAL_VARIABLES"):
        monkeypatch.delenv(size, raising=False)  # the small size that the notebook has by itself
    workdir = tmp_path / "work"
    workdir.mkdir()
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    client = NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(workdir)}}
    )
    client.execute()  # raises where a cell does
    assert complaints(notebook) == ""


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_the_stored_outputs_are_those_of_a_clean_run(path):
    notebook = nbformat.read(path, as_version=4)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert complaints(notebook) == ""
    assert not [o for o in outputs(notebook) if o.output_type == "error"]
    shown = " ".join(str(o.get("text", "")) + str(o.get("data", {}).get("text/plain", "")) for o in outputs(notebook))
    assert re.findall(r"(?<!\w)/\w+/\w\S*|\b[A-Z]:\\\S*", shown) == []  # no paths of the machine that it ran on


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_the_tutorial_is_tidy(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.cells[0].source.startswith("# ")
    assert "assert " in notebook.cells[-1].source
    headings = [cell.source for cell in notebook.cells if cell.source.startswith("## ")]
    assert [heading.split(".")[0] for heading in headings] == [f"## {n}" for n in range(1, len(headings) + 1)]
    assert path.stat().st_size < 300_000

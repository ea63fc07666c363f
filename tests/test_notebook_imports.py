"""Imports in a notebook are silent, with ipywidgets and without."""

import nbformat
import pytest
from nbclient import NotebookClient

import pgmx


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the client
@pytest.mark.parametrize(
    "statement",
    [
        "from pgmx.estimators import HillClimbSearch, GraphicalLasso",
        "import pgmx.scores, pgmx.datasets; pgmx.datasets.load_network('asia')",
        "import pgmx.models, pgmx.models.pgmpy_estimators",
    ],
)
def test_imports_are_silent_without_ipywidgets(statement, monkeypatch):
    """tqdm warns where a kernel runs and ipywidgets are missing."""
    monkeypatch.setenv("PYTHONPATH", str(pgmx.__path__[0] + "/.."))
    hide = "import sys; sys.modules['ipywidgets'] = None\n"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(f"{hide}{statement}; print('done')")])
    NotebookClient(notebook, kernel_name="python3", timeout=300).execute()
    assert [output["text"] for output in notebook.cells[0].outputs if output["output_type"] == "stream"] == ["done\n"]

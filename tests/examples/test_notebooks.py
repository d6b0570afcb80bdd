"""Every notebook runs from top to bottom in an empty folder, shows its results, and is kept without outputs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.examples import EXAMPLES
from tests.support.examples_page import prints, sections

NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


RUN = """
import sys, tempfile, nbclient, nbformat
from traitlets.config import Config
path, folder, out = sys.argv[1:]
notebook = nbformat.read(path, as_version=4)
with tempfile.TemporaryDirectory() as sockets:  # no port of this machine
    private = Config({"KernelManager": {"transport": "ipc", "ip": sockets + "/kernel"}})
    nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": folder}}, config=private).execute()
nbformat.write(notebook, out)
"""


def ran(path: Path, folder: Path) -> Any:
    """The notebook after a run in a process of its own."""
    out = folder / "executed.ipynb"
    command = [sys.executable, "-c", RUN, str(path), str(folder), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    return read(out)


def read(path: Path) -> Any:
    """A notebook, checked against its format."""
    import nbformat  # seconds, for every worker that only looks for tests

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def shown(notebook: Any) -> set[str]:
    """The kinds of outputs that the notebook shows."""
    outputs = [each for cell in notebook.cells for each in cell.get("outputs", [])]
    return {kind for each in outputs for kind in each.get("data", {each["output_type"]: ""})}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_shows_tables_and_pictures(path: Path, tmp_path: Path) -> None:
    notebook = ran(path, tmp_path)
    assert {"stream", "image/png"} <= shown(notebook)
    printed = "".join(
        each.text for cell in notebook.cells for each in cell.get("outputs", []) if each.get("name") == "stdout"
    )
    assert not [each for cell in notebook.cells for each in cell.get("outputs", []) if each.get("name") == "stderr"]
    if path.stem == "from_a_csv":
        assert prints(sections()["notebooks/"].shown, printed), printed
        assert (tmp_path / "figure.pdf").read_bytes().startswith(b"%PDF")
        assert "text/html" in shown(notebook)


def test_a_cell_that_fails_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "broken.ipynb"
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None, "source": "1 / 0"}
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        ran(path, tmp_path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_small_and_kept_without_outputs(path: Path) -> None:
    notebook = read(path)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    assert path.stat().st_size < 10_000
    assert notebook.cells[0].source.startswith("# ")
    assert "For " in notebook.cells[0].source


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["choose_epsilon", "from_a_csv", "regression_and_lie_detection"]

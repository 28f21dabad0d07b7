"""Notebooks: each runs from its first cell to its last one, and is kept without outputs."""

import json
from pathlib import Path

import pytest

_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"
#: How many plots each shows.
_IMAGES = {"kv_cache.ipynb": 1, "sweep.ipynb": 2, "tail_latency.ipynb": 2}
_NAMES = sorted(path.name for path in _FOLDER.glob("*.ipynb"))


def test_the_notebooks_are_there() -> None:
    assert _NAMES == list(_IMAGES)


@pytest.mark.parametrize("name", _NAMES)
def test_a_notebook_is_kept_without_outputs(name: str) -> None:
    notebook = json.loads((_FOLDER / name).read_text("utf-8"))
    for cell in notebook["cells"]:
        lines = "".join(cell["source"]).splitlines()
        assert max(map(len, lines)) <= 100, cell["id"]
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None, cell["id"]


@pytest.mark.parametrize("name", _NAMES)
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    if name == "sweep.ipynb":
        pytest.importorskip("duckdb")
    # A notebook writes into a folder of its own; no setting of the user's IPython counts.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(_FOLDER / name, as_version=4)
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []
    assert sum("image/png" in output.get("data", {}) for output in outputs) == _IMAGES[name]

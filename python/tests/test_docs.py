"""The Python of the documents runs, block after block, as a reader would type it."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import flashyard as fy

pytest.importorskip("polars")
pytest.importorskip("matplotlib").use("Agg")

_DOCS = Path(__file__).parents[2]


def _blocks(name: str) -> list[str]:
    text = (_DOCS / name).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", ["README.md", "docs/PYTHON.md", "docs/CLUSTERS.md"])
def test_the_blocks_of_a_page_run(name: str, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = _blocks(name)
    assert blocks
    # What is only for the main program, such as a cluster of processes, is tested elsewhere.
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, name, "exec"), names)


def test_every_name_of_the_package_has_a_docstring() -> None:
    for name in fy.__all__:
        assert getattr(fy, name).__doc__, name


def test_the_readme_of_the_package_runs() -> None:
    (block,) = _blocks("python/README.md")
    exec(compile(block, "README.md", "exec"), {})


def test_the_script_is_the_command() -> None:
    script = Path(sys.executable).parent / "flashyard"
    if not script.exists():
        pytest.skip("the package is not installed by pip")
    assert "flashyard" in script.read_text()

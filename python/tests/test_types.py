"""Types: the package passes mypy --strict, and the stubs are those of the Rust half."""

import os
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("mypy")

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_CONFIG = os.path.join(_ROOT, "pyproject.toml")


def _passes(folder: Any, *command: str) -> None:
    told = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True
    )
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_package_is_typed() -> None:
    _passes(_ROOT, "mypy", "--strict", "--config-file", _CONFIG, "flashyard", "tests")


def test_the_stubs_are_those_of_the_module(tmp_path: Any) -> None:
    # From elsewhere, so that the module that is installed is imported.
    _passes(tmp_path, "mypy.stubtest", "--mypy-config-file", _CONFIG, "flashyard._core")

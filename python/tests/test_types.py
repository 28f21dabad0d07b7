"""Types: the package passes mypy --strict, and the stubs are those of the Rust half."""

import os
import subprocess
import sys

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _passes(*command: str) -> None:
    told = subprocess.run(
        [sys.executable, "-m", *command], cwd=_ROOT, capture_output=True, text=True
    )
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_package_is_typed() -> None:
    _passes("mypy", "--strict", "flashyard", "tests")


def test_the_stubs_are_those_of_the_module() -> None:
    _passes("mypy.stubtest", "flashyard._core")

"""``python -m flashyard``: the command ``flashyard``."""

from __future__ import annotations

import sys

from . import _core


def main() -> None:
    """Runs the command with the arguments of the process, and ends with its status."""
    start = [sys.executable, "-m", "flashyard"]
    sys.exit(_core.command(sys.argv[1:], _core.__file__, start))


if __name__ == "__main__":
    main()

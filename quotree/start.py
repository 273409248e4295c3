"""Starts the command, in a checkout and where a wheel is installed."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGES = Path(__file__).with_name("_packages")
"""Where a wheel keeps `cli`, `cluster` and the others, so that it adds no general name to an environment.

A checkout has them beside this package.
"""


def find_packages() -> None:
    """Let this process import Quotree's packages, also where the environment has others of the same name."""
    if _PACKAGES.is_dir() and str(_PACKAGES) not in sys.path:
        sys.path.insert(0, str(_PACKAGES))


def main() -> None:
    find_packages()
    from cli.main import main as command

    command()

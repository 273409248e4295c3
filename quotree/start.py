"""Starts the command, in a checkout or from an installed wheel."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGES = Path(__file__).with_name("_packages")
"""The folder of `cli`, `cluster` and the other packages in a wheel. There they do not add general names to an
environment. In a checkout they are next to this package."""


def find_packages() -> None:
    """Let this process import Quotree's packages, even if the environment has others of the same name."""
    if _PACKAGES.is_dir() and str(_PACKAGES) not in sys.path:
        sys.path.insert(0, str(_PACKAGES))


def main() -> None:
    find_packages()
    from cli.main import main as command

    command()

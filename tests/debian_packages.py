"""Programs of Debian that tests need: finds them, and `python -m tests.debian_packages` installs what is missing.

It does nothing where they are there, installs as root where there is apt-get, and else says what to run. A service that
comes with a package never starts: tests start programs of their own, and one on the usual port would be in the way.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = {"prometheus": "prometheus", "promtool": "prometheus", "chromium-headless-shell": "chromium-headless-shell"}
"""Each program, and the package that has it."""
POLICY = Path("/usr/sbin/policy-rc.d")
"""What maintainer scripts ask before they start a service; 101 means no."""
_OURS = "#!/bin/sh\n# written by tests/debian_packages.py for the time of an installation; may be removed\nexit 101\n"
_INIT_SCRIPTS = Path("/etc/init.d")
_INSTALL = ("apt-get", "install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300")
_SECONDS = 1200.0  # chromium is a large download


class MissingProgramError(RuntimeError):
    """A program is missing; the text says what to run."""


def find(program: str) -> str:
    """The path of a program in PACKAGES. Raises MissingProgramError."""
    path = shutil.which(program)
    if path is None:
        raise MissingProgramError(f"no `{program}` on the PATH: {_cure([PACKAGES[program]])}")
    return path


def install() -> list[str]:
    """Installs the packages of missing programs, and returns them. Raises MissingProgramError where it cannot."""
    packages = sorted({package for program, package in PACKAGES.items() if shutil.which(program) is None})
    if not packages:
        return []
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise MissingProgramError(_cure(packages))
    with _no_service_starts():
        _run("apt-get", "update")
        _run(*_INSTALL, *packages)
        for package in packages:
            _keep_off(package)
    return packages


def _cure(packages: list[str]) -> str:
    names = " ".join(packages)
    return (
        f"run `python -m tests.debian_packages` as root, or install {names} (`sudo apt-get install {names}` on Debian)"
    )


@contextmanager
def _no_service_starts() -> Iterator[None]:
    """A policy that the machine has stays; ours goes again, also one that a killed run has left."""
    if not POLICY.exists():
        POLICY.write_text(_OURS)
        POLICY.chmod(0o755)
    try:
        yield
    finally:
        if POLICY.exists() and POLICY.read_bytes() == _OURS.encode():
            POLICY.unlink()


def _keep_off(package: str) -> None:
    """Not at the next boot either, and not now where the machine's own policy let it start."""
    if (_INIT_SCRIPTS / package).exists():
        for command in (["update-rc.d", package, "disable"], ["service", package, "stop"]):
            subprocess.run(command, capture_output=True, timeout=60, check=False)


def _run(*command: str) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode != 0:
        raise MissingProgramError(f"`{' '.join(command)}` failed:\n{(done.stderr or done.stdout)[-2000:]}")


def main() -> None:
    try:
        installed = install()
    except (MissingProgramError, subprocess.TimeoutExpired) as error:
        raise SystemExit(f"programs for the tests are missing: {error}") from None
    print(f"installed {', '.join(installed)}" if installed else "nothing to install")


if __name__ == "__main__":
    main()

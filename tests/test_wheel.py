"""The wheel as people install it: without extras it needs no Kubernetes client, and says what a cluster needs."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.apiserver

ROOT = Path(__file__).parents[1]
ACCEPTED = ROOT / "examples" / "accepted"
SIMULATED = ROOT / "examples" / "simulations" / "special-queue"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def quotree(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The command of an environment that has the wheel, and what the wheel asks for without extras."""
    folder = tmp_path_factory.mktemp("installed")
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")]
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = (folder / "dist").iterdir()
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    subprocess.run([programs / "pip", "install", "--quiet", str(wheel)], check=True, capture_output=True)
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "QUOTREE_CONFIG")}

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [str(programs / "quotree"), *map(str, arguments)]
        return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False, timeout=120)

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", ACCEPTED, "-o", "text", "-o", "html=report.html", "-o", "sarif=report.sarif"),
        ("tree", ACCEPTED),
        ("diff", ACCEPTED, "--base", f"files:{ACCEPTED}", "-o", "markdown"),
        ("order", ACCEPTED, "--base", f"files:{ACCEPTED}"),
        ("simulate", SIMULATED / "queues.yaml", SIMULATED / "idle.yaml"),
        ("fix", ACCEPTED),
        ("explain", "parent-cycle"),
        ("rules",),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_command_without_a_cluster_needs_no_extra(quotree: Run, arguments: tuple[object, ...]) -> None:
    done = quotree(*arguments)

    assert done.returncode == 0, done.stderr
    assert "internal error" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("validate", ACCEPTED, "--against", "cluster"), "cluster"),
        (("snapshot", "--file", "prod.json"), "cluster"),
        (("pending",), "cluster"),
        (("review", "review.json"), "serve"),
        (("serve", "webhook", "--certs", "certs"), "serve"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else value,
)
def test_what_needs_a_cluster_names_the_extra(quotree: Run, arguments: tuple[object, ...], extra: str) -> None:
    done = quotree(*arguments)

    assert done.returncode == 4, done.stderr
    assert f"pip install '.[{extra}]'" in done.stderr

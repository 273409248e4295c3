"""The wheel as users install it: beside other tools, which it does not change, and without extras.

The environment has packages of the same names as Quotree's own; whoever imports one of these gets an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from cli.group import CommandGroup

pytestmark = pytest.mark.apiserver

ROOT = Path(__file__).parents[1]
ACCEPTED = ROOT / "examples" / "accepted"
SIMULATED = ROOT / "examples" / "simulations" / "special-queue"
Run = Callable[..., subprocess.CompletedProcess[str]]


OWN = ("policies", "scheduling", "reconciler", "webhook", "audit", "analysis", "dashboard", "certs", "cluster", "cli")
SHARE = ("tests/policies", "tests/cluster")
"""A third of the unit tests."""
SHORT = ("tests/analysis", "tests/audit", "tests/cluster/test_store.py")
COMMANDS = CommandGroup().list_commands(click.Context(click.Command("quotree")))
ALL_COMMANDS = """
import sys
from quotree.start import main
for command in sys.argv[1:]:
    sys.argv = ["quotree", command, "--help"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, command
"""


def wheel_in(folder: Path) -> Path:
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(built, cwd=ROOT, check=True, capture_output=True, env=environment)
    (wheel,) = folder.iterdir()
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel_in(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel, what the wheel asks for without extras, and the decoys."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder)
    install = [sys.executable, "-m", "pip", "--python", str(folder), "install", "--quiet", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    for name in OWN:
        decoy = site_packages(folder) / name
        decoy.mkdir()
        (decoy / "__init__.py").write_text(f"raise ImportError('this {name} belongs to another tool')\n")
    return folder / "bin"


def site_packages(environment: Path) -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(environment)}))


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "QUOTREE_CONFIG")}


@pytest.fixture(scope="module")
def quotree(programs: Path) -> Run:
    def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [str(programs / "quotree"), *map(str, arguments)]
        environment = clean() | variables
        return subprocess.run(
            command, cwd=programs.parent, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    return run


def test_the_wheel_has_only_the_import_name_quotree(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        names = {name.partition("/")[0] for name in content.namelist()}

    assert {name for name in names if not name.startswith("quotree-")} == {"quotree"}


def test_the_wheel_has_the_same_bytes_when_it_is_built_again(wheel: Path, tmp_path: Path) -> None:
    assert wheel_in(tmp_path).read_bytes() == wheel.read_bytes()


def test_every_command_starts_beside_packages_of_the_same_names(programs: Path) -> None:
    """One process imports them all; `make nightly` starts each by itself."""
    here = {"PYTHONPATH": sysconfig.get_path("purelib")}  # for what the extras bring
    command = [programs / "python", "-P", "-c", ALL_COMMANDS, *COMMANDS]
    shown = subprocess.run(command, env=clean() | here, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr
    assert re.findall(r"^Usage: quotree (\S+)", shown.stdout, re.MULTILINE) == COMMANDS
    module = subprocess.run(
        [programs / "python", "-m", "quotree", "--version"], env=clean(), capture_output=True, text=True, check=False
    )
    assert module.stdout.startswith("quotree "), module.stderr


@pytest.mark.nightly
def test_each_command_starts_by_itself(quotree: Run) -> None:
    for command in COMMANDS:
        shown = quotree(command, "--help", PYTHONPATH=sysconfig.get_path("purelib"))
        assert shown.returncode == 0, shown.stderr


def test_other_tools_keep_their_packages(programs: Path) -> None:
    other = [programs / "python", "-P", "-c", "import cli"]
    done = subprocess.run(other, env=clean(), capture_output=True, text=True, check=False)

    assert "this cli belongs to another tool" in done.stderr


@pytest.mark.parametrize(
    "share", [pytest.param(SHORT, id="short"), pytest.param(SHARE, id="third", marks=pytest.mark.nightly)]
)
def test_the_tests_pass_with_the_packages_of_the_wheel(programs: Path, tmp_path: Path, share: tuple[str, ...]) -> None:
    """The tests run with the packages of the wheel: the folder has none."""
    folder = tmp_path / "tests-only"
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name in ("generators", "examples", "docs", "manifests"):
        (folder / name).symlink_to(ROOT / name)
    (tmp_path / "shared").symlink_to(ROOT.parent / "shared")
    packages = site_packages(programs.parent) / "quotree" / "_packages"
    paths = {"PYTHONPATH": f"{packages}{os.pathsep}{sysconfig.get_path('purelib')}"}
    done = subprocess.run(
        [programs / "python", "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "-m", "not apiserver", *share],
        cwd=folder,
        env=clean() | paths,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


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
def test_a_command_that_needs_an_extra_names_it(quotree: Run, arguments: tuple[object, ...], extra: str) -> None:
    done = quotree(*arguments)

    assert done.returncode == 4, done.stderr
    assert f"pip install '.[{extra}]'" in done.stderr

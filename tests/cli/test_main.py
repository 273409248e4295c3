"""The entry point: what it prints before anything else is imported, and how it is called."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

from cli import commands
from cli.group import quotree, summary
from cli.main import _called
from cli.version import VERSION
from tests.builders import cluster_queue, cohort
from tests.cli.runs import execute, run, write
from tests.profiles import each_case

ROOT = Path(__file__).parents[2]
_LOADED = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); from cli.main import main"


def _modules(*arguments: object) -> set[str]:
    """What is imported by the time the command ends."""
    script = f"{_LOADED}; sys.argv = {['quotree', *map(str, arguments)]!r}; main()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return set(ended.stderr.splitlines()[-1].split())


def test_the_version_is_that_of_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == VERSION


@pytest.mark.apiserver
@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version_option_prints_only_the_version(flag: str) -> None:
    assert (0, f"quotree {VERSION}\n", "") == (lambda it: (it.returncode, it.stdout, it.stderr))(execute(flag))


def test_version_option_works_with_other_flags() -> None:
    assert f"quotree {VERSION}\n" == run("-v", "--version").stdout


@pytest.mark.apiserver
def test_version_option_imports_only_its_own_module() -> None:
    loaded = _modules("--version")

    assert {"cli", "cli.main", "cli.version"} == {name for name in loaded if name.partition(".")[0] == "cli"}
    assert not loaded & {"click", "yaml", "policies", "importlib.metadata", "jsonschema_rs"}


@pytest.mark.apiserver
def test_help_imports_no_command() -> None:
    loaded = _modules("--help")

    assert not loaded & {"cli.commands.validate", "cli.commands.serve", "yaml"}
    assert {each for each in loaded if each.startswith("policies.")} == {"policies.model", "policies.model.printing"}


@pytest.mark.apiserver
def test_validate_imports_no_client_no_server_and_no_cryptography(tmp_path: Path) -> None:
    loaded = _modules("validate", write(tmp_path / "a.yaml", cohort("org"), cluster_queue("ml", "org")))

    assert not loaded & {"kubernetes", "urllib3", "flask", "gunicorn", "cryptography", "webhook", "certs"}
    assert not loaded & {"prometheus_client", "jsonschema", "reconciler"}
    tables = {"errors", "resource", "roles", "served", "sightings", "sources", "versions"}
    assert {each for each in loaded if each.startswith("cluster.")} <= {f"cluster.{each}" for each in tables}


@pytest.mark.apiserver
def test_the_help_of_stop_reads_no_queue_configuration() -> None:
    assert not _modules("stop", "--help") & {
        "yaml",
        "urllib3",
        "policies.dialects.readers",
        "policies.configuration.settings",
    }


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/usr/local/bin/quotree", "quotree"),
        ("/home/me/.krew/bin/kubectl-quotree", "kubectl quotree"),
        ("kubectl-quotree", "kubectl quotree"),
        (r"C:\bin\kubectl-quotree.exe", "kubectl quotree"),
        ("/src/cli/main.py", "quotree"),
    ],
)
def test_help_shows_the_name_that_was_typed(path: str, name: str) -> None:
    assert name == _called(path)


@pytest.mark.apiserver
def test_help_of_the_kubectl_plugin_shows_kubectl_quotree() -> None:
    script = "import sys; sys.argv = ['/usr/bin/kubectl-quotree', '--help']; from cli.main import main; main()"
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)

    assert "Usage: kubectl quotree [OPTIONS] COMMAND" in ended.stdout


def test_both_console_scripts_call_the_same_function() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["scripts"] == {"quotree": "quotree.start:main", "kubectl-quotree": "quotree.start:main"}


COMMANDS = quotree.list_commands(click.Context(quotree))


def test_there_is_a_command_for_each_file_in_alphabetical_order() -> None:
    files = [
        file.stem.rstrip("_").replace("_", "-")
        for file in Path(commands.__path__[0]).glob("*.py")
        if file.stem != "__init__"
    ]

    assert sorted(files) == COMMANDS


def test_main_help_has_a_summary_line_for_every_command() -> None:
    shown = run("--help").stdout
    for command in COMMANDS:
        line = summary(command)

        assert line.endswith("."), command
        assert "`" not in line, command
        assert line[:30] in shown, command


@each_case("command", [*((name,) for name in COMMANDS), ("serve", "webhook"), ("install", "render")])
def test_every_command_has_help_with_the_exit_codes(command: tuple[str, ...]) -> None:
    shown = run(*command, "--help")

    assert shown.exit_code == 0
    assert "Exit codes: 0 " in shown.stdout
    assert "-v, --verbose" in shown.stdout


def test_an_unknown_command_is_a_usage_error() -> None:
    result = run("valdate")

    assert result.exit_code == 2
    assert "No such command 'valdate'" in result.stderr


@pytest.mark.parametrize(
    ("wrong", "meant"), [("valdate", " Did you mean 'validate'?"), ("treee", " Did you mean 'tree'?"), ("xyz", "")]
)
def test_a_misspelt_command_is_shown_with_the_one_that_was_meant(wrong: str, meant: str) -> None:
    result = run(wrong)

    assert result.exit_code == 2
    assert result.stderr.endswith(f"Error: No such command {wrong!r}.{meant}\n")

"""A new command is one file: the walk in CONTRIBUTING.md, rehearsed on a scratch copy of the project."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "controlplane")
COMMAND = '''\
"""Count the queues in manifests."""

from __future__ import annotations

import click

from cli.exits import Exit
from cli.input.given import gather
from cli.input.options import input_paths, inputs
from cli.output import emit, note


@click.command()
@inputs
def count_queues(paths: tuple[str, ...], filenames: tuple[str, ...]) -> None:
    """Count the queues in PATH..."""
    given = gather(input_paths(paths, filenames))
    for unreadable in given.unreadable:
        note(str(unreadable))
    emit(f"{given.queues} queues")
    click.get_current_context().exit(Exit.UNREADABLE if given.unreadable else Exit.CLEAN)
'''
QUEUES = """\
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: training}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: research}
spec: {}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, with the one new file."""
    folder = tmp_path / "project"
    shutil.copytree(ROOT, folder, ignore=NOT_COPIED)
    (folder / "cli" / "commands" / "count_queues.py").write_text(COMMAND)
    return folder


def _python(project: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", "-m", *map(str, arguments)]
    environment = {"PYTHONPATH": str(project)}
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_one_file_is_a_command_with_help_exit_codes_and_a_row_in_the_docs(project: Path) -> None:
    queues = project.parent / "queues.yaml"
    queues.write_text(QUEUES)

    counted = _python(project, "cli.main", "count-queues", queues)

    assert (counted.returncode, counted.stdout, counted.stderr) == (0, "2 queues\n", "")
    assert "count-queues  Count the queues in manifests." in _python(project, "cli.main", "--help").stdout
    shown = _python(project, "cli.main", "count-queues", "--help").stdout
    assert "Count the queues in PATH..." in shown
    assert "Exit codes: 0 clean" in shown
    assert "-v, --verbose" in shown


def test_its_exit_codes_are_those_of_every_command(project: Path) -> None:
    torn = project.parent / "torn.yaml"
    torn.write_text("a: [\n")

    unreadable = _python(project, "cli.main", "count-queues", torn)
    misused = _python(project, "cli.main", "count-queues")

    assert (unreadable.returncode, f"{torn}:2:1: unreadable: " in unreadable.stderr) == (3, True)
    assert (misused.returncode, "no input: name files or folders" in misused.stderr) == (2, True)


def test_an_internal_error_in_it_is_one_line_and_exit_code_4(project: Path) -> None:
    file = project / "cli" / "commands" / "count_queues.py"
    file.write_text(COMMAND.replace("emit(f", "emit(1 / 0 or f"))

    ended = _python(project, "cli.main", "count-queues", "-f", "-")

    assert ended.returncode == 4
    assert ended.stderr == "quotree: internal error: ZeroDivisionError: division by zero; -v shows where\n"


def test_the_docs_list_it_once_they_are_generated(project: Path) -> None:
    stale = _python(project, "tests.generated", "--check")
    written = _python(project, "tests.generated")

    assert stale.returncode == 1
    assert "+| `quotree count-queues` | Count the queues in manifests. |" in stale.stdout
    assert (written.returncode, written.stdout) == (0, "wrote docs/command-line.md\n")
    assert _python(project, "tests.generated", "--check").returncode == 0
    assert "| `quotree count-queues` |" not in (ROOT / "docs" / "command-line.md").read_text()

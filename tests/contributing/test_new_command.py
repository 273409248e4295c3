"""A new command is one file: the walkthrough in docs/extend-the-checks.md on a scratch copy of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contributing.scratch import ROOT, Scratch, copy_to

pytestmark = pytest.mark.apiserver

FILE = "cli/commands/count_queues.py"
COMMAND = '''\
"""Count the queues in manifests."""

from __future__ import annotations

import click

from cli.exits import Exit
from cli.input.documents import gather
from cli.input.options import input_paths, inputs
from cli.output import emit, note


@click.command()
@inputs
def count_queues(paths: tuple[str, ...], filenames: tuple[str, ...]) -> None:
    """Count the queues in PATH...

    \\b
    Examples:
      quotree count-queues trees/
    """
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
def scratch(tmp_path: Path) -> Scratch:
    """A copy of the project, with the one new file."""
    made = copy_to(tmp_path / "project", "tests", "docs", "manifests", "charts", "monitoring")
    made.write(FILE, COMMAND)
    return made


def test_a_new_command_of_one_file_runs_and_has_help(scratch: Scratch, tmp_path: Path) -> None:
    queues = tmp_path / "queues.yaml"
    queues.write_text(QUEUES)

    counted = scratch.ended("cli.main", "count-queues", str(queues))

    assert (counted.returncode, counted.stdout, counted.stderr) == (0, "2 queues\n", "")
    assert "count-queues  Count the queues in manifests." in scratch.run("cli.main", "--help")
    shown = scratch.run("cli.main", "count-queues", "--help")
    assert "Count the queues in PATH..." in shown
    assert "Exit codes: 0 clean" in shown
    assert "-v, --verbose" in shown


def test_a_new_command_has_the_exit_codes_of_all_commands(scratch: Scratch, tmp_path: Path) -> None:
    torn = tmp_path / "torn.yaml"
    torn.write_text("a: [\n")

    unreadable = scratch.ended("cli.main", "count-queues", str(torn))
    misused = scratch.ended("cli.main", "count-queues")

    assert (unreadable.returncode, f"{torn}:2:1: unreadable: " in unreadable.stderr) == (3, True)
    assert (misused.returncode, "no input: name files or folders" in misused.stderr) == (2, True)


def test_an_internal_error_of_a_new_command_is_one_line_and_exit_code_4(scratch: Scratch) -> None:
    scratch.replace(FILE, "emit(f", "emit(1 / 0 or f")

    ended = scratch.ended("cli.main", "count-queues", "-f", "-")

    assert ended.returncode == 4
    assert ended.stderr == "quotree: internal error: ZeroDivisionError: division by zero; -v shows where\n"


def test_the_generated_docs_list_a_new_command(scratch: Scratch) -> None:
    row = "| [`count-queues`](count-queues.md) | Count the queues in manifests. |"

    wrote = (
        *("docs/man/quotree-count-queues.1", "docs/man/quotree.1"),
        *("docs/commands/count-queues.md", "docs/commands/README.md"),
        "docs/surfaces/commands.txt",
    )

    assert sorted(scratch.run("generators").splitlines()) == sorted(f"wrote {file}" for file in wrote)
    assert row in (scratch.root / "docs" / "commands" / "README.md").read_text()
    assert row not in (ROOT / "docs" / "commands" / "README.md").read_text()

"""What `--help` shows of every command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from cli.exits import EPILOG, EXIT_CODES_OF_ACTIONS, EXIT_CODES_OF_PLANS, EXIT_CODES_OF_SIMULATIONS, exit_codes
from cli.group import quotree
from tests.cli.runs import run
from tests.profiles import each_case

_EXAMPLE = re.compile(r'^ +(?:eval "\$\()?(quotree [^|<>)\n]*)', re.MULTILINE)


def commands(command: click.Command = quotree, *words: str) -> Iterator[tuple[str, ...]]:
    """The words of each command; none for `quotree` itself."""
    yield words
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, *words, name)


COMMANDS = list(commands())


def examples(words: tuple[str, ...]) -> list[str]:
    """The command lines that the help of a command shows, without what is piped and redirected."""
    _, _, after = run(*words, "--help", env={"COLUMNS": "200"}).stdout.partition("Examples:\n")
    return _EXAMPLE.findall(after.partition("\n\n")[0])


def problem(line: str) -> str:
    """Why click would not take it, empty where it would; files need not exist."""
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = quotree
    while isinstance(command, click.Group) and words:
        found = command.get_command(click.Context(command), words.pop(0))
        if found is None:
            return "no such command"
        command = found
    try:
        command.make_context(command.name, words, resilient_parsing=False).close()
    except click.ClickException as error:
        message = error.format_message()
        return "" if "no such file or folder" in message else message
    return ""


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words) or "quotree")
def test_help_examples_of_each_command_are_valid(words: tuple[str, ...]) -> None:
    shown = examples(words)

    assert any(line.split()[1 : 1 + len(words)] == list(words) for line in shown)
    assert [problem(line) for line in shown] == [""] * len(shown)


def test_an_example_that_is_wrong_is_found() -> None:
    assert "No such option" in problem("quotree tree trees/ --agains cluster")
    assert "Missing argument" in problem("quotree explain")
    assert problem("quotree nothing") == "no such command"


# -- exit codes -------------------------------------------------------------------------------------------------------

JUDGING = ("", "audit", "validate")
"""Commands that report findings."""
READING = {
    "baseline": "",
    "baseline create": "",
    "baseline prune": "",
    "doctor": "a check at or above --fail-on",
    "fix": "a file would change (--check)",
    "migrate": "an object was refused (--live)",
    "order": "the change is refused, or has no safe order",
    "review": "the request is denied",
    "test": "a case failed",
}
"""Other commands that read inputs, each with the meaning of exit code 1."""
SIMULATING = ("diff", "pending", "simulate", "tree", "why")
PLANNING = (
    "install",
    "install take-over",
    *("queue", "queue close", "queue delete", "queue move", "queue open", "queue pause", "queue resume"),
    "uninstall",
)
"""Commands that say what they would do, or refuse it."""


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words) or "quotree")
def test_the_help_has_the_exit_codes_of_a_command_of_its_kind(words: tuple[str, ...]) -> None:
    name = " ".join(words)
    epilogs = {
        **dict.fromkeys(JUDGING, EPILOG),
        **{name: exit_codes(one) for name, one in READING.items()},
        **dict.fromkeys(SIMULATING, EXIT_CODES_OF_SIMULATIONS),
        **dict.fromkeys(PLANNING, EXIT_CODES_OF_PLANS),
    }
    expected = epilogs.get(name, EXIT_CODES_OF_ACTIONS)

    help = run(*words, "--help", env={"COLUMNS": "120"}).stdout

    assert " ".join(help.split()).endswith(expected)
    assert help.count("Exit codes:") == 1


@each_case("words", [words for words in COMMANDS if words])
def test_the_exit_codes_name_only_options_of_the_command(words: tuple[str, ...]) -> None:
    command: click.Command | None = quotree
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None

    options = {option for parameter in command.params for option in parameter.opts}
    named = set(re.findall(r"--[a-z-]+", command.epilog or ""))

    assert named <= options
    assert named & {"--fail-on"} == options & {"--fail-on"}

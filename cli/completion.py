"""Completion in shells by click's mechanism: the shell's script calls `quotree` with the variable `VARIABLE` set."""

from __future__ import annotations

import os
from typing import ClassVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

VARIABLE = "_QUOTREE_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
_BREAKS = ":="
"""Characters in our values at which bash begins a new word, if they are in COMP_WORDBREAKS."""

_BASH = r"""%(complete_func)s() {
    local type value
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done < <(env COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" \
        %(complete_var)s=bash_complete "$1" 2>/dev/null)
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]]; then compopt -o nospace; fi
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
"""The completion script for bash. click's own script passes the words as bash splits them, so that `cluster:prod` is
three words, and lets the shell expand the results."""


class _OrFiles(ShellComplete):
    """Completes files if there is no other completion, as shells do by default."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        return super().get_completions(args, incomplete) or [CompletionItem(incomplete, type="file")]


class _Bash(_OrFiles, BashComplete):
    source_template: ClassVar[str] = _BASH

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line)
        incomplete = "" if line[-1:].isspace() else words.pop()
        return words[1:], incomplete

    def complete(self) -> str:
        """The completions without the part that bash keeps: the text up to the last `:` or `=` of the word."""
        args, incomplete = self.get_completion_args()
        typed = incomplete.partition("=")[2] if incomplete.startswith("--") else incomplete
        breaks = set(_BREAKS) & set(os.environ.get("COMP_WORDBREAKS", _BREAKS))
        kept = 1 + max((typed.rfind(char) for char in breaks), default=-1)
        found = self.get_completions(args, incomplete)
        return "\n".join(f"{each.type},{each.value[kept:] if each.type == 'plain' else ''}" for each in found)


class _WholeWords(_OrFiles):
    """Completes the whole of `--option=value`, for shells that replace all of it. click returns only the value."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        found = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if not (equals and option.startswith("--")):
            return found
        return [
            CompletionItem(f"{option}={each.value}", each.type, each.help) if each.type == "plain" else each
            for each in found
        ]


class _Zsh(_WholeWords, ZshComplete):
    """click's completion for zsh, with whole words and files."""


class _Fish(_WholeWords, FishComplete):
    """click's completion for fish, with whole words and files."""


_CLASSES: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}


def register() -> None:
    for shell in _CLASSES.values():
        add_completion_class(shell)


def script(shell: str, command: click.Command) -> str:
    return ShellComplete.source(_CLASSES[shell](command, {}, "quotree", VARIABLE)).rstrip("\n")

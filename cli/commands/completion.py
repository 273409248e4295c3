"""Print the script that lets bash, zsh or fish complete commands, options and values."""

from __future__ import annotations

import click

from cli.completion import SHELLS, script
from cli.exits import EXIT_CODES_OF_ACTIONS
from cli.output import emit


@click.command(epilog=EXIT_CODES_OF_ACTIONS)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the completion script for SHELL.

    It completes commands and options, and values: rules, formats, profiles, contexts of your kubeconfig, files.

    \b
    Examples:
      eval "$(quotree completion bash)"                                  # in ~/.bashrc
      eval "$(quotree completion zsh)"                                   # in ~/.zshrc, after compinit
      quotree completion fish > ~/.config/fish/completions/quotree.fish
    """
    emit(script(shell, click.get_current_context().find_root().command))

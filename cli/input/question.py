"""The options that decide how manifests are judged, which `validate` and `baseline` share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from cli.exits import Misused
from cli.input.against import Against
from cli.input.options import against as against_option
from cli.input.options import configured


@dataclass(frozen=True, slots=True)
class ValidationQuestion:
    """The options that decide how manifests are judged.

    `against`: the context.
    `config`, `profile`: the configuration.
    `prune`: whether objects of the context that are not in the inputs are deleted.
    `revision`: the revision of --base.
    """

    against: Against
    config: str | None = None
    profile: str | None = None
    prune: bool = False
    revision: str | None = None


def question_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of ValidationQuestion to a command, which gets them as `question`."""

    @wraps(command)
    def with_question(
        *arguments: Any,
        against: Against,
        config: str | None,
        profile: str | None,
        prune: bool,
        revision: str | None,
        **others: Any,
    ) -> Any:
        if prune and revision is not None:
            raise Misused("--prune: --base says what the change deletes; leave one of them out")
        if revision is not None and revision.startswith(("files:", "snapshot:")):
            raise Misused(
                f"--base takes a Git revision, such as main; judge on top of other objects with --against {revision}, "
                f"or compare two folders with `quotree diff`"
            )
        if prune and against.kind == "nothing":
            raise Misused("--prune deletes objects of the context: name it with --against")
        question = ValidationQuestion(against, config, profile, prune, revision)
        return command(*arguments, question=question, **others)

    for option in (
        click.option(
            "--prune", is_flag=True, help="Delete what the context has and the files lack, of the kinds in the files."
        ),
        click.option(
            "--base",
            "revision",
            metavar="REVISION",
            help="The Git revision that the change begins at: only what the change makes worse fails, and objects that"
            " it removes are deleted.",
        ),
    ):
        with_question = option(with_question)
    return against_option(configured(with_question))

"""The options that decide how manifests are judged, which `validate` and `baseline` share."""

from __future__ import annotations

from dataclasses import dataclass

import click

from cli.exits import Misused
from cli.input.against import Against
from cli.input.grouped import grouped
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


def _question(
    against: Against, config: str | None, profile: str | None, prune: bool, revision: str | None
) -> ValidationQuestion:
    if prune and revision is not None:
        raise Misused("--prune: --base says what the change deletes; leave one of them out")
    if revision is not None and revision.startswith(("files:", "snapshot:")):
        raise Misused(
            f"--base takes a Git revision, such as main; judge on top of other objects with --against {revision}, "
            f"or compare two folders with `quotree diff`"
        )
    if prune and against.kind == "nothing":
        raise Misused("--prune deletes objects of the context: name it with --against")
    return ValidationQuestion(against, config, profile, prune, revision)


question_options = grouped(
    "question",
    _question,
    against_option,
    configured,
    click.option(
        "--base",
        "revision",
        metavar="REVISION",
        help="The Git revision that the change begins at: only what the change makes worse fails, and objects that"
        " it removes are deleted.",
    ),
    click.option(
        "--prune", is_flag=True, help="Delete what the context has and the files lack, of the kinds in the files."
    ),
)

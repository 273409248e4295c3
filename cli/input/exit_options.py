"""The options that decide the exit code of a command that reports findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import click

from analysis.documents import Unreadable
from cli.exits import Exit, strongest
from cli.input.grouped import grouped
from policies.judging.verdict import Unjudged
from policies.model.findings import FAILING, Severity


@dataclass(frozen=True, slots=True)
class ExitOptions:
    """The values of --fail-on (a key of FAILING), --require-evaluated and --require-objects."""

    fail_on: str
    require_evaluated: bool
    require_objects: bool

    @property
    def failing(self) -> frozenset[Severity]:
        return FAILING[self.fail_on]

    def code(
        self,
        found: Iterable[Severity],
        *,
        objects: int,
        unreadable: Sequence[Unreadable],
        missed: Sequence[Unjudged],
        unrendered: bool = False,
    ) -> Exit:
        """The exit code of a run.

        `found`: the severities of the findings. `objects`: the number of judged objects. `unreadable`: a file below a
        folder counts as a finding, since the user did not name it. `missed`: rules that were not evaluated; one that
        failed with an internal error decides the exit code even without --require-evaluated. `unrendered`: whether a
        kustomization or a chart was not rendered, so that what it changes is not judged.
        """

        def codes() -> Iterator[Exit]:
            if not all(each.below for each in unreadable):
                yield Exit.UNREADABLE
            if unreadable and Severity.ERROR in self.failing:
                yield Exit.FINDINGS
            if any(each.error for each in missed) or ((missed or unrendered) and self.require_evaluated):
                yield Exit.UNJUDGED
            if not self.failing.isdisjoint(found):
                yield Exit.FINDINGS
            if not objects and self.require_objects:
                yield Exit.NOTHING

        return strongest(codes())


exits = grouped(
    "exits",
    ExitOptions,
    click.option(
        "--fail-on",
        type=click.Choice(list(FAILING)),
        default="error",
        show_default=True,
        help="Exit 1 at findings of this severity or worse.",
    ),
    click.option(
        "--require-evaluated",
        is_flag=True,
        help="Exit 4 if a rule could not be evaluated, or a chart or kustomization not rendered.",
    ),
    click.option("--require-objects", is_flag=True, help="Exit 5 if there was nothing to judge."),
)

"""Record the present findings, so that only new ones fail."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from cli.exits import Exit, Misused, OutOfReach, exit_codes
from cli.input import baseline as baselines
from cli.input.baseline import Baseline
from cli.input.question import ValidationQuestion, question_options
from cli.input.selection import InputSelection, selected_in_roots
from cli.output import emit, some
from cli.report.answering import Answered, answer, note_problems
from cli.report.baselined import stale
from cli.subcommands import SubCommands
from policies.judging.rule import Proposal
from policies.model.findings import Severity

_file_option = click.option(
    "--file", metavar="FILE", default=".quotree-baseline.jsonl", show_default=True, help="The baseline."
)


@click.group(cls=SubCommands, epilog=exit_codes())
def baseline() -> None:
    """Keep a file of known findings for `quotree validate --baseline FILE`.

    A finding is identified by its rule, object and field. Its line and the amounts in its message do not count. Put the
    file under version control, and remove the entries of findings that are fixed.

    \b
    Examples:
      quotree baseline create trees/
      quotree validate trees/ --baseline .quotree-baseline.jsonl
      quotree baseline prune trees/
    """


@baseline.command()
@selected_in_roots
@question_options
@_file_option
@click.option("--overwrite", is_flag=True, help="Replace a baseline that exists.")
def create(selection: InputSelection, question: ValidationQuestion, file: str, overwrite: bool) -> None:
    """Write all errors and warnings of the manifests in PATH... into the baseline.

    \b
    Examples:
      quotree baseline create trees/
      quotree baseline create trees/ --against cluster --file baselines/prod.json
    """
    if os.path.exists(file) and not overwrite:
        raise Misused(f"{file} exists; `quotree baseline prune` removes what is repaired, --overwrite begins anew")
    answered, _ = _judged(selection, question)
    every = [entry.judged for entry in answered.report.every]
    old = [one for one, judged in zip(baselines.of(every), every, strict=True) if judged.severity is not Severity.INFO]
    baselines.write(Baseline(file, tuple(old)))
    emit(f"{file}: {some(len(old), 'finding')}")
    click.get_current_context().exit(_code(answered))


@baseline.command()
@selected_in_roots
@question_options
@_file_option
def prune(selection: InputSelection, question: ValidationQuestion, file: str) -> None:
    """Remove findings from the baseline that the manifests in PATH... no longer have.

    Use the same inputs and options as for `validate`. Nothing is removed while an input cannot be read.

    \b
    Examples:
      quotree baseline prune trees/
      quotree baseline prune trees/ --file baselines/prod.json
    """
    old = baselines.read(file)
    answered, proposals = _judged(selection, question)
    gone = set(stale(old, answered.report, proposals))
    if gone:
        baselines.write(Baseline(file, tuple(each for each in old.entries if each not in gone)))
    emit(f"{file}: {some(len(old.entries) - len(gone), 'finding')}, {len(gone)} removed")
    click.get_current_context().exit(_code(answered))


def _judged(selection: InputSelection, question: ValidationQuestion) -> tuple[Answered, Sequence[Proposal]]:
    """Judge the inputs. Raises OutOfReach if they cannot be judged, since then there are no findings to write."""
    answered = answer(selection, question)
    note_problems(answered.report)
    if not answered.proposals:
        raise OutOfReach(answered.report.not_evaluated[0].reason)
    return answered, answered.proposals


def _code(answered: Answered) -> Exit:
    return Exit.UNREADABLE if answered.report.unreadable else Exit.CLEAN

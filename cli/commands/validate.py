"""Check manifests with the webhook's rules, all files as one change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from cli.input import baseline as baselines
from cli.input.exit_options import ExitOptions
from cli.input.exit_options import exits as exit_options
from cli.input.outputs import Output, outputs
from cli.input.question import ValidationQuestion, question_options
from cli.input.selection import InputSelection, selected_in_roots
from cli.progress import progress
from cli.report.answering import answer, note_problems
from cli.report.baselined import without_old
from cli.report.formats import OF_REPORTS, deliver
from cli.watching import watchable


@click.command()
@watchable
@progress
@selected_in_roots
@question_options
@outputs(tuple(OF_REPORTS))
@exit_options
@click.option(
    "--baseline",
    metavar="FILE",
    help="A file of known findings, which do not fail; see `quotree baseline`. An entry that is no longer found fails.",
)
def validate(
    selection: InputSelection,
    question: ValidationQuestion,
    outputs: tuple[Output, ...],
    exits: ExitOptions,
    baseline: str | None,
) -> None:
    """Check the manifests in PATH... (files, folders with all files below them, patterns) as one change, in any order.

    Without --against, the files are the whole organisation. With it, they override the objects of that context. --prune
    deletes the objects of the context that the files lack. It deletes only kinds that occur in the files, of these:
    Cohort, ClusterQueue, LocalQueue, Queue, Namespace. It never deletes the queues and namespaces that Volcano and
    Kubernetes create themselves.

    \b
    Examples:
      quotree validate trees/ -o text -o sarif=quotree.sarif -o junit=quotree.xml
      quotree validate trees/ -o github -o markdown="$GITHUB_STEP_SUMMARY"
      quotree validate trees/ --base origin/main
      quotree validate change.yaml --against cluster
      quotree validate --kustomize overlays/prod --against snapshot:prod.json
      quotree validate --helm chart -f values.yaml
      quotree validate trees/ --watch
      quotree validate trees/ --baseline .quotree-baseline.jsonl
    """
    old = baselines.read(baseline) if baseline is not None else None
    answered = answer(selection, question)
    found, proposals = answered.report, answered.proposals
    if old is not None and proposals:
        found = without_old(found, old, proposals)
    note_problems(found)
    deliver(outputs, OF_REPORTS, replace(found, failing=exits.failing, folder=str(Path.cwd())))
    if not proposals:  # the context could not be read, so the files must not pass
        exits = replace(exits, require_evaluated=True)
    code = exits.code(
        (entry.judged.severity for entry in found.entries),
        objects=found.subject.objects,
        unreadable=found.unreadable,
        missed=found.not_evaluated,
        unrendered=found.looked is not None and bool(found.looked.notes),
    )
    click.get_current_context().exit(code)

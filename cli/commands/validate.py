"""Check manifests with the webhook's rules, all files as one change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from cli.exits import Exit, strongest
from cli.input import baseline as baselines
from cli.input.outputs import Output, outputs
from cli.input.question import Question, asked
from cli.input.selection import Selection, selected
from cli.report.answering import answer, note_problems
from cli.report.baselined import without_old
from cli.report.formats import OF_REPORTS, deliver
from cli.report.model import Report
from cli.watching.again import watchable
from policies.model.findings import FAILING


@click.command()
@watchable
@selected
@asked
@outputs(tuple(OF_REPORTS))
@click.option(
    "--fail-on",
    type=click.Choice(list(FAILING)),
    default="error",
    show_default=True,
    help="Exit 1 at findings of this severity or worse.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    help="Old findings, which do not fail; `quotree baseline create` writes them. One that is gone is a finding.",
)
@click.option("--require-evaluated", is_flag=True, help="Exit 4 if a rule could not be evaluated.")
@click.option("--require-objects", is_flag=True, help="Exit 5 if there was nothing to judge.")
def validate(
    selection: Selection,
    question: Question,
    outputs: tuple[Output, ...],
    fail_on: str,
    baseline: str | None,
    require_evaluated: bool,
    require_objects: bool,
) -> None:
    """Check the manifests in PATH... (files, folders with all files below them, patterns) as one change, in any order.

    The files are the whole organisation unless --against names a context, whose objects they override. With --prune,
    objects of the context that the files lack are deleted, of the kinds that occur in the files (Cohort, ClusterQueue,
    LocalQueue, Queue, Namespace). The queues and namespaces that Volcano and Kubernetes create themselves are never
    deleted.

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
    found, proposal = answered.report, answered.proposal
    if old is not None and proposal is not None:
        found = without_old(found, old, proposal)
    note_problems(found)
    deliver(outputs, OF_REPORTS, replace(found, failing=FAILING[fail_on], folder=str(Path.cwd())))
    unjudged = require_evaluated or proposal is None
    code = strongest(_codes(found, fail_on, unjudged, require_objects))
    click.get_current_context().exit(code)


def _codes(found: Report, fail_on: str, require_evaluated: bool, require_objects: bool) -> Iterator[Exit]:
    if found.unreadable:
        yield Exit.UNREADABLE
    if found.not_evaluated and require_evaluated:
        yield Exit.UNJUDGED
    if any(entry.judged.severity in FAILING[fail_on] for entry in found.entries):
        yield Exit.FINDINGS
    if not found.subject.objects and require_objects:
        yield Exit.NOTHING

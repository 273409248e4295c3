"""Check manifests with the webhook's rules, all files as one change."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cli.exits import Exit, Misused, OutOfReach, strongest
from cli.input.context import Against, Revision, load
from cli.input.given import Given
from cli.input.options import against as against_option
from cli.input.options import output
from cli.input.revision import read_base
from cli.input.selection import Selection, read, selected
from cli.input.settings import settings
from cli.judgement import judge
from cli.output import emit, note
from cli.report.as_json import as_json
from cli.report.as_text import as_text
from cli.report.model import Report, report, unjudged
from policies.model.findings import Profile, Severity

_FAILING = {
    "error": {Severity.ERROR},
    "warning": {Severity.ERROR, Severity.WARNING},
    "never": set[Severity](),
}


@click.command()
@selected
@against_option
@output
@click.option(
    "--profile", type=click.Choice([it.value for it in Profile]), help="Overrides the profile of the configuration."
)
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="error",
    show_default=True,
    help="Exit 1 at findings of this severity or worse.",
)
@click.option(
    "--config",
    metavar="FILE",
    help="Quotree's configuration. Default: QUOTREE_CONFIG, then .quotree.yaml upward from the first input.",
)
@click.option(
    "--prune", is_flag=True, help="Delete what the context has and the files lack, of the kinds in the files."
)
@click.option(
    "--base",
    "revision",
    metavar="REVISION",
    help="The Git revision that the change begins at: only what the change makes worse fails, and objects that it"
    " removes are deleted.",
)
@click.option("--require-evaluated", is_flag=True, help="Exit 4 if a rule could not be evaluated.")
@click.option("--require-objects", is_flag=True, help="Exit 5 if there was nothing to judge.")
def validate(
    selection: Selection,
    against: Against,
    kubeconfig: str | None,
    output: str,
    profile: str | None,
    fail_on: str,
    config: str | None,
    prune: bool,
    revision: str | None,
    require_evaluated: bool,
    require_objects: bool,
) -> None:
    """Check the manifests in PATH... (files, and folders with all files below them) as one change, in any order.

    The files are the whole organisation unless --against names a context, whose objects they override. With --prune,
    objects of the context that the files lack are deleted, of the kinds that occur in the files (Cohort, ClusterQueue,
    LocalQueue, Queue, Namespace). The queues and namespaces that Volcano and Kubernetes create themselves are never
    deleted.
    """
    if prune and revision:
        raise Misused("--prune: --base says what the change deletes; leave one of them out")
    if prune and against.kind == "nothing":
        raise Misused("--prune deletes objects of the context: name it with --against")
    configuration = settings(config, selection.places, profile)
    files = read(selection)
    try:
        base = _base(revision, selection)
        former = base[1] if base else None
        context = load(against, kubeconfig, configuration.yunikorn, files.objects)
        found = report(files, context, judge(files, context, configuration, prune=prune, base=former), base)
    except OutOfReach as error:
        found = unjudged(files, against, configuration, error.message)
        require_evaluated = True
    for item in found.unreadable:
        note(str(item))
    if not files.objects:
        others = f" ({files.others} of other kinds)" if files.others else ""
        note(f"nothing to judge: no object of a kind that carries quota{others}")
    emit(as_json(found) if output == "json" else as_text(found))
    code = strongest(_codes(found, fail_on, require_evaluated, require_objects))
    click.get_current_context().exit(code)


def _base(revision: str | None, selection: Selection) -> tuple[Revision, Given] | None:
    if revision is None:
        return None
    commit, inputs = read_base(revision, selection)
    for item in inputs.unreadable:
        note(f"{item}; what it holds counts as new")
    return commit, inputs


def _codes(found: Report, fail_on: str, require_evaluated: bool, require_objects: bool) -> Iterator[Exit]:
    if found.unreadable:
        yield Exit.UNREADABLE
    if found.not_evaluated and require_evaluated:
        yield Exit.UNJUDGED
    if any(entry.judged.severity in _FAILING[fail_on] for entry in found.entries):
        yield Exit.FINDINGS
    if not found.subject.objects and require_objects:
        yield Exit.NOTHING

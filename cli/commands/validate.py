"""`quotree validate`: the rules of the webhook over files, as one change."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cli.commands.options import against as against_option
from cli.commands.options import chosen, inputs, output
from cli.exits import EPILOG, Exit, Misused, OutOfReach, strongest
from cli.group import verbose
from cli.input.context import Against, load
from cli.input.given import gather
from cli.input.settings import settings
from cli.judgement import judge
from cli.report.as_json import as_json
from cli.report.as_text import as_text
from cli.report.model import Report, report, unjudged
from cli.report.output import emit, note
from policies.model.findings import Profile, Severity

_FAILING = {
    "error": {Severity.ERROR},
    "warning": {Severity.ERROR, Severity.WARNING},
    "never": set[Severity](),
}


@click.command(epilog=EPILOG)
@inputs
@against_option
@output
@click.option(
    "--profile", type=click.Choice([it.value for it in Profile]), help="Overrides the profile of the configuration."
)
@click.option(
    "--fail-on", type=click.Choice(list(_FAILING)), default="error", show_default=True, help="See exit code 1."
)
@click.option("--config", metavar="FILE", help="Else QUOTREE_CONFIG, else .quotree.yaml upward from the first input.")
@click.option("--prune", is_flag=True, help="Delete what the context holds and the files lack, of kinds in the files.")
@click.option("--require-evaluated", is_flag=True, help="Exit 4 where a rule lacked its facts.")
@click.option("--require-objects", is_flag=True, help="Exit 5 where there was nothing to judge.")
@verbose
def validate(
    paths: tuple[str, ...],
    filenames: tuple[str, ...],
    against: Against,
    kubeconfig: str | None,
    output: str,
    profile: str | None,
    fail_on: str,
    config: str | None,
    prune: bool,
    require_evaluated: bool,
    require_objects: bool,
) -> None:
    """Judge the manifests in PATH... (folders with all below them) as one change, in any order.

    The files are taken as the whole organisation unless --against adds more; they then override what it holds. With
    --prune, what the context holds and the files lack is deleted: only of kinds that occur in the files (Cohort,
    ClusterQueue, LocalQueue, Queue, Namespace), and never the queues and namespaces that Volcano and Kubernetes
    make themselves.
    """
    if prune and against.kind == "nothing":
        raise Misused("--prune deletes what the context holds: name one with --against")
    every = chosen(paths, filenames)
    configuration = settings(config, every, profile)
    given = gather(every)
    try:
        context = load(against, kubeconfig, configuration.yunikorn, given.objects)
        found = report(given, context, judge(given, context, configuration, prune=prune))
    except OutOfReach as error:
        found = unjudged(given, against, configuration, error.message)
        require_evaluated = True
    for item in found.unreadable:
        note(f"{item.place}: unreadable: {item.message}")
    if not given.objects:
        others = f" ({given.others} of other kinds)" if given.others else ""
        note(f"nothing to judge: no object of a kind that carries quota{others}")
    emit(as_json(found) if output == "json" else as_text(found))
    code = strongest(_codes(found, fail_on, require_evaluated, require_objects))
    click.get_current_context().exit(code)


def _codes(found: Report, fail_on: str, require_evaluated: bool, require_objects: bool) -> Iterator[Exit]:
    if found.unreadable:
        yield Exit.UNREADABLE
    if found.not_evaluated and require_evaluated:
        yield Exit.UNJUDGED
    if any(entry.judged.severity in _FAILING[fail_on] for entry in found.entries):
        yield Exit.FINDINGS
    if not found.subject.objects and require_objects:
        yield Exit.NOTHING

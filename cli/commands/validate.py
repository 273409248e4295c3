"""Check manifests with the webhook's rules, all files as one change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from cli.exits import Exit, Misused, OutOfReach, strongest
from cli.input.context import Against, load
from cli.input.given import gather
from cli.input.options import against as against_option
from cli.input.options import input_paths, inputs
from cli.input.outputs import Output, outputs
from cli.input.settings import settings
from cli.judgement import judge
from cli.output import note
from cli.report.formats import OF_REPORTS, deliver
from cli.report.model import Report, report, unjudged
from policies.model.findings import Profile, Severity

_FAILING = {
    "error": frozenset({Severity.ERROR}),
    "warning": frozenset({Severity.ERROR, Severity.WARNING}),
    "never": frozenset[Severity](),
}


@click.command()
@inputs
@against_option
@outputs(tuple(OF_REPORTS))
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
@click.option("--require-evaluated", is_flag=True, help="Exit 4 if a rule could not be evaluated.")
@click.option("--require-objects", is_flag=True, help="Exit 5 if there was nothing to judge.")
def validate(
    paths: tuple[str, ...],
    filenames: tuple[str, ...],
    against: Against,
    kubeconfig: str | None,
    outputs: tuple[Output, ...],
    profile: str | None,
    fail_on: str,
    config: str | None,
    prune: bool,
    require_evaluated: bool,
    require_objects: bool,
) -> None:
    """Check the manifests in PATH... (files, and folders with all files below them) as one change, in any order.

    The files are the whole organisation unless --against names a context, whose objects they override. With --prune,
    objects of the context that the files lack are deleted, of the kinds that occur in the files (Cohort, ClusterQueue,
    LocalQueue, Queue, Namespace). The queues and namespaces that Volcano and Kubernetes create themselves are never
    deleted.

    \b
    Examples:
      quotree validate trees/ --against cluster
      quotree validate trees/ -o text -o sarif=quotree.sarif -o junit=quotree.xml
      quotree validate trees/ -o github -o markdown="$GITHUB_STEP_SUMMARY"
    """
    if prune and against.kind == "nothing":
        raise Misused("--prune deletes objects of the context: name it with --against")
    every = input_paths(paths, filenames)
    configuration = settings(config, every, profile)
    files = gather(every)
    try:
        context = load(against, kubeconfig, configuration.yunikorn, files.objects)
        found = report(files, context, judge(files, context, configuration, prune=prune))
    except OutOfReach as error:
        found = unjudged(files, against, configuration, error.message)
        require_evaluated = True
    for item in found.unreadable:
        note(str(item))
    if not files.objects:
        others = f" ({files.others} of other kinds)" if files.others else ""
        note(f"nothing to judge: no object of a kind that carries quota{others}")
    deliver(outputs, OF_REPORTS, replace(found, failing=_FAILING[fail_on], folder=str(Path.cwd())))
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

"""Judge the queues of a cluster and the objects that they name, and list the findings by tree."""

from __future__ import annotations

import click

from cli.input import baseline as baselines
from cli.input.against import Against
from cli.input.exit_options import ExitOptions
from cli.input.exit_options import exits as exit_options
from cli.input.options import against_of, configured
from cli.input.outputs import Output, outputs
from cli.input.settings import installed_beside, settings
from cli.output import note
from cli.progress import progress
from cli.report.audited import audited, within, without_old
from cli.report.formats import OF_AUDITS, deliver


@click.command()
@progress
@against_of("cluster", "What is audited: a cluster, a snapshot of one, or the files of a folder.")
@configured
@click.option("--root", metavar="NAME", help="Only the trees whose root has this name.")
@outputs(tuple(OF_AUDITS))
@exit_options
@click.option(
    "--baseline", metavar="FILE", help="A file of known findings, which are only counted; `-o baseline=FILE` writes it."
)
def audit(
    against: Against,
    config: str | None,
    profile: str | None,
    root: str | None,
    outputs: tuple[Output, ...],
    exits: ExitOptions,
    baseline: str | None,
) -> None:
    """Judge the stored objects by the rules of the webhook, and list the findings by tree.

    The webhook judges changes. It does not see objects that were stored before it was installed, or while it was down,
    until somebody changes them. The audit judges queues, LocalQueues, flavors, checks and Namespaces as if they were
    created now, and Volcano's PodGroups and Jobs and YuniKorn's Pods as existing work. It does not judge Kueue's
    Workloads and jobs: `quotree pending` lists those that wait, with the reason. `-o openreports` prints the objects
    that `quotree serve audit` keeps in the cluster.

    \b
    Examples:
      quotree audit
      quotree audit --root research --fail-on warning
      quotree audit --against snapshot:prod.json -o markdown
      quotree audit -o openreports=reports.yaml -o text
      quotree audit -o baseline=.quotree-baseline.jsonl
    """
    old = baselines.read(baseline) if baseline is not None else None
    places = [against.name] if against.kind == "files" else []
    configuration = settings(config, places, profile, installed=installed_beside(against))
    found = audited(against, configuration)
    for item in found.unreadable:
        note(str(item))
    if old is not None:
        found = without_old(found, old)
    shown = found if root is None else within(found, root)
    deliver(outputs, OF_AUDITS, shown)
    code = exits.code(
        (each.judged.severity for each in shown.audit.found),
        objects=shown.audit.objects,
        unreadable=shown.unreadable,
        missed=shown.audit.not_evaluated,
    )
    click.get_current_context().exit(code)

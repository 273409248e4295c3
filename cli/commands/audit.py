"""Judge everything that a cluster holds, and list what is wrong by tree."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import click

from cli.exits import Exit, strongest
from cli.input import baseline as baselines
from cli.input.against import Against, AgainstType
from cli.input.context import load
from cli.input.options import configured
from cli.input.options import kubeconfig as kubeconfig_option
from cli.input.outputs import Output, outputs
from cli.input.settings import settings
from cli.output import note
from cli.report.audits.audited import Audited, within, without_old
from cli.report.formats import OF_AUDITS, deliver
from policies.audit.audited import audit as audit_of
from policies.configuration.settings import Configuration
from policies.judge import State, stored_state
from policies.model.findings import FAILING
from policies.model.forest import Forest


@click.command()
@kubeconfig_option
@click.option(
    "--against",
    type=AgainstType(),
    default="cluster",
    show_default=True,
    help="What is audited: a cluster, a snapshot of one, or the files of a folder.",
)
@configured
@click.option("--root", metavar="NAME", help="Only the trees whose root has this name.")
@outputs(tuple(OF_AUDITS))
@click.option(
    "--fail-on",
    type=click.Choice(list(FAILING)),
    default="error",
    show_default=True,
    help="Exit 1 at findings of this severity or worse.",
)
@click.option(
    "--baseline", metavar="FILE", help="Old findings, which are left out and counted; `-o baseline=FILE` writes them."
)
@click.option("--require-evaluated", is_flag=True, help="Exit 4 if a rule could not be evaluated.")
@click.option("--require-objects", is_flag=True, help="Exit 5 if there was nothing to judge.")
def audit(
    against: Against,
    kubeconfig: str | None,
    config: str | None,
    profile: str | None,
    root: str | None,
    outputs: tuple[Output, ...],
    fail_on: str,
    baseline: str | None,
    require_evaluated: bool,
    require_objects: bool,
) -> None:
    """Judge everything that is stored by the rules of the webhook, and list what is wrong, tree by tree.

    The webhook judges changes: what was stored before it was installed, or while it was down, it sees only when
    somebody changes it. Queues and what they name are judged as if they were created now, work as it stands. `-o
    openreports` prints the objects that `quotree serve audit` keeps in the cluster.

    \b
    Examples:
      quotree audit
      quotree audit --root research --fail-on warning
      quotree audit --against snapshot:prod.json -o markdown
      quotree audit -o openreports=reports.yaml -o text
      quotree audit -o baseline=.quotree-baseline.jsonl
    """
    old = baselines.read(baseline) if baseline is not None else None
    configuration = settings(config, [against.name] if against.kind == "files" else [], profile)
    found = _audited(against, kubeconfig, configuration)
    for item in found.unreadable:
        note(str(item))
    if old is not None:
        found = without_old(found, old)
    shown = found if root is None else within(found, root)
    deliver(outputs, OF_AUDITS, shown)
    click.get_current_context().exit(strongest(_codes(shown, fail_on, require_evaluated, require_objects)))


def _audited(against: Against, kubeconfig: str | None, configuration: Configuration) -> Audited:
    """Raises OutOfReach where it cannot be read."""
    context = load(against, kubeconfig, configuration.yunikorn)
    world: Forest = context.world
    if against.kind == "files":  # what was read from a cluster is stored already
        world = stored_state(State(world, context.manifests), configuration).world
    found = audit_of(world, configuration, datetime.now(UTC))
    return Audited(against, found, context.as_of, context.unreadable)


def _codes(found: Audited, fail_on: str, require_evaluated: bool, require_objects: bool) -> Iterator[Exit]:
    if found.unreadable:
        yield Exit.UNREADABLE
    if found.audit.not_evaluated and require_evaluated:
        yield Exit.UNJUDGED
    if any(found.audit.count(severity) for severity in FAILING[fail_on]):
        yield Exit.FINDINGS
    if not found.audit.objects and require_objects:
        yield Exit.NOTHING

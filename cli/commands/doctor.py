"""Find out what is wrong with an installation, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from cli.exits import Exit, Misused, OutOfReach, strongest
from cli.input.installed import quotree_namespace
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from cli.input.options import output
from cli.output import emit, json_text, paint
from cluster.errors import NotConfigured
from policies.model.printing import plain
from policies.takeover.objects import ReleaseNames

if TYPE_CHECKING:
    from cli.doctor.diagnosis import Diagnosis

_COLOURS = {"ok": "green", "warning": "yellow", "failure": "red", "skipped": "cyan"}
_FAILING = {"failure": ("failure",), "warning": ("failure", "warning"), "never": ()}


@click.command()
@login_option
@quotree_namespace
@click.option(
    "--webhook", metavar="HOST:PORT", help="The webhook's address as reached from here, to check its certificate."
)
@click.option(
    "--metrics", metavar="URL", help="The URL of its metrics as reached from here. Default: the API server's proxy."
)
@click.option(
    "--fail-on",
    type=click.Choice(list(_FAILING)),
    default="failure",
    show_default=True,
    help="Exit 1 at a check in this state or worse.",
)
@output
def doctor(
    login: ClusterLogin,
    namespace: str,
    webhook: str | None,
    metrics: str | None,
    fail_on: str,
    output: str,
) -> None:
    """Look at Quotree in a cluster: what works, what does not, and how to fix it.

    Each check has an id and a state: ok, warning, failure, or skipped, with the reason. Nothing is stored: what needs a
    write is tried as a dry run. It works with few rights, and says what it may not read.

    \b
    Examples:
      quotree doctor
      quotree doctor --context prod -o json
      quotree doctor --webhook 127.0.0.1:9443 --metrics http://127.0.0.1:8080/metrics    # with kubectl port-forward
      quotree doctor --fail-on warning
    """
    from cli.doctor.checks import CHECKS  # here, since these take long to load
    from cli.doctor.diagnosis import diagnose
    from cli.doctor.target import CheckedCluster

    if webhook is not None and not webhook.rpartition(":")[2].isdecimal():
        raise Misused(f"--webhook {webhook}: write HOST:PORT")
    try:
        with login.connect() as cluster:
            found = diagnose(CheckedCluster(cluster, ReleaseNames(namespace=namespace), webhook, metrics), CHECKS)
            host = cluster.host
    except NotConfigured as error:
        raise OutOfReach(str(error)) from error
    emit(json_text(_json(found, login.context, host)) if output == "json" else "\n".join(_text(found, host)))
    click.get_current_context().exit(strongest(_codes(found, fail_on)))


def _codes(found: Diagnosis, fail_on: str) -> Iterator[Exit]:
    if not found.answered:
        yield Exit.UNJUDGED
    if any(found.counts[state] for state in found.counts if state in _FAILING[fail_on]):
        yield Exit.FINDINGS


def _json(found: Diagnosis, context: str | None, host: str) -> dict[str, object]:
    results = [
        {"id": check.id, "state": each.state, "subject": each.subject, "message": each.message, "fix": each.fix}
        for check, each in found.results
    ]
    return {
        "apiVersion": "quotree.dev/v1alpha1",
        "kind": "Diagnosis",
        "context": {"name": context or "", "server": host},
        "summary": dict(found.counts),
        "checks": results,
    }


def _text(found: Diagnosis, host: str) -> Iterator[str]:
    yield plain(f"looked at {host}")
    last = ""
    for check, each in found.results:
        if check.id != last:
            last = check.id
            yield f"\n{check.id}: {check.title}"
        subject = f"{each.subject}: " if each.subject else ""
        yield f"  {paint(each.state.ljust(7), _COLOURS[each.state])}  {plain(subject + each.message)}"
        if each.fix:
            yield f"           fix: {plain(each.fix)}"
    yield "\n" + ", ".join(f"{count} {state}" for state, count in found.counts.items())

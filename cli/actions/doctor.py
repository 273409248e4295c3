"""Checks an installation, and prints what is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from cli.doctor.checks import CHECKS
from cli.doctor.diagnosis import Diagnosis, diagnose
from cli.doctor.target import CheckedCluster
from cli.exits import Exit, Misused, OutOfReach, strongest
from cli.input.login import ClusterLogin
from cli.output import emit, json_text, paint
from cluster.errors import NotConfigured
from policies.model.printing import plain
from policies.takeover.objects import ReleaseNames

_COLOURS = {"ok": "green", "warning": "yellow", "failure": "red", "skipped": "cyan"}


def look(
    login: ClusterLogin,
    names: ReleaseNames,
    webhook: str | None,
    metrics: str | None,
    *,
    failing: Collection[str],
    json: bool,
) -> Exit:
    """Run all checks and print the results. `failing`: states with exit code 1. Raises Misused and OutOfReach."""
    if webhook is not None and not webhook.rpartition(":")[2].isdecimal():
        raise Misused(f"--webhook {webhook}: write HOST:PORT")
    try:
        with login.connect() as cluster:
            found = diagnose(CheckedCluster(cluster, names, webhook, metrics), CHECKS)
            host = cluster.host
    except NotConfigured as error:
        raise OutOfReach(str(error)) from error
    emit(json_text(_json(found, login.context, host)) if json else "\n".join(_text(found, host)))
    return strongest(_codes(found, failing))


def _codes(found: Diagnosis, failing: Collection[str]) -> Iterator[Exit]:
    if not found.answered:
        yield Exit.UNJUDGED
    if any(found.counts[state] for state in found.counts if state in failing):
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

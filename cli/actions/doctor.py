"""Runs the checks of an installation, also after one that fails with an error, and prints what is wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from cli.doctor.checks import CHECKS
from cli.doctor.target import CheckedCluster, CheckResult, DoctorCheck, HealthState, failure, skipped
from cli.exits import Exit, Misused, OutOfReach, strongest
from cli.input.login import ClusterLogin
from cli.output import emit, json_text, paint
from cluster.errors import ClusterError, Forbidden, NotConfigured, Unauthorized, Unreachable
from policies.model.printing import plain
from policies.takeover.objects import ReleaseNames

_NO_ANSWER = (Unreachable, NotConfigured, Unauthorized)
"""Errors that the remaining checks would also get. They are skipped."""
_COLOURS = {"ok": "green", "warning": "yellow", "failure": "red", "skipped": "cyan"}


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The results of all checks.

    `results`: each result with its check. A check has at least one result.
    `answered`: whether the API server answered until the last check.
    """

    results: tuple[tuple[DoctorCheck, CheckResult], ...]
    answered: bool

    @property
    def counts(self) -> dict[HealthState, int]:
        states = [result.state for _, result in self.results]
        return {state: states.count(state) for state in HealthState}


def diagnose(target: CheckedCluster, checks: Iterable[DoctorCheck]) -> Diagnosis:
    found: list[tuple[DoctorCheck, CheckResult]] = []
    answered = True
    for check in checks:
        if not answered:
            found.append((check, skipped("", "the API server does not answer")))
            continue
        try:
            found += ((check, result) for result in _results(check, target))
        except _NO_ANSWER as error:
            answered = False
            fix = "check the address, the credentials and the network: `kubectl version` with the same kubeconfig"
            found.append((check, failure("", str(error), fix)))
    return Diagnosis(tuple(found), answered)


def _results(check: DoctorCheck, target: CheckedCluster) -> Iterator[CheckResult]:
    try:
        yield from check.run(target)
    except _NO_ANSWER:
        raise
    except Forbidden as error:
        yield skipped("", f"you may not read the objects of this check: {error.message}", "ask for this right")
    except ClusterError as error:
        yield failure("", f"cannot find out: {error}", "follow the message, and try again")
    except Exception as error:  # such as for a malformed object: the other checks must still run
        fix = "look at the objects of this check, and report it as a bug of quotree"
        yield failure("", f"internal error: {type(error).__name__}: {error}", fix)


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

"""Runs all checks, one after the other. If a check fails with an error, the others still run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from cli.doctor.result import CheckResult, DoctorCheck, HealthState, failure, skipped
from cli.doctor.target import CheckedCluster
from cluster.errors import ClusterError, Forbidden, NotConfigured, Unauthorized, Unreachable

_NO_ANSWER = (Unreachable, NotConfigured, Unauthorized)
"""Errors that the remaining checks would also get. They are skipped."""


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

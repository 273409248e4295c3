"""The results of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from cli.doctor.target import CheckedCluster


class HealthState(StrEnum):
    """The state of a result. SKIPPED: the check could not run; the message has the reason."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result for one object. `subject`: the object, or empty for the whole cluster. `fix`: empty if state is OK."""

    state: HealthState
    subject: str
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """A check. `id`: never changes. `title`: a sentence that is true if the check passes. `run` raises ClusterError."""

    id: str
    title: str
    run: Callable[[CheckedCluster], Iterable[CheckResult]]


def check(id: str, title: str) -> Callable[[Callable[[CheckedCluster], Iterable[CheckResult]]], DoctorCheck]:
    return lambda run: DoctorCheck(id, title, run)


def ok(subject: str, message: str) -> CheckResult:
    return CheckResult(HealthState.OK, subject, message)


def warning(subject: str, message: str, fix: str) -> CheckResult:
    return CheckResult(HealthState.WARNING, subject, message, fix)


def failure(subject: str, message: str, fix: str) -> CheckResult:
    return CheckResult(HealthState.FAILURE, subject, message, fix)


def skipped(subject: str, reason: str, fix: str = "") -> CheckResult:
    return CheckResult(HealthState.SKIPPED, subject, reason, fix)

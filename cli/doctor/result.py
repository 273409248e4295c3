"""What a check says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from cli.doctor.target import CheckedCluster


class HealthState(StrEnum):
    """SKIPPED: the check could not look, for the reason in the message. That is never reported as OK."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """`subject` is the object that it is about, empty for the cluster. A warning and a failure have a `fix`."""

    state: HealthState
    subject: str
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """`id` is stable, `title` says what must hold. `run` raises ClusterError where it cannot find out."""

    id: str
    title: str
    run: Callable[[CheckedCluster], Iterable[CheckResult]]


def check(id: str, title: str) -> Callable[[Callable[[CheckedCluster], Iterable[CheckResult]]], DoctorCheck]:
    """Makes a check of a function."""
    return lambda run: DoctorCheck(id, title, run)


def ok(subject: str, message: str) -> CheckResult:
    return CheckResult(HealthState.OK, subject, message)


def warning(subject: str, message: str, fix: str) -> CheckResult:
    return CheckResult(HealthState.WARNING, subject, message, fix)


def failure(subject: str, message: str, fix: str) -> CheckResult:
    return CheckResult(HealthState.FAILURE, subject, message, fix)


def skipped(subject: str, reason: str, fix: str = "") -> CheckResult:
    return CheckResult(HealthState.SKIPPED, subject, reason, fix)

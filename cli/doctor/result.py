"""What a check says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from cli.doctor.target import Target


class State(StrEnum):
    """SKIPPED: the check could not look, for the reason in the message. That is never reported as OK."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Result:
    """`subject` is the object that it is about, empty for the cluster. A warning and a failure have a `fix`."""

    state: State
    subject: str
    message: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """`id` is stable, `title` says what must hold. `run` raises ClusterError where it cannot find out."""

    id: str
    title: str
    run: Callable[[Target], Iterable[Result]]


def check(id: str, title: str) -> Callable[[Callable[[Target], Iterable[Result]]], Check]:
    """Makes a check of a function."""
    return lambda run: Check(id, title, run)


def ok(subject: str, message: str) -> Result:
    return Result(State.OK, subject, message)


def warning(subject: str, message: str, fix: str) -> Result:
    return Result(State.WARNING, subject, message, fix)


def failure(subject: str, message: str, fix: str) -> Result:
    return Result(State.FAILURE, subject, message, fix)


def skipped(subject: str, reason: str, fix: str = "") -> Result:
    return Result(State.SKIPPED, subject, reason, fix)

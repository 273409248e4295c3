"""Calls that other threads run in the loop's thread, between two steps: only that thread may touch the world."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """`run` must be short and must not raise: an error would end the loop."""

    run: Callable[[], None]


def call_with_result(question: Callable[[], T]) -> tuple[Call, Future[T]]:
    """The call that answers a question, and the future for its result or error. A cancelled call is not run."""
    answer: Future[T] = Future()

    def run() -> None:
        if not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(question())
        except Exception as error:
            answer.set_exception(error)  # the error belongs to the caller

    return Call(run), answer

"""Functions that other threads have the loop's thread run between two steps. Only that thread may touch the world."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """A function to run. It must be short and must not raise, because an error would end the loop."""

    run: Callable[[], None]


def call_with_result(question: Callable[[], T]) -> tuple[Call, Future[T]]:
    """A call that computes a value, and the future of its result or error. A cancelled call is not run."""
    answer: Future[T] = Future()

    def run() -> None:
        if not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(question())
        except Exception as error:
            answer.set_exception(error)  # the caller handles the error

    return Call(run), answer

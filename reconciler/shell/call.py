"""What others have done in the loop's thread, which alone may touch the world: between two steps."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """`run` must be short and must not raise: that would end the loop."""

    run: Callable[[], None]


def asked(question: Callable[[], T]) -> tuple[Call, Future[T]]:
    """The call that answers a question, and where its answer or error arrives; one that is cancelled is not asked."""
    answer: Future[T] = Future()

    def run() -> None:
        if not answer.set_running_or_notify_cancel():
            return
        try:
            answer.set_result(question())
        except Exception as error:
            answer.set_exception(error)  # it is for who asked

    return Call(run), answer

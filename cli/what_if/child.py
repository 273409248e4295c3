"""The process that holds a cluster for what-ifs of one login, and answers each in a forked copy.

Its standard input has lines of JSON: a `UserConnection`, then questions; its standard output has an answer to each. It
has one thread, so a fork is a copy without locks that nobody opens. The copy is thrown away: the state is as before.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

from cli.exits import Misused
from cli.serving.connection import UserConnection
from cli.what_if.rights import rights
from cli.what_if.state import Resting
from cluster.errors import ApiError, ClusterError

READING = 300
"""Seconds that reading may take."""
THINKING = 20.0
"""Seconds that an answer may take."""
_NICE = 5
"""Pages of others go first."""
UNREAD = 3
"""The exit code where nothing could be read; the answer says why."""
_SHORTEST = 20.0
"""Seconds for which what was read serves, at least."""
_TIMES = 3.0
"""It serves for so many times as long as it took to read."""


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no answer
    os.nice(_NICE)
    questions = sys.stdin.buffer
    line = questions.readline()
    if not line:
        return
    connection = json.loads(line)
    began = time.monotonic()
    with _ended_with_who_asks():
        state, problem = _read(connection)
    end = time.monotonic() + max(_SHORTEST, _TIMES * (time.monotonic() - began))
    answers.write(_line({**problem, "until": end}))
    answers.flush()
    if state is None:
        sys.exit(UNREAD)
    gc.collect()
    gc.freeze()  # so that a copy shares the memory until it changes something
    while select.select([questions], [], [], max(0.0, end - time.monotonic()))[0]:
        line = questions.readline()
        if not line:
            return
        answers.write(_asked(state, json.loads(line)))
        answers.flush()


@contextlib.contextmanager
def _ended_with_who_asks() -> Iterator[None]:
    """While nothing can be asked: a signal ends this process once its standard input is closed, or time is up."""
    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_ASYNC)
    signal.alarm(READING)
    if select.select([0], [], [], 0.0)[0]:  # it was closed before
        raise SystemExit(1)
    yield
    signal.alarm(0)
    fcntl.fcntl(0, fcntl.F_SETFL, flags)


def _read(connection: dict[str, Any]) -> tuple[Resting | None, dict[str, Any]]:
    try:
        with UserConnection.of_json(connection).open() as cluster:
            return Resting.read(cluster, rights(cluster)), {}
    except ApiError as error:
        return None, {"status": error.status, "reason": error.reason, "message": error.message or str(error)}
    except (ClusterError, Misused) as error:
        return None, {"status": 0, "reason": "", "message": str(error)}


def _asked(state: Resting, sources: dict[str, str]) -> bytes:
    """The line of the answer, made in a copy of this process, which is ended where it takes too long."""
    incoming, outgoing = os.pipe()
    copy = os.fork()
    if copy == 0:
        os.close(incoming)
        _answer_and_exit(state, sources, outgoing)
    os.close(outgoing)
    try:
        answer = _until(incoming, time.monotonic() + THINKING)
    finally:
        os.close(incoming)
        os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)
    if answer is None:
        return _line({"late": THINKING})
    return answer if answer.endswith(b"\n") else _line({"failed": True})


def _answer_and_exit(state: Resting, sources: dict[str, str], outgoing: int) -> None:
    """Never returns: a copy must not continue as this process would, nor outlive this process if it is killed."""
    signal.alarm(int(THINKING) + 5)
    try:
        with os.fdopen(outgoing, "wb") as pipe:
            pipe.write(_line(state.answer(sources)))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


def _until(incoming: int, end: float) -> bytes | None:
    """All that comes; None where it has not ended by then."""
    found = b""
    while select.select([incoming], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(incoming, 2**16)
        if not part:
            return found
        found += part
    return None


def _line(answer: dict[str, Any]) -> bytes:
    return json.dumps(answer).encode() + b"\n"


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):  # who would read the answer has gone
        main()

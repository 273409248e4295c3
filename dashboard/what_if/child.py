"""The child process that reads a cluster for the what-ifs of one login, and computes each in a forked copy.

It is a separate process because the state takes much memory and the simulation much time. The memory is freed when the
process ends, and other pages do not wait.
Protocol: standard input gets the configuration and a `UserWay`, and then each `ProposedChange`. Standard output returns
a `ClusterRead`, and then a `WhatIfOutcome` or `NoOutcome` for each change. All are pickled, since both ends are this
program. The process has one thread, so a fork cannot copy a locked lock. The copy ends after the answer, so the state
of the process does not change.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import os
import select
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Protocol

from analysis.what_if.rights import rights
from analysis.what_if.state import ProposedChange, SettledCluster
from cluster.client import ClusterClient
from cluster.errors import ApiError, ClusterError

READING = 300
"""The maximum seconds for reading the cluster."""
THINKING = 20.0
"""The maximum seconds for computing an answer."""
_NICE = 5
"""The nice value of the process, so that other pages have priority."""
UNREAD = 3
"""The exit code if the cluster could not be read. The `ClusterRead` has the reason."""
_SHORTEST = 20.0
"""The minimum time in seconds for which the state of the cluster is used."""
_TIMES = 3.0
"""The state is used for this many times the duration of the read, if that is longer."""


class UserWay(Protocol):
    """A connection to the API server with the rights of one user."""

    def open(self) -> ClusterClient:
        """Open a client with the rights of the user. Raises ClusterError."""


@dataclass(frozen=True, slots=True)
class ClusterRead:
    """The result of reading the cluster.

    `until`: when the state becomes too old, as a monotonic time, which is the same in all processes.
    `problem`: why the cluster could not be read; empty if it could.
    `status`, `reason`: the error of the API server, if it answered with one.
    """

    until: float
    problem: str = ""
    status: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NoOutcome:
    """The change could not be computed. `seconds`: the timeout that was exceeded; None for an error in the log."""

    seconds: float | None = None


def main() -> None:
    questions, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # redirect other output to standard error, so that it is not read as an answer
    os.nice(_NICE)
    with contextlib.suppress(EOFError, BrokenPipeError):  # the parent process has ended
        _serve(questions, answers)


def _serve(questions: Connection, answers: Connection) -> None:
    configuration, connection = questions.recv()
    began = time.monotonic()
    state, failed = None, ClusterRead(0.0)
    with _ended_with_parent():
        try:
            with connection.open() as cluster:
                state = SettledCluster.read(cluster, rights(cluster), configuration)
        except ApiError as error:
            failed = ClusterRead(0.0, error.message or str(error), error.status, error.reason)
        except ClusterError as error:
            failed = ClusterRead(0.0, str(error))
    if state is None:
        answers.send(failed)
        sys.exit(UNREAD)
    end = time.monotonic() + max(_SHORTEST, _TIMES * (time.monotonic() - began))
    answers.send(ClusterRead(end))
    gc.collect()
    gc.freeze()  # so that the garbage collector of a forked copy does not touch, and thereby copy, shared memory
    while questions.poll(max(0.0, end - time.monotonic())):
        answers.send_bytes(_computed(state, questions.recv()))


@contextlib.contextmanager
def _ended_with_parent() -> Iterator[None]:
    """While the block reads the cluster, end this process by a signal if the parent ends or the time is up.

    The parent's end closes standard input. Nothing else may arrive there during this time.
    """
    flags = fcntl.fcntl(0, fcntl.F_GETFL)
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_ASYNC)
    signal.alarm(READING)
    if select.select([0], [], [], 0.0)[0]:  # standard input was closed before the signal was set up
        raise SystemExit(1)
    yield
    signal.alarm(0)
    fcntl.fcntl(0, fcntl.F_SETFL, flags)


def _computed(state: SettledCluster, change: ProposedChange) -> bytes:
    """The pickled answer, computed in a forked copy of this process. The copy is killed if it takes too long."""
    incoming, outgoing = Pipe(duplex=False)
    copy = os.fork()
    if copy == 0:
        _answer_and_exit(state, change, outgoing)
    outgoing.close()
    try:
        if not incoming.poll(THINKING):
            return bytes(ForkingPickler.dumps(NoOutcome(THINKING)))
        return incoming.recv_bytes()
    except EOFError:
        return bytes(ForkingPickler.dumps(NoOutcome()))
    finally:
        incoming.close()
        os.kill(copy, signal.SIGKILL)
        os.waitpid(copy, 0)


def _answer_and_exit(state: SettledCluster, change: ProposedChange, outgoing: Connection) -> None:
    """Send the answer from the forked copy and exit. It never returns, since the copy must not continue as the parent.

    An alarm ends the copy even if this process is killed.
    """
    signal.alarm(int(THINKING) + 5)
    try:
        outgoing.send(state.answer(change))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)

"""The process that holds a cluster for what-ifs of one login, and answers each in a forked copy.

A process, since the cluster takes much memory and the simulation much time: both end with it, and pages of others wait
for neither. Its standard input has the configuration and a `UserWay`, then each `ProposedChange`; its standard output
has a `ClusterRead`, then for each change a `WhatIfOutcome` or `NoOutcome`. These are pickled: both ends are this
program. It has one thread, so a fork is a copy without locks that nobody opens. The copy is thrown away: the state is
as before.
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
"""Seconds that reading may take."""
THINKING = 20.0
"""Seconds that an answer may take."""
_NICE = 5
"""Pages of others go first."""
UNREAD = 3
"""The exit code where nothing could be read; the answer says why."""
_SHORTEST = 20.0
"""The shortest time, in seconds, for which a state of the cluster is used."""
_TIMES = 3.0
"""A state is used this many times as long as reading it took."""


class UserWay(Protocol):
    """How to reach the API server as one person."""

    def open(self) -> ClusterClient:
        """Open a client with the rights of that person. Raises ClusterError."""


@dataclass(frozen=True, slots=True)
class ClusterRead:
    """`until` is when what was read is too old, on the clock of all processes.

    `problem` says why nothing could be read, with the `status` and `reason` of the API server if it answered.
    """

    until: float
    problem: str = ""
    status: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class NoOutcome:
    """The change could not be computed: not within `seconds`, or for a reason that the log has if it is None."""

    seconds: float | None = None


def main() -> None:
    questions, answers = Connection(os.dup(0), writable=False), Connection(os.dup(1), readable=False)
    os.dup2(2, 1)  # other output must not be read as the answer
    os.nice(_NICE)
    with contextlib.suppress(EOFError, BrokenPipeError):  # the parent process has gone
        _serve(questions, answers)


def _serve(questions: Connection, answers: Connection) -> None:
    configuration, connection = questions.recv()
    began = time.monotonic()
    state, failed = None, ClusterRead(0.0)
    with _ended_with_who_asks():
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
    gc.freeze()  # so that a copy shares the memory until it changes something
    while questions.poll(max(0.0, end - time.monotonic())):
        answers.send_bytes(_asked(state, questions.recv()))


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


def _asked(state: SettledCluster, change: ProposedChange) -> bytes:
    """The answer, made and pickled in a copy of this process, which is ended if it takes too long."""
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
    """Never returns: a copy must not continue as this process would, nor outlive this process if it is killed."""
    signal.alarm(int(THINKING) + 5)
    try:
        outgoing.send(state.answer(change))
        os._exit(0)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)

"""Manages the child processes that compute what-ifs: one for each login, a limited number, each for a limited time.

Data that was read with the rights of one login is in a separate process and is never shared. The memory is freed when
the process ends, and the simulation does not delay other pages.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from typing import Any

from analysis.what_if.outcome import WhatIfOutcome
from analysis.what_if.rights import rights
from analysis.what_if.state import ProposedChange
from cluster.errors import Unreachable, from_status
from dashboard.reading.backend import UserLogin
from dashboard.what_if.child import READING, THINKING, UNREAD, ClusterRead, NoOutcome, UserWay
from policies.configuration.settings import Configuration

_CODE = "from quotree.start import find_packages; find_packages(); from dashboard.what_if.child import main; main()"
COMMAND = (sys.executable, "-P", "-c", _CODE)
"""The command of a child process. With -P, a folder `dashboard` in the working directory is not imported."""
KEPT = 4
"""The default of the maximum number of processes."""
READERS = 2
"""The maximum number of processes that read a cluster at the same time."""
PATIENCE = 7.0
"""Seconds that a request waits for the read of a cluster. Together with the answer, it must be below 30 s."""
_MARGIN = 1.0
_EXPIRED = "The state that was read is too old, so the cluster is being read again. Ask again in a moment."
_DIED = "The process that had read the cluster has ended, perhaps for lack of memory. Try it again."


class Unanswered(Exception):
    """The request was not answered. The message says what the user can do."""


class MissingRights(Unanswered):
    """The user lacks rights. `missing`: the rights that are needed, in the form of `kubectl auth can-i`."""

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__("To see the effects of a change, you need the right to list all objects of the tree.")
        self.missing = tuple(missing)


class TryAgain(Unanswered):
    """The same request can be answered soon: the cluster is being read, or other requests are ahead."""


class ReadingCluster(TryAgain):
    """The cluster is being read for this request."""


class WhatIfProcess:
    """A child process with the state of a cluster.

    `busy`: the lock of a request. `reading`: whether the cluster is still being read. `over`: whether the process can
    no longer be used.
    """

    def __init__(self, configuration: Configuration, connection: UserWay) -> None:
        self.busy = threading.Lock()
        questions, self._questions = Pipe(duplex=False)
        self._answers, answers = Pipe(duplex=False)
        with questions, answers:
            self._process = subprocess.Popen(COMMAND, stdin=questions.fileno(), stdout=answers.fileno())  # noqa: S603, our own
        self._began = time.monotonic()
        self._until: float | None = None
        self._send((configuration, connection))

    @property
    def reading(self) -> bool:
        return self._until is None and not self.over and not self._answers.poll()

    @property
    def over(self) -> bool:
        """Whether its state is too old or it has ended. False while a request waits for it."""
        if self.busy.locked():
            return False
        if self._until is not None and time.monotonic() >= self._until:
            return True
        code = self._process.poll()
        return code is not None and not (code == UNREAD and self._answers.poll())

    def ask(self, change: ProposedChange) -> WhatIfOutcome:
        """Send the change to the process and wait for its answer. Raises Unanswered or ClusterError."""
        if self._until is None:
            self._begin()
        self._send(change)
        answer: WhatIfOutcome | NoOutcome | None = self._answer(THINKING + _MARGIN)
        if isinstance(answer, WhatIfOutcome):
            return answer
        if answer is not None and answer.seconds is not None:
            raise Unanswered(
                f"The simulation did not end within {answer.seconds:.0f} s and was stopped. Try a smaller change, or"
                " `quotree diff --against cluster`, which has all the time that you give it."
            )
        if answer is None:
            raise self._ended_reason()
        self.end()
        raise Unanswered("This change could not be computed; the log has the reason.")

    def end(self) -> None:
        self._until = 0.0
        self._process.kill()
        self._process.wait()
        self._questions.close()
        self._answers.close()

    def _ended_reason(self) -> Unanswered:
        """End the process, and return the reason for the missing answer. With exit code 0, its state was too old."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_MARGIN)
        expired = self._process.returncode == 0
        self.end()
        return ReadingCluster(_EXPIRED) if expired else Unanswered(_DIED)

    def _begin(self) -> None:
        first: ClusterRead | None = self._answer(PATIENCE)
        if first is None:
            if self._process.poll() is not None:
                self._until = 0.0
                raise Unanswered(f"The cluster could not be read; that ends after {READING} s at the latest.")
            since = time.monotonic() - self._began
            raise ReadingCluster(f"The cluster is being read, for {since:.0f} s now. Ask again in a moment.")
        self._until = first.until - _MARGIN
        if first.status:
            raise from_status({"code": first.status, "reason": first.reason, "message": first.problem})
        if first.problem:
            raise Unreachable("the API server", first.problem, "ask again")

    def _send(self, what: tuple[Configuration, UserWay] | ProposedChange) -> None:
        """Send a message to the process. Raises Unanswered."""
        try:
            self._questions.send(what)
        except OSError as error:
            raise self._ended_reason() from error

    def _answer(self, seconds: float) -> Any:
        """The next message of the process; None after a timeout, or if the process has ended."""
        try:
            return self._answers.recv() if self._answers.poll(seconds) else None
        except (EOFError, OSError):
            return None


class Processes:
    """All processes. It is thread-safe.

    `connect`: returns a connection to the API server for a login.
    `most`: the maximum number of processes; 0 turns what-ifs off.
    """

    def __init__(
        self,
        connect: Callable[[UserLogin], UserWay],
        configuration: Configuration,
        start: Callable[[Configuration, UserWay], WhatIfProcess] = WhatIfProcess,
        *,
        most: int = KEPT,
    ) -> None:
        self._connect = connect
        self._configuration = configuration
        self._most = most
        self._start = start
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, WhatIfProcess] = OrderedDict()

    def missing(self, login: UserLogin) -> tuple[str, ...]:
        """The rights that the user needs for an answer and does not have. Raises ClusterError."""
        with self._connect(login).open() as cluster:
            return rights(cluster).missing

    def ask(self, login: UserLogin, change: ProposedChange) -> WhatIfOutcome:
        """The effects of the change, computed with the rights of the user. Raises Unanswered and ClusterError.

        Rights are checked for each request, so that a revoked right has an effect at once.
        """
        if not self._most:
            raise Unanswered("This dashboard cannot compute changes: it runs with --what-ifs 0.")
        if missing := self.missing(login):
            raise MissingRights(missing)
        process = self._take(login.digest(), self._connect(login))
        try:
            return process.ask(change)
        finally:
            process.busy.release()

    def close(self) -> None:
        """End all processes. They also end when this process ends."""
        with self._lock:
            for each in self._kept.values():
                each.end()
            self._kept.clear()

    def _take(self, key: bytes, connection: UserWay) -> WhatIfProcess:
        """Take the process of this login, with its lock `busy`. Raises TryAgain."""
        with self._lock:
            for old in [old for old, each in self._kept.items() if each.over]:
                self._kept.pop(old).end()
            found = self._kept.get(key)
            if found is None:
                self._make_room()
                found = self._kept[key] = self._start(self._configuration, connection)
            self._kept.move_to_end(key)
            if not found.busy.acquire(blocking=False):
                raise TryAgain("Your last request is not answered yet. Ask again in a moment.")
            return found

    def _make_room(self) -> None:
        """End an idle process if there are too many. Raises TryAgain if all are busy."""
        if sum(each.reading for each in self._kept.values()) >= READERS:
            raise TryAgain(f"The cluster is being read for {READERS} other users. Ask again in a moment.")
        if len(self._kept) < self._most:
            return
        idle = next((key for key, each in self._kept.items() if not each.reading and not each.busy.locked()), None)
        if idle is None:
            raise TryAgain(f"{self._most} other users wait for an answer. Ask again in a moment.")
        self._kept.pop(idle).end()

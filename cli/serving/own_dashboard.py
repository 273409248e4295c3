"""The dashboard for one person on their own machine, with the rights of their kubeconfig."""

from __future__ import annotations

import secrets
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from cli.exits import Exit, OutOfReach
from cli.serving.answers import OTHERS, FileReviews, answered, only, unavailable_as_client_errors
from cluster.client import ClusterClient
from cluster.errors import ClusterError
from dashboard.login.authenticators import ByKey
from dashboard.login.sessions import cookie_name
from dashboard.reading.backend import Manifest, UserLogin, UserReader
from dashboard.reading.served import NamedServer
from dashboard.server import serve
from dashboard.settings import DashboardSettings
from dashboard.what_if.processes import Processes
from reconciler.api.routes import ReconcilerApi
from reconciler.api.snapshot import observed
from reconciler.core.core import Core

T = TypeVar("T")
_SHORTEST = 3.0
"""The minimum time in seconds between two reads of the cluster."""
_TIMES = 10.0
"""The pause between two reads is this many times the duration of a read, so that a large cluster is read less often."""
OtherTrees = Callable[[], Manifest]
"""Returns the trees of all projects in the cluster, as in `quotree tree -o json`. Raises OutOfReach."""


def run_own(
    port: int,
    open_reader: Callable[[], UserReader],
    what_if: Callable[[], Processes | None],
    *,
    browser: bool,
    say: Callable[[str], None],
    servers: Sequence[NamedServer] = (),
) -> Exit:
    """Serve until SIGTERM or Ctrl-C. Raises OutOfReach if it cannot start.

    `open_reader`, `what_if`: called in the process that serves. `servers`: see `Backend`. `say`: prints the address.
    """
    key = secrets.token_urlsafe(24)
    cookie = cookie_name(port, secure=False)
    settings = DashboardSettings(ByKey(key, cookie), cookie, port=port)

    def announce(url: str) -> None:
        address = f"{url}/start?key={key}"
        say(f"the dashboard is at {address}")
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    try:
        code = serve(settings, lambda: _OwnBackend(open_reader(), what_if(), servers), announce)
    except (ClusterError, OSError) as error:
        raise OutOfReach(f"the dashboard cannot start: {error}") from error
    return Exit.UNJUDGED if code else Exit.CLEAN


class _OwnBackend:
    """The backend of one user. The key in the address proves that the caller has started the dashboard."""

    audited = True

    def __init__(self, reader: UserReader, what_if: Processes | None, servers: Sequence[NamedServer]) -> None:
        self._reader, self.what_if, self.servers = reader, what_if, servers

    def reader(self, _: UserLogin) -> UserReader:
        return self._reader


class ReadOnce:
    """Answers /v1 without a reconciler: reads the cluster, and uses that state for some seconds."""

    def __init__(self, cluster: ClusterClient, other_trees: OtherTrees) -> None:
        self._cluster, self._other_trees = cluster, other_trees
        self._lock = threading.Lock()
        self._api = ReconcilerApi(self._ask, FileReviews())  # type: ignore[arg-type]
        self._core = _Expiring(lambda: observed(self._cluster))
        self._others = _Expiring(self._other_trees)

    def get(self, path: str, params: Mapping[str, str] | None = None) -> Manifest:
        with self._lock:
            if path in OTHERS:
                with unavailable_as_client_errors("the cluster"):
                    return only(self._others.current(), path) or {}
            return answered(self._api, path, params)

    def behind(self) -> float:
        return self._core.age()

    def _ask(self, question: Callable[[Core], T], timeout: float = 5.0) -> T:  # noqa: ARG002, see `Asked`
        return question(self._core.current())


class _Expiring:
    """A cached value that is read again when it is too old."""

    def __init__(self, read: Callable[[], Any]) -> None:
        self._read = read
        self._found: Any = None
        self._since, self._until = 0.0, float("-inf")

    def current(self) -> Any:
        began = time.monotonic()
        if began >= self._until:
            self._found = self._read()
            self._since = began
            self._until = time.monotonic() + max(_SHORTEST, _TIMES * (time.monotonic() - began))
        return self._found

    def age(self) -> float:
        return time.monotonic() - self._since if self._since else 0.0

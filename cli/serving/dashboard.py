"""Serves the dashboard to a team. Each user has their own rights."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from cli.exits import Exit, Misused, OutOfReach
from cli.serving.certificates import Certificates, Keeper, KeptCertificates
from cli.serving.connection import Address, UserConnection
from cli.serving.options import SignIn
from cluster.addresses import is_loopback
from cluster.client import ClusterClient
from cluster.endpoint import Endpoint, from_service_account
from cluster.errors import ClusterError, NotConfigured
from dashboard.login.authenticators import Authenticator, ByProxy, ByToken
from dashboard.login.ended import EndedSessions
from dashboard.login.sessions import Sessions, cookie_name
from dashboard.reading.backend import UserLogin
from dashboard.reading.remote import RemoteBackend, Servers
from dashboard.server import serve
from dashboard.settings import DashboardSettings
from dashboard.what_if.processes import Processes
from webhook.logs import log_as_json

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerAddresses:
    """The servers that the dashboard calls. `api`: None means the API server of the pod."""

    api: Address | None
    reconciler: Address | None
    audit: Address | None

    @property
    def every(self) -> tuple[Address | None, ...]:
        return self.api, self.reconciler, self.audit


def run(
    others: ServerAddresses,
    sign_in: SignIn,
    certificates: Certificates | None,
    what_if: Callable[[Callable[[UserLogin], UserConnection]], Processes],
    *,
    host: str,
    port: int,
    **served: Any,
) -> Exit:
    """Serve until SIGTERM or SIGINT. Raises Misused, or OutOfReach if it cannot start.

    `what_if`: creates the processes that compute the effect of changes. Its argument connects to the API server as a
    user. `served`: further fields of DashboardSettings.
    """
    if certificates is None and not is_loopback(host.strip("[]")):
        raise Misused(f"--host {host}: tokens must not cross a network in the clear; use --certs")
    cookie = cookie_name(port, secure=certificates is not None)
    authenticator, sessions = _authenticator(sign_in, cookie)
    settings = DashboardSettings(
        authenticator,
        cookie,
        host,
        port,
        certificate=certificates.folder / "tls.crt" if certificates else None,
        key=certificates.folder / "tls.key" if certificates else None,
        sessions=sessions,
        link_key=sign_in.session_key.read_bytes if sign_in.session_key else None,
        **served,
    )
    own = _own_token(sign_in) if sign_in.proxies else None
    servers = _ReloadedServers(others, own)
    someone = connecting_as_user(others.api, own)
    log_as_json()
    try:
        servers()
        keeper = certificates.keeper(ClusterClient.connect) if certificates else None
        if keeper:
            keeper()
        code = serve(settings, lambda: _backend(servers, keeper, what_if(someone)), lambda _: None)
    except (ClusterError, OSError, ValueError) as error:
        raise OutOfReach(f"the dashboard cannot start: {error}") from error
    return Exit.UNJUDGED if code else Exit.CLEAN


def _backend(servers: Callable[[], Servers], keeper: Keeper | None, what_if: Processes) -> RemoteBackend:
    """The backend of the dashboard. Call it in the process that serves, since threads do not survive a fork."""
    if keeper:
        KeptCertificates(keeper).start()
    return RemoteBackend(servers, what_if)


def _authenticator(sign_in: SignIn, cookie: str) -> tuple[Authenticator, Sessions | None]:
    if sign_in.proxies:
        try:
            networks = [ip_network(each) for each in sign_in.proxies]
        except ValueError as error:
            raise Misused(f"--trusted-proxy: {error}") from error
        return ByProxy(networks, sign_in.user_header, sign_in.groups_header), None
    key = sign_in.session_key
    sessions = Sessions(key.read_bytes if key else None, _ended(sign_in.ended_sessions))
    return ByToken(sessions, cookie), sessions


def _ended(named: str) -> EndedSessions | None:
    """The list of ended sessions in a ConfigMap, which the dashboard reads and writes with its own rights."""
    if not named:
        return None
    namespace, _, name = named.partition("/")
    if not namespace or not name:
        raise Misused(f"--ended-sessions {named}: name it as NAMESPACE/NAME")
    try:
        return EndedSessions(ClusterClient.connect(), namespace, name)
    except ClusterError as error:
        raise OutOfReach(f"the dashboard cannot start: {error}") from error


def connecting_as_user(
    api: Address | None, own: Callable[[], str | None] | None
) -> Callable[[UserLogin], UserConnection]:
    """A function that connects as a user: with the user's token, or with our token and impersonation."""

    def connection(login: UserLogin) -> UserConnection:
        header = login.authorization if login.authorization is not None or own is None else own()
        headers = tuple(login.impersonated.headers()) if login.impersonated else ()
        return UserConnection(api, header, headers)

    return connection


def _own_token(sign_in: SignIn) -> Callable[[], str | None]:
    """A function that reads the dashboard's token for each request, since its file is renewed."""
    if sign_in.token_file is None:
        return lambda: from_service_account().authorization()
    return partial(_token_in, sign_in.token_file)


def _token_in(file: Path) -> str:
    """The Authorization header with the token in the file. Raises NotConfigured."""
    try:
        return f"Bearer {file.read_text().strip()}"
    except (OSError, ValueError) as error:
        raise NotConfigured(f"{file}: the token of the dashboard cannot be read: {error}") from error


class _ReloadedServers:
    """Returns the endpoints of the servers, and creates them again when the file of a CA changes.

    If a changed file has no certificate, the previous endpoints are kept.
    `own`: the Authorization header of this process. If it is None, no credentials of this process are sent. A user's
    token must never be sent with a client certificate of ours: the API server would use that certificate.
    """

    def __init__(self, others: ServerAddresses, own: Callable[[], str | None] | None) -> None:
        self._others, self._own = others, own
        self._lock = threading.Lock()
        self._seen: tuple[object, ...] = ()
        self._servers: Servers | None = None

    def __call__(self) -> Servers:
        seen = tuple(_fingerprint(each.ca) for each in self._others.every if each)
        with self._lock:
            if self._servers is None:
                self._servers = self._made()
            elif seen != self._seen:
                try:
                    self._servers = self._made()
                except Misused as error:
                    log.error("%s; the previous certificates of servers are still trusted", error.message)
            self._seen = seen
            return self._servers

    def _made(self) -> Servers:
        api, *others = (self._with_own_login(each.endpoint()) if each else None for each in self._others.every)
        return Servers(api or self._of_pod(), *others)

    def _of_pod(self) -> Endpoint:
        try:
            found = from_service_account()
        except ClusterError as error:
            raise Misused(f"name the API server with --api-server: {error}") from error
        return self._with_own_login(replace(found, authorization=lambda: None))

    def _with_own_login(self, endpoint: Endpoint) -> Endpoint:
        return replace(endpoint, authorization=self._own) if self._own else endpoint


def _fingerprint(file: Path | None) -> object:
    try:
        found = file.stat() if file else None
    except OSError:
        return None
    return found and (found.st_ino, found.st_mtime_ns, found.st_size)

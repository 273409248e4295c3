"""The login at an API server, with the same options as kubectl, for every command that calls a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from cli.exits import AccessDenied, Misused, OutOfReach
from cli.input.contexts import complete_context
from cli.input.grouped import grouped, stacked
from cluster.errors import ClusterError, Forbidden
from cluster.roles import missing_role
from policies.configuration.kueue.durations import nanoseconds

if TYPE_CHECKING:  # these take long to load
    from cluster.client import ClusterClient
    from cluster.endpoint import Endpoint

Headers = tuple[tuple[str, str], ...]
LOGIN = ("context", "kubeconfig", "as_user", "as_groups", "request_timeout")
"""click's names of the options of a ClusterLogin, in the order of its fields. No other option has these names."""


@dataclass(frozen=True, slots=True)
class ClusterLogin:
    """A login at a cluster. Without fields, the current context is used; in a pod, its service account.

    `user`, `groups`: whom to impersonate.
    `timeout`: the seconds of one request; None means the client's default.
    """

    context: str | None = None
    kubeconfig: str | None = None
    user: str | None = None
    groups: tuple[str, ...] = ()
    timeout: float | None = None

    @property
    def headers(self) -> Headers:
        """The impersonation headers for --as and --as-group."""
        named = [("Impersonate-User", self.user)] if self.user is not None else []
        return (*named, *(("Impersonate-Group", group) for group in self.groups))

    def connect(self) -> ClusterClient:
        """Open a client with this login. Raises ClusterError."""
        from cluster.client import ClusterClient  # here, since it takes long to load and files need none of it
        from cluster.wire import Timeouts

        timeouts = Timeouts()
        if self.timeout is not None:
            timeouts = replace(timeouts, connect=min(self.timeout, timeouts.connect), read=self.timeout)
        return ClusterClient.connect(self.context, self.kubeconfig, timeouts, headers=self.headers)

    @contextmanager
    def connected(self, what: str = "") -> Iterator[ClusterClient]:
        """Open a client for the block. Raises OutOfReach if a request fails. `what`: see `unavailable`."""
        try:
            with self.connect() as cluster:
                yield cluster
        except ClusterError as error:
            raise unavailable(error, what) from error

    def endpoint(self) -> Endpoint:
        """The endpoint of the kubeconfig, or of the pod's service account. Raises ClusterError."""
        from cluster.endpoint import endpoint_of  # here, since it takes long to load

        return endpoint_of(self.context, self.kubeconfig, self.headers)

    def namespace(self) -> str:
        """The namespace of the context; `default` if it names none. Raises OutOfReach."""
        from cluster.namespace import namespace_of  # here, since it takes long to load

        try:
            return namespace_of(self.context, self.kubeconfig)
        except ClusterError as error:
            raise OutOfReach(str(error)) from error


def unavailable(error: ClusterError, what: str = "") -> OutOfReach:
    """The error of a command for a ClusterError. `what`: what the command could not do.

    It is AccessDenied if the user lacks a right. The message then names the role that grants it, if there is one.
    """
    said = f"{what}: {error}" if what else str(error)
    if not isinstance(error, Forbidden):
        return OutOfReach(said)
    role = missing_role(error.message)
    return AccessDenied(f"{said}; {role}" if role else said)


class _Seconds(click.ParamType[float]):
    """A value of --request-timeout, as for kubectl: a Go duration, or a number of seconds; 0 means the default."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value)
        length = int(text) * 10**9 if text.isdecimal() and text.isascii() and len(text) < 10 else nanoseconds(text)
        if length is None or length < 0:
            self.fail(
                f"{value!r} is not a duration; write a number of seconds, or one with a unit such as 30s", param, ctx
            )
        return length / 10**9


context = click.option(
    "--context",
    metavar="NAME",
    help="A context of the kubeconfig. Default: the current one.",
    shell_complete=complete_context,
)
login_options = stacked(
    context,
    click.option("--kubeconfig", metavar="FILE", help="Default: KUBECONFIG, then ~/.kube/config."),
    click.option("--as", "as_user", metavar="USER", help="Act as this user, as kubectl does."),
    click.option(
        "--as-group",
        "as_groups",
        metavar="GROUP",
        multiple=True,
        help="With --as: act as a member of this group; repeatable.",
    ),
    click.option(
        "--request-timeout", type=_Seconds(), metavar="DURATION", help="The timeout of one request, such as 30s."
    ),
)
"""The options of a login, as separate arguments for `read_login`."""


def _login(
    context: str | None,
    kubeconfig: str | None,
    as_user: str | None,
    as_groups: tuple[str, ...],
    request_timeout: float | None,
) -> ClusterLogin:
    if as_groups and as_user is None:
        raise Misused("--as-group needs --as USER")
    return ClusterLogin(context, kubeconfig, as_user, as_groups, request_timeout or None)


def read_login(options: Mapping[str, Any]) -> ClusterLogin:
    """The login from click's parameters. Raises Misused."""
    return _login(*(options[name] for name in LOGIN))


login = grouped("login", _login, login_options)

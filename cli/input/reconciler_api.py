"""Calls the /v1 API of a running reconciler, for facts that are not in the cluster."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.exits import Misused
from cli.input.grouped import grouped
from cli.input.login import ClusterLogin, unavailable
from cluster.addresses import split_url
from cluster.errors import ClusterError, NotFound
from cluster.trust import trusting
from policies.model.printing import plain

if TYPE_CHECKING:  # it takes long to load
    from cluster.endpoint import Endpoint


@dataclass(frozen=True, slots=True)
class Server:
    """The address of a reconciler.

    `ca`: a file with the CA of its certificate. `server_name`: the name in its certificate, if the URL has another.
    `token_file`: a file with the token to send; None means the token of the kubeconfig.
    """

    url: str
    ca: str | None = None
    server_name: str | None = None
    token_file: str | None = None


def _server(reconciler: str | None, ca: str | None, server_name: str | None, token_file: str | None) -> Server | None:
    values = {"--ca": ca, "--server-name": server_name, "--token-file": token_file}
    if reconciler is None and (misplaced := [option for option, value in values.items() if value is not None]):
        raise Misused(f"{misplaced[0]} needs --reconciler URL")
    return Server(reconciler, ca, server_name, token_file) if reconciler is not None else None


options = grouped(
    "reconciler",
    _server,
    click.option("--reconciler", metavar="URL", help="Ask the reconciler at this URL, which knows more."),
    click.option("--ca", metavar="FILE", help="The CA of its certificate."),
    click.option("--server-name", metavar="NAME", help="The name in its certificate, if the URL has another."),
    click.option("--token-file", metavar="FILE", help="A token to send instead of the kubeconfig's."),
)


def get(server: Server, path: str, login: ClusterLogin) -> dict[str, Any]:
    """The response for a path of /v1. Raises Misused and OutOfReach."""
    from cluster.client import ClusterClient  # here, since these take long to load

    try:
        with ClusterClient(endpoint(server, login)) as client:
            return client.get(path)
    except NotFound as error:
        raise Misused(plain(error.message)) from error
    except ClusterError as error:
        raise unavailable(error, f"cannot ask the reconciler at {server.url}") from error


def endpoint(server: Server, login: ClusterLogin) -> Endpoint:
    """The endpoint of the reconciler, with a token. Raises Misused and ClusterError."""
    from cluster.endpoint import Endpoint  # here, since it takes long to load

    tls = _tls(server)
    header = _from_file(server.token_file) if server.token_file else _of_kubeconfig(login)
    return Endpoint(
        server.url.rstrip("/"), tls, server.server_name, authorization=lambda: header, headers=login.headers
    )


def _tls(server: Server) -> ssl.SSLContext | None:
    """The TLS context; None for plain HTTP, which is only allowed on loopback, since the request carries a token."""
    try:
        return trusting(server.ca) if split_url(server.url).scheme == "https" else None
    except ValueError as error:
        raise Misused(f"--reconciler {server.url}: {error}") from error
    except OSError as error:
        raise Misused(f"--ca {server.ca}: {error.strerror or 'has no PEM certificate'}") from error


def _from_file(name: str) -> str:
    try:
        token = Path(name).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Misused(f"--token-file {name}: {getattr(error, 'strerror', None) or 'not a text file'}") from error
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise Misused(f"--token-file {name}: no token found; expected one line, as `kubectl create token` prints it")
    return f"Bearer {token}"


def _of_kubeconfig(login: ClusterLogin) -> str:
    """The Authorization header of the kubeconfig. Raises ClusterError, or Misused if it has no token."""
    header = login.endpoint().authorization()
    if header is None:
        hint = "use --token-file with a token of `kubectl create token`"
        raise Misused(f"the reconciler authenticates callers by token, and your kubeconfig has none; {hint}")
    return header

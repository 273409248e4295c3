"""A running reconciler, asked at /v1: what only it knows."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from cli.exits import Misused, OutOfReach
from cli.input.context import Against

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Where it is, and how one knows that it is the one. `token_file` None: the token of the kubeconfig is shown."""

    url: str
    ca: str | None = None
    server_name: str | None = None
    token_file: str | None = None


def reconciler(command: F) -> F:
    """The options for it."""
    for option in (
        click.option("--token-file", metavar="FILE", help="A token for it, instead of that of the kubeconfig."),
        click.option("--server-name", metavar="NAME", help="The name in its certificate, where it is not in the URL."),
        click.option("--ca", metavar="FILE", help="Who signed its certificate."),
        click.option("--reconciler", metavar="URL", help="Ask the reconciler there, which knows more."),
    ):
        command = option(command)
    return command


def ask(where: Reconciler, path: str, against: Against, kubeconfig: str | None) -> dict[str, Any]:
    """What it answers. Raises Misused, OutOfReach."""
    from cluster.client import Cluster  # here, since these take long and who asks nobody needs none of them
    from cluster.endpoint import Endpoint
    from cluster.errors import ClusterError

    tls = _tls(where)
    try:
        header = _from_file(where.token_file) if where.token_file else _of_kubeconfig(against, kubeconfig)
        endpoint = Endpoint(where.url.rstrip("/"), tls, where.server_name, authorization=lambda: header)
        with Cluster(endpoint) as there:
            return there.get(path)
    except ClusterError as error:
        raise OutOfReach(f"cannot ask the reconciler at {where.url}: {error}") from error


def _tls(where: Reconciler) -> ssl.SSLContext | None:
    """None for plain HTTP, which is for this machine alone, since a token goes along."""
    try:
        scheme, host = urlsplit(where.url).scheme, urlsplit(where.url).hostname or ""
        if scheme == "https" and host:
            return ssl.create_default_context(cafile=where.ca)
    except ValueError as error:
        raise Misused(f"--reconciler {where.url}: {error}") from error
    except OSError as error:
        raise Misused(f"--ca {where.ca}: {error.strerror or 'holds no certificate'}") from error
    if scheme == "http" and _here(host):
        return None
    raise Misused(f"--reconciler {where.url}: write https://HOST:PORT; http is for this machine alone")


def _here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _from_file(name: str) -> str:
    try:
        token = Path(name).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Misused(f"--token-file {name}: {getattr(error, 'strerror', None) or 'is no text'}") from error
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise Misused(f"--token-file {name}: it holds no token; it is one line, as `kubectl create token` prints it")
    return f"Bearer {token}"


def _of_kubeconfig(against: Against, kubeconfig: str | None) -> str:
    """Raises ClusterError."""
    from cluster.endpoint import from_kubeconfig, from_service_account, in_pod

    mine = not against.name and kubeconfig is None and in_pod()
    header = (from_service_account() if mine else from_kubeconfig(against.name or None, kubeconfig)).authorization()
    if header is None:
        cure = "name one with --token-file, as `kubectl create token` prints it"
        raise Misused(f"the reconciler knows callers by their token, and your kubeconfig has none; {cure}")
    return header

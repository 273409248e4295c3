"""The address and credentials of an API server, from a kubeconfig or a service account.

`cluster.plain_login` reads logins that need no plugin, and the `kubernetes` package reads the others. The package is
imported when needed, and only its configuration loaders are used: its API classes would cost a second and 139 MiB.
There is no global configuration: each call returns its own endpoint.
"""

import ipaddress
import os
import socket
import ssl
import threading
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote
from urllib.request import getproxies_environment

import urllib3
from urllib3.connection import HTTPConnection
from urllib3.util import Url, parse_url

from cluster import guarded_connections
from cluster.errors import NotConfigured
from cluster.plain_login import Headers, NotPlain, of_kubeconfig, of_service_account
from cluster.trust import trusting

DEFAULT_KUBECONFIG = "~/.kube/config"
_LOOPBACK = ("localhost", "127.0.0.0/8", "::1")

# The package's loader shares temporary certificate files between calls. It returns the name of a file before it has
# written the content: without a lock, a second thread would read an empty file.
_LOADING = threading.Lock()


@dataclass(frozen=True)
class Endpoint:
    """One API server.

    `url`: may have a path, for clusters behind a gateway.
    `link_local`: whether a link-local address is allowed, also as the address of a host name.
    `authorization`: returns the header for the next request and renews a token that is about to expire; if it returns
    None, no header is sent.
    `headers`: sent with each request, in addition to those of the client, such as for impersonation. A name may occur
    several times.
    """

    url: str
    tls: ssl.SSLContext | None = None
    server_name: str | None = None
    proxy: str | None = field(default=None, repr=False)  # it may have a password
    link_local: bool = True
    authorization: Callable[[], str | None] = field(default=lambda: None, repr=False)
    headers: Headers = ()


def from_kubeconfig(context: str | None = None, kubeconfig: str | None = None) -> Endpoint:
    """The endpoint of a context, by default the current one, of `kubeconfig`, $KUBECONFIG or ~/.kube/config.

    Raises NotConfigured. Like kubectl, it writes back a renewed OIDC token, since the old one may not work again.
    """
    files = kubeconfig or os.environ.get("KUBECONFIG") or DEFAULT_KUBECONFIG
    if not any(os.path.isfile(Path(file).expanduser()) for file in files.split(os.pathsep) if file):
        raise NotConfigured(f"{files}: no such kubeconfig; name one with --kubeconfig or KUBECONFIG")
    try:
        return _plain_endpoint(files, context) or _endpoint_of_package(files, context)
    except Exception as error:  # third-party code parses a hand-edited file: any exception means "not readable"
        chosen = f"context {context!r}" if context else "the current context"
        raise NotConfigured(f"{files}: {chosen} cannot be used: {_text(error)}") from error


def from_content(content: Mapping[str, Any], called: str, *, link_local: bool = True) -> Endpoint:
    """The endpoint of the current context of a kubeconfig in memory.

    `called`: the name of the kubeconfig in messages. `link_local`: whether a link-local address is allowed. Writes
    nothing back. Raises NotConfigured.
    """
    try:
        made = _plain(content, None, Path()) or _endpoint_of_content(content)
    except Exception as error:  # as above
        raise NotConfigured(f"{called} cannot be used: {_text(error)}") from error
    return replace(made, link_local=link_local)


def _endpoint_of_content(content: Mapping[str, Any]) -> Endpoint:
    from cluster.kubeconfig import load_content  # here, since it takes long to load

    with _LOADING:
        settings = _new_configuration()
        headers = load_content(content, settings)
        return replace(_endpoint(settings), headers=headers)


def from_service_account() -> Endpoint:
    """The endpoint of the pod's service account; its token is read again each minute. Raises NotConfigured."""
    try:
        return _endpoint(of_service_account())
    except (ValueError, OSError, ssl.SSLError) as error:
        cure = "run in a pod with a mounted service account token, or use a kubeconfig"
        raise NotConfigured(f"no service account: {_text(error)}; {cure}") from error


def in_pod() -> bool:
    """Whether this process runs in a pod and no kubeconfig is configured (kubectl's rule)."""
    asked = os.environ.get("KUBECONFIG") or os.path.isfile(Path(DEFAULT_KUBECONFIG).expanduser())
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and not asked


def endpoint_of(context: str | None, kubeconfig: str | None, headers: Headers = ()) -> Endpoint:
    """The endpoint of a kubeconfig context; in a pod without a kubeconfig, of the pod's service account.

    `headers`: replace those by which the kubeconfig impersonates a user. Raises NotConfigured.
    """
    own = context is None and kubeconfig is None and in_pod()
    found = from_service_account() if own else from_kubeconfig(context, kubeconfig)
    return replace(found, headers=headers or found.headers)


def open_pool(endpoint: Endpoint, connections: int) -> urllib3.PoolManager:
    """A pool of connections to one API server; it keeps at most `connections` idle ones."""
    options: dict[str, Any] = {"maxsize": connections, "socket_options": _keep_alive()}
    if endpoint.tls is not None:
        options["ssl_context"] = endpoint.tls
    if endpoint.server_name:
        options["server_hostname"] = endpoint.server_name
    if endpoint.proxy:
        login = parse_url(endpoint.proxy).auth  # urllib3 does not send it
        headers = {"Proxy-Authorization": f"Basic {b64encode(unquote(login).encode()).decode()}"} if login else None
        return urllib3.ProxyManager(endpoint.proxy, proxy_headers=headers, **options)  # only the proxy resolves names
    pools = urllib3.PoolManager(**options)
    if not endpoint.link_local:
        pools.pool_classes_by_scheme = guarded_connections.POOLS
    return pools


def _plain_endpoint(files: str, context: str | None) -> Endpoint | None:
    """The endpoint of a kubeconfig; None if it needs the kubernetes package. Raises the exceptions of `read_file`."""
    from cluster.kubeconfig_file import read_file  # here, since a pod needs no YAML

    paths = [path for each in files.split(os.pathsep) if each and os.path.exists(path := Path(each).expanduser())]
    return _plain(read_file(str(paths[0])), context, paths[0].absolute().parent) if len(paths) == 1 else None


def _plain(config: Mapping[str, Any], context: str | None, base: Path) -> Endpoint | None:
    """The endpoint of a parsed kubeconfig; None if it needs the kubernetes package.

    `base`: the folder that relative paths start from.
    """
    try:
        with TemporaryDirectory(prefix="quotree-") as scratch:
            login = of_kubeconfig(config, context, base, Path(scratch))
            return replace(_endpoint(login), headers=login.headers)
    except NotPlain:
        return None


def _endpoint_of_package(files: str, context: str | None) -> Endpoint:
    from cluster.kubeconfig import load_files  # here, since it takes long to load

    with _LOADING:
        settings = _new_configuration()
        headers = load_files(files, context, settings)
        return replace(_endpoint(settings), headers=headers)


def _new_configuration() -> Any:
    from kubernetes.client import Configuration  # here, since it takes long to load

    settings = Configuration()
    settings.proxy = None  # `_proxy` adds that of the environment
    return settings


def _endpoint(settings: Any) -> Endpoint:
    lock = threading.Lock()

    def authorization() -> str | None:
        try:
            with lock:  # so that a token plugin runs once, not once per thread
                header = settings.get_api_key_with_prefix("BearerToken", alias="authorization")
        except Exception as error:  # third-party code, plugins and files: any exception means "no token"
            raise NotConfigured(f"{settings.host}: the token cannot be renewed: {_text(error)}") from error
        sent = str(header or "").strip()
        if not (sent.isascii() and sent.isprintable()):  # checked here, since the error of http.client shows the token
            raise NotConfigured(f"{settings.host}: the token has a character that a token may not have")
        return sent or None

    server = _checked(str(settings.host), "server")
    return Endpoint(
        url=server.rstrip("/"),
        tls=_tls(settings) if server.startswith("https") else None,
        server_name=settings.tls_server_name,
        proxy=_proxy(server, settings.proxy),
        authorization=authorization,
    )


def _tls(settings: Any) -> ssl.SSLContext:
    context = trusting(settings.ssl_ca_cert)
    if not settings.verify_ssl:  # the user's `insecure-skip-tls-verify`
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.cert_file:
        # With an empty password an encrypted key is an error, not a prompt that nobody answers.
        context.load_cert_chain(settings.cert_file, settings.key_file, password="")
    return context


def _proxy(server: str, named: str | None) -> str | None:
    """The proxy as kubectl chooses it. `named`: the `proxy-url` of the kubeconfig, which NO_PROXY does not concern.

    Raises ValueError.
    """
    url, environment = parse_url(server), getproxies_environment()
    direct = (*_LOOPBACK, *environment.get("no", "").lower().split(","))
    proxy = named
    if not proxy and not any(_covers(entry.strip(), url) for entry in direct):
        proxy = environment.get(url.scheme or "")
    if not proxy:
        return None
    return _checked(proxy if "://" in proxy else f"http://{proxy}", "proxy")


def _checked(address: str, called: str) -> str:
    """The address. Raises ValueError if urllib3 cannot use it; the message does not show it, since it may have a login.

    `called`: server or proxy.
    """
    try:
        url = parse_url(address)
    except ValueError:
        raise ValueError(f"the address of its {called} is not a valid URL") from None
    if url.scheme not in ("http", "https"):
        raise ValueError(f"its {called} is a {url.scheme}:// {called}; use one with http:// or https://")
    if not url.host:
        raise ValueError(f"the address of its {called} has no host")
    return address


def _covers(entry: str, url: Url) -> bool:
    """Whether an entry of NO_PROXY (`*`, a domain, an address or a network; a host may have a port) covers the URL."""
    host, port = str(url.host or "").strip("[]").lower(), url.port or (443 if url.scheme == "https" else 80)
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(entry, strict=False)
    except ValueError:  # one of them is a name, or the entry has a port
        domain = entry.removesuffix(f":{port}").strip("[]").removeprefix("*")
        return entry == "*" or (bool(domain) and (host == domain or host.endswith(f".{domain.lstrip('.')}")))


def _keep_alive() -> list[tuple[int, int, int]]:
    """TCP options that detect a dead peer after 60 s (30 s idle, then three probes 10 s apart)."""
    options: list[tuple[int, int, int]] = [
        *((int(level), int(name), int(value)) for level, name, value in HTTPConnection.default_socket_options),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    ]
    wanted = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}  # not every system has all of them
    options += [
        (socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in wanted.items() if hasattr(socket, name)
    ]
    return options


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__

"""Logins that need no plugin: a pod's service account, and a kubeconfig with credentials in it or in files.

The `kubernetes` package reads these the same way, but loading it takes a quarter of a second of processor time. It
reads the other logins, and also invalid ones, so that its error message is shown.
"""

from __future__ import annotations

import base64
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

from cluster.api.header_text import to_send

log = logging.getLogger(__name__)
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_TOKEN_LASTS = 60.0
"""Seconds after which the token of a service account is read again; the kubelet renews it long before it expires."""
_OF_HEADERS = "!#$&'*+-.^_`|~"
"""The punctuation that names of headers may have."""
_IMPERSONATION = {"as", "as-uid", "as-groups", "as-user-extra"}
_TLS = {
    "certificate-authority",
    "certificate-authority-data",
    "client-certificate",
    "client-certificate-data",
}
"""The fields of a kubeconfig that configure TLS."""
_PLAIN = {"token", "tokenFile", "client-certificate", "client-certificate-data", "client-key", "client-key-data"}
Headers: TypeAlias = tuple[tuple[str, str], ...]


class NotPlain(Exception):
    """The kubeconfig needs the kubernetes package: to be read, or for an error message."""


@dataclass(frozen=True, slots=True)
class PlainLogin:
    """A login, with the field names of the package's Configuration.

    `proxy`: the `proxy-url` of the cluster. `headers`: those of impersonation.
    """

    host: str
    ssl_ca_cert: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    verify_ssl: bool = True
    tls_server_name: str | None = None
    proxy: str | None = None
    token: Callable[[], str | None] = field(default=lambda: None, repr=False)
    headers: Headers = ()

    def get_api_key_with_prefix(self, _: str, alias: str | None = None) -> str | None:
        """The header `Authorization` of the next request."""
        del alias
        return self.token()


def of_service_account() -> PlainLogin:
    """The login of the pod's service account. Raises ValueError or OSError if the pod has none."""
    host, port = os.environ.get("KUBERNETES_SERVICE_HOST"), os.environ.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ValueError("Service host/port is not set.")
    authority = SERVICE_ACCOUNT / "ca.crt"
    if not authority.read_text():
        raise ValueError(f"{authority} is empty")
    token = _RenewedToken(SERVICE_ACCOUNT / "token")
    token()
    return PlainLogin(
        f"https://[{host}]:{port}" if ":" in host or "%" in host else f"https://{host}:{port}",
        ssl_ca_cert=str(authority),
        token=token,
    )


class _RenewedToken:
    """The token of a service account, read again from its file. If that fails, the last one is used, as in client-go.

    Raises ValueError or OSError if there is none.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._header = ""
        self._read_at = float("-inf")

    def __call__(self) -> str:
        if time.monotonic() >= self._read_at + _TOKEN_LASTS:
            try:
                content = self._file.read_text()
                if not content:
                    raise ValueError(f"{self._file} is empty")
                self._header = f"bearer {content}"
            except (ValueError, OSError) as error:
                if not self._header:
                    raise
                log.warning("the token cannot be read again: %s", error)
            self._read_at = time.monotonic()
        return self._header


def of_kubeconfig(config: Mapping[str, Any], context: str | None, base: Path, scratch: Path) -> PlainLogin:
    """The login of a context, by default the current one. Raises NotPlain.

    `base`: the folder that relative paths start from. `scratch`: a folder for decoded certificates and keys, which are
    needed until the TLS context is loaded.
    """
    chosen = _named(config, "contexts", context or config.get("current-context"), "context")
    cluster = _named(config, "clusters", chosen.get("cluster"), "cluster")
    user = _named(config, "users", chosen["user"], "user") if chosen.get("user") and config.get("users") else {}
    cluster, user = as_kubectl(cluster, user)
    host, insecure = _text(cluster, "server"), cluster.get("insecure-skip-tls-verify", False)
    if not host or not isinstance(insecure, bool) or not user.keys() <= _PLAIN | _IMPERSONATION:
        raise NotPlain
    secure = host.startswith("https:")

    def file(entry: Mapping[str, Any], key: str) -> str | None:
        return _file(entry, key, base, scratch) if secure else None

    token = _token(user, base)
    return PlainLogin(
        host.rstrip("/"),
        file(cluster, "certificate-authority"),
        file(user, "client-certificate"),
        file(user, "client-key"),
        not insecure,
        _text(cluster, "tls-server-name"),
        _text(cluster, "proxy-url"),
        lambda: f"Bearer {token}" if token else None,
        impersonation(user),
    )


def as_kubectl(cluster: Mapping[str, Any], user: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A cluster and a user of a kubeconfig as kubectl reads them.

    An empty field is unset. A server without a scheme has `https://` if TLS is configured, else `http://`.
    """
    cluster, user = ({key: each[key] for key in each if each[key] not in (None, "")} for each in (cluster, user))
    server = cluster.get("server")
    if isinstance(server, str):
        scheme, given, rest = server.partition("://")
        tls = cluster.get("insecure-skip-tls-verify") or not _TLS.isdisjoint({*cluster, *user})
        cluster["server"] = f"{scheme.lower()}://{rest}" if given else f"http{'s' if tls else ''}://{server}"
    return cluster, user


def impersonation(user: Mapping[str, Any]) -> Headers:
    """The headers with which kubectl acts as the user that `as` of a kubeconfig names. Raises ValueError."""
    extra = user.get("as-user-extra") or {}
    named = {
        "Impersonate-User": [user.get("as") or ""],
        "Impersonate-Uid": [user.get("as-uid") or ""],
        "Impersonate-Group": user.get("as-groups") or [],
        **{f"Impersonate-Extra-{quote(key, safe=_OF_HEADERS)}": values for key, values in extra.items()},
    }
    for values in named.values():
        if not isinstance(values, list) or not all(isinstance(each, str) and each.isprintable() for each in values):
            raise ValueError("as, as-uid, as-groups and as-user-extra must have printable strings")
    headers = tuple((name, to_send(value)) for name, values in named.items() for value in values if value)
    if headers and not user.get("as"):
        raise ValueError("as-uid, as-groups and as-user-extra need the user in `as`")
    return headers


def _named(config: Mapping[str, Any], many: str, name: object, one: str) -> Mapping[str, Any]:
    """The entry of this name in the list `many`. Raises NotPlain unless there is exactly one."""
    entries = config.get(many)
    if not isinstance(entries, list) or not all(isinstance(each, dict) and "name" in each for each in entries):
        raise NotPlain
    found = [each.get(one) for each in entries if each["name"] == name]
    if len(found) != 1 or not isinstance(found[0], dict) or not isinstance(name, str):
        raise NotPlain
    return found[0]


def _text(entry: Mapping[str, Any], key: str) -> str | None:
    value = entry.get(key)
    if value is not None and not isinstance(value, str):
        raise NotPlain
    return value


def _token(user: Mapping[str, Any], base: Path) -> str | None:
    """The content of the token file. If there is none or it cannot be read, the token in the kubeconfig."""
    token, name = _text(user, "token"), _text(user, "tokenFile")
    try:
        return (name and (base / name).read_text()) or token
    except OSError:
        if token:
            return token
        raise NotPlain from None


def _file(entry: Mapping[str, Any], key: str, base: Path, scratch: Path) -> str | None:
    data = _text(entry, f"{key}-data")
    if data:
        path = scratch / key
        try:
            path.write_bytes(base64.b64decode(data))
        except ValueError:
            raise NotPlain from None
        return str(path)
    name = _text(entry, key)
    if name and not (base / name).is_file():
        raise NotPlain
    return os.path.normpath(base / name) if name else None

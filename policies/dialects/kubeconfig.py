"""Checks whether a kubeconfig is safe to use for a worker cluster of MultiKueue, and which files may be read.

A kubeconfig comes from a Secret or a file that others can write. Its author must not be able to make the manager run a
program, read the manager's files, or connect to a server without a verified certificate.
Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue, which refuses the same with the same messages.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from policies.dialects.addresses import may_be_metadata
from policies.dialects.labels import is_domain
from policies.dialects.reading import Manifest, listing, mapping, text

BAD, INSECURE = "BadKubeConfig", "InsecureKubeConfig"
"""Reasons of a condition. BAD: the kubeconfig cannot be found or loaded. INSECURE: its content is invalid or unsafe."""
PREFIX = "/etc/multikueue/kubeconfigs"
"""The folder that a path must be in, by default."""
KEY = "kubeconfig"
"""The key of a Secret's data."""
MAX_COPIED = 10_000
"""The most values that YAML aliases in a kubeconfig may repeat, so that a small text does not become a huge one. Tools
write no aliases."""
_OUTSIDE = "kubeconfig path is not under the allowed prefix"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[A-Za-z0-9._~%:\[\]/-]+").fullmatch
"""A URL without the parts that URL parsers read differently: no user, no backslash, no blank, no query."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Risky features of a kubeconfig that the settings may allow. All are off by default.

    `insecure_tls`: no verification of the server's certificate.
    `plain_http`: no TLS at all.
    `link_local`: a server at a link-local address or that of a metadata service, where clouds serve credentials.
    `proxy`: a proxy that the kubeconfig names.
    `exec`: a program that provides credentials.
    """

    insecure_tls: bool = False
    plain_http: bool = False
    link_local: bool = False
    proxy: bool = False
    exec: bool = False


NO_TRUST = Trust()


def path_fault(location: str, prefix: str = PREFIX) -> str | None:
    """The fault in the text of a path, or None. Symbolic links are resolved only when the file is read."""
    if not location:
        return "kubeconfig path must not be empty"
    cleaned = posixpath.normpath(location)
    if ".." in cleaned.split("/"):
        return f'{_OUTSIDE}: path contains ".."'
    if not cleaned.startswith("/"):
        return f"{_OUTSIDE}: path must be absolute"
    return None if below(cleaned, prefix) else f'{_OUTSIDE}: "{cleaned}" is not under "{prefix}"'


def below(path: str, prefix: str) -> bool:
    """Whether a resolved path is in the folder `prefix`. `/etc/kueue-other` is not in `/etc/kueue`."""
    return path.startswith(f"{prefix.rstrip('/')}/")


def content_fault(config: Manifest, trust: Trust = NO_TRUST) -> str | None:
    """The first fault that makes a kubeconfig unsafe or useless; None if it may be used."""
    return next(_faults(config, trust), None)


def _faults(config: Manifest, trust: Trust) -> Iterator[str]:
    yield from _name_faults(config)
    users, clusters = _named(config, "users", "user"), _named(config, "clusters", "cluster")
    if any(user.get("tokenFile") for user in users.values()):
        yield "tokenFile is not allowed"
    for name, cluster in clusters.items():
        yield from _cluster_faults(name, cluster, trust)
    chosen = text(config.get("current-context")) or ""
    context = _named(config, "contexts", "context").get(chosen)
    if context is None:
        yield f'invalid configuration: the current context "{chosen}" does not exist'
        return
    server = clusters.get(text(context.get("cluster")) or "")
    if server is None:
        yield f'invalid configuration: the cluster "{context.get("cluster")}" of context "{chosen}" does not exist'
        return
    yield from _server_faults(text(server.get("server")) or "", trust)
    if server.get("proxy-url") and not trust.proxy:
        yield "proxy-url is not allowed; reconciler.multiKueue.connection.allowProxy of the settings allows it"
    yield from _user_faults(users.get(text(context.get("user")) or "", {}), trust)


def _name_faults(config: Manifest) -> Iterator[str]:
    """Lists in which another reader could find another entry than the one that is checked. kubectl refuses them."""
    for many in ("users", "clusters", "contexts"):
        names = [mapping(entry).get("name") for entry in listing(config.get(many))]
        if not all(isinstance(name, str) for name in names):
            yield f'invalid configuration: each entry of "{many}" needs a name that is a string'
        elif len(set(names)) < len(names):
            yield f'invalid configuration: two entries of "{many}" have the same name'


def _cluster_faults(name: str, cluster: Mapping[str, Any], trust: Trust) -> Iterator[str]:
    if cluster.get("insecure-skip-tls-verify") and not trust.insecure_tls:
        yield f"insecure TLS verification is not allowed for cluster {name}"
    if cluster.get("certificate-authority"):
        advice = "use certificate-authority-data"
        yield f"certificate-authority file paths are not allowed, {advice} for cluster {name}"
    if not cluster.get("server"):
        yield f"server URL is required for cluster {name}"


def _user_faults(user: Mapping[str, Any], trust: Trust) -> Iterator[str]:
    if user.get("username") or user.get("password"):
        yield "basic auth is not allowed"
    if user.get("exec") and not trust.exec:
        yield "exec plugins are not allowed"
    if user.get("auth-provider"):
        yield "auth providers are not allowed"
    for key in ("client-certificate", "client-key"):
        if user.get(key):
            yield f"{key} file paths are not allowed, use {key}-data"


def _named(config: Manifest, many: str, one: str) -> dict[str, Mapping[str, Any]]:
    """The entries of a list by their names, which are texts and differ; see `_name_faults`."""
    entries = map(mapping, listing(config.get(many)))
    return {text(entry.get("name")) or "": mapping(entry.get(one)) for entry in entries}


def _server_faults(server: str, trust: Trust) -> Iterator[str]:
    # client-go completes it, with http:// unless TLS is configured
    url = _split(server if "://" in server else f"http://{server}")
    if url is None or not _valid_host((url.hostname or "").lower()):
        yield "untrusted server endpoint"
    elif may_be_metadata(url.hostname or "") and not trust.link_local:
        yield "untrusted server endpoint: a link-local address or one of a cloud's metadata service is not allowed"
    elif url.scheme != "https" and not (url.scheme == "http" and trust.plain_http):
        yield "untrusted server endpoint: write https://; reconciler.multiKueue.connection.allowPlainHTTP allows http"


def _split(server: str) -> SplitResult | None:
    try:
        return urlsplit(server) if _URL(server) else None
    except ValueError:  # brackets without an IPv6 address
        return None


def _valid_host(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return is_domain(host)
    return True

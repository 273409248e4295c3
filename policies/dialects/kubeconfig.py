"""Whether a kubeconfig may lead MultiKueue to a worker cluster, and from where it may be read.

A kubeconfig comes from a Secret or a file that others may write. Its author must not make the manager run a program,
read its files, or talk to a server without a verified certificate.
Source: Kueue v0.19, pkg/controller/admissionchecks/multikueue: the same refusals under the same words.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from policies.dialects.reading import Manifest, listing, mapping, text

BAD, INSECURE = "BadKubeConfig", "InsecureKubeConfig"
"""The reasons for which a kubeconfig is refused: it cannot be read, or it is not safe."""
PREFIX = "/etc/multikueue/kubeconfigs"
"""The folder below which files may be named."""
KEY = "kubeconfig"
"""The key of a Secret's data."""
_OUTSIDE = "kubeconfig path is not under the allowed prefix"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253


def path_fault(location: str, prefix: str = PREFIX) -> str | None:
    """What is wrong with the text of the path; symbolic links are resolved only where it is read."""
    if not location:
        return "kubeconfig path must not be empty"
    cleaned = posixpath.normpath(location)
    if ".." in cleaned.split("/"):
        return f'{_OUTSIDE}: path contains ".."'
    if not cleaned.startswith("/"):
        return f"{_OUTSIDE}: path must be absolute"
    return None if below(cleaned, prefix) else f'{_OUTSIDE}: "{cleaned}" is not under "{prefix}"'


def below(path: str, prefix: str) -> bool:
    """Whether the path is in the folder, which `/etc/kueue-other` is not in `/etc/kueue`; both are resolved."""
    return path.startswith(f"{prefix.rstrip('/')}/")


def content_fault(config: Manifest, *, allow_insecure: bool = False, allow_exec: bool = False) -> str | None:
    """The first fault that makes a kubeconfig unsafe or useless; None where it may be used.

    `allow_insecure`: TLS without verification of the server's certificate. `allow_exec`: a program that provides
    credentials.
    """
    return next(_faults(config, allow_insecure, allow_exec), None)


def _faults(config: Manifest, allow_insecure: bool, allow_exec: bool) -> Iterator[str]:
    users, clusters = _named(config, "users", "user"), _named(config, "clusters", "cluster")
    if any(user.get("tokenFile") for user in users.values()):
        yield "tokenFile is not allowed"
    for name, cluster in clusters.items():
        yield from _cluster_faults(name, cluster, allow_insecure)
    chosen = text(config.get("current-context")) or ""
    context = _named(config, "contexts", "context").get(chosen)
    if context is None:
        yield f'invalid configuration: the current context "{chosen}" does not exist'
        return
    server = clusters.get(text(context.get("cluster")) or "")
    if server is None:
        yield f'invalid configuration: the cluster "{context.get("cluster")}" of context "{chosen}" does not exist'
        return
    if not _valid_host(text(server.get("server")) or ""):
        yield "untrusted server endpoint"
    yield from _user_faults(users.get(text(context.get("user")) or "", {}), allow_exec)


def _cluster_faults(name: str, cluster: Mapping[str, Any], allow_insecure: bool) -> Iterator[str]:
    if cluster.get("insecure-skip-tls-verify") and not allow_insecure:
        yield f"insecure TLS verification is not allowed for cluster {name}"
    if cluster.get("certificate-authority"):
        advice = "use certificate-authority-data"
        yield f"certificate-authority file paths are not allowed, {advice} for cluster {name}"
    if not cluster.get("server"):
        yield f"server URL is required for cluster {name}"


def _user_faults(user: Mapping[str, Any], allow_exec: bool) -> Iterator[str]:
    if user.get("username") or user.get("password"):
        yield "basic auth is not allowed"
    if user.get("exec") and not allow_exec:
        yield "exec plugins are not allowed"
    if user.get("auth-provider"):
        yield "auth providers are not allowed"
    for key in ("client-certificate", "client-key"):
        if user.get(key):
            yield f"{key} file paths are not allowed, use {key}-data"


def _named(config: Manifest, many: str, one: str) -> dict[str, Mapping[str, Any]]:
    """The entries of a list by their names; of several with one name the first counts, as for kubectl."""
    found: dict[str, Mapping[str, Any]] = {}
    for entry in map(mapping, listing(config.get(many))):
        found.setdefault(text(entry.get("name")) or "", mapping(entry.get(one)))
    return found


def _valid_host(server: str) -> bool:
    try:
        host = (urlsplit(server if "://" in server else f"//{server}").hostname or "").lower()
    except ValueError:  # brackets without an address in them
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return len(host) <= _LONGEST_NAME and _NAME.fullmatch(host) is not None
    return True

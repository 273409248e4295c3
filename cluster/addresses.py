"""The address of a server: as a URL, and in a file for others to read."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import SplitResult, urlsplit


def bracketed(host: str) -> str:
    """The host for a URL: an IPv6 address gets brackets, unless it has them already."""
    return f"[{host.strip('[]')}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def split_url(url: str) -> SplitResult:
    """The parts of the URL of a server that gets tokens. Raises ValueError if tokens must not be sent there."""
    parts = urlsplit(url)
    host, _ = parts.hostname or "", parts.port  # reading a malformed port raises ValueError
    if host and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))):
        return parts
    raise ValueError("write https://HOST:PORT; http is allowed on this machine only")


def url_of(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{bracketed(host)}:{port}"


def write_address(file: Path | None, address: Mapping[str, object]) -> None:
    """Write the address as JSON, unless `file` is None. The file is replaced atomically."""
    if file:
        draft = file.with_name(file.name + ".new")
        draft.write_text(json.dumps(address))
        draft.replace(file)

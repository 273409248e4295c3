"""Where a server of JSON has its probes and its /v1, and by which certificates: options that servers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Served:
    """`host` and `port` are those of the probes; `api_port` None: /v1 is not served."""

    host: str
    port: int
    address_file: Path | None
    api_host: str
    api_port: int | None
    folder: Path | None
    metrics_auth: bool
    supplied: bool
    names: tuple[str, ...]
    secret: str | None
    service: str | None


def served(port: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options of Served; the command gets them as `served`. `port` is the default of the probes'."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_served(*arguments: Any, **given: Any) -> Any:
            chosen = {key: given.pop(key) for key in Served.__slots__}
            return command(*arguments, served=Served(**chosen), **given)

        decorated: Callable[..., Any] = with_served
        for option in reversed(_options(port)):
            decorated = option(decorated)
        return decorated

    return decorate


def _options(port: int) -> tuple[Callable[[Any], Any], ...]:
    folder, file = click.Path(file_okay=False, path_type=Path), click.Path(dir_okay=False, path_type=Path)
    ports, probes = click.IntRange(0, 65535), "Address of probes and metrics; 0.0.0.0 in a pod."
    return (
        click.option("--host", default=_LOOPBACK, show_default=True, help=probes),
        click.option("--port", type=ports, default=port, show_default=True, help="0 takes a free one."),
        click.option("--address-file", type=file, help="Write the actual addresses to this file."),
        click.option("--api-host", default=_LOOPBACK, show_default=True, help="Address of /v1; 0.0.0.0 in a pod."),
        click.option("--api-port", type=ports, help="Serve /v1 on this port; 0 takes a free one.  [default: none]"),
        click.option(
            "--api-certs",
            "folder",
            type=folder,
            help="Folder of tls.crt and tls.key for /v1. Default: plain HTTP, on loopback only.",
        ),
        click.option(
            "--metrics-auth",
            is_flag=True,
            help="Show /metrics to tokens of the cluster that may GET it, over TLS with --api-certs.",
        ),
        click.option("--supplied", is_flag=True, help="Use the certificates in the folder as they are: make none."),
        click.option(
            "--name", "names", metavar="DNS|IP", multiple=True, help="Another name of this server. Default: loopback."
        ),
        click.option("--secret", metavar="NAMESPACE/NAME", help="Keep the certificates in this Secret."),
        click.option("--service", metavar="NAME", help="With --secret: the Service that clients call."),
    )

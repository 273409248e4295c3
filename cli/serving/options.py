"""Options that servers share: their certificates, where probes and /v1 are, and the cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.exits import Misused
from cli.input.login import context
from policies.configuration.settings import Dialect

if TYPE_CHECKING:  # these take long to load
    from cli.serving.api import ApiSettings
    from cli.serving.certificates import Certificates
    from cli.serving.process import ProcessSettings
    from cli.serving.prometheus import PrometheusSettings

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_LOOPBACK = "127.0.0.1"
_PORT = click.IntRange(0, 65535)
_FOLDER, _FILE = click.Path(file_okay=False, path_type=Path), click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class CertificateOptions:
    """Options of the certificates: their source, their names, and where they are also stored; see `Certificates`."""

    supplied: bool
    names: tuple[str, ...]
    secret: str | None
    service: str | None

    def certificates(self, folder: Path, **callers: Sequence[str]) -> Certificates:
        """`callers`: the objects whose caBundle to keep, under their names in `Certificates`."""
        from cli.serving.certificates import Certificates  # here, since a server without them loads none of it

        return Certificates(folder, self.supplied, self.names, self.secret, self.service, **callers)


@dataclass(frozen=True, slots=True)
class ProcessOptions(CertificateOptions):
    """`host` and `port` are those of the probes; `api_port` None: /v1 is not served. The certificates are /v1's.

    `folder` None: there are none.
    """

    folder: Path | None
    host: str
    port: int
    address_file: Path | None
    api_host: str
    api_port: int | None
    metrics_auth: bool
    kubeconfig: str | None
    context: str | None

    def settings(self, lease: str, api_service: str | None = None) -> ProcessSettings:
        """`lease` is `namespace/name`; `api_service` is the APIService by which the API server passes on questions.

        Raises Misused.
        """
        from cli.serving.process import ProcessSettings  # here, since servers take long to load

        where = (self.host, self.port, lease, self.kubeconfig, self.context, self.address_file)
        return ProcessSettings(*where, self._api(api_service), self.metrics_auth)

    def _api(self, api_service: str | None) -> ApiSettings | None:
        if api_service is not None and (self.api_port is None or self.folder is None):
            raise Misused("--api-service needs --api-port and --api-certs: the API server calls /v1 only over TLS")
        if self.api_port is None:
            return None
        from cli.serving.api import ApiSettings  # here, since most of what it loads serves /v1 alone

        asking = (api_service,) if api_service is not None else ()
        certificates = self.certificates(self.folder, aggregated=asking) if self.folder else None
        return ApiSettings(self.api_host, self.api_port, certificates, bool(asking))


@dataclass(frozen=True, slots=True)
class PrometheusOptions:
    """The Prometheus that has the metrics of the reconciler; `prometheus` None: none is asked."""

    prometheus: str | None
    prometheus_ca: Path | None
    prometheus_token: Path | None
    prometheus_match: tuple[str, ...]

    def settings(self, *, serves_api: bool) -> PrometheusSettings | None:
        """Which server to ask; None where none is given. Raises Misused."""
        if self.prometheus is None:
            return None
        if not serves_api:
            raise Misused("--prometheus needs --api-port: histories are answers of /v1")
        from cli.serving.prometheus import PrometheusSettings, labels  # here, since clients take long to load

        match = labels(self.prometheus_match)
        return PrometheusSettings(self.prometheus, self.prometheus_ca, self.prometheus_token, match)


kubeconfig = click.option(
    "--kubeconfig", metavar="FILE", help="Default: KUBECONFIG, ~/.kube/config, or in a pod its service account."
)


def address_file(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--address-file", type=_FILE, help="Write the actual addresses to this file.")(command)


gates = click.option(
    "--gates",
    type=click.Choice([Dialect.VOLCANO.value, Dialect.YUNIKORN.value]),
    multiple=True,
    help="Pods wait at a scheduling gate for the quota of this project, where the configuration does not set its"
    " `enforce`. Webhook and reconciler need the same.",
)


def certificates(caller: str = "clients call") -> Decorator:
    """The options of CertificateOptions; the command gets them as `kept`. `caller`: whose Service it is."""
    return _grouped("kept", CertificateOptions, _certificates(caller))


def process(port: int) -> Decorator:
    """The options of ProcessOptions; the command gets them as `process`. `port` is the default of the probes'."""
    where = "Folder of tls.crt and tls.key for /v1. Default: plain HTTP, on loopback only."
    options: tuple[Decorator, ...] = (
        click.option(
            "--host", default=_LOOPBACK, show_default=True, help="Address of probes and metrics; 0.0.0.0 in a pod."
        ),
        click.option("--port", type=_PORT, default=port, show_default=True, help="0 takes a free one."),
        kubeconfig,
        context,
        address_file,
        click.option("--api-host", default=_LOOPBACK, show_default=True, help="Address of /v1; 0.0.0.0 in a pod."),
        click.option("--api-port", type=_PORT, help="Serve /v1 on this port; 0 takes a free one.  [default: none]"),
        click.option("--api-certs", "folder", type=_FOLDER, help=where),
        click.option(
            "--metrics-auth",
            is_flag=True,
            help="Show /metrics to tokens of the cluster that may GET it, over TLS with --api-certs."
            " Probes need no token.",
        ),
        *_certificates("clients call"),
    )
    return _grouped("process", ProcessOptions, options)


def prometheus() -> Decorator:
    """The options of PrometheusOptions; the command gets them as `prometheus`."""
    options: tuple[Decorator, ...] = (
        click.option(
            "--prometheus",
            metavar="URL",
            help="The Prometheus that scrapes this reconciler. Histories of queues then last longer than the process.",
        ),
        click.option("--prometheus-ca", type=_FILE, help="The CA of its certificate. Default: those of the system."),
        click.option("--prometheus-token", type=_FILE, help="File with a bearer token for it, read anew each time."),
        click.option(
            "--prometheus-match",
            metavar="LABEL=VALUE",
            multiple=True,
            help="A label that samples must have, where one Prometheus has the metrics of several clusters.",
        ),
    )
    return _grouped("prometheus", PrometheusOptions, options)


def _certificates(caller: str) -> tuple[Decorator, ...]:
    return (
        click.option(
            "--supplied", is_flag=True, help="Use the certificates in the folder as they are: make and renew none."
        ),
        click.option(
            "--name", "names", metavar="DNS|IP", multiple=True, help="Another name of this server. Default: loopback."
        ),
        click.option(
            "--secret", metavar="NAMESPACE/NAME", help="Keep the certificates in this Secret, for all replicas."
        ),
        click.option("--service", metavar="NAME", help=f"With --secret: the Service that {caller}."),
    )


def _grouped(
    name: str, kind: type[CertificateOptions | PrometheusOptions], options: tuple[Decorator, ...]
) -> Decorator:
    """The command gets what is given for these options as one value of this kind."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_group(*arguments: Any, **values: Any) -> Any:
            chosen = {field.name: values.pop(field.name) for field in fields(kind)}
            return command(*arguments, **{name: kind(**chosen)}, **values)

        decorated: Callable[..., Any] = with_group
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate

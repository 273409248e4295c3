"""Options that servers share: their certificates, the addresses of probes and /v1, and the cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.exits import Misused
from cli.input.grouped import Decorator, grouped
from cli.input.login import context
from policies.configuration.settings import Dialect

if TYPE_CHECKING:  # these take long to load
    from cli.serving.api import ApiSettings
    from cli.serving.certificates import Certificates
    from cli.serving.process import ProcessSettings
    from cli.serving.prometheus import PrometheusSettings

_LOOPBACK = "127.0.0.1"
_PORT = click.IntRange(0, 65535)
_FOLDER, _FILE = click.Path(file_okay=False, path_type=Path), click.Path(dir_okay=False, path_type=Path)


@dataclass(frozen=True, slots=True)
class CertificateOptions:
    """The options for certificates: their source, their names, and the Secret that has them; see `Certificates`."""

    supplied: bool
    names: tuple[str, ...]
    secret: str | None
    service: str | None

    def certificates(self, folder: Path, **callers: Sequence[str]) -> Certificates:
        """The certificates in this folder. `callers`: the objects whose caBundle to keep, see `Certificates`."""
        from cli.serving.certificates import Certificates  # here, since a server without them loads none of it

        return Certificates(folder, self.supplied, self.names, self.secret, self.service, **callers)


@dataclass(frozen=True, slots=True)
class ProcessOptions(CertificateOptions):
    """The options of a server with probes and /v1. The certificates are for /v1.

    `folder`: the folder of the certificates; None if there are none.
    `host`, `port`: the address of the probes.
    `address_file`: the file to write the actual addresses to.
    `api_host`, `api_port`: the address of /v1. If `api_port` is None, /v1 is not served.
    `metrics_auth`: whether callers of /metrics must be authorized.
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
        """The settings of the process. Raises Misused.

        `lease`: NAMESPACE/NAME. `api_service`: the APIService for which the API server forwards requests.
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
    """The options for the Prometheus that has the metrics of the reconciler.

    `prometheus`: its URL; None for none. `prometheus_match`: the labels that its samples must have.
    """

    prometheus: str | None
    prometheus_ca: Path | None
    prometheus_token: Path | None
    prometheus_match: tuple[str, ...]

    def settings(self, *, serves_api: bool) -> PrometheusSettings | None:
        """The settings of this Prometheus; None if there is none. Raises Misused."""
        if self.prometheus is None:
            return None
        if not serves_api:
            raise Misused("--prometheus needs --api-port: histories are answers of /v1")
        from cli.serving.prometheus import PrometheusSettings, labels  # here, since clients take long to load

        match = labels(self.prometheus_match)
        return PrometheusSettings(self.prometheus, self.prometheus_ca, self.prometheus_token, match)


@dataclass(frozen=True, slots=True)
class SignIn:
    """How users of the dashboard sign in: by token, or through a proxy.

    `proxies`: the networks of the proxy; empty for sign-in by token.
    `user_header`, `groups_header`: the headers in which the proxy names the user.
    `session_key`: a file with the key for session cookies.
    `ended_sessions`: NAMESPACE/NAME of the ConfigMap in which all replicas record ended sessions; if empty, each
    replica only knows its own.
    `token_file`: the dashboard's token, with which it impersonates the users that the proxy names.
    """

    proxies: tuple[str, ...]
    user_header: str
    groups_header: str
    session_key: Path | None
    ended_sessions: str
    token_file: Path | None


kubeconfig = click.option(
    "--kubeconfig", metavar="FILE", help="Default: KUBECONFIG, ~/.kube/config, or in a pod its service account."
)
address_file = click.option("--address-file", type=_FILE, help="Write the actual addresses to this file.")
gates = click.option(
    "--gates",
    type=click.Choice([Dialect.VOLCANO.value, Dialect.YUNIKORN.value]),
    multiple=True,
    help="Pods wait at a scheduling gate for the quota of this project, unless the configuration sets its `enforce`."
    " Webhook and reconciler need the same value.",
)


def certificates(caller: str = "clients call") -> Decorator:
    """Add the options of CertificateOptions to a command, which gets them as `kept`.

    `caller`: who calls the Service, for the help text.
    """
    return grouped("kept", CertificateOptions, *_certificates(caller))


def process(port: int) -> Decorator:
    """Add the options of ProcessOptions to a command, which gets them as `process`. `port`: the default of --port."""
    where = "Folder of tls.crt and tls.key for /v1. Default: plain HTTP, on loopback only."
    return grouped(
        "process",
        ProcessOptions,
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
            help="Serve /metrics only to users of the cluster who may GET it, over TLS with --api-certs."
            " Probes need no token.",
        ),
        *_certificates("clients call"),
    )


prometheus = grouped(
    "prometheus",
    PrometheusOptions,
    click.option(
        "--prometheus",
        metavar="URL",
        help="The Prometheus that scrapes this reconciler. Histories of queues then last longer than the process.",
    ),
    click.option("--prometheus-ca", type=_FILE, help="The CA of its certificate. Default: those of the system."),
    click.option("--prometheus-token", type=_FILE, help="File with a bearer token for it, read for each request."),
    click.option(
        "--prometheus-match",
        metavar="LABEL=VALUE",
        multiple=True,
        help="A label that samples must have, for a Prometheus with the metrics of several clusters.",
    ),
)
sign_in = grouped(
    "sign_in",
    SignIn,
    click.option(
        "--trusted-proxy",
        "proxies",
        metavar="NETWORK",
        multiple=True,
        help="Take the user from the headers of a proxy at this address. Default: people sign in with a token.",
    ),
    click.option(
        "--user-header", default="X-Forwarded-User", show_default=True, help="The header with the user's name."
    ),
    click.option(
        "--groups-header", default="X-Forwarded-Groups", show_default=True, help="The header with the user's groups."
    ),
    click.option(
        "--token-file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="With --trusted-proxy: the dashboard's own token. Default: the token of the pod's service account.",
    ),
    click.option(
        "--session-key",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="The key that encrypts sessions, the same for all replicas. Default: a random key, for this process only.",
    ),
    click.option(
        "--ended-sessions",
        metavar="NAMESPACE/NAME",
        default="",
        help="The ConfigMap in which all replicas record ended sessions. Default: each replica only knows its own.",
    ),
)


def _certificates(caller: str) -> tuple[Decorator, ...]:
    return (
        click.option(
            "--supplied", is_flag=True, help="Use the certificates in the folder without creating or renewing any."
        ),
        click.option(
            "--name", "names", metavar="DNS|IP", multiple=True, help="Another name of this server. Default: loopback."
        ),
        click.option(
            "--secret", metavar="NAMESPACE/NAME", help="Keep the certificates in this Secret, for all replicas."
        ),
        click.option("--service", metavar="NAME", help=f"With --secret: the Service that {caller}."),
    )

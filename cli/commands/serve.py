"""`quotree serve`: the servers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from cli.exits import EPILOG
from cli.group import verbose
from cli.input.context import Against, AgainstType
from cli.input.settings import settings as read_settings

PATIENCE = 0.1
"""Seconds that a refusal waits for the cache, which is behind the API server by some milliseconds."""


@click.group(epilog=EPILOG)
def serve() -> None:
    """Run a server until SIGTERM or Ctrl-C."""


@serve.command(epilog=EPILOG)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 in a pod.")
@click.option("--port", type=click.IntRange(0, 65535), default=9443, show_default=True, help="0 takes a free one.")
@click.option("--metrics-host", default="127.0.0.1", show_default=True, help="Address of /metrics.")
@click.option(
    "--metrics-port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="Port of /metrics."
)
@click.option(
    "--certs",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder of tls.crt and tls.key, read again when they change.",
)
@click.option("--supplied", is_flag=True, help="Others put the certificates into the folder: make none, renew none.")
@click.option("--name", "names", metavar="DNS|IP", multiple=True, help="Another name to call us by; else loopback.")
@click.option("--secret", metavar="NAMESPACE/NAME", help="Keep the certificates in this Secret, for all replicas.")
@click.option("--service", metavar="NAME", help="With --secret: the Service by which the API server calls.")
@click.option(
    "--validating", metavar="NAME", multiple=True, help="A ValidatingWebhookConfiguration that must trust us."
)
@click.option("--mutating", metavar="NAME", multiple=True, help="A MutatingWebhookConfiguration that must trust us.")
@click.option(
    "--conversion",
    metavar="CRD",
    multiple=True,
    help="A CustomResourceDefinition of ours that must trust us; one that somebody else installed is left alone.",
)
@click.option(
    "--against",
    type=AgainstType(),
    default="cluster",
    show_default=True,
    help="The world that requests are judged in: a cluster, or the files of a folder.",
)
@click.option("--kubeconfig", metavar="FILE", help="Else KUBECONFIG, ~/.kube/config, or in a pod its service account.")
@click.option("--config", metavar="FILE", help="Else QUOTREE_CONFIG.")
@click.option("--tls-minimum", type=click.Choice(["1.2", "1.3"]), default="1.3", show_default=True)
@click.option("--threads", type=click.IntRange(1), default=8, show_default=True, help="Requests judged at a time.")
@click.option(
    "--drain", type=click.FloatRange(0), default=5.0, show_default=True, help="Seconds from SIGTERM to the end."
)
@click.option("--address-file", type=click.Path(dir_okay=False, path_type=Path), help="Write the real addresses there.")
@verbose
def webhook(
    host: str,
    port: int,
    metrics_host: str,
    metrics_port: int,
    folder: Path,
    supplied: bool,
    names: tuple[str, ...],
    secret: str | None,
    service: str | None,
    validating: tuple[str, ...],
    mutating: tuple[str, ...],
    conversion: tuple[str, ...],
    against: Against,
    kubeconfig: str | None,
    config: str | None,
    tls_minimum: str,
    threads: int,
    drain: float,
    address_file: Path | None,
) -> None:
    """Answer the API server's admission reviews."""
    from cli.serving.certificates import Certificates
    from cli.serving.webhook import run  # here, since servers take long to load and only this needs them
    from webhook.settings import Settings

    settings = Settings(
        configuration=read_settings(config, []),
        host=host,
        port=port,
        metrics_host=metrics_host,
        metrics_port=metrics_port,
        certificate=folder / "tls.crt",
        key=folder / "tls.key",
        tls_minimum=tls_minimum,
        threads=threads,
        drain_seconds=drain,
        patience_seconds=PATIENCE if against.kind == "cluster" else 0,
        address_file=address_file,
    )
    certificates = Certificates(folder, supplied, names, secret, service, validating, mutating, conversion)
    click.get_current_context().exit(run(settings, against, kubeconfig, certificates))


@serve.command(epilog=EPILOG)
@click.option(
    "--mode",
    type=click.Choice(["manage", "observe"]),
    default="manage",
    show_default=True,
    help="manage: be the queue controller. observe: follow everything and write nothing.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address of probes and metrics; 0.0.0.0 in a pod.")
@click.option("--port", type=click.IntRange(0, 65535), default=8081, show_default=True, help="0 takes a free one.")
@click.option(
    "--lease",
    metavar="NAMESPACE/NAME",
    default="quotree-system/quotree-reconciler",
    show_default=True,
    help="The Lease that one replica holds, and writes while it holds it.",
)
@click.option("--kubeconfig", metavar="FILE", help="Else KUBECONFIG, ~/.kube/config, or in a pod its service account.")
@click.option("--context", metavar="NAME", help="Of the kubeconfig; else its current one.")
@click.option("--config", metavar="FILE", help="In the form of Kueue's Configuration; else its defaults.")
@click.option("--settings", metavar="FILE", help="Quotree's own Configuration; else QUOTREE_CONFIG.")
@click.option("--address-file", type=click.Path(dir_okay=False, path_type=Path), help="Write the real address there.")
@click.option("--api-host", default="127.0.0.1", show_default=True, help="Address of /v1; 0.0.0.0 in a pod.")
@click.option("--api-port", type=click.IntRange(0, 65535), help="Serve /v1 there; 0 takes a free one.  [default: none]")
@click.option(
    "--api-certs",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of tls.crt and tls.key for /v1; else plain HTTP, on loopback alone.",
)
@click.option("--supplied", is_flag=True, help="Others put the certificates into the folder: make none, renew none.")
@click.option("--name", "names", metavar="DNS|IP", multiple=True, help="Another name to call us by; else loopback.")
@click.option("--secret", metavar="NAMESPACE/NAME", help="Keep the certificates in this Secret, for all replicas.")
@click.option("--service", metavar="NAME", help="With --secret: the Service by which others call.")
@verbose
def reconciler(
    mode: str,
    host: str,
    port: int,
    lease: str,
    kubeconfig: str | None,
    context: str | None,
    config: str | None,
    settings: str | None,
    address_file: Path | None,
    api_host: str,
    api_port: int | None,
    folder: Path | None,
    supplied: bool,
    names: tuple[str, ...],
    secret: str | None,
    service: str | None,
) -> None:
    """Admit, preempt and requeue the workloads of Kueue's queues, in place of Kueue's own manager."""
    from cli.input.settings import obeyed
    from cli.serving.api import Visible
    from cli.serving.certificates import Certificates
    from cli.serving.reconciler import Place, run  # here, since only this needs it
    from reconciler.configured import DEFAULTS, read_configured

    own, namespace = read_settings(settings, []).reconciler, lease.partition("/")[0]
    read = partial(read_configured, described=own.jobs, multikueue=own.multikueue, namespace=namespace)
    configured = obeyed(config, read) if config else read(DEFAULTS)
    certificates = Certificates(folder, supplied, names, secret, service) if folder else None
    visible = None if api_port is None else Visible(api_host, api_port, certificates)
    place = Place(host, port, lease, kubeconfig, context, address_file, visible)
    click.get_current_context().exit(run(mode == "manage", configured, place))

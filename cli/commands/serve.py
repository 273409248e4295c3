"""Run a server: the admission webhook, the reconciler, the audit or the dashboard."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from cli.exits import EXIT_CODES_OF_ACTIONS, Misused
from cli.input.against import Against, AgainstType
from cli.input.settings import read_file, read_gates
from cli.input.settings import settings as read_settings
from cli.serving.kueue_version import beside_webhook, logged
from cli.serving.options import CertificateOptions, ProcessOptions, PrometheusOptions, SignIn
from cli.serving.options import address_file as address_file_option
from cli.serving.options import certificates as certificate_options
from cli.serving.options import gates as gates_option
from cli.serving.options import kubeconfig as kubeconfig_option
from cli.serving.options import process as process_options
from cli.serving.options import prometheus as prometheus_options
from cli.serving.options import sign_in as sign_in_options
from cli.subcommands import SubCommands
from policies.configuration.settings import Dialect
from policies.model.errors import PolicyError

PATIENCE = 0.1
"""The seconds that a refusal waits for the cache, which is some milliseconds behind the API server."""


@click.group(cls=SubCommands, epilog=EXIT_CODES_OF_ACTIONS)
def serve() -> None:
    """Run a server until SIGTERM or Ctrl-C.

    \b
    Examples:
      quotree serve webhook --certs ./certs --against files:trees/
      quotree serve reconciler --mode observe
      quotree serve audit
    """


@serve.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 in a pod.")
@click.option("--port", type=click.IntRange(0, 65535), default=9443, show_default=True, help="0 takes a free one.")
@click.option("--metrics-host", default="127.0.0.1", show_default=True, help="Address of /metrics and the probes.")
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port of /metrics, /healthz and /readyz.",
)
@click.option(
    "--metrics-auth",
    is_flag=True,
    help="Serve /metrics only to users of the cluster who may GET it, over TLS. Probes need no token.",
)
@click.option(
    "--client-ca",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Serve only clients with a certificate of the authorities in this file, reloaded when it changes.",
)
@click.option(
    "--client-name",
    "client_names",
    metavar="NAME",
    multiple=True,
    help="With --client-ca: a name that the certificate must have; repeatable, then one of them.",
)
@click.option(
    "--certs",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder of tls.crt and tls.key, reloaded when they change.",
)
@certificate_options(caller="the API server calls")
@click.option(
    "--validating", metavar="NAME", multiple=True, help="A ValidatingWebhookConfiguration whose caBundle to keep."
)
@click.option(
    "--mutating", metavar="NAME", multiple=True, help="A MutatingWebhookConfiguration whose caBundle to keep."
)
@click.option(
    "--conversion",
    metavar="CRD",
    multiple=True,
    help="A CustomResourceDefinition whose caBundle to keep, if Quotree installed it.",
)
@click.option(
    "--against",
    type=AgainstType(),
    default="cluster",
    show_default=True,
    help="What requests are judged against: a cluster, or the files of a folder.",
)
@kubeconfig_option
@click.option("--config", metavar="FILE", help="Default: QUOTREE_CONFIG.")
@gates_option
@click.option("--tls-minimum", type=click.Choice(["1.2", "1.3"]), default="1.3", show_default=True)
@click.option("--threads", type=click.IntRange(1), default=8, show_default=True, help="Requests judged concurrently.")
@click.option(
    "--drain",
    "drain_seconds",
    type=click.FloatRange(0),
    default=5.0,
    show_default=True,
    help="Seconds from SIGTERM to the end.",
)
@address_file_option
def webhook(
    metrics_auth: bool,
    client_ca: Path | None,
    client_names: tuple[str, ...],
    folder: Path,
    kept: CertificateOptions,
    validating: tuple[str, ...],
    mutating: tuple[str, ...],
    conversion: tuple[str, ...],
    against: Against,
    kubeconfig: str | None,
    config: str | None,
    gates: tuple[str, ...],
    **served: Any,
) -> None:
    """Answer the API server's admission reviews.

    \b
    Examples:
      quotree serve webhook --certs ./certs --against files:trees/
    """
    from cli.serving.webhook import run  # here, since servers take long to load
    from webhook.settings import WebhookSettings

    if client_names and not client_ca:
        raise click.UsageError("--client-name needs --client-ca")
    certificates = kept.certificates(folder, validating=validating, mutating=mutating, conversion=conversion)
    certificates.check()
    settings = WebhookSettings(
        configuration=read_settings(
            config, [], gates=tuple(map(Dialect, gates)), installed=beside_webhook(against, kubeconfig)
        ),
        certificate=folder / "tls.crt",
        key=folder / "tls.key",
        client_ca=client_ca,
        client_names=client_names,
        converts_for_all=bool(conversion),
        patience_seconds=PATIENCE if against.kind == "cluster" else 0,
        **served,
    )
    click.get_current_context().exit(run(settings, against, kubeconfig, certificates, metrics_auth))


@serve.command()
@click.option(
    "--mode",
    type=click.Choice(["manage", "observe"]),
    default="manage",
    show_default=True,
    help="manage: be the queue controller. observe: watch everything and write nothing.",
)
@click.option(
    "--lease",
    metavar="NAMESPACE/NAME",
    default="quotree-system/quotree-reconciler",
    show_default=True,
    help="The Lease for leader election; only its holder writes. The Lease of a --part ends in its name.",
)
@click.option(
    "--part",
    metavar="NAME",
    default="default",
    show_default=True,
    help="Decide only for Kueue's trees whose root has the label quotree.dev/part=NAME; default: for all others.",
)
@process_options(port=8081)
@click.option(
    "--api-service",
    metavar="NAME",
    help="The APIService by which the API server forwards requests to /v1. With --secret its caBundle is kept.",
)
@prometheus_options
@click.option("--config", metavar="FILE", help="A Configuration of Kueue. Default: Kueue's defaults.")
@click.option("--settings", metavar="FILE", help="Quotree's own Configuration. Default: QUOTREE_CONFIG.")
@gates_option
@click.option(
    "--dialect",
    "dialects",
    type=click.Choice([dialect.value for dialect in Dialect]),
    multiple=True,
    help="Also manage the queues of this project, besides `reconciler.dialects` in --settings.",
)
@click.option(
    "--feature-gates",
    metavar="GATE=BOOL,...",
    multiple=True,
    help="Kueue's feature gates, where --config does not name them; the last one counts.",
)
def reconciler(
    mode: str,
    lease: str,
    part: str,
    process: ProcessOptions,
    api_service: str | None,
    prometheus: PrometheusOptions,
    config: str | None,
    settings: str | None,
    gates: tuple[str, ...],
    dialects: tuple[str, ...],
    feature_gates: tuple[str, ...],
) -> None:
    """Admit, preempt and requeue the workloads of Kueue's queues, instead of Kueue's manager.

    \b
    Examples:
      quotree serve reconciler --mode observe
      quotree serve reconciler --config kueue.yaml --lease quotree-system/quotree-reconciler
      quotree serve reconciler --part batch
    """
    from cli.serving.reconciler import run  # here, since servers take long to load
    from reconciler.configured import DEFAULTS, of_part, read_configured
    from reconciler.shards.claims import lease_of

    leased = process.settings(lease_of(lease, part), api_service)
    past = prometheus.settings(serves_api=leased.api is not None)
    ours = read_settings(settings, [], gates=tuple(map(Dialect, gates)), installed=logged(leased.connect))
    own = replace(ours.reconciler, dialects=ours.reconciler.dialects.union(map(Dialect, dialects)))
    read = partial(
        read_configured,
        described=own.jobs,
        multikueue=own.multikueue,
        namespace=lease.partition("/")[0],
        gates=read_gates(feature_gates),
        own=replace(ours, reconciler=own),
        observes=mode == "observe",
    )
    try:
        configured = of_part(read_file(config, read) if config else read(DEFAULTS), part)
    except PolicyError as error:
        raise Misused(str(error)) from error
    click.get_current_context().exit(run(configured, leased, past))


@serve.command()
@click.option(
    "--interval",
    type=click.FloatRange(1),
    default=600,
    show_default=True,
    metavar="SECONDS",
    help="Audit this often even if nothing changes. After a change, an audit starts within seconds.",
)
@click.option(
    "--most",
    type=click.IntRange(1, 1000),
    default=100,
    show_default=True,
    help="The maximum number of results in one report; the rest are counted.",
)
@click.option(
    "--baseline",
    metavar="FILE",
    help="Known findings, which are only counted; `quotree audit -o baseline=FILE` writes the file. Read at the start.",
)
@click.option(
    "--lease",
    metavar="NAMESPACE/NAME",
    default="quotree-system/quotree-audit",
    show_default=True,
    help="The Lease for leader election; only its holder writes reports.",
)
@process_options(port=8083)
@click.option("--config", metavar="FILE", help="Quotree's own Configuration. Default: QUOTREE_CONFIG.")
def audit(
    interval: float, most: int, baseline: str | None, lease: str, process: ProcessOptions, config: str | None
) -> None:
    """Judge the stored queues and what they name, after changes and on a schedule, and report what is wrong.

    \b
    Examples:
      quotree serve audit --kubeconfig admin.conf --api-port 9445
      quotree serve audit --baseline .quotree-baseline.jsonl
    """
    from cli.input.baseline import read as read_baseline  # here, since both take long to load
    from cli.serving.audit import run

    old = read_baseline(baseline).known if baseline is not None else frozenset()
    leased = process.settings(lease)
    configuration = read_settings(config, [], installed=logged(leased.connect))
    click.get_current_context().exit(run(configuration, leased, interval, most, old))


@serve.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; 0.0.0.0 in a pod.")
@click.option("--port", type=click.IntRange(0, 65535), default=8082, show_default=True, help="0 takes a free one.")
@click.option("--health-host", default="127.0.0.1", show_default=True, help="Address of the probes.")
@click.option(
    "--health-port", type=click.IntRange(0, 65535), help="Port of /healthz, /readyz and /metrics.  [default: none]"
)
@click.option("--reconciler", metavar="URL", help="The reconciler whose /v1 is called.")
@click.option("--reconciler-ca", metavar="FILE", type=click.Path(path_type=Path), help="The CA of its certificate.")
@click.option("--audit", metavar="URL", help="The audit whose findings are shown.")
@click.option("--audit-ca", metavar="FILE", type=click.Path(path_type=Path), help="The CA of its certificate.")
@click.option("--api-server", metavar="URL", help="The API server. Default: the pod's own.")
@click.option("--api-server-ca", metavar="FILE", type=click.Path(path_type=Path), help="The CA of its certificate.")
@sign_in_options
@click.option(
    "--certs",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of tls.crt and tls.key. Default: plain HTTP, on loopback only.",
)
@certificate_options()
@click.option(
    "--refresh",
    "refresh_seconds",
    type=click.IntRange(0),
    default=5,
    show_default=True,
    help="The seconds between two updates of a page; 0 turns updates off.",
)
@click.option(
    "--what-ifs",
    type=click.IntRange(0, 64),
    default=4,
    show_default=True,
    help="How many users may try out changes at the same time; each needs a process and a copy of the cluster.",
)
@address_file_option
def dashboard(
    reconciler: str | None,
    reconciler_ca: Path | None,
    audit: str | None,
    audit_ca: Path | None,
    api_server: str | None,
    api_server_ca: Path | None,
    sign_in: SignIn,
    folder: Path | None,
    kept: CertificateOptions,
    what_ifs: int,
    **served: Any,
) -> None:
    """Show quota trees, work that waits, clusters and findings in the browser; users see what their rights allow.

    \b
    Examples:
      quotree serve dashboard --certs ./certs --reconciler https://quotree-reconciler.quotree-system.svc
    """
    from cli.serving.connection import Address
    from cli.serving.dashboard import ServerAddresses, run  # here, since servers take long to load
    from dashboard.what_if.processes import Processes

    others = ServerAddresses(
        Address(api_server, api_server_ca) if api_server else None,
        Address(reconciler, reconciler_ca) if reconciler else None,
        Address(audit, audit_ca) if audit else None,
    )
    certificates = kept.certificates(folder) if folder else None
    what_if = partial(Processes, configuration=read_settings(None, ()), most=what_ifs)
    click.get_current_context().exit(run(others, sign_in, certificates, what_if, **served))

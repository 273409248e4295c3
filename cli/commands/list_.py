"""List Kueue's queues, workloads and flavors with their state, as kueuectl does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from cli.exits import EXIT_CODES_OF_ACTIONS
from cli.input.grouped import stacked
from cli.input.login import ClusterLogin
from cli.input.login import login as login_option
from cli.input.options import namespaces
from cli.input.switching import OfKinds, versions
from cli.output import emit, json_text, note
from cli.report import listings
from cli.report.formats.table import columns
from cli.report.formats.yaml import document
from policies.dialects import kueue
from policies.dialects.reading import Manifest, metadata
from policies.model.objects import GroupKind
from policies.model.printing import plain


@click.group("list", cls=OfKinds, epilog=EXIT_CODES_OF_ACTIONS)
def list_() -> None:
    """List ClusterQueues, LocalQueues, workloads, ResourceFlavors or Cohorts of Kueue, as kueuectl list does.

    \b
    Examples:
      quotree list clusterqueue --active false
      quotree list localqueue -A --clusterqueue research
      quotree list workload -n ml --status pending
    """


_listing = stacked(
    login_option,
    click.option("-l", "--selector", metavar="SELECTOR", help="Only objects with these labels."),
    click.option("--field-selector", metavar="SELECTOR", help="Only objects with these fields."),
    click.option(
        "-o",
        "--output",
        type=click.Choice(["table", "name", "json", "yaml"]),
        default="table",
        show_default=True,
        help="The output format.",
    ),
)
_CLUSTER_QUEUE = click.option(
    "-c", "--clusterqueue", metavar="NAME", default="", help="Only those of this ClusterQueue."
)


@list_.command("clusterqueue")
@click.option(
    "--active", type=click.Choice(["true", "false"]), multiple=True, help="Only active ones, or inactive ones."
)
@_listing
def cluster_queue(active: tuple[str, ...], **asked: Any) -> None:
    """List ClusterQueues: their Cohort, pending and admitted workloads, and whether they are active.

    \b
    Examples:
      quotree list clusterqueue
      quotree list clusterqueue --active false -o name
    """

    def wanted(each: Manifest) -> bool:
        return not active or str(listings.status(each, "Active")).lower() in active

    _show(kueue.CLUSTER_QUEUE, listings.CLUSTER_QUEUES, wanted, None, **asked)


@list_.command("localqueue")
@_CLUSTER_QUEUE
@namespaces
@_listing
def local_queue(clusterqueue: str, namespace: str | None, everywhere: bool, login: ClusterLogin, **asked: Any) -> None:
    """List the LocalQueues of a namespace, or of all.

    \b
    Examples:
      quotree list localqueue -n ml
      quotree list localqueue -A --clusterqueue research
    """

    def wanted(each: Manifest) -> bool:
        return clusterqueue in ("", listings.queue_name_of(each, "clusterQueue"))

    within = None if everywhere else namespace or login.namespace()
    _show(kueue.LOCAL_QUEUE, listings.LOCAL_QUEUES, wanted, within, login=login, **asked)


@list_.command("workload")
@_CLUSTER_QUEUE
@click.option("-q", "--localqueue", metavar="NAME", default="", help="Only those of this LocalQueue.")
@click.option(
    "--status",
    "states",
    type=click.Choice(["all", *map(str.lower, listings.STATES)]),
    multiple=True,
    help="Only workloads in this state; repeatable.",
)
@namespaces
@_listing
def workload(
    clusterqueue: str,
    localqueue: str,
    states: tuple[str, ...],
    namespace: str | None,
    everywhere: bool,
    login: ClusterLogin,
    **asked: Any,
) -> None:
    """List the workloads of a namespace, or of all, with their job, queues and state.

    A workload that waits is listed with the ClusterQueue of its LocalQueue. `quotree pending` says why it waits.

    \b
    Examples:
      quotree list workload -n ml --status pending
      quotree list workload -A --clusterqueue research
    """
    within = None if everywhere else namespace or login.namespace()
    local_queues = _local_queues_of(login, clusterqueue, within) if clusterqueue else set()

    def wanted(each: Manifest) -> bool:
        queue = listings.queue_name_of(each, "queueName")
        holder = listings.cluster_queue_of(each)
        waits_for_it = not holder and (metadata(each).get("namespace"), queue) in local_queues
        state = listings.state(each).lower()
        return (
            (clusterqueue in ("", holder) or waits_for_it)
            and localqueue in ("", queue)
            and (not states or "all" in states or state in states)
        )

    _show(kueue.WORKLOAD, listings.WORKLOADS, wanted, within, login=login, **asked)


def _local_queues_of(login: ClusterLogin, cluster_queue: str, namespace: str | None) -> set[tuple[Any, str]]:
    """The namespaces and names of the LocalQueues that point to this ClusterQueue."""
    with login.connected() as cluster:
        return {
            (metadata(each).get("namespace"), str(metadata(each).get("name")))
            for each in cluster.list(cluster.newest(versions(kueue.LOCAL_QUEUE)), namespace=namespace)
            if listings.queue_name_of(each, "clusterQueue") == cluster_queue
        }


@list_.command("resourceflavor")
@_listing
def resource_flavor(**asked: Any) -> None:
    """List ResourceFlavors with the labels of their Nodes.

    \b
    Examples:
      quotree list resourceflavor
    """
    _show(kueue.RESOURCE_FLAVOR, listings.RESOURCE_FLAVORS, lambda _: True, None, **asked)


@list_.command("cohort")
@_listing
def cohort(**asked: Any) -> None:
    """List Cohorts with their parents.

    \b
    Examples:
      quotree list cohort
    """
    _show(kueue.COHORT, listings.COHORTS, lambda _: True, None, **asked)


def _show(
    kind: GroupKind,
    table: listings.Columns,
    wanted: Callable[[Manifest], bool],
    namespace: str | None,
    *,
    login: ClusterLogin,
    selector: str | None,
    field_selector: str | None,
    output: str,
) -> None:
    with login.connected() as cluster:
        resource = cluster.newest(versions(kind))
        listed = cluster.list(resource, namespace=namespace, label_selector=selector, field_selector=field_selector)
        found = [each for each in listed if wanted(each)]
    if not found and output in ("table", "name"):
        note(f"no {resource.plural} found" + (f" in namespace {namespace}" if namespace else ""))
        return
    emit("\n".join(_written(found, resource.plural, table, output)))


def _written(found: Sequence[Manifest], plural: str, table: listings.Columns, output: str) -> Iterable[str]:
    if output == "table":
        yield from columns(listings.table(table, found, datetime.now(UTC)))
    elif output == "name":
        yield from (
            f"{plural.removesuffix('s')}.{kueue.GROUP}/{plain(str(metadata(each).get('name')))}" for each in found
        )
    else:
        yield (json_text if output == "json" else document)({"apiVersion": "v1", "kind": "List", "items": [*found]})

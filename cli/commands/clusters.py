"""List the worker clusters of MultiKueue: connection, errors, and the work there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from cli.exits import Misused, OutOfReach
from cli.input import reconciler_api
from cli.input.against import Against, AgainstType
from cli.input.options import kubeconfig, output
from cli.output import emit, json_text
from policies.model.printing import plain

_NONE = "there are no MultiKueueClusters"


@click.command()
@click.option("--against", type=AgainstType(), default="cluster", show_default=True, help="The manager cluster.")
@kubeconfig
@reconciler_api.options
@output
def clusters(
    against: Against,
    kubeconfig: str | None,
    reconciler: reconciler_api.Server | None,
    output: str,
) -> None:
    """List the worker clusters of MultiKueue: connection, since when, errors, and the work there.

    The command reads the manager cluster with your own rights. Only its reconciler knows when a worker cluster last
    answered and what is free there; with --reconciler the command asks it, at /v1/clusters.

    \b
    Examples:
      quotree clusters
      quotree clusters --reconciler https://127.0.0.1:8443 --ca ca.crt --server-name quotree-reconciler
    """
    if against.kind != "cluster":
        raise Misused("--against: name the manager cluster; files do not say which worker clusters are connected")
    if reconciler is not None:
        found = reconciler_api.get(reconciler, "/v1/clusters", against, kubeconfig)
    else:
        found = _read(against, kubeconfig)
    emit(json_text(found) if output == "json" else "\n".join(_text(found)) or _NONE)


def _read(against: Against, kubeconfig: str | None) -> dict[str, Any]:
    """Raises OutOfReach."""
    from cluster.client import Cluster  # here, since these take long to load
    from cluster.errors import ClusterError
    from reconciler.multikueue.stored_clusters import stored_clusters

    try:
        with Cluster.connect(against.name or None, kubeconfig) as cluster:
            return stored_clusters(cluster)
    except ClusterError as error:
        raise OutOfReach(f"cannot read {against}: {error}") from error


def _text(found: dict[str, Any]) -> Iterator[str]:
    try:
        for each in found["items"]:
            yield from map(plain, _lines(each))
    except (KeyError, TypeError, AttributeError) as error:
        raise OutOfReach("the answer is not that of a reconciler of Quotree, or of another version of it") from error


def _lines(each: dict[str, Any]) -> Iterator[str]:
    """Only a reconciler answers with `lastSeen`, `free` and more, only stored objects have `configs` and `reason`."""
    since = f" since {each['since']}" if each["since"] else ""
    last = f", last seen {each['lastSeen']}" if each.get("lastSeen") else ""
    configs = f" ({', '.join(each['configs']) or 'no MultiKueueConfig'})" if "configs" in each else ""
    yield f"{each['name']}{configs}: {each['connection']}{since}{last}, {each['placed']} workloads"
    if each["error"]:
        retried = f"; next attempt at {each['nextAttempt']}" if each.get("nextAttempt") else ""
        yield f"  {each.get('reason') or 'error'}: {each['error']}{retried}"
    if each.get("credentialsEnd"):
        yield f"  its credentials expire at {each['credentialsEnd']}"
    for unread in each.get("unread", ()):
        yield f"  cannot be listed there: {unread}"
    free: dict[tuple[str, str], list[str]] = {}
    for part in each.get("free", ()):
        free.setdefault((part["clusterQueue"], part["flavor"]), []).append(f"{part['resource']} {part['free']}")
    for (queue, flavor), amounts in free.items():
        yield f"  free in {queue}, flavor {flavor}: {', '.join(amounts)}"

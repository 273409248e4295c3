"""List the MultiKueue worker clusters, with their connection state, errors and number of workloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from cli.exits import EXIT_CODES_OF_ACTIONS, Misused, OutOfReach
from cli.input import reconciler_api
from cli.input.against import Against
from cli.input.options import against_of, output
from cli.input.visibility import reporting_bad_answers
from cli.output import emit, json_text, some
from cluster.errors import ClusterError
from policies.model.printing import plain

_EMPTY = "there are no MultiKueueClusters"


@click.command(epilog=EXIT_CODES_OF_ACTIONS)
@against_of("cluster", "The manager cluster.")
@reconciler_api.options
@output
def clusters(against: Against, reconciler: reconciler_api.Server | None, output: str) -> None:
    """List the MultiKueue worker clusters, with their connection state, errors and number of workloads.

    The command reads the manager cluster with your own rights. Only its reconciler knows when a worker cluster last
    answered and what is free there; with --reconciler the command asks it, at /v1/clusters.

    \b
    Examples:
      quotree clusters
      quotree clusters --reconciler https://127.0.0.1:8443 --ca ca.crt --server-name quotree-reconciler
    """
    if against.kind != "cluster":
        raise Misused("--against: name the manager cluster; files do not say which worker clusters are connected")
    found = (
        _read_stored(against) if reconciler is None else reconciler_api.get(reconciler, "/v1/clusters", against.login)
    )
    emit(json_text(found) if output == "json" else "\n".join(_text(found)) or _EMPTY)


def _read_stored(against: Against) -> dict[str, Any]:
    """Read the stored MultiKueueClusters. Raises OutOfReach if the cluster cannot be read."""
    from reconciler.multikueue.stored_clusters import stored_clusters  # here, since it takes long to load

    try:
        with against.login.connect() as client:
            return stored_clusters(client)
    except ClusterError as error:
        raise OutOfReach(f"cannot read {against}: {error}") from error


def _text(found: dict[str, Any]) -> Iterator[str]:
    with reporting_bad_answers():
        for cluster in found["items"]:
            yield from map(plain, _lines(cluster))


def _lines(cluster: dict[str, Any]) -> Iterator[str]:
    """The lines for one worker cluster.

    `lastSeen`, `free`, `nextAttempt`, `credentialsEnd` and `unread` can be present only if the reconciler answered;
    `configs` and `reason` only if the objects were read from the API server.
    """
    since = f" since {cluster['since']}" if cluster["since"] else ""
    last = f", last seen {cluster['lastSeen']}" if cluster.get("lastSeen") else ""
    configs = f" ({', '.join(cluster['configs']) or 'no MultiKueueConfig'})" if "configs" in cluster else ""
    placed = some(cluster["placed"], "workload")
    yield f"{cluster['name']}{configs}: {cluster['connection']}{since}{last}, {placed}"
    if cluster["error"]:
        retried = f"; next attempt at {cluster['nextAttempt']}" if cluster.get("nextAttempt") else ""
        yield f"  {cluster.get('reason') or 'error'}: {cluster['error']}{retried}"
    if cluster.get("credentialsEnd"):
        yield f"  its credentials expire at {cluster['credentialsEnd']}"
    for unread in cluster.get("unread", ()):
        yield f"  cannot be listed there: {unread}"
    free: dict[tuple[str, str], list[str]] = {}
    for amount in cluster.get("free", ()):
        free.setdefault((amount["clusterQueue"], amount["flavor"]), []).append(f"{amount['resource']} {amount['free']}")
    for (queue, flavor), amounts in free.items():
        yield f"  free in {queue}, flavor {flavor}: {', '.join(amounts)}"

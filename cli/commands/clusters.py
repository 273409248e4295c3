"""`quotree clusters`: the workers of MultiKueue, how they are connected, what is free and what runs there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from cli.commands.options import output
from cli.exits import EPILOG, Misused, OutOfReach
from cli.group import verbose
from cli.input import reconciler_api as asking
from cli.input.context import Against, AgainstType
from cli.report.output import emit, plain

_NONE = "there are no MultiKueueClusters"


@click.command(epilog=EPILOG)
@click.option(
    "--against", type=AgainstType(), default="cluster", show_default=True, help="The cluster that manages the others."
)
@click.option("--kubeconfig", metavar="FILE", help="The kubeconfig for --against cluster.")
@asking.reconciler
@output
@verbose
def clusters(
    against: Against,
    kubeconfig: str | None,
    reconciler: str | None,
    ca: str | None,
    server_name: str | None,
    token_file: str | None,
    output: str,
) -> None:
    """List the clusters that work is sent to: connection, since when, what keeps it, and what runs there.

    Read with your own rights from the managing cluster. When a worker was last heard of and what is free there only
    its reconciler knows: with --reconciler that one is asked, at /v1/clusters.
    """
    if against.kind != "cluster":
        raise Misused("--against: name the cluster that manages the others; its files do not say who is connected")
    if reconciler is not None:
        where = asking.Reconciler(reconciler, ca, server_name, token_file)
        found = asking.ask(where, "/v1/clusters", against, kubeconfig)
    elif given := [name for name, value in _needing(ca, server_name, token_file) if value is not None]:
        raise Misused(f"{given[0]}: this is about the reconciler; name it with --reconciler URL")
    else:
        found = _read(against, kubeconfig)
    emit(json.dumps(found, indent=2, ensure_ascii=False) if output == "json" else "\n".join(_text(found)) or _NONE)


def _needing(ca: str | None, server_name: str | None, token_file: str | None) -> list[tuple[str, str | None]]:
    return [("--ca", ca), ("--server-name", server_name), ("--token-file", token_file)]


def _read(against: Against, kubeconfig: str | None) -> dict[str, Any]:
    """Raises OutOfReach."""
    from cluster.client import Cluster  # here, since these take long and other commands need none of them
    from cluster.errors import ClusterError
    from reconciler.multikueue.stored import stored_clusters

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
        raise OutOfReach("what answers there is no reconciler of Quotree, or another version of it") from error


def _lines(each: dict[str, Any]) -> Iterator[str]:
    """Of the reconciler come `lastSeen`, `free` and more, of what is stored `configs` and `reason`."""
    since = f" since {each['since']}" if each["since"] else ""
    seen = f", last seen {each['lastSeen']}" if each.get("lastSeen") else ""
    configs = f" ({', '.join(each['configs']) or 'no MultiKueueConfig'})" if "configs" in each else ""
    yield f"{each['name']}{configs}: {each['connection']}{since}{seen}, {each['placed']} workloads"
    if each["error"]:
        retried = f"; tried again at {each['nextAttempt']}" if each.get("nextAttempt") else ""
        yield f"  {each.get('reason') or 'error'}: {each['error']}{retried}"
    if each.get("credentialsEnd"):
        yield f"  its credentials end at {each['credentialsEnd']}"
    for unread in each.get("unread", ()):
        yield f"  cannot be listed there: {unread}"
    free: dict[tuple[str, str], list[str]] = {}
    for part in each.get("free", ()):
        free.setdefault((part["clusterQueue"], part["flavor"]), []).append(f"{part['resource']} {part['free']}")
    for (queue, flavor), amounts in free.items():
        yield f"  free in {queue}, flavor {flavor}: {', '.join(amounts)}"

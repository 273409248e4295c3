"""`quotree clusters`: the workers of MultiKueue, how they are connected, and what runs there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import click

from cli.context import Against, AgainstType
from cli.exits import EPILOG, Misused, OutOfReach
from cli.group import verbose
from cli.options import output
from cli.output import emit, plain

_NONE = "there are no MultiKueueClusters"


@click.command(epilog=EPILOG)
@click.option(
    "--against", type=AgainstType(), default="cluster", show_default=True, help="The cluster that manages the others."
)
@click.option("--kubeconfig", metavar="FILE", help="The kubeconfig for --against cluster.")
@output
@verbose
def clusters(against: Against, kubeconfig: str | None, output: str) -> None:
    """List the clusters that work is sent to: connection, since when, what keeps it, and what runs there.

    Read with your own rights from the managing cluster; what is free on each worker only its reconciler knows: see
    /v1/clusters.
    """
    if against.kind != "cluster":
        raise Misused("--against: name the cluster that manages the others; its files do not say who is connected")
    found = _read(against, kubeconfig)
    emit(json.dumps(found, indent=2, ensure_ascii=False) if output == "json" else "\n".join(_text(found)) or _NONE)


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
    for each in found["items"]:
        since = f" since {each['since']}" if each["since"] else ""
        configs = ", ".join(each["configs"]) or "no MultiKueueConfig"
        yield plain(f"{each['name']} ({configs}): {each['connection']}{since}, {each['placed']} workloads")
        if each["error"]:
            yield plain(f"  {each['reason']}: {each['error']}")

"""The rights to list objects that a what-if needs, and those that the caller has."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.cluster import read_kinds
from cluster.client import ClusterClient
from cluster.reviews import Access, may_i
from cluster.sources import WatchSource
from policies.dialects import core, kueue


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of a caller.

    readable: the kinds that the caller may list.
    absent: the kinds that the cluster does not serve.
    left_out: the optional kinds that the caller may not list.
    missing: the required rights that the caller lacks, as arguments of `kubectl auth can-i`.
    """

    readable: tuple[WatchSource, ...]
    absent: tuple[WatchSource, ...]
    left_out: tuple[WatchSource, ...]
    missing: tuple[str, ...]


def rights(cluster: ClusterClient) -> Rights:
    """The rights of the caller. Raises ClusterError."""
    every = read_kinds()
    # rights to resources that the API server does not serve are not needed
    absent = [source for source in every if not any(map(cluster.served, source.versions))]
    there = [source for source in every if source not in absent]
    wanted = {source: _access(source) for source in there}
    lacking = [source for source in there if not may_i(cluster, wanted[source])]
    missing = [each for each in lacking if each.kind.group == kueue.GROUP or each.kind == core.NAMESPACE]
    return Rights(
        tuple(source for source in there if source not in lacking),
        tuple(absent),
        tuple(source for source in lacking if source not in missing),
        tuple(str(wanted[source]) for source in missing),
    )


def _access(source: WatchSource) -> Access:
    resource = source.versions[0]
    return Access("list", resource.group, resource.plural, namespace=source.namespace or "", name=source.name or "")

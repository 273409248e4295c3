"""The reflectors of the reconciler: each kind that is followed, told to the loop's inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cluster.client import Cluster
from cluster.reflector import ChangeKind, Pacing, Reflector
from reconciler.feed import Followed, Listed, Seen


def follow(
    cluster: Cluster,
    tell: Callable[[Seen | Listed], None],
    followed: Iterable[Followed],
    pacing: Pacing | None = None,
) -> list[Reflector[Seen]]:
    """One reflector for each kind, started; the caller stops them."""
    reflectors = [_reflector(cluster, tell, each, pacing) for each in followed]
    for reflector in reflectors:
        reflector.start()
    return reflectors


def _reflector(
    cluster: Cluster, tell: Callable[[Seen | Listed], None], followed: Followed, pacing: Pacing | None
) -> Reflector[Seen]:
    def changed(change: ChangeKind, seen: Seen, version: str) -> None:
        tell(Seen(seen.key, version, None) if change == "DELETED" else seen)

    return Reflector(
        cluster,
        followed.resource,
        changed,
        on_replace=lambda items, version: tell(Listed(followed.kind, items, version)),
        keep=followed.seen,
        label_selector=followed.labelled,
        pacing=pacing,
    )

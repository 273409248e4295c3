"""The reflectors of the reconciler: each kind that is followed, told to the loop's inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cluster.client import Cluster
from cluster.reflector import ChangeKind, Pacing, Reflector
from reconciler.feed import Followed, Key, Listed, Seen


def follow(
    cluster: Cluster,
    tell: Callable[[Seen | Listed], None],
    followed: Iterable[Followed],
    pacing: Pacing | None = None,
    known: Callable[[Key], Seen | None] = lambda _: None,
) -> list[Reflector[Seen]]:
    """One reflector for each kind, started; the caller stops them. `known`: see `Followed.seen`; from any thread."""
    reflectors = [_reflector(cluster, tell, each, pacing, known) for each in followed]
    for reflector in reflectors:
        reflector.start()
    return reflectors


def _reflector(
    cluster: Cluster,
    tell: Callable[[Seen | Listed], None],
    followed: Followed,
    pacing: Pacing | None,
    known: Callable[[Key], Seen | None],
) -> Reflector[Seen]:
    def changed(change: ChangeKind, seen: Seen, version: str) -> None:
        tell(Seen(seen.key, version, None) if change == "DELETED" else seen)

    return Reflector(
        cluster,
        followed.resource,
        changed,
        on_replace=lambda items, version: tell(Listed(followed.kind, items, version)),
        keep=lambda manifest: followed.seen(manifest, known),
        label_selector=followed.labelled,
        pacing=pacing,
    )

"""The reflectors of the reconciler. They report the objects of each watched kind to the loop's inbox, and that the API
server was set back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cluster.client import ClusterClient
from cluster.errors import SetBack
from cluster.reflector import ChangeKind, Pacing, Reflector
from reconciler.objects.observed import Key, Listed, Observed
from reconciler.objects.watched import WatchedResource, lists_of


def follow(
    cluster: ClusterClient,
    report: Callable[[Observed[object] | Listed | SetBack], None],
    watched: Iterable[WatchedResource],
    pacing: Pacing | None = None,
    known: Callable[[Key], Observed[object] | None] = lambda _: None,
    awaited: Callable[[str], int] = lambda _: 0,
    note: Callable[[Observed[object]], Observed[object]] = lambda observed: observed,
) -> list[Reflector[tuple[Observed[object], ...]]]:
    """Start one reflector for each resource; the caller stops them.

    `known`, `awaited` and `note` are called from any thread; see `WatchedKind.observed`, `ListProgress.awaited` and
    `Records.note`.
    """
    reflectors = [_reflector(cluster, report, each, pacing, known, awaited, note) for each in watched]
    for reflector in reflectors:
        reflector.start()
    return reflectors


def _reflector(
    cluster: ClusterClient,
    report: Callable[[Observed[object] | Listed | SetBack], None],
    watched: WatchedResource,
    pacing: Pacing | None,
    known: Callable[[Key], Observed[object] | None],
    awaited: Callable[[str], int],
    note: Callable[[Observed[object]], Observed[object]],
) -> Reflector[tuple[Observed[object], ...]]:
    request = 0

    def begun() -> None:
        nonlocal request
        request = awaited(watched.kinds[0])

    def changed(change: ChangeKind, views: tuple[Observed[object], ...], version: str) -> None:
        for observed in views:
            report(Observed(observed.key, version, None) if change == "DELETED" else observed)

    def replaced(items: tuple[tuple[Observed[object], ...], ...], version: str) -> None:
        for listed in lists_of(watched, items, version, request):
            report(listed)

    return Reflector(
        cluster,
        watched.resource,
        changed,
        on_replace=replaced,
        on_list=begun,
        on_set_back=report,
        keep=lambda manifest: tuple(map(note, watched.observed(manifest, known))),
        label_selector=watched.label_selector,
        field_selector=watched.field_selector,
        pacing=pacing,
    )

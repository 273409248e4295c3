"""The reflectors of the reconciler: they report each watched kind to the loop's inbox."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cluster.client import ClusterClient
from cluster.reflector import ChangeKind, Pacing, Reflector
from reconciler.core.watched import WatchedKind
from reconciler.objects.observed import Key, Listed, Observed


def _as_it_is(observed: Observed) -> Observed:
    return observed


def follow(
    cluster: ClusterClient,
    report: Callable[[Observed | Listed], None],
    watched: Iterable[WatchedKind],
    pacing: Pacing | None = None,
    known: Callable[[Key], Observed | None] = lambda _: None,
    awaited: Callable[[str], int] = lambda _: 0,
    note: Callable[[Observed], Observed] = _as_it_is,
) -> list[Reflector[Observed]]:
    """One reflector for each kind, started; the caller stops them.

    `known`, `awaited` and `note` are called from any thread; see `WatchedKind.observed`, `ListProgress.awaited` and
    `Records.note`.
    """
    reflectors = [_reflector(cluster, report, each, pacing, known, awaited, note) for each in watched]
    for reflector in reflectors:
        reflector.start()
    return reflectors


def _reflector(
    cluster: ClusterClient,
    report: Callable[[Observed | Listed], None],
    watched: WatchedKind,
    pacing: Pacing | None,
    known: Callable[[Key], Observed | None],
    awaited: Callable[[str], int],
    note: Callable[[Observed], Observed],
) -> Reflector[Observed]:
    request = 0

    def begun() -> None:
        nonlocal request
        request = awaited(watched.kind)

    def changed(change: ChangeKind, observed: Observed, version: str) -> None:
        report(Observed(observed.key, version, None) if change == "DELETED" else observed)

    return Reflector(
        cluster,
        watched.resource,
        changed,
        on_replace=lambda items, version: report(Listed(watched.kind, items, version, request)),
        on_list=begun,
        keep=lambda manifest: note(watched.observed(manifest, known)),
        label_selector=watched.label_selector,
        field_selector=watched.field_selector,
        pacing=pacing,
    )

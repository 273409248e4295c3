"""Migrates the stored objects of a cluster to the newest version of their kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cli.exits import Exit
from cli.input.login import ClusterLogin
from cli.output import emit, some
from cluster.storage_migration import KindMoved, move, stored_kinds
from policies.model.printing import plain

_SHOWN = 20
"""The maximum number of refused objects that are named for each kind."""


def migrate_stored(login: ClusterLogin, *, applied: bool) -> Exit:
    """Migrate the stored objects, or only show what would be migrated unless `applied`. Raises OutOfReach."""
    with login.connected() as cluster:
        kinds, refusals = stored_kinds(cluster)
        for each in refusals:
            emit(plain(f"refused: {each}"))
        moves = []
        for kind in kinds:
            moves.append(move(cluster, kind, dry_run=not applied))
            emit("\n".join(_moved_lines(moves[-1])))
    emit(_outcome(moves, applied, bool(refusals)))
    return Exit.FINDINGS if refusals or any(each.refused for each in moves) else Exit.CLEAN


def _moved_lines(moved: KindMoved) -> Iterator[str]:
    kind, new = moved.kind, moved.kind.resource.version
    done = f"stored as {new}" if moved.trimmed else f"may be stored as {' or '.join(kind.old)}"
    gone = f"; {moved.gone} deleted meanwhile" if moved.gone else ""
    yield f"{kind.definition}: {some(moved.objects, 'object')}, {done}{gone}"
    yield from (plain(f"  refused: {why}") for why in moved.refused[:_SHOWN])
    if len(moved.refused) > _SHOWN:
        yield f"  and {len(moved.refused) - _SHOWN} more"


def _outcome(moves: Sequence[KindMoved], applied: bool, refused: bool) -> str:
    if any(each.refused for each in moves):
        return "Correct the refused objects, then run this again."
    if not moves:
        return "Nothing can be moved." if refused else "All objects are stored as v1beta2."
    return "No old version is stored any more." if applied else "Nothing was changed: add --apply."

"""Compares the ledger with a cache: which entries are open or settled, and which forests the open ones can lead to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import NamedTuple

from cluster.sightings import Sightings, Snapshot, covers
from cluster.versions import is_newer
from policies.dialects import core
from policies.dialects.core import CONFIG_MAP
from policies.dialects.declared import DECLARED
from policies.dialects.kueue_kinds import TOPOLOGY, WORKLOAD_PRIORITY_CLASS
from policies.model.change import Change
from policies.model.forest import Forest
from policies.model.objects import Attached, KubeObject, Node, Ref
from webhook.ledger.entry import LedgerEntry
from webhook.ledger.remembered_authors import author_key

LEDGER_KINDS = frozenset({*DECLARED, CONFIG_MAP}) - {TOPOLOGY, WORKLOAD_PRIORITY_CLASS}
"""The kinds whose changes are recorded in the ledger: rules about other objects read objects of these kinds, and their
webhooks fail closed. Topologies and priority classes are not among them, since only rules that warn read those."""

_YUNIKORN = "yunikorn.apache.org//queues"
"""The key of YuniKorn's one tree, to which every namespace with quota belongs."""


@dataclass(frozen=True, slots=True)
class LedgerContents:
    """The ledger at one resource version.

    `version`: the resource version of its ConfigMap.
    `entries`: by the uid of the request.
    `watermarks`: for each scope of sightings, the resource version that a cache must have reached. A cache at that
    version shows the outcome of the removed entries. Remembered authors have a key here as well (`author_key`).
    """

    version: str
    entries: Mapping[str, LedgerEntry] = field(default_factory=dict)
    watermarks: Mapping[str, str] = field(default_factory=dict)

    def behind(self, sightings: Sightings, forgiven: Iterable[str] = ()) -> list[str]:
        """The scopes in which the cache is behind the watermark; `forgiven` scopes do not count."""
        due = {place: version for place, version in self.watermarks.items() if place in sightings.progress}
        late = {place for place, version in due.items() if not covers(sightings.progress[place], version)}
        return sorted(late.difference(forgiven))

    def remembers(self, author: str) -> bool:
        """Whether a change of this author was allowed lately, but not stored."""
        return author_key(author) in self.watermarks


class Settlement(NamedTuple):
    """A proof that the change of an entry was stored, or can no longer be stored.

    `version`: the resource version of the event that proves it; None without an event.
    """

    version: str | None


def settlement(entry: LedgerEntry, sightings: Sightings) -> Settlement | None:
    """The proof among the sightings; None if the entry is still open.

    The API server stores an update or deletion only on top of the version that it is based on, so any newer version
    settles the entry.
    """
    seen = sightings.of(entry.ref)
    if seen is not None and seen.uid == entry.uid:
        return Settlement(seen.version) if not entry.base or is_newer(seen.version, entry.base) else None
    if (gone := sightings.deleted(entry.ref, entry.uid)) is not None:
        return Settlement(gone)
    # The object is missing. It was deleted, unless the cache is older than the version that the entry is based on.
    return Settlement(None) if entry.base and sightings.reached(entry.ref, entry.base) else None


def open_entries(entries: Iterable[LedgerEntry], snapshot: Snapshot) -> list[LedgerEntry]:
    """The entries whose changes may still be stored, or are stored but not yet visible in the cache."""
    return [entry for entry in entries if settlement(entry, snapshot.sightings) is None]


def related_entries(change: Change, forest: Forest, entries: list[LedgerEntry]) -> list[LedgerEntry]:
    """The entries that could affect this change, or that it could affect.

    Entries of the same object are omitted: at most one of two such changes is stored, since the API server compares
    resource versions.
    """
    others = [entry for entry in entries if entry.ref != change.ref]
    if not others:
        return []
    new_parents = _new_parents(entries)
    own = _affected(change.ref, (change.before, change.after), forest, new_parents)
    return [
        entry
        for entry in others
        if _interfere(own, _affected(entry.ref, (forest.get(entry.ref), entry.after), forest, new_parents))
    ]


def possible_forests(forest: Forest, entries: Iterable[LedgerEntry], most: int) -> Iterator[Forest] | None:
    """The forest for each combination of stored and not stored entries; None if there are more than `most`."""
    options: dict[Ref, list[KubeObject | None]] = {}
    for entry in entries:
        states = options.setdefault(entry.ref, [forest.get(entry.ref)])
        if entry.after not in states:
            states.append(entry.after)
    if prod(map(len, options.values())) > most:
        return None
    return (_forest_in(forest, dict(zip(options, states, strict=True))) for states in product(*options.values()))


def _forest_in(forest: Forest, states: Mapping[Ref, KubeObject | None]) -> Forest:
    gone = [ref for ref, state in states.items() if state is None]
    return forest.drop_all(gone).put_all(state for state in states.values() if state is not None)


class _Affected(NamedTuple):
    """The keys of the objects that a change affects, or depends on.

    `altered`: the objects that it changes, and all their ancestors.
    `referenced`: the objects that it only refers to.
    """

    altered: set[str]
    referenced: set[str]


def _interfere(one: _Affected, other: _Affected) -> bool:
    return not (
        one.altered.isdisjoint(other.altered)
        and one.altered.isdisjoint(other.referenced)
        and one.referenced.isdisjoint(other.altered)
    )


def _affected(
    ref: Ref, states: Iterable[KubeObject | None], forest: Forest, new_parents: Mapping[Ref, set[Ref]]
) -> _Affected:
    altered: set[Ref] = {ref}
    referenced: set[Ref] = set()
    for state in filter(None, states):
        referenced |= state.uses()
        if isinstance(state, Node):
            altered |= {state.parent} if state.parent else set()
        else:
            altered.update(forest.users(state.ref))  # rules about these objects read this one
        if isinstance(state, Attached) and state.queue:
            referenced.add(state.queue)
    keys = {_key(each) for each in _with_ancestors(altered, forest, new_parents)}
    if ref.group_kind in (core.NAMESPACE, CONFIG_MAP):
        keys.add(_YUNIKORN)
    return _Affected(keys, set(map(_key, referenced)))


def _with_ancestors(refs: Iterable[Ref], forest: Forest, new_parents: Mapping[Ref, set[Ref]]) -> set[Ref]:
    """The refs and all their ancestors, in every possible outcome of the open entries."""
    seen: set[Ref] = set()
    pending = list(refs)
    while pending:
        ref = pending.pop()
        if ref in seen:
            continue
        seen.add(ref)
        node = forest.node(ref)
        pending += [node.parent] if node is not None and node.parent is not None else []
        pending += new_parents.get(ref, ())
    return seen


def _new_parents(entries: Iterable[LedgerEntry]) -> dict[Ref, set[Ref]]:
    """The parents that nodes get if the entries are stored."""
    found: dict[Ref, set[Ref]] = {}
    for entry in entries:
        if isinstance(entry.after, Node) and entry.after.parent is not None:
            found.setdefault(entry.ref, set()).add(entry.after.parent)
    return found


def _key(ref: Ref) -> str:
    """A key without the kind, since a rule compares the names of ClusterQueues with those of Cohorts."""
    return f"{ref.group}/{ref.namespace}/{ref.name}"

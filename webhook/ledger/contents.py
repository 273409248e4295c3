"""The ledger compared with a cache: which entries are open or settled, and which forests the open ones may lead to."""

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
from webhook.ledger.waste import author_key

ORDERED = frozenset({*DECLARED, CONFIG_MAP}) - {TOPOLOGY, WORKLOAD_PRIORITY_CLASS}
"""The kinds whose changes are entered: those that rules of other objects read, and that fail closed. Only warnings
read Topologies and priority classes."""

_YUNIKORN = "yunikorn.apache.org//queues"
"""Stands for YuniKorn's one tree, to which every namespace with quota belongs."""


@dataclass(frozen=True, slots=True)
class LedgerContents:
    """The ledger at one resource version.

    `watermarks`: for each scope of sightings the resource version that a cache must have reached, because it shows the
    outcome of the entries that were removed. Authors whose changes were not stored have a key there as well (`waste`).
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


class Settled(NamedTuple):
    """An entry whose outcome the sightings show. `version`: that of the event that shows it; None without an event."""

    version: str | None


def settled(entry: LedgerEntry, sightings: Sightings) -> Settled | None:
    """Whether the sightings prove that the entry was stored, or can no longer be stored.

    An update or deletion counts only on top of the version that it is based on, so any newer version settles it.
    """
    seen = sightings.of(entry.ref)
    if seen is not None and seen.uid == entry.uid:
        return Settled(seen.version) if not entry.base or is_newer(seen.version, entry.base) else None
    if (gone := sightings.deleted(entry.ref, entry.uid)) is not None:
        return Settled(gone)
    # The object is missing. It was deleted, unless the cache is older than the version that the entry is based on.
    return Settled(None) if entry.base and sightings.reached(entry.ref, entry.base) else None


def opened(entries: Iterable[LedgerEntry], snapshot: Snapshot) -> list[LedgerEntry]:
    """The entries that may still be stored, or that are stored but not yet visible in the cache."""
    return [entry for entry in entries if settled(entry, snapshot.sightings) is None]


def concerning(change: Change, forest: Forest, entries: list[LedgerEntry]) -> list[LedgerEntry]:
    """The entries that could affect this change, or that it could affect; not those of the same object.

    Of two changes of one object at most one is stored, since the API server compares resource versions.
    """
    others = [entry for entry in entries if entry.ref != change.ref]
    if not others:
        return []
    above = _parents(entries)
    own = _reach(change.ref, (change.before, change.after), forest, above)
    reached = ((entry, _reach(entry.ref, (forest.get(entry.ref), entry.after), forest, above)) for entry in others)
    return [entry for entry, reach in reached if _meet(own, reach)]


def worlds(forest: Forest, entries: Iterable[LedgerEntry], most: int) -> Iterator[Forest] | None:
    """The forest for each combination of entries that are stored or not; None if there are more than `most`."""
    options: dict[Ref, list[KubeObject | None]] = {}
    for entry in entries:
        states = options.setdefault(entry.ref, [forest.get(entry.ref)])
        if entry.after not in states:
            states.append(entry.after)
    if prod(map(len, options.values())) > most:
        return None
    return (_world(forest, dict(zip(options, states, strict=True))) for states in product(*options.values()))


def _world(forest: Forest, states: Mapping[Ref, KubeObject | None]) -> Forest:
    gone = [ref for ref, state in states.items() if state is None]
    return forest.drop_all(gone).put_all(state for state in states.values() if state is not None)


class _Reach(NamedTuple):
    """The names that a change alters, with all above them, and those that it only refers to."""

    altered: set[str]
    named: set[str]


def _meet(one: _Reach, other: _Reach) -> bool:
    return not (
        one.altered.isdisjoint(other.altered)
        and one.altered.isdisjoint(other.named)
        and one.named.isdisjoint(other.altered)
    )


def _reach(ref: Ref, states: Iterable[KubeObject | None], forest: Forest, above: Mapping[Ref, set[Ref]]) -> _Reach:
    altered: set[Ref] = {ref}
    named: set[Ref] = set()
    for state in filter(None, states):
        named |= state.uses()
        if isinstance(state, Node):
            altered |= {state.parent} if state.parent else set()
        else:
            altered.update(forest.users(state.ref))  # a rule about these reads the object
        if isinstance(state, Attached) and state.queue:
            named.add(state.queue)
    whole = {_name(each) for each in _upward(altered, forest, above)}
    if ref.group_kind in (core.NAMESPACE, CONFIG_MAP):
        whole.add(_YUNIKORN)
    return _Reach(whole, set(map(_name, named)))


def _upward(refs: Iterable[Ref], forest: Forest, above: Mapping[Ref, set[Ref]]) -> set[Ref]:
    """The refs and all their ancestors in every possible outcome of the open entries."""
    seen: set[Ref] = set()
    ahead = list(refs)
    while ahead:
        ref = ahead.pop()
        if ref in seen:
            continue
        seen.add(ref)
        node = forest.node(ref)
        ahead += [node.parent] if node is not None and node.parent is not None else []
        ahead += above.get(ref, ())
    return seen


def _parents(entries: Iterable[LedgerEntry]) -> dict[Ref, set[Ref]]:
    """The parents that nodes may get from entries."""
    found: dict[Ref, set[Ref]] = {}
    for entry in entries:
        if isinstance(entry.after, Node) and entry.after.parent is not None:
            found.setdefault(entry.ref, set()).add(entry.after.parent)
    return found


def _name(ref: Ref) -> str:
    """The name without the kind: a rule compares the names of ClusterQueues and Cohorts."""
    return f"{ref.group}/{ref.namespace}/{ref.name}"

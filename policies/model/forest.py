"""The quota trees of a cluster and the objects that are attached to them, as one immutable snapshot.

A change returns a new Forest that shares nearly all memory with the old one. Its time depends on the depth of the tree
and the logarithm of the number of siblings, not on the size of the cluster. All walks end, even on a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from policies.model.objects import NOTHING, Attached, GroupKind, KubeObject, Node, Ref, SubtreeShare
from policies.model.ordering import children_first
from policies.model.totals import exchanged, join
from policies.model.trie import Trie, no_total

Children = Trie[Ref, SubtreeShare, SubtreeShare]
Attachments = Trie[Ref, Attached, None]
Users = Trie[Ref, Ref, None]
Groups = Trie[Ref, Children, None]
_EMPTY: Trie[Any, Any, None] = Trie(no_total)
NO_CHILDREN: Children = Trie(join, exchanged)
NONE_ATTACHED: Attachments = Trie(no_total)
NO_USERS: Users = Trie(no_total)
NO_GROUPS: Groups = Trie(no_total)


@dataclass(frozen=True, slots=True)
class _Place:
    """A node with its share. The share of a node on a cycle leaves out its descendants, else it would be infinite."""

    node: Node
    share: SubtreeShare
    on_cycle: bool


@dataclass(frozen=True, slots=True)
class Forest:
    """One snapshot.

    `known`: the kinds whose objects are all in the forest. Objects of other kinds may be missing.
    """

    known: frozenset[GroupKind] = frozenset()
    _places: Trie[Ref, _Place, None] = _EMPTY
    _children: Trie[Ref, Children, None] = _EMPTY
    _objects: Trie[Ref, KubeObject, None] = _EMPTY
    _attached: Trie[Ref, Attachments, None] = _EMPTY
    _users: Trie[Ref, Users, None] = _EMPTY
    _groups: Trie[GroupKind, Groups, None] = _EMPTY
    _nodes_on_cycles: int = 0
    """How many nodes are on a cycle. It is nearly always 0, and then no path has to be searched for cycles."""

    def node(self, ref: Ref) -> Node | None:
        place = self._places.get(ref)
        return place.node if place else None

    def get(self, ref: Ref) -> KubeObject | None:
        return self.node(ref) or self._objects.get(ref)

    def __len__(self) -> int:
        return len(self._places) + len(self._objects)

    def nodes(self) -> Iterator[Node]:
        return (place.node for place in self._places.values())

    def objects(self) -> Iterator[KubeObject]:
        """All objects, nodes first, in no particular order."""
        yield from self.nodes()
        yield from self._objects.values()

    def has_children(self, ref: Ref) -> bool:
        return ref in self._children

    def count_children(self, ref: Ref) -> int:
        return len(self._children.get(ref) or NO_CHILDREN)

    def children(self, ref: Ref) -> list[Node]:
        """The direct children, sorted by name. Their parent need not exist as an object."""
        refs = sorted(child for child, _ in (self._children.get(ref) or NO_CHILDREN).items())
        return [self._places[child].node for child in refs]

    def below(self, ref: Ref) -> SubtreeShare:
        """The total over the shares of the direct children."""
        return (self._children.get(ref) or NO_CHILDREN).total

    def beside(self, ref: Ref) -> SubtreeShare:
        """The total over the shares of the node's siblings, without its own."""
        node = self.node(ref)
        siblings = self._children.get(node.parent) if node is not None and node.parent is not None else None
        return siblings.drop(ref).total if siblings is not None else NOTHING

    def share_of(self, ref: Ref) -> SubtreeShare:
        place = self._places.get(ref)
        return place.share if place else NOTHING

    def shares(self, ref: Ref) -> Iterator[tuple[Ref, SubtreeShare]]:
        """The children with their shares, in no particular order. Use it for messages only: it visits all children."""
        return (self._children.get(ref) or NO_CHILDREN).items()

    def ancestors(self, ref: Ref) -> Iterator[Ref]:
        """The ancestors from the parent to the root, which may have no object. On a cycle, each is yielded once."""
        places = self._places
        place = places.get(ref)
        if not self._nodes_on_cycles:
            while place is not None and place.node.parent is not None:
                yield place.node.parent
                place = places.get(place.node.parent)
            return
        seen = {ref}
        while place is not None and (parent := place.node.parent) is not None and parent not in seen:
            yield parent
            seen.add(parent)
            place = places.get(parent)

    def upward(self, refs: Iterable[Ref]) -> set[Ref]:
        """These nodes and all their ancestors. Each is visited once."""
        seen: set[Ref] = set()
        for ref in refs:
            here: Ref | None = ref
            while here is not None and here not in seen:
                seen.add(here)
                node = self.node(here)
                here = node.parent if node else None
        return seen

    @property
    def has_cycles(self) -> bool:
        return self._nodes_on_cycles > 0

    def on_cycle(self, ref: Ref) -> bool:
        if not self._nodes_on_cycles:
            return False
        place = self._places.get(ref)
        return place is not None and place.on_cycle

    def ends_at_root(self, ref: Ref) -> bool:
        """Whether neither the node nor an ancestor is on a cycle."""
        if not self._nodes_on_cycles:
            return True
        place = self._places.get(ref)
        while place is not None and not place.on_cycle:
            if place.node.parent is None:
                return True
            place = self._places.get(place.node.parent)
        return place is None

    def cycle(self, ref: Ref) -> tuple[Ref, ...]:
        """The cycle that `ref` is on, from `ref` upward; empty if it is on none."""
        return (ref, *self.ancestors(ref)) if self.on_cycle(ref) else ()

    def attached(self, ref: Ref) -> Iterator[Attached]:
        """The LocalQueues and the work that name this node, in no particular order."""
        return (self._attached.get(ref) or NONE_ATTACHED).values()

    def attached_count(self, ref: Ref) -> int:
        return len(self._attached.get(ref) or NONE_ATTACHED)

    def users(self, ref: Ref) -> Iterator[Ref]:
        """The objects whose `uses` has this ref, in no particular order. The object of the ref need not exist."""
        return (self._users.get(ref) or NO_USERS).values()

    def count_users(self, ref: Ref) -> int:
        return len(self._users.get(ref) or NO_USERS)

    def groups(self, kind: GroupKind) -> Iterator[Ref]:
        """The names of this kind in `group_share` of any objects, in no particular order."""
        return (name for name, _ in (self._groups.get(kind) or NO_GROUPS).items())

    def members(self, name: Ref) -> Children:
        """The objects with this name in `group_share`, each with its share; `total` is the sum."""
        return (self._groups.get(name.group_kind) or NO_GROUPS).get(name) or NO_CHILDREN

    def knowing(self, kinds: Iterable[GroupKind]) -> Forest:
        return replace(self, known=self.known | frozenset(kinds))

    def indexed(self) -> Forest:
        """The same forest with an index for frequent reads. To build it, all objects are visited."""
        return replace(self, _places=self._places.indexed(), _children=self._children.indexed())

    def put(self, obj: KubeObject) -> Forest:
        """The forest with this object, which replaces one with the same ref."""
        return self.put_all((obj,))

    def drop(self, ref: Ref) -> Forest:
        """The forest without this object. Its children stay, below a parent that has no object."""
        return self.drop_all((ref,))

    def put_all(self, objects: Iterable[KubeObject]) -> Forest:
        """The forest with these objects. The deepest nodes are added first, so that each share is computed once."""
        every = children_first(objects)
        if len(every) == 1 and self.get(every[0].ref) is every[0]:
            return self
        draft = _Draft(self)
        for obj in every:
            draft.put(obj)
        return draft.forest()

    def drop_all(self, refs: Iterable[Ref]) -> Forest:
        draft = _Draft(self)
        for ref in refs:
            draft.drop(ref)
        return draft.forest()

    @classmethod
    def of(cls, objects: Iterable[KubeObject], known: Iterable[GroupKind] = ()) -> Forest:
        return cls(known=frozenset(known)).put_all(objects)


class _Draft:
    """Builds the next Forest. It may change trie pages that it has created, since nothing else has them yet."""

    def __init__(self, base: Forest):
        self.base = base
        self.owner = object()
        self.changed = False
        self.places = base._places
        self.edges = base._children
        self.objects = base._objects
        self.attached = base._attached
        self.users = base._users
        self.groups = base._groups
        self.nodes_on_cycles = base._nodes_on_cycles

    def forest(self) -> Forest:
        """The finished forest; the base if nothing has changed."""
        if not self.changed:
            return self.base
        tries = self.places, self.edges, self.objects, self.attached, self.users, self.groups
        return Forest(self.base.known, *tries, self.nodes_on_cycles)

    def get(self, ref: Ref) -> KubeObject | None:
        place = self.places.get(ref)
        return place.node if place else self.objects.get(ref)

    def put(self, obj: KubeObject) -> None:
        old = self.get(obj.ref)
        if old is obj or old == obj:
            return
        self.changed = True
        self.update_indexes(obj.ref, old, obj)
        if isinstance(obj, Node):
            self.set_node(obj.ref, obj)
        else:
            self.set_object(obj.ref, obj)

    def drop(self, ref: Ref) -> None:
        old = self.get(ref)
        if old is None:
            return
        self.changed = True
        self.update_indexes(ref, old, None)
        if isinstance(old, Node):
            self.set_node(ref, None)
        else:
            self.set_object(ref, None)

    def update_indexes(self, ref: Ref, old: KubeObject | None, new: KubeObject | None) -> None:
        self._regroup(ref, old.group_share() if old else None, new.group_share() if new else None)
        before, after = old.uses() if old else frozenset(), new.uses() if new else frozenset()
        for used in before - after:
            rest = (self.users.get(used) or NO_USERS).drop(ref)
            self.users = self.users.put(used, rest, self.owner) if len(rest) else self.users.drop(used)
        for used in after - before:
            more = (self.users.get(used) or NO_USERS).put(ref, ref, self.owner)
            self.users = self.users.put(used, more, self.owner)

    def _regroup(self, ref: Ref, old: tuple[Ref, SubtreeShare] | None, new: tuple[Ref, SubtreeShare] | None) -> None:
        if old == new:
            return
        if old is not None:
            self._share(old[0], self._sharing(old[0]).drop(ref))
        if new is not None:
            self._share(new[0], self._sharing(new[0]).put(ref, new[1], self.owner))

    def _sharing(self, name: Ref) -> Children:
        return (self.groups.get(name.group_kind) or NO_GROUPS).get(name) or NO_CHILDREN

    def _share(self, name: Ref, sharing: Children) -> None:
        names = self.groups.get(name.group_kind) or NO_GROUPS
        names = names.put(name, sharing, self.owner) if len(sharing) else names.drop(name)
        self.groups = self.groups.put(name.group_kind, names, self.owner)

    def set_node(self, ref: Ref, node: Node | None) -> None:
        old = self.places.get(ref)
        if old is not None and node is not None and node.parent == old.node.parent and not old.on_cycle:
            share = node.share(self._below(ref))  # its parent is the same, so no cycle appears or ends
            self._set(ref, _Place(node, share, False))
            if self._store_share(ref, node.parent, share):
                self._climb(node.parent)
            return
        broken = self._cycle_through(ref) if old and old.on_cycle else []
        if old:
            self._cut(old.node)
            self.nodes_on_cycles -= old.on_cycle
        if node is None:
            self.places = self.places.drop(ref)
        else:
            self._set(ref, _Place(node, NOTHING, False))
        closed = self._cycle_through(ref)
        for member in closed:
            self._settle(member, on_cycle=True)
        for member in [
            *broken[1:],
            *broken[:1],
        ]:  # from the old parent upward, since each share needs those of the children
            if member not in closed:
                self._settle(member, on_cycle=False)
        if old:
            self._climb(old.node.parent)
        if not closed and node is not None:
            self._settle(ref, on_cycle=False)
            self._climb(node.parent)

    def _set(self, ref: Ref, place: _Place) -> None:
        self.places = self.places.put(ref, place, self.owner)

    def set_object(self, ref: Ref, obj: KubeObject | None) -> None:
        old = self.objects.get(ref)
        if isinstance(old, Attached) and old.queue:
            rest = (self.attached.get(old.queue) or NONE_ATTACHED).drop(ref)
            self._attach(old.queue, rest)
        self.objects = self.objects.drop(ref) if obj is None else self.objects.put(ref, obj, self.owner)
        if isinstance(obj, Attached) and obj.queue:
            self._attach(obj.queue, (self.attached.get(obj.queue) or NONE_ATTACHED).put(ref, obj, self.owner))

    def _attach(self, queue: Ref, attachments: Attachments) -> None:
        queues = self.attached
        self.attached = queues.put(queue, attachments, self.owner) if len(attachments) else queues.drop(queue)

    def _cycle_through(self, ref: Ref) -> list[Ref]:
        """The cycle through `ref`, from `ref` upward; empty if its ancestors do not lead back to it."""
        loop: list[Ref] = []
        seen: set[Ref] = set()
        here: Ref | None = ref
        while here is not None and here not in seen:
            seen.add(here)
            loop.append(here)
            place = self.places.get(here)
            here = place.node.parent if place else None
        return loop if here == ref else []

    def _cut(self, node: Node) -> None:
        if node.parent is not None:
            rest = (self.edges.get(node.parent) or NO_CHILDREN).drop(node.ref)
            self.edges = self.edges.put(node.parent, rest, self.owner) if len(rest) else self.edges.drop(node.parent)

    def _settle(self, ref: Ref, on_cycle: bool) -> bool:
        """Compute the node's share and store it at the parent. Returns whether the share at the parent changed."""
        place = self.places.get(ref)
        if place is None:
            return False
        share = place.node.share(NOTHING if on_cycle else self._below(ref))
        self.nodes_on_cycles += on_cycle - place.on_cycle
        if share != place.share or on_cycle is not place.on_cycle:
            self._set(ref, _Place(place.node, share, on_cycle))
        return self._store_share(ref, place.node.parent, share)

    def _below(self, ref: Ref) -> SubtreeShare:
        children = self.edges.get(ref)
        return NOTHING if children is None else children.total

    def _store_share(self, ref: Ref, parent: Ref | None, share: SubtreeShare) -> bool:
        """Store the share at the parent. Returns whether it changed there."""
        if parent is None:
            return False
        siblings = self.edges.get(parent)
        if siblings is None:
            siblings = NO_CHILDREN
        if siblings.get(ref) == share:
            return False
        self.edges = self.edges.put(parent, siblings.put(ref, share, self.owner), self.owner)
        return True

    def _climb(self, ref: Ref | None) -> None:
        """Settle the ancestors until a share does not change. Stops at a cycle, whose shares leave out descendants."""
        while ref is not None:
            place = self.places.get(ref)
            if place is None or place.on_cycle or not self._settle(ref, on_cycle=False):
                return
            ref = place.node.parent

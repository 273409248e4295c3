"""The quota trees of a cluster and what is attached to them, as one immutable snapshot.

A change returns a new Forest that shares nearly all of the old one. It costs the depth of the tree and the logarithm
of the number of siblings, never the size of the cluster. Every walk ends, also on a cycle.
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
    """A node where it stands. On a cycle a node's share leaves out what is below it, or there would be no end to it."""

    node: Node
    share: SubtreeShare
    on_cycle: bool


@dataclass(frozen=True, slots=True)
class Forest:
    """One snapshot. `known` are the kinds of which every object is in here; of others a rule may conclude nothing."""

    known: frozenset[GroupKind] = frozenset()
    _places: Trie[Ref, _Place, None] = _EMPTY
    _children: Trie[Ref, Children, None] = _EMPTY
    _objects: Trie[Ref, KubeObject, None] = _EMPTY
    _attached: Trie[Ref, Attachments, None] = _EMPTY
    _users: Trie[Ref, Users, None] = _EMPTY
    _groups: Trie[GroupKind, Groups, None] = _EMPTY
    _looped: int = 0
    """Nodes that lie on a cycle: nearly always none, and then no way up has to be walked to see that."""

    def node(self, ref: Ref) -> Node | None:
        place = self._places.get(ref)
        return place.node if place else None

    def get(self, ref: Ref) -> KubeObject | None:
        """The object itself, node or not."""
        return self.node(ref) or self._objects.get(ref)

    def __len__(self) -> int:
        return len(self._places) + len(self._objects)

    def nodes(self) -> Iterator[Node]:
        return (place.node for place in self._places.values())

    def objects(self) -> Iterator[KubeObject]:
        """Every object, nodes first, in no order."""
        yield from self.nodes()
        yield from self._objects.values()

    def has_children(self, ref: Ref) -> bool:
        return ref in self._children

    def count_children(self, ref: Ref) -> int:
        return len(self._children.get(ref) or NO_CHILDREN)

    def children(self, ref: Ref) -> list[Node]:
        """The direct children by name; those of a parent that has no object of its own too."""
        refs = sorted(child for child, _ in (self._children.get(ref) or NO_CHILDREN).items())
        return [self._places[child].node for child in refs]

    def below(self, ref: Ref) -> SubtreeShare:
        """The total over the direct children's shares."""
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
        """The children with what each shows upward, in no order. All siblings: for messages, not for checks."""
        return (self._children.get(ref) or NO_CHILDREN).items()

    def ancestors(self, ref: Ref) -> Iterator[Ref]:
        """Upward from the parent to the root, which may have no object; each once, so a cycle ends the walk."""
        places = self._places
        place = places.get(ref)
        if not self._looped:
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
        """These and all above them; each is visited once, however many lead to it."""
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
        return self._looped > 0

    def on_cycle(self, ref: Ref) -> bool:
        if not self._looped:
            return False
        place = self._places.get(ref)
        return place is not None and place.on_cycle

    def ends_at_root(self, ref: Ref) -> bool:
        """Whether neither the node nor one above it lies on a cycle."""
        if not self._looped:
            return True
        place = self._places.get(ref)
        while place is not None and not place.on_cycle:
            if place.node.parent is None:
                return True
            place = self._places.get(place.node.parent)
        return place is None

    def cycle(self, ref: Ref) -> tuple[Ref, ...]:
        """The cycle that `ref` lies on, from `ref` upward; empty where it lies on none."""
        return (ref, *self.ancestors(ref)) if self.on_cycle(ref) else ()

    def attached(self, ref: Ref) -> Iterator[Attached]:
        """The LocalQueues and the work that name this node, in no order."""
        return (self._attached.get(ref) or NONE_ATTACHED).values()

    def attached_count(self, ref: Ref) -> int:
        return len(self._attached.get(ref) or NONE_ATTACHED)

    def users(self, ref: Ref) -> Iterator[Ref]:
        """The objects that name this one by `uses`, in no order; it need not exist."""
        return (self._users.get(ref) or NO_USERS).values()

    def count_users(self, ref: Ref) -> int:
        return len(self._users.get(ref) or NO_USERS)

    def groups(self, kind: GroupKind) -> Iterator[Ref]:
        """The names of this kind that objects share by `group_share`, in no order; each has one object at least."""
        return (name for name, _ in (self._groups.get(kind) or NO_GROUPS).items())

    def members(self, name: Ref) -> Children:
        """The objects that share this name, each with what it adds; `total` is all of it."""
        return (self._groups.get(name.group_kind) or NO_GROUPS).get(name) or NO_CHILDREN

    def knowing(self, kinds: Iterable[GroupKind]) -> Forest:
        return replace(self, known=self.known | frozenset(kinds))

    def indexed(self) -> Forest:
        """The same forest, quicker to ask often. Costs a look at every object."""
        return replace(self, _places=self._places.indexed(), _children=self._children.indexed())

    def put(self, obj: KubeObject) -> Forest:
        """The forest with this object in it, in place of the one of the same identity."""
        return self.put_all((obj,))

    def drop(self, ref: Ref) -> Forest:
        """The forest without this object; its children stay and hang on the bare name."""
        return self.drop_all((ref,))

    def put_all(self, objects: Iterable[KubeObject]) -> Forest:
        """The forest with all of these in it: the deepest first, so that no node is settled once for each below."""
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
    """The next Forest while it is made; nobody else sees it, so that it writes into the pages that it made."""

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
        self.looped = base._looped

    def forest(self) -> Forest:
        """The very same one where nothing changed."""
        if not self.changed:
            return self.base
        tries = self.places, self.edges, self.objects, self.attached, self.users, self.groups
        return Forest(self.base.known, *tries, self.looped)

    def get(self, ref: Ref) -> KubeObject | None:
        place = self.places.get(ref)
        return place.node if place else self.objects.get(ref)

    def put(self, obj: KubeObject) -> None:
        old = self.get(obj.ref)
        if old is obj or old == obj:
            return
        self.changed = True
        self.note(obj.ref, old, obj)
        if isinstance(obj, Node):
            self.place(obj.ref, obj)
        else:
            self.hang(obj.ref, obj)

    def drop(self, ref: Ref) -> None:
        old = self.get(ref)
        if old is None:
            return
        self.changed = True
        self.note(ref, old, None)
        if isinstance(old, Node):
            self.place(ref, None)
        else:
            self.hang(ref, None)

    def note(self, ref: Ref, old: KubeObject | None, new: KubeObject | None) -> None:
        """Keep the index of who uses what, and of who shares quota with whom."""
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

    def place(self, ref: Ref, node: Node | None) -> None:
        old = self.places.get(ref)
        if old is not None and node is not None and node.parent == old.node.parent and not old.on_cycle:
            share = node.share(self._below(ref))  # its way up is as it was, so no cycle opens or closes
            self._set(ref, _Place(node, share, False))
            if self._shown(ref, node.parent, share):
                self._climb(node.parent)
            return
        broken = self._loop(ref) if old and old.on_cycle else []
        if old:
            self._cut(old.node)
            self.looped -= old.on_cycle
        if node is None:
            self.places = self.places.drop(ref)
        else:
            self._set(ref, _Place(node, NOTHING, False))
        closed = self._loop(ref)
        for member in closed:
            self._settle(member, on_cycle=True)
        for member in [*broken[1:], *broken[:1]]:  # from the old parent upward: each needs those below it first
            if member not in closed:
                self._settle(member, on_cycle=False)
        if old:
            self._climb(old.node.parent)
        if not closed and node is not None:
            self._settle(ref, on_cycle=False)
            self._climb(node.parent)

    def _set(self, ref: Ref, place: _Place) -> None:
        self.places = self.places.put(ref, place, self.owner)

    def hang(self, ref: Ref, obj: KubeObject | None) -> None:
        old = self.objects.get(ref)
        if isinstance(old, Attached) and old.queue:
            rest = (self.attached.get(old.queue) or NONE_ATTACHED).drop(ref)
            self._attach(old.queue, rest)
        self.objects = self.objects.drop(ref) if obj is None else self.objects.put(ref, obj, self.owner)
        if isinstance(obj, Attached) and obj.queue:
            self._attach(obj.queue, (self.attached.get(obj.queue) or NONE_ATTACHED).put(ref, obj, self.owner))

    def _attach(self, queue: Ref, all_of_it: Attachments) -> None:
        queues = self.attached
        self.attached = queues.put(queue, all_of_it, self.owner) if len(all_of_it) else queues.drop(queue)

    def _loop(self, ref: Ref) -> list[Ref]:
        """`ref` and the nodes above it if the way up leads back to it, else nothing."""
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
        """Compute the node's share and hand it to the parent; whether that changed anything for the parent."""
        place = self.places.get(ref)
        if place is None:
            return False
        share = place.node.share(NOTHING if on_cycle else self._below(ref))
        self.looped += on_cycle - place.on_cycle
        if share != place.share or on_cycle is not place.on_cycle:
            self._set(ref, _Place(place.node, share, on_cycle))
        return self._shown(ref, place.node.parent, share)

    def _below(self, ref: Ref) -> SubtreeShare:
        children = self.edges.get(ref)
        return NOTHING if children is None else children.total

    def _shown(self, ref: Ref, parent: Ref | None, share: SubtreeShare) -> bool:
        """Hand the share to the parent; whether that changed anything for it."""
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
        """Settle upward until nothing changes; a cycle ends it, since its members' shares do not look below."""
        while ref is not None:
            place = self.places.get(ref)
            if place is None or place.on_cycle or not self._settle(ref, on_cycle=False):
                return
            ref = place.node.parent

"""The documents of a change: identified, each with its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from analysis.documents import Document, Place, Unreadable
from policies import dialects
from policies.dialects.reading import Manifest
from policies.dialects.yunikorn_config.configmap import count_queues
from policies.model.objects import KubeObject, Node, Ref


@dataclass(frozen=True, slots=True)
class Placed:
    """An object and the document that it was read from."""

    obj: KubeObject
    document: Document

    def place(self, field: str = "") -> Place:
        return self.document.place(field)


@dataclass(frozen=True, slots=True)
class Repeated:
    """An object that is given a second time; `first` is the one that counts."""

    first: Placed
    second: Placed

    @property
    def equal(self) -> bool:
        return same(self.first.document.manifest, self.second.document.manifest)

    def __str__(self) -> str:
        return f"{self.second.obj.ref} is given twice, first at {self.first.place()}"


@dataclass(frozen=True, slots=True)
class Given:
    """`objects` in the order of reading. `others` counts documents of kinds that carry no quota, `rest` has them."""

    objects: Mapping[Ref, Placed]
    unreadable: tuple[Unreadable, ...]
    others: int
    rest: tuple[Document, ...] = ()
    repeated: tuple[Repeated, ...] = ()

    @property
    def queues(self) -> int:
        """The nodes of trees, and the queues that ConfigMaps of YuniKorn configure."""
        every = [placed.obj for placed in self.objects.values()]
        return sum(isinstance(obj, Node) for obj in every) + count_queues(every)

    def place(self, ref: Ref, field: str) -> Place | None:
        placed = self.objects.get(ref)
        return placed.place(field) if placed else None


NO_FILES = Given({}, (), 0)


def joined(held: Given, over: Given) -> Given:
    """The files of both; an object that is in both is that of `over`."""
    objects = {**held.objects, **over.objects}
    rest, repeated = (*held.rest, *over.rest), held.repeated + over.repeated
    return Given(objects, held.unreadable + over.unreadable, held.others + over.others, rest, repeated)


def identify(
    documents: Iterable[Document], faults: Iterable[Unreadable] = (), known: Mapping[Ref, Placed] | None = None
) -> Given:
    """The documents as typed objects. Of an object that is given twice the first counts, the other is in `repeated`.

    `faults` is what else could not be read.

    `known` are objects of another state of the same inputs: equal documents share their manifest, and are read once.
    The number of an object with a generateName is only valid in its own files.
    """
    typed = {id(each.document.manifest): each.obj for each in (known or {}).values() if not each.obj.ref.is_generated}
    objects: dict[Ref, Placed] = {}
    rest: list[Document] = []
    repeated: list[Repeated] = []
    for document in documents:
        obj = typed.get(id(document.manifest)) or dialects.read(document.manifest)
        if obj is None:
            rest.append(document)
            continue
        placed = Placed(_apart(obj, objects), document)
        first = objects.setdefault(placed.obj.ref, placed)
        if first is not placed:
            repeated.append(Repeated(first, placed))
    return Given(objects, tuple(faults), len(rest), tuple(rest), tuple(repeated))


def same(one: Manifest, other: Manifest) -> bool:
    """Whether both are equal, in types too: true is not 1, and 1 is not 1.0."""
    return one is other or (one == other and repr(one) == repr(other))


def _apart(obj: KubeObject, objects: Mapping[Ref, Placed]) -> KubeObject:
    """Objects of one generateName are not the same object: the API server gives each a name of its own."""
    if not obj.ref.name.endswith("*"):
        return obj
    ref, number = obj.ref, 1
    while ref in objects:
        number += 1
        ref = obj.ref._replace(name=f"{obj.ref.name}{number}")
    return replace(obj, ref=ref)

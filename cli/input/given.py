"""What the user hands over: the documents of the files, read, identified and each with its place."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from cli.input.documents import Document, Place, Unreadable, read
from policies import dialects
from policies.model.objects import KubeObject, Node, Ref


@dataclass(frozen=True, slots=True)
class Placed:
    """An object and the document that it was read from."""

    obj: KubeObject
    document: Document

    def place(self, field: str = "") -> Place:
        return self.document.place(field)


@dataclass(frozen=True, slots=True)
class Given:
    """`objects` in the order of reading. `others` counts documents of kinds that carry no quota, `rest` has them."""

    objects: Mapping[Ref, Placed]
    unreadable: tuple[Unreadable, ...]
    others: int
    rest: tuple[Document, ...] = ()

    @property
    def queues(self) -> int:
        return sum(isinstance(placed.obj, Node) for placed in self.objects.values())

    def place(self, ref: Ref, field: str) -> Place | None:
        placed = self.objects.get(ref)
        return placed.place(field) if placed else None


NO_FILES = Given({}, (), 0)


def joined(held: Given, over: Given) -> Given:
    """The files of both; an object that is in both is that of `over`."""
    objects = {**held.objects, **over.objects}
    return Given(objects, held.unreadable + over.unreadable, held.others + over.others, (*held.rest, *over.rest))


def gather(paths: Sequence[str]) -> Given:
    """Everything that the paths hold; `-` is standard input. An object given twice is unreadable the second time."""
    return identify(*read(paths, sys.stdin))


def identify(
    documents: Iterable[Document], faults: Iterable[Unreadable] = (), known: Mapping[Ref, Placed] | None = None
) -> Given:
    """The documents as typed objects; `faults` is what else could not be read.

    `known` are objects of another state of the same inputs: equal documents share their manifest, and are read once.
    """
    typed = {id(each.document.manifest): each.obj for each in (known or {}).values() if not _numbered(each.obj.ref)}
    unreadable = list(faults)
    objects: dict[Ref, Placed] = {}
    rest: list[Document] = []
    for document in documents:
        obj = typed.get(id(document.manifest)) or dialects.read(document.manifest)
        if obj is None:
            rest.append(document)
            continue
        placed = Placed(_apart(obj, objects), document)
        if placed.obj.ref in objects:
            unreadable.append(_twice(placed, objects[placed.obj.ref]))
        else:
            objects[placed.obj.ref] = placed
    return Given(objects, tuple(unreadable), len(rest), tuple(rest))


def _numbered(ref: Ref) -> bool:
    """Whether `_apart` may have named it; no name of an object has a `*`."""
    return "*" in ref.name


def _apart(obj: KubeObject, objects: Mapping[Ref, Placed]) -> KubeObject:
    """Objects of one generateName are not the same object: the API server gives each a name of its own."""
    if not obj.ref.name.endswith("*"):
        return obj
    ref, number = obj.ref, 1
    while ref in objects:
        number += 1
        ref = obj.ref._replace(name=f"{obj.ref.name}{number}")
    return replace(obj, ref=ref)


def _twice(second: Placed, first: Placed) -> Unreadable:
    message = f"{second.obj.ref} is given twice, first at {first.place()}; keep one of the two"
    return Unreadable(second.place(), message)

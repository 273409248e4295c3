"""The objects in the inputs of a command, each with its place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from analysis.documents import Document, SourcePlace, Unreadable
from policies import dialects
from policies.dialects import core, kueue, volcano
from policies.dialects.reading import Manifest
from policies.dialects.yunikorn_config.configmap import count_queues
from policies.model.forest import Forest
from policies.model.objects import KubeObject, Node, Ref

PRUNED = frozenset({kueue.COHORT, kueue.CLUSTER_QUEUE, kueue.LOCAL_QUEUE, volcano.QUEUE, core.NAMESPACE})
"""The kinds that --prune may delete: those of quota trees."""


@dataclass(frozen=True, slots=True)
class Placed:
    """An object and the document that it was read from."""

    obj: KubeObject
    document: Document

    def place(self, field: str = "") -> SourcePlace:
        return self.document.place(field)


@dataclass(frozen=True, slots=True)
class Repeated:
    """An object that occurs twice in the inputs. `first`: the one that counts."""

    first: Placed
    second: Placed

    @property
    def equal(self) -> bool:
        return same(self.first.document.manifest, self.second.document.manifest)

    def __str__(self) -> str:
        return f"{self.second.obj.ref} is given twice, first at {self.first.place()}"


@dataclass(frozen=True, slots=True)
class InputObjects:
    """The objects of the inputs, in the order of reading.

    unreadable: inputs that cannot be read.
    rest: documents of kinds without quota. others: their number.
    repeated: objects that occur twice.
    """

    objects: Mapping[Ref, Placed]
    unreadable: tuple[Unreadable, ...]
    others: int
    rest: tuple[Document, ...] = ()
    repeated: tuple[Repeated, ...] = ()

    @property
    def queues(self) -> int:
        """The number of nodes of trees, and of queues that ConfigMaps of YuniKorn configure."""
        every = [placed.obj for placed in self.objects.values()]
        return sum(isinstance(obj, Node) for obj in every) + count_queues(every)

    def place(self, ref: Ref, field: str) -> SourcePlace | None:
        placed = self.objects.get(ref)
        return placed.place(field) if placed else None


NO_FILES = InputObjects({}, (), 0)


def joined(base: InputObjects, overriding: InputObjects) -> InputObjects:
    """The objects of both. If an object is in both, that of `overriding` counts."""
    objects = {**base.objects, **overriding.objects}
    unreadable, repeated = base.unreadable + overriding.unreadable, base.repeated + overriding.repeated
    rest = (*base.rest, *overriding.rest)
    return InputObjects(objects, unreadable, base.others + overriding.others, rest, repeated)


def identify(
    documents: Iterable[Document], faults: Iterable[Unreadable] = (), known: Mapping[Ref, Placed] | None = None
) -> InputObjects:
    """Convert the documents into typed objects. If an object occurs twice, the first counts; both are in `repeated`.

    faults: inputs that could not be read.
    known: objects of another state of the same inputs. Equal documents share their manifest, and are converted once,
        except for objects with a generateName, which are numbered for each state.
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
        placed = Placed(_numbered(obj, objects), document)
        first = objects.setdefault(placed.obj.ref, placed)
        if first is not placed:
            repeated.append(Repeated(first, placed))
    return InputObjects(objects, tuple(faults), len(rest), tuple(rest), tuple(repeated))


def same(one: Manifest, other: Manifest) -> bool:
    """Whether both have the same content; see `content`."""
    return one is other or (_stated(one) == _stated(other) and content(one) == content(other))


def content(manifest: Manifest) -> str:
    """The content as a text. The order of fields does not matter, but types do: true is not 1, and 1 is not 1.0.

    A field at the top that is empty or null counts as missing, such as `spec: {}`.
    """
    return json.dumps(_stated(manifest), sort_keys=True, default=repr)


def _stated(manifest: Manifest) -> Manifest:
    return {key: value for key, value in manifest.items() if value not in (None, {})}


def _numbered(obj: KubeObject, objects: Mapping[Ref, Placed]) -> KubeObject:
    """The object with a number after its generateName, since the API server gives each such object its own name."""
    if not obj.ref.name.endswith("*"):
        return obj
    ref, number = obj.ref, 1
    while ref in objects:
        number += 1
        ref = obj.ref._replace(name=f"{obj.ref.name}{number}")
    return replace(obj, ref=ref)


def missing(inputs: InputObjects, world: Forest) -> Iterator[KubeObject]:
    """Yield the objects that --prune deletes: those that the files lack, of kinds that they have. So a file of queues
    deletes no Namespace.

    Yields nothing while an input is unreadable, since it may have them.
    """
    kinds = PRUNED & {ref.group_kind for ref in inputs.objects} if not inputs.unreadable else ()
    for obj in sorted(world.objects(), key=lambda obj: obj.ref):
        if obj.ref.group_kind in kinds and obj.ref not in inputs.objects and not _made_by_the_system(obj):
            yield obj


def _made_by_the_system(obj: KubeObject) -> bool:
    """Whether Volcano or Kubernetes creates the queue or namespace, so that users do not keep it in files."""
    kind, name = obj.ref.group_kind, obj.ref.name
    if kind == volcano.QUEUE:
        return name in volcano.BUILT_IN
    return kind == core.NAMESPACE and (name == "default" or name.startswith("kube-"))

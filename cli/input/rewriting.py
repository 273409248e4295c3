"""Applies JSON Patches to the text of manifests. The rest of each file is not changed."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import getitem
from typing import Any, TypeAlias

from analysis.documents import Document
from analysis.queue_config import DATA, KEY, ConfigMapRegion, QueuesFileRegion
from cli.input.documents import read
from policies.model.fields import pointer, steps, unpointed
from policies.mutation.patching import patched
from policies.text import yaml_values
from policies.text.field_paths import Region
from policies.text.positions import BadText
from policies.text.yaml_edits import NoEdit, edited

Operations: TypeAlias = Sequence[Mapping[str, Any]]


def rewritten(documents: Sequence[Document], patches: Mapping[int, Operations], unreadable: int = 0) -> list[Document]:
    """The documents of one file after the patches.

    `documents`: all manifests of the file, in their order. `patches`: by the index of the document. `unreadable`: the
    number of unreadable documents in the file.
    The new text is parsed again: the manifests must equal the patched ones, and the number of unreadable documents must
    be the same. Otherwise raises NoEdit.
    """
    text = documents[0].region.outline.text
    patches = {index: _of_objects(documents[index].manifest, patch) for index, patch in patches.items()}
    by_place = sorted(patches, key=lambda index: documents[index].region.span.start, reverse=True)
    for index in by_place:  # from the last one, so that the places of the others remain valid
        region = documents[index].region
        if isinstance(region, QueuesFileRegion):  # the manifest is a ConfigMap whose `queues.yaml` is this file
            start, end = region.span.document
            text = text[:start] + _expected(documents[index], patches[index])["data"][KEY] + text[end:]
            continue
        operations, within = _written(region, patches[index])
        text = edited(text, region.span.start, region.span.end, operations, within)
    patches |= _of_holders(documents, patches)
    again, faults = read(["-"], io.BytesIO(text.encode()))
    expected = [_expected(document, patches.get(index, ())) for index, document in enumerate(documents)]
    if len(faults) != unreadable or [each.manifest for each in again] != expected:
        raise NoEdit("the new text would not have the intended content")
    return [replace(each, source=documents[0].source) for each in again]


def _written(region: Region, operations: Operations) -> tuple[Operations, tuple[str, ...]]:
    """The operations as they are applied to the region's text, and the path of the manifest in it."""
    if isinstance(region, ConfigMapRegion):
        operations = _in_values(region, operations)
    within = steps(region.within) if region.within else ()
    if within is None:
        raise NoEdit("the place of the manifest in its list is not known")
    return operations, tuple(map(str, within))


def _in_values(region: ConfigMapRegion, operations: Operations) -> Operations:
    """The operations on a ConfigMap, as operations on the text that has its data: itself, or values for a chart."""
    moved, at = [], steps(region.data)
    for operation in operations:
        first, *rest = unpointed(operation["path"])
        if at is None or (first != DATA and region.data != DATA):
            raise NoEdit("the place of this field in the values is not known")
        moved.append({**operation, "path": pointer(*(map(str, at) if first == DATA else (first,)), *rest)})
    return moved


def _of_holders(documents: Sequence[Document], patches: Mapping[int, Operations]) -> dict[int, Operations]:
    """The same operations on the manifests that have values inside, such as a HelmRelease."""
    found: dict[int, Operations] = {}
    for index, operations in patches.items():
        inner = documents[index].region
        if isinstance(inner, ConfigMapRegion) and inner.data != DATA:
            for at, each in enumerate(documents):
                if each.region.span == inner.span and not isinstance(each.region, ConfigMapRegion):
                    found[at] = [*found.get(at, ()), *_in_values(inner, operations)]
    return found


def _of_objects(manifest: Mapping[str, Any], operations: Operations) -> list[Mapping[str, Any]]:
    """The operations on the manifest. Operations inside a YAML text become one that replaces it. Raises NoEdit."""
    found: list[Mapping[str, Any]] = []
    inner: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for operation in operations:
        at = _text_on_the_way(manifest, unpointed(operation["path"]))
        if at:
            ways = {key: unpointed(operation[key])[len(at) :] for key in ("path", "from") if key in operation}
            inner.setdefault(at, []).append({**operation, **{key: pointer(*way) for key, way in ways.items()}})
        else:
            found.append(operation)
    for at, within in inner.items():
        text: Any = reduce(getitem, at, manifest)
        found.append({"op": "replace", "path": pointer(*at), "value": _text_after(text, within)})
    return found


def _text_on_the_way(manifest: Mapping[str, Any], way: tuple[str, ...]) -> tuple[str, ...]:
    """The path of a text that the path `way` leads into; empty if it leads into none."""
    value: Any = manifest
    for number, step in enumerate(way):
        if isinstance(value, str):
            return way[:number]
        value = value.get(step) if isinstance(value, Mapping) else None
    return ()


def _text_after(text: str, operations: Operations) -> str:
    """The YAML text after the operations on its value."""
    after = edited(text, 0, len(text), operations)
    try:
        if yaml_values.single(after) == patched(yaml_values.single(text), operations):
            return after
    except (BadText, LookupError, ValueError, TypeError) as error:
        raise NoEdit("the patch is for a field that is not written here") from error
    raise NoEdit("the new text would not have the intended content")


def _expected(document: Document, operations: Operations) -> dict[str, Any]:
    try:
        return patched(document.manifest, operations)
    except (LookupError, ValueError, TypeError) as error:
        raise NoEdit("the patch is for a field that is not written here") from error

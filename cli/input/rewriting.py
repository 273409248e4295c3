"""Writes JSON Patches into the files of the manifests; the rest of each file stays as it is."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from cli.input.documents import Document, read
from policies.model.fields import steps
from policies.mutation.patching import patched
from policies.text.yaml_edits import NoEdit, edited

Operations: TypeAlias = Sequence[Mapping[str, Any]]


def rewritten(documents: Sequence[Document], patches: Mapping[int, Operations], unreadable: int = 0) -> list[Document]:
    """The documents of one file after the patches, by index; `documents` are all of its manifests, in their order.

    What is written is read again: each manifest must be what its patch makes of it, all others what they were, and as
    many documents as before are `unreadable`. Raises NoEdit.
    """
    text = documents[0].region.outline.text
    by_place = sorted(patches, key=lambda index: documents[index].region.span.start, reverse=True)
    for index in by_place:  # from the last, so that the places of those before it stay
        region = documents[index].region
        within = steps(region.within) if region.within else ()
        if within is None:
            raise NoEdit("the place of the manifest in its list is not known")
        text = edited(text, region.span.start, region.span.end, patches[index], tuple(map(str, within)))
    again, faults = read(["-"], io.BytesIO(text.encode()))
    expected = [_expected(document, patches.get(index, ())) for index, document in enumerate(documents)]
    if len(faults) != unreadable or [each.manifest for each in again] != expected:
        raise NoEdit("the text would not say what was meant")
    return [replace(each, source=documents[0].source) for each in again]


def _expected(document: Document, operations: Operations) -> dict[str, Any]:
    try:
        return patched(document.manifest, operations)
    except (LookupError, ValueError, TypeError) as error:
        raise NoEdit("the patch is for a field that is not written here") from error

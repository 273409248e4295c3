"""A change as the API server sees it: from the manifest before and the manifest after."""

from __future__ import annotations

from dataclasses import replace

from policies.dialects import read
from policies.dialects.reading import Manifest
from policies.model.objects import KubeObject
from policies.model.proposal import Change
from policies.schema.structure import defects, transition_defects


def changed(before: Manifest | None, after: Manifest | None, subresource: str = "") -> Change | None:
    """What a request does to one object, with the fields that must stay and do not; None for other kinds.

    A manifest that is missing stands for creation or deletion. With `subresource="status"` the status is what is
    written, so that its structure counts too.
    """
    old = read(before) if before is not None else None
    new = read(after) if after is not None else None
    if old is None and new is None:
        return None
    if before is None or after is None or new is None:
        return Change(old, new)
    if subresource == "status":
        new = _with_status(after, new)
    return Change(old, new, transition_defects(before, after, subresource=subresource))


def _with_status(manifest: Manifest, thing: KubeObject) -> KubeObject:
    """The object with the defects of its status; they were those of a status that is dropped."""
    of_structure = set(defects(manifest))
    own = tuple(defect for defect in thing.defects if defect not in of_structure)
    return replace(thing, defects=(*own, *defects(manifest, subresource="status")))

"""A change as the API server sees it: from the object before and the object after."""

from __future__ import annotations

from dataclasses import replace

from policies.dialects import read
from policies.dialects.reading import Manifest, Parsed
from policies.model.change import Change
from policies.model.objects import KubeObject
from policies.schema.structure import defects, transition_defects


def changed(
    before: Manifest | None,
    after: Manifest | None,
    subresource: str = "",
    known: KubeObject | None = None,
    *,
    orchestrated: bool = False,
) -> Change | None:
    """What a request does to one object; None for kinds that carry no quota.

    A manifest that is missing stands for creation or deletion. With `subresource="status"` the status is what is
    written, so that its structure counts too. `known` is what was read of `before`, where that is at hand.

    `orchestrated`: see `policies.dialects.readers.read`.
    """
    old = _parsed(before, orchestrated) if known is None else Parsed(known, before)
    new = _parsed(after, orchestrated)
    if old is None and new is None:
        return None
    if old is not None and new is not None and subresource == "status":
        new = new._replace(object=_with_status(new.manifest or {}, new.object))
    return change(old, new, subresource)


def change(before: Parsed | None, after: Parsed | None, subresource: str = "") -> Change:
    """The change between two objects, with the immutable fields that change, if both manifests are known."""
    old, new = (it.object if it else None for it in (before, after))
    if before is None or after is None or before.manifest is None or after.manifest is None:
        return Change(old, new)
    return Change(old, new, transition_defects(before.manifest, after.manifest, subresource=subresource))


def _parsed(manifest: Manifest | None, orchestrated: bool) -> Parsed | None:
    found = read(manifest, orchestrated=orchestrated) if manifest is not None else None
    return Parsed(found, manifest) if found is not None else None


def _with_status(manifest: Manifest, found: KubeObject) -> KubeObject:
    """The object with the defects of its status; they were those of a status that is dropped."""
    of_structure = set(defects(manifest))
    own = tuple(defect for defect in found.defects if defect not in of_structure)
    return replace(found, defects=(*own, *defects(manifest, subresource="status")))

"""Makes the change of a request from the manifests before and after it."""

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
    """The change of one object by a request; None for kinds without quota.

    `before`, `after`: None for a creation or a deletion.
    `subresource`: with `status`, the structure of the status is checked, too.
    `known`: the object of `before` if it is already read.
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
    """The object with the defects of its status. Other writes drop the status, so its defects do not count there."""
    of_structure = set(defects(manifest))
    own = tuple(defect for defect in found.defects if defect not in of_structure)
    return replace(found, defects=(*own, *defects(manifest, subresource="status")))

"""Leaves out objects of a migration: those that exist in Kueue already, and those in Namespaces that are being deleted.

In such a Namespace the API server accepts no new objects, and it deletes the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from policies.dialects.core import NAMESPACE
from policies.dialects.kueue_kinds import GROUP, RESOURCE_FLAVOR
from policies.dialects.reading import Manifest, group_kind, identity, metadata, text
from policies.migration.model import Migration, NotKept
from policies.model.objects import Ref


def beside(migration: Migration, manifests: Iterable[Manifest]) -> Migration:
    """The migration without objects whose kind and name the manifests have. Each of them is reported as lost, except
    for a ResourceFlavor, which is used as it is.

    An existing LocalQueue could not be changed anyway, since its ClusterQueue is immutable.
    """
    there = {_ref(each) for each in manifests if group_kind(each).group == GROUP}
    twice = [ref for each in migration.objects if (ref := _ref(each)) in there]
    if not twice:
        return migration
    objects = tuple(each for each in migration.objects if _ref(each) not in there)
    why = "it exists in Kueue already and is left as it is"
    lost = (
        NotKept(str(ref), "", why, "rename one of the two, or edit it") for ref in twice if ref[:2] != RESOURCE_FLAVOR
    )
    return replace(migration, objects=objects, lost=(*migration.lost, *lost))


def _ref(manifest: Manifest) -> Ref:
    return identity(manifest, group_kind(manifest), namespaced="namespace" in metadata(manifest))


def without_terminating(manifests: Iterable[Manifest]) -> tuple[list[Manifest], list[NotKept]]:
    """The manifests without Namespaces that are being deleted and the objects in them, and the Namespaces as lost."""
    every = list(manifests)
    gone = dict.fromkeys(
        name
        for each in every
        if group_kind(each) == NAMESPACE and metadata(each).get("deletionTimestamp") and (name := _namespace(each))
    )
    kept = [each for each in every if _namespace(each) not in gone]
    why = "it is being deleted, with all that is in it"
    return kept, [NotKept(f"Namespace {name}", "", why, "nothing, or migrate again once it is gone") for name in gone]


def _namespace(manifest: Manifest) -> str:
    """The namespace of an object, or the name of a Namespace; empty for other cluster-scoped objects."""
    return text(metadata(manifest).get("name" if group_kind(manifest) == NAMESPACE else "namespace")) or ""

"""Leaves out objects of a migration that exist in Kueue already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from policies.dialects.kueue_kinds import GROUP, RESOURCE_FLAVOR
from policies.dialects.reading import Manifest, group_kind, identity, metadata
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

"""Leaves out Namespaces that are being deleted: the API server accepts no new objects there, and deletes the others."""

from __future__ import annotations

from collections.abc import Iterable

from policies.dialects.core import NAMESPACE
from policies.dialects.reading import Manifest, group_kind, metadata, text
from policies.migration.model import NotKept


def without_terminating(manifests: Iterable[Manifest]) -> tuple[list[Manifest], list[NotKept]]:
    """The manifests without such Namespaces and the objects in them, and the Namespaces as lost."""
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

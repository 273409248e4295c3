"""The manifests of a cluster that concern the work of Volcano and YuniKorn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policies.dialects.reading import Manifest, metadata, owner_references, text


@dataclass(frozen=True, slots=True)
class ManifestsElsewhere:
    """The objects on which decisions depend: queues, Nodes, PodGroups, Pods and so on, by project."""

    volcano: tuple[Manifest, ...] = ()
    yunikorn: tuple[Manifest, ...] = ()

    def without(self, manifests: Iterable[Manifest]) -> list[Manifest]:
        """The manifests without work that already exists, or that owns an existing PodGroup or Pod."""
        there = self._work()
        return [each for each in manifests if _key(each) not in there]

    def _work(self) -> set[tuple[str, str, str]]:
        found: set[tuple[str, str, str]] = set()
        for each in (*self.volcano, *self.yunikorn):
            if each.get("kind") in ("PodGroup", "Pod"):
                namespace = text(metadata(each).get("namespace")) or ""
                owners = owner_references(each)
                found |= {(str(owner.get("kind")), namespace, str(owner.get("name"))) for owner in owners}
                found.add(_key(each))
        return found


def _key(manifest: Manifest) -> tuple[str, str, str]:
    meta = metadata(manifest)
    return str(manifest.get("kind")), text(meta.get("namespace")) or "", text(meta.get("name")) or ""

"""Compressed manifests. Decisions use the values that were read from a manifest; only a write needs all of it."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from typing import Protocol

from cluster.resource import Manifest


class HasManifest(Protocol):
    """An object that keeps the manifest from which it was read."""

    def __hash__(self) -> int: ...

    def manifest(self) -> Manifest:
        """The manifest."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A manifest, compressed to about a tenth of its size."""

    content: bytes

    @classmethod
    def of(cls, manifest: Manifest) -> Packed:
        return cls(zlib.compress(json.dumps(manifest, separators=(",", ":")).encode(), level=1))

    def manifest(self) -> Manifest:
        manifest: Manifest = json.loads(zlib.decompress(self.content))
        return manifest

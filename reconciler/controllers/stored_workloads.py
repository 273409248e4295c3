"""Workloads as the API server stores them, by `namespace/name`."""

from __future__ import annotations

from policies.dialects.reading import Manifest
from reconciler.core.controller import Lookup
from reconciler.jobs.superseded import controller
from scheduling.objects.workload import Workload


class StoredWorkloads:
    """The stored Workloads; None for one that does not exist. Reading a value is cheap, unpacking a manifest is not."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def read(self, name: str) -> Workload | None:
        found = self._lookup(name)
        return found.value if found is not None else None

    def manifest(self, name: str) -> Manifest | None:
        found = self._lookup(name)
        return found.packed.manifest() if found is not None and found.packed is not None else None

    def controller(self, name: str) -> str:
        """The uid of the Workload's controller; empty if the Workload has none or does not exist."""
        return controller(self.manifest(name) or {})

    def with_manifest(self, name: str) -> tuple[Manifest | None, Workload | None]:
        manifest = self.manifest(name)
        return (manifest, self.read(name)) if manifest is not None else (None, None)

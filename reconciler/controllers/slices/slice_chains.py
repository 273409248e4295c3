"""Chains: all slices of an elastic job, from the first one on. Pods name the first slice."""

from __future__ import annotations

from reconciler.jobs.elastic import chain_of
from scheduling.objects.workload import Workload


class SliceChains:
    """Chains of slices. A slice is named `namespace/name`. A chain has the name of its first slice."""

    def __init__(self) -> None:
        self._slices: dict[str, dict[str, None]] = {}
        self._chain_of: dict[str, str] = {}

    def put(self, name: str, read: Workload | None) -> str:
        """Process a Workload; None if it is gone. Returns the name of its chain; empty if it is not a slice."""
        before = self._chain_of.pop(name, None)
        if before is not None:
            self._slices[before].pop(name)
            if not self._slices[before]:
                del self._slices[before]
        if read is None or not read.elastic:
            return ""
        self._chain_of[name] = first = f"{read.namespace}/{chain_of(read)}"
        self._slices.setdefault(first, {})[name] = None
        return first

    def __contains__(self, first: object) -> bool:
        return first in self._slices

    def of(self, first: str) -> dict[str, None]:
        """The slices of a chain in order. The first is always included, even if it is not stored any more."""
        return {first: None, **self._slices.get(first, {})}

"""Chains: all slices of an elastic job, from the first one on. Pods name the first slice."""

from __future__ import annotations

from reconciler.jobs.elastic import chain_of
from reconciler.objects.grouped import Grouped
from scheduling.objects.workload import Workload


class SliceChains:
    """Chains of slices. A slice is named `namespace/name`. A chain has the name of its first slice."""

    def __init__(self) -> None:
        self._slices: Grouped[str, str, None] = Grouped()

    def put(self, name: str, read: Workload | None) -> str:
        """Process a Workload; None if it is gone. Returns the name of its chain; empty if it is not a slice."""
        self._slices.pop(name)
        if read is None or not read.elastic:
            return ""
        first = f"{read.namespace}/{chain_of(read)}"
        self._slices.put(name, first, None)
        return first

    def __contains__(self, first: object) -> bool:
        return first in self._slices

    def of(self, first: str) -> dict[str, None]:
        """The slices of a chain in order. The first is always included, even if it is not stored any more."""
        return {first: None, **self._slices.of(first)}

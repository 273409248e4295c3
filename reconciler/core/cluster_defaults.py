"""Objects that provide defaults for jobs: LimitRanges, RuntimeClasses and priority classes."""

from __future__ import annotations

from cluster.resource import Manifest
from policies.amounts.limit_ranges import summarize
from policies.amounts.requests import readable
from policies.dialects.reading import mapping
from policies.model.objects import parted
from policies.model.quantity import Quantities
from reconciler.objects.observed import Key, Observed, put_or_drop
from reconciler.objects.watched import LIMIT_RANGE_VIEW, PRIORITY_VIEWS, RUNTIME_CLASS_VIEW
from scheduling.objects.priority import PriorityClasses, read_priority_classes
from scheduling.world.world import World

_VIEWS = {view.kind: view for view in (LIMIT_RANGE_VIEW, RUNTIME_CLASS_VIEW, *PRIORITY_VIEWS)}


class ClusterDefaults:
    """LimitRanges, RuntimeClasses and priority classes, as manifests: there are so few that memory does not matter."""

    KINDS = frozenset(_VIEWS)

    def __init__(self) -> None:
        self._ranges: dict[str, dict[str, Manifest]] = {}
        self._classes: dict[str, Manifest] = {}
        self._priorities: dict[Key, Manifest] = {}

    def put(self, world: World, observed: Observed[object]) -> bool:
        """Process one object and update the world. An object without a value is gone.

        Returns whether the priorities of jobs may have changed.
        """
        kind, key = observed.key
        manifest = _VIEWS[kind].value(observed)
        if kind == LIMIT_RANGE_VIEW.kind:
            namespace, name = parted(key)
            put_or_drop(self._ranges.setdefault(namespace, {}), name, manifest)
            world.put_limit_ranges(namespace, summarize(self._ranges[namespace].values()))
        elif kind == RUNTIME_CLASS_VIEW.kind:
            put_or_drop(self._classes, key, manifest)
            world.put_overheads(self._overheads())
        else:
            before = self._priorities.get(observed.key)
            put_or_drop(self._priorities, observed.key, manifest)
            return _priorities(before) != _priorities(manifest)
        return False

    def classes(self) -> PriorityClasses:
        return read_priority_classes(self._priorities.values())

    def _overheads(self) -> dict[str, Quantities]:
        found = self._classes.items()
        return {name: readable(mapping(each.get("overhead")).get("podFixed")) for name, each in found}


def _priorities(manifest: Manifest | None) -> PriorityClasses:
    return read_priority_classes([manifest] if manifest is not None else [])

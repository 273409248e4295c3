"""A pod template as decisions need it: its requests, and the nodes on which it may run.

Images, commands and volumes are dropped, and equal templates share one object. So 50 000 workloads with ten different
templates need memory for ten.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any

from policies.dialects.reading import listing, mapping, texts
from policies.model.quantity import canonical

_KEPT = ("nodeSelector", "affinity", "tolerations", "runtimeClassName", "resourceClaims")
_CONTAINERS = ("containers", "initContainers")
_RESOURCES = ("requests", "limits")


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """A pod template.

    digest: identifies the template. It is a full hash, so that no collision can be made.
    spec: the pod spec as plain data, without the fields that decisions ignore.
    """

    digest: str
    spec: Mapping[str, Any] = field(compare=False, repr=False)

    @property
    def node_selector(self) -> Mapping[str, str]:
        return texts(self.spec.get("nodeSelector"))

    @property
    def claims(self) -> bool:
        """Whether a pod has ResourceClaims."""
        return bool(self.spec.get("resourceClaims"))


def template(spec: object) -> PodTemplate:
    """The template of a pod's spec. Quantities are normalized, so that 1 and 1000m give the same template."""
    return _interned(json.dumps(_reduced(mapping(spec)), sort_keys=True, separators=(",", ":"), default=str))


@lru_cache(maxsize=4096)
def _interned(text: str) -> PodTemplate:
    return PodTemplate(sha256(text.encode()).hexdigest(), json.loads(text))


def _reduced(spec: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: spec[key] for key in _KEPT if spec.get(key)}
    for key in _CONTAINERS:
        if containers := [_container(mapping(container)) for container in listing(spec.get(key))]:
            kept[key] = containers
    if overhead := _canonical(spec.get("overhead")):
        kept["overhead"] = overhead
    if resources := _resources(spec.get("resources")):
        kept["resources"] = resources
    return kept


def _container(container: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    if resources := _resources(container.get("resources")):
        kept["resources"] = resources
    if restart := container.get("restartPolicy"):
        kept["restartPolicy"] = restart
    return kept


def _resources(resources: object) -> dict[str, Any]:
    lists = {key: _canonical(mapping(resources).get(key)) for key in _RESOURCES}
    return {key: values for key, values in lists.items() if values}


def _canonical(values: object) -> dict[str, Any]:
    return {resource: canonical(value) for resource, value in mapping(values).items()}

"""What a workload requests from the autoscaler: a ProvisioningRequest, with a PodTemplate for each group of equal pods.

Source: Kueue v0.19, pkg/controller/admissionchecks/provisioning.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from policies.dialects.kueue_jobs import MANAGED
from policies.dialects.reading import Manifest, listing, mapping, metadata, texts
from reconciler.jobs.pod_changes import CannotStart, PodChanges, started
from reconciler.objects.wanted import KUEUE_VERSION
from reconciler.provisioning.objects import AUTOSCALING, EVICTIONS, Controlled, ProvisioningConfig
from scheduling.objects.template import template
from scheduling.objects.workload import Workload

PARAMETER = "provreq.kueue.x-k8s.io/"
"""The prefix of a Workload's annotations that are parameters of its requests."""
_LONGEST = 247
"""The length at which a name is cut. A dash and five digits of a hash are added; 253 characters are allowed."""
_CONTAINERS = ("containers", "initContainers")


@dataclass(frozen=True, slots=True)
class Demand:
    """A number of equal pods for which new nodes are requested.

    `pod_sets`: their pod sets. The PodTemplate is named after the first one.
    `count`: the number of pods.
    `template`: their pod template.
    """

    pod_sets: tuple[str, ...]
    count: int
    template: Manifest


def request_name(workload: str, check: str, attempt: int) -> str:
    return _shortened(f"{workload}-{check}-{attempt}")


def template_name(request: str, pod_set: str) -> str:
    return _shortened(f"ppt-{request}-{pod_set}")


def _shortened(name: str) -> str:
    if len(name) <= _LONGEST:
        return name
    return f"{name[:_LONGEST]}-{hashlib.sha1(name.encode(), usedforsecurity=False).hexdigest()[:5]}"


# --- the pods


def needing(workload: Workload, config: ProvisioningConfig) -> list[str]:
    """The pod sets that need new nodes: those that request a resource that the config manages."""
    counts = _counts(workload)
    return [
        pod_set.name
        for pod_set in workload.pod_sets
        if counts.get(pod_set.name, 0) > 0 and _requests_any(pod_set.template.spec, config.managed)
    ]


def _counts(workload: Workload) -> dict[str, int]:
    counts = workload.sizes
    for assigned in workload.assignments:
        if assigned.count is not None:
            counts[assigned.name] = assigned.count
    return counts


def _requests_any(spec: Mapping[str, Any], managed: frozenset[str]) -> bool:
    if not managed:
        return True
    containers = (mapping(each) for key in _CONTAINERS for each in listing(spec.get(key)))
    resources = [mapping(each.get("resources")) for each in containers]
    return any(not managed.isdisjoint(mapping(each.get(key))) for each in resources for key in ("requests", "limits"))


def demands(
    workload: Workload, manifest: Manifest, config: ProvisioningConfig, placed: Mapping[str, PodChanges]
) -> list[Demand]:
    """The demands of a workload. Raises CannotStart if a pod set has no quota, or contradicts its flavor.

    `placed`: the changes that its flavor makes to each pod set.
    """
    counts, alike = _counts(workload), _ALIKE.get(config.merge)
    found: dict[object, Demand] = {}
    templates = {
        str(each.get("name", "main")): mapping(each.get("template"))
        for each in map(mapping, listing(mapping(manifest.get("spec")).get("podSets")))
    }
    for name in needing(workload, config):
        if name not in placed:
            raise CannotStart(f"no quota is assigned to pod set {name}")
        made = _template(templates[name], placed[name])
        key = alike(made) if alike is not None else name
        before = found.get(key)
        if before is None:
            found[key] = Demand((name,), counts[name], made)
        else:
            found[key] = replace(before, pod_sets=(*before.pod_sets, name), count=before.count + counts[name])
    return list(found.values())


def _template(original: Manifest, placed: PodChanges) -> Manifest:
    """The pod template for the autoscaler: with the node selectors of its flavor, and limits as default requests."""
    made = started(original, replace(placed, labels={}, annotations={}))
    spec = mapping(made.get("spec"))
    asking = {
        key: [_with_default_requests(mapping(each)) for each in listing(spec.get(key))]
        for key in _CONTAINERS
        if key in spec
    }
    return {**made, "spec": _with_default_requests({**spec, **asking})}


def _with_default_requests(holder: Mapping[str, Any]) -> dict[str, Any]:
    """A container or pod spec, in which each resource with a limit but no request gets the limit as its request."""
    resources = mapping(holder.get("resources"))
    limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
    if limits.keys() <= requests.keys():
        return dict(holder)
    return {**holder, "resources": {**resources, "requests": {**limits, **requests}}}


def _identical(made: Manifest) -> object:
    return json.dumps(made, sort_keys=True)


def _scheduled_alike(made: Manifest) -> object:
    """The fields that scheduling depends on: requests and placement, but not limits, images or names."""
    spec = mapping(made.get("spec"))
    without = {
        key: [_without_limits(mapping(each)) for each in listing(spec.get(key))] for key in _CONTAINERS if key in spec
    }
    return template(_without_limits({**spec, **without})).digest


def _without_limits(holder: Mapping[str, Any]) -> dict[str, Any]:
    resources = {key: value for key, value in mapping(holder.get("resources")).items() if key != "limits"}
    return {**holder, "resources": resources} if "resources" in holder else dict(holder)


_ALIKE: Mapping[str, Callable[[Manifest], object]] = {
    "IdenticalPodTemplates": _identical,
    "IdenticalWorkloadSchedulingRequirements": _scheduled_alike,
}
"""Functions that return what must be equal in two pod templates to merge their demands, by podSetMergePolicy."""

# --- the objects


def eviction_count(workload: Workload) -> str:
    """The value of the annotation EVICTIONS."""
    return str(sum(each.count for each in workload.evictions))


def parameters(manifest: Manifest, config: ProvisioningConfig) -> dict[str, str]:
    """The parameters of the config. Annotations of the workload override them."""
    annotations = texts(metadata(manifest).get("annotations"))
    own = {key.removeprefix(PARAMETER): value for key, value in annotations.items() if key.startswith(PARAMETER)}
    return {**config.parameters, **own}


def pod_template(name: str, workload: Workload, demand: Demand) -> dict[str, Any]:
    """The PodTemplate to create. The Workload owns it until the ProvisioningRequest exists."""
    return {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": _meta(name, workload),
        "template": dict(demand.template),
    }


def provisioning_request(
    name: str, workload: Workload, manifest: Manifest, config: ProvisioningConfig, wanted: list[Demand]
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "provisioningClassName": config.class_name,
        "podSets": [
            {"podTemplateRef": {"name": template_name(name, each.pod_sets[0])}, "count": each.count} for each in wanted
        ],
    }
    if found := parameters(manifest, config):
        spec["parameters"] = found
    return {
        "apiVersion": f"{AUTOSCALING}/v1",
        "kind": "ProvisioningRequest",
        "metadata": _meta(name, workload),
        "spec": spec,
    }


def _meta(name: str, workload: Workload) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": workload.namespace,
        "labels": {MANAGED: "true"},
        "annotations": {EVICTIONS: eviction_count(workload)},
        "ownerReferences": [owner(KUEUE_VERSION, "Workload", workload.name, workload.uid)],
    }


def owned_by_request(request: Controlled) -> dict[str, Any]:
    """The merge patch that makes the ProvisioningRequest the owner of a PodTemplate."""
    reference = owner(f"{AUTOSCALING}/v1", "ProvisioningRequest", request.name, request.uid)
    return {"metadata": {"ownerReferences": [reference]}}


def owner(api_version: str, kind: str, name: str, uid: str) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }

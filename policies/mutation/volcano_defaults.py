"""The defaults of Volcano's own webhooks: for Jobs, and for Pods if resource groups are configured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policies.configuration.settings import VolcanoResourceGroup
from policies.dialects.reading import Manifest, listing, mapping, metadata, text, texts
from policies.dialects.volcano_job import MAX_RETRY, NEEDS, SCHEDULER, WrittenTask, read_spec, with_dependencies
from policies.mutation.patching import Patch, added

QUEUE_GATE = "scheduling.volcano.sh/queue-allocation-gate"
"""The annotation of Pods that get the scheduling gate of the same name."""
GROUP_ANNOTATION = "volcano.sh/resource-group"


def complete_job(manifest: Manifest) -> Patch:
    """Set the queue, the scheduler, retries, names and minimums of tasks, and the plugins that other plugins need."""
    spec = manifest.get("spec")
    if not isinstance(spec, Mapping):
        return []
    values: dict[str, object] = {}
    if not spec.get("queue"):
        values["queue"] = "default"
    if not spec.get("schedulerName"):
        values["schedulerName"] = SCHEDULER
    if not spec.get("maxRetry"):
        values["maxRetry"] = MAX_RETRY
    tasks = read_spec(spec).tasks
    if not spec.get("minAvailable"):
        values["minAvailable"] = sum(task.needed for task in tasks)
    plugins = mapping(spec.get("plugins"))
    if any(other not in plugins for name in plugins for other in NEEDS.get(name, ())):
        values["plugins"] = with_dependencies(plugins)
    patch = [added(value, "spec", key) for key, value in values.items()]
    for i, (task, read) in enumerate(zip(listing(spec.get("tasks")), tasks, strict=True)):
        if not isinstance(task, Mapping):
            continue
        patch += [added(value, "spec", "tasks", i, *path) for *path, value in _task(task, read)]
    return patch


def _task(task: Mapping[str, Any], read: WrittenTask) -> Iterator[tuple[Any, ...]]:
    """The path within the task and the value, for each field to fill in."""
    if not task.get("name"):
        yield "name", read.name
    if task.get("minAvailable") is None:
        yield "minAvailable", read.needed
    if not task.get("maxRetry"):
        yield "maxRetry", MAX_RETRY
    pod = mapping(mapping(task.get("template")).get("spec"))
    if pod.get("hostNetwork") is True and not pod.get("dnsPolicy"):
        yield "template", "spec", "dnsPolicy", "ClusterFirstWithHostNet"


def complete_pod(manifest: Manifest, groups: tuple[VolcanoResourceGroup, ...]) -> Patch:
    """Set node labels, affinity, tolerations and scheduler of the first group that the Pod belongs to."""
    spec = mapping(manifest.get("spec"))
    group = next((group for group in groups if _belongs(manifest, group)), None)
    if group is None or not isinstance(manifest.get("spec"), Mapping):
        return []
    patch: Patch = []
    selector = mapping(spec.get("nodeSelector"))
    if any(selector.get(key) != value for key, value in group.labels.items()):
        patch.append(added({**selector, **group.labels}, "spec", "nodeSelector"))
    if group.affinity and spec.get("affinity") is None:
        patch.append(added(dict(group.affinity), "spec", "affinity"))
    tolerations = listing(spec.get("tolerations"))
    if missing := [dict(toleration) for toleration in group.tolerations if toleration not in tolerations]:
        patch.append(added([*tolerations, *missing], "spec", "tolerations"))
    if group.scheduler_name and spec.get("schedulerName") != group.scheduler_name:
        patch.append(added(group.scheduler_name, "spec", "schedulerName"))
    return patch


def gated_pod(manifest: Manifest, switched_on: bool) -> Patch:
    """Add a gate to a Pod of Volcano's scheduler whose annotation requests it. While a Pod waits for its queue at the
    gate, no autoscaler creates Nodes for it."""
    spec = mapping(manifest.get("spec"))
    asks = texts(metadata(manifest).get("annotations")).get(QUEUE_GATE) == "true"
    gates = listing(spec.get("schedulingGates"))
    if not switched_on or not asks or spec.get("schedulerName") != SCHEDULER:
        return []
    if any(mapping(gate).get("name") == QUEUE_GATE for gate in gates):
        return []
    return [added([*gates, {"name": QUEUE_GATE}], "spec", "schedulingGates")]


def _belongs(manifest: Manifest, group: VolcanoResourceGroup) -> bool:
    """Whether a Pod belongs to the group: by its namespace or annotation, or else by the annotation with its name."""
    if group.by == "namespace":
        return (text(metadata(manifest).get("namespace")) or "default") in group.values
    notes = texts(metadata(manifest).get("annotations"))
    if any(notes.get(key) == value for key, value in _wanted(group)):
        return True
    return group.by == "" and notes.get(GROUP_ANNOTATION) == group.name


def _wanted(group: VolcanoResourceGroup) -> Iterator[tuple[str, str]]:
    """The annotations of the group, from texts such as `key: value`. A member has one of them."""
    for line in group.values:
        key, _, value = line.partition(":")
        yield key.strip(), value.strip().strip("\"'")

"""Applies edits to manifests. The result is the list of changed objects, in the form for `kubectl apply`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

import yaml

from cluster.resource import NAMESPACES, Resource
from dashboard.reading.backend import Manifest
from dashboard.what_if.edits import BadEdit, Edit, EditedNode, MoveEdit, QuotaEdit, StopEdit, WorkEdit
from policies.dialects import volcano, yunikorn
from policies.dialects.kueue_kinds import GROUP
from policies.model.quantity import BadQuantity, Quantity
from policies.text.yaml_scalars import resolve

KINDS: Mapping[str, Resource] = {
    "ClusterQueue": Resource(GROUP, "v1beta2", "clusterqueues", namespaced=False),
    "Cohort": Resource(GROUP, "v1beta2", "cohorts", namespaced=False),
    "Queue": Resource(volcano.GROUP, "v1beta1", "queues", namespaced=False),
    "Namespace": NAMESPACES,
}
Stored = Callable[[EditedNode], Manifest | None]
"""Returns the stored manifest of a node; None if it does not exist."""
_PARENTS = {"ClusterQueue": "cohortName", "Cohort": "parentName", "Queue": "parent"}
_ANNOTATIONS = {"max": yunikorn.QUOTA, "guaranteed": yunikorn.GUARANTEED}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_KEPT = ("name", "namespace", "labels", "annotations")


def changed(edits: Iterable[Edit], stored: Stored) -> list[Manifest]:
    """The objects after these edits, in the order in which the edits first name them. Raises BadEdit."""
    found: dict[EditedNode, Manifest] = {}
    for edit in edits:
        if isinstance(edit, WorkEdit):
            found[EditedNode("Workload", f"{edit.namespace}/{edit.name}")] = _workload(edit)
            continue
        if edit.node not in found:
            found[edit.node] = _applicable(edit.node, stored(edit.node))
        _apply(edit, found[edit.node])
    return list(found.values())


def _apply(edit: QuotaEdit | MoveEdit | StopEdit, manifest: Manifest) -> None:
    match edit:
        case QuotaEdit():
            _set_quota(manifest, edit)
        case MoveEdit():
            _move(manifest, edit)
        case StopEdit():
            manifest["spec"]["stopPolicy"] = edit.policy


def as_yaml(manifests: Iterable[Manifest]) -> str:
    """The objects as YAML documents. Characters outside of ASCII are escaped, so that invisible ones are seen."""
    return yaml.dump_all(manifests, Dumper=_Plain, sort_keys=False, width=2**20)


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002, PyYAML's signature
        return True


def _text(dumper: _Plain, text: str) -> yaml.ScalarNode:
    """The text, in quotes if Kubernetes would read it as another type, such as the number 1e3 or the boolean y."""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, None if isinstance(resolve(text), str) else "'")


_Plain.add_representer(str, _text)


def _applicable(node: EditedNode, stored: Manifest | None) -> Manifest:
    """The manifest without fields that only the API server writes. An implicit Cohort gets an object."""
    if stored is None and node.kind != "Cohort":
        raise BadEdit(f"{node} does not exist.")
    resource = KINDS[node.kind]
    head = {"apiVersion": f"{resource.group}/{resource.version}".lstrip("/"), "kind": node.kind}
    if stored is None:
        return {**head, "metadata": {"name": node.name}, "spec": {}}
    meta = deepcopy({key: stored["metadata"][key] for key in _KEPT if stored["metadata"].get(key)})
    meta.get("annotations", {}).pop(LAST_APPLIED, None)
    if not meta.get("annotations", True):
        del meta["annotations"]
    spec = {} if node.kind == "Namespace" else {"spec": deepcopy(stored.get("spec") or {})}
    return {**head, "metadata": meta, **spec}


def _set_quota(manifest: Manifest, edit: QuotaEdit) -> None:
    if edit.node.kind == "Namespace":
        _set_annotation(manifest, edit)
    elif edit.node.kind == "Queue":
        of = manifest["spec"].setdefault(edit.field, {})
        _put_amount(of.setdefault("resource", {}) if edit.field == "guarantee" else of, edit.resource, edit)
    else:
        _put_amount(_kueue_quota(manifest["spec"], edit), edit.field, edit)


def _put_amount(amounts: dict[str, Any], name: str, edit: QuotaEdit) -> None:
    """Set an amount. If the edit is a difference, it is added to the present amount. Raises BadEdit."""
    if not edit.relative:
        _put(amounts, name, edit.amount)
        return
    what = f"{edit.field} of {edit.node}"
    if name not in amounts:
        raise BadEdit(f"The {what} is not set, so it cannot be more or less; write the whole amount.")
    try:
        before = Quantity.parse(amounts[name])
    except BadQuantity as error:
        raise BadEdit(f"The {what} is not an amount; write the whole of it.") from error
    after = before + Quantity.parse(edit.amount)
    if after < Quantity.parse("0"):
        raise BadEdit(f"The {what} is {before}, so it cannot shrink by {edit.amount[1:]}.")
    _put(amounts, name, str(after))


def _put(amounts: dict[str, Any], name: str, amount: str) -> None:
    if amount:
        amounts[name] = amount
    else:
        amounts.pop(name, None)


def _kueue_quota(spec: dict[str, Any], edit: QuotaEdit) -> dict[str, Any]:
    """The quota of this flavor and resource. If no resource group has either, a new group is added. Raises BadEdit."""
    groups = spec.setdefault("resourceGroups", [])
    for group in groups:
        for flavor in group.get("flavors") or ():
            for resource in flavor.get("resources") or ():
                if (flavor.get("name"), resource.get("name")) == (edit.flavor, edit.resource):
                    found: dict[str, Any] = resource
                    return found
    taken = {name for group in groups for name in group.get("coveredResources") or ()}
    taken |= {flavor.get("name") for group in groups for flavor in group.get("flavors") or ()}
    if edit.resource in taken or edit.flavor in taken:
        raise BadEdit(
            f"{edit.node} has no quota of {edit.flavor}/{edit.resource}, but a group with one of the two. A flavor"
            " must have all resources of its group: write the group as YAML."
        )
    entry = {"name": edit.resource, "nominalQuota": "0"}
    flavors = [{"name": edit.flavor, "resources": [entry]}]
    groups.append({"coveredResources": [edit.resource], "flavors": flavors})
    return entry


def _set_annotation(manifest: Manifest, edit: QuotaEdit) -> None:
    """Set an amount in YuniKorn's quota of a Namespace, which is JSON in an annotation."""
    annotations = manifest["metadata"].setdefault("annotations", {})
    key = _ANNOTATIONS[edit.field]
    try:
        amounts = json.loads(annotations.get(key) or "{}")
    except ValueError:
        amounts = None
    if not isinstance(amounts, dict):
        raise BadEdit(f"The annotation {key} of {edit.node} is not a JSON object; write it as YAML.")
    _put_amount(amounts, edit.resource, edit)
    annotations[key] = json.dumps(amounts)


def _move(manifest: Manifest, edit: MoveEdit) -> None:
    if edit.node.kind == "Namespace":
        _put(manifest["metadata"].setdefault("annotations", {}), yunikorn.PARENT_QUEUE, edit.parent)
    else:
        _put(manifest["spec"], _PARENTS[edit.node.kind], edit.parent)


def _workload(edit: WorkEdit) -> Manifest:
    container = {"name": "main", "image": "none", "resources": {"requests": dict(edit.requests)}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "Workload",
        "metadata": {"name": edit.name, "namespace": edit.namespace},
        "spec": {
            "queueName": edit.queue,
            "priority": edit.priority,
            "podSets": [{"name": "main", "count": edit.pods, "template": template}],
        },
    }

"""Reads manifests/base and the components like kustomize, as objects with conditions.

It only supports the features of kustomize that our kustomizations use. Anything else is an error, so that the chart
never silently lacks something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from generators.chart.template import When, replace_key
from generators.files import ROOT, documents
from policies.mutation.patching import merge_patch

MANIFESTS = ROOT / "manifests"
APART = {"cert-manager-crds", "kueue-without-v1beta1"}
"""Components that patch manifests/crds. In the chart, the templates of the definitions have the same effect."""
COMPONENTS = sorted(each.name for each in (MANIFESTS / "components").iterdir() if each.name not in APART)
PART = "batch"
"""The name of the part in components/reconciler-part. The chart replaces it by the names in its values."""
CONFIGURATION = "configuration.yaml"
"""The key in ConfigMaps that contains a configuration as a text."""
BY_NAME = {"volumes": "name", "volumeMounts": "mountPath"}
"""Lists that a strategic merge patch joins, each with its merge key."""

Object = dict[Any, Any]


def value(component: str) -> str:
    """The path of a component's switch in the values, such as `components.certManager` for cert-manager."""
    first, *rest = component.split("-")
    return "components." + first + "".join(word.capitalize() for word in rest)


def condition(component: str) -> str:
    return f".Values.{value(component)}"


def files() -> dict[str, list[Object]]:
    """The objects with labels and patches, by file below manifests/. Raises ValueError if a patch finds no object."""
    found = {f"base/{name}": _documents(MANIFESTS / "base" / name) for name in _kustomization("base")["resources"]}
    for component in COMPONENTS:
        for name in _kustomization(f"components/{component}").get("resources", []):
            path = f"components/{component}/{name}"
            found[path] = _documents(MANIFESTS / path)
    (labels,) = _kustomization("base")["labels"]
    for obj in _all(found):
        obj["metadata"].setdefault("labels", {}).update(labels["pairs"])
    for component in COMPONENTS:
        for patch in _kustomization(f"components/{component}").get("patches", []):
            _apply(component, patch, found)
    return found


def _kustomization(folder: str) -> dict[str, Any]:
    (found,) = _documents(MANIFESTS / folder / "kustomization.yaml")
    if unknown := found.keys() - {"apiVersion", "kind", "namespace", "labels", "resources", "patches"}:
        raise ValueError(f"{folder}: the chart does not know {sorted(unknown)}")
    return found


def _documents(file: Path) -> list[Object]:
    """The documents without YAML anchors: each alias becomes a copy."""
    return [_copied(each) for each in documents(file)]


def _copied(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _copied(value) for key, value in node.items()}
    return [_copied(item) for item in node] if isinstance(node, list) else node


def _all(found: dict[str, list[Object]]) -> Iterator[Object]:
    return (obj for objects in found.values() for obj in objects)


def _apply(component: str, patch: dict[str, Any], found: dict[str, list[Object]]) -> None:
    here = MANIFESTS / "components" / component
    text = (here / patch["path"]).read_text(encoding="utf-8") if "path" in patch else patch["patch"]
    body = yaml.load(text, yaml.CSafeLoader)
    target = patch.get("target") or {"kind": body["kind"], "name": re.escape(body["metadata"]["name"])}
    matching = [obj for obj in _all(found) if _is(obj, target)]
    if not matching:
        raise ValueError(f"{component}: a patch for {target} finds nothing")
    for obj in matching:
        if isinstance(body, list):
            for operation in body:
                _add(component, operation, obj)
        elif body.get("$patch") == "delete":
            _dropped(obj, f"not {condition(component)}", found)
        else:
            _merge(component, body, obj)


def _is(obj: Object, target: dict[str, str]) -> bool:
    """Whether a patch with this target applies to the object.

    Labels of the target are ignored, since all our webhook configurations have the label that a patch selects by.
    """
    named = {"kind": obj["kind"], "name": obj["metadata"]["name"]}
    return all(re.fullmatch(target.get(key, ".*"), value) for key, value in named.items())


def _dropped(obj: Object, unless: str, found: dict[str, list[Object]]) -> None:
    """Replace the object by one that is only rendered under the condition."""
    for objects in found.values():
        for at, each in enumerate(objects):
            if each is obj:
                objects[at] = {**obj, "when": unless}


def _add(component: str, operation: dict[str, Any], obj: Object) -> None:
    """Apply an `add` operation of a JSON patch."""
    if operation["op"] != "add":
        raise ValueError(f"{component}: the chart does not know the operation {operation['op']}")
    *way, last = [step.replace("~1", "/") for step in operation["path"].removeprefix("/").split("/")]
    node: Any = obj
    for step in way:
        node = node[int(step)] if isinstance(node, list) else node[step]
    if last == "-":
        node.append(When(condition(component), [operation["value"]]))
    else:
        node[When(condition(component), {last: operation["value"]})] = None


def _merge(component: str, patch: Object, into: Object) -> None:
    """Apply a strategic merge patch. Webhooks, volumes and mounts are added; other lists and scalars are replaced."""
    for key, ours in patch.items():
        theirs: Any = into.get(key)
        if key == CONFIGURATION:
            more = merge_patch(yaml.load(theirs, yaml.CSafeLoader), yaml.load(ours, yaml.CSafeLoader))
            into[When(condition(component), more)] = None
        elif key == "webhooks" or key in BY_NAME:
            into[key] = [*theirs, When(condition(component), ours)]
        elif key == "containers":
            (container,) = ours
            (other,) = theirs
            _merge(component, container, other)
        elif isinstance(ours, dict):
            _merge(component, ours, into[key])
        elif isinstance(ours, list):
            into[key] = [When(condition(component), ours, theirs)]
        elif ours is None:
            replace_key(into, key, When(f"not {condition(component)}", {key: theirs}))
        elif ours != theirs:
            raise ValueError(f"{component}: the chart does not know how to set {key}")


def replicas_of(deployment: Object) -> Object:
    """The mapping with the number of replicas: the spec, or its conditional part."""
    spec: Object = deployment["spec"]
    return next((each.body for each in spec if isinstance(each, When) and "replicas" in each.body), spec)

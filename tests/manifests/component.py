"""The objects of the reconciler's component."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

MANIFESTS = Path(__file__).parents[2] / "manifests"
COMPONENT = MANIFESTS / "components" / "reconciler"
NAME = "quotree-reconciler"


def objects(folder: Path) -> list[dict[str, Any]]:
    """What the kustomization of the folder lists, without its patches."""
    return [
        document
        for name in yaml.load((folder / "kustomization.yaml").read_text(), yaml.CSafeLoader)["resources"]
        for document in yaml.load_all((folder / name).read_text(), yaml.CSafeLoader)
    ]


OBJECTS = objects(COMPONENT)


def only(kind: str, name: str = NAME, among: list[dict[str, Any]] = OBJECTS) -> dict[str, Any]:
    (found,) = [obj for obj in among if (obj["kind"], obj["metadata"]["name"]) == (kind, name)]
    return found


def allowed(role: dict[str, Any], verb: str) -> set[tuple[str, str]]:
    """The pairs of group and resource, of whatever name."""
    return {
        (group, resource)
        for rule in role["rules"]
        if verb in rule["verbs"] and "resourceNames" not in rule
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }


def documents(component: str, file: str) -> list[dict[str, Any]]:
    return list(yaml.load_all((MANIFESTS / "components" / component / file).read_text(), yaml.CSafeLoader))


def base(file: str, kind: str) -> dict[str, Any]:
    (only,) = [
        each
        for each in yaml.load_all((MANIFESTS / "base" / file).read_text(), yaml.CSafeLoader)
        if each["kind"] == kind
    ]
    return dict(only)


def marks_are_guarded(component: str, mark: str, project: str, counted: Iterable[str]) -> None:
    """Nobody but the reconciler changes what Pods with the mark count by; the webhook of the component fails closed."""
    (patch,) = documents(component, "validating-webhook.yaml")
    marks = patch["webhooks"][0]
    who, what = (condition["expression"] for condition in marks["matchConditions"])

    assert marks["failurePolicy"] == "Fail"
    assert marks["rules"][0]["resources"] == ["pods", "pods/resize"]
    assert marks["objectSelector"] == {"matchLabels": {mark: project}}
    assert "'system:serviceaccount:quotree-system:quotree-reconciler'" in who
    assert all(f"'{key}'" in what for key in counted)

"""Objects of Kubernetes itself: Namespaces, ConfigMaps, Pods, Jobs; and a kubeconfig."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.builders.manifests import Manifest, manifest


def namespace(name: str, annotations: Mapping[str, str] | None = None, **metadata: Any) -> Manifest:
    notes = None if annotations is None else dict(annotations)
    return manifest("v1", "Namespace", name, annotations=notes, **metadata)


def config_map(name: str, namespace: str, **parts: Any) -> Manifest:
    """`parts` such as `data` and `binaryData`."""
    return {**manifest("v1", "ConfigMap", name, namespace=namespace), **parts}


def container(*, limits: dict[str, str] | None = None, **requests: Any) -> Manifest:
    return {"name": "c", "image": "busybox", "resources": {"requests": requests, "limits": limits or {}}}


def template(cpu: Any = "1", **spec: Any) -> Manifest:
    """The template of pods that end, of one container each."""
    return {"spec": {"restartPolicy": "Never", "containers": [container(cpu=cpu)], **spec}}


def pod(name: str = "p", namespace: str | None = "ns", spec: Any = None, **metadata: Any) -> Manifest:
    """By default of one container that asks for nothing."""
    return manifest(
        "v1", "Pod", name, {"containers": [container()]} if spec is None else spec, namespace=namespace, **metadata
    )


def batch_job(name: str, spec: Any = None, namespace: str | None = "ns", **metadata: Any) -> Manifest:
    """By default suspended, of one pod that asks for one cpu."""
    whole = {"suspend": True, "template": template()} if spec is None else spec
    return manifest("batch/v1", "Job", name, whole, namespace=namespace, **metadata)


def kubeconfig(cluster: Mapping[str, Any], user: Mapping[str, Any] | None = None, name: str = "one") -> Manifest:
    """With one and current context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": dict(cluster)}],
        "users": [{"name": name, "user": dict(user or {})}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
